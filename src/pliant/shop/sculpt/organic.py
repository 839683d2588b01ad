"""Bodies with a form of their own, made from smooth implicit functions; they stand in where papers use scans.

All of them stand on z = 0 with their middle over the origin and look, open or point along +x. Lengths are in metres;
`edge` is the length of the long lattice edges (see stuffing.py), None takes one that gives a few thousand tetrahedra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pliant.base import Floats, PliantError
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shape import Shape, number
from pliant.shop.sculpt.implicit import (
    Field,
    ball,
    box,
    cylinder,
    difference,
    ellipsoid,
    extruded,
    half_space,
    intersection,
    mirrored,
    moved,
    round_cone,
    tube,
    union,
)
from pliant.shop.sculpt.stuffing import Pinched, stuff

_ABOVE_GROUND = half_space((0, 0, 0), (0, 0, -1))


# Lattice shifts along x and y in edges, tried in turn: what is about as thin as an edge may break or pinch under one.
_SHIFTS = ((0.0, 0.0), (0.3, 0.2), (0.1, 0.4), (0.4, 0.1))


@dataclass(frozen=True)
class _Edges:
    """What the mesh of a body of size 1 has to respect."""

    usual: float  # edge when none is asked for
    largest: float  # edge with which no part gets lost
    handles: int = 0


def _made(name: str, unit: Field, extent: Sequence[float], size: float, edge: float | None, edges: _Edges) -> Shape:
    """The body `unit` of size 1, which lies within +-extent of the origin and above z = 0, scaled up and filled."""
    h = edges.usual * size if edge is None else number(name, "edge", edge)
    x, y, z = (size * e for e in extent)
    body = moved(unit, scale=size)
    for a, b in _SHIFTS if h <= edges.largest * size else ():
        try:
            mesh = stuff(body, (-x, -y, 0.0), (x, y, z), h, (a * h, b * h, 0.0))
        except Pinched:
            continue
        skin = mesh.surface()
        if len(skin.points) - len(skin.faces) // 2 == 2 - 2 * edges.handles:  # Euler: neither pieces nor tunnels
            return Shape(name, mesh)
    raise PliantError(
        f"{name}: edge = {h:g} m is too coarse for a body of {size:g} m, its thin parts would get lost; "
        f"use less than {min(h, edges.largest * size):g} m"
    )


def _curve(control: Sequence[Sequence[float]], count: int = 9) -> Floats:
    """Points on the cubic Bezier curve of four control points."""
    t = np.linspace(0.0, 1.0, count)[:, None]
    p = np.asarray(control, dtype=np.float64)
    return (1 - t) ** 3 * p[0] + 3 * t * (1 - t) ** 2 * p[1] + 3 * t * t * (1 - t) * p[2] + t**3 * p[3]


@lru_cache(maxsize=8)
def teapot(size: float = 0.2, edge: float | None = None) -> Shape:
    """A solid teapot, `size` long from handle to spout [m] and 0.64 of that high."""
    size = number("teapot", "size", size)
    body = union(
        ellipsoid((0, 0, 0.25), (0.27, 0.27, 0.24)), cylinder((0, 0, 0.04), (0, 0, 1), 0.2, 0.04, 0.039), blend=0.06
    )
    lid = union(
        cylinder((0, 0, 0.45), (0, 0, 1), 0.17, 0.035, 0.03),
        ellipsoid((0, 0, 0.46), (0.145, 0.145, 0.08)),
        ball((0, 0, 0.585), 0.055),
        blend=0.03,
    )
    spout = tube(
        _curve([(0.18, 0, 0.16), (0.42, 0, 0.14), (0.31, 0, 0.44), (0.45, 0, 0.47)]), np.linspace(0.1, 0.048, 9)
    )
    handle = tube(_curve([(-0.2, 0, 0.40), (-0.52, 0, 0.50), (-0.56, 0, 0.16), (-0.2, 0, 0.12)], 13), 0.047)
    pot = union(union(body, lid, blend=0.02), spout, handle, blend=0.05)
    return _made(
        "teapot", intersection(pot, _ABOVE_GROUND), (0.55, 0.3, 0.7), size, edge, _Edges(0.054, 0.0625, handles=1)
    )


@lru_cache(maxsize=8)
def mouth(size: float = 0.2, gap: float = 0.06, edge: float | None = None) -> Shape:
    """A C-shaped mouth of height `size` [m] whose lips are `gap` [m] apart; it opens towards +x."""
    size = number("mouth", "size", size)
    gap = number("mouth", "gap", gap, below=0.6 * size)
    opening = gap / size
    jaw = min(0.16, 0.25 * (0.94 - opening))  # inside the mouth is wider than between the lips
    lip = 0.7 * jaw
    angle = np.linspace(-0.5 * np.pi, -1.5 * np.pi, 17)
    back = np.stack([(0.5 - jaw) * np.cos(angle), np.zeros(17), 0.5 + (0.5 - jaw) * np.sin(angle)], axis=1)
    tip = 0.5 * opening + lip
    path = np.concatenate([[(0.385, 0, 0.5 - tip), (0.23, 0, jaw)], back, [(0.23, 0, 1 - jaw), (0.385, 0, 0.5 + tip)]])
    profile = tube(path, [lip, *[jaw] * (len(path) - 2), lip])
    return _made(
        "mouth",
        extruded(profile, 1, 0.25, 0.06),
        (0.6, 0.3, 1.05),
        size,
        edge,
        _Edges(min(0.08, 0.5 * opening), min(0.9 * jaw, 0.7 * opening)),
    )


@lru_cache(maxsize=8)
def foot(length: float = 0.25, edge: float | None = None) -> Shape:
    """A right foot with a piece of the leg, `length` from heel to toe [m]; the big toe is on the +y side."""
    length = number("foot", "length", length)
    back = union(
        ellipsoid((-0.34, 0, 0.1), (0.16, 0.125, 0.15)),
        tube([(-0.27, 0, 0.2), (-0.25, 0, 0.38), (-0.25, 0, 0.7)], [0.125, 0.1, 0.125]),
        round_cone((-0.22, 0, 0.22), (0.18, 0.03, 0.09), 0.12, 0.085),
        blend=0.1,
    )
    front = union(
        ellipsoid((0.19, -0.005, 0.06), (0.15, 0.175, 0.105)),
        round_cone((-0.3, -0.06, 0.05), (0.15, -0.11, 0.04), 0.09, 0.07),
        blend=0.08,
    )
    ankle = union(ball((-0.24, 0.09, 0.34), 0.05), ball((-0.26, -0.09, 0.31), 0.05))
    whole = union(back, front, ankle, blend=0.06)
    arch = ellipsoid((-0.06, 0.2, -0.02), (0.22, 0.2, 0.11))
    whole = difference(whole, arch, blend=0.06)
    toes = union(
        tube([(0.24, 0.11, 0.07), (0.36, 0.12, 0.06), (0.433, 0.112, 0.052)], [0.06, 0.058, 0.067]),
        tube([(0.26, 0.02, 0.07), (0.38, 0.015, 0.07), (0.43, 0.012, 0.036)], [0.045, 0.042, 0.046]),
        tube([(0.24, -0.05, 0.07), (0.345, -0.065, 0.07), (0.395, -0.07, 0.034)], [0.043, 0.04, 0.044]),
        tube([(0.2, -0.11, 0.065), (0.29, -0.135, 0.065), (0.34, -0.142, 0.032)], [0.042, 0.038, 0.042]),
        tube([(0.14, -0.15, 0.06), (0.22, -0.19, 0.06), (0.265, -0.198, 0.031)], [0.042, 0.037, 0.041]),
        blend=0.012,
    )
    whole = union(whole, toes, blend=0.035)
    whole = intersection(whole, _ABOVE_GROUND, half_space((0, 0, 0.6), (0, 0, 1)), blend=0.02)
    return _made("foot", whole, (0.55, 0.35, 0.65), length, edge, _Edges(0.05, 0.08))


@lru_cache(maxsize=8)
def bunny(height: float = 0.15, edge: float | None = None) -> Shape:
    """A sitting bunny, `height` to the tips of its ears [m]."""
    height = number("bunny", "height", height)
    trunk = union(
        ellipsoid((-0.09, 0, 0.27), (0.29, 0.22, 0.25)),
        ellipsoid((0.1, 0, 0.27), (0.16, 0.16, 0.22)),
        mirrored(ellipsoid((-0.14, 0.16, 0.18), (0.18, 0.11, 0.17)), 1),
        blend=0.06,
    )
    feet = mirrored(
        union(
            round_cone((-0.12, 0.17, 0.045), (0.05, 0.2, 0.045), 0.07, 0.062),
            round_cone((0.15, 0.08, 0.28), (0.23, 0.1, 0.04), 0.08, 0.06),
        ),
        1,
    )
    head = union(
        ellipsoid((0.17, 0, 0.55), (0.18, 0.15, 0.15)),
        ellipsoid((0.3, 0, 0.51), (0.085, 0.09, 0.075)),
        blend=0.04,
    )
    ears = mirrored(
        tube(
            [(0.1, 0.065, 0.65), (0.04, 0.1, 0.78), (-0.03, 0.125, 0.89), (-0.07, 0.13, 0.96)],
            [0.05, 0.07, 0.065, 0.04],
        ),
        1,
    )
    tail = ball((-0.4, 0, 0.17), 0.085)
    whole = union(union(trunk, feet, blend=0.03), union(head, ears, blend=0.03), blend=0.06)
    whole = intersection(union(whole, tail, blend=0.02), _ABOVE_GROUND)
    return _made("bunny", moved(whole, (0.05, 0, 0)), (0.55, 0.35, 1.05), height, edge, _Edges(0.06, 0.08))


@lru_cache(maxsize=8)
def bust(height: float = 0.3, edge: float | None = None) -> Shape:
    """A head with neck and shoulders on a round base, `height` high [m]."""
    height = number("bust", "height", height)
    base = union(
        cylinder((0, 0, 0.04), (0, 0, 1), 0.18, 0.04, 0.039), cylinder((0, 0, 0.12), (0, 0, 1), 0.1, 0.12), blend=0.05
    )
    torso = union(
        mirrored(round_cone((-0.02, 0.05, 0.3), (-0.03, 0.24, 0.255), 0.11, 0.085), 1),
        ellipsoid((0, 0, 0.25), (0.14, 0.22, 0.13)),
        round_cone((-0.04, 0, 0.36), (-0.01, 0, 0.6), 0.105, 0.095),
        blend=0.08,
    )
    skull = union(
        ellipsoid((-0.03, 0, 0.81), (0.185, 0.15, 0.19)),
        ellipsoid((0.05, 0, 0.7), (0.125, 0.12, 0.17)),
        ellipsoid((0.12, 0, 0.55), (0.055, 0.065, 0.05)),
        mirrored(round_cone((0.0, 0.09, 0.63), (0.1, 0.04, 0.56), 0.05, 0.04), 1),
        blend=0.05,
    )
    sockets = mirrored(ellipsoid((0.2, 0.07, 0.735), (0.06, 0.05, 0.045)), 1)
    features = union(
        round_cone((0.16, 0, 0.77), (0.215, 0, 0.68), 0.03, 0.042),
        mirrored(tube([(0.145, 0.03, 0.79), (0.135, 0.08, 0.795), (0.095, 0.12, 0.77)], 0.028), 1),
        mirrored(ball((0.13, 0.065, 0.733), 0.036), 1),
        ellipsoid((0.16, 0, 0.61), (0.04, 0.06, 0.022)),
        mirrored(ellipsoid((-0.03, 0.14, 0.71), (0.055, 0.05, 0.075)), 1),
        blend=0.015,
    )
    head = union(difference(skull, sockets, blend=0.03), features, blend=0.03)
    whole = intersection(union(union(base, torso, blend=0.04), head, blend=0.05), _ABOVE_GROUND)
    return _made("bust", whole, (0.35, 0.4, 1.05), height, edge, _Edges(0.05, 0.09))


@lru_cache(maxsize=8)
def room(
    size: float = 2.0, wave: float = 0.06, wall: float = 0.2, wavy_floor: bool = False, edge: float | None = None
) -> Shape:
    """A room open at the top, `size` square outside and half as high [m], whose walls swell and recede inside.

    wave       -- amplitude of the waves [m], at most half the wall; their length is 0.4 size
    wall       -- mean thickness of walls and floor [m]
    wavy_floor -- waves on the floor as well
    """
    size, wall = number("room", "size", size), number("room", "wall", wall, below=0.4 * size)
    if not 0 <= wave <= 0.5 * wall:
        raise PliantError(f"room: wave must lie between 0 and half of the wall, {0.5 * wall:g} m, not {wave!r}")
    h = 0.08 * size if edge is None else number("room", "edge", edge, below=0.25 * size)
    # A straight room on lattice planes keeps its creases; it is stretched to size and its inner faces then waved.
    inner, thick = max(2, round((0.5 * size - wall) / h)), max(1, round(wall / h))
    outer = inner + thick
    solid = difference(
        box((0, 0, 0.5 * outer), (outer, outer, 0.5 * outer)), box((0, 0, thick + outer), (inner, inner, outer))
    )
    mesh = stuff(solid, (-outer, -outer, 0), (outer, outer, outer), 1.0)
    x = np.interp(np.abs(mesh.points), [0, inner, outer], [0, 0.5 * size - wall, 0.5 * size]) * np.sign(mesh.points)
    x[:, 2] = np.interp(mesh.points[:, 2], [0, thick, outer], [0, wall, 0.5 * size])
    return Shape("room", TetMesh(_waved(x, size, wave, wall, wavy_floor), mesh.tets))


def _waved(x: Floats, size: float, wave: float, wall: float, wavy_floor: bool) -> Floats:
    """Points moved across the walls by wave cos cos: all of it at the inner faces, fading linearly to both sides."""
    half, out = 0.5 * size, np.array(x)
    c = np.cos(2.0 * np.pi / (0.4 * size) * (x - (0, 0, half)))
    for d, other in ((0, 1), (1, 0)):
        fade = np.interp(np.abs(x[:, d]), [0, half - wall, half], [0, 1, 0])
        out[:, d] += wave * fade * c[:, other] * c[:, 2] * np.sign(x[:, d])
    if wavy_floor:
        out[:, 2] += wave * np.interp(x[:, 2], [0, wall, half], [0, 1, 0]) * c[:, 0] * c[:, 1]
    return out
