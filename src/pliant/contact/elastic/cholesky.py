"""Cholesky factors A = U^T U of dense symmetric matrices, with the same bits for any number of threads.

LAPACK would be faster by a factor of two to four, but its last digits depend on its threads. Right-looking in blocks of 64 rows of U:
all inner loops run along rows, which are contiguous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.gaussian_blobs import balanced
from pliant.kernels import allowed_threads, contiguous, inline, kernel, parallel, prange

BLOCK = 64
SINGULAR = 1e-13  # pivots below this part of the largest diagonal are taken for zero, as of two nodes at one place
NARROW = 256  # columns that are updated together, so that the panel stays in the cache


@inline
def subtract(c, row, out):  # type: ignore[no-untyped-def]
    """out -= c row; on slices of rows, because an index that might be negative keeps a loop from vectorising."""
    for j in range(len(out)):
        out[j] -= c * row[j]


@kernel
def factor_corner(a, first, least):  # type: ignore[no-untyped-def]
    """Factor the square on the diagonal in place; False if a pivot is not above the least."""
    last = first + BLOCK
    for k in range(first, last):
        if not a[k, k] > least:
            return False
        a[k, k] = math.sqrt(a[k, k])
        for j in range(k + 1, last):
            a[k, j] /= a[k, k]
        for i in range(k + 1, last):
            subtract(a[k, i], a[k, i:last], a[i, i:last])
    return True


@kernel
def solve_columns(a, panel, first, start, stop):  # type: ignore[no-untyped-def]
    """A block of rows of U in the columns start..stop, in place and into the panel."""
    for k in range(BLOCK):
        out = panel[k, start:stop]
        out[:] = a[first + k, start:stop]
        for i in range(k):
            subtract(a[first + i, first + k], panel[i, start:stop], out)
        out *= 1.0 / a[first + k, first + k]
        a[first + k, start:stop] = out


@kernel
def update_rows(a, panel, row, start, stop):  # type: ignore[no-untyped-def]
    """Subtract U^T U of a block of rows of U (the panel) from the rows row..row + BLOCK in the columns start..stop."""
    for i in range(row, row + BLOCK):
        out = a[i, start:stop]
        for k in range(0, BLOCK, 4):
            c0, c1, c2, c3 = panel[k, i], panel[k + 1, i], panel[k + 2, i], panel[k + 3, i]
            u0, u1, u2, u3 = panel[k, start:stop], panel[k + 1, start:stop], panel[k + 2, start:stop], panel[k + 3, start:stop]
            for j in range(len(out)):
                v = out[j] - c0 * u0[j]
                v = v - c1 * u1[j]
                v = v - c2 * u2[j]
                out[j] = v - c3 * u3[j]


@parallel
def _factor(a, panel, least):  # type: ignore[no-untyped-def]
    """Upper triangle of `a` becomes U; False if it is not positive definite. Sides are multiples of BLOCK."""
    n = a.shape[0]
    for first in range(0, n, BLOCK):
        rest = first + BLOCK
        if not factor_corner(a, first, least):
            return False
        for k in prange((n - rest + NARROW - 1) // NARROW):
            solve_columns(a, panel, first, rest + k * NARROW, min(rest + (k + 1) * NARROW, n))
        blocks = (n - rest) // BLOCK
        for k in prange(blocks):
            row = rest + BLOCK * balanced(k, blocks)
            for start in range(row, n, NARROW):
                update_rows(a, panel, row, start, min(start + NARROW, n))
    return True


@kernel
def _substitute(u, b):  # type: ignore[no-untyped-def]
    """Solve U^T U x = b in place for the rows of b, (m, n)."""
    n = u.shape[0]
    for r in range(b.shape[0]):
        for i in range(n):
            b[r, i] /= u[i, i]
            for j in range(i + 1, n):
                b[r, j] -= u[i, j] * b[r, i]
        for i in range(n - 1, -1, -1):
            s0, s1, s2, s3 = b[r, i], 0.0, 0.0, 0.0
            fours = i + 1 + (n - 1 - i) // 4 * 4
            for j in range(i + 1, fours, 4):
                s0 -= u[i, j] * b[r, j]
                s1 -= u[i, j + 1] * b[r, j + 1]
                s2 -= u[i, j + 2] * b[r, j + 2]
                s3 -= u[i, j + 3] * b[r, j + 3]
            for j in range(fours, n):
                s0 -= u[i, j] * b[r, j]
            b[r, i] = ((s0 + s1) + (s2 + s3)) / u[i, i]


@kernel
def _gather(matrix, chosen, out):  # type: ignore[no-untyped-def]
    """Upper triangle of the chosen rows and columns."""
    for i in range(len(chosen)):
        for j in range(i, len(chosen)):
            out[i, j] = matrix[chosen[i], chosen[j]]


@dataclass(frozen=True)
class Factor:
    """U of a positive definite matrix of size n, padded to whole blocks."""

    u: Floats
    n: int

    @classmethod
    def of(cls, matrix: Floats, chosen: Ints | None = None) -> Factor | None:
        """Factor a symmetric matrix, or its chosen rows and columns; None if they are not positive definite."""
        chosen = np.arange(len(matrix)) if chosen is None else contiguous(chosen, np.int64)
        n = len(chosen)
        size = -(-n // BLOCK) * BLOCK
        u = np.zeros((size, size))
        _gather(matrix, chosen, u)
        u[np.arange(n, size), np.arange(n, size)] = np.max(np.diagonal(u), initial=0.0)
        numba.set_num_threads(1 if n < 4 * BLOCK else allowed_threads())
        least = SINGULAR * float(np.max(np.diagonal(u), initial=0.0))
        return cls(u, n) if _factor(u, np.empty((BLOCK, size)), least) else None

    @classmethod
    def elastic(cls, matrix: Floats, chosen: Ints | None = None) -> Factor:
        """Of the elastic matrix of nodes in contact, which is positive definite unless two of them are at one place: an error."""
        factor = cls.of(matrix, chosen)
        if factor is None:
            raise PliantError("The elastic matrix of the nodes in contact is not positive definite: are two of them at the same place?")
        return factor

    def solve(self, b: Floats) -> Floats:
        """A^-1 b for b of shape (n,) or (n, m)."""
        b = np.asarray(b, dtype=np.float64)
        x = np.zeros((b.size // max(self.n, 1), len(self.u)))
        x[:, : self.n] = b.T.reshape(-1, self.n)
        _substitute(self.u, x)
        return np.ascontiguousarray(x[:, : self.n].T).reshape(b.shape)
