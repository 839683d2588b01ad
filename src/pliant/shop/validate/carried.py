"""What rests must carry what lies on it, at ordinary steps: cubes on pads, stacks, pyramids, heavy on light, what hangs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.shop.validate import SOFTER, Check, G, contact_of, gives_way, held, mean_force, mean_forces, problem
from pliant.shop.validate.turning import Turned, turned
from pliant.simulate.simulation import Simulation

SIDE, DENSITY = 0.1, 1000.0  # [m], [kg/m^3] of a cube
WEIGHT = DENSITY * SIDE**3 * G  # [N]
CHATTERS = {"reversal": "it chatters: forces are right in the mean over many steps only, and cubes slide without friction"}
QUIET = {
    "reversal": "it has no friction, and forces only in the mean over many steps: what is stacked slides apart",
    "quasi-rigid": "not done: what stands on edges is beyond its responses, which are those of a smooth half-space",
}


def cube(modulus: float | None, density: float = DENSITY, **more: Any) -> dict[str, Any]:
    """Shape, model and material of a cube: rigid without a modulus [Pa], else of finite elements with nu = 0."""
    shape = dict(kind="box", size=(SIDE,) * 3, edge=0.5 * SIDE)
    if modulus is None:
        return dict(shape=shape, model="rigid", material=dict(density=density, **more))
    material = dict(youngs_modulus=modulus, poisson_ratio=0.0, density=density, **more)
    return dict(shape=shape, integrator="implicit", material=material)


def named(modulus: float | None) -> str:
    return "rigid" if modulus is None else f"E = {modulus:.0e} Pa"


# ---- stacks


def stack_of(method: str, count: int, modulus: float | None) -> Turned:
    """Cubes on each other on a plane, each turned about the vertical by up to 20 degrees."""
    scene, rng = Scene(dt=5e-3, duration=10.0, contact=method), np.random.default_rng(1)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    for k in range(count):
        turn = (0.0, 0.0, float(rng.uniform(-20.0, 20.0)))
        scene.add(name=f"box {k}", position=(0, 0, (k + 0.5) * SIDE), rotation=turn, friction=0.5, **cube(modulus))
    return turned(scene)


SWAY = {"patch": "rigid cubes sway by half a micrometre, without drift"}


@problem("tall-stack", "theory/validation-problems 28", refused=QUIET, limits=SWAY)
def tall_stack(method: str, quick: bool) -> list[Check]:
    """Ten (twenty) cubes turned on each other stand at dt = 5 ms: the top stays, and every interface carries what is above it."""
    checks, until = [], 2.0 if quick else 10.0
    for count, modulus in [(10, None), (10, 1e8)] if quick else [(10, None), (10, 1e8), (10, 1e7), (20, None)]:
        world, which = stack_of(method, count, modulus), f"{count}, {named(modulus)}"
        names, top, forces = ["plane", *(f"box {k}" for k in range(count))], [], []
        while world.sim.time < until - 1e-9:
            world.sim.step()
            if world.sim.time > 1.0 - 1e-9:
                top.append(world.centre(names[-1]))
                forces.append([world.force(a, b)[2] for a, b in zip(names[1:], names[:-1], strict=True)])
        way, late = np.array(top) - top[0], np.array(top[len(top) // 2 :]) - top[len(top) // 2]
        off = np.array(forces) / (WEIGHT * np.arange(count, 0, -1)) - 1.0
        carried = ("interface, from below", np.arange(count), np.mean(forces, axis=0), WEIGHT * np.arange(count, 0, -1))
        far = [float(np.linalg.norm(each, axis=1).max()) for each in (way, late)]
        checks += [
            Check(f"way of the top from 1 s to {until:g} s, {which}", 0.0, far[0], 1e-3, "m", scale=1.0),
            Check(f"the same in the second half, of it or of 10 um, {which}", 0.0, far[1] / max(far[0], 1e-5), 0.1, scale=1.0),
            Check(f"worst mean force of an interface, {which}", 0.0, float(np.abs(off.mean(axis=0)).max()), 1e-3, scale=1.0, curve=carried),
            Check(f"worst rms of force of an interface, {which}", 0.0, float(np.sqrt((off**2).mean(axis=0)).max()), 1e-3, scale=1.0),
        ]
    return checks


@problem("pyramid", "theory/validation-problems 28", refused=QUIET)
def pyramid(method: str, quick: bool) -> list[Check]:
    """Rows of 4, 3, 2 and 1 rigid cubes on each other, neighbours apart: each row carries what is above it, and the top stays."""
    rows, pitch = 4, 1.1 * SIDE
    scene = Scene(dt=5e-3, duration=1.0 if quick else 5.0, contact=method)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    names: list[list[str]] = []
    for level in range(rows):
        names.append([f"box {level} {k}" for k in range(rows - level)])
        for k, name in enumerate(names[-1]):
            place = ((k - 0.5 * (rows - level - 1)) * pitch, 0.002 * (level % 2), (level + 0.5) * SIDE)
            scene.add(name=name, position=place, friction=0.5, **cube(None))
    world = turned(scene)
    top = world.centre(names[-1][0])
    world.sim.run()
    checks = [Check("way of the top", 0.0, float(np.linalg.norm(world.centre(names[-1][0]) - top)), 1e-3, "m", scale=1.0)]
    for level in range(rows):
        below = ["plane"] if level == 0 else names[level - 1]
        carried = sum(world.force(a, b)[2] for a in names[level] for b in below)
        above = sum(len(each) for each in names[level:])
        checks.append(Check(f"force under row {level}", above * WEIGHT, float(carried), 1e-3, "N", at=("force", "row", level)))
    return checks


# ---- heavy on light


Kind = tuple[float, float | None]  # density [kg/m^3] and modulus [Pa], None: rigid


def pressed(method: str, upper: Kind, lower: Kind, dt: float) -> tuple[float, float]:
    """A cube on another: how deep they are in each other or in the ground, and how far the upper one has come down [m]."""
    (heavy, hard), (light, modulus) = upper, lower
    omega = 100.0 if modulus is None else math.sqrt(modulus / heavy) / SIDE  # of the heavy one on the light one
    slow = 0.0 if modulus is None else min(2.0 * omega, 0.2 / dt)
    scene = Scene(dt=dt, duration=max(0.4, 12.0 / omega), contact=method)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    scene.add(name="light", position=(0, 0, 0.5 * SIDE), friction=0.5, **cube(modulus, light, mass_damping=slow))
    scene.add(name="heavy", position=(0, 0, 1.5 * SIDE), friction=0.5, **cube(hard, heavy, mass_damping=slow))
    world = turned(scene)
    start = world.centre("heavy")[2]
    world.sim.run()
    deep = max(float(world.sim.contacts(*pair).depth.max(initial=0.0)) for pair in (("heavy", "light"), ("light", "plane")))
    return deep, float(start - world.centre("heavy")[2])


@problem("heavy-on-light", "theory/validation-problems 29", refused=QUIET)
def heavy_on_light(method: str, quick: bool) -> list[Check]:
    """A cube on one that is up to 1000 times lighter, and steel on foam: it stands where it should, hardly inside."""
    cases: list[tuple[float, float | None]] = [(1000.0, 1e6), (1000.0, None)]
    if not quick:
        cases = [(ratio, modulus) for ratio in (1.0, 10.0, 100.0, 1000.0) for modulus in (None, 1e5, 1e6, 1e8)]
    checks = []
    for ratio, modulus in cases:
        heavy, light = 5000.0, 5000.0 / ratio
        deep, sunk = pressed(method, (heavy, modulus), (light, modulus), 4e-3)
        gives = 0.0 if modulus is None else G * SIDE**2 / modulus  # [m] of a cube under another, per density
        which, expected = f"{heavy:g} on {light:g} kg/m³, {named(modulus)}", gives * (heavy / 3.0 + heavy + light / 2.0)
        checks += _stands(which, deep, sunk, gives * heavy, expected, (f"way down, {named(modulus)}", "heavy over light", ratio))
    deep, sunk = pressed(method, (7850.0, None), (30.0, 5e4), 5e-3)
    gives = G * SIDE**2 / 5e4
    return checks + _stands("rigid steel on foam, E = 5e4 Pa", deep, sunk, 7850.0 * gives, gives * (7850.0 + 15.0))


def _stands(which: str, deep: float, sunk: float, gives: float, expected: float, at: Any = None) -> list[Check]:
    """Within 0.2 mm, or 2 % of what the lower one gives way by [m]."""
    bar = max(2e-4, 0.02 * gives)
    return [
        Check(f"depth, {which}", 0.0, deep, bar, "m", scale=1.0),
        Check(f"way down of the upper one, {which}", expected, sunk, bar, "m", scale=1.0, at=at),
    ]


# ---- what hangs


@problem("hanging-chain", "theory/validation-problems 31; [Spillmann 2007]", refused=QUIET)
def hanging_chain(method: str, quick: bool) -> list[Check]:
    """Five rigid rings hang in each other below one that is held: each carries the weight of those below it."""
    links, major, minor = 5, 0.05, 0.012
    scene = Scene(dt=2e-3, duration=0.6 if quick else 2.0, contact=method)
    for k in range(links + 1):
        model: dict[str, Any] = dict(model="static") if k == 0 else dict(model="rigid", material=dict(density=DENSITY, mass_damping=10.0))
        place = (0.0, 0.0, -2.0 * k * (major - minor))
        turn = (90.0, 0.0, 0.0) if k % 2 == 0 else (0.0, 90.0, 0.0)
        ring = dict(kind="torus", major=major, minor=minor)
        scene.add(name=f"link {k}", shape=ring, position=place, rotation=turn, friction=0.3, **model)
    world = turned(scene)
    world.sim.run()
    mass, steps, force = world.sim.mass("link 1"), 50, np.zeros(links)
    for _ in range(steps):
        world.sim.step()
        force += [world.force(f"link {k + 1}", f"link {k}")[2] / steps for k in range(links)]
    return [
        Check(f"force on link {k + 1} from the one above", (links - k) * mass * G, float(force[k]), 0.01, "N", at=("force", "link", k + 1))
        for k in range(links)
    ]


# ---- a cube on a pad, and on its likes


def pad_scene(method: str, dt: float, youngs_modulus: float, scale: float = 1.0) -> Scene:
    """A cube of 0.1 m on a pad of 0.2 x 0.2 x 0.05 m that is fixed at its bottom; E scales with size, so that rho g L / E stays."""
    # of the cube on a spring E A / L: damped critically, and at rest after 12 / omega
    omega = np.sqrt(youngs_modulus / (DENSITY * SIDE**2) / scale) * (SOFTER if method == "quasi-rigid" else 1.0)
    scene = Scene(dt=dt, duration=max(60 * dt, 12.0 / omega), contact=contact_of(method))
    material = dict(youngs_modulus=youngs_modulus * scale, density=DENSITY, poisson_ratio=0.3, mass_damping=2.0 * omega)
    shared: dict[str, Any] = dict(material=material, friction=0.5, **gives_way(method, 0.2 * SIDE * scale))
    pad = dict(kind="box", size=tuple(scale * np.array([0.2, 0.2, 0.05])), edge=0.05 * scale)
    scene.add(name="pad", shape=pad, position=(0, 0, 0.025 * scale), **held(method), **shared)
    cube = dict(kind="box", size=(SIDE * scale,) * 3, edge=0.05 * scale)
    scene.add(name="cube", shape=cube, position=(0.003 * scale, 0.004 * scale, 0.1 * scale), **shared)
    return scene


@problem("cube-on-pad", "theory/validation-problems 8; [Li 2020]")
def cube_on_pad(method: str, quick: bool) -> list[Check]:
    """A soft cube on a soft pad: the pad carries its weight, for any dt and stiffness."""
    checks = []
    weight = DENSITY * SIDE**3 * G
    for dt in (1e-3, 2e-2) if quick else (1e-3, 5e-3, 2e-2):
        for modulus in (1e4, 1e6, 1e8):
            world = turned(pad_scene(method, dt, modulus))
            force = world.back(mean_force(world.sim.run(), "cube", "pad", 20))[2]
            checks.append(
                Check(
                    f"force, dt = {1e3 * dt:g} ms, E = {modulus:.0e} Pa", weight, float(force), 1e-4, "N", at=("force", "E [Pa]", modulus)
                )
            )
    return checks


@problem("scale", "theory/validation-problems 8; [Tasora 2016]")
def scale(method: str, quick: bool) -> list[Check]:
    """The same cube on the same pad at 0.1 and 10 times the size, rho g L / E held: the same numbers."""
    checks = []
    for factor in (0.1, 10.0):
        dt = 5e-3 * np.sqrt(factor)
        world = turned(pad_scene(method, dt, 1e6, factor))
        force = float(world.back(mean_force(world.sim.run(), "cube", "pad", 20))[2])
        checks.append(Check(f"force at {factor:g} times the size", DENSITY * (SIDE * factor) ** 3 * G, force, 1e-4, "N"))
    return checks


@problem("stack", "theory/validation-problems 8")
def stack(method: str, quick: bool) -> list[Check]:
    """A stack of soft cubes: the one at level k carries (N - k) of them."""
    count, edge = (3, 0.05) if quick else (5, 0.05)
    weight, modulus = DENSITY * SIDE**3 * G, 1e6
    omega = np.sqrt(modulus / (DENSITY * SIDE**2)) / count * (SOFTER if method == "quasi-rigid" else 1.0)  # of the whole stack, about
    dt, steps = (5e-4, 1000) if method in CHATTERS else (2e-3, 20)
    scene = Scene(dt=dt, duration=12.0 / omega, contact=contact_of(method))
    scene.add(name="floor", shape=dict(kind="box", size=(1, 1, 0.2), edge=0.5), model="static", position=(0, 0, -0.1))
    material = dict(youngs_modulus=modulus, density=DENSITY, poisson_ratio=0.3, mass_damping=2.0 * omega)
    for k in range(count):  # each is shifted a little: no vertex lies on another
        place = (0.003 * (k % 2), 0.004 * ((k + 1) % 2), (k + 0.5) * SIDE)
        cube = dict(kind="box", size=(SIDE,) * 3, edge=edge)
        scene.add(name=f"cube {k}", shape=cube, position=place, material=material, friction=0.5, **gives_way(method, 0.2 * SIDE))
    sim = Simulation(scene).run()
    names = ["floor", *(f"cube {k}" for k in range(count))]
    forces = mean_forces(sim, list(zip(names[1:], names[:-1], strict=True)), steps)
    why = CHATTERS.get(method, "")
    return [
        Check(f"force under cube {k}", (count - k) * weight, float(forces[k][2]), 0.01, "N", why=why, at=("force", "cube", k))
        for k in range(count)
    ]
