"""A soft torus and a soft ball drop into a rigid bowl that stands on the ground."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    edge: float = 0.025, youngs_modulus: float = 4e4, contact: str = "noniterative", dt: float = 0.004, duration: float = 1.6
) -> Scene:
    """edge [m]: size of the elements of the soft bodies; contact: the default that takes a quarter of the time "auto" takes."""
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Soft bodies settle in a bowl that is free to rock on the ground.")
    soft = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=1000.0, stiffness_damping=0.005)
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    scene.add(
        name="bowl",
        shape=dict(kind="bowl", radius=0.22, thickness=0.02, edge=0.03),
        model="rigid",
        position=(0, 0, 0.002),
        material=dict(density=2500.0),
        friction=0.4,
    )
    scene.add(
        name="ring", shape=dict(kind="torus", major=0.085, minor=0.04, edge=edge), position=(0.02, 0, 0.3), rotation=(25, 0, 0),
        material=soft, friction=0.4,
    )  # fmt: skip
    scene.add(name="ball", shape=dict(kind="ball", radius=0.07, edge=edge), position=(0.01, 0.02, 0.52), material=soft, friction=0.4)
    return scene


def expect(sim: Simulation) -> list[str]:
    """Both soft bodies come to lie inside the bowl, and the ground carries everything."""
    bowl, ball, ring = (sim.centre(n) for n in ("bowl", "ball", "ring"))
    assert np.hypot(*(ball - bowl)[:2]) < 0.2 and np.hypot(*(ring - bowl)[:2]) < 0.2, "a soft body left the bowl"
    assert ball[2] > ring[2] > 0.02, "the ball should lie on the ring, the ring in the bowl"
    weight = 9.81 * (sim.world.model.nodes.mass.sum() + sim.world.model.frames.mass[1])
    carried = sim.contacts("bowl", "ground").total_force[2]
    return [
        f"The ball lies {1000 * ball[2]:.0f} mm and the ring {1000 * ring[2]:.0f} mm above the ground.",
        f"The ground carries {carried:.1f} N of {weight:.1f} N.",
    ]
