"""A soft ball hangs from a string and swings; a second one is welded to a turning rod."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(length: float = 0.5, edge: float = 0.04, dt: float = 0.002, duration: float = 1.5) -> Scene:
    """length [m] of the string."""
    scene = Scene(dt=dt, duration=duration, about="Attachments: a string that is only ever taut, and a weld.")
    soft = dict(youngs_modulus=2e5, poisson_ratio=0.3, density=500.0)
    ball = dict(kind="ball", radius=0.06, edge=edge)
    scene.add(name="bob", shape=ball, position=(0.5 * length, 0, 1 - 0.85 * length), material=soft)
    scene.add(
        name="rod", shape=dict(kind="box", size=(0.4, 0.04, 0.04), edge=0.04), model="rigid", position=(0, 0.6, 0.8),
        motions=[dict(turn=dict(times=[0, duration], values=[[0, 0, 0], [0, 0, 180]]))],
    )  # fmt: skip
    scene.add(name="rider", shape=ball, position=(0.26, 0.6, 0.8), material=soft)
    scene.attach(kind="string", a=dict(at=(0, 0, 1.0)), b=dict(body="bob", at=(0.5 * length, 0, 1)), stiffness=2e4, damping=5.0)
    for offset in (-0.015, 0.015):
        scene.attach(kind="weld", a=dict(body="rod", at=(0.2, 0.6 + offset, 0.8)), b=dict(body="rider", at=(0.2, 0.6 + offset, 0.8)))
    scene.pair("rod", "rider", contact=False)
    return scene


def expect(sim: Simulation) -> list[str]:
    """The string is not stretched by more than a hundredth; welded points are together."""
    first = sim.world.model.attachments
    points = sim.world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)
    distance = np.linalg.norm(points[first.a] - points[first.b], axis=1)
    assert distance[0] < 1.01 * first.length[0] + 1e-3, "the string is longer than it should be"
    assert distance[1:].max() < 1e-6, "a weld has opened"
    return [f"String {distance[0]:.4f} m of {first.length[0]:.4f} m; welds open by {distance[1:].max():.1e} m."]
