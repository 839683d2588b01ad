"""Implicit Euler for soft bodies: A v' = M v + dt (f_ext + f_el(x)),  A = M + dt C + dt^2 K,  C = a M + b K.

One linear solve per step, with K the tangent at the start of the step (theory/elements 4.7). A also says how an implicit body
answers a contact impulse: dv = A^-1 J^T I, which spreads the impulse as the body's stiffness would within the step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.integrate import cg
from pliant.integrate.assembly import Assembly
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.direct import Factors, factorise
from pliant.integrate.rigid_part import RigidPart
from pliant.kernels import axpy, dot, kernel, load, store
from pliant.model import IMPLICIT, Model

if TYPE_CHECKING:
    from pliant.world.motion import Motion, Rows

TOLERANCE = 1e-5  # of the change that a solve finds; the momentum of whole bodies is exact whatever this is
FEW_DIGITS = 1e-3  # the same, of answers that are to be refined
ROUGH = 1e-2  # of the solves behind `give`, which needs two digits
MOST_AXES = 8


class ImplicitEuler:
    """The implicit bodies of a world: which entries their matrix has, and room for it."""

    def __init__(self, model: Model, solver: str) -> None:
        nodes, start = model.nodes, model.bodies.node_start
        self.model = model
        self.mine = nodes.scheme == IMPLICIT
        bodies = np.zeros(len(model.bodies), bool)
        bodies[nodes.body[self.mine]] = True
        self.bodies = bodies
        self.groups = [g for g, b in zip(model.groups, model.group_body, strict=True) if bodies[b].any()]
        self.assembly = Assembly(self.groups, start, bodies)
        self.values = np.empty((len(self.assembly.pattern.indices), 3, 3))  # room: every step writes all of it
        self.free = nodes.inverse > 0.0
        self.direct = solver == "direct"

    def system(self, x: Floats, dt: float, damping: Floats) -> System:
        """A at positions x, with the damping [1/s] of each node."""
        matrix = self.assembly.matrix(x, self.model.nodes.mass * (1.0 + dt * damping), dt, self.values)
        rigid = RigidPart(matrix, self.model.nodes.body, x, self.free)
        return System(self, dt, matrix, rigid, factorise(matrix, self.free, self.bodies) if self.direct else None)

    def step(self, x: Floats, v: Floats, force: Floats, damping: Floats, dt: float, out_x: Floats, out_v: Floats) -> System:
        """Write positions and velocities after dt, and return what they were found with; prescribed nodes have theirs in out_v already."""
        made, mine = self.system(x, dt, damping), self.mine
        found = made.solve(self.kicked(v, force, dt), np.where(self.free[:, None], v, out_v), self.bodies, TOLERANCE)
        out_v[mine] = found[mine]
        moved = mine & self.free
        out_x[moved] = x[moved] + dt * found[moved]
        return made

    def kicked(self, v: Floats, force: Floats, dt: float) -> Floats:
        """M v + dt f, the right-hand side of a step [kg m/s], (n, 3)."""
        return self.model.nodes.mass[:, None] * (v + dt * self.model.gravity) + dt * force


class System:
    """A of one step, and the solves with it."""

    def __init__(self, implicit: ImplicitEuler, dt: float, matrix: BlockMatrix, rigid: RigidPart, factors: Factors | None) -> None:
        self.implicit, self.dt, self.matrix, self.rigid, self.factors = implicit, dt, matrix, rigid, factors
        self.model, self.bodies, self.mine = implicit.model, implicit.bodies, implicit.mine
        self.iterations = 0  # of all solves of the step, the worst body of each
        self.trouble: list[str] = []

    def respond(self, impulse: Floats, start: Floats | None = None, tolerance: float = TOLERANCE) -> Floats:
        """dv = A^-1 impulse on the implicit nodes (n, 3), zero elsewhere; only bodies that are pushed are solved, from `start` on."""
        pushed = np.zeros(len(self.bodies), bool)
        pushed[self.model.nodes.body[(impulse != 0.0).any(axis=1)]] = True
        pushed &= self.bodies
        if not pushed.any():
            return np.zeros_like(impulse)
        found = self.solve(impulse, np.zeros_like(impulse), pushed, tolerance, start)
        return np.where(self.mine[:, None], found, 0.0)

    def with_momentum(self, impulse: Floats, response: Floats) -> Floats:
        """A response that was found elsewhere, moved body by body as a whole so that momentum changes by the impulses to rounding."""
        dv = np.where(self.mine[:, None] & self.implicit.free[:, None], response, 0.0)
        self.rigid.match(np.flatnonzero(self.bodies), impulse, dv)
        return dv

    def solve(self, rhs: Floats, x0: Floats, active: np.ndarray, tolerance: float, change: Floats | None = None) -> Floats:
        """A^-1 rhs for the free nodes of active bodies, (n, 3), to a part of its change against x0, of which `change` is a guess."""
        if self.factors is not None:
            found = self.factors.solve(rhs, x0, tolerance)
        else:
            found = cg.solve(self.matrix, rhs, x0, self.implicit.free, active, tolerance, change=change)
        self.rigid.match(np.flatnonzero(active & (found.status <= cg.OUT_OF_ITERATIONS)), rhs, found.x)
        self.iterations += int(found.iterations.max(initial=0))
        for body in np.flatnonzero(found.status) if tolerance == TOLERANCE else []:
            self.trouble.append(f"{self.model.bodies.names[body]}: {cg.MEANING[int(found.status[body])]}")
        return found.x

    def residual(self, v: Floats, force: Floats, new_v: Floats) -> Floats:
        """(A v' - M v - dt f) / dt: the force that holds fixed and prescribed nodes (zero at the others) [N], (n, 3)."""
        rhs = self.implicit.kicked(v, force, self.dt)
        return np.where(self.mine[:, None], (self.matrix @ new_v - rhs) / self.dt, 0.0)

    def give(self, motion: Motion, rows: Rows, direction: Floats) -> Floats:
        """The implicit bodies' part of the absolute row sums of the Delassus matrix.

        A row of |J A^-1 J^T| would take a solve per contact. Contacts that push a body along like axes (within 60 degrees
        of the first) mostly have W_rs > 0 once they all push the same way, so the sum of |W_rs| over them is one solve with
        all pushing at once; the sums of the few axes are added by size. Solves are rough, two digits are enough.
        """
        skin, mine = motion.skin, self.mine
        out = np.zeros(len(rows))
        group = np.full((len(rows), 2), -1, np.int64)
        sense = np.zeros((len(rows), 2))
        axes = np.zeros((len(self.bodies), MOST_AXES, 3))
        count = np.zeros(len(self.bodies), np.int64)
        _axes(rows.start, rows.point, rows.weight, direction, skin.body, self.bodies, axes, count, group, sense)
        for k in range(int(count.max(initial=0))):
            load_k = np.zeros_like(motion.x)
            _push_together(
                rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies,
                group, sense, k, load_k,
            )  # fmt: skip
            load_k[~mine] = 0.0
            found = self.solve(load_k, np.zeros_like(load_k), count > k, ROUGH)
            _add_response(
                rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies,
                found, out,
            )  # fmt: skip
        return out


@kernel
def _axes(row_start, row_point, row_weight, direction, point_body, mine, axes, count, group, sense):  # type: ignore[no-untyped-def]
    """Sort each row's two sides (0: positive weights, 1: negative) to few axes per body, and say which way each pushes."""
    for r in range(len(direction)):
        for side in range(2):
            body = -1
            for k in range(row_start[r], row_start[r + 1]):
                b = point_body[row_point[k]]
                if (row_weight[k] > 0.0) == (side == 0) and b >= 0 and mine[b]:
                    body = b
            if body < 0:
                continue
            d = load(direction, r)
            if side == 1:
                d = (-d[0], -d[1], -d[2])
            best, likeness, way = -1, -1.0, 1.0
            for g in range(count[body]):
                c = axes[body, g, 0] * d[0] + axes[body, g, 1] * d[1] + axes[body, g, 2] * d[2]
                if abs(c) > likeness:
                    best, likeness, way = g, abs(c), math.copysign(1.0, c)
            if likeness < 0.5 and count[body] < len(axes[body]):
                best = count[body]
                axes[body, best, 0], axes[body, best, 1], axes[body, best, 2] = d
                count[body] += 1
                way = 1.0
            group[r, side], sense[r, side] = best, way


@kernel
def _push_together(row_start, row_point, row_weight, direction, point_body, start, node, weight, mine, group, sense, wanted, out):  # type: ignore[no-untyped-def]
    """Unit impulses of all row sides along one axis, on nodes."""
    for r in range(len(direction)):
        for k in range(row_start[r], row_start[r + 1]):
            p, w = row_point[k], row_weight[k]
            side = 0 if w > 0.0 else 1
            if point_body[p] < 0 or not mine[point_body[p]] or group[r, side] != wanted:
                continue
            for m in range(start[p], start[p + 1]):
                store(out, node[m], axpy(sense[r, side] * w * weight[m], load(direction, r), load(out, node[m])))


@kernel
def _add_response(row_start, row_point, row_weight, direction, point_body, start, node, weight, mine, found, out):  # type: ignore[no-untyped-def]
    """Add |direction . response| of each side of each row."""
    for r in range(len(direction)):
        for side in range(2):
            total = 0.0
            for k in range(row_start[r], row_start[r + 1]):
                p, w = row_point[k], row_weight[k]
                if (w > 0.0) != (side == 0) or point_body[p] < 0 or not mine[point_body[p]]:
                    continue
                for m in range(start[p], start[p + 1]):
                    total += w * weight[m] * dot(load(direction, r), load(found, node[m]))
            out[r] += abs(total)

