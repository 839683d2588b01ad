"""A particle drops onto a plane: it comes to rest below the critical time step of its penalty force, and is thrown ever higher above it.

Section 7.1.1 of the thesis on continuous penalty forces. In contact, with s = k dt^2 / m, a step multiplies height and speed by a matrix of
trace 2 - 2s and determinant 1 - s (discrete), or 2 - 3s/2 and 1 - s/2 (continuous, misprinted in 7.11): stable below s = 4/3 and s = 2.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.geometry import shapes
from pliant.geometry.mass import mass_of_surface
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

RADIUS = 0.1  # [m] of the ball that stands for the particle; what counts is its lowest point
LIMITS = {"penalty": 4.0 / 3.0, "continuous-penalty": 2.0}  # of s


def make(
    method: str = "continuous-penalty", stiffness: float = 1000.0, mass: float = 1.0, height: float = 0.1, dt: float = 0.01,
    duration: float = 1.5,
) -> Scene:  # fmt: skip
    """method: penalty or continuous-penalty; stiffness [N/m], mass [kg], height [m] of the fall."""
    contact = {"method": method, "stiffness": stiffness, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="The largest stable time step of penalty forces.")
    ball = dict(kind="ball", radius=RADIUS, edge=RADIUS)
    density = mass / mass_of_surface(shapes.make("ball", radius=RADIUS, edge=RADIUS).surface()).volume
    scene.add(name="plane", shape="plane", model="static")
    scene.add(name="particle", shape=ball, model="rigid", position=(0, 0, height + RADIUS), material=dict(density=density))
    return scene


def critical(method: str, stiffness: float, mass: float) -> float:
    """The largest stable time step [s]: sqrt(4 m / 3 k) and sqrt(2 m / k)."""
    return float(np.sqrt(LIMITS[method] * mass / stiffness))


def predicted(method: str, stiffness: float, mass: float, height: float, dt: float, steps: int, gravity: float = 9.81) -> Floats:
    """Heights after each step [m] by the recurrence of 9.4 of the methods page, written out."""
    x, v, out = height, 0.0, np.empty(steps)
    for i in range(steps):
        free = v - gravity * dt
        end = x + dt * free
        if method == "penalty":
            impulse = dt * stiffness * max(-end, 0.0)
        else:  # the mean depth of a straight path from x to end
            inside = np.clip([x, end], None, 0.0)
            share = 1.0 if x < 0.0 and end < 0.0 else abs(inside[1] - inside[0]) / max(abs(end - x), 1e-300)
            impulse = -dt * stiffness * share * 0.5 * (inside[0] + inside[1])
        v = free + impulse / mass
        x += dt * v
        out[i] = x
    return out


def expect(sim: Simulation) -> list[str]:
    """The height is that of the recurrence; below the critical step the particle has come down."""
    contact = sim.scene.contact
    assert isinstance(contact, dict)
    method, k = contact["method"], contact["stiffness"]
    mass, start = float(sim.world.model.frames.mass[1]), sim.scene.bodies[1].position[2] - RADIUS
    z = float(sim.centre("particle")[2]) - RADIUS
    heights = predicted(method, k, mass, start, sim.dt, round(sim.time / sim.dt))
    limit = critical(method, k, mass)
    near = 1e-8 if sim.dt < limit else 1e-4  # above it rounding grows like everything else
    assert abs(z - heights[-1]) < near, f"height {z:.10g} m, recurrence {heights[-1]:.10g} m"
    later = float(np.abs(heights[len(heights) // 2 :]).max())
    assert later < start or sim.dt >= limit, f"dt = {sim.dt} s, critical {limit:.4g} s, height {later:.3g} m"
    return [f"The particle is at {z:.6f} m as theory says; dt is {sim.dt / limit:.3f} of the critical step {limit:.4g} s."]
