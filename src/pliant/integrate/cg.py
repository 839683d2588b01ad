"""Conjugate gradients on 3x3 blocks, preconditioned by symmetric Gauss-Seidel, one solve per body.

Solves A_ff x_f = b_f - A_fp x_p in every active body, where p are its fixed or prescribed nodes, whose x is given.
All scalars (step, stopping, iterations) belong to one body, sums run over fixed chunks of its rows in order, and no
block couples two bodies: neither other bodies nor the number of threads change a bit of the result.

A large body is swept in fixed chunks of rows, side by side. With D the diagonal blocks, L and U the triangles within chunks and E what
couples them, A = D + L + U + E and the preconditioner is M = (D + L) D^-1 (D + U). In the variables of (D + L)^-1 A (D + U)^-1 an iteration
is one sweep back and one forth, together as much work as one product with A (Eisenstat 1981, "Efficient implementation of a class of
preconditioned conjugate gradient methods"; the algorithm is B3 of Shewchuk 1994, "An introduction to the conjugate gradient method
without the agonizing pain"):

    t = (D + U)^-1 p,   y = (D + L)^-1 (p - D t + E t),   q = t + y
    x += alpha t,   r -= alpha q,   r.D r = (b - A x).M^-1 (b - A x)

A body stops when the square root of that is at most tolerance times sqrt(r0.D^-1 r0), r0 the residual at x0: soft and stiff nodes weigh
alike, and where x0 is what a body does by itself it is the change that counts.

Limitations: a nearly singular matrix (thin bodies in a static solve) takes thousands of iterations: use `direct`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.integrate.blocks import BlockMatrix, BlockPattern
from pliant.kernels import contiguous, inline, parallel, prange, use_threads

CONVERGED, OUT_OF_ITERATIONS, NOT_POSITIVE, NOT_FINITE = 0, 1, 2, 3
MEANING = {
    CONVERGED: "converged",
    OUT_OF_ITERATIONS: "stopped at the largest number of iterations",
    NOT_POSITIVE: "the matrix is not positive definite",
    NOT_FINITE: "a force, position or stiffness is not finite",
}

LARGE = 4000  # nodes from which one body alone keeps all threads busy
ROWS = 2048  # rows of a chunk of such a body: fewer give more iterations, more keep fewer threads busy
SWEEPS = 10  # of a solve, about: how much there is to do for each row, in items of `use_threads`
SINGULAR = 1e-15  # p.Ap below this times p.Mp is rounding


@dataclass(frozen=True)
class Solution:
    """What a linear solver found; entries of bodies that were not active are x0, 0, 0, CONVERGED."""

    x: Floats  # (n, 3)
    iterations: Ints  # (B,)
    residual: Floats  # (B,) the residual that is left, relative to that at x0
    status: NDArray[np.int64]  # (B,) CONVERGED, OUT_OF_ITERATIONS, NOT_POSITIVE or NOT_FINITE


def solve(
    matrix: BlockMatrix,
    rhs: Floats,
    x0: Floats,
    free: NDArray[np.bool_],
    active: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    change: Floats | None = None,
) -> Solution:
    """Solve for the free nodes of the active bodies; x0 holds the values of the other nodes.

    rhs, x0 (n, 3); free (n,); active (B,), default all implicit bodies. A body that is NOT_FINITE keeps x0.
    change: where the search starts, seen from x0; a body starts from x0 itself where that is nearer.
    """
    bodies = active_bodies(matrix, rhs, x0, free, active)
    solver, x = Solver(matrix.pattern, free), contiguous(x0).copy()
    begin = None if change is None else np.where(np.asarray(free)[:, None], change, 0.0)[None]
    solver.solve(matrix, contiguous(rhs)[None], x[None], single(bodies), tolerance, max_iterations, begin)
    iterations, status = solver.counts[0].T.copy()
    return Solution(x, iterations, solver.residual[0].copy(), status)


def single(bodies: Ints) -> Ints:
    """Some bodies as what `Solver.solve` is to do with one right-hand side."""
    return np.stack([np.zeros_like(bodies), bodies], axis=1)


class Solver:
    """Room for solves with matrices of one pattern, for callers that know what they pass."""

    def __init__(self, pattern: BlockPattern, free: NDArray[np.bool_]) -> None:
        self.pattern, self.loose, self.sizes = pattern, contiguous(free, np.uint8), np.diff(pattern.body_start)
        self.large = bool((self.sizes >= LARGE).any())
        self._room(1)

    def _room(self, k: int) -> None:
        n, count = self.pattern.n, len(self.sizes)
        self.work, self.partial = np.empty((k, 5, n, 3)), np.empty((n // ROWS + k * count + 1, 2))
        self.counts, self.residual = np.zeros((k, count, 2), np.int64), np.zeros((k, count))  # iterations and status; of the last solve

    def solve(
        self, matrix: BlockMatrix, rhs: Floats, x: Floats, tasks: Ints, tolerance: float, most: int = 1000, change: Floats | None = None
    ) -> None:
        """Solve systems with one matrix and right-hand sides rhs (k, n, 3), starting at x (k, n, 3), in place.

        tasks (t, 2): which right-hand side of which body; change: as in `solve`, (k, n, 3), zero where nodes are not free.
        """
        pattern = self.pattern
        if len(rhs) > len(self.work):
            self._room(len(rhs))
        self.counts[:] = 0
        self.residual[:] = 0.0
        system = (
            pattern.body_start, pattern.indptr, pattern.indices, matrix.values, pattern.diagonal, *matrix.inverse, self.loose, rhs,
            x if change is None else change, change is not None, x, self.work, self.partial, tolerance, most, self.counts, self.residual,
        )  # fmt: skip
        if self.large:
            large = self.sizes[tasks[:, 1]] >= LARGE
            for k, body in tasks[large]:
                use_threads(SWEEPS * int(self.sizes[body]))
                solve_large(k, body, ROWS, 0, *system)
            tasks = tasks[~large]
        if len(tasks):
            use_threads(SWEEPS * int(self.sizes[tasks[:, 1]].sum()) if len(tasks) > 1 else 0)
            solve_small(tasks, *system)


def owners(body_start: Ints) -> Ints:
    """Body of each node, (n,)."""
    return np.repeat(np.arange(len(body_start) - 1), np.diff(body_start))


def active_bodies(
    matrix: BlockMatrix, rhs: Floats, x0: Floats, free: NDArray[np.bool_], active: NDArray[np.bool_] | None
) -> Ints:
    """Numbers of the bodies to be solved, after checking that the arrays fit the matrix."""
    pattern = matrix.pattern
    if rhs.shape != (pattern.n, 3) or x0.shape != (pattern.n, 3) or free.shape != (pattern.n,):
        raise PliantError(
            f"linear solve got rhs {rhs.shape}, x0 {x0.shape}, free {free.shape}; the matrix has {pattern.n} nodes"
        )
    wanted = pattern.implicit if active is None else np.asarray(active, dtype=bool)
    if wanted.shape != pattern.implicit.shape or (wanted & ~pattern.implicit).any():
        raise PliantError(
            f"linear solve of bodies {np.flatnonzero(wanted).tolist()}: only the implicit bodies "
            f"{np.flatnonzero(pattern.implicit).tolist()} have a matrix"
        )
    return np.flatnonzero(wanted & (np.diff(pattern.body_start) > 0))


# -- the compiled passes: each helper does one over the rows lo..hi, a chunk of a body. The large solver runs them on its chunks in
# parallel, the small one on whole bodies, many side by side; both add the partial sums in the order of chunks


@inline
def _times(values, k, x, j):  # type: ignore[no-untyped-def]
    """Block k times x_j."""
    a, b, c = x[j, 0], x[j, 1], x[j, 2]
    return (
        values[k, 0, 0] * a + values[k, 0, 1] * b + values[k, 0, 2] * c,
        values[k, 1, 0] * a + values[k, 1, 1] * b + values[k, 1, 2] * c,
        values[k, 2, 0] * a + values[k, 2, 1] * b + values[k, 2, 2] * c,
    )


@inline
def _divide(inverse, i, a, b, c):  # type: ignore[no-untyped-def]
    """D^-1 times a vector."""
    w = inverse[i]
    return w[0] * a + w[5] * b + w[4] * c, w[5] * a + w[1] * b + w[3] * c, w[4] * a + w[3] * b + w[2] * c


@inline
def _copy(source, target, first, end):  # type: ignore[no-untyped-def]
    for i in range(first, end):
        for c in range(3):
            target[i, c] = source[i, c]


@inline
def _moves(x, first, end):  # type: ignore[no-untyped-def]
    """Whether any of some rows is not zero."""
    for i in range(first, end):
        if x[i, 0] != 0.0 or x[i, 1] != 0.0 or x[i, 2] != 0.0:
            return True
    return False


@inline
def _square(inverse, i, r):  # type: ignore[no-untyped-def]
    """r.D^-1 r of a row."""
    u = _divide(inverse, i, r[i, 0], r[i, 1], r[i, 2])
    return r[i, 0] * u[0] + r[i, 1] * u[1] + r[i, 2] * u[2]


@inline
def _subtract(indptr, indices, values, free, moves, x, b, r, i):  # type: ignore[no-untyped-def]
    """r = b - A x in row i, without the product where x is known to be zero."""
    y0, y1, y2 = b[i, 0], b[i, 1], b[i, 2]
    for k in range(indptr[i], indptr[i + 1] if moves else indptr[i]):
        u = _times(values, k, x, indices[k])
        y0 -= u[0]
        y1 -= u[1]
        y2 -= u[2]
    r[i, 0], r[i, 1], r[i, 2] = y0, y1, y2
    if not free[i]:
        r[i, 0] = r[i, 1] = r[i, 2] = 0.0


@inline
def _residuals(indptr, indices, values, free, inverse, moves, x, begun, change, b, r, y, partial, slot, lo, hi):  # type: ignore[no-untyped-def]
    """r = b - A x and, if there is a change to begin with, y = r - A change, on free rows; r.D^-1 r and y.D^-1 y into a slot."""
    total = other = 0.0
    for i in range(lo, hi):  # row by row: for the second the first has brought the blocks into the cache
        _subtract(indptr, indices, values, free, moves, x, b, r, i)
        total += _square(inverse, i, r)
        if begun:
            _subtract(indptr, indices, values, free, True, change, r, y, i)
            other += _square(inverse, i, y)
    partial[slot, 0], partial[slot, 1] = total, other


@inline
def _begin(indptr, indices, values, diagonal, inverse, free, r, p, y, lo, hi):  # type: ignore[no-untyped-def]
    """r = (D + L)^-1 r in place, y = D r, p = 0; returns r.D r."""
    total = 0.0
    for i in range(lo, hi):
        p[i, 0] = p[i, 1] = p[i, 2] = 0.0
        if not free[i]:
            continue
        y0, y1, y2 = r[i, 0], r[i, 1], r[i, 2]
        for k in range(indptr[i], np.uint32(diagonal[i])):
            if indices[k] >= lo:
                u = _times(values, k, r, indices[k])
                y0 -= u[0]
                y1 -= u[1]
                y2 -= u[2]
        u = _divide(inverse, i, y0, y1, y2)
        r[i, 0], r[i, 1], r[i, 2] = u
        y[i, 0], y[i, 1], y[i, 2] = y0, y1, y2
        total += y0 * u[0] + y1 * u[1] + y2 * u[2]
    return total


@inline
def _back(indptr, indices, values, diagonal, inverse, free, beta, p, t, y, lo, hi):  # type: ignore[no-untyped-def]
    """With y = D r:  p = y + beta p,  t = (D + U)^-1 p,  y = p - D t. Nearest rows come last: theirs are the numbers to wait for."""
    for i in range(hi - 1, lo - 1, -1):
        if not free[i]:
            t[i, 0] = t[i, 1] = t[i, 2] = 0.0
            continue
        here, end = np.uint32(diagonal[i]), indptr[i + 1]
        p0, p1, p2 = y[i, 0] + beta * p[i, 0], y[i, 1] + beta * p[i, 1], y[i, 2] + beta * p[i, 2]
        s0 = s1 = s2 = 0.0
        for m in range(here, end - np.uint32(1)):
            k = end + here - np.uint32(1) - m
            if indices[k] < hi:
                u = _times(values, k, t, indices[k])
                s0 += u[0]
                s1 += u[1]
                s2 += u[2]
        p[i, 0], p[i, 1], p[i, 2] = p0, p1, p2
        y[i, 0], y[i, 1], y[i, 2] = s0, s1, s2
        t[i, 0], t[i, 1], t[i, 2] = _divide(inverse, i, p0 - s0, p1 - s1, p2 - s2)


@inline
def _forth(indptr, indices, values, diagonal, inverse, free, p, t, y, lo, hi):  # type: ignore[no-untyped-def]
    """y = (D + L)^-1 (y + E t); returns p.(t + y)."""
    total = 0.0
    for i in range(lo, hi):
        if not free[i]:
            y[i, 0] = y[i, 1] = y[i, 2] = 0.0
            continue
        y0, y1, y2 = y[i, 0], y[i, 1], y[i, 2]
        k = np.int64(indptr[i + 1]) - 1
        while indices[k] >= hi:
            u = _times(values, k, t, indices[k])
            y0, y1, y2, k = y0 + u[0], y1 + u[1], y2 + u[2], k - 1
        k = np.int64(indptr[i])
        while indices[k] < lo:
            u = _times(values, k, t, indices[k])
            y0, y1, y2, k = y0 + u[0], y1 + u[1], y2 + u[2], k + 1
        for m in range(k, diagonal[i]):
            u = _times(values, m, y, indices[m])
            y0 -= u[0]
            y1 -= u[1]
            y2 -= u[2]
        u = _divide(inverse, i, y0, y1, y2)
        y[i, 0], y[i, 1], y[i, 2] = u
        total += p[i, 0] * (t[i, 0] + u[0]) + p[i, 1] * (t[i, 1] + u[1]) + p[i, 2] * (t[i, 2] + u[2])
    return total


@inline
def _advance(values, diagonal, free, alpha, x, r, t, y, lo, hi):  # type: ignore[no-untyped-def]
    """x += alpha t, r -= alpha (t + y), y = D r; returns r.D r."""
    total = 0.0
    for i in range(lo, hi):
        if free[i]:
            for c in range(3):
                x[i, c] += alpha * t[i, c]
                r[i, c] -= alpha * (t[i, c] + y[i, c])
            y[i, 0], y[i, 1], y[i, 2] = d = _times(values, np.uint32(diagonal[i]), r, i)
            total += r[i, 0] * d[0] + r[i, 1] * d[1] + r[i, 2] * d[2]
    return total


@inline
def _verdict(now, reference, tolerance, count, most):  # type: ignore[no-untyped-def]
    """Status of a body from its residual, or -1 to go on."""
    if not (math.isfinite(now) and math.isfinite(reference)):
        return NOT_FINITE
    if now <= tolerance * tolerance * reference:
        return CONVERGED
    return OUT_OF_ITERATIONS if count >= most else -1


@inline
def _total(partial, first, count, column):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(count):
        total += partial[first + c, column]
    return total


@inline
def _blocks(free, verdict, first, end):  # type: ignore[no-untyped-def]
    """Status that the diagonal blocks of a body give it."""
    worst = 1
    for i in range(first, end):
        if free[i]:
            worst = min(worst, np.int64(verdict[i]))
    return NOT_FINITE if worst < 0 else (NOT_POSITIVE if worst == 0 else CONVERGED)


def _solve_body(  # type: ignore[no-untyped-def]
    which, body, rows, slot, body_start, indptr, indices, values, diagonal, inverse, verdict, free, rhs, changes, begun, xs, works, partial,
    tolerance, most, counts, residual,
):  # fmt: skip
    """Solve one body in chunks of `rows`; its partial sums begin at `slot`, where no other body writes meanwhile."""
    first, end = body_start[body], body_start[body + 1]
    chunks = (end - first + rows - 1) // rows
    b, change, x, work = rhs[which], changes[which], xs[which], works[which]
    r, p, t, y, x0 = work[0], work[1], work[2], work[3], work[4]
    _copy(x, x0, first, end)
    moves, begins = _moves(x, first, end), begun and _moves(change, first, end)
    for c in prange(chunks):
        lo = first + c * rows
        _residuals(
            indptr, indices, values, free, inverse, moves, x, begins, change, b, r, y, partial, slot + c, lo, min(lo + rows, end)
        )
    reference = _total(partial, slot, chunks, 0)
    if begins and _total(partial, slot, chunks, 1) < reference:  # where it starts is nearer than x0
        _copy(y, r, first, end)
        for i in range(first, end):
            for k in range(3):
                x[i, k] += change[i, k]
    state = _blocks(free, verdict, first, end)
    if state == CONVERGED:
        for c in prange(chunks):
            lo = first + c * rows
            partial[slot + c, 0] = _begin(indptr, indices, values, diagonal, inverse, free, r, p, y, lo, min(lo + rows, end))
        now = _total(partial, slot, chunks, 0)
        size, beta, count = now, 0.0, 0  # size: p.D^-1 p, by p_k.D^-1 p_k = r_k.D r_k + beta^2 p_(k-1).D^-1 p_(k-1)
        state = _verdict(now, reference, tolerance, count, most)
        while state < 0:
            for c in prange(chunks):
                lo = first + c * rows
                _back(indptr, indices, values, diagonal, inverse, free, beta, p, t, y, lo, min(lo + rows, end))
            for c in prange(chunks):
                lo = first + c * rows
                partial[slot + c, 0] = _forth(indptr, indices, values, diagonal, inverse, free, p, t, y, lo, min(lo + rows, end))
            curvature = _total(partial, slot, chunks, 0)
            if not curvature > SINGULAR * size:
                state = NOT_POSITIVE if math.isfinite(curvature) else NOT_FINITE
                break
            alpha = now / curvature
            for c in prange(chunks):
                lo = first + c * rows
                partial[slot + c, 0] = _advance(values, diagonal, free, alpha, x, r, t, y, lo, min(lo + rows, end))
            before, now = now, _total(partial, slot, chunks, 0)
            beta = now / before
            size = now + beta * beta * size
            count += 1
            state = _verdict(now, reference, tolerance, count, most)
        counts[which, body, 0] = count
        residual[which, body] = math.sqrt(now / reference) if reference > 0.0 else 0.0
    if state == NOT_FINITE:
        _copy(x0, x, first, end)
    counts[which, body, 1] = state


solve_large = parallel(_solve_body)
_solve_serial = inline(_solve_body)  # here prange is range; no cache of its own, which would clash with the one above


@parallel
def solve_small(  # type: ignore[no-untyped-def]
    tasks, body_start, indptr, indices, values, diagonal, inverse, verdict, free, rhs, changes, begun, xs, works, partial, tolerance, most,
    counts, residual,
):  # fmt: skip
    for k in prange(len(tasks)):
        which, body = tasks[k, 0], tasks[k, 1]
        _solve_serial(
            which, body, body_start[body + 1] - body_start[body], k, body_start, indptr, indices, values, diagonal, inverse, verdict, free,
            rhs, changes, begun, xs, works, partial, tolerance, most, counts, residual,
        )  # fmt: skip
