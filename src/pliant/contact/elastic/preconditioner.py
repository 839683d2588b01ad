"""What nearly inverts the elastic matrix of many nodes (theory/quasi-rigid 9.5), for conjugate gradients:

    M = G^T G + W (W^T K W)^-1 W^T

G is a sparse factor with G^T G close to K^-1 [Kolotilina, Yeremin 1993]: row i solves K on the node and its nearest nodes that come before
it, so that pressures that vary from node to node, which gradients would find last, are found at once. Gradients then need 10 to 20
products in place of 40. W spreads a force over groups of nodes as a constant pressure. Long waves are what gradients find last where a
response cancels over its length, as the volume-preserving one does: its eigenvalues fall as k^2 for waves longer than b. With both parts,
a foot of 7000 nodes needs 17 gradients in place of 34. Groups are leaves of the tree of nodes, so that W^T K W is summed from the blocks
of hierarchical.py as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.gaussian_blobs import node_at, row_at
from pliant.contact.elastic.hierarchical import Hierarchical
from pliant.contact.elastic.operators import Blockwise, Operator
from pliant.contact.elastic.response import Response
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, kernel

ROW = 8  # most entries of a row
LOOKED = 15  # nearest nodes among which those before it are looked for
GROUPS = 256  # of nodes, at most


class Inverse(Protocol):
    """Something that nearly inverts K."""

    def __matmul__(self, s: Floats) -> Floats: ...


def nearly_inverse(K: Operator, loaded: np.ndarray) -> Inverse | None:
    """For an operator of many nodes, of which some are loaded; None for others, which are solved quickly anyway."""
    if isinstance(K, Hierarchical):
        local, coarse = LocalInverse.of(K.nodes, K.response, K.ridge), GroupInverse.of(K, loaded)
        return local if coarse is None else Together(local, coarse)
    if isinstance(K, Blockwise):
        return InBlocks(K, tuple(nearly_inverse(part, loaded[group]) for group, part in zip(K.groups, K.parts, strict=True)))
    return None


@dataclass(frozen=True)
class Together:
    """The sum of both parts."""

    local: LocalInverse
    coarse: GroupInverse

    def __matmul__(self, s: Floats) -> Floats:
        return self.local @ s + self.coarse @ s


@dataclass(frozen=True)
class LocalInverse:
    """G by rows: the nodes of row i and their entries; -1 where a row is shorter."""

    near: Ints  # (n, ROW)
    value: Floats  # (n, ROW)

    @classmethod
    def of(cls, nodes: Floats, response: Response, ridge: float = 0.0) -> LocalInverse:
        n = nodes.shape[1]
        near = kd_tree(nodes[:3].T).query(nodes[:3].T, k=min(LOOKED, n), workers=1)[1].reshape(n, -1)
        row, value = np.full((n, ROW), -1), np.zeros((n, ROW))
        _factored(nodes, *response.code, 1.0 + ridge, contiguous(near, np.int64), row, value)
        return cls(row, value)

    def __matmul__(self, s: Floats) -> Floats:
        out = np.zeros(len(s))
        _inverted(self.near, self.value, contiguous(s), out)
        return out


@dataclass(frozen=True)
class InBlocks:
    """Of groups of nodes that do not act on each other; groups without one keep the diagonal."""

    K: Blockwise
    parts: tuple[Inverse | None, ...]

    def __matmul__(self, s: Floats) -> Floats:
        out = np.empty(len(s))
        for group, K, part in zip(self.K.groups, self.K.parts, self.parts, strict=True):
            out[group] = s[group] / K.diagonal if part is None else part @ s[group]
        return out


@kernel
def _factored(nodes, terms, tables, diagonal, near, row, value):  # type: ignore[no-untyped-def]
    """Rows of G: with L L^T = K of the row's nodes, the node itself last, the last row of L^-1."""
    few, a, x = np.empty((4, ROW)), np.empty((ROW, ROW)), np.empty(ROW)
    for i in range(len(near)):
        m = 0
        for c in range(near.shape[1]):
            if near[i, c] < i and m < ROW - 1:
                row[i, m] = near[i, c]
                m += 1
        row[i, m] = i
        m += 1
        for k in range(m):
            for c in range(4):
                few[c, k] = nodes[c, row[i, k]]
        for k in range(m):
            row_at(few, node_at(few, k), terms, tables, 0, m, a[k])
            a[k, k] *= diagonal
        _lower(a, m)
        x[m - 1] = 1.0 / a[m - 1, m - 1]
        for k in range(m - 2, -1, -1):  # x L = e_last
            total = 0.0
            for l in range(k + 1, m):
                total += x[l] * a[l, k]
            x[k] = -total / a[k, k]
        value[i, :m] = x[:m]


@kernel
def _lower(a, m):  # type: ignore[no-untyped-def]
    """Cholesky factor of a small matrix in its lower triangle; pivots that are not positive are lifted."""
    least = 1e-12 * a[0, 0]
    for j in range(m):
        for k in range(j):
            for i in range(j, m):
                a[i, j] -= a[i, k] * a[j, k]
        root = np.sqrt(max(a[j, j], least))
        for i in range(j, m):
            a[i, j] /= root
        a[j, j] = root


@kernel
def _inverted(near, value, s, out):  # type: ignore[no-untyped-def]
    """G^T G s."""
    for i in range(len(near)):
        total = 0.0
        for c in range(near.shape[1]):
            if near[i, c] >= 0:
                total += value[i, c] * s[near[i, c]]
        for c in range(near.shape[1]):
            if near[i, c] >= 0:
                out[near[i, c]] += value[i, c] * total


@dataclass(frozen=True)
class GroupInverse:
    """W (W^T K W)^-1 W^T."""

    group: Ints  # (n,) of each node
    weight: Floats  # (n,) parts of the areas of the groups; 0 for nodes that were not loaded at first
    factor: Factor

    @classmethod
    def of(cls, K: Hierarchical, loaded: np.ndarray) -> GroupInverse | None:
        """For forces on the loaded nodes; None if that matrix is not positive definite."""
        leaves = K.gathering.leaves
        many = -(-len(leaves) // GROUPS)  # leaves of a group, which are next to each other in the tree
        place = np.repeat(np.arange(len(leaves)) // many, leaves[:, 1] - leaves[:, 0])
        area = np.where(loaded, K.nodes[3], 0.0)[K.order]
        total = np.bincount(place, area)
        weight = area / np.where(total > 0.0, total, 1.0)[place]
        matrix, sums = np.zeros((len(total), len(total))), np.empty((2, len(total)))
        _near_sums(K.near.data, K.near.at, K.near.sides, weight, place, matrix)
        _far_sums(K.far.data, K.far.at, K.far.sides, K.far.rank, weight, place, sums, matrix)
        factor = Factor.of(matrix, np.flatnonzero(total > 0.0))
        if factor is None:
            return None
        group, spread = np.empty(K.size, np.int64), np.empty(K.size)
        group[K.order], spread[K.order] = np.maximum(np.cumsum(total > 0.0) - 1, 0)[place], weight
        return cls(group, spread, factor)

    def __matmul__(self, s: Floats) -> Floats:
        total = np.bincount(self.group, self.weight * s, minlength=self.factor.n).astype(np.float64)
        return self.weight * self.factor.solve(total)[self.group]


@kernel
def _near_sums(data, at, sides, weight, place, out):  # type: ignore[no-untyped-def]
    """Near blocks of W^T K W, both triangles."""
    for k in range(len(sides)):
        first, width = sides[k, 2], sides[k, 3] - sides[k, 2]
        row = weight[first : first + width]
        a, b, total = place[sides[k, 0]], place[first], 0.0
        for i in range(sides[k, 1] - sides[k, 0]):
            w = weight[sides[k, 0] + i]
            if w > 0.0:
                block = data[at[k] + i * width : at[k] + (i + 1) * width]
                for j in range(width):
                    total += w * block[j] * row[j]
        out[a, b] += total
        if sides[k, 0] != first:
            out[b, a] += total


@kernel
def _grouped(row, first, weight, place, sums):  # type: ignore[no-untyped-def]
    """Weighted sums of a row by group; its nodes begin at `first`."""
    sums[place[first] : place[first + len(row) - 1] + 1] = 0.0
    for j in range(len(row)):
        sums[place[first + j]] += weight[first + j] * row[j]


@kernel
def _far_sums(data, at, sides, rank, weight, place, sums, out):  # type: ignore[no-untyped-def]
    """Far blocks of W^T K W; a cluster may hold several groups."""
    for k in range(len(sides)):
        na, nb = sides[k, 1] - sides[k, 0], sides[k, 3] - sides[k, 2]
        middle = at[k] + rank[k] * na
        for r in range(rank[k]):
            _grouped(data[at[k] + r * na : at[k] + (r + 1) * na], sides[k, 0], weight, place, sums[0])
            _grouped(data[middle + r * nb : middle + (r + 1) * nb], sides[k, 2], weight, place, sums[1])
            for a in range(place[sides[k, 0]], place[sides[k, 1] - 1] + 1):
                for b in range(place[sides[k, 2]], place[sides[k, 3] - 1] + 1):
                    out[a, b] += sums[0, a] * sums[1, b]
                    out[b, a] += sums[0, a] * sums[1, b]
