"""Projected Gauss-Seidel with over-relaxation: a few sweeps where a rough answer will do, 60 to 100 for 1e-8 (2.7 of the methods page).

Every sweep lowers the energy 1/2 P'KP + q'P.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.operators import Dense, Operator
from pliant.kernels import kernel

RELAXATION = 1.3


@kernel
def _sweep(matrix, relaxation, force, s):  # type: ignore[no-untyped-def]
    """One pass over all nodes in place; s = K P + q is kept up to date."""
    n = len(force)
    for i in range(n):
        row = matrix[i]
        change = max(-relaxation * s[i] / row[i], -force[i])
        if change != 0.0:
            force[i] += change
            for j in range(n):
                s[j] += change * row[j]


def solve(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> lcp.Solution:
    """See lcp.solve."""
    K = Dense(K.block(np.arange(K.size)))
    force = np.zeros(K.size) if start is None else start.copy()
    s = K @ force + q
    error, count, limit = np.inf, 0, 200 if most is None else most
    while error > tolerance and count < limit:
        _sweep(K.matrix, RELAXATION, force, s)
        count += 1
        error = lcp.residual(K.diagonal, q, force, s)
    s = K @ force + q
    error = lcp.residual(K.diagonal, q, force, s)
    return lcp.Solution(force, s, lcp.SOLVED if error <= tolerance else lcp.STALLED, count, error, "gauss-seidel")
