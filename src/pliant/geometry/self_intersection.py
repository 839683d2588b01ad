"""Which triangles of a surface cut through each other.

Broad phase: a bounding-box tree over the triangles in Morton order, walked level by level with arrays.
Narrow phase: two triangles cut each other if their plane sections on the common line overlap over a length
(Moeller, A fast triangle-triangle intersection test, 1997), or, in one plane, if no edge separates them.
Touching in a point, or edge on edge, is not cutting. Neighbours are tested too: sharing a corner is no excuse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.geometry.winding import along_curve
from pliant.kernels import cross, dot, kernel, load, norm, scale, sub

Flags = NDArray[np.bool_]
RELATIVE = 1e-9  # of the size of a pair: distances below count as zero
ROUNDING = 1e-14  # of coordinates, the same
APART, ACROSS, LEVEL = 0, 1, 2  # pairs that cannot cut, that may along a line, that may in one plane
BATCH = 200_000  # pairs tested at once, to bound memory


def self_intersections(points: Floats, faces: Ints) -> Ints:
    """Pairs (k, 2) of faces that cut each other, sorted, lower number first; flat faces take no part."""
    x = points[faces]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    good = np.nonzero(np.linalg.norm(normal, axis=1) > 0)[0]
    if len(good) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    pairs = good[_overlapping_boxes(x[good].min(axis=1), x[good].max(axis=1))]
    hits = [pairs[k : k + BATCH][_cutting(points, faces, pairs[k : k + BATCH])] for k in range(0, len(pairs), BATCH)]
    found = np.sort(np.concatenate([*hits, np.zeros((0, 2), dtype=np.int64)]), axis=1)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def _overlapping_boxes(low: Floats, high: Floats) -> Ints:
    """All pairs i < j of boxes that overlap."""
    order = np.argsort(along_curve(0.5 * (low + high)), kind="stable")
    depth = max(int(len(order) - 1).bit_length(), 1)
    lows = [np.full((1 << depth, 3), np.inf)]
    highs = [np.full((1 << depth, 3), -np.inf)]
    lows[0][: len(order)], highs[0][: len(order)] = low[order], high[order]
    for _ in range(depth):
        lows.append(np.minimum(lows[-1][0::2], lows[-1][1::2]))
        highs.append(np.maximum(highs[-1][0::2], highs[-1][1::2]))
    a = b = np.zeros(1, dtype=np.int64)
    for level in range(depth - 1, -1, -1):
        same = a == b
        a = np.concatenate([2 * a, 2 * a, 2 * a + 1, 2 * a[~same] + 1])
        b = np.concatenate([2 * b, 2 * b + 1, 2 * b + 1, 2 * b[~same]])
        lo, hi = lows[level], highs[level]
        keep = ((lo[a] <= hi[b]) & (lo[b] <= hi[a])).all(axis=1)
        a, b = a[keep], b[keep]
    apart = a != b
    return np.sort(order[np.stack([a[apart], b[apart]], axis=1)], axis=1)


def _cutting(points: Floats, faces: Ints, pairs: Ints) -> Flags:
    """Whether each pair cuts (k,)."""
    kind = np.empty(len(pairs), np.int8)
    _sort(points, faces, pairs, kind)
    cut = np.zeros(len(pairs), dtype=bool)
    for which, test in ((ACROSS, _sections_overlap), (LEVEL, _overlap_in_plane)):
        some = np.flatnonzero(kind == which)
        p, q = points[faces[pairs[some, 0]]], points[faces[pairs[some, 1]]]
        origin = p[:, :1].copy()
        p, q = p - origin, q - origin
        cut[some] = test(p, q, _allowance(p, q, origin))
    return cut


def _allowance(p: Floats, q: Floats, origin: Floats) -> Floats:
    """Distances that count as zero [m], (k,)."""
    size = np.maximum(np.abs(p).max(axis=(1, 2)), np.abs(q).max(axis=(1, 2)))
    return np.asarray(RELATIVE * size + ROUNDING * np.abs(origin).max(axis=(1, 2)))


@kernel
def _sort(points, faces, pairs, kind):  # type: ignore[no-untyped-def]
    """Which pairs can cut, and how: most are neighbours, or on one side of each other's plane."""
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        shared, size, far = 0, 0.0, 0.0
        o = load(points, faces[i, 0])
        for a in range(3):
            x, y = sub(load(points, faces[i, a]), o), sub(load(points, faces[j, a]), o)
            for axis in range(3):
                size, far = max(size, abs(x[axis]), abs(y[axis])), max(far, abs(o[axis]))
            for b in range(3):
                if faces[i, a] == faces[j, b]:
                    shared += 1
                    break
        eps = RELATIVE * size + ROUNDING * far
        flat, straddles, meets = False, False, True
        for turn in range(2):
            f, g = (i, j) if turn == 0 else (j, i)
            a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
            n = cross(sub(b, a), sub(c, a))
            n = scale(1.0 / norm(n), n)
            above = below = 0
            for corner in range(3):
                d = dot(sub(load(points, faces[g, corner]), a), n)
                above += d > eps
                below += d < -eps
            flat = flat or (above == 0 and below == 0)
            straddles = straddles or (above > 0 and below > 0)
            meets = meets and above < 3 and below < 3
        kind[k] = APART
        if flat and shared < 3:
            kind[k] = LEVEL
        elif not flat and straddles and meets and shared < 2:
            kind[k] = ACROSS


def _unit_normals(x: Floats) -> Floats:
    n = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def _snapped(d: Floats, eps: Floats) -> Floats:
    return np.where(np.abs(d) <= eps[:, None], 0.0, d)


def _sections_overlap(p: Floats, q: Floats, eps: Floats) -> Flags:
    """Whether the two sections along the line of both planes share more than a point."""
    n, m = _unit_normals(p), _unit_normals(q)
    dq = _snapped(np.einsum("kij,kj->ki", q - p[:, :1], n), eps)  # distances of q's corners from p's plane
    dp = _snapped(np.einsum("kij,kj->ki", p - q[:, :1], m), eps)
    line = np.cross(n, m)
    length = np.linalg.norm(line, axis=1, keepdims=True)
    line = line / np.maximum(length, 1e-300)
    low_p, high_p = _section(np.einsum("kij,kj->ki", p, line), dp)
    low_q, high_q = _section(np.einsum("kij,kj->ki", q, line), dq)
    return np.minimum(high_p, high_q) - np.maximum(low_p, low_q) > eps


def _section(along: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Interval of the line inside a triangle: where its edges cross the other plane, or corners lie on it."""
    marks = np.full((len(along), 6), np.nan)
    marks[:, :3] = np.where(above == 0, along, np.nan)
    for k in range(3):
        i, j = k, (k + 1) % 3
        crossing = above[:, i] * above[:, j] < 0
        span = np.where(crossing, above[:, i] - above[:, j], 1.0)
        t = above[:, i] / span
        marks[:, 3 + k] = np.where(crossing, along[:, i] + t * (along[:, j] - along[:, i]), np.nan)
    return np.fmin.reduce(marks, axis=1), np.fmax.reduce(marks, axis=1)


def _overlap_in_plane(p: Floats, q: Floats, eps: Floats) -> Flags:
    """Separating axis test with the six edge normals in the common plane."""
    n, overlap = _unit_normals(p), np.ones(len(p), dtype=bool)
    for x in (p, q):
        for k in range(3):
            axis = np.cross(n, x[:, (k + 1) % 3] - x[:, k])
            axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
            a, b = np.einsum("kij,kj->ki", p, axis), np.einsum("kij,kj->ki", q, axis)
            overlap &= np.minimum(a.max(axis=1), b.max(axis=1)) - np.maximum(a.min(axis=1), b.min(axis=1)) > eps
    return overlap
