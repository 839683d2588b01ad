"""A coarse part of what nearly inverts the elastic matrix of many nodes: pressures that are constant over groups of nodes.

    M = G^T G + W (W^T K W)^-1 W^T

G (local_inverse.py) inverts what varies from node to node, W spreads a force over each group as a constant pressure. Long waves are what
conjugate gradients find last where a response cancels over its length, as the volume-preserving one does: its eigenvalues fall as k^2 for
waves longer than b. With both parts, a foot of 7000 nodes needs 17 gradients in place of 34.

Groups are leaves of the tree of nodes, so that W^T K W is summed from the blocks of far_field.py as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.far_field import Hierarchical
from pliant.kernels import kernel

GROUPS = 256  # at most


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
