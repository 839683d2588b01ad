"""Which samples of one object can carry force: those inside the other and a margin around them, down the trees of spheres (2.4 and 2.6
of the methods page).

Samples whose foot is not on the other surface (in a hole, or lost) are left out, and so are those whose normal does not oppose that of
the foot: n_A.n_B > -0.2 means a steep wall or the far side of a thin part. Both are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.quasi_rigid.side import Side
from pliant.detect.surfels.active import Active, active_against_exact, active_samples
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface

STEEP = -0.2  # n_A.n_B above which surfaces do not face each other
NODE_ARRAYS = ("sample", "points", "normals", "areas", "gap", "feet", "facing", "start")
REACH = 0.02, 0.3  # of the smaller object: how deep samples are looked for, at first and at most
CROSSED = 1.5, 1.2  # spacings of both: a surface that crosses another has samples nearer than this to samples of it


@dataclass(frozen=True)
class Nodes:
    """Samples near the other object, with their feet there; all in world coordinates."""

    sample: Ints  # (n,)
    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3) outward
    areas: Floats  # (n,) [m^2]
    gap: Floats  # (n,) [m] signed distance to the other surface
    feet: Floats  # (n, 3) [m]
    facing: Floats  # (n, 3) normals of the other surface at the feet
    start: Ints  # (n,) nearest samples of the feet; -1 for exact shapes
    steep: int = 0  # overlapping samples left out because they do not face the other surface
    off: int = 0  # overlapping samples left out because their foot is in a hole or undefined

    def __len__(self) -> int:
        return len(self.sample)

    def at(self, chosen: Ints | np.ndarray) -> Nodes:
        """Some of them."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in NODE_ARRAYS})

    @property
    def depth(self) -> float:
        """[m] of the deepest node."""
        return max(float(-np.min(self.gap, initial=0.0)), 0.0)


def active(mine: Side, other: Side, margin: float) -> Nodes:
    """Nodes of one side nearer than `margin` [m] to the inside of the other."""
    if mine.nodes is None:
        raise PliantError("an exact shape has no samples that could carry forces: give it `samples`, or let the other object carry them.")
    turn, shift = other.rotation.T @ mine.rotation, other.rotation.T @ (mine.translation - other.translation)
    if isinstance(other.shape, Exact):
        found = active_against_exact(mine.nodes, other.shape, rotation=turn, translation=shift, margin=margin)
    else:
        found = _inside(mine, other, turn, shift, margin)
    sample = found.sample
    points, normals = mine.world(mine.nodes.points[sample]), mine.normals(sample)
    feet = other.project(points)
    facing = np.sum(normals * feet.normals, axis=1) <= STEEP
    inside = feet.distance < 0.0
    nodes = Nodes(
        sample, points, normals, mine.nodes.areas[sample], feet.distance, feet.points, feet.normals, feet.sample,
        int(np.count_nonzero(inside & ~facing)), int(np.count_nonzero(inside & facing & ~feet.valid)),
    )  # fmt: skip
    return nodes.at(np.flatnonzero(facing & feet.valid & (feet.distance < margin)))


def _inside(mine: Side, other: Side, turn: Floats, shift: Floats, margin: float) -> Active:
    """Samples inside a sampled surface: looked for twice as deep as long as some are nearly as deep as was looked.

    The first look must find the rim of a deep overlap, so it is some spacings wide.
    """
    assert mine.nodes is not None and isinstance(other.shape, PointSurface)
    size = min(mine.size, other.size)
    wide = sum(c * math.sqrt(surface.area / len(surface)) for c, surface in zip(CROSSED, (mine.nodes, other.shape), strict=True))
    reach = max(REACH[0] * size, min(wide, REACH[1] * size))
    while True:
        found = active_samples(mine.nodes, other.shape, reach + margin, rotation=turn, translation=shift, margin=margin)
        if -np.min(found.distance, initial=0.0) < 0.5 * reach or reach >= REACH[1] * size:
            return found
        reach *= 2.0


def around(mine: Side, sample: Ints, more: Ints) -> Ints:
    """Of `more` samples, the places of those that are chosen or are next to chosen ones: a ring."""
    assert mine.nodes is not None
    ring = np.zeros(len(mine.nodes), bool)
    ring[mine.nodes.graph[sample, :9]] = True
    return np.flatnonzero(ring[more])
