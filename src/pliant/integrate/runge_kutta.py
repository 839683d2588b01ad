r"""Runge-Kutta schemes of order eight for soft bodies: Cooper-Verner in one step, Dormand-Prince 8(5,3) in as many as its error asks for.

    y = (x, v),  y' = (v, F(x, v, t) / m + g - d v):   stages y_s = y + h sum_j a_sj y'_j at t + c_s h (12.2 of the methods page)

Elastic forces, dashpots, damping d of vertices and loads are those of the stage. Rigid bodies and bodies of other schemes stay where
the step began. Prescribed vertices move evenly from start to end of the step.

Contact acts afterwards, as an impulse: it adds dv to the velocity and dt dv to the place (3.6 of the methods page, gamma_V = 1), so a
contact reaches its goal in the same step as with Verlet. As if it had acted at the start of the step, it fades with the damping of the
step, dv = I / (m (1 + dt d)); else what rests on the ground, where v = -g dt / 2 stands for rest, would be carried in part by damping.

Dormand-Prince divides a step for each body by itself; bodies at different times within the step are evaluated together. Its first try is
its stable step, and nothing is remembered from one step to the next, so a resumed run goes on bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.integrate import tableaus
from pliant.integrate.stability import staged_step
from pliant.integrate.tableaus import Tableau
from pliant.kernels import axpy, load, parallel, prange, store
from pliant.model import COOPER_VERNER, DOP853, Model

if TYPE_CHECKING:
    from pliant.world.world import World

SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0  # of the next step, by the error of this one
ORDER = 8
MOST_PARTS = 100_000  # of one step


Pair = tuple[Floats, Floats]  # places and velocities, or forces and damping, of the vertices of a scheme


class RungeKutta:
    """The Runge-Kutta bodies of a world."""

    def __init__(self, world: World) -> None:
        scheme = world.model.nodes.scheme
        present = [(code, table) for code, table in TABLEAUS.items() if (scheme == code).any()]
        self.mine = np.isin(scheme, list(TABLEAUS))
        self.schemes = [Scheme(world, code, table) for code, table in present]

    def step(self, force: Floats, damping: Floats, dt: float, x: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Write places and velocities of free vertices after dt.

        Return forces with their means over the step put in [N], (n, 3), and damping with that of the last stage [1/s], (n,).
        Prescribed vertices have theirs in x and v already; `force` and `damping` are those at the start of the step.
        """
        force, damping = force.copy(), damping.copy()
        for scheme in self.schemes:
            scheme.step(force, damping, dt, x, v)
        return force, damping


TABLEAUS = {COOPER_VERNER: tableaus.COOPER_VERNER, DOP853: tableaus.DORMAND_PRINCE}


class Scheme:
    """All bodies of one scheme."""

    def __init__(self, world: World, code: int, tableau: Tableau) -> None:
        model = world.model
        self.world, self.code, self.tableau = world, code, tableau
        self.nodes = np.flatnonzero(model.nodes.scheme == code)
        self.bodies, self.body = np.unique(model.nodes.body[self.nodes], return_inverse=True)
        self.free = (model.nodes.inverse[self.nodes] > 0.0)[:, None]
        self.table_body = _owners_of_tables(model, self.bodies)
        rest, start = model.nodes.rest, model.bodies.node_start
        self.size = np.array([np.ptp(rest[start[b] : start[b + 1]], axis=0).max() for b in self.bodies])
        # room, which every step fills before it reads: x' and v' at the stages, and forces
        self.rates = np.zeros((2, len(tableau.b), len(self.nodes), 3))
        self.force = np.zeros((len(tableau.b), len(self.nodes), 3))

    def step(self, force: Floats, damping: Floats, dt: float, x: Floats, v: Floats) -> None:
        """One step of all its bodies, into x and v; `force` becomes the mean over the step, `damping` that of the last stage."""
        state, mine = self.world.state, self.nodes
        now = state.x[mine], np.where(self.free, state.v[mine], v[mine])
        # forces at the start are known, unless a prescribed vertex goes on with another velocity
        first = (force[mine], damping[mine]) if (now[1] == state.v[mine]).all() else None
        if self.code == COOPER_VERNER:
            whole = np.full(len(self.bodies), dt)
            damping[mine] = self._stages(now, first, np.zeros(len(self.bodies)), whole)
            (x_new, v_new), mean = self._combined(self.tableau.b, now, whole), self._mean_force()
        else:
            (x_new, v_new), mean, damping[mine] = self._adaptive(now, first, damping[mine], dt)
        x[mine], v[mine] = np.where(self.free, x_new, x[mine]), np.where(self.free, v_new, v[mine])
        force[mine] = mean

    def _stages(self, start: Pair, first: Pair | None, passed: Floats, h: Floats) -> Floats:
        """Rates and forces at all stages of a step h [s] of each body, which is `passed` [s] into the step of the world.

        `first`: forces and damping at its start, if they are known. Returns the damping at the last stage [1/s].
        """
        for s in range(len(self.tableau.b)):
            at = self._combined(self.tableau.a[s, :s], start, h)
            force, damping = first if s == 0 and first is not None else self._forces(at, passed + self.tableau.c[s] * h)
            inverse = self.world.model.nodes.inverse[self.nodes, None]
            self.force[s] = force
            self.rates[0, s] = at[1]
            self.rates[1, s] = np.where(self.free, inverse * force + self.world.model.gravity - damping[:, None] * at[1], 0.0)
        return damping

    def _combined(self, weights: Floats, start: Pair, h: Floats) -> Pair:
        """Start plus h times the weighted sum of the rates so far."""
        out = np.empty_like(start[0]), np.empty_like(start[1])
        combine(weights, h[self.body], start[0], start[1], self.rates, out[0], out[1])
        return out

    def _mean_force(self) -> Floats:
        return np.einsum("s,sni->ni", self.tableau.b, self.force)

    def _forces(self, at: Pair, passed: Floats) -> Pair:
        """Forces on its vertices and their damping at a stage; `passed`: time of each body since the step of the world began [s]."""
        state, x, v = self.world.state, self.world.state.x.copy(), self.world.state.v.copy()
        x[self.nodes], v[self.nodes] = at
        time = state.time + np.where(self.table_body >= 0, passed[self.table_body], 0.0)
        found = self.world.forces(x, v, state.position, state.rotation, time, self.code)
        return found.on_nodes[self.nodes], found.damping[self.nodes]

    # -- Dormand-Prince

    def _adaptive(self, now: Pair, first: Pair | None, damping: Floats, dt: float) -> tuple[Pair, Floats, Floats]:
        """Places and velocities after dt in steps that keep the error of each body below its tolerance, mean forces, last damping."""
        passed, mean = np.zeros(len(self.bodies)), np.zeros_like(now[0])
        h = np.minimum(dt, self._first_step(damping))
        for _ in range(MOST_PARTS):
            left = dt - passed
            h = np.where(h > left * (1.0 - 1e-9), left, h)
            damping = self._stages(now, first, passed, h)
            new = self._combined(self.tableau.b, now, h)
            error = self._error(h, dt)
            taken = error <= 1.0
            grown = (taken & (h > 0.0))[self.body, None]
            mean += np.where(grown, (h / dt)[self.body, None] * self._mean_force(), 0.0)
            now = np.where(grown, new[0], now[0]), np.where(grown, new[1], now[1])
            passed = np.where(taken & (h == left), dt, np.where(taken, passed + h, passed))
            if (passed == dt).all():
                return now, mean, damping
            h, first = h * _growth(error, taken), None
            self._refuse_standstill(h, passed, dt)
        worst = self._name(np.argmin(passed))
        raise PliantError(f"{worst} needs more than {MOST_PARTS} parts of one step: use a smaller dt or a larger tolerance.")

    def _first_step(self, damping: Floats) -> Floats:
        """The stable step of each body [s]."""
        model = self.world.model
        elastic = np.full(len(model.bodies), np.inf)
        for group, body in zip(model.groups, model.group_body, strict=True):
            if model.nodes.scheme[group.nodes[0, 0]] == self.code:
                np.minimum.at(elastic, body, group.stable_dt(model.nodes.mass))
        rate = np.zeros(len(self.bodies))
        np.maximum.at(rate, self.body, damping)
        return SAFETY * staged_step(DOP853, elastic[self.bodies], rate)

    def _error(self, h: Floats, dt: float) -> Floats:
        """Error of the step of each body over its tolerance; velocities count with what they displace within dt.

        Estimates of order five and three, joined as by Hairer, Norsett, Wanner: h |e5|^2 / sqrt(|e5|^2 + |e3|^2 / 100).
        """
        model, squares = self.world.model, []
        for weights in (self.tableau.e5, self.tableau.e3):
            e_x, e_v = np.einsum("s,ksni->kni", weights, self.rates)
            node = np.einsum("ni,ni->n", e_x, e_x) + dt * dt * np.einsum("ni,ni->n", e_v, e_v)
            squares.append(np.bincount(self.body, node, minlength=len(self.bodies)))
        five, three = squares
        below = np.sqrt(np.maximum(five + 0.01 * three, 1e-300) * np.bincount(self.body))
        error = h * five / below / (model.bodies.tolerance[self.bodies] * self.size)
        return np.where(np.isfinite(error), error, np.inf)

    def _refuse_standstill(self, h: Floats, passed: Floats, dt: float) -> None:
        still = (passed < dt) & (h < 1e-12 * dt)
        if still.any():
            raise PliantError(
                f"{self._name(np.argmax(still))} cannot keep its tolerance with any step: its motion is not smooth or not finite; "
                "use a larger tolerance, or integrator = \"verlet\"."
            )

    def _name(self, body: int | np.intp) -> str:
        return f"Body '{self.world.model.bodies.names[self.bodies[body]]}'"


def _growth(error: Floats, taken: np.ndarray) -> Floats:
    """By what the next step of each body is longer than this one."""
    factor = SAFETY * np.maximum(error, 1e-300) ** (-1.0 / ORDER)
    return np.clip(factor, SMALLEST, np.where(taken, LARGEST, 1.0))


def _owners_of_tables(model: Model, bodies: Ints) -> Ints:
    """Which of the bodies each table of loads acts on, -1 for none of them."""
    loads, owner = model.loads, np.full(len(model.loads.tables.start) - 1, -1, np.int64)
    owner[loads.point_table] = model.skin.body[loads.point]
    owner[loads.face_table] = model.skin.face_body[loads.face]
    owner[loads.body_table] = loads.body
    place = np.full(len(model.bodies) + 1, -1, np.int64)
    place[bodies] = np.arange(len(bodies))
    return place[owner]


@parallel
def combine(weights, h, x, v, rates, out_x, out_v):  # type: ignore[no-untyped-def]
    """out = start + h sum_j weights_j rates_j, node by node."""
    for i in prange(len(x)):
        p, q = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for j in range(len(weights)):
            if weights[j] != 0.0:
                p = axpy(weights[j], (rates[0, j, i, 0], rates[0, j, i, 1], rates[0, j, i, 2]), p)
                q = axpy(weights[j], (rates[1, j, i, 0], rates[1, j, i, 1], rates[1, j, i, 2]), q)
        store(out_x, i, axpy(h[i], p, load(x, i)))
        store(out_v, i, axpy(h[i], q, load(v, i)))
