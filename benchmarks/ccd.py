"""Continuous collision tests side by side: pliant against ipctk's Additive and TightInclusion.

    python benchmarks/ccd.py [--points 40000] [--sample 2000] [--data ../shared/data/ccd]

Two parts, each on the same inputs for everyone:

* published queries with exact truth, one call per query for ipctk, one call per file for pliant: misses, false hits, error of
  the time of impact, queries per second;
* candidate pairs of two bumpy sheets that meet, or slide past each other, batched on both sides. ipctk's batch answers a smaller
  question, the least time of all pairs, and cuts later pairs short; pliant is measured on every pair and on the least time.

Wall times are the best of several runs; on a busy machine only the ratios of one run mean something.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from pliant.detect import edge_edge_toi, time_of_impact, vertex_face_toi

OURS = {"vf": vertex_face_toi, "ee": edge_edge_toi}
NAMES = {"vf": "vertex-face", "ee": "edge-edge"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40_000, help="points of each of the two meshes")
    parser.add_argument("--sample", type=int, default=2_000, help="queries per set for Additive, a tenth for TightInclusion")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "ccd")
    return parser.parse_args()


def seconds(call: Callable[[], Any], runs: int = 5) -> float:
    best = np.inf
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def with_threads(number: int) -> None:
    """Let pliant use so many threads."""
    os.environ["PLIANT_THREADS"] = str(number)


# published queries


def one_by_one(ccd: Any, kind: str, x0: np.ndarray, x1: np.ndarray) -> tuple[np.ndarray, float]:
    """Times of impact by ipctk, inf for none, and seconds."""
    call = ccd.point_triangle_ccd if kind == "vf" else ccd.edge_edge_ccd
    out = np.full(len(x0), np.inf)
    begin = time.perf_counter()
    for i in range(len(x0)):
        hit, t = call(*x0[i], *x1[i])
        if hit:
            out[i] = t
    return out, time.perf_counter() - begin


def add_row(table: Table, name: str, who: str, data: dict[str, np.ndarray], out: np.ndarray, took: float, reference: float) -> None:
    hit, truth, n = np.isfinite(out), data["truth"][: len(out)], len(out)
    error = "-"
    if "toi" in data:
        both = hit & truth
        error = f"{np.abs(out - data['toi'][:n])[both].max():.1e}" if both.any() else "-"
    table.add_row(
        name, who, str(n), str((truth & ~hit).sum()), str((hit & ~truth).sum()), error, f"{n / took:,.0f}", f"{took / n / reference:,.1f}"
    )


def published(console: Console, folder: Path, sample: int, ipctk: Any) -> None:
    sets: dict[tuple[str, str], list[dict[str, np.ndarray]]] = {}
    for file in sorted(folder.glob("*/*.npz")) + sorted(folder.glob("*/*/*.npz")):
        with np.load(file) as data:
            name = "handcrafted" if file.parent.name == "handcrafted" else file.parent.name
            sets.setdefault((name, str(data["kind"])), []).append({k: data[k] for k in data.files if k in ("x0", "x1", "truth", "toi")})
    if not sets:
        console.print(f"No published queries under {folder}: that part is left out.")
        return
    table = Table("set", "who", "queries", "missed", "false hits", "largest error of toi", "queries/s", "time / pliant")
    rng = np.random.default_rng(0)
    for (name, kind), parts in sets.items():
        data = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
        n = len(data["x0"])
        title = f"{name} {NAMES[kind]}"
        with_threads(1)
        took = seconds(lambda data=data, kind=kind: OURS[kind](data["x0"], data["x1"]), 2)
        out = OURS[kind](data["x0"], data["x1"])
        add_row(table, title, "pliant, 1 thread", data, out, took, took / n)
        if ipctk is not None:
            order = rng.permutation(n)
            for who, ccd, most in (
                ("ipctk Additive", ipctk.AdditiveCCD(), sample),
                ("ipctk TightInclusion", ipctk.TightInclusionCCD(), sample // 10),
            ):
                part = {k: v[order[:most]] for k, v in data.items()}
                add_row(table, title, who, part, *one_by_one(ccd, kind, part["x0"], part["x1"]), took / n)
    console.print(table)


# candidate pairs of meshes


def sheet(side: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A bumpy square sheet of side x side points at distance 1, and its triangles."""
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    x = np.column_stack([i.ravel(), j.ravel(), 0 * i.ravel()]) + rng.normal(size=(side * side, 3)) * [0.1, 0.1, 0.05]
    k = (i[:-1, :-1] * side + j[:-1, :-1]).ravel()
    return x, np.vstack([np.column_stack([k, k + side, k + 1]), np.column_stack([k + 1, k + side, k + side + 1])])


def near(start: np.ndarray, end: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pairs of features (rows of point numbers) of two bodies whose boxes over the step overlap, (n, 2)."""
    low_a, high_a, low_b, high_b = (
        fold(start, end, rows, f) for rows, f in ((a, np.min), (a, np.max), (b, np.min), (b, np.max))
    )
    centre_a, centre_b = 0.5 * (low_a + high_a), 0.5 * (low_b + high_b)
    reach = 0.5 * ((high_a - low_a).max() + (high_b - low_b).max()) * 3**0.5
    found = cKDTree(centre_b).query_ball_point(centre_a, reach)
    count = np.array([len(f) for f in found])
    i, j = np.repeat(np.arange(len(a)), count), np.concatenate([np.array(f, dtype=np.int64) for f in found])
    overlap = np.all((low_a[i] <= high_b[j]) & (low_b[j] <= high_a[i]), axis=1)
    return np.column_stack([i[overlap], j[overlap]])


def fold(start: np.ndarray, end: np.ndarray, rows: np.ndarray, f: Callable[..., np.ndarray]) -> np.ndarray:
    return f(np.concatenate([start[rows], end[rows]], axis=1), axis=1)


def scene(name: str, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of two sheets, askew in space: one sinks through the other or slides over it."""
    points = len(x)
    over = np.arange(2 * points) < points
    start = np.vstack([x + [0.3, 0.4, 0.5], x])
    motion = np.array([0.5, 0.3, -1.0 if name == "meeting" else 0.0])
    end = start + over[:, None] * motion + 0.05 * rng.normal(size=start.shape)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    return start @ turn, end @ turn


def meshes(console: Console, points: int, ipctk: Any) -> None:
    rng = np.random.default_rng(0)
    side = max(int(points**0.5), 4)
    x, faces = sheet(side, rng)
    points, count = len(x), len(faces)
    both = np.vstack([faces, faces + points])
    edges = np.unique(np.sort(np.vstack([both[:, [0, 1]], both[:, [1, 2]], both[:, [2, 0]]]), axis=1), axis=0)
    first, second = np.flatnonzero(edges[:, 0] < points), np.flatnonzero(edges[:, 0] >= points)
    numbers = np.arange(2 * points)[:, None]
    table = Table("scene", "pairs", "who", "threads", "hits", "close calls", "million queries/s", "time / pliant")
    for name in ("meeting", "passing close"):
        start, end = scene(name, x, rng)
        over = near(start, end, numbers[:points], both[count:]) + [0, count]
        under = near(start, end, numbers[points:], both[:count]) + [points, 0]
        vf, ee = np.vstack([over, under]), near(start, end, edges[first], edges[second])
        ee = np.column_stack([first[ee[:, 0]], second[ee[:, 1]]])
        corners = {"vf": np.column_stack([vf[:, 0], both[vf[:, 1]]]), "ee": np.column_stack([edges[ee[:, 0]], edges[ee[:, 1]]])}
        theirs: dict[str, Any] = {}
        if ipctk is not None:
            mesh = ipctk.CollisionMesh(start, edges.astype(np.int32), both.astype(np.int32))
            theirs = {"mesh": mesh, "vf": ipctk.Candidates(), "ee": ipctk.Candidates()}
            theirs["vf"].fv_candidates = [ipctk.FaceVertexCandidate(int(f), int(v)) for v, f in vf]
            theirs["ee"].ee_candidates = [ipctk.EdgeEdgeCandidate(int(i), int(j)) for i, j in ee]
        for kind in ("vf", "ee"):
            compare(table, name, kind, start, end, corners[kind], ipctk, theirs)
    console.print(table)


def compare(
    table: Table, name: str, kind: str, start: np.ndarray, end: np.ndarray, corners: np.ndarray, ipctk: Any, theirs: dict[str, Any]
) -> None:
    """Rows of one set of pairs: everyone with one and with two threads."""
    n, face = len(corners), kind == "vf"
    kernel = time_of_impact.vertex_face_times if face else time_of_impact.edge_edge_times
    raw = np.empty(n)
    title = f"{name}, {NAMES[kind]}", f"{n:,}"
    for threads in (1, 2):
        with_threads(threads)
        ours = seconds(lambda: time_of_impact.impact_times(start, end, corners, face), 7)
        hits = np.isfinite(time_of_impact.impact_times(start, end, corners, face)).sum()
        kernel(start, end, corners, 1.0, raw)
        table.add_row(*title, "pliant, every pair", str(threads), str(hits), str(np.isnan(raw).sum()), f"{n / ours / 1e6:.2f}", "1")
        rows = (corners, corners[:0]) if face else (corners[:0], corners)
        least = seconds(lambda rows=rows: time_of_impact.first_impact(start, end, *rows), 7)
        table.add_row(*title, "pliant, least time", str(threads), "-", "-", f"{n / least / 1e6:.2f}", f"{least / ours:.2f}")
        if ipctk is None:
            continue
        ipctk.set_num_threads(threads)
        for who, ccd in (("ipctk Additive", ipctk.AdditiveCCD()), ("ipctk TightInclusion", ipctk.TightInclusionCCD())):
            took = seconds(lambda ccd=ccd: theirs[kind].compute_collision_free_stepsize(theirs["mesh"], start, end, 0.0, ccd), 3)
            table.add_row(*title, who, str(threads), "-", "-", f"{n / took / 1e6:.2f}", f"{took / ours:.1f} / {took / least:.1f}")


def main() -> None:
    args, console = arguments(), Console()
    try:
        import ipctk

        ipctk.set_logger_level(ipctk.LoggerLevel.error)
    except ImportError:
        ipctk = None
        console.print("ipctk is not installed (pip install ipctk): only pliant is measured.")
    console.print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    none = np.zeros((1, 4, 3))
    for toi in OURS.values():
        toi(none, none + 1)  # compiles
    published(console, args.data, args.sample, ipctk)
    meshes(console, args.points, ipctk)


if __name__ == "__main__":
    main()
