"""How fast `reversal` is: python benchmarks/reversal.py [tree] [spheres] [many]

tree     CPU time to find crossing triangles of two spheres that overlap a little, with both trees and without one, over their size
spheres  three spheres of 720 triangles with springs between all vertices, in flight or stacked: simulated over real time
many     3, 30 and 300 spheres that collide in a row: CPU time per step and body

CPU time of one thread (PLIANT_THREADS=1 unless it is set), best of three.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("PLIANT_THREADS", "1")

import numpy as np

from pliant import Scene
from pliant.detect.tree import Tree, centre_tree
from pliant.detect.triangle_overlap import every_pair, intersecting
from pliant.geometry.shapes import make as make_shape
from pliant.shop import scenes


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
    print("scheme, dt [ms] | simulated / CPU time | simulated / wall time | steps with contact")
    for integrator, dt in (("verlet", 0.012), ("verlet", 0.01), ("cooper-verner", 0.02), ("cooper-verner", 0.01)):
        pace(f"in flight, {integrator}, {1e3 * dt:g}", scenes.make("three-spheres", integrator=integrator, dt=dt, duration=2.0))
    pace("stacked, verlet, 12", stack(0.012))


def stack(dt: float) -> Scene:
    """Three of the spheres on the ground and on each other, which touch all the time."""
    scene = Scene(dt=dt, duration=1.5, contact=dict(method="reversal", split="centre"))
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(spring_stiffness=40.0, vertex_mass=1.0, vertex_damping=1.0, adaptive_force=10.0)
    for k in range(3):
        scene.add(
            name=f"b{k}", shape=dict(kind="ball", radius=0.5, edge=0.08), model="springs", network="all-pairs", integrator="verlet",
            position=(0.01 * k, 0, 0.51 + 1.01 * k), material=soft,
        )  # fmt: skip
    return scene


def pace(what: str, scene: Scene) -> None:
    """Simulated time over time taken, the second time it is run: the first one loads what it needs from disk."""
    scene.simulate().run(until=0.25 * scene.duration)
    sim = scene.simulate().run(until=5 * scene.dt)
    cpu, wall, steps, touching, begin = time.process_time(), time.perf_counter(), 0, 0, sim.time
    while sim.time < scene.duration - 1e-9:
        touching += len(sim.step().contacts) > 0
        steps += 1
    cpu, wall, simulated = time.process_time() - cpu, time.perf_counter() - wall, sim.time - begin
    print(f"{what}{' divided' if sim._pieces > 1 else ''} | {simulated / cpu:.1f} | {simulated / wall:.1f} | {touching} of {steps}")


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
        sim = scene.simulate().run(until=0.04)  # they touch from 0.02 s on
        begin, contact, steps = time.process_time(), 0.0, 30
        for _ in range(steps):
            contact += sim.step().timings["contact"]
        cpu = (time.process_time() - begin) / steps
        print(f"{count:7d} | {1e3 * cpu:15.2f} | {1e3 * cpu / count:10.3f} | {1e3 * contact / steps:.2f} (wall)")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("tree", "spheres", "many"):
        {"tree": tree, "spheres": spheres, "many": many}[name]()
