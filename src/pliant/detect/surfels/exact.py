"""Exact shapes that answer like sampled ones, so that a comparison can take the error of sampling out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.shapes import KINDS, SIZES, signed_distance
from pliant.detect.surfels.answers import Projection
from pliant.kernels import contiguous, kernel, load, store


@dataclass(frozen=True)
class Exact:
    """plane (below z = 0), ball (radius), box (half sizes), capsule and cylinder (radius, half length), torus (large, small radius) [m]."""

    kind: str
    sizes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            raise PliantError(f"'{self.kind}' is no exact shape; there are {', '.join(SIZES)}.")
        if len(self.sizes) != SIZES[self.kind] or not all(np.isfinite(s) and s > 0.0 for s in self.sizes):
            raise PliantError(f"a {self.kind} has {SIZES[self.kind]} sizes above zero [m], not {self.sizes}.")

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """Kind and sizes as kernels take them."""
        a, b, c = (*self.sizes, 0.0, 0.0, 0.0)[:3]
        return KINDS[self.kind], float(a), float(b), float(c)

    def project(self, points: Floats, *, start: Ints | None = None) -> Projection:
        """Nearest points of the surface; all of them valid, and found without a start."""
        points = contiguous(points).reshape(-1, 3)
        distance, normals, count = np.empty(len(points)), np.empty_like(points), len(points)
        _distances(*self.numbers, points, distance, normals)
        none = np.zeros(count, np.int64)
        return Projection(points - distance[:, None] * normals, normals, distance, none - 1, none, none.copy())

    def signed_distance(self, points: Floats) -> Floats:
        """(m,) [m]"""
        return self.project(points).distance

    def winding(self, points: Floats) -> Floats:
        """1 inside, 1/2 on the surface, 0 outside."""
        return 0.5 - 0.5 * np.sign(self.signed_distance(points))


@kernel
def _distances(kind, a, b, c, points, distance, normals):  # type: ignore[no-untyped-def]
    for i in range(len(points)):
        distance[i], n = signed_distance(kind, a, b, c, load(points, i))
        store(normals, i, n)
