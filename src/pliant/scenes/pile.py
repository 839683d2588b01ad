"""Three plastic busts fall on each other, fall apart and come to rest (Keiser et al., Fig. 6)."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulation import Simulation


def make(
    edge: float = 0.018, spacing: float = 0.024, youngs_modulus: float = 1e6, yield_strain: float = 0.03, dt: float = 0.0004,
    duration: float = 3.0,
) -> Scene:  # fmt: skip
    """edge [m] of triangles, spacing [m] of phyxels, youngs_modulus [Pa], strain at which busts stay deformed, dt and duration [s]."""
    scene = Scene(dt=dt, duration=duration, contact={"method": "point-surface", "damping": 0.5}, about="Plastic bodies pile up and rest.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    material = dict(
        youngs_modulus=youngs_modulus, density=1000.0, yield_strain=yield_strain, max_plastic_strain=0.3, mass_damping=2.0, volume_stiffness=0.5 * youngs_modulus,
        stiffness_damping=1e-4,
    )  # fmt: skip
    places = (((0.0, 0.0, 0.002), (0, 0, 0)), ((0.03, 0.02, 0.32), (0, 0, 90)), ((-0.02, 0.0, 0.64), (0, 0, 200)))
    for k, (position, rotation) in enumerate(places):
        scene.add(
            name=f"bust {k + 1}", shape=dict(kind="bust", height=0.3, edge=edge), model="points", spacing=spacing, position=position,
            rotation=rotation, friction=0.6, material=material,
        )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """At rest: kinetic energy below 1e-4 of the fall's, and the ground carries the weight."""
    books, mass = sim.books(), float(sim.world.model.nodes.mass.sum())
    peak = 9.81 * mass / 3.0 * (0.04 + 0.07)  # the two upper ones fall at least so far before they first touch
    ratio = books.kinetic / peak
    low = min(float(sim.points(b.name)[:, 2].min()) for b in sim.scene.bodies[1:])
    carried = sum(float(sim.contacts(b.name, "ground").total_force[2]) for b in sim.scene.bodies[1:]) / (9.81 * mass)
    assert low > -0.01, f"a bust is {-1000 * low:.1f} mm in the ground"
    assert ratio < 1e-4, f"kinetic energy is {ratio:.1e} of the peak"
    assert abs(carried - 1.0) < 0.02, f"the ground carries {carried:.3f} of the weight"
    down = [float(np.ptp(sim.points(b.name)[:, 2])) for b in sim.scene.bodies[1:]]
    return [
        f"Kinetic energy is {ratio:.1e} of that of the fall, the ground carries {carried:.4f} of the weight.",
        f"The busts, 300 mm tall, are {', '.join(f'{1000 * d:.0f}' for d in down)} mm high where they lie.",
    ]
