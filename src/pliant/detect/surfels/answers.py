"""What every shape answers, sampled or exact, here or posed: distances, feet and normals, with masks that say which may be used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints

# what is to be said about a projection, as bits
FAR = 1  # the query lies more than 3 h from the nearest sample: right, but less certain
OFF = 2  # the foot lies beyond a rim or in a hole: not on the surface
THIN = 4  # samples of an opposite sheet lie within the kernel: the foot is that of the sheet of the nearest sample
PLANE = 8  # too few or too badly placed samples for a quadric: plane
LOST = 16  # no weights, no common normal, or no convergence: plane of the nearest sample
MEDIAL = 32  # another part of the surface is as near (only looked for on demand)
UNUSABLE = OFF | LOST | MEDIAL


@dataclass(frozen=True)
class Projection:
    """Feet of queries on a surface."""

    points: Floats  # (m, 3) [m] feet
    normals: Floats  # (m, 3) outward unit normals there
    distance: Floats  # (m,) [m] (x - foot) . normal, negative inside
    sample: Ints  # (m,) nearest sample of the foot; -1 for exact shapes
    flags: Ints  # (m,) the bits above
    iterations: Ints  # (m,)

    @property
    def valid(self) -> np.ndarray:
        """(m,) whether the foot is a point of the surface that may carry a contact."""
        return np.asarray(self.flags & UNUSABLE == 0)

    def has(self, bits: int) -> np.ndarray:
        """(m,) whether any of the bits is set."""
        return np.asarray(self.flags & bits != 0)


class Shape(Protocol):
    """Anything with an outside. Queries (m, 3) and answers are in the shape's own coordinates."""

    def project(self, points: Floats, *, start: Ints | None = None) -> Projection:
        """Feet of the queries. `start` (m,): `sample` of their last projection, which spares the search; exact shapes need none."""

    def signed_distance(self, points: Floats) -> Floats:
        """(m,) [m], negative inside."""

    def winding(self, points: Floats) -> Floats:
        """(m,) 1 inside, 0 outside, between them where the surface has holes."""


@dataclass(frozen=True)
class Posed:
    """`shape`, turned about its origin and then shifted; asks and answers in world coordinates."""

    shape: Shape
    rotation: Floats  # (3, 3) body to world
    translation: Floats  # (3,) [m]

    def to_body(self, points: Floats) -> Floats:
        return np.ascontiguousarray((np.asarray(points) - self.translation) @ self.rotation)

    def to_world(self, points: Floats) -> Floats:
        return np.asarray(points) @ np.asarray(self.rotation).T + self.translation

    def project(self, points: Floats, *, start: Ints | None = None) -> Projection:
        """Feet and normals in world coordinates; a start is one of samples, so it stays good when the body moves."""
        found = self.shape.project(self.to_body(points), start=start)
        return replace(found, points=self.to_world(found.points), normals=found.normals @ np.asarray(self.rotation).T)

    def signed_distance(self, points: Floats) -> Floats:
        """(m,) [m]"""
        return self.shape.signed_distance(self.to_body(points))

    def winding(self, points: Floats) -> Floats:
        """(m,)"""
        return self.shape.winding(self.to_body(points))
