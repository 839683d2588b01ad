"""The volume that two closed skins have in common, by columns: exact along them, sampled across them.

The box that both reach is cut into thin columns along its shortest side. Each skin crosses the middle line of a column at places that
are known exactly; the sum of their signs is the winding number on the way, so hollow and thin bodies are right too. What lies inside
both, times the cross-section, is summed (layered depth images: Heidelberger, Teschner, Gross, "Real-time volumetric intersections of
deforming objects", 2003). A second round refines the columns that met something.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel

COLUMNS = 128  # across each side of the box
SHIFT = (0.4713, 0.5291)  # of the lines in their columns: not the middle, where corners of regular meshes lie


def common_volume(points: Floats, first: Ints, second: Ints) -> float:
    """Volume inside both of two closed skins of triangles (n, 3), (m, 3) over the same points [m^3]."""
    if len(first) == 0 or len(second) == 0:
        return 0.0
    used, number = np.unique(np.concatenate([first, second]), return_inverse=True)  # a pair must not cost a pass over all bodies
    points, number = points[used], number.reshape(-1, 3)
    first, second = number[: len(first)], number[len(first) :]
    low = np.maximum(points[first].min(axis=(0, 1)), points[second].min(axis=(0, 1)))
    high = np.minimum(points[first].max(axis=(0, 1)), points[second].max(axis=(0, 1)))
    if not (low < high).all():
        return 0.0
    along = int(np.argmin(high - low))
    turned = contiguous(points[:, [(along + 1) % 3, (along + 2) % 3, along]])  # keeps the sense of rotation
    low, high = low[[(along + 1) % 3, (along + 2) % 3]], high[[(along + 1) % 3, (along + 2) % 3]]
    for _ in range(2):
        step = (high - low) / COLUMNS
        length = _common_lengths(turned, first, second, low, step)
        used = np.argwhere(length > 0.0)
        if len(used) == 0:
            return 0.0
        volume = float(length.sum() * step.prod())
        left, right = np.maximum(used.min(axis=0) - 1, 0), np.minimum(used.max(axis=0) + 2, COLUMNS)  # the neighbours may hold some
        low, high = low + left * step, low + right * step
    return volume


def _common_lengths(points: Floats, first: Ints, second: Ints, low: Floats, step: Floats) -> Floats:
    """Length inside both skins of the line of each column [m], (COLUMNS, COLUMNS)."""
    faces = contiguous(np.concatenate([first, second]), np.int64)
    corners = points[faces, :2]
    hit = ((corners.max(axis=1) >= low) & (corners.min(axis=1) <= low + COLUMNS * step)).all(axis=1)
    skin = np.repeat([0, 1], [len(first), len(second)])[hit]
    faces = contiguous(faces[hit], np.int64)
    start = np.zeros(COLUMNS * COLUMNS + 1, np.int64)
    origin = low + np.array(SHIFT) * step
    _cross(points, faces, skin, origin, step, start, np.zeros(0), np.zeros(0, np.int64))
    start = np.cumsum(start)
    height, sign = np.empty(start[-1]), np.empty(start[-1], np.int64)
    _cross(points, faces, skin, origin, step, start[:-1].copy(), height, sign)
    length = np.empty(COLUMNS * COLUMNS)
    _inside_both(start, height, sign, length)
    return length.reshape(COLUMNS, COLUMNS)


@kernel
def _cross(points, faces, skin, origin, step, start, height, sign):  # type: ignore[no-untyped-def]
    """Where triangles cross the lines of columns, and whether a line enters (1, 2 for the second skin) or leaves (-1, -2).

    Without room for them (`height`) they are counted, each one place behind its column.
    """
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, bx, by, cx, cy = points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[c, 0], points[c, 1]
        i0 = max(0, int(np.ceil((min(ax, bx, cx) - origin[0]) / step[0])))
        i1 = min(COLUMNS - 1, int(np.floor((max(ax, bx, cx) - origin[0]) / step[0])))
        j0 = max(0, int(np.ceil((min(ay, by, cy) - origin[1]) / step[1])))
        j1 = min(COLUMNS - 1, int(np.floor((max(ay, by, cy) - origin[1]) / step[1])))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                x, y = origin[0] + i * step[0], origin[1] + j * step[1]
                u, v, w = _side(points, b, c, x, y), _side(points, c, a, x, y), _side(points, a, b, x, y)
                if not ((u > 0.0) == (v > 0.0) and (v > 0.0) == (w > 0.0)):
                    continue
                k = i * COLUMNS + j
                if len(height) == 0:
                    start[k + 1] += 1
                else:
                    height[start[k]] = (u * points[a, 2] + v * points[b, 2] + w * points[c, 2]) / (u + v + w)
                    sign[start[k]] = (1 + skin[f]) * (-1 if u > 0.0 else 1)  # a face that looks up is left through
                    start[k] += 1


@kernel
def _side(points, a, b, x, y):  # type: ignore[no-untyped-def]
    """Twice the area of (a, b, (x, y)), never 0 and exactly opposite for (b, a), so that a line hits one of two neighbours."""
    low, high = min(a, b), max(a, b)
    area = (points[low, 0] - x) * (points[high, 1] - y) - (points[low, 1] - y) * (points[high, 0] - x)
    if area == 0.0:
        area = 1e-300
    return area if a < b else -area


@kernel
def _inside_both(start, height, sign, length):  # type: ignore[no-untyped-def]
    """Length of each line where both winding numbers are above 0; lines that do not come out again count as none. Sorts the crossings."""
    for k in range(len(length)):
        for m in range(start[k] + 1, start[k + 1]):  # by insertion: there are few
            at, kind, n = height[m], sign[m], m
            while n > start[k] and height[n - 1] > at:
                height[n], sign[n] = height[n - 1], sign[n - 1]
                n -= 1
            height[n], sign[n] = at, kind
        first, second, total = 0, 0, 0.0
        for m in range(start[k], start[k + 1]):
            if first > 0 and second > 0:
                total += height[m] - height[m - 1]
            if abs(sign[m]) == 1:
                first += sign[m]
            else:
                second += sign[m] // 2
        length[k] = total if first == 0 and second == 0 else 0.0
