"""How fast are candidate pairs found? Two tori that pass through each other, about 80k triangles each, swept over a step.

    python benchmarks/broad_phase.py [--faces 80000] [--repeat 9]

Against ipctk (its broad phases), python-fcl and coal where they are installed, on the same input in the same run. Medians of wall time,
CPU time beside it because a busy machine spoils wall time; "x" is CPU time as a multiple of pliant's row on as many threads.
"Candidates" are all vertex-face and edge-edge pairs with overlapping swept boxes, self pairs included, sets compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.base import Floats, Ints
from pliant.detect.box_overlap import leaf_pairs, overlap, pairs_between, place_pairs
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.tree import LEAF, Tree
from pliant.detect.triangle_overlap import intersecting
from pliant.geometry.solids import torus
from pliant.kernels import parallel, prange, use_threads

ALL = np.array([[0, 0], [0, 1], [1, 1]])
BETWEEN = np.array([[0, 1]])
TURN = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])


def tori(faces: int) -> tuple[Floats, Floats, Ints, Ints]:
    """(start, end, faces, face_start) of two tori with about so many faces each."""
    one = torus(1.0, 0.4, float(np.sqrt(2 * 4 * np.pi**2 * 0.4 / faces))).surface()
    other = one.moved((0.2, 0.03, 0.01), TURN)
    start = np.concatenate([one.points, other.points])
    both = np.concatenate([one.faces, other.faces + len(one.points)])
    return start, start + 0.01 * np.sin(3 * start[:, ::-1]), both, np.array([0, len(one.faces), len(both)])


def timed(run: Callable[[], Any], repeat: int) -> tuple[float, float, Any]:
    """Median wall and CPU time [ms] and the result."""
    result, wall, cpu = run(), [], []
    for _ in range(repeat):
        w, c = time.perf_counter(), time.process_time()
        result = run()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return 1e3 * statistics.median(wall), 1e3 * statistics.median(cpu), result


def load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


class Rows:
    """A table whose last column is CPU time over that of pliant's last row."""

    def __init__(self, title: str) -> None:
        self.table = Table("what", "threads", "found", "wall ms", "CPU ms", "x", title=title)
        self.ours: dict[int, float] = {}

    def add(self, what: str, threads: int, found: Any, wall: float, cpu: float, ours: bool = False) -> None:
        if ours:
            self.ours[threads] = cpu
        ratio = cpu / self.ours.get(threads, self.ours[1])
        self.table.add_row(what, str(threads), str(found), f"{wall:.2f}", f"{cpu:.2f}", f"{ratio:.2f}")


def threads_to(count: int, *others: Any) -> None:
    os.environ["PLIANT_THREADS"] = str(count)
    for other in others:
        if other is not None:
            other.set_num_threads(count)


def candidates(scene: tuple[Floats, Floats, Ints, Ints], repeat: int) -> Table:
    start, end, faces, face_start = scene
    ipctk, rows = load("ipctk"), Rows(f"candidates of {len(faces)} swept faces, refit included")
    tree = FeatureTree.build(start, faces, face_start, end)
    for threads in (1, 2):
        threads_to(threads, ipctk)
        wall, cpu, found = timed(lambda: tree.candidates(start, end, ALL), repeat)
        rows.add("pliant", threads, f"{len(found.vertex_face)} + {len(found.edge_edge)}", wall, cpu, True)
        wall, cpu, between = timed(lambda: tree.candidates(start, end, BETWEEN), repeat)
        rows.add("pliant, between the two only", threads, f"{len(between.vertex_face)} + {len(between.edge_edge)}", wall, cpu)
        for name in ("LBVH", "BVH", "HashGrid", "SweepAndPrune") if ipctk else ():
            if not hasattr(ipctk, name) or (name == "SweepAndPrune" and len(faces) > 50_000):
                continue  # SweepAndPrune takes minutes
            broad = getattr(ipctk, name)()
            edges = tree.edges.corners.astype(np.int32)

            def run(broad: Any = broad, edges: Ints = edges) -> tuple[Any, Any]:
                broad.build(start, end, edges, faces.astype(np.int32), 0.0)
                return broad.detect_face_vertex_candidates(), broad.detect_edge_edge_candidates()

            wall, cpu, (vf, ee) = timed(run, min(repeat, 5))
            theirs = {(c.vertex_id, c.face_id) for c in vf}
            missing = len(set(map(tuple, found.vertex_face.tolist())) - theirs)
            rows.add(f"ipctk {name} ({missing} vf of ours missing)", threads, f"{len(vf)} + {len(ee)}", wall, cpu)
    return rows.table


def refits(scene: tuple[Floats, Floats, Ints, Ints], repeat: int) -> Table:
    start, end, faces, face_start = scene
    half, count = len(start) // 2, int(face_start[1])
    rows, coal = Rows(f"refit of {count} faces"), load("coal")
    tree = Tree.build(start[:half], faces[:count], face_start[:2], end[:half])
    for threads in (1, 2):
        threads_to(threads)
        wall, cpu, _ = timed(lambda: tree.refit(start[:half], end[:half]), repeat)
        rows.add("pliant, swept", threads, "", wall, cpu, True)
    wall, cpu, _ = timed(tree.rebuild, repeat)
    rows.add("pliant, rebuilt", 1, "", wall, cpu)
    if coal:
        model = coal_model(coal, start[:half], faces[:count])
        points = coal.StdVec_Vec3s()
        points.extend(list(start[:half]))

        def run() -> None:
            model.beginReplaceModel()
            model.replaceSubModel(points)
            model.endReplaceModel(True, True)

        wall, cpu, _ = timed(run, repeat)
        rows.add("coal, not swept", 1, "", wall, cpu)
    return rows.table


def coal_model(coal: Any, points: Floats, faces: Ints) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(points))
    model.addVertices(points)
    model.addTriangles(faces.astype(np.int32))
    model.endModel()
    return model


def triangles(scene: tuple[Floats, Floats, Ints, Ints], repeat: int) -> Table:
    start, _, faces, face_start = scene
    half, count = len(start) // 2, int(face_start[1])
    rows, tree = Rows(f"intersecting triangles of two surfaces of {count} faces, trees given"), Tree.build(start, faces, face_start)
    for threads in (1, 2):
        threads_to(threads)
        wall, cpu, found = timed(lambda: intersecting(tree, start, BETWEEN), repeat)
        rows.add("pliant", threads, len(found), wall, cpu, True)
    fcl, coal = load("fcl"), load("coal")
    if fcl:
        models = []
        for points in (start[:half], start[half:]):
            model = fcl.BVHModel()
            model.beginModel(len(points), count)
            model.addSubModel(points, faces[:count])
            model.endModel()
            models.append(fcl.CollisionObject(model, fcl.Transform()))
        request = fcl.CollisionRequest(num_max_contacts=10**6, enable_contact=True)

        def run_fcl() -> int:
            return fcl.collide(models[0], models[1], request, fcl.CollisionResult())

        wall, cpu, found = timed(run_fcl, repeat)
        rows.add("python-fcl", 1, found, wall, cpu)
    if coal:
        pair = [coal_model(coal, points, faces[:count]) for points in (start[:half], start[half:])]
        ask = coal.CollisionRequest()
        ask.num_max_contacts = 10**6

        def run_coal() -> int:
            result = coal.CollisionResult()
            coal.collide(pair[0], coal.Transform3s(), pair[1], coal.Transform3s(), ask, result)
            return result.numContacts()

        wall, cpu, found = timed(run_coal, repeat)
        rows.add("coal", 1, found, wall, cpu)
    return rows.table


def growth(most: int, repeat: int) -> Table:
    table = Table("faces", "refit ms", "pairs ms", "candidates ms", "found", "ns per n log2 n", title="growth, one thread, CPU time")
    threads_to(1)
    for faces in (most // 16, most // 4, most, 4 * most):
        start, end, both, face_start = tori(faces)
        tree = FeatureTree.build(start, both, face_start, end)
        refit = timed(lambda tree=tree, start=start, end=end: tree.tree.refit(start, end), repeat)[1]
        pairs = timed(lambda tree=tree: pairs_between(tree.tree, ALL), repeat)[1]
        _, cpu, found = timed(lambda tree=tree, start=start, end=end: tree.candidates(start, end, ALL), repeat)
        n, k = len(both), len(found.vertex_face) + len(found.edge_edge)
        table.add_row(*(f"{v}" for v in (n, f"{refit:.2f}", f"{pairs:.1f}", f"{cpu:.1f}", k, f"{1e6 * cpu / (n * np.log2(n)):.1f}")))
    return table


def variants(scene: tuple[Floats, Floats, Ints, Ints], repeat: int) -> Table:
    """Arity, order of the primitives, and both trees descended together against every leaf asking on its own."""
    start, end, faces, face_start = scene
    table = Table("order", "arity", "leaf pairs", "together ms", "each leaf ms", "between: together", "each leaf", "all pairs ms")
    table.title = "ways to walk, one thread, CPU time"
    threads_to(1)
    for order in ("median", "Morton"):
        for arity in (2, 4, 8):
            tree = Tree.build(start, faces, face_start, end, arity=arity)
            if order == "Morton":
                reorder(tree, morton(0.5 * (tree.box_low + tree.box_high), face_start))
            cells: list[str] = []
            for bodies in (ALL, BETWEEN):
                together = timed(lambda tree=tree, bodies=bodies: leaf_pairs(tree, *bodies.T), repeat)
                alone = timed(lambda tree=tree, bodies=bodies: each_leaf(tree, bodies), repeat)
                assert len(together[2]) == alone[2]
                cells += [f"{together[1]:.2f}", f"{alone[1]:.2f}"]
            found = len(leaf_pairs(tree, *ALL.T))
            every = timed(lambda tree=tree: place_pairs(tree, ALL, True), repeat)[1]
            table.add_row(order, str(arity), str(found), *cells, f"{every:.1f}")
    return table


def reorder(tree: Tree, place: Ints) -> None:
    for name in ("order", "corners", "box_low", "box_high"):
        setattr(tree, name, getattr(tree, name)[place])
    tree._refit_nodes()


def morton(centre: Floats, start: Ints) -> Ints:
    """Order along a Morton curve through each body's box, 20 bits an axis."""
    order = np.empty(len(centre), np.int64)
    for a, b in zip(start[:-1], start[1:], strict=True):
        x = centre[a:b] - centre[a:b].min(axis=0)
        cell, code = (x / x.max() * (2**20 - 1)).astype(np.int64), np.zeros(b - a, np.int64)
        for bit in range(20):
            for axis in range(3):
                code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
        order[a:b] = a + np.argsort(code, kind="stable")
    return order


def each_leaf(tree: Tree, bodies: Ints) -> int:
    """How many pairs of leaves overlap, every leaf walking the other tree from its root (counted only, nothing is stored)."""
    total = 0
    size = np.searchsorted(tree.first[: tree.level[1]], tree.start)
    use_threads(len(tree.order))
    for a, b in bodies:
        count = np.zeros(size[a + 1] - size[a], np.int64)
        _each_leaf(size[a], tree.root[b], a == b, tree.level, tree.first, tree.count, tree.low, tree.high, count)
        total += int(count.sum())
    return total


@parallel
def _each_leaf(begin, root, same, level, first, count, low, high, found):  # type: ignore[no-untyped-def]
    for chunk in prange((len(found) + 255) // 256):
        stack = np.empty(256, np.int64)
        for k in range(256 * chunk, min(256 * chunk + 256, len(found))):
            leaf = begin + k
            stack[0], top = root, int(overlap(low, high, leaf, root))
            while top > 0:
                top -= 1
                node = stack[top]
                if node < level[1]:
                    found[k] += not same or node >= leaf
                    continue
                for child in range(first[node], first[node] + count[node]):
                    stack[top] = child
                    top += overlap(low, high, leaf, child)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faces", type=int, default=80_000)
    parser.add_argument("--repeat", type=int, default=9)
    given = parser.parse_args()
    console, scene = Console(width=140), tori(given.faces)
    console.print(f"{len(scene[2])} faces, leaves of {LEAF}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for make in (refits, triangles, candidates, variants):
        console.print(make(scene, given.repeat))
    console.print(growth(given.faces, given.repeat))


if __name__ == "__main__":
    main()
