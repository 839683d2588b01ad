"""Decisions about one continuous query in floating point that are certain, or not made.

Every quantity comes with a bound of its rounding error: a constant times the sum of the absolute values of its terms, taken with the
largest components over the step. The features are given by e, f, r at the start and end of the step (`continuous.py`).
"""

from __future__ import annotations

import math

import numpy as np

from pliant.detect.closest import closest_on_triangle
from pliant.detect.cubic import critical_points, root_between, value, value_and_slope
from pliant.detect.discrete import closest_on_edges, spread
from pliant.kernels import add, axpy, cross, dot, inline, scale, sub

ULP = 2.0**-53
CUBIC_ERROR = 128.0 * ULP  # differences 3, triple products 7, their mean 4, evaluation 9, critical points < 60: with room
WEIGHT_ERROR = 64.0 * ULP  # interpolation 4 x 3, differences 4, products and sums 10
TINY = 1e-250  # below it, underflow could hide an error
SHARP = 1e-7  # the longest band whose root is returned as the time of impact
UNDECIDED = math.nan


@inline
def mix(u, v, t):  # type: ignore[no-untyped-def]
    return add(scale(1.0 - t, u), scale(t, v))


@inline
def largest(u, v):  # type: ignore[no-untyped-def]
    return max(abs(u[0]), abs(v[0])), max(abs(u[1]), abs(v[1])), max(abs(u[2]), abs(v[2]))


@inline
def coplanarity(start, end):  # type: ignore[no-untyped-def]
    """Bernstein coefficients of P(t): the polar form of the determinant of three vectors that are linear in t."""
    e, f, r = start
    g, h, s = end
    ef, gh = cross(e, f), cross(g, h)
    mixed = add(cross(g, f), cross(e, h))
    return (
        dot(ef, r),
        (dot(mixed, r) + dot(ef, s)) / 3.0,
        (dot(gh, r) + dot(mixed, s)) / 3.0,
        dot(gh, s),
    )


@inline
def separates(face, d, frame, error):  # type: ignore[no-untyped-def]
    """Whether d has the second feature surely below the first at one time."""
    e, f, r = dot(d, frame[0]), dot(d, frame[1]), dot(d, frame[2])
    if face:
        return min(r, r - e, r - f) > error
    return min(min(r, r + e), min(r - f, r + e - f)) > error


@inline
def apart(face, start, end, size, low, high):  # type: ignore[no-untyped-def]
    """Whether the features are surely apart during [low, high]: shown by the direction between their nearest points halfway,
    for along a fixed direction all differences are linear in t."""
    t = 0.5 * (low + high)
    e, f, r = mix(start[0], end[0], t), mix(start[1], end[1], t), mix(start[2], end[2], t)
    if face:
        w = closest_on_triangle(r, (0.0, 0.0, 0.0), e, f)
        d = axpy(-w[1], e, axpy(-w[2], f, r))
    else:
        w2 = closest_on_edges(r, add(r, e), (0.0, 0.0, 0.0), f)
        d = axpy(w2[0], e, axpy(-w2[1], f, r))
    reach = add(size[0], add(size[1], size[2]))
    error = WEIGHT_ERROR * (abs(d[0]) * reach[0] + abs(d[1]) * reach[1] + abs(d[2]) * reach[2]) + TINY
    for k in range(2):
        t = low if k == 0 else high
        frame = (mix(start[0], end[0], t), mix(start[1], end[1], t), mix(start[2], end[2], t))
        if not separates(face, d, frame, error):
            return False
    return True


@inline
def apart_in_pieces(face, start, end, size, low, high):  # type: ignore[no-untyped-def]
    """The same, over up to 16 parts of the band."""
    for level in range(3):
        parts = 4**level
        step = (high - low) / parts
        ok = True
        for k in range(parts):
            last = high if k == parts - 1 else low + (k + 1) * step
            if not apart(face, start, end, size, low + k * step, last):
                ok = False
                break
        if ok:
            return True
    return False


@inline
def verdict(w, error):  # type: ignore[no-untyped-def]
    return 1 if w > error else (-1 if w < -error else 0)


@inline
def inside(face, start, end, size, low, high):  # type: ignore[no-untyped-def]
    """1 if the weights are surely positive during [low, high], -1 if one is surely negative, 0 if neither is sure.

    Weights times |N|^2: vertex-face N.(r x f), N.(e x r), N.((e-r) x (f-r)); edge-edge N.(f x r), N.(e x r) and |N|^2 minus these.
    """
    t = 0.5 * (low + high)
    e, f, r = mix(start[0], end[0], t), mix(start[1], end[1], t), mix(start[2], end[2], t)
    n, big = cross(e, f), spread(size[0], size[1])
    # four factors, each linear in t: the derivative is at most 8 times the product of their largest values
    error = WEIGHT_ERROR + 8.0 * (0.5 * (high - low))
    rf, er = cross(r, f), cross(e, r)
    big_rf, big_er = spread(size[2], size[1]), spread(size[0], size[2])
    if face:
        u, v = dot(n, rf), dot(n, er)
        w = dot(n, cross(sub(e, r), sub(f, r)))
        last = error * dot(big, spread(add(size[0], size[2]), add(size[1], size[2])))
        a = verdict(u, error * dot(big, big_rf))
        b = verdict(v, error * dot(big, big_er))
        return min(a, min(b, verdict(w, last)))
    s, t, nn = -dot(n, rf), dot(n, er), dot(n, n)
    s_error, t_error, n_error = error * dot(big, big_rf), error * dot(big, big_er), error * dot(big, big)
    a = min(verdict(s, s_error), verdict(nn - s, n_error + s_error))
    return min(a, min(verdict(t, t_error), verdict(nn - t, n_error + t_error)))


@inline
def band(b, low, high, at_low, at_high, error):  # type: ignore[no-untyped-def]
    """(first, last, root, sure): the part of a monotone piece where P may be zero, and whether it surely changes sign there."""
    if (at_low < 0.0) != (at_high < 0.0):
        root = root_between(b, low, high, at_low, at_high, error / 64.0)
    else:
        root = low if abs(at_low) < abs(at_high) else high
    steep = abs(value_and_slope(b, root)[1])
    reach = 4.0 * ULP + (min(2.0 * error / steep, 1e-6) if steep > 0.0 else 1e-6)
    for _ in range(12):
        first, last = max(low, root - reach), min(high, root + reach)
        before, after = value(b, first), value(b, last)
        left, right = abs(before) > error, abs(after) > error
        if (first == low or left) and (last == high or right):
            return first, last, root, left and right and (before < 0.0) != (after < 0.0)
        reach *= 8.0
    return low, high, root, False


@inline
def decide(face, start, end):  # type: ignore[no-untyped-def]
    """Earliest time of contact, inf if there is none, UNDECIDED where rounding could matter."""
    size = (largest(start[0], end[0]), largest(start[1], end[1]), largest(start[2], end[2]))
    b = coplanarity(start, end)
    permanent = dot(spread(size[0], size[1]), size[2])
    error = CUBIC_ERROR * permanent
    low, high = min(min(b[0], b[1]), min(b[2], b[3])), max(max(b[0], b[1]), max(b[2], b[3]))
    sound = permanent > TINY and permanent < 1.0 / TINY
    if sound and (low > error or high < -error):
        return np.inf
    if not sound or max(-low, high) <= error:
        return np.inf if apart_in_pieces(face, start, end, size, 0.0, 1.0) else UNDECIDED
    middle, late = critical_points(b)
    t0, v0 = 0.0, b[0]
    for k in range(3):
        t1 = middle if k == 0 else (late if k == 1 else 1.0)
        v1 = value(b, t1)
        if t1 > t0 and min(v0, v1) <= error and max(v0, v1) >= -error:
            first, last, root, sure = band(b, t0, t1, v0, v1, error)
            found = inside(face, start, end, size, first, last)
            if found == 1 and sure and last - first < SHARP:
                return root
            if found != -1 and not apart_in_pieces(face, start, end, size, first, last):
                return UNDECIDED
        t0, v0 = t1, v1
    return np.inf
