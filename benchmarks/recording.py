"""What recording costs: appending a frame, publishing the run file, bytes per node and frame.

    python benchmarks/recording.py [--nodes 50000] [--tets 88000] [--frames 60]

A frame holds points and velocity per node, von Mises stress and the inverted flag per tetrahedron, contact rows of
2 % of the nodes; every tenth frame is followed by a checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.record import vtkhdf
from pliant.record.runfile import Cells, Recorder, Run, human


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--tets", type=int, default=88_000)
    parser.add_argument("--frames", type=int, default=60)
    return parser.parse_args()


def record(path: Path, nodes: int, tets: int, frames: int) -> dict[str, np.ndarray | float]:
    """Record a run of noise; seconds of every call, with publishing apart."""
    rng = np.random.default_rng(0)
    publishing: list[float] = []
    publish = vtkhdf.publish

    def timed(*args):
        begin = time.perf_counter()
        done = publish(*args)
        publishing.append(time.perf_counter() - begin)
        return done

    vtkhdf.publish = timed
    recorder = Recorder(path, {"scene": "benchmark"}, every=0.01)
    recorder.topology(Cells(tets=rng.integers(0, nodes, (tets, 4)), body=np.zeros(tets)), nodes)
    appends, states, bytes_per_frame = [], [], []
    x, rows = rng.random((nodes, 3)), nodes // 50
    for i in range(frames):
        x = x + 1e-3
        contacts = {"depth": x[:rows, 0], "normal": x[:rows], "impulse": x[:rows], "point": x[:rows]}
        cells = {"von_mises": np.full(tets, float(i)), "inverted": np.zeros(tets, bool)}
        before, published, size = time.perf_counter(), sum(publishing), recorder.size
        recorder.frame(i * 0.01, i, x, {"velocity": x}, cells, contacts)
        appends.append(time.perf_counter() - before - (sum(publishing) - published))
        bytes_per_frame.append(recorder.size - size)
        if recorder.checkpoint_due:
            before = time.perf_counter()
            recorder.state(i * 0.01, i, {"x": x, "v": x, "memory": x[:rows]})
            states.append(time.perf_counter() - before)
    during = sum(publishing)
    recorder.close("finished")
    vtkhdf.publish = publish
    return {
        "append": np.array(appends),
        "state": np.array(states),
        "published during the run": during,
        "publications": len(publishing) - 1,
        "last publication": publishing[-1],
        "frame bytes": float(np.mean(bytes_per_frame)),
        "file bytes": path.with_suffix(".vtkhdf").stat().st_size,
    }


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        cost = record(path, options.nodes, options.tets, options.frames)
        begin = time.perf_counter()
        with Run.open(path) as run:
            opened = time.perf_counter() - begin
            begin = time.perf_counter()
            for i in range(run.frames):
                run.points(i)
            read = (time.perf_counter() - begin) / run.frames
    table = Table(title=f"recording {options.nodes} nodes, {options.tets} tetrahedra, {options.frames} frames")
    table.add_column("what")
    table.add_column("cost", justify="right")
    append = 1e3 * cost["append"]
    during = 1e3 * cost["published during the run"] / options.frames
    rows = {
        "append a frame, median": f"{np.median(append):.2f} ms",
        "append a frame, slowest": f"{append.max():.2f} ms",
        "append a checkpoint, median": f"{1e3 * np.median(cost['state']):.2f} ms",
        f"publishing during the run ({cost['publications']} times), per frame": f"{during:.2f} ms",
        "last publication, whole run": f"{1e3 * cost['last publication']:.0f} ms",
        "a frame in the journal": human(cost["frame bytes"]),
        "per node and frame in the journal": f"{cost['frame bytes'] / options.nodes:.1f} bytes",
        "run file": human(cost["file bytes"]),
        "per node and frame in the run file": f"{cost['file bytes'] / options.nodes / options.frames:.1f} bytes",
        "open the run file": f"{1e3 * opened:.1f} ms",
        "read the points of a frame": f"{1e3 * read:.2f} ms",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    Console().print(table)


if __name__ == "__main__":
    main()
