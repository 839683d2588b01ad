"""A head is thrown into a room with wavy walls that give way, and bounces (Pauly, Pai, Guibas 2004, Fig. 11)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    height: float = 0.6, scan: str = "", unit: str = "m", up: str = "z", youngs_modulus: float = 1e6, damping: float = 1e-3,
    walls: str = "soft", spacing: float = 0.025, dt: float = 0.001, duration: float = 1.2,
) -> Scene:  # fmt: skip
    """height [m] of the head, scan: file with a head of your own, damping [s], walls soft or hard, spacing [m] of the head's skin."""
    scene = Scene(dt=dt, duration=duration, contact="quasi-rigid", about="Impacts of a shape with details on walls that are not flat.")
    shape: dict[str, Any] = dict(file=scan, unit=unit, up=up, size=height) if scan else dict(kind="bust", height=height)
    gives = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=300.0, stiffness_damping=damping)
    room: dict[str, Any] = dict(name="room", shape=dict(kind="room", size=2.5), friction=0.4)
    if walls == "soft":
        scene.add(**room, model="quasi-rigid", material=gives, spacing=0.06, motions=[dict()])
    else:
        scene.add(**room, model="static")
    scene.add(
        name="head", shape=shape, model="quasi-rigid", spacing=spacing, material=gives, position=(-0.2, 0, 0.6), friction=0.4,
        rotation=(30, 60, 0), velocity=(3.0, 1.0, 0.5), angular_velocity=(2, -3, 1),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The head stays in the room and does not gain energy."""
    centre, books = sim.centre("head"), sim.books()
    assert np.all(np.abs(centre[:2]) < 1.25) and centre[2] > 0.0, f"the head left the room: it is at {centre}"
    assert books.total < books.start, f"the head has {books.total:.4g} J and began with {books.start:.4g} J"
    return [f"The head is at {centre.round(2).tolist()} m with {books.kinetic:.3g} J of motion; contact took {-books.contact:.3g} J."]
