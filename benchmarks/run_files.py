"""Size of run files and time to write them: as they were before the third format, as they are, and as copies for drawing.

    python benchmarks/run_files.py [NAMES]

Five scenes. `as it was`: nothing deflated, nothing stored once. `now`: what a run leaves. `copy`: positions and pressure only, to a
micrometre. What recording costs beside steps is measured by `recording.py`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from pliant import Scene
from pliant.record import Reduction, Run, reduced_copy, vtkhdf
from pliant.shop.scenes import find
from pliant.simulate import running


def skin() -> Scene:
    """A soft ball whose skin has 40,000 points falls on the ground, in explicit steps."""
    scene = Scene(name="skin", dt=0.001, duration=0.1, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    fine = {"kind": "ball", "radius": 0.1, "edge": 0.0019}
    coarse = {"kind": "ball", "radius": 0.101, "edge": 0.03}
    soft = {"youngs_modulus": 2e4, "poisson_ratio": 0.4, "mass_damping": 2.0}
    scene.add(name="ball", shape=coarse, skin=fine, position=(0, 0, 0.12), integrator="symplectic", material=soft)
    return scene


def stage() -> Scene:
    """A rigid ball rolls past static ones: most of what is drawn never moves."""
    scene = Scene(name="stage", dt=0.004, duration=0.4)
    scene.add(name="ground", shape="plane", model="static")
    for k in range(3):
        scene.add(name=f"post {k}", shape={"kind": "ball", "radius": 0.1, "edge": 0.008}, model="static", position=(0.4, 0.3 * k, 0.1))
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1, "edge": 0.03}, model="rigid", position=(0, 0, 0.1), velocity=(1, 0.5, 0))
    return scene


def flows() -> Scene:
    """A body of points falls and flattens."""
    scene = Scene(name="flows", dt=0.001, duration=0.2)
    scene.add(name="ground", shape="plane", model="static")
    clay = {"youngs_modulus": 5e4, "yield_strain": 0.02}
    ball = {"kind": "ball", "radius": 0.1, "edge": 0.03}
    scene.add(name="clay", shape=ball, model="points", spacing=0.025, position=(0, 0, 0.12), material=clay)
    return scene


def lattice() -> Scene:
    """A bunny on a lattice of springs, in explicit steps."""
    scene = Scene(name="lattice", dt=0.001, duration=0.2, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    soft = {"density": 500.0, "spring_stiffness": 400.0, "spring_damping": 0.5, "mass_damping": 5.0}
    bunny = {"kind": "bunny", "height": 0.2}
    scene.add(name="bunny", shape=bunny, model="springs", network="voxels", spacing=0.03, position=(0, 0, 0.01), material=soft)
    return scene


SCENES = {"bowl": lambda: find("bowl").make(), "skin": skin, "stage": stage, "flows": flows, "lattice": lattice}


def seconds(entries, path: Path, small: bool = False) -> float:
    """Processor time of writing a run file, all threads."""
    began = time.process_time()
    vtkhdf.write(entries, path, small)
    return time.process_time() - began


def main() -> None:
    print("| scene | points, frames | as it was | now | copy | written in: as it was | now |\n|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or SCENES:
        with tempfile.TemporaryDirectory() as folder:
            SCENES[name]().simulate().step()  # compiles what is needed
            sim, recorder = running.start(SCENES[name](), Path(folder) / "run")
            outcome = running.run(sim, recorder)
            with Run.open(outcome.path) as run:
                plain = [replace(e, meta={k: v for k, v in e.meta.items() if k != "same"}) for e in run.entries]
                before = seconds(plain, Path(folder) / "plain.vtkhdf")
                now = seconds(run.entries, Path(folder) / "now.vtkhdf", small=True)
                copy = reduced_copy(run, Path(folder) / "copy", Reduction(("positions", "pressure"), 1e-6))
                size = lambda path: f"{path.stat().st_size / 1e6:.2f} MB"
                sizes = " | ".join(size(path) for path in (Path(folder) / "plain.vtkhdf", outcome.path, copy))
                print(f"| {name} | {len(run.points(-1))}, {run.frames} | {sizes} | {before:.2f} s | {now:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
