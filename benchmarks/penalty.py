"""Cost of the penalty methods: per pair without detection, and whole steps, discrete against continuous.

    PLIANT_THREADS=1 python benchmarks/penalty.py [pairs in millions]

Per pair: category, redefinition and impulse, CPU time of one thread in microseconds, over batches of a quarter of a million
pairs. The thesis (i7-2630QM) has 7.6 for vertex-face and 6.6 for edge-edge. Whole steps: boxes that fall on a triangulated floor,
DCD + DPF (discrete detection, depth at the end of the step) against CCD + CPF, at equal dt and at the largest dt at which each still
comes to rest with the same springs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant import Scene, Simulation
from pliant.base import Floats
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.depth_integral import CONSTANT, DISCRETE, EXACT, Known, pressed
from pliant.contact.penalty.edges import edge_states
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE
from pliant.contact.penalty.redefine import redefine
from pliant.shop.reproduce.thesis.cost import made

BATCH = 250_000  # pairs handled at once


def seconds(task: Callable[[], object]) -> float:
    """CPU time."""
    began = time.process_time()
    task()
    return time.process_time() - began


def batch_costs(kind: int, seed: int) -> Floats:
    """CPU time of category, redefinition, discrete, exact and constant impulse of one batch [s]."""
    records, start, end, around = made(kind, BATCH, seed)
    known = Known(np.zeros(BATCH, bool), np.zeros(BATCH), np.zeros(BATCH), np.zeros((BATCH, 3)))
    since, normals = np.zeros(BATCH), around.normals(end)
    again = seconds(lambda: redefine(end, records, around, None, None, normals)) if kind == VERTEX_FACE else seconds(
        lambda: edge_states(end, records)
    )
    impulses = [seconds(lambda m=m: pressed(m, records, since, start, end, known)) for m in (DISCRETE, EXACT, CONSTANT)]
    return np.array([seconds(lambda: categories(end, records, around, "span", None, normals)), again, *impulses])


def per_pair(millions: float) -> None:
    print(f"{'us per pair':14}{'category':>10}{'redefine':>10}{'discrete':>10}{'continuous':>12}{'constant':>10}{'ratio':>8}{'total':>8}")
    for name, kind in (("vertex-face", VERTEX_FACE), ("edge-edge", EDGE_EDGE)):
        batch_costs(kind, 0)  # compiles
        times = max(1, round(1e6 * millions / BATCH))
        cost = 1e6 * sum(batch_costs(kind, seed) for seed in range(times)) / (times * BATCH)
        print(f"{name:14}{cost[0]:10.3f}{cost[1]:10.3f}{cost[2]:10.3f}{cost[3]:12.3f}{cost[4]:10.3f}{cost[3] / cost[2]:8.2f}", end="")
        print(f"{cost[0] + cost[1] + cost[3]:8.3f}")


METHODS = {
    "DCD + DPF": dict(method="penalty", detection="discrete", implicit=False, damping=0.0),
    "CCD + DPF": dict(method="penalty", implicit=False, damping=0.0),
    "CCD + CPF": dict(method="continuous-penalty", implicit=False, damping=0.0),
}


def boxes(method: dict[str, Any], dt: float, stiffness: float | None = None) -> Simulation:
    """Sixteen boxes just over a floor of triangles."""
    contact = method | ({"stiffness": stiffness} if stiffness else {})
    scene = Scene(dt=dt, contact=contact)
    scene.add(name="floor", shape=dict(kind="box", size=(2, 2, 0.1), edge=0.1), model="static", position=(0.01, 0.02, -0.05))
    box = dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.05)
    for i in range(16):
        place = (0.4 * (i % 4) - 0.6, 0.4 * (i // 4) - 0.6, 0.051)
        scene.add(name=f"b{i}", shape=box, model="rigid", position=place, rotation=(0, 0, 7 * i))
    return scene.simulate()


def rests(method: dict[str, Any], dt: float, stiffness: float) -> bool:
    """Whether the boxes are calm after a while."""
    sim = boxes(method, dt, stiffness)
    for _ in range(150):
        sim.step()
    return sim.books().kinetic < 0.05


def whole_steps(stiffness: float = 2e3) -> None:
    print(f"\n{'whole steps':14}{'ms a step':>12}{'largest dt ms':>15}{'s a second':>12}")
    for name, method in METHODS.items():
        sim = boxes(method, 0.002).run(until=0.04)
        cost = seconds(lambda sim=sim: sim.run(until=0.16)) / 60
        low, high = 0.002, 0.04
        while high - low > 0.03 * low:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if rests(method, middle, stiffness) else (low, middle)
        print(f"{name:14}{1e3 * cost:12.2f}{1e3 * low:15.2f}{cost / low:12.3f}")


if __name__ == "__main__":
    per_pair(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    whole_steps()
