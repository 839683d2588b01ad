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
from pliant.kernels import add, axpy, dot, kernel, load, scale, store
from pliant.model import IMPLICIT, Model, State

if TYPE_CHECKING:
    from pliant.world.motion import Motion, Rows

TOLERANCE = 1e-5  # of the change that a step brings; the momentum of whole bodies is exact whatever this is
ANSWER = 1e-4  # the same, of the change that pushes bring
FEW_DIGITS = 1e-3  # the same, of answers that are to be refined
ROUGH = 1e-2  # of the solves behind `give`, which needs two digits
MOST_AXES = 8
Push = tuple[Ints, Floats]  # nodes, each once, and impulses on them [N s], (k, 3)
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
        self.groups = [number for number, body in enumerate(model.group_body) if bodies[body].any()]
        self.assembly = Assembly([model.groups[number] for number in self.groups], start, bodies)
        self.values = np.empty((len(self.assembly.pattern.indices), 3, 3))  # room: every step writes all of it
        self.free = nodes.inverse > 0.0
        self.every = np.flatnonzero(bodies)
        self.all = cg.single(np.flatnonzero(bodies & (np.diff(start) > 0)))
        self.solver = cg.Solver(self.assembly.pattern, self.free)
        self.load = np.zeros((len(nodes.mass), 3))  # room for a right-hand side
        self.direct = solver == "direct"

    def begin(self, x: Floats, dt: float, forces: list[Floats]) -> None:
        """Find the stiffness at positions x, for steps of dt; forces: as in `Assembly.stiffness`, for each of my groups."""
        self.assembly.stiffness(x, self.values, dt, forces)

    def system(self, x: Floats, dt: float, damping: Floats, starts: dict[str, Floats]) -> System:
        """A, after `begin`, with the damping [1/s] of each node; starts: what solves of the last step found."""
        matrix = self.assembly.with_lumped(self.values, self.model.nodes.mass * (1.0 + dt * damping))
        rigid = RigidPart(matrix, self.model.nodes.body, x, self.free)
        return System(self, dt, matrix, rigid, starts, factorise(matrix, self.free, self.bodies) if self.direct else None)

    def step(self, state: State, force: Floats, damping: Floats, dt: float, out_x: Floats, out_v: Floats) -> System:
        """After `begin`, write positions and velocities after dt, and return what they were found with.

        Prescribed nodes have their velocities in out_v already.
        """
        made, rhs = self.system(state.x, dt, damping, state.starts), self.load
        found, change = np.empty_like(state.v), np.empty_like(state.v)
        _kick(self.mine, self.free, self.model.nodes.mass, self.model.gravity, force, state.v, out_v, dt, rhs, found)
        change[:] = found
        made.solve(rhs, found, self.all, TOLERANCE, state.starts.get("step"))
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

    def respond(self, pushes: list[Push], start: Floats | None = None, tolerance: float = ANSWER) -> Floats:
        """dv = A^-1 J of impulses J on some nodes, (n, 3), zero but on implicit nodes; only bodies that are pushed are solved."""
        out = np.zeros_like(self.implicit.load)
        tasks = self._loaded(pushes)
        if len(tasks):
            self.solve(self.implicit.load, out, tasks, tolerance, start)
        return out

    def with_momentum(self, push: Push, response: Floats) -> Floats:
        """A response that was found elsewhere, moved body by body as a whole so that momentum changes by the impulses to rounding."""
        dv = np.empty_like(self.implicit.load)
        _answered(*push, self.model.nodes.body, self.bodies, self.mine, self.implicit.free, response, self.implicit.load, dv)
        self.rigid.match(self.implicit.every, self.implicit.load, dv)
        return dv

    def _loaded(self, pushes: list[Push]) -> Ints:
        """Put impulses into the room for a right-hand side; the bodies that are pushed, as tasks."""
        rhs, pushed = self.implicit.load, np.zeros(len(self.bodies), np.bool_)
        rhs[:] = 0.0
        for node, impulse in pushes:
            _place(node, impulse, self.model.nodes.body, self.bodies, rhs, pushed)
        return cg.single(np.flatnonzero(pushed))

    def solve(self, rhs: Floats, x: Floats, tasks: Ints, tolerance: float, change: Floats | None = None) -> None:
        """A^-1 rhs for the free nodes of some bodies, in place of x (n, 3), to a part of its change, of which `change` is a guess.

        Momentum of whole bodies is exact. Several right-hand sides, (k, n, 3), if a guess is not wanted, and their momentum may be rough.
        """
        solver, several = self.implicit.solver, rhs.ndim == 3
        if self.factors is not None:
            self._solve_directly(rhs if several else rhs[None], x if several else x[None], tasks, tolerance)
        elif several:
            solver.solve(self.matrix, rhs, x, tasks, tolerance, change=change)
        else:
            solver.solve(self.matrix, rhs[None], x[None], tasks, tolerance, change=None if change is None else change[None])
        self.iterations += int(solver.counts[..., 0].max(initial=0))
        if several:
            return
        bodies, status = np.ascontiguousarray(tasks[:, 1]), solver.counts[0, :, 1]
        if status.any():
            for body in np.flatnonzero(status) if tolerance <= ANSWER else []:
                self.trouble.append(f"{self.model.bodies.names[body]}: {cg.MEANING[int(status[body])]}")
            bodies = bodies[status[bodies] <= cg.OUT_OF_ITERATIONS]
        self.rigid.match(bodies, rhs, x)

    def _solve_directly(self, rhs: Floats, x: Floats, tasks: Ints, tolerance: float) -> None:
        assert self.factors is not None
        self.implicit.solver.counts[:] = 0
        for k in range(len(rhs)):
            found = self.factors.solve(rhs[k], x[k], tolerance)
            mine = np.isin(self.model.nodes.body, tasks[tasks[:, 0] == k, 1])
            x[k][mine] = found.x[mine]
            self.implicit.solver.counts[0, :, 0] += found.iterations
            self.implicit.solver.counts[0, :, 1] = found.status

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
        skin, bodies = motion.skin, len(self.bodies)
        out, group, sense = np.zeros(len(rows)), np.full((len(rows), 2), -1, np.int64), np.zeros((len(rows), 2))
        axes, count = np.zeros((MOST_AXES, bodies, 3)), np.zeros(bodies, np.int64)
        _axes(rows.start, rows.point, rows.weight, direction, skin.body, self.bodies, axes, count, group, sense)
        most, name = int(count.max(initial=0)), self.gave
        self.gave += 1
        if most == 0:
            return out
        rhs, found = np.zeros((2, most, len(motion.x), 3))
        _push_together(
            rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies, group, sense, rhs,
        )  # fmt: skip
        before, change = self.starts.get(f"give {name}"), None
        if before is not None:
            change = np.zeros_like(rhs)
            _begin(before, self.starts[f"axes {name}"], axes, self.model.nodes.body, change)
        tasks = np.ascontiguousarray(np.argwhere(np.arange(most)[:, None] < count))
        self.solve(rhs, found, tasks, ROUGH, change)
        _add_response(
            rows.start, rows.point, rows.weight, direction, skin.body, skin.start, skin.node, skin.weight, self.bodies, found, out,
        )  # fmt: skip
        if name < REMEMBERED:
            self.found |= {f"give {name}": found, f"axes {name}": axes[:most].copy()}
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
    """Add impulses on the nodes of implicit bodies to rhs, and mark the bodies that are pushed."""
    for k in range(len(node)):
        u = load(impulse, k)
        if mine[body[node[k]]] and (u[0] != 0.0 or u[1] != 0.0 or u[2] != 0.0):
            store(rhs, node[k], axpy(1.0, u, load(rhs, node[k])))
            pushed[body[node[k]]] = True


@kernel
def _answered(node, impulse, body, bodies, mine, free, response, rhs, dv):  # type: ignore[no-untyped-def]
    """What was pushed, as a right-hand side, and of a response what implicit nodes have that are free."""
    for i in range(len(rhs)):
        store(rhs, i, (0.0, 0.0, 0.0))
        store(dv, i, load(response, i) if mine[i] and free[i] else (0.0, 0.0, 0.0))
    for k in range(len(node)):
        if bodies[body[node[k]]]:
            store(rhs, node[k], add(load(impulse, k), load(rhs, node[k])))


@kernel
def _begin(known, before, axes, body, out):  # type: ignore[no-untyped-def]
    """What the last step found for each axis of each body; an axis may have turned over."""
    for k in range(min(len(known), len(out))):
        for i in range(len(body)):
            if dot(load(before[k], body[i]), load(axes[k], body[i])) >= 0.0:
                store(out[k], i, load(known[k], i))
            else:
                store(out[k], i, scale(-1.0, load(known[k], i)))


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
                c = dot(load(axes[g], body), d)
                if abs(c) > likeness:
                    best, likeness, way = g, abs(c), math.copysign(1.0, c)
            if likeness < 0.5 and count[body] < len(axes):
                best = count[body]
                store(axes[best], body, d)
                count[body] += 1
                way = 1.0
            group[r, side], sense[r, side] = best, way


@kernel
def _push_together(row_start, row_point, row_weight, direction, point_body, start, node, weight, mine, group, sense, out):  # type: ignore[no-untyped-def]
    """Unit impulses of all row sides along each axis, on nodes, (axes, n, 3)."""
    for r in range(len(direction)):
        for k in range(row_start[r], row_start[r + 1]):
            p, w = row_point[k], row_weight[k]
            side = 0 if w > 0.0 else 1
            if point_body[p] < 0 or not mine[point_body[p]]:
                continue
            to = out[group[r, side]]
            for m in range(start[p], start[p + 1]):
                store(to, node[m], axpy(sense[r, side] * w * weight[m], load(direction, r), load(to, node[m])))


@kernel
def _add_response(row_start, row_point, row_weight, direction, point_body, start, node, weight, mine, found, out):  # type: ignore[no-untyped-def]
    """Add |direction . response| of each side of each row to the push along each axis."""
    for a in range(len(found)):
        for r in range(len(direction)):
            for side in range(2):
                total = 0.0
                for k in range(row_start[r], row_start[r + 1]):
                    p, w = row_point[k], row_weight[k]
                    if (w > 0.0) != (side == 0) or point_body[p] < 0 or not mine[point_body[p]]:
                        continue
                    for m in range(start[p], start[p + 1]):
                        total += w * weight[m] * dot(load(direction, r), load(found[a], node[m]))
                out[r] += abs(total)
