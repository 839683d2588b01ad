"""The elastic matrix as something that multiplies: stored, computed anew, in blocks (hierarchical.py), of nodes that do not all feel each
other, or by FFT on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.gaussian_blobs import WIDTH, assemble, blobs, displacement, multiply
from pliant.contact.elastic.hierarchical import COMPRESSED, Hierarchical
from pliant.contact.elastic.response import Boussinesq, Response
from pliant.kernels import allowed_threads

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


def love(x: Floats, y: Floats, h: float) -> Floats:
    """Displacement over C at (x, y) under unit pressure on a square of side h around the origin [Johnson 1985, 3.25]."""
    out = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)))
    for along, across in ((x, y), (y, x)):
        for sign in (1.0, -1.0):
            a = across + sign * 0.5 * h
            low, high = along - 0.5 * h, along + 0.5 * h
            out += sign * a * (np.arcsinh(high / np.abs(a)) - np.arcsinh(low / np.abs(a)))
    return out


@dataclass(frozen=True)
class Patch:
    """nx times ny nodes of a square grid, multiplied by fast Fourier transforms; numbered along y first, as `q.reshape(nx, ny)`.

    Zero padding to twice the size makes the product exact for a single patch: nothing repeats. Two kinds of nodes: `gauss`, the Gaussian
    blobs of gaussian_blobs.py, for every response; `love`, uniform squares with the displacement taken at their centres [Love 1929], for
    Boussinesq (theory/quasi-rigid 4.4).
    """

    shape: tuple[int, int]
    spacing: float  # [m]
    response: Response
    nodes: str = "gauss"  # or "love"

    def __post_init__(self) -> None:
        if min(self.shape) < 1 or not self.spacing > 0.0:
            raise PliantError(f"A patch of {self.shape} nodes with spacing {self.spacing} m is empty.")
        if self.nodes not in ("gauss", "love"):
            raise PliantError(f"There are no nodes '{self.nodes}': they are 'gauss' or 'love'.")
        if self.nodes == "love" and not isinstance(self.response, Boussinesq):
            raise PliantError("Love's squares are known for Boussinesq's response only: use nodes='gauss'.")

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @cached_property
    def diagonal(self) -> Floats:
        return np.full(self.size, self.values[0, 0])

    @cached_property
    def values(self) -> Floats:
        """K by the distance in steps along x and y, (nx, ny)."""
        x, y = (self.spacing * np.arange(n, dtype=np.float64) for n in self.shape)
        if isinstance(self.response, Boussinesq) and self.nodes == "love":
            return self.response.c / self.spacing**2 * love(x[:, None], y[None], self.spacing)
        return self.response.g(np.hypot(x[:, None], y[None]), WIDTH**2 * self.spacing**2)

    @cached_property
    def _padded(self) -> tuple[int, int]:
        nx, ny = self.shape
        return int(fft.next_fast_len(2 * nx - 1)), int(fft.next_fast_len(2 * ny - 1, real=True))

    @cached_property
    def _transform(self) -> Floats:
        """Real, because the kernel is even; short axis first."""
        places = [np.minimum(np.arange(m), m - np.arange(m)) for m in self._padded]
        inside = [np.minimum(p, n - 1) for p, n in zip(places, self.shape, strict=True)]
        kernel = np.where(
            (places[0] < self.shape[0])[:, None] & (places[1] < self.shape[1]), self.values[np.ix_(inside[0], inside[1])], 0.0
        )
        return np.ascontiguousarray(fft.rfft2(kernel).real)

    def __matmul__(self, force: Floats) -> Floats:
        nx, ny = self.shape
        mx, my = self._padded
        workers = allowed_threads() if self.size > 20_000 else 1
        rows = fft.rfft(np.asarray(force).reshape(nx, ny), my, axis=1, workers=workers)  # rows of zeros are skipped, both ways
        wide = fft.fft(rows, mx, axis=0, workers=workers, overwrite_x=True)
        wide *= self._transform
        back = fft.ifft(wide, axis=0, workers=workers, overwrite_x=True)[:nx]
        return np.ascontiguousarray(fft.irfft(back, my, axis=1, workers=workers)[:, :ny]).reshape(-1)

    def block(self, nodes: Ints) -> Floats:
        i, j = np.divmod(nodes, self.shape[1])
        return self.values[np.abs(i[:, None] - i), np.abs(j[:, None] - j)]
