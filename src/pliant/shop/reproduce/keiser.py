"""Keiser, Müller, Heidelberger, Teschner, Gross: Contact Handling for Deformable Point-Based Objects. Phyxels, surfels, a contact surface.

The paper shows pictures and one plot without figures; stiffness, friction and time steps are not given. Igea and Max Planck are replaced by
a bust made by code, Santa Claus and the dragon by a bunny and a C-shaped mouth. Scenes are those that ship (scenes/).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.point_surface.detection import Prepared
from pliant.geometry.shapes import resolve
from pliant.look import from_simulation
from pliant.scene import Scene
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Experiment, Figure, Measured, Scan
from pliant.shop.reproduce.verdict import Claim, above, below, exactly, near, within
from pliant.shop.reproduce.watch import strip
from pliant.shop.scenes.keiser import TALL, chain, lips, sunk, velocities
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion

OPEN = "E, k, friction and dt are not given"


def own_head(scan: Scan, edge: float) -> tuple[dict[str, Any], Floats, Floats]:
    """A user's head as tall as the bust, and the box around it [m]."""
    shape = scan.shape(size=TALL, edge=edge)
    found = resolve(dict(shape), solid=False)
    points = found.cloud.points if found.cloud is not None else found.surface().points
    return shape, points.min(axis=0), points.max(axis=0)


def flattening(desk: Desk) -> Measured:
    """Fig. 3: a head deep in a plane with a soft penalty; it is drawn flat, and both surfaces are one. Quick: coarser."""
    edge = desk.either(0.006, 0.012)
    scene = scenes.make("flattened-head", edge=edge)
    if "head" in desk.scans:
        head = scene.bodies[1]
        head.shape, low, high = own_head(desk.scans["head"], edge)
        head.position = (
            float(-0.5 * (low[0] + high[0])),
            float(0.5 * (low[1] + high[1])),
            float(high[2]) + 0.001,
        )  # upside down, just above
    sim = scene.simulate()
    for k in range(10):
        sim.run(until=scene.duration * (k + 1) / 10)
        desk.at(0.1 * (k + 1))
    picture = replace(from_simulation(sim), planes=())  # the table hides what it touches
    strip(desk.path("Fig3.png"), [picture], "pressure", (960, 720), camera=(-60, -35))
    deep, off, _ = sunk(sim)
    return {"deep": 1e3 * deep, "off": 1e6 * off}


FLAT = (
    Claim("deep", "depth of the head in the plane", "penetrates deeply", above(10.0), "mm", OPEN + "; the head is 300 mm tall"),
    Claim(
        "off",
        "distance of the drawn surfaces where they touch, at most",
        "one surface, to which the plane adapts",
        below(10.0),
        "micrometres",
    ),
)


# -- Fig. 5


WINDOW = 8  # steps


@dataclass
class Costs:
    """What a collision took, step by step."""

    total: Floats  # [s] CPU time of the step
    contact: Floats  # [s] of it in contact
    hits: Floats  # colliding surfels
    depth: Floats  # [m]

    def calm(self) -> tuple[Floats, Floats]:
        """Colliding surfels and contact time [s], medians of WINDOW steps that touch: single ones scatter with what else a machine does."""
        touching = np.flatnonzero(self.hits > 0)
        rows = touching[: len(touching) // WINDOW * WINDOW].reshape(-1, WINDOW)
        return np.median(self.hits[rows], axis=1), np.median(self.contact[rows], axis=1)

    @property
    def slope(self) -> tuple[float, float, float, float]:
        """(intercept [s], slope [s per surfel], correlation) of contact time over colliding surfels; the latter until they are most."""
        hits, contact = self.calm()
        slope, first = np.polyfit(hits, contact, 1)
        most = int(hits.argmax()) + 1
        together, approach = (float(np.corrcoef(hits[:n], contact[:n])[0, 1]) for n in (len(hits), most))
        return float(first), float(slope), together, approach


def colliding_busts(edge: float = 0.0047, speed: float = 1.2, dt: float = 2e-4, duration: float = 0.06) -> Scene:
    """Two elastic busts, face to face, of 10 thousand surfels and 390 phyxels each."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact={"method": "point-surface"}, name="two-busts")
    shape = dict(kind="bust", height=0.3, edge=edge)
    for name, x, turn in (("left", -0.08, 0), ("right", 0.08, 180)):
        scene.add(
            name=name, shape=shape, model="points", position=(x, 0, 0), rotation=(0, 0, turn), velocity=(-np.sign(x) * speed, 0, 0),
            friction=0.3, material=dict(youngs_modulus=3e5, density=1000.0),
        )  # fmt: skip
    return scene


def own_busts(desk: Desk, scene: Scene) -> Scene:
    """The scene with a user's heads, face to face."""
    for body, part, side in zip(scene.bodies, ("head", "other-head"), (-1.0, 1.0), strict=True):
        scan = desk.scans.get(part) or desk.scans.get("head")
        if scan is not None:
            body.shape, low, high = own_head(scan, 0.0047)
            body.position = (side * (float(high[0]) + 0.005), side * float(0.5 * (low[1] + high[1])), float(-low[2]))
    return scene


class Timed:
    """A contact that notes the CPU time of its last answer."""

    def __init__(self, contact: Any) -> None:
        self.contact, self.spent = contact, 0.0

    def respond(self, motion: Motion, memory: dict[str, dict]) -> Any:
        began = time.process_time()
        answer = self.contact.respond(motion, memory)
        self.spent = time.process_time() - began
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.contact, name)


def watched(desk: Desk, scene: Scene, runs: int) -> tuple[Simulation, Costs]:
    """A scene to its end, and what each step took: CPU time, the least of some runs, which all take the same steps."""
    every = []
    for k in range(runs):
        sim, rows = scene.simulate(), []
        timed = Timed(sim.contact)
        sim.contact = timed  # type: ignore[assignment]
        while sim.time < scene.duration - 1e-9:
            began = time.process_time()
            report = sim.step()
            rows.append((time.process_time() - began, timed.spent, len(report.contacts), report.max_depth))
            desk.at((k + sim.time / scene.duration) / runs)
        every.append(rows)
    return sim, Costs(*np.array(every).min(axis=0).T)


def curves(costs: Costs, path: Path, dt: float) -> None:
    """Total time (green), contact time (blue) and colliding surfels (red), as in the paper."""
    from matplotlib.figure import Figure as Sheet

    figure = Sheet(figsize=(6.4, 3.6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    t = 1e3 * dt * np.arange(len(costs.total))
    axes.plot(t, 1e3 * costs.total, color="tab:green", label="step")
    axes.plot(t, 1e3 * costs.contact, color="tab:blue", label="contact")
    axes.set_ylim(0.0, 1.5e3 * np.percentile(costs.total, 98))  # without steps that compile
    axes.set_xlabel("time [ms]")
    axes.set_ylabel("CPU time per step [ms]")
    axes.legend(loc="upper left")
    other = axes.twinx()
    other.plot(t, costs.hits, color="tab:red")
    other.set_ylabel("colliding surfels", color="tab:red")
    figure.savefig(path)


def performance(desk: Desk) -> Measured:
    """Fig. 5: two busts of 10 thousand surfels and 390 phyxels collide: total time, contact time, colliding surfels. Quick: one run."""
    scene = own_busts(desk, colliding_busts())
    sim, costs = watched(desk, scene, desk.either(4, 1))
    curves(costs, desk.path("Fig5.png"), scene.dt)
    at = scene.simulate().run(until=scene.dt * float(costs.hits.argmax()))
    strip(desk.path("Fig5-busts.png"), [from_simulation(at)], "pressure", (960, 720), camera=(-150, 12), transparent=["left"])
    surfels = np.diff(sim.world.kept[Prepared].carried.start)
    phyxels = np.diff(sim.world.model.bodies.node_start)
    first, slope, together, approach = costs.slope
    full = costs.hits > 0.8 * costs.hits.max()
    found = {
        "surfels": int(surfels[0]), "phyxels": int(phyxels[0]), "first": 1e3 * first, "slope": 1e6 * slope,
        "rate": 1.0 / float(np.median(costs.contact[full])), "hits": float(costs.hits.max()),
    }  # fmt: skip
    return found if desk.quick else {**found, "together": together, "approach": approach}


QUIET = f"CPU time of one thread, medians of {WINDOW} steps"
PERFORMANCE = (
    Claim("surfels", "surfels of each", "10k", near(10_000, 0.1)),
    Claim("phyxels", "phyxels of each", "390", near(390, 0.1)),
    Claim("approach", "correlation of contact time with colliding surfels while the busts approach", "follows them", above(0.99),
          why=QUIET, whole=True),
    Claim("together", "correlation of contact time with colliding surfels in the whole collision", "follows them", above(0.97),
          why="a surfel costs less while they part; " + QUIET, whole=True),
    Claim("first", "contact time without surfels, by the line that fits", "no figure", unit="ms"),
    Claim("slope", "contact time of a colliding surfel", "no figure", unit="microseconds"),
    Claim("rate", "contact steps a second in full contact", "interactive", above(60.0),
          why="one thread of this machine; the paper's Pentium 4 gave no figure in the text"),
    Claim("hits", "colliding surfels at most", "a curve without figures"),
)  # fmt: skip


# -- the others


def pile(desk: Desk) -> Measured:
    """Fig. 6: three plastic busts pile up, fall apart and rest. Quick: two coarse busts for 0.6 s."""
    values = desk.either({}, dict(busts=2, edge=0.025, spacing=0.032, duration=0.6))
    sim, peak, pictures = scenes.make("pile", **values).simulate(), 0.0, []
    for k in range(30):
        sim.run(until=sim.scene.duration * (k + 1) / 30)
        peak = max(peak, sim.books().kinetic)
        desk.at((k + 1) / 30)
        if k % 10 == 9:
            pictures.append(from_simulation(sim))
    strip(desk.path("Fig6.png"), pictures, "body", camera=(-60, 14))
    low = min(float(sim.points(b.name)[:, 2].min()) for b in sim.scene.bodies[1:])
    found = {"low": 1e3 * low}
    return found if desk.quick else {**found, "rest": sim.books().kinetic / peak}


PILE = (
    Claim("rest", "kinetic energy at the end over its peak", "come to rest, no oscillations", below(1e-4), why=OPEN, whole=True),
    Claim("low", "lowest point of a bust", "on the ground", within(0.0, 10.0), "mm", "a penalty lets it in; one that flies is not there"),
)


CRADLES: dict[str, dict[str, float]] = {"rigid": {}, "points": {"speed": 0.25, "dt": 0.002, "duration": 4.0}}


def newton(desk: Desk) -> Measured:
    """Fig. 7: Newton's cradle of stiff spheres, against a chain of point masses with a force that grows with overlap squared.

    Quick: of rigid balls only.
    """
    found: Measured = {}
    want = chain(3)
    for model, values in list(CRADLES.items())[: desk.either(2, 1)]:
        sim = scenes.make("cradle", model=model, **values).simulate()
        for k in range(10):
            sim.run(until=sim.scene.duration * (k + 1) / 10)
            desk.at(0.1 * (k + 1))
            if k == 0 and model == "rigid":  # the first ball is on its way
                at = from_simulation(sim)
        v = velocities(sim) / sim.scene.bodies[0].velocity[0]
        found |= {f"{model} off": float(np.abs(v - want).max()), f"{model} last": float(v[-1])}
        if model == "rigid":
            strip(desk.path("Fig7.png"), [at, from_simulation(sim)], "speed", columns=2, camera=(-90, 12))
    return found


CRADLE = tuple(
    claim
    for model in CRADLES
    for claim in (
        Claim(f"{model} last", f"velocity of the last ball over that of the first, {model}", "the last ball leaves",
              near(float(chain(3)[-1]), 0.01), whole=model == "points"),
        Claim(f"{model} off", f"velocities after the impact, off those of a chain of point masses at most, over the first, {model}",
              "no figure; theory", below(0.005), whole=model == "points"),
    )
)  # fmt: skip


def rider(desk: Desk) -> Measured:
    """Fig. 8: a complex body on another, whose mouth must not pass through itself. Quick: 0.4 s."""
    sim = scenes.make("rider", duration=desk.either(0.6, 0.4)).simulate()
    least, own = np.inf, 0
    for k in range(30):
        sim.run(until=sim.scene.duration * (k + 1) / 30)
        least, own = min(least, lips(sim)), max(own, len(sim.contacts("mouth", "mouth")))
        desk.at((k + 1) / 30)
    strip(desk.path("Fig8.png"), [from_simulation(sim)], "pressure", (960, 720), camera=(-75, 28), transparent=["rider"])
    low = float(sim.points("rider")[:, 2].min())
    return {"lips": 1e3 * least, "own": own, "low": 1e3 * low}


RIDER = (
    Claim("lips", "distance of the lips, at least", "the mouth does not self-intersect", above(0.0), "mm", OPEN),
    Claim(
        "own",
        "contacts of the mouth with itself, at most",
        "a penalty between phyxels that come close",
        above(0),
        why="the lips must have met",
    ),
    Claim("low", "lowest point of the rider", "rides", above(20.0), "mm"),
)


SHARE = 0.05  # of the mass: parts that are smaller are crumbs


def torn(desk: Desk) -> Measured:
    """Fig. 9: a plastic head hung by its top stretches and tears; the parts are bodies that collide. Quick: coarser."""
    sim, tall = scenes.make("torn-head", **desk.either({}, dict(edge=0.02, spacing=0.026, dt=0.0015))).simulate(), 0.0
    rest, shots = sim.world.model.nodes.rest[:, 2], {"drawn out": from_simulation(sim)}
    for k in range(30):
        sim.run(until=sim.scene.duration * (k + 1) / 30)
        desk.at((k + 1) / 30)
        tall = max(tall, float(np.ptp(sim.state.x[:, 2])) / float(np.ptp(rest)))
        whole = np.count_nonzero(np.diff(sim.world.model.bodies.node_start)) == 1
        if whole or "torn" not in shots:  # the last before it tears, and the first after it
            shots["drawn out" if whole else "torn"] = from_simulation(sim)
    shots["put on what fell"] = from_simulation(sim)
    strip(desk.path("Fig9.png"), [replace(shot, title=title) for title, shot in shots.items()], "body", camera=(-60, 10))
    bodies, nodes = sim.world.model.bodies, sim.world.model.nodes
    mass = np.bincount(nodes.body, nodes.mass, minlength=len(bodies))
    parts = np.flatnonzero(mass > SHARE * mass.sum())
    touch = [len(sim.contacts(bodies.names[a], bodies.names[b])) for i, a in enumerate(parts) for b in parts[i + 1 :]]
    return {"parts": len(parts), "touch": sum(touch), "share": 100 * float(mass[parts].min() / mass.sum()), "drawn": tall}


TORN = (
    Claim("drawn", "height over that at rest, at most", "stretches first", above(1.1), why=OPEN),
    Claim("parts", "parts with more than a twentieth of the mass", "two objects", exactly(2), why=OPEN),
    Claim("touch", "contacts between the parts at the end", "contact handling between the two", above(0)),
    Claim("share", "mass of the smaller part", "not given", unit="%"),
)


EXPERIMENTS: dict[str, Experiment] = {
    "Fig3": Experiment(
        flattening,
        FLAT,
        (
            Figure(
                "Fig3.png",
                "The head from below, without the table, coloured by pressure.",
                "Fig. 3: Igea in a plane, without and with the contact surface.",
            ),
        ),
        parts=("head",),
    ),
    "Fig5": Experiment(
        performance,
        PERFORMANCE,
        (
            Figure("Fig5.png", "CPU time of a step (green), of contact (blue), colliding surfels (red).", "Fig. 5: the same three curves."),
            Figure("Fig5-busts.png", "The busts at their deepest, one drawn as glass, the other coloured by pressure.", "no picture."),
        ),
        parts=("head", "other-head"),
    ),
    "Fig6": Experiment(
        pile, PILE, (Figure("Fig6.png", "The busts at a third, two thirds and the end.", "Fig. 6: a pile, which falls apart."),)
    ),
    "Fig7": Experiment(
        newton, CRADLE, (Figure("Fig7.png", "Before and after the impact, coloured by speed.", "Fig. 7: Newton's cradle."),)
    ),
    "Fig8": Experiment(
        rider,
        RIDER,
        (Figure("Fig8.png", "The rider, as glass, on the closed mouth, coloured by pressure.", "Fig. 8: Santa Claus on the dragon."),),
    ),
    "Fig9": Experiment(
        torn,
        TORN,
        (
            Figure(
                "Fig9.png", "Drawn out just before it tears, torn, and put on what fell.", "Fig. 9: Igea stretches, tears and collides."
            ),
        ),
    ),
}
