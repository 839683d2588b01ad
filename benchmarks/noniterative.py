"""How fast is `noniterative`? Stages of a step while contacts grow, response over contacts, and whether stiffness matters.

    python benchmarks/noniterative.py [--count 500] [--links 200] [--seconds 0.6] [--threads 2]

`chess-500` is filled and `chained-tori` falls; every 25 steps one row: medians of wall and CPU time per stage. A straight line is fitted to
the CPU time of the response over the number of contacts. Response per contact is then measured for moduli from 10 to 5000 kN/m^2 on one
squeezed state. CPU time is summed over threads; a busy machine spoils wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant import Scene
from pliant.contact.method import Answer, Memory, register_method
from pliant.contact.noniterative import Noniterative
from pliant.detect.solid_penetration import SolidPenetration
from pliant.shop import scenes
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion

WINDOW = 25  # steps a row stands for
LAPS: list[Lap] = []


@dataclass(frozen=True)
class Lap:
    """CPU and wall time [s] of the two halves of one answer, and of the areas of its contacts, which are worked out when asked for."""

    contacts: int
    detection: tuple[float, float]
    response: tuple[float, float]
    areas: tuple[float, float]


def clock() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def since(then: tuple[float, float]) -> tuple[float, float]:
    now = clock()
    return now[0] - then[0], now[1] - then[1]


class Timed(Noniterative):
    """The method with a clock between looking and answering."""

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        began = clock()
        found = motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)
        looked, between = since(began), clock()
        answer = self.answer(motion, memory, *found)
        answered, between = since(between), clock()
        LAPS.append(Lap(len(answer.contacts.area), looked, answered, since(between)))
        return answer


@dataclass(frozen=True)
class Row:
    """Medians over a window of steps; times [s]."""

    time: float
    contacts: float
    step: tuple[float, float]
    detection: tuple[float, float]
    response: tuple[float, float]
    areas: tuple[float, float]


def medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def watched(scene: Scene, seconds: float) -> tuple[list[Row], Simulation]:
    """Step a scene and take medians of every window."""
    sim = scene.simulate(contact="timed", duration=seconds)
    sim.step()
    rows: list[Row] = []
    LAPS.clear()
    while sim.time < seconds - 0.5 * sim.dt:
        steps = []
        for _ in range(WINDOW):
            began = clock()
            sim.step()
            steps.append(since(began))
        laps = LAPS[-WINDOW:]
        contacts = statistics.median(lap.contacts for lap in laps)
        looked, answered, asked = (medians([getattr(lap, part) for lap in laps]) for part in ("detection", "response", "areas"))
        rows.append(Row(sim.time, contacts, medians(steps), looked, answered, asked))
    return rows, sim


def line_fit(contacts: np.ndarray, seconds: np.ndarray) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of a straight line."""
    slope, intercept = np.polyfit(contacts, seconds, 1)
    left = seconds - (slope * contacts + intercept)
    return float(slope), float(intercept), float(1.0 - np.sum(left**2) / np.sum((seconds - seconds.mean()) ** 2))


def stage_table(name: str, rows: list[Row], lines: int = 12) -> Table:
    table = Table(title=f"{name}: CPU / wall time [ms], medians of {WINDOW} steps")
    for heading in ("t [s]", "contacts", "step", "detection", "response", "areas", "the rest"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows[:: max(1, len(rows) // lines)] + rows[-1:]:
        rest = tuple(s - d - r - a for s, d, r, a in zip(row.step, row.detection, row.response, row.areas, strict=True))
        cells = [f"{1e3 * a:.1f} / {1e3 * b:.1f}" for a, b in (row.step, row.detection, row.response, row.areas, rest)]
        table.add_row(f"{row.time:.3f}", f"{row.contacts:.0f}", *cells)
    return table


def fit_sentence(rows: list[Row]) -> str:
    contacts, cpu = np.array([r.contacts for r in rows]), np.array([r.response[0] for r in rows])
    some = contacts > 0.02 * contacts.max()
    slope, intercept, r2 = line_fit(contacts[some], cpu[some])
    at = 1e3 * (intercept + 2500 * slope)
    return f"Response = {1e3 * intercept:.2f} ms + {1e6 * slope:.2f} us per contact, R^2 = {r2:.4f}; {at:.2f} ms at 2500 contacts."


def stiffness_table(steps: int = 60) -> Table:
    """Response per contact from one squeezed state, with moduli from 10 to 5000 kN/m^2."""
    table = Table("E [kN/m^2]", "dt [ms]", "contacts", "response [us of CPU a contact]", title="Does stiffness matter?")
    base = scenes.make("squeezed-bars")
    squeezed = base.simulate().run(until=0.35).state
    for modulus in (1e4, 1e5, 1e6, 5e6):
        dt = base.dt * (1e5 / modulus) ** 0.5 if modulus > 1e5 else base.dt
        scene = scenes.make("squeezed-bars", youngs_modulus=modulus, dt=0.5 * dt)
        for body in scene.bodies:
            if body.model == "fem":
                body.material.stiffness_damping = 0.0
        sim = scene.simulate(contact="timed")
        sim.world.state = squeezed.copy()
        sim.state.memory = {}
        LAPS.clear()
        for _ in range(steps):
            sim.step()
        each = statistics.median(lap.response[0] / max(lap.contacts, 1) for lap in LAPS)
        contacts = statistics.median(lap.contacts for lap in LAPS)
        table.add_row(f"{modulus / 1e3:.0f}", f"{1e3 * sim.dt:.3f}", f"{contacts:.0f}", f"{1e6 * each:.2f}")
    return table


def arch_sentence(seconds: float = 1.0) -> str:
    rows, sim = watched(scenes.make("archway", drop=0), seconds)
    wall, cpu = statistics.median(r.step[1] for r in rows), statistics.median(r.step[0] for r in rows)
    pace = f"{1 / wall:.0f} steps/s by wall clock, {1 / cpu:.0f} by CPU time"
    return f"archway: {rows[-1].contacts:.0f} contacts, {pace}, dt = {1e3 * sim.dt:g} ms."


def peak(name: str, values: str) -> float:
    """Peak memory [MB] of a process that builds a scene and takes ten steps; NaN where there is no /proc."""
    code = (
        f"from pliant import scenes\nsim = scenes.make('{name}', {values}).simulate()\nfor _ in range(10): sim.step()\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    if not os.path.exists("/proc/self/status"):
        return np.nan
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=500, help="chess pieces")
    options.add_argument("--links", type=int, default=200, help="rings of the chain")
    options.add_argument("--seconds", type=float, default=0.6, help="simulated time of both")
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args()
    os.environ["PLIANT_THREADS"] = str(given.threads)
    register_method("timed", Timed)
    console = Console(width=120)
    across = max(2, round(10 * (given.count / 500) ** (1 / 3)))
    for name, values in (("chess-500", {"count": given.count, "across": across}), ("chained-tori", {"links": given.links})):
        rows, _ = watched(scenes.make(name, **values), given.seconds)
        console.print(stage_table(name, rows), fit_sentence(rows))
        console.print(f"Peak memory {peak(name, ', '.join(f'{k}={v}' for k, v in values.items())):.0f} MB.")
    console.print(stiffness_table(), arch_sentence())


if __name__ == "__main__":
    main()
