"""Clusters of samples and the tree of spheres around them (theory/point-surfaces 7; Pauly, Pai, Guibas 2004, section 4; clustering of
Pauly, Gross, Kobbelt 2002).

A cluster is split by the plane through its centroid across its longest axis, down to 8 samples. The tree is cut at sizes of choice for
the paper's levels: a cluster of a level holds at most `size` samples and is not too curved (surface variation up to 0.2). Spheres are found
by moving the centre towards the farthest sample, 1/2, 1/3, ... of the way (Badoiu and Clarkson 2003), within 1-2 % of the smallest.

Where we differ: in the paper the sphere's centre stands for a cluster. It lies inside the surface by more than typical penetrations
(0.013 R for 128 of 20k samples of a ball); here it is the centre of area, projected onto the surface (`PointSurface.level`).

The same tree answers how often the surface winds around a point: 1 inside, 0 outside, in between where it has holes,
w(x) = 1/(4 pi) sum A_i (s_i - x).n_i / |s_i - x|^3  [Barill et al. 2018]; theory/point-surfaces 6.3. Clusters of samples that are far away
count as one, by their Taylor expansion about the centroid c of their area, with d = s - c and r = c - x:
    r.D / r^3  +  tr(M) / r^3 - 3 r.M r / r^5  -  3/2 V.r / r^5 + 15/2 T(r, r, r) / r^7,
    D = sum A n,   M = sum A d n^T,   T = sum A d d n,   V = sum A (|d|^2 n + 2 (d.n) d).
Limitations: within a spacing of the surface single samples show through; it decides the side of far points only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.hash_grid import as_queries, squared
from pliant.detect.surfels.projection import smallest_axis
from pliant.geometry.winding import sample_solid_angle
from pliant.kernels import (
    axpy,
    contiguous,
    dot,
    inline,
    kernel,
    load,
    norm,
    parallel,
    prange,
    scale,
    store,
    sub,
    use_threads,
)

LEAF = 8  # samples of a cluster that is not split
CURVED = 0.2  # surface variation above which a cluster of more than LEAF samples is not kept whole
ROUNDS = 60  # of moving a centre towards the farthest sample
CHUNK = 16  # queries of a winding number that one thread takes
OPEN = 4.0  # radii from a cluster beyond which it counts as one: error below 1e-3 of winding numbers, about 1e-3 / OPEN^2 of displacements
PAIRS = 100_000_000  # samples times queries above which clusters are used


class Spheres(NamedTuple):
    """A binary tree of spheres; node 0 is the root, parents come before their children."""

    order: Ints  # (n,) samples by place
    begin: Ints  # (nodes,) first place
    end: Ints  # (nodes,) behind the last place
    left: Ints  # (nodes,) child, -1 for a leaf
    right: Ints  # (nodes,)
    parent: Ints  # (nodes,) -1 for the root
    variation: Floats  # (nodes,) surface variation
    centre: Floats  # (nodes, 3) [m]
    radius: Floats  # (nodes,) [m]
    depth: int  # levels of the tree

    @staticmethod
    def build(points: Floats) -> Spheres:
        points = contiguous(points).reshape(-1, 3)
        order, room = np.arange(len(points)), 2 * len(points) + 1
        places = np.full((room, 5), -1, np.int64)
        variation, centre, radius = np.empty(room), np.empty((room, 3)), np.empty(room)
        used, depth = _split(points, order, places, variation)
        begin, end, left, right, parent = (np.ascontiguousarray(places[:used, c]) for c in range(5))
        _surround(points, order, begin, end, centre, radius)
        rest = variation[:used].copy(), centre[:used].copy(), radius[:used].copy()
        return Spheres(order, begin, end, left, right, parent, *rest, int(depth))

    def refitted(self, points: Floats) -> Spheres:
        """The same tree around samples that moved: leaves anew, inner spheres around those of their children. O(n)."""
        centre, radius = self.centre.copy(), self.radius.copy()
        moved = self._replace(centre=centre, radius=radius)
        _refit(contiguous(points), moved)
        return moved

    def cut(self, size: int) -> Ints:
        """Nodes of the coarsest cut whose clusters hold at most `size` samples and are not too curved."""
        count = self.end - self.begin
        small = (count <= LEAF) | ((count <= size) & (self.variation <= CURVED))
        above = np.zeros(len(count), bool)
        _inherit(self.parent, small, above)
        return np.flatnonzero(small & ~above)

    def members(self, nodes: Ints) -> tuple[Ints, Ints]:
        """CSR (start, samples) of the nodes' samples."""
        count = self.end[nodes] - self.begin[nodes]
        start = np.concatenate([[0], np.cumsum(count)])
        place = np.arange(int(start[-1])) - np.repeat(start[:-1] - self.begin[nodes], count)
        return start, self.order[place]

    def sums(self, values: Floats) -> Floats:
        """Sum of (n, ...) values over the samples of each node, by prefix sums."""
        total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values[self.order], axis=0)])
        return np.asarray(total[self.end] - total[self.begin])


@kernel
def _split(points, order, places, variation):  # type: ignore[no-untyped-def]
    """Nodes (begin, end, left, right, parent) by planes through centroids; (number of nodes, depth)."""
    places[0, 0], places[0, 1] = 0, len(points)
    used, node, depth, spare = 1, 0, 1, np.empty(len(points), np.int64)
    level = np.ones(len(places), np.int64)
    while node < used:
        begin, end = places[node, 0], places[node, 1]
        centre, axis, variation[node] = _longest_axis(points, order, begin, end)
        if end - begin > LEAF:
            low, high = begin, 0
            for place in range(begin, end):
                if dot(sub(load(points, order[place]), centre), axis) < 0.0:
                    order[low] = order[place]
                    low += 1
                else:
                    spare[high] = order[place]
                    high += 1
            order[low:end] = spare[:high]
            if low == begin or low == end:  # all at one place
                low = (begin + end) // 2
            for child in range(2):
                places[node, 2 + child] = used
                places[used, 0] = begin if child == 0 else low
                places[used, 1] = low if child == 0 else end
                places[used, 4] = node
                level[used] = level[node] + 1
                depth = max(depth, level[used])
                used += 1
        node += 1
    return used, depth


@kernel
def _longest_axis(points, order, begin, end):  # type: ignore[no-untyped-def]
    """(centroid, axis of largest variance, surface variation) of a run of samples."""
    mean, count = (0.0, 0.0, 0.0), end - begin
    for place in range(begin, end):
        mean = axpy(1.0 / count, load(points, order[place]), mean)
    xx = xy = xz = yy = yz = zz = 0.0
    for place in range(begin, end):
        d = sub(load(points, order[place]), mean)
        xx, xy, xz = xx - d[0] * d[0], xy - d[0] * d[1], xz - d[0] * d[2]
        yy, yz, zz = yy - d[1] * d[1], yz - d[1] * d[2], zz - d[2] * d[2]
    values, axis = smallest_axis(xx, xy, xz, yy, yz, zz)  # of the negative matrix
    total = values[0] + values[1] + values[2]
    return mean, axis, (min(values[2], 0.0) / total if total < 0.0 else 0.0)


@kernel
def _ball(points, order, begin, end):  # type: ignore[no-untyped-def]
    """(centre, radius) of a small ball around a run of samples."""
    c = load(points, order[begin])
    farthest, radius = order[begin], 0.0
    for k in range(ROUNDS):
        radius = 0.0
        for place in range(begin, end):
            d = squared(points, order[place], c)
            if d > radius:
                radius, farthest = d, order[place]
        if k < ROUNDS - 1:
            c = axpy(1.0 / (k + 2.0), sub(load(points, farthest), c), c)
    return c, np.sqrt(radius) * (1.0 + 1e-12)


@kernel
def _surround(points, order, begin, end, centre, radius):  # type: ignore[no-untyped-def]
    for node in range(len(begin)):
        c, radius[node] = _ball(points, order, begin[node], end[node])
        store(centre, node, c)


@kernel
def _refit(points, spheres):  # type: ignore[no-untyped-def]
    """Leaves from samples, inner spheres from the two below."""
    order, begin, end, left, right = spheres.order, spheres.begin, spheres.end, spheres.left, spheres.right
    centre, radius = spheres.centre, spheres.radius
    for node in range(len(begin) - 1, -1, -1):
        if left[node] < 0:
            c, radius[node] = _ball(points, order, begin[node], end[node])
            store(centre, node, c)
            continue
        a, b = left[node], right[node]
        between = sub(load(centre, b), load(centre, a))
        length = norm(between)
        if length + radius[b] <= radius[a]:
            store(centre, node, load(centre, a))
            radius[node] = radius[a]
        elif length + radius[a] <= radius[b]:
            store(centre, node, load(centre, b))
            radius[node] = radius[b]
        else:
            radius[node] = 0.5 * (length + radius[a] + radius[b]) * (1.0 + 1e-12)
            store(centre, node, axpy((radius[node] - radius[a]) / length, between, load(centre, a)))


@kernel
def _inherit(parent, small, above):  # type: ignore[no-untyped-def]
    """Whether a node lies below one that is small."""
    for node in range(1, len(parent)):
        above[node] = above[parent[node]] or small[parent[node]]


class Moments(NamedTuple):
    """What the nodes of a tree of spheres look like from afar."""

    centre: Floats  # (nodes, 3) [m] centroid of area
    reach: Floats  # (nodes,) [m] all samples are this near
    terms: Floats  # (nodes, 42) D (3) [m^2], M (9) [m^3], V (3) [m^4], T (27) [m^4]

    @staticmethod
    def of(spheres: Spheres, points: Floats, normals: Floats, areas: Floats) -> Moments:
        area = spheres.sums(areas)
        centre = np.ascontiguousarray(spheres.sums(areas[:, None] * points) / area[:, None])
        reach = np.linalg.norm(centre - spheres.centre, axis=1) + spheres.radius
        terms = np.zeros((len(centre), 42))
        _gather_moments(spheres, points, normals, areas, centre, terms)
        return Moments(centre, reach, terms)


def winding_number(
    spheres: Spheres, moments: Moments, points: Floats, normals: Floats, areas: Floats, queries: Floats, opening: float | None = None
) -> Floats:
    """(m,) winding numbers; `opening`: radii beyond which clusters count as one, None: as the work demands, inf: sample by sample."""
    queries = as_queries(queries)
    if opening is None:
        opening = OPEN if len(queries) * len(points) > PAIRS else np.inf
    out = np.empty(len(queries))
    use_threads(100 * len(queries))
    _wind(spheres, moments, points, normals, areas, queries, float(opening), out)
    return out


@kernel
def _gather_moments(spheres, points, normals, areas, centre, terms):  # type: ignore[no-untyped-def]
    begin, end, order = spheres.begin, spheres.end, spheres.order
    for node in range(len(begin)):
        t = terms[node]
        for place in range(begin[node], end[node]):
            s = order[place]
            d, n = sub(load(points, s), load(centre, node)), scale(areas[s], load(normals, s))
            both = axpy(dot(d, d), n, scale(2.0 * dot(d, n), d))
            for a in range(3):
                t[a] += n[a]
                t[12 + a] += both[a]
                for b in range(3):
                    t[3 + 3 * a + b] += d[a] * n[b]
                    for c in range(3):
                        t[15 + 9 * a + 3 * b + c] += d[a] * d[b] * n[c]


@inline
def from_afar(t, r, length):  # type: ignore[no-untyped-def]
    """The expansion above; t the terms of a node."""
    square = 1.0 / (length * length)
    line = dot((t[0], t[1], t[2]), r) + t[3] + t[7] + t[11]
    bend, third = 0.0, 0.0
    for a in range(3):
        for b in range(3):
            bend += r[a] * r[b] * t[3 + 3 * a + b]
            third += r[a] * r[b] * dot((t[15 + 9 * a + 3 * b], t[16 + 9 * a + 3 * b], t[17 + 9 * a + 3 * b]), r)
    bend = 3.0 * bend + 1.5 * dot((t[12], t[13], t[14]), r)
    return (line - bend * square + 1.5 * 5.0 * third * square * square) * square / length


@parallel
def _wind(spheres, moments, points, normals, areas, queries, opening, out):  # type: ignore[no-untyped-def]
    begin, end, left, right, order = spheres.begin, spheres.end, spheres.left, spheres.right, spheres.order
    centre, reach, terms = moments.centre, moments.reach, moments.terms
    for chunk in prange((len(queries) + CHUNK - 1) // CHUNK):
        stack = np.empty(spheres.depth + 2, np.int64)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(queries))):
            x, total, top, stack[0] = load(queries, i), 0.0, 1, 0
            while top > 0:
                top -= 1
                node = stack[top]
                r = sub(load(centre, node), x)
                length = norm(r)
                if length > opening * reach[node]:
                    total += from_afar(terms[node], r, length)
                elif left[node] >= 0:
                    stack[top], stack[top + 1] = right[node], left[node]
                    top += 2
                else:
                    for place in range(begin[node], end[node]):
                        j = order[place]
                        total += sample_solid_angle(sub(load(points, j), x), load(normals, j), areas[j])
            out[i] = total / (4.0 * np.pi)
