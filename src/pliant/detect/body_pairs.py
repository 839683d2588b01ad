"""Which bodies may touch, from their boxes or balls: sweep and prune along x; and which points of one are in the box of another.

Boxes are closed, touching counts; a box without end (a plane) meets everything. An empty box (inf, -inf) meets those alone. Pairs come
sorted, so that nothing depends on the order of the sweep.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import kernel


def overlapping(low: Floats, high: Floats) -> Ints:
    """Pairs (k, 2), a < b, sorted, of boxes (B, 3) that overlap."""
    return _sweep(low, high)


def overlapping_balls(centre: Floats, radius: Floats) -> Ints:
    """Pairs (k, 2), a < b, sorted, of balls that overlap; a radius may be infinite."""
    reach = radius[:, None]
    pairs = overlapping(centre - reach, centre + reach)
    a, b = pairs.T
    return pairs[np.linalg.norm(centre[a] - centre[b], axis=1) <= radius[a] + radius[b]]


def both_ways(pairs: Ints) -> tuple[Ints, Ints]:
    """(a, b), (b, a) of all pairs (k, 2) that are sorted, as two arrays (2 k,), sorted."""
    a, b = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((b, a))
    return a[order], b[order]


def points_in_boxes(first: Ints, last: Ints, box: Ints, margin: Floats, points: Floats, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """(row, point) for the points first[k] : last[k] of each row k that are in box[k], moved outwards by margin[k]; in that order."""
    given = (first, last, box, margin, points, low, high)
    none = np.zeros(1, np.int64)
    count = _points_in_boxes(*given, False, none, none.copy())
    row, point = np.empty(count, np.int64), np.empty(count, np.int64)
    _points_in_boxes(*given, True, row, point)
    return row, point


def swept_boxes(first: Ints, last: Ints, start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Boxes of the points first[b] : last[b] of each body on their way from start to end, (B, 3) twice; (inf, -inf) of none."""
    low, high = np.full((len(first), 3), np.inf), np.full((len(first), 3), -np.inf)
    _swept_boxes(first, last, start, end, low, high)
    return low, high


@kernel
def _swept_boxes(first, last, start, end, low, high):  # type: ignore[no-untyped-def]
    for b in range(len(first)):
        for p in range(first[b], last[b]):
            for axis in range(3):
                low[b, axis] = min(low[b, axis], min(start[p, axis], end[p, axis]))
                high[b, axis] = max(high[b, axis], max(start[p, axis], end[p, axis]))


@kernel
def _sweep(low, high):  # type: ignore[no-untyped-def]
    """Each box against those that start along x before it ends."""
    count, used, key = len(low), 0, np.empty(64, np.int64)
    order = np.argsort(low[:, 0])
    for k in range(count):
        i = order[k]
        for m in range(k + 1, count):
            j = order[m]
            if low[j, 0] > high[i, 0]:
                break
            apart = (low[i, 0] > high[j, 0]) | (low[i, 1] > high[j, 1]) | (low[i, 2] > high[j, 2])
            if apart | (low[j, 1] > high[i, 1]) | (low[j, 2] > high[i, 2]):
                continue
            if used == len(key):
                more = np.empty(2 * used, np.int64)
                more[:used] = key
                key = more
            key[used] = min(i, j) * count + max(i, j)
            used += 1
    key, pairs = np.sort(key[:used]), np.empty((used, 2), np.int64)
    for k in range(used):
        pairs[k, 0], pairs[k, 1] = key[k] // count, key[k] % count
    return pairs


@kernel
def _points_in_boxes(first, last, box, margin, points, low, high, fill, row, point):  # type: ignore[no-untyped-def]
    """How many there are; written if `fill`."""
    used = 0
    for k in range(len(box)):
        b, r = box[k], margin[k]
        for p in range(first[k], last[k]):
            inside = True
            for axis in range(3):
                inside = inside and low[b, axis] - r <= points[p, axis] <= high[b, axis] + r
            if inside:
                if fill:
                    row[used], point[used] = k, p
                used += 1
    return used
