"""The books of a world: energies and momenta now, work so far, and the account of every two bodies.

Velocities of symplectic Euler and Verlet are those of the middle of a step: v' = v + dt F(x) / m, x' = x + dt v' (integrate/explicit).
A sum of ones with the potential V at the end of the step swings by dt/2 F v as a body does, and is no energy of any moment. So the books
have potentials where velocities are, half a step before the end:

    V(x') + dt/2 F(x') v',   of gravity -m g (x' - dt/2 v')

With 1/2 m v'^2 this is what these schemes keep, for linear forces exactly: of a spring V becomes k/2 x x'. What contact and attachments
push changes v' alone, so it is no part of it, and of what rests nothing changes. Implicit and Runge-Kutta schemes have both at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.kernels import add, axpy, cross, dot, kernel, load, scale
from pliant.measure.account import PairBooks, Pairs, pair_books
from pliant.model import SYMPLECTIC, VERLET

if TYPE_CHECKING:
    from pliant.world.world import World

ROUNDING = 1e-9  # of the largest energy, or of what bodies have by themselves: less is told as zero (rounding leaves 1e-16 to 1e-12)


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
    flow: float  # what plastic flow and tears took, a part of what is lost
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
        """What is gone without being given to anything [J]: by flow, damping and the integrators. Below zero it came from nowhere."""
        return self.start + self.given - self.total

    @property
    def pairs(self) -> list[PairBooks]:
        """Of every two bodies that have touched, most work first."""
        return pair_books(self.accounts, self.names)


def books(world: World, elastic: bool = True, known: Sequence[Floats] | None = None, coming: float | None = None) -> Books:
    """The books at this moment; the elastic energy costs a pass or two over all elements and is NaN if not asked for.

    `known`: it is known already, that of the elements of each group [J]. `coming`: the first step is yet to come, and is so long [s]:
    symplectic Euler takes the velocity that it is given for that of half a step before, Verlet does not.
    """
    nodes, frames, state, g = world.model.nodes, world.model.frames, world.state, world.model.gravity.reshape(1, 3)
    late = 0.5 * (state.last_dt if coming is None else coming)
    of_scheme = {SYMPLECTIC: late, VERLET: 0.5 * state.last_dt}
    half = np.select([nodes.scheme == scheme for scheme in of_scheme], list(of_scheme.values()), 0.0)
    of_nodes = _sums(nodes.mass, state.x, state.v, half, g)
    of_frames = _sums(np.where(frames.inverse > 0, frames.mass, 0.0), state.position, state.velocity, np.full_like(frames.mass, late), g)
    spin = np.where((frames.inverse > 0)[:, None], state.spin, 0.0)
    turning = 0.5 * np.sum(spin * world.angular_velocities(state.rotation, state.spin))
    return Books(
        kinetic=float(of_nodes[0] + of_frames[0] + turning),
        elastic=_elastic(world, half, known) if elastic else np.nan,
        gravity=-float(of_nodes[1] + of_frames[1]),
        momentum=np.array(of_nodes[2]) + np.array(of_frames[2]),
        angular_momentum=np.array(of_nodes[3]) + np.array(of_frames[3]) + spin.sum(axis=0),
        changes=state.books.get("changes", 0.0) + state.books.get("rewound", 0.0),
        start=state.books.get("start", np.nan),
        flow=-state.books.get("plastic", 0.0),
        accounts=state.pairs,
        names=world.model.bodies.names,
        **{account: state.books.get(account, 0.0) for account in ("contact", "friction", "attachments", "drives", "loads")},
    )


def _elastic(world: World, half: Floats, known: Sequence[Floats] | None) -> float:
    """Elastic energy [J] half [s], (n,) before the moment of the places."""
    energy = float(world.elastic_energy(world.state.x, known).sum())
    if half.any():
        energy += float(np.sum(half[:, None] * world.elastic_forces(world.state.x) * world.state.v))
    return energy


@kernel
def _sums(mass, x, v, half, gravity):  # type: ignore[no-untyped-def]
    """Kinetic energy, work of gravity on the way from the origin to half [s] before x, momentum, and its moment about the origin."""
    kinetic, fallen, momentum, moment = 0.0, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(len(mass)):
        p = scale(mass[i], load(v, i))
        kinetic += 0.5 * dot(p, load(v, i))
        fallen += mass[i] * dot(axpy(-half[i], load(v, i), load(x, i)), load(gravity, 0))
        momentum, moment = add(momentum, p), add(moment, cross(load(x, i), p))
    return kinetic, fallen, momentum, moment
