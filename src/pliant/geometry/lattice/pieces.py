"""The pieces of material in each cell, and the nodes of the cells: a cell is copied for each piece in it.

Samples inside and pieces of surface (pairs of a cell and a triangle) of one cell belong together where a line goes from one to the next
through material, and where triangles share an edge in the cell. So parts with a gap between them stay apart, however narrow it is, and a
part thinner than the samples is held together by its triangles. Copies of neighbouring cells share the four nodes of their common face if a
line or a triangle goes through it [Nesme 2009].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.geometry.lattice.lines import Crossings, backwards, crossings
from pliant.geometry.lattice.touching import Touching, edge_lists, in_cell, pair_of, touching
from pliant.geometry.topology import Csr, listed
from pliant.kernels import contiguous, inline, kernel, load

FINE = 4  # samples along a cell
FAR = 2  # cells that a surface may be outside the one it rides in, along faces
SLIVER = 0.03  # of a cell: a piece with less is dropped where its surface can ride in a neighbour
JOIN, MEASURE, LIST = 0, 1, 2  # what a walk along the lines is for


class Pieces(NamedTuple):
    """Pieces of material, each with a cell of its own; FINE^3 samples are a cell."""

    cell: Ints  # (c, 3) which
    nodes: Ints  # (c, 8) corner number = 4 x + 2 y + z
    node_at: Ints  # (n, 3) corner of the lattice where a node is
    amount: Floats  # (c, 5) samples of material in each tetrahedron
    moment: Floats  # (c, 5, 3) times its place in cells
    of_pair: Ints  # (p,) piece of each piece of surface; -1 if it was dropped
    total: Floats  # (11,) sums over all material: 1, x, y, z, xx, yy, zz, xy, yz, zx in cells; and what is wound around again
    backwards: float  # what is wound around the other way [cells]


def pieces(points: Floats, faces: Ints, counts: Ints) -> tuple[Pieces, Touching]:
    """Of a closed surface whose points are in cells, all of them inside the grid."""
    counts = contiguous(counts, np.int64)
    touch = touching(points, faces, counts)
    samples = int(np.prod(counts)) * FINE**3
    parent = np.full(samples + len(touch.face), -1, np.int64)
    parent[samples:] = np.arange(samples, len(parent))
    lines = [crossings(FINE * points, faces, FINE * counts, axis) for axis in range(3)]
    none = np.zeros(0, np.int64), np.zeros((0, 5)), np.zeros((0, 5, 3)), np.zeros(0), np.zeros(0, np.bool_), np.zeros((0, 2), np.int64)
    for axis in range(3):
        _walk(axis, counts, *lines[axis], touch.start, touch.face, parent, JOIN, *none)
    pairs = touch.start, touch.face, touch.face_start, touch.by_face, touch.cell
    _join_faces(contiguous(points), *edge_lists(faces), counts, *pairs, parent)
    label, cell = _labelled(parent, samples, counts, touch)
    return _noded(lines, counts, touch, label, cell, samples), touch


def _labelled(parent: Ints, samples: int, counts: Ints, touch: Touching) -> tuple[Ints, Ints]:
    """The piece of every sample and pair, -1 outside, and the cell of every piece."""
    label = np.empty(len(parent), np.int64)
    number = _label(parent, label)
    cell = np.empty(number, np.int64)
    _cells(label, samples, counts, touch.cell, cell)
    return label, cell


def _noded(lines: list[Crossings], counts: Ints, touch: Touching, label: Ints, cell: Ints, samples: int) -> Pieces:
    number = len(cell)
    amount, moment = np.zeros((number, 5)), np.zeros((number, 5, 3))
    nodes, total = np.arange(8 * number), np.zeros(11)
    some, pairs = np.zeros(0, np.bool_), np.zeros((0, 2), np.int64)
    for axis in range(3):
        _walk(axis, counts, *lines[axis], touch.start, touch.face, label, MEASURE, nodes, amount, moment, total, some, pairs)
    _join_cells(counts, touch.start, touch.face, touch.cell, label[samples:], nodes)
    _flatten(nodes)
    big = amount.sum(axis=1) >= SLIVER * FINE**3
    beside = _beside(lines, counts, touch, label, ~big, samples)
    kept = ~dropped(big, beside, nodes.reshape(-1, 8)) if big.any() else np.ones(number, np.bool_)
    place = np.stack(np.unravel_index(cell, tuple(counts)), axis=1)
    corner = np.indices((2, 2, 2)).reshape(3, 8).T
    used, mine = np.unique(nodes.reshape(-1, 8)[kept], return_inverse=True)
    node_at = (place[used // 8] + corner[used % 8]).astype(np.int64)
    of_piece = np.full(number, -1, np.int64)
    same, group = np.unique(mine.reshape(-1, 8), axis=0, return_inverse=True)  # copies with the same nodes are one
    of_piece[kept] = group.reshape(-1)
    out = np.zeros((len(same), 5)), np.zeros((len(same), 5, 3)), np.zeros((len(same), 3), np.int64)
    np.add.at(out[0], of_piece[kept], amount[kept])
    np.add.at(out[1], of_piece[kept], moment[kept])
    out[2][of_piece[kept]] = place[kept]
    of_piece = _carried(of_piece, big, beside)
    turned = backwards(lines[2]) / FINE**3
    return Pieces(out[2], same.astype(np.int64), node_at, out[0], out[1], of_piece[label[samples:]], total / FINE**3, turned)


def _beside(lines: list[Crossings], counts: Ints, touch: Touching, label: Ints, small: Bools, samples: int) -> Csr:
    """The neighbours of each small piece, reached through material or along a triangle."""
    room = 2 * 6 * FINE**2 * int(small.sum()) + 6 * len(touch.face) + 1
    pairs, total = np.empty((room, 2), np.int64), np.zeros(10)
    none = np.zeros(0, np.int64), np.zeros((0, 5)), np.zeros((0, 5, 3))
    for axis in range(3):
        _walk(axis, counts, *lines[axis], touch.start, touch.face, label, LIST, *none, total, small, pairs)
    found = pairs[: _list_faces(counts, touch.start, touch.face, touch.cell, label[samples:], small, pairs, int(total[0]))]
    key = np.unique(np.concatenate([found[:, 0] * len(small) + found[:, 1], found[:, 1] * len(small) + found[:, 0]]))
    return listed(key // len(small), key % len(small), len(small))


def dropped(big: Bools, beside: Csr, nodes: Ints) -> Bools:
    """Small pieces that only top a big one: none that leads on to a thin part, or from one big piece to another that it does not touch.

    Level 1 is beside a big piece, level 2 beside level 1, ... Beyond level FAR there is a thin part; the way from there back to a big
    piece is kept.
    """
    level, parent = np.where(big, 0, -1), np.arange(len(big))
    edge = np.repeat(np.arange(len(big)), np.diff(beside.offsets)), beside.indices
    for step in range(1, FAR + 1):
        there = (level[edge[0]] == -1) & (level[edge[1]] == step - 1)
        parent[edge[0][there]] = edge[1][there]
        level[edge[0][there]] = step
    root = parent.copy()
    for _ in range(FAR):
        root = parent[root]
    root = np.where(level >= 0, root, -1)
    kept = big | (level < 0)
    out = (level[edge[0]] > 0) & (level[edge[1]] < 0)
    kept[edge[0][out]] = True
    a, b = edge
    meet = np.flatnonzero((level[a] > 0) & (root[a] != root[b]) & (root[b] >= 0) & (a != b))
    apart = ~(nodes[root[a[meet]]][:, :, None] == nodes[root[b[meet]]][:, None, :]).any(axis=(1, 2))
    kept[a[meet[apart]]] = True
    kept[b[meet[apart]]] = True
    for _ in range(FAR):
        kept[parent[kept]] = True
    return ~kept


def _carried(of_piece: Ints, big: Bools, beside: Csr) -> Ints:
    """Every dropped piece rides in a kept neighbour, a big one if there is one."""
    a, b = np.repeat(np.arange(len(big)), np.diff(beside.offsets)), beside.indices
    for _ in range(FAR):
        for wanted in (big, ~big):
            free = (of_piece[a] < 0) & (of_piece[b] >= 0) & wanted[b]
            of_piece[a[free]] = of_piece[b[free]]
    return of_piece


# ---- kernels: samples are numbered (i n1 + j) n2 + k, cells likewise


@inline
def root(parent, a):  # type: ignore[no-untyped-def]
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@inline
def join(parent, a, b):  # type: ignore[no-untyped-def]
    """One set of two, named after its least member."""
    a, b = root(parent, a), root(parent, b)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@inline
def _tet_at(x, y, z, odd):  # type: ignore[no-untyped-def]
    """Which of the five tetrahedra of a cell a place in it (0 .. 1) is in; see geometry/blocks.brick."""
    if odd:
        x = 1.0 - x
    if x + y + (1.0 - z) < 1.0:
        return 1
    if x + (1.0 - y) + z < 1.0:
        return 2
    if (1.0 - x) + y + z < 1.0:
        return 3
    if (1.0 - x) + (1.0 - y) + (1.0 - z) < 1.0:
        return 4
    return 0


@kernel
def _walk(  # type: ignore[no-untyped-def]
    axis, counts, start, at, face, out, cell_start, cell_face, owner, mode, nodes, amount, moment, total, small, pairs
):
    """Go along all lines of an axis from one sample or triangle to the next, through material.

    JOIN: the two are joined in `owner`, a forest, if they are in one cell. MEASURE: `owner` is the piece of each; what is between is added
    to its amount, and cells that follow each other share the nodes of their common face. LIST: pairs of pieces that follow each other, one
    of which is small, are written; total[0] counts them.
    """
    n = FINE * counts
    stride = n[1] * n[2] if axis == 0 else (n[2] if axis == 1 else 1)
    length, cell_stride = n[axis], counts[1] * counts[2] if axis == 0 else (counts[2] if axis == 1 else 1)
    nv = n[1] if axis == 2 else n[2]
    samples = n[0] * n[1] * n[2]
    bit = 4 >> axis
    for line in range(len(start) - 1):
        u, v = line // nv, line % nv
        if axis == 0:
            first, cell0, base = u * n[2] + v, (u // FINE) * counts[2] + v // FINE, (0, u // FINE, v // FINE)
        elif axis == 1:
            first, cell0, base = u * n[1] * n[2] + v, (u // FINE) * counts[1] * counts[2] + v // FINE, (u // FINE, 0, v // FINE)
        else:
            first, cell0, base = (u * n[1] + v) * n[2], ((u // FINE) * counts[1] + v // FINE) * counts[2], (u // FINE, v // FINE, 0)
        q, w, item, p0, c0 = start[line], 0, -1, 0.0, 0
        if q == start[line + 1]:
            continue
        k = min(max(int(at[q] - 0.5), 0), length)
        while q < start[line + 1] or w > 0:
            here = k + 0.5
            if q < start[line + 1] and (k >= length or at[q] < here):  # the next is a triangle
                p1 = at[q]
                c1 = min(max(int(p1) // FINE, 0), length // FINE - 1)
                pair = pair_of(cell_start, cell_face, cell0 + c1 * cell_stride, face[q])
                then = samples + pair if pair >= 0 else -1
            elif k < length:
                p1, c1, then = here, k // FINE, first + k * stride if w > 0 else -1
            else:
                break
            if w > 0 and item >= 0 and then >= 0:
                if mode == JOIN:
                    if item < samples and owner[item] < 0:
                        owner[item] = item
                    if then < samples and owner[then] < 0:
                        owner[then] = then
                    if c0 == c1:
                        join(owner, item, then)
                elif mode == LIST:
                    a, b = owner[item], owner[then]
                    if c0 != c1 and (small[a] or small[b]):
                        pairs[int(total[0]), 0], pairs[int(total[0]), 1] = a, b
                        total[0] += 1.0
                else:
                    a, b = owner[item], owner[then]
                    if c0 != c1:
                        for corner in range(8):
                            if corner & bit == 0:
                                join(nodes, 8 * a + corner + bit, 8 * b + corner)
                    x = p0
                    while x < p1:  # sample by sample
                        y = min(p1, float(int(x) + 1))
                        middle = 0.5 * (x + y)
                        c = min(int(middle) // FINE, length // FINE - 1)
                        piece = a if c == c0 else b
                        along = middle / FINE - c
                        s, t = (u + 0.5) / FINE - u // FINE, (v + 0.5) / FINE - v // FINE
                        px, py, pz = (along, s, t) if axis == 0 else ((s, along, t) if axis == 1 else (s, t, along))
                        odd = (c + u // FINE + v // FINE) % 2
                        tet = _tet_at(px, py, pz, odd)
                        share = (y - x) / 3.0
                        amount[piece, tet] += share
                        moment[piece, tet, 0] += share * px
                        moment[piece, tet, 1] += share * py
                        moment[piece, tet, 2] += share * pz
                        gx, gy, gz = px + base[0], py + base[1], pz + base[2]
                        if axis == 0:
                            gx += c
                        elif axis == 1:
                            gy += c
                        else:
                            gz += c
                        total[0] += share
                        total[1] += share * gx
                        total[2] += share * gy
                        total[3] += share * gz
                        total[4] += share * gx * gx
                        total[5] += share * gy * gy
                        total[6] += share * gz * gz
                        total[7] += share * gx * gy
                        total[8] += share * gy * gz
                        total[9] += share * gz * gx
                        total[10] += share * (w - 1)
                        x = y
            if q < start[line + 1] and (k >= length or at[q] < here):
                w -= out[q]
                q += 1
                if w <= 0 and q < start[line + 1]:
                    k = max(k, min(max(int(at[q] - 0.5), 0), length))
            else:
                k += 1
            item, p0, c0 = then, p1, c1


@kernel
def _join_faces(points, ends, edge_start, edge_face, counts, start, face, face_start, by_face, cell, parent):  # type: ignore[no-untyped-def]
    """Join triangles that share an edge, in every cell where the edge is."""
    samples = len(parent) - len(face)
    for e in range(len(ends)):
        p, q = load(points, ends[e, 0]), load(points, ends[e, 1])
        for s in range(edge_start[e] + 1, edge_start[e + 1]):
            f, g = edge_face[s - 1], edge_face[s]
            for m in range(face_start[f], face_start[f + 1]):
                c = cell[by_face[m]]
                other = pair_of(start, face, c, g)
                if other < 0:
                    continue
                k, ij = c % counts[2], c // counts[2]
                if in_cell(p, q, ij // counts[1], ij % counts[1], k):
                    join(parent, samples + by_face[m], samples + other)


@kernel
def _label(parent, label):  # type: ignore[no-untyped-def]
    """Number the sets; how many."""
    number = 0
    for a in range(len(parent)):
        if parent[a] < 0:
            label[a] = -1
        elif parent[a] == a:
            label[a] = number
            number += 1
        else:
            label[a] = label[root(parent, a)]
    return number


@kernel
def _cells(label, samples, counts, pair_cell, cell):  # type: ignore[no-untyped-def]
    n1, n2 = FINE * counts[1], FINE * counts[2]
    for a in range(len(label)):
        if label[a] < 0:
            continue
        if a < samples:
            i, j, k = a // (n1 * n2), a // n2 % n1, a % n2
            cell[label[a]] = ((i // FINE) * counts[1] + j // FINE) * counts[2] + k // FINE
        else:
            cell[label[a]] = pair_cell[a - samples]


@kernel
def _list_faces(counts, start, face, cell, label, small, pairs, used):  # type: ignore[no-untyped-def]
    """Pairs of pieces that a triangle goes through one after the other, one of which is small; how many there are then."""
    for m in range(len(face)):
        c = cell[m]
        for axis in range(3):
            stride = counts[1] * counts[2] if axis == 0 else (counts[2] if axis == 1 else 1)
            if c // stride % counts[axis] == counts[axis] - 1:
                continue
            other = pair_of(start, face, c + stride, face[m])
            if other >= 0 and (small[label[m]] or small[label[other]]):
                pairs[used, 0], pairs[used, 1] = label[m], label[other]
                used += 1
    return used


@kernel
def _join_cells(counts, start, face, cell, label, nodes):  # type: ignore[no-untyped-def]
    """Copies of cells that a triangle goes through one after the other share the nodes of their common face."""
    for m in range(len(face)):
        c = cell[m]
        for axis in range(3):
            stride = counts[1] * counts[2] if axis == 0 else (counts[2] if axis == 1 else 1)
            if c // stride % counts[axis] == counts[axis] - 1:
                continue
            other = pair_of(start, face, c + stride, face[m])
            if other < 0:
                continue
            bit = 4 >> axis
            for corner in range(8):
                if corner & bit == 0:
                    join(nodes, 8 * label[m] + corner + bit, 8 * label[other] + corner)


@kernel
def _flatten(parent):  # type: ignore[no-untyped-def]
    for a in range(len(parent)):
        parent[a] = root(parent, a)
