"""Signed distance and outward normal of shapes known exactly, in their own frames."""

from __future__ import annotations

import math

from pliant.kernels import inline, norm, scale

# numbers of model.ANALYTIC: plane 0, ball 1, box 2, capsule 3, cylinder 4, torus 5


@inline
def unit_or(u, length, other):  # type: ignore[no-untyped-def]
    """u / length, or another unit vector where u is too short to have a direction."""
    if length > 1e-300:
        return scale(1.0 / length, u)
    return other


@inline
def signed_distance(kind, a, b, c, p):  # type: ignore[no-untyped-def]
    """(distance, normal): negative inside; a, b, c are the shape's parameters."""
    if kind == 0:
        return p[2], (0.0, 0.0, 1.0)
    if kind == 1:
        length = norm(p)
        return length - a, unit_or(p, length, (0.0, 0.0, 1.0))
    if kind == 2:
        return _box(a, b, c, p)
    if kind == 3:
        along = min(max(p[2], -b), b)
        u = (p[0], p[1], p[2] - along)
        length = norm(u)
        return length - a, unit_or(u, length, (1.0, 0.0, 0.0))
    if kind == 4:
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
