"""Colliding surfels: the inside test (4.2 of the methods page), and what to do with those that are too deep for it.

A surfel is inside where f of the other body is negative. f is exact for affine pieces of surface and smooth in time, so force follows
it without steps; the foot of the projection is not needed. Beyond 3 h from every sample the direction of f means nothing: there a
surfel goes on along its last good direction if it has one, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.candidates import BodyGrid, Candidates, winding
from pliant.contact.point_surface.field import DEEP, FOUND, LOST
from pliant.contact.point_surface.surfaces import Surfaces

SURE = 0.5  # winding number above which a far surfel is inside


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


def inside(surfaces: Surfaces, found: Candidates, before: Floats, first: bool = False) -> tuple[Hits, Ints]:
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
    far = far[winding(surfaces, queries[far], other[far]) > SURE]
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


def search(surfaces: Surfaces, found: Candidates) -> None:
    """Samples to start from for candidates that have none."""
    if (found.sample < 0).any():
        BodyGrid(surfaces).nearest(surfaces.points[found.surfel], found.other, found.sample)
