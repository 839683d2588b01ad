"""What was asked of a press: how far or how hard, sideways too, and how both objects give way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.elastic.lcp import CLOSE
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Tabulated, VolumePreserving, compliance
from pliant.contact.elastic.side import Side
from pliant.pressing import quantities
from pliant.pressing.response_tables import read_response

RESPONSES = ("boussinesq", "volume-preserving", "layer")
TILTS = ("fixed", "free")
TABLES = (".csv", ".txt", ".npy")  # files with a modulus for each vertex

AGREE = 8  # presses by depth until one carries the force that was asked for, at most

T = TypeVar("T")
Material = tuple[Any, float]  # Young's modulus, or one for each vertex, and Poisson's ratio


def agreed(under: Callable[[float], tuple[float, T]], depth: float) -> T:
    """What comes with a depth [m] that is its own answer; `under` gives the depth at which a force is carried by what a press by some depth
    would use (its grids, how far a push is felt), and what comes with it. By secants of logarithms, each step at most twice what is off."""
    before: tuple[float, float] | None = None
    for _ in range(AGREE):
        found, answer = under(depth)
        x, off = math.log(depth), math.log(found / depth) if found > 0.0 else 0.0
        if abs(off) <= CLOSE:
            break
        slope = -1.0 if before is None or before[0] == x else (off - before[1]) / (x - before[0])
        step = -off / slope if slope < 0.0 else off
        before, depth = (x, off), depth * math.exp(float(np.clip(step, -2.0 * abs(off), 2.0 * abs(off))))
    return answer


def direction_of(name: str, given: Any) -> Floats:
    """(3,) a unit vector as users write it."""
    try:
        way = np.asarray(given, np.float64).reshape(3)
    except (TypeError, ValueError):
        raise PliantError(f"{name} = {given!r}: it needs three numbers, such as 0,0,-1.") from None
    length = float(np.linalg.norm(way))
    if not (np.isfinite(length) and length > 0.0):
        raise PliantError(f"{name} = {given!r} has no length.")
    return way / length


@dataclass(frozen=True)
class Load:
    """How far or how hard A is pressed, and which way."""

    direction: Floats  # (3,) unit vector along which A moves
    depth: float | None  # [m] beyond the first touch; None: up to the force
    force: float | None  # [N]
    tilts: bool  # whether A turns until its load is balanced
    at: Floats | None  # [m] (3,) where the force acts, in A's own place; None: the centre of its volume

    @classmethod
    def read(cls, depth: float | str | None, force: float | str | None, direction: Any, tilt: str, at: Any) -> Load:
        """As users write it."""
        way = direction_of("direction", direction)
        if (depth is None) == (force is None):
            raise PliantError("Give either a depth, such as 2mm, or a force, such as 500N.")
        if tilt not in TILTS:
            raise PliantError(f"tilt = '{tilt}': {nearest(tilt, TILTS)}")
        if tilt == "free" and force is None:
            raise PliantError("An object tilts freely under a force, not at a given depth: give a force.")
        deep = None if depth is None else quantities.length("depth", depth)
        load = None if force is None else quantities.force("force", force)
        return cls(way, deep, load, tilt == "free", None if at is None else np.asarray(at, np.float64))

    def deeper(self, a: Side) -> Side:
        """A moved on by the depth."""
        assert self.depth is not None
        return a.moved(np.eye(3), np.zeros(3), self.depth * self.direction)


@dataclass(frozen=True)
class Pull:
    """A load across the contact, carried by friction."""

    force: float  # [N]
    along: Floats  # (3,) unit vector
    friction: float  # coefficient

    @classmethod
    def read(cls, tangential: float | str | None, along: Any, friction: float | None) -> Pull | None:
        """As users write it."""
        if tangential is None:
            if friction is not None:
                raise PliantError("friction carries a load across the contact: give `tangential`, such as 20N, too.")
            return None
        if friction is None:
            raise PliantError("A tangential load is carried by friction: give its coefficient, such as 0.5.")
        if not (np.isfinite(friction) and friction > 0.0):
            raise PliantError(f"friction = {friction}: the coefficient must be above zero.")
        return cls(quantities.force("tangential", tangential), direction_of("along", along), float(friction))


@dataclass(frozen=True)
class Softness:
    """How the surfaces of both give way."""

    response: str
    layer: float | None  # [m] how far a push is felt; None: as the size of the contact says
    compliances: tuple[float | None, float | None]  # C [m^2/N] of A and B; None: rigid. The mean, where it varies
    over: tuple[Floats | None, Floats | None] = (None, None)  # C at the vertices, where it varies
    poissons: tuple[float, float] = (0.0, 0.0)
    moduli: tuple[tuple[float, float] | None, ...] = (None, None)  # [Pa] least and largest Young's modulus of A and B; None: rigid

    @classmethod
    def read(cls, response: str, layer: float | str | None, materials: Sequence[Material]) -> Softness:
        """As users write it."""
        a, b = (_compliances(young, nu) for young, nu in materials)
        if a is None and b is None:
            raise PliantError("Both objects are rigid: give young (of the first) or young_b (of the second), such as 1MPa.")
        means = tuple(None if c is None else float(np.mean(c)) for c in (a, b))
        over = tuple(c if isinstance(c, np.ndarray) else None for c in (a, b))
        thick = None if layer is None else quantities.length("layer", layer)
        if thick is not None and (response == "boussinesq" or response.endswith(".csv")):
            raise PliantError(f"layer is of the responses volume-preserving and layer: response = '{response}' has none.")
        poissons = materials[0][1], materials[1][1]
        moduli = tuple(_moduli(c, nu) for c, nu in zip((a, b), poissons, strict=True))
        return cls(response, thick, (means[0], means[1]), (over[0], over[1]), poissons, moduli)

    @property
    def total(self) -> float:
        """C [m^2/N] of both together."""
        return sum(c for c in self.compliances if c is not None)

    @property
    def varies(self) -> bool:
        return any(c is not None for c in self.over)

    def facts(self) -> dict[str, Any]:
        """For programs."""
        given = zip("ab", self.moduli, self.poissons, strict=True)
        return {"response": self.response, "layer": self.layer} | {
            f"material_{name}": None if moduli is None else {"young": moduli[0] if moduli[0] == moduli[1] else list(moduli), "poisson": nu}
            for name, moduli, nu in given
        }

    def words(self) -> str:
        """For people."""
        told = []
        for name, moduli, nu in zip("AB", self.moduli, self.poissons, strict=True):
            if moduli is None:
                told.append(f"{name} rigid")
                continue
            low, high = (quantities.pascals(modulus) for modulus in moduli)
            told.append(f"{name} {low if moduli[0] == moduli[1] else f'{low} to {high}'}, Poisson's ratio {nu:g}")
        wide = "" if self.layer is None else f", felt {quantities.metres(self.layer)} far"
        return f"{'; '.join(told)}; response {self.response}{wide}"

    def felt(self, layer: float) -> tuple[Softness, str]:
        """With a push that is felt so far [m], and the note that says so."""
        told = f"a push is felt {quantities.metres(layer, 3)} far, twice the radius of a solid body's contact: give a layer to choose"
        return replace(self, layer=layer), told

    def solid(self, sides: tuple[Side, Side]) -> tuple[Side, Side]:
        """Both as half-spaces."""
        return self._given(sides, lambda c: Boussinesq(c))

    def on(self, sides: tuple[Side, Side]) -> tuple[Side, Side]:
        """Both with their responses."""
        return self._given(sides, self.of)

    def _given(self, sides: tuple[Side, Side], make: Callable[[float], Response]) -> tuple[Side, Side]:
        a, b = (replace(side, response=None if c is None else make(c)) for side, c in zip(sides, self.compliances, strict=True))
        return a, b

    def of(self, c: float) -> Response:
        """The response of a material."""
        if self.response == "boussinesq":
            return Boussinesq(c)
        if self.response.endswith(".csv"):
            table = read_response(self.response)
            return Tabulated(table.r, table.values * c / table.c, c)
        if self.response not in RESPONSES:
            raise PliantError(
                f"There is no response '{self.response}': {nearest(self.response, RESPONSES)} A table is a .csv file of `pliant response`."
            )
        assert self.layer is not None
        return VolumePreserving(c, self.layer) if self.response == "volume-preserving" else LayerCut(c, self.layer)


def _moduli(c: float | Floats | None, poisson: float) -> tuple[float, float] | None:
    """[Pa] least and largest Young's modulus of compliances."""
    return None if c is None else (compliance(1.0, poisson) / float(np.max(c)), compliance(1.0, poisson) / float(np.min(c)))


def _compliances(young: Any, poisson: float) -> float | Floats | None:
    """C [m^2/N] of a modulus, or of one for each vertex; None: rigid."""
    if young is None:
        return None
    if isinstance(young, str | Path) and str(young).endswith(TABLES):
        path = Path(young)
        if not path.exists():
            raise PliantError(f"young = {path} does not exist: it needs a file with a modulus [Pa] for each vertex, one a line.")
        try:
            young = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",", ndmin=1)
        except ValueError as error:
            raise PliantError(f"young = {path} is not a list of numbers ({error}).") from None
    if isinstance(young, str | float | int):
        return compliance(quantities.pressure("young", young), poisson)
    values = np.asarray(young, dtype=np.float64).ravel()
    if not (len(values) and np.all(np.isfinite(values)) and np.all(values > 0.0)):
        raise PliantError("young: a modulus for each vertex must be a list of finite numbers above zero [Pa].")
    return compliance(1.0, poisson) / values
