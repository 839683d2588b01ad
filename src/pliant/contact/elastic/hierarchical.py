"""The elastic matrix of many nodes: near blocks as they are, far blocks as products of few columns and rows.

Blocks of clusters that are far apart have low rank, because the response varies little across them. Adaptive cross approximation
[Bebendorf 2000], theory/quasi-rigid 9.5, finds it from a few rows and columns until what it adds is below the tolerance. Blocks are kept
in single precision (relative rounding 6e-8), sums run in double.
Memory and products grow as n log n. Blocks are stored once for both triangles, so the operator is symmetric to the last bit of its sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.gaussian_blobs import assemble, displacement, node_at, row_at
from pliant.contact.elastic.response import Code, Response
from pliant.contact.elastic.trees import Clusters
from pliant.kernels import allowed_threads, contiguous, inline, kernel, parallel, prange

SAMPLE = 64  # nodes at which the error is measured
RANK = 40  # highest rank of a block
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))  # part of a block from one of these rows to the next
LOOKS = 3  # rows one after another that add nothing, after which a block is known
COMPRESSED = 1e-6  # relative error of blocks, unless asked for
BATCH = 4_000_000  # numbers of scratch for blocks that are compressed together


class Blocks(NamedTuple):
    """Blocks of numbers one after another."""

    sides: Ints  # (m, 4) ranges of rows and of columns
    at: Ints  # (m + 1,) place of each block in `data`
    data: np.ndarray
    rank: Ints  # (m,)


class Gathering(NamedTuple):
    """Which parts of the buffer of block products each leaf adds up."""

    mine: Ints  # (m,) where a block writes
    leaves: Ints  # (l, 2) ranges
    first: Ints  # (l + 1,)
    parts: Ints
    size: int  # of the buffer


@dataclass(frozen=True)
class Hierarchical:
    """K in blocks."""

    nodes: Floats  # (4, n), in the user's order
    response: Response
    order: Ints
    near: Blocks
    far: Blocks
    gathering: Gathering
    ridge: float = 0.0  # part of the diagonal that was added to it

    @classmethod
    def build(cls, nodes: Floats, response: Response, tolerance: float = COMPRESSED, ridge: float = 0.0) -> Hierarchical:
        """Compress K of nodes (4, n) to a relative error of about `tolerance`."""
        numba.set_num_threads(allowed_threads())
        clusters = Clusters.of(np.ascontiguousarray(nodes[:3].T))
        placed = np.ascontiguousarray(nodes[:, clusters.order])
        near_pairs, far_pairs = clusters.pairs(response.code[0][:, 2])
        near = _near_blocks(placed, response.code, clusters.sides(near_pairs), ridge)
        far = _far_blocks(placed, response, clusters.sides(far_pairs), tolerance)
        return cls(nodes, response, clusters.order, near, far, _gathering(clusters, near_pairs, far_pairs), ridge)

    @property
    def size(self) -> int:
        return self.nodes.shape[1]

    @property
    def bytes(self) -> int:
        """Memory of the blocks."""
        return self.near.data.nbytes + self.far.data.nbytes

    @cached_property
    def diagonal(self) -> Floats:
        return (1.0 + self.ridge) * self.response.g(np.zeros(self.size), 2.0 * self.nodes[3])

    def __matmul__(self, force: Floats) -> Floats:
        buffer, placed = np.empty(self.gathering.size), np.empty(self.size)
        numba.set_num_threads(allowed_threads())
        apply(self.near, self.far, self.gathering, contiguous(force)[self.order], buffer, placed)
        out = np.empty(self.size)
        out[self.order] = placed
        return out

    def block(self, nodes: Ints) -> Floats:
        return assemble(np.ascontiguousarray(self.nodes[:, nodes]), self.response, self.ridge)

    @cached_property
    def error(self) -> float:
        """Largest error of K P for random forces at a sample of nodes, over the largest displacement; measured when asked for."""
        random = np.random.default_rng(0)
        force, chosen = random.random(self.size), random.integers(0, self.size, SAMPLE)
        exact = displacement(np.ascontiguousarray(self.nodes[:, chosen]), self.nodes, force, self.response)
        exact += self.ridge / (1.0 + self.ridge) * self.diagonal[chosen] * force[chosen]
        return float(np.max(np.abs((self @ force)[chosen] - exact)) / np.max(np.abs(exact)))


def _places(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _near_blocks(nodes: Floats, code: Code, sides: Ints, ridge: float) -> Blocks:
    at = _places((sides[:, 1] - sides[:, 0]) * (sides[:, 3] - sides[:, 2]))
    data = np.empty(at[-1], dtype=np.float32)
    fill_near(nodes, *code, sides, at, data)
    if ridge > 0.0:
        own = np.flatnonzero(sides[:, 0] == sides[:, 2])
        count = sides[own, 1] - sides[own, 0]
        row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        data[np.repeat(at[own], count) + row * np.repeat(count + 1, count)] *= 1.0 + ridge
    return Blocks(sides, at, data, np.zeros(len(sides), dtype=np.int64))


def _far_blocks(nodes: Floats, response: Response, sides: Ints, tolerance: float) -> Blocks:
    """Compress block by block, in batches whose scratch fits into memory; errors far below the mean entry do not matter."""
    n = nodes.shape[1]
    sample = np.ascontiguousarray(nodes[:, np.random.default_rng(0).integers(0, n, 16)])
    floor = float(np.mean(np.abs(displacement(sample, nodes, np.full(n, 1.0 / n), response))))
    width = sides[:, 1] - sides[:, 0] + sides[:, 3] - sides[:, 2]
    batch = np.cumsum(width * RANK) // BATCH
    ranks, pieces = [], []
    for b in np.unique(batch):
        chosen = batch == b
        here, place = sides[chosen], _places(width[chosen] * RANK)
        scratch, done = np.empty(place[-1]), np.empty(place[-1] // RANK, dtype=np.bool_)
        rank = np.zeros(len(here), dtype=np.int64)
        compress(nodes, *response.code, here, place, floor, tolerance, scratch, done, rank)
        at = _places(width[chosen] * rank)
        pieces.append(np.empty(at[-1], dtype=np.float32))
        pack(here, place, rank, scratch, at, pieces[-1])
        ranks.append(rank)
    rank = np.concatenate([*ranks, np.zeros(0, dtype=np.int64)])
    return Blocks(sides, _places(width * rank), np.concatenate([*pieces, np.zeros(0, dtype=np.float32)]), rank)


def _gathering(clusters: Clusters, near: Ints, far: Ints) -> Gathering:
    pairs = np.concatenate([near, far])
    sides = clusters.sides(pairs)
    na, nb = sides[:, 1] - sides[:, 0], sides[:, 3] - sides[:, 2]
    mine = _places(na + nb)
    own = pairs[:, 0] == pairs[:, 1]  # a diagonal block fills its second half only
    start = np.concatenate([sides[~own, 0], sides[:, 2]])
    stop = np.concatenate([sides[~own, 1], sides[:, 3]])
    place = np.concatenate([mine[:-1][~own], mine[:-1] + na])
    leaf = np.flatnonzero(clusters.child[:, 0] < 0)
    leaf = leaf[np.argsort(clusters.start[leaf])]
    low, high = clusters.start[leaf], clusters.stop[leaf]
    first, last = np.searchsorted(low, start), np.searchsorted(low, stop)
    count = last - first
    which = np.repeat(np.arange(len(start)), count)
    at_leaf = np.arange(len(which)) - np.repeat(_places(count)[:-1], count) + first[which]
    sort = np.argsort(at_leaf, kind="stable")
    parts = (place[which] + low[at_leaf] - start[which])[sort]
    return Gathering(mine[:-1].copy(), np.stack([low, high], 1), _places(np.bincount(at_leaf, minlength=len(leaf))), parts, int(mine[-1]))


@inline
def inner(a, b):  # type: ignore[no-untyped-def]
    """a . b in four running sums, which keeps the arithmetic units busy and the order fixed."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    n = len(b) // 4 * 4
    for j in range(0, n, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(n, len(b)):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@inline
def axpy_row(c, row, out):  # type: ignore[no-untyped-def]
    for j in range(len(out)):
        out[j] += c * row[j]


@inline
def largest(row, done):  # type: ignore[no-untyped-def]
    """Place of the entry of largest size that is not done, -1 if all are."""
    place, size = -1, -1.0
    for j in range(len(row)):
        if not done[j] and abs(row[j]) > size:
            place, size = j, abs(row[j])
    return place


@inline
def nearest_row(nodes, a, b):  # type: ignore[no-untyped-def]
    """Row of block (a, b) whose node is nearest to the middle of the columns.

    A response that is over within the block would end the search at once in a row that it does not reach.
    """
    x, y, z = np.mean(nodes[0, b[0] : b[1]]), np.mean(nodes[1, b[0] : b[1]]), np.mean(nodes[2, b[0] : b[1]])
    place, least = 0, np.inf
    for i in range(a[0], a[1]):
        d2 = (nodes[0, i] - x) ** 2 + (nodes[1, i] - y) ** 2 + (nodes[2, i] - z) ** 2
        if d2 < least:
            place, least = i - a[0], d2
    return place


@inline
def mark_here(nodes, first, row, count, done):  # type: ignore[no-untyped-def]
    """A row is done, and with it those of nodes nearer than half the width of its blob: nothing is left of them."""
    here = first + row
    for i in range(count):
        at = first + i
        d2 = (nodes[0, at] - nodes[0, here]) ** 2 + (nodes[1, at] - nodes[1, here]) ** 2 + (nodes[2, at] - nodes[2, here]) ** 2
        if 4.0 * d2 <= nodes[3, here]:
            done[i] = True


@inline
def another_row(done, count, tried):  # type: ignore[no-untyped-def]
    """A row that is not done, elsewhere in the block each time; -1 if all are."""
    start = int(GOLDEN * count * tried) % count
    for i in range(count):
        if not done[(start + i) % count]:
            return (start + i) % count
    return -1


@kernel
def cross(nodes, terms, tables, a, b, floor, tolerance, u, v, done):  # type: ignore[no-untyped-def]
    """Rank of block (a, b), ranges of nodes; its factors go to u, (RANK, na), and v, (RANK, nb).

    It is known when what was added is small and other rows agree.
    """
    na, nb = a[1] - a[0], b[1] - b[0]
    done[:] = False
    row, norm2, k, small = nearest_row(nodes, a, b), 0.0, 0, 0
    while k < RANK and row >= 0 and small < LOOKS:
        row_at(nodes, node_at(nodes, a[0] + row), terms, tables, b[0], b[1], v[k])
        for l in range(k):
            axpy_row(-u[l, row], v[l], v[k])
        mark_here(nodes, a[0], row, na, done)
        column = largest(v[k], done[na:])
        if column < 0:
            return k
        pivot, enough = v[k, column], tolerance * max(np.sqrt(max(norm2, 0.0) / (na * nb)), floor)
        if abs(pivot) <= 2.0 * enough:
            small += 1
            row = another_row(done, na, small)
            continue
        done[na + column] = True
        for j in range(nb):
            v[k, j] /= pivot
        row_at(nodes, node_at(nodes, b[0] + column), terms, tables, a[0], a[1], u[k])
        for l in range(k):
            axpy_row(-v[l, column], u[l], u[k])
        size2 = inner(u[k], u[k]) * inner(v[k], v[k])
        norm2 += size2
        for l in range(k):
            norm2 += 2.0 * inner(u[k], u[l]) * inner(v[k], v[l])
        k += 1
        small = small + 1 if size2 <= enough * enough * na * nb else 0
        row = largest(u[k - 1], done[:na]) if small == 0 else another_row(done, na, small)
    return k


@parallel
def compress(nodes, terms, tables, sides, place, floor, tolerance, scratch, done, rank):  # type: ignore[no-untyped-def]
    for k in prange(len(rank)):
        na, nb = sides[k, 1] - sides[k, 0], sides[k, 3] - sides[k, 2]
        u = scratch[place[k] : place[k] + RANK * na].reshape((RANK, na))
        v = scratch[place[k] + RANK * na : place[k] + RANK * (na + nb)].reshape((RANK, nb))
        mark = done[place[k] // RANK : place[k] // RANK + na + nb]
        rank[k] = cross(nodes, terms, tables, (sides[k, 0], sides[k, 1]), (sides[k, 2], sides[k, 3]), floor, tolerance, u, v, mark)


@kernel
def pack(sides, place, rank, scratch, at, out):  # type: ignore[no-untyped-def]
    """Keep the ranks that were found, u then v, in single precision."""
    for k in range(len(rank)):
        na, nb = sides[k, 1] - sides[k, 0], sides[k, 3] - sides[k, 2]
        for j in range(rank[k] * na):
            out[at[k] + j] = scratch[place[k] + j]
        for j in range(rank[k] * nb):
            out[at[k] + rank[k] * na + j] = scratch[place[k] + RANK * na + j]


@parallel
def fill_near(nodes, terms, tables, sides, at, out):  # type: ignore[no-untyped-def]
    for k in prange(len(sides)):
        nb = sides[k, 3] - sides[k, 2]
        row = np.empty(nb)
        for i in range(sides[k, 1] - sides[k, 0]):
            row_at(nodes, node_at(nodes, sides[k, 0] + i), terms, tables, sides[k, 2], sides[k, 3], row)
            out[at[k] + i * nb : at[k] + (i + 1) * nb] = row


@kernel
def near_product(sides, block, x, ya, yb):  # type: ignore[no-untyped-def]
    """ya = B x_b and yb = B^T x_a; a block on the diagonal is symmetric and counts once."""
    xa, xb = x[sides[0] : sides[1]], x[sides[2] : sides[3]]
    nb = len(xb)
    ya[:] = 0.0
    yb[:] = 0.0
    for i in range(len(xa)):
        row = block[i * nb : (i + 1) * nb]
        axpy_row(xa[i], row, yb)
        if sides[0] != sides[2]:
            ya[i] = inner(row, xb)


@kernel
def far_product(sides, rank, block, x, ya, yb):  # type: ignore[no-untyped-def]
    """ya = U V^T x_b and yb = V U^T x_a."""
    xa, xb = x[sides[0] : sides[1]], x[sides[2] : sides[3]]
    na, nb = len(xa), len(xb)
    ya[:] = 0.0
    yb[:] = 0.0
    for k in range(rank):
        u = block[k * na : (k + 1) * na]
        v = block[rank * na + k * nb : rank * na + (k + 1) * nb]
        axpy_row(inner(v, xb), u, ya)
        axpy_row(inner(u, xa), v, yb)


@parallel
def apply(near, far, gathering, x, buffer, out):  # type: ignore[no-untyped-def]
    """K x: every block writes to its own place of the buffer, and every leaf adds up its parts in a fixed order."""
    blocks, leaves, first, parts = len(near.sides), gathering.leaves, gathering.first, gathering.parts
    for k in prange(blocks + len(far.sides)):
        at = gathering.mine[k]
        sides = near.sides[k] if k < blocks else far.sides[k - blocks]
        middle, end = at + sides[1] - sides[0], at + sides[1] - sides[0] + sides[3] - sides[2]
        if k < blocks:
            near_product(sides, near.data[near.at[k] : near.at[k + 1]], x, buffer[at:middle], buffer[middle:end])
        else:
            block = far.data[far.at[k - blocks] : far.at[k - blocks + 1]]
            far_product(sides, far.rank[k - blocks], block, x, buffer[at:middle], buffer[middle:end])
    for k in prange(len(leaves)):
        total = out[leaves[k, 0] : leaves[k, 1]]
        total[:] = 0.0
        for p in range(first[k], first[k + 1]):
            axpy_row(1.0, buffer[parts[p] : parts[p] + len(total)], total)
