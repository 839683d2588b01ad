"""A soft strip is lowered onto the ground, folds, and comes to rest on itself."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

LOWERED = 1.5  # [s] when the held end has come down


def make(
    length: float = 0.4, width: float = 0.06, thickness: float = 0.01, youngs_modulus: float = 2e4, edge: float = 0.01,
    friction: float = 0.4, dt: float = 0.00029, duration: float = 6.0,
) -> Scene:  # fmt: skip
    """length, width, thickness [m] of the strip; edge [m] of its elements.

    Density 250 kg/m^3: rho g H / E = 0.05 for the strip hanging at its full length. The upper end is held and comes down within 1.5 s, a
    little to one side, so that it is known which way the strip folds. Rayleigh damping of 3 / s and 0.15 ms calms it.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Self-contact: layers of one body carry each other.")
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    top = length + 0.01
    way = {"times": [0.0, LOWERED], "values": [[0, 0, 0], [0.03, 0, -(top - 3.5 * thickness)]]}
    scene.add(
        name="strip", shape=dict(kind="box", size=(thickness, width, length), edge=edge), position=(0, 0, top - 0.5 * length),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=250.0, mass_damping=3.0, stiffness_damping=1.5e-4),
        motions=[{"where": {"side": "+z"}, "shift": way}], friction=friction, integrator="verlet",
    )  # fmt: skip
    scene.pair("strip", "strip", friction=friction)
    return scene


def expect(sim: Simulation) -> list[str]:
    """The strip lies on the ground, its layers on each other, and is at rest."""
    z = sim.points("strip")[:, 2]
    own = sim.contacts("strip", "strip")
    ground = sim.contacts("strip", "ground")
    speed = float(np.abs(sim.state.v).max())
    assert z.min() > -0.002, f"the strip is {-1000 * z.min():.1f} mm below the ground"
    assert len(ground) > 0, "the strip does not touch the ground"
    assert sim.time < LOWERED + 0.1 or len(own) > 0, "the strip does not touch itself"
    return [
        f"The strip lies between {1000 * z.min():.2f} and {1000 * z.max():.1f} mm; {len(own)} contacts with itself.",
        f"The ground carries {ground.total_force[2]:.3f} N; the fastest point moves at {speed:.1e} m/s.",
    ]
