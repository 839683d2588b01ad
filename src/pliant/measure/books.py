"""The books of a world: energies and momenta now, work so far, and the account of every two bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.measure.account import PairBooks, Pairs, pair_books

if TYPE_CHECKING:
    from pliant.world.world import World


@dataclass(frozen=True)
class Books:
    """Energies [J] and momenta of all movable bodies."""

    kinetic: float
    elastic: float
    gravity: float  # energy in the field of gravity, zero at the origin
    momentum: Floats  # [kg m/s] (3,)
    angular_momentum: Floats  # [kg m^2/s] (3,) about the origin
    # work on the bodies so far
    contact: float  # of contact, normal and friction
    friction: float  # of friction alone, a part of it
    attachments: float  # of springs, strings and welds
    drives: float  # of what holds fixed and prescribed parts
    loads: float  # of the scene's forces, tractions and pressures
    changes: float  # of changing gravity and materials, and of putting bodies back (`rewind`)
    start: float  # total before the first step; NaN if no step was taken
    accounts: Pairs = field(default_factory=dict, repr=False)
    names: list[str] = field(default_factory=list, repr=False)

    @property
    def total(self) -> float:
        """Kinetic, elastic and gravity [J]."""
        return self.kinetic + self.elastic + self.gravity

    @property
    def given(self) -> float:
        """All work on the bodies so far [J]."""
        return self.contact + self.attachments + self.drives + self.loads + self.changes

    @property
    def lost(self) -> float:
        """What is gone without being given to anything [J]: by damping and by the integrators. Below zero it came from nowhere."""
        return self.start + self.given - self.total

    @property
    def pairs(self) -> list[PairBooks]:
        """Of every two bodies that have touched, most work first."""
        return pair_books(self.accounts, self.names)


def books(world: World, elastic: bool = True) -> Books:
    """The books at this moment; the elastic energy costs a pass over all elements and is NaN if not asked for."""
    nodes, frames, state, g = world.model.nodes, world.model.frames, world.state, world.model.gravity
    omega = world.angular_velocities(state.rotation, state.spin)
    mass = np.where(frames.inverse > 0, frames.mass, 0.0)
    moving = (frames.inverse > 0)[:, None]
    spin = np.where(moving, state.spin, 0.0)
    p_nodes, p_frames = nodes.mass[:, None] * state.v, mass[:, None] * state.velocity
    kinetic = 0.5 * np.sum(p_nodes * state.v) + 0.5 * np.sum(p_frames * state.velocity) + 0.5 * np.sum(spin * omega)
    turning = np.cross(state.x, p_nodes).sum(axis=0) + np.cross(state.position, p_frames).sum(axis=0) + spin.sum(axis=0)
    return Books(
        kinetic=float(kinetic),
        elastic=float(world.elastic_energy(state.x).sum()) if elastic else np.nan,
        gravity=-float(np.sum(nodes.mass[:, None] * state.x * g) + np.sum(mass[:, None] * state.position * g)),
        momentum=p_nodes.sum(axis=0) + p_frames.sum(axis=0),
        angular_momentum=turning,
        changes=state.books.get("changes", 0.0) + state.books.get("rewound", 0.0),
        start=state.books.get("start", np.nan),
        accounts=state.pairs,
        names=world.model.bodies.names,
        **{account: state.books.get(account, 0.0) for account in ("contact", "friction", "attachments", "drives", "loads")},
    )
