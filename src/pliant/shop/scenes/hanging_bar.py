"""A bar of phyxels hangs by one end and comes to rest under its own weight.

A piece between heights a > b above the lower end is longer by rho g (a^2 - b^2) / (2 E), for small strains.
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

SIDE, LENGTH, DENSITY, GRAVITY = 0.25, 1.0, 1000.0, 9.81  # [m], [kg/m^3], [m/s^2]


def make(spacing: float = 0.05, youngs_modulus: float = 5e5, support: float = 2.0, dt: float = 0.002, duration: float = 1.5) -> Scene:
    """spacing [m] of the phyxels; support: how far they see, in mean distances; youngs_modulus [Pa]."""
    scene = Scene(dt=dt, duration=duration, about="Points as a solid: the extension of a hanging bar.")
    scene.add(
        name="bar", shape=dict(kind="box", size=(SIDE, SIDE, LENGTH), edge=SIDE / 2), model="points", spacing=spacing, support=support,
        position=(0, 0, -LENGTH / 2), fixed=[dict(side="+z")],
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.0, density=DENSITY, mass_damping=10.0),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The bar hangs still; between its quarters, away from clamp and end, it is longer by what theory says."""
    modulus, rest, x = sim.scene.bodies[0].material.youngs_modulus, sim.world.model.nodes.rest[:, 2], sim.state.x[:, 2]
    assert isinstance(modulus, float)
    upper, lower = (np.abs(rest - z) == np.abs(rest - z).min() for z in (-0.25 * LENGTH, -0.75 * LENGTH))
    a, b = rest[upper].mean() + LENGTH, rest[lower].mean() + LENGTH  # heights above the end
    exact = DENSITY * GRAVITY / modulus * 0.5 * (a * a - b * b)
    found = float((x - rest)[upper].mean() - (x - rest)[lower].mean())
    speed, whole = float(abs(sim.state.v).max()), float(rest.min() - x.min())
    assert speed < 1e-3, f"the bar still moves with {speed:.2g} m/s"
    assert abs(found / exact - 1.0) < 0.02, f"the middle of the bar is {1000 * found:.3f} mm longer, not {1000 * exact:.3f} mm"
    return [
        f"The middle half of the bar is {1000 * found:.3f} mm longer; theory says {1000 * exact:.3f} mm "
        f"({100 * (found / exact - 1.0):+.2f} %).",
        f"Its end is {1000 * whole:.3f} mm lower.",
    ]
