"""A rigid box spins in free fall about its middle axis, which turns over and over."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(speed: float = 10.0, dt: float = 0.005, duration: float = 4.0) -> Scene:
    """speed [rad/s] about the unstable axis."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), about="Free spin: angular momentum exact, energy bounded.")
    scene.add(
        name="box", shape=dict(kind="box", size=(0.3, 0.2, 0.1), edge=0.1), model="rigid",
        angular_velocity=(0.01, speed, 0.01), position=(0, 0, 0.5),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """Angular momentum is what it was; the energy has not drifted."""
    now, then = sim.books(), Simulation(sim.scene).books()
    drift = now.kinetic / then.kinetic - 1
    change = float(np.linalg.norm(now.angular_momentum - then.angular_momentum) / np.linalg.norm(then.angular_momentum))
    assert abs(drift) < 1e-3 and change < 1e-10, f"energy drift {drift:.2e}, change of angular momentum {change:.2e}"
    return [f"Energy drift {drift:.1e}, change of angular momentum {change:.1e}."]
