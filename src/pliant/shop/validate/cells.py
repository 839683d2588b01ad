"""Bodies of cells that their surface cuts, against tetrahedra that follow it: stiffness, contact, mass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import make
from pliant.geometry.shapes import resolve as shape_of
from pliant.scene import Scene
from pliant.shop.validate import NO_CONTACT, Check, problem
from pliant.shop.validate.indentation import DENSITY, MODULUS, POISSON, ROUND, TOUCH, YOUNG, pad
from pliant.simulate.simulation import Simulation

SIDE, ACROSS = 0.1, 8  # [m] of a bar, and cells across it
TURNED = 27.0  # [degree] about its axis, so that the lattice cuts all of its sides
SMALL = 0.03  # [m] radius and height of the pad


def turned(shape: Shape) -> Surface:
    """The surface of a bar along x, turned about its axis."""
    c, s = math.cos(math.radians(TURNED)), math.sin(math.radians(TURNED))
    return shape.surface().moved((0, 0, 0), np.array([[1, 0, 0], [0, c, -s], [0, s, c]]))


def cells(surface: Surface, edge: float) -> Shape:
    """The surface filled with cells."""
    return shape_of(dict(mesh=surface, fill="lattice", edge=edge), solid=True, cells=True)


def end_moves(shape: Any, length: float, load: Floats, **material: Any) -> float:
    """How far the end of a bar moves along a load on it [Pa] when the other end is held [m]."""
    scene = Scene(gravity=(0, 0, 0), contact="none")
    material = dict(youngs_modulus=YOUNG, poisson_ratio=POISSON, law="linear") | material
    traction = dict(kind="traction", where=dict(side="+x"), value=tuple(load.tolist()))
    scene.add(name="bar", shape=shape, material=material, fixed=[dict(side="-x")], loads=[traction])
    sim = Simulation(scene)
    start, skin = sim.points(), sim.world.model.skin
    end = skin.faces[(start[skin.faces][:, :, 0] > 0.5 * length - 1e-9).all(axis=1)]
    area = np.linalg.norm(np.cross(start[end[:, 1]] - start[end[:, 0]], start[end[:, 2]] - start[end[:, 0]]), axis=1)
    moved = (sim.equilibrium().points() - start)[end].mean(axis=1)
    return float(area @ moved @ load / area.sum() / np.linalg.norm(load))


@problem("lattice-bars", "theory/validation-problems 34", methods=NO_CONTACT)
def lattice_bars(method: str, quick: bool) -> list[Check]:
    """A beam that is bent and a block that is pulled, turned so that cells are cut: as stiff as with tetrahedra that follow them."""
    edge, checks = SIDE / ACROSS, []
    for name, length, load in (("beam, sag", 4 * SIDE if quick else 8 * SIDE, (0, 0, -1.0)), ("block, stretch", SIDE, (1.0, 0, 0))):
        box = make("box", size=(length, SIDE, SIDE), edge=edge)
        pull = np.array(load) * YOUNG * 1e-5
        reference = end_moves(box, length, pull)
        here = end_moves(cells(turned(box), edge), length, pull)
        checks.append(Check(name, reference, here, 0.02, "m"))
    return checks


@problem("lattice-two-materials", "theory/validation-problems 34; [Timoshenko 1970]", methods=NO_CONTACT)
def lattice_two_materials(method: str, quick: bool) -> list[Check]:
    """A bar of cells with a second material in a half of it, across or along it, that ends within cells: nu = 0."""
    length, stiff, edge = 4 * SIDE, 5.0, SIDE / ACROSS
    box = cells(make("box", size=(length, SIDE, SIDE), edge=SIDE).surface(), edge)
    split, far = 0.43, 3.0 * length  # of the length or the height; regions reach out of the bar
    block = make("box", size=(far, far, far), edge=far).surface()
    across = block.moved((split * length - 0.5 * length - 0.5 * far, 0, 0))
    along = block.moved((0, 0, split * SIDE - 0.5 * SIDE - 0.5 * far))
    moved, area = 1e-4 * length, SIDE**2
    series = moved * area / (length * (split / (stiff * YOUNG) + (1.0 - split) / YOUNG))
    beside = moved * area / length * YOUNG * (split * stiff + 1.0 - split)
    return [
        Check("one after the other, force", series, _end_force(box, across, stiff, moved), 0.02, "N"),
        Check("side by side, force", beside, _end_force(box, along, stiff, moved), 0.02, "N"),
    ]


def _end_force(shape: Shape, region: Surface, stiff: float, moved: float) -> float:
    """The force with which the end of a bar is moved along it [N]."""
    scene = Scene(gravity=(0, 0, 0), contact="none")
    material = dict(youngs_modulus=YOUNG, poisson_ratio=0.0, law="linear")
    own = dict(shape=region, material=dict(youngs_modulus=stiff * YOUNG))
    end = dict(where=dict(side="+x"), shift=(moved, 0.0, 0.0))
    scene.add(name="bar", shape=shape, material=material, regions=[own], fixed=[dict(side="-x")], motions=[end])
    sim = Simulation(scene).equilibrium()
    rest = sim.world.model.nodes.rest
    return abs(float(sim.reactions[rest[:, 0] > rest[:, 0].max() - 1e-9, 0].sum()))


@problem("lattice-mass", "theory/validation-problems 34", methods=NO_CONTACT)
def lattice_mass(method: str, quick: bool) -> list[Check]:
    """Mass, centre and inertia of cells are those of the tetrahedra that follow the same surface."""
    checks = []
    for kind in ("bunny", "torus") if quick else ("bunny", "torus", "teapot", "foot"):
        parameters = dict(major=0.1, minor=0.03) if kind == "torus" else {}
        shape = make(kind, **parameters)
        assert shape.tets is not None
        extent = np.ptp(shape.tets.points, axis=0)
        sim = Simulation(_alone(cells(shape.surface(), float(extent.min()) / ACROSS)))
        nodes, mass = sim.world.model.nodes.rest, sim.world.model.nodes.mass
        fine = shape.tets.points[shape.tets.tets]
        volume, middle = shape.tets.volumes, fine.mean(axis=1)
        total = DENSITY * float(volume.sum())
        centre = volume @ middle / volume.sum()
        y = fine - centre
        # a tetrahedron has V/20 (sum of corners' squares + square of their sum) of second moment
        both = y.sum(axis=1)
        second = DENSITY / 20.0 * (np.einsum("t,tai,taj->ij", volume, y, y) + np.einsum("t,ti,tj->ij", volume, both, both))
        own = np.einsum("n,ni,nj->ij", mass, nodes - centre, nodes - centre)
        inertia = [np.trace(each) * np.eye(3) - each for each in (second, own)]
        off = float(np.abs(inertia[1] - inertia[0]).max() / np.abs(inertia[0]).max())
        checks.append(Check(f"{kind}: mass", total, float(mass.sum()), 0.01, "kg"))
        miss = float(np.linalg.norm(mass @ nodes / mass.sum() - centre))
        checks.append(Check(f"{kind}: miss of the centre", 0.0, miss, 0.01, "m", scale=float(extent.min())))
        checks.append(Check(f"{kind}: error of inertia, of the largest", 0.0, off, 0.02, scale=1.0))
    return checks


def _alone(shape: Shape) -> Scene:
    scene = Scene(contact="none")
    scene.add(name="body", shape=shape, material=dict(density=DENSITY))
    return scene


def pressed(shape: Any, spacing: float) -> float:
    """Force on a plate that is pushed into the pad by TOUCH²/ROUND [N], at rest."""
    wave = math.sqrt(YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON)) / DENSITY)
    omega, depth = 0.5 * math.pi * wave / SMALL, TOUCH**2 / ROUND
    scene = Scene(dt=0.2 * spacing / wave, duration=10.0 / omega, contact="continuous-penalty", gravity=(0, 0, 0))
    down = dict(shift=dict(times=[0.0, 3.0 / omega], values=[(0, 0, 0), (0, 0, -depth)]))
    plate = dict(kind="box", size=(4 * SMALL, 4 * SMALL, 0.1), edge=4 * SMALL)
    scene.add(name="plate", shape=plate, model="static", position=(0.0013, 0.0017, 0.05), friction=0.0, motions=[down])
    material = dict(law="linear", youngs_modulus=YOUNG, poisson_ratio=POISSON, density=DENSITY, mass_damping=1.5 * omega)
    scene.add(name="pad", shape=shape, material=material, integrator="verlet", friction=0.0, fixed=[dict(side="-z")])
    return -float(Simulation(scene).run().contacts("pad", "plate").total_force[2])


def layer_force() -> float:
    """Force of a rigid ball of radius ROUND pushed by TOUCH²/ROUND into a layer as thick as the pad that is held below [N].

    Hertz's, times a series in chi = a/thickness [Dimitriadis 2002]; its next term would take off 0.4 %.
    """
    chi, depth = TOUCH / SMALL, TOUCH**2 / ROUND
    alpha = -(1.2876 - 1.4678 * POISSON + 1.3442 * POISSON**2) / (1.0 - POISSON)
    beta = (0.6387 - 1.0277 * POISSON + 1.5164 * POISSON**2) / (1.0 - POISSON)
    first, second = -2.0 * alpha / math.pi, 4.0 * alpha**2 / math.pi**2
    third = -8.0 / math.pi**3 * (alpha**3 + 4.0 * math.pi**2 / 15.0 * beta)
    return 4.0 / 3.0 * MODULUS * math.sqrt(ROUND) * depth**1.5 * (1.0 + chi * (first + chi * (second + chi * third)))


@problem("lattice-hertz", "theory/validation-problems 34; [Johnson 1985]; [Dimitriadis 2002]", methods=NO_CONTACT)
def lattice_hertz(method: str, quick: bool) -> list[Check]:
    """A round pad of cells against a plate, four cells per radius of contact: Hertz's force on a layer, and that of finer tetrahedra."""
    fine, edge = pad(8, SMALL), TOUCH / 4.0
    here = pressed(cells(fine.surface(), edge), edge)
    checks = [Check("force, theory of a layer", layer_force(), here, 0.02, "N", why="the layer is as thick as the pad, but has no end")]
    if not quick:
        checks.append(Check("force, of tetrahedra of half the size", pressed(fine, TOUCH / 8.0), here, 0.05, "N"))
    return checks
