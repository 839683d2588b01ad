"""Points by cell in a hash table: who is near a place, among points that move every step.

Points may belong to groups (bodies), each with cells of its own size, so that fine and coarse ones live in one table. O(n) to fill. Answers
are exact and those of `surfels.neighbours.KDTree` bit for bit: nearest points by distance, then number; points within a radius by number.
The grid of tetrahedra (`spatial_hashing.py`) is another one: there cells are asked for boxes, and the paper's hash is kept for comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.kernels import contiguous, dot, inline, kernel, load, sub

SHELLS = 6  # rings of cells looked at before a lonely query simply looks at all points
ROUNDING = 1.0 + 1e-12  # of distances that must not be underestimated


class Table(NamedTuple):
    """What kernels take."""

    points: Floats  # (n, 3) [m]
    group: Ints  # (n,)
    low: Floats  # (G, 3) [m] box of each group
    high: Floats  # (G, 3) [m]
    cell: Floats  # (G,) [m]
    key: Ints  # (n,) exact cell of each point, so that cells sharing an entry stay apart
    start: Ints  # points of entry e: held[start[e] : start[e + 1]], ascending
    held: Ints  # (n,)


class HashGrid:
    """Points (n, 3) in cells. `cell` [m], one or one per group: about the radius of the queries; by default four points share a cell."""

    def __init__(self, points: Floats, cell: Floats | float | None = None, group: Ints | None = None) -> None:
        self.points = contiguous(points).reshape(-1, 3)
        count, groups = len(self.points), 1 if group is None else len(np.atleast_1d(cell))  # type: ignore[arg-type]
        group = np.zeros(count, np.int64) if group is None else contiguous(group, np.int64)
        low, high = np.full((groups, 3), np.inf), np.full((groups, 3), -np.inf)
        _bound(self.points, group, low, high)
        extent = np.maximum(high - low, 0.0)
        if cell is None:  # points lie on a surface: its area is about that of the box
            area = 2.0 * float(extent[0] @ np.roll(extent[0], 1))
            cell = 2.0 * np.sqrt(area / count) if area > 0 else float(extent[0].max()) / count or 1.0
        sizes = np.maximum(np.broadcast_to(cell, groups), extent.max(axis=1) / 2**20)  # cell numbers must fit their 21 bits
        key, held = np.empty(count, np.int64), np.empty(count, np.int64)
        start = np.zeros(2 ** int(np.ceil(np.log2(count + 2))) + 1, np.int64)  # hashes are masked, so a power of two
        self.table = Table(self.points, group, low, high, contiguous(sizes), key, start, held)
        _fill(self.table)

    def nearest(self, queries: Floats, k: int) -> tuple[Floats, Ints]:
        """Distances (m, k) [m] and numbers (m, k) of the k nearest points of all, by distance, then number."""
        queries = as_queries(queries)
        check_count(k, len(self.points))
        distance, index = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        _nearest(self.table, queries, distance, index)
        return np.sqrt(distance), index

    def nearest_of(self, group: Ints, queries: Floats, reach: Floats) -> Ints:
        """(m,) nearest point of a group, the first of equal ones; -1 if none is nearer than the reach (G,) [m] of the group."""
        index = np.full(len(queries), -1, np.int64)
        _nearest_of(self.table, contiguous(group, np.int64), contiguous(queries), reach, index)
        return index

    def within(self, queries: Floats, radius: Floats | float) -> tuple[Ints, Ints]:
        """CSR (start (m + 1,), numbers) of the points not farther than the radius [m], by number."""
        queries = as_queries(queries)
        radii = contiguous(np.broadcast_to(radius, len(queries)))
        start = np.zeros(len(queries) + 1, np.int64)
        _within(self.table, queries, radii, start, np.empty(0, np.int64), True)
        start = np.cumsum(start)
        flat = np.empty(int(start[-1]), np.int64)
        _within(self.table, queries, radii, start, flat, False)
        return start, flat


def thinned(points: Floats, radius: float, normals: Floats | None = None) -> Ints:
    """(n,) the kept point that each belongs to: itself if no kept one before it is within the radius [m], else the nearest kept one.

    With `normals` (n, 3) points that face opposite ways do not meet.
    """
    owner = np.full(len(points), -1, np.int64)
    if len(points):
        none = np.zeros((0, 3))
        _thin(HashGrid(points, radius).table, none if normals is None else contiguous(normals), radius, owner)
    return owner


def as_queries(points: Floats) -> Floats:
    """Points (m, 3) to ask about, as kernels take them; refused if they are not finite."""
    queries = contiguous(points).reshape(-1, 3)
    bad = np.flatnonzero(~np.isfinite(queries).all(axis=1))
    if len(bad):
        raise PliantError(f"{len(bad)} queries have coordinates that are not finite (the first is query {bad[0]}).")
    return queries


def check_count(k: int, count: int) -> None:
    """Refuse to look for more points than there are."""
    if not 1 <= k <= count:
        raise PliantError(f"{k} nearest points were asked for, among {count} points; ask for 1 to {count}.")


@inline
def squared(points, j, q):  # type: ignore[no-untyped-def]
    """Squared distance of point j from q: one formula for all structures, so that all see the same bits."""
    d = sub(load(points, j), q)
    return dot(d, d)


@inline
def insert(d, j, best, index, found):  # type: ignore[no-untyped-def]
    """Put point j at squared distance d into the list sorted by distance, then number, if it belongs there; the number of entries."""
    k = len(best)
    if not (found == k and (d > best[k - 1] or (d == best[k - 1] and j > index[k - 1]))):
        place = min(found, k - 1)
        while place > 0 and (best[place - 1] > d or (best[place - 1] == d and index[place - 1] > j)):
            best[place], index[place] = best[place - 1], index[place - 1]
            place -= 1
        best[place], index[place] = d, j
        found = min(found + 1, k)
    return found


@inline
def entry(g, x, y, z, size):  # type: ignore[no-untyped-def]
    """Place of a group's cell in the table; size is a power of two."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791) ^ (g * 2654435761)) & (size - 1)


@inline
def cell_key(x, y, z):  # type: ignore[no-untyped-def]
    return (x << 42) | (y << 21) | z


@inline
def cell_number(x, low, high, cell):  # type: ignore[no-untyped-def]
    """Cell of a coordinate, or the outermost one that is near it."""
    return int((min(max(x, low), high) - low) / cell)


@inline
def cell_range(table, g, q, r):  # type: ignore[no-untyped-def]
    """First and last cell along each axis that a ball about q meets."""
    wide, c = r * ROUNDING, table.cell[g]
    x0, x1 = cell_number(q[0] - wide, table.low[g, 0], table.high[g, 0], c), cell_number(q[0] + wide, table.low[g, 0], table.high[g, 0], c)
    y0, y1 = cell_number(q[1] - wide, table.low[g, 1], table.high[g, 1], c), cell_number(q[1] + wide, table.low[g, 1], table.high[g, 1], c)
    z0, z1 = cell_number(q[2] - wide, table.low[g, 2], table.high[g, 2], c), cell_number(q[2] + wide, table.low[g, 2], table.high[g, 2], c)
    return x0, x1, y0, y1, z0, z1


@kernel
def _bound(points, group, low, high):  # type: ignore[no-untyped-def]
    for i in range(len(points)):
        for k in range(3):
            low[group[i], k], high[group[i], k] = min(low[group[i], k], points[i, k]), max(high[group[i], k], points[i, k])


@kernel
def _fill(table):  # type: ignore[no-untyped-def]
    """Count, scan, fill."""
    start, count = table.start, len(table.points)
    size, place = len(start) - 1, np.empty(count, np.int64)
    for i in range(count):
        g, p = table.group[i], load(table.points, i)
        low, c = load(table.low, g), table.cell[g]
        x, y, z = int((p[0] - low[0]) / c), int((p[1] - low[1]) / c), int((p[2] - low[2]) / c)
        table.key[i] = cell_key(x, y, z)
        place[i] = entry(g, x, y, z, size)
        start[place[i] + 1] += 1
    for e in range(size):
        start[e + 1] += start[e]
    for i in range(count - 1, -1, -1):
        start[place[i] + 1] -= 1
        table.held[start[place[i] + 1]] = i
    for e in range(size):  # each end was counted down to its start
        start[e] = start[e + 1]
    start[size] = count


@inline
def _start(table, g, q):  # type: ignore[no-untyped-def]
    """Where cubes of cells about a query begin, its cell or the nearest of the box: (x, y, z, squared distance off, to the next cell).

    After m rings everything is known that is nearer than sqrt(off + (m cell + edge)^2).
    """
    low, high, c = load(table.low, g), load(table.high, g), table.cell[g]
    p = min(max(q[0], low[0]), high[0]), min(max(q[1], low[1]), high[1]), min(max(q[2], low[2]), high[2])
    x, y, z = int((p[0] - low[0]) / c), int((p[1] - low[1]) / c), int((p[2] - low[2]) / c)
    u, v, w = p[0] - low[0] - x * c, p[1] - low[1] - y * c, p[2] - low[2] - z * c
    d = sub(q, p)
    return x, y, z, dot(d, d), min(u, v, w, c - u, c - v, c - w)


@inline
def _outside(x, cell, size):  # type: ignore[no-untyped-def]
    """How far a coordinate is outside a cell, or a little less."""
    return max(cell * size - x, x - (cell + 1) * size, 1e-9 * size) - 1e-9 * size


@kernel
def _nearest(table, queries, best, index):  # type: ignore[no-untyped-def]
    """k nearest points of each query, over growing cubes of cells; `best` holds squared distances."""
    k, c = best.shape[1], table.cell[0]
    for i in range(len(queries)):
        q, found, m, done = load(queries, i), 0, 0, False
        x, y, z, off, edge = _start(table, 0, q)
        while m <= SHELLS and not done:
            found = _shell(table, x, y, z, m, q, best[i], index[i], found)
            done = found == k and best[i, k - 1] * ROUNDING < off + max(m * c + edge, 0.0) ** 2
            m += 1
        if not done:
            found = 0
            for j in range(len(table.points)):
                found = insert(squared(table.points, j, q), j, best[i], index[i], found)


@kernel
def _shell(table, cx, cy, cz, m, q, best, index, found):  # type: ignore[no-untyped-def]
    """Look at the cells that are m cells away from the centre."""
    size = len(table.start) - 1
    for x in range(max(cx - m, 0), cx + m + 1):
        for y in range(max(cy - m, 0), cy + m + 1):
            rim = m == 0 or abs(x - cx) == m or abs(y - cy) == m
            for z in range(cz - m, cz + m + 1, 1 if rim else 2 * m):
                if z < 0:
                    continue
                e, key = entry(0, x, y, z, size), cell_key(x, y, z)
                for place in range(table.start[e], table.start[e + 1]):
                    j = table.held[place]
                    if table.key[j] == key:
                        found = insert(squared(table.points, j, q), j, best, index, found)
    return found


@kernel
def _nearest_of(table, group, queries, reach, index):  # type: ignore[no-untyped-def]
    """The nearest point of each query's group that is nearer than its reach. A point may be seen twice, in cells that share an entry."""
    size, points, start = len(table.start) - 1, table.points, table.start
    for i in range(len(queries)):
        g, q = group[i], load(queries, i)
        if not table.low[g, 0] <= table.high[g, 0]:
            continue  # an empty group
        c, best, found, m, seen, low = table.cell[g], reach[g] * reach[g], -1, 0, 0.0, load(table.low, g)
        cx, cy, cz, off, edge = _start(table, g, q)
        while seen <= best:
            for x in range(max(cx - m, 0), cx + m + 1):
                dx = _outside(q[0] - low[0], x, c)
                for y in range(max(cy - m, 0), cy + m + 1):
                    dy = _outside(q[1] - low[1], y, c)
                    if dx * dx + dy * dy > best:
                        continue
                    rim = m == 0 or abs(x - cx) == m or abs(y - cy) == m
                    for z in range(cz - m, cz + m + 1, 1 if rim else 2 * m):
                        dz = _outside(q[2] - low[2], z, c)
                        if z < 0 or dx * dx + dy * dy + dz * dz > best:
                            continue
                        e = entry(g, x, y, z, size)
                        for place in range(start[e], start[e + 1]):
                            j = table.held[place]
                            d = squared(points, j, q)
                            if table.group[j] == g and (d < best or (d == best and j < found)):
                                best, found = d, j
            seen = (off + max(m * c + edge, 0.0) ** 2) / ROUNDING
            m += 1
        index[i] = found


@kernel
def _within(table, queries, radii, begin, flat, counting):  # type: ignore[no-untyped-def]
    """Points not beyond the radius in the cells that a ball's box covers: counts into begin[1:], or sorted numbers from begin on."""
    size = len(table.start) - 1
    for i in range(len(queries)):
        q, r, found = load(queries, i), radii[i], 0
        x0, x1, y0, y1, z0, z1 = cell_range(table, 0, q, r)
        for c in range((x1 - x0 + 1) * (y1 - y0 + 1) * (z1 - z0 + 1)):
            x, rest = x0 + c // ((y1 - y0 + 1) * (z1 - z0 + 1)), c % ((y1 - y0 + 1) * (z1 - z0 + 1))
            y, z = y0 + rest // (z1 - z0 + 1), z0 + rest % (z1 - z0 + 1)
            e = entry(0, x, y, z, size)
            for place in range(table.start[e], table.start[e + 1]):
                j = table.held[place]
                if table.key[j] == cell_key(x, y, z) and squared(table.points, j, q) <= r * r:
                    if not counting:
                        flat[begin[i] + found] = j
                    found += 1
        if counting:
            begin[i + 1] = found
        else:
            flat[begin[i] : begin[i] + found].sort()


@kernel
def _thin(table, normals, radius, owner):  # type: ignore[no-untyped-def]
    for i in range(len(owner)):
        if _nearest_kept(table, normals, radius, owner, i) < 0:
            owner[i] = i
    for i in range(len(owner)):
        if owner[i] < 0:
            owner[i] = _nearest_kept(table, normals, radius, owner, i)


@kernel
def _nearest_kept(table, normals, radius, owner, i):  # type: ignore[no-untyped-def]
    """Nearest point within the radius that owns itself and faces the same way, the first of equal ones; -1 if there is none."""
    size, q, best, found = len(table.start) - 1, load(table.points, i), radius * radius, -1
    x0, x1, y0, y1, z0, z1 = cell_range(table, 0, q, radius)
    for x in range(x0, x1 + 1):
        for y in range(y0, y1 + 1):
            for z in range(z0, z1 + 1):
                e = entry(0, x, y, z, size)
                for place in range(table.start[e], table.start[e + 1]):
                    j = table.held[place]
                    if owner[j] != j:
                        continue
                    d = squared(table.points, j, q)
                    if d < best or (d == best and (found < 0 or j < found)):
                        if len(normals) == 0 or dot(load(normals, i), load(normals, j)) > 0.0:
                            best, found = d, j
    return found
