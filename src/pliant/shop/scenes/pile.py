"""Three plastic busts fall on each other, fall apart and come to rest (Keiser et al., Fig. 6)."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

RESTS = 2.5  # [s] from when on nothing should move


def make(
    busts: int = 3, edge: float = 0.018, spacing: float = 0.024, youngs_modulus: float = 2e6, yield_strain: float = 0.02,
    dt: float = 0.00025, duration: float = 3.0,
) -> Scene:  # fmt: skip
    """busts: how many, up to three; edge [m] of triangles, spacing [m] of phyxels; strain at which busts stay deformed."""
    scene = Scene(dt=dt, duration=duration, contact={"method": "point-surface", "damping": 0.5}, about="Plastic bodies pile up and rest.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    material = dict(
        youngs_modulus=youngs_modulus, density=1000.0, volume_stiffness=0.5 * youngs_modulus, yield_strain=yield_strain,
        max_plastic_strain=0.2, mass_damping=2.0, stiffness_damping=1e-4,
    )  # fmt: skip
    places = (((0.0, 0.0, 0.002), (0, 0, 0)), ((0.03, 0.02, 0.32), (0, 0, 90)), ((-0.02, 0.0, 0.64), (0, 0, 200)))
    for k, (position, rotation) in enumerate(places[:busts]):
        scene.add(
            name=f"bust {k + 1}", shape=dict(kind="bust", height=0.3, edge=edge), model="points", spacing=spacing, position=position,
            rotation=rotation, friction=0.6, material=material,
        )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """After 2.5 s at rest: kinetic energy below 1e-4 of what the fall set free, and the ground carries the weight."""
    nodes, books = sim.world.model.nodes, sim.books()
    mass = float(nodes.mass.sum())
    fallen = 9.81 * float(np.sum(nodes.mass * (nodes.rest[:, 2] - sim.state.x[:, 2])))  # the peak of kinetic energy is about half of it
    ratio = 2.0 * books.kinetic / max(fallen, 1e-300)
    low = min(float(sim.points(b.name)[:, 2].min()) for b in sim.scene.bodies[1:])
    carried = sum(float(sim.contacts(b.name, "ground").total_force[2]) for b in sim.scene.bodies[1:]) / (9.81 * mass)
    assert low > -0.01, f"a bust is {-1000 * low:.1f} mm in the ground"
    if sim.time > RESTS:
        assert ratio < 1e-4, f"kinetic energy is {ratio:.1e} of its peak"
        assert abs(carried - 1.0) < 0.02, f"the ground carries {carried:.3f} of the weight"
    down = [float(np.ptp(sim.points(b.name)[:, 2])) for b in sim.scene.bodies[1:]]
    return [
        f"Kinetic energy is {ratio:.1e} of its peak, the ground carries {carried:.4f} of the weight.",
        f"The busts, 300 mm tall, are {', '.join(f'{1000 * d:.0f}' for d in down)} mm high where they lie.",
    ]
