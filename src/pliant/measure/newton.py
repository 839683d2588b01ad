"""The force that must hold up all that moves, by Newton's law and without asking the contacts.

Over a step of dt, with p the momentum of all that moves,
    F dt = p_end - p_start - dt (m g + loads) + what damping took,
each as the integrators take them (integrate/explicit.py, integrate/implicit_euler.py): Verlet kicks span half of two steps, explicit and
rigid bodies fade what they had, implicit ones are damped with the velocity at the end of the step. Exact for those; of Runge-Kutta bodies
damping is taken from the mean velocity.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.model import IMPLICIT, VERLET
from pliant.world.loads import add_loads
from pliant.world.world import World


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
