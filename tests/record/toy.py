"""A run without physics: everything follows from the frame number and a state, so that runs can be compared.

As a program (`python toy.py PATH FRAMES [MOMENT NUMBER FRACTION]`) it records or resumes a run and says after each
record how many there are; with a moment it kills itself there.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pliant.base import PliantError
from pliant.record import runfile, vtkhdf
from pliant.record.reopen import resume_writer
from pliant.record.runfile import Cells, Recorder

runfile.PAUSE = 0.0  # publish as often as the journal grows, however quick the toy is

HEADER = {"scene": 'name = "toy"\n', "seed": 3, "created": "2024-01-01T00:00:00+00:00"}
STEPS = 3  # steps per frame


def cells(epoch: int, scale: int = 1) -> tuple[Cells, int]:
    """What is drawn in an epoch: another number of points, cells and bodies each time."""
    rng = np.random.default_rng(100 + epoch)
    points = int(rng.integers(12, 12 + 40 * scale))
    t, q, f, s = rng.integers(0, 10 * scale, 4)
    bodies = {int(i): f"body {i}" for i in range(epoch, epoch + 1 + int(rng.integers(0, 4)))}
    body = rng.choice(list(bodies), t + q + f + s)
    pick = lambda *shape: rng.integers(0, points, shape)
    parents = {epoch: epoch - 1} if epoch else {}
    return Cells(pick(t, 4), pick(q, 10), pick(f, 3), pick(s), body, bodies, parents), points


def frame(recorder: Recorder, i: int, x: np.ndarray, drawn: Cells, points: int) -> None:
    """Record a frame whose fields come and go."""
    rng = np.random.default_rng([i, int(x[0] * 2**40)])
    point_fields = {"velocity": rng.random((points, 3)), "stress": rng.random((points, 3, 3))}
    if i % 4 >= 2:
        point_fields["heat"] = rng.random(points).astype(np.float32)
    cell_fields = {"von Mises": rng.random(drawn.count), "inverted": rng.random(drawn.count) < 0.5}
    if i % 5 == 4:
        cell_fields["damage"] = rng.integers(0, 9, drawn.count)
    rows = int(rng.integers(0, 9))
    contacts = {"depth": rng.random(rows), "normal": rng.random((rows, 3)), "offsets": np.arange(rows + 1)}
    shown = rng.random((points, 3)) if i % 3 == 1 else None
    recorder.frame(i * 0.1, i * STEPS, rng.random((points, 3)), point_fields, cell_fields, contacts, shown)


def play(
    path: Path, frames: int, scale: int = 1, stop: int | None = None, watch: Callable[[Recorder], None] | None = None
) -> Recorder:
    """Record frames 0..frames-1, going on from what is there; `stop` leaves the run open after that many frames."""
    try:
        recorder, checkpoint = resume_writer(path)
        x, begin = checkpoint.arrays["x"], checkpoint.meta["frame"] + 1
    except PliantError:
        recorder = Recorder(path, HEADER, every=0.1, checkpoint_every=4, overwrite=True)
        x, begin = np.full(50, 0.3), 0
        recorder.model({"mass": np.arange(5.0)}, {"epoch": 0})
    if watch is not None:
        watch(recorder)
    for i in range(begin, frames):
        if i == stop:
            return recorder
        drawn, points = cells(i // 3, scale)
        if i % 3 == 0 or i == begin:
            recorder.topology(drawn, points)
        for k in range(STEPS):
            x = 3.9 * x * (1.0 - x)  # chaotic: a single lost bit shows
            pairs = {"a": np.arange(k), "force": np.full((k, 3), x[0])} if k else None
            recorder.step({"dt": 0.1 / STEPS, "energy": x[0], "momentum": x[:3], "contacts": i + k}, pairs)
        frame(recorder, i, x, drawn, points)
        if recorder.checkpoint_due:
            recorder.state(i * 0.1, i * STEPS, {"x": x, "memory": np.arange(i), "name": np.array(["é"])}, {"frame": i})
    recorder.close("finished", "done")
    return recorder


def tell(recorder: Recorder) -> None:
    """Print the number of records after each one that is written."""
    append = recorder._writer.append

    def told(*args):
        entry = append(*args)
        print(len(recorder._writer.entries), flush=True)
        return entry

    recorder._writer.append = told
    print(len(recorder._writer.entries), flush=True)


def ambush(recorder: Recorder, moment: str, number: int, fraction: float) -> None:
    """Kill this process at a moment that chance would seldom meet."""
    count = itertools.count(1)
    die = lambda: os.kill(os.getpid(), signal.SIGKILL)
    if moment == "write":  # a part of the number-th record from here is written
        file = recorder._writer._file
        write = recorder._writer._write

        def partly(buffer):
            if next(count) == number:
                kept = len(buffer) if fraction == 1 else min(len(buffer) - 1, math.ceil(fraction * len(buffer)))
                file.write(memoryview(buffer)[:kept])
                die()
            write(buffer)

        recorder._writer._write = partly
    else:  # the number-th temporary is complete and not yet, or just, in its place
        take_place = vtkhdf._take_place

        def killed(*args):
            last = next(count) == number
            if not (last and moment == "before"):
                take_place(*args)
            if last:
                die()

        vtkhdf._take_place = killed


def main(path: str, frames: str, moment: str = "", number: str = "0", fraction: str = "0") -> None:
    """Record a run, telling; `moment` kills it."""

    def watch(recorder: Recorder) -> None:
        if moment:
            ambush(recorder, moment, int(number), float(fraction))
        tell(recorder)

    play(Path(path), int(frames), scale=40, watch=watch)


if __name__ == "__main__":
    main(*sys.argv[1:])
