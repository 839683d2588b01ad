"""Smooth implicit functions: what is inside is negative, and values are distances in metres, or nearly so.

A `Field` takes points (n, 3) [m] and gives (n,) values [m]. Fields are closed under union, intersection, difference,
motion, so a body is one expression. Blends use the quadratic smooth minimum
min(a, b) - h^2 k / 4 with h = max(k - |a - b|, 0) / k, where k [m] is the blending radius: it changes nothing where
the two values differ by k or more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from pliant.base import Floats, PliantError

Field = Callable[[Floats], Floats]
Vector = Sequence[float] | Floats


def _positive(name: str, *values: float) -> None:
    if not all(np.isfinite(v) and v > 0 for v in values):
        raise PliantError(f"{name} must be a positive length in metres, not {', '.join(f'{v:g}' for v in values)}.")


def _unit(direction: Vector) -> Floats:
    d = np.asarray(direction, dtype=np.float64)
    length = float(np.linalg.norm(d))
    if d.shape != (3,) or not length > 0:
        raise PliantError(f"A direction needs three numbers that are not all zero, not {d.tolist()}.")
    return d / length


def _norm(x: Floats) -> Floats:
    return np.sqrt(np.einsum("...i,...i->...", x, x))


def _along(d: Floats, axis: Floats) -> tuple[Floats, Floats]:
    """Coordinates along an axis and off it."""
    y = d @ axis
    return y, np.sqrt(np.maximum(np.einsum("ij,ij->i", d, d) - y * y, 0.0))


def _in_both(a: Floats, b: Floats, rounding: float) -> Floats:
    """Distance to what is in two bodies at right angles to each other, given those to them, its edges rounded by a radius."""
    a, b = a + rounding, b + rounding
    return np.hypot(np.maximum(a, 0.0), np.maximum(b, 0.0)) + np.minimum(np.maximum(a, b), 0.0) - rounding


def ball(centre: Vector, radius: float) -> Field:
    """Exact distance to a ball."""
    _positive("The radius of a ball", radius)
    c = np.asarray(centre, dtype=np.float64)
    return lambda x: _norm(x - c) - radius


def ellipsoid(centre: Vector, radii: Vector) -> Field:
    """k (k - 1) / |x / r^2| with k = |x / r|: the distance to first order near the surface, bounded everywhere."""
    c, r = np.asarray(centre, dtype=np.float64), np.asarray(radii, dtype=np.float64)
    _positive("A half axis of an ellipsoid", *r)
    smallest = float(r.min())

    def field(x: Floats) -> Floats:
        y = (x - c) / r
        k, slope = _norm(y), _norm(y / r)
        # Towards the centre k / slope has no limit; the ratio lies between the smallest and the largest half axis.
        return np.where(slope * smallest > 1e-9, k / np.maximum(slope, 1e-9 / smallest), smallest) * (k - 1.0)

    return field


def round_cone(a: Vector, b: Vector, radius_a: float, radius_b: float | None = None) -> Field:
    """Exact distance to all balls between a ball at a and a ball at b (a capsule if the radii are equal).

    min over u in [0, l] of |x - c(u)| - r(u) with c, r linear: stationary at u = y - rho k / sqrt(1 - k^2), where y and
    rho are the coordinates of x along and off the axis and k = (r_a - r_b) / l; convex in u, so u is clamped.
    """
    p, q = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    ra, rb = float(radius_a), float(radius_a if radius_b is None else radius_b)
    _positive("A radius of a round cone", ra, rb)
    length = float(np.linalg.norm(q - p))
    if length <= abs(ra - rb):  # one ball holds the other
        return ball(p, ra) if ra >= rb else ball(q, rb)
    axis, k = (q - p) / length, (ra - rb) / length
    lean = k / np.sqrt(1.0 - k * k)

    def field(x: Floats) -> Floats:
        y, rho = _along(x - p, axis)
        u = np.clip(y - lean * rho, 0.0, length)
        return np.hypot(rho, y - u) - ra + k * u

    return field


def tube(path: Floats | Sequence[Vector], radii: float | Vector) -> Field:
    """Round cones along a polyline (n, 3) with a radius for each of its points."""
    p = np.asarray(path, dtype=np.float64)
    r = np.broadcast_to(np.asarray(radii, dtype=np.float64), (len(p),))
    if p.ndim != 2 or p.shape[1] != 3 or len(p) < 2:
        raise PliantError(f"A tube needs a path of at least two points (n, 3), not an array of shape {p.shape}.")
    return union(*(round_cone(p[i], p[i + 1], r[i], r[i + 1]) for i in range(len(p) - 1)))


def box(centre: Vector, half: Vector, rounding: float = 0.0) -> Field:
    """Exact distance to a box with these half sides, its edges rounded by a radius."""
    c, h = np.asarray(centre, dtype=np.float64), np.asarray(half, dtype=np.float64) - rounding
    _positive("A half side of a box less its rounding", *h)

    def field(x: Floats) -> Floats:
        d = np.abs(x - c) - h
        return _norm(np.maximum(d, 0.0)) + np.minimum(d.max(axis=1), 0.0) - rounding

    return field


def torus(centre: Vector, axis: Vector, radius: float, thickness: float) -> Field:
    """Exact distance to a ring of this radius about an axis, whose section is a disc of radius `thickness`."""
    _positive("A radius of a torus", radius, thickness)
    c, n = np.asarray(centre, dtype=np.float64), _unit(axis)

    def field(x: Floats) -> Floats:
        y, rho = _along(x - c, n)
        return np.hypot(rho - radius, y) - thickness

    return field


def cylinder(centre: Vector, axis: Vector, radius: float, half: float, rounding: float = 0.0) -> Field:
    """Exact distance to a cylinder that reaches `half` from its centre either way, its edges rounded by a radius."""
    _positive("A size of a cylinder less its rounding", radius - rounding, half - rounding)
    c, n = np.asarray(centre, dtype=np.float64), _unit(axis)

    def field(x: Floats) -> Floats:
        y, rho = _along(x - c, n)
        return _in_both(rho - radius, np.abs(y) - half, rounding)

    return field


def half_space(point: Vector, normal: Vector) -> Field:
    """All that lies behind a plane; the normal points out."""
    n = _unit(normal)
    offset = float(np.asarray(point, dtype=np.float64) @ n)
    return lambda x: x @ n - offset


def _smooth_min(a: Floats, b: Floats, k: float) -> Floats:
    if k == 0.0:
        return np.minimum(a, b)
    h = np.maximum(k - np.abs(a - b), 0.0) / k
    return np.minimum(a, b) - h * h * (0.25 * k)


def _check_blend(blend: float) -> None:
    if not (np.isfinite(blend) and blend >= 0):
        raise PliantError(f"A blending radius must be zero or a positive length in metres, not {blend!r}.")


def union(f: Field, *others: Field, blend: float = 0.0) -> Field:
    """What is in any of the fields, blended one after another in the order given."""
    _check_blend(blend)
    return lambda x: reduce(lambda a, g: _smooth_min(a, g(x), blend), others, f(x))


def intersection(f: Field, *others: Field, blend: float = 0.0) -> Field:
    """What is in all of the fields."""
    return complement(union(complement(f), *(complement(g) for g in others), blend=blend))


def difference(f: Field, *removed: Field, blend: float = 0.0) -> Field:
    """What is in f and in none of the others."""
    return intersection(f, *(complement(g) for g in removed), blend=blend)


def complement(f: Field) -> Field:
    """What is not in f."""
    return lambda x: -f(x)


def moved(f: Field, offset: Vector = (0, 0, 0), rotation: Floats | None = None, scale: float = 1.0) -> Field:
    """f scaled about the origin, then rotated by a 3x3 matrix, then shifted [m]."""
    _positive("A scale", scale)
    t, r = (
        np.asarray(offset, dtype=np.float64),
        np.eye(3) if rotation is None else np.asarray(rotation, dtype=np.float64),
    )
    if not np.allclose(r @ r.T, np.eye(3), atol=1e-9):
        raise PliantError(f"A rotation must be an orthogonal 3x3 matrix, not {r.tolist()}.")
    return lambda x: scale * f((x - t) @ r / scale)


def extruded(f: Field, axis: int, half: float, rounding: float = 0.0) -> Field:
    """The section of f with the plane where the coordinate `axis` is zero, drawn out to +-half [m] along that axis."""
    _positive("The half length of an extrusion less its rounding", half - rounding)
    keep = np.ones(3)
    keep[axis] = 0.0

    return lambda x: _in_both(f(x * keep), np.abs(x[:, axis]) - half, rounding)


def mirrored(f: Field, axis: int) -> Field:
    """The half of f with positive coordinate, and its mirror image."""
    flip = np.ones(3)
    flip[axis] = -1.0
    return lambda x: f(np.where(x[:, axis, None] < 0, x * flip, x))
