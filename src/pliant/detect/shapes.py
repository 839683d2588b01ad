"""Shapes that are known exactly: the only place that knows what kinds there are and what their parameters mean.

| kind | parameters [m] | axis |
|---|---|---|
| plane | none: everything below z = 0 | |
| ball | radius | |
| box | half sizes along x, y, z | |
| capsule, cylinder | radius, half length (of a capsule without its caps) | z |
| torus | radius of the ring, radius of the tube | z |

A ball that meets an exact shape is its centre with a radius, so that it rolls; all others are the points of their skin.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.quaternions import load4, rotate, rotate_back
from pliant.kernels import axpy, inline, kernel, load, norm, scale, store, sub

KINDS = {"plane": 0, "ball": 1, "box": 2, "capsule": 3, "cylinder": 4, "torus": 5}
SIZES = {"plane": 0, "ball": 1, "box": 3, "capsule": 2, "cylinder": 2, "torus": 2}  # how many parameters each has
NO_SHAPE = -1  # kind of a body whose shape is its faces
PLANE, BALL, BOX, CAPSULE, CYLINDER, TORUS = KINDS.values()


class Shapes(NamedTuple):
    """The exact shapes of all bodies in a pose; kernels take it as it is."""

    kind: Ints  # (B,) NO_SHAPE where there is none
    parameters: Floats  # [m] (B, 3)
    frame: Ints  # (B,)
    position: Floats  # [m] (f, 3) of the frames
    rotation: Floats  # (f, 4)


def no_shapes(bodies: int) -> Shapes:
    """Of bodies that are nothing but their faces."""
    return Shapes(np.full(bodies, NO_SHAPE), np.zeros((bodies, 3)), np.zeros(bodies, np.int64), np.zeros((0, 3)), np.zeros((0, 4)))


def ball_radii(kind: Ints, parameters: Floats) -> Floats:
    """Radius of bodies that are exact balls [m], (B,); 0 of all others."""
    return np.where(kind == BALL, parameters[:, 0], 0.0)


def asked_points(point_start: Ints, count: Ints, anchor: Ints, radius: Floats) -> tuple[Ints, Ints]:
    """(first, last) of the points of each body that are looked for in others, (B,) each: of a ball just its centre, the anchor."""
    return np.where(radius > 0.0, anchor, point_start[:-1]), np.where(radius > 0.0, anchor + 1, point_start[:-1] + count)


@inline
def unit_or(u, length, other):  # type: ignore[no-untyped-def]
    """u / length, or another unit vector where u is too short to have a direction."""
    if length > 1e-300:
        return scale(1.0 / length, u)
    return other


@inline
def signed_distance(kind, a, b, c, p):  # type: ignore[no-untyped-def]
    """(distance, normal): negative inside; a, b, c are the shape's parameters."""
    if kind == PLANE:
        return p[2], (0.0, 0.0, 1.0)
    if kind == BALL:
        length = norm(p)
        return length - a, unit_or(p, length, (0.0, 0.0, 1.0))
    if kind == BOX:
        return _box(a, b, c, p)
    if kind == CAPSULE:
        along = min(max(p[2], -b), b)
        u = (p[0], p[1], p[2] - along)
        length = norm(u)
        return length - a, unit_or(u, length, (1.0, 0.0, 0.0))
    if kind == CYLINDER:
        return _cylinder(a, b, p)
    radial = math.sqrt(p[0] * p[0] + p[1] * p[1])
    out = unit_or((p[0], p[1], 0.0), radial, (1.0, 0.0, 0.0))
    u = (p[0] - a * out[0], p[1] - a * out[1], p[2])
    length = norm(u)
    return length - b, unit_or(u, length, out)


@inline
def _box(a, b, c, p):  # type: ignore[no-untyped-def]
    dx, dy, dz = abs(p[0]) - a, abs(p[1]) - b, abs(p[2]) - c
    sx, sy, sz = math.copysign(1.0, p[0]), math.copysign(1.0, p[1]), math.copysign(1.0, p[2])
    if dx <= 0.0 and dy <= 0.0 and dz <= 0.0:
        if dx >= dy and dx >= dz:
            return dx, (sx, 0.0, 0.0)
        if dy >= dz:
            return dy, (0.0, sy, 0.0)
        return dz, (0.0, 0.0, sz)
    u = (sx * max(dx, 0.0), sy * max(dy, 0.0), sz * max(dz, 0.0))
    length = norm(u)
    return length, scale(1.0 / length, u)


@inline
def _cylinder(a, b, p):  # type: ignore[no-untyped-def]
    radial = math.sqrt(p[0] * p[0] + p[1] * p[1])
    out = unit_or((p[0], p[1], 0.0), radial, (1.0, 0.0, 0.0))
    dr, dz, sz = radial - a, abs(p[2]) - b, math.copysign(1.0, p[2])
    if dr <= 0.0 and dz <= 0.0:
        if dr >= dz:
            return dr, out
        return dz, (0.0, 0.0, sz)
    r, z = max(dr, 0.0), max(dz, 0.0)
    length = math.sqrt(r * r + z * z)
    return length, (out[0] * r / length, out[1] * r / length, sz * z / length)


@inline
def distance_to(shapes, b, p):  # type: ignore[no-untyped-def]
    """(signed distance, outward normal) of a place to the exact shape of body b."""
    f, u = shapes.frame[b], load(shapes.parameters, b)
    q = load4(shapes.rotation, f)
    d, n = signed_distance(shapes.kind[b], u[0], u[1], u[2], rotate_back(q, sub(p, load(shapes.position, f))))
    return d, rotate(q, n)


def widen_boxes(shapes: Shapes, low: Floats, high: Floats) -> None:
    """Widen boxes of bodies, (B, 3) twice, so that exact shapes are in them: these bulge out between their points."""
    _widen_boxes(shapes, low, high)


@kernel
def _widen_boxes(shapes, low, high):  # type: ignore[no-untyped-def]
    for body in range(len(shapes.kind)):
        kind = shapes.kind[body]
        if kind == NO_SHAPE or kind == BOX:  # the corners of a box are its points
            continue
        if kind == PLANE:  # has no end
            low[body], high[body] = -np.inf, np.inf
            continue
        a, b, _ = load(shapes.parameters, body)
        w, x, y, z = load4(shapes.rotation, shapes.frame[body])
        line = (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))  # the shape's axis
        for axis in range(3):
            along = abs(line[axis])
            across = math.sqrt(max(0.0, 1.0 - along * along))
            half = a * across + b
            if kind == BALL:
                half = a
            elif kind == CAPSULE:
                half = a + b * along
            elif kind == CYLINDER:
                half = a * across + b * along
            centre = shapes.position[shapes.frame[body], axis]
            low[body, axis] = min(low[body, axis], centre - half)
            high[body, axis] = max(high[body, axis], centre + half)


def widen_swept_boxes(shapes: Shapes, before: Floats, low: Floats, high: Floats) -> None:
    """The same for bodies on their way from the positions `before` (f, 3), however they turn meanwhile."""
    exact = np.flatnonzero(shapes.kind > PLANE)
    f, reach = shapes.frame[exact], np.abs(shapes.parameters[exact]).sum(axis=1)[:, None]
    low[exact] = np.minimum(low[exact], np.minimum(before[f], shapes.position[f]) - reach)
    high[exact] = np.maximum(high[exact], np.maximum(before[f], shapes.position[f]) + reach)
    low[shapes.kind == PLANE], high[shapes.kind == PLANE] = -np.inf, np.inf


def points_in_shapes(
    a: Ints, b: Ints, first: Ints, last: Ints, radius: Floats, counts: np.ndarray, points: Floats, low: Floats, high: Floats, shapes: Shapes
) -> tuple[Ints, Ints, Floats, Floats]:
    """(row, point, gap, normal) of the points of bodies a[k] that are in the exact shapes of bodies b[k], gap < 0; in that order.

    first, last (B,): points of each body, or (radius (B,) above 0) the centre of a ball; counts (p,) bool: which are looked for; low, high
    (B, 3): boxes of the bodies.
    """
    room = int((last - first)[a].sum())
    row, point, gap, normal = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room), np.empty((room, 3))
    used = _points_in_shapes(a, b, first, last, radius, counts, points, low, high, shapes, row, point, gap, normal)
    return row[:used], point[:used], gap[:used], normal[:used]


@kernel
def _points_in_shapes(a, b, first, last, radius, counts, points, low, high, shapes, row, point, gap, normal):  # type: ignore[no-untyped-def]
    """How many there are. Signed distance grows no faster than distance, so most pairs end with the middle of the box."""
    used = 0
    for k in range(len(a)):
        i, r = a[k], radius[a[k]]
        middle = scale(0.5, axpy(1.0, load(low, i), load(high, i)))
        if distance_to(shapes, b[k], middle)[0] > 0.5 * norm(sub(load(high, i), load(low, i))):
            continue
        for p in range(first[i], last[i]):
            if not counts[p]:
                continue
            d, n = distance_to(shapes, b[k], load(points, p))
            if d < r:
                row[used], point[used], gap[used] = k, p, d - r
                store(normal, used, n)
                used += 1
    return used


def distances_to_shapes(shapes: Shapes, body: Ints, places: Floats) -> tuple[Floats, Floats]:
    """(signed distance (k,), outward normal (k, 3)) of places (k, 3) to the exact shapes of bodies (k,)."""
    distance, normal = np.empty(len(body)), np.empty((len(body), 3))
    _distances(shapes, body, places, distance, normal)
    return distance, normal


@kernel
def _distances(shapes, body, places, distance, normal):  # type: ignore[no-untyped-def]
    for k in range(len(body)):
        distance[k], n = distance_to(shapes, body[k], load(places, k))
        store(normal, k, n)
