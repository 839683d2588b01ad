"""What the skin went through so far: largest displacement, largest pressure, and wear, gathered over all steps of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.contact.pressure import Pressure
from pliant.kernels import contiguous, dot, kernel, load

if TYPE_CHECKING:
    from pliant.model import Model
    from pliant.simulate.fracture import Epoch
    from pliant.simulate.simulation import Simulation
    from pliant.simulate.step import StepReport

FIELDS = ("max_displacement", "max_pressure", "wear")


class History:
    """Call `take` after every step, or part of one; the fields run over all skin points that bodies show."""

    def __init__(self, sim: Simulation, first: Floats | None = None) -> None:
        self.sim, self.epoch = sim, sim.epoch
        self.first = sim.points() if first is None else first  # [m] (p, 3) where points were before the first step, in the first epoch
        self.rest = rest_points(sim.epoch, sim.world.model, self.first)
        self.max_displacement = np.zeros(len(self.rest))  # [m]
        self.max_pressure = np.zeros(len(self.rest))  # [Pa]
        self.wear = np.zeros(len(self.rest))  # [J/m^2] pressure times slip, summed: Archard's law without its coefficient

    def follow(self) -> None:
        """Go on with the points that bodies have now: after a fracture each takes over from the point it was."""
        before, now = self.epoch, self.sim.epoch
        if before is now:
            return
        self.rest, self.epoch = rest_points(now, self.sim.world.model, self.first), now
        was, is_ = before.source[: len(self.max_pressure)], now.source[: len(self.rest)]
        for name in FIELDS:
            known = np.zeros(len(before.first.skin))
            np.maximum.at(known, was[was >= 0], getattr(self, name)[was >= 0])
            setattr(self, name, np.where(is_ >= 0, known[is_], 0.0))

    def take(self, report: StepReport) -> None:
        """Account for the step that was just taken."""
        self.follow()
        state, surface, contacts, points = self.sim.state, surface_of(self.sim), report.contacts, report.points
        if points is None:
            points = self.sim.world.skin_positions(state.x, state.position, state.rotation)
        _largest(points, self.rest, self.max_displacement)
        if len(contacts) == 0:
            return
        support, pushed = contacts.support, contacts.normal_force[:, None] * contacts.normal
        start = np.concatenate([[0], np.cumsum(support.count)])
        touched, pressure = surface.carried(points, start, support.point, support.weight, pushed)
        sums = np.zeros((2, len(touched)))
        _rub(
            start, support.point, support.weight, contiguous(contacts.normal_force), contiguous(contacts.slip), touched, pressure,
            surface.slot, sums, self.max_pressure, self.wear,
        )  # fmt: skip

    @property
    def fields(self) -> dict[str, Floats]:
        """The fields by name."""
        return {name: getattr(self, name) for name in FIELDS}

    def restore(self, fields: dict[str, np.ndarray]) -> None:
        """Go on from fields that were saved."""
        for name in FIELDS:
            getattr(self, name)[:] = fields[name]


def rest_points(epoch: Epoch, model: Model, first: Floats) -> Floats:
    """Where the points of the present skin were at the start [m], given those of the first epoch."""
    source = epoch.source[: model.bodies.point_start[-1]]
    out = first[np.maximum(source, 0)]
    skin = model.skin
    if len(skin.places):
        out[source < 0] = skin.places[: len(source)][source < 0]
        return out
    for p in np.flatnonzero(source < 0).tolist():
        entry = slice(skin.start[p], skin.start[p + 1])
        out[p] = np.sum(skin.weight[entry, None] * model.nodes.rest[skin.node[entry]], axis=0)
    return out


def surface_of(sim: Simulation) -> Pressure:
    """Faces around the skin points, made once."""
    return sim.world.derived(Pressure)


@kernel
def _largest(points, rest, out):  # type: ignore[no-untyped-def]
    """out = max(out, |points - rest|)."""
    for i in range(len(rest)):
        square = 0.0
        for k in range(3):
            square += (points[i, k] - rest[i, k]) ** 2
        out[i] = max(out[i], np.sqrt(square))


@kernel
def _rub(start, point, weight, force, slip, touched, pressure, slot, sums, most, wear):  # type: ignore[no-untyped-def]
    """Account for the pressure at the points that carry rows, and for their sliding under it.

    A point that carries several contacts slides by their mean, weighted with what each presses: `sums` (2, touched) are force times slip
    and force. slot (p,) comes and goes as -1.
    """
    for k in range(len(touched)):
        slot[touched[k]] = k
    for r in range(len(start) - 1):
        u = load(slip, r)
        way, push = math.sqrt(dot(u, u)), abs(force[r])
        for k in range(start[r], start[r + 1]):
            at = slot[point[k]]
            if at >= 0:
                share = abs(weight[k]) * push
                sums[0, at] += share * (0.0 if math.isnan(way) else way)
                sums[1, at] += share
    for k in range(len(touched)):
        p = touched[k]
        slot[p] = -1
        if p < len(most) and not math.isnan(pressure[k]):
            most[p] = max(most[p], pressure[k])
            wear[p] += pressure[k] * (sums[0, k] / sums[1, k] if sums[1, k] > 0.0 else 0.0)
