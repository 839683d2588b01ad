"""The books of a world: energies and momenta now, and the work of friction of every two bodies, which takes energy and never adds any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats

if TYPE_CHECKING:
    from pliant.world.world import World





from pliant.base import Ints
from pliant.contact.contacts import Contacts


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
        **{account: state.books.get(account, 0.0) for account in ("contact", "friction", "attachments", "drives", "loads")},
    )


HALF = 31  # bits of a body's number


class Rubbing:
    """Friction impulse times slip, summed over steps, for each pair of bodies that has touched.

    The slip is that of one body against the other, so the work is not above zero whatever moves the two; only contacts that
    stick spring back a little.
    """

    def __init__(self) -> None:
        self.pair: Ints = np.zeros(0, np.int64)  # numbers of the two bodies, the lower one first, in one
        self.work: Floats = np.zeros(0)  # [J]

    def take(self, contacts: Contacts) -> None:
        """Add the contacts of one step."""
        if len(contacts) == 0:
            return
        work = np.nansum(contacts.friction_impulse * contacts.slip, axis=1) / contacts.dt
        rows = np.minimum(contacts.a, contacts.b) << HALF | np.maximum(contacts.a, contacts.b)
        self.pair, which = np.unique(np.concatenate([self.pair, rows]), return_inverse=True)
        total = np.zeros(len(self.pair))
        np.add.at(total, which, np.concatenate([self.work, work]))
        self.work = total

    def warning(self, names: list[str], least: float, moved: float) -> str:
        """A sentence about the pair whose friction added most, if that is more than `least` [J]; `moved` [J] moved in the run."""
        if self.work.max(initial=0.0) <= least:
            return ""
        worst = int(self.work.argmax())
        a, b = (names[k] for k in divmod(int(self.pair[worst]), 1 << HALF))
        return (
            f"Friction between '{a}' and '{b}' added {self.work[worst]:.3g} J, {self.work[worst] / moved:.1%} of what moved in this run, "
            "and it can only take energy: they slide in ways that they should not. Use a smaller dt, or more `sweeps` where the "
            "method has them."
        )
