"""Sparse matrices of 3x3 blocks, assembled from element stiffness without races.

Which blocks exist is found once (`BlockPattern`). Every stored block knows its contributions, the element blocks that
add up to it, in a fixed order; so threads each fill their own blocks and the sum never depends on how many there are.
Element blocks come as upper triangles (see `bodies/elements.py`); both triangles of the matrix are stored, because then
a product with a vector is one independent sum per row.

Rows are world nodes. Nodes of bodies that are not implicit have empty rows, and no block couples two bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.kernels import contiguous, parallel, prange

# Unsigned, because for a signed index compiled code first asks whether it is negative: a tenth of a product's time.
Indices = NDArray[np.uint32]


@dataclass(frozen=True)
class BlockPattern:
    """Where the blocks are, and which element blocks make each of them. Build with `BlockPattern.build`."""

    body_start: Ints  # (B + 1,) first node of each body; the last entry is the number of nodes n
    implicit: NDArray[np.bool_]  # (B,) bodies that have rows
    indptr: Indices  # (n + 1,) first block of each row
    indices: Indices  # (nnz,) column of each block, ascending in a row
    diagonal: NDArray[np.int32]  # (n,) position of the diagonal block, -1 for an empty row
    upper: Indices  # (U, 2) positions in `indices` of an upper block and of its mirror image; equal on the diagonal
    gather_start: Indices  # (U + 1,) first contribution of each upper block
    gather: Indices  # (G,) contributions: 2 * element block + (1 if it is to be transposed)
    gather_element: Indices  # (G,) element of each contribution, counted through all groups
    shapes: tuple[tuple[int, int], ...]  # (elements, corners) of each group

    @staticmethod
    def build(groups: Sequence[Ints], body_start: Ints, implicit: NDArray[np.bool_] | None = None) -> BlockPattern:
        """The pattern of element groups `nodes (E, c)`; elements of bodies that are not implicit are left out."""
        start = np.asarray(body_start, dtype=np.int64)
        wanted = np.ones(len(start) - 1, dtype=bool) if implicit is None else np.asarray(implicit, dtype=bool)
        owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
        n = int(start[-1])
        shapes = tuple((len(nodes), nodes.shape[1]) for nodes in groups)
        low, high, code, element = _contributions(groups, owner, wanted)
        order = np.argsort(low * n + high, kind="stable")  # stable: contributions stay in element order
        key = (low * n + high)[order]
        own = np.flatnonzero(wanted[owner])
        upper = np.unique(np.concatenate([key, own * (n + 1)]))  # a node without elements still has its diagonal
        row, column = upper // n, upper % n
        indptr, indices, position, mirror = _both_triangles(row, column, n)
        diagonal = np.full(n, -1, dtype=np.int32)
        diagonal[own] = position[row == column]
        return BlockPattern(
            body_start=start,
            implicit=wanted,
            indptr=indptr,
            indices=indices,
            diagonal=diagonal,
            upper=np.ascontiguousarray(np.stack([position, mirror], axis=1), dtype=np.uint32),
            gather_start=np.append(np.searchsorted(key, upper), len(key)).astype(np.uint32),
            gather=code[order].astype(np.uint32),
            gather_element=element[order].astype(np.uint32),
            shapes=shapes,
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.diagonal)

    def element_blocks(self) -> tuple[Floats, list[Floats]]:
        """Memory for the element blocks of all groups, and for each group its part (E, c (c + 1) / 2, 3, 3) of it."""
        sizes = [e * c * (c + 1) // 2 for e, c in self.shapes]
        flat = np.empty((sum(sizes), 3, 3))
        ends = np.cumsum(sizes)
        parts = [
            flat[end - size : end].reshape(e, c * (c + 1) // 2, 3, 3)
            for end, size, (e, c) in zip(ends, sizes, self.shapes, strict=True)
        ]
        return flat, parts

    def assemble(self, blocks: Floats, scale: Floats, lumped: Floats, out: Floats | None = None) -> BlockMatrix:
        """diag(lumped) + sum over elements e of scale_e K_e.

        blocks: flat element blocks of `element_blocks`; scale (elements of all groups,); lumped (n,), same in x, y, z.
        Implicit Euler, A = M + dt C + dt^2 K with C = a M + b K: scale = dt b_e + dt^2, lumped = m (1 + dt a).
        Static equilibrium: scale = 1, lumped = 0.
        """
        elements = sum(e for e, _ in self.shapes)
        total = sum(e * c * (c + 1) // 2 for e, c in self.shapes)
        if blocks.shape != (total, 3, 3) or scale.shape != (elements,) or lumped.shape != (self.n,):
            raise PliantError(
                f"block assembly got blocks {blocks.shape}, scale {scale.shape}, lumped {lumped.shape}; this pattern "
                f"needs {(total, 3, 3)}, {(elements,)}, {(self.n,)}: make the blocks with element_blocks()"
            )
        values = np.empty((len(self.indices), 3, 3)) if out is None else out
        lumped = contiguous(lumped)
        _assemble(
            contiguous(blocks),
            contiguous(scale),
            self.upper,
            self.gather_start,
            self.gather,
            self.gather_element,
            values,
        )
        _add_diagonal(values, self.diagonal, lumped)
        return BlockMatrix(self, values, lumped)


@dataclass(frozen=True)
class BlockMatrix:
    """A symmetric block matrix on a pattern."""

    pattern: BlockPattern
    values: Floats  # (nnz, 3, 3)
    lumped: Floats  # (n,) the part that is not stiffness: it alone feels a translation of a whole body

    def __matmul__(self, x: Floats) -> Floats:
        """A x for x (n, 3); rows of bodies that are not implicit give zero."""
        out = np.empty((self.pattern.n, 3))
        _multiply(self.pattern.indptr, self.pattern.indices, self.values, contiguous(x), out)
        return out

    def shifted(self, amount: Floats) -> BlockMatrix:
        """A copy with amount (n,) added along the diagonal."""
        values = self.values.copy()
        _add_diagonal(values, self.pattern.diagonal, contiguous(amount))
        return replace(self, values=values, lumped=self.lumped + amount)

    def trace(self) -> Floats:
        """A third of the trace of each diagonal block, (n,): the mean stiffness of a node; 0 for an empty row."""
        has = self.pattern.diagonal >= 0
        out = np.zeros(self.pattern.n)
        out[has] = np.trace(self.values[self.pattern.diagonal[has]], axis1=1, axis2=2) / 3.0
        return out

    def to_scipy(self, body: int | None = None) -> scipy.sparse.bsr_array:
        """The matrix (3 n, 3 n), or the part (3 k, 3 k) of one body, sharing the values."""
        p = self.pattern
        first, last = (0, p.n) if body is None else (int(p.body_start[body]), int(p.body_start[body + 1]))
        lo, hi = p.indptr[first], p.indptr[last]
        size = 3 * (last - first)
        indices, indptr = p.indices[lo:hi] - np.uint32(first), p.indptr[first : last + 1] - lo
        return scipy.sparse.bsr_array((self.values[lo:hi], indices.view(np.int32), indptr.view(np.int32)), (size, size))


def _contributions(groups: Sequence[Ints], owner: Ints, wanted: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints, Ints]:
    """Lower and higher node, code and element of every element block that belongs to an implicit body."""
    lows, highs, codes, elements = [], [], [], []
    first_block = first_element = 0
    for number, nodes in enumerate(groups):
        count, corners = nodes.shape
        _check(nodes, owner, number)
        a, b = np.triu_indices(corners)  # row by row: the order of the blocks that `Elements.stiffness` writes
        used = np.flatnonzero(wanted[owner[nodes[:, 0]]]) if count else np.empty(0, dtype=np.int64)
        row, column = nodes[used][:, a], nodes[used][:, b]
        block = first_block + used[:, None] * len(a) + np.arange(len(a))
        lows.append(np.minimum(row, column).ravel())
        highs.append(np.maximum(row, column).ravel())
        codes.append((2 * block + (row > column)).ravel())
        elements.append(np.repeat(first_element + used, len(a)))
        first_block += count * len(a)
        first_element += count
    if first_block >= 2**31:
        raise PliantError(f"{first_block} element blocks are more than the {2**31} a matrix can take: split the scene")
    empty = [np.empty(0, dtype=np.int64)]
    low, high, code, element = (np.concatenate(part or empty) for part in (lows, highs, codes, elements))
    return low, high, code, element


def _check(nodes: Ints, owner: Ints, group: int) -> None:
    """Refuse elements that repeat a node, name one that is not there, or couple two bodies."""
    if not len(nodes):
        return
    if nodes.min() < 0 or nodes.max() >= len(owner):
        raise PliantError(f"element group {group} names a node outside 0..{len(owner) - 1}")
    ordered = np.sort(nodes, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(twice):
        raise PliantError(
            f"element {twice[0]} of group {group} uses a node twice ({nodes[twice[0]].tolist()}): it has no volume or "
            f"length and no stiffness; remove it from the mesh"
        )
    across = np.flatnonzero((owner[nodes] != owner[nodes[:, :1]]).any(axis=1))
    if len(across):
        raise PliantError(
            f"element {across[0]} of group {group} joins bodies {np.unique(owner[nodes[across[0]]]).tolist()}: bodies "
            f"are solved one by one, so joining them takes an attachment"
        )


def _both_triangles(row: Ints, column: Ints, n: int) -> tuple[Indices, Indices, Ints, Ints]:
    """indptr, indices of the full matrix, and where each upper block (row <= column, sorted) and its mirror went."""
    off = row != column
    rows = np.concatenate([row, column[off]])
    columns = np.concatenate([column, row[off]])
    order = np.argsort(rows * n + columns)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.uint32)
    mirror = place[: len(row)].copy()
    mirror[off] = place[len(row) :]
    return indptr, columns[order].astype(np.uint32), place[: len(row)], mirror


@parallel
def _assemble(blocks, scale, upper, gather_start, gather, gather_element, values):  # type: ignore[no-untyped-def]
    for u in prange(len(upper)):
        a00 = a01 = a02 = a10 = a11 = a12 = a20 = a21 = a22 = 0.0
        for g in range(gather_start[u], gather_start[u + 1]):
            s = scale[gather_element[g]]
            k = blocks[gather[g] >> np.uint32(1)]
            a00 += s * k[0, 0]
            a11 += s * k[1, 1]
            a22 += s * k[2, 2]
            if gather[g] & np.uint32(1):
                a01 += s * k[1, 0]
                a02 += s * k[2, 0]
                a10 += s * k[0, 1]
                a12 += s * k[2, 1]
                a20 += s * k[0, 2]
                a21 += s * k[1, 2]
            else:
                a01 += s * k[0, 1]
                a02 += s * k[0, 2]
                a10 += s * k[1, 0]
                a12 += s * k[1, 2]
                a20 += s * k[2, 0]
                a21 += s * k[2, 1]
        v, w = values[upper[u, 0]], values[upper[u, 1]]
        w[0, 0], w[0, 1], w[0, 2] = a00, a10, a20
        w[1, 0], w[1, 1], w[1, 2] = a01, a11, a21
        w[2, 0], w[2, 1], w[2, 2] = a02, a12, a22
        v[0, 0], v[0, 1], v[0, 2] = a00, a01, a02
        v[1, 0], v[1, 1], v[1, 2] = a10, a11, a12
        v[2, 0], v[2, 1], v[2, 2] = a20, a21, a22


def _add_diagonal(values: Floats, diagonal: NDArray[np.int32], amount: Floats) -> None:
    """Add amount_i times the unit matrix to the diagonal block of every row i that has one."""
    rows = np.flatnonzero(diagonal >= 0)
    axis = np.arange(3)
    values[diagonal[rows][:, None], axis, axis] += amount[rows][:, None]


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
