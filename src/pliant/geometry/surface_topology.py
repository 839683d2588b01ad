"""Edges, welding, parts and orientation of triangle surfaces, all with arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.winding import winding_numbers

WELD = 1e-8  # of the diagonal of the bounding box: vertices closer than this are one vertex


def diagonal(points: Floats) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def labels(count: int, pairs: Ints) -> Ints:
    """Connected components of a graph, numbered by first appearance."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)


@dataclass(frozen=True)
class Edges:
    """The undirected edges of a set of faces."""

    faces: Ints

    @cached_property
    def directed(self) -> Ints:
        """Start and end of the three edges of each face, (3 m, 2)."""
        return self.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)

    @cached_property
    def _unique(self) -> tuple[Ints, Ints, Ints]:
        low, high = np.sort(self.directed, axis=1).T if len(self.faces) else np.zeros((2, 0), dtype=np.int64)
        stride = int(self.faces.max()) + 1 if len(self.faces) else 1
        key, edge, count = np.unique(low * stride + high, return_inverse=True, return_counts=True)
        return np.stack([key // stride, key % stride], axis=1), edge.reshape(-1), count

    @property
    def ends(self) -> Ints:
        """The two vertices of each edge, lower first."""
        return self._unique[0]

    @property
    def of_corner(self) -> Ints:
        """Number of the edge at each of the three places of each face, (3 m,)."""
        return self._unique[1]

    @property
    def count(self) -> Ints:
        """How many faces share each edge."""
        return self._unique[2]

    @cached_property
    def balance(self) -> Ints:
        """Passages along an edge minus passages against it: 0 everywhere for a closed, coherently oriented surface."""
        sign = np.where(self.directed[:, 0] < self.directed[:, 1], 1, -1)
        return np.bincount(self.of_corner, weights=sign, minlength=len(self.count)).astype(np.int64)

    @cached_property
    def shared(self) -> tuple[Ints, Ints]:
        """Places (in `directed`) that are next to each other on one edge: chained for edges of more than two faces."""
        order = np.argsort(self.of_corner, kind="stable")
        same = self.of_corner[order[1:]] == self.of_corner[order[:-1]]
        return order[:-1][same], order[1:][same]

    @cached_property
    def part(self) -> Ints:
        """Part of each face; faces that share an edge are in one part."""
        a, b = self.shared
        return labels(len(self.faces), np.stack([a // 3, b // 3], axis=1))


def weld_map(points: Floats, faces: Ints) -> Ints:
    """For each vertex the one it becomes: vertices at one place are joined if both lie on an open edge.

    Vertices of parts that are closed already stay apart: joining them would glue bodies that merely touch.
    """
    from scipy.spatial import cKDTree

    edges = Edges(faces)
    on_open = np.unique(edges.ends[edges.count == 1])
    to = np.arange(len(points))
    if len(on_open) == 0:
        return to
    pairs = cKDTree(points[on_open]).query_pairs(WELD * diagonal(points), output_type="ndarray")
    group = labels(len(on_open), pairs)
    first = np.full(group.max() + 1, len(points))
    np.minimum.at(first, group, on_open)
    to[on_open] = first[group]
    return to


def split_vertices(edges: Edges) -> Ints:
    """Vertices whose faces fall into several fans, though no edge there is shared by more than two faces."""
    a, b = edges.shared
    start = edges.directed[:, 0]
    corner = np.arange(len(edges.directed))  # place k of face f starts at corner k
    following = 3 * (corner // 3) + (corner % 3 + 1) % 3
    same = start[a] == start[b]  # the two faces pass the edge in the same sense
    pairs = np.concatenate(
        [
            np.stack([a, np.where(same, b, following[b])], axis=1),
            np.stack([following[a], np.where(same, following[b], b)], axis=1),
        ]
    )
    fan = labels(len(corner), pairs)
    together = np.unique(np.stack([start, fan], axis=1), axis=0)
    vertex, fans = np.unique(together[:, 0], return_counts=True)
    crowded = np.unique(edges.ends[edges.count > 2])
    return np.setdiff1d(vertex[fans > 1], crowded)


def volume_of(points: Floats, faces: Ints, part: Ints) -> Floats:
    """Signed volume inside each part, by the divergence theorem about the middle of the box."""
    x = points[faces] - points[faces].reshape(-1, 3).mean(axis=0) if len(faces) else points[faces]
    return np.bincount(  # type: ignore[return-value]
        part, weights=np.einsum("ij,ij->i", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0
    )


@dataclass(frozen=True)
class Orientation:
    """Which faces must be turned round so that neighbours agree and closed parts look outwards."""

    against: Ints  # faces turned to agree with their neighbours
    inward: Ints  # parts turned as a whole, because they looked inwards
    cavities: Ints  # parts that look inwards and lie inside another part: hollows, left as they are
    moebius: Ints  # faces of patches that have no two sides
    faces: Ints  # the turned faces, (m, 3)


def oriented(points: Floats, faces: Ints) -> Orientation:
    """Turn faces so that they agree across every edge of two faces; then turn closed parts outwards."""
    edges = Edges(faces)
    turn, moebius = np.zeros(len(faces), dtype=bool), np.zeros(0, dtype=np.int64)
    unbalanced = np.isin(edges.part, edges.part[np.nonzero(edges.balance[edges.of_corner] != 0)[0] // 3])
    if unbalanced.any():
        turn, moebius = _agreeing(edges)
        turn &= unbalanced
    out = _turned(faces, turn)
    after = Edges(out)
    closed = np.ones(int(edges.part.max()) + 1 if len(faces) else 0, dtype=bool)
    closed[edges.part[np.nonzero(after.balance[after.of_corner] != 0)[0] // 3]] = False
    inward, cavities = _inward(points, out, edges.part, closed)
    out = _turned(out, np.isin(edges.part, inward))
    return Orientation(np.nonzero(turn)[0], inward, cavities, moebius, out)


def _turned(faces: Ints, which: np.ndarray) -> Ints:
    return np.where(which[:, None], faces[:, [0, 2, 1]], faces)


def _agreeing(edges: Edges) -> tuple[np.ndarray, Ints]:
    """Faces to turn, by joining (face, as it is) and (face, turned) over edges of exactly two faces."""
    m = len(edges.faces)
    a, b = edges.shared
    two = edges.count[edges.of_corner[a]] == 2
    a, b = a[two], b[two]
    clash = edges.directed[a, 0] == edges.directed[b, 0]  # both pass the edge in the same sense
    f, g = a // 3, b // 3
    pairs = np.concatenate([np.stack([f, g + m * clash], axis=1), np.stack([f + m, g + m * ~clash], axis=1)])
    label = labels(2 * m, pairs)
    moebius = np.nonzero(label[:m] == label[m:])[0]
    patch = np.minimum(label[:m], label[m:])
    turned = label[:m] != patch
    share = np.bincount(patch, weights=turned, minlength=2 * m) / np.maximum(np.bincount(patch, minlength=2 * m), 1)
    turned ^= share[patch] > 0.5  # the majority stays
    turned[moebius] = False
    return turned, moebius


def _inward(points: Floats, faces: Ints, part: Ints, closed: np.ndarray) -> tuple[Ints, Ints]:
    """Parts to turn (with all that lies inside them), and parts of negative volume that are hollows of another."""
    volume = np.where(closed, volume_of(points, faces, part), 0.0)
    if not (volume < 0).any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low, high = np.full((len(volume), 3), np.inf), np.full((len(volume), 3), -np.inf)
    np.minimum.at(low, np.repeat(part, 3), points[faces].reshape(-1, 3))
    np.maximum.at(high, np.repeat(part, 3), points[faces].reshape(-1, 3))
    sample = points[faces[np.unique(part, return_index=True)[1], 0]]
    turn, hollow = volume < 0, np.zeros(len(volume), dtype=bool)
    for outer in np.argsort(np.abs(volume), kind="stable"):  # the largest decides last
        held = closed & (low > low[outer]).all(axis=1) & (high < high[outer]).all(axis=1)
        within = np.nonzero(held)[0] if closed[outer] else np.zeros(0, dtype=np.int64)
        if len(within):
            around = np.abs(winding_numbers(points, faces[part == outer], sample[within])) > 0.5
            turn[within[around]] = volume[outer] < 0
            hollow[within[around]] = (volume[within[around]] < 0) & (volume[outer] > 0)
    return np.nonzero(turn)[0], np.nonzero(hollow)[0]
