"""How time and memory grow: with elements, bodies, contacts and threads.

    python benchmarks/scaling.py [--kinds elements,bodies,contacts,threads] [--most 1000000] [--draw]

elements: one soft box on the ground, implicit steps. bodies: rigid boxes on a grid that lie on the ground. contacts: a rigid plate of ever
more faces pressed on the ground. threads: the box of 100,000 tetrahedra. Each point is a process of its own: CPU seconds to build, CPU and
wall seconds of a step (the mean of three after two), the most memory it held. What was measured is kept in benchmarks/scaling.json, points
that are not run again as they were; `--draw` makes docs/pictures/scaling.png of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

KEPT = Path(__file__).with_name("scaling.json")
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scaling.png"
SIZES = {
    "elements": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "bodies": [1, 3, 10, 30, 100, 300, 1000, 2000],
    "contacts": [30, 100, 300, 1000, 3000, 10_000],
    "threads": [1, 2, 4, 8],
}
STEPS = 3
TETS = 100_000  # of the box for threads


def scene_of(kind: str, size: int):  # type: ignore[no-untyped-def]
    from peer_scenes import block

    from pliant import Scene, Surface, TetMesh

    scene = Scene(dt=0.005, contact="auto")
    scene.add(name="ground", shape="plane", model="static")
    if kind in ("elements", "threads"):
        cells = max(1, round(((size if kind == "elements" else TETS) / 5) ** (1 / 3)))
        points, tets = block((cells,) * 3, 1.0)
        scene.add(name="box", shape=TetMesh(points, tets), position=(0.0, 0.0, 0.001), material={"youngs_modulus": 1e6})
    elif kind == "bodies":
        side = int(np.ceil(np.sqrt(size)))
        for k in range(size):
            place = (0.2 * (k % side), 0.2 * (k // side), 0.05)
            scene.add(name=f"b{k}", shape={"kind": "box", "size": (0.1, 0.1, 0.1)}, position=place, model="rigid")
    else:
        n = max(1, round(np.sqrt(size / 2)))
        scene.add(name="plate", shape=plate(n, Surface), position=(0.0, 0.0, 0.0), model="rigid")
    return scene


def plate(n: int, make):  # type: ignore[no-untyped-def]
    """A flat box with n x n squares of two triangles above and below."""
    from peer_scenes import block, skin

    points, tets = block((n, n, 1), 1.0)
    faces = skin(tets)
    used = np.unique(faces)
    place = np.zeros(len(points), np.int64)
    place[used] = np.arange(len(used))
    return make(points[used] * [1.0, 1.0, 0.1], place[faces])


def point(kind: str, size: int) -> None:
    """One of them, in this process."""
    began = time.process_time()
    sim = scene_of(kind, size).simulate()
    built = time.process_time() - began
    for _ in range(2):
        sim.step()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(STEPS):
        sim.step()
    cpu, wall = (time.process_time() - cpu) / STEPS, (time.perf_counter() - wall) / STEPS
    elements = sum(len(group.nodes) for group in sim.world.model.groups)
    rows = {"elements": elements, "bodies": len(sim.scene.bodies) - 1, "contacts": len(sim.contacts()), "threads": size}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"size": rows[kind], "build": built, "cpu": cpu, "wall": wall, "memory": memory, "contacts": rows["contacts"]}))


def run(kind: str, size: int) -> dict:
    """One of them, in a process of its own."""
    threads = size if kind == "threads" else 1
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads), "PLIANT_THREADS": str(threads)}
    done = subprocess.run([sys.executable, __file__, "--point", kind, str(size)], capture_output=True, text=True, env=environment)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return {"asked": size, "trouble": (done.stderr.strip().splitlines() or ["ended"])[-1][:200]}
    return {"asked": size} | json.loads(lines[-1])


def draw(kept: dict[str, list[dict]]) -> None:
    """Time of a step and memory over size, a column for each kind."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    in_full = ticker.FuncFormatter(lambda value, _: f"{value:,g}")
    kinds = [kind for kind in SIZES if [row for row in kept.get(kind, []) if "cpu" in row]]
    figure, axes = pyplot.subplots(2, len(kinds), figsize=(3.4 * len(kinds), 5.6), squeeze=False, layout="constrained")
    for column, kind in enumerate(kinds):
        rows = sorted((row for row in kept[kind] if "cpu" in row), key=lambda row: row["size"])
        size = np.array([row["size"] for row in rows], float)
        above, below = axes[:, column]
        step = np.array([row["wall" if kind == "threads" else "cpu"] for row in rows])
        above.loglog(size, 1e3 * step, "o-", label="wall time" if kind == "threads" else "CPU time")
        if kind != "threads":
            above.loglog(size, 1e3 * step[-1] * size / size[-1], ":", color="gray", label="in proportion")
        above.set_title(kind)
        above.legend(frameon=False, fontsize=8)
        below.semilogx(size, [1e3 * row["memory"] for row in rows], "s-", color="tab:orange")
        below.set_ylim(0.0, 1.15e3 * max(row["memory"] for row in rows))
        below.set_xlabel(kind)
        for axis in (above, below):
            axis.grid(alpha=0.3)
            axis.xaxis.set_major_formatter(in_full)
        above.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        above.yaxis.set_major_formatter(in_full)
        for axis in (above.xaxis, above.yaxis, below.xaxis):
            axis.set_minor_formatter(ticker.NullFormatter())
    axes[0, 0].set_ylabel("a step [ms]")
    axes[1, 0].set_ylabel("most memory held [MB]")
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(SIZES))
    parser.add_argument("--most", type=int, default=1_000_000, help="largest size that is run")
    parser.add_argument("--draw", action="store_true", help="only draw what is kept")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.point:
        return point(given.point[0], int(given.point[1]))
    kept: dict[str, list[dict]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if not given.draw:
        for kind in given.kinds.split(","):
            most = min(given.most, os.cpu_count() or 1) if kind == "threads" else given.most
            for size in (s for s in SIZES[kind] if s <= most):
                row = run(kind, size)
                kept[kind] = [old for old in kept.get(kind, []) if old["asked"] != size] + [row]
                print(kind, json.dumps(row), flush=True)
                KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    draw(kept)


if __name__ == "__main__":
    main()
