"""Which surfels are inside which bodies: boxes, the nearest surfel through a grid, then the inside test (theory/point-surface-contact 4).

Boxes are wider than the surfels by a spacing, because a surface bulges between its samples. What was found in the last step is where the
next search starts (theory/point-surface-contact 3; section 5 of Keiser et al. 2004).

A surfel is inside where f of the other body is negative. f is exact for affine pieces of surface and smooth in time, so force follows
it without steps; the foot of the projection is not needed. Beyond 3 h from every sample the direction of f means nothing
(theory/point-surface-contact 4.3): there a surfel goes on along its last good direction if it has one, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.implicit_surfaces import DEEP, FOUND, LOST, Surfaces
from pliant.detect.body_pairs import both_ways, points_in_boxes
from pliant.detect.hash_grid import HashGrid
from pliant.detect.shapes import PLANE
from pliant.detect.surfels.projection import CUT
from pliant.geometry.winding import sampled_winding_numbers
from pliant.kernels import kernel


@dataclass
class Candidates:
    """Surfels that may be inside another body, ordered by pair and surfel."""

    surfel: Ints  # (c,)
    other: Ints  # (c,) body
    sample: Ints  # (c,) a surfel of it to start from, -1: none is near

    def __len__(self) -> int:
        return len(self.surfel)


@dataclass
class Hits:
    """Surfels inside other bodies, ordered as the candidates were."""

    surfel: Ints  # (r,)
    other: Ints  # (r,) body
    sample: Ints  # (r,) nearest surfel of the other body, -1 for exact shapes
    gap: Floats  # (r,) [m] negative
    normal: Floats  # (r, 3) out of the other body
    deep: np.ndarray  # (r,) bool: its direction is the last good one

    def __len__(self) -> int:
        return len(self.surfel)

    def select(self, rows: np.ndarray) -> Hits:
        return Hits(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def boxes(surfaces: Surfaces) -> tuple[Floats, Floats]:
    """Low and high corners of all bodies (B, 3), wider by a spacing; a plane without samples is everywhere."""
    fixed = surfaces.fixed
    low, high = np.full((len(fixed), 3), np.inf), np.full((len(fixed), 3), -np.inf)
    _boxes(fixed.start, surfaces.points, surfaces.wide, low, high)
    everywhere = (surfaces.shapes.kind == PLANE) & (np.diff(fixed.start) == 0)
    low[everywhere], high[everywhere] = -np.inf, np.inf
    return low, high


def candidates(surfaces: Surfaces, pairs: Ints, low: Floats, high: Floats) -> Candidates:
    """Surfels of either body of each pair that are in the box of the other; no samples yet."""
    start, (one, two) = surfaces.fixed.start, both_ways(pairs)
    row, surfel = points_in_boxes(start[one], start[one + 1], two, np.zeros(len(two)), surfaces.points, low, high)
    return Candidates(surfel, two[row], np.full(len(surfel), -1, np.int64))


def grid_of(surfaces: Surfaces) -> HashGrid:
    """Surfels by body and cell."""
    return HashGrid(surfaces.points, CUT * np.where(surfaces.wide > 0.0, surfaces.wide, 1.0), surfaces.fixed.body)


def nearest_surfels(surfaces: Surfaces, queries: Floats, other: Ints) -> Ints:
    """(m,) the nearest surfel of body `other` within four of its largest spacings, where weights end, -1 if none is so near."""
    return grid_of(surfaces).nearest_of(other, queries, CUT * surfaces.wide)


def start_samples(surfaces: Surfaces, found: Candidates) -> None:
    """Find samples to start from for candidates that have none."""
    new = np.flatnonzero(found.sample < 0)
    if len(new):
        found.sample[new] = nearest_surfels(surfaces, surfaces.points[found.surfel[new]], found.other[new])


def colliding(surfaces: Surfaces, found: Candidates, before: Floats, first: bool = False) -> tuple[Hits, Ints]:
    """Hits among the candidates, and the sample of every candidate for the next step.

    `before` (c, 3): last good direction of each candidate, zero for none. `first`: no step came before this one, so that surfels may
    be deep inside without ever having been near a surface; the winding number finds them.
    """
    queries = surfaces.points[found.surfel]
    gap, normal, state, sample = surfaces.distances(queries, found.other, found.sample)
    if first:
        _find_buried(surfaces, queries, found.other, gap, normal, state, sample)
    known = before.any(axis=1)
    deep = (state != FOUND) & (sample >= 0) & known
    if deep.any():
        plane = np.einsum("ri,ri->r", queries[deep] - surfaces.points[sample[deep]], before[deep])
        gap[deep], normal[deep] = np.where(plane < 0.0, plane, gap[deep]), before[deep]
    usable = (state != LOST) | deep
    rows = np.flatnonzero(usable & (gap < 0.0) & np.isfinite(gap))
    return Hits(found.surfel[rows], found.other[rows], sample[rows], gap[rows], normal[rows], (state != FOUND)[rows]), sample


def _find_buried(surfaces: Surfaces, queries: Floats, other: Ints, gap: Floats, normal: Floats, state: Ints, sample: Ints) -> None:
    """Give surfels that start far inside a body the plane of its surfel that is nearest to them."""
    far = np.flatnonzero((state == LOST) & (sample < 0) & (np.diff(surfaces.fixed.start)[other] > 0))
    samples = surfaces.fixed.start, surfaces.points, surfaces.normals, surfaces.areas
    far = far[sampled_winding_numbers(*samples, queries[far], other[far]) > 0.5]  # rather inside than outside
    if len(far) == 0:
        return
    for b in np.unique(other[far]).tolist():
        mine = far[other[far] == b]
        points = surfaces.points[surfaces.fixed.start[b] : surfaces.fixed.start[b + 1]]
        square = ((queries[mine, None] - points[None]) ** 2).sum(axis=2)
        sample[mine] = surfaces.fixed.start[b] + square.argmin(axis=1)
    way = queries[far] - surfaces.points[sample[far]]
    length = np.linalg.norm(way, axis=1)
    gap[far], state[far] = -length, DEEP
    normal[far] = -way / np.maximum(length, 1e-300)[:, None]


@kernel
def _boxes(start, points, wide, low, high):  # type: ignore[no-untyped-def]
    for b in range(len(start) - 1):
        for i in range(start[b], start[b + 1]):
            for k in range(3):
                low[b, k], high[b, k] = min(low[b, k], points[i, k] - wide[b]), max(high[b, k], points[i, k] + wide[b])
