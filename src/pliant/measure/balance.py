"""Momentum: do the contacts that a step reports account for what contact did to every body, and what must hold up all that moves?

The latter by Newton's law and without asking the contacts (`Newton`). Over a step of dt, with p the momentum of all that moves,
    F dt = p_end - p_start - dt (m g + loads) + what damping took,
each as the integrators take them (integrate/explicit.py, integrate/implicit_euler.py): Verlet kicks span half of two steps, explicit and
rigid bodies fade what they had, implicit ones are damped with the velocity at the end of the step. Exact for those; of Runge-Kutta bodies
damping is taken from the mean velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.kernels import contiguous, kernel, load, norm
from pliant.model import IMPLICIT, VERLET, Rest
from pliant.world.loads import add_loads
from pliant.world.motion import Motion
from pliant.world.world import World


@dataclass(frozen=True)
class Balance:
    """What contact did to bodies in a step, as they received it and as the contacts report it [N s]."""

    received: Floats  # (B, 3)
    reported: Floats  # (B, 3)
    size: float  # sum of the sizes of all impulses
    momentum: float  # largest momentum of a body

    @cached_property
    def error(self) -> float:
        """The largest difference, as a part of all impulses, or of a millionth of the momentum if that is more: below it is rounding."""
        worst = float(np.linalg.norm(self.received - self.reported, axis=1).max(initial=0.0))
        scale = max(self.size, 1e-6 * self.momentum)
        return worst / scale if scale > 0.0 else worst


class Held:
    """What something else holds; made once (`motion.kept(Held)`)."""

    def __init__(self, rest: Rest) -> None:
        nodes, count = rest.nodes, len(rest.bodies)
        self.frame, self.soft = np.zeros(count, bool), np.zeros(count, bool)
        self.frame[rest.frames.body[rest.frames.inverse == 0.0]] = True  # static and driven: nothing of these moves as it is pushed
        self.soft[nodes.body[(nodes.inverse == 0.0) & (nodes.scheme == IMPLICIT)]] = True  # implicit, with fixed or prescribed nodes
        self.all, self.any_soft = self.frame | self.soft, bool(self.soft.any())


def momenta(motion: Motion) -> Floats:
    """What each body has received in the step as it stands, up to what it began with [kg m/s], (B, 3); zero of static and driven frames.

    Of free nodes it is their momentum. A damped body shares an impulse J with its damper, m (1 + a dt) dv = J: `motion.inertia` has that
    factor, so that the difference of two such momenta is the impulse. Fixed and prescribed nodes pass on what is pushed on them. Those of
    an implicit body also take what its other nodes pull them with: of such a body it is what was pushed on all of its nodes, which its
    momentum and its reaction account for up to the tolerance of its solve.
    """
    nodes, frames, held, out = motion.nodes, motion.frames, motion.kept(Held), np.zeros((len(motion.bodies), 3))
    of_nodes = nodes.body, motion.inertia, motion.v, nodes.mass, motion.unsolved, motion.impulse_on_fixed
    _momenta(*of_nodes, frames.body, frames.mass, motion.velocity_frames, held.all, out)
    if held.any_soft:
        body = np.where(held.soft, np.arange(len(out)), -1)
        for pushes in motion.pushed.values():
            for node, impulse, _, _ in pushes:
                _sum(body[nodes.body[node]], impulse, out)
    return out


def balance(motion: Motion, before: Floats, contacts: Contacts) -> Balance:
    """Momenta before contact acted against those after it, and the impulses of the contacts on the same bodies."""
    reported = np.zeros(before.shape)
    a, b = contiguous(contacts.a, np.int64), contiguous(contacts.b, np.int64)
    size = _reported(a, b, *map(contiguous, (contacts.impulse, contacts.normal, contacts.friction_impulse)), reported)
    reported[motion.kept(Held).frame] = 0.0
    return Balance(momenta(motion) - before, reported, size, _longest(before))


@kernel
def _momenta(body, inertia, v, mass, unsolved, on_fixed, frame_body, frame_mass, velocity, held, out):  # type: ignore[no-untyped-def]
    """Sums over the nodes of each body, also of those that were pushed by mass, beside the damper, or are fixed; and frames."""
    for i in range(len(body)):
        if body[i] >= 0:
            for k in range(3):
                out[body[i], k] += inertia[i] * v[i, k]
    for i in range(len(body)):
        if body[i] >= 0:
            for k in range(3):
                out[body[i], k] += on_fixed[i, k]
    for i in range(len(body)):
        if body[i] >= 0:
            for k in range(3):
                if unsolved[i, k] != 0.0:
                    out[body[i], k] += (mass[i] - inertia[i]) * unsolved[i, k]
    for f in range(len(frame_body)):
        for k in range(3):
            out[frame_body[f], k] += frame_mass[f] * velocity[f, k]
    for b in range(len(out)):
        if held[b]:
            for k in range(3):
                out[b, k] = 0.0


@kernel
def _sum(body, vector, out):  # type: ignore[no-untyped-def]
    """out[body] += vector; bodies below 0 are left out."""
    for i in range(len(body)):
        if body[i] >= 0:
            for k in range(3):
                out[body[i], k] += vector[i, k]


@kernel
def _reported(a, b, impulse, normal, friction, out):  # type: ignore[no-untyped-def]
    """Sum the impulses of contacts on their bodies, as far as they are known; the sum of their sizes."""
    size = 0.0
    for r in range(len(a)):
        square = 0.0
        for k in range(3):
            along, across = impulse[r] * normal[r, k], friction[r, k]
            u = (0.0 if math.isnan(along) else along) + (0.0 if math.isnan(across) else across)
            square += u * u
            if a[r] >= 0:
                out[a[r], k] += u
            if b[r] >= 0:
                out[b[r], k] -= u
        size += math.sqrt(square)
    return size


@kernel
def _longest(vectors):  # type: ignore[no-untyped-def]
    longest = 0.0
    for i in range(len(vectors)):
        longest = max(longest, norm(load(vectors, i)))
    return longest


class Newton:
    """Impulse of what holds all that moves, summed over the steps that are taken."""

    def __init__(self, world: World) -> None:
        self.world, self.impulse = world, np.zeros(3)  # [N s]
        self._look()

    def _look(self) -> None:
        """Note what the next step starts from."""
        world, state = self.world, self.world.state
        self.v, self.velocity, self.last = state.v.copy(), state.velocity.copy(), state.last_dt
        self.on_nodes, self.on_frames = np.zeros_like(state.x), np.zeros_like(state.position)
        torque = np.zeros_like(state.position)
        add_loads(world, state.x, state.position, state.rotation, state.time, self.on_nodes, self.on_frames, torque)

    def add(self, dt: float, damping: Floats) -> None:
        """Add the step that was just taken, with the damping that nodes had in it [1/s], (n,)."""
        nodes, frames, state, g = self.world.model.nodes, self.world.model.frames, self.world.state, self.world.model.gravity
        free = frames.inverse > 0.0
        kick = np.where((nodes.scheme == VERLET) & (nodes.inverse > 0.0), 0.5 * (dt + self.last), dt)[:, None]
        fade, mass = damping[:, None], nodes.mass[:, None]
        took = np.where((nodes.scheme == IMPLICIT)[:, None], dt * fade * state.v, 0.5 * dt * fade * (self.v + state.v))
        explicit = (nodes.scheme <= VERLET) & (nodes.inverse > 0.0)
        took = np.where(explicit[:, None], kick * fade / (1.0 + kick * fade) * self.v, took)
        took = np.where((nodes.inverse == 0.0)[:, None], dt * fade * state.v, took)  # as the reaction of what is held has it
        self.impulse += np.sum(mass * (state.v - self.v - kick * g + took) - kick * self.on_nodes, axis=0)
        fade, mass = (dt * frames.damping[free] / (1.0 + dt * frames.damping[free]))[:, None], frames.mass[free, None]
        changed = state.velocity[free] - self.velocity[free] - dt * g + fade * self.velocity[free]
        self.impulse += np.sum(mass * changed - dt * self.on_frames[free], axis=0)
        self._look()
