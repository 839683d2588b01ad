"""Closest point on a body's surface, and which side of it a point is on.

The side is told by the pseudo-normal of the closest feature: of the face, the sum over the faces at an edge, the angle-weighted sum
at a vertex (Baerentzen and Aanaes 2005, "Signed distance computation using the angle weighted pseudonormal"). That is exact for every
surface that bounds a solid, also where more than two faces meet at an edge: their proof, the divergence theorem in a small ball about the
closest point, asks for no more. Two faces back to back bound nothing; geometry/lattice/closing.py leaves them out.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import axpy, dot, inline, load, sub


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
        a, b = faces[face, (opposite + 1) % 3], faces[face, (opposite + 2) % 3]
        other = neighbour[face, opposite]
        while other >= 0 and other != face:  # once around the edge
            n = axpy(1.0, load(face_normal, other), n)
            corner = 0
            while faces[other, corner] == a or faces[other, corner] == b:
                corner += 1
            other = neighbour[other, corner]
    return n


def face_neighbours(faces: Ints) -> Ints:
    """For each face and corner the face across the opposite edge, -1 at a boundary, (m, 3); of more than two, the next in a ring."""
    if len(faces) == 0:
        return np.zeros((0, 3), np.int64)
    edges = np.sort(np.stack([faces[:, [1, 2]], faces[:, [2, 0]], faces[:, [0, 1]]], axis=1).reshape(-1, 2), axis=1)
    key = edges[:, 0] * (faces.max() + 1) + edges[:, 1]
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.append(True, key[order[1:]] != key[order[:-1]]))  # of the faces at each edge
    last = np.append(first[1:], len(key)) - 1
    following = np.roll(order, -1)
    following[last] = order[first]
    out = np.empty(len(key), np.int64)
    out[order] = np.where(following == order, -1, following // 3)
    return out.reshape(-1, 3)
