"""What recording costs: as a share of the steps of a real world, and piece by piece.

    python benchmarks/recording.py [--integrators symplectic,implicit] [--tets 88000] [--frames 60] [--steps 100] [--parts] [--plain]

The world is a grid of soft balls that land on the ground, run once with explicit and once with implicit steps through the loop of
`pliant run` and its defaults, a frame every 4 steps. Recording is all that the loop does beside stepping: what it takes from every step
and its parts, fields and frames, tables, checkpoints, looking for what went wrong, publishing during the run and at its end. Wall time and
CPU time as parts of the steps; bytes per node and frame.

--parts: instead the recorder alone. A frame holds points and velocity per node, von Mises stress and the inverted flag per
tetrahedron, contact rows of 2 % of the nodes; every tenth frame is followed by a checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant import Scene
from pliant.record import vtkhdf
from pliant.record.runfile import Cells, Recorder, Run, human
from pliant.simulate import running


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--tets", type=int, default=88_000)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--steps", type=int, default=100, help="of the real world")
    parser.add_argument("--integrators", default="symplectic,implicit")
    parser.add_argument("--parts", action="store_true", help="measure the recorder alone")
    parser.add_argument("--plain", action="store_true", help="as before the third format: nothing deflated")
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


def balls(tets: int, integrator: str, dt: float, steps: int) -> Scene:
    """About so many tetrahedra in soft balls of 6860 just above the ground."""
    scene = Scene(name="balls", dt=dt, duration=steps * dt)
    scene.add(name="ground", shape="plane", model="static")
    radius = 0.1
    shape = dict(kind="ball", radius=radius, edge=0.01427)
    for i in range(max(1, round(tets / 6860))):
        at = (0.25 * (i % 4), 0.25 * (i // 4), radius + 1e-3)
        material = dict(youngs_modulus=5e4, stiffness_damping=0.002 if integrator == "implicit" else 0.0)
        scene.add(name=f"ball{i}", shape=shape, position=at, velocity=(0, 0, -1.0), integrator=integrator, material=material)
    return scene


def clocks() -> np.ndarray:
    """Wall time and CPU time [s]."""
    return np.array([time.perf_counter(), time.process_time()])


def share(tets: int, integrator: str, steps: int, folder: Path) -> dict[str, float]:
    """Run the world; what was done beside stepping."""
    dt = 0.004
    for warming in (True, False):
        sim, recorder = running.start(balls(tets, integrator, dt, 4 if warming else steps), folder / f"{integrator}{warming}", every=4 * dt)
        stepping = np.zeros(2)  # [s] wall and CPU
        step = sim.step

        def timed(dt, each, step=step, spent=stepping):  # type: ignore[no-untyped-def]
            def beside(report):  # type: ignore[no-untyped-def]
                began = clocks()
                each(report)
                spent[:] -= clocks() - began

            began = clocks()
            report = step(dt, each=beside)
            spent[:] += clocks() - began
            return report

        sim.step = timed  # type: ignore[method-assign]
        begin = clocks()
        outcome = running.run(sim, recorder)
        recording = clocks() - begin - stepping
    nodes, frames = len(sim.state.x), steps // 4 + 1
    return {
        "tets": sum(len(g.nodes) for g in sim.world.model.groups), "nodes": nodes, "contacts": outcome.max_contacts,
        "step": 1e3 * stepping[0] / steps, "recording": 1e3 * recording[0] / steps,
        "share": 100 * recording[0] / stepping[0], "cpu share": 100 * recording[1] / stepping[1],
        "bytes": outcome.path.stat().st_size / nodes / frames,
    }  # fmt: skip


def compare(options: argparse.Namespace) -> None:
    """The share of recording in two kinds of steps."""
    table = Table(
        "steps", "tets", "nodes", "contacts", "step (ms)", "recording (ms)", "of steps", "of their CPU time", "bytes per node and frame",
        title=f"recording in {options.steps} steps, a frame every 4",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for integrator in options.integrators.split(","):
            got = share(options.tets, integrator, options.steps, Path(folder))
            table.add_row(
                integrator, f"{got['tets']:.0f}", f"{got['nodes']:.0f}", f"{got['contacts']:.0f}", f"{got['step']:.1f}",
                f"{got['recording']:.2f}", f"{got['share']:.1f} %", f"{got['cpu share']:.1f} %", f"{got['bytes']:.0f}",
            )  # fmt: skip
    Console(width=140).print(table)


def main() -> None:
    options = arguments()
    if options.plain:
        publish = vtkhdf.publish
        vtkhdf.publish = lambda entries, path, patience=0.0, small=False: publish(entries, path, patience)
    parts(options) if options.parts else compare(options)


def parts(options: argparse.Namespace) -> None:
    """The recorder alone."""
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
