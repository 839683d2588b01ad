"""Long and large: what grows, and how much memory there must be.

    python benchmarks/endurance.py pile [--steps 200000] [--method noniterative] [--soft]
    python benchmarks/endurance.py tets [--count 1000000]
    python benchmarks/endurance.py bodies [--count 2000]
    python benchmarks/endurance.py file [--gigabytes 10]
    python benchmarks/endurance.py cost

pile: three rigid or soft boxes at rest on each other, recorded as `pliant run` does; every 5000 steps the force on the ground, how far
that of any contact is from what it was after the first 5000, as a share of the weight, the memory of the process and the CPU time of a
step. tets: one soft box on the ground, 10 implicit steps, recorded. bodies: rigid boxes on a grid that land on the ground, 10 steps.
file: a run file of so many gigabytes is written, then looked at as `info`, `view` and `report` do: time, memory and bytes that were read.
cost: what `pliant run` expects of scenes before it asks, beside what they take. Each mode prints the most memory that was held [GB].
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from pliant import Scene, asking
from pliant.record import filters, vtkhdf
from pliant.record.records import checksum
from pliant.record.run import Run
from pliant.simulate import guards, running

BLOCK = 5000  # steps between two lines of the pile
TOUCHING = [("left", "ground"), ("right", "ground"), ("top", "left"), ("top", "right")]  # of the pile


def held() -> float:
    """Memory of this process now [MB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def most() -> float:
    """Most memory that this process has held [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


# ---- a resting pile


def pile_scene(method: str = "noniterative", steps: int = 200_000, soft: bool = False) -> Scene:
    """Two boxes side by side and one across both; each ground contact carries a box and a half."""
    model = {"material": {"youngs_modulus": 1e5, "stiffness_damping": 0.01}, "integrator": "implicit"} if soft else {"model": "rigid"}
    scene = Scene(dt=0.004, duration=0.004 * steps, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    brick = {"kind": "box", "size": (0.1, 0.1, 0.05), "edge": 0.1}
    scene.add(name="left", shape=brick, position=(-0.06, 0, 0.025), friction=0.5, **model)
    scene.add(name="right", shape=brick, position=(0.06, 0, 0.025), friction=0.5, **model)
    scene.add(name="top", shape=brick | {"size": (0.16, 0.1, 0.05)}, position=(0, 0, 0.075), friction=0.5, **model)
    return scene


def pile(steps: int, method: str, soft: bool = False, block: int = BLOCK) -> tuple[list[np.ndarray], list[float], list[float]]:
    """Forces of the contacts [N], memory [MB] and CPU seconds of a step of each block."""
    force: list[np.ndarray] = []
    memory: list[float] = []
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        sim, recorder = running.start(pile_scene(method, steps, soft), Path(folder) / "pile", every=0.004 * steps / 200)
        begun = [0, time.process_time()]

        def watch(report) -> None:
            begun[0] += 1
            if begun[0] % block:
                return
            force.append(np.array([sim.contacts(*pair).total_force for pair in TOUCHING]))
            carried = float(force[-1][:2, 2].sum())
            drift = float(np.abs(force[-1] - force[0]).max()) / carried
            memory.append(held())
            seconds.append((time.process_time() - begun[1]) / block)
            begun[1] = time.process_time()
            kept = f"{memory[-1]:.1f} MB, {1e3 * seconds[-1]:.2f} ms a step"
            print(f"{begun[0]:7d} steps: {carried:.9f} N, no contact differs by more than {drift:.1e}; {kept}", flush=True)

        outcome = running.run(sim, recorder, watch=watch)
        print(f"{outcome.status}; run file {outcome.path.stat().st_size / 1e6:.1f} MB")
    return force, memory, seconds


# ---- large worlds


def stepped(scene: Scene, steps: int = 10) -> Run:
    """Build, step and record, with a line for each."""
    begin = time.process_time()
    folder = Path(tempfile.mkdtemp())
    sim, recorder = running.start(scene, folder / "large", every=5 * scene.dt)
    elements = sum(len(group.nodes) for group in sim.world.model.groups)
    built = f"{len(sim.world.model.bodies)} bodies, {elements} elements built"
    print(f"{built}: {time.process_time() - begin:.0f} CPU s, {most():.2f} GB", flush=True)
    begin = time.process_time()
    outcome = running.run(sim, recorder)
    spent = time.process_time() - begin
    print(f"{outcome.status} {outcome.message}: {outcome.steps} steps and 3 frames, {spent:.0f} CPU s, {most():.2f} GB", flush=True)
    print("\n".join(outcome.notes[:5]))
    run = Run.open(outcome.path)
    print(f"{outcome.path.stat().st_size / 1e6:.0f} MB on disk, {run.frames} frames; {sim.report.max_depth:.2e} m deep at the end")
    return run


def tets(count: int) -> Scene:
    """A box of at least so many tetrahedra that lands on the ground: five in each cell."""
    cells = int(np.ceil((count / 5) ** (1 / 3)))
    scene = Scene(dt=0.002, duration=0.02, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    material = {"youngs_modulus": 1e5, "poisson_ratio": 0.3, "density": 1000.0, "stiffness_damping": 0.002}
    shape = {"kind": "box", "size": (1.0, 1.0, 1.0), "edge": 1.0 / cells}
    scene.add(name="block", shape=shape, position=(0, 0, 0.5005), velocity=(0, 0, -0.5), material=material, integrator="implicit")
    return scene


def bodies(count: int, method: str) -> Scene:
    """Rigid boxes in layers of a grid, turned at random, just above each other."""
    rng = np.random.default_rng(0)
    scene = Scene(dt=0.004, duration=0.04, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.4)
    across = max(1, round((count / 4) ** 0.5))
    for k in range(count):
        layer, rest = divmod(k, across * across)
        x, y = divmod(rest, across)
        turn = (0.0, 0.0, float(rng.uniform(-20, 20)))
        scene.add(name=f"box {k}", shape={"kind": "box", "size": (0.1, 0.1, 0.1), "edge": 0.1}, model="rigid", friction=0.4,
                  position=(0.14 * x, 0.14 * y, 0.0505 + 0.101 * layer), rotation=turn)  # fmt: skip
    return scene


# ---- a large file


def large_file(source: Path, path: Path, size: float) -> None:
    """A run file of so many bytes: the frames of another one, again and again."""
    kept: dict[tuple[int, int], bytes] = {}

    def once(array: np.ndarray) -> bytes:
        """What is the same as before is not deflated again: this is about reading."""
        key = array.nbytes, checksum(array)
        if key not in kept:
            kept[key] = deflated(array)
        return kept[key]

    filters.deflated, deflated = once, filters.deflated
    with Run.open(source) as run:
        around = [entry for entry in run.entries if entry.kind not in ("frame", "end", "state")]
        frames = [entry for entry in run.entries if entry.kind == "frame"]
        held = {id(frame): frame.record().arrays for frame in frames}
        topology = next(i for i, entry in enumerate(around) if entry.kind == "topology")
        count = 20  # first a few, to see how large they are
        while True:
            entries = list(around)
            for i in range(count):
                frame = frames[i % len(frames)]
                meta = {**frame.meta, "time": 0.01 * i, "step": i, "topology": topology}
                meta.pop("same", None)
                entries.append(replace(frame, meta=meta, read=held[id(frame)].__getitem__))
            entries = [replace(entry, number=i) for i, entry in enumerate(entries)]
            reason = vtkhdf.publish(entries, path, small=True)
            assert not reason, reason
            if count > 20:
                return
            count = int(size / path.stat().st_size * count) + 21


LOOKS = {
    "info": "from pliant.cli.terminal import run_facts; print(run_facts(path)['frames'], 'frames')",
    "frame": "run = Run.open(path); run.points(run.frames // 2)",
    "view": "from pliant.live.reel import Reel; reel = Reel(Run.open(path)); reel.manifest(); reel.topology(reel.words['topologies'][0]); "
            "[reel.frame(i, []) for i in range(5)]",
    "report": "from pliant.look.report import report; report(Run.open(path), path.with_suffix('.html'))",
}  # fmt: skip


def look(path: Path) -> None:
    """Each way to look at it, in a process of its own: CPU seconds, most memory, and bytes that were read of the file."""
    begin = "from pathlib import Path; import resource, sys, time; from pliant.record import Run; path = Path(sys.argv[1]); "
    end = (
        "; used = resource.getrusage(resource.RUSAGE_SELF); words = Path('/proc/self/io').read_text().split(); "
        "print(f'{time.process_time():.1f} CPU s, {used.ru_maxrss * 1024 / 1e9:.2f} GB of memory, {int(words[1]) / 1e9:.2f} GB read')"
    )
    for name, code in LOOKS.items():
        print(f"{name}: ", end="", flush=True)
        subprocess.run([sys.executable, "-c", begin + code + end, path], check=False)


# ---- what is expected of a run before it begins


def explicit() -> Scene:
    """A stiff soft ball falls in explicit steps, each of them divided."""
    scene = Scene(dt=0.001, duration=0.03, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    ball = {"kind": "ball", "radius": 0.1, "edge": 0.012}
    scene.add(name="ball", shape=ball, position=(0, 0, 0.1001), integrator="symplectic", material={"youngs_modulus": 1e6})
    return scene


def soft(method: str) -> Scene:
    """A box of 5,000 tetrahedra that lands on the ground."""
    scene = tets(5000)
    scene.contact = method
    return scene


COSTS = {
    "three rigid boxes, noniterative": (lambda: pile_scene("noniterative"), 200),
    "three rigid boxes, auto": (lambda: pile_scene("auto"), 100),
    "a soft box, implicit": (lambda: tets(20_000), 5),
    "a soft ball, explicit": (explicit, 10),
    "a soft box, auto": (lambda: soft("auto"), 5),
    "500 rigid boxes": (lambda: bodies(500, "noniterative"), 10),
}


def cost() -> None:
    """Each scene in a process of its own, so that none takes the memory that another one has left."""
    for name, (make, steps) in COSTS.items():
        pid = os.fork()
        if pid == 0:
            expected_and_taken(name, make(), steps)
            os._exit(0)
        os.waitpid(pid, 0)


def expected_and_taken(name: str, scene: Scene, steps: int) -> None:
    """Processor time of a step, all its parts, and memory."""
    before = held()
    sim = scene.simulate()
    sim.step()  # loads kernels
    begin = time.process_time()
    for _ in range(steps):
        sim.step()
    taken = (time.process_time() - begin) / steps
    elements = sum(counts := guards.elements_of(sim.world))
    expected = sim.parts * asking.step_seconds(*counts, len(sim.world.model.bodies))
    line = f"{name}: {elements} elements, {sim.parts} parts: expected {1e3 * expected:.1f} ms a step, taken {1e3 * taken:.1f}"
    memory = f"; expected {elements * asking.TET_BYTES / 1e6:.0f} MB, taken {held() - before:.0f} with kernels"
    print(f"{line}, {expected / taken:.2f} times{memory}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["pile", "tets", "bodies", "file", "cost"])
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--method", default="noniterative")
    parser.add_argument("--soft", action="store_true", help="boxes of the pile are soft")
    parser.add_argument("--count", type=int, default=0, help="tetrahedra or bodies")
    parser.add_argument("--gigabytes", type=float, default=10.0)
    given = parser.parse_args()
    if given.mode == "pile":
        pile(given.steps, given.method, given.soft)
    elif given.mode == "tets":
        stepped(tets(given.count or 1_000_000))
    elif given.mode == "bodies":
        stepped(bodies(given.count or 2000, given.method))
    elif given.mode == "cost":
        cost()
    else:
        with tempfile.TemporaryDirectory() as folder:
            large, begin = Path(folder) / "large.vtkhdf", time.process_time()
            with stepped(tets(given.count or 200_000)) as run:
                large_file(run.path, large, given.gigabytes * 1e9)
            print(f"{large.stat().st_size / 1e9:.2f} GB written: {time.process_time() - begin:.0f} CPU s")
            look(large)
    print(f"most memory: {most():.2f} GB")


if __name__ == "__main__":
    main()
