"""Continuous collision tests: when a vertex first meets a face, or an edge an edge, while all corners move on straight lines.

vertex-face (p; a, b, c)   e = b - a, f = c - a, r = p - a
edge-edge   (a, b; c, d)   e = b - a, f = d - c, r = a - c

All are linear in t. The features can only meet where the corners are coplanar, P(t) = (e x f) . r = 0, a cubic
(Provot 1997, "Collision and self-collision handling in cloth model dedicated to design garments"), and do so if the weights of
the common point lie inside both. Touching counts. The answer is exact, in three stages:

1. separated along an axis at the start and at the end: exact comparisons, most candidates end here;
2. the cubic in floating point with bounds of its rounding error (`certain.py`): around every possible root there is a short
   band of time that surely holds all true roots; contact if P surely changes sign in it and the weights are surely inside, none
   if a weight is surely outside or a direction surely separates the features over the band (compare Wang et al. 2021, "A
   large-scale benchmark and an inclusion-based algorithm for continuous collision detection": tolerances miss or invent contacts);
3. what remains (touching, coplanar, within about 1e-13 of the feature size) is decided in rational arithmetic by `exact.py`.

Limitation: stage 3 costs 0.3 ms a query, so thousands of features that touch exactly are slow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.base import Floats, Ints, PliantError
from pliant.detect.certain import ULP, decide, mix
from pliant.detect.exact import edge_edge_time, vertex_face_time
from pliant.kernels import contiguous, inline, load, parallel, prange, sub, use_threads

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
