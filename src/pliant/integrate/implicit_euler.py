"""Implicit Euler for soft bodies: A v' = M v + dt (f_ext + f_el(x)),  A = M + dt C + dt^2 K,  C = a M + b K.

One linear solve per step, with K the tangent at the start of the step (theory/elements 4.7). A also says how an implicit body
answers a contact impulse: dv = A^-1 J^T I, which spreads the impulse as the body's stiffness would within the step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.integrate import cg
from pliant.integrate.assembly import Assembly
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.direct import Factors, factorise
from pliant.integrate.rigid_part import RigidPart
from pliant.kernels import axpy, dot, kernel, load, store
from pliant.model import IMPLICIT, Model, State

if TYPE_CHECKING:
    from pliant.world.motion import Motion, Rows

TOLERANCE = 1e-5  # of the change that a step brings; the momentum of whole bodies is exact whatever this is
ANSWER = 1e-4  # the same, of the change that pushes bring
FEW_DIGITS = 1e-3  # the same, of answers that are to be refined
ROUGH = 1e-2  # of the solves behind `give`, which needs two digits
MOST_AXES = 8
REMEMBERED = 2  # pushes, and `give`s, of a step whose answers those of the next start from


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
        self.all = np.flatnonzero(bodies & (np.diff(start) > 0))
        self.solver = cg.Solver(self.assembly.pattern, self.free)
        self.load = np.zeros((len(nodes.mass), 3))  # room for right-hand sides; zero between solves
        self.direct = solver == "direct"

    def system(self, x: Floats, dt: float, damping: Floats, starts: dict[str, Floats]) -> System:
        """A at positions x, with the damping [1/s] of each node; starts: what solves of the last step found."""
        matrix = self.assembly.matrix(x, self.model.nodes.mass * (1.0 + dt * damping), dt, self.values)
        rigid = RigidPart(matrix, self.model.nodes.body, x, self.free)
        return System(self, dt, matrix, rigid, starts, factorise(matrix, self.free, self.bodies) if self.direct else None)

    def step(self, state: State, force: Floats, damping: Floats, dt: float, out_x: Floats, out_v: Floats) -> System:
        """Write positions and velocities after dt, and return what they were found with; prescribed nodes have theirs in out_v already."""
        made, rhs = self.system(state.x, dt, damping, state.starts), self.load
        found, change = np.empty_like(state.v), np.empty_like(state.v)
        _kick(self.mine, self.free, self.model.nodes.mass, self.model.gravity, force, state.v, out_v, dt, rhs, found)
        change[:] = found
        made.solve(rhs, found, self.all, TOLERANCE, state.starts.get("step"))
        rhs[:] = 0.0
        _arrive(self.mine, self.free, state.x, found, dt, out_x, out_v, change)
        made.found["step"] = change
        return made

    def kicked(self, v: Floats, force: Floats, dt: float) -> Floats:
        """M v + dt f, the right-hand side of a step [kg m/s], (n, 3)."""
        return self.model.nodes.mass[:, None] * (v + dt * self.model.gravity) + dt * force


class System:
    """A of one step, and the solves with it."""

    def __init__(
        self, implicit: ImplicitEuler, dt: float, matrix: BlockMatrix, rigid: RigidPart, starts: dict[str, Floats], factors: Factors | None
    ) -> None:
        self.implicit, self.dt, self.matrix, self.rigid, self.factors = implicit, dt, matrix, rigid, factors
        self.model, self.bodies, self.mine = implicit.model, implicit.bodies, implicit.mine
        self.starts, self.found = starts, dict[str, Floats]()  # what solves of the last step found and those of this one: see State.starts
        self.gave = 0  # answers of `give` so far
        self.iterations = 0  # of all solves of the step, the worst body of each
        self.trouble: list[str] = []

    def respond(self, node: Ints, impulse: Floats, start: Floats | None = None, tolerance: float = ANSWER) -> Floats:
        """dv = A^-1 J of impulses J on some nodes, (n, 3), zero but on implicit nodes; only bodies that are pushed are solved."""
        rhs, out, pushed = self.implicit.load, np.zeros_like(self.implicit.load), np.zeros(len(self.bodies), np.bool_)
        if _place(node, impulse, self.model.nodes.body, self.bodies, rhs, pushed):
            self.solve(rhs, out, np.flatnonzero(pushed), tolerance, start)
            rhs[node] = 0.0
        return out

    def with_momentum(self, node: Ints, impulse: Floats, response: Floats) -> Floats:
        """A response that was found elsewhere, moved body by body as a whole so that momentum changes by the impulses to rounding."""
        rhs, dv = self.implicit.load, np.where(self.mine[:, None] & self.implicit.free[:, None], response, 0.0)
        rhs[node] = impulse
        self.rigid.match(self.implicit.all, rhs, dv)
        rhs[node] = 0.0
        return dv

    def solve(self, rhs: Floats, x: Floats, bodies: Ints, tolerance: float, change: Floats | None = None) -> None:
        """A^-1 rhs for the free nodes of some bodies, in place of x (n, 3), to a part of its change, of which `change` is a guess."""
        if self.factors is not None:
            found = self.factors.solve(rhs, x, tolerance)
            mine = np.isin(self.model.nodes.body, bodies)
            x[mine], iterations, status = found.x[mine], found.iterations, found.status
        else:
            self.implicit.solver.solve(self.matrix, rhs, x, bodies, tolerance, change=change)
            iterations, status = self.implicit.solver.counts.T
        self.iterations += int(iterations.max(initial=0))
        if status.any():
            for body in np.flatnonzero(status) if tolerance <= ANSWER else []:
                self.trouble.append(f"{self.model.bodies.names[body]}: {cg.MEANING[int(status[body])]}")
            bodies = bodies[status[bodies] <= cg.OUT_OF_ITERATIONS]
        self.rigid.match(bodies, rhs, x)

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
        skin = motion.skin
        out = np.zeros(len(rows))
        group = np.full((len(rows), 2), -1, np.int64)
        sense = np.zeros((len(rows), 2))
        axes = np.zeros((len(self.bodies), MOST_AXES, 3))
        count = np.zeros(len(self.bodies), np.int64)
        _axes(rows.start, rows.point, rows.weight, direction, skin.body, self.bodies, axes, count, group, sense)
        rhs, most = self.implicit.load, int(count.max(initial=0))
        before, known = self.starts.get(f"axes {self.gave}", np.zeros((0, 0, 3))), self.starts.get(f"give {self.gave}")
        found = np.zeros((most, *rhs.shape))
        for k in range(most):
            _push_together(
                rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies,
                group, sense, k, rhs,
            )  # fmt: skip
            start = None
            if known is not None and k < len(known):  # an axis may have turned over
                way = np.sign(np.einsum("bi,bi->b", before[k], axes[:, k]))
                start = known[k] * way[self.model.nodes.body, None]
            self.solve(rhs, found[k], np.flatnonzero(count > k), ROUGH, start)
            rhs[:] = 0.0
            _add_response(
                rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies,
                found[k], out,
            )  # fmt: skip
        if self.gave < REMEMBERED:
            self.found |= {f"give {self.gave}": found, f"axes {self.gave}": np.ascontiguousarray(np.swapaxes(axes[:, :most], 0, 1))}
        self.gave += 1
        return out


@kernel
def _kick(mine, free, mass, gravity, force, v, out_v, dt, rhs, still):  # type: ignore[no-untyped-def]
    """M v + dt f of implicit nodes, and the velocities that they have if nothing changes."""
    for i in range(len(mine)):
        for c in range(3):
            rhs[i, c] = mass[i] * (v[i, c] + dt * gravity[c]) + dt * force[i, c] if mine[i] else 0.0
            still[i, c] = (v[i, c] if free[i] else out_v[i, c]) if mine[i] else 0.0


@kernel
def _arrive(mine, free, x, found, dt, out_x, out_v, change):  # type: ignore[no-untyped-def]
    """Positions and velocities of implicit nodes; change, which holds what they would have been, is what is found beyond."""
    for i in range(len(mine)):
        if mine[i]:
            for c in range(3):
                change[i, c] = found[i, c] - change[i, c]
                out_v[i, c] = found[i, c]
                if free[i]:
                    out_x[i, c] = x[i, c] + dt * found[i, c]


@kernel
def _place(node, impulse, body, mine, rhs, pushed):  # type: ignore[no-untyped-def]
    """Put impulses on the nodes of implicit bodies into rhs, and mark the bodies that are pushed; whether there are any."""
    some = False
    for k in range(len(node)):
        u = load(impulse, k)
        if mine[body[node[k]]] and (u[0] != 0.0 or u[1] != 0.0 or u[2] != 0.0):
            store(rhs, node[k], u)
            pushed[body[node[k]]] = some = True
    return some


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

