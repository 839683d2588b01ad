"""Figures that are simulated: a spinning ball on an incline (Fig. 8), a head in a room (Fig. 11)."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic import Boussinesq, Side, compliance, resolve
from pliant.detect.surfels import Exact
from pliant.look import Camera, draw, from_simulation
from pliant.scene import Scene
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Measured
from pliant.shop.reproduce.pauly.static import NONE, THEN, milliseconds, scan
from pliant.shop.reproduce.verdict import Claim, above, below, between, exactly, near
from pliant.shop.reproduce.watch import plot
from pliant.simulate.simulation import Simulation

ANGLE, SPIN, MU = 10.0, 10.0, 0.3  # [degree], [rad/s], friction of the scene spinning-ball
SLIPS = SPIN / (3.5 * MU * 9.81 * math.cos(math.radians(ANGLE)) - 9.81 * math.sin(math.radians(ANGLE)))  # [s] until a rigid ball rolls


def dented_incline(quick: bool) -> Scene:
    """The scene spinning-ball on a slab that gives way as the ball does: both are quasi-rigid."""
    scene = scenes.make("spinning-ball", **(dict(spacing=0.03) if quick else {}))
    incline, ball = scene.bodies
    turn = math.radians(ANGLE)
    thick, along = 0.3, 0.6
    normal, up = np.array([-math.sin(turn), 0.0, math.cos(turn)]), np.array([math.cos(turn), 0.0, math.sin(turn)])
    both = Scene(dt=scene.dt, duration=scene.duration, contact="quasi-rigid", name="spinning-ball, both soft")
    both.add(
        name="incline", model="quasi-rigid", shape=dict(kind="box", size=(2.8, 0.8, thick), edge=0.4), spacing=0.06 if quick else 0.04,
        position=tuple(along * up - 0.5 * thick * normal), rotation=(0, -ANGLE, 0), friction=MU, motions=[dict()],
        material=dict(youngs_modulus=ball.material.youngs_modulus, poisson_ratio=0.0, density=1000.0),
    )  # fmt: skip
    both.bodies.append(ball)
    return both


def spinning(desk: Desk) -> Measured:
    """Fig. 8: a spinning ball on an incline slips, rolls, and comes back; both give way, and dents of the incline are kept for the picture.

    The incline is a plane that does not give way for the time at which slip ends, which a rigid ball's formula has. Quick: coarser.
    """
    found: Measured = {}
    curves: dict[str, tuple[Any, Any]] = {}
    ways: dict[str, tuple[Any, Any]] = {}
    made = {"hard": scenes.make("spinning-ball", **desk.either({}, dict(spacing=0.03))), "soft": dented_incline(desk.quick)}
    for k, (name, scene) in enumerate(made.items()):
        sim = Simulation(scene)
        seen = _Rolling(sim)
        while sim.time < scene.duration - 1e-9:
            sim.step()
            seen.look()
            desk.at(0.5 * (k + sim.time / scene.duration))
        found |= {f"{name} slips": seen.rolls, f"{name} depth": 1e3 * seen.deepest}
        curves |= {f"{name}: R omega": (seen.times, seen.spins), f"{name}: speed": (seen.times, seen.speed)}
        ways[name] = (seen.times, seen.places)
        if name == "soft":
            found["dent"] = 1e3 * float(np.linalg.norm(seen.kept, axis=1).max())
            found["long"] = seen.trail
            picture = from_simulation(sim)
            kept = np.where(np.linalg.norm(seen.kept, axis=1)[:, None] > 0.0, seen.kept, 0.0)
            fields = {**picture.point_fields, "displacement": kept}
            picture = replace(picture, points=sim.points() + kept, point_fields=fields, title="dents of the incline, kept")
            draw(picture, "displacement", (960, 720), camera=(-75, 40), transparent=["ball"]).save(desk.path("Fig8-dents.png"))
    plot(desk.path("Fig8.png"), [("way up the incline", "m", ways), ("spin and speed", "m/s, rad/s", curves)])
    return found


class _Rolling:
    """Way, speed and spin of the ball, and the largest displacement of each point of the incline."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.times, self.places, self.spins = list[float](), list[float](), list[float]()
        self.up = np.array([math.cos(math.radians(ANGLE)), 0.0, math.sin(math.radians(ANGLE))])
        self.kept = np.zeros((len(sim.points()), 3))
        self.deepest = 0.0

    def look(self) -> None:
        sim = self.sim
        frame = sim.world.model.bodies.frame[sim.index("ball")]
        self.times.append(sim.time)
        self.places.append(float(sim.centre("ball") @ self.up))
        self.spins.append(float(sim.world.angular_velocities(sim.state.rotation, sim.state.spin)[frame, 1]))
        self.deepest = max(self.deepest, float(np.max(sim.contacts("ball").depth, initial=0.0)))
        shown = None if sim.report is None else sim.report.shown
        bodies = sim.world.model.bodies
        mine = slice(int(bodies.point_start[sim.index("incline")]), int(bodies.point_start[sim.index("incline") + 1]))
        if shown is not None and mine.stop > mine.start:
            here, before = shown[mine], self.kept[mine]
            more = np.linalg.norm(here, axis=1) > np.linalg.norm(before, axis=1)
            self.kept[mine] = np.where(more[:, None], here, before)

    @property
    def speed(self) -> Floats:
        return np.gradient(self.places, self.times)

    @property
    def rolls(self) -> float:
        """When slip ends [s]."""
        rows = zip(self.times, self.speed, self.spins, strict=True)
        return next((t for t, v, w in rows if t > 0.1 and abs(v - w) < 0.02), math.nan)

    @property
    def trail(self) -> float:
        """How long the dents are along the incline [m]: points that were pressed in by a quarter of the deepest."""
        size = np.linalg.norm(self.kept, axis=1)
        return float(np.ptp(self.sim.points()[size > 0.25 * size.max()] @ self.up)) if size.max() > 0.0 else 0.0


SPINNING = (
    Claim("hard slips", "slip ends, incline hard", f"{NONE}; rigid ball {SLIPS:.3f} s", near(SLIPS, 0.02), "s"),
    Claim("soft slips", "slip ends, incline soft as well", f"{NONE}; rigid ball {SLIPS:.3f} s", near(SLIPS, 0.05), "s",
          "the ball sinks in: its lever is shorter"),
    Claim("hard depth", "deepest contact, incline hard", NONE, unit="mm"),
    Claim("soft depth", "deepest contact, both soft", NONE, unit="mm"),
    Claim("dent", "deepest dent that is kept", "deformations of the plane are maintained", above(0.1), "mm"),
    Claim("long", "length of the trail of dents", "a trail along the trajectory", above(0.5), "m"),
)  # fmt: skip


def _towards(centre: Floats, touch: Floats) -> Camera:
    """From outside, half from the side that is touched and half from beside it."""
    out = (touch - centre) / np.linalg.norm(touch - centre)
    aside = np.cross(out, np.eye(3)[np.argmin(np.abs(out))])
    return Camera(tuple(centre + 1.4 * out + 1.2 * aside), tuple(centre + 0.3 * (touch - centre)))


def room(desk: Desk) -> Measured:
    """Fig. 11: a head of 52,809 samples bounces in a room; 20-200 ms a resolution with 40-100 active nodes. The scene, and one contact.

    Quick: the scene with a skin as coarse as shipped, 10,000 samples.
    """
    values: dict[str, Any] = dict(duration=0.6, spacing=desk.either(0.006, 0.025))
    if "head" in desk.scans:
        given = desk.scans["head"]
        values |= dict(scan=given.file, unit=given.unit, up=given.up)
    sim = Simulation(scenes.make("head-in-room", **values))
    touched, energy, spent = list[int](), list[float](), list[float]()
    strongest: list[Any] = [0, None, None]
    while sim.time < 0.6 - 1e-9:
        began = time.process_time()
        sim.step()
        spent.append(1e3 * (time.process_time() - began))
        touched.append(len(sim.contacts("head", "room").depth))
        energy.append(sim.books().total / sim.books().start)
        desk.at(sim.time)
        if touched[-1] > strongest[0]:
            strongest[:] = touched[-1], from_simulation(sim), (sim.centre("head"), sim.contacts("head", "room").point.mean(axis=0))
    if strongest[1] is not None:
        draw(strongest[1], "pressure", (960, 720), _towards(*strongest[2]), transparent=["room"]).save(desk.path("Fig11.png"))
    steps = np.arange(len(touched))
    plot(
        desk.path("Fig11-contacts.png"),
        [("", "nodes in contact", {"": (steps, touched)}), ("", "CPU time of a step [ms]", {"": (steps, spent)})],
        x="step",
    )
    surface = scan(desk, "head", "bust", desk.either(52_800, 10_000), size=0.3)
    wall = Side(Exact("plane"), rotation=np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]))
    wall = wall.moved(np.eye(3), np.zeros(3), np.array([float(surface.points[:, 0].max()) - 0.006, 0, 0]))
    head = Side(surface, Boussinesq(compliance(1e6, 0.3)))
    one = resolve(head, wall)
    alone = milliseconds(lambda: resolve(head, wall))
    hit = np.array(touched) > 0
    found = {
        "most": max(touched), "after": touched[-1], "gain": max(energy), "left": energy[-1],
        "step": float(np.median(np.array(spent)[hit])) if hit.any() else math.nan, "alone": alone,
    }  # fmt: skip
    if desk.quick:
        return found
    return {**found, "typical": float(np.median(np.array(touched)[hit])), "samples": len(surface), "active": len(one.P)}


ROOM = (
    Claim("samples", "samples of the head", "52,809", near(52_809, 0.12), whole=True),
    Claim(
        "typical",
        "active nodes while it touches, median",
        "typically 40 to 100",
        between(40, 100),
        why="the skin's spacing is ours",
        whole=True,
    ),
    Claim("most", "active nodes at most", "no figure; typically 40 to 100"),
    Claim("after", "nodes in contact at the end", "bounces off", exactly(0)),
    Claim("gain", "energy at most, over that of the start", "bounces", below(1.0 + 1e-9)),
    Claim("left", "energy after the impact, over that of the start", "not given", why="damping is ours"),
    Claim("step", "a step in contact, collision detection included", "20 to 200 ms", below(200), "ms", THEN),
    Claim("alone", "one static contact of the head with a wall", "20 to 200 ms", below(200), "ms", THEN),
    Claim("active", "active nodes of that", "40 to 100", between(40, 100), why="they go with the depth, which is ours", whole=True),
)
