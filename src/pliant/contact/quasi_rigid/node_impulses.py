"""From nodal forces to impulses: explicit, or with the forces at the end of the step and damping through the contact's own stiffness.

With g' the speed at which nodes separate after the step, theta = 1 (implicit) or 0 (symplectic) and the damping time tau:
    Q = P - K_cc^-1 (theta dt + tau) g',     lambda = dt Q
which is (K_cc + beta W) lambda = dt K_cc P - beta g'_0 with beta = dt (theta dt + tau) and W the Delassus matrix of the rows;
theory/quasi-rigid 13.3, written for nodes, so that soft partners and several contacts at once are in it. Nodes do not pull: lambda >= 0.

Between bodies with frames all nodes are solved at once, as the contact problem at the end of the step,
    w = (K / beta + G M^-1 G^T) lambda + q >= 0,   lambda >= 0,   w lambda = 0.
K is the elastic matrix of each pair, G turns motions of frames into speeds at which nodes part, M is their inertia. Active sets as in
elastic/lcp.py; on a set the forces follow from the motion u = M^-1 G^T lambda of the frames,
    (M + G^T beta K^-1 G) u = -G^T beta K^-1 q,   lambda = -beta K^-1 (q + G u),
a small system with six unknowns for each frame: one factor of K for each pair, however many pairs push on a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.lcp import CLOSE
from pliant.contact.elastic.operators import Dense
from pliant.contact.quasi_rigid.contact_rows import ContactRows
from pliant.contact.quasi_rigid.touching_pairs import Touch
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.world.motion import Motion

SWEEPS = 8  # at most
SETS = 30  # of nodes that push, tried at most


def push_apart(motion: Motion, patch: ContactRows, implicit: list[bool]) -> Floats:
    """Push along the normals, some pairs implicitly; impulses of the rows [N s], (r,)."""
    ahead = [motion.dt if end else 0.0 for end in implicit]
    beta = np.array([motion.dt * (t + damping(motion, touch)) for t, touch in zip(ahead, patch.touches, strict=True)])
    if any(touch.soft(motion) for touch in patch.touches):
        return _sweeps(motion, patch, beta)
    return _at_once(motion, patch, beta)


def _at_once(motion: Motion, patch: ContactRows, beta: Floats) -> Floats:
    """Of bodies with frames: the problem at the end of the step, again where the frames turned by then."""
    rows, parts = patch.rows, patch.parts()
    impulse = motion.dt * patch.force
    for b, p in zip(beta, parts, strict=True):
        impulse[p] *= b == 0.0  # what is not solved for is known
    motion.push(rows, impulse[:, None] * rows.normal, start=True)
    chosen = [k for k, b in enumerate(beta) if b > 0.0]
    if not chosen:
        return impulse
    levers, mine = Levers.of(motion, patch, chosen), [parts[k] for k in chosen]
    K = [_block(patch.touches[k], patch.nodes[k]) / beta[k] for k in chosen]
    wanted = [motion.dt * np.sum(matrix * patch.force[p], axis=1) for matrix, p in zip(K, mine, strict=True)]
    active = [patch.force[p] > 0.0 for p in mine]
    for _ in range(SWEEPS):
        apart = np.sum(motion.slide(rows) * rows.normal, axis=1) / motion.dt
        own = levers.speeds([impulse[p] for p in mine])
        found = solve_impulses(K, levers, [apart[p] - v - goal for p, v, goal in zip(mine, own, wanted, strict=True)], active)
        change = np.zeros_like(impulse)
        for p, each in zip(mine, found, strict=True):
            change[p] = each - impulse[p]
        motion.push(rows, change[:, None] * rows.normal, start=True)
        impulse, active = impulse + change, [each > 0.0 for each in found]
        if np.abs(change).sum() <= CLOSE * impulse.sum():
            break
    return impulse


def _sweeps(motion: Motion, patch: ContactRows, beta: Floats) -> Floats:
    """With soft partners W is replaced by its absolute row sums D: K + beta D exceeds K + beta W, so sweeps cannot overshoot."""
    rows, impulse = patch.rows, motion.dt * patch.force
    motion.push(rows, impulse[:, None] * rows.normal, start=True)
    if not beta.any():
        return impulse
    give, parts = motion.give(rows), patch.parts()
    matrices = [Dense(_block(t, n)) for t, n in zip(patch.touches, patch.nodes, strict=True)]
    factors = [Factor.elastic(K.matrix + np.diag(b * give[p])) for K, b, p in zip(matrices, beta, parts, strict=True)]
    for _ in range(SWEEPS):
        apart = np.sum(motion.slide(rows) * rows.normal, axis=1) / motion.dt
        change = np.empty_like(impulse)
        for K, factor, b, p in zip(matrices, factors, beta, parts, strict=True):
            change[p] = factor.solve(K @ (motion.dt * patch.force[p] - impulse[p]) - b * apart[p])
        change = np.maximum(impulse + change, 0.0) - impulse
        motion.push(rows, change[:, None] * rows.normal, start=True)
        impulse = impulse + change
        if np.abs(change).sum() <= CLOSE * impulse.sum():
            break
    return impulse


def damping(motion: Motion, touch: Touch) -> float:
    """Damping time of a pair [s]: of both bodies, by how much each gives way."""
    (c_a, *_, t_a), (c_b, *_, t_b) = motion.bodies.gives[touch.a], motion.bodies.gives[touch.b]
    return float((c_a * t_a + c_b * t_b) / (c_a + c_b))


def _block(touch: Touch, nodes: Ints) -> Floats:
    """K of the nodes that carry force; in mode split each half of them carries half of the forces."""
    out, many = np.zeros((len(nodes), len(nodes))), len(touch.result.operators)
    for own, K in touch.result.operators:
        place = np.full(len(touch.result.P), -1)
        place[own] = np.arange(len(own))
        mine = np.flatnonzero(place[nodes] >= 0)
        out[np.ix_(mine, mine)] = many * K.block(place[nodes[mine]])
    return out


@dataclass(frozen=True)
class Levers:
    """How impulses along the rows of each pair move the frames that are free, at the start of the step."""

    columns: list[Ints]  # of each pair, the unknowns of its frames: six each, or none of what is held
    along: list[Floats]  # of each pair, G, (rows, columns) [1, m]
    inertia: Floats  # M, (c, c) [kg, kg m^2]

    @classmethod
    def of(cls, motion: Motion, patch: ContactRows, chosen: list[int]) -> Levers:
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


def solve_impulses(K: list[Floats], levers: Levers, q: list[Floats], start: list[np.ndarray]) -> list[Floats]:
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
        mine = G[rows]
        found = Factor.elastic(K, rows).solve(np.concatenate([q[rows, None], mine], axis=1))
        sums = np.sum(mine[:, :, None] * found[:, None, :], axis=0)
        return cls(rows, len(q), found[:, 0], found[:, 1:], sums[:, 1:], sums[:, 0])

    def impulse(self, u: Floats) -> Floats:
        """Of all rows, for the motion of the frames."""
        out = np.zeros(self.count)
        out[self.rows] = -(self.alone + np.sum(self.moved * u, axis=1))
        return out
