"""Which surfels may be inside which bodies: overlapping boxes, then the nearest surfel through a grid (section 5 of Keiser et al.).

Boxes are wider than the surfels by a spacing, because a surface bulges between its samples. Every body has cells of its own size in one
hash table, so fine and coarse bodies live together. What was found in the last step is where the next search starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.detect.shapes import PLANE
from pliant.detect.surfels.neighbours import squared
from pliant.kernels import inline, kernel, load

NEAR = 3.5  # spacings within which a surfel is looked for: 3 h and half a spacing between samples


@dataclass
class Candidates:
    """Surfels that may be inside another body, ordered by pair and surfel."""

    surfel: Ints  # (c,)
    other: Ints  # (c,) body
    sample: Ints  # (c,) a surfel of it to start from, -1: none is near

    def __len__(self) -> int:
        return len(self.surfel)


def boxes(surfaces: Surfaces) -> tuple[Floats, Floats]:
    """Low and high corners of all bodies (B, 3), wider by a spacing; a plane without samples is everywhere."""
    fixed = surfaces.fixed
    low, high = np.full((len(fixed), 3), np.inf), np.full((len(fixed), 3), -np.inf)
    _boxes(fixed.start, surfaces.points, surfaces.wide, low, high)
    everywhere = (fixed.kind == PLANE) & (np.diff(fixed.start) == 0)
    low[everywhere], high[everywhere] = -np.inf, np.inf
    return low, high


def overlapping(low: Floats, high: Floats) -> Ints:
    """Pairs (k, 2) of bodies whose boxes overlap, a < b, sorted."""
    order = np.argsort(low[:, 0], kind="stable")
    pairs = _sweep(order, low, high)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def candidates(surfaces: Surfaces, pairs: Ints, low: Floats, high: Floats) -> Candidates:
    """Surfels of either body of each pair that are in the box of the other; no samples yet."""
    start = surfaces.fixed.start
    one, two = np.concatenate([pairs, pairs[:, ::-1]]).T if len(pairs) else np.zeros((2, 0), np.int64)
    order = np.lexsort((two, one))
    one, two = np.ascontiguousarray(one[order]), np.ascontiguousarray(two[order])
    surfel = np.empty(int((start[one + 1] - start[one]).sum()), np.int64)
    other = np.empty_like(surfel)
    count = _inside_boxes(start, surfaces.points, one, two, low, high, surfel, other)
    return Candidates(surfel[:count].copy(), other[:count].copy(), np.full(count, -1, np.int64))


def recalled(keys: Ints, known: Ints, values: Ints) -> Ints:
    """The value that sorted keys hold for each key, -1 for unknown ones."""
    out = np.full(len(keys), -1, np.int64)
    if len(known):
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        same = known[at] == keys
        out[same] = values[at[same]]
    return out


class BodyGrid:
    """Surfels by body and cell: the nearest one of a body within 3.5 of its spacings."""

    def __init__(self, surfaces: Surfaces) -> None:
        self.surfaces = surfaces
        self.cell = NEAR * np.where(surfaces.wide > 0.0, surfaces.wide, 1.0)
        self.start = np.zeros(2 ** int(np.ceil(np.log2(len(surfaces.points) + 2))) + 1, np.int64)  # hashes are masked, so a power of two
        self.held = np.empty(len(surfaces.points), np.int64)
        _fill(surfaces.points, surfaces.fixed.body, self.cell, self.start, self.held)

    def nearest(self, queries: Floats, other: Ints, sample: Ints) -> None:
        """Fill `sample` where it is -1 with the nearest surfel of body `other`, if one is near."""
        surfaces = self.surfaces
        reach = NEAR * surfaces.wide
        _nearest(surfaces.points, surfaces.fixed.body, self.cell, self.start, self.held, queries, other, reach, sample)


def winding(surfaces: Surfaces, queries: Floats, other: Ints) -> Floats:
    """Generalised winding number of body `other` about each query, by the sum over all its surfels: 1 inside, 0 outside."""
    out = np.zeros(len(queries))
    _winding(surfaces.fixed.start, surfaces.points, surfaces.normals, surfaces.areas, queries, other, out)
    return out


@kernel
def _boxes(start, points, wide, low, high):  # type: ignore[no-untyped-def]
    for b in range(len(start) - 1):
        for i in range(start[b], start[b + 1]):
            for k in range(3):
                low[b, k], high[b, k] = min(low[b, k], points[i, k] - wide[b]), max(high[b, k], points[i, k] + wide[b])


@kernel
def _sweep(order, low, high):  # type: ignore[no-untyped-def]
    """Pairs whose boxes overlap, along x."""
    found, out = 0, np.empty((64, 2), np.int64)
    for u in range(len(order)):
        a = order[u]
        for v in range(u + 1, len(order)):
            b = order[v]
            if low[b, 0] > high[a, 0]:
                break
            if low[a, 1] <= high[b, 1] and low[b, 1] <= high[a, 1] and low[a, 2] <= high[b, 2] and low[b, 2] <= high[a, 2]:
                if found == len(out):
                    more = np.empty((2 * found, 2), np.int64)
                    more[:found] = out
                    out = more
                out[found, 0], out[found, 1] = min(a, b), max(a, b)
                found += 1
    return out[:found].copy()


@kernel
def _inside_boxes(start, points, one, two, low, high, surfel, other):  # type: ignore[no-untyped-def]
    count = 0
    for p in range(len(one)):
        a, b = one[p], two[p]
        for i in range(start[a], start[a + 1]):
            inside = True
            for k in range(3):
                inside = inside and low[b, k] <= points[i, k] <= high[b, k]
            if inside:
                surfel[count], other[count] = i, b
                count += 1
    return count


@inline
def grid_entry(b, x, y, z, size):  # type: ignore[no-untyped-def]
    """Place of a body's cell in the table; size is a power of two."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791) ^ (b * 2654435761)) & (size - 1)


@kernel
def _fill(points, body, cell, start, held):  # type: ignore[no-untyped-def]
    """Count, scan, fill."""
    size, entry = len(start) - 1, np.empty(len(points), np.int64)
    for i in range(len(points)):
        c = cell[body[i]]
        x, y, z = math.floor(points[i, 0] / c), math.floor(points[i, 1] / c), math.floor(points[i, 2] / c)
        entry[i] = grid_entry(body[i], x, y, z, size)
        start[entry[i] + 1] += 1
    for e in range(size):
        start[e + 1] += start[e]
    place = start[:-1].copy()
    for i in range(len(points)):
        held[place[entry[i]]] = i
        place[entry[i]] += 1


@inline
def beyond(q, x, c):  # type: ignore[no-untyped-def]
    """How far a coordinate is outside cell x."""
    return max(x * c - q, q - (x + 1) * c, 0.0)


@kernel
def _nearest(points, body, cell, start, held, queries, other, reach, sample):  # type: ignore[no-untyped-def]
    """Cells in shells around the query's own, until what is left is farther than what was found."""
    size = len(start) - 1
    for i in range(len(queries)):
        if sample[i] >= 0:
            continue
        b, q = other[i], load(queries, i)
        c, best = cell[b], reach[b] * reach[b]
        cx, cy, cz = math.floor(q[0] / c), math.floor(q[1] / c), math.floor(q[2] / c)
        m = 0
        while m == 0 or ((m - 1) * c) ** 2 <= best:
            for x in range(cx - m, cx + m + 1):
                dx = beyond(q[0], x, c)
                for y in range(cy - m, cy + m + 1):
                    dy = beyond(q[1], y, c)
                    if dx * dx + dy * dy > best:
                        continue
                    rim = m == 0 or abs(x - cx) == m or abs(y - cy) == m
                    for z in range(cz - m, cz + m + 1, 1 if rim else 2 * m):
                        dz = beyond(q[2], z, c)
                        if dx * dx + dy * dy + dz * dz > best:
                            continue
                        e = grid_entry(b, x, y, z, size)
                        for place in range(start[e], start[e + 1]):
                            j = held[place]
                            d = squared(points, j, q)
                            if body[j] == b and (d < best or (d == best and j < sample[i])):
                                best, sample[i] = d, j
            m += 1


@kernel
def _winding(start, points, normals, areas, queries, other, out):  # type: ignore[no-untyped-def]
    for i in range(len(queries)):
        q, total = load(queries, i), 0.0
        for j in range(start[other[i]], start[other[i] + 1]):
            x, y, z = points[j, 0] - q[0], points[j, 1] - q[1], points[j, 2] - q[2]
            square = x * x + y * y + z * z
            if square > 0.0:
                total += areas[j] * (x * normals[j, 0] + y * normals[j, 1] + z * normals[j, 2]) / (square * np.sqrt(square))
        out[i] = total / (4.0 * np.pi)
