"""Continuous collision tests: when a vertex first meets a face, or an edge an edge, while all corners move on straight lines.

vertex-face (p; a, b, c)   e = b - a, f = c - a, r = p - a
edge-edge   (a, b; c, d)   e = b - a, f = d - c, r = a - c

All are linear in t. The features can only meet where the corners are coplanar, P(t) = (e x f) . r = 0, a cubic
(theory/penalty 4.2; Provot 1997, "Collision and self-collision handling in cloth model dedicated to design garments"), and do so if the
weights of the common point lie inside both. Touching counts. The answer is exact, in three stages:

1. separated along an axis at the start and at the end: exact comparisons, most candidates end here;
2. the cubic in floating point with bounds of its rounding error below: around every possible root there is a short
   band of time that surely holds all true roots; contact if P surely changes sign in it and the weights are surely inside, none
   if a weight is surely outside or a direction surely separates the features over the band (compare Wang et al. 2021, "A
   large-scale benchmark and an inclusion-based algorithm for continuous collision detection": tolerances miss or invent contacts);
3. what remains (touching, coplanar, within about 1e-13 of the feature size) is decided in rational arithmetic by `rational_time.py`.

Limitation: stage 3 costs 0.3 ms a query, so thousands of features that touch exactly are slow.

Decisions in floating point are certain, or not made: every quantity comes with a bound of its rounding error, a constant times the sum of
the absolute values of its terms, taken with the largest components over the step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pliant.base import Floats, Ints, PliantError
from pliant.detect.feature_tests import closest_on_edges, spread
from pliant.detect.rational_time import edge_edge_time, vertex_face_time
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import add, axpy, contiguous, cross, dot, inline, load, parallel, prange, scale, sub, use_threads

SPARSE = 64  # one of so many pairs gives a first guess of the earliest impact
REFUSED = -1.0  # instead of a time: a corner is not finite


@inline
def beside(face, x, slack):  # type: ignore[no-untyped-def]
    """-1 or 1 per axis on which the features are apart by more than the slack, 0 elsewhere; exact without slack."""
    a, b, c, d = x
    if face:
        low, high = (a[0], a[1], a[2]), (a[0], a[1], a[2])
        first = (min(b[0], min(c[0], d[0])), min(b[1], min(c[1], d[1])), min(b[2], min(c[2], d[2])))
        last = (max(b[0], max(c[0], d[0])), max(b[1], max(c[1], d[1])), max(b[2], max(c[2], d[2])))
    else:
        low, high = (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])), (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]))
        first = (min(c[0], d[0]), min(c[1], d[1]), min(c[2], d[2]))
        last = (max(c[0], d[0]), max(c[1], d[1]), max(c[2], d[2]))
    return (
        (low[0] > last[0] + slack) - (high[0] < first[0] - slack),
        (low[1] > last[1] + slack) - (high[1] < first[1] - slack),
        (low[2] > last[2] + slack) - (high[2] < first[2] - slack),
    )


@inline
def axis_apart(face, x, y, slack):  # type: ignore[no-untyped-def]
    """Apart along a coordinate axis, on the same side at the start x and at the end y, hence all the time."""
    p, q = beside(face, x, 0.0), beside(face, y, slack)
    return p[0] * q[0] > 0 or p[1] * q[1] > 0 or p[2] * q[2] > 0


@inline
def finite(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(4):
        total += x[k][0] * 0.0 + x[k][1] * 0.0 + x[k][2] * 0.0
    return total == 0.0


@inline
def apart_before(face, x, y, limit):  # type: ignore[no-untyped-def]
    """Surely apart along an axis until the time `limit`."""
    size = 0.0
    for k in range(4):
        for axis in range(3):
            size = max(size, max(abs(x[k][axis]), abs(y[k][axis])))
    z = (mix(x[0], y[0], limit), mix(x[1], y[1], limit), mix(x[2], y[2], limit), mix(x[3], y[3], limit))
    return axis_apart(face, x, z, 16.0 * ULP * size)


@inline
def frame(face, x):  # type: ignore[no-untyped-def]
    """e, f, r of the four corners."""
    if face:
        return sub(x[2], x[1]), sub(x[3], x[1]), sub(x[0], x[1])
    return sub(x[1], x[0]), sub(x[3], x[2]), sub(x[0], x[2])


@inline
def same(u, v):  # type: ignore[no-untyped-def]
    return u[0] == v[0] and u[1] == v[1] and u[2] == v[2]


@inline
def coincide(face, x):  # type: ignore[no-untyped-def]
    """Whether a corner of one feature is a corner of the other."""
    if face:
        return same(x[0], x[1]) or same(x[0], x[2]) or same(x[0], x[3])
    return same(x[0], x[2]) or same(x[0], x[3]) or same(x[1], x[2]) or same(x[1], x[3])


@inline
def query_time(face, x, y, limit):  # type: ignore[no-untyped-def]
    """Time of contact of one query with corners x at the start and y at the end: a time, inf, UNDECIDED or REFUSED.

    Contact after the limit need not be found."""
    if not (finite(x) and finite(y)):
        return REFUSED
    if axis_apart(face, x, y, 0.0) or (limit < 1.0 and apart_before(face, x, y, limit)):
        return np.inf
    time = decide(face, frame(face, x), frame(face, y))
    # corners that start at the same place are common (welded or duplicated points) and need no arithmetic
    return 0.0 if time != time and coincide(face, x) else time


@inline
def corners_of(points, corners, i):  # type: ignore[no-untyped-def]
    return (
        load(points, corners[i, 0]),
        load(points, corners[i, 1]),
        load(points, corners[i, 2]),
        load(points, corners[i, 3]),
    )


@parallel
def vertex_face_times(start, end, corners, limit, out):  # type: ignore[no-untyped-def]
    for i in prange(len(corners)):
        out[i] = query_time(True, corners_of(start, corners, i), corners_of(end, corners, i), limit)


@parallel
def edge_edge_times(start, end, corners, limit, out):  # type: ignore[no-untyped-def]
    for i in prange(len(corners)):
        out[i] = query_time(False, corners_of(start, corners, i), corners_of(end, corners, i), limit)


def impact_times(start: Floats, end: Floats, corners: Ints, face: bool, limit: float = 1.0) -> Floats:
    """Earliest time of contact per row of corners (n, 4), indices into the points (p, 3) at the start and end of the step; inf if none.

    face: rows are a vertex and its face; otherwise two edges. Contact after the limit may be left out.
    """
    out = np.empty(len(corners))
    use_threads(len(corners))
    (vertex_face_times if face else edge_edge_times)(start, end, corners, limit, out)
    refused = np.flatnonzero(out == REFUSED)
    if len(refused):
        raise PliantError(
            f"{len(refused)} collision queries have corners that are not finite, first in rows {refused[:5].tolist()}: "
            "no time of contact exists; look for NaN or inf in the positions at the start and end of the step"
        )
    decider = vertex_face_time if face else edge_edge_time
    for i in np.flatnonzero(np.isnan(out)):
        out[i] = decider(start[corners[i]], end[corners[i]])
    return out


def _bare(x0: ArrayLike, x1: ArrayLike, face: bool) -> Floats:
    a, b = contiguous(x0), contiguous(x1)
    if a.shape != b.shape or a.ndim != 3 or a.shape[1:] != (4, 3):
        raise PliantError(
            f"collision queries need corner positions at start and end of shape (n, 4, 3) both, not {a.shape} and {b.shape}"
        )
    corners = np.arange(4 * len(a)).reshape(-1, 4)
    return impact_times(a.reshape(-1, 3), b.reshape(-1, 3), corners, face)


def vertex_face_toi(x0: ArrayLike, x1: ArrayLike) -> Floats:
    """Earliest time in [0, 1] at which a vertex (corner 0) meets a face (corners 1-3), (n,); inf where there is none.

    x0, x1: corner positions at the start and end of the step, (n, 4, 3). Existence is exact, touching counts; the time is
    good to 1e-7 and usually to rounding.
    """
    return _bare(x0, x1, True)


def edge_edge_toi(x0: ArrayLike, x1: ArrayLike) -> Floats:
    """Earliest time in [0, 1] at which two edges (corners 0, 1 and 2, 3) meet, (n,); inf where there is none.

    x0, x1: corner positions at the start and end of the step, (n, 4, 3). Existence is exact, touching counts; the time is
    good to 1e-7 and usually to rounding.
    """
    return _bare(x0, x1, False)


def first_impact(start: Floats, end: Floats, vertex_faces: Ints, edge_edges: Ints) -> float:
    """Earliest time of contact of all candidate pairs of a world, inf if there is none.

    start, end: skin points (p, 3) at both ends of the step; candidates as rows of four point numbers.
    """
    a, b = contiguous(start), contiguous(end)
    sets = [(contiguous(rows, np.int64).reshape(-1, 4), face) for rows, face in ((vertex_faces, True), (edge_edges, False))]
    # some of the pairs first: with a time at hand most others are seen at a glance to meet later, if at all
    best = np.inf
    for step in (SPARSE, 1):
        for rows, face in sets:
            some = contiguous(rows[::step], np.int64)
            best = min(best, impact_times(a, b, some, face, min(best, 1.0)).min(initial=np.inf))
    return float(best)


ULP = 2.0**-53
CUBIC_ERROR = 2.0**-46  # 128 ULP: differences 3, triple products 7, their mean 4, evaluation 9, critical points < 60: with room
WEIGHT_ERROR = 2.0**-47  # 64 ULP: interpolation 4 x 3, differences 4, products and sums 10
TINY = 1e-250  # below it, underflow could hide an error
ROOT = 2.0**-6  # of the rounding error of P: as near to zero as roots are sought
BAND = 1e-8  # of the step: the longest band whose root is returned as the time of impact, and the first one that is tried
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
        root = root_between(b, low, high, at_low, at_high, ROOT * error)
    else:
        root = low if abs(at_low) < abs(at_high) else high
    steep = abs(value_and_slope(b, root)[1])
    reach = 4.0 * ULP + (min(2.0 * error / steep, BAND) if steep > 0.0 else BAND)
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
            if found == 1 and sure and last - first < BAND:
                return root
            if found != -1 and not apart_in_pieces(face, start, end, size, first, last):
                return UNDECIDED
        t0, v0 = t1, v1
    return np.inf


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
