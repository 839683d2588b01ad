"""Trees over nodes: clusters whose blocks are near (kept as they are) or far (compressed), for hierarchical.py; and what many forces
displace many points by, with far forces taken together [Barnes, Hut 1986;
theory/quasi-rigid 9.5].

A cluster of forces that is far from a group of points acts as four equal forces, two on each of its longer axes: total, first and second
moments are exact, so that the error falls with the cube of the opening. Forces beyond the reach of the response are left out. Every group
of points adds up in the order of the tree, so threads cannot matter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.gaussian_blobs import node_at, row_at
from pliant.contact.elastic.response import Code, Response
from pliant.detect.surfels.winding import OPEN
from pliant.kernels import allowed_threads, contiguous, kernel, parallel, prange

LEAF = 64  # most nodes of a cluster that is not split
FORCES, POINTS = 12, 32  # most in a leaf
OVER = math.sqrt(-2.0 * math.log(np.finfo(np.float32).eps))  # lengths b beyond which exp(-r^2/2b^2) is below single precision


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
            apart = (a != b) & (reach < distance) & ~across & ~beyond
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


class Forces(NamedTuple):
    """Forces in a tree."""

    sources: Floats  # (4, n) blobs
    size: Floats  # (n,) [N]
    places: Ints  # (4, c) of `tree`
    clusters: Floats  # (5, c) centre of forces, total, radius
    stands: Floats  # (4, 4 c) the four forces that stand for each cluster


def tree_displacement(targets: Floats, sources: Floats, force: Floats, response: Response, opening: float = 1.0 / OPEN) -> Floats:
    """As `displacement`, [m] (m,), with an error of about 1e-3 opening^2 of what all forces could do."""
    loaded = force != 0.0
    if not loaded.any() or targets.shape[1] == 0:
        return np.zeros(targets.shape[1])
    sources, force = contiguous(sources[:, loaded]), contiguous(force[loaded])
    order, places = tree(sources, FORCES)
    sources, force = contiguous(sources[:, order]), contiguous(force[order])
    forces = Forces(sources, force, places, *_moments(sources, force, places))
    to, groups = tree(targets, POINTS)
    ends = contiguous(groups[:2, groups[2] < 0].T, np.int64)
    placed, out = contiguous(targets[:, to]), np.zeros(targets.shape[1])
    balls = np.empty((len(ends), 4))
    surround(placed, ends, balls)
    numba.set_num_threads(allowed_threads())
    over, cuts = _ends(response.code)
    scratch = np.empty((len(ends), POINTS))
    _acted(placed, ends, balls, forces, *response.code, over, cuts, opening, scratch, out)
    back = np.empty_like(out)
    back[to] = out
    return back


def _ends(code: Code) -> tuple[float, Floats]:
    """(distance beyond which nothing is felt, radii at which a response jumps)."""
    terms, tables = code
    cuts = terms[np.isfinite(terms[:, 2]), 2]
    over = [cut if math.isfinite(cut) else OVER / math.sqrt(beta) if beta > 0.0 else math.inf for _, beta, cut in terms]
    if len(tables):
        ended = np.array_equal(tables[:, 1], -terms[:, 0]) and np.all(terms[:, 1] == 0.0)
        over.append(float(np.max(tables[:, 0] * (tables.shape[1] - 5))) if ended else math.inf)
        over = [max(over)] if not ended else [over[-1]]
    return max(over), contiguous(cuts)


def _moments(sources: Floats, force: Floats, places: Ints) -> tuple[Floats, Floats]:
    """(clusters (5, c): centre of forces, total, radius; the four forces that stand for each, (4, 4 c))."""
    clusters, second = np.empty((5, places.shape[1])), np.empty((places.shape[1], 3, 3))
    spread = np.empty(places.shape[1])
    _gathered(sources, force, places, clusters, second, spread)
    size, axes = np.linalg.eigh(second)
    arm = np.sqrt(np.maximum(2.0 * size[:, None, 1:], 0.0)) * axes[:, :, 1:]  # (c, 3, 2)
    x = clusters[:3].T[:, None] + np.stack([arm[:, :, 0], -arm[:, :, 0], arm[:, :, 1], -arm[:, :, 1]], axis=1)
    return clusters, contiguous(np.vstack([x.reshape(-1, 3).T, np.repeat(spread, 4)]))


@kernel
def _gathered(sources, force, places, clusters, second, spread):  # type: ignore[no-untyped-def]
    """Moments of the forces of each cluster."""
    d = np.empty(3)
    for k in range(places.shape[1]):
        first, end, total, far = places[0, k], places[1, k], 0.0, 0.0
        clusters[:3, k], second[k], spread[k] = 0.0, 0.0, 0.0
        for p in range(first, end):
            total += force[p]
            for i in range(3):
                clusters[i, k] += force[p] * sources[i, p]
        for i in range(3):
            clusters[i, k] /= total
        for p in range(first, end):
            spread[k] += force[p] / total * sources[3, p]
            for i in range(3):
                d[i] = sources[i, p] - clusters[i, k]
            far = max(far, d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
            for i in range(3):
                for j in range(3):
                    second[k, i, j] += force[p] / total * d[i] * d[j]
        clusters[3, k], clusters[4, k] = total, math.sqrt(far)


@kernel
def _add(nodes, source, p, force, terms, tables, first, end, scratch, out):  # type: ignore[no-untyped-def]
    """Add what one force does to a group."""
    row_at(nodes, node_at(source, p), terms, tables, first, end, scratch)
    for i in range(end - first):
        out[first + i] += force * scratch[i]


@parallel
def _acted(nodes, groups, balls, forces, terms, tables, over, cuts, opening, scratch, out):  # type: ignore[no-untyped-def]
    places, clusters = forces.places, forces.clusters
    for g in prange(len(groups)):
        first, end = groups[g, 0], groups[g, 1]
        cx, cy, cz, wide = balls[g, 0], balls[g, 1], balls[g, 2], balls[g, 3]
        stack = np.empty(128, np.int64)
        stack[0], height = 0, 1
        while height > 0:
            height -= 1
            k = stack[height]
            radius = clusters[4, k]
            away = math.sqrt((clusters[0, k] - cx) ** 2 + (clusters[1, k] - cy) ** 2 + (clusters[2, k] - cz) ** 2)
            if away - wide - radius > over:
                continue
            together = radius < opening * (away - wide)
            for c in range(len(cuts)):
                together = together and abs(away - cuts[c]) > wide + radius
            if together:
                for p in range(4 * k, 4 * k + 4):
                    _add(nodes, forces.stands, p, 0.25 * clusters[3, k], terms, tables, first, end, scratch[g], out)
            elif places[2, k] < 0:
                for p in range(places[0, k], places[1, k]):
                    _add(nodes, forces.sources, p, forces.size[p], terms, tables, first, end, scratch[g], out)
            else:
                stack[height], stack[height + 1] = places[3, k], places[2, k]
                height += 2
