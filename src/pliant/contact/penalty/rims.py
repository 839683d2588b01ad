"""Pairs at the rim of a face: they push a little beyond it, so that contacts do not come and go with rounding (ours).

Where two faces with aligned rims press on each other, each corner of the common area is a vertex on a face if the vertex is inside the
rim, and a pair of edges if it is outside. Both stand for the same contact, at the same depth, and the motion of a body at rest goes back
and forth over the rim. So both are held as long as the vertex is not farther from the rim, on either side, than HOLD of the depth and
HELD of an edge: the set of pairs stays the same, and with it the force. A vertex outside is marked in `before`, which is then
-2 - (the face it left by).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.edges import HELD, EdgeStates
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.detect.closest import closest_on_triangle
from pliant.kernels import contiguous, dot, inline, kernel, load, norm, scale, sub

HOLD = 0.25  # of the depth: how far from the rim a pair is held


def at_rims(end: Floats, records: Records, out: Ints, neighbours: Neighbours, normals: Floats) -> tuple[Records, Ints]:
    """The records with marks of the vertices that are held outside, and the faces by which those leave that are not; -1 for all others."""
    outside = (records.kind == VERTEX_FACE) & ((out >= 0) | (records.before <= -2))
    rows = np.flatnonzero(outside)
    if len(rows) == 0:
        return records, out
    left = np.where(out[rows] >= 0, out[rows], -2 - records.before[rows])
    depth, beyond = np.zeros(len(rows)), np.zeros(len(rows))
    face = end[neighbours.faces[records.feature_b[rows]]]
    size = np.linalg.norm(face - np.roll(face, 1, axis=1), axis=2).max(axis=1)
    some = records.select(rows)
    _beyond(contiguous(end), some.feature_a, some.feature_b, some.sigma, neighbours.faces, normals, depth, beyond)
    held = (beyond <= np.minimum(HOLD * depth, HELD * size)) & records.active[rows]
    back = held & (beyond == 0.0) & (out[rows] < 0)
    before, out = records.before.copy(), out.copy()
    before[rows] = np.where(back, -1, np.where(held, -2 - left, before[rows]))
    out[rows] = np.where(held, -1, left)
    return replace(records, before=before), out


@inline
def foot_beyond(p, a, b, c, n):  # type: ignore[no-untyped-def]
    """(height of p over the plane of a triangle, distance of its foot from the triangle)."""
    high = dot(n, sub(p, a))
    foot = sub(p, scale(high, n))
    w = closest_on_triangle(foot, a, b, c)
    return high, norm(sub(foot, weighted(w, a, b, c)))


@inline
def weighted(w, a, b, c):  # type: ignore[no-untyped-def]
    """w0 a + w1 b + w2 c."""
    return (
        w[0] * a[0] + w[1] * b[0] + w[2] * c[0], w[0] * a[1] + w[1] * b[1] + w[2] * c[1], w[0] * a[2] + w[1] * b[2] + w[2] * c[2]
    )  # fmt: skip


@kernel
def _beyond(points, vertex, face, sigma, faces, normal, depth, beyond):  # type: ignore[no-untyped-def]
    for i in range(len(vertex)):
        f = face[i]
        a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
        high, beyond[i] = foot_beyond(load(points, vertex[i]), a, b, c, load(normal, f))
        depth[i] = -sigma[i] * high


def edges_at_rims(points: Floats, records: Records, states: EdgeStates) -> np.ndarray:
    """Which pairs of edges push and cross so near to an end of an edge, on either side of it, (r,)."""
    x = points[records.corners]
    close = np.zeros(len(records), bool)
    for k, at in ((0, states.s), (2, states.t)):
        off = np.minimum(np.abs(at), np.abs(1.0 - at))
        close |= (off <= HELD) & (off * np.linalg.norm(x[:, k + 1] - x[:, k], axis=1) <= -HOLD * states.gap)
    return close & records.active & (states.beyond <= HELD)
