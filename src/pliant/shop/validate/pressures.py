"""Pressure and area at rest, against what they must be and against exact contact on the same mesh; the world turned at random."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.geometry.mesh import TetMesh
from pliant.geometry.near import kd_tree
from pliant.geometry.shapes import make
from pliant.scene import Scene
from pliant.shop.validate import Check, G, mean_force, problem
from pliant.shop.validate.active_set import Touch, ball, masses, plane, stiffness, touch
from pliant.shop.validate.carried import DENSITY, QUIET, SIDE, WEIGHT, cube, named
from pliant.shop.validate.indentation import CHATTER
from pliant.shop.validate.turning import Turned, turned

CARRIED = DENSITY * G * SIDE  # [Pa] under a block
ELEMENTS = {
    "reversal": "it reverses velocities, so that single points carry forces only in the mean over many steps, and no pressure",
    "quasi-rigid": "its bodies are half-spaces to their contacts: the pressure under a flat face grows towards its rim, see flat-punch",
}
POINTS = "each point pushes by itself: its force does not follow the area around it"
EVEN = {method: POINTS for method in ("ground", "noniterative", "penalty", "continuous-penalty", "point-surface")}


def box_mesh(size: tuple[float, float, float], edge: float) -> TetMesh:
    """Tetrahedra of a box, as a body of finite elements has them."""
    mesh = make("box", size=size, edge=edge).tets
    assert mesh is not None
    return mesh


def damped(modulus: float, dt: float) -> tuple[float, float]:
    """Damping [1/s] and time [s] with which a block of SIDE comes to rest without ringing."""
    omega = 0.5 * math.pi * math.sqrt(modulus / DENSITY) / SIDE
    return min(2.0 * omega, 0.2 / dt), max(100 * dt, 12.0 / omega)


def block_at_rest(method: str, dt: float, modulus: float, parts: int, finer: int = 1) -> Turned:
    """A block with nu = 0 on a plane, an edge in so many parts; its skin may be finer than its elements."""
    damping, until = damped(modulus, dt)
    scene = Scene(dt=dt, duration=until, contact=method)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    material = dict(youngs_modulus=modulus, poisson_ratio=0.0, density=DENSITY, mass_damping=damping)
    block: dict[str, Any] = dict(shape=dict(kind="box", size=(SIDE,) * 3, edge=SIDE / parts))
    if finer > 1:
        block |= dict(skin=dict(kind="box", size=(SIDE,) * 3, edge=SIDE / parts / finer))
    scene.add(name="block", position=(0, 0, 0.5 * SIDE), integrator="implicit", material=material, friction=0.5, **block)
    world = turned(scene)
    world.sim.run()
    return world


def spread(contacts: Contacts, expected: float) -> float:
    """Root of the mean square of pressure over the expected one, less 1, by area."""
    pressure, area = contacts.pressure, contacts.area
    return math.sqrt(float(np.nansum(area * (pressure / expected - 1.0) ** 2) / np.nansum(area)))


def peak(contacts: Contacts) -> float:
    """Largest pressure [Pa]; NaN where nothing touches."""
    return float(np.nanmax(contacts.pressure)) if len(contacts) else math.nan


def forces_on(world: Turned, body: str, other: str) -> Floats:
    """Force along z of the scene as written on each node of a body from another [N], (n,)."""
    contacts, nodes, skin = world.sim.contacts(body, other), world.sim.nodes(body), world.sim.world.model.skin
    support, up = contacts.support, world.back(contacts.force)[:, 2]
    point = np.bincount(support.point, support.weight * up[support.row], len(skin))
    out: Floats = np.bincount(skin.node, skin.weight * np.repeat(point, np.diff(skin.start)), nodes.stop).astype(np.float64)
    return out[nodes]


def against(world: Turned, exact: Touch, points: Floats) -> float:
    """Root of the mean square difference of nodal pressures to exact contact on the same nodes, over that of the exact ones, by area."""
    far, at = kd_tree(world.back(world.sim.world.model.nodes.rest[world.sim.nodes("block")])).query(points[exact.node])
    assert far.max() < 1e-9, "the reference has another mesh"
    pressure = forces_on(world, "block", "plane")[at] / exact.area
    miss = np.sum(exact.area * (pressure - exact.pressure) ** 2) / np.sum(exact.area * exact.pressure**2)
    return math.sqrt(float(miss))


@lru_cache
def exact_block(parts: int) -> tuple[Touch, Floats]:
    """The block at rest by the active set, and its nodes; forces are the same for any modulus."""
    mesh = box_mesh((SIDE,) * 3, SIDE / parts)
    points, faces = mesh.points + [0.0, 0.0, 0.5 * SIDE], mesh.boundary
    weight = np.outer(masses(points, mesh.tets, DENSITY), [0.0, 0.0, -G])
    low = faces[(points[faces][:, :, 2] < 1e-9).all(axis=1)]
    nothing = np.zeros(0, np.int64)
    return touch(points, low, stiffness(points, mesh.tets, 1e6, 0.0), weight, nothing, plane()), points


@problem("block-pressure", "theory/validation-problems 25", refused=ELEMENTS, limits=EVEN)
def block_pressure(method: str, quick: bool) -> list[Check]:
    """A block with nu = 0 at rest on a plane presses with rho g H everywhere, for any dt, stiffness and mesh."""
    cases = [(5e-3, 1e6, 4), (1e-2, 1e4, 4), (1e-3, 1e9, 4), (4e-3, 1e8, 8)]  # dt [s], E [Pa], parts
    if not quick:
        cases = [(dt, modulus, 8) for dt in (2.5e-4, 1e-3, 4e-3, 1e-2) for modulus in (1e4, 1e6, 1e8, 1e9)]
        cases += [(4e-3, 1e8, 4), (4e-3, 1e8, 16)]
    checks = []
    for dt, modulus, parts, finer in [(*case, 1) for case in cases] + [(5e-3, 1e6, 4, 8)]:
        world, (exact, points) = block_at_rest(method, dt, modulus, parts, finer), exact_block(parts)
        contacts, where = world.sim.contacts("block", "plane"), f"dt = {1e3 * dt:g} ms, E = {modulus:.0e} Pa, {parts} parts"
        where += f", skin {finer} times finer" if finer > 1 else ""
        # linear elements do not have an even pressure under exact contact either: twice the distance to it counts as well
        off = min(spread(contacts, CARRIED), 2.0 * against(world, exact, points))
        checks.append(
            Check(f"rms deviation of pressure, {where}", 0.0, off, 0.02, scale=1.0, at=("rms deviation of pressure", "E [Pa]", modulus))
        )
        checks.append(
            Check(
                f"peak of pressure, at most 1.05, {where}",
                0.0,
                peak(contacts) / CARRIED,
                1.05,
                scale=1.0,
                at=("peak over rho g H, up to 1.05", "E [Pa]", modulus),
            )
        )
    return checks


# ---- areas


Rectangle = tuple[float, float, float, float, float]  # centre x and y, half its widths [m], angle [degree]


def overlap(a: Rectangle, b: Rectangle) -> float:
    """Area that two rectangles in a plane share [m^2]; the middle between their centres must be in both."""
    sides = []
    for x, y, wide, high, degrees in (a, b):
        turn = math.radians(degrees)
        for outward, reach in ((turn, wide), (turn + 0.5 * math.pi, high), (turn + math.pi, wide), (turn - 0.5 * math.pi, high)):
            n = np.array([math.cos(outward), math.sin(outward)])
            sides.append([*n, -reach - n @ np.array([x, y])])
    inside = 0.5 * (np.array(a[:2]) + np.array(b[:2]))
    return float(ConvexHull(HalfspaceIntersection(np.array(sides), inside).intersections).volume)


def box_on_block(method: str, kind: str, place: tuple[float, float, float], edges: tuple[float, float]) -> Check:
    """A box of 0.1 x 0.1 x 0.05 m at rest at (x, y, degrees) on a block of 0.2 x 0.2 x 0.05 m: rigid on static, or soft on soft."""
    x, y, degrees = place
    scene = Scene(dt=5e-3, duration=0.25, contact=method)
    soft: dict[str, Any] = dict(integrator="implicit", material=dict(youngs_modulus=1e7, poisson_ratio=0.0, density=DENSITY))
    # given as meshes: their exact shapes are not what is asked for
    low, high = box_mesh((0.2, 0.2, 0.05), edges[0]), box_mesh((0.1, 0.1, 0.05), edges[1])
    below: dict[str, Any] = dict(model="static") if kind == "rigid" else dict(soft, fixed=[dict(side="-z")])
    scene.add(name="block", shape=low, position=(0, 0, 0.025), friction=0.5, **below)
    above: dict[str, Any] = dict(model="rigid") if kind == "rigid" else soft
    scene.add(name="box", shape=high, position=(x, y, 0.075), rotation=(0, 0, degrees), friction=0.5, **above)
    world = turned(scene)
    world.sim.run()
    expected = overlap((0.0, 0.0, 0.1, 0.1, 0.0), (x, y, 0.05, 0.05, degrees))
    fine, rough = 1e3 * edges[1], 1e3 * edges[0]
    what = f"area under a {kind} box at ({1e3 * x:g}, {1e3 * y:g}) mm, {degrees:g} degrees, edges {fine:.3g} on {rough:.3g} mm"
    at = ("area here", "area that they share [m²]", expected)
    return Check(what, expected, world.sim.contacts("box", "block").total_area, 0.005 if kind == "rigid" else 0.02, "m²", at=at)


@problem("areas", "theory/validation-problems 26", refused=ELEMENTS, limits=EVEN)
def areas(method: str, quick: bool) -> list[Check]:
    """A box at rest on a block touches with the area they share, whatever their meshes, turned, shifted and hanging over."""
    cases = [("rigid", (0.013, 0.007, 0.0), (0.05, 0.1)), ("rigid", (-0.021, 0.003, 33.0), (0.04, 0.05))]
    cases += [("rigid", (0.065, 0.011, 0.0), (0.033, 0.05)), ("soft", (0.01, -0.02, 17.0), (0.04, 0.033))]
    if not quick:
        cases += [("rigid", (0.031, 0.017, 12.0 * k), (0.2 / (2 + k), 0.1 / (1 + k % 4))) for k in range(6)]
        cases += [("soft", (0.063, 0.004 * k, 0.0), (0.2 / (3 + k), 0.1 / (2 + k))) for k in range(3)]
    return [box_on_block(method, *case) for case in cases]


# ---- a rigid ball on a soft block

BALL, BLOCK, SOFT, POISSON = 0.15, (0.2, 0.2, 0.05), 1e5, 0.3  # [m] radius, size; [Pa]
DEPTH, ASIDE = 0.008, (0.003, 0.004)  # [m] of the ball, and where its axis is: on no node


def ball_pushed_in(method: str, dt: float, parts: int) -> Contacts:
    """The ball pushed into the block, which is held from below, and kept there."""
    damping = 2.0 * math.sqrt(SOFT / DENSITY) / BLOCK[2]
    scene = Scene(dt=dt, duration=0.2, contact=method, gravity=(0, 0, 0))
    down = dict(shift=dict(times=[0.0, 0.1], values=[(0, 0, 0), (0, 0, -DEPTH)]))
    place = (*ASIDE, BLOCK[2] + BALL)
    scene.add(name="ball", shape=dict(kind="ball", radius=BALL), model="static", position=place, friction=0.0, motions=[down])
    material = dict(law="linear", youngs_modulus=SOFT, poisson_ratio=POISSON, density=DENSITY, mass_damping=damping)
    shape = dict(kind="box", size=BLOCK, edge=BLOCK[0] / parts)
    scene.add(
        name="block", shape=shape, position=(0, 0, 0.5 * BLOCK[2]), fixed=[dict(side="-z")], material=material, integrator="implicit",
        friction=0.0,
    )  # fmt: skip
    world = turned(scene)
    return world.sim.run().contacts("block", "ball")


def exact_ball(parts: int) -> Touch:
    """The same by the active set."""
    mesh = box_mesh(BLOCK, BLOCK[0] / parts)
    points, faces = mesh.points, mesh.boundary
    reach = 1.3 * math.sqrt(2.0 * BALL * DEPTH)  # further than it would touch if nothing gave way
    near = np.hypot(*(points[:, :2] - ASIDE).T) < reach
    top = faces[((points[:, 2] > 0.49 * BLOCK[2]) & near)[faces].all(axis=1)]
    fixed = np.flatnonzero(points[:, 2] < -0.49 * BLOCK[2])
    centre = np.array([*ASIDE, 0.5 * BLOCK[2] + BALL - DEPTH])
    return touch(points, top, stiffness(points, mesh.tets, SOFT, POISSON), np.zeros_like(points), fixed, ball(centre, BALL))


@problem("ball-in-block", "theory/validation-problems 27; [Hintermueller 2002]", refused=ELEMENTS)
def ball_in_block(method: str, quick: bool) -> list[Check]:
    """A rigid ball pressed into a soft block: force, area and peak pressure against exact contact on the same mesh."""
    parts, checks = 16 if quick else 24, []
    exact = exact_ball(parts)
    for dt in (5e-3,) if quick else (5e-3, 1e-3):
        contacts, when = ball_pushed_in(method, dt, parts), f"dt = {1e3 * dt:g} ms"
        checks += [
            Check(f"force, {when}", exact.total, float(np.linalg.norm(contacts.total_force)), 0.02, "N"),
            Check(f"area, {when}", exact.touched, contacts.total_area, 0.05, "m²"),
            Check(f"peak pressure, {when}", float(exact.pressure.max()), peak(contacts), 0.05, "Pa"),
        ]
    return checks


# ---- two blocks with meshes that do not match
#
# Pushed slowly by explicit steps of a fifth of what a wave takes through an element, and damped to rest. Stiffness of penalty methods grows
# with 1/dt², so that they give way by a few per cent of the depth at most.

PUNCH = CHATTER | {"quasi-rigid": "on a half-space the pressure of a flat face is not even, it grows towards the rim: see flat-punch"}


def patch_scene(method: str, edges: tuple[float, float], integrator: str) -> Scene:
    """Two blocks of SIDE on each other, with 1e5 Pa on top; implicit steps are five times as long."""
    young, load = 1e7, 1e5
    wave = math.sqrt(young / DENSITY)
    omega, dt = 0.25 * math.pi * wave / SIDE, 0.2 * edges[1] / wave
    scene = Scene(dt=dt * (5 if integrator == "implicit" else 1), duration=10.0 / omega, contact=method, gravity=(0, 0, 0))
    material = dict(law="linear", youngs_modulus=young, poisson_ratio=0.0, density=DENSITY, mass_damping=1.5 * omega)
    shared: dict[str, Any] = dict(material=material, integrator=integrator, friction=0.0)
    low, high = (dict(kind="box", size=(SIDE,) * 3, edge=edge) for edge in edges)
    scene.add(name="low", shape=low, position=(0, 0, 0.5 * SIDE), fixed=[dict(side="-z")], **shared)
    push = dict(kind="traction", value=dict(times=[0.0, 3.0 / omega], values=[(0, 0, 0), (0, 0, -load)]), where=dict(side="+z"))
    scene.add(name="high", shape=high, position=(0, 0, 1.5 * SIDE), loads=[push], **shared)
    return scene


@problem("contact-patch", "theory/validation-problems 7; [El-Abbasi 2001]", refused=PUNCH)
def contact_patch(method: str, quick: bool) -> list[Check]:
    """Two blocks with meshes that do not match, nu = 0, 1e5 Pa on top: the same pressure everywhere, and the interface sinks by p L/E."""
    young, load, edges = 1e7, 1e5, (SIDE / 4.0, SIDE / 6.0) if quick else (SIDE / 8.0, SIDE / 12.0)
    why = "points in bodies carry the force from both sides, those at rims less or nothing, as points in segments do [Zavarise 2009]"
    checks = []
    for integrator in ("verlet", "implicit"):
        world = turned(patch_scene(method, edges, integrator))
        top = np.flatnonzero(world.points("low")[:, 2] > 0.999 * SIDE)
        force = world.back(mean_force(world.sim.run(), "high", "low", 200 if integrator == "verlet" else 40))[2]
        sunk, contacts = SIDE - world.points("low")[top, 2], world.sim.contacts("high", "low")
        pressure, area = contacts.pressure, contacts.area
        spread = math.sqrt(float(np.nansum(area * (pressure / load - 1.0) ** 2) / np.nansum(area)))
        pressed = ("place across [m]", world.back(contacts.point)[:, 0], pressure, np.full(len(contacts), load))
        uneven = float(np.abs(sunk * young / (load * SIDE) - 1.0).max())
        checks += [
            Check(f"force, {integrator}", load * SIDE**2, float(force), 0.01, "N"),
            Check(f"mean sinking of the interface, {integrator}", load * SIDE / young, float(sunk.mean()), 0.02, "m", why=why),
            Check(f"largest deviation of the sinking, {integrator}", 0.0, uneven, 0.02, scale=1.0, why=why),
            Check(f"rms deviation of the pressure by area, {integrator}", 0.0, spread, 0.005, scale=1.0, why=why, curve=pressed),
        ]
    return checks


# ---- where the pressure is


@problem("centre-of-pressure", "theory/validation-problems 30", refused=QUIET)
def centre_of_pressure(method: str, quick: bool) -> list[Check]:
    """A cube on a plane pulled sideways at its centre with F: its centre of pressure moves by F h / W, h half its height."""
    checks = []
    for modulus in (None, 1e7):
        scene = Scene(dt=5e-3, duration=0.5, contact=method)
        scene.add(name="plane", shape="plane", model="static", friction=0.6)
        pull = dict(value=(0.2 * WEIGHT, 0.0, 0.0))
        more = {} if modulus is None else dict(mass_damping=20.0)
        scene.add(name="cube", position=(0, 0, 0.5 * SIDE), friction=0.6, loads=[pull], **cube(modulus, **more))
        world = turned(scene)
        world.sim.run()
        moved = middle(world) - world.centre("cube")
        checks.append(Check(f"way of the centre of pressure, {named(modulus)}", 0.2 * 0.5 * SIDE, float(moved[0]), 0.01, "m"))
        checks.append(Check(f"the same across the pull, {named(modulus)}", 0.0, float(moved[1]), 0.01, "m", scale=0.2 * 0.5 * SIDE))
    return checks


def middle(world: Turned) -> Floats:
    """Centre of pressure of the cube on the plane, in the axes of the scene as written [m]."""
    contacts = world.sim.contacts("cube", "plane")
    return world.back(contacts.center_of_pressure) if len(contacts) else np.full(3, np.nan)
