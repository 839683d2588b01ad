"""A turned soft bar drops onto a rigid cube that drops onto the ground.

Section 7.1.2 of the thesis on continuous penalty forces. It publishes k, dt and forces, neither sizes nor masses nor the material. The bar
here weighs 77 kg, which is what its depths say (k times summed depth is the weight: 7000 N/m x 0.1 m, 3000 N/m x 0.28 m), and its light
nodes 0.27 kg, as its critical time steps say (0.24 to 0.30 kg). As in the thesis impulses go to the masses they meet.
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

BAR, CUBE = (2.2, 0.26, 0.26), 0.5  # [m]


def make(
    method: str = "continuous-penalty", stiffness: float = 5000.0, s: float = 0.5, edge: float = 0.18, response: str = "mass",
    youngs_modulus: float = 3e5, fall: float = 0.45, redefinition: bool = False, dt: float = 0.01, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """stiffness [N/m] of each contact, 0: automatic by s; edge [m] of the bar's elements; response "mass" or "system", what impulses on
    the bar go through; fall [m] of the bar; redefinition: off as in that section."""
    k = stiffness if stiffness > 0.0 else "auto"
    contact = {"method": method, "stiffness": k, "s": s, "redefinition": redefinition, "response": response, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Contact of a soft and a rigid body, both free.")
    soft = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=520.0, stiffness_damping=0.01, mass_damping=2.0)
    scene.add(name="ground", shape="plane", model="static", friction=0.4)
    scene.add(
        name="cube", shape=dict(kind="box", size=(CUBE, CUBE, CUBE), edge=0.25), model="rigid", position=(0, 0, 0.5 * CUBE + 0.05),
        material=dict(density=200.0), friction=0.4,
    )  # fmt: skip
    scene.add(
        name="bar", shape=dict(kind="box", size=BAR, edge=edge), position=(0, 0, CUBE + 0.5 * BAR[2] + fall), rotation=(0, 0, 30),
        material=soft, friction=0.4,
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The bar lies on the cube; both weigh on what carries them."""
    cube, bar = sim.centre("cube"), sim.centre("bar")
    assert np.hypot(*(bar - cube)[:2]) < 0.25 and bar[2] > cube[2] + 0.5 * CUBE, f"the bar at {bar} is not on the cube at {cube}"
    assert 0.4 * CUBE < cube[2] < 0.6 * CUBE + 0.05, f"the cube at {cube} does not stand on the ground"
    weight = 9.81 * float(sim.world.model.nodes.mass.sum())
    carried = sim.contacts("bar", "cube").total_force[2]
    return [f"The cube carries {carried:.0f} N of the bar's {weight:.0f} N, whose centre is {bar[2] - cube[2]:.3f} m above the cube's."]
