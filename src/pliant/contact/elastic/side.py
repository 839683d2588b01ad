"""One of the two objects of a contact: its shape, where it is, and how its surface gives way. Coarser levels of it: coarse_to_fine.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.coarse_to_fine import Parts
from pliant.contact.elastic.response import Response
from pliant.detect.surfels.answers import Posed, Projection
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface


@dataclass(frozen=True)
class Side:
    """A shape turned about its origin and then shifted, with its response. Queries and answers are in world coordinates."""

    shape: PointSurface | Exact | Posed  # what others ask for distances
    response: Response | None = None  # None: rigid
    rotation: Floats = field(default_factory=lambda: np.eye(3))  # (3, 3) body to world
    translation: Floats = field(default_factory=lambda: np.zeros(3))  # [m] (3,)
    samples: PointSurface | None = None  # nodes of an exact shape, which has none of its own; or fewer than the shape has
    parts: Parts | None = None  # of which samples these fewer are clusters

    def __post_init__(self) -> None:
        if isinstance(self.shape, Posed):
            inner = self.shape
            if not isinstance(inner.shape, PointSurface | Exact):
                raise PliantError("a side of a contact is a PointSurface or an Exact shape, placed once.")
            rotation, translation = self.rotation @ inner.rotation, self.rotation @ inner.translation + self.translation
            for name, value in (("shape", inner.shape), ("rotation", rotation), ("translation", translation)):
                object.__setattr__(self, name, value)

    @property
    def nodes(self) -> PointSurface | None:
        """The samples that can carry forces, in body coordinates."""
        if self.samples is not None:
            return self.samples
        return self.shape if isinstance(self.shape, PointSurface) else None

    @cached_property
    def compliance(self) -> float:
        """C [m^2/N], 0 if rigid."""
        return 0.0 if self.response is None else float(np.sum(self.response.code[0][:, 0]))

    @property
    def size(self) -> float:
        """[m] diameter of the samples' sphere; infinite for exact shapes without samples."""
        return np.inf if self.nodes is None else 2.0 * float(self.nodes.spheres.radius[0])

    def moved(self, rotation: Floats, about: Floats, shift: Floats) -> Side:
        """Turned about a point of the world [m], then shifted."""
        return replace(self, rotation=rotation @ self.rotation, translation=rotation @ (self.translation - about) + about + shift)

    def world(self, points: Floats) -> Floats:
        """World coordinates of points of the body."""
        return points @ self.rotation.T + self.translation

    def normals(self, chosen: Ints) -> Floats:
        """World normals of nodes."""
        assert self.nodes is not None
        return self.nodes.normals[chosen] @ self.rotation.T

    def project(self, points: Floats, start: Ints | None = None) -> Projection:
        """Feet of world points on the shape."""
        if start is not None and np.any(start < 0):
            start = None
        assert not isinstance(self.shape, Posed)
        return Posed(self.shape, self.rotation, self.translation).project(points, start=start)
