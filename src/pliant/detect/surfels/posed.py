"""A shape somewhere in the world: queries go into its coordinates, answers come back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.answers import Projection, Shape


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
