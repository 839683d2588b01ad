"""The elastic matrix as something that multiplies: stored, computed anew, in blocks (hierarchical.py), of nodes that do not all feel each
other, or by FFT on a grid (grid_squares.py)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.gaussian_blobs import assemble, blobs, displacement, multiply
from pliant.contact.elastic.hierarchical import COMPRESSED, Hierarchical
from pliant.contact.elastic.response import Response

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


@dataclass(frozen=True)
class Blockwise:
    """Operators of groups of nodes that do not act on each other."""

    groups: tuple[Ints, ...]
    parts: tuple[Operator, ...]

    @cached_property
    def owner(self) -> Ints:
        owner = np.empty(self.size, np.int64)
        for i, group in enumerate(self.groups):
            owner[group] = i
        return owner

    @cached_property
    def place(self) -> Ints:
        place = np.empty(self.size, np.int64)
        for group in self.groups:
            place[group] = np.arange(len(group))
        return place

    @property
    def size(self) -> int:
        return sum(len(group) for group in self.groups)

    @cached_property
    def diagonal(self) -> Floats:
        out = np.empty(self.size)
        for group, part in zip(self.groups, self.parts, strict=True):
            out[group] = part.diagonal
        return out

    def __matmul__(self, force: Floats) -> Floats:
        out = np.empty(self.size)
        for group, part in zip(self.groups, self.parts, strict=True):
            out[group] = part @ force[group]
        return out

    def block(self, nodes: Ints) -> Floats:
        out = np.zeros((len(nodes), len(nodes)))
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(self.owner[nodes] == i)
            out[np.ix_(mine, mine)] = part.block(self.place[nodes[mine]])
        return out


def elastic(
    points: Floats, areas: Floats, response: Response, dense_up_to: int = DENSE, tolerance: float = COMPRESSED, ridge: float = 0.0
) -> Operator:
    """K for points [m] with areas [m^2]: stored if there are few, in blocks of low rank with a relative error of `tolerance` if many.

    ridge  part of the diagonal that is added to it, where nodes may lie at one place
    """
    return of_blobs(blobs(points, areas), response, dense_up_to, tolerance, ridge)


def of_blobs(nodes: Floats, response: Response, dense_up_to: int = DENSE, tolerance: float = COMPRESSED, ridge: float = 0.0) -> Operator:
    """The same for nodes (4, n) of `blobs`."""
    if nodes.shape[1] <= dense_up_to:
        return Dense(assemble(nodes, response, ridge))
    return Hierarchical.build(nodes, response, tolerance, ridge)
