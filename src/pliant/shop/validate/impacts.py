"""Impacts: waves in rods, cradles, how sharp the force of an impact is, bodies in a closed box; momentum, spin and energy of bodies that
collide or fall freely.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.integrate import solve_ivp

from pliant.base import Floats
from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, STATIC, Check, G, gives_way, problem
from pliant.shop.validate.turning import turned
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

LENGTH, WIDTH, MODULUS, DENSITY, SPEED = 0.5, 0.05, 1e5, 1000.0, 0.1
WAVE = np.sqrt(MODULUS / DENSITY)  # [m/s] along a rod with nu = 0
CHATTER = {
    "quasi-rigid": "only its surface gives way, at once: there are no waves in its bodies",
    "reversal": "it reverses velocities at once, so it has no contact force that follows a wave",
}


def rod(scene: Scene, name: str, x: float, speed: float, edge: float) -> None:
    """A rod along x that begins at x; as it has no width effect (nu = 0), waves in it are those of one dimension."""
    shape = dict(kind="box", size=(LENGTH, WIDTH, WIDTH), edge=edge)
    material = dict(youngs_modulus=MODULUS, poisson_ratio=0.0, density=DENSITY)
    scene.add(name=name, shape=shape, position=(x + LENGTH / 2, 0, 0), velocity=(speed, 0, 0), material=material, integrator="verlet")


def impact(scene: Scene, a: str, b: str, until: float) -> tuple[Simulation, Floats, Floats]:
    """Run; times [s] and size of the force on a from b [N] of every step."""
    sim = Simulation(scene)
    times, forces = [], []
    while sim.time < until:
        sim.step()
        times.append(sim.time)
        forces.append(float(np.linalg.norm(sim.contacts(a, b).total_force)))
    return sim, np.array(times), np.array(forces)


def lasts(times: Floats, forces: Floats) -> float:
    """How long the impact takes [s]: from the first to the last moment with more than a tenth of the largest smoothed force."""
    smooth = np.convolve(forces, np.ones(9) / 9.0, mode="same")
    pressed = np.flatnonzero(smooth > 0.1 * smooth.max(initial=0.0))
    return float(times[pressed[-1]] - times[pressed[0]]) if len(pressed) else 0.0


def pulse(times: Floats, forces: Floats, force: float, time: float) -> tuple[str, Floats, Floats, Floats]:
    """For the plot: forces over time, and the even force [N] for as long as theory says [s], from where the rods meet on."""
    meets = 0.001 / SPEED
    return "time [s]", times, forces, np.where((times > meets) & (times < meets + time), force, 0.0)


def velocity(sim: Simulation, body: str) -> float:
    """Mean velocity of a soft body in x [m/s], by mass."""
    mine, mass = sim.nodes(body), sim.world.model.nodes.mass[sim.nodes(body)]
    return float((mass * sim.state.v[mine, 0]).sum() / mass.sum())


@problem("rod-on-wall", "theory/validation-problems 17; [Goldsmith 1960]", refused=CHATTER)
def rod_on_wall(method: str, quick: bool) -> list[Check]:
    """An elastic rod hits a rigid wall: it stays for 2 L/c, pushes with rho c v A, and leaves with its speed."""
    time, area = 2.0 * LENGTH / WAVE, WIDTH**2
    scene = Scene(dt=2e-4, duration=1.0, contact=method, gravity=(0, 0, 0))
    wall = dict(kind="box", size=(0.1, 0.2, 0.2), edge=0.1)
    scene.add(name="wall", shape=wall, model="static", position=(-0.05, 0.003, 0.004), friction=0.0)
    rod(scene, "rod", 0.001, -SPEED, 0.025 if quick else 0.0125)
    sim, times, forces = impact(scene, "rod", "wall", 1.6 * time)
    plateau = (times > times[forces > 0][0] + 0.2 * time) & (times < times[forces > 0][0] + 0.8 * time)
    force = DENSITY * WAVE * SPEED * area
    return [
        Check("time in contact", time, lasts(times, forces), 0.1, "s"),
        Check("force in between", force, float(forces[plateau].mean()), 0.05, "N", curve=pulse(times, forces, force, time)),
        Check("speed afterwards", SPEED, velocity(sim, "rod"), 0.1, "m/s"),
    ]


@problem("rod-on-rod", "theory/validation-problems 17; [Goldsmith 1960]", refused=CHATTER)
def rod_on_rod(method: str, quick: bool) -> list[Check]:
    """A rod hits an equal rod at rest: half the force, and the first stops while the second leaves with its speed."""
    time, area, edge = 2.0 * LENGTH / WAVE, WIDTH**2, 0.025 if quick else 0.0125
    scene = Scene(dt=2e-4, duration=1.0, contact=method, gravity=(0, 0, 0))
    rod(scene, "first", -LENGTH - 0.001, SPEED, edge)
    rod(scene, "second", 0.0, 0.0, edge)
    sim, times, forces = impact(scene, "second", "first", 1.6 * time)
    plateau = (times > times[forces > 0][0] + 0.2 * time) & (times < times[forces > 0][0] + 0.8 * time)
    force = 0.5 * DENSITY * WAVE * SPEED * area
    return [
        Check("force in between", force, float(forces[plateau].mean()), 0.05, "N", curve=pulse(times, forces, force, time)),
        Check("speed of the second afterwards", SPEED, velocity(sim, "second"), 0.1, "m/s"),
        Check("speed of the first afterwards", 0.0, velocity(sim, "first"), 0.1, "m/s", scale=SPEED),
    ]


@problem("cradle", "theory/validation-problems 16, 17; [Herrmann 1982]", refused=CHATTER)
def cradle(method: str, quick: bool) -> list[Check]:
    """A rod hits a row of two equal ones: by waves, as in Newton's cradle of sequential impacts, the last leaves and the others rest."""
    time, edge, gap = 2.0 * LENGTH / WAVE, 0.025 if quick else 0.0125, 1e-3
    scene = Scene(dt=2e-4, duration=2.0 * (time + gap / SPEED) + 0.5 * time, contact=method, gravity=(0, 0, 0))
    for k in range(3):
        rod(scene, f"rod {k}", (k - 1) * (LENGTH + gap), SPEED if k == 0 else 0.0, edge)
    sim = Simulation(scene).run()
    speeds = zip((0.0, 0.0, SPEED), (velocity(sim, f"rod {k}") for k in range(3)), strict=True)
    return [
        Check(f"speed of rod {k} afterwards", expected, here, 0.1, "m/s", scale=SPEED, at=("speed", "rod", k))
        for k, (expected, here) in enumerate(speeds)
    ]


@problem("hertz-impact", "theory/validation-problems 38; [Hertz 1882]; [Johnson 1985]", methods=STATIC)
def hertz_impact(method: str, quick: bool) -> list[Check]:
    """A ball whose surface gives way hits a rigid plane: how deep, how long, and how fast it leaves, by Hertz's theory of impact."""
    checks, speed = [], 0.3
    for dt in (0.02,) if quick else (0.3, 0.02, 0.005):
        scene = Scene(dt=dt, contact=method, gravity=(0, 0, 0))
        scene.add(name="plane", shape="plane", model="static")
        soft = dict(youngs_modulus=0.91e5, poisson_ratio=0.3, density=DENSITY)
        ball = dict(kind="ball", radius=1.0)
        scene.add(name="ball", shape=ball, model="quasi-rigid", spacing=0.06, material=soft, position=(0, 0, 1.05), velocity=(0, 0, -speed))
        sim = Simulation(scene)
        seen = fallen(sim)
        began, mass = [t for t, touch, _ in seen if touch], sim.mass("ball")
        ended = next(t for t, _, _ in seen if t > began[-1])
        depth = (15.0 * mass * speed**2 / (16.0 * 1e5)) ** 0.4  # E* = 1e5 Pa, R = 1 m
        name, height = f"dt = {1e3 * dt:g} ms", [z for *_, z in seen]
        checks += [
            Check(
                f"depth, {name}", depth, 1.0 - min(height), 0.01, "m", curve=flight([t for t, *_ in seen], height, speed, sim.mass("ball"))
            ),
            Check(f"time in touch, {name}", 2.9433 * depth / speed, ended - began[0], 0.02, "s"),
            Check(f"speed afterwards, {name}", speed, float(sim.state.velocity[1, 2]), 0.002, "m/s"),
        ]
    return checks


def flight(times: list[float], heights: list[float], speed: float, mass: float) -> tuple[str, Any, Any, Any]:
    """For the plot: the height of the middle of the ball, and that of a point that Hertz's force stops (E* = 1e5 Pa, R = 1 m)."""
    push = lambda _, y: [y[1], 4.0 / 3.0 * 1e5 / mass * max(0.0, 1.0 - y[0]) ** 1.5]
    theory = solve_ivp(push, (0.0, times[-1]), [1.05, -speed], t_eval=times, max_step=5e-3, rtol=1e-8).y[0]
    return "time [s]", times, heights, theory


def fallen(sim: Simulation) -> list[tuple[float, bool, float]]:
    """Run until the ball has left again: when each part of a step began [s], whether it touched, and where its middle is [m]."""
    seen: list[tuple[float, bool, float]] = []

    def add(report: StepReport) -> None:
        seen.append((sim.time - report.dt, len(report.contacts) > 0, float(sim.centre("ball")[2])))

    while not seen or seen[-1][1] or sim.time < 0.5:
        sim.step(each=add)
    return seen


@problem("touching-balls", "theory/validation-problems 38; [Herrmann 1982]", methods=STATIC)
def touching_balls(method: str, quick: bool) -> list[Check]:
    """A ball hits a row of balls that touch: all move at once, and speeds are those of points with springs F ~ d^1.5 between them."""
    checks, radius, speed = [], 0.1, 0.2
    for count in (3,) if quick else (3, 5):
        scene = Scene(dt=1e-3, contact=method, gravity=(0, 0, 0))
        soft = dict(youngs_modulus=3e5, poisson_ratio=0.3, density=DENSITY)
        for k in range(count):
            x, v = 2.0 * radius * k - (1e-4 if k == 0 else 0.0), speed if k == 0 else 0.0
            start: dict[str, Any] = dict(position=(x, 0, 0), velocity=(v, 0, 0))
            scene.add(name=f"ball {k}", shape=dict(kind="ball", radius=radius), model="quasi-rigid", spacing=0.0035, material=soft, **start)
        sim = Simulation(scene).run(until=0.1 + 0.1 * count)
        expected, here = chain(count), sim.state.velocity[:, 0] / speed
        checks += [
            Check(
                f"speed of ball {k + 1} of {count}",
                expected[k],
                float(here[k]),
                0.01,
                "v",
                scale=1.0,
                at=(f"speed, {count} balls", "ball", k + 1),
            )
            for k in range(count)
        ]
    return checks


def chain(count: int) -> Floats:
    """Speeds after one of a row of equal masses that touch hits the others with 1, springs F ~ d^1.5 between them, (count,)."""

    def slope(_: float, y: Floats) -> Floats:
        force = np.maximum(-np.diff(y[:count]), 0.0) ** 1.5
        return np.concatenate([y[count:], np.append(0.0, force) - np.append(force, 0.0)])

    start = np.zeros(2 * count)
    start[count] = 1.0
    return np.asarray(solve_ivp(slope, (0.0, 30.0 * count), start, rtol=1e-9, atol=1e-11).y[count:, -1])


@problem("bounce", "theory/validation-problems 36; [Goldsmith 1960]", methods=("patch",))
def bounce(method: str, quick: bool) -> list[Check]:
    """A rigid ball with restitution e is dropped: rebounds reach e^(2n) of its height, and end after sqrt(2 h/g) (1 + e) / (1 - e)."""
    checks, height = [], 1.0
    for dt in (5e-3, 1e-3) if quick else (5e-3, 2e-3, 1e-3, 2.5e-4):
        for e in (0.8, 0.5):
            fall, most = np.sqrt(2.0 * height / 9.81), 3 if e == 0.8 else 2
            scene = Scene(dt=dt, contact=method, gravity=(0, 0, -9.81))
            scene.add(name="floor", shape="plane", model="static")
            scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 0.1 + height), restitution=e)
            world, above = turned(scene), []
            while world.sim.time < 1.02 * fall * (1.0 + e) / (1.0 - e):
                world.sim.step()
                above.append(world.centre("ball")[2] - 0.1)
            path = np.array(above)
            top = 1 + np.flatnonzero((path[1:-1] > path[:-2]) & (path[1:-1] >= path[2:]))
            reached = [float(path[k]) if k is not None else np.nan for k in [*top[:most], *[None] * (most - len(top[:most]))]]
            for n, high in enumerate(reached, 1):
                what, at = f"height of rebound {n}, e = {e:g}, dt = {1e3 * dt:g} ms", (f"height, e = {e:g}", "rebound", n)
                checks.append(Check(what, height * e ** (2 * n), high, 0.02, "m", at=at))
            if dt > 1e-3:  # every rebound comes about a step early: some 15 of them are more than 2 % of the time
                continue
            last = dt * float(np.flatnonzero(path > 2.0 * 9.81 * dt**2)[-1] + 1)  # higher than a step falls, and again as much
            when = dt * np.arange(1, len(path) + 1, dtype=np.float64)
            what = f"end of the last rebound, e = {e:g}, dt = {1e3 * dt:g} ms"
            checks.append(
                Check(what, fall * (1.0 + e) / (1.0 - e), last, 0.02, "s", curve=("time [s]", when, path, bounces(when, height, e)))
            )
    return checks


def bounces(times: Floats, height: float, e: float) -> Floats:
    """Height of a point that is dropped and rebounds with e, over time [m]."""
    up = np.sqrt(2.0 * 9.81 * height)
    start, found = -up / 9.81, np.zeros_like(times)  # as if it had been thrown up to its height before
    while up > 0.01:
        flies = (times >= start) & (times < start + 2.0 * up / 9.81)
        found[flies] = up * (times[flies] - start) - 0.5 * 9.81 * (times[flies] - start) ** 2
        start, up = start + 2.0 * up / 9.81, e * up
    return found


@problem("balls-in-a-row", "theory/validation-problems 36; [Herrmann 1982]", methods=("patch",))
def balls_in_a_row(method: str, quick: bool) -> list[Check]:
    """Five rigid balls 1 mm apart, the first moves: impacts one after the other leave ((1 + e) / 2)^4 of its speed to the last."""
    checks = []
    for dt in (5e-3, 1e-3) if quick else (5e-3, 1e-3, 2e-4):
        for e in (1.0, 0.7):
            scene = Scene(dt=dt, contact=method, gravity=(0, 0, 0))
            for k in range(5):
                at, speed = 0.101 * k - (0.02 if k == 0 else 0.0), 1.0 if k == 0 else 0.0
                ball: dict[str, Any] = dict(shape=dict(kind="ball", radius=0.05), model="rigid", restitution=e, friction=0.0)
                scene.add(name=f"ball {k}", position=(at, 0, 0), velocity=(speed, 0, 0), **ball)
            world = turned(scene)
            while world.sim.time < 0.06:
                world.sim.step()
            v = world.back(world.sim.state.velocity)[:, 0]
            case, gained = f"e = {e:g}, dt = {1e3 * dt:g} ms", 0.5 * float((v**2).sum()) - 0.5
            checks.append(
                Check(
                    f"speed of the last ball, {case}",
                    ((1.0 + e) / 2.0) ** 4,
                    float(v[-1]),
                    0.02,
                    "m/s",
                    at=("speed of the last ball", "e", e),
                )
            )
            checks.append(Check(f"energy gained, {case}", 0.0, max(0.0, gained), 1e-3, "J/kg", scale=0.5))
    return checks


LAYER = {"quasi-rigid": "not asked here: its bodies have no elements; the impact of a ball after Hertz is a test of its own page"}
TURNS_BACK = {"reversal": "it reverses velocities within a step: its force is in single steps, and right only in the mean over many"}


@problem("impact-peak", "theory/validation-problems 33", refused=LAYER | TURNS_BACK)
def impact_peak(method: str, quick: bool) -> list[Check]:
    """A soft ball hits the ground: in no step is the force more than 1.15 times its mean over 2 ms or a fifth of the impact about it."""
    checks = []
    for integrator in ("verlet", "implicit"):
        for dt in (4e-4, 1e-4) if quick else (4e-4, 1e-4, 2.5e-5):
            scene = Scene(dt=dt, duration=0.1, contact=method)
            scene.add(name="ground", shape="plane", model="static")
            ball, soft = dict(kind="ball", radius=0.1, edge=0.04), dict(youngs_modulus=1e5, poisson_ratio=0.3, density=DENSITY)
            scheme: dict[str, Any] = dict(integrator=integrator)
            scene.add(name="ball", shape=ball, material=soft, position=(0, 0, 0.1005), velocity=(0, 0, -1.0), **scheme)
            world, forces = turned(scene), []
            while world.sim.time < 0.08 - 1e-9:
                world.sim.step()
                forces.append(float(np.linalg.norm(world.sim.contacts("ball", "ground").total_force)))
            force, pressed = np.array(forces), np.flatnonzero(np.array(forces) > 0.0)
            span = min(2e-3, 0.2 * len(pressed) * dt)
            what = f"largest force over its mean about it, {integrator}, dt = {1e3 * dt:g} ms"
            at = (f"largest over mean, {integrator}", "dt [ms]", 1e3 * dt)
            checks.append(Check(what, 1.0, sharpness(force, max(1, round(span / dt))), 0.15, at=at))
    return checks


def sharpness(force: Floats, window: int) -> float:
    """The largest of a row of forces over the mean of so many about it."""
    most = int(np.argmax(force))
    first = max(0, min(most - window // 2, len(force) - window))
    mean = float(force[first : first + window].mean())
    return float(force[most]) / mean if mean > 0.0 else np.nan


WALLS = {  # of a box, by which way a plane in it faces: how it is turned [degree]
    (0, 0, 1): (0, 0, 0), (0, 0, -1): (180, 0, 0), (1, 0, 0): (0, 90, 0), (-1, 0, 0): (0, -90, 0), (0, 1, 0): (-90, 0, 0),
    (0, -1, 0): (90, 0, 0),
}  # fmt: skip


def boxed_in(method: str, integrator: Literal["verlet", "implicit"], friction: float) -> Scene:
    """Five bodies fly about in a closed box of half a metre without gravity: two balls, two cubes and a slab."""
    scene = Scene(dt=5e-4 if integrator == "verlet" else 4e-3, duration=5.0, contact=method, gravity=(0, 0, 0))
    for facing, turn in WALLS.items():
        place = tuple(-0.25 * np.array(facing))
        scene.add(name=f"wall {facing}", shape="plane", model="static", position=place, rotation=turn, friction=friction)
    soft = dict(youngs_modulus=5e4, poisson_ratio=0.3, density=DENSITY)
    ball, cube, slab = dict(kind="ball", radius=0.06, edge=0.04), dict(kind="box", size=(0.1,) * 3, edge=0.05), (0.14, 0.1, 0.05)
    shapes: list[dict[str, Any]] = [ball, cube, dict(kind="box", size=slab, edge=0.05), ball, cube]
    rng = np.random.default_rng(5)
    for k, shape in enumerate(shapes):
        place = tuple(0.13 * np.array([(-1) ** k, (-1) ** (k // 2), (-1) ** (k // 4)])) if k < 4 else (0.0, 0.0, 0.15)
        speed, spin = tuple(rng.normal(size=3) * 0.6), tuple(rng.normal(size=3) * 2.0)
        scene.add(
            name=f"body {k}", shape=shape, position=place, velocity=speed, angular_velocity=spin, material=soft, integrator=integrator,
            friction=friction,
        )  # fmt: skip
    return scene


@problem("closed-box", "theory/validation-problems 33", refused=LAYER)
def closed_box(method: str, quick: bool) -> list[Check]:
    """Five soft bodies bounce in a closed box: energy never grows, and explicit steps without friction keep 90 % of it."""
    checks, until = [], 0.5 if quick else 5.0
    cases: list[tuple[Literal["verlet", "implicit"], float]] = [("verlet", 0.0), ("implicit", 0.3)]
    for integrator, friction in cases:
        world = turned(boxed_in(method, integrator, friction))
        start, most, touched, times, energies = world.sim.books().total, 0.0, 0, [], []
        while world.sim.time < until - 1e-9:
            touched += len(world.sim.step().contacts)
            energies.append(world.sim.books().total / start)
            times.append(world.sim.time)
            most = max(most, energies[-1] - 1.0)
        end = world.sim.books()
        inside = max(float(np.abs(world.points(f"body {k}")).max()) for k in range(5))
        checks += [
            Check(
                f"energy above the start, {integrator}",
                0.0,
                most,
                1e-3,
                scale=1.0,
                curve=("time [s]", times, energies, np.ones(len(times))),
            ),
            Check(f"they touch and stay inside, {integrator}: 1 yes", 1.0, float(touched > 0 and inside < 0.26), 0.0),
        ]
        if integrator == "verlet":
            checks.append(Check(f"energy lost in {until:g} s, {integrator}", 0.0, 1.0 - end.total / start, 0.1, scale=1.0))
    return checks


TURNS = {
    "noniterative": "a force and its reaction act a depth apart and not along one line; the drift falls with dt",
    "reversal": "bodies are put back and velocities turned at single points, not along one line",
}


@problem("collision", "theory/validation-problems 18")
def collision(method: str, quick: bool) -> list[Check]:
    """Two soft balls of mass 1 : 3 collide off centre in free space: momentum stays, energy does not grow."""
    scene = Scene(dt=5e-4, duration=0.3, contact=method, gravity=(0, 0, 0))
    ball = dict(kind="ball", radius=0.1, edge=0.05)
    soft = dict(youngs_modulus=5e4, poisson_ratio=0.3)
    gives = gives_way(method, 0.015, "verlet")
    light, heavy = dict(soft, density=500.0), dict(soft, density=1500.0)
    scene.add(name="light", shape=ball, position=(-0.12, 0.01, 0.0), velocity=(1.0, 0.0, 0.0), material=light, **gives)
    scene.add(name="heavy", shape=ball, position=(0.12, -0.02, 0.01), velocity=(-0.2, 0.1, 0.0), material=heavy, **gives)
    sim = Simulation(scene)
    start, touched = sim.books(), 0
    while sim.time < scene.duration:
        touched += len(sim.step().contacts)
    end = sim.books()
    size, turned = float(np.linalg.norm(start.momentum)), float(np.linalg.norm(end.angular_momentum - start.angular_momentum))
    gain = max(0.0, end.total - start.total)
    return [
        Check("they touch: 1 yes", 1.0, float(touched > 0), 0.0),
        Check("drift of momentum", 0.0, float(np.linalg.norm(end.momentum - start.momentum)), 1e-12, "kg m/s", scale=size),
        Check("drift of angular momentum, of m v R", 0.0, turned, 1e-3, "kg m²/s", scale=size * 0.1, why=TURNS.get(method, "")),
        Check("energy gained", 0.0, gain, 1e-3, "J", scale=start.kinetic),
    ]


@problem("free-fall", "theory/validation-problems 18", methods=NO_CONTACT)
def free_fall(method: str, quick: bool) -> list[Check]:
    """Soft, spring and rigid bodies thrown and spinning: centres follow the parabola, momentum and spin stay."""
    checks = []
    verlet = dict(integrator="verlet")
    kinds: dict[str, Any] = {"fem": verlet, "springs": dict(verlet, model="springs"), "rigid": dict(model="rigid")}
    for kind, options in kinds.items():
        scene = Scene(dt=1e-3, duration=0.2, contact=method)
        shape = dict(kind="box", size=(0.2, 0.1, 0.05), edge=0.05)
        scene.add(name="body", shape=shape, velocity=(1.0, 0.5, 2.0), angular_velocity=(0.0, 90.0, 30.0), **options)
        sim = Simulation(scene)
        centre, spin = sim.centre("body"), sim.books().angular_momentum - np.cross(sim.centre("body"), sim.books().momentum)
        sim.run()
        expected = centre + np.array([1.0, 0.5, 2.0]) * sim.time + 0.5 * np.array([0, 0, -G]) * sim.time * (sim.time + scene.dt)
        if kind != "rigid":  # Verlet kicks by half at its first step
            expected[2] += 0.5 * G * scene.dt * sim.time
        now = sim.books().angular_momentum - np.cross(sim.centre("body"), sim.books().momentum)
        error, turned = np.linalg.norm(sim.centre("body") - expected), np.linalg.norm(now - spin)
        checks.append(Check(f"{kind}: miss of the parabola", 0.0, float(error), 1e-12, "m", scale=1.0))
        checks.append(Check(f"{kind}: drift of spin", 0.0, float(turned), 1e-10, "kg m²/s", scale=float(np.linalg.norm(spin))))
    return checks
