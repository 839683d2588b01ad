"""Conjugate gradients on 3x3 blocks, preconditioned with the inverse diagonal blocks, one solve per body.

Solves A_ff x_f = b_f - A_fp x_p in every active body, where p are its fixed or prescribed nodes, whose x is given.
All scalars (step, stopping, iterations) belong to one body, sums run over fixed chunks of its rows in order, and no
block couples two bodies: neither other bodies nor the number of threads change a bit of the result.

With r = b - A x, z = P r and P the inverse diagonal blocks, a body stops when sqrt(r.z) is at most tolerance times its
value at x_f = 0: soft and stiff nodes weigh alike. Algorithm: Shewchuk 1994, "An introduction to the conjugate gradient
method without the agonizing pain", B3.

Limitations: a nearly singular matrix (thin bodies in a static solve) takes thousands of iterations: use `direct`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.integrate.blocks import BlockMatrix
from pliant.kernels import CHUNK, contiguous, inline, kernel, parallel, prange

CONVERGED, OUT_OF_ITERATIONS, NOT_POSITIVE, NOT_FINITE = 0, 1, 2, 3
MEANING = {
    CONVERGED: "converged",
    OUT_OF_ITERATIONS: "stopped at the largest number of iterations",
    NOT_POSITIVE: "the matrix is not positive definite",
    NOT_FINITE: "a force, position or stiffness is not finite",
}

LARGE = 4000  # nodes from which one body alone keeps all threads busy
ROWS = CHUNK // 4  # rows of one partial sum
SINGULAR = 1e-15  # p.Ap below this times p.Dp (D: diagonal blocks) is rounding


@dataclass(frozen=True)
class Solution:
    """What a linear solver found; entries of bodies that were not active are x0, 0, 0, CONVERGED."""

    x: Floats  # (n, 3)
    iterations: Ints  # (B,)
    residual: Floats  # (B,) sqrt(r.z), relative to the right-hand side
    status: NDArray[np.int64]  # (B,) CONVERGED, OUT_OF_ITERATIONS, NOT_POSITIVE or NOT_FINITE


def solve(
    matrix: BlockMatrix,
    rhs: Floats,
    x0: Floats,
    free: NDArray[np.bool_],
    active: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    exact_momentum: bool = False,
) -> Solution:
    """Solve for the free nodes of the active bodies, starting at x0, which also holds the values of the other nodes.

    rhs, x0 (n, 3); free (n,); active (B,), default all implicit bodies. A body that is NOT_FINITE keeps x0.
    exact_momentum: bodies without fixed nodes are shifted as a whole so that sum(A x) = sum(rhs) to rounding. Stiffness
    does not feel a translation, so the shift is the missing sum over the sum of `matrix.lumped`; stopping early then
    loses no momentum.
    """
    pattern = matrix.pattern
    bodies = active_bodies(matrix, rhs, x0, free, active)
    sizes = np.diff(pattern.body_start)
    x, b = contiguous(x0).copy(), contiguous(rhs)
    loose = contiguous(free, np.uint8)
    iterations = np.zeros(len(sizes), dtype=np.int64)
    status = np.zeros(len(sizes), dtype=np.int64)
    residual = np.zeros(len(sizes))
    system = (pattern.indptr, pattern.indices, matrix.values, pattern.diagonal, b, loose, x)
    vectors = (np.empty_like(x), np.empty_like(x), np.empty_like(x), np.empty_like(x), np.empty((len(x), 6)))
    slots = len(x) // ROWS + len(sizes) + 1
    scratch = (*vectors, np.empty(slots), np.empty(slots), np.empty(slots, dtype=np.int64))
    limits = (float(tolerance), int(max_iterations))
    results = (iterations, residual, status)
    small = bodies[sizes[bodies] < LARGE]
    if len(small):
        solve_small(small, pattern.body_start, *system, *scratch, *limits, *results)
    for body in bodies[sizes[bodies] >= LARGE]:
        solve_large(body, pattern.body_start, *system, *scratch, *limits, *results)
    failed = bodies[status[bodies] == NOT_FINITE]
    if len(failed):
        mask = np.isin(owners(pattern.body_start), failed)
        x[mask] = x0[mask]
    if exact_momentum:
        match_momentum(matrix, bodies[status[bodies] <= OUT_OF_ITERATIONS], b, loose, x)
    return Solution(x, iterations, residual, status)


def match_momentum(matrix: BlockMatrix, bodies: Ints, rhs: Floats, free: NDArray[Any], x: Floats) -> None:
    """Shift those of the bodies that have no fixed node, in x itself, so that sum(A x) = sum(rhs)."""
    _match_momentum(bodies, matrix.pattern.body_start, contiguous(rhs), matrix.lumped, contiguous(free, np.uint8), x)


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


@kernel
def _match_momentum(bodies, body_start, b, lumped, free, x):  # type: ignore[no-untyped-def]
    """Shift bodies without fixed nodes so that sum(lumped x) = sum(b)."""
    for body in bodies:
        first, end = body_start[body], body_start[body + 1]
        mass = m0 = m1 = m2 = 0.0
        loose = True
        for i in range(first, end):
            loose = loose and free[i] != 0
            mass += lumped[i]
            m0 += b[i, 0] - lumped[i] * x[i, 0]
            m1 += b[i, 1] - lumped[i] * x[i, 1]
            m2 += b[i, 2] - lumped[i] * x[i, 2]
        if loose and mass > 0.0:
            for i in range(first, end):
                x[i, 0] += m0 / mass
                x[i, 1] += m1 / mass
                x[i, 2] += m2 / mass


# -- the compiled passes: each helper does one over the rows lo..hi of a body. The large solver runs them on fixed chunks in parallel, the
# small one in order, many bodies side by side; both add the partial sums in the order of chunks


@inline
def _inverse(d):  # type: ignore[no-untyped-def]
    """Inverse of a symmetric 3x3 block as (xx, yy, zz, yz, xz, xy), and 1 if positive definite, 0 if not, -1 if NaN."""
    a, b, c = d[0, 0], d[1, 1], d[2, 2]
    f, g, h = 0.5 * (d[1, 2] + d[2, 1]), 0.5 * (d[0, 2] + d[2, 0]), 0.5 * (d[0, 1] + d[1, 0])
    bc, ca, ab = b * c - f * f, c * a - g * g, a * b - h * h
    gh, hf, fg = g * h - a * f, h * f - b * g, f * g - c * h
    det = a * bc + h * fg + g * hf
    verdict = 1
    if not (math.isfinite(a + b + c) and math.isfinite(f + g + h)):
        verdict = -1
    elif not (a > 0.0 and ab > 1e-14 * a * b and det > 1e-14 * ab * c):
        verdict = 0
    s = 1.0 / det if verdict == 1 else 0.0
    return s * bc, s * ca, s * ab, s * gh, s * hf, s * fg, verdict


@inline
def _precondition(inverse, i, u0, u1, u2):  # type: ignore[no-untyped-def]
    w = inverse[i]
    return (
        w[0] * u0 + w[5] * u1 + w[4] * u2,
        w[5] * u0 + w[1] * u1 + w[3] * u2,
        w[4] * u0 + w[3] * u1 + w[2] * u2,
    )


@inline
def _begin(indptr, indices, values, diagonal, b, free, x, r, z, p, inverse, lo, hi):  # type: ignore[no-untyped-def]
    """Residual, preconditioner, first direction; returns r.z, the same at x_f = 0, and the worst verdict on blocks."""
    now = reference = 0.0
    worst = 1
    for i in range(lo, hi):
        for c in range(3):
            r[i, c] = z[i, c] = p[i, c] = 0.0
        if free[i]:
            y0, y1, y2, verdict = _start_row(indptr, indices, values, diagonal, b, free, x, r, z, p, inverse, i)
            worst = min(worst, verdict)
            now += r[i, 0] * z[i, 0] + r[i, 1] * z[i, 1] + r[i, 2] * z[i, 2]
            w0, w1, w2 = _precondition(inverse, i, y0, y1, y2)
            reference += y0 * w0 + y1 * w1 + y2 * w2
    return now, reference, worst


@inline
def _start_row(indptr, indices, values, diagonal, b, free, x, r, z, p, inverse, i):  # type: ignore[no-untyped-def]
    """Row i of `_begin`; returns b_f - A_fp x_p and the verdict on the diagonal block."""
    y0, y1, y2 = b[i, 0], b[i, 1], b[i, 2]
    s0 = s1 = s2 = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        j = indices[k]
        t0 = values[k, 0, 0] * x[j, 0] + values[k, 0, 1] * x[j, 1] + values[k, 0, 2] * x[j, 2]
        t1 = values[k, 1, 0] * x[j, 0] + values[k, 1, 1] * x[j, 1] + values[k, 1, 2] * x[j, 2]
        t2 = values[k, 2, 0] * x[j, 0] + values[k, 2, 1] * x[j, 1] + values[k, 2, 2] * x[j, 2]
        if free[j]:
            s0 += t0
            s1 += t1
            s2 += t2
        else:
            y0 -= t0
            y1 -= t1
            y2 -= t2
    xx, yy, zz, yz, xz, xy, verdict = _inverse(values[diagonal[i]])
    inverse[i, 0], inverse[i, 1], inverse[i, 2] = xx, yy, zz
    inverse[i, 3], inverse[i, 4], inverse[i, 5] = yz, xz, xy
    r0, r1, r2 = y0 - s0, y1 - s1, y2 - s2
    z0, z1, z2 = _precondition(inverse, i, r0, r1, r2)
    r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
    z[i, 0], z[i, 1], z[i, 2] = z0, z1, z2
    p[i, 0], p[i, 1], p[i, 2] = z0, z1, z2
    return y0, y1, y2, verdict


@inline
def _product(indptr, indices, values, free, p, q, lo, hi):  # type: ignore[no-untyped-def]
    """q = A p on free rows; returns p.q."""
    total = 0.0
    for i in range(lo, hi):
        y0 = y1 = y2 = 0.0
        if free[i]:
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                y0 += values[k, 0, 0] * p[j, 0] + values[k, 0, 1] * p[j, 1] + values[k, 0, 2] * p[j, 2]
                y1 += values[k, 1, 0] * p[j, 0] + values[k, 1, 1] * p[j, 1] + values[k, 1, 2] * p[j, 2]
                y2 += values[k, 2, 0] * p[j, 0] + values[k, 2, 1] * p[j, 1] + values[k, 2, 2] * p[j, 2]
        q[i, 0], q[i, 1], q[i, 2] = y0, y1, y2
        total += p[i, 0] * y0 + p[i, 1] * y1 + p[i, 2] * y2
    return total


@inline
def _advance(alpha, free, x, r, z, p, q, inverse, lo, hi):  # type: ignore[no-untyped-def]
    """x += alpha p, r -= alpha q, z = P r; returns r.z."""
    total = 0.0
    for i in range(lo, hi):
        if free[i]:
            x[i, 0] += alpha * p[i, 0]
            x[i, 1] += alpha * p[i, 1]
            x[i, 2] += alpha * p[i, 2]
            r0 = r[i, 0] - alpha * q[i, 0]
            r1 = r[i, 1] - alpha * q[i, 1]
            r2 = r[i, 2] - alpha * q[i, 2]
            z0, z1, z2 = _precondition(inverse, i, r0, r1, r2)
            r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
            z[i, 0], z[i, 1], z[i, 2] = z0, z1, z2
            total += r0 * z0 + r1 * z1 + r2 * z2
    return total


@inline
def _turn(beta, z, p, lo, hi):  # type: ignore[no-untyped-def]
    """p = z + beta p."""
    for i in range(lo, hi):
        for c in range(3):
            p[i, c] = z[i, c] + beta * p[i, c]


@inline
def _verdict(now, reference, worst, tolerance, count, most):  # type: ignore[no-untyped-def]
    """Status of a body from its residual, or -1 to go on."""
    if worst < 0 or not (math.isfinite(now) and math.isfinite(reference)):
        return NOT_FINITE
    if worst == 0:
        return NOT_POSITIVE
    if reference == 0.0 or now <= tolerance * tolerance * reference:
        return CONVERGED
    return OUT_OF_ITERATIONS if count >= most else -1


@inline
def _total(partial, first, count):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(count):
        total += partial[first + c]
    return total


@inline
def _report(body, now, reference, count, state, iterations, residual, status):  # type: ignore[no-untyped-def]
    iterations[body] = count
    status[body] = state
    residual[body] = math.sqrt(now / reference) if reference > 0.0 else 0.0


def _solve_body(  # type: ignore[no-untyped-def]
    body, body_start, indptr, indices, values, diagonal, b, free, x, r, z, p, q, inverse, partial, other, worsts,
    tolerance, most, iterations, residual, status,
):  # fmt: skip
    first, end = body_start[body], body_start[body + 1]
    chunks = (end - first + ROWS - 1) // ROWS
    slot = first // ROWS + body  # partial sums of body k begin here: no two bodies share one
    for c in prange(chunks):
        lo = first + c * ROWS
        partial[slot + c], other[slot + c], worsts[slot + c] = _begin(
            indptr, indices, values, diagonal, b, free, x, r, z, p, inverse, lo, min(lo + ROWS, end)
        )
    now, reference = _total(partial, slot, chunks), _total(other, slot, chunks)
    worst = 1
    for c in range(chunks):
        worst = min(worst, worsts[slot + c])
    size = now  # p.Dp, by p_k.Dp_k = r_k.z_k + beta^2 p_(k-1).Dp_(k-1), since r_k is orthogonal to p_(k-1)
    count = 0
    state = _verdict(now, reference, worst, tolerance, count, most)
    while state < 0:
        for c in prange(chunks):
            lo = first + c * ROWS
            partial[slot + c] = _product(indptr, indices, values, free, p, q, lo, min(lo + ROWS, end))
        curvature = _total(partial, slot, chunks)
        if not curvature > SINGULAR * size:
            state = NOT_POSITIVE if math.isfinite(curvature) else NOT_FINITE
            break
        alpha = now / curvature
        for c in prange(chunks):
            lo = first + c * ROWS
            partial[slot + c] = _advance(alpha, free, x, r, z, p, q, inverse, lo, min(lo + ROWS, end))
        before, now = now, _total(partial, slot, chunks)
        count += 1
        state = _verdict(now, reference, worst, tolerance, count, most)
        if state < 0:
            beta = now / before
            size = now + beta * beta * size
            for c in prange(chunks):
                lo = first + c * ROWS
                _turn(beta, z, p, lo, min(lo + ROWS, end))
    if reference == 0.0 and state == CONVERGED:  # no load: exactly zero, whatever x0 was
        now = 0.0
        for i in range(first, end):
            if free[i]:
                x[i, 0] = x[i, 1] = x[i, 2] = 0.0
    _report(body, now, reference, count, state, iterations, residual, status)


solve_large = parallel(_solve_body)
_solve_serial = inline(_solve_body)  # here prange is range; no cache of its own, which would clash with the one above


@parallel
def solve_small(  # type: ignore[no-untyped-def]
    bodies, body_start, indptr, indices, values, diagonal, b, free, x, r, z, p, q, inverse, partial, other, worsts,
    tolerance, most, iterations, residual, status,
):  # fmt: skip
    for k in prange(len(bodies)):
        _solve_serial(
            bodies[k], body_start, indptr, indices, values, diagonal, b, free, x, r, z, p, q, inverse, partial, other,
            worsts, tolerance, most, iterations, residual, status,
        )  # fmt: skip
