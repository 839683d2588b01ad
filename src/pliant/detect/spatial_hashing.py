"""Points inside tetrahedra, through a uniform grid.

Teschner et al. 2003, "Optimized spatial hashing for collision detection of deformable objects" (theory/noniterative 3.1, 3.2): points are
put into the cells of a grid, then each tetrahedron looks at the points in the cells its box covers; boxes reject most, barycentric
coordinates decide. Cells are found in a table. By default entries carry the exact cell, so only points of that cell are looked at; with
`hashed` the table is the paper's, H = (i p1 xor j p2 xor k p3) mod N, where cells may share an entry. The answer is the same.

Limitations: edges that cut through a tetrahedron without a vertex inside, and what passes through within one step, are not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.feature_tests import tet_weights
from pliant.detect.tree import boxes_of, check_finite
from pliant.geometry.mesh import TET_EDGES
from pliant.kernels import contiguous, cross, dot, inline, kernel, load, norm, parallel, prange, sub, use_threads

PRIMES = (73856093, 19349663, 83492791)  # of the paper; the second is not prime, which does no harm
TOLERANCE = 1e-12  # how far below zero a weight may be
FLAT = 1e-12  # |det| relative to the cube of the longest edge below which a tetrahedron has no inside
CHUNK = 256
ROOM = 1024  # hits a chunk of tetrahedra can hold at first
BITS = 21  # of the packed key per axis


@dataclass
class Inside:
    """Points inside tetrahedra, sorted by point, then tetrahedron."""

    point: Ints  # (h,)
    tet: Ints  # (h,)
    weights: Floats  # (h, 4) barycentric
    flat: Ints  # tetrahedra without an inside, which were skipped

    def __len__(self) -> int:
        return len(self.point)

    def once(self, tet_group: Ints) -> Inside:
        """Each point once per group (body) of tetrahedra: on a face shared by several the first is kept."""
        group = tet_group[self.tet]
        order = np.lexsort((self.tet, group, self.point))
        p, g = self.point[order], group[order]
        first = np.ones(len(order), bool)
        first[1:] = (p[1:] != p[:-1]) | (g[1:] != g[:-1])
        keep = np.sort(order[first])
        return Inside(self.point[keep], self.tet[keep], self.weights[keep], self.flat)


def points_in_tets(
    points: Floats,
    tet_points: Floats,
    tets: Ints,
    *,
    point_group: Ints | None = None,
    tet_group: Ints | None = None,
    same: bool = False,
    cell: float | None = None,
    hashed: int | None = None,
) -> Inside:
    """Which points are inside which tetrahedra, borders included.

    `same`: points are the tetrahedra's own points, and those of a tetrahedron are not inside it. Groups: a point is not looked for in
    tetrahedra of its own group; -1 belongs to no group. `cell` [m]: size of a cell, by default the mean edge of the tetrahedra.
    `hashed`: use the paper's hash with a table of this length (a prime) in place of exact cells.
    """
    points, tet_points = contiguous(points).reshape(-1, 3), contiguous(tet_points).reshape(-1, 3)
    tets = contiguous(tets, np.int64).reshape(-1, 4)
    if (cell is not None and not cell > 0.0) or (hashed is not None and hashed < 1):
        raise PliantError(f"a grid needs cells and a table with a size above zero, not cell = {cell} m, hashed = {hashed}")
    check_finite(points, points, "points")
    low, high = boxes_of(tet_points, tets)
    if len(tets) == 0 or len(points) == 0:
        return Inside(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4)), _flat(tet_points, tets))
    grid = _Grid.filled(points, low, high, _cell_size(cell, tet_points, tets, low, high), hashed)
    mine, theirs = _groups(point_group, len(points)), _groups(tet_group, len(tets))
    point, tet, weights, flat = grid.search(tet_points, tets, low, high, mine, theirs, same)
    key = point << 32 | tet
    order = np.argsort(key)
    order = order[np.diff(key[order], prepend=-1) > 0]  # two cells of a tetrahedron may share an entry of the hash table
    return Inside(point[order], tet[order], weights[order], np.flatnonzero(flat))


@dataclass
class _Grid:
    """Points by cell: those of entry e of the table are held[start[e] : start[e + 1]]."""

    cell: float  # [m]
    hashed: bool
    start: Ints
    held: Ints  # numbers of the points
    key: Ints  # their cells, packed
    x: Floats  # (n, 3) and where they are: copies, so that what is looked at together lies together

    @staticmethod
    def filled(points: Floats, low: Floats, high: Floats, cell: float, hashed: int | None) -> _Grid:
        size = hashed or 2 * len(points)
        key, entry = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
        start, held = np.zeros(size + 1, np.int64), np.empty(len(points), np.int64)
        least, most = (np.array([pick(side) for side in ends.T]) for pick, ends in ((np.min, low), (np.max, high)))  # faster than by axis
        used = _fill(points, least, most, cell, hashed is not None, key, entry, start, held)
        held = held[:used]
        return _Grid(cell, hashed is not None, start, held, key[held], points[held])

    def search(
        self, corners: Floats, tets: Ints, low: Floats, high: Floats, point_group: Ints, tet_group: Ints, same: bool
    ) -> tuple[Ints, Ints, Floats, np.ndarray]:
        """(point, tet, weights, which tets are flat): chunks of tetrahedra write to slots, again if these prove too small."""
        chunks, flat = (len(tets) + CHUNK - 1) // CHUNK, np.zeros(len(tets), np.uint8)
        room = np.full(chunks, ROOM, np.int64)
        use_threads(len(tets))
        while True:
            offset, total = np.cumsum(room) - room, int(room.sum())
            point, tet, weights = np.empty(total, np.int64), np.empty(total, np.int64), np.empty((total, 4))
            count = np.zeros(chunks, np.int64)
            _look(
                corners, tets, low, high, self.cell, self.hashed, self.start, self.held, self.key, self.x, point_group, tet_group, same,
                offset, room, point, tet, weights, count, flat,
            )  # fmt: skip
            if (count <= room).all():
                break
            room = count
        at = np.repeat(offset - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        return point[at], tet[at], weights[at], flat


def cell_hash(cells: Ints, size: int) -> Ints:
    """H = (i p1 xor j p2 xor k p3) mod N of cells (n, 3); the remainder is never negative, also for negative cells."""
    cells = contiguous(cells, np.int64).reshape(-1, 3)
    out = np.empty(len(cells), np.int64)
    _hashes(cells, size, out)
    return out


def _groups(group: Ints | None, count: int) -> Ints:
    return np.full(count, -1, np.int64) if group is None else contiguous(group, np.int64)


def _flat(points: Floats, tets: Ints) -> Ints:
    x = points[tets]
    edge = np.linalg.norm(x[:, TET_EDGES[:, 0]] - x[:, TET_EDGES[:, 1]], axis=2).max(axis=1, initial=0.0)
    return np.flatnonzero(np.abs(np.linalg.det(x[:, 1:] - x[:, :1])) <= FLAT * edge**3)


def _cell_size(cell: float | None, points: Floats, tets: Ints, low: Floats, high: Floats) -> float:
    """The mean edge, unless given; large enough that numbers of cells are exact integers."""
    cell = float(_mean_edge(points, tets)) if cell is None else cell
    return max(cell, 1e-15 * float(max(np.abs(low).max(), np.abs(high).max())), 1e-300)


@kernel
def _mean_edge(points, tets):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(tets)):
        for i in range(3):
            for j in range(i + 1, 4):
                total += norm(sub(load(points, tets[t, i]), load(points, tets[t, j])))
    return total / (6 * len(tets))


@inline
def _hash(i, j, k, size):  # type: ignore[no-untyped-def]
    return ((i * PRIMES[0]) ^ (j * PRIMES[1]) ^ (k * PRIMES[2])) % size


@kernel
def _hashes(cells, size, out):  # type: ignore[no-untyped-def]
    for c in range(len(cells)):
        out[c] = _hash(cells[c, 0], cells[c, 1], cells[c, 2], size)


@inline
def _pack(i, j, k):  # type: ignore[no-untyped-def]
    """The cell in one number, 21 bits an axis. Cells 2^21 apart share it; boxes tell their points apart."""
    mask = (1 << BITS) - 1
    return (i & mask) | (j & mask) << BITS | (k & mask) << (2 * BITS)


@inline
def _entry(i, j, k, hashed, size):  # type: ignore[no-untyped-def]
    """Where in the table a cell is: the paper's hash, or for exact cells the upper half of the key times 2^64 / golden ratio, scaled."""
    if hashed:
        return _hash(i, j, k, size)
    mixed = np.uint64(_pack(i, j, k)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(((mixed >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@inline
def _cell(x, inverse):  # type: ignore[no-untyped-def]
    """floor(x / l), the true floor also for negative x; monotone in x, which is all that counts."""
    return np.int64(math.floor(x * inverse))


@kernel
def _fill(points, low, high, cell, hashed, key, entry, start, held):  # type: ignore[no-untyped-def]
    """Points sorted by their entry of the table, leaving out those outside of all tetrahedra; how many there are."""
    size, inverse = len(start) - 1, 1.0 / cell
    for p in range(len(points)):
        x, y, z = load(points, p)
        entry[p] = -1
        if low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]:
            i, j, k = _cell(x, inverse), _cell(y, inverse), _cell(z, inverse)
            key[p] = _pack(i, j, k)
            entry[p] = _entry(i, j, k, hashed, size)
            start[entry[p] + 1] += 1
    for e in range(size):
        start[e + 1] += start[e]
    used = start[size]
    for p in range(len(points) - 1, -1, -1):
        if entry[p] >= 0:
            start[entry[p] + 1] -= 1
            held[start[entry[p] + 1]] = p
    for e in range(size):  # filling has moved the ends to the starts
        start[e] = start[e + 1]
    start[size] = used
    return used


@inline
def is_flat(a, b, c, d):  # type: ignore[no-untyped-def]
    """|det| negligible against the cube of the longest edge."""
    e, f, g, h, i, j = sub(b, a), sub(c, a), sub(d, a), sub(c, b), sub(d, b), sub(d, c)
    longest = max(dot(e, e), dot(f, f), dot(g, g), dot(h, h), dot(i, i), dot(j, j))
    return abs(dot(e, cross(f, g))) <= FLAT * longest * np.sqrt(longest)


@inline
def in_box(x, h, box):  # type: ignore[no-untyped-def]
    """Without branches, which would be guessed wrong too often."""
    low = (box[0] <= x[h, 0]) & (box[1] <= x[h, 1]) & (box[2] <= x[h, 2])
    return low & (x[h, 0] <= box[3]) & (x[h, 1] <= box[4]) & (x[h, 2] <= box[5])


@inline
def _may(p, t, tets, point_group, tet_group, same):  # type: ignore[no-untyped-def]
    """Whether point p may be inside tetrahedron t: not of its own group, and not one of its corners."""
    if point_group[p] >= 0 and point_group[p] == tet_group[t]:
        return False
    return not (same and (p == tets[t, 0] or p == tets[t, 1] or p == tets[t, 2] or p == tets[t, 3]))


@parallel
def _look(  # type: ignore[no-untyped-def]
    corners, tets, low, high, cell, hashed, start, held, key, x, point_group, tet_group, same, offset, room,
    point, tet, weights, count, flat,
):  # fmt: skip
    size, inverse = len(start) - 1, 1.0 / cell
    for chunk in prange(len(count)):
        at, end = offset[chunk], offset[chunk] + room[chunk]
        for t in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(tets))):
            a, b = load(corners, tets[t, 0]), load(corners, tets[t, 1])
            c, d = load(corners, tets[t, 2]), load(corners, tets[t, 3])
            box = (low[t, 0], low[t, 1], low[t, 2], high[t, 0], high[t, 1], high[t, 2])
            if is_flat(a, b, c, d):
                flat[t] = 1
                continue
            i0, j0, k0 = _cell(low[t, 0], inverse), _cell(low[t, 1], inverse), _cell(low[t, 2], inverse)
            i1, j1, k1 = _cell(high[t, 0], inverse), _cell(high[t, 1], inverse), _cell(high[t, 2], inverse)
            # a tetrahedron that covers more cells than there are points looks at all points
            everything = float(i1 - i0 + 1) * float(j1 - j0 + 1) * float(k1 - k0 + 1) > len(held)
            if everything:
                i1, j1, k1 = i0, j0, k0
            for i in range(i0, i1 + 1):
                for j in range(j0, j1 + 1):
                    for k in range(k0, k1 + 1):
                        e = _entry(i, j, k, hashed, size)
                        first, last = (np.int64(0), len(held)) if everything else (start[e], start[e + 1])
                        for h in range(first, last):
                            if not (in_box(x, h, box) & (everything or hashed or key[h] == _pack(i, j, k))):
                                continue
                            if not _may(held[h], t, tets, point_group, tet_group, same):
                                continue
                            w = tet_weights(load(x, h), a, b, c, d)
                            if min(w[0], w[1], w[2], w[3]) >= -TOLERANCE:
                                if at < end:
                                    point[at], tet[at] = held[h], t
                                    weights[at, 0], weights[at, 1], weights[at, 2], weights[at, 3] = w
                                at += 1
        count[chunk] = at - offset[chunk]
