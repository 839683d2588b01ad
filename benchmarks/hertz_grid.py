"""Hertz on a regular grid, pliant and tamaas side by side in one run; pliant must need less than three times the time of tamaas.

    python benchmarks/hertz_grid.py [--threads 1] [--grids 64,128,256,512] [--tamaas /path/to/python/with/tamaas]

A ball is pressed with a given force onto n x n nodes of a square of four contact radii, both to a residual of 1e-7. tamaas (`pip install
tamaas`) runs in an interpreter of its own with as many threads: with free boundaries, which is what pliant solves, and with periodic
ones, its default, which need a quarter of the transform and have 2 % error in the peak. Without tamaas only pliant's times are shown.
CPU time stands beside wall time because a busy machine spoils the latter.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import subprocess
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.contact.elastic import Boussinesq, Patch, lcp

FORCE, PEAK = 0.13333333, 0.06366198  # of a ball with E* = 1, R = 10, pressed in by 0.1: contact radius 1
TOLERANCE = 1e-7
BAR = 3.0
REPEAT = 2

TAMAAS = f"""
import sys, time, numpy as np, tamaas as tm
tm.set_log_level(tm.LogLevel.error)
n = int(sys.argv[1])
x = np.linspace(-2, 2, n)
side = n * (x[1] - x[0])
for free in (True, False):
    best = []
    for _ in range({REPEAT}):
        model = tm.ModelFactory.createModel(tm.model_type.basic_2d, [side, side], [n, n])
        model.E, model.nu = 1.0, 0.0
        if free:
            tm.ModelFactory.registerNonPeriodic(model, "free")
        solver = tm.PolonskyKeerRey(model, -(x[:, None] ** 2 + x**2) / 20, {TOLERANCE})
        if free:
            solver.setIntegralOperator("free")
        wall, cpu = time.perf_counter(), time.process_time()
        solver.solve({FORCE} / side**2)
        best.append((time.perf_counter() - wall, time.process_time() - cpu))
    print(*min(best), model.traction.max() / {PEAK} - 1)
"""


def pliant(n: int) -> tuple[float, float, float, int]:
    """Best wall and CPU time [s], error of the peak, iterations."""
    x = np.linspace(-2, 2, n)
    gap = ((x[:, None] ** 2 + x**2) / 20).ravel()
    K = Patch((n, n), float(x[1] - x[0]), Boussinesq(1 / math.pi), "love")
    lcp.conjugate_gradients(K, gap, None, TOLERANCE, None, total=FORCE)  # transforms are planned, memory is there
    times = []
    for _ in range(REPEAT):
        wall, cpu = time.perf_counter(), time.process_time()
        found = lcp.conjugate_gradients(K, gap, None, TOLERANCE, None, total=FORCE)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return (*min(times), float(np.max(found.P)) / K.spacing**2 / PEAK - 1, found.iterations)


def compare(table: Table, n: int, tamaas: str | None, threads: int) -> bool:
    """Rows of one grid; False if pliant misses the bar."""
    wall, cpu, peak, iterations = pliant(n)
    table.add_row(f"{n} x {n}: pliant", f"{wall * 1e3:.0f}", f"{cpu * 1e3:.0f}", f"{peak:+.1e}", f"{iterations} iterations")
    if tamaas is None:
        return True
    env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([tamaas, "-c", TAMAAS, str(n)], capture_output=True, text=True, env=env, check=True)
    met = True
    for name, line in zip(("free boundaries", "periodic"), done.stdout.splitlines(), strict=True):
        w, c, p = (float(each) for each in line.split())
        met = met and cpu <= BAR * c
        table.add_row(f"  tamaas, {name}", f"{w * 1e3:.0f}", f"{c * 1e3:.0f}", f"{p:+.1e}", f"pliant needs {cpu / c:.2f} of its CPU time")
    return met


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--threads", type=int, default=1)
    asked.add_argument("--grids", default="64,128,256,512")
    here = sys.executable if importlib.util.find_spec("tamaas") else None
    asked.add_argument("--tamaas", default=here, help="a Python interpreter that has tamaas; default: this one, if it has")
    given = asked.parse_args()
    os.environ["PLIANT_THREADS"] = str(given.threads)
    table = Table("Hertz on a grid", "wall ms", "CPU ms", "error of peak", "", box=None)
    met = [compare(table, int(n), given.tamaas, given.threads) for n in given.grids.split(",")]
    console = Console(width=120)
    console.print(table)
    if given.tamaas is None:
        console.print(
            "The comparison was skipped: tamaas cannot be imported here. Install it (pip install tamaas), or name a Python that has it."
        )
    else:
        console.print(f"pliant needs at most {BAR:g} times the CPU time of tamaas on every grid: {'yes' if all(met) else 'NO'}.")


if __name__ == "__main__":
    main()
