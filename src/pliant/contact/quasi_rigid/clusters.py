"""Nodes in clusters, and pairs of clusters that are near (kept as they are) or far (compressed): the skeleton of far_field.py."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel

LEAF = 64  # most nodes of a cluster that is not split
APART = 1.0  # clusters are far if the sum of their radii is below this part of the distance of their centres


@dataclass(frozen=True)
class Clusters:
    """A binary tree of nodes; each cluster is a range of `order`."""

    order: Ints  # (n,) node at each place
    start: Ints  # (c,) first place of each cluster
    stop: Ints  # (c,)
    child: Ints  # (c, 2), -1 for a leaf
    centre: Floats  # (c, 3)
    radius: Floats  # (c,)

    @classmethod
    def of(cls, points: Floats) -> Clusters:
        """Halve along the longest side of the box until no cluster exceeds LEAF; rows of whole leaves multiply faster."""
        nodes = contiguous(points.T)
        order, places = tree(nodes, LEAF)
        balls = np.empty((places.shape[1], 4))
        surround(contiguous(nodes[:, order]), contiguous(places[:2].T, np.int64), balls)
        start, stop, child = places[0].copy(), places[1].copy(), np.ascontiguousarray(places[2:].T)
        return cls(order, start, stop, child, np.ascontiguousarray(balls[:, :3]), balls[:, 3].copy())

    def pairs(self, cuts: Floats) -> tuple[Ints, Ints]:
        """Near and far pairs (m, 2) of clusters, a <= b, that cover every pair of nodes once.

        Responses stop at the radii `cuts`: a pair across such a radius is not far, a pair beyond all of them is left out.
        """
        near, far = [], []
        front = np.zeros((1, 2), dtype=np.int64)
        while len(front):
            a, b = front.T
            distance = np.linalg.norm(self.centre[a] - self.centre[b], axis=1)
            reach = self.radius[a] + self.radius[b]
            low, high = (distance - reach)[:, None], (distance + reach)[:, None]
            across = np.any((low <= cuts) & (high >= cuts) & np.isfinite(cuts), axis=1)
            beyond = (a != b) & (distance - reach > np.max(cuts, initial=0.0))
            apart = (a != b) & (reach < APART * distance) & ~across & ~beyond
            far.append(front[apart])
            leaf_a, leaf_b = self.child[a, 0] < 0, self.child[b, 0] < 0
            close = ~apart & ~beyond & leaf_a & leaf_b
            near.append(front[close])
            front = self._split(front[~apart & ~beyond & ~close])
        return np.concatenate(near), np.concatenate(far)

    def sides(self, pairs: Ints) -> Ints:
        """Ranges (m, 4) of the rows and columns of pairs."""
        a, b = pairs.T
        return np.stack([self.start[a], self.stop[a], self.start[b], self.stop[b]], axis=1)

    def _split(self, front: Ints) -> Ints:
        """Pairs of children: of both for a pair with itself, else of the wider one that can be split."""
        a, b = front.T
        same = a == b
        one = self.child[a[same]]
        own = np.concatenate([one[:, [0, 0]], one, one[:, [1, 1]]])
        a, b = a[~same], b[~same]
        first = (self.child[b, 0] < 0) | (self.child[a, 0] >= 0) & (self.radius[a] >= self.radius[b])
        wide, other = np.where(first, a, b), np.where(first, b, a)
        others = np.concatenate([np.stack([self.child[wide, k], other], 1) for k in (0, 1)])
        return np.concatenate([own, others])


def tree(nodes: Floats, leaf: int) -> tuple[Ints, Ints]:
    """(order (n,), places (4, c): first, end, left and right child, -1 for a leaf) of nodes (3 or 4, n)."""
    n = nodes.shape[1]
    order, places = np.arange(n), np.full((4, 4 * (n // max(leaf // 2, 1)) + 8), -1, np.int64)
    used = _split(contiguous(nodes), order, places, leaf)
    return order, np.ascontiguousarray(places[:, :used])


@kernel
def _split(nodes, order, places, leaf):  # type: ignore[no-untyped-def]
    """Halve along the longest side of the box at a multiple of `leaf` nodes, so that leaves are full; number of clusters."""
    places[0, 0], places[1, 0] = 0, len(order)
    used, at = 1, 0
    while at < used:
        first, end = places[0, at], places[1, at]
        if end - first > leaf:
            axis, widest = 0, -1.0
            for k in range(3):
                low, high = np.inf, -np.inf
                for p in range(first, end):
                    low, high = min(low, nodes[k, order[p]]), max(high, nodes[k, order[p]])
                if high - low > widest:
                    axis, widest = k, high - low
            middle = first + (end - first + 2 * leaf - 1) // (2 * leaf) * leaf
            order[first:end] = order[first:end][np.argsort(nodes[axis][order[first:end]], kind="mergesort")]
            places[2, at], places[3, at] = used, used + 1
            places[0, used], places[1, used], places[0, used + 1], places[1, used + 1] = first, middle, middle, end
            used += 2
        at += 1
    return used


@kernel
def surround(nodes, ranges, balls):  # type: ignore[no-untyped-def]
    """A ball around each range of nodes: centre of the box, and radius."""
    for k in range(len(ranges)):
        x, y, z = nodes[0, ranges[k, 0] : ranges[k, 1]], nodes[1, ranges[k, 0] : ranges[k, 1]], nodes[2, ranges[k, 0] : ranges[k, 1]]
        cx, cy, cz = 0.5 * (x.min() + x.max()), 0.5 * (y.min() + y.max()), 0.5 * (z.min() + z.max())
        far = 0.0
        for i in range(len(x)):
            far = max(far, (x[i] - cx) ** 2 + (y[i] - cy) ** 2 + (z[i] - cz) ** 2)
        balls[k, 0], balls[k, 1], balls[k, 2], balls[k, 3] = cx, cy, cz, math.sqrt(far)
