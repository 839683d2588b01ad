"""Refinement: what is wrong must shrink as steps and elements do."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, Check, G, problem
from pliant.simulate.simulation import Simulation

COLUMN: dict[str, Any] = dict(
    name="column", shape=dict(kind="box", size=(0.1, 0.1, 0.4), edge=0.05), position=(0, 0, 0.2), integrator="implicit",
    material=dict(youngs_modulus=1e5, poisson_ratio=0.0, density=1000.0, law="linear", mass_damping=20.0),
)  # fmt: skip
WHOLE = {"quasi-rigid": "its bodies do not deform as a whole: a column of them does not sink into itself"}
SOFT = {
    "ground": "its springs are as soft as dt is long; the error falls with the square of it",
    "point-surface": "it rests at a depth of 35 um that its stiffness sets: the same with 4 and with 2 ms",
    "reversal": "it turns velocities back before bodies come to rest: they hover",
}


def sink(method: str, dt: float) -> float:
    """How far the middle of a soft column, 0.1 x 0.1 x 0.4 m, E = 1e5 Pa, goes down until it rests on the ground [m]."""
    scene = Scene(dt=dt, duration=3.0, contact=method)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(**COLUMN)
    sim = Simulation(scene)
    start = sim.centre("column")[2]
    return float(start - sim.run().centre("column")[2])


def sink_of_mesh() -> float:
    """The same for a column that is fixed at its foot, in equilibrium [m]: what this mesh has without steps and contact."""
    scene = Scene(contact="none")
    scene.add(**COLUMN, fixed=[dict(side="-z")])
    sim = Simulation(scene)
    start = sim.centre("column")[2]
    return float(start - sim.equilibrium().centre("column")[2])


@problem("refined-steps", "theory/validation-problems 19, 23", refused=WHOLE, limits=SOFT)
def refined_steps(method: str, quick: bool) -> list[Check]:
    """A soft column stands on the ground: its centre sinks by rho g L²/(3 E), and the error against its mesh falls with dt."""
    exact, mesh = 1000.0 * G * 0.4**2 / (3 * 1e5), sink_of_mesh()
    found = [sink(method, dt) for dt in (8e-3, 2e-3)]
    errors = [abs(each - mesh) for each in found]
    return [
        Check("centre sinks, dt = 2 ms", exact, found[1], 0.02, "m"),
        # a quarter of the step: a quarter of the error is first order
        Check("error at 2 ms over that at 8 ms or 0.1 %", 0.0, errors[1] / max(errors[0], 1e-3 * exact), 0.3, scale=1.0),
    ]


@problem("refined-elements", "theory/validation-problems 19, 20", methods=NO_CONTACT)
def refined_elements(method: str, quick: bool) -> list[Check]:
    """A short beam bent by its weight: the error of 4-node elements falls with the square of their size, against 10-node ones."""

    def sag(edge: float, element: Literal["linear", "quadratic"]) -> float:
        scene = Scene(contact=method)
        material = dict(youngs_modulus=1e6, poisson_ratio=0.3, density=1000.0, law="linear")
        beam = dict(kind="box", size=(0.4, 0.1, 0.1), edge=edge)
        scene.add(name="beam", shape=beam, material=material, element=element, fixed=[dict(side="-x")])
        sim = Simulation(scene)
        before = sim.centre("beam")[2]
        return float(before - sim.equilibrium().centre("beam")[2])

    exact, edges = sag(0.025, "quadratic"), np.array([0.025, 0.0167] if quick else [0.025, 0.0125])
    errors = np.array([abs(sag(edge, "linear") - exact) for edge in edges])
    order = float(np.polyfit(np.log(edges), np.log(errors), 1)[0])
    return [
        Check("order in the size of elements", 2.0, order, 0.25, curve=("edge [m]", edges, errors, errors[0] * (edges / edges[0]) ** 2))
    ]
