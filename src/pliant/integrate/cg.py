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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.cg_kernels import (
    CONVERGED,
    NOT_FINITE,
    NOT_POSITIVE,
    OUT_OF_ITERATIONS,
    ROWS,
    solve_large,
    solve_small,
)
from pliant.kernels import contiguous, kernel

MEANING = {
    CONVERGED: "converged",
    OUT_OF_ITERATIONS: "stopped at the largest number of iterations",
    NOT_POSITIVE: "the matrix is not positive definite",
    NOT_FINITE: "a force, position or stiffness is not finite",
}

LARGE = 4000  # nodes from which one body alone keeps all threads busy


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


def solve_many(
    matrix: BlockMatrix,
    rhs: Floats,
    free: NDArray[np.bool_],
    active: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> list[Solution]:
    """Solve for each of the right-hand sides (k, n, 3), with zero at the nodes that are not free."""
    zero = np.zeros(rhs.shape[1:])
    return [solve(matrix, one, zero, free, active, tolerance, max_iterations) for one in rhs]


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
