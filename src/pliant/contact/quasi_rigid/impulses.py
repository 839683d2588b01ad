"""From nodal forces to impulses: explicit, or with the forces at the end of the step and damping through the contact's own stiffness.

With g' the speed at which nodes separate after the step, theta = 1 (implicit) or 0 (symplectic) and the damping time tau:
    Q = P - K_cc^-1 (theta dt + tau) g',     lambda = dt Q
which is (K_cc + beta W) lambda = dt K_cc P - beta g'_0 with beta = dt (theta dt + tau) and W the Delassus matrix of the rows; 2.11 of the
methods page, written for nodes, so that soft partners and several contacts at once are in it. Nodes do not pull: lambda >= 0.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.quasi_rigid.cholesky import Factor
from pliant.contact.quasi_rigid.operators import Dense
from pliant.contact.quasi_rigid.rows import Patch
from pliant.contact.quasi_rigid.together import Levers, together
from pliant.contact.quasi_rigid.touching import Touch
from pliant.world.motion import Motion

SWEEPS, ENOUGH = 8, 1e-4


def push_apart(motion: Motion, patch: Patch, implicit: list[bool]) -> Floats:
    """Push along the normals, some pairs implicitly; impulses of the rows [N s], (r,)."""
    ahead = [motion.dt if end else 0.0 for end in implicit]
    beta = np.array([motion.dt * (t + damping(motion, touch)) for t, touch in zip(ahead, patch.touches, strict=True)])
    if any(touch.soft(motion) for touch in patch.touches):
        return _sweeps(motion, patch, beta)
    return _at_once(motion, patch, beta)


def _at_once(motion: Motion, patch: Patch, beta: Floats) -> Floats:
    """Of bodies with frames: the problem at the end of the step (together.py), again where the frames turned by then."""
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
        found = together(K, levers, [apart[p] - v - goal for p, v, goal in zip(mine, own, wanted, strict=True)], active)
        change = np.zeros_like(impulse)
        for p, each in zip(mine, found, strict=True):
            change[p] = each - impulse[p]
        motion.push(rows, change[:, None] * rows.normal, start=True)
        impulse, active = impulse + change, [each > 0.0 for each in found]
        if np.abs(change).sum() <= ENOUGH * impulse.sum():
            break
    return impulse


def _sweeps(motion: Motion, patch: Patch, beta: Floats) -> Floats:
    """With soft partners W is replaced by its absolute row sums D: K + beta D exceeds K + beta W, so sweeps cannot overshoot."""
    rows, impulse = patch.rows, motion.dt * patch.force
    motion.push(rows, impulse[:, None] * rows.normal, start=True)
    if not beta.any():
        return impulse
    give, parts = motion.give(rows), patch.parts()
    matrices = [Dense(_block(t, n)) for t, n in zip(patch.touches, patch.nodes, strict=True)]
    factors = [Factor.of(K.matrix + np.diag(b * give[p])) for K, b, p in zip(matrices, beta, parts, strict=True)]
    for _ in range(SWEEPS):
        apart = np.sum(motion.slide(rows) * rows.normal, axis=1) / motion.dt
        change = np.empty_like(impulse)
        for K, factor, b, p in zip(matrices, factors, beta, parts, strict=True):
            if factor is None:
                raise PliantError("The elastic matrix of the nodes in contact is not positive definite: are two of them at the same place?")
            left = K @ (motion.dt * patch.force[p] - impulse[p]) - b * apart[p]
            change[p] = factor.solve(left)
        change = np.maximum(impulse + change, 0.0) - impulse
        motion.push(rows, change[:, None] * rows.normal, start=True)
        impulse = impulse + change
        if np.abs(change).sum() <= ENOUGH * impulse.sum():
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
