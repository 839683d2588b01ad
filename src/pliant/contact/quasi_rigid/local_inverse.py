"""What nearly inverts the elastic matrix of many nodes: a sparse factor G with G^T G close to K^-1 [Kolotilina, Yeremin 1993].

Row i of G solves K on the node and its nearest nodes that come before it: pressures that vary from node to node, which conjugate gradients
would find last, are found at once. Long waves are left to the coarse part of two_level.py. Gradients then need 10 to 20 products in place
of 40.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid.far_field import Hierarchical
from pliant.contact.quasi_rigid.galerkin import fill_row
from pliant.contact.quasi_rigid.operators import Operator
from pliant.contact.quasi_rigid.patches import Blocks
from pliant.contact.quasi_rigid.response import Response
from pliant.contact.quasi_rigid.two_level import GroupInverse
from pliant.kernels import contiguous, kernel

ROW = 8  # most entries of a row
LOOKED = 15  # nearest nodes among which those before it are looked for


class Inverse(Protocol):
    """Something that nearly inverts K."""

    def __matmul__(self, s: Floats) -> Floats: ...


def nearly_inverse(K: Operator, loaded: np.ndarray) -> Inverse | None:
    """For an operator of many nodes, of which some are loaded; None for others, which are solved quickly anyway."""
    if isinstance(K, Hierarchical):
        local, coarse = LocalInverse.of(K.nodes, K.response, K.ridge), GroupInverse.of(K, loaded)
        return local if coarse is None else Together(local, coarse)
    if isinstance(K, Blocks):
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
        near = cKDTree(nodes[:3].T).query(nodes[:3].T, k=min(LOOKED, n), workers=1)[1].reshape(n, -1)
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

    K: Blocks
    parts: tuple[Inverse | None, ...]

    def __matmul__(self, s: Floats) -> Floats:
        out = np.empty(len(s))
        for group, K, part in zip(self.K.groups, self.K.parts, self.parts, strict=True):
            out[group] = s[group] / K.diagonal if part is None else part @ s[group]
        return out


@kernel
def _row(nodes, i, terms, tables, stop, out):  # type: ignore[no-untyped-def]
    fill_row(nodes, (nodes[0, i], nodes[1, i], nodes[2, i], nodes[3, i]), terms, tables, 0, stop, out)


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
            _row(few, k, terms, tables, m, a[k])
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
