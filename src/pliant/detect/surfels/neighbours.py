"""Neighbours: who is near whom among points that stay, by a k-d tree (theory/point-surfaces 3.1). For points that move every step
`detect.hash_grid` gives the same answers bit for bit: nearest points sorted by distance and then number, points within a radius sorted by
number.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.hash_grid import as_queries, check_count, insert, squared
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, kernel, load

EXTRA = 4  # points a k-d tree is asked for beyond k, to see whether the k-th is tied


class Neighbours(Protocol):
    """Queries (m, 3) against fixed points (n, 3)."""

    points: Floats

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        """Distances (m, k) [m] and numbers (m, k) of the k nearest points, by distance, then number."""

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        """CSR (start (m + 1,), numbers) of the points not farther than the radius [m], by number."""


class KDTree:
    """Best for points that stay where they are; built once, O(n log n)."""

    def __init__(self, points: Floats) -> None:
        self.points = contiguous(points).reshape(-1, 3)

    @cached_property
    def tree(self):  # type: ignore[no-untyped-def]
        return kd_tree(self.points)

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        queries = as_queries(queries)
        check_count(k, len(self.points))
        distance, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        left, ask = np.arange(len(queries)), min(k + EXTRA, len(self.points))
        while len(left):
            far, found = self.tree.query(queries[left], k=np.arange(1, ask + 1))
            tied = (far[:, -1] <= far[:, k - 1] * (1 + 1e-14)) & (ask < len(self.points))
            done = left[~tied]
            near, index[done] = _first(self.points, queries[done], contiguous(found[~tied], np.int64), k)
            distance[done] = np.sqrt(near)
            left, ask = left[tied], min(2 * ask, len(self.points))
        return distance, index

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        queries = as_queries(queries)
        radii = contiguous(np.broadcast_to(radius, len(queries)))
        found = self.tree.query_ball_point(queries, radii * (1 + 1e-12), return_sorted=True)
        count = np.fromiter((len(f) for f in found), np.int64, len(found))
        start = np.concatenate([[0], np.cumsum(count)])
        flat = np.fromiter((j for f in found for j in f), np.int64, int(start[-1]))
        return _kept(self.points, queries, radii, start, flat)


@kernel
def _first(points, queries, found, k):  # type: ignore[no-untyped-def]
    """(squared distances, numbers) of the first k of the found ones."""
    best, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
    for i in range(len(queries)):
        q, count = load(queries, i), 0
        for c in range(found.shape[1]):
            count = insert(squared(points, found[i, c], q), found[i, c], best[i], index[i], count)
    return best, index


@kernel
def _kept(points, queries, radii, start, flat):  # type: ignore[no-untyped-def]
    """The CSR without what is beyond the radius."""
    begin, kept, count = np.zeros(len(start), np.int64), np.empty(len(flat), np.int64), 0
    for i in range(len(queries)):
        q = load(queries, i)
        for c in range(start[i], start[i + 1]):
            if squared(points, flat[c], q) <= radii[i] * radii[i]:
                kept[count] = flat[c]
                count += 1
        begin[i + 1] = count
    return begin, kept[:count].copy()
