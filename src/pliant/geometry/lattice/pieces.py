"""The pieces of material in each cell, and the nodes of the cells: a cell is copied for each piece in it.

Samples inside and pieces of surface (pairs of a cell and a triangle) of one cell belong together where a line goes from one to the next
through material, and where triangles share an edge in the cell. So parts with a gap between them stay apart, however narrow it is, and a
part thinner than the samples is held together by its triangles. Copies of neighbouring cells share the four nodes of their common face if a
line or a triangle goes through it [Nesme et al. 2009; Teran et al. 2005].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.geometry.lattice.lines import Crossings, crossings
from pliant.geometry.lattice.touching import Touching, edge_lists, in_cell, pair_of, touching
from pliant.kernels import contiguous, inline, kernel, load

FINE = 4  # samples along a cell
NOTHING = 1e-6  # of a cell: less material counts as none


class Pieces(NamedTuple):
    """Pieces of material, each with a cell of its own; FINE^3 samples are a cell."""

    cell: Ints  # (c, 3) which
    nodes: Ints  # (c, 8) corner number = 4 x + 2 y + z
    node_at: Ints  # (n, 3) corner of the lattice where a node is
    amount: Floats  # (c, 5) samples of material in each tetrahedron
    moment: Floats  # (c, 5, 3) times its place in cells
    of_pair: Ints  # (p,) piece of each piece of surface; -1 if it was dropped
    total: Floats  # (10,) sums over all material: 1, x, y, z, xx, yy, zz, xy, yz, zx in cells


def pieces(points: Floats, faces: Ints, counts: Ints) -> tuple[Pieces, Touching]:
    """Of a closed surface whose points are in cells, all of them inside the grid."""
    counts = contiguous(counts, np.int64)
    touch = touching(points, faces, counts)
    samples = int(np.prod(counts)) * FINE**3
    parent = np.full(samples + len(touch.face), -1, np.int64)
    parent[samples:] = np.arange(samples, len(parent))
    lines = [crossings(FINE * points, faces, FINE * counts, axis) for axis in range(3)]
    none = np.zeros(0, np.int64), np.zeros((0, 5)), np.zeros((0, 5, 3)), np.zeros(0)
    for axis in range(3):
        _walk(axis, counts, *lines[axis], touch.start, touch.face, parent, False, *none)
    _join_faces(contiguous(points), *edge_lists(faces), counts, touch.start, touch.face, touch.face_start, touch.by_face, touch.cell, parent)
    label, cell = _labelled(parent, samples, counts, touch)
    return _noded(points, lines, counts, touch, label, cell, samples)


def _labelled(parent: Ints, samples: int, counts: Ints, touch: Touching) -> tuple[Ints, Ints]:
    """The piece of every sample and pair, -1 outside, and the cell of every piece."""
    label = np.empty(len(parent), np.int64)
    number = _label(parent, label)
    cell = np.empty(number, np.int64)
    _cells(label, samples, counts, touch.cell, cell)
    return label, cell


def _noded(points: Floats, lines: list[Crossings], counts: Ints, touch: Touching, label: Ints, cell: Ints, samples: int) -> tuple[Pieces, Touching]:
    number = len(cell)
    amount, moment = np.zeros((number, 5)), np.zeros((number, 5, 3))
    nodes, total = np.arange(8 * number), np.zeros(10)
    for axis in range(3):
        _walk(axis, counts, *lines[axis], touch.start, touch.face, label, True, nodes, amount, moment, total)
    kept = _needed(counts, touch, label[samples:], cell, amount.sum(axis=1) > NOTHING * FINE**3)
    _join_cells(counts, touch.start, touch.face, touch.cell, label[samples:], kept, nodes)
    place = np.stack(np.unravel_index(cell, tuple(counts)), axis=1)
    corner = np.indices((2, 2, 2)).reshape(3, 8).T
    _flatten(nodes)
    used, mine = np.unique(nodes.reshape(-1, 8)[kept], return_inverse=True)
    node_at = (place[used // 8] + corner[used % 8]).astype(np.int64)
    of_piece = np.full(number, -1, np.int64)
    same, group = np.unique(mine.reshape(-1, 8), axis=0, return_inverse=True)  # copies with the same nodes are one
    of_piece[kept] = group.reshape(-1)
    out = np.zeros((len(same), 5)), np.zeros((len(same), 5, 3)), np.zeros((len(same), 3), np.int64)
    np.add.at(out[0], of_piece[kept], amount[kept])
    np.add.at(out[1], of_piece[kept], moment[kept])
    out[2][of_piece[kept]] = place[kept]
    return Pieces(out[2], same.astype(np.int64), node_at, out[0], out[1], of_piece[label[samples:]], total / FINE**3), touch


def _needed(counts: Ints, touch: Touching, label: Ints, cell: Ints, solid: Bools) -> Bools:
    """Pieces that have material, or join pieces that have, or have triangles that no other piece has: others are grazed by the surface."""
    neighbours = np.zeros((len(cell), 2), np.int64) - 1
    _neighbours(counts, touch.start, touch.face, touch.cell, label, solid, neighbours)
    elsewhere = np.zeros(int(touch.face.max(initial=0)) + 1, np.bool_)
    elsewhere[touch.face[solid[label]]] = True
    alone = np.zeros(len(cell), np.bool_)
    alone[label[~elsewhere[touch.face]]] = True
    return np.asarray(solid | alone | (neighbours[:, 1] >= 0))


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
def _walk(axis, counts, start, at, face, out, cell_start, cell_face, owner, measure, nodes, amount, moment, total):  # type: ignore[no-untyped-def]
    """Go along all lines of an axis from one sample or triangle to the next, through material.

    First the two are joined in `owner`, a forest, if they are in one cell. Then, with `measure`, `owner` is the piece of each: what is
    between is added to its amount, and cells that follow each other share the nodes of their common face.
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
                if not measure:
                    if item < samples and owner[item] < 0:
                        owner[item] = item
                    if then < samples and owner[then] < 0:
                        owner[then] = then
                    if c0 == c1:
                        join(owner, item, then)
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
def _neighbours(counts, start, face, cell, label, solid, neighbours):  # type: ignore[no-untyped-def]
    """Up to two pieces with material beside each piece, reached along a triangle."""
    for m in range(len(face)):
        c = cell[m]
        for axis in range(3):
            stride = counts[1] * counts[2] if axis == 0 else (counts[2] if axis == 1 else 1)
            if c // stride % counts[axis] == counts[axis] - 1:
                continue
            other = pair_of(start, face, c + stride, face[m])
            if other < 0:
                continue
            a, b = label[m], label[other]
            for turn in range(2):
                if solid[b] and neighbours[a, 0] != b:
                    neighbours[a, 0 if neighbours[a, 0] < 0 else 1] = b
                a, b = b, a


@kernel
def _join_cells(counts, start, face, cell, label, kept, nodes):  # type: ignore[no-untyped-def]
    """Copies of cells that a triangle goes through one after the other share the nodes of their common face."""
    for m in range(len(face)):
        c = cell[m]
        if not kept[label[m]]:
            continue
        for axis in range(3):
            stride = counts[1] * counts[2] if axis == 0 else (counts[2] if axis == 1 else 1)
            if c // stride % counts[axis] == counts[axis] - 1:
                continue
            other = pair_of(start, face, c + stride, face[m])
            if other < 0 or not kept[label[other]]:
                continue
            bit = 4 >> axis
            for corner in range(8):
                if corner & bit == 0:
                    join(nodes, 8 * label[m] + corner + bit, 8 * label[other] + corner)


@kernel
def _flatten(parent):  # type: ignore[no-untyped-def]
    for a in range(len(parent)):
        parent[a] = root(parent, a)
