"""All times in a step at which four corners are coplanar, with what contact methods need to know about each.

The cubic P(t) = N . r of `time_of_impact.py` (theory/penalty 4.2), its roots in [0, 1] in ascending order, the weights of the common point
there, and whether the pair enters or leaves: sigma P falls through zero when entering, where sigma = 1 for vertex-face (outside is in
front of the face) and sigma = sign P(0) for edge-edge. Floating point with a slack of 1e-9 on the weights: right for forces, which are
continuous there; ask `vertex_face_toi` and `edge_edge_toi` when the yes or no itself matters.

A pair that stays coplanar for the whole step (every coefficient is rounding) gets the first time at which its features overlap in
their plane. A pair without a plane at a root (flat triangle, parallel edges: |N|^2 < 1e-12 |e|^2 |f|^2) is marked DEGENERATE and the
root is not inside; neighbouring features cover it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.detect.feature_tests import dropped, largest_axis, spread
from pliant.detect.time_of_impact import (
    CUBIC_ERROR,
    ROOT,
    coplanarity,
    corners_of,
    critical_points,
    finite,
    frame,
    largest,
    mix,
    quadratic_roots,
    root_between,
    value,
)
from pliant.kernels import add, contiguous, cross, dot, inline, parallel, prange, scale, sub, use_threads

SLACK = 1e-9  # on weights
PARALLEL = 1e-12  # |N|^2 / (|e|^2 |f|^2) below which there is no plane
COPLANAR, DEGENERATE, REFUSED = 1, 2, 4


@dataclass(frozen=True)
class Crossings:
    """Coplanar times of n candidate pairs; what is beyond `count` is NaN, False or 0."""

    cubic: Floats  # P(t) = sum of cubic[:, k] t^k [m^3], (n, 4)
    sigma: Floats  # (n,), sigma P < 0 means penetrating
    count: Ints  # number of roots, (n,)
    roots: Floats  # in [0, 1], ascending, (n, 3)
    weights: Floats  # of the four corners at each root, summing to zero, (n, 3, 4): (1, -a, -b, -c) or (a, b, -c, -d)
    inside: NDArray[np.bool_]  # whether the weights are those of a point of both features, (n, 3)
    turn: Ints  # 1 enters, -1 leaves, 0 touches and turns back, (n, 3)
    flags: Ints  # COPLANAR, DEGENERATE or both, (n,)

    def first(self) -> Ints:
        """Number of the first root at which the pair enters inside its features, -1 if there is none, (n,)."""
        enters = self.inside & (self.turn == 1)
        return np.where(enters.any(axis=1), enters.argmax(axis=1), -1)


@inline
def normal_and_cubic(start, end):  # type: ignore[no-untyped-def]
    """N(t) = n + t x + t^2 y and the coefficients of P(t) = N . r by powers of t.

    n = e0 x f0, x = e0 x f' + e' x f0, y = e' x f'; pure translation has x = y = 0 exactly.
    """
    e, f, r = start
    de, df, dr = sub(end[0], e), sub(end[1], f), sub(end[2], r)
    n, x, y = cross(e, f), add(cross(e, df), cross(de, f)), cross(de, df)
    return n, x, y, (dot(n, r), dot(x, r) + dot(n, dr), dot(y, r) + dot(x, dr), dot(y, dr))


@inline
def frame_at(start, end, t):  # type: ignore[no-untyped-def]
    return mix(start[0], end[0], t), mix(start[1], end[1], t), mix(start[2], end[2], t)


@inline
def row_weights(face, e, f, r):  # type: ignore[no-untyped-def]
    """(plane exists, inside, signed weights of the four corners) of coplanar features: least squares in their plane."""
    n = cross(e, f)
    nn = dot(n, n)
    if nn <= PARALLEL * dot(e, e) * dot(f, f):
        return False, False, (0.0, 0.0, 0.0, 0.0)
    u, v = dot(n, cross(r, f)) / nn, dot(n, cross(e, r)) / nn
    if face:
        w = 1.0 - u - v
        return True, min(w, min(u, v)) >= -SLACK, (1.0, -w, -u, -v)
    u = -u
    return True, min(min(u, 1.0 - u), min(v, 1.0 - v)) >= -SLACK, (1.0 - u, u, v - 1.0, -v)


@inline
def cross2(u, v):  # type: ignore[no-untyped-def]
    return u[0] * v[1] - u[1] * v[0]


@inline
def dot2(u, v):  # type: ignore[no-untyped-def]
    return u[0] * v[0] + u[1] * v[1]


@inline
def onto_edge(g0, h0, g1, h1, axis):  # type: ignore[no-untyped-def]
    """First time at which a point, at h from the edge's start, comes to lie on the edge g, in the plane seen along axis; inf if never."""
    g, h, k, m = dropped(g0, axis), dropped(h0, axis), dropped(g1, axis), dropped(h1, axis)
    q0, q1, q2 = cross2(g, h), 0.5 * (cross2(g, m) + cross2(k, h)), cross2(k, m)
    size = (abs(g[0]) + abs(g[1]) + abs(k[0]) + abs(k[1])) * (abs(h[0]) + abs(h[1]) + abs(m[0]) + abs(m[1]))
    if max(abs(q0), max(abs(q1), abs(q2))) <= CUBIC_ERROR * size:
        # always on the line of the edge: it comes in over an end, where h . (h - g) = 0
        a, b = (h[0] - g[0], h[1] - g[1]), (m[0] - k[0], m[1] - k[1])
        q0, q1, q2 = dot2(h, a), 0.5 * (dot2(h, b) + dot2(m, a)), dot2(m, b)
        return 0.0 if q0 <= 0.0 else quadratic_roots(q0, q1, q2)[0]
    first, last = quadratic_roots(q0, q1, q2)
    for k2 in range(2):
        t = first if k2 == 0 else last
        if t <= 1.0:
            gt = ((1.0 - t) * g[0] + t * k[0], (1.0 - t) * g[1] + t * k[1])
            ht = ((1.0 - t) * h[0] + t * m[0], (1.0 - t) * h[1] + t * m[1])
            along, length = dot2(gt, ht), dot2(gt, gt)
            # an edge that has shrunk to a point has every point on its line
            lasting = length > PARALLEL * (dot2(g, g) + dot2(k, k))
            if lasting and along >= -SLACK * length and along <= (1.0 + SLACK) * length:
                return t
    return np.inf


@inline
def coplanar_hit(face, start, end):  # type: ignore[no-untyped-def]
    """First time at which features that stay in one plane overlap, inf if never, NaN if they have no plane at any time."""
    e, f, r = start
    g, h, s = end
    if row_weights(face, e, f, r)[1]:
        return 0.0
    middle = frame_at(start, end, 0.5)
    n, m, o = cross(e, f), cross(middle[0], middle[1]), cross(g, h)
    total = (abs(n[0]) + abs(m[0]) + abs(o[0]), abs(n[1]) + abs(m[1]) + abs(o[1]), abs(n[2]) + abs(m[2]) + abs(o[2]))
    if dot(total, total) <= PARALLEL * (dot(e, e) + dot(g, g)) * (dot(f, f) + dot(h, h)):
        return np.nan
    axis = largest_axis(total)
    if face:
        t = min(onto_edge(e, r, g, s, axis), onto_edge(f, r, h, s, axis))
        return min(t, onto_edge(sub(f, e), sub(r, e), sub(h, g), sub(s, g), axis))
    t = min(onto_edge(f, r, h, s, axis), onto_edge(f, add(r, e), h, add(s, g), axis))
    back, home = scale(-1.0, r), scale(-1.0, s)
    return min(t, min(onto_edge(e, back, g, home, axis), onto_edge(e, add(f, back), g, add(h, home), axis)))


@inline
def sign(v, noise):  # type: ignore[no-untyped-def]
    return 1 if v > noise else (-1 if v < -noise else 0)


@inline
def walk(face, b, noise, roots, turn):  # type: ignore[no-untyped-def]
    """Fill in the roots and, for each, the sign of P after it times -1 where P changes sign, else 0; returns their number.

    At the knots 0, critical points, 1 a value within the noise is a root of its own: a double root, or one at an end.
    """
    middle, late = critical_points(b)
    count, waiting = 0, -1  # waiting: a root at a knot whose turn the next clear sign tells
    before, t0, v0 = sign(b[0], noise), 0.0, b[0]
    if before == 0:
        roots[0], turn[0] = 0.0, 0
        count, waiting = 1, 0
    for k in range(3):
        t1 = middle if k == 0 else (late if k == 1 else 1.0)
        if t1 <= t0:
            continue
        v1 = value(b, t1)
        now = sign(v1, noise)
        if now == 0:
            roots[count], turn[count] = t1, 0
            waiting = count if waiting < 0 else waiting
            count += 1
        else:
            if waiting >= 0:
                # a vertex that begins on the plane and goes below it enters at 0; edges only then get their sides
                turn[waiting] = -now if before * now < 0 or (face and before == 0 and now < 0) else 0
                waiting = -1
            elif before * now < 0:
                roots[count], turn[count] = root_between(b, t0, t1, v0, v1, ROOT * noise), -now
                count += 1
            before = now
        t0, v0 = t1, v1
    return count


@inline
def first_sign(p, noise):  # type: ignore[no-untyped-def]
    """Sign of P just after 0: of the first coefficient that is not rounding."""
    for k in range(4):
        if abs(p[k]) > noise:
            return 1.0 if p[k] > 0.0 else -1.0
    return 1.0


@inline
def fill(face, x, y, cubic, roots, weights, inside, turn):  # type: ignore[no-untyped-def]
    """One pair; returns (number of roots, sigma, flags)."""
    if not (finite(x) and finite(y)):
        return 0, 1.0, REFUSED
    start, end = frame(face, x), frame(face, y)
    p = normal_and_cubic(start, end)[3]
    for k in range(4):
        cubic[k] = p[k]
    size = spread(largest(start[0], end[0]), largest(start[1], end[1]))
    noise = CUBIC_ERROR * dot(size, largest(start[2], end[2]))
    b = coplanarity(start, end)
    sigma = 1.0 if face else first_sign(p, noise)
    flags, count = 0, 0
    if max(max(abs(b[0]), abs(b[1])), max(abs(b[2]), abs(b[3]))) <= noise:
        hit = coplanar_hit(face, start, end)
        flags = COPLANAR if hit == hit else COPLANAR | DEGENERATE
        if hit <= 1.0:
            roots[0], turn[0], count = hit, 1, 1
    else:
        count = walk(face, b, noise, roots, turn)
        if sigma < 0.0:
            for k in range(count):
                turn[k] = -turn[k]
    for k in range(count):
        e, f, r = frame_at(start, end, roots[k])
        plane, ok, w = row_weights(face, e, f, r)
        if not plane:
            flags |= DEGENERATE
        inside[k] = ok
        for j in range(4):
            weights[k, j] = w[j]
    return count, sigma, flags


@parallel
def fill_all(face, start, end, corners, cubic, sigma, count, roots, weights, inside, turn, flags):  # type: ignore[no-untyped-def]
    for i in prange(len(corners)):
        x, y = corners_of(start, corners, i), corners_of(end, corners, i)
        row = fill(face, x, y, cubic[i], roots[i], weights[i], inside[i], turn[i])
        count[i], sigma[i], flags[i] = row


def crossings(start: Floats, end: Floats, corners: Ints, face: bool) -> Crossings:
    """Coplanar times of candidate pairs: rows of four point numbers (n, 4) into the points (p, 3) at both ends of the step.

    face: a row is a vertex and the three corners of a face; otherwise two edges.
    """
    rows = contiguous(corners, np.int64).reshape(-1, 4)
    n = len(rows)
    cubic, sigma, count, roots = np.empty((n, 4)), np.empty(n), np.empty(n, np.int64), np.full((n, 3), np.nan)
    weights, inside = np.full((n, 3, 4), np.nan), np.zeros((n, 3), np.bool_)
    turn, flags = np.zeros((n, 3), np.int64), np.empty(n, np.int64)
    use_threads(n)
    fill_all(face, contiguous(start), contiguous(end), rows, cubic, sigma, count, roots, weights, inside, turn, flags)
    refused = np.flatnonzero(flags & REFUSED)
    if len(refused):
        raise PliantError(
            f"{len(refused)} candidate pairs have corners that are not finite, first in rows {refused[:5].tolist()}: "
            "their contact is undefined; look for NaN or inf in the positions at the start and end of the step"
        )
    return Crossings(cubic, sigma, count, roots, weights, inside, turn, flags)
