"""Clusters of samples and the tree of spheres around them (theory/point-surfaces 7.1, 7.2; Pauly, Pai, Guibas 2004, section 4; clustering
of Pauly, Gross, Kobbelt 2002).

A cluster is split by the plane through its centroid across its longest axis, down to 8 samples. The tree is cut at sizes of choice for
the paper's levels: a cluster of a level holds at most `size` samples and is not too curved (surface variation up to 0.2). Spheres are found
by moving the centre towards the farthest sample, 1/2, 1/3, ... of the way (Badoiu and Clarkson 2003), within 1-2 % of the smallest.

Where we differ: in the paper the sphere's centre stands for a cluster. It lies inside the surface by more than typical penetrations
(0.013 R for 128 of 20k samples of a ball); here it is the centre of area, projected onto the surface (`level_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.hash_grid import squared
from pliant.detect.surfels.projection import smallest_axis
from pliant.kernels import (
    axpy,
    contiguous,
    dot,
    kernel,
    load,
    norm,
    store,
    sub,
)

if TYPE_CHECKING:
    from pliant.detect.surfels.surface import PointSurface

LEAF = 8  # samples of a cluster that is not split
CURVED = 0.2  # surface variation above which a cluster of more than LEAF samples is not kept whole
ROUNDS = 60  # of moving a centre towards the farthest sample


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


@dataclass(frozen=True)
class Level:
    """Clusters of about one size: one representative for each."""

    nodes: Ints  # (c,) of the tree of spheres
    points: Floats  # (c, 3) [m] centres of area projected onto the surface
    normals: Floats  # (c, 3) direction of sum A n
    areas: Floats  # (c,) [m^2] sum A
    radius: Floats  # (c,) [m] of the spheres
    start: Ints  # (c + 1,) CSR of the samples
    samples: Ints


def level_of(surface: PointSurface, size: int) -> Level:
    """Clusters of at most `size` samples; what stands for each is its centre of area, projected (theory/point-surfaces 7.3)."""
    spheres, areas = surface.spheres, surface.areas
    nodes = spheres.cut(size)
    start, samples = spheres.members(nodes)
    vector = spheres.sums(areas[:, None] * surface.normals)[nodes]
    length = np.linalg.norm(vector, axis=1)
    first = surface.normals[samples[start[:-1]]]  # of a cluster that wraps around something and has no side
    normals = np.where(length[:, None] > 0.0, vector / np.maximum(length, np.finfo(float).tiny)[:, None], first)
    total = spheres.sums(areas)[nodes]
    feet = surface.project(spheres.sums(areas[:, None] * surface.points)[nodes] / total[:, None]).points
    return Level(nodes, feet, normals, total, spheres.radius[nodes], start, samples)
