"""Small pieces of work, timed against a loop of plain NumPy and Numba on the same machine, so that a slower commit is seen (`./bench`).

    ./bench [--rows S1,pile] [--repeat 5] [--compare] [--keep]

Every row is measured in turn with the loop: one round of the loop, one of the row, and again; a round gives the ratio of their CPU times,
and the row is the median of its rounds. Its noise is the median deviation of the rounds from it. What a machine does slower as a whole
cancels. `--compare` holds the rows against those of the last entry of benchmarks/history.json and names what is slower by more than
THREE times the noise of both and more than LEAST; it ends with 1 if anything is. `--keep` adds an entry.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

if __name__ == "__main__":  # before Numba is imported: CPU time of threads that wait would count; not where a test looks in
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numba
import numpy as np
from peer_scenes import DENSITY, FRICTION, POISSON, YOUNG, task

from pliant import Scene, Simulation, TetMesh

HISTORY = Path(__file__).with_name("history.json")
THREE, LEAST = 3.0, 0.05


@numba.njit
def _loop(x: np.ndarray, rounds: int) -> float:
    """Adds and products along a chain, and reads all over an array that no cache of the first level holds."""
    total, at = 0.0, 0
    for k in range(rounds):
        at = (at * 1103515245 + 12345 + k) & (len(x) - 1)
        total = 0.999 * total + x[at]
    return total


class Calibration:
    """The loop that everything is measured against: some 0.1 s on a fast core."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.x, self.a = rng.normal(size=1 << 17), rng.normal(size=(300, 300))
        _loop(self.x, 10)

    def __call__(self) -> None:
        _loop(self.x, 8_000_000)
        for _ in range(6):
            np.sort(self.x)
            np.einsum("ij,jk->ik", self.a, self.a)


def soft(name: str, method: str, until: float, steps: int) -> Callable[[], None]:
    """Steps of S1 or S2 after they have touched."""
    given = task(name)
    scene = Scene(dt=0.005, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=FRICTION)
    material = {"law": "corotated", "youngs_modulus": YOUNG, "poisson_ratio": POISSON, "density": DENSITY, "stiffness_damping": 0.002}
    for k, place in enumerate(given.places):
        scene.add(name=f"b{k}", shape=TetMesh(given.points, given.tets), position=tuple(place), friction=FRICTION, material=material)
    return again(scene, until, steps)


def pile(method: str, steps: int, sleep: bool = False) -> Callable[[], None]:
    """Steps of thirty rigid boxes at rest."""
    given = task("pile")
    scene = Scene(dt=0.005, contact=method, sleep=sleep)
    scene.add(name="ground", shape="plane", model="static", friction=FRICTION)
    for k, place in enumerate(given.places):
        box = {"kind": "box", "size": (given.size,) * 3}
        scene.add(name=f"b{k}", shape=box, position=tuple(place), model="rigid", friction=FRICTION, material={"density": DENSITY})
    return again(scene, 0.8 if sleep else 0.25, steps)


def again(scene: Scene, until: float, steps: int) -> Callable[[], None]:
    """The same steps from the same state, every time."""
    sim: Simulation = scene.simulate().run(until=until)
    state = sim.state.copy()

    def work() -> None:
        sim.recall(state.copy())
        for _ in range(steps):
            sim.step()

    return work


def grid_press() -> Callable[[], None]:
    from hertz_grid import pliant

    return lambda: [pliant(128) for _ in range(3)] and None


def starting(*arguments: str) -> Callable[[], None]:
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True) and None


ROWS: dict[str, Callable[[], Callable[[], None]]] = {
    "import pliant": lambda: starting("-c", "import pliant"),
    "pliant --help": lambda: starting("-m", "pliant", "--help"),
    "S1, patch, 5 steps": lambda: soft("S1", "patch", 0.2, 5),
    "S1, noniterative, 10 steps": lambda: soft("S1", "noniterative", 0.2, 10),
    "S2, noniterative, 5 steps": lambda: soft("S2", "noniterative", 0.15, 5),
    "pile, patch, 5 steps": lambda: pile("patch", 5),
    "pile asleep, patch, 50 steps": lambda: pile("patch", 50, True),
    "press, 128 x 128, 9 times": grid_press,
}


def cpu() -> float:
    """CPU time of this process and of those it waited for [s]."""
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


def rounds(work: Callable[[], None], loop: Callable[[], None], repeat: int) -> Iterator[float]:
    """Ratios of the CPU times of the work and the loop."""
    for _ in range(repeat):
        marks = [cpu()]
        for each in (loop, work):
            each()
            marks.append(cpu())
        yield (marks[2] - marks[1]) / (marks[1] - marks[0])


def measure(names: list[str], repeat: int) -> dict[str, list[float]]:
    """Median ratio and its noise, of each row."""
    loop, out = Calibration(), {}
    for name in names:
        work = ROWS[name]()
        work()  # compiled, and in the cache
        found = np.array(list(rounds(work, loop, repeat)))
        middle = float(np.median(found))
        out[name] = [round(middle, 4), round(float(np.median(np.abs(found - middle))), 4)]
        print(f"{name:32} {middle:8.3f} +- {out[name][1]:.3f}", flush=True)
    return out


def slower(rows: dict[str, list[float]], before: dict[str, list[float]]) -> list[str]:
    """A sentence for each row that is slower than the noise."""
    said = []
    for name, (now, noise) in rows.items():
        if name in before:
            then, old = before[name]
            if now - then > max(THREE * (noise + old), LEAST * then):
                said.append(f"{name}: {then:.3f} -> {now:.3f} times the loop, {now / then - 1:+.0%}; noise {noise + old:.3f}")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="parts of the names of rows, with commas; all unless given")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--compare", action="store_true", help="with the last entry of the history")
    parser.add_argument("--keep", action="store_true", help="add an entry to the history")
    given = parser.parse_args()
    names = [name for name in ROWS if any(part in name for part in given.rows.split(","))]
    rows = measure(names, given.repeat)
    history = json.loads(HISTORY.read_text()) if HISTORY.exists() else []
    said = slower(rows, history[-1]["rows"]) if given.compare and history else []
    print("\n".join(said) if said else "Nothing is slower than the noise." if given.compare and history else "", flush=True)
    if given.keep:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HISTORY.parent).stdout.strip()
        history.append({"commit": commit, "on": date.today().isoformat(), "rows": (history[-1]["rows"] if history else {}) | rows})
        HISTORY.write_text(json.dumps(history, indent=1) + "\n")
    return 1 if said else 0


if __name__ == "__main__":
    raise SystemExit(main())
