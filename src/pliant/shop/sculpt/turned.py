"""Coarse solids of revolution: a polygon of a few points round the axis, swept through levels, none of them on the axis.

A lathe piece has a node on its axis in every level, so a hexagon takes 18 tets a level. Without it the polygon is cut into sides - 2
triangles, which is the fewest tets a turned body can have; crowds of small bodies are made of these.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.blocks import oriented, prisms
from pliant.geometry.shape import Shape, solid, whole


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
