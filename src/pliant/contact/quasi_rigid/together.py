"""Impulses of all nodes between bodies with frames, found at once: the contact problem at the end of a step.

    w = (K / beta + G M^-1 G^T) lambda + q >= 0,   lambda >= 0,   w lambda = 0

K is the elastic matrix of each pair, G turns motions of frames into speeds at which nodes part, M is their inertia. Active sets as in
active_set.py; on a set the forces follow from the motion u = M^-1 G^T lambda of the frames,
    (M + G^T beta K^-1 G) u = -G^T beta K^-1 q,   lambda = -beta K^-1 (q + G u),
a small system with six unknowns for each frame: one factor of K for each pair, however many pairs push on a body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.rows import Patch
from pliant.geometry.rotations import quaternion_to_matrix
from pliant.world.motion import Motion

SETS = 30  # tried at most


@dataclass(frozen=True)
class Levers:
    """How impulses along the rows of each pair move the frames that are free, at the start of the step."""

    columns: list[Ints]  # of each pair, the unknowns of its frames: six each, or none of what is held
    along: list[Floats]  # of each pair, G, (rows, columns) [1, m]
    inertia: Floats  # M, (c, c) [kg, kg m^2]

    @classmethod
    def of(cls, motion: Motion, patch: Patch, chosen: list[int]) -> Levers:
        """Of some of the pairs."""
        bodies, frames, parts = motion.bodies, motion.frames, patch.parts()
        touched = np.unique(bodies.frame[[body for k in chosen for body in (patch.touches[k].a, patch.touches[k].b)]])
        free = touched[frames.inverse[touched] > 0.0]
        inertia = np.zeros((len(free), 6, len(free), 6))
        turn = quaternion_to_matrix(motion.rotation_start[free])
        own = np.arange(len(free))
        inertia[own, :3, own, :3] = np.eye(3) / frames.inverse[free][:, None, None]
        inertia[own, 3:, own, 3:] = np.einsum("fij,fj,fkj->fik", turn, 1.0 / frames.inverse_inertia[free], turn)
        columns, along = [], []
        for touch, part in ((patch.touches[k], parts[k]) for k in chosen):
            mine, levers = [np.zeros(0, np.int64)], [np.zeros((part.stop - part.start, 0))]
            for body in (touch.a, touch.b):
                slot = np.searchsorted(free, bodies.frame[body])
                if slot < len(free) and free[slot] == bodies.frame[body]:
                    n = np.where(patch.a[part] == body, 1.0, -1.0)[:, None] * patch.rows.normal[part]
                    arm = patch.rows.at[part] - motion.position_start[bodies.frame[body]]
                    mine.append(6 * slot + np.arange(6))
                    levers.append(np.concatenate([n, np.cross(arm, n)], axis=1))
            columns.append(np.concatenate(mine))
            along.append(np.concatenate(levers, axis=1))
        return cls(columns, along, inertia.reshape(6 * len(free), 6 * len(free)))

    def speeds(self, impulse: list[Floats]) -> list[Floats]:
        """G M^-1 G^T lambda: how fast nodes part from these impulses of each pair [m/s]."""
        on = np.zeros(len(self.inertia))
        for column, G, each in zip(self.columns, self.along, impulse, strict=True):
            on[column] += np.sum(G * each[:, None], axis=0)
        u = _solve(self.inertia, on)
        return [np.sum(G * u[column], axis=1) for column, G in zip(self.columns, self.along, strict=True)]


def together(K: list[Floats], levers: Levers, q: list[Floats], start: list[np.ndarray]) -> list[Floats]:
    """Impulses [N s] of the rows of each pair; K is over beta, [1/kg], q [m/s], and `start` says which rows are thought to push."""
    active, solved = [s.copy() for s in start], [_Solved.of(*each) for each in zip(K, levers.along, q, start, strict=True)]
    for _ in range(SETS):
        small, right = levers.inertia.copy(), np.zeros(len(levers.inertia))
        for column, each in zip(levers.columns, solved, strict=True):
            small[np.ix_(column, column)] += each.stiffness
            right[column] -= each.push
        u = _solve(small, right)
        impulse = [each.impulse(u[column]) for column, each in zip(levers.columns, solved, strict=True)]
        same = True
        for k, (column, G) in enumerate(zip(levers.columns, levers.along, strict=True)):
            w = np.sum(K[k] * impulse[k], axis=1) + np.sum(G * u[column], axis=1) + q[k]
            after = impulse[k] - np.where(active[k], 0.0, w) / np.diagonal(K[k]) > 0.0
            if not np.array_equal(after, active[k]):
                active[k], solved[k], same = after, _Solved.of(K[k], G, q[k], after), False
        if same:
            break
    return [np.maximum(each, 0.0) for each in impulse]


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Not by LAPACK, whose last digits depend on its threads."""
    if len(right) == 0:
        return right
    factor = Factor.of(matrix)
    assert factor is not None  # M is positive definite, and so is what is added to it
    return factor.solve(right)


@dataclass(frozen=True)
class _Solved:
    """A pair on a set of its rows."""

    rows: Ints
    count: int
    alone: Floats  # K^-1 q
    moved: Floats  # K^-1 G
    stiffness: Floats  # G^T K^-1 G
    push: Floats  # G^T K^-1 q

    @classmethod
    def of(cls, K: Floats, G: Floats, q: Floats, active: np.ndarray) -> _Solved:
        rows, unknowns = np.flatnonzero(active), G.shape[1]
        if len(rows) == 0:
            return cls(rows, len(q), np.zeros(0), np.zeros((0, unknowns)), np.zeros((unknowns, unknowns)), np.zeros(unknowns))
        factor = Factor.of(K, rows)
        if factor is None:
            raise PliantError("The elastic matrix of the nodes in contact is not positive definite: are two of them at the same place?")
        mine = G[rows]
        found = factor.solve(np.concatenate([q[rows, None], mine], axis=1))
        sums = np.sum(mine[:, :, None] * found[:, None, :], axis=0)
        return cls(rows, len(q), found[:, 0], found[:, 1:], sums[:, 1:], sums[:, 0])

    def impulse(self, u: Floats) -> Floats:
        """Of all rows, for the motion of the frames."""
        out = np.zeros(self.count)
        out[self.rows] = -(self.alone + np.sum(self.moved * u, axis=1))
        return out
