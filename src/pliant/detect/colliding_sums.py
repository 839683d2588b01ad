"""Serial kernels of `colliding`: points are few and there are several looks in a step, so a few passes beat many small arrays."""

from __future__ import annotations

import numpy as np

from pliant.detect.walk import overlap
from pliant.geometry.normals import face_normal
from pliant.kernels import axpy, kernel, load, scale, store, sub


@kernel
def corners(crossing, faces, face_body, points, body, other, point, face, at, apart):  # type: ignore[no-untyped-def]
    """The corners of crossing triangles (k, 2): those of the first ones, then those of the second; `apart`: difference of their normals."""
    count = len(crossing)
    for k in range(count):
        normal = sub(face_normal(points, faces, crossing[k, 1]), face_normal(points, faces, crossing[k, 0]))
        for half in range(2):
            mine, partner = crossing[k, half], crossing[k, 1 - half]
            for c in range(3):
                row = 3 * (half * count + k) + c
                body[row], other[row] = face_body[mine], face_body[partner]
                point[row], face[row] = faces[mine, c], partner
                store(at, row, load(points, faces[mine, c]))
                store(apart, row, scale(1.0 - 2.0 * half, normal))


@kernel
def overlapping_boxes(pairs, root, low, high, touch):  # type: ignore[no-untyped-def]
    """Which pairs (k, 2) of bodies have boxes that overlap."""
    for k in range(len(pairs)):
        touch[k] = overlap(low, high, root[pairs[k, 0]], root[pairs[k, 1]])


@kernel
def nests(pairs, root, low, high):  # type: ignore[no-untyped-def]
    """Whether the box of a body is inside that of its partner, for any of the pairs."""
    for k in range(len(pairs)):
        a, b = root[pairs[k, 0]], root[pairs[k, 1]]
        inner, outer = True, True
        for axis in range(3):
            inner = inner and low[a, axis] >= low[b, axis] and high[a, axis] <= high[b, axis]
            outer = outer and low[b, axis] >= low[a, axis] and high[b, axis] <= high[a, axis]
        if inner or outer:
            return True
    return False


@kernel
def number_pairs(body, other, point, normal, inside, bodies, points):  # type: ignore[no-untyped-def]
    """(keys of the pairs low * bodies + high, the pair of each point, the first of each point in a pair, sum of normals of a pair)."""
    count = len(body)
    key = np.empty(count + len(inside), np.int64)
    for k in range(count):
        key[k] = min(body[k], other[k]) * bodies + max(body[k], other[k])
    key[count:] = inside
    keys = np.unique(key)
    pair, total = np.searchsorted(keys, key[:count]), np.zeros((len(keys), 3))
    for k in range(count):
        store(total, pair[k], axpy(1.0 if body[k] < other[k] else -1.0, load(normal, k), load(total, pair[k])))
    place = pair * points + point
    order = np.argsort(place, kind="mergesort")
    first, used = np.empty(count, np.int64), 0
    for k in range(count):
        if k == 0 or place[order[k]] != place[order[k - 1]]:
            first[used] = order[k]
            used += 1
    return keys, pair, first[:used], total
