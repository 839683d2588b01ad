"""Conservation: momentum, spin and energy of bodies that collide or fall freely."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, Check, G, gives_way, problem
from pliant.simulate.simulation import Simulation

TURNS = {
    "noniterative": "a force and its reaction act a depth apart and not along one line; the drift falls with dt",
    "reversal": "bodies are put back and velocities turned at single points, not along one line",
}


@problem("collision", "theory/validation-problems 18")
def collision(method: str, quick: bool) -> list[Check]:
    """Two soft balls of mass 1 : 3 collide off centre in free space: momentum stays, energy does not grow."""
    scene = Scene(dt=5e-4, duration=0.3, contact=method, gravity=(0, 0, 0))
    ball = dict(kind="ball", radius=0.1, edge=0.05)
    soft = dict(youngs_modulus=5e4, poisson_ratio=0.3)
    gives = gives_way(method, 0.015, "verlet")
    light, heavy = dict(soft, density=500.0), dict(soft, density=1500.0)
    scene.add(name="light", shape=ball, position=(-0.12, 0.01, 0.0), velocity=(1.0, 0.0, 0.0), material=light, **gives)
    scene.add(name="heavy", shape=ball, position=(0.12, -0.02, 0.01), velocity=(-0.2, 0.1, 0.0), material=heavy, **gives)
    sim = Simulation(scene)
    start, touched = sim.books(), 0
    while sim.time < scene.duration:
        touched += len(sim.step().contacts)
    end = sim.books()
    size, turned = float(np.linalg.norm(start.momentum)), float(np.linalg.norm(end.angular_momentum - start.angular_momentum))
    gain = max(0.0, end.total - start.total)
    return [
        Check("they touch: 1 yes", 1.0, float(touched > 0), 0.0),
        Check("drift of momentum", 0.0, float(np.linalg.norm(end.momentum - start.momentum)), 1e-12, "kg m/s", scale=size),
        Check("drift of angular momentum, of m v R", 0.0, turned, 1e-3, "kg m²/s", scale=size * 0.1, why=TURNS.get(method, "")),
        Check("energy gained", 0.0, gain, 1e-3, "J", scale=start.kinetic),
    ]


@problem("free-fall", "theory/validation-problems 18", methods=NO_CONTACT)
def free_fall(method: str, quick: bool) -> list[Check]:
    """Soft, spring and rigid bodies thrown and spinning: centres follow the parabola, momentum and spin stay."""
    checks = []
    verlet = dict(integrator="verlet")
    kinds: dict[str, Any] = {"fem": verlet, "springs": dict(verlet, model="springs"), "rigid": dict(model="rigid")}
    for kind, options in kinds.items():
        scene = Scene(dt=1e-3, duration=0.2, contact=method)
        shape = dict(kind="box", size=(0.2, 0.1, 0.05), edge=0.05)
        scene.add(name="body", shape=shape, velocity=(1.0, 0.5, 2.0), angular_velocity=(0.0, 90.0, 30.0), **options)
        sim = Simulation(scene)
        centre, spin = sim.centre("body"), sim.books().angular_momentum - np.cross(sim.centre("body"), sim.books().momentum)
        sim.run()
        expected = centre + np.array([1.0, 0.5, 2.0]) * sim.time + 0.5 * np.array([0, 0, -G]) * sim.time * (sim.time + scene.dt)
        if kind != "rigid":  # Verlet kicks by half at its first step
            expected[2] += 0.5 * G * scene.dt * sim.time
        now = sim.books().angular_momentum - np.cross(sim.centre("body"), sim.books().momentum)
        error, turned = np.linalg.norm(sim.centre("body") - expected), np.linalg.norm(now - spin)
        checks.append(Check(f"{kind}: miss of the parabola", 0.0, float(error), 1e-12, "m", scale=1.0))
        checks.append(Check(f"{kind}: drift of spin", 0.0, float(turned), 1e-10, "kg m²/s", scale=float(np.linalg.norm(spin))))
    return checks
