"""What do point surfaces cost? An egg of 50k points: building, and asking about 10k queries around it.

    python benchmarks/point_surface.py [--points 50000] [--queries 10000] [--repeat 5]

CPU time of one thread, medians; a busy machine spoils wall time. Queries lie within half a spacing of the surface, as contacts do.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.base import Floats
from pliant.detect.hash_grid import HashGrid
from pliant.detect.surfels.active import active_against_exact, active_samples
from pliant.detect.surfels.areas import estimated_areas, own_side, rims
from pliant.detect.surfels.clusters import Spheres
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_cloud
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.scan_normals import oriented, principal_normals
from pliant.detect.surfels.surface import PointSurface
from pliant.detect.surfels.winding import Moments


def egg(count: int) -> tuple[Floats, Floats]:
    """Points and outward normals of an ellipsoid with half axes 0.1, 0.08, 0.12 m, evenly spread."""
    i = np.arange(count) + 0.5
    polar, around = np.arccos(1 - 2 * i / count), np.pi * (1 + np.sqrt(5)) * i
    ball = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)
    axes = np.array([0.1, 0.08, 0.12])
    return ball * axes, (ball / axes) / np.linalg.norm(ball / axes, axis=1, keepdims=True)


def timed(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Median CPU time [s] and the result; the first call, which compiles, does not count."""
    result, cpu = run(), []
    for _ in range(repeat):
        begin = time.process_time()
        result = run()
        cpu.append(time.process_time() - begin)
    return statistics.median(cpu), result


def building(points: Floats, repeat: int) -> tuple[Table, PointSurface]:
    table = Table("building", "ms", title=f"{len(points)} points")

    def row(what: str, run: Callable[[], Any]) -> Any:
        seconds, result = timed(run, repeat)
        table.add_row(what, f"{1e3 * seconds:.1f}")
        return result

    tree = KDTree(points)
    row("k-d tree", lambda: KDTree(points).tree)
    row("grid", lambda: HashGrid(points))
    graph = row("52 nearest of each point", lambda: tree.nearest(points, 52)[1])
    normals, _ = row("principal axes", lambda: principal_normals(points, graph))
    rough = estimated_areas(own_side(points, np.ones_like(points), graph), graph)
    normals, _ = row("orientation", lambda: oriented(points, normals, graph, rough))
    areas = row("areas", lambda: estimated_areas(own_side(points, normals, graph), graph))
    row("rims", lambda: rims(points, normals, graph))
    spheres = row("tree of spheres", lambda: Spheres.build(points))
    row("spheres refitted", lambda: spheres.refitted(points))
    row("moments for winding numbers", lambda: Moments.of(spheres, points, normals, areas))
    return table, row("all of a raw scan (from_cloud)", lambda: from_cloud(points))


def asking(surface: PointSurface, queries: Floats, repeat: int) -> Table:
    table = Table("asking", "us per query", "iterations", title=f"{len(queries)} queries")

    def row(what: str, run: Callable[[], Any]) -> Any:
        seconds, result = timed(run, repeat)
        steps = f"{result.iterations.mean():.2f}" if hasattr(result, "iterations") else ""
        table.add_row(what, f"{1e6 * seconds / len(queries):.2f}", steps)
        return result

    grid = HashGrid(surface.points)
    row("nearest sample, k-d tree", lambda: surface.nearest(queries))
    row("nearest sample, grid", lambda: grid.nearest(queries, 1))
    first = row("project, mls", lambda: surface.project(queries))
    moved = queries + 0.1 * np.sqrt(surface.areas.mean()) * first.normals[:, [1, 2, 0]]
    row("project, mls, moved 0.1 spacing", lambda: surface.project(moved))
    row("the same from the last samples", lambda: surface.project(moved, start=first.sample))
    for step in ("simple", "almost orthogonal", "orthogonal"):
        row(f"project, aa, {step}", lambda step=step: surface.project(queries, "aa", step))
    row("signed distance, fast", lambda: surface.fast_distance(queries))
    row("signed distance", lambda: surface.signed_distance(queries))
    row("signed distance, 1.5 times as far out", lambda: surface.signed_distance(1.5 * queries))
    row("winding number, clusters", lambda: surface.winding(queries, 4.0))
    few = queries[:100]
    seconds, _ = timed(lambda: surface.winding(few, np.inf), 1)
    table.add_row("winding number, sample by sample", f"{1e6 * seconds / len(few):.2f}", "")
    return table


def touching(surface: PointSurface, repeat: int) -> Table:
    table = Table("touching", "active", "looked at", "us", title="active samples")
    low = surface.points[:, 2].min()
    for depth in (1e-5, 1e-4, 1e-3):
        shift = np.array([0.0, 0.0, -low - depth])
        seconds, found = timed(lambda shift=shift: active_against_exact(surface, Exact("plane"), translation=shift), repeat)
        table.add_row(f"plane, {1e3 * depth:g} mm deep", str(len(found.sample)), str(found.looked), f"{1e6 * seconds:.0f}")
        shift = np.array([0.0, 0.0, -2.0 * low - depth])
        seconds, found = timed(lambda shift=shift, depth=depth: active_samples(surface, surface, 4 * depth, translation=shift), repeat)
        table.add_row(f"another egg, {1e3 * depth:g} mm deep", str(len(found.sample)), str(found.looked), f"{1e6 * seconds:.0f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    os.environ["PLIANT_THREADS"] = "1"
    points, normals = egg(options.points)
    built, surface = building(points, options.repeat)
    pick = np.random.default_rng(0).integers(0, len(points), options.queries)
    depth = np.random.default_rng(1).uniform(-0.5, 0.5, (options.queries, 1)) * np.sqrt(surface.areas.mean())
    console = Console()
    for table in (built, asking(surface, points[pick] + depth * normals[pick], options.repeat), touching(surface, options.repeat)):
        console.print(table)


if __name__ == "__main__":
    main()
