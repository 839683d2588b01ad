"""Reading what bodies carry: shared by the problems."""

from __future__ import annotations

import numpy as np

from pliant.geometry.mesh import Floats
from pliant.simulation import Simulation
from pliant.step import StepReport

G = 9.81  # [m/s^2]


def mean_forces(sim: Simulation, pairs: list[tuple[str, str]], steps: int) -> Floats:
    """Mean of the contact force on the first of each pair from the second over the next steps [N], (pairs, 3): impulses over time."""
    impulse, start = np.zeros((len(pairs), 3)), sim.time

    def add(report: StepReport) -> None:
        for k, (a, b) in enumerate(pairs):
            impulse[k] += sim.contacts(a, b).total_force * report.dt

    for _ in range(steps):
        sim.step(each=add)
    return impulse / (sim.time - start)


def mean_force(sim: Simulation, a: str, b: str, steps: int) -> Floats:
    """The same for one pair, (3,)."""
    return mean_forces(sim, [(a, b)], steps)[0]
