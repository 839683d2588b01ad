"""Who is near whom among points: a k-d tree for points that stay, a uniform grid for points that move every step.

Both give the same answers bit for bit: nearest points sorted by distance and then number, points within a radius sorted by number.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.kernels import contiguous, dot, inline, kernel, load, sub

EXTRA = 4  # points a k-d tree is asked for beyond k, to see whether the k-th is tied
SHELLS = 6  # rings of cells looked at before a lonely query simply looks at all points


class Neighbours(Protocol):
    """Queries (m, 3) against fixed points (n, 3)."""

    points: Floats

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        """Distances (m, k) [m] and numbers (m, k) of the k nearest points, by distance, then number."""

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        """CSR (start (m + 1,), numbers) of the points not farther than the radius [m], by number."""


class KDTree:
    """Best for points that stay where they are; built once, O(n log n)."""

    def __init__(self, points: Floats) -> None:
        self.points = contiguous(points).reshape(-1, 3)

    @cached_property
    def tree(self):  # type: ignore[no-untyped-def]
        from scipy.spatial import cKDTree

        return cKDTree(self.points)

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        queries = as_queries(queries)
        _check_k(k, len(self.points))
        distance, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        left, ask = np.arange(len(queries)), min(k + EXTRA, len(self.points))
        while len(left):
            far, found = self.tree.query(queries[left], k=np.arange(1, ask + 1))
            tied = (far[:, -1] <= far[:, k - 1] * (1 + 1e-14)) & (ask < len(self.points))
            done = left[~tied]
            near, index[done] = _first(self.points, queries[done], contiguous(found[~tied], np.int64), k)
            distance[done] = np.sqrt(near)
            left, ask = left[tied], min(2 * ask, len(self.points))
        return distance, index

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        queries = as_queries(queries)
        radii = contiguous(np.broadcast_to(radius, len(queries)))
        found = self.tree.query_ball_point(queries, radii * (1 + 1e-12), return_sorted=True)
        count = np.fromiter((len(f) for f in found), np.int64, len(found))
        start = np.concatenate([[0], np.cumsum(count)])
        flat = np.fromiter((j for f in found for j in f), np.int64, int(start[-1]))
        return _kept(self.points, queries, radii, start, flat)


class UniformGrid:
    """Best for points that move: O(n) to fill. `cell` [m]: about the radius of the queries; by default four points share a cell."""

    def __init__(self, points: Floats, cell: float | None = None) -> None:
        self.points = contiguous(points).reshape(-1, 3)
        self.low, self.high = self.points.min(axis=0), self.points.max(axis=0)
        extent = self.high - self.low
        if cell is None:  # points lie on a surface: its area is about that of the box
            area = 2.0 * float(extent @ np.roll(extent, 1))
            cell = 2.0 * np.sqrt(area / len(self.points)) if area > 0 else float(extent.max()) / len(self.points) or 1.0
        self.cell = max(float(cell), float(extent.max()) / 2**20)  # cell numbers must fit their 21 bits
        self.start, self.held = np.zeros(2 * len(self.points) + 1, np.int64), np.empty(len(self.points), np.int64)
        self.key = np.empty(len(self.points), np.int64)
        _fill(self.points, self.low, self.cell, self.key, self.start, self.held)

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        queries = as_queries(queries)
        _check_k(k, len(self.points))
        distance, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        _nearest(self.points, self.low, self.high, self.cell, self.key, self.start, self.held, queries, distance, index)
        return np.sqrt(distance), index

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        queries = as_queries(queries)
        radii = contiguous(np.broadcast_to(radius, len(queries)))
        start, none = np.zeros(len(queries) + 1, np.int64), np.empty(0, np.int64)
        grid = (self.points, self.low, self.high, self.cell, self.key, self.start, self.held)
        _within(*grid, queries, radii, start, none, True)
        start = np.cumsum(start)
        flat = np.empty(int(start[-1]), np.int64)
        _within(*grid, queries, radii, start, flat, False)
        return start, flat


def as_queries(points: Floats) -> Floats:
    """Points (m, 3) to ask about, as kernels take them; refused if they are not finite."""
    queries = contiguous(points).reshape(-1, 3)
    bad = np.flatnonzero(~np.isfinite(queries).all(axis=1))
    if len(bad):
        raise PliantError(f"{len(bad)} queries have coordinates that are not finite (the first is query {bad[0]}).")
    return queries


def _check_k(k: int, count: int) -> None:
    if not 1 <= k <= count:
        raise PliantError(f"{k} nearest points were asked for, among {count} points; ask for 1 to {count}.")


@inline
def squared(points, j, q):  # type: ignore[no-untyped-def]
    """Squared distance of point j from q: one formula for both structures, so that both see the same bits."""
    d = sub(load(points, j), q)
    return dot(d, d)


@inline
def entry(x, y, z, size):  # type: ignore[no-untyped-def]
    """Place of a cell in the hash table."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) % size


@inline
def cell_key(x, y, z):  # type: ignore[no-untyped-def]
    return (x << 42) | (y << 21) | z


@kernel
def _insert(d, j, best, index, found):  # type: ignore[no-untyped-def]
    """Put point j at squared distance d into the sorted list if it belongs there; the number of entries."""
    k = len(best)
    if found == k and (d > best[k - 1] or (d == best[k - 1] and j > index[k - 1])):
        return found
    place = min(found, k - 1)
    while place > 0 and (best[place - 1] > d or (best[place - 1] == d and index[place - 1] > j)):
        best[place], index[place] = best[place - 1], index[place - 1]
        place -= 1
    best[place], index[place] = d, j
    return min(found + 1, k)


@kernel
def _first(points, queries, found, k):  # type: ignore[no-untyped-def]
    """(squared distances, numbers) of the first k of the found ones."""
    best, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
    for i in range(len(queries)):
        q, count = load(queries, i), 0
        for c in range(found.shape[1]):
            count = _insert(squared(points, found[i, c], q), found[i, c], best[i], index[i], count)
    return best, index


@kernel
def _kept(points, queries, radii, start, flat):  # type: ignore[no-untyped-def]
    """The CSR without what is beyond the radius."""
    begin, kept, count = np.zeros(len(start), np.int64), np.empty(len(flat), np.int64), 0
    for i in range(len(queries)):
        q = load(queries, i)
        for c in range(start[i], start[i + 1]):
            if squared(points, flat[c], q) <= radii[i] * radii[i]:
                kept[count] = flat[c]
                count += 1
        begin[i + 1] = count
    return begin, kept[:count].copy()


@kernel
def _fill(points, low, cell, key, start, held):  # type: ignore[no-untyped-def]
    """Points by entry of a hash table: count, scan, fill. The key is the exact cell, so that cells sharing an entry stay apart."""
    size = len(start) - 1
    for i in range(len(points)):
        x, y, z = int((points[i, 0] - low[0]) / cell), int((points[i, 1] - low[1]) / cell), int((points[i, 2] - low[2]) / cell)
        key[i] = cell_key(x, y, z)
        start[entry(x, y, z, size) + 1] += 1
    for e in range(size):
        start[e + 1] += start[e]
    for i in range(len(points) - 1, -1, -1):
        e = entry(key[i] >> 42, (key[i] >> 21) & 0x1FFFFF, key[i] & 0x1FFFFF, size)
        start[e + 1] -= 1
        held[start[e + 1]] = i
    for e in range(size):  # each end was counted down to its start
        start[e] = start[e + 1]
    start[size] = len(points)


@inline
def clamped_cell(x, low, high, cell):  # type: ignore[no-untyped-def]
    return int((min(max(x, low), high) - low) / cell)


@kernel
def _nearest(points, low, high, cell, key, start, held, queries, best, index):  # type: ignore[no-untyped-def]
    """k nearest of each query over growing cubes of cells; `best` holds squared distances."""
    k = best.shape[1]
    for i in range(len(queries)):
        q, found, m = load(queries, i), 0, 0
        x, y, z = (
            clamped_cell(q[0], low[0], high[0], cell), clamped_cell(q[1], low[1], high[1], cell), clamped_cell(q[2], low[2], high[2], cell)
        )  # fmt: skip
        while m <= SHELLS:
            found = _shell(points, cell_key(x, y, z), m, key, start, held, q, best[i], index[i], found)
            reach = min(q[0] - low[0] - cell * (x - m), low[0] + cell * (x + m + 1) - q[0])
            reach = min(reach, q[1] - low[1] - cell * (y - m), low[1] + cell * (y + m + 1) - q[1])
            reach = min(reach, q[2] - low[2] - cell * (z - m), low[2] + cell * (z + m + 1) - q[2])
            if found == k and reach > 0.0 and best[i, k - 1] < (1 - 1e-12) * reach * reach:
                break  # everything nearer than `reach` has been looked at
            m += 1
        if m > SHELLS:
            found = 0
            for j in range(len(points)):
                found = _insert(squared(points, j, q), j, best[i], index[i], found)


@kernel
def _shell(points, centre, m, key, start, held, q, best, index, found):  # type: ignore[no-untyped-def]
    """Look at the cells that are m cells away from the centre."""
    size, cx, cy, cz = len(start) - 1, centre >> 42, (centre >> 21) & 0x1FFFFF, centre & 0x1FFFFF
    for x in range(max(cx - m, 0), cx + m + 1):
        for y in range(max(cy - m, 0), cy + m + 1):
            rim = m == 0 or abs(x - cx) == m or abs(y - cy) == m
            for z in range(cz - m, cz + m + 1, 1 if rim else 2 * m):
                if z < 0:
                    continue
                e = entry(x, y, z, size)
                for place in range(start[e], start[e + 1]):
                    j = held[place]
                    if key[j] == cell_key(x, y, z):
                        found = _insert(squared(points, j, q), j, best, index, found)
    return found


@kernel
def _within(points, low, high, cell, key, start, held, queries, radii, begin, flat, counting):  # type: ignore[no-untyped-def]
    """Points not beyond the radius in the cells that a ball's box covers: counts into begin[1:], or sorted numbers from begin on."""
    size = len(start) - 1
    for i in range(len(queries)):
        q, r, found = load(queries, i), radii[i], 0
        wide = r * (1 + 1e-12)
        x0, x1 = clamped_cell(q[0] - wide, low[0], high[0], cell), clamped_cell(q[0] + wide, low[0], high[0], cell)
        y0, y1 = clamped_cell(q[1] - wide, low[1], high[1], cell), clamped_cell(q[1] + wide, low[1], high[1], cell)
        z0, z1 = clamped_cell(q[2] - wide, low[2], high[2], cell), clamped_cell(q[2] + wide, low[2], high[2], cell)
        for c in range((x1 - x0 + 1) * (y1 - y0 + 1) * (z1 - z0 + 1)):
            x, rest = x0 + c // ((y1 - y0 + 1) * (z1 - z0 + 1)), c % ((y1 - y0 + 1) * (z1 - z0 + 1))
            y, z = y0 + rest // (z1 - z0 + 1), z0 + rest % (z1 - z0 + 1)
            e = entry(x, y, z, size)
            for place in range(start[e], start[e + 1]):
                j = held[place]
                if key[j] == cell_key(x, y, z) and squared(points, j, q) <= r * r:
                    if not counting:
                        flat[begin[i] + found] = j
                    found += 1
        if counting:
            begin[i + 1] = found
        else:
            flat[begin[i] : begin[i] + found].sort()
