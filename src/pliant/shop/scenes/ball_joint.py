"""A ball in a socket under a load that swings to and fro: where the joint carries (Pauly, Pai, Guibas 2004, Fig. 10)."""

from __future__ import annotations

import math

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    load: float = 500.0, swing: float = 20.0, radius: float = 0.024, clearance: float = 0.001, youngs_modulus: float = 1e7,
    friction: float = 0.02, mass: float = 5.0, spacing: float = 0.0025, dt: float = 0.002, duration: float = 0.2,
) -> Scene:  # fmt: skip
    """load [N] into the socket, swing [degree] to either side, clearance [m] between ball and socket, mass [kg] of ball and leg."""
    scene = Scene(
        dt=dt, duration=duration, gravity=(0, 0, 0), contact=dict(method="quasi-rigid", integration="implicit"),
        about="The patch of pressure follows the load around the socket.",
    )  # fmt: skip
    cartilage = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, density=mass / (4 / 3 * math.pi * radius**3))
    scene.add(
        name="socket", shape=dict(kind="socket", radius=radius + clearance, thickness=0.3 * radius), model="static", friction=friction,
    )  # fmt: skip
    turns = np.linspace(0.0, 1.0, 41)
    angle = math.radians(swing) * np.sin(2.0 * math.pi * turns)
    force = load * np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=1)
    force *= np.minimum(1.0, 10.0 * turns)[:, None]
    scene.add(
        name="head", shape=dict(kind="ball", radius=radius), model="quasi-rigid", spacing=spacing, friction=friction,
        position=(0, 0, -0.5 * clearance), material=cartilage | dict(stiffness_damping=1e-3),
        loads=[dict(value=dict(times=(duration * turns).tolist(), values=force.tolist()))],
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The socket carries the load, and the centre of pressure lies in its direction from the middle of the ball."""
    head = next(b for b in sim.scene.bodies if b.name == "head")
    load = np.array(head.loads[0].value(sim.time))
    contacts = sim.contacts("head", "socket")
    force = contacts.total_force
    size = float(np.linalg.norm(load))
    assert np.linalg.norm(force + load) < 0.05 * size, f"the socket pushes with {force} N against a load of {load} N"
    way = contacts.center_of_pressure - sim.centre("head")
    off = math.degrees(math.acos(float(way @ load) / (size * float(np.linalg.norm(way)))))
    assert off < 5.0, f"the centre of pressure is {off:.1f} degrees away from the load"
    peak = float(np.nanmax(contacts.pressure))
    return [
        f"The socket carries {np.linalg.norm(force):.4g} N of {size:.4g} N over {1e4 * contacts.total_area:.3g} cm^2, at most "
        f"{1e-6 * peak:.3g} MPa.",
        f"The centre of pressure is {off:.2f} degrees away from the direction of the load.",
    ]
