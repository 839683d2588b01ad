"""Keiser, Müller, Heidelberger, Teschner, Gross: Contact Handling for Deformable Point-Based Objects. Phyxels, surfels, a contact surface.

The paper shows pictures and one plot without figures; stiffness, friction and time steps are not given. Igea and Max Planck are replaced by
a bust made by code, Santa Claus and the dragon by a bunny and a C-shaped mouth. Scenes are those that ship (scenes/).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.point_surface.detection import Prepared
from pliant.look import draw, from_simulation
from pliant.scene import Scene
from pliant.shop import scenes
from pliant.shop.reproduce import Experiment, Line
from pliant.shop.scenes.keiser import chain, lips, sunk, velocities
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion

OPEN = "E, k, friction and dt are not given"
RUNS = 4  # of a collision that is timed


def flattening(folder: Path) -> list[Line]:
    """Fig. 3: a head deep in a plane with a soft penalty; it is drawn flat, and both surfaces are one."""
    sim = scenes.make("flattened-head").simulate().run()
    draw(from_simulation(sim), size=(640, 480)).save(folder / "Fig3.png")
    deep, off, _ = sunk(sim)
    return [
        Line("Fig3 depth of the head in the plane", "deep", f"{1000 * deep:.1f} mm of 300 mm", deep > 0.01, OPEN),
        Line("Fig3 distance of the drawn surfaces where they touch", "none to be seen", f"{1e6 * off:.2g} micrometres", off < 1e-5),
    ]


# -- Fig. 5


@dataclass
class Costs:
    """What a collision took, step by step."""

    total: Floats  # [s] CPU time of the step
    contact: Floats  # [s] of it in contact
    hits: Floats  # colliding surfels
    depth: Floats  # [m]

    @property
    def slope(self) -> tuple[float, float, float]:
        """(intercept [s], slope [s per surfel], correlation) of contact time over colliding surfels."""
        touching = self.hits > 0
        slope, first = np.polyfit(self.hits[touching], self.contact[touching], 1)
        return float(first), float(slope), float(np.corrcoef(self.hits[touching], self.contact[touching])[0, 1])


def colliding_busts(edge: float = 0.0047, speed: float = 1.2, dt: float = 2e-4, duration: float = 0.06) -> Scene:
    """Two elastic busts, face to face, of 10 thousand surfels and 440 phyxels each."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact={"method": "point-surface"}, name="two-busts")
    shape = dict(kind="bust", height=0.3, edge=edge)
    for name, x, turn in (("left", -0.08, 0), ("right", 0.08, 180)):
        scene.add(
            name=name, shape=shape, model="points", position=(x, 0, 0), rotation=(0, 0, turn), velocity=(-np.sign(x) * speed, 0, 0),
            friction=0.3, material=dict(youngs_modulus=3e5, density=1000.0),
        )  # fmt: skip
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


def watched(scene: Scene, runs: int = RUNS) -> tuple[Simulation, Costs]:
    """A scene to its end, and what each step took: CPU time, the least of some runs, which all take the same steps."""
    every = []
    for _ in range(runs):
        sim, rows = scene.simulate(), []
        timed = Timed(sim.contact)
        sim.contact = timed  # type: ignore[assignment]
        while sim.time < scene.duration - 1e-9:
            began = time.process_time()
            report = sim.step()
            rows.append((time.process_time() - began, timed.spent, len(report.contacts), report.max_depth))
        every.append(rows)
    return sim, Costs(*np.array(every).min(axis=0).T)


def curves(costs: Costs, path: Path, dt: float) -> None:
    """Total time (green), contact time (blue) and colliding surfels (red), as in the paper."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), dpi=120, layout="constrained")
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


def performance(folder: Path) -> list[Line]:
    """Fig. 5: two busts of 10 thousand surfels and 390 phyxels collide: total time, contact time, colliding surfels."""
    scene = colliding_busts()
    sim, costs = watched(scene)
    curves(costs, folder / "Fig5.png", scene.dt)
    draw(from_simulation(sim), size=(640, 480)).save(folder / "Fig5-busts.png")
    surfels = np.diff(sim.world.kept[Prepared].carried.start)
    phyxels = np.diff(sim.world.model.bodies.node_start)
    first, slope, together = costs.slope
    full = costs.hits > 0.8 * costs.hits.max()
    rate = 1.0 / float(np.median(costs.contact[full]))
    return [
        Line("Fig5 surfels and phyxels of each", "10k, 390", f"{surfels[0]}, {phyxels[0]}", bool(abs(surfels[0] / 10_000 - 1) < 0.1)),
        Line("Fig5 contact time over colliding surfels", "follows them", f"correlation {together:.2f}, {1e3 * first:.1f} ms and "
             f"{1e6 * slope:.1f} microseconds a surfel", together > 0.99,
             f"CPU time of one thread, least of {RUNS} runs"),  # fmt: skip
        Line("Fig5 contact steps a second in full contact", "interactive", f"{rate:.0f} at {int(costs.hits.max())} surfels", rate > 60,
             "one thread of this machine; the paper's Pentium 4 gave no figure in the text"),  # fmt: skip
    ]


# -- the others


def pile(folder: Path) -> list[Line]:
    """Fig. 6: three plastic busts pile up, fall apart and rest."""
    sim, peak = scenes.make("pile").simulate(), 0.0
    for k in range(30):
        sim.run(until=sim.scene.duration * (k + 1) / 30)
        peak = max(peak, sim.books().kinetic)
        if k % 10 == 9:
            draw(from_simulation(sim), size=(640, 480)).save(folder / f"Fig6-{k // 10}.png")
    ratio = sim.books().kinetic / peak
    return [Line("Fig6 kinetic energy at rest over its peak", "no oscillations at rest", f"{ratio:.1e}", ratio < 1e-4, OPEN)]


def newton(folder: Path) -> list[Line]:
    """Fig. 7: Newton's cradle of stiff spheres, against a chain of point masses with a force that grows with overlap squared."""
    lines = []
    for model, values in (("rigid", {}), ("points", {"speed": 0.25, "dt": 0.002, "duration": 4.0})):
        sim = scenes.make("cradle", model=model, **values).simulate().run()
        v, want = velocities(sim) / sim.scene.bodies[0].velocity[0], chain(3)
        here = ", ".join(f"{x:.4f}" for x in v) + f" (chain {', '.join(f'{x:.4f}' for x in want)})"
        lines.append(Line(f"Fig7 velocities after the impact, {model}", "the last ball leaves", here, bool(np.abs(v - want).max() < 0.005)))
    return lines


def rider(folder: Path) -> list[Line]:
    """Fig. 8: a complex body on another, whose mouth must not pass through itself."""
    sim = scenes.make("rider").simulate().run()
    draw(from_simulation(sim), size=(640, 480)).save(folder / "Fig8.png")
    gap, own = lips(sim), len(sim.contacts("mouth", "mouth"))
    here = f"lips {1000 * gap:.1f} mm apart, {own} contacts with itself"
    return [Line("Fig8 the mouth meets itself", "does not self-intersect", here, gap > -0.005 and own > 0, OPEN)]


def torn(folder: Path) -> list[Line]:
    """Fig. 9: a plastic head hung by its top stretches and tears; the parts are bodies that collide."""
    sim = scenes.make("torn-head").simulate().run()
    draw(from_simulation(sim), size=(640, 480)).save(folder / "Fig9.png")
    said = scenes.find("torn-head").expect(sim)
    return [
        Line("Fig9 parts of the head", "two objects", said[0], True, OPEN),
        Line("Fig9 the parts collide", "handled by contact", said[1], True, OPEN),
    ]


EXPERIMENTS: dict[str, Experiment] = {
    "Fig3": flattening, "Fig5": performance, "Fig6": pile, "Fig7": newton, "Fig8": rider, "Fig9": torn,
}  # fmt: skip
