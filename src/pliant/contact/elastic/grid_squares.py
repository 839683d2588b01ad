"""The elastic matrix of squares, or of Gaussian blobs, on a regular grid: a convolution, by fast Fourier transforms
(theory/quasi-rigid 4.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.gaussian_blobs import WIDTH
from pliant.contact.elastic.response import Boussinesq, Response
from pliant.kernels import allowed_threads


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


@dataclass(frozen=True)
class Part:
    """Some cells of a patch, which may give way more or less than it: K_ij sqrt(g_i g_j), positive whatever g is.

    Where g varies little over the width of a contact this is the half-space with the modulus that is there; it is exact for constant g and
    for a push on its own cell.
    """

    patch: Patch
    cells: Ints  # (n,) numbers of cells, rising
    give: Floats | None = None  # (n,) compliance over that of the patch; None: 1

    @property
    def size(self) -> int:
        return len(self.cells)

    @cached_property
    def _root(self) -> Floats | None:
        return None if self.give is None else np.sqrt(self.give)

    @cached_property
    def diagonal(self) -> Floats:
        return self.patch.diagonal[self.cells] * (1.0 if self.give is None else self.give)

    def __matmul__(self, force: Floats) -> Floats:
        wide = np.zeros(self.patch.size)
        wide[self.cells] = force if self._root is None else self._root * force
        out = (self.patch @ wide)[self.cells]
        return out if self._root is None else self._root * out

    def block(self, nodes: Ints) -> Floats:
        out = self.patch.block(self.cells[nodes])
        return out if self._root is None else self._root[nodes][:, None] * out * self._root[nodes]
