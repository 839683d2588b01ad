"""Quantities of a simulation while it runs, one value a step: forces between bodies, pressure, depth, energies, where points are.

`QUANTITIES` lists them. A `Watch` follows one of them; it is called after every step, or part of one, and keeps numbers only, so a run
whose frames nobody wants needs no run file to be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError, nearest
from pliant.kernels import add, contiguous, dot, inline, kernel, load, scale
from pliant.measure.books import books
from pliant.measure.pairs import each_known, known, mean_pressure, per_pair

if TYPE_CHECKING:
    from pliant.contact.contacts import Contacts
    from pliant.simulate.simulation import Simulation
    from pliant.simulate.step import StepReport

AXES = ("x", "y", "z")


@dataclass
class Watch:
    """One quantity, over time."""

    sim: Simulation
    of: str  # of QUANTITIES
    pair: tuple[str, str | None] | None = None  # on the first body, from the second (None: from anything)
    body: str | None = None
    at: tuple[float, float, float] | None = None  # [m] the skin point of the body that is nearest at the start; None: its centre of mass
    vertex: int | None = None  # or a skin point by its number
    relative_to: str | None = None  # a body: motion as seen from its centre of mass
    component: str = "size"  # of a vector: x, y, z or its size
    end: list[float] = field(default_factory=list)  # [s]
    dt: list[float] = field(default_factory=list)  # [s]
    values: list[float] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)  # of quantities that are vectors, if their size is asked for
    total: float = 0.0  # of what adds up

    def __post_init__(self) -> None:
        if self.of not in QUANTITIES:
            raise PliantError(f"There is no quantity '{self.of}': {nearest(self.of, QUANTITIES)}")
        quantity = QUANTITIES[self.of]
        named = [body for body in (*(self.pair or ()), self.body, self.relative_to) if body is not None]
        self.numbers = {body: self.sim.index(body) for body in named}
        if quantity.needs == "pair" and self.pair is None:
            raise PliantError(f"'{self.of}' is of two bodies: say which with pair = [\"A\", \"B\"], or pair = [\"A\"] for A and anything.")
        if quantity.needs == "body" and self.body is None:
            raise PliantError(f"'{self.of}' is of a body: say which with body = \"NAME\".")
        self.point = self._point()
        self.start: Floats = self.place() if quantity.needs == "body" and self.of != "reaction" else np.zeros(3)

    def take(self, report: StepReport) -> None:
        """Account for the step that was just taken."""
        value = QUANTITIES[self.of].value(self, report)
        if isinstance(value, np.ndarray) and self.component == "size":
            self.vectors.append(value)
        if isinstance(value, np.ndarray):
            value = float(np.linalg.norm(value)) if self.component == "size" else float(value[AXES.index(self.component)])
        self.end.append(report.time)
        self.dt.append(report.dt)
        self.values.append(float(value))

    @property
    def history(self) -> tuple[Floats, Floats, Floats]:
        """Ends [s] and lengths [s] of the steps, and the values."""
        return np.array(self.end), np.array(self.dt), np.array(self.values)

    # -- what quantities are made from

    def rows(self, contacts: Contacts) -> tuple[Bools, Floats]:
        """The contacts of the pair, and +1 where the first body is A of the row, -1 where it is B."""
        assert self.pair is not None
        first, second = (self._of(end, contacts.a, contacts.b) for end in self.pair)
        turned = second[0] & first[1]
        chosen = (first[0] & second[1]) | turned
        return chosen, np.where(turned[chosen], -1.0, 1.0)

    def family(self, name: str | None) -> Ints:
        """A body and what broke off it, by their numbers; None: nobody."""
        if name is None or self.sim.epoch.broken.parent.size == 0:
            return np.array([] if name is None else [self.numbers[name]], np.int64)
        return np.asarray(self.sim.world.model.bodies.family(self.numbers[name]), np.int64)

    def _of(self, name: str | None, a: Ints, b: Ints) -> tuple[Bools, Bools]:
        """Where A and where B is a body, or broke off it; None: any but the first."""
        if name is None:
            assert self.pair is not None
            mine = self._of(self.pair[0], a, b)
            return ~mine[0], ~mine[1]
        family = self.family(name)
        return (a == family[0], b == family[0]) if len(family) == 1 else (np.isin(a, family), np.isin(b, family))

    def place(self) -> Floats:
        """Where the point is now [m], as seen from `relative_to`."""
        assert self.body is not None
        if self.point is None:
            here = self.sim.centre(self.body)
        else:
            source = self.sim.epoch.source
            here = self.sim.points()[int(np.argmax(source == self.point))]
        return here if self.relative_to is None else here - self.sim.centre(self.relative_to)

    def _point(self) -> int | None:
        """The number of the skin point at the start."""
        if self.body is None or (self.at is None and self.vertex is None):
            return None
        bodies, own = self.sim.world.model.bodies, self.sim.points(self.body)
        number = self.vertex if self.at is None else int(np.argmin(np.linalg.norm(own - np.array(self.at), axis=1)))
        assert number is not None
        if not 0 <= number < len(own):
            raise PliantError(f"Body '{self.body}' has no vertex {number}: it has {len(own)}, numbered from 0.")
        return int(bodies.point_start[self.sim.index(self.body)]) + number


def _sums(watch: Watch, contacts: Contacts) -> Floats:
    """Of the contacts of the pair, (9,): force and friction on the first body, normal force, slip times what presses, and that [N, m]."""
    out, ends = np.zeros(9), (watch.family(end) for end in watch.pair or ())
    columns = contacts.impulse, contacts.normal, contacts.friction_impulse, contacts.slip
    _add_up(contiguous(contacts.a, np.int64), contiguous(contacts.b, np.int64), *ends, *map(contiguous, columns), contacts.dt, out)
    return out


@kernel
def _add_up(a, b, first, second, impulse, normal, friction, slip, dt, out):  # type: ignore[no-untyped-def]
    """See `_sums`; nobody as the second: anybody but the first."""
    for r in range(len(a)):
        ahead = _one_of(a[r], first) and (_one_of(b[r], second) if len(second) else not _one_of(b[r], first))
        turned = _one_of(b[r], first) and (_one_of(a[r], second) if len(second) else not _one_of(a[r], first))
        if not (ahead or turned):
            continue
        turn, along = -1.0 if turned else 1.0, impulse[r] / dt
        across = scale(1.0 / dt, each_known(load(friction, r)))
        force, u = add(scale(along, load(normal, r)), across), load(slip, r)
        for k in range(3):
            out[k] += turn * force[k]
            out[3 + k] += turn * across[k]
        out[6] += along
        pressed = max(along, 0.0)
        out[7] += known(pressed * math.sqrt(dot(u, u)))
        out[8] += pressed


@inline
def _one_of(body, bodies):  # type: ignore[no-untyped-def]
    found = False
    for k in range(len(bodies)):
        found |= bodies[k] == body
    return found


def _force(watch: Watch, report: StepReport) -> Floats:
    return _sums(watch, report.contacts)[:3]


def _friction(watch: Watch, report: StepReport) -> Floats:
    return _sums(watch, report.contacts)[3:6]


def _normal_force(watch: Watch, report: StepReport) -> float:
    return float(_sums(watch, report.contacts)[6])


def _torque(watch: Watch, report: StepReport) -> Floats:
    assert watch.pair is not None
    chosen, turn = watch.rows(report.contacts)
    arm = report.contacts.point[chosen] - watch.sim.centre(watch.pair[0])
    return np.sum(np.cross(arm, turn[:, None] * report.contacts.force[chosen]), axis=0)


def _area(watch: Watch, report: StepReport) -> float:
    return float(np.nansum(report.contacts.area[watch.rows(report.contacts)[0]]))


def _pressure(watch: Watch, report: StepReport) -> float:
    chosen = watch.rows(report.contacts)[0]
    found = per_pair(report.contacts.select(chosen), report.face[chosen])
    return float(found["pressure"].max()) if found else 0.0


def _mean_pressure(watch: Watch, report: StepReport) -> float:
    face = float(report.face[watch.rows(report.contacts)[0]].min(initial=np.inf))
    return float(mean_pressure(*(np.array([value]) for value in (_normal_force(watch, report), _area(watch, report), face)))[0])


def _depth(watch: Watch, report: StepReport) -> float:
    return float(np.fmax.reduce(report.contacts.depth[watch.rows(report.contacts)[0]], initial=0.0))


def _contacts(watch: Watch, report: StepReport) -> float:
    return float(np.count_nonzero(watch.rows(report.contacts)[0]))


def _slip(watch: Watch, report: StepReport) -> float:
    """Sliding of all contacts in a step, weighted with what each presses; it adds up."""
    slid, pressed = _sums(watch, report.contacts)[7:]
    if pressed > 0.0:
        watch.total += float(slid / pressed)
    return watch.total


def _reaction(watch: Watch, report: StepReport) -> Floats:
    assert watch.body is not None
    return report.reaction[watch.sim.nodes(watch.body)].sum(axis=0)


def _displacement(watch: Watch, report: StepReport) -> Floats:
    return watch.place() - watch.start


def _speed(watch: Watch, report: StepReport) -> Floats:
    """Of a point: the way of the step over its length."""
    before, watch.start = watch.start, watch.place()
    return (watch.start - before) / report.dt


def _pieces(watch: Watch, report: StepReport) -> float:
    if watch.body is None:
        return float(watch.sim.epoch.broken.parent.size)
    return float(len(watch.sim.world.model.bodies.family(watch.sim.index(watch.body))) - 1)


class Quantity(NamedTuple):
    """What can be watched."""

    unit: str
    needs: str  # pair, body or nothing
    about: str
    value: Callable[[Watch, StepReport], float | Floats]


QUANTITIES = {
    "force": Quantity("N", "pair", "of contact on the first body, normal and friction", _force),
    "normal_force": Quantity("N", "pair", "sum over the contacts", _normal_force),
    "friction": Quantity("N", "pair", "tangential force on the first body", _friction),
    "torque": Quantity("N m", "pair", "of contact on the first body about its centre of mass", _torque),
    "area": Quantity("m^2", "pair", "that touches", _area),
    "pressure": Quantity("Pa", "pair", "the largest, over no less than a face of an element", _pressure),
    "mean_pressure": Quantity("Pa", "pair", "normal force over area, or over a face of an element if that is more", _mean_pressure),
    "depth": Quantity("m", "pair", "of the deepest contact", _depth),
    "contacts": Quantity("1", "pair", "how many", _contacts),
    "slip": Quantity("m", "pair", "way that the contacts have slid so far, weighted with what each presses", _slip),
    "position": Quantity("m", "body", "of a point (`at`, `vertex`), or of the centre of mass", lambda w, r: w.place()),
    "displacement": Quantity("m", "body", "of a point, or of the centre of mass, from where it was at the start", _displacement),
    "velocity": Quantity("m/s", "body", "of a point, or of the centre of mass", _speed),
    "reaction": Quantity("N", "body", "force that holds the fixed and prescribed vertices of a soft body", _reaction),
    "pieces": Quantity("1", "nothing", "that have broken off, of any body or of `body`", _pieces),
    "kinetic": Quantity("J", "nothing", "energy", lambda w, r: books(w.sim.world, elastic=False).kinetic),
    "elastic": Quantity("J", "nothing", "energy", lambda w, r: books(w.sim.world).elastic),
    "gravity": Quantity("J", "nothing", "energy in its field, zero at the origin", lambda w, r: books(w.sim.world, elastic=False).gravity),
    "energy": Quantity("J", "nothing", "kinetic, elastic and gravity", lambda w, r: books(w.sim.world).total),
    "lost": Quantity("J", "nothing", "energy gone by damping and integration so far", lambda w, r: books(w.sim.world).lost),
    "friction_work": Quantity("J", "nothing", "of friction so far; below zero", lambda w, r: books(w.sim.world, elastic=False).friction),
}  # fmt: skip
