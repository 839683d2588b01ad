"""Points of bodies in tetrahedra of other bodies, pair by pair of bodies whose boxes overlap (theory/noniterative 3.2).

Of a pair only the points of the one in the box of the other are looked at. They are compared with boxes around runs of BLOCK
tetrahedra, and those in such a box with the tetrahedra of the run. For the few points of a contact that is several times faster than
the grid (detect/spatial_hashing.py), where each tetrahedron also meets the points of its own body. Pairs with more than MANY points times
runs go to the grid. The answer is the same.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.feature_tests import tet_weights
from pliant.detect.spatial_hashing import TOLERANCE, in_box, is_flat, points_in_tets
from pliant.detect.tree import CHEAP, check_finite
from pliant.kernels import inline, kernel, load, parallel, prange, store, use_threads

BLOCK = 16
MANY = 2**18
STRIDES = 64  # pairs are dealt out to so many piles, which threads share


class PointsInBodies:
    """Finds points in tetrahedra; keeps how tetrahedra are laid out."""

    def __init__(self, tets: Ints, tet_body: Ints, point_start: Ints, counts: np.ndarray, cell: float) -> None:
        """tets (t, 4), body by body; point_start (B + 1,); counts (p,) which points are looked for; cell [m] of the grid."""
        bodies = len(point_start) - 1
        self.tets, self.tet_body, self.point_start, self.counts, self.cell = tets, tet_body, point_start, counts, cell
        self.tet_start = np.searchsorted(tet_body, np.arange(bodies + 1))
        self.size = np.diff(point_start)  # points of each body
        blocks = (np.diff(self.tet_start) + BLOCK - 1) // BLOCK
        self.room = int(self.size.max(initial=0)), int(blocks.max(initial=0))
        self.block_start = np.concatenate([[0], np.cumsum(blocks)])
        inside = np.arange(self.block_start[-1]) - np.repeat(self.block_start[:-1], blocks)
        self.block = np.append(np.repeat(self.tet_start[:-1], blocks) + BLOCK * inside, len(tets))  # the first tetrahedron of each
        self.block_body = np.repeat(np.arange(bodies), blocks)
        of_tet = np.repeat(np.arange(len(self.block) - 1), np.diff(self.block))
        key = np.unique((of_tet[:, None] * max(int(point_start[-1]), 1) + tets).ravel())
        self.corner = key % max(int(point_start[-1]), 1)  # the points of each block, each once
        self.corner_start = np.searchsorted(key, np.arange(len(self.block)) * max(int(point_start[-1]), 1))
        self.block_low, self.block_high = np.zeros((len(self.block) - 1, 3)), np.zeros((len(self.block) - 1, 3))

    def find(self, x: Floats, a: Ints, b: Ints, low: Floats, high: Floats) -> tuple[Ints, Ints]:
        """(point, body) of the points of bodies a that are in tetrahedra of bodies b, each once; low, high (B, 3): boxes of bodies."""
        self._refit(x, a, b)
        size = self.size[a]
        slot = np.cumsum(size) - size  # where the points of each pair are marked
        hit, large = np.zeros(int(size.sum()), np.bool_), np.zeros(len(a), np.bool_)
        use_threads(len(hit))
        _search(
            a, b, low, high, x, self.point_start, self.counts, self.tets, self.block_start, self.block, self.block_low, self.block_high,
            slot, *self.room, hit, large,
        )  # fmt: skip
        at = np.flatnonzero(hit)
        pair = np.searchsorted(slot, at, side="right") - 1
        point, body = at - slot[pair] + self.point_start[a[pair]], b[pair]
        if not large.any():
            return point, body
        many = np.flatnonzero(large)
        more, theirs = self._in_grid(x, a[many], b[many], low, high)
        return np.concatenate([point, more]), np.concatenate([body, theirs])

    def _refit(self, x: Floats, a: Ints, b: Ints) -> None:
        """Boxes of the blocks of bodies that meet for where they are now."""
        bad, wanted = np.zeros(len(self.block_low), np.uint8), np.zeros(len(self.size), np.bool_)
        wanted[a], wanted[b] = True, True
        use_threads(len(self.tets) // CHEAP)
        _boxes(x, wanted, self.block_body, self.corner_start, self.corner, self.block_low, self.block_high, bad)
        if bad.any():
            check_finite(x, x, "points")

    def _in_grid(self, x: Floats, a: Ints, b: Ints, low: Floats, high: Floats) -> tuple[Ints, Ints]:
        """The same through the grid."""
        points, tets, count = np.zeros(len(x), np.bool_), np.zeros(len(self.tets), np.bool_), len(self.point_start) - 1
        _mark(a, b, low, high, self.point_start, self.tet_start, self.counts, x, self.tets, points, tets)
        owner = np.searchsorted(self.point_start, np.arange(len(x)), side="right") - 1
        point, tet = np.flatnonzero(points), np.flatnonzero(tets)
        hits = points_in_tets(
            x[point], x, self.tets[tet], point_group=owner[point], tet_group=self.tet_body[tet], cell=self.cell
        ).once(self.tet_body[tet])
        point, body = point[hits.point], self.tet_body[tet[hits.tet]]
        meet = np.isin(owner[point] * count + body, a * count + b, kind="table")
        return point[meet], body[meet]


@parallel
def _boxes(x, wanted, body, start, corner, low, high, bad):  # type: ignore[no-untyped-def]
    """Boxes of the blocks of some bodies; `bad` marks blocks with coordinates that are not finite."""
    for k in prange(len(bad)):
        if wanted[body[k]]:
            zero = 0.0
            u = v = load(x, corner[start[k]])
            for e in range(start[k], start[k + 1]):
                p = load(x, corner[e])
                zero += 0.0 * (p[0] + p[1] + p[2])  # NaN would get lost in min and max; 0 x is NaN for NaN and infinity
                u = (min(u[0], p[0]), min(u[1], p[1]), min(u[2], p[2]))
                v = (max(v[0], p[0]), max(v[1], p[1]), max(v[2], p[2]))
            bad[k] = zero != 0.0
            store(low, k, u)
            store(high, k, v)


@inline
def _tet_box(c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """Box of four corners: low, then high."""
    return (
        min(c0[0], c1[0], c2[0], c3[0]), min(c0[1], c1[1], c2[1], c3[1]), min(c0[2], c1[2], c2[2], c3[2]),
        max(c0[0], c1[0], c2[0], c3[0]), max(c0[1], c1[1], c2[1], c3[1]), max(c0[2], c1[2], c2[2], c3[2]),
    )  # fmt: skip


@inline
def _corners(x, tets, t):  # type: ignore[no-untyped-def]
    return load(x, tets[t, 0]), load(x, tets[t, 1]), load(x, tets[t, 2]), load(x, tets[t, 3])


@inline
def _common(low, high, i, j):  # type: ignore[no-untyped-def]
    """The common part of boxes i and j."""
    lx, ly, lz = max(low[i, 0], low[j, 0]), max(low[i, 1], low[j, 1]), max(low[i, 2], low[j, 2])
    return lx, ly, lz, min(high[i, 0], high[j, 0]), min(high[i, 1], high[j, 1]), min(high[i, 2], high[j, 2])


@inline
def _meets(box, low, high, i):  # type: ignore[no-untyped-def]
    """Whether a box and box i have points in common."""
    below = (low[i, 0] <= box[3]) & (low[i, 1] <= box[4]) & (low[i, 2] <= box[5])
    return below & (box[0] <= high[i, 0]) & (box[1] <= high[i, 1]) & (box[2] <= high[i, 2])


@inline
def _points_near(first, last, counts, x, box, near, number):  # type: ignore[no-untyped-def]
    """Copy the points that are in the box; how many, and the box around them."""
    used = 0
    lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for p in range(first, last):
        if not (in_box(x, p, box) & counts[p]):
            continue
        u, v, w = load(x, p)
        lx, ly, lz, hx, hy, hz = min(lx, u), min(ly, v), min(lz, w), max(hx, u), max(hy, v), max(hz, w)
        near[used, 0], near[used, 1], near[used, 2] = u, v, w
        number[used] = p - first
        used += 1
    return used, (lx, ly, lz, hx, hy, hz)


@inline
def _blocks_near(first, last, low, high, box, chosen):  # type: ignore[no-untyped-def]
    """List the blocks of tetrahedra that meet the box; how many."""
    used = 0
    for k in range(first, last):
        if _meets(box, low, high, k):
            chosen[used] = k
            used += 1
    return used


@inline
def _box(low, high, i):  # type: ignore[no-untyped-def]
    return low[i, 0], low[i, 1], low[i, 2], high[i, 0], high[i, 1], high[i, 2]


@inline
def _test(near, number, some, count, first, last, x, tets, slot, hit):  # type: ignore[no-untyped-def]
    """Mark those of some near points that are in one of the tetrahedra first : last."""
    for t in range(first, last):
        c0, c1, c2, c3 = _corners(x, tets, t)
        box = _tet_box(c0, c1, c2, c3)
        for m in range(count):
            k = some[m]
            if not in_box(near, k, box) or hit[slot + number[k]]:
                continue
            w = tet_weights(load(near, k), c0, c1, c2, c3)
            if min(w[0], w[1], w[2], w[3]) >= -TOLERANCE and not is_flat(c0, c1, c2, c3):
                hit[slot + number[k]] = True


@parallel
def _search(  # type: ignore[no-untyped-def]
    a, b, low, high, x, point_start, counts, tets, block_start, block, block_low, block_high, slot, most_points, most_blocks, hit, large,
):  # fmt: skip
    """Each pair marks its points in its own slots; or says that it is large."""
    for pile in prange(STRIDES):
        near, number = np.empty((most_points, 3)), np.empty(most_points, np.int64)
        some, chosen = np.empty(most_points, np.int64), np.empty(most_blocks, np.int64)
        for k in range(pile, len(a), STRIDES):
            box = _common(low, high, a[k], b[k])
            points, around = _points_near(point_start[a[k]], point_start[a[k] + 1], counts, x, box, near, number)
            if points == 0:
                continue
            blocks = _blocks_near(block_start[b[k]], block_start[b[k] + 1], block_low, block_high, around, chosen)
            if points * blocks > MANY:
                large[k] = True
                continue
            for c in range(blocks):
                box, count = _box(block_low, block_high, chosen[c]), 0
                for m in range(points):
                    some[count] = m
                    count += in_box(near, m, box)
                first, last = block[chosen[c]], block[chosen[c] + 1]
                _test(near, number, some, count, first, last, x, tets, slot[k], hit)


@kernel
def _mark(a, b, low, high, point_start, tet_start, counts, x, corners, points, tets):  # type: ignore[no-untyped-def]
    """Points of a and tetrahedra of b in the common part of both boxes, of all pairs."""
    for k in range(len(a)):
        box = _common(low, high, a[k], b[k])
        for p in range(point_start[a[k]], point_start[a[k] + 1]):
            if in_box(x, p, box) & counts[p]:
                points[p] = True
        for t in range(tet_start[b[k]], tet_start[b[k] + 1]):
            c0, c1, c2, c3 = _corners(x, corners, t)
            other = _tet_box(c0, c1, c2, c3)
            below = (other[0] <= box[3]) & (other[1] <= box[4]) & (other[2] <= box[5])
            if below & (box[0] <= other[3]) & (box[1] <= other[4]) & (box[2] <= other[5]):
                tets[t] = True
