"""Contact under a given load: the position of the rigid body is unknown too (theory/quasi-rigid 9.6).

    s = K P + gap - J x >= 0,   P >= 0,   s P = 0,   J^T P = load

x is how far the body moves in (approach [m], tilts [rad], ...), the columns of J say how much each motion closes the gap of each node,
and J^T P is the load that works on it: a column of ones is the approach, whose load is the total force; columns (y, -x) are small tilts
about the x and y axes, whose loads are moments.

This is the smallest elastic energy under the constraint J^T P = load, with x as its multipliers. As long as at most 3000 nodes touch: an
active set with a border,
    [K_cc  -J_c] [P_c]   [-gap_c]
    [J_c^T   0 ] [ x ] = [ load ],
beyond, or where that does not settle: Newton's method on x with the contact stiffness J_c^T K_cc^-1 J_c, halved until the dual energy
rises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic import lcp
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.contact_stiffness import contact_stiffness, products
from pliant.contact.elastic.lcp import Solution, solve
from pliant.contact.elastic.operators import Operator

IMPOSSIBLE = "not solved: no forces that push at these nodes add up to this load"
STEPS = 60  # of Newton's method, at most
HALVINGS = 30  # of each step, at most
HELD = 1e-10  # reciprocal condition of the stiffness, below which nodes do not hold all motions


def solve_load(
    operator: Operator | Floats, gap: Floats, rows: Floats, load: Floats | float, start: Solution | None = None, tolerance: float = 1e-8
) -> Solution:
    """Solve for forces and position. `gap` [m], (n,), at x = 0; `rows` (n, m) or (n,); `load` (m,); `start` is an earlier solution.

    The x that is found is `Solution.position`, (m,). `residual` also bounds the error of the load, as a part of what the same total
    force could do.
    """
    K, gap = lcp.checked(operator, gap)
    rows = np.ascontiguousarray(rows, dtype=np.float64).reshape(K.size, -1)
    load = np.atleast_1d(np.asarray(load, dtype=np.float64))
    if load.shape != (rows.shape[1],):
        raise PliantError(f"There are {rows.shape[1]} motions (columns of rows), but {load.shape[0]} loads: give one for each.")
    if not _possible(rows, load):
        return Solution(np.zeros(K.size), gap.copy(), IMPOSSIBLE, 0, np.inf, "load", np.zeros(rows.shape[1]))
    problem = LoadProblem(K, gap, rows, load, tolerance)
    x = None if start is None else start.position
    if x is None or not np.any(gap < _gaps(rows, x)):  # where nothing touches Newton's method finds no stiffness to go on with
        x = problem.first()
    found = problem.bordered(gap - _gaps(rows, x) < 0.0 if start is None else start.contact)
    if found is None and rows.shape[1] == 1 and np.ptp(rows) == 0.0:
        one, force = float(rows[0, 0]), None if start is None else start.P
        found = lcp.conjugate_gradients(K, gap, force, tolerance, None, total=float(load[0]) / one)
        assert found.position is not None
        found = replace(found, position=found.position / one)
    return found or problem.newton(x, None if start is None else start.P)


def _possible(rows: Floats, load: Floats) -> bool:
    """Some P >= 0 has J^T P = load, and the load is not zero."""
    size = np.maximum(np.max(np.abs(rows), axis=0), 1e-300)
    _, miss = nnls((rows / size).T, load / size, maxiter=30 * len(rows) + 100)
    return bool(np.any(load != 0.0) and miss <= 1e-9 * np.linalg.norm(load / size))


def _gaps(rows: Floats, x: Floats) -> Floats:
    """J x; not by BLAS, whose last digits depend on its threads."""
    return np.sum(rows * x, axis=1)


def _carried(rows: Floats, force: Floats) -> Floats:
    """J^T P."""
    return np.sum(rows * force[:, None], axis=0)


@dataclass(frozen=True)
class LoadProblem:
    """The problem under a load."""

    K: Operator
    gap: Floats  # (n,) [m]
    rows: Floats  # J, (n, m)
    load: Floats  # (m,)
    tolerance: float

    def first(self) -> Floats:
        """A motion in the sense of the load that brings half of the nodes into contact, or half as many as are solved exactly, and goes on
        as far as a node gives way under its part of the load: all nodes of a flat face touch at once, and only what overlaps carries."""
        way = self.load / np.maximum(np.sum(self.rows**2, axis=0), 1e-300)
        closing = _gaps(self.rows, way)
        ahead = closing > 0.5 * np.max(closing)
        touch = np.quantile(self.gap[ahead] / closing[ahead], 0.5 * min(1.0, lcp.ACTIVE_SET / len(self.gap)))
        return (touch + np.median(self.K.diagonal[ahead])) * way

    def miss(self, force: Floats) -> float:
        """Largest error of the load, each as a part of what all forces could do."""
        if not np.any(force > 0.0):
            return np.inf
        most = np.max(np.abs(self.rows), axis=0) * np.sum(force)
        return float(np.max(np.abs(_carried(self.rows, force) - self.load) / np.maximum(most, 1e-300)))

    def judged(self, force: Floats, x: Floats, count: int, method: str) -> Solution:
        """These forces and this motion as a solution; the error of the load counts too."""
        found = lcp.judged(self.K, self.gap - _gaps(self.rows, x), force, count, method, self.tolerance)
        error = max(found.residual, self.miss(force))
        return replace(found, status=lcp.SOLVED if error <= self.tolerance else lcp.STALLED, residual=error, position=x)

    def bordered(self, contact: np.ndarray) -> Solution | None:
        """Active sets of the problem with its border; None if they stay too large or do not settle."""
        seen = set()
        cuts = 0
        for count in range(1, lcp.SETS + 1):
            nodes = np.flatnonzero(contact)
            border = Border.of(self.K, nodes, self.rows) if self.rows.shape[1] <= len(nodes) <= lcp.ACTIVE_SET else None
            if border is None:
                return None
            force = np.zeros(self.K.size)
            force[nodes], x = border.solve(-self.gap[nodes], self.load)
            s = self.K @ force + self.gap - _gaps(self.rows, x)
            pull = force - np.where(contact, 0.0, s) / self.K.diagonal
            after = pull > 0.0
            if np.array_equal(after, contact):
                return self._refined(border, nodes, force, x, count)
            if np.count_nonzero(after) > lcp.ACTIVE_SET:  # a first set that is too small overlaps far around: go on with the worst of it
                after, cuts = pull >= np.partition(pull, -lcp.ACTIVE_SET // 2)[-lcp.ACTIVE_SET // 2], cuts + 1
            seen.add(contact.tobytes())
            contact = after
            if contact.tobytes() in seen or cuts > 3:
                return None
        return None

    def _refined(self, border: Border, nodes: Ints, force: Floats, x: Floats, count: int) -> Solution | None:
        """Correct where K multiplies only nearly as its blocks say (hierarchical.py); None if that does not help."""
        for _ in range(4):
            found = self.judged(force, x, count, "active-set")
            if found.solved:
                return found
            change, turn = border.solve(-found.s[nodes], self.load - _carried(self.rows, force))
            force, x = force.copy(), x + turn
            force[nodes] = np.maximum(force[nodes] + change, 0.0)
        return None

    def newton(self, x: Floats, start: Floats | None) -> Solution:
        """Maximise the dual energy D(x) = min_P (1/2 P'KP + (gap - J x)'P) + load.x, whose gradient is load - J^T P."""
        rows, tolerance = self.rows, self.tolerance

        def contact_at(x: Floats, start: Floats | None, accuracy: float) -> tuple[Solution, float]:
            q = self.gap - _gaps(rows, x)
            found = solve(self.K, q, start=start, tolerance=accuracy)
            return found, found.energy(q) + float(np.sum(self.load * x))

        found, energy = contact_at(x, start, lcp.CLOSE)
        count, accuracy = found.iterations, lcp.CLOSE
        for _ in range(STEPS):
            miss = self.miss(found.P)
            if miss <= 0.5 * tolerance and accuracy <= tolerance:
                break
            accuracy = min(accuracy, max(lcp.ROUGH * miss, 0.5 * tolerance))
            missing = self.load - _carried(rows, found.P)
            stiffness = contact_stiffness(self.K, found.contact, rows, lcp.CLOSE)
            size = np.trace(stiffness) * np.max(np.abs(rows), axis=0) ** 2 / np.sum(np.max(np.abs(rows), axis=0) ** 2)
            stiffness[np.diag_indices(len(x))] += 1e-10 * size  # few nodes in contact leave some motions free
            step = np.linalg.lstsq(stiffness, missing, rcond=1e-14)[0]
            for _ in range(HALVINGS):
                trial, value = contact_at(x + step, found.P, accuracy)
                count += trial.iterations
                if value >= energy - 2.0 * accuracy * abs(energy):
                    break
                step = 0.5 * step
            x, found, energy = x + step, trial, value
        return self.judged(found.P, x, count, f"newton over {found.method}")


@dataclass(frozen=True)
class Border:
    """The matrix of some nodes with its border, ready to be solved."""

    factor: Factor
    J: Floats
    give: Floats  # K_cc^-1 J_c
    stiffness: Floats  # J_c^T K_cc^-1 J_c

    @classmethod
    def of(cls, K: Operator, nodes: Ints, rows: Floats) -> Border | None:
        """None if the matrix is not positive definite, or the nodes cannot hold all motions."""
        factor = Factor.of(K.block(nodes))
        if factor is None:
            return None
        J = rows[nodes]
        give = factor.solve(J)
        stiffness = products(J, give)
        size = np.sqrt(np.diag(stiffness))
        if not np.all(size > 0.0) or HELD * np.linalg.cond(stiffness / np.outer(size, size)) > 1.0:
            return None
        return cls(factor, J, give, stiffness)

    def solve(self, gap: Floats, load: Floats) -> tuple[Floats, Floats]:
        """P and x with K_cc P - J_c x = gap and J_c^T P = load."""
        free = self.factor.solve(gap)
        x = np.asarray(np.linalg.solve(self.stiffness, load - _carried(self.J, free)), dtype=np.float64)
        return _gaps(self.give, x) + free, x
