"""How fast is the foundation? About 88k tetrahedra, against the assembled stiffness matrix times a vector in SciPy.

    python benchmarks/foundation.py [--cells 26] [--repeat 31]

Everything is measured in one run, medians; "x CSR" is wall time as a multiple of the matrix-vector product (SciPy, one thread,
float64, 32-bit indices) with the stiffness matrix of the same mesh. CPU time stands beside it because a busy machine spoils
wall time. Forces are summed to nodes; "K" is the stiffness blocks; "B/tet" what an element keeps in bytes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numba
import numpy as np
import scipy.sparse as sparse
from rich.console import Console
from rich.table import Table

from pliant.base import Floats
from pliant.bodies.fem.tets import Tets
from pliant.integrate.assembly import Assembly
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation
from pliant.world.world import gather

LAWS = (("linear", "corotated"), ("linear", "linear"), ("linear", "stvk"), ("linear", "neo-hookean"))
LAWS += (("quadratic", "corotated"), ("quadratic", "neo-hookean"))


def world(cells: int, element: str, law: str) -> Simulation:
    """A cube of cells^3 cubes of five tets each, held at one side."""
    scene = Scene(dt=0.005, contact="none", gravity=(0, 0, -9.81))
    material = {"law": law, "youngs_modulus": 1e5, "poisson_ratio": 0.3}
    box = {"kind": "box", "size": (1, 1, 1), "edge": 1 / cells}
    scene.add(name="cube", shape=box, element=element, material=material, integrator="implicit", fixed=[{"side": "-x"}])
    return Simulation(scene)


def timed(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Median wall and CPU time of a call [s], after two calls that warm up."""
    wall, cpu = [], []
    for _ in range(repeat + 2):
        w, c = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return statistics.median(wall[2:]), statistics.median(cpu[2:])


def stiffness_matrix(sim: Simulation) -> sparse.csr_matrix:
    """The assembled stiffness at rest, as SciPy multiplies fastest: CSR with 32-bit indices."""
    assembly = Assembly(sim.world.model.groups, sim.world.model.bodies.node_start)
    matrix = assembly.matrix(sim.state.x, np.zeros(len(sim.state.x)))
    found = sparse.csr_matrix(matrix.to_scipy())
    found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found


def shaken(x: Floats) -> Floats:
    """Every node off its place by a twentieth of an edge, and all turned."""
    turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    return (x + 0.002 * np.random.default_rng(0).normal(size=x.shape)) @ turn.T


def bytes_per_tet(group: Tets) -> int:
    """Bytes of the arrays that a group keeps per element."""
    arrays = (value for value in vars(group).values() if isinstance(value, np.ndarray))
    return sum(a.nbytes for a in arrays if len(group.nodes) in a.shape) // len(group.nodes)


def element_rows(table: Table, cells: int, repeat: int) -> tuple[float, Simulation]:
    """A row per law and number of threads; returns the time of the CSR product and the corotated world."""
    first, csr = None, (np.nan, np.nan)
    for element, law in LAWS:
        sim = world(cells, element, law)
        group, model = sim.world.model.groups[0], sim.world.model
        if first is None:
            first, matrix = sim, stiffness_matrix(sim)
            vector = np.ones(sim.state.x.size)
            csr = timed(lambda: matrix @ vector, repeat)  # noqa: B023
            table.title = f"{len(group.nodes)} tets, {len(sim.state.x)} nodes, {matrix.nnz} entries in the stiffness matrix"
            table.add_row("SciPy CSR product", "1", f"{1e3 * csr[0]:.2f}", f"{1e3 * csr[1]:.2f}", "1.00", "", "", "")
        x, corners, out = shaken(sim.state.x), np.empty((model.corners, 3)), np.empty_like(sim.state.x)
        blocks = np.empty((len(group.nodes), group.corners * (group.corners + 1) // 2, 3, 3))

        def forces() -> None:
            group.forces(x, x, corners)  # noqa: B023
            gather(model.corner_start, model.corner, corners, out)  # noqa: B023

        for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):  # type: ignore[attr-defined]
            numba.set_num_threads(threads)
            wall, cpu = timed(forces, repeat)
            stiff, _ = timed(lambda: group.stiffness(x, blocks), max(repeat // 8, 3))  # noqa: B023
            table.add_row(
                f"forces, {group.name}", str(threads), f"{1e3 * wall:.2f}", f"{1e3 * cpu:.2f}", f"{wall / csr[0]:.2f}",
                f"{1e9 * wall / len(group.nodes):.0f}", f"{1e3 * stiff:.1f}", str(bytes_per_tet(group)),
            )  # fmt: skip
    assert first is not None
    return csr[0], first


def step_rows(table: Table, csr: float, sim: Simulation, repeat: int) -> None:
    """An implicit step of the corotated body while it sags."""
    for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):  # type: ignore[attr-defined]
        os.environ["PLIANT_THREADS"] = str(threads)
        wall, cpu = timed(sim.step, max(repeat // 3, 5))
        assert sim.report is not None
        what = f"implicit step ({sim.report.solver_iterations} CG iterations)"
        table.add_row(what, str(threads), f"{1e3 * wall:.1f}", f"{1e3 * cpu:.1f}", f"{wall / csr:.1f}", "", "", "")


def peak_per_tet(cells: int) -> float:
    """Peak memory of a process that builds the world and steps it once, less that of one with a tiny world, per tet [bytes].

    From /proc, since getrusage tells of the parent too; NaN where there is none.
    """
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import foundation\n"
        "sim = foundation.world(int(sys.argv[1]), 'linear', 'corotated'); sim.step()\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    if not os.path.exists("/proc/self/status"):
        return np.nan
    here = os.path.dirname(os.path.abspath(__file__))
    peaks = [
        1024 * int(subprocess.run([sys.executable, "-c", code, str(n), here], capture_output=True, text=True, check=True).stdout)
        for n in (2, cells)
    ]
    return (peaks[1] - peaks[0]) / (5 * cells**3)


def start_up(table: Table) -> None:
    """Seconds from the command to its end: help, and a first and a later run of a tiny scene."""
    command = [sys.executable, "-m", "pliant"]
    with tempfile.TemporaryDirectory() as folder:
        cold = {**os.environ, "PLIANT_CACHE": folder}
        cold.pop("NUMBA_CACHE_DIR", None)
        tiny = [*command, "run", "column", "--duration", "0.01", "--no-pictures", "--json", "--out"]

        def seconds(arguments: list[str]) -> float:
            began = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True, env=cold, cwd=folder)
            return time.perf_counter() - began

        seconds([*command, "--help"])
        table.add_row("pliant --help", f"{min(seconds([*command, '--help']) for _ in range(5)):.2f}")
        table.add_row("pliant run column, nothing compiled", f"{seconds([*tiny, 'first']):.1f}")
        table.add_row("pliant run column, compiled", f"{min(seconds([*tiny, f'later{i}']) for i in range(3)):.1f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, default=26, help="cells along each side of the cube, five tets each")
    options.add_argument("--repeat", type=int, default=31)
    given = options.parse_args()
    table = Table()
    for heading in ("what", "threads", "wall ms", "CPU ms", "x CSR", "ns/tet", "K ms", "B/tet"):
        table.add_column(heading, justify="left" if heading == "what" else "right", no_wrap=True)
    csr, sim = element_rows(table, given.cells, given.repeat)
    step_rows(table, csr, sim, given.repeat)
    console = Console(width=120)
    console.print(table)
    console.print(f"Peak memory of building and stepping implicitly: {peak_per_tet(given.cells):.0f} bytes per tet.")
    starts = Table("start-up", "s")
    start_up(starts)
    console.print(starts)


if __name__ == "__main__":
    main()
