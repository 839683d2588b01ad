"""What a study costs beyond the steps of its cases: 64 cases of a small scene on two workers, and 1000 cases of little in one process.

    python benchmarks/studies.py [cases] [workers]

Prints wall time over (cases x time of their steps) / workers, and the same in processor time, which depends less on who else is using
the machine; and for the many small cases the memory of the process at 100 and at all cases, and how often the table was written.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from pliant import Scene, Study

ROOT = Path(__file__).parents[1]


def spent(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def on_workers(cases: int, workers: int) -> None:
    """The gripper with steps of 0.5 ms: about two seconds of steps, as long as a program takes to start."""
    made = Study.load(ROOT / "examples" / "studies" / "gripper_map.toml")
    made.set = {"dt": "0.5ms"}
    grip, friction = made.parameters["grip"].paths, made.parameters["friction"].paths
    made.parameters = {"grip": {"values": [8.0], "paths": grip}, "friction": {"linear": [0.2, 0.6], "count": cases, "paths": friction}}
    scene = made.first_scene()
    assert scene is not None
    scene.simulate().run(until=0.01)  # loads kernels
    before = steps_of(scene)
    with tempfile.TemporaryDirectory() as folder:
        began, own, theirs = time.perf_counter(), spent(resource.RUSAGE_SELF), spent(resource.RUSAGE_CHILDREN)
        rows = made.run(folder, workers=workers, page=False).rows
        took = time.perf_counter() - began
        used = spent(resource.RUSAGE_SELF) - own + spent(resource.RUSAGE_CHILDREN) - theirs
    assert all(row["status"] == "finished" for row in rows)
    after = steps_of(scene)
    wall, steps = 0.5 * (before[0] + after[0]), 0.5 * (before[1] + after[1])
    print(f"{cases} cases on {workers} workers: {took:.1f} s; steps of one {wall:.2f} s (processor {before[1]:.2f} and {after[1]:.2f} s)")
    print(f"wall {took * workers / (cases * wall):.3f} of cases x steps / workers; processor {used / (cases * steps):.3f} of cases x steps")
    inside = sum(row["seconds"] for row in rows) / sum(row["stepping"] for row in rows)
    around = took * workers / sum(row["seconds"] for row in rows)
    print(f"cases took {inside:.3f} of their steps (building, guards, measures); all took {around:.3f} of the cases (start, waiting)")


def steps_of(scene: Scene) -> tuple[float, float]:
    """Wall and processor time of the steps of a scene, without anything around them [s]."""
    sim, began, before = scene.simulate(), time.perf_counter(), time.process_time()
    sim.run()
    return time.perf_counter() - began, time.process_time() - before


def many(cases: int) -> None:
    """A ball that falls for a few steps, so that what is around the cases shows."""
    scene = Scene(dt=0.01, duration=0.1, contact="none")
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1, "edge": 0.1}, model="rigid")
    measures = {"fall": {"of": "displacement", "body": "ball", "component": "z"}}
    made = Study(scene=scene, parameters={"gravity[2]": {"linear": [-10, 0], "count": cases}}, measures=measures)
    memory, written = {}, set()
    with tempfile.TemporaryDirectory() as folder:

        def look(progress: object) -> None:
            done = progress.done  # type: ignore[attr-defined]
            table = Path(folder) / "table.csv"
            written.add(table.stat().st_mtime_ns if table.exists() else 0)
            if done in (100, cases):
                memory[done] = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

        began = time.process_time()
        made.run(folder, workers=0, page=False, progress=look)
        each = (time.process_time() - began) / cases
    print(f"{cases} small cases: {1000 * each:.1f} ms each; memory {memory} MB; the table was written {len(written - {0})} times")


if __name__ == "__main__":
    many(1000)
    on_workers(int(sys.argv[1]) if len(sys.argv) > 1 else 64, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
