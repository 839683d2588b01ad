"""Sparse symmetric matrices of 3x3 blocks.

Which blocks exist is found once (`BlockPattern`), by `integrate/assembly.py`, which fills them. Both triangles are stored, because then a
product with a vector, and a sweep through either triangle, is one sum per row.

Rows are world nodes. Nodes of bodies that are not implicit have empty rows, and no block couples two bodies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel, parallel, prange, use_threads

if TYPE_CHECKING:
    from scipy.sparse import bsr_array

# Unsigned, because for a signed index compiled code first asks whether it is negative: a tenth of a product's time.
Indices = NDArray[np.uint32]


@dataclass(frozen=True)
class BlockPattern:
    """Where the blocks are. Made by `Assembly`."""

    body_start: Ints  # (B + 1,) first node of each body; the last entry is the number of nodes n
    implicit: NDArray[np.bool_]  # (B,) bodies that have rows
    indptr: Indices  # (n + 1,) first block of each row
    indices: Indices  # (nnz,) column of each block, ascending in a row
    diagonal: NDArray[np.int32]  # (n,) position of the diagonal block, -1 for an empty row

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.diagonal)

    @cached_property
    def above(self) -> tuple[Indices, Indices, Ints]:
        """The blocks above the diagonal alone: first of each row (n + 1,), their columns, and where they are among all."""
        row = np.repeat(np.arange(self.n), (self.indptr[1:] - self.indptr[:-1]).astype(np.int64))
        where = np.flatnonzero(self.indices > row)
        first = np.append(0, np.cumsum(np.bincount(row[where], minlength=self.n)))
        return first.astype(np.uint32), self.indices[where], where


@dataclass(frozen=True)
class BlockMatrix:
    """A symmetric block matrix on a pattern."""

    pattern: BlockPattern
    values: Floats  # (nnz, 3, 3)
    lumped: Floats  # (n,) the part that is not stiffness: it alone feels a translation of a whole body

    def __matmul__(self, x: Floats) -> Floats:
        """A x for x (n, 3); rows of bodies that are not implicit give zero."""
        out = np.empty((self.pattern.n, 3))
        use_threads(len(self.pattern.indices))
        _multiply(self.pattern.indptr, self.pattern.indices, self.values, contiguous(x), out)
        return out

    @cached_property
    def inverse(self) -> tuple[Floats, NDArray[np.int8]]:
        """Inverse diagonal blocks as xx, yy, zz, yz, xz, xy, (n, 6), and what each block is, (n,): 1 positive definite, 0 not, -1 NaN."""
        out, verdict = np.empty((self.pattern.n, 6)), np.empty(self.pattern.n, np.int8)
        _invert(self.pattern.diagonal, self.values, out, verdict)
        return out, verdict

    def shifted(self, amount: Floats) -> BlockMatrix:
        """A copy with amount (n,) added along the diagonal."""
        values = self.values.copy()
        add_diagonal(values, self.pattern.diagonal, contiguous(amount))
        return replace(self, values=values, lumped=self.lumped + amount)

    def trace(self) -> Floats:
        """A third of the trace of each diagonal block, (n,): the mean stiffness of a node; 0 for an empty row."""
        has = self.pattern.diagonal >= 0
        out = np.zeros(self.pattern.n)
        out[has] = np.trace(self.values[self.pattern.diagonal[has]], axis1=1, axis2=2) / 3.0
        return out

    def to_scipy(self, body: int | None = None) -> bsr_array:
        """The matrix (3 n, 3 n), or the part (3 k, 3 k) of one body, sharing the values."""
        from scipy.sparse import bsr_array  # start-up

        p = self.pattern
        first, last = (0, p.n) if body is None else (int(p.body_start[body]), int(p.body_start[body + 1]))
        lo, hi = p.indptr[first], p.indptr[last]
        size = 3 * (last - first)
        indices, indptr = p.indices[lo:hi] - np.uint32(first), p.indptr[first : last + 1] - lo
        return bsr_array((self.values[lo:hi], indices.view(np.int32), indptr.view(np.int32)), (size, size))


@kernel
def add_diagonal(values, diagonal, amount):  # type: ignore[no-untyped-def]
    """Add amount_i times the unit matrix to the diagonal block of every row i that has one."""
    for i in range(len(diagonal)):
        if diagonal[i] >= 0:
            d = values[diagonal[i]]
            d[0, 0] += amount[i]
            d[1, 1] += amount[i]
            d[2, 2] += amount[i]


@kernel
def _invert(diagonal, values, out, verdict):  # type: ignore[no-untyped-def]
    for i in range(len(diagonal)):
        verdict[i] = 0
        if diagonal[i] < 0:
            continue
        d = values[diagonal[i]]
        a, b, c = d[0, 0], d[1, 1], d[2, 2]
        f, g, h = 0.5 * (d[1, 2] + d[2, 1]), 0.5 * (d[0, 2] + d[2, 0]), 0.5 * (d[0, 1] + d[1, 0])
        bc, ca, ab = b * c - f * f, c * a - g * g, a * b - h * h
        gh, hf, fg = g * h - a * f, h * f - b * g, f * g - c * h
        det = a * bc + h * fg + g * hf
        if not (math.isfinite(a + b + c) and math.isfinite(f + g + h)):
            verdict[i] = -1
        elif a > 0.0 and ab > 1e-14 * a * b and det > 1e-14 * ab * c:
            verdict[i] = 1
        s = 1.0 / det if verdict[i] == 1 else 0.0
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4], out[i, 5] = s * bc, s * ca, s * ab, s * gh, s * hf, s * fg


@parallel
def _multiply(indptr, indices, values, x, out):  # type: ignore[no-untyped-def]
    for i in prange(len(out)):
        y0 = y1 = y2 = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            y0 += values[k, 0, 0] * x[j, 0] + values[k, 0, 1] * x[j, 1] + values[k, 0, 2] * x[j, 2]
            y1 += values[k, 1, 0] * x[j, 0] + values[k, 1, 1] * x[j, 1] + values[k, 1, 2] * x[j, 2]
            y2 += values[k, 2, 0] * x[j, 0] + values[k, 2, 1] * x[j, 1] + values[k, 2, 2] * x[j, 2]
        out[i, 0] = y0
        out[i, 1] = y1
        out[i, 2] = y2
