"""Friction: when things start to slide, how they slide, spin, roll and stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.geometry.mesh import TetMesh
from pliant.scene import Scene
from pliant.shop.validate import Check, G, contact_of, gives_way, problem
from pliant.shop.validate.pressures import box_mesh
from pliant.shop.validate.turning import turned
from pliant.simulate.simulation import Simulation

REVERSAL = {"reversal": "it has no friction: velocities are reversed, nothing resists sliding"}
BELT = REVERSAL | {"quasi-rigid": "only its surface gives way: it has no belts that bend"}
ROLLS = REVERSAL | {"quasi-rigid": "not done here: a ball that slides, then rolls is measured on its own page, within 0.6 % of theory"}


def kinds(method: str) -> tuple[str, ...]:
    """The blocks that a method is asked with."""
    return ("quasi-rigid",) if method == "quasi-rigid" else ("rigid", "soft")


def block_scene(method: str, kind: str, mu: float, gravity: tuple[float, float, float], speed: float = 0.0) -> Scene:
    """A block of 0.2 x 0.2 x 0.1 m on a large static box; a slope is gravity that leans."""
    scene = Scene(dt=2e-3, duration=1.0, contact=contact_of(method), gravity=gravity)
    floor = dict(kind="box", size=(4.0, 2.0, 0.2), edge=1.0)
    scene.add(name="floor", shape=floor, model="static", position=(0, 0, -0.1), friction=mu)
    block = dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.1)
    body: dict[str, Any] = dict(name="block", shape=block, position=(0.013, 0.007, 0.05), friction=mu)
    if kind == "rigid":
        scene.add(**body, model="rigid", material=dict(density=1000.0), velocity=(speed, 0, 0))
    else:
        material = dict(youngs_modulus=1e6, poisson_ratio=0.0, mass_damping=0.0, stiffness_damping=2e-3)
        scene.add(**body, material=material, **gives_way(method, 0.04), velocity=(speed, 0, 0))
    return scene


def leaning(degrees: float) -> tuple[float, float, float]:
    """Gravity on a slope that falls towards +x."""
    return (G * np.sin(np.radians(degrees)), 0.0, -G * np.cos(np.radians(degrees)))


@problem("stick-or-slide", "theory/validation-problems 9", refused=REVERSAL)
def stick_or_slide(method: str, quick: bool) -> list[Check]:
    """A block on a slope of 20 degrees sticks as long as mu is at least tan(20 degrees); where it lets go is found by bisection."""
    checks, gravity, until, tan = [], leaning(20.0), 0.3, math.tan(math.radians(20.0))
    fast = 0.001 * G * math.sin(math.radians(20.0)) * until  # what a block with mu 0.1 % too small reaches
    for kind in kinds(method):
        low, high = 0.97 * tan, 1.03 * tan
        for _ in range(5 if quick else 7):
            middle = 0.5 * (low + high)
            slides = _speed(Simulation(block_scene(method, kind, middle, gravity)).run(until=until)) > fast
            low, high = (middle, high) if slides else (low, middle)
        checks.append(Check(f"mu at which a {kind} block lets go", tan, 0.5 * (low + high), 0.005))
    return checks


SLOW = {"quasi-rigid": "not done: a second of it takes a minute; where it lets go is asked by stick-or-slide"}


@problem("creep", "theory/validation-problems 9", refused=REVERSAL | SLOW)
def creep(method: str, quick: bool) -> list[Check]:
    """A block settles on a slope of 20 degrees with mu = 1; then with 1.01 tan it stays, and with 0.97 tan it slides as it should."""
    checks, tan, rest, time = [], math.tan(math.radians(20.0)), 0.3 if quick else 1.0, 1.0
    pull = 0.03 * G * math.sin(math.radians(20.0))  # of what friction leaves
    for kind in kinds(method):
        for part in (1.01, 0.97):
            world = turned(block_scene(method, kind, 1.0, leaning(20.0)))
            world.sim.run(until=rest)
            world.sim.set("floor.friction", (part * tan) ** 2)  # that of a pair is the geometric mean, and the block has 1
            begin = world.centre("block")[0]
            world.sim.run(until=rest + 0.5 * time)
            before, start = world.centre("block")[0], world.sim.time
            world.sim.run(until=rest + time)
            way, late = float(world.centre("block")[0] - begin), float(world.centre("block")[0] - before) / (world.sim.time - start)
            if part > 1.0:
                checks.append(Check(f"creep of a {kind} block at 1.01 tan", 0.0, late, 1e-8, "m/s", scale=1.0))
            else:
                checks.append(Check(f"path of a {kind} block at 0.97 tan", 0.5 * pull * time * (time + 2e-3), way, 0.02, "m"))
    return checks


@problem("sliding-down", "theory/validation-problems 9", refused=REVERSAL)
def sliding_down(method: str, quick: bool) -> list[Check]:
    """A block on a slope of 30 degrees with mu = 0.3 slides with g (sin - mu cos)."""
    expected = G * (np.sin(np.radians(30.0)) - 0.3 * np.cos(np.radians(30.0)))
    checks = []
    for kind in kinds(method):
        sim = Simulation(block_scene(method, kind, 0.3, leaning(30.0))).run(until=0.1)
        speed, start = _speed(sim), sim.time
        sim.run(until=0.4)
        checks.append(Check(f"acceleration of a {kind} block", expected, (_speed(sim) - speed) / (sim.time - start), 0.01, "m/s²"))
    return checks


def _speed(sim: Simulation) -> float:
    """Of the block in x, from its momentum [m/s]."""
    return float(sim.books().momentum[0] / (1000.0 * 0.2 * 0.2 * 0.1))


@problem("stopping-distance", "theory/validation-problems 10", refused=REVERSAL)
def stopping_distance(method: str, quick: bool) -> list[Check]:
    """A block that slides with 1 m/s on the flat with mu = 0.4 stops after v²/(2 mu g)."""
    expected, found = 1.0 / (2.0 * 0.4 * G), {}
    for kind in kinds(method):
        sim = Simulation(block_scene(method, kind, 0.4, (0, 0, -G), 1.0))
        start = sim.centre("block")[0]
        found[kind] = float(sim.run(until=0.6).centre("block")[0] - start)
    return [Check(f"path of a {kind} block", expected, path, 0.01, "m") for kind, path in found.items()]


def ball_scene(method: str, mu: float, gravity: tuple[float, float, float], speed: float) -> Scene:
    scene = Scene(dt=1e-3, duration=1.0, contact=method, gravity=gravity)
    scene.add(name="floor", shape="plane", model="static", friction=mu)
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 0.1), velocity=(speed, 0, 0), friction=mu)
    return scene


@problem("ball-on-slope", "theory/validation-problems 11", refused=ROLLS)
def ball_on_slope(method: str, quick: bool) -> list[Check]:
    """A ball rolls down 20 degrees with 5/7 g sin if mu is large, and slips with g (sin - mu cos) if tan > 3.5 mu."""
    checks, angle = [], np.radians(20.0)
    for mu, expected in ((0.3, 5.0 / 7.0 * G * np.sin(angle)), (0.05, G * (np.sin(angle) - 0.05 * np.cos(angle)))):
        sim = Simulation(ball_scene(method, mu, leaning(20.0), 0.0)).run(until=0.1)
        frame = sim.world.model.bodies.frame[1]
        before, start = sim.state.velocity[frame, 0], sim.time
        sim.run(until=0.4)
        rate = (sim.state.velocity[frame, 0] - before) / (sim.time - start)
        checks.append(Check(f"acceleration, mu = {mu:g}", expected, float(rate), 0.01, "m/s²", at=("acceleration", "mu", mu)))
    return checks


@problem("sliding-ball", "theory/validation-problems 11", refused=ROLLS)
def sliding_ball(method: str, quick: bool) -> list[Check]:
    """A ball that slides with 1 m/s without spin rolls with 5/7 of it after 2 v/(7 mu g)."""
    mu, when = 0.2, 2.0 / (7.0 * 0.2 * G)
    sim = Simulation(ball_scene(method, mu, (0, 0, -G), 1.0))
    frame = sim.world.model.bodies.frame[1]
    times, slips = [0.0], [1.0]
    while sim.time < 2.0 * when:
        sim.step()
        omega = sim.world.angular_velocities(sim.state.rotation, sim.state.spin)[frame]
        times.append(sim.time)
        slips.append(float(sim.state.velocity[frame, 0] - 0.1 * omega[1]))
    early = np.array(slips) > 0.5  # the slip falls along a line: where it would end
    line = np.polyfit(np.array(times)[early], np.array(slips)[early], 1)
    return [
        Check("speed when it rolls", 5.0 / 7.0, float(sim.state.velocity[frame, 0]), 0.01, "m/s"),
        Check(
            "time until it rolls",
            when,
            float(-line[1] / line[0]),
            0.02,
            "s",
            curve=("time [s]", times, slips, np.maximum(0.0, 1.0 - np.array(times) / when)),
        ),
    ]


SPOT = {"quasi-rigid": "not done: a body that spins on a flat face is beyond its responses, which are those of a smooth half-space"}


@problem("spinning-disc", "theory/validation-problems 32", refused=REVERSAL | SPOT)
def spinning_disc(method: str, quick: bool) -> list[Check]:
    """A disc spins on its flat side: friction brakes it with 2/3 mu N R, and it stops after 3 R omega / (4 mu g)."""
    mu, radius, high, spin = 0.3, 0.1, 0.04, 20.0
    scene = Scene(dt=2e-3, duration=1.0, contact=method)
    scene.add(name="plane", shape="plane", model="static", friction=mu)
    disc = dict(kind="cylinder", radius=radius, height=high, edge=0.02)
    scene.add(name="disc", shape=disc, model="rigid", position=(0, 0, 0.5 * high), angular_velocity=(0, 0, spin), friction=mu)
    world = turned(scene)
    world.sim.run(until=0.1)
    weight, inertia = G * world.sim.mass("disc"), 0.5 * world.sim.mass("disc") * radius**2
    torques, times, spins = [], [], []
    while world.sim.time < 0.9:
        world.sim.step()
        torques.append(float(-world.back(world.sim.contacts("disc", "plane").total_torque(world.sim.centre("disc")))[2]))
        times.append(world.sim.time)
        frame = world.sim.world.model.bodies.frame[1]
        state = world.sim.state
        spins.append(float(world.back(world.sim.world.angular_velocities(state.rotation, state.spin)[frame])[2]))
    expected, fast = 2.0 / 3.0 * mu * weight * radius, np.array(spins) > 0.3 * spin
    stop = inertia * spin / expected
    theory = spin * np.maximum(0.0, 1.0 - np.array(times) / stop)
    line = np.polyfit(np.array(times)[fast], np.array(spins)[fast], 1) if fast.sum() > 2 else (math.nan, math.nan)
    return [
        Check("torque while it spins", expected, float(np.mean(np.array(torques)[fast])) if fast.any() else math.nan, 0.02, "N m"),
        Check("time until it stops", stop, float(-line[1] / line[0]), 0.02, "s", curve=("time [s]", times, spins, theory)),
        Check("spin afterwards", 0.0, spins[-1], 0.01, "rad/s", scale=spin),
    ]


@problem("rolling-ball", "theory/validation-problems 11", refused=ROLLS)
def rolling_ball(method: str, quick: bool) -> list[Check]:
    """A rigid ball that rolls on the level keeps its speed: it loses less than 1 % in a second, on a plane and on the faces of a box."""
    checks, until = [], 0.5 if quick else 1.0
    floors: dict[str, Any] = {"plane": "plane", "mesh": box_mesh((2.0, 0.6, 0.1), 0.1)}
    for kind, floor in floors.items():
        scene = Scene(dt=2e-3, duration=until, contact=method)
        scene.add(name="floor", shape=floor, model="static", position=(0.4, 0, 0.0 if kind == "plane" else -0.05), friction=0.5)
        rolls: dict[str, Any] = dict(velocity=(1, 0, 0), angular_velocity=(0, 10, 0), friction=0.5)
        scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 0.1), **rolls)
        world = turned(scene)
        world.sim.run()
        speed = float(world.back(world.sim.state.velocity[world.sim.world.model.bodies.frame[1]])[0])
        checks.append(Check(f"speed after {until:g} s on a {kind}", 1.0, speed, 0.01 * until, "m/s"))
    return checks


@problem("rolling-disc", "theory/validation-problems 11", refused=ROLLS)
def rolling_disc(method: str, quick: bool) -> list[Check]:
    """A rigid disc rolls on its rim: straight, upright, as fast as a prism of n sides, which loses (2/3)(1 - cos(2 pi/n)) at each."""
    checks, until, radius, start = [], 0.5 if quick else 1.0, 0.1, 0.5
    for edge in (0.02, 0.005) if quick else (0.02, 0.01, 0.005):
        scene = Scene(dt=2e-3, duration=until, contact=method)
        scene.add(name="floor", shape="plane", model="static", friction=0.5)
        disc = dict(kind="cylinder", radius=radius, height=0.06, edge=edge)
        rolls: dict[str, Any] = dict(rotation=(90, 0, 0), velocity=(start, 0, 0), angular_velocity=(0, start / radius, 0), friction=0.5)
        scene.add(name="disc", shape=disc, model="rigid", position=(0, 0, radius), **rolls)
        world = turned(scene)
        sides = round(2.0 * math.pi / least_angle(world.back(world.sim.points("disc")) - world.centre("disc"), radius))
        world.sim.run()
        speed = float(world.back(world.sim.state.velocity[world.sim.world.model.bodies.frame[1]])[0])
        place = world.centre("disc")
        passed = place[0] / (2.0 * radius * math.sin(math.pi / sides))
        expected = start * (1.0 - 2.0 / 3.0 * (1.0 - math.cos(2.0 * math.pi / sides))) ** passed
        checks += [
            Check(f"speed after {until:g} s, {sides} sides", expected, speed, 0.02, "m/s", at=("speed", "sides", sides)),
            Check(f"way aside, of the way ahead, {sides} sides", 0.0, float(abs(place[1])), 0.01, "m", scale=start * until),
            Check(f"height of its middle, {sides} sides", radius, float(place[2]), 0.02, "m"),
        ]
    return checks


def least_angle(points: Floats, radius: float) -> float:
    """Between neighbours on the rim of a disc about y."""
    rim = points[np.hypot(points[:, 0], points[:, 2]) > radius * (1.0 - 1e-6)]
    angle = np.unique(np.round(np.arctan2(rim[:, 0], rim[:, 2]), 6))
    return float(np.diff(angle).min())


@problem("capstan", "theory/validation-problems 41; [Euler 1769]", refused=BELT)
def capstan(method: str, quick: bool) -> list[Check]:
    """A belt over half a drum is drawn against a load at its other end: the pull is exp(mu pi) times the load."""
    checks, radius, thick, width, leg, load, speed = [], 0.1, 0.004, 0.02, 0.1, 2.0, 0.1
    for mu in (0.3,) if quick else (0.1, 0.3, 0.5):
        scene = Scene(dt=4e-3, contact=method, gravity=(0, 0, 0))
        drum = dict(kind="cylinder", radius=radius, height=0.1)
        scene.add(name="drum", shape=drum, model="static", rotation=(90, 0, 0), friction=mu)
        end = (-leg - 1e-6, -leg + 1e-6)
        hold = dict(kind="traction", where=dict(z=end, x=(-2 * radius, 0.0)), value=(0, 0, -load / (thick * width)))
        drawn = dict(times=[0.0, 1.0], values=[(0, 0, 0), (0, 0, -speed)])
        draw = dict(where=dict(z=end, x=(0.0, 2 * radius)), shift=drawn)
        soft = dict(youngs_modulus=2e6, poisson_ratio=0.0, density=300.0, mass_damping=20.0)
        mesh = belt(radius, thick, width, leg, 0.01 if quick else 0.005)
        scene.add(name="belt", shape=mesh, material=soft, integrator="implicit", friction=mu, loads=[hold], motions=[draw])
        sim, pulls = Simulation(scene), []
        while sim.time < 0.4 - 1e-9:
            sim.step()
            turning = float(sim.pairs()["torque"][0, 1])  # on the drum, about its axis
            pulls.append(load + turning / (radius + 0.5 * thick))
        late = np.array(pulls)[len(pulls) // 2 :]
        at = ("pull over load", "mu", mu)
        checks.append(Check(f"pull over load, mu = {mu:g}", math.exp(mu * math.pi), float(late.mean() / load), 0.02, at=at))
    return checks


def belt(radius: float, thick: float, width: float, leg: float, edge: float) -> TetMesh:
    """A flat belt around the upper half of a drum about y, with straight legs down on both sides."""
    length = math.pi * (radius + 0.5 * thick) + 2.0 * leg
    flat = box_mesh((length, width, thick), edge)
    x, y, z = flat.points.T
    r = radius + 0.5 * thick + z  # its underside lies on the drum
    around = x / (radius + 0.5 * thick)
    beyond = np.abs(x) - 0.5 * math.pi * (radius + 0.5 * thick)
    on = np.stack([r * np.sin(around), y, r * np.cos(around)], axis=1)
    off = np.stack([np.sign(x) * r, y, -beyond], axis=1)
    return TetMesh(np.where((beyond > 0.0)[:, None], off, on), flat.tets)
