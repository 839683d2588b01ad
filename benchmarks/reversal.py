"""How fast `reversal` is: python benchmarks/reversal.py [tree] [spheres] [many]

tree     CPU time to find crossing triangles of two spheres that overlap a little, with both trees and without one, over their size
spheres  three spheres of 720 triangles with springs between all vertices: simulated over real time
many     3, 30 and 300 spheres that collide in a row: CPU time per step and body

CPU time of one thread (PLIANT_THREADS=1), best of three.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("PLIANT_THREADS", "1")

import numpy as np

from pliant import Scene, scenes
from pliant.detect.centre_tree import centre_tree
from pliant.detect.tree import Tree
from pliant.detect.triangles import every_pair, intersecting
from pliant.geometry.shapes import make as make_shape


def best(call: Callable[[], object], repeats: int = 3) -> float:
    """Shortest CPU time [s] of a call, after one that warms up."""
    call()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def tree() -> None:
    print("triangles each | all pairs | centre tree | median tree   (refit + pairs + tests, ms) | without / with centre, median")
    for edge in (0.3, 0.16, 0.09, 0.05):
        surface = make_shape("ball", radius=1.0, edge=edge).surface()
        n = len(surface.faces)
        points = np.concatenate([surface.points, surface.points + [1.95, 0.03, 0.02]])
        faces, start = np.concatenate([surface.faces, surface.faces + len(surface.points)]), np.array([0, n, 2 * n])
        pair = np.array([[0, 1]])
        centre, median = centre_tree(points, faces, start, 12), Tree.build(points, faces, start)

        def with_tree(tree: Tree, points: np.ndarray = points, pair: np.ndarray = pair) -> np.ndarray:
            tree.refit(points)
            return intersecting(tree, points, pair)

        slow = best(lambda points=points, faces=faces, start=start: every_pair(points, faces, start, np.array([[0, 1]])), 1)  # type: ignore[misc]
        fast = [best(lambda t=t: with_tree(t)) for t in (centre, median)]  # type: ignore[misc]
        assert np.array_equal(with_tree(centre), with_tree(median))
        print(f"{n:14d} | {1e3 * slow:9.2f} | {1e3 * fast[0]:11.3f} | {1e3 * fast[1]:11.3f} | {slow / fast[0]:7.0f} {slow / fast[1]:7.0f}")


def spheres() -> None:
    print("scheme, dt [ms] | simulated / CPU time | simulated / wall time")
    for integrator, dt in (("verlet", 0.01), ("cooper-verner", 0.02), ("cooper-verner", 0.01)):
        sim = scenes.make("three-spheres", integrator=integrator, dt=dt, duration=2.0).simulate()
        sim.run(until=0.2)
        cpu, wall = time.process_time(), time.perf_counter()
        sim.run()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(f"{integrator}, {1e3 * dt:g}{' divided' if sim._pieces > 1 else ''} | {1.8 / cpu:.1f} | {1.8 / wall:.1f}")


def many() -> None:
    print("spheres | CPU ms per step | per sphere | of it contact")
    for count in (3, 30, 300):
        scene = Scene(dt=0.005, duration=0.2, gravity=(0, 0, 0), contact=dict(method="reversal", split="centre"))
        soft = dict(spring_stiffness=40.0, vertex_mass=1.0, vertex_damping=1.0, adaptive_force=10.0)
        for k in range(count):
            scene.add(
                name=f"b{k}", shape=dict(kind="ball", radius=1.0, edge=0.4), model="springs", network="all-pairs", integrator="verlet",
                position=(2.1 * (k % 20), 2.1 * (k // 20), 0.0), velocity=(3.0 * (-1) ** k, 0, 0), material=soft,
            )  # fmt: skip
        sim = scene.simulate().run(until=0.02)
        begin, contact, steps = time.process_time(), 0.0, 30
        for _ in range(steps):
            contact += sim.step().timings["contact"]
        cpu = (time.process_time() - begin) / steps
        print(f"{count:7d} | {1e3 * cpu:15.2f} | {1e3 * cpu / count:10.3f} | {1e3 * contact / steps:.2f} (wall)")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("tree", "spheres", "many"):
        {"tree": tree, "spheres": spheres, "many": many}[name]()
