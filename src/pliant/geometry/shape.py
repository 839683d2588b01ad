"""What every shape function returns, and the checks that all of them share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.asking import refuse_many
from pliant.base import Floats, Ints, PliantError
from pliant.geometry.mesh import Surface, TetMesh
from pliant.spec.table import LARGEST, SMALLEST

if TYPE_CHECKING:
    from pliant.geometry.files import PointCloud
    from pliant.geometry.lattice.build import Weights

MAX_TETS = 20_000_000  # more than this is taken for a unit mistake (mm written where metres are meant)


@dataclass(frozen=True)
class Shape:
    """A body's form at rest, in its own frame; the docstring of the function that made it says where the origin is.

    ``analytic`` names the exact form, centred at the origin: ("ball", (radius,)), ("box", half sizes),
    ("capsule", (radius, half length)), ("cylinder", (radius, half height)), ("torus", (major, minor)), axis z, all [m].
    """

    name: str
    tets: TetMesh | None  # None: a pure surface
    skin: Surface | None = None  # a surface of its own; None: the boundary of the tets
    analytic: tuple[str, tuple[float, ...]] | None = None
    cloud: PointCloud | None = None  # points of a surface without triangles; then there are neither tets nor a skin
    weights: Weights | None = None  # of tets that the skin cuts, and where it rides in them; None: the skin is their boundary
    notes: tuple[str, ...] = ()  # how it was filled

    def surface(self) -> Surface:
        """The skin, or the boundary of the tets if the shape has no skin of its own."""
        return self._surface

    @cached_property
    def _surface(self) -> Surface:
        if self.skin is not None:
            return self.skin
        if self.cloud is not None:
            raise PliantError(
                f"{self.name} is a point cloud; this body needs a surface or tetrahedra: make a surface of it first, "
                "or use model = \"quasi-rigid\" (or rigid, static), which take points."
            )
        if self.tets is None:
            raise PliantError(f"shape '{self.name}' has neither tets nor a skin; give it one of them")
        return self.tets.surface()


def solid(name: str, points: Floats, tets: Ints, analytic: tuple[str, tuple[float, ...]] | None = None) -> Shape:
    """A shape from tets that must all be positive; nodes that no tet uses are dropped."""
    used, compact = np.unique(tets, return_inverse=True)
    mesh = TetMesh(points[used], compact.reshape(-1, 4))
    bad = np.flatnonzero(mesh.volumes <= 0)
    if bad.size:
        raise PliantError(
            f"{name}: {bad.size} of {len(tets)} tetrahedra fold over (first: {bad[0]}); the form has details that the "
            "mesh cannot follow, use a smaller edge or a smoother profile"
        )
    return Shape(name, mesh, analytic=analytic)


def number(kind: str, name: str, value: Any, above: float = 0.0, below: float = math.inf) -> float:
    """The parameter as a finite float in the open interval (above, below)."""
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise PliantError(f"{kind}: {name} must be a number, not {value!r}") from None
    if x != 0.0 and math.isfinite(x) and not SMALLEST <= abs(x) <= LARGEST:
        raise PliantError(f"{kind}: {name} = {x:g} is beyond all that can be computed with: lengths are in metres")
    if not (math.isfinite(x) and above < x < below):
        limits = f"above {above:g}" + (f" and below {below:g}" if math.isfinite(below) else "")
        raise PliantError(f"{kind}: {name} must be a finite number {limits}, not {value!r}")
    return x


def numbers(kind: str, name: str, value: Any, count: int) -> tuple[float, ...]:
    """The parameter as so many positive finite floats."""
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)) or len(value) != count:
        raise PliantError(f"{kind}: {name} must be {count} positive numbers, not {value!r}")
    return tuple(number(kind, f"{name}[{i}]", x) for i, x in enumerate(value))


def whole(kind: str, name: str, value: Any, least: int = 1) -> int:
    """The parameter as a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise PliantError(f"{kind}: {name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def edge_length(kind: str, edge: Any, smallest: float, volume: float) -> float:
    """The target edge length [m], checked.

    None: an eighth of the smallest extent, but no finer than about 4000 cells, so that long and flat bodies stay light.
    """
    if edge is None:
        return max(smallest / 8.0, (volume / 4000.0) ** (1.0 / 3.0))
    h = number(kind, "edge", edge)
    count = 6.0 * volume / h**3
    refuse_many(f"{kind}: edge = {h:g} m", count, "Use a larger edge (all lengths are in metres)")
    if count > MAX_TETS:
        raise PliantError(
            f"{kind}: edge = {h:g} m would make about {count:.1e} tetrahedra in a body of {volume:.3g} m^3; "
            "use a larger edge (all lengths are in metres)"
        )
    return h


def cells(length: float, edge: float, least: int = 1) -> int:
    """How many cells of about this edge length fit."""
    if not length / edge < MAX_TETS:
        raise PliantError(f"{length:g} m in cells of {edge:g} m are {length / edge:.2g} of them: the shape is too long for its width")
    return max(least, round(length / edge))
