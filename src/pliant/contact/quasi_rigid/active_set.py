"""Primal-dual active set: guess who touches, solve for their forces exactly, correct the guess (2.7 of the methods page).

    K_cc P_c = -q_c,   c <- { P - s / K_ii > 0 }

Two to eight guesses from a good start; without one, a few conjugate gradients make it. Not globally convergent for every positive
definite K: a set that comes back, or more than 50 sets, hand over to conjugate gradients.
"""

from __future__ import annotations

import numpy as np

from pliant.contact.quasi_rigid import lcp, polonsky_keer
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.operators import Operator
from pliant.geometry.mesh import Floats

GUESS = 1e-3  # residual of the gradients that find the first set


def solve(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> lcp.Solution:
    """See lcp.solve."""
    guess = start if start is not None and np.any(start > 0.0) else polonsky_keer.solve(K, q, None, GUESS, 60).P
    contact = guess > 0.0
    seen = set()
    for count in range(1, (50 if most is None else most) + 1):
        nodes = np.flatnonzero(contact)
        factor = Factor.of(K.block(nodes))
        if factor is None:
            return lcp.Solution(guess, K @ guess + q, lcp.INDEFINITE, count, np.inf, "active-set")
        force = np.zeros(K.size)
        force[nodes] = factor.solve(-q[nodes])
        s = K @ force + q
        s[nodes] = 0.0
        after = force - s / K.diagonal > 0.0
        if np.array_equal(after, contact):
            return lcp.Solution(force, s, lcp.SOLVED, count, lcp.residual(K.diagonal, q, force, K @ force + q), "active-set")
        seen.add(contact.tobytes())
        contact = after
        if contact.tobytes() in seen:
            break
    found = polonsky_keer.solve(K, q, np.maximum(force, 0.0), tolerance, None)
    return lcp.Solution(found.P, found.s, found.status, count + found.iterations, found.residual, "active-set, then conjugate-gradients")
