"""Static contact: what rests must carry what lies on it."""

from __future__ import annotations

import numpy as np

from pliant import Scene
from pliant.shop.validate import Check, problem
from pliant.shop.validate.carried import SOFTER, G, contact_of, gives_way, held, mean_force, mean_forces
from pliant.simulate.simulation import Simulation

SIZE, DENSITY = 0.1, 1000.0
CHATTERS = {"reversal": "it chatters: forces are right in the mean over many steps only, and cubes slide without friction"}


def pad_scene(method: str, dt: float, youngs_modulus: float, scale: float = 1.0) -> Scene:
    """A cube of 0.1 m on a pad of 0.2 x 0.2 x 0.05 m that is fixed at its bottom; E scales with size, so that rho g L / E stays."""
    # of the cube on a spring E A / L: damped critically, and at rest after 12 / omega
    omega = np.sqrt(youngs_modulus / (DENSITY * SIZE**2) / scale) * (SOFTER if method == "quasi-rigid" else 1.0)
    scene = Scene(dt=dt, duration=max(60 * dt, 12.0 / omega), contact=contact_of(method))
    material = dict(youngs_modulus=youngs_modulus * scale, density=DENSITY, poisson_ratio=0.3, mass_damping=2.0 * omega)
    shared = dict(material=material, friction=0.5, **gives_way(method, 0.2 * SIZE * scale))
    pad = dict(kind="box", size=tuple(scale * np.array([0.2, 0.2, 0.05])), edge=0.05 * scale)
    scene.add(name="pad", shape=pad, position=(0, 0, 0.025 * scale), **held(method), **shared)
    cube = dict(kind="box", size=(SIZE * scale,) * 3, edge=0.05 * scale)
    scene.add(name="cube", shape=cube, position=(0.003 * scale, 0.004 * scale, 0.1 * scale), **shared)
    return scene


@problem("cube-on-pad", "12; IPC#23")
def cube_on_pad(method: str, quick: bool) -> list[Check]:
    """A soft cube on a soft pad: the pad carries its weight, for any dt and stiffness."""
    checks = []
    weight = DENSITY * SIZE**3 * G
    for dt in (1e-3, 2e-2) if quick else (1e-3, 5e-3, 2e-2):
        for modulus in (1e4, 1e6, 1e8):
            sim = Simulation(pad_scene(method, dt, modulus)).run()
            force = mean_force(sim, "cube", "pad", 20)[2]
            checks.append(Check(f"force, dt = {1e3 * dt:g} ms, E = {modulus:.0e} Pa", weight, force, 0.005, "N"))
    return checks


@problem("scale", "12; chrono#462")
def scale(method: str, quick: bool) -> list[Check]:
    """The same cube on the same pad at 0.1 and 10 times the size, rho g L / E held: the same numbers."""
    checks = []
    for factor in (0.1, 10.0):
        dt = 5e-3 * np.sqrt(factor)
        sim = Simulation(pad_scene(method, dt, 1e6, factor)).run()
        force = mean_force(sim, "cube", "pad", 20)[2]
        checks.append(Check(f"force at {factor:g} times the size", DENSITY * (SIZE * factor) ** 3 * G, force, 0.005, "N"))
    return checks


@problem("stack", "12")
def stack(method: str, quick: bool) -> list[Check]:
    """A stack of soft cubes: the one at level k carries (N - k) of them."""
    count, edge = (3, 0.05) if quick else (5, 0.05)
    weight, modulus = DENSITY * SIZE**3 * G, 1e6
    omega = np.sqrt(modulus / (DENSITY * SIZE**2)) / count * (SOFTER if method == "quasi-rigid" else 1.0)  # of the whole stack, about
    dt, steps = (5e-4, 1000) if method in CHATTERS else (2e-3, 20)
    scene = Scene(dt=dt, duration=12.0 / omega, contact=contact_of(method))
    scene.add(name="floor", shape=dict(kind="box", size=(1, 1, 0.2), edge=0.5), model="static", position=(0, 0, -0.1))
    material = dict(youngs_modulus=modulus, density=DENSITY, poisson_ratio=0.3, mass_damping=2.0 * omega)
    for k in range(count):  # each is shifted a little: no vertex lies on another
        place = (0.003 * (k % 2), 0.004 * ((k + 1) % 2), (k + 0.5) * SIZE)
        cube = dict(kind="box", size=(SIZE,) * 3, edge=edge)
        scene.add(name=f"cube {k}", shape=cube, position=place, material=material, friction=0.5, **gives_way(method, 0.2 * SIZE))
    sim = Simulation(scene).run()
    names = ["floor", *(f"cube {k}" for k in range(count))]
    forces = mean_forces(sim, list(zip(names[1:], names[:-1], strict=True)), steps)
    why = CHATTERS.get(method, "")
    return [Check(f"force under cube {k}", (count - k) * weight, float(forces[k][2]), 0.01, "N", why=why) for k in range(count)]
