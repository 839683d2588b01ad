"""T10: cost per pair and per step (7.4, Figs. 7.17 and 7.18). CPU time of this machine; the thesis had an i7-2630QM."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.depth_integral import CONSTANT, DISCRETE, EXACT, Known, pressed
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Measured
from pliant.shop.reproduce.thesis.particle import critical_step
from pliant.shop.reproduce.verdict import Claim, below, between, times
from pliant.shop.reproduce.watch import CPF, DPF, bars

EVENLY = "the discrete impulse, too, looks at both ends of the step here, which it need not"
KINDS = {"vertex-face": VERTEX_FACE, "edge-edge": EDGE_EDGE}
PUBLISHED = {"vertex-face": (7.55, 4.07, 1.01, 0.29), "edge-edge": (6.56, 3.11, 1.00, 0.28)}  # [us] all, category, CPF, DPF


@dataclass(frozen=True)
class Cost:
    """CPU time of one pair [us]."""

    category: float
    discrete: float
    continuous: float
    constant: float

    @property
    def total(self) -> float:
        """Category and continuous impulse."""
        return self.category + self.continuous


def made(kind: int, count: int, seed: int = 0) -> tuple[Records, Floats, Floats, Adjacency]:
    """Tetrahedra in rows, each second one pressed into the one before: shallow, with motion of a tenth of their size."""
    rng = np.random.default_rng(seed)
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, -1]])
    tip = np.array([[0.3, 0.3, -0.02], [1.3, 0.2, 0.9], [0.2, 1.3, 0.9], [-0.6, -0.6, 0.9]])
    place = 5.0 * np.arange(count)[:, None, None] * np.array([1.0, 0.0, 0.0])
    start = np.concatenate([place + corner, place + tip], axis=1).reshape(-1, 3)
    end = start + 0.05 * rng.standard_normal(start.shape)
    first = 8 * np.arange(count)
    shape = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
    faces = (first[:, None, None] + np.concatenate([shape, 4 + shape[:, ::-1]])).reshape(-1, 3)
    around = Adjacency.of(faces, np.repeat(np.arange(2 * count), 4))
    a, b, one = 2 * np.arange(count) + 1, 2 * np.arange(count), np.ones(count)
    if kind == VERTEX_FACE:
        corners = first[:, None] + np.array([4, 0, 1, 2])
        return Records.new(kind, a, b, first + 4, 8 * np.arange(count), corners, np.zeros((count, 4)), one), start, end, around
    per = len(around.edges) // count
    e, g = per * np.arange(count) + 6, per * np.arange(count)
    corners = np.concatenate([around.edges[e], around.edges[g]], axis=1)
    return Records.new(kind, a, b, e, g, corners, np.zeros((count, 4)), one), start, end, around


def best(task: Callable[[], object], count: int) -> float:
    """Microseconds per pair."""
    task()
    times = []
    for _ in range(5):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return 1e6 * min(times) / count


def measured(kind: int, count: int = 500_000) -> Cost:
    """The cost of a pair of features, over many of them."""
    records, start, end, around = made(kind, count)
    known = Known(np.zeros(count, bool), np.zeros(count), np.zeros(count), np.zeros((count, 3)))
    since, normals = np.zeros(count), around.normals(end)
    category = best(lambda: categories(end, records, around, "span", None, normals), count)
    impulse = {m: best(partial(pressed, m, records, since, start, end, known), count) for m in (DISCRETE, EXACT, CONSTANT)}
    return Cost(category, impulse[DISCRETE], impulse[EXACT], impulse[CONSTANT])


def step(contact: dict[str, Any], steps: int = 50) -> float:
    """CPU time of a step of the bunny as it lands in its bowl [s], median of many."""
    sim = scenes.make("bunny-in-bowl", dt=0.002).simulate(contact=contact).run(until=0.16)
    spent = []
    for _ in range(steps):
        began = time.process_time()
        sim.step()
        spent.append(time.process_time() - began)
    return float(np.median(spent))


def pairs(desk: Desk) -> Measured:
    """T10: categories and impulses of many pairs without detection; then whole steps, DCD with DPF against CCD with CPF.

    The thesis's own figures do not agree with each other (E38): 7.8 or 7.55 us, 6.8 or 6.56 us, +11.8 % or +10.5 %. Quick: fewer pairs.
    """
    found: Measured = {}
    costs = {name: measured(kind, desk.either(500_000, 100_000)) for name, kind in KINDS.items()}
    desk.at(0.4)
    for name, cost in costs.items():
        found |= {
            f"{name} total": cost.total, f"{name} category": cost.category, f"{name} CPF": cost.continuous, f"{name} DPF": cost.discrete,
            f"{name} ratio": cost.continuous / cost.discrete, f"{name} more": 100 * (cost.total / (cost.category + cost.discrete) - 1),
        }  # fmt: skip
    parts = lambda cost: {"category": cost.category, "impulse, CPF": cost.continuous}
    there = {f"{name}, there": {"category": p[1], "impulse, CPF": p[2], "the rest": p[0] - p[1] - p[2]} for name, p in PUBLISHED.items()}
    bars(desk.path("T10-pair.png"), [
        ("thesis (Fig. 7.17)", "us of a pair", there), ("here", "us of CPU of a pair", {name: parts(cost) for name, cost in costs.items()}),
    ])  # fmt: skip
    then = {f"{n} {m}": {m: p[i]} for n, p in PUBLISHED.items() for m, i in (("CPF", 2), ("DPF", 3))}
    now = {f"{n} {m}": {m: v} for n, c in costs.items() for m, v in (("CPF", c.continuous), ("DPF", c.discrete))}
    bars(desk.path("T10-impulse.png"), [("thesis (Fig. 7.18)", "us of an impulse", then), ("here", "us of CPU of an impulse", now)])
    springs, count = {"implicit": False}, desk.either(50, 20)
    ratio = step({"method": CPF, **springs}, count) / step({"method": DPF, "detection": "discrete", **springs}, count)
    desk.at(0.8)
    found["whole"] = ratio
    return found if desk.quick else {**found, "longest": ratio * critical_step(DPF) / critical_step(CPF)}


def _pair(name: str) -> list[Claim]:
    whole, category, continuous, discrete = PUBLISHED[name]
    then = "CPU time of one core of today; an i7-2630QM there"
    return [
        Claim(f"{name} total", f"{name}: category and impulse", f"{whole} us", below(whole), "us of CPU", then),
        Claim(f"{name} category", f"{name}: category", f"{category} us", below(category), "us of CPU", then),
        Claim(f"{name} CPF", f"{name}: impulse of CPF", f"{continuous} us", below(continuous), "us of CPU", then),
        Claim(f"{name} DPF", f"{name}: impulse of DPF", f"{discrete} us", below(discrete), "us of CPU", then),
        Claim(f"{name} ratio", f"{name}: impulse of CPF over that of DPF", f"{continuous / discrete:.2f}", times(continuous / discrete, 2),
              why=EVENLY),
        Claim(f"{name} more", f"{name}: what CPF takes more than DPF, category included", "11.8 %", times(11.8, 2), "%",
              "categories are cheaper here than there, so impulses weigh more"),
    ]  # fmt: skip


COSTS = (
    *(claim for name in KINDS for claim in _pair(name)),
    Claim("whole", "whole step, CCD + CPF over DCD + DPF, equal dt", "3 to 4 (cited, not measured)", between(3.0, 4.0),
          why="bunny landing in its bowl; solving the bunny is in both"),
    Claim("longest", "whole step per simulated second, CCD + CPF over DCD + DPF, each with its largest dt", "not measured",
          why="critical steps of the particle of T1, found again", whole=True),
)  # fmt: skip
