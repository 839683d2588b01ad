"""A bar of phyxels hangs by one end and comes to rest under its own weight.

The exact extension of a bar of length L below its clamp is rho g L^2 / (2 E) at its end, for small strains.
"""

from __future__ import annotations

from pliant.scene import Scene
from pliant.simulation import Simulation

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
    """The bar hangs still, longer by what theory says, within a spacing's share of its length."""
    modulus, rest = sim.scene.bodies[0].material.youngs_modulus, sim.world.model.nodes.rest
    assert isinstance(modulus, float)
    low, high = rest[:, 2].argmin(), rest[:, 2].max()
    length, free = high - rest[low, 2], high + LENGTH  # of the clamp from the lowest phyxels, and from the end
    exact = DENSITY * GRAVITY / modulus * (free * length - 0.5 * length**2)
    found = float(rest[low, 2] - sim.state.x[low, 2])
    speed = float(abs(sim.state.v).max())
    assert speed < 1e-3, f"the bar still moves with {speed:.2g} m/s"
    assert abs(found / exact - 1.0) < 0.05, f"the bar is {1000 * found:.3f} mm longer, not {1000 * exact:.3f} mm"
    return [f"The bar is {1000 * found:.3f} mm longer; theory says {1000 * exact:.3f} mm ({100 * (found / exact - 1.0):+.2f} %)."]
