"""Chess pieces, turned on the lathe. Each stands on z = 0; origin: the middle of its base.

Profiles are drawn in any frame and scaled to the wanted height. With `sides` a piece is coarse: so many points round in each of `levels`
heights, none on the axis, and a rook without merlons.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.geometry.blocks import disc, oriented, prisms
from pliant.geometry.lathe import HalfPlane, half_plane, lathe, revolve
from pliant.geometry.shape import Shape, cells, edge_length, number, solid, whole

Pair = tuple[float, float]


def arc(centre: Pair, radius: float, start: float, end: float) -> Floats:
    """Points on a circle in the (r, z) plane; angles in degrees from the outward direction."""
    t = np.radians(np.linspace(start, end, 49))
    return np.stack([centre[0] + radius * np.cos(t), centre[1] + radius * np.sin(t)], axis=1)


def sweep(low: Pair, high: Pair, hollow: float) -> Floats:
    """A parabola between two points, pulled towards the axis in its middle by ``hollow`` (a bulge if negative)."""
    s = np.linspace(0.0, 1.0, 49)
    r = low[0] + (high[0] - low[0]) * s - 4.0 * hollow * s * (1.0 - s)
    return np.stack([r, low[1] + (high[1] - low[1]) * s], axis=1)


def knob(neck: float, foot: float, radius: float) -> Floats:
    """A ball on a neck of the given radius that starts at height ``foot``, up to its pole on the axis."""
    angle = np.degrees(np.arccos(neck / radius))
    points = arc((0.0, foot + np.sqrt(radius**2 - neck**2)), radius, -angle, 90.0)
    points[-1, 0] = 0.0
    return points


def plinth(radius: float) -> Floats:
    """The base: an upright side, then a rounded shoulder; ends at (0.92 radius, 0.40 radius)."""
    shoulder = 0.16 * radius
    centre = (radius - shoulder, 0.40 * radius - shoulder * np.sin(np.radians(60.0)))
    return np.concatenate([[[radius, 0.0]], arc(centre, shoulder, 0.0, 60.0)])


def collar(radius: float, low: float, high: float) -> Floats:
    return np.array([[radius, low], [radius, high]])


def drawn(*parts: Floats, height: float) -> Floats:
    """Parts joined to a profile (where two parts meet at a level they make a shelf), scaled to the height."""
    points = np.concatenate(parts)
    keep = np.concatenate([[True], np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-12])
    return points[keep] * (height / points[-1, 1])


def _stem(base: float, foot: float, top: Pair, hollow: float) -> Floats:
    return sweep((foot, 0.40 * base), top, hollow)


def pawn(height: float = 0.048, edge: float | None = None, sides: int | None = None, levels: int = 21) -> Shape:
    """A pawn: plinth, hollow stem, collar and ball. It stands on z = 0; origin: the middle of its base.

    height: [m]; the base is 0.6 height wide
    """
    h = number("pawn", "height", height)
    stem = _stem(0.30, 0.215, (0.105, 0.56), 0.035)
    parts = [plinth(0.30), stem, collar(0.185, 0.56, 0.615), knob(0.105, 0.615, 0.19)]
    profile = drawn(*parts, height=h)
    return lathe(profile, edge, "pawn") if sides is None else turned("pawn", profile, sides, levels)


def bishop(height: float = 0.068, edge: float | None = None, sides: int | None = None, levels: int = 21) -> Shape:
    """A bishop: plinth, slim stem, collar, a mitre drawn out to a small knob. It stands on z = 0; origin: the middle
    of its base.

    height: [m]; the base is 0.48 height wide
    """
    h = number("bishop", "height", height)
    head = [sweep((0.085, 0.58), (0.055, 0.90), -0.085), knob(0.042, 0.915, 0.05)]
    parts = [plinth(0.24), _stem(0.24, 0.17, (0.085, 0.53), 0.025), collar(0.15, 0.53, 0.58), *head]
    profile = drawn(*parts, height=h)
    return lathe(profile, edge, "bishop") if sides is None else turned("bishop", profile, sides, levels)


def queen(height: float = 0.085, edge: float | None = None, sides: int | None = None, levels: int = 21) -> Shape:
    """A queen: plinth, tall stem, collar, flared crown with a knob. It stands on z = 0; origin: the middle of its base.

    height: [m]; the base is 0.44 height wide
    """
    h = number("queen", "height", height)
    crown = [sweep((0.075, 0.665), (0.145, 0.87), 0.02), sweep((0.105, 0.87), (0.045, 0.92), 0.0)]
    parts = [plinth(0.22), _stem(0.22, 0.155, (0.075, 0.61), 0.025), collar(0.13, 0.61, 0.665)]
    parts += [*crown, knob(0.045, 0.92, 0.055)]
    profile = drawn(*parts, height=h)
    return lathe(profile, edge, "queen") if sides is None else turned("queen", profile, sides, levels)


def rook(height: float = 0.054, edge: float | None = None, sides: int | None = None, levels: int = 21) -> Shape:
    """A rook: plinth, stem and a turret with six merlons round a sunken floor. It stands on z = 0; origin: the middle
    of its base.

    Walls and merlons are whole cells, about a quarter of the turret's rings wide, so their size follows ``edge`` in
    steps; with less than four rings the wall is plain.

    height: [m]; the base is 0.6 height wide
    """
    tall = number("rook", "height", height)
    parts = [plinth(0.30), _stem(0.30, 0.22, (0.165, 0.68), 0.02), collar(0.24, 0.68, 0.86)]
    if sides is not None:
        return turned("rook", drawn(*parts, np.array([[0.24, 1.0]]), height=tall), sides, levels)
    body = drawn(*parts, height=0.86 * tall)
    h = edge_length("rook", 0.06 * tall if edge is None else edge, 0.3 * tall, np.pi * 0.09 * tall**3)
    half = half_plane(body, h)
    rings, more = int(half.rings[-1]), cells(0.14 * tall, h)
    wall = np.repeat(half.rz[-1:], more, axis=0)
    wall[..., 1] += np.linspace(0.0, 0.14 * tall, more + 1)[1:, None]
    tower = HalfPlane(np.r_[half.rings, np.full(more, rings)], np.concatenate([half.rz, wall]))
    keep = np.ones((len(tower.rings), len(disc(int(tower.rings.max()))[2])), dtype=np.bool_)
    keep[-more:] = _merlons(int(tower.rings.max()), rings)
    return solid("rook", *revolve(tower, keep))


def _merlons(most: int, rings: int) -> Bools:
    """Which triangles of a disc carry the wall of a turret with this many rings: six posts with parallel sides."""
    ring, place, triangles, _ = disc(most)
    part = rings // 4  # thickness of the wall and half width of a post, in cells
    inner = ring[triangles].min(axis=1) < rings - max(part, 1)
    step = place % np.maximum(ring, 1)
    gap = (np.minimum(step, ring - step) >= part)[triangles].all(axis=1) if part else np.zeros_like(inner)
    return ~(inner & (rings > 1)) & ~gap


# Coarse solids of revolution: a polygon of a few points round the axis, swept through levels, none of them on the axis.
#
# A lathe piece has a node on its axis in every level, so a hexagon takes 18 tets a level. Without it the polygon is cut into sides - 2
# triangles, which is the fewest tets a turned body can have; crowds of small bodies are made of these.


def turned(name: str, profile: Floats, sides: int, levels: int) -> Shape:
    """The (radius, height) profile at equal steps of height, `sides` points round in each; it may end in a point on the axis.

    A polygon is drawn so that its area is the circle's, so that coarse pieces weigh as much as fine ones.
    """
    sides, levels = whole(name, "sides", sides, least=3), whole(name, "levels", levels, least=3)
    z = np.linspace(profile[0, 1], profile[-1, 1], levels)
    r = np.interp(z, profile[:, 1] + 1e-9 * np.arange(len(profile)) * profile[-1, 1], profile[:, 0])
    wider = np.sqrt(2 * np.pi / (sides * np.sin(2 * np.pi / sides)))
    pointed = profile[-1, 0] == 0.0
    rings = levels - 1 if pointed else levels
    angle = 2 * np.pi * np.arange(sides) / sides
    circle = wider * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate([np.column_stack([r[k] * circle, np.full(sides, z[k])]) for k in range(rings)])
    fan, colour = _fan(sides)
    tets = prisms(circle, fan, colour, rings - 1)
    if pointed:
        points = np.concatenate([points, [[0.0, 0.0, z[-1]]]])
        top = np.column_stack([fan + (rings - 1) * sides, np.full(len(fan), rings * sides)])
        tets = np.concatenate([tets, oriented(top, points)])
    return solid(name, points, tets)


def _fan(sides: int) -> tuple[Ints, Ints]:
    """A polygon as a zigzag of triangles, anticlockwise, and a colour 0-2 of each corner; neighbours differ."""
    order = [0]
    for k in range(1, (sides + 2) // 2):
        order += [k, sides - k]
    order = list(dict.fromkeys(order))[:sides]
    colour = np.zeros(sides, np.int64)
    colour[order] = np.arange(sides) % 3
    strip = [(order[i], order[i + 1], order[i + 2]) for i in range(sides - 2)]
    return np.array([t if i % 2 == 0 else (t[1], t[0], t[2]) for i, t in enumerate(strip)]), colour
