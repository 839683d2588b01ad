"""Which cells of a lattice a triangle touches, and which triangles of a cell hang together in it. Points are in cells."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.topology import Edges
from pliant.kernels import contiguous, cross, dot, inline, kernel, load, sub

SLACK = 1e-9  # of a cell: a triangle in a face of two cells touches both


class Touching(NamedTuple):
    """Pairs of a cell and a triangle that touches it, cell by cell; a piece of surface is known by the number of its pair."""

    start: Ints  # (cells + 1,)
    face: Ints  # (p,) ascending within a cell
    cell: Ints  # (p,)
    by_face: Ints  # (p,) the pairs of face f are by_face[face_start[f] : face_start[f + 1]]
    face_start: Ints


def touching(points: Floats, faces: Ints, counts: Ints) -> Touching:
    """All pairs."""
    points, faces = contiguous(points), contiguous(faces, np.int64)
    face_start = np.zeros(len(faces) + 1, np.int64)
    _touch(points, faces, counts, False, face_start, np.zeros(0, np.int64))
    np.cumsum(face_start, out=face_start)
    cell = np.empty(face_start[-1], np.int64)
    _touch(points, faces, counts, True, face_start, cell)
    order = np.argsort(cell, kind="stable")
    start = np.zeros(int(np.prod(counts)) + 1, np.int64)
    np.cumsum(np.bincount(cell, minlength=len(start) - 1), out=start[1:])
    by_face = np.empty(len(order), np.int64)
    by_face[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(faces)), np.diff(face_start))
    return Touching(start, owner[order], cell[order], by_face, face_start)


def edge_lists(faces: Ints) -> tuple[Ints, Ints, Ints]:
    """(ends (e, 2), start (e + 1,), faces) of the edges of a surface."""
    edges = Edges(faces)
    order = np.argsort(edges.of_corner, kind="stable")
    start = np.zeros(len(edges.ends) + 1, np.int64)
    np.cumsum(np.bincount(edges.of_corner, minlength=len(edges.ends)), out=start[1:])
    return contiguous(edges.ends, np.int64), start, order // 3


@kernel
def _touch(points, faces, counts, fill, start, cell):  # type: ignore[no-untyped-def]
    """Count the cells of each triangle into start[face + 1], or write their numbers."""
    for f in range(len(faces)):
        a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
        n = cross(sub(b, a), sub(c, a))
        reach = 0.5 * (abs(n[0]) + abs(n[1]) + abs(n[2])) * (1.0 + SLACK)
        offset = dot(n, a)
        used = 0
        i0, i1 = _range(a[0], b[0], c[0], counts[0])
        j0, j1 = _range(a[1], b[1], c[1], counts[1])
        k0, k1 = _range(a[2], b[2], c[2], counts[2])
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for k in range(k0, k1 + 1):
                    middle = (i + 0.5, j + 0.5, k + 0.5)
                    if abs(dot(n, middle) - offset) > reach + SLACK:
                        continue
                    if _edges_apart(sub(a, middle), sub(b, middle), sub(c, middle)):
                        continue
                    if fill:
                        cell[start[f] + used] = (i * counts[1] + j) * counts[2] + k
                    used += 1
        if not fill:
            start[f + 1] = used


@inline
def _range(a, b, c, count):  # type: ignore[no-untyped-def]
    """Cells along an axis between the least and the greatest of three."""
    first = int(math.ceil(min(a, b, c) - SLACK)) - 1
    last = int(math.floor(max(a, b, c) + SLACK))
    return min(max(first, 0), count - 1), min(max(last, 0), count - 1)


@inline
def _edges_apart(a, b, c):  # type: ignore[no-untyped-def]
    """Whether one of the nine axes (edge x unit vector) parts a triangle from the unit cube about the origin."""
    return _apart(a, b, c, sub(b, a)) or _apart(a, b, c, sub(c, b)) or _apart(a, b, c, sub(a, c))


@inline
def _apart(a, b, c, e):  # type: ignore[no-untyped-def]
    # e x (1, 0, 0) = (0, e2, -e1), and so on round
    p, q, s = a[1] * e[2] - a[2] * e[1], b[1] * e[2] - b[2] * e[1], c[1] * e[2] - c[2] * e[1]
    r = (0.5 + SLACK) * (abs(e[1]) + abs(e[2]))
    if min(p, q, s) > r or max(p, q, s) < -r:
        return True
    p, q, s = a[2] * e[0] - a[0] * e[2], b[2] * e[0] - b[0] * e[2], c[2] * e[0] - c[0] * e[2]
    r = (0.5 + SLACK) * (abs(e[0]) + abs(e[2]))
    if min(p, q, s) > r or max(p, q, s) < -r:
        return True
    p, q, s = a[0] * e[1] - a[1] * e[0], b[0] * e[1] - b[1] * e[0], c[0] * e[1] - c[1] * e[0]
    r = (0.5 + SLACK) * (abs(e[0]) + abs(e[1]))
    return min(p, q, s) > r or max(p, q, s) < -r


@inline
def pair_of(start, face, cell, f):  # type: ignore[no-untyped-def]
    """The number of the pair of a cell and a face; -1 if they do not touch."""
    low, high = start[cell], start[cell + 1]
    while low < high:
        middle = (low + high) // 2
        if face[middle] < f:
            low = middle + 1
        else:
            high = middle
    return low if low < start[cell + 1] and face[low] == f else -1


@inline
def in_cell(p, q, i, j, k):  # type: ignore[no-untyped-def]
    """Whether the segment pq meets the cell (i, j, k)."""
    low, high = 0.0, 1.0
    for axis in range(3):
        at = i if axis == 0 else (j if axis == 1 else k)
        d = q[axis] - p[axis]
        if abs(d) < 1e-300:
            if p[axis] < at - SLACK or p[axis] > at + 1 + SLACK:
                return False
            continue
        s, t = (at - SLACK - p[axis]) / d, (at + 1 + SLACK - p[axis]) / d
        low, high = max(low, min(s, t)), min(high, max(s, t))
    return low <= high
