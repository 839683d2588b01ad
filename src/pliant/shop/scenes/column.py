"""A soft column stands on the ground, stepped implicitly far above its explicit limit."""

from __future__ import annotations

from typing import Any

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    height: float = 1.0, youngs_modulus: float = 1e6, integrator: str = "implicit", dt: float = 0.01, duration: float = 1.0
) -> Scene:
    """height [m] of a column of 4 x 10 nodes."""
    scene = Scene(dt=dt, duration=duration, about="Contact with an implicit body: the foot stays on the ground.")
    scene.add(name="ground", shape="plane", model="static")
    scheme: dict[str, Any] = dict(integrator=integrator)
    scene.add(
        name="column", shape=dict(kind="box", size=(height / 9, height / 9, height), edge=height / 9), position=(0, 0, height / 2),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0), **scheme,
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The foot is less than half an element deep and carries the weight."""
    height = sim.scene.bodies[1].shape["size"][2]
    foot = float(sim.points("column")[:, 2].min())
    assert foot > -height / 18, f"the foot is {-foot:.4f} m deep, half an element is {height / 18:.4f} m"
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    return [
        f"The foot is {-1000 * foot:.2f} mm below the ground.",
        f"The ground carries {sim.contacts('column', 'ground').total_force[2]:.2f} N of {weight:.2f} N.",
    ]
