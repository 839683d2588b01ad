"""Bodies alone: what they are made of must be right before contact can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, Check, G, problem
from pliant.simulate.simulation import Simulation

DENSITY = 1000.0


@problem("hanging-bar", "theory/validation-problems 23; [Timoshenko 1970]", methods=NO_CONTACT)
def hanging_bar(method: str, quick: bool) -> list[Check]:
    """A bar that hangs by its top grows by rho g L²/(2 E) under its weight."""
    length, modulus = 1.0, 1e7
    scene = Scene(dt=1e-2, duration=1.0, contact=method)
    material = dict(youngs_modulus=modulus, poisson_ratio=0.0, density=DENSITY, law="linear")
    bar = dict(kind="box", size=(0.1, 0.1, length), edge=0.1 if quick else 0.05)
    scene.add(name="bar", shape=bar, material=material, fixed=[dict(side="+z")])
    sim = Simulation(scene)
    start = sim.points()[:, 2].min()
    grown = start - sim.equilibrium().points()[:, 2].min()
    return [Check("growth", DENSITY * G * length**2 / (2 * modulus), float(grown), 0.01, "m")]


@problem("cantilever", "theory/validation-problems 20; [Timoshenko 1970]", methods=NO_CONTACT)
def cantilever(method: str, quick: bool) -> list[Check]:
    """A slender beam sags by rho g A L^4/(8 E I) and a little by shear under its weight; 10-node elements."""
    length, thick, modulus = 1.0, 0.1, 1e7
    scene = Scene(dt=1e-2, duration=1.0, contact=method)
    material = dict(youngs_modulus=modulus, poisson_ratio=0.0, density=DENSITY, law="linear")
    beam = dict(kind="box", size=(length, thick, thick), edge=0.1 if quick else 0.05)
    scene.add(name="beam", shape=beam, material=material, element="quadratic", fixed=[dict(side="-x")])
    sim = Simulation(scene)
    tip = np.argmax(sim.points()[:, 0])
    before = sim.points()[tip, 2]
    sag = before - sim.equilibrium().points()[tip, 2]
    load = DENSITY * G * thick**2  # [N/m]
    bending = load * length**4 / (8 * modulus * thick**4 / 12)
    shear = load * length**2 / (2 * (5 / 6) * (modulus / 2) * thick**2)
    return [Check("sag of the tip", bending + shear, float(sag), 0.02, "m")]


@problem("bar-frequency", "theory/validation-problems 24; [Goldsmith 1960]", methods=NO_CONTACT)
def bar_frequency(method: str, quick: bool) -> list[Check]:
    """A bar fixed at one end and stretched swings along itself with c/(4 L)."""
    length, modulus = 0.5, 1e5
    scene = Scene(dt=5e-4, duration=1.0, contact=method, gravity=(0, 0, 0))
    material = dict(youngs_modulus=modulus, poisson_ratio=0.0, density=DENSITY, law="linear")
    bar = dict(kind="box", size=(length, 0.05, 0.05), edge=0.05 if quick else 0.025)
    scene.add(name="bar", shape=bar, material=material, fixed=[dict(side="-x")], integrator="verlet")
    sim = Simulation(scene)
    x = sim.state.x
    along = (x[:, 0] - x[:, 0].min()) / length
    x[:, 0] += 1e-3 * np.sin(0.5 * np.pi * along)  # its first mode
    tip, times, places = np.argmax(x[:, 0]), [], []
    for _ in range(int(0.6 / scene.dt)):
        sim.step()
        times.append(sim.time)
        places.append(float(sim.state.x[tip, 0]))
    swing = np.array(places) - np.mean(places)
    cross = np.flatnonzero((swing[:-1] > 0) & (swing[1:] <= 0))
    when = np.array(times)[cross] + scene.dt * swing[cross] / (swing[cross] - swing[cross + 1])
    found = (len(when) - 1) / (when[-1] - when[0])
    return [Check("frequency", np.sqrt(modulus / DENSITY) / (4 * length), float(found), 0.01, "Hz", curve=(times, places))]


ELASTICA = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}  # F L²/(E I): down, back, of L


def bar_scene(length: float, side: float, edge: float, nu: float, **fields: Any) -> Scene:
    """A bar of 10-node elements along x from 0, fixed there, without weight."""
    scene = Scene(gravity=(0, 0, 0), contact="none")
    material = dict(youngs_modulus=1e6, poisson_ratio=nu, law="neo-hookean")
    shape = dict(kind="box", size=(length, side, side), edge=edge)
    scene.add(
        name="bar", shape=shape, position=(length / 2, 0, 0), element="quadratic", fixed=[dict(side="-x")], material=material, **fields
    )
    return scene


@problem("elastica", "theory/validation-problems 21; [Bisshopp 1945]", methods=NO_CONTACT)
def elastica(method: str, quick: bool) -> list[Check]:
    """A thin beam is bent far by a force at its end: how far it goes down and back, against the elastica."""
    checks, side = [], 1 / 20
    for load in (1, 5) if quick else (1, 2, 5, 10):
        force = load * 1e6 * side**4 / 12
        pull = dict(kind="traction", where=dict(side="+x"), value=(0, 0, -force / side**2))
        sim = Simulation(bar_scene(1.0, side, side, 0.0, loads=[pull])).equilibrium()
        rest = sim.world.model.nodes.rest
        moved = (sim.state.x - rest)[np.abs(rest[:, 0] - 1.0) < 1e-9].mean(axis=0)
        for what, reference, here in zip(("down", "back"), ELASTICA[load], -moved[[2, 0]], strict=True):
            checks.append(Check(f"end goes {what}, F L²/(E I) = {load}", reference, float(here), 0.02, "m"))
    return checks


@problem("twisted-bar", "theory/validation-problems 22; [Timoshenko 1970]", methods=NO_CONTACT)
def twisted_bar(method: str, quick: bool) -> list[Check]:
    """A square bar twisted by an angle resists with G J phi/L, J = 0.1406 a^4: of two bars, so that their ends fall out."""
    side, angle, nu, torques = 0.1, 0.02, 0.3, []
    lengths = (0.5, 1.0)
    for length in lengths:
        motion = dict(where=dict(side="+x"), turn=(np.degrees(angle), 0, 0), about=(length, 0, 0))
        sim = Simulation(bar_scene(length, side, side / (3 if quick else 4), nu, motions=[motion])).equilibrium()
        driven = np.abs(sim.world.model.nodes.rest[:, 0] - length) < 1e-9
        torques.append(np.cross(sim.state.x[driven] - [length, 0, 0], sim.reactions[driven]).sum(axis=0)[0])
    # ends are kept from warping, which stiffens each bar as if it were shorter by the same piece
    give = (angle / torques[1] - angle / torques[0]) / (lengths[1] - lengths[0])
    return [Check("G J of the section", 1e6 / (2 * (1 + nu)) * 0.1406 * side**4, float(1.0 / give), 0.02, "N m²")]
