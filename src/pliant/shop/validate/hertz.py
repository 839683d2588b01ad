"""Hertz's contact with finite elements: a soft round pad against a rigid plate, and two blocks that touch with meshes that do not match.

Both are pushed slowly by explicit steps of a fifth of what a wave takes through an element, and damped to rest. Stiffness of penalty
methods grows with 1/dt², so that they give way by a few per cent of the depth at most.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant import Scene
from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.geometry.blocks import disc, disc_xy, prisms
from pliant.geometry.shape import Shape, solid
from pliant.shop.validate import Check, problem
from pliant.shop.validate.carried import mean_force
from pliant.simulate.simulation import Simulation

ROUND, TOUCH, SIZE = 0.2, 0.01, 0.05  # [m] radius of curvature, of the contact (about), and of the pad, which is as thick
YOUNG, POISSON, DENSITY = 1e6, 0.3, 1000.0
BARS = 0.1  # of the peak and the rms of pressure, at the finer mesh
CHATTER = {"reversal": "it reverses velocities, so that single points carry forces only in the mean over many steps, and no pressure"}
PUNCH = CHATTER | {"quasi-rigid": "on a half-space the pressure of a flat face is not even, it grows towards the rim: see flat-punch"}
ELEMENTS = CHATTER | {"quasi-rigid": "it needs no finite elements: its pressure is that of hertz"}


def graded(spacing: float, even: int, more: int, far: float) -> Floats:
    """0 to far: so many even steps, then more that grow by a common ratio."""
    ratio, steps = 1.0, np.arange(1, more + 1)
    for _ in range(200):  # the ratio with which they end at far
        ratio *= ((far - even * spacing) / (spacing * np.sum(ratio**steps))) ** (1.0 / more)
    return np.concatenate([spacing * np.arange(even + 1), even * spacing + spacing * np.cumsum(ratio**steps)])


def pad(across: int) -> Shape:
    """A cylinder with a paraboloid on top, highest at the origin; `across` rings of nodes in the contact, coarser around and below."""
    spacing, coarser = TOUCH / across, 3 + across // 2
    radii, depths = graded(spacing, int(1.5 * across), coarser, SIZE), graded(spacing, across, coarser, SIZE)
    ring, place, triangles, colour = disc(len(radii) - 1)
    lattice = disc_xy(ring, place)
    tets = prisms(lattice, triangles, colour, len(depths) - 1)
    xy = lattice * (radii[ring] / np.maximum(ring, 1))[:, None]
    z = np.repeat(-depths[::-1], len(xy))
    xy = np.tile(xy, (len(depths), 1))
    bent = np.minimum(np.sum(xy**2, axis=1), (3.0 * TOUCH) ** 2) / (2.0 * ROUND)  # round where it may touch, flat around
    return solid("pad", np.column_stack([xy, z - bent * (1.0 + z / SIZE)]), tets)


def pressed(method: str, across: int) -> Contacts:
    """The pad at rest, with the plate where Hertz's contact has the radius TOUCH."""
    wave = math.sqrt(YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON)) / DENSITY)
    omega, depth = 0.5 * math.pi * wave / SIZE, TOUCH**2 / ROUND  # of the pad, up and down
    scene = Scene(dt=0.2 * TOUCH / across / wave, duration=10.0 / omega, contact=method, gravity=(0, 0, 0))
    down = dict(shift=dict(times=[0.0, 3.0 / omega], values=[(0, 0, 0), (0, 0, -depth)]))
    plate = dict(kind="box", size=(4 * SIZE, 4 * SIZE, 0.1), edge=4 * SIZE)
    scene.add(name="plate", shape=plate, model="static", position=(0.0013, 0.0017, 0.05), friction=0.0, motions=[down])
    material = dict(law="linear", youngs_modulus=YOUNG, poisson_ratio=POISSON, density=DENSITY, mass_damping=1.5 * omega)
    scene.add(name="pad", shape=pad(across), material=material, integrator="verlet", friction=0.0, fixed=[dict(side="-z")])
    return Simulation(scene).run().contacts("pad", "plate")


def hertz_errors(contacts: Contacts) -> tuple[float, float]:
    """Peak pressure over Hertz's at the same force, and the rms error of pressure by area, over its rms.

    At the same force, because the pad is finite: at the same depth it carries a quarter more than a half-space.
    """
    modulus, force = YOUNG / (1.0 - POISSON**2), -float(contacts.total_force[2])
    a = (0.75 * force * ROUND / modulus) ** (1.0 / 3.0)
    peak = 1.5 * force / (math.pi * a * a)
    expected = peak * np.sqrt(np.maximum(0.0, 1.0 - np.sum(contacts.point[:, :2] ** 2, axis=1) / a**2))
    pressure, area = contacts.pressure, contacts.area
    miss = np.nansum(area * (pressure - expected) ** 2) / np.nansum(area * expected**2)
    return float(np.nanmax(pressure)) / peak, math.sqrt(float(miss))


@problem("hertz-fem", "1", refused=ELEMENTS)
def hertz_fem(method: str, quick: bool) -> list[Check]:
    """A soft round pad of finite elements against a rigid plate: Hertz's pressure at 6 elements (in full: 8) per radius of contact."""
    coarse, fine = (3, 6) if quick else (4, 8)
    before, (peak, miss) = hertz_errors(pressed(method, coarse)), hertz_errors(pressed(method, fine))
    return [
        Check(f"peak pressure, {fine} elements, of Hertz's", 1.0, peak, BARS),
        Check(f"rms error of pressure, {fine} elements", 0.0, miss, BARS, scale=1.0),
        Check(f"rms error of pressure, {fine} over {coarse} elements, below 1", 0.0, miss / before[1], 1.0, scale=1.0),
    ]


@problem("contact-patch", "11", refused=PUNCH)
def contact_patch(method: str, quick: bool) -> list[Check]:
    """Two blocks with meshes that do not match, nu = 0, 1e5 Pa on top: the same pressure everywhere, and the interface sinks by p L/E."""
    size, young, load = 0.1, 1e7, 1e5
    wave, edges = math.sqrt(young / DENSITY), (size / 4.0, size / 6.0) if quick else (size / 8.0, size / 12.0)
    omega = 0.25 * math.pi * wave / size
    scene = Scene(dt=0.2 * edges[1] / wave, duration=10.0 / omega, contact=method, gravity=(0, 0, 0))
    material = dict(law="linear", youngs_modulus=young, poisson_ratio=0.0, density=DENSITY, mass_damping=1.5 * omega)
    shared: dict[str, Any] = dict(material=material, integrator="verlet", friction=0.0)
    low, high = (dict(kind="box", size=(size,) * 3, edge=edge) for edge in edges)
    scene.add(name="low", shape=low, position=(0, 0, 0.5 * size), fixed=[dict(side="-z")], **shared)
    push = dict(kind="traction", value=dict(times=[0.0, 3.0 / omega], values=[(0, 0, 0), (0, 0, -load)]), where=dict(side="+z"))
    scene.add(name="high", shape=high, position=(0, 0, 1.5 * size), loads=[push], **shared)
    sim = Simulation(scene)
    top = np.flatnonzero(sim.points("low")[:, 2] > 0.999 * size)
    force = mean_force(sim.run(), "high", "low", 200)[2]
    sunk, contacts = size - sim.points("low")[top, 2], sim.contacts("high", "low")
    why = "points in bodies carry the force from both sides, those at rims less or nothing, as points in segments do [Zavarise 2009]"
    pressure, area = contacts.pressure, contacts.area
    spread = math.sqrt(float(np.nansum(area * (pressure / load - 1.0) ** 2) / np.nansum(area)))
    return [
        Check("force", load * size**2, float(force), 0.01, "N"),
        Check("mean sinking of the interface", load * size / young, float(sunk.mean()), 0.05, "m", why=why),
        Check("largest deviation of the sinking", 0.0, float(np.abs(sunk * young / (load * size) - 1.0).max()), 0.1, scale=1.0, why=why),
        Check("rms deviation of the pressure by area", 0.0, spread, 0.1, scale=1.0, why=why),
    ]
