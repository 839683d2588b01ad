"""How far a body can be lowered until it touches another: exactly, of triangles and of exact shapes.

Heights are linear over triangles, and so is the height between two of them where one lies above the other. So it is least at a corner of
one of the two, or where their edges cross as seen from above.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.detect.shapes import KINDS, signed_distance
from pliant.geometry.embed import boxes_in_cells
from pliant.geometry.mesh import Surface
from pliant.kernels import axpy, contiguous, inline, kernel, load

MOST = 1024  # cells of the grid along each side
NEAR = 1e-12  # of how far is looked: what is nearer than this to an exact shape touches it


def clearance(upper: Surface, lower: Surface) -> float:
    """Least height of a surface above another [m], below zero where it is lower; inf: no place of one is above the other."""
    if not len(upper.faces) or not len(lower.faces):
        return math.inf
    corners, below = upper.points[upper.faces], lower.points[lower.faces]
    corners = corners[np.argsort(corners[:, :, 2].min(axis=1), kind="stable")]  # the lowest first
    below = below[np.argsort(-below[:, :, 2].max(axis=1), kind="stable")]  # the highest first
    low, high = below[:, :, :2].min(axis=(0, 1)), below[:, :, :2].max(axis=(0, 1))
    count = max(1, min(MOST, math.isqrt(len(below))))
    cell = np.maximum((high - low) / count, 1e-300)
    counts = np.array([count, count, 1])
    first, last = (np.zeros((len(below), 3), np.int64) for _ in range(2))
    for ends, side in ((first, below.min(axis=1)), (last, below.max(axis=1))):
        ends[:, :2] = np.clip(np.floor((side[:, :2] - low) / cell), 0, count - 1)
    start, items = boxes_in_cells(first, last, counts)
    return float(_least(contiguous(corners), contiguous(below), low, cell, count, start, items))


def traced(
    points: Floats, radius: float, kind: str, parameters: tuple[float, ...], turn: Floats, centre: Floats, way: float, reach: float
) -> float:
    """How far [m] points go up (way 1) or down (-1) until the first is `radius` [m] from an exact shape; inf if none is within `reach`.

    turn (3, 3), centre (3,): pose of the shape. The distance to it is how far a point may go at least, step by step.
    """
    size = np.zeros(3)
    size[: len(parameters)] = parameters
    return float(_trace(contiguous((points - centre) @ turn), KINDS[kind], size, contiguous(way * turn[2]), radius, float(reach)))


@kernel
def _trace(points, kind, size, way, radius, reach):  # type: ignore[no-untyped-def]
    best, step = np.inf, (way[0], way[1], way[2])
    for i in range(len(points)):
        t = 0.0
        while t <= reach and t < best:
            d = signed_distance(kind, size[0], size[1], size[2], axpy(t, step, load(points, i)))[0] - radius
            if d <= NEAR * reach:
                best = t
                break
            t += d
    return best


@inline
def _range(t, low, cell, count):  # type: ignore[no-untyped-def]
    """Cells that the box of a triangle reaches, first and last along x and y."""
    x0, x1 = min(t[0, 0], t[1, 0], t[2, 0]), max(t[0, 0], t[1, 0], t[2, 0])
    y0, y1 = min(t[0, 1], t[1, 1], t[2, 1]), max(t[0, 1], t[1, 1], t[2, 1])
    i0, i1 = _cell(x0, low[0], cell[0], count), _cell(x1, low[0], cell[0], count)
    return i0, i1, _cell(y0, low[1], cell[1], count), _cell(y1, low[1], cell[1], count)


@inline
def _cell(x, low, size, count):  # type: ignore[no-untyped-def]
    return int(min(max(math.floor((x - low) / size), 0.0), count - 1.0))


@kernel
def _least(corners, below, low, cell, count, start, items):  # type: ignore[no-untyped-def]
    best = np.inf
    top = max(below[0, 0, 2], below[0, 1, 2], below[0, 2, 2])
    for n in range(len(corners)):
        bottom = min(corners[n, 0, 2], corners[n, 1, 2], corners[n, 2, 2])
        if bottom - top >= best:  # as for all that follow
            break
        i0, i1, j0, j1 = _range(corners[n], low, cell, count)
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                c = i * count + j
                for s in range(start[c], start[c + 1]):
                    t = below[items[s]]
                    if bottom - max(t[0, 2], t[1, 2], t[2, 2]) >= best:
                        break
                    best = min(best, _between(corners[n], t))
    return best


@inline
def _between(s, t):  # type: ignore[no-untyped-def]
    """Least height of triangle s above triangle t; inf if neither is above the other."""
    best = np.inf
    for k in range(3):
        there, z = _height(load(s, k), t)
        if there:
            best = min(best, s[k, 2] - z)
        there, z = _height(load(t, k), s)
        if there:
            best = min(best, z - t[k, 2])
        for m in range(3):
            best = min(best, _crossing(load(s, k), load(s, (k + 1) % 3), load(t, m), load(t, (m + 1) % 3)))
    return best


@inline
def _height(p, t):  # type: ignore[no-untyped-def]
    """(whether a triangle is above or below a place, its height there)."""
    a, b, c = load(t, 0), load(t, 1), load(t, 2)
    u = (b[0] - p[0]) * (c[1] - p[1]) - (b[1] - p[1]) * (c[0] - p[0])
    v = (c[0] - p[0]) * (a[1] - p[1]) - (c[1] - p[1]) * (a[0] - p[0])
    w = (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0])
    area = u + v + w
    inside = area != 0.0 and ((u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0))
    return inside, (u * a[2] + v * b[2] + w * c[2]) / area if inside else 0.0


@inline
def _crossing(p, q, r, s):  # type: ignore[no-untyped-def]
    """Height of the edge pq above the edge rs where they cross as seen from above; inf if they do not."""
    x, y = q[0] - p[0], q[1] - p[1]
    dx, dy = s[0] - r[0], s[1] - r[1]
    area = x * dy - y * dx
    if area == 0.0:
        return np.inf
    ox, oy = r[0] - p[0], r[1] - p[1]
    along, beside = (ox * dy - oy * dx) / area, (ox * y - oy * x) / area
    if along < 0.0 or along > 1.0 or beside < 0.0 or beside > 1.0:
        return np.inf
    return p[2] + along * (q[2] - p[2]) - r[2] - beside * (s[2] - r[2])
