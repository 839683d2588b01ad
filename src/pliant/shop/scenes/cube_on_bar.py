"""A rigid cube slides along a soft bar: pairs that follow it leave its speed alone, pairs that do not stop it.

Sections 7.2 and 7.3 of the thesis on continuous penalty forces; sizes, masses, speed and material are ours. The bottom of the bar is fixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

BAR, CUBE = (1.2, 0.3, 0.2), 0.15  # [m]


def make(
    redefinition: bool = True, friction: float = 0.0, static_friction: float = 0.0, speed: float = 1.0, edge: float = 0.1,
    method: str = "continuous-penalty", model: str = "coulomb", dt: float = 0.002, duration: float = 0.6,
) -> Scene:  # fmt: skip
    """redefinition: whether pairs follow what slides; static_friction, 0: the same; speed [m/s]; edge [m] of the bar; model of friction."""
    contact = {"method": method, "redefinition": redefinition, "friction": model, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Sliding over the triangles of a soft body.")
    soft = dict(youngs_modulus=2e5, poisson_ratio=0.3, density=1000.0, stiffness_damping=0.01)
    rub: dict[str, Any] = dict(friction=friction, static_friction=max(friction, static_friction))
    scene.add(
        name="bar", shape=dict(kind="box", size=BAR, edge=edge), position=(0, 0, -0.5 * BAR[2]), material=soft,
        fixed=[dict(side="-z")], **rub,
    )  # fmt: skip
    scene.add(
        name="cube", shape=dict(kind="box", size=(CUBE, CUBE, CUBE), edge=CUBE), model="rigid", position=(-0.35, 0.02, 0.5 * CUBE),
        rotation=(0, 0, 7), velocity=(speed, 0, 0), material=dict(density=800.0), **rub,
    )  # fmt: skip
    return scene


def options(sim: Simulation) -> dict[str, Any]:
    """Of the contact method."""
    assert isinstance(sim.scene.contact, dict)
    return sim.scene.contact


def velocity(sim: Simulation) -> np.ndarray:
    """Of the cube's centre [m/s]."""
    return sim.state.velocity[sim.world.model.bodies.frame[sim.index("cube")]]


def mass(sim: Simulation) -> float:
    """Of the cube [kg]."""
    return float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("cube")]])


def hooked(sim: Simulation) -> int:
    """Pairs that are hooked and push."""
    memory = sim.state.memory.get(options(sim)["method"], {})
    return int(np.count_nonzero(memory["hooked"] & memory["active"])) if "hooked" in memory else 0


def expect(sim: Simulation) -> list[str]:
    """Without friction the cube keeps its speed if pairs are redefined and loses it if not; with friction it stops as Coulomb says."""
    bar, cube = sim.scene.bodies
    start, now, way = cube.velocity[0], velocity(sim), float(sim.centre("cube")[0] - cube.position[0])
    said = f"The cube went {1000 * way:.1f} mm and has {now[0]:.4f} of {start:g} m/s left; {hooked(sim)} hooked pairs push."
    up = float(sim.centre("cube")[2])
    assert 0.4 * CUBE < up < CUBE or not options(sim)["redefinition"], f"the cube's centre is {up:.3f} m above the bar"
    if cube.friction > 0.0:
        theory = start**2 / (2 * 9.81 * cube.friction)
        assert abs(now[0]) < 0.01 * start and way < 1.1 * theory, f"{said} Coulomb: it stops after {1000 * theory:.1f} mm."
        return [said, f"Coulomb: it stops after {1000 * theory:.1f} mm."]
    if options(sim)["redefinition"]:
        assert abs(now[0] / start - 1) < 0.02 and hooked(sim) == 0, said
    else:
        assert now[0] < 0.5 * start, said
    return [said]
