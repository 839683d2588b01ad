"""A block is sent up a slope: it stops after the distance of theory, then stays or slides back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.bodies.register import material_for
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    angle: float = 10.0, speed: float = 3.0, friction: float = 0.3, static_friction: float = 0.0, model: str = "rigid",
    contact: str = "auto", dt: float = 0.002, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """angle [degree] of the slope, speed [m/s] up it, static_friction (0: the same), model rigid or fem, contact method."""
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Sliding, stopping and sticking by Coulomb's law.")
    turn = math.radians(angle)
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    normal = np.array([-math.sin(turn), 0.0, math.cos(turn)])
    rub: dict[str, Any] = dict(friction=friction, static_friction=max(friction, static_friction))
    scene.add(name="slope", shape="plane", model="static", rotation=(0, -angle, 0), **rub)
    scene.add(
        name="block", shape=dict(kind="box", size=(0.4, 0.4, 0.2), edge=0.2), model=model, position=tuple(0.1 * normal),
        rotation=(0, -angle, 0), velocity=tuple(speed * up), material=material_for(model, youngs_modulus=1e6, density=500.0), **rub,
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The way up the slope is v^2 / (2 g (sin + mu cos)); it stays there if mu > tan."""
    slope, block = sim.scene.bodies
    turn, mu = math.radians(-slope.rotation[1]), slope.friction
    speed = float(np.linalg.norm(block.velocity))
    way = speed**2 / (2 * 9.81 * (math.sin(turn) + mu * math.cos(turn)))
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    went = float((sim.centre("block") - np.array(block.position)) @ up)
    if mu > math.tan(turn):
        assert abs(went - way) < 0.02 * way, f"went {went:.4f} m, theory {way:.4f} m"
    return [f"The block is {went:.4f} m up the slope; it should turn or stop after {way:.4f} m."]
