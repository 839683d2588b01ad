"""Cubics on [0, 1] in Bernstein form, for kernels: value, slope, critical points, and roots of their monotone pieces.

No closed formula of Cardano: it loses half of the digits where roots come close. Between critical points a cubic is monotone
and a safeguarded Newton iteration finds its root to the last digits.
"""

from __future__ import annotations

import math

from pliant.kernels import inline


@inline
def bernstein(p):  # type: ignore[no-untyped-def]
    """Bernstein coefficients on [0, 1] of p0 + p1 t + p2 t^2 + p3 t^3."""
    return p[0], p[0] + p[1] / 3.0, p[0] + (2.0 * p[1] + p[2]) / 3.0, p[0] + p[1] + p[2] + p[3]


@inline
def value_and_slope(b, t):  # type: ignore[no-untyped-def]
    """By de Casteljau: the error stays below some units in the last place of the largest coefficient."""
    s = 1.0 - t
    c0, c1, c2 = s * b[0] + t * b[1], s * b[1] + t * b[2], s * b[2] + t * b[3]
    d0, d1 = s * c0 + t * c1, s * c1 + t * c2
    return s * d0 + t * d1, 3.0 * (d1 - d0)


@inline
def value(b, t):  # type: ignore[no-untyped-def]
    return value_and_slope(b, t)[0]


@inline
def unit(t):  # type: ignore[no-untyped-def]
    """t clipped to [0, 1]; NaN becomes 0."""
    return min(t, 1.0) if t > 0.0 else 0.0


@inline
def critical_points(b):  # type: ignore[no-untyped-def]
    """Two times in [0, 1], ascending, that split the cubic into monotone pieces; 0 or 1 where there is nothing to split."""
    c = b[1] - b[0]
    half = (b[2] - b[1]) - c
    a = (b[3] - b[2]) - (b[2] - b[1]) - half
    square = half * half - a * c
    if square <= 0.0:
        return 0.0, 0.0
    q = -(half + math.copysign(math.sqrt(square), half))
    first = unit(q / a) if a != 0.0 else 0.0
    second = unit(c / q) if q != 0.0 else 0.0
    return min(first, second), max(first, second)


@inline
def root_between(b, low, high, at_low, at_high, noise):  # type: ignore[no-untyped-def]
    """The root in a monotone piece whose ends have values of opposite sign, until |value| <= noise."""
    t = low + (high - low) * (at_low / (at_low - at_high))  # where the chord crosses: most motion is nearly linear
    step = high - low
    for _ in range(100):
        v, d = value_and_slope(b, t)
        if abs(v) <= noise:
            return t
        if (v < 0.0) == (at_low < 0.0):
            low = t
        else:
            high = t
        change = v / d if d != 0.0 else 2.0
        new = t - change
        # Newton must stay inside and at least halve its step, otherwise bisect
        if not (new > low and new < high) or abs(2.0 * change) > step:
            change = 0.5 * (high - low)
            new = low + change
        step = abs(change)
        t = new
        if step <= 1e-16:
            return t
    return t


@inline
def quadratic_roots(q0, q1, q2):  # type: ignore[no-untyped-def]
    """Roots in [0, 1], ascending and inf where missing, of the quadratic with these Bernstein coefficients."""
    half, a = q1 - q0, q0 - 2.0 * q1 + q2
    square = half * half - a * q0
    if square < 0.0:
        return math.inf, math.inf
    q = -(half + math.copysign(math.sqrt(square), half))
    u = q / a if a != 0.0 else math.inf
    v = q0 / q if q != 0.0 else (0.0 if q0 == 0.0 else math.inf)
    u = u if u >= 0.0 and u <= 1.0 else math.inf
    v = v if v >= 0.0 and v <= 1.0 else math.inf
    return min(u, v), max(u, v)
