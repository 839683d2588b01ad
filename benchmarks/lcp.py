"""How fast is the elastic contact problem? Kernels, a foot, and many nodes; for regular grids see hertz_grid.py.

    python benchmarks/lcp.py [--threads 2] [--large 10000,20000]

Everything is one run on one machine; the best of three. CPU time stands beside wall time because a busy machine spoils the latter.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.base import Floats
from pliant.contact.elastic import (
    Boussinesq,
    VolumePreserving,
    assemble,
    blobs,
    compliance,
    displacement,
    elastic,
    solve,
)
from pliant.contact.elastic.contact_stiffness import hexagonal


def timed(work: Callable[[], object], repeat: int = 3) -> tuple[float, float]:
    """Best wall and CPU time [s]."""
    times = []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(t[0] for t in times), min(t[1] for t in times)


def sole(count: int = 14_000) -> tuple[Floats, float]:
    """Points of the underside of a foot, 25 cm long: heel, ball and toes, uneven; and the area of each."""
    random = np.random.default_rng(1)
    h = math.sqrt(0.25 * 0.10 / count)
    x, y = (a.ravel() + 0.1 * h * random.normal(size=a.size) for a in np.meshgrid(np.arange(0, 0.25, h), np.arange(-0.05, 0.05, h)))
    heel = ((x - 0.045) ** 2 + y**2) / (2 * 0.045)
    ball = ((x - 0.185) ** 2 / 4 + y**2) / (2 * 0.03) + 0.001
    toes = ((x - 0.235) ** 2 + (y - 0.02) ** 2) / (2 * 0.012) + 0.001
    z = np.minimum(heel, np.minimum(ball, toes))
    return np.column_stack([x, y, z])[z < 0.03], h * h


def foot(table: Table, depth: float) -> None:
    """Volume-preserving contact of nodes that overlap and a margin, then the displacement of all others near it."""
    points, area = sole()
    response = VolumePreserving(compliance(2e5, 0.45), 0.03)
    q = points[:, 2] - depth
    near = q < 0.3 * depth
    nodes, rest = blobs(points[near], area), blobs(points[~near], area)
    matrix = elastic(points[near], area, response)
    found = solve(matrix, q[near])
    loaded = np.ascontiguousarray(nodes[:, found.contact])
    parts = {
        "assemble": timed(lambda: elastic(points[near], area, response)),
        "solve": timed(lambda: solve(matrix, q[near])),
        "solve, warm": timed(lambda: solve(matrix, 1.02 * q[near], start=found.P)),
        "displace the rest": timed(lambda: displacement(rest, loaded, found.P[found.contact], response)),
    }
    together = [sum(parts[key][k] for key in ("assemble", "solve", "displace the rest")) for k in (0, 1)]
    counts = f"{len(points)} displaced, {np.count_nonzero(near)} in the problem, {np.count_nonzero(found.contact)} touch"
    name = f"foot, {depth * 1e3:.0f} mm: {counts}"
    table.add_row(name, f"{together[0] * 1e3:.0f}", f"{together[1] * 1e3:.0f}", f"bar 200 ms; {found.status}, {found.iterations} sets")
    for key, (wall, cpu) in parts.items():
        table.add_row(f"  {key}", f"{wall * 1e3:.0f}", f"{cpu * 1e3:.0f}", "")


def large(table: Table, count: int) -> None:
    """Hertz on scattered nodes, of which about half touch."""
    points, areas = hexagonal(math.sqrt(2 * math.pi * 2 / math.sqrt(3) / count), math.sqrt(2))
    q = np.sum(points**2, axis=1) / 20 - 0.1
    points, areas, q = points[q <= 0], areas[q <= 0], q[q <= 0]
    response = Boussinesq(1 / math.pi)
    build = timed(lambda: elastic(points, areas, response, dense_up_to=0), 1)
    K = elastic(points, areas, response, dense_up_to=0)
    force = np.ones(len(q))
    product = timed(lambda: K @ force)
    found = solve(K, q, method="conjugate-gradients", tolerance=1e-6)
    whole = timed(lambda: solve(K, q, method="conjugate-gradients", tolerance=1e-6), 1)
    error = np.sum(found.P) / (4 / 3 * math.sqrt(10) * 0.1**1.5) - 1
    memory = f"{K.bytes / 1e6:.0f} MB instead of {8e-6 * len(q) ** 2:.0f}"  # type: ignore[attr-defined]
    table.add_row(f"{len(q)} scattered nodes: build", f"{build[0] * 1e3:.0f}", f"{build[1] * 1e3:.0f}", memory)
    table.add_row("  product", f"{product[0] * 1e3:.1f}", f"{product[1] * 1e3:.1f}", f"error {K.error:.0e}")  # type: ignore[attr-defined]
    table.add_row("  solve to 1e-6", f"{whole[0] * 1e3:.0f}", f"{whole[1] * 1e3:.0f}", f"{found.iterations} iterations, force {error:+.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--large", default="10000,20000")
    given = parser.parse_args()
    os.environ["PLIANT_THREADS"] = str(given.threads)
    table = Table("what", "wall ms", "CPU ms", "", title=f"{given.threads} threads")
    points, area = sole()
    nodes = blobs(points[:3000], area)
    for response in (Boussinesq(1.0), VolumePreserving(1.0, 0.03)):
        assemble(nodes, response)
        wall, cpu = timed(lambda response=response: displacement(nodes, nodes, np.ones(3000), response))  # type: ignore[misc]
        table.add_row(f"9 M kernels, {type(response).__name__}", f"{wall * 1e3:.0f}", f"{cpu * 1e3:.0f}", f"{cpu / 9e-3:.1f} ns each")
    for depth in (0.003, 0.004, 0.006):
        foot(table, depth)
    for count in given.large.split(","):
        large(table, int(count))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
