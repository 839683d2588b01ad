"""Newton's cradle: a ball hits a row of touching ones; nearly all of its motion leaves at the other end."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.bodies.register import material_for
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    balls: int = 3, model: str = "rigid", speed: float = 0.15, stiffness: float = 2e5, damping: float = 0.0, dt: float = 0.004,
    duration: float = 6.0,
) -> Scene:  # fmt: skip
    """Balls of radius 1 m; model rigid or points, speed [m/s] of the first, stiffness [N/m^3] of contact, damping (share of critical)."""
    contact = {"method": "point-surface", "stiffness": stiffness, "damping": damping}
    scene = Scene(dt=dt, duration=duration, contact=contact, gravity=(0, 0, 0), about="Impacts through a row of touching balls.")
    shape: dict[str, Any] = {"kind": "ball", "radius": 1.0}
    soft: dict[str, Any] = {"spacing": 0.4, "shape": {**shape, "edge": 0.08}} if model == "points" else {"shape": shape}
    for i in range(balls):
        scene.add(
            name=f"ball {i + 1}", model=model, position=(2.0 * i, 0, 0), velocity=(speed if i == 0 else 0.0, 0, 0), friction=0.0,
            material=material_for(model, youngs_modulus=2e7, density=1000.0), **soft,
        )  # fmt: skip
    return scene


def chain(count: int, exponent: float = 2.0) -> Floats:
    """Velocities of equal point masses after ball 1 came in with 1; touching, repelled by overlap^exponent.

    Pressure that grows with the depth over the overlap of two balls makes a force that grows with its square (4.7 of the methods page).
    """
    x, v, dt = np.arange(count, dtype=np.float64), np.zeros(count), 2e-4
    v[0] = 1.0

    def force(x: Floats) -> Floats:
        push = np.maximum(1.0 - np.diff(x), 0.0) ** exponent * 1e3
        return np.concatenate([[0.0], push]) - np.concatenate([push, [0.0]])

    f = force(x)
    for _ in range(60_000):
        v += 0.5 * dt * f
        x += dt * v
        f = force(x)
        v += 0.5 * dt * f
        if v[-1] > 0.5 and (np.diff(x) > 1.0).all() and (np.diff(v) > 0.0).all():
            break
    return v


def velocities(sim: Simulation) -> Floats:
    """Of the balls along the row [m/s]."""
    model, state = sim.world.model, sim.state
    if model.bodies.frame[0] >= 0:
        return state.velocity[:, 0].copy()
    mass, body = model.nodes.mass, model.nodes.body
    return np.bincount(body, mass * state.v[:, 0]) / np.bincount(body, mass)


def expect(sim: Simulation) -> list[str]:
    """Velocities of the chain, energy within 0.2 %, momentum to rounding."""
    balls, first = sim.scene.bodies, sim.scene.bodies[0]
    speed, books = first.velocity[0], sim.books()
    v, want = velocities(sim) / speed, chain(len(balls))
    mass = books.momentum[0] / (speed * v.sum())
    energy = (books.kinetic + books.elastic) / (0.5 * mass * speed**2)
    drift = np.linalg.norm(books.momentum - [mass * speed, 0.0, 0.0]) / (mass * speed)
    damped = isinstance(sim.scene.contact, dict) and sim.scene.contact.get("damping", 0.2) > 0.0
    assert len(sim.contacts()) == 0, "the balls still touch: let it run longer"
    assert abs(v.sum() - 1.0) < 1e-12, f"momentum changed by {v.sum() - 1.0:.1e} of itself"
    if not damped:
        assert np.abs(v - want).max() < 0.005, f"velocities {np.round(v, 4)}, chain {np.round(want, 4)}"
        assert abs(energy - 1.0) < 0.002, f"energy is {energy:.5f} of what it was"
    return [
        f"Velocities over that of the first ball: {', '.join(f'{x:.4f}' for x in v)}; of a chain of masses: "
        f"{', '.join(f'{x:.4f}' for x in want)}.",
        f"Energy is {energy:.6f} of what it was, momentum off by {drift:.1e} of itself.",
    ]
