"""`pliant.press`: two objects brought together quasi-statically, and what passes between them.

    found = pliant.press("foot.ply", "plane", force="500N", unit="mm", young="200kPa", response="volume-preserving", layer="15mm")
    found.force, found.area, found.peak, found.centre
    found.save("out")                                    # pictures, pressure map, deformed surfaces

See docs/press.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.elastic.lcp_load import stiffening
from pliant.contact.elastic.resolve import resolve
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Tabulated, VolumePreserving, compliance
from pliant.contact.elastic.resting_pose import rest
from pliant.contact.elastic.result import FEW, ContactResult
from pliant.contact.elastic.side import Side, levels_of
from pliant.detect.surfels.exact import Exact
from pliant.pressing import quantities
from pliant.pressing.approach import aligned, angle_of, check_depth, check_force, floor_under, tipped, touching, why_apart
from pliant.pressing.maps import PressureMap, pressure_map
from pliant.pressing.objects import Thing, centre_of, thing
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

    def save(self, folder: str | Path, sensor: tuple[int, int] | None = None) -> list[Path]:
        """Pictures, the map as PNG and CSV, both surfaces as PLY, and the facts; returns the files."""
        return save(self, Path(folder), sensor)


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

    a, b       a file, the name of a shape, a mesh, points (n, 3), an Exact shape; b may be "plane": put where A first touches it
    depth      [m] or "2mm": how far A goes on after the first touch; or
    force      [N] or "500N": it goes on until this is reached
    direction  the way A moves
    tilt       with a force, "free": A turns until its load is balanced; "fixed": it keeps its attitude
    at         [m] (3,) where the force acts on A, in the file's place; None: the centre of its volume
    response   boussinesq (solid), volume-preserving (flesh, rubber), layer (a thin layer on a hard core), or a file of `pliant response`
    layer      [m] or "15mm": how far a push is felt; None: twice the radius of the contact
    young, poisson, young_b, poisson_b   of A and B; None: rigid
    unit, up, size   of files, see docs/files.md; unit_b, up_b, size_b where those of B differ
    spacing    [m] of samples on the faces of meshes
    crop, crop_b   parts of files that are used, such as "z<50mm,x>-2cm", in metres with z up if no unit is given
    align      move A across the direction until its middle is in line with that of B
    """
    way = _direction(direction)
    deep, load = _goal(depth, force, tilt)
    unit_b, size_b = (unit, size) if unit_b is None and size_b is None else (unit_b or unit, size_b)
    read = [(a, unit, up, size, crop), (b, unit_b, up_b or up, size_b, crop_b)]
    apart = None if spacing is None else quantities.length("spacing", spacing)
    things = [
        thing(each, unit=in_unit, up=upright, size=None if long is None else quantities.length("size", long), spacing=apart, crop=part)
        for each, in_unit, upright, long, part in read
    ]
    moduli = ((young, poisson), (young_b, poisson_b))
    materials = [None if e is None else compliance(quantities.pressure("young", e), nu) for e, nu in moduli]
    if materials[0] is None and materials[1] is None:
        raise PliantError("Both objects are rigid: give young (of the first) or young_b (of the second), such as 1MPa.")
    sides = _placed((things[0], things[1]), way, align)
    if deep is not None:
        check_depth(deep, sides)
    if load is not None:
        check_force(load, sides, materials)
    thick = None if layer is None else quantities.length("layer", layer)
    solid = tuple(replace(s, response=None if c is None else Boussinesq(c)) for s, c in zip(sides, materials, strict=True))
    where = None if at is None else np.asarray(at, np.float64) + solid[0].translation
    notes = [f"{t.name}: {note}" for t in things for note in t.notes]
    if response != "boussinesq":
        if thick is None and response in RESPONSES:
            thick = BROAD * _contact_radius(solid[0], solid[1], way, deep, load)
            notes.append(f"a push is felt {1e3 * thick:.3g} mm far, twice the radius of a solid body's contact: give a layer to choose")
        solid = tuple(replace(s, response=_response(response, c, thick)) for s, c in zip(solid, materials, strict=True))
    found = _pressed(solid[0], solid[1], way, deep, load, tilt == "free", where)
    notes += [*tipped(found[0], way), *_remarks(found[1], response, thick, materials)]
    gone = float((found[0].translation - solid[0].translation) @ way) if deep is None and tilt == "fixed" else deep
    gone = found[1].depth if gone is None else gone
    if load is not None:
        check_depth(gone, sides, f"force = {load:.4g} N presses it in by")
    pressed = Pressed((things[0], things[1]), found[0], solid[1], found[1], way, gone, tuple(notes))
    if load is None or abs(pressed.force - load) <= MET * load:
        return pressed
    missed = 100.0 * (pressed.force / load - 1.0)
    return replace(pressed, notes=(f"the force misses what was asked for by {missed:+.1f} %: samples that meet late make it jump", *notes))


def _direction(direction: Any) -> Floats:
    try:
        way = np.asarray(direction, np.float64).reshape(3)
    except (TypeError, ValueError):
        raise PliantError(f"direction = {direction!r}: it needs three numbers, such as 0,0,-1.") from None
    length = float(np.linalg.norm(way))
    if not (np.isfinite(length) and length > 0.0):
        raise PliantError(f"direction = {direction!r} has no length.")
    return way / length


def _goal(depth: float | str | None, force: float | str | None, tilt: str) -> tuple[float | None, float | None]:
    if (depth is None) == (force is None):
        raise PliantError("Give either a depth, such as 2mm, or a force, such as 500N.")
    if tilt not in TILTS:
        raise PliantError(f"tilt = '{tilt}': {nearest(tilt, TILTS)}")
    if tilt == "free" and force is None:
        raise PliantError("An object tilts freely under a force, not at a given depth: give a force.")
    deep = None if depth is None else quantities.length("depth", depth)
    return deep, None if force is None else quantities.force("force", force)


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


def _response(kind: str, c: float | None, layer: float | None) -> Response | None:
    if kind not in RESPONSES and not kind.endswith(".csv"):
        raise PliantError(f"There is no response '{kind}': {nearest(kind, RESPONSES)} A table is a .csv file of `pliant response`.")
    if c is None:
        return None
    if kind not in RESPONSES:
        table = read_response(kind)
        return Tabulated(table.r, table.values * c / table.c, c)
    assert layer is not None
    return VolumePreserving(c, layer) if kind == "volume-preserving" else LayerCut(c, layer)


def _contact_radius(a: Side, b: Side, way: Floats, depth: float | None, force: float | None) -> float:
    """[m] of solid bodies at this depth or force, on a coarse level."""
    if depth is not None:
        level = max(levels_of(a, b) - 3, 0)
        found = resolve(a.moved(np.eye(3), np.zeros(3), depth * way), b, level=level)
    else:
        assert force is not None
        found = rest(a, b, way, force)[1]
    return max(math.sqrt(found.area / math.pi), 1e-6 * min(a.size, b.size))


def _pressed(
    a: Side, b: Side, way: Floats, depth: float | None, force: float | None, tilt: bool, at: Floats | None
) -> tuple[Side, ContactResult]:
    if depth is not None:
        a = a.moved(np.eye(3), np.zeros(3), depth * way)
        result = resolve(a, b)
    else:
        assert force is not None
        if at is None:
            at = a.world(centre_of(a.nodes)) if a.nodes is not None else a.translation
        a, result = rest(a, b, way, force, tilt=tilt, at=at)
    if result.status == "apart":
        raise PliantError(why_apart(a, way, result))
    if not result.solved:
        raise PliantError(f"The contact problem was not solved: {result.status}. Try a smaller depth, or the boussinesq response.")
    return a, result


def _remarks(result: ContactResult, response: str, layer: float | None, materials: list[float | None]) -> list[str]:
    """What a reader of the numbers must know."""
    notes = []
    touching = int(result.contact.sum())
    if touching < FEW:
        notes.append(
            f"only {touching} samples touch: force to about {5 if touching > 15 else 20} %, and the peak is that of a single sample, which "
            "the map blurs by a spacing; use a smaller spacing"
        )
    if len(result.spikes):
        notes.append(f"{len(result.spikes)} samples are displaced by more than half their radius of curvature: do not trust them")
    if result.off:
        notes.append(f"{result.off} overlapping samples lie over holes of the other surface and were left out")
    if response != "boussinesq" and touching:
        kind = _response(response, sum(c for c in materials if c is not None), layer)
        assert kind is not None
        times = stiffening(kind, math.sqrt(result.area / math.pi))
        notes.append(f"the layer makes a contact of this size about {times:.2g} times as stiff as a solid body")
    return notes
