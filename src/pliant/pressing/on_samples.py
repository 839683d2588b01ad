"""A press on samples of the surfaces themselves, for contacts that are not nearly flat: finer samples where they touch, until enough do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.elastic.coarse_to_fine import levels_of
from pliant.contact.elastic.resting_pose import matched, rest
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_mesh
from pliant.geometry.mesh import Surface
from pliant.geometry.subdivide import subdivided
from pliant.pressing.approach import touching, why_apart
from pliant.pressing.asked import Load
from pliant.pressing.objects import LONGEST, Thing, centre_of
from pliant.pressing.on_cells import LEAST

WANTED = 600  # samples in contact: about 14 a radius
TOUCH = 300  # with which it ends
ROUNDS = 3  # of finer samples, at most
FINER = 6.0  # times finer at once, at most
AROUND = 1.6  # radii of the contact, within which samples are made finer


@dataclass(frozen=True)
class OnSamples:
    """A contact on samples."""

    a: Side  # where it came to be, with its own samples
    b: Side
    result: ContactResult
    depth: float  # [m]
    errors: dict[str, float]  # relative, of force, depth, area and peak; NaN where there is nothing to compare with


def on_samples(things: tuple[Thing, Thing], sides: tuple[Side, Side], load: Load, at: Floats | None) -> OnSamples:
    """The contact from where two objects first touch; `at` [m] is where the force acts if A may tilt."""
    first, b = sides
    a, result, depth = _pressed(first, b, load, at)
    before, there = None, a
    for _ in range(ROUNDS):
        if int(result.contact.sum()) >= TOUCH or any(thing.spacing is not None for thing in things):
            break
        finer = _finer(things, (there, b), result)
        if finer is None:
            break
        before = result
        if load.depth is not None:
            there = load.deeper(_touching(finer[0], finer[1], load.direction))
            result, depth = resolve(there, finer[1]), load.depth
        else:
            assert load.force is not None
            there, result = matched(finer[0], finer[1], load.direction, load.force)
            depth = result.depth if load.tilts else float((there.translation - first.translation) @ load.direction)
        result = replace(result, sample=np.full(len(result.P), -1), level=-1)
    placed = replace(a, rotation=there.rotation, translation=there.translation)
    if before is None and levels_of(a, b) > 1:
        before = resolve(a, b, level=1)
    return OnSamples(placed, b, result, depth, _errors(before, result) | {"force" if load.depth is None else "depth": 0.0})


def _touching(a: Side, b: Side, way: Floats) -> Side:
    """A where its samples first touch B."""
    if isinstance(b.shape, Exact) and b.shape.kind == "plane" and a.nodes is not None:
        return a.moved(np.eye(3), np.zeros(3), float(b.translation @ way - np.max(a.world(a.nodes.points) @ way)) * way)
    return touching(a, b, way)


def _finer(things: tuple[Thing, Thing], sides: tuple[Side, Side], result: ContactResult) -> tuple[Side, Side] | None:
    """Both with finer samples around the contact, and none elsewhere; None if neither can have them."""
    touching_points = result.deformed[result.contact]
    spacing = math.sqrt(float(np.median(result.areas[result.contact])))
    wide = float(np.max(np.linalg.norm(touching_points - result.centre, axis=1))) + 2.0 * spacing
    wanted = max(math.sqrt(result.area / WANTED), spacing / FINER)
    made = []
    for thing, side in zip(things, sides, strict=True):
        patch = None if not isinstance(thing.form, Surface) else _patch(thing, side, result.centre, AROUND * wide, wanted)
        made.append(side if patch is None else patch)
    return None if made[0] is sides[0] and made[1] is sides[1] else (made[0], made[1])


def _patch(thing: Thing, side: Side, centre: Floats, radius: float, spacing: float) -> Side | None:
    """The faces of a mesh within a radius [m] of a point of the world, sampled finely on the smooth surface."""
    assert isinstance(thing.form, Surface)
    mesh = thing.form
    own = (centre - side.translation) @ side.rotation
    x = mesh.points[mesh.faces]
    size = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1)
    near = np.linalg.norm(x.mean(axis=1) - own, axis=1) < radius + size
    if not near.any():
        return None
    cut = subdivided(Surface(mesh.points, mesh.faces[near]), LONGEST * spacing)
    assert thing.curved is not None
    points = thing.curved.on(cut.corner, cut.weight)
    used, corner = np.unique(cut.surface.faces, return_inverse=True)
    inside = np.linalg.norm(points[used] - own, axis=1) < radius
    faces = corner.reshape(-1, 3)
    faces = faces[inside[faces].any(axis=1)]
    if len(faces) < 8:
        return None
    return replace(side, shape=from_mesh(Surface(points[used], faces), name=thing.name), samples=None)


def _errors(before: ContactResult | None, now: ContactResult) -> dict[str, float]:
    """From coarser samples: their errors are at least as large as their difference."""
    if before is None or not before.area > 0.0:
        return dict.fromkeys(LEAST, math.nan)
    force, area = abs(before.force / now.force - 1.0), abs(before.area / now.area - 1.0)
    return {
        "force": max(0.5 * force, LEAST["force"]), "depth": max(0.5 * force, LEAST["depth"]), "area": max(0.5 * area, LEAST["area"]),
        "peak": max(0.5 * (force + area), LEAST["peak"]),
    }  # fmt: skip


def contact_radius(solid: tuple[Side, Side], load: Load) -> float:
    """[m] of solid bodies under this load, on a coarse level if a depth is given."""
    a, b = solid
    if load.depth is not None:
        found = resolve(load.deeper(a), b, level=max(levels_of(a, b) - 3, 0))
    else:
        assert load.force is not None
        found = rest(a, b, load.direction, load.force)[1]
    return max(math.sqrt(found.area / math.pi), 1e-6 * min(a.size, b.size))


def _pressed(a: Side, b: Side, load: Load, at: Floats | None) -> tuple[Side, ContactResult, float]:
    """A where it came to be, its contact, and the depth [m]."""
    first = a
    if load.force is None:
        a = load.deeper(a)
        result = resolve(a, b)
    else:
        centre = np.zeros(3) if a.nodes is None else centre_of(a.nodes)
        a, result = rest(a, b, load.direction, load.force, tilt=load.tilts, at=a.world(centre) if at is None else at)
    if result.status == "apart":
        raise PliantError(why_apart(a, load.direction, result))
    if not result.solved:
        raise PliantError(f"The contact problem was not solved: {result.status}. Try a smaller depth, or the boussinesq response.")
    depth = load.depth
    if depth is None:
        depth = result.depth if load.tilts else float((a.translation - first.translation) @ load.direction)
    return a, result, depth
