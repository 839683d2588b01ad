"""`pliant.press`: two objects brought together quasi-statically, and what passes between them.

    found = pliant.press("foot.ply", "plane", force="500N", unit="mm", young="200kPa", response="volume-preserving", layer="15mm")
    found.force, found.area, found.peak, found.centre
    found.save("out")                                    # pictures, pressure map, deformed surfaces

See docs/press.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.elastic.coarse_to_fine import levels_of
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Tabulated, VolumePreserving, compliance
from pliant.contact.elastic.resting_pose import rest
from pliant.contact.elastic.result import FEW, ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.stiffening import stiffening
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.surfels.exact import Exact
from pliant.measure.resolution import DEPTH
from pliant.pressing import quantities
from pliant.pressing.approach import aligned, angle_of, check_depth, check_force, floor_under, tipped, touching, why_apart
from pliant.pressing.maps import PressureMap, pressure_map
from pliant.pressing.objects import Source, Thing, centre_of
from pliant.pressing.output import save
from pliant.pressing.response_tables import read_response

RESPONSES = ("boussinesq", "volume-preserving", "layer")
TILTS = ("fixed", "free")
SMOOTH = 150  # samples in contact below which smoothing would lower the peak
MET = 1e-3  # of the force: a larger miss is told
BROAD = 2.0  # contact radii: how far a push is felt unless a layer is given


@dataclass(frozen=True)
class Pressed:
    """Two objects pressed together."""

    things: tuple[Thing, Thing]
    a: Side  # where it came to be
    b: Side
    result: ContactResult
    direction: Floats  # (3,) the way A was pushed
    depth: float  # [m] how far A went on after the first touch, along the direction
    notes: tuple[str, ...]

    @property
    def force(self) -> float:
        """[N] against the direction."""
        return float(-self.result.wrench_a()[:3] @ self.direction)

    @property
    def area(self) -> float:
        """[m^2]"""
        return self.result.area

    @property
    def mean(self) -> float:
        """[Pa] force over area."""
        return self.result.force / self.area if self.area > 0.0 else 0.0

    @property
    def peak(self) -> float:
        """[Pa] highest pressure, smoothed over a spacing; of the nodes as they are where only few touch."""
        few = np.count_nonzero(self.result.contact) < SMOOTH
        return float(np.max(self.result.pressure if few else self.result.smooth_pressure, initial=0.0))

    @property
    def centre(self) -> Floats:
        """(3,) [m] centre of pressure."""
        return self.result.centre

    @property
    def stiffness(self) -> float:
        """[N/m] along the direction."""
        return float(self.direction @ self.result.stiffness(self.centre)[:3, :3] @ self.direction) if self.area > 0.0 else 0.0

    @property
    def tilt(self) -> float:
        """[degree] by which A turned."""
        return angle_of(self.a.rotation)

    def map(self, shape: tuple[int, int] | None = None) -> PressureMap:
        """Pressure on a grid across the direction; cells of a sample's size, or as many as a sensor has."""
        return pressure_map(self.result, self.direction, shape)

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""
        result = self.result
        return {
            "a": self.things[0].name, "b": self.things[1].name, "status": result.status, "depth": self.depth, "force": self.force,
            "area": self.area, "mean_pressure": self.mean, "peak_pressure": self.peak, "centre_of_pressure": self.centre.tolist(),
            "stiffness": self.stiffness, "tilt": self.tilt, "wrench_on_a": result.wrench_a(self.centre).tolist(), "nodes": len(result.P),
            "touching": int(result.contact.sum()), "spikes": len(result.spikes), "left_out": result.steep + result.off,
            "notes": list(self.notes),
        }  # fmt: skip

    def __repr__(self) -> str:
        a, b = (thing.name for thing in self.things)
        return f"Pressed {a} on {b}: {self.force:.4g} N on {1e4 * self.area:.4g} cm², mean {1e-3 * self.mean:.4g} kPa, {self.result.status}"

    def _repr_html_(self) -> str:
        from pliant.pressing.card import html_of  # start-up: only notebooks ask for it

        return html_of(self)

    def save(self, folder: str | Path, sensor: tuple[int, int] | None = None) -> list[Path]:
        """Pictures, the map as PNG and CSV, both surfaces as PLY, and the facts; returns the files."""
        return save(self, Path(folder), sensor)


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
        try:
            way = np.asarray(direction, np.float64).reshape(3)
        except (TypeError, ValueError):
            raise PliantError(f"direction = {direction!r}: it needs three numbers, such as 0,0,-1.") from None
        length = float(np.linalg.norm(way))
        if not (np.isfinite(length) and length > 0.0):
            raise PliantError(f"direction = {direction!r} has no length.")
        if (depth is None) == (force is None):
            raise PliantError("Give either a depth, such as 2mm, or a force, such as 500N.")
        if tilt not in TILTS:
            raise PliantError(f"tilt = '{tilt}': {nearest(tilt, TILTS)}")
        if tilt == "free" and force is None:
            raise PliantError("An object tilts freely under a force, not at a given depth: give a force.")
        deep = None if depth is None else quantities.length("depth", depth)
        load = None if force is None else quantities.force("force", force)
        return cls(way / length, deep, load, tilt == "free", None if at is None else np.asarray(at, np.float64))

    def deeper(self, a: Side) -> Side:
        """A moved on by the depth."""
        assert self.depth is not None
        return a.moved(np.eye(3), np.zeros(3), self.depth * self.direction)


@dataclass(frozen=True)
class Softness:
    """How the surfaces of both give way."""

    response: str
    layer: float | None  # [m] how far a push is felt; None: as the size of the contact says
    compliances: tuple[float | None, float | None]  # C [m^2/N] of A and B; None: rigid

    @classmethod
    def read(cls, response: str, layer: float | str | None, materials: Sequence[tuple[float | str | None, float]]) -> Softness:
        """As users write it; materials are (Young's modulus, Poisson's ratio)."""
        a, b = (None if e is None else compliance(quantities.pressure("young", e), nu) for e, nu in materials)
        if a is None and b is None:
            raise PliantError("Both objects are rigid: give young (of the first) or young_b (of the second), such as 1MPa.")
        return cls(response, None if layer is None else quantities.length("layer", layer), (a, b))

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


def press(
    a: Any,
    b: Any = "plane",
    *,
    depth: float | str | None = None,
    force: float | str | None = None,
    direction: Any = (0.0, 0.0, -1.0),
    tilt: str = "fixed",
    at: Any = None,
    response: str = "boussinesq",
    layer: float | str | None = None,
    young: float | str | None = "1MPa",
    poisson: float = 0.45,
    young_b: float | str | None = None,
    poisson_b: float = 0.45,
    unit: str = "m",
    up: str = "z",
    size: float | str | None = None,
    unit_b: str | None = None,
    up_b: str | None = None,
    size_b: float | str | None = None,
    spacing: float | str | None = None,
    align: bool = False,
    crop: str | None = None,
    crop_b: str | None = None,
) -> Pressed:
    """Press A onto B.

    a, b         a file, the name of a shape, a mesh, points (n, 3), an Exact shape; b may be "plane": put where A first touches it
    depth        [m] or "2mm": how far A goes on after the first touch; or
    force        [N] or "500N": it goes on until this is reached
    direction    (3,) the way A moves
    tilt         with a force, "free": A turns until its load is balanced; "fixed": it keeps its attitude
    at           [m] (3,) where the force acts on A, in the file's place; None: the centre of its volume
    response     boussinesq (solid), volume-preserving (flesh, rubber), layer (a thin layer on a hard core), or a file of `pliant response`
    layer        [m] or "15mm": how far a push is felt; None: twice the radius of the contact
    young        [Pa] or "200kPa": Young's modulus of A; None: rigid
    poisson      Poisson's ratio of A
    young_b      [Pa] Young's modulus of B; None: rigid
    poisson_b    Poisson's ratio of B
    unit         of the numbers in files: m, cm, mm, in ...; see docs/files.md
    up           axis that points up in files: x, y, z, -y ...
    size         [m] or "25cm": largest extent of each file, instead of a unit
    unit_b, up_b, size_b   those of B, where they differ
    spacing      [m] or "1mm": of samples on the faces of meshes; None: chosen so that about 20000 stand for a coarse mesh
    align        move A across the direction until its middle is in line with that of B
    crop         the part of A that is used, such as "z<50mm,x>-2cm", in metres with z up if no unit is given
    crop_b       the part of B that is used
    """
    load = Load.read(depth, force, direction, tilt, at)
    unit_b, size_b = (unit, size) if unit_b is None and size_b is None else (unit_b or unit, size_b)
    one, two = Source(a, unit, up, size, crop, spacing).thing(), Source(b, unit_b, up_b or up, size_b, crop_b, spacing).thing()
    softness = Softness.read(response, layer, ((young, poisson), (young_b, poisson_b)))
    return _together((one, two), _placed((one, two), load.direction, align), load, softness)


def _together(things: tuple[Thing, Thing], sides: tuple[Side, Side], load: Load, softness: Softness) -> Pressed:
    """Both pressed together from where they first touch."""
    if load.depth is not None:
        check_depth(load.depth, sides)
    if load.force is not None:
        check_force(load.force, sides, softness.compliances)
    notes = [f"{thing.name}: {note}" for thing in things for note in thing.notes]
    if softness.layer is None and softness.response in RESPONSES[1:]:
        layer = BROAD * _contact_radius(softness.solid(sides), load)
        softness = replace(softness, layer=layer)
        notes.append(f"a push is felt {1e3 * layer:.3g} mm far, twice the radius of a solid body's contact: give a layer to choose")
    first, b = softness.on(sides)
    a, result = _pressed(first, b, load)
    notes += [*tipped(a, load.direction), *_remarks(things, result, softness)]
    gone = load.depth
    if gone is None:
        gone = result.depth if load.tilts else float((a.translation - first.translation) @ load.direction)
    if load.force is not None:
        check_depth(gone, sides, f"force = {load.force:.4g} N presses it in by")
    pressed = Pressed(things, a, b, result, load.direction, gone, tuple(notes))
    if load.force is None or abs(pressed.force - load.force) <= MET * load.force:
        return pressed
    missed = 100.0 * (pressed.force / load.force - 1.0)
    return replace(pressed, notes=(f"the force misses what was asked for by {missed:+.1f} %: samples that meet late make it jump", *notes))


def _placed(things: tuple[Thing, Thing], way: Floats, align: bool) -> tuple[Side, Side]:
    """Both where they first touch."""
    a, b = Side(things[0].shape), Side(things[1].shape)
    if isinstance(a.shape, Exact) and a.shape.kind == "plane":
        raise PliantError("The plane must be the second object: press the other one onto it.")
    if a.nodes is None and b.nodes is None:
        raise PliantError("Two exact shapes have no samples: give at least one of them as a shape by name or a file.")
    if isinstance(b.shape, Exact) and b.shape.kind == "plane":
        if a.nodes is None:
            raise PliantError("An exact shape on an exact plane has no samples: give it by name or as a file.")
        return a, floor_under(a, way)
    return touching(aligned(a, b, way) if align else a, b, way), b


def _contact_radius(solid: tuple[Side, Side], load: Load) -> float:
    """[m] of solid bodies under this load, on a coarse level if a depth is given."""
    a, b = solid
    if load.depth is not None:
        found = resolve(load.deeper(a), b, level=max(levels_of(a, b) - 3, 0))
    else:
        assert load.force is not None
        found = rest(a, b, load.direction, load.force)[1]
    return max(math.sqrt(found.area / math.pi), 1e-6 * min(a.size, b.size))


def _pressed(a: Side, b: Side, load: Load) -> tuple[Side, ContactResult]:
    """A where it came to be, and its contact."""
    if load.force is None:
        a = load.deeper(a)
        result = resolve(a, b)
    else:
        centre = np.zeros(3) if a.nodes is None else centre_of(a.nodes)
        at = a.world(centre) if load.at is None else load.at + a.translation
        a, result = rest(a, b, load.direction, load.force, tilt=load.tilts, at=at)
    if result.status == "apart":
        raise PliantError(why_apart(a, load.direction, result))
    if not result.solved:
        raise PliantError(f"The contact problem was not solved: {result.status}. Try a smaller depth, or the boussinesq response.")
    return a, result


def _remarks(things: tuple[Thing, Thing], result: ContactResult, softness: Softness) -> list[str]:
    """What a reader of the numbers must know."""
    notes = []
    touching = int(result.contact.sum())
    if touching < FEW:
        notes.append(
            f"not resolved: only {touching} samples touch, so force and area are rough, and the peak is that of a single sample, which "
            "the map blurs by a spacing; use a smaller spacing"
        )
    for thing in things:
        if thing.sag > DEPTH[0] * result.depth > 0.0:
            enough = thing.facet * math.sqrt(DEPTH[0] * result.depth / thing.sag)
            wide, below, deep, enough = (1e3 * length for length in (thing.facet, thing.sag, result.depth, enough))
            notes.append(
                f"not resolved: {thing.name} is made of flat triangles, {wide:.3g} mm wide, with middles {below:.2g} mm below the round "
                f"surface they stand for, and the objects are {deep:.2g} mm in each other: force, area and peak are those of corners. "
                f"Samples between them do not help, triangles of {enough:.2g} mm do"
            )
    if len(result.spikes):
        notes.append(f"{len(result.spikes)} samples are displaced by more than half their radius of curvature: do not trust them")
    if result.off:
        notes.append(f"{result.off} overlapping samples lie over holes of the other surface and were left out")
    if softness.response != "boussinesq" and touching:
        both = softness.of(sum(c for c in softness.compliances if c is not None))
        times = stiffening(both, math.sqrt(result.area / math.pi))
        notes.append(f"the layer makes a contact of this size about {times:.2g} times as stiff as a solid body")
    return notes
