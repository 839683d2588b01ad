"""What sleeping saves: CPU time of a step of a pile while it moves and while all of it sleeps, and the force that stays reported.

    python benchmarks/sleeping.py [pile|S2] [--method patch] [--until 3]

pile: 30 rigid boxes in three layers; S2: 27 soft cubes (benchmarks/peer_scenes.py). Every 0.1 s a line: who sleeps, a step [ms], what the
ground carries against the weight. The last line has the mean of the first half second and of a hundred steps of those who sleep.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from peer_scenes import DENSITY, FRICTION, POISSON, YOUNG, task

from pliant import Scene, TetMesh


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", nargs="?", default="pile", choices=["pile", "S2"])
    parser.add_argument("--method", default="patch")
    parser.add_argument("--until", type=float, default=3.0, help="[s] at most")
    given = parser.parse_args()
    wanted = task(given.scene)
    scene = Scene(dt=0.005, contact=given.method, sleep=True)
    scene.add(name="ground", shape="plane", model="static", friction=FRICTION)
    soft = {"law": "corotated", "youngs_modulus": YOUNG, "poisson_ratio": POISSON, "density": DENSITY, "stiffness_damping": 0.002}
    for k, place in enumerate(wanted.places):
        if wanted.rigid:
            box = {"kind": "box", "size": (wanted.size,) * 3}
            scene.add(name=f"b{k}", shape=box, position=tuple(place), model="rigid", friction=FRICTION, material={"density": DENSITY})
        else:
            scene.add(name=f"b{k}", shape=TetMesh(wanted.points, wanted.tets), position=tuple(place), friction=FRICTION, material=soft)
    sim = scene.simulate()

    def step() -> float:
        began = time.process_time()
        sim.step()
        return 1e3 * (time.process_time() - began)

    carried = lambda: sim.contacts("ground").total_force[2] / wanted.weight + 1.0
    steps: list[float] = []
    while sim.time < given.until and len(sim.asleep) < len(wanted.places):
        steps.append(step())
        if len(steps) % 20 == 0:
            print(f"{sim.time:.2f} s: {len(sim.asleep)} sleep, {np.mean(steps[-20:]):.2f} ms, force {carried():+.1e}", flush=True)
    if len(sim.asleep) == len(wanted.places):
        print(f"moving {np.mean(steps[:100]):.3g} ms, asleep {np.mean([step() for _ in range(100)]):.3g} ms a step, force {carried():+.1e}")


if __name__ == "__main__":
    main()
