"""What verifying costs of the time of reading: a journal and a run file, read as `view`, `export` and `report` do, and bare.

    python benchmarks/reading.py [--points 20000] [--frames 20]

A soft ball with a fine skin falls on the ground. Each way to read is taken in turn with and without the checksums, five times; the least
processor time of each counts. `bare` reads the points and fields of all frames and does nothing with them: the file is in memory, so that
this is a copy.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np

from pliant import Scene
from pliant.live.reel import Reel
from pliant.look.report import report
from pliant.record import Run
from pliant.record.export import export
from pliant.record.journal_files import rebuild
from pliant.simulate import running

TIMES = 5


def scene(points: int) -> Scene:
    """A soft ball whose skin has about so many points."""
    made = Scene(name="reading", dt=0.002, duration=0.04, contact="ground")
    made.add(name="ground", shape="plane", model="static")
    fine = {"kind": "ball", "radius": 0.1, "edge": 0.1 * float(np.sqrt(14.5 / points))}
    soft = {"youngs_modulus": 2e4, "poisson_ratio": 0.4, "mass_damping": 2.0}
    made.add(name="ball", shape={"kind": "ball", "radius": 0.101, "edge": 0.05}, skin=fine, position=(0, 0, 0.12), material=soft)
    return made


def bare(run: Run, folder: Path) -> None:
    for i in range(run.frames):
        for name in run.fields(i):
            run.field(name, i)
        run.points(i)


def view(run: Run, folder: Path) -> None:
    reel = Reel(run)
    reel.manifest()
    reel.topology(reel.words["topologies"][0])
    for i in range(run.frames):
        reel.frame(i, ["pressure"])


WAYS: dict[str, Callable[[Run, Path], object]] = {
    "bare": bare,
    "view, all frames": view,
    "export --to vtu": lambda run, folder: export(run, "vtu", folder / "out"),
    "report": lambda run, folder: report(run, folder / "out.html"),
}


def seconds(way: Callable[[Run, Path], object], path: Path, folder: Path) -> float:
    """Processor time of reading a run once."""
    begin = time.process_time()
    with Run.open(path) as run:
        way(run, folder)
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20000)
    parser.add_argument("--frames", type=int, default=20)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = scene(given.points)
        sim, recorder = running.start(made, folder / "run", every=made.duration / given.frames)
        path = running.run(sim, recorder).path
        (folder / "killed").mkdir()
        with Run.open(path) as run:
            rebuild([entry for entry in run.entries if entry.kind != "end"], folder / "killed" / "run.journal")
            print(f"{len(run.points(-1))} points, {run.frames} frames")
        for what, file in (("run file", path), ("journal", folder / "killed" / "run.journal")):
            for way, read in WAYS.items():
                spent: dict[bool, list[float]] = {True: [], False: []}
                for checked in [True, False] * TIMES:
                    with nullcontext() if checked else mock.patch("pliant.record.records.unspoilt", new=lambda array, spec: True):
                        spent[checked].append(seconds(read, file, folder))
                    shutil.rmtree(folder / "out", ignore_errors=True)
                with_sums, without = min(spent[True]), min(spent[False])
                print(f"{what}, {way}: {1e3 * with_sums:.1f} ms, {100 * (with_sums / without - 1):+.1f} % by verifying", flush=True)


if __name__ == "__main__":
    main()
