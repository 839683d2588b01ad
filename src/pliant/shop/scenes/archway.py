"""An arch of soft stones stands by friction alone, and stays up when balls drop on it."""

from __future__ import annotations

import math

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

INNER, OUTER, DEPTH = 0.15, 0.28, 0.13  # [m]


def make(
    stones: int = 9, drop: int = 2, friction: float = 0.95, youngs_modulus: float = 2e4, density: float = 100.0, dt: float = 0.00037,
    duration: float = 10.0,
) -> Scene:  # fmt: skip
    """stones: of the arch, 375 tets each; drop: how many balls fall on it; friction of all bodies.

    Radii 0.15 and 0.28 m, density 100 kg/m^3: rho g H / E = 0.014. Rayleigh damping of 1 / s and 0.2 ms calms
    the stones. A slender arch (0.25 and 0.31 m, 150 kg/m^3) of so soft stones sinks through by itself.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Pressure and friction hold an arch without glue.")
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.35, density=density, mass_damping=1.0, stiffness_damping=2e-4)
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    angle = 180.0 / stones
    stone = dict(kind="arch_stone", inner=INNER, outer=OUTER, angle=angle, depth=DEPTH, edge=(OUTER - INNER) / 5)
    for k in range(stones):
        scene.add(
            name=f"stone{k + 1}", shape=stone, rotation=upright((k + 0.5) * angle), material=material, friction=friction,
            integrator="verlet",
        )  # fmt: skip
    for k in range(drop):
        scene.add(
            name=f"ball{k + 1}", shape=dict(kind="ball", radius=0.04, edge=0.02), material=material, friction=friction, integrator="verlet",
            position=(0.06 * (k - 0.5 * (drop - 1)), 0.005 * k, OUTER + 0.3 + 0.25 * k),
        )  # fmt: skip
    return scene


def upright(turn: float) -> tuple[float, float, float, float]:
    """A quaternion that stands the arch's plane up (its z becomes -y) and then turns the stone's middle to this angle [degree]."""
    half = math.radians(0.5 * turn)
    a = (math.cos(half), 0.0, 0.0, math.sin(half))  # about z, in the plane of the arch
    c = math.sqrt(0.5)  # then 90 degrees about x
    return (c * a[0], c * a[0], -c * a[3], c * a[3])


def expect(sim: Simulation) -> list[str]:
    """With enough friction all stones are where they were put, else the arch is down."""
    stones = [b.name for b in sim.scene.bodies if b.name.startswith("stone")]
    rest = sim.world.model.nodes.rest
    moved = [float(np.linalg.norm(sim.centre(n) - rest[sim.nodes(n)].mean(axis=0))) for n in stones]
    crown = sim.centre(stones[len(stones) // 2])[2]
    carried = sim.contacts("ground").total_force[2]
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    if sim.scene.bodies[0].friction > 0.5:
        assert max(moved) < 0.5 * (OUTER - INNER), f"a stone has moved by {1000 * max(moved):.0f} mm: the arch is down"
    else:
        assert sim.time < 2.0 or crown < INNER, f"the crown is still {1000 * crown:.0f} mm up although friction cannot hold it"
    return [
        f"The crown is {1000 * crown:.1f} mm above the ground; the stones moved by up to {1000 * max(moved):.1f} mm.",
        f"{len(sim.contacts())} contacts; the ground carries {-carried:.2f} N of {weight:.2f} N.",
    ]
