"""The bodies of a method, and reading what they carry: shared by the problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

G = 9.81  # [m/s^2]
SOFTER = 0.75  # frequency of a cube whose faces are half-spaces, on its like, over that of a soft one, sqrt(E / rho) / L


def contact_of(method: str) -> str | dict[str, Any]:
    """For what rests and slides: `quasi-rigid` with implicit steps, which it is meant to have there; others as they are."""
    return dict(method=method, integration="implicit") if method == "quasi-rigid" else method


def gives_way(method: str, spacing: float, integrator: str = "implicit") -> dict[str, Any]:
    """A body that gives way: of finite elements, or, under `quasi-rigid`, with a surface that does, with samples `spacing` [m] apart."""
    return dict(model="quasi-rigid", spacing=spacing) if method == "quasi-rigid" else dict(integrator=integrator)


def held(method: str) -> dict[str, Any]:
    """The same held from below: at its bottom, or as a whole."""
    return dict(motions=[dict(shift=(0.0, 0.0, 0.0))]) if method == "quasi-rigid" else dict(fixed=[dict(side="-z")])


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
