"""Lemke's complementary pivoting on a dense tableau with the covering vector e: exact, slow, takes any matrix; the oracle of the other
solvers.

Ends with a solution for every strictly copositive matrix (Boussinesq: all entries positive) and every positive definite one. If it ends
on a ray there is no solution to be found, and that is an error with the facts.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.operators import Dense, Operator
from pliant.kernels import kernel

MOST = 1500  # nodes; a pivot costs 4 n^2 operations, and there are about as many as nodes in contact


@kernel
def _pivot(table, row, column):  # type: ignore[no-untyped-def]
    scale = 1.0 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= scale
    for i in range(table.shape[0]):
        c = table[i, column]
        if i != row and c != 0.0:
            for j in range(table.shape[1]):
                table[i, j] -= c * table[row, j]


@kernel
def _lemke(table, basis, most):  # type: ignore[no-untyped-def]
    """Pivot until z0 leaves. Columns: w, z, z0, right-hand side. Returns (pivots, status): 0 solved, 1 ray, 2 too many."""
    n = table.shape[0]
    z0, rhs = 2 * n, 2 * n + 1
    row = 0
    for i in range(n):
        if table[i, rhs] < table[row, rhs]:
            row = i
    entering = z0
    for count in range(1, most + 1):
        leaving = basis[row]
        _pivot(table, row, entering)
        basis[row] = entering
        if leaving == z0:
            return count, 0
        entering = leaving + n if leaving < n else leaving - n
        row, best = -1, np.inf
        for i in range(n):
            if table[i, entering] > 1e-12:
                ratio = table[i, rhs] / table[i, entering]
                if row < 0 or ratio < best - 1e-14 * abs(best) or (ratio <= best + 1e-14 * abs(best) and basis[i] == z0):
                    row, best = i, ratio
        if row < 0:
            return count, 1
    return most, 2


def solve(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> lcp.Solution:
    """See lcp.solve; pivoting has no use for a start."""
    n = K.size
    if n > MOST:
        raise PliantError(f"Lemke's method is for small problems: {n} nodes are more than {MOST}. Use 'active-set' instead.")
    K = Dense(K.block(np.arange(n)))
    unit, size = float(np.max(K.diagonal)), float(np.max(np.abs(q)))  # lengths in units of q, forces of q / K
    table = np.hstack([np.eye(n), -K.matrix / unit, -np.ones((n, 1)), q[:, None] / size])
    basis = np.arange(n)
    count, status = _lemke(table, basis, 50 * n if most is None else most)
    if status == 1:
        raise PliantError(
            f"Lemke's method ended on a ray after {count} pivots: the problem has no solution that it can reach. "
            f"Smallest separation {q.min():.3g}, asymmetry {np.max(np.abs(K.matrix - K.matrix.T)):.3g}, "
            f"smallest diagonal {K.diagonal.min():.3g}. Is the matrix positive definite?"
        )
    force = np.zeros(n)
    inside = (basis >= n) & (basis < 2 * n)
    force[basis[inside] - n] = np.maximum(table[inside, -1], 0.0) * size / unit
    s = K @ force + q
    error = lcp.residual(K.diagonal, q, force, s)
    return lcp.Solution(force, s, lcp.SOLVED if status == 0 and error <= tolerance else lcp.STALLED, int(count), error, "lemke")
