"""The elastic matrix as something that multiplies: stored, computed anew, in blocks (far_field.py), or by FFT on a grid (patch_fft.py)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.quasi_rigid.galerkin import assemble, blobs, displacement, multiply
from pliant.contact.quasi_rigid.response import Response

DENSE = 3000  # nodes up to which the matrix is stored (72 MB); beyond, blocks are smaller and multiply faster


class Operator(Protocol):
    """What the solvers need to know of K [m/N]."""

    @property
    def size(self) -> int:
        """How many nodes."""
        ...

    @property
    def diagonal(self) -> Floats:
        """K_ii."""
        ...

    def __matmul__(self, force: Floats) -> Floats:
        """K P."""
        ...

    def block(self, nodes: Ints) -> Floats:
        """The dense matrix of some nodes."""
        ...


@dataclass(frozen=True)
class Dense:
    """A stored symmetric matrix."""

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = np.ascontiguousarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise PliantError(f"An elastic matrix must be square, not {matrix.shape}.")
        object.__setattr__(self, "matrix", matrix)

    @property
    def size(self) -> int:
        return len(self.matrix)

    @cached_property
    def diagonal(self) -> Floats:
        return np.diagonal(self.matrix).copy()

    def __matmul__(self, force: Floats) -> Floats:
        return multiply(self.matrix, force)

    def block(self, nodes: Ints) -> Floats:
        return self.matrix if len(nodes) == self.size else self.matrix[np.ix_(nodes, nodes)]


@dataclass(frozen=True)
class Direct:
    """No matrix: every product computes it anew. Little memory, for single products and as an oracle."""

    nodes: Floats  # (4, n), of `blobs`
    response: Response

    @property
    def size(self) -> int:
        return self.nodes.shape[1]

    @cached_property
    def diagonal(self) -> Floats:
        return self.response.g(np.zeros(self.size), 2.0 * self.nodes[3])

    def __matmul__(self, force: Floats) -> Floats:
        return displacement(self.nodes, self.nodes, force, self.response)

    def block(self, nodes: Ints) -> Floats:
        return assemble(np.ascontiguousarray(self.nodes[:, nodes]), self.response)


def elastic(
    points: Floats, areas: Floats, response: Response, dense_up_to: int = DENSE, tolerance: float = 1e-6, ridge: float = 0.0
) -> Operator:
    """K for points [m] with areas [m^2]: stored if there are few, in blocks of low rank with a relative error of `tolerance` if many.

    ridge  part of the diagonal that is added to it, where nodes may lie at one place
    """
    return of_blobs(blobs(points, areas), response, dense_up_to, tolerance, ridge)


def of_blobs(nodes: Floats, response: Response, dense_up_to: int = DENSE, tolerance: float = 1e-6, ridge: float = 0.0) -> Operator:
    """The same for nodes (4, n) of `blobs`."""
    if nodes.shape[1] <= dense_up_to:
        return Dense(ridged(assemble(nodes, response), ridge))
    from pliant.contact.quasi_rigid.far_field import Hierarchical

    return Hierarchical.build(nodes, response, tolerance, ridge)


def ridged(matrix: Floats, ridge: float) -> Floats:
    """The matrix with a larger diagonal, in place."""
    matrix[np.diag_indices(len(matrix))] *= 1.0 + ridge
    return matrix
