"""Nodes in clusters, and pairs of clusters that are near (kept as they are) or far (compressed): the skeleton of far_field.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.geometry.mesh import Floats, Ints

LEAF = 64  # most nodes of a cluster that is not split
APART = 0.6  # clusters are far if the sum of their radii is below this part of the distance of their centres


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
        """Halve at the median along the longest side of the box until no cluster exceeds LEAF."""
        order = np.arange(len(points))
        ranges, child, centre, radius = [(0, len(points))], [], [], []
        at = 0
        while at < len(ranges):
            start, stop = ranges[at]
            here = points[order[start:stop]]
            low, high = here.min(axis=0), here.max(axis=0)
            centre.append(0.5 * (low + high))
            radius.append(np.sqrt(np.max(np.sum((here - centre[-1]) ** 2, axis=1))))
            child.append((-1, -1))
            if stop - start > LEAF:
                middle = (stop - start) // 2
                order[start:stop] = order[start:stop][np.argpartition(here[:, np.argmax(high - low)], middle)]
                child[-1] = (len(ranges), len(ranges) + 1)
                ranges += [(start, start + middle), (start + middle, stop)]
            at += 1
        start_stop = np.array(ranges)
        return cls(order, start_stop[:, 0].copy(), start_stop[:, 1].copy(), np.array(child), np.array(centre), np.array(radius))

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
