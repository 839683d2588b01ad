r"""Runge-Kutta schemes of order eight for soft bodies: Cooper-Verner in one step, Dormand-Prince 8(5,3) in as many as its error asks for.

    y = (x, v),  y' = (v, F(x, v, t) / m + g - d v):   stages y_s = y + h sum_j a_sj y'_j at t + c_s h (theory/springs 4)

Elastic forces, dashpots, damping d of vertices and loads are those of the stage. Rigid bodies and bodies of other schemes stay where
the step began. Prescribed vertices move evenly from start to end of the step.

Contact acts afterwards, as an impulse: it adds dv to the velocity and dt dv to the place (theory/noniterative 5.7, gamma_V = 1), so a
contact reaches its goal in the same step as with Verlet. As if it had acted at the start of the step, it fades with the damping of the
step, dv = I / (m (1 + dt d)); else what rests on the ground, where v = -g dt / 2 stands for rest, would be carried in part by damping.

Dormand-Prince divides a step for each body by itself; bodies at different times within the step are evaluated together. Its first try is
its stable step, and nothing is remembered from one step to the next, so a resumed run goes on bit for bit.

Coefficients: Cooper-Verner has eleven stages (G. J. Cooper, J. H. Verner, SIAM J. Numer. Anal. 9, 1972), the "Verner 8th order" of
Motheram, Tribble; Dormand-Prince 8(5,3) twelve, with estimates of order five and three (E. Hairer, S. P. Norsett, G. Wanner, "Solving
Ordinary Differential Equations I", 1993). Tests check the order conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.integrate.explicit import staged_step
from pliant.kernels import axpy, load, parallel, prange, store
from pliant.model import COOPER_VERNER, DOP853, Model

if TYPE_CHECKING:
    from pliant.world.world import World



from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Tableau:
    """y_s = y + h sum_j a_sj k_j at time t + c_s h, y' = y + h sum_j b_j k_j; e5 and e3 weigh the estimates of the error."""

    a: Floats  # (s, s), below the diagonal
    b: Floats  # (s,)
    e5: Floats = field(default_factory=lambda: np.zeros(0))
    e3: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def c(self) -> Floats:
        return self.a.sum(axis=1)


def _row(values: Mapping[int, float], size: int) -> Floats:
    out = np.zeros(size)
    out[list(values)] = list(values.values())
    return out


def _tableau(a: Sequence[Mapping[int, float]], b: Mapping[int, float], *errors: Mapping[int, float]) -> Tableau:
    return Tableau(np.stack([_row(r, len(a)) for r in a]), _row(b, len(a)), *(_row(e, len(a)) for e in errors))


_q = 21.0**0.5
_CV_A: tuple[dict[int, float], ...] = (
    {},
    {0: 1 / 2},
    {0: 1 / 4, 1: 1 / 4},
    {0: 1 / 7, 1: -(7 + 3 * _q) / 98, 2: (21 + 5 * _q) / 49},
    {0: (11 + _q) / 84, 2: (18 + 4 * _q) / 63, 3: (21 - _q) / 252},
    {0: (5 + _q) / 48, 2: (9 + _q) / 36, 3: (-231 + 14 * _q) / 360, 4: (63 - 7 * _q) / 80},
    {0: (10 - _q) / 42, 2: (-432 + 92 * _q) / 315, 3: (633 - 145 * _q) / 90, 4: (-504 + 115 * _q) / 70, 5: (63 - 13 * _q) / 35},
    {0: 1 / 14, 4: (14 - 3 * _q) / 126, 5: (13 - 3 * _q) / 63, 6: 1 / 9},
    {0: 1 / 32, 4: (91 - 21 * _q) / 576, 5: 11 / 72, 6: -(385 + 75 * _q) / 1152, 7: (63 + 13 * _q) / 128},
    {0: 1 / 14, 4: 1 / 9, 5: -(733 + 147 * _q) / 2205, 6: (515 + 111 * _q) / 504, 7: -(51 + 11 * _q) / 56, 8: (132 + 28 * _q) / 245},
    {
        4: (-42 + 7 * _q) / 18, 5: (-18 + 28 * _q) / 45, 6: -(273 + 53 * _q) / 72, 7: (301 + 53 * _q) / 72,
        8: (28 - 28 * _q) / 45, 9: (49 - 7 * _q) / 18,
    },  # fmt: skip
)
_CV_B = {0: 1 / 20, 7: 49 / 180, 8: 16 / 45, 9: 49 / 180, 10: 1 / 20}

_DOP_A: tuple[dict[int, float], ...] = (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {0: 0.03709200011850479, 3: 0.17038392571223998, 4: 0.10726203044637328, 5: -0.015319437748624402, 6: 0.008273789163814023},
    {0: 0.6241109587160757, 3: -3.3608926294469414, 4: -0.868219346841726, 5: 27.59209969944671, 6: 20.154067550477894,
        7: -43.48988418106996},
    {0: 0.47766253643826434, 3: -2.4881146199716677, 4: -0.590290826836843, 5: 21.230051448181193, 6: 15.279233632882423,
        7: -33.28821096898486, 8: -0.020331201708508627},
    {0: -0.9371424300859873, 3: 5.186372428844064, 4: 1.0914373489967295, 5: -8.149787010746927, 6: -18.52006565999696,
        7: 22.739487099350505, 8: 2.4936055526796523, 9: -3.0467644718982196},
    {0: 2.273310147516538, 3: -10.53449546673725, 4: -2.0008720582248625, 5: -17.9589318631188, 6: 27.94888452941996,
        7: -2.8589982771350235, 8: -8.87285693353063, 9: 12.360567175794303, 10: 0.6433927460157636},
)
_DOP_B = {0: 0.054293734116568765, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585, 8: 0.3111643669578199,
        9: -0.1521609496625161, 10: 0.20136540080403034, 11: 0.04471061572777259}
_DOP_E3 = {0: -0.18980075407240762, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585, 8: -0.4226823213237919,
        9: -0.1521609496625161, 10: 0.20136540080403034, 11: 0.02265179219836082}
_DOP_E5 = {0: 0.01312004499419488, 5: -1.2251564463762044, 6: -0.4957589496572502, 7: 1.6643771824549864, 8: -0.35032884874997366,
        9: 0.3341791187130175, 10: 0.08192320648511571, 11: -0.022355307863886294}

TABLEAUS = {COOPER_VERNER: _tableau(_CV_A, _CV_B), DOP853: _tableau(_DOP_A, _DOP_B, _DOP_E5, _DOP_E3)}
