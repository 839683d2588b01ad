"""The axis along which a set of points spreads least, inside kernels."""

from __future__ import annotations

import math

from pliant.kernels import cross, dot, inline, norm, scale


@inline
def smallest_axis(xx, xy, xz, yy, yz, zz):  # type: ignore[no-untyped-def]
    """(values, vector): eigenvalues of a symmetric 3x3 matrix, ascending, and the unit eigenvector of the smallest (closed form)."""
    mean = (xx + yy + zz) / 3.0
    a, b, c = xx - mean, yy - mean, zz - mean
    spread = math.sqrt((a * a + b * b + c * c + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    if not spread > 1e-14 * abs(mean):
        return (mean, mean, mean), (0.0, 0.0, 1.0)
    half = (a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)) / (2.0 * spread * spread * spread)
    angle = math.acos(min(max(half, -1.0), 1.0)) / 3.0
    high, low = mean + 2.0 * spread * math.cos(angle), mean + 2.0 * spread * math.cos(angle + 2.0943951023931953)
    u, v, w = (xx - low, xy, xz), (xy, yy - low, yz), (xz, yz, zz - low)
    best = cross(u, v)
    for other in (cross(v, w), cross(w, u)):
        if dot(other, other) > dot(best, best):
            best = other
    length = norm(best)
    if not length > 1e-14 * spread * spread:  # the two smaller values are one: any direction across the largest axis will do
        return (low, 3.0 * mean - low - high, high), across(longest(u, v, w))
    return (low, 3.0 * mean - low - high, high), scale(1.0 / length, best)


@inline
def longest(u, v, w):  # type: ignore[no-untyped-def]
    if dot(u, u) >= dot(v, v) and dot(u, u) >= dot(w, w):
        return u
    return v if dot(v, v) >= dot(w, w) else w


@inline
def across(n):  # type: ignore[no-untyped-def]
    """A unit vector at right angles to n."""
    if abs(n[0]) <= abs(n[1]) and abs(n[0]) <= abs(n[2]):
        u = (0.0, -n[2], n[1])
    elif abs(n[1]) <= abs(n[2]):
        u = (n[2], 0.0, -n[0])
    else:
        u = (-n[1], n[0], 0.0)
    return scale(1.0 / norm(u), u)
