"""Indentation: surfaces pressed together, against the theory of contact (Hertz, roller, punch, cone, patches), and Hertz's contact with
finite elements.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.contact.elastic.contact_stiffness import hexagonal
from pliant.contact.elastic.operators import elastic
from pliant.contact.elastic.response import Boussinesq, compliance
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.surfels import Exact, PointSurface
from pliant.geometry.blocks import disc, disc_xy, prisms
from pliant.geometry.shape import Shape, solid
from pliant.scene import Scene
from pliant.shop.validate import STATIC, Check, active_set, problem
from pliant.simulate.simulation import Simulation

# ---- Surfaces that give way locally, pressed together: the static solutions of contact mechanics [Johnson 1985; Popov 2010;
# theory/quasi-rigid 15].
#
# Asked of `quasi-rigid` only, which solves the static problem of two half-spaces. Surfaces are sampled on a hexagonal lattice.

PLANE = Side(Exact("plane"))
YOUNG, POISSON = 1e6, 0.3
MODULUS = YOUNG / (1.0 - POISSON**2)  # E* of one soft body against a rigid one [Pa]
SOFT = Boussinesq(compliance(YOUNG, POISSON))


def cap(radius: float, reach: float, spacing: float) -> PointSurface:
    """The lowest part of a ball about the origin, up to a distance from the axis [m]."""
    flat, areas = hexagonal(spacing, reach)
    inside = np.hypot(flat[:, 0], flat[:, 1]) <= reach
    points = flat[inside]
    points[:, 2] = -np.sqrt(radius**2 - points[:, 0] ** 2 - points[:, 1] ** 2)
    normals = points / radius
    return PointSurface(points, normals, areas[inside] / -normals[:, 2])


def cone(slope: float, reach: float, spacing: float) -> PointSurface:
    """A cone that stands on its tip at the origin; slope of its flank against the plane."""
    flat, areas = hexagonal(spacing, reach)
    r = np.hypot(flat[:, 0], flat[:, 1])
    outwards = np.divide(flat[:, :2], r[:, None], out=np.zeros((len(r), 2)), where=r[:, None] > 0.0)
    normals = np.column_stack([slope * outwards, -np.ones(len(r))]) / math.hypot(1.0, slope)
    return PointSurface(np.column_stack([flat[:, :2], slope * r]), normals, areas * math.hypot(1.0, slope))


def rms(result: ContactResult, expected: Floats) -> float:
    """Area-weighted root of the mean square error of the pressure, over that of the expected one."""
    return math.sqrt(float(np.sum(result.areas * (result.pressure - expected) ** 2) / np.sum(result.areas * expected**2)))


def ellipse(result: ContactResult, peak: float, radius: float) -> Floats:
    """Hertz's pressure p0 sqrt(1 - r²/a²) at the nodes [Pa]."""
    r2 = np.sum(result.deformed[:, :2] ** 2, axis=1)
    return peak * np.sqrt(np.maximum(0.0, 1.0 - r2 / radius**2))


def over_radius(result: ContactResult, expected: Floats) -> tuple[str, Floats, Floats, Floats]:
    """For the plot: pressure at the nodes [Pa] over their distance from the axis [m], and theory's."""
    r = np.hypot(result.deformed[:, 0], result.deformed[:, 1])
    order = np.argsort(r)
    return "distance from the axis [m]", r[order], result.pressure[order], expected[order]


def hertz_checks(result: ContactResult, modulus: float, radius: float, depth: float, tolerance: float, why: str = "") -> list[Check]:
    """P = 4/3 E* sqrt(R) d^1.5, a = sqrt(R d), p0 = 2 E*/pi sqrt(d/R), U = 8/15 E* sqrt(R) d^2.5."""
    a, peak = math.sqrt(radius * depth), 2.0 * modulus / math.pi * math.sqrt(depth / radius)
    expected = ellipse(result, peak, a)
    work = 0.5 * float(np.sum(result.P * (result.u_a + result.u_b)))
    return [
        Check("force", 4.0 / 3.0 * modulus * math.sqrt(radius) * depth**1.5, result.force, tolerance, "N", why=why),
        Check("area", math.pi * a * a, result.area, 0.05, "m²", why=why or "nodes touch or not: the rim is as wide as a node"),
        Check("peak pressure", peak, float(result.pressure.max()), tolerance, "Pa", why=why, curve=over_radius(result, expected)),
        Check("rms error of pressure, of the rms pressure", 0.0, rms(result, expected), 0.02, scale=1.0, why=why),
        Check("elastic energy", 8.0 / 15.0 * modulus * math.sqrt(radius) * depth**2.5, work, tolerance, "J", why=why),
    ]


@problem("hertz", "theory/validation-problems 1; [Johnson 1985]", methods=STATIC)
def hertz(method: str, quick: bool) -> list[Check]:
    """A soft ball of 0.1 m pressed 0.1 mm onto a rigid plane: force, area, pressure and energy by Hertz."""
    radius, depth, across = 0.1, 1e-4, 24 if quick else 32  # nodes per contact radius
    a = math.sqrt(radius * depth)
    side = Side(cap(radius, 1.6 * a, a / across), SOFT, translation=np.array([0.0, 0.0, radius - depth]))
    return hertz_checks(resolve(side, PLANE), MODULUS, radius, depth, 0.02)


@problem("two-balls", "theory/validation-problems 2; [Vautier 1998]", methods=STATIC)
def two_balls(method: str, quick: bool) -> list[Check]:
    """Two soft balls of 50 mm and 20 GPa approach by 4 mm: 586.1 kN, 10 mm, 2798.3 MPa."""
    radius, depth, across = 0.05, 4e-3, 8 if quick else 16
    soft = Boussinesq(compliance(20e9, 0.3))
    low = cap(radius, 0.018, 0.01 / across)
    side = Side(low, soft, translation=np.array([0.0, 0.0, 2.0 * radius - depth]))
    found = resolve(side, Side(Exact("ball", (radius,)), soft))
    centre = float(np.mean(found.deformed[found.contact], axis=0)[2])
    why = "a/R is 0.2: balls are not the paraboloids of the theory, and a slope of 0.2 is not small"
    return [
        Check("force", 586.1e3, found.force, 0.02, "N", why=why),
        Check("radius of the contact", 0.01, math.sqrt(found.area / math.pi), 0.05, "m", why=why),
        Check(
            "peak pressure",
            2798.3e6,
            float(found.pressure.max()),
            0.04,
            "Pa",
            why=why,
            curve=over_radius(found, ellipse(found, 2798.3e6, 0.01)),
        ),
        Check("plane of contact", radius - depth / 2.0, centre, 0.01, "m", scale=depth),
    ]


@problem("roller", "theory/validation-problems 3; [Johnson 1985]", methods=STATIC)
def roller(method: str, quick: bool) -> list[Check]:
    """A long roller on a plane: in its middle, p0 = sqrt(P E*/(pi R)) and a = 2 sqrt(P R/(pi E*)) with P the load per length there."""
    radius, depth, reach, half = 0.1, 1e-4, 3e-3, 2.4e-2
    flat, areas = hexagonal(5e-4 if quick else 2.5e-4, half)
    kept = np.abs(flat[:, 0]) <= reach
    points = flat[kept]
    points[:, 2] = -np.sqrt(radius**2 - points[:, 0] ** 2)
    normals = np.column_stack([points[:, 0], np.zeros(len(points)), points[:, 2]]) / radius
    side = Side(PointSurface(points, normals, areas[kept] / -normals[:, 2]), SOFT, translation=np.array([0.0, 0.0, radius - depth]))
    found = resolve(side, PLANE)
    middle = np.abs(found.deformed[:, 1]) < 0.4 * half
    length = float(areas[kept][np.abs(points[:, 1]) < 0.4 * half].sum()) / (float(areas[kept].sum()) / (2.0 * half))  # as sampled
    load = float(found.P[middle].sum()) / length
    peak, a = math.sqrt(load * MODULUS / (math.pi * radius)), 2.0 * math.sqrt(load * radius / (math.pi * MODULUS))
    touching = middle & (found.P > 0.0)
    x = found.deformed[middle, 0]
    across = ("place across [m]", x, found.pressure[middle], peak * np.sqrt(np.maximum(0.0, 1.0 - (x / a) ** 2)))
    return [
        Check("peak pressure", peak, float(np.sort(found.pressure[middle])[-10:].mean()), 0.02, "Pa", curve=across),
        Check("half the width", a, float(found.areas[touching].sum()) / (2.0 * length), 0.05, "m"),
    ]


@problem("flat-punch", "theory/validation-problems 4; [Sneddon 1965]", methods=STATIC)
def flat_punch(method: str, quick: bool) -> list[Check]:
    """A rigid flat punch of 10 mm pushes a half-space in by 0.1 mm: P = 2 a E* d, p = P/(2 pi a²)/sqrt(1 - r²/a²)."""
    a, depth, across = 0.01, 1e-4, 12 if quick else 24
    flat, areas = hexagonal(a / across, a)
    inside = np.hypot(flat[:, 0], flat[:, 1]) <= a
    down = np.broadcast_to([0.0, 0.0, -1.0], flat[inside].shape)
    whole = areas[inside] * (math.pi * a * a / areas[inside].sum())  # the lattice cuts the rim: its area is that of the disc
    punch = Side(PointSurface(flat[inside], down, whole), translation=np.array([0.0, 0.0, -depth]))
    found = resolve(punch, Side(Exact("plane"), SOFT))
    force, r = 2.0 * a * MODULUS * depth, np.hypot(found.deformed[:, 0], found.deformed[:, 1])
    inner = r < 0.7 * a
    expected = force / (2.0 * math.pi * a * a) / np.sqrt(1.0 - (r[inner] / a) ** 2)
    curve = ("distance from the axis [m], within 0.7 a", r[inner], found.pressure[inner], expected)
    return [
        Check("force", force, found.force, 0.02, "N"),
        Check("pressure in the middle", force / (2.0 * math.pi * a * a), float(found.pressure[np.argmin(r)]), 0.02, "Pa", curve=curve),
        Check("largest error of pressure within 0.7 a", 0.0, float(np.abs(found.pressure[inner] / expected - 1.0).max()), 0.05, scale=1.0),
    ]


@problem("cone", "theory/validation-problems 6; [Sneddon 1965]", methods=STATIC)
def cone_on_plane(method: str, quick: bool) -> list[Check]:
    """A cone of slope 0.05 pressed 0.2 mm into a plane: P = 2 E*/pi d²/tan(beta), a = 2 d/(pi tan(beta))."""
    slope, depth, across = 0.05, 2e-4, 12 if quick else 24
    a = 2.0 * depth / (math.pi * slope)
    tip = Side(cone(slope, 2.0 * a, a / across), SOFT, translation=np.array([0.0, 0.0, -depth]))
    found = resolve(tip, PLANE)
    r = np.maximum(np.hypot(found.deformed[:, 0], found.deformed[:, 1]), 0.1 * a / across)  # it is infinite at the tip
    pressure = 0.5 * MODULUS * slope * np.arccosh(np.maximum(1.0, a / r))
    return [
        Check("force", 2.0 * MODULUS / math.pi * depth**2 / slope, found.force, 0.02, "N", curve=over_radius(found, pressure)),
        Check("radius of the contact", a, math.sqrt(found.area / math.pi), 0.05, "m"),
    ]


@problem("patches", "theory/validation-problems 5; [Johnson 1985]", methods=STATIC)
def patches(method: str, quick: bool) -> list[Check]:
    """Uniform pressure on a disc and on a square of a half-space: how far it sinks in the middle, at the rim and far away."""
    a, load, across = 0.01, 1e3, 16 if quick else 40
    flat, areas = hexagonal(a / across, a)
    unit = load / MODULUS
    checks = []
    for form in ("disc", "square"):
        inside = np.hypot(flat[:, 0], flat[:, 1]) <= a if form == "disc" else np.ones(len(flat), bool)
        whole = math.pi * a * a if form == "disc" else 4.0 * a * a
        points, share = flat[inside], areas[inside] * (whole / areas[inside].sum())
        matrix = elastic(np.concatenate([points, [[50.0 * a, 0.0, 0.0]]]), np.append(share, areas[0]), SOFT)
        sunk = matrix @ np.append(load * share, 0.0)
        middle = int(np.argmin(np.hypot(points[:, 0], points[:, 1])))
        exact = 2.0 * unit * a if form == "disc" else 8.0 * math.asinh(1.0) / math.pi * unit * a
        checks.append(Check(f"{form}: middle", exact, float(sunk[middle]), 0.01, "m"))
        checks.append(Check(f"{form}: far away", load * whole / (math.pi * MODULUS * 50.0 * a), float(sunk[-1]), 0.01, "m"))
        if form == "disc":
            outer = np.hypot(points[:, 0], points[:, 1])
            line = np.polyfit(outer[outer > 0.9 * a], sunk[:-1][outer > 0.9 * a], 1)  # no node lies on the rim
            checks.append(Check("disc: rim", 4.0 / math.pi * unit * a, float(np.polyval(line, a)), 0.02, "m"))
    return checks


# ---- Hertz's contact with finite elements: a soft round pad against a rigid plate.
#
# It is pushed slowly by explicit steps of a fifth of what a wave takes through an element, and damped to rest. Stiffness of penalty
# methods grows with 1/dt², so that they give way by a few per cent of the depth at most.

DENSITY = 1000.0  # [kg/m^3]
ROUND, TOUCH, PAD = 0.2, 0.01, 0.05  # [m] radius of curvature, of the contact (about), and of the pad, which is as thick
RMS = 0.1  # of pressure, at the finer mesh: what the shape of so many elements leaves
CHATTER = {"reversal": "it reverses velocities, so that single points carry forces only in the mean over many steps, and no pressure"}
ELEMENTS = CHATTER | {"quasi-rigid": "it needs no finite elements: its pressure is that of hertz"}


def graded(spacing: float, even: int, more: int, far: float) -> Floats:
    """0 to far: so many even steps, then more that grow by a common ratio."""
    ratio, steps = 1.0, np.arange(1, more + 1)
    for _ in range(200):  # the ratio with which they end at far
        ratio *= ((far - even * spacing) / (spacing * np.sum(ratio**steps))) ** (1.0 / more)
    return np.concatenate([spacing * np.arange(even + 1), even * spacing + spacing * np.cumsum(ratio**steps)])


def pad(across: int, size: float = PAD) -> Shape:
    """A cylinder with a paraboloid on top, highest at the origin; `across` rings of nodes in the contact, coarser around and below."""
    spacing, coarser = TOUCH / across, 3 + across // 2
    radii, depths = graded(spacing, int(1.5 * across), coarser, size), graded(spacing, across, coarser, size)
    ring, place, triangles, colour = disc(len(radii) - 1)
    lattice = disc_xy(ring, place)
    tets = prisms(lattice, triangles, colour, len(depths) - 1)
    xy = lattice * (radii[ring] / np.maximum(ring, 1))[:, None]
    z = np.repeat(-depths[::-1], len(xy))
    xy = np.tile(xy, (len(depths), 1))
    bent = np.minimum(np.sum(xy**2, axis=1), (3.0 * TOUCH) ** 2) / (2.0 * ROUND)  # round where it may touch, flat around
    return solid("pad", np.column_stack([xy, z - bent * (1.0 + z / size)]), tets)


def pressed_pad(method: str, across: int) -> Contacts:
    """The pad at rest, with the plate where Hertz's contact has the radius TOUCH."""
    wave = math.sqrt(YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON)) / DENSITY)
    omega, depth = 0.5 * math.pi * wave / PAD, TOUCH**2 / ROUND  # of the pad, up and down
    scene = Scene(dt=0.2 * TOUCH / across / wave, duration=10.0 / omega, contact=method, gravity=(0, 0, 0))
    down = dict(shift=dict(times=[0.0, 3.0 / omega], values=[(0, 0, 0), (0, 0, -depth)]))
    plate = dict(kind="box", size=(4 * PAD, 4 * PAD, 0.1), edge=4 * PAD)
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


@problem("hertz-fem", "theory/validation-problems 1; [Johnson 1985]", refused=ELEMENTS)
def hertz_fem(method: str, quick: bool) -> list[Check]:
    """A soft round pad of finite elements against a rigid plate: Hertz's pressure at 6 elements (in full: 8) per radius of contact."""
    coarse, fine = (3, 6) if quick else (4, 8)
    found, exact = pressed_pad(method, fine), exactly_pressed_pad(fine)
    before, (peak, miss) = hertz_errors(pressed_pad(method, coarse)), hertz_errors(found)
    force = -float(found.total_force[2])
    area = math.pi * (0.75 * force * ROUND / MODULUS) ** (2.0 / 3.0)
    return [
        Check(f"force, against exact contact on the same {fine} elements", exact, force, 0.02, "N"),
        Check(f"area, {fine} elements, by Hertz at this force", area, found.total_area, 0.1, "m²"),
        Check(f"peak pressure, {fine} elements, of Hertz's", 1.0, peak, 0.05),
        Check(f"rms error of pressure, {fine} elements", 0.0, miss, RMS, scale=1.0, curve=pressed_over_radius(found)),
        Check(f"rms error of pressure, {fine} over {coarse} elements, below 1", 0.0, miss / before[1], 1.0, scale=1.0),
    ]


def pressed_over_radius(contacts: Contacts) -> tuple[str, Floats, Floats, Floats]:
    """For the plot: pressure [Pa] over the distance from the axis [m], and Hertz's at the same force."""
    force, r = -float(contacts.total_force[2]), np.hypot(contacts.point[:, 0], contacts.point[:, 1])
    order, a = np.argsort(r), (0.75 * force * ROUND / MODULUS) ** (1.0 / 3.0)
    theory = 1.5 * force / (math.pi * a * a) * np.sqrt(np.maximum(0.0, 1.0 - (r / a) ** 2))
    return "distance from the axis [m]", r[order], contacts.pressure[order], theory[order]


def exactly_pressed_pad(across: int) -> float:
    """Force [N] with which the plate presses the same mesh as deep, without springs of contact."""
    mesh = pad(across).tets
    assert mesh is not None
    points, faces = mesh.points, mesh.boundary
    near = (np.hypot(points[:, 0], points[:, 1]) < 1.4 * TOUCH) & (points[:, 2] > -0.1 * TOUCH)
    fixed = np.flatnonzero(points[:, 2] < points[:, 2].min() + 1e-9)
    matrix, plate = active_set.stiffness(points, mesh.tets, YOUNG, POISSON), active_set.punch(-(TOUCH**2) / ROUND, math.inf)
    return active_set.touch(points, faces[near[faces].all(axis=1)], matrix, np.zeros_like(points), fixed, plate).total
