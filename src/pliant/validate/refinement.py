"""Refinement: what is wrong must shrink as steps and elements do."""

from __future__ import annotations

import numpy as np

from pliant import Scene
from pliant.simulation import Simulation
from pliant.validate import NO_CONTACT, Check, problem
from pliant.validate.carried import G


def sink(method: str, dt: float) -> float:
    """How far the middle of a soft column, 0.1 x 0.1 x 0.4 m, E = 1e5 Pa, goes down until it rests on the ground [m]."""
    scene = Scene(dt=dt, duration=3.0, contact=method)
    scene.add(name="ground", shape="plane", model="static")
    material = dict(youngs_modulus=1e5, poisson_ratio=0.0, density=1000.0, law="linear", mass_damping=20.0)
    column = dict(kind="box", size=(0.1, 0.1, 0.4), edge=0.05)
    scene.add(name="column", shape=column, position=(0, 0, 0.2), material=material, integrator="implicit")
    sim = Simulation(scene)
    start = sim.centre("column")[2]
    return float(start - sim.run().centre("column")[2])


SOFT = {
    "ground": "its springs are as soft as dt is long; the error falls with the square of it",
    "reversal": "it turns velocities back before bodies come to rest: they hover",
}


@problem("refined-steps", "28, 35", limits=SOFT)
def refined_steps(method: str, quick: bool) -> list[Check]:
    """A soft column stands on the ground: its centre sinks by rho g L²/(3 E), and the error falls with dt."""
    exact = 1000.0 * G * 0.4**2 / (3 * 1e5)
    found = [sink(method, dt) for dt in (8e-3, 2e-3)]
    errors = [max(abs(each - exact), 1e-3 * exact) for each in found]
    return [
        Check("centre sinks, dt = 2 ms", exact, found[1], 0.02, "m"),
        Check("error at 2 ms over error at 8 ms, both at least 0.1 %", 0.0, errors[1] / errors[0], 1.0, scale=1.0),
    ]


@problem("refined-elements", "28, 31", methods=NO_CONTACT)
def refined_elements(method: str, quick: bool) -> list[Check]:
    """A short beam bent by its weight: the error of 4-node elements falls with the square of their size, against 10-node ones."""

    def sag(edge: float, element: str) -> float:
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
    return [Check("order in the size of elements", 2.0, order, 0.25, curve=(edges, errors))]
