"""What may meet during a step: vertices with faces and edges with edges, from overlapping boxes of swept faces (theory/penalty 4.3).

Each vertex and each edge is owned by one face, whose box contains its own; so every pair of features with overlapping boxes comes
from one pair of faces with overlapping boxes, and from one only. Features that share a vertex are left out.

Features are dealt out evenly: even shares (two edges and one vertex a face on a closed surface) let pairs of faces be tested in loops of
fixed length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.box_overlap import CHUNK, lowest, ones, place_pairs, sorted_pairs
from pliant.detect.tree import Tree, swept
from pliant.kernels import contiguous, inline, kernel, parallel, prange, use_threads

# Bits of a pair of faces: 3 i + j for edge i of the first and j of the second, then the vertices of each with the other.
EDGES, FIRST, SECOND = 0x1FF, 9, 12


@dataclass
class Candidates:
    """Pairs of features that may meet, sorted."""

    vertex_face: Ints  # (k, 2) point, face
    edge_edge: Ints  # (k, 2) edges, lower number first


@dataclass
class FeatureTree:
    """A tree over faces that also knows which vertices and edges each face owns."""

    tree: Tree
    edges: Shares  # edges.corners: (e, 2) points of each edge, the numbers that candidates use
    vertices: Shares  # vertices.corners: (w, 1) points that faces use
    edge_slots: Slots  # by the place of the face in the tree: neighbours in space are neighbours in memory
    vertex_slots: Slots
    arranged: int = 1  # the build of the tree that they are arranged for

    @staticmethod
    def build(points: Floats, faces: Ints, face_start: Ints, end: Floats | None = None, margin: float = 0.0) -> FeatureTree:
        """Faces face_start[b] : face_start[b + 1] belong to body b."""
        faces = contiguous(faces, np.int64).reshape(-1, 3)
        edges, vertices = Shares.deal(faces[:, [[0, 1], [1, 2], [2, 0]]], fair=2), Shares.deal(faces[:, :, None], fair=1)
        tree = Tree.build(points, faces, face_start, end, margin)
        return FeatureTree(tree, edges, vertices, edges.arranged(tree.order), vertices.arranged(tree.order))

    def candidates(self, start: Floats, end: Floats, bodies: Ints, margin: float = 0.0) -> Candidates:
        """Features of pairs (m, 2) of bodies, (b, b) for a body with itself, whose boxes swept from start to end overlap."""
        tree, start, end = self.tree, contiguous(start), contiguous(end)
        tree.refit(start, end, margin)
        self._arrange()
        pairs = place_pairs(tree, bodies, shared=True)
        needed = np.zeros(len(tree.order), np.uint8)
        _need(pairs, needed)
        use_threads(len(pairs))
        edge_box = _feature_boxes(self.edge_slots, needed, start, end, margin)
        vertex_box = _feature_boxes(self.vertex_slots, needed, start, end, margin)
        mask = np.empty(len(pairs), np.uint16)
        count = np.zeros((2, (len(pairs) + CHUNK - 1) // CHUNK), np.int64)
        _mark(
            pairs, tree.corners, tree.box_low, tree.box_high, self.edge_slots.corners, *edge_box,
            self.vertex_slots.corners, *vertex_box, mask, count,
        )  # fmt: skip
        offset = np.cumsum(count, axis=1) - count
        edge_edge, vertex_face = np.empty(int(count[0].sum()), np.int64), np.empty(int(count[1].sum()), np.int64)
        _write(pairs, tree.order, self.edge_slots.feature, self.vertex_slots.corners, mask, offset, edge_edge, vertex_face)
        return Candidates(sorted_pairs(vertex_face), sorted_pairs(edge_edge))

    def _arrange(self) -> None:
        if self.arranged != self.tree.builds:
            order, self.arranged = self.tree.order, self.tree.builds
            self.edge_slots, self.vertex_slots = self.edges.arranged(order), self.vertices.arranged(order)


def _feature_boxes(slots: Slots, needed: np.ndarray, start: Floats, end: Floats, margin: float) -> tuple[Floats, Floats]:
    low, high = np.empty((len(slots.corners), 3)), np.empty((len(slots.corners), 3))
    _slot_boxes(slots.corners, needed, start, end, margin, low, high)
    return low, high


@kernel
def _need(pairs, needed):  # type: ignore[no-untyped-def]
    for k in range(len(pairs)):
        needed[pairs[k, 0]] = 1
        needed[pairs[k, 1]] = 1


@parallel
def _slot_boxes(corners, needed, start, end, margin, low, high):  # type: ignore[no-untyped-def]
    """Swept boxes of the features in the slots of needed faces; an empty slot gets a box that nothing overlaps."""
    width = len(corners) // max(1, len(needed))
    for p in prange(len(needed)):
        if needed[p]:
            for k in range(width * p, width * p + width):
                a, b = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
                if corners[k, 0] >= 0:
                    a, b = swept(corners, k, start, end, margin)
                low[k, 0], low[k, 1], low[k, 2] = a
                high[k, 0], high[k, 1], high[k, 2] = b


@inline
def _box(low, high, i):  # type: ignore[no-untyped-def]
    return low[i, 0], low[i, 1], low[i, 2], high[i, 0], high[i, 1], high[i, 2]


@inline
def _meet(a, b):  # type: ignore[no-untyped-def]
    """Whether boxes overlap, 0 or 1. Without branches, as most boxes of neighbours do."""
    return np.int64((a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5]))


@inline
def _edges_meet(ends, low, high, e, g):  # type: ignore[no-untyped-def]
    """1 if the boxes of edges e and g overlap and they share no vertex."""
    p, q, r, s = ends[e, 0], ends[e, 1], ends[g, 0], ends[g, 1]
    return np.int64((p != r) & (p != s) & (q != r) & (q != s)) & _meet(_box(low, high, e), _box(low, high, g))


@inline
def _edge_bits(p, q, two, ends, low, high):  # type: ignore[no-untyped-def]
    """Bit 3 i + j: edges i and j of the faces at places p and q may meet."""
    if two:  # the usual case, written out because the loop is slower
        e, g = 2 * p, 2 * q
        first = _edges_meet(ends, low, high, e, g) | _edges_meet(ends, low, high, e, g + 1) << 1
        return first | _edges_meet(ends, low, high, e + 1, g) << 3 | _edges_meet(ends, low, high, e + 1, g + 1) << 4
    bits = 0
    for i in range(3):
        for j in range(3):
            bits |= _edges_meet(ends, low, high, 3 * p + i, 3 * q + j) << (3 * i + j)
    return bits


@inline
def _vertex_bits(p, q, width, vertex, low, high, corners, box_low, box_high):  # type: ignore[no-untyped-def]
    """Bit i: vertex i of the face at place p and the face at place q may meet."""
    bits = 0
    for i in range(width):
        k = width * p + i
        apart = (vertex[k, 0] != corners[q, 0]) & (vertex[k, 0] != corners[q, 1]) & (vertex[k, 0] != corners[q, 2])
        bits |= (np.int64(apart) & _meet(_box(low, high, k), _box(box_low, box_high, q))) << i
    return bits


@parallel
def _mark(  # type: ignore[no-untyped-def]
    pairs, corners, box_low, box_high, edge_ends, edge_low, edge_high, vertex, vertex_low, vertex_high, mask, count
):  # fmt: skip
    """Which features of each pair of faces may meet, and how many in each chunk."""
    two, width = len(edge_ends) == 2 * len(corners), len(vertex) // max(1, len(corners))
    for chunk in prange(count.shape[1]):
        edge, with_face = 0, 0
        for k in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(pairs))):
            p, q = pairs[k, 0], pairs[k, 1]
            bits = _edge_bits(p, q, two, edge_ends, edge_low, edge_high)
            first = _vertex_bits(p, q, width, vertex, vertex_low, vertex_high, corners, box_low, box_high)
            second = _vertex_bits(q, p, width, vertex, vertex_low, vertex_high, corners, box_low, box_high)
            edge += ones(bits)
            with_face += ones(first | second << 3)
            mask[k] = bits | first << FIRST | second << SECOND
        count[0, chunk], count[1, chunk] = edge, with_face


@parallel
def _write(pairs, order, edge, vertex, mask, offset, edge_edge, vertex_face):  # type: ignore[no-untyped-def]
    """Keys of the marked pairs of features."""
    edge_width, vertex_width = len(edge) // max(1, len(order)), len(vertex) // max(1, len(order))
    for chunk in prange(offset.shape[1]):
        to_edges, to_faces = offset[0, chunk], offset[1, chunk]
        for k in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(pairs))):
            p, q = pairs[k, 0], pairs[k, 1]
            bits = np.int64(mask[k])
            left = bits & EDGES
            while left:
                at = lowest(left)
                left &= left - 1
                e, g = edge[edge_width * p + at // 3], edge[edge_width * q + at % 3]
                edge_edge[to_edges] = min(e, g) << 32 | max(e, g)
                to_edges += 1
            left = bits >> FIRST
            while left:
                at = lowest(left)
                left &= left - 1
                owner, other = (p, q) if at < 3 else (q, p)
                vertex_face[to_faces] = vertex[vertex_width * owner + at % 3, 0] << 32 | order[other]
                to_faces += 1


TRIES = 64  # features passed on to even out one face


@dataclass
class Slots:
    """The slots of all faces one after the other, as many for each."""

    feature: Ints  # (m w,) -1 in empty slots
    corners: Ints  # (m w, k) its points, -1 in empty slots


@dataclass
class Shares:
    """Features numbered in the order of the faces, and the slots of each face."""

    corners: Ints  # (n, k) points of each feature, ascending
    slots: Ints  # (m, fair or 3) features each face owns, -1 in empty slots

    @staticmethod
    def deal(sides: Ints, fair: int) -> Shares:
        """From the features of each face as points, (m, 3, k): `fair` slots a face if that is enough, else three."""
        flat = np.sort(sides, axis=2).reshape(-1, sides.shape[2])
        if len(flat) == 0:
            return Shares(flat, np.zeros((0, fair), np.int64))
        key = flat[:, 0] * (flat.max() + 1) + flat[:, -1]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        feature = rank[inverse.reshape(-1)]
        owner = _owners(feature, len(first), fair)
        return Shares(np.ascontiguousarray(flat[np.sort(first)]), _slots(owner, len(sides), fair))

    def arranged(self, order: Ints) -> Slots:
        """Slots of the faces in another order."""
        feature = self.slots[order].reshape(-1)
        corners = np.full((len(feature), self.corners.shape[1]), -1, np.int64)
        corners[feature >= 0] = self.corners[feature[feature >= 0]]
        return Slots(feature, corners)


def _owners(feature: Ints, count: int, fair: int) -> Ints:
    """The owning face of each feature; `feature` has three entries per face."""
    around = np.argsort(feature, kind="stable") // 3
    start = np.searchsorted(np.sort(feature), np.arange(count + 1))
    owner = np.full(count, -1, np.int64)
    _deal(feature, around, start, fair, owner)
    return owner


def _slots(owner: Ints, faces: int, fair: int) -> Ints:
    order = np.argsort(owner, kind="stable")
    load = np.bincount(owner, minlength=faces)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(load) - load, load)
    slots = np.full((faces, fair if load.max() <= fair else 3), -1, np.int64)
    slots[owner[order], place] = order
    return slots


@kernel
def _deal(feature, around, start, fair, owner):  # type: ignore[no-untyped-def]
    """To the face around it that has least; a face with more than its fair share then passes on, along a path, what it can."""
    load = np.zeros(len(feature) // 3, np.int64)
    for e in range(len(owner)):
        best = around[start[e]]
        for k in range(start[e] + 1, start[e + 1]):
            if load[around[k]] < load[best]:
                best = around[k]
        owner[e] = best
        load[best] += 1
    for face in range(len(load)):
        f, received = face, -1
        for _ in range(TRIES):
            if load[f] <= fair:
                break
            gift, to = -1, -1
            for c in range(3):
                e = feature[3 * f + c]
                if owner[e] != f or e == received:
                    continue
                for k in range(start[e], start[e + 1]):
                    if around[k] != f and (to < 0 or load[around[k]] < load[to]):
                        gift, to = e, around[k]
            if gift < 0:
                break
            owner[gift] = to
            load[f] -= 1
            load[to] += 1
            f, received = to, gift
