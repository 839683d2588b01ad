"""How fast is the contact of two quasi-rigid objects? A foot on a plane, and a head that touches with 40 to 100 nodes.

    python benchmarks/press.py [--threads 2]

CPU time of all threads stands beside wall time, because a busy machine spoils the latter; best of five. Set-up (neighbours, spheres,
levels, all built once for an object) is on lines of its own. The paper: foot 952 ms, head 20 to 200 ms.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.contact.elastic import Boussinesq, Side, VolumePreserving, compliance, deformed, resolve
from pliant.contact.elastic.coarse_to_fine import coarser, levels_of
from pliant.detect.surfels import Exact, from_mesh
from pliant.geometry.shapes import make
from pliant.shop.reproduce.pauly.static import divided

DOWN = np.array([0.0, 0.0, -1.0])


def timed(work: Callable[[], object], repeat: int = 5) -> tuple[float, float]:
    """Best wall and CPU time [ms]."""
    times = []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return 1e3 * min(t[0] for t in times), 1e3 * min(t[1] for t in times)


def set_up(table: Table, name: str, side: Side, other: Side) -> None:
    """Everything that is built once."""

    def build() -> None:
        resolve(side, other, level=levels_of(side, other) - 1)
        for level in range(levels_of(side, other)):
            nodes = coarser(side, level).nodes
            assert nodes is not None
            _ = nodes.graph, nodes.spheres, nodes.reach, nodes.rim

    wall, cpu = timed(build, 1)
    table.add_row(f"{name}: set-up", f"{wall:.0f}", f"{cpu:.0f}", "")


def row(table: Table, name: str, work: Callable[[], object], note: str) -> None:
    wall, cpu = timed(work)
    table.add_row(name, f"{wall:.1f}", f"{cpu:.1f}", note)


def foot(table: Table) -> None:
    """Volume preserving, on a plane; then every sample within 4 b displaced. The sole of this foot is flat: thousands of samples touch."""
    surface = from_mesh(divided(make("foot", edge=0.012).surface(), 55_000))
    response = VolumePreserving(compliance(2e5, 0.49), 0.007)
    plane = Side(Exact("plane"))
    side = Side(surface, response, translation=np.array([0.0, 0.0, -float(surface.points[:, 2].min()) - 0.001]))
    set_up(table, f"foot of {len(surface)} points", side, plane)
    fine = resolve(side, plane)
    deeper = side.moved(np.eye(3), np.zeros(3), 0.02e-3 * DOWN)
    climbed = resolve(side, plane, accuracy=0.02)
    note = f"stops at level {climbed.level}, force {100 * (climbed.force / fine.force - 1):+.1f} %; bar 200 ms"
    row(table, "  coarse to fine until 2 %, and displace", lambda: deformed(side, resolve(side, plane, accuracy=0.02), 0), note)
    for rung in climbed.levels:
        table.add_row(
            f"    {rung.nodes} nodes", "", f"{1e3 * rung.seconds:.1f}",
            f"{rung.active} active, {rung.touching} touch, force {100 * (rung.force / fine.force - 1):+.1f} %, "
            f"change {100 * rung.change:.1f} %",
        )  # fmt: skip
    for level in (3, 2, 1, 0):
        found = resolve(side, plane, level=level)
        moved = np.count_nonzero(np.abs(deformed(side, found, 0)[1]) > 1e-6)
        error = f"force {100 * (found.force / fine.force - 1):+.1f} %"
        counts = f"{len(found.P)} in the problem, {np.count_nonzero(found.contact)} touch, {found.enlarged} enlarged, {error}"
        row(table, f"  level {level}: resolve", lambda k=level: resolve(side, plane, level=k), counts)  # type: ignore[misc]
        note = f"{moved} displaced; bar 200 ms"
        row(table, "    and displace", lambda k=level: deformed(side, resolve(side, plane, level=k), 0), note)  # type: ignore[misc]
        cold, warm = resolve(deeper, plane, level=level), resolve(deeper, plane, level=level, start=found)
        note = f"{warm.iterations} iterations instead of {cold.iterations}"
        row(table, "    2 % deeper, warm", lambda k=level, f=found: resolve(deeper, plane, level=k, start=f), note)  # type: ignore[misc]


def head(table: Table) -> None:
    """Two heads nose to nose, and one on a plane: level by level, and from coarse to fine."""
    surface = from_mesh(divided(make("bust").surface(), 50_000))
    response = Boussinesq(compliance(1e6, 0.3))
    front = float(surface.points[:, 0].max())
    about = np.diag([-1.0, -1.0, 1.0])
    one = Side(surface, response)
    two = Side(surface, response, rotation=about, translation=np.array([2.0 * front - 0.012, 0.0, 0.0]))
    wall = Side(Exact("plane"), rotation=np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    wall = wall.moved(np.eye(3), np.zeros(3), np.array([front - 0.006, 0.0, 0.0]))
    for name, other in (("head on plane", wall), ("head on head", two)):
        set_up(table, f"{name}, {len(surface)} points", one, other)
        fine = resolve(one, other)
        for level in range(levels_of(one, other) - 1, -1, -1):
            found = resolve(one, other, level=level)
            error = f"force {100 * (found.force / fine.force - 1):+.1f} %"
            note = f"{len(found.P)} active, {np.count_nonzero(found.contact)} touch, {found.rounds} rounds, {error}"
            row(table, f"  level {level}", lambda b=other, k=level: resolve(one, b, level=k), note)  # type: ignore[misc]
        row(table, "  coarse to fine until 2 %", lambda b=other: resolve(one, b, accuracy=0.02), "")  # type: ignore[misc]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--threads", type=int, default=2)
    os.environ["PLIANT_THREADS"] = str(asked.parse_args().threads)
    table = Table("", "wall ms", "CPU ms", "", box=None)
    foot(table)
    head(table)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
