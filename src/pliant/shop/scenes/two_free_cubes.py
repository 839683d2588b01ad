"""Two soft cubes meet in empty space: momentum and angular momentum must stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    speed: float = 1.0, youngs_modulus: float = 1e5, ratio: float = 1.0, mode: str = "moment", friction: float = 0.3, dt: float = 0.0001,
    duration: float = 0.25,
) -> Scene:  # fmt: skip
    """speed [m/s] at which they meet, off centre; ratio: density of the small cube over that of the large one; mode: of the method.

    Cubes of 0.2 and 0.15 m with 125 and 64 points. No gravity, no ground, no damping, so rho g H / E = 0. Forces are balanced
    where the bodies would end the step and act where they start it, so the error of angular momentum shrinks with dt: 0.25 % at 0.5 ms.
    """
    contact = {"method": "noniterative", "mode": mode}
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact, about="Contact forces come in pairs, without moment.")
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    scene.add(
        name="large", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.05), velocity=(0.5 * speed, 0, 0),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0), **common,
    )  # fmt: skip
    scene.add(
        name="small", shape=dict(kind="box", size=(0.15, 0.15, 0.15), edge=0.05), position=(0.21, 0.06, 0.04), rotation=(10, 20, 15),
        velocity=(-0.5 * speed, 0, 0), material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0 * ratio), **common,
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """Momentum to rounding; angular momentum to a thousandth of what either body has about the common centre of mass."""
    start = Simulation(sim.scene)
    now, then = sim.books(), start.books()
    pace, turning = np.abs(start.world.model.nodes.mass[:, None] * start.state.v).sum(), yardstick(start)
    lost = float(np.abs(now.momentum - then.momentum).max() / pace)
    turned = float(np.linalg.norm(now.angular_momentum - then.angular_momentum) / turning)
    assert lost < 1e-12, f"momentum changed by {lost:.1e} of the sum of its sizes"
    if dict(sim.scene.contact).get("mode") == "moment":  # type: ignore[arg-type]
        assert turned < 1e-3, f"angular momentum changed by {100 * turned:.3f} %"
    kept = now.kinetic / then.kinetic
    assert kept < 1.0 + 1e-9, "the bodies have gained energy"
    return [
        f"Momentum changed by {lost:.1e}, angular momentum by {100 * turned:.4f} %; {100 * kept:.1f} % of the kinetic energy is left.",
    ]


def yardstick(sim: Simulation) -> float:
    """Sum over the bodies of the size of their angular momentum about the common centre of mass [kg m^2/s]."""
    nodes, state = sim.world.model.nodes, sim.state
    arm = state.x - np.average(state.x, axis=0, weights=nodes.mass)
    about = np.cross(arm, nodes.mass[:, None] * (state.v - np.average(state.v, axis=0, weights=nodes.mass)))
    return sum(float(np.linalg.norm(about[nodes.body == b].sum(axis=0))) for b in range(len(sim.world.model.bodies)))
