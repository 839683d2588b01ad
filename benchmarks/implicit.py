"""How fast are implicit soft bodies in contact? CPU seconds per simulated second, here and in another checkout, in pairs.

    python benchmarks/implicit.py [--scene one] [--method noniterative] [--seconds 0.4] [--against FOLDER] [--pairs 2]

`one`: a cube of 5000 tetrahedra falls on the ground. `stack`: 27 cubes of 625. `pile`: 125 cubes of 135 in a box of walls. dt = 2 ms, one
thread (PLIANT_THREADS=1), so that CPU time is not that of threads that wait; kernels are compiled before the clock starts. With --against
both checkouts run one after the other, --pairs times, and the table has the ratio of the least CPU times; a busy machine spoils single
runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant import Scene

SOFT = {"law": "corotated", "youngs_modulus": 1e5, "poisson_ratio": 0.35, "density": 1000.0, "stiffness_damping": 0.002}


def one(method: str) -> Scene:
    scene = ground(method)
    cube(scene, 0.2, 10, (0.0, 0.0, 0.2))
    return scene


def stack(method: str) -> Scene:
    scene, shift = ground(method), np.random.default_rng(7).uniform(-0.02, 0.02, (27, 2))
    for k, (dx, dy) in enumerate(shift):
        cube(scene, 0.2, 5, (0.25 * (k % 3 - 1) + dx, 0.25 * (k // 3 % 3 - 1) + dy, 0.15 + 0.25 * (k // 9)))
    return scene


def pile(method: str) -> Scene:
    scene, shift = ground(method), np.random.default_rng(7).uniform(-0.012, 0.012, (125, 2))
    for side in range(4):
        way = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][side])
        size = (0.1, 0.92, 1.0) if way[0] else (0.92, 0.1, 1.0)
        scene.add(name=f"wall {side}", shape={"kind": "box", "size": size}, position=(*(0.41 * way), 0.5), model="static", friction=0.5)
    for k, (dx, dy) in enumerate(shift):
        cube(scene, 0.1, 3, (0.13 * (k % 5 - 2) + dx, 0.13 * (k // 5 % 5 - 2) + dy, 0.1 + 0.13 * (k // 25)))
    return scene


def ground(method: str) -> Scene:
    scene = Scene(dt=0.002, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    return scene


def cube(scene: Scene, size: float, cells: int, position: tuple[float, ...]) -> None:
    shape = {"kind": "box", "size": (size, size, size), "edge": size / cells}
    scene.add(shape=shape, position=tuple(map(float, position)), friction=0.5, material=SOFT, integrator="implicit")


SCENES = {"one": one, "stack": stack, "pile": pile}


def measure(name: str, method: str, seconds: float) -> dict[str, float]:
    """CPU seconds per simulated second, iterations per step and the deepest contact [mm]."""
    warm = SCENES[name](method).simulate()
    while not warm.step().contacts.a.size:
        pass
    warm.step()
    sim, iterations, depth = SCENES[name](method).simulate(), 0, 0.0
    began = time.process_time()
    while sim.time < seconds - 1e-9:
        report = sim.step()
        iterations, depth = iterations + report.solver_iterations, max(depth, report.max_depth)
    cpu = time.process_time() - began
    return {"cpu": cpu / seconds, "iterations": iterations / sim.state.step, "depth": 1e3 * depth}


def elsewhere(folder: str, given: argparse.Namespace) -> dict[str, float]:
    """The same in a process that has the sources of a checkout."""
    asked = ["--scene", given.scene, "--method", given.method, "--seconds", str(given.seconds), "--json"]
    environment = {**os.environ, "PYTHONPATH": os.path.join(folder, "src"), "PLIANT_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, *asked], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scene", choices=SCENES, default="one")
    options.add_argument("--method", default="noniterative")
    options.add_argument("--seconds", type=float, default=0.4)
    options.add_argument("--against", help="folder of another checkout")
    options.add_argument("--pairs", type=int, default=2)
    options.add_argument("--json", action="store_true", help="measure in this process and print JSON")
    given = options.parse_args()
    if given.json:
        print(json.dumps(measure(given.scene, given.method, given.seconds)))
        return
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [*([given.against] if given.against else []), here]
    runs = [[elsewhere(folder, given) for folder in folders] for _ in range(given.pairs)]
    table = Table("checkout", "CPU s per simulated s", "iterations a step", "deepest contact mm", title=f"{given.scene}, {given.method}")
    least = [min(run[k]["cpu"] for run in runs) for k in range(len(folders))]
    for k, folder in enumerate(folders):
        table.add_row(folder, f"{least[k]:.2f}", f"{runs[0][k]['iterations']:.1f}", f"{runs[0][k]['depth']:.2f}")
    Console().print(table)
    if given.against:
        Console().print(f"Ratio of CPU times: {least[0] / least[1]:.2f}")


if __name__ == "__main__":
    main()
