"""What the skin went through so far: largest displacement, largest pressure, and wear, gathered over all steps of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.contact.pressure import Pressure
from pliant.kernels import kernel

if TYPE_CHECKING:
    from pliant.model import Model
    from pliant.simulate.fracture import Epoch
    from pliant.simulate.simulation import Simulation

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

    def take(self, contacts: Contacts) -> None:
        """Account for the step that was just taken."""
        self.follow()
        world, state, count = self.sim.world, self.sim.state, len(self.rest)
        points = world.skin_positions(state.x, state.position, state.rotation)
        _largest(points, self.rest, self.max_displacement)
        if len(contacts) == 0:
            return
        support, pushed = contacts.support, contacts.normal_force[:, None] * contacts.normal
        start = np.concatenate([[0], np.cumsum(support.count)])
        touched, pressure = surface_of(self.sim).carried(points, start, support.point, support.weight, pushed)
        shown = touched < count
        at, pressure = touched[shown], np.nan_to_num(pressure[shown])
        self.max_pressure[at] = np.maximum(self.max_pressure[at], pressure)
        slip = np.nan_to_num(np.linalg.norm(contacts.slip, axis=1))
        rubbed, force = np.zeros((2, len(points)))
        _shares(support.row, support.point, support.weight, np.abs(contacts.normal_force), slip, force, rubbed)
        # a point that carries several contacts slides by their mean, weighted with what each presses
        self.wear[at] += pressure * np.divide(rubbed[at], force[at], out=np.zeros(len(at)), where=force[at] > 0.0)

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
def _shares(row, point, weight, force, slip, on_points, rubbed):  # type: ignore[no-untyped-def]
    """Force of each point's share of its contacts, and force times slip."""
    for k in range(len(row)):
        share = abs(weight[k]) * force[row[k]]
        on_points[point[k]] += share
        rubbed[point[k]] += share * slip[row[k]]
