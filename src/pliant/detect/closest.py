"""Closest point on a triangle and on a body's surface, and which side of it a point is on.

The side is told by the pseudo-normal of the closest feature: of the face, the sum of two at an edge, the angle-weighted sum
at a vertex (Baerentzen and Aanaes 2005, "Signed distance computation using the angle weighted pseudonormal"), which is exact for
closed manifold surfaces.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.kernels import axpy, cross, dot, inline, load, sub


@inline
def closest_on_segment(p, a, b):  # type: ignore[no-untyped-def]
    """(squared distance, t) of the point a + t (b - a) of segment ab nearest to p."""
    ab, ap = sub(b, a), sub(p, a)
    square = dot(ab, ab)
    t = min(max(dot(ap, ab) / square, 0.0), 1.0) if square > 0.0 else 0.0
    d = axpy(-t, ab, ap)
    return dot(d, d), t


@inline
def _closest_on_edges(p, a, b, c):  # type: ignore[no-untyped-def]
    """Barycentric weights of the nearest point of the three edges: the answer for a triangle without area."""
    (d, t), (e, u), (f, v) = closest_on_segment(p, a, b), closest_on_segment(p, b, c), closest_on_segment(p, c, a)
    if d <= e and d <= f:
        return 1.0 - t, t, 0.0
    if e <= f:
        return 0.0, 1.0 - u, u
    return v, 0.0, 1.0 - v


@inline
def closest_on_triangle(p, a, b, c):  # type: ignore[no-untyped-def]
    """Barycentric weights of the point of triangle abc nearest to p, by Voronoi regions (Ericson 2005, 5.1.5)."""
    ab, ac, ap = sub(b, a), sub(c, a), sub(p, a)
    n = cross(ab, ac)
    if dot(n, n) <= 1e-24 * dot(ab, ab) * dot(ac, ac):  # regions of a triangle without area are nothing but rounding
        return _closest_on_edges(p, a, b, c)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bp = sub(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3) if d1 != d3 else 0.0
        return 1.0 - v, v, 0.0
    cp = sub(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6) if d2 != d6 else 0.0
        return 1.0 - w, 0.0, w
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        total = (d4 - d3) + (d5 - d6)
        w = (d4 - d3) / total if total != 0.0 else 0.0
        return 0.0, 1.0 - w, w
    total = va + vb + vc
    if total == 0.0:
        return 1.0, 0.0, 0.0
    return 1.0 - vb / total - vc / total, vb / total, vc / total


@inline
def box_distance2(p, low, high, i):  # type: ignore[no-untyped-def]
    """Squared distance from p to box i."""
    total = 0.0
    for axis in range(3):
        d = max(low[i, axis] - p[axis], 0.0, p[axis] - high[i, axis])
        total += d * d
    return total


@inline
def closest_on_body(p, body, nodes, points, faces, stack):  # type: ignore[no-untyped-def]
    """(squared distance, face, weights) of the nearest face of a body, -1 if it has none; `nodes`: of a tree over faces."""
    best, face, u, v, w = np.inf, -1, 0.0, 0.0, 0.0
    root, first, count, low, high = nodes.root[body], nodes.first, nodes.children, nodes.low, nodes.high
    stack[0] = root
    top = 1 if root >= 0 else 0
    while top > 0:
        top -= 1
        i = stack[top]
        if box_distance2(p, low, high, i) > best:
            continue
        if i >= nodes.leaves:
            near, nearest = first[i], np.inf
            for child in range(first[i], first[i] + count[i]):
                distance = box_distance2(p, low, high, child)
                if distance < nearest:
                    near, nearest = child, distance
            for child in range(first[i], first[i] + count[i]):  # the nearest child comes last, so it is looked at first
                if child != near:
                    stack[top] = child
                    top += 1
            stack[top] = near
            top += 1
            continue
        for k in range(first[i], first[i] + count[i]):
            f = nodes.order[k]
            a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
            h = closest_on_triangle(p, a, b, c)
            q = axpy(h[0], a, axpy(h[1], b, (h[2] * c[0], h[2] * c[1], h[2] * c[2])))
            d = sub(p, q)
            square = dot(d, d)
            # ties between faces that share the closest feature go to the lower number, so the tree cannot matter
            if square < best or (square == best and f < face):
                best, face, u, v, w = square, f, h[0], h[1], h[2]
    return best, face, u, v, w


@inline
def pseudo_normal(face, h, faces, neighbour, face_normal, vertex_normal):  # type: ignore[no-untyped-def]
    """Normal of the feature that the weights h of a closest point lie on; not of unit length."""
    zeros = (h[0] == 0.0) + (h[1] == 0.0) + (h[2] == 0.0)
    n = load(face_normal, face)
    if zeros == 2:
        corner = 0 if h[0] > 0.0 else (1 if h[1] > 0.0 else 2)
        return load(vertex_normal, faces[face, corner])
    if zeros == 1:
        opposite = 0 if h[0] == 0.0 else (1 if h[1] == 0.0 else 2)
        other = neighbour[face, opposite]
        if other >= 0:
            return axpy(1.0, load(face_normal, other), n)
    return n


def face_neighbours(faces: Ints) -> Ints:
    """For each face and corner the face across the opposite edge, -1 at a boundary, (m, 3)."""
    if len(faces) == 0:
        return np.zeros((0, 3), np.int64)
    edges = np.sort(np.stack([faces[:, [1, 2]], faces[:, [2, 0]], faces[:, [0, 1]]], axis=1).reshape(-1, 2), axis=1)
    key = edges[:, 0] * (faces.max() + 1) + edges[:, 1]
    order = np.argsort(key, kind="stable")
    out = np.full(len(key), -1, np.int64)
    same = key[order[1:]] == key[order[:-1]]
    left, right = order[:-1][same], order[1:][same]
    out[left], out[right] = right // 3, left // 3
    return out.reshape(-1, 3)
