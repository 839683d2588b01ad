"""Scenes that show contact over the common surface: pressure with sharp rims, and heavy on light at an ordinary step."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

PATCH = "patch"
STEPS = (0.0, 0.003, 0.006, 0.003, 0.0)  # [m] how high the steps of the block are
WIDE, CUSHION = 0.03, (0.16, 0.1, 0.05)  # [m] of a step, and of what lies on them


def stepped_block(
    press: float = 0.01, turn: float = 20.0, youngs_modulus: float = 1e5, edge: float = 0.01, detail: float = 0.0, contact: str = PATCH,
    dt: float = 0.005, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A soft cushion is pressed onto a block with steps: pressure has the sharp rims of the steps, whatever the meshes are.

    press [m]: way of its top after it touches the highest step; turn [degree] against the steps; edge [m] of its elements, detail [m] of a
    skin that rides in them and is what touches (0: their own boundary).

    The block is five static boxes, 3 mm from step to step. The rim of a patch is where surfaces part, inside of triangles.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Pressure with sharp rims.")
    for k, step in enumerate(STEPS):
        high = 0.03 + step
        box = dict(kind="box", size=(WIDE, 0.2, high), edge=0.1)
        place = ((k - 0.5 * (len(STEPS) - 1)) * WIDE, 0.0, 0.5 * high - 0.03 - max(STEPS))
        scene.add(name=f"step {k + 1}", shape=box, model="static", position=place, friction=0.3)
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0, mass_damping=50.0)
    down = dict(where=dict(side="+z"), shift=dict(times=[0.0, 0.5 * duration], values=[(0, 0, 0), (0, 0, -press)]))
    skin: dict[str, Any] = dict(skin=dict(kind="box", size=CUSHION, edge=detail)) if detail else {}
    scene.add(
        name="cushion", shape=dict(kind="box", size=CUSHION, edge=edge), position=(0, 0, 0.5 * CUSHION[2]), rotation=(0, 0, turn),
        material=material, motions=[down], integrator="implicit", friction=0.3, **skin,
    )  # fmt: skip
    return scene


def expect_stepped_block(sim: Simulation) -> list[str]:
    """The steps carry what presses on the cushion; the highest one presses hardest."""
    steps = [body.name for body in sim.scene.bodies[:-1]]
    pressed = 9.81 * sim.mass("cushion") - float(sim.reaction("cushion")[2])
    carried = np.array([sim.contacts("cushion", name).total_force[2] for name in steps])
    area = np.array([sim.contacts("cushion", name).total_area for name in steps])
    assert abs(carried.sum() / pressed - 1.0) < 0.02, f"carried are {carried.sum():.2f} N of {pressed:.2f} N"
    assert carried.argmax() == 2 and (carried > 0.0).all(), f"the steps carry {carried.round(2)} N"
    peak = max(float(np.nanmax(sim.contacts("cushion", name).pressure, initial=0.0)) for name in steps)
    return [
        f"The steps carry {', '.join(f'{force:.1f}' for force in carried)} N, together {carried.sum():.2f} N of {pressed:.2f} N.",
        f"They touch over {', '.join(f'{1e4 * each:.1f}' for each in area)} cm²; the largest pressure is {peak / 1e3:.0f} kPa.",
    ]


def heavy_on_light(
    density: float = 7850.0, foam_density: float = 30.0, foam_modulus: float = 5e4, contact: str = PATCH, dt: float = 0.005,
    duration: float = 1.0,
) -> Scene:  # fmt: skip
    """A rigid block of steel is put on a soft one of foam, 260 times lighter, and stands.

    density, foam_density [kg/m^3], foam_modulus [Pa].

    Cubes of 0.1 m: the foam gives way by rho g L^2 / E, 15 mm. Methods that give a contact the stiffness of the lighter body at this dt let
    the steel fall through.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Heavy on light at an ordinary step.")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    cube = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.025)
    foam = dict(youngs_modulus=foam_modulus, poisson_ratio=0.0, density=foam_density, mass_damping=20.0)
    scene.add(name="foam", shape=cube, position=(0, 0, 0.05), material=foam, integrator="implicit", friction=0.5)
    steel: dict[str, Any] = dict(model="rigid", material=dict(density=density, mass_damping=20.0))
    scene.add(name="steel", shape=cube, position=(0, 0, 0.15), friction=0.5, **steel)
    return scene


def expect_heavy_on_light(sim: Simulation) -> list[str]:
    """The steel has come down by what the foam gives way, and the foam carries it."""
    foam, steel = sim.scene.bodies[1:]
    expected = 9.81 * 0.1**2 / foam.material.youngs_modulus * (steel.material.density + 0.5 * foam.material.density)
    sunk, weight = 0.15 - float(sim.centre("steel")[2]), 9.81 * sim.mass("steel")
    carried = float(sim.contacts("steel", "foam").total_force[2])
    assert abs(sunk - expected) < 0.1 * expected, f"the steel came down by {1000 * sunk:.1f} mm, {1000 * expected:.1f} mm were expected"
    assert abs(carried / weight - 1.0) < 0.02, f"the foam carries {carried:.2f} N of {weight:.2f} N"
    return [
        f"The steel came down by {1000 * sunk:.2f} mm; the foam gives way by {1000 * expected:.2f} mm.",
        f"The foam carries {carried:.2f} N of {weight:.2f} N.",
    ]
