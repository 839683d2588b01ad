"""How fast are internal forces? About 88k tetrahedra, against the assembled stiffness matrix times a vector in SciPy.

    python benchmarks/forces.py [--cells 26 26 26] [--repeat 31]

Everything is measured in one run, medians; "x CSR" is wall time as a multiple of the matrix-vector product (one thread,
float64, 32-bit indices) of the linear elements. CPU time stands beside it because a busy machine spoils wall time. Rows
are forces summed to nodes; "K" is the stiffness blocks; "B/tet" is what an element keeps in bytes, "thr" threads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numba
import numpy as np
import scipy.sparse as sparse
from rich.console import Console
from rich.table import Table

from pliant.bodies.materials import lame
from pliant.bodies.stable import block_matrix
from pliant.bodies.tet4 import Tet4
from pliant.bodies.tet10 import Tet10
from pliant.bodies.tets import Tets
from pliant.geometry.mesh import TET_EDGES, Floats, Ints
from pliant.kernels import parallel, prange

LAWS = ("corotated", "linear", "stvk", "neo-hookean")


def box(nx: int, ny: int, nz: int) -> tuple[Floats, Ints]:
    """Five tetrahedra per cell, mirrored in every other cell so that faces match."""
    axes = [np.arange(n + 1.0) for n in (nx, ny, nz)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(points)).reshape(nx + 1, ny + 1, nz + 1)
    shifts = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    cube = np.stack([index[i : nx + i, j : ny + j, k : nz + k].ravel() for i, j, k in shifts], axis=1)
    odd = np.indices((nx, ny, nz)).sum(axis=0).ravel() % 2 == 1
    cube[odd] = cube[odd][:, [4, 5, 6, 7, 0, 1, 2, 3]]
    tets = cube[:, [[0, 3, 5, 6], [1, 0, 3, 5], [2, 3, 0, 6], [4, 5, 6, 0], [7, 6, 5, 3]]].reshape(-1, 4)
    corners = points[tets]
    inverted = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0.0
    tets[inverted] = tets[inverted][:, [0, 2, 1, 3]]
    return points, np.ascontiguousarray(tets)


def quadratic(points: Floats, tets: Ints) -> tuple[Floats, Ints]:
    """The same mesh with a control point per edge."""
    edges, at = np.unique(np.sort(tets[:, TET_EDGES].reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    cells = np.concatenate([tets, len(points) + at.reshape(-1, 6)], axis=1)
    return np.concatenate([points, points[edges].mean(axis=1)]), np.ascontiguousarray(cells)


def incidence(nodes: Ints, count: int) -> tuple[Ints, Ints]:
    """CSR list of the corners of every node, in ascending order."""
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(nodes.ravel(), minlength=count), out=start[1:])
    return start, np.argsort(nodes.ravel(), kind="stable")


@parallel
def gather(start, corner, forces, out):  # type: ignore[no-untyped-def]
    """Sum of corner forces per node."""
    for n in prange(out.shape[0]):
        x, y, z = 0.0, 0.0, 0.0
        for j in range(start[n], start[n + 1]):
            c = corner[j]
            x += forces[c, 0]
            y += forces[c, 1]
            z += forces[c, 2]
        out[n, 0], out[n, 1], out[n, 2] = x, y, z


def assemble(group: Tets, x: Floats) -> sparse.csr_matrix:
    """The stiffness matrix at x with 32-bit indices."""
    count = group.corners
    blocks = np.empty((len(group.nodes), count * (count + 1) // 2, 3, 3))
    group.stiffness(x, blocks)
    dofs = (3 * group.nodes[:, :, None] + np.arange(3)).reshape(len(group.nodes), -1).astype(np.int32)
    rows, columns = np.broadcast_arrays(dofs[:, :, None], dofs[:, None, :])
    entries = (block_matrix(blocks, count).ravel(), (rows.ravel(), columns.ravel()))
    return sparse.coo_matrix(entries, shape=(x.size, x.size)).tocsr()


def timed(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Median wall and CPU time of a call [s], after two calls that warm up."""
    wall, cpu = [], []
    for _ in range(repeat + 2):
        w, c = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return statistics.median(wall[2:]), statistics.median(cpu[2:])


def memory_per_tet(group: Tets) -> int:
    """Bytes of the arrays that a group keeps per element."""
    arrays = (value for value in vars(group).values() if isinstance(value, np.ndarray))
    return sum(a.nbytes for a in arrays if len(group.nodes) in a.shape) // len(group.nodes)


def measure(group: Tets, points: Floats, repeat: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Times of forces with the gather, and of the stiffness blocks, at a shaken and turned state."""
    rng = np.random.default_rng(0)
    turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    x = (points + 0.05 * rng.normal(size=points.shape)) @ turn.T
    corners, total = np.empty((group.nodes.size, 3)), np.empty_like(x)
    start, corner = incidence(group.nodes, len(x))
    blocks = np.empty((len(group.nodes), group.corners * (group.corners + 1) // 2, 3, 3))

    def forces() -> None:
        group.forces(x, x, corners)
        gather(start, corner, corners, total)

    return timed(forces, repeat), timed(lambda: group.stiffness(x, blocks), max(repeat // 8, 3))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, nargs=3, default=(26, 26, 26), help="cells of the box, five tets each")
    options.add_argument("--repeat", type=int, default=31)
    given = options.parse_args()
    points, tets = box(*given.cells)
    lam, mu = lame(1e5, 0.3)
    reference = Tet4(tets, points, lam, mu, 1000.0, law="linear")
    matrix = assemble(reference, points)
    vector = np.ones(points.size)
    csr_wall, csr_cpu = timed(lambda: matrix @ vector, given.repeat)

    table = Table(title=f"{len(tets)} tets, {len(points)} nodes, {matrix.nnz} entries in the stiffness matrix")
    for heading in ("what", "thr", "wall ms", "CPU ms", "x CSR", "ns/tet", "K ms", "B/tet"):
        table.add_column(heading, justify="left" if heading == "what" else "right", no_wrap=True)
    table.add_row("SciPy CSR", "1", f"{1e3 * csr_wall:.2f}", f"{1e3 * csr_cpu:.2f}", "1.00", "", "", "")
    meshes = [(Tet4, points, tets, law) for law in LAWS]
    meshes += [(Tet10, *quadratic(points, tets), law) for law in ("corotated", "neo-hookean")]
    for kind, nodes, cells, law in meshes:
        group = kind(cells, nodes, lam, mu, 1000.0, law=law)
        for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):  # type: ignore[attr-defined]
            numba.set_num_threads(threads)
            (wall, cpu), (stiff, _) = measure(group, nodes, given.repeat)
            table.add_row(
                group.name, str(threads), f"{1e3 * wall:.2f}", f"{1e3 * cpu:.2f}",
                f"{wall / csr_wall:.2f}", f"{1e9 * wall / len(cells):.0f}", f"{1e3 * stiff:.1f}",
                str(memory_per_tet(group)),
            )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
