"""T10: cost per pair and per step (7.4, Figs. 7.17 and 7.18). CPU time of this machine; the thesis had an i7-2630QM."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.depth_integral import CONSTANT, DISCRETE, EXACT, Known, pressed
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.shop import scenes
from pliant.shop.reproduce import Line
from pliant.shop.reproduce.watch import CPF, DPF

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


def pairs(folder: Path) -> list[Line]:
    """T10: categories and impulses of many pairs without detection; then whole steps, DCD with DPF against CCD with CPF.

    The thesis's own figures do not agree with each other (E38): 7.8 or 7.55 us, 6.8 or 6.56 us, +11.8 % or +10.5 %.
    """
    lines = []
    for name, kind in KINDS.items():
        cost, (whole, category, continuous, discrete) = measured(kind), PUBLISHED[name]
        lines += [
            Line(
                f"T10 {name}, category and impulse",
                f"{whole} us",
                f"{cost.total:.2f} us",
                cost.total < 0.5,
                "bar: below 0.5 us on one core of today",
            ),
            Line(f"T10 {name}, category", f"{category} us", f"{cost.category:.2f} us", cost.category < category),
            Line(
                f"T10 {name}, impulse of CPF over DPF",
                f"{continuous / discrete:.1f}",
                f"{cost.continuous / cost.discrete:.1f}",
                cost.continuous < 3 * cost.discrete,
                "exact integral here, bar: 3",
            ),
        ]
    springs = {"implicit": False}
    ratio = step({"method": CPF, **springs}) / step({"method": DPF, "detection": "discrete", **springs})
    longer = np.sqrt(1.5)  # the critical step of CPF over that of DPF
    return [
        *lines,
        Line(
            "T10 whole step, CCD + CPF over DCD + DPF, equal dt",
            "3-4 (cited, not measured)",
            f"{ratio:.2f}",
            None,
            "bunny landing in its bowl; solving the bunny is in both",
        ),
        Line(
            "T10 the same, each with its largest dt",
            "not measured",
            f"{ratio / longer:.2f}",
            None,
            "T1: CPF takes steps 1.22 times as long",
        ),
    ]
