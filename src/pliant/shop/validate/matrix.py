"""Every contact method x every ordered pair of body models x {drop, press, slide}: does it do what it must, or say why it cannot?

Body A, a box of 0.1 m, meets body B, a box of 0.2 x 0.2 x 0.1 m that is held from below. Drop: A falls 2 mm and comes to rest.
Press: A is pushed down with twice its weight. Slide: A starts with 0.5 m/s along x. Each must stay finite, report impulses that are
the change of momentum, find contact, and keep friction inside the cone; what rests must carry weight and load within 2 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.bodies.register import material_for
from pliant.contact.method import METHODS
from pliant.scene import Scene
from pliant.shop.validate import G
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

ACTIONS = ("drop", "press", "slide")
MODULUS, DENSITY, SIZE, DAMPING = 2e5, 1000.0, 0.1, 40.0
MODELS: dict[str, dict[str, Any]] = {
    "tets": dict(integrator="implicit"),
    "tets of 10 nodes": dict(element="quadratic", integrator="implicit"),
    "springs": dict(model="springs", integrator="implicit"),
    "all-pairs springs": dict(model="springs", network="all-pairs", integrator="verlet"),
    "rigid": dict(model="rigid"),
    "quasi-rigid": dict(model="quasi-rigid", spacing=SIZE / 5),
    "points": dict(model="points"),
}
MU = 0.4
BALANCED, CONE, CARRIES = 1e-8, 1e-6, 0.02
STEP, REST, WINDOW = 2e-3, 0.6, 0.2  # [s] of a step, until rest, over which forces are averaged
SLIDE = 0.1  # [s]
CHATTERS = {"reversal": 1.0}  # [s] window of methods whose force is right only in the mean over many steps
NO_CONE = {"reversal": "It has no law of friction: it sets velocities back, sideways too, so no cone of friction is asked of it."}


@dataclass(frozen=True)
class Cell:
    """One entry of the matrix."""

    method: str
    a: str
    b: str
    action: str
    wrong: tuple[str, ...] = ()  # what it must do and did not
    refused: str = ""  # the sentence with which it was refused

    @property
    def mark(self) -> str:
        return "refused" if self.refused else "wrong" if self.wrong else "ok"


def methods() -> list[str]:
    """All methods but `none`."""
    return [name for name in METHODS if name != "none"]


def cells() -> Iterator[tuple[str, str, str, str]]:
    """All entries: method, model of A, model of B (static too), action."""
    for method in methods():
        for a in MODELS:
            for b in (*MODELS, "static"):
                for action in ACTIONS:
                    yield method, a, b, action


def scene_of(method: str, a: str, b: str, action: str) -> Scene:
    """The two boxes; B is held: fixed at its bottom if it is soft, prescribed if it is rigid."""
    scene = Scene(dt=STEP, duration=1.0, contact=method)
    material: dict[str, Any] = dict(
        youngs_modulus=MODULUS, poisson_ratio=0.3, density=DENSITY, mass_damping=DAMPING, spring_stiffness=200.0, spring_damping=0.5
    )
    slab = dict(kind="box", size=(2 * SIZE, 2 * SIZE, SIZE), edge=SIZE / 2)
    low: dict[str, Any] = dict(name="b", shape=slab, position=(0, 0, SIZE / 2), friction=MU)
    if b == "static":
        scene.add(**low, model="static")
    else:
        held: dict[str, Any] = {"fixed": [dict(side="-z")]}
        if MODELS[b].get("model") in ("rigid", "quasi-rigid"):
            held = {"motions": [dict(shift=(0.0, 0.0, 0.0))]}
        scene.add(**low, **MODELS[b], **held, material=material_for(MODELS[b].get("model", "fem"), **material))
    weight = DENSITY * SIZE**3 * G
    top: dict[str, Any] = dict(name="a", shape=dict(kind="box", size=(SIZE,) * 3, edge=SIZE / 2), friction=MU)
    place = (0.003, 0.004, 1.5 * SIZE + (2e-3 if action == "drop" else 0.0))  # shifted, so that no vertex lies on another
    if action == "press":
        top["loads"] = [dict(value=(0.0, 0.0, -2.0 * weight))]
    if action == "slide":
        top["velocity"] = (0.5, 0.0, 0.0)
        material["mass_damping"] = 0.0
    scene.add(**top, **MODELS[a], position=place, material=material_for(MODELS[a].get("model", "fem"), **material))
    return scene


class Watch:
    """What a trial does, step by step."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.impulse = sim, np.zeros(3)
        self.touched, self.imbalance, self.cone = 0, 0.0, 0.0

    def __call__(self, report: StepReport) -> None:
        contacts = self.sim.contacts("a", "b")
        self.impulse += contacts.total_force * report.dt
        self.touched += len(contacts)
        self.imbalance = max(self.imbalance, report.balance.error)
        if len(contacts):
            normal = np.maximum(contacts.normal_force, 0.0)
            beyond = np.linalg.norm(contacts.friction, axis=1) - MU * normal
            self.cone = max(self.cone, float(beyond.max()) / max(float(normal.sum()), 1e-12))

    def run(self, until: float) -> float:
        """Mean vertical force on A over what is run [N]."""
        self.impulse[:], start = 0.0, self.sim.time
        while self.sim.time < until - 1e-9:
            self.sim.step(each=self)
        return float(self.impulse[2] / (self.sim.time - start))


def trial(method: str, a: str, b: str, action: str) -> Cell:
    """Run one entry."""
    wrong = []
    try:
        sim = Simulation(scene_of(method, a, b, action))
        watch = Watch(sim)
        mean = watch.run(SLIDE if action == "slide" else REST)
        if action != "slide":
            weight = DENSITY * SIZE**3 * G * (3.0 if action == "press" else 1.0)
            mean = watch.run(REST + CHATTERS.get(method, WINDOW))
            if not abs(mean - weight) <= CARRIES * weight:
                wrong.append(f"carries {mean / weight:.3f} of what it should")
    except PliantError as error:
        text = str(error)
        stopped = "not finite" in text or "inverted" in text
        return Cell(method, a, b, action, (text,)) if stopped else Cell(method, a, b, action, refused=text)
    if watch.touched == 0:
        wrong.append("finds no contact")
    if not watch.imbalance <= BALANCED:
        wrong.append(f"impulses miss the momentum by {watch.imbalance:.1e}")
    if method not in NO_CONE and not watch.cone <= CONE:
        wrong.append(f"friction leaves the cone by {watch.cone:.1e} of the force")
    return Cell(method, a, b, action, tuple(wrong))


def _exceptions(method: str) -> list[str]:
    """What is asked differently of a method, as sentences for the page."""
    said = [NO_CONE[method]] if method in NO_CONE else []
    if method in CHATTERS:
        said.append(f"It chatters: what it carries is the mean over {CHATTERS[method]:g} s in place of {WINDOW:g} s.")
    return [" ".join(said), ""] if said else []


def page(found: list[Cell]) -> str:
    """The matrix as a page for the docs."""
    good, refused = sum(c.mark == "ok" for c in found), sum(c.mark == "refused" for c in found)
    text = [
        "# Which bodies meet under which method", "",
        "Made by `python docs/make_matrix.py`, never by hand. Rows: body A on top; columns: body B below. A cell has one sign each",
        "for drop, press and slide: `+` does what it must, `!` does not (listed below), `-` is refused with a sentence.", "",
        f"{good} of {len(found)} are right, {refused} are refused, {len(found) - good - refused} are wrong.", "",
    ]  # fmt: skip
    absent = [name for name in methods() if name not in {c.method for c in found}]
    if absent:
        text += [f"Not tried in all pairs, only by the quick tests with each model on itself: {', '.join(absent)}.", ""]
    signs = {"ok": "+", "wrong": "!", "refused": "-"}
    by = {(c.method, c.a, c.b, c.action): c for c in found}
    for method in dict.fromkeys(c.method for c in found):
        columns = list(dict.fromkeys(c.b for c in found if c.method == method))
        text += [f"## {method}", "", *_exceptions(method), "| A \\ B | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for a in dict.fromkeys(c.a for c in found if c.method == method):
            marks = ["".join(signs[by[method, a, b, act].mark] for act in ACTIONS if (method, a, b, act) in by) for b in columns]
            text.append(f"| {a} | " + " | ".join(f"`{m}`" for m in marks) + " |")
        text.append("")
        mine = [c for c in found if c.method == method]
        text += [f"* {c.action}, {c.a} on {c.b}: " + "; ".join(c.wrong) for c in mine if c.wrong]
        sentences = Counter(c.refused for c in mine if c.refused)
        text += [f"* {count} refused: {sentence}" for sentence, count in sentences.items()]
        text.append("")
    return "\n".join(text)
