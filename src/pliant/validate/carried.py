"""Reading what bodies carry: shared by the problems."""

from __future__ import annotations

import numpy as np

from pliant.geometry.mesh import Floats
from pliant.simulation import Simulation

G = 9.81  # [m/s^2]


def mean_force(sim: Simulation, a: str, b: str, steps: int) -> Floats:
    """Mean of the contact force on a from b over the next steps [N], (3,): impulses over time."""
    impulse, start = np.zeros(3), sim.time
    for _ in range(steps):
        sim.step(each=lambda report: np.add(impulse, between(sim, a, b) * report.dt, out=impulse))
    return impulse / (sim.time - start)


def between(sim: Simulation, a: str, b: str) -> Floats:
    """Contact force on a from b in the last step or part of one [N], (3,)."""
    return sim.contacts(a, b).total_force
