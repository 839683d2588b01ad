"""How fast are springs between all pairs of vertices?

    python benchmarks/springs.py [--vertices 5000] [--repeat 15]

First one force evaluation, against the same springs in a list (where that fits) and a distance matrix in NumPy. Then 3, 30 and 300 balls of
about 600 triangles with springs between all pairs (k = 40 N/m, 1 kg a vertex, adaptive damping, as published) that lie on the ground:
steps per second, and how many times faster than the clock they run. Medians; CPU time stands beside wall time because a busy
machine spoils the latter.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.base import Floats
from pliant.bodies.springs.all_pairs import AllPairs
from pliant.bodies.springs.elements import Springs
from pliant.kernels import use_threads
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

LISTED = 3000  # vertices up to which the springs are listed for comparison: 4.5 million of them
MATRIX = 2000  # vertices up to which NumPy holds all distances
DT = 0.01  # [s]; stable up to 0.016 s with the published stiffness and mass
BALL = {"kind": "ball", "radius": 0.5, "edge": 0.132}


def timed(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Median wall and CPU time of a call [s], after two calls that warm up."""
    wall, cpu = [], []
    for _ in range(repeat + 2):
        w, c = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return statistics.median(wall[2:]), statistics.median(cpu[2:])


def with_numpy(rest: Floats, x: Floats) -> Floats:
    """All pairs at once, k = 40."""
    e, length = x[None] - x[:, None], np.linalg.norm(rest[None] - rest[:, None], axis=2)
    now = np.linalg.norm(e, axis=2)
    np.fill_diagonal(now, 1.0)
    np.fill_diagonal(length, 1.0)
    return 40.0 * np.einsum("ij,ijk->ik", 1.0 - length / now, e)


def evaluation(count: int, repeat: int, table: Table) -> None:
    rng = np.random.default_rng(0)
    rest = rng.normal(size=(count, 3))
    x, v, springs = rest + 0.01 * rng.normal(size=(count, 3)), np.zeros((count, 3)), count * (count - 1) // 2
    group, out = AllPairs(np.arange(count), np.array([0, count]), rest, 40.0), np.empty((count, 3))
    use_threads(group.work)
    rows = [("all pairs", lambda: group.forces(x, v, out)), ("with dashpots", lambda: group.forces(x, v, out))]
    if count <= LISTED:
        pairs = np.stack(np.triu_indices(count, 1), axis=1)
        listed, corner = Springs(pairs, np.linalg.norm(rest[pairs[:, 1]] - rest[pairs[:, 0]], axis=1), 40.0), np.empty((2 * springs, 3))
        rows.append(("in a list (not summed)", lambda: listed.forces(x, v, corner)))
    if count <= MATRIX:
        rows.append(("NumPy matrix", lambda: with_numpy(rest, x)))
    for what, work in rows:
        group.damping[:] = 1.0 if what == "with dashpots" else 0.0
        wall, cpu = timed(work, repeat)
        table.add_row(str(count), f"{springs:,}", what, f"{1e3 * wall:.2f}", f"{1e3 * cpu:.2f}", f"{1e9 * cpu / springs:.2f}")


def balls(count: int, integrator: str, contact: str) -> Simulation:
    """Balls side by side, just above the ground."""
    scene = Scene(dt=DT, contact=contact, gravity=(0, 0, -1.0))
    scene.add(name="ground", shape="plane", model="static")
    material = {"spring_stiffness": 40.0, "vertex_mass": 1.0, "vertex_damping": 1.0, "adaptive_force": 10.0}
    side = int(np.ceil(np.sqrt(count)))
    for i in range(count):
        scene.add(name=f"ball{i}", shape=BALL, model="springs", network="all-pairs", integrator=integrator, material=material,
                  position=(1.2 * (i % side), 1.2 * (i // side), 0.51))  # fmt: skip
    return scene.simulate()


def pace(count: int, integrator: str, contact: str, steps: int, table: Table) -> None:
    sim = balls(count, integrator, contact)
    for _ in range(30):
        sim.step()
    wall, cpu = timed(sim.step, steps)
    vertices = len(sim.state.x) // count
    table.add_row(str(count), str(vertices), integrator, contact, f"{1 / wall:.0f}", f"{DT / wall:.2g}", f"{1e3 * cpu:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, nargs="+", default=[500, 2000, 5000, 10000])
    parser.add_argument("--bodies", type=int, nargs="+", default=[3, 30, 300])
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    console = Console(width=120)
    table = Table("vertices", "springs", "how", "wall ms", "CPU ms", "CPU ns / spring", title="one force evaluation")
    for count in options.vertices:
        evaluation(count, options.repeat, table)
    console.print(table)
    table = Table("balls", "vertices each", "integrator", "contact", "steps / s", "x real time", "CPU ms / step", title=f"dt = {DT:g} s")
    for count in options.bodies:
        for integrator, contact in (("verlet", "none"), ("verlet", "ground"), ("cooper-verner", "none")):
            pace(count, integrator, contact, 30 if count < 100 else 7, table)
    console.print(table)


if __name__ == "__main__":
    main()
