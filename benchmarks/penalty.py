"""Cost per pair of the penalty methods, without detection: category and impulse, discrete and continuous, vertex-face and edge-edge.

    PLIANT_THREADS=1 python benchmarks/penalty.py [pairs]

CPU time of one thread, best of five, in microseconds per pair. The thesis (i7-2630QM) has 7.6 for vertex-face and 6.6 for edge-edge.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from pliant.contact.penalty.category import categories
from pliant.contact.penalty.find import make
from pliant.contact.penalty.impulses import CONSTANT, DISCRETE, EXACT, Known, pressed
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.geometry.mesh import Floats


def pairs(kind: int, count: int) -> tuple[Records, Floats, Floats, Neighbours]:
    """Tetrahedra in rows, each second one pressed into the one before: shallow, with motion of a tenth of their size."""
    rng = np.random.default_rng(0)
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, -1]])
    tip = np.array([[0.3, 0.3, -0.02], [1.3, 0.2, 0.9], [0.2, 1.3, 0.9], [-0.6, -0.6, 0.9]])
    place = 5.0 * np.arange(count)[:, None, None] * np.array([1.0, 0.0, 0.0])
    start = np.concatenate([place + corner, place + tip], axis=1).reshape(-1, 3)
    end = start + 0.05 * rng.standard_normal(start.shape)
    first = 8 * np.arange(count)
    shape = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
    faces = (first[:, None, None] + np.concatenate([shape, 4 + shape[:, ::-1]])).reshape(-1, 3)
    around = Neighbours.of(faces, np.repeat(np.arange(2 * count), 4))
    a, b, one = 2 * np.arange(count) + 1, 2 * np.arange(count), np.ones(count)
    if kind == VERTEX_FACE:
        corners = first[:, None] + np.array([4, 0, 1, 2])
        return make(kind, a, b, first + 4, 8 * np.arange(count), corners, np.zeros((count, 4)), one), start, end, around
    per = len(around.edges) // count
    e, g = per * np.arange(count) + 6, per * np.arange(count)
    corners = np.concatenate([around.edges[e], around.edges[g]], axis=1)
    return make(kind, a, b, e, g, corners, np.zeros((count, 4)), one), start, end, around


def best(task: Callable[[], object], count: int) -> float:
    """Microseconds per pair."""
    task()
    times = []
    for _ in range(5):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return 1e6 * min(times) / count


def main(count: int = 500_000) -> None:
    print(f"{'us per pair':14}{'category':>10}{'discrete':>10}{'continuous':>12}{'constant':>10}{'ratio':>8}{'total':>8}")
    for name, kind in (("vertex-face", VERTEX_FACE), ("edge-edge", EDGE_EDGE)):
        records, start, end, around = pairs(kind, count)
        known = Known(np.zeros(count, bool), np.zeros(count), np.zeros(count), np.zeros((count, 3)))
        since, normals = np.zeros(count), around.normals(end)
        category = best(lambda r=records, e=end, a=around, n=normals: categories(e, r, a, "span", None, n), count)
        cost = {m: best(lambda m=m, r=records, s=start, e=end, k=known, t=since: pressed(m, r, t, s, e, k), count) for m in (0, 1, 2)}
        ratio, total = cost[EXACT] / cost[DISCRETE], category + cost[EXACT]
        print(f"{name:14}{category:10.3f}{cost[DISCRETE]:10.3f}{cost[EXACT]:12.3f}{cost[CONSTANT]:10.3f}{ratio:8.2f}{total:8.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
