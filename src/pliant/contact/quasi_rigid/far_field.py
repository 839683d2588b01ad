"""The elastic matrix of many nodes: near blocks as they are, far blocks as products of few columns and rows.

Blocks of clusters that are far apart have low rank, because the response varies little across them. Adaptive cross approximation
[Bebendorf 2000] finds it from a few rows and columns until what it adds is below the tolerance. Blocks are kept in single precision
(relative rounding 6e-8), sums run in double.
Memory and products grow as n log n. Blocks are stored once for both triangles, so the operator is symmetric to the last bit of its sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid.clusters import Clusters
from pliant.contact.quasi_rigid.galerkin import assemble, displacement
from pliant.contact.quasi_rigid.low_rank import RANK, apply, compress, fill_near, pack
from pliant.contact.quasi_rigid.operators import ridged
from pliant.contact.quasi_rigid.response import Code, Response
from pliant.kernels import allowed_threads, contiguous

SAMPLE = 64  # nodes at which the error is measured
BATCH = 4_000_000  # numbers of scratch for blocks that are compressed together


@dataclass(frozen=True)
class Blocks:
    """Blocks of numbers one after another."""

    sides: Ints  # (m, 4) ranges of rows and of columns
    at: Ints  # (m + 1,) place of each block in `data`
    data: np.ndarray
    rank: Ints  # (m,)


@dataclass(frozen=True)
class Gathering:
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
    def build(cls, nodes: Floats, response: Response, tolerance: float = 1e-6, ridge: float = 0.0) -> Hierarchical:
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
        near, far, g = self.near, self.far, self.gathering
        buffer, placed = np.empty(g.size), np.empty(self.size)
        numba.set_num_threads(allowed_threads())
        apply(
            near.data, near.at, near.sides, far.data, far.at, far.sides, far.rank,
            contiguous(force)[self.order], g.mine, g.leaves, g.first, g.parts, buffer, placed,
        )  # fmt: skip
        out = np.empty(self.size)
        out[self.order] = placed
        return out

    def block(self, nodes: Ints) -> Floats:
        return ridged(assemble(np.ascontiguousarray(self.nodes[:, nodes]), self.response), self.ridge)

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
