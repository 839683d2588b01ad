"""Bodies alone: what they are made of must be right before contact can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from pliant.base import Floats
from pliant.geometry.mesh import TetMesh
from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, Check, G, problem
from pliant.shop.validate.pressures import box_mesh
from pliant.shop.validate.turning import random_turn
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
    found, omega = frequency_of(np.array(times), np.array(places)), 0.5 * np.pi * np.sqrt(modulus / DENSITY) / length
    theory = 0.5 * length + 1e-3 * np.cos(omega * np.array(times))
    return [Check("frequency", np.sqrt(modulus / DENSITY) / (4 * length), found, 0.01, "Hz", curve=("time [s]", times, places, theory))]


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
            checks.append(
                Check(
                    f"end goes {what}, F L²/(E I) = {load}", reference, float(here), 0.02, "m", at=(f"end goes {what}", "F L²/(E I)", load)
                )
            )
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


@problem("bent-bar", "theory/validation-problems 20; [Timoshenko 1970]", methods=NO_CONTACT)
def bent_bar(method: str, quick: bool) -> list[Check]:
    """A slender bar held at one end: how far a small force at the other bends it, and how fast it swings to and fro."""
    length, side, modulus = 1.0, 0.05, 1e6
    section, inertia, force = side**2, side**4 / 12, 1e-3
    bar = dict(length=length, side=side, edge=side if quick else side / 2, nu=0.0)
    pull = dict(kind="traction", where=dict(side="+x"), value=(0, 0, -force / section))
    sim = Simulation(bar_scene(**bar, loads=[pull])).equilibrium()
    end = np.abs(sim.world.model.nodes.rest[:, 0] - length) < 1e-9
    sag = float((sim.world.model.nodes.rest - sim.state.x)[end, 2].mean())
    bending, shear = force * length**3 / (3 * modulus * inertia), force * length / ((5 / 6) * (modulus / 2) * section)
    scene = bar_scene(**bar)
    scene.dt = 2e-3
    swinging = Simulation(scene)
    swinging.state.x[:] = 10.0 * (sim.state.x - sim.world.model.nodes.rest) + sim.world.model.nodes.rest
    times, places = [], []
    frequency = 3.5160 / (2 * np.pi) * np.sqrt(modulus * inertia / (DENSITY * section * length**4))
    while swinging.time < 3.2 / frequency:
        swinging.step()
        times.append(swinging.time)
        places.append(float(swinging.state.x[end, 2].mean()))
    theory = -10.0 * sag * np.cos(2 * np.pi * frequency * np.array(times))  # as if it were bent as its first mode, which it nearly is
    return [
        Check("bent by a force at its end", bending + shear, sag, 0.01, "m"),
        Check(
            "frequency", frequency, frequency_of(np.array(times), np.array(places)), 0.02, "Hz", curve=("time [s]", times, places, theory)
        ),
    ]


@problem("rolled-up", "theory/validation-problems 21; [Timoshenko 1970]", methods=NO_CONTACT)
def rolled_up(method: str, quick: bool) -> list[Check]:
    """A thin bar is bent to a full circle: its ends are held with the moment 2 pi E I/L, and its axis has the radius L/(2 pi)."""
    length, side = 1.0, 0.025 if quick else 0.0125
    back = dict(where=dict(side="+x"), shift=(-length, 0.0, 0.0))  # its end lies on its beginning
    sim = Simulation(bar_scene(length, side, side, 0.0, motions=[back]))
    rest = sim.world.model.nodes.rest
    angle, radius = 2 * np.pi * rest[:, 0] / length, length / (2 * np.pi)
    off = radius - rest[:, 2]  # from the middle of the circle, which is above
    sim.state.x[:] = np.stack([off * np.sin(angle), rest[:, 1], radius - off * np.cos(angle)], axis=1)
    sim.equilibrium(1e-5)  # negative curvatures of the law are cut off, so the last digits come slowly
    end = np.abs(rest[:, 0] - length) < 1e-9
    moment = np.cross(sim.state.x[end], sim.reactions[end]).sum(axis=0)
    axis = sim.state.x[(np.abs(rest[:, 1:]) < 1e-9).all(axis=1)]
    far = np.linalg.norm(axis[:, [0, 2]] - [0.0, radius], axis=1)
    return [
        Check("moment", 2 * np.pi * 1e6 * side**4 / 12 / length, float(np.abs(moment[1])), 0.02, "N m"),
        Check("radius of its axis, largest", radius, float(far.max()), 0.02, "m"),
        Check("radius of its axis, least", radius, float(far.min()), 0.02, "m"),
    ]


@problem("even-strain", "theory/validation-problems 37; [Irons 1972]", methods=NO_CONTACT)
def even_strain(method: str, quick: bool) -> list[Check]:
    """The patch test: under an even strain odd elements balance at all nodes inside, with the stress of their law; turned, they rest."""
    checks, rng = [], np.random.default_rng(37)
    strained = np.eye(3) + 0.1 * rng.uniform(-1, 1, (3, 3))
    turn = random_turn()
    young, nu, side = 1e6, 0.3, 0.1
    for law in ("linear", "corotated", "stvk", "neo-hookean"):
        for element in ("linear", "quadratic"):
            scene = Scene(gravity=(0, 0, 0), contact="none")
            material = dict(youngs_modulus=young, poisson_ratio=nu, law=law)
            scene.add(name="block", shape=odd_block(side, 4, rng), element=element, material=material)
            sim = Simulation(scene)
            rest = sim.world.model.nodes.rest
            inside = (np.abs(rest) < 0.5 * side - 1e-9).all(axis=1)
            name = f"{law}, {4 if element == 'linear' else 10}-node elements"
            force = sim.world.forces(rest @ strained.T, np.zeros_like(rest), sim.state.position, sim.state.rotation, 0.0).on_nodes
            face = rest[:, 0] > 0.5 * side - 1e-9
            left = float(np.abs(force[inside]).max() / np.abs(force[face]).max())
            checks.append(Check(f"force on nodes inside, {name}", 0.0, left, 1e-10, scale=1.0))
            pull = -force[face].sum(axis=0) / side**2
            stress = stress_of(law, strained, young, nu)[:, 0]
            checks.append(Check(f"stress on a face, {name}", float(np.linalg.norm(stress)), float(np.linalg.norm(pull)), 1e-9, "Pa"))
            if law != "linear":  # which knows no turning
                turned = sim.world.forces(rest @ turn.T, np.zeros_like(rest), sim.state.position, sim.state.rotation, 0.0).on_nodes
                checks.append(Check(f"force when turned, {name}", 0.0, float(np.abs(turned).max() / (young * side**2)), 1e-10, scale=1.0))
    return checks


@problem("stretched-bar", "theory/validation-problems 23; [Smith 2018]", methods=NO_CONTACT)
def stretched_bar(method: str, quick: bool) -> list[Check]:
    """A long neo-Hookean bar is pulled to 1.2, 1.5 and 2 times its length: how far, far from where it is held, and how thin it gets."""
    checks, length, side, nu = [], 0.6, 0.1, 0.3
    for stretch in (1.2, 1.5, 2.0):
        across = brentq(lambda q, s=stretch: stress_of("neo-hookean", np.diag([s, q, q]), 1e6, nu)[1, 1], 0.3, 1.5)
        stress = float(stress_of("neo-hookean", np.diag([stretch, across, across]), 1e6, nu)[0, 0])
        pull = dict(kind="traction", where=dict(side="+x"), value=(stress, 0, 0))
        sim = Simulation(bar_scene(length, side, side / (2 if quick else 4), nu, loads=[pull])).equilibrium()
        rest, x = sim.world.model.nodes.rest, sim.state.x
        first, second = (np.abs(rest[:, 0] - at) < 1e-9 for at in (0.3, 0.5))
        here = float((x[second, 0].mean() - x[first, 0].mean()) / 0.2)
        thin = float(np.ptp(x[first | second, 1]) / side)
        checks += [
            Check(f"stretch under {stress / 1e3:.4g} kPa", stretch, here, 0.002, at=("stretch", "stress [kPa]", stress / 1e3)),
            Check(f"width under {stress / 1e3:.4g} kPa, of that at rest", across, thin, 0.005, at=("width", "stress [kPa]", stress / 1e3)),
        ]
    return checks


def frequency_of(times: Floats, places: Floats) -> float:
    """Of something that swings [Hz], from where it passes its middle downwards."""
    swing = places - np.mean(places)
    cross = np.flatnonzero((swing[:-1] > 0) & (swing[1:] <= 0))
    when = times[cross] + (times[1] - times[0]) * swing[cross] / (swing[cross] - swing[cross + 1])
    return float((len(when) - 1) / (when[-1] - when[0])) if len(when) > 1 else np.nan


def odd_block(side: float, cells: int, rng: np.random.Generator) -> TetMesh:
    """A cube about the origin of tetrahedra whose inner corners are moved about at random."""
    mesh = box_mesh((side, side, side), side / cells)
    points, inside = np.array(mesh.points), (np.abs(mesh.points) < 0.5 * side - 1e-9).all(axis=1)
    points[inside] += rng.uniform(-0.15, 0.15, (int(inside.sum()), 3)) * side / cells
    return TetMesh(points, mesh.tets)


def stress_of(law: str, f: Floats, young: float, nu: float) -> Floats:
    """First Piola-Kirchhoff stress of a law at a deformation gradient [Pa], written down from its energy (theory/elements 4)."""
    mu, lame, one = young / (2 * (1 + nu)), young * nu / ((1 + nu) * (1 - 2 * nu)), np.eye(3)
    if law == "linear":
        strain = 0.5 * (f + f.T) - one
        return 2 * mu * strain + lame * np.trace(strain) * one
    if law == "corotated":
        u, _, v = np.linalg.svd(f)
        turn = u @ v
        strain = 0.5 * (turn.T @ f + f.T @ turn) - one
        return np.asarray(turn @ (2 * mu * strain + lame * np.trace(strain) * one))
    if law == "stvk":
        strain = 0.5 * (f.T @ f - one)
        return np.asarray(f @ (2 * mu * strain + lame * np.trace(strain) * one))
    m, l, det = 4 / 3 * mu, lame + 5 / 6 * mu, np.linalg.det(f)
    return np.asarray(m * (1 - 1 / ((f * f).sum() + 1)) * f + l * (det - 1 - 0.75 * m / l) * det * np.linalg.inv(f).T)
