"""What a reader of the numbers must know, in words."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic.result import FEW, ContactResult
from pliant.detect.surfels.exact import Exact
from pliant.geometry.mesh import Surface
from pliant.pressing.cells import CLOSE
from pliant.pressing.objects import Thing
from pliant.pressing.on_cells import STEEP, OnCells, measured
from pliant.pressing.quantities import metres
from pliant.pressing.relief import Heights, Pose

UNKNOWN = 0.025  # error of the force or the depth by vertices that do not foretell each other from which it is told as not resolved
ROUGH = 0.03  # error of the force or the depth that is told as a note


def counted_from(things: tuple[Thing, Thing], pose: Pose, way: Floats, before: float) -> str:
    """Where a depth on a plane counts from; `before` [m] is how far the surface was from where its foremost vertex is."""
    form = things[0].form
    if isinstance(form, Exact):
        return f"where the exact {form.kind} first touches"
    if isinstance(form, Heights):
        return "where the highest cell first touches"
    if isinstance(form, Surface):
        size = float(np.ptp(form.points, axis=0).max())
        if before < -1e-6 * size:
            return f"where the smooth surface first touches, {metres(-before, 3)} before its foremost vertex"
        return "where the smooth surface first touches"
    return "where the smooth surface through the points first touches"


def passed_through(depth: float, before: float) -> list[str]:
    """On a plane; `before` [m] as above."""
    if before <= CLOSE * depth:
        return []
    return [
        f"what is foremost of it is {metres(before, 3)} ahead of where it first touches, and passes through the plane: it looks away, as "
        "the back of a sheet does, or is steeper than 78°"
    ]


def cell_remarks(things: tuple[Thing, Thing], found: OnCells) -> list[str]:
    """On cells."""
    notes, best = [], found.best
    if not found.holds:
        change = 100.0 * abs(found.levels[-1].peak / found.levels[-2].peak - 1.0) if len(found.levels) > 1 else 100.0 * found.errors["peak"]
        notes.append(
            f"the peak is not resolved, it does not hold: it changed by {change:.0f} % "
            + ("from every other cell to all, of " if measured(best.pair) else "when cells were halved to ")
            + f"{metres(best.grid.cell, 2)}, as it does at sharp edges, where it has no bound, and on rough surfaces"
        )
    if found.known > UNKNOWN:
        notes.append(
            f"not resolved: about {min(100.0 * found.known, 1e3):.0f} % off by what lies between vertices where it touches: details "
            "there are as small as triangles, and neighbours do not foretell each other"
        )
    if found.inclined > STEEP:
        notes.append(
            f"the surfaces are inclined by {math.degrees(math.atan(found.inclined)):.0f}° to each other where they touch: the theory of "
            "small dents, within which errors are told, does not hold"
        )
    if found.beside > 0.0:
        notes.append(
            f"not resolved: parts beside this contact overlap by up to {metres(found.beside, 3)} and are not in it, because tips so thin "
            "and so far apart do not fit on one grid: force and area are without them; press them one by one (crop)"
        )
    worst = max(found.errors["force"], found.errors["depth"])
    wide = 2.0 * math.sqrt(best.area / math.pi)
    for thing in things:
        if worst > ROUGH and isinstance(thing.form, Surface):
            x = thing.form.points[thing.form.faces]
            edge = float(np.median(np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2)))
            if edge > 0.3 * wide:
                notes.append(
                    f"not resolved: triangles of {thing.name} are {metres(edge, 3)} wide and the contact {metres(wide, 3)}, so the "
                    f"surface between its vertices is a guess: about {100.0 * worst:.0f} % off"
                )
    return notes


def sample_remarks(result: ContactResult) -> list[str]:
    """On samples."""
    notes, touching = [], int(result.contact.sum())
    if touching < FEW:
        notes.append(
            f"not resolved: only {touching} samples touch, so force and area are rough, and the peak is that of a single sample, which "
            "the map blurs by a spacing; use a smaller spacing"
        )
    if len(result.spikes):
        notes.append(f"{len(result.spikes)} samples are displaced by more than half their radius of curvature: do not trust them")
    if result.off:
        notes.append(f"{result.off} overlapping samples lie over holes of the other surface and were left out")
    return notes


def layer_remarks(force: float, solid: float) -> list[str]:
    """Of a response that is not that of solid bodies, which would carry the force `solid` [N] as deep."""
    if not (force > 0.0 and solid > 0.0):
        return []
    return [f"the response carries {force / solid:.2g} times the force of solid bodies of the same modulus, as deep"]
