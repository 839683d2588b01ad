"""A soft bunny, or a body of your own, drops into a rigid bowl that drops onto the ground.

Section 7.2 of the thesis on continuous penalty forces (Fig. 7.13); sizes, masses and material are ours.
`file` names a surface or tetrahedra of your own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.geometry.check import load
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

SIZE = 0.15  # [m] of the soft body
BOWL, WALL, DROP = 0.16, 0.02, 0.03  # [m] outer radius, thickness, height above the ground


def make(
    file: str = "", up: str = "y", edge: float = 0.0115, youngs_modulus: float = 3e4, method: str = "continuous-penalty", s: float = 0.5,
    dt: float = 0.001, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """file: your own body, with the axis that is `up` in it; edge [m] of its elements; s: k dt^2 D of the automatic stiffness."""
    contact = {"method": method, "s": s, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="A soft body of free form comes to rest in a bowl.")
    soft = dict(
        law="neo-hookean", youngs_modulus=youngs_modulus, poisson_ratio=0.35, density=1000.0, stiffness_damping=0.01, mass_damping=0.5
    )
    shape, middle = soft_shape(file, up, edge)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    scene.add(
        name="bowl", shape=dict(kind="bowl", radius=BOWL, thickness=WALL, edge=0.03), model="rigid", position=(0, 0, DROP),
        material=dict(density=2000.0), friction=0.3,
    )  # fmt: skip
    place = np.array([0.01, 0.0, DROP + 0.1]) - middle
    scene.add(name="bunny", shape=shape, position=tuple(place), material=soft, friction=0.3)
    return scene


def soft_shape(file: str, up: str, edge: float) -> tuple[dict[str, Any], np.ndarray]:
    """The body, and the middle of its underside in its own frame."""
    if not file:
        return dict(kind="bunny", height=SIZE, edge=edge), np.zeros(3)
    mesh, _ = load(file, size=SIZE, up=up)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    return dict(file=file, size=SIZE, up=up, edge=edge), np.array([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), low[2]])


def expect(sim: Simulation) -> list[str]:
    """The body rests in the bowl, no deeper than 2 % of its size in any wall, with no element inverted."""
    bowl, bunny = sim.centre("bowl"), sim.centre("bunny")
    assert np.hypot(*(bunny - bowl)[:2]) < BOWL and 0.02 < bunny[2] < bowl[2] + 2 * SIZE, f"the bunny at {bunny} left the bowl at {bowl}"
    speed = float(np.sqrt(np.mean(np.sum(sim.state.v**2, axis=1))))
    assert speed < 0.05, f"the bunny still moves with {speed:.3f} m/s"
    depth = float(max(-sim.contacts().gap.min(), 0.0)) if len(sim.contacts()) else 0.0
    assert depth < 0.02 * SIZE, f"{1000 * depth:.2f} mm deep"
    inverted = sum(int(np.count_nonzero(group.stretch(sim.state.x) <= 0.0)) for group in sim.world.model.groups)
    assert inverted == 0, f"{inverted} elements are inverted"
    return [f"The bunny rests at {speed:.4f} m/s, at most {1000 * depth:.2f} mm deep; no element is inverted."]
