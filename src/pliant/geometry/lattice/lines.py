"""Where the lines of a grid cross a closed surface: what is between an entry and an exit is material.

A grid of n[0] x n[1] x n[2] samples has a line through the samples along each axis. Positions along a line are in samples: number k
stands at k + 1/2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel

# Lines pass this far [samples] beside where they should, so that they miss vertices and edges of tidy meshes.
BESIDE = (1e-7 * math.sqrt(2.0), 1e-7 * math.sqrt(3.0), 1e-7 * math.sqrt(5.0))


class Crossings(NamedTuple):
    """Crossings of the lines along one axis; line (u, v) has number u * count of v + v, u and v being the other axes in order."""

    start: Ints  # (lines + 1,)
    at: Floats  # position along the line, ascending
    face: Ints
    out: Ints  # 1 where the line leaves, -1 where it enters


def crossings(points: Floats, faces: Ints, counts: Ints, axis: int) -> Crossings:
    """Of triangles whose points are in samples."""
    u, v = [a for a in range(3) if a != axis]
    turned = contiguous(points[:, [u, v, axis]] + np.array([BESIDE[u], BESIDE[v], 0.0]))
    sign = 1 if axis != 1 else -1  # (u, v, axis) is a left-handed system for axis 1
    nu, nv = int(counts[u]), int(counts[v])
    start = np.zeros(nu * nv + 1, np.int64)
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    faces = contiguous(faces, np.int64)
    _cross(turned, faces, nu, nv, sign, False, start, nothing, none, none)
    np.cumsum(start, out=start)
    at, face, out = np.empty(start[-1]), np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    _cross(turned, faces, nu, nv, sign, True, start[:-1].copy(), at, face, out)
    _sort(start, at, face, out)
    return Crossings(start, at, face, out)


def backwards(found: Crossings) -> float:
    """How much of the lines [samples] a closed surface winds around less than no times."""
    line = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    times = -np.cumsum(found.out)[:-1]  # of what is behind each crossing; the crossings of a line cancel
    return float(np.diff(found.at)[(times < 0) & (np.diff(line) == 0)].sum())


@kernel
def _cross(points, faces, nu, nv, sign, fill, start, at, face, out):  # type: ignore[no-untyped-def]
    """Count the crossings of each line into start[line + 1], or write them from start[line] on."""
    for f in range(len(faces)):
        a, b, c = points[faces[f, 0]], points[faces[f, 1]], points[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0:
            continue
        first_u = max(0, int(math.ceil(min(a[0], b[0], c[0]) - 0.5)))
        last_u = min(nu - 1, int(math.floor(max(a[0], b[0], c[0]) - 0.5)))
        first_v = max(0, int(math.ceil(min(a[1], b[1], c[1]) - 0.5)))
        last_v = min(nv - 1, int(math.floor(max(a[1], b[1], c[1]) - 0.5)))
        for i in range(first_u, last_u + 1):
            for j in range(first_v, last_v + 1):
                x, y = i + 0.5, j + 0.5
                u = (b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)
                v = (c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)
                w = (a[0] - x) * (b[1] - y) - (a[1] - y) * (b[0] - x)
                if (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0):
                    line = i * nv + j
                    if fill:
                        k = start[line]
                        start[line] += 1
                        at[k] = (u * a[2] + v * b[2] + w * c[2]) / area
                        face[k] = f
                        out[k] = sign if area > 0.0 else -sign
                    else:
                        start[line + 1] += 1


@kernel
def _sort(start, at, face, out):  # type: ignore[no-untyped-def]
    """By position, and entries before exits at one place; lists are short."""
    for line in range(len(start) - 1):
        for k in range(start[line] + 1, start[line + 1]):
            p, f, o = at[k], face[k], out[k]
            j = k
            while j > start[line] and (at[j - 1] > p or (at[j - 1] == p and out[j - 1] > o)):
                at[j], face[j], out[j] = at[j - 1], face[j - 1], out[j - 1]
                j -= 1
            at[j], face[j], out[j] = p, f, o
