"""Primal-dual active set: guess who touches, solve for their forces exactly, correct the guess (2.7 of the methods page).

    K_cc P_c = -q_c,   c <- { P - s / K_ii > 0 }

Without a start, a few conjugate gradients make the first guess, which is then right but for a few nodes; they are counted as iterations,
as sets are. The first set is solved with a
Cholesky factor; while later sets differ from it by few nodes, that factor preconditions conjugate gradients, which need about one
product for each such node.

Not globally convergent for every positive definite K: a set that comes back, or too many sets, hand over to conjugate gradients on the
whole problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid import lcp, polonsky_keer
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.operators import Operator
from pliant.contact.quasi_rigid.polonsky_keer import dot

GUESS = 3e-4  # residual of the gradients that find the first set
SETS = 50  # tried at most
FEW = 24  # nodes that a set may differ by from the one that was factored
FACTORED = 300  # nodes up to which factoring again is cheaper


def solve(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> lcp.Solution:
    """See lcp.solve."""
    guess, before = start, 0  # gradients that were needed to guess
    if guess is None or not np.any(guess > 0.0):
        first = polonsky_keer.solve(K, q, None, GUESS, 60)
        guess, before = first.P, first.iterations
    contact = guess > 0.0
    factored: Factored | None = None
    seen = set()
    for count in range(1, (SETS if most is None else most) + 1):
        nodes = np.flatnonzero(contact)
        if factored is None or not factored.near(nodes):
            factored = Factored.of(K, nodes)
            if factored is None:
                return lcp.Solution(guess, K @ guess + q, lcp.INDEFINITE, before + count, np.inf, "active-set")
        force = factored.forces(K, nodes, -q)
        s = K @ force + q
        after = force - np.where(contact, 0.0, s) / K.diagonal > 0.0
        if np.array_equal(after, contact):
            return _refined(K, q, factored, nodes, force, s, tolerance, before + count)
        seen.add(contact.tobytes())
        contact = after
        if contact.tobytes() in seen:
            break
    found = polonsky_keer.solve(K, q, np.maximum(force, 0.0), tolerance, None)
    count += before + found.iterations
    return lcp.Solution(found.P, found.s, found.status, count, found.residual, "active-set, then conjugate-gradients")


def _refined(
    K: Operator, q: Floats, factored: Factored, nodes: Ints, force: Floats, s: Floats, tolerance: float, count: int
) -> lcp.Solution:
    """Correct the forces where K multiplies only nearly as its blocks say (far_field.py)."""
    error = lcp.residual(K.diagonal, q, force, s)
    for _ in range(3):
        if error <= tolerance:
            break
        force = np.maximum(force - factored.forces(K, nodes, s), 0.0)
        s = K @ force + q
        error = lcp.residual(K.diagonal, q, force, s)
    return lcp.Solution(force, s, lcp.SOLVED if error <= tolerance else lcp.STALLED, count, error, "active-set")


@dataclass(frozen=True)
class Factored:
    """A set of nodes and the factor of its matrix."""

    nodes: Ints
    factor: Factor

    @classmethod
    def of(cls, K: Operator, nodes: Ints) -> Factored | None:
        factor = Factor.of(K.block(nodes))
        return None if factor is None else cls(nodes, factor)

    def near(self, nodes: Ints) -> bool:
        """True if a set differs so little that it need not be factored."""
        return len(nodes) > FACTORED and len(np.setxor1d(nodes, self.nodes, assume_unique=True)) <= FEW

    def forces(self, K: Operator, nodes: Ints, b: Floats) -> Floats:
        """P = K_cc^-1 b_c on the nodes, zero elsewhere: directly for the set that was factored, else by conjugate gradients."""
        if np.array_equal(nodes, self.nodes):
            return self._solved(K.size, b)
        here, there = np.zeros(K.size, bool), np.zeros(K.size, bool)
        here[nodes], there[self.nodes] = True, True
        added = here & ~there
        x, r = np.zeros(K.size), np.where(here, b, 0.0)
        end, t, size = 1e-28 * dot(r, r), np.zeros(K.size), 1.0
        for _ in range(4 * FEW):
            if dot(r, r) <= end:
                break
            z = np.where(here, self._solved(K.size, np.where(there, r, 0.0)), 0.0) + np.where(added, r / K.diagonal, 0.0)
            before, size = size, dot(r, z)
            t = z + size / before * t
            give = np.where(here, K @ t, 0.0)
            step = size / dot(t, give)
            x, r = x + step * t, r - step * give
        return x

    def _solved(self, size: int, b: Floats) -> Floats:
        out = np.zeros(size)
        out[self.nodes] = self.factor.solve(b[self.nodes])
        return out
