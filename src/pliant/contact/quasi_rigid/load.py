"""Contact under a given load: the position of the rigid body is unknown too.

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

from pliant.base import Floats, PliantError
from pliant.contact.quasi_rigid import lcp, polonsky_keer
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.operators import Operator
from pliant.contact.quasi_rigid.stiffness import contact_stiffness, products

IMPOSSIBLE = "not solved: no forces that push at these nodes add up to this load"
SETS = 50
STEPS = 60


def solve_load(
    operator: Operator | Floats, gap: Floats, rows: Floats, load: Floats | float, start: lcp.Solution | None = None, tolerance: float = 1e-8
) -> lcp.Solution:
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
        return lcp.Solution(np.zeros(K.size), gap.copy(), IMPOSSIBLE, 0, np.inf, "load", np.zeros(rows.shape[1]))
    x = None if start is None else start.position
    if x is None or not np.any(gap < _gaps(rows, x)):  # where nothing touches Newton's method finds no stiffness to go on with
        x = _first(gap, rows, load)
    contact = gap - _gaps(rows, x) < 0.0 if start is None else start.contact
    found = _bordered(K, gap, rows, load, contact, tolerance)
    if found is None and rows.shape[1] == 1 and np.ptp(rows) == 0.0:
        one = float(rows[0, 0])
        found = polonsky_keer.solve(K, gap, None if start is None else start.P, tolerance, None, total=float(load[0]) / one)
        assert found.position is not None
        found = replace(found, position=found.position / one)
    return found or _newton(K, gap, rows, load, x, None if start is None else start.P, tolerance)


def _possible(rows: Floats, load: Floats) -> bool:
    """Some P >= 0 has J^T P = load, and the load is not zero."""
    size = np.maximum(np.max(np.abs(rows), axis=0), 1e-300)
    _, miss = nnls((rows / size).T, load / size, maxiter=30 * len(rows) + 100)
    return bool(np.any(load != 0.0) and miss <= 1e-9 * np.linalg.norm(load / size))


def _first(gap: Floats, rows: Floats, load: Floats) -> Floats:
    """A motion in the sense of the load that brings a tenth of the nodes into contact, or as many as are solved exactly."""
    way = load / np.maximum(np.sum(rows**2, axis=0), 1e-300)
    closing = _gaps(rows, way)
    ahead = closing > 0.5 * np.max(closing)
    return np.quantile(gap[ahead] / closing[ahead], min(0.1, 0.5 * lcp.ACTIVE_SET / len(gap))) * way


def _gaps(rows: Floats, x: Floats) -> Floats:
    """J x; not by BLAS, whose last digits depend on its threads."""
    return np.sum(rows * x, axis=1)


def _carried(rows: Floats, force: Floats) -> Floats:
    """J^T P."""
    return np.sum(rows * force[:, None], axis=0)


def _miss(rows: Floats, load: Floats, force: Floats) -> float:
    """Largest error of the load, each as a part of what all forces could do."""
    most = np.max(np.abs(rows), axis=0) * np.sum(force)
    return float(np.max(np.abs(_carried(rows, force) - load) / np.maximum(most, 1e-300)))


def _solution(
    K: Operator, gap: Floats, rows: Floats, load: Floats, force: Floats, x: Floats, count: int, name: str, tolerance: float
) -> lcp.Solution:
    q = gap - _gaps(rows, x)
    s = K @ force + q
    error = max(lcp.residual(K.diagonal, q, force, s), _miss(rows, load, force))
    return lcp.Solution(force, s, lcp.SOLVED if error <= tolerance else lcp.STALLED, count, error, name, x)


def _bordered(K: Operator, gap: Floats, rows: Floats, load: Floats, contact: np.ndarray, tolerance: float) -> lcp.Solution | None:
    """Active sets of the problem with its border; None if they stay too large or do not settle."""
    seen = set()
    cuts = 0
    for count in range(1, SETS + 1):
        nodes = np.flatnonzero(contact)
        border = Border.of(K, nodes, rows) if rows.shape[1] <= len(nodes) <= lcp.ACTIVE_SET else None
        if border is None:
            return None
        force = np.zeros(K.size)
        force[nodes], x = border.solve(-gap[nodes], load)
        s = K @ force + gap - _gaps(rows, x)
        pull = force - np.where(contact, 0.0, s) / K.diagonal
        after = pull > 0.0
        if np.array_equal(after, contact):
            return _refined(K, gap, rows, load, border, nodes, force, x, count, tolerance)
        if np.count_nonzero(after) > lcp.ACTIVE_SET:  # a first set that is too small overlaps far around: go on with the worst of it
            after, cuts = pull >= np.partition(pull, -lcp.ACTIVE_SET // 2)[-lcp.ACTIVE_SET // 2], cuts + 1
        seen.add(contact.tobytes())
        contact = after
        if contact.tobytes() in seen or cuts > 3:
            return None
    return None


def _refined(
    K: Operator,
    gap: Floats,
    rows: Floats,
    load: Floats,
    border: Border,
    nodes: np.ndarray,
    force: Floats,
    x: Floats,
    count: int,
    tolerance: float,
) -> lcp.Solution | None:
    """Correct where K multiplies only nearly as its blocks say (far_field.py); None if that does not help."""
    for _ in range(4):
        found = _solution(K, gap, rows, load, force, x, count, "active-set", tolerance)
        if found.solved:
            return found
        change, turn = border.solve(-found.s[nodes], load - _carried(rows, force))
        force, x = force.copy(), x + turn
        force[nodes] = np.maximum(force[nodes] + change, 0.0)
    return None


@dataclass(frozen=True)
class Border:
    """The matrix of some nodes with its border, ready to be solved."""

    factor: Factor
    J: Floats
    give: Floats  # K_cc^-1 J_c
    stiffness: Floats  # J_c^T K_cc^-1 J_c

    @classmethod
    def of(cls, K: Operator, nodes: np.ndarray, rows: Floats) -> Border | None:
        """None if the matrix is not positive definite, or the nodes cannot hold all motions."""
        factor = Factor.of(K.block(nodes))
        if factor is None:
            return None
        J = rows[nodes]
        give = factor.solve(J)
        stiffness = products(J, give)
        size = np.sqrt(np.diag(stiffness))
        if not np.all(size > 0.0) or np.linalg.cond(stiffness / np.outer(size, size)) > 1e10:
            return None
        return cls(factor, J, give, stiffness)

    def solve(self, gap: Floats, load: Floats) -> tuple[Floats, Floats]:
        """P and x with K_cc P - J_c x = gap and J_c^T P = load."""
        free = self.factor.solve(gap)
        x = np.asarray(np.linalg.solve(self.stiffness, load - _carried(self.J, free)), dtype=np.float64)
        return _gaps(self.give, x) + free, x


def _newton(K: Operator, gap: Floats, rows: Floats, load: Floats, x: Floats, start: Floats | None, tolerance: float) -> lcp.Solution:
    """Maximise the dual energy D(x) = min_P (1/2 P'KP + (gap - J x)'P) + load.x, whose gradient is load - J^T P."""

    def contact_at(x: Floats, start: Floats | None, accuracy: float) -> tuple[lcp.Solution, float]:
        q = gap - _gaps(rows, x)
        found = lcp.solve(K, q, start=start, tolerance=accuracy)
        return found, found.energy(q) + float(np.sum(load * x))

    found, energy = contact_at(x, start, 1e-4)
    count, accuracy = found.iterations, 1e-4
    for _ in range(STEPS):
        miss = _miss(rows, load, found.P)
        if miss <= 0.1 * tolerance and accuracy <= tolerance:
            break
        accuracy = min(accuracy, max(1e-3 * miss, 0.1 * tolerance))
        missing = load - _carried(rows, found.P)
        stiffness = contact_stiffness(K, found.contact, rows, 1e-4)
        size = np.trace(stiffness) * np.max(np.abs(rows), axis=0) ** 2 / np.sum(np.max(np.abs(rows), axis=0) ** 2)
        stiffness[np.diag_indices(len(x))] += 1e-10 * size  # few nodes in contact leave some motions free
        step = np.linalg.lstsq(stiffness, missing, rcond=1e-14)[0]
        rise = float(np.sum(missing * step))
        for _ in range(30):
            trial, value = contact_at(x + step, found.P, accuracy)
            count += trial.iterations
            if value >= energy + 1e-4 * rise - 2.0 * accuracy * abs(energy):
                break
            step, rise = 0.5 * step, 0.5 * rise
        x, found, energy = x + step, trial, value
    return _solution(K, gap, rows, load, found.P, x, count, f"newton over {found.method}", tolerance)
