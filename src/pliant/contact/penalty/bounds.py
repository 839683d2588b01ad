"""Bounds on redefinition that are ours: no spring begins its life loaded, and pairs at rims are held (theory/penalty 7.7).

A pair that moves to another face, or begins where one does, stands for a contact that is there already. So it can be as deep as the
contacts of the two bodies are, or as far as they moved in the step, not more. Without this bound a vertex that enters a coarse box low on
its side is found regular under its top, at the depth of half a box, and is thrown out with an energy that nobody put in.

Pairs at the rim of a face push a little beyond it, so that contacts do not come and go with rounding. Where two faces with aligned rims
press on each other, each corner of the common area is a vertex on a face if the vertex is inside the rim, and a pair of edges if it is
outside. Both stand for the same contact, at the same depth, and the motion of a body at rest goes back and forth over the rim. So both are
held as long as the vertex is not farther from the rim, on either side, than HOLD of the depth and HELD of an edge: the set of pairs stays
the same, and with it the force. A vertex outside is marked in `before`, which is then -2 - (the face it left by).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.depth_integral import gaps
from pliant.contact.penalty.edges import HELD, EdgeStates
from pliant.contact.penalty.records import NAMES, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.keys import recalled
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import contiguous, dot, inline, kernel, load, norm, scale, sub
from pliant.world.motion import Motion

HOLD = 0.25  # of the depth: how far from the rim a pair is held


def plausible(motion: Motion, mesh: Adjacency, old: Records, new: Records, known: Records) -> Records:
    """The new records, without the moves and the beginnings among them that would be too deep; `old` is what they were made from.

    A pair that has rested while its bodies sank into each other does not wake up as long as it would be too deep.
    """
    place = new.places_in(old)
    woken = (place >= 0) & new.active
    woken[woken] = ~old.active[place[woken]]
    fresh = (place < 0) | woken
    if not fresh.any():
        return new
    new = new.select(np.arange(len(new)))
    there = Records.joined([old, known])
    there = there.select(there.active & ~there.hooked)
    depth = -gaps(motion.end, new, mesh)
    most = np.maximum(deepest(motion, there, np.nan_to_num(-gaps(motion.end, there, mesh)), new), travel(motion, new))
    wrong = fresh & (depth > most)
    back = np.where(wrong & woken, place, -1)
    moved = wrong & (new.kind == VERTEX_FACE) & (place < 0) & (new.before >= 0)
    back[moved] = replace(new.select(moved), feature_b=new.before[moved]).places_in(old)
    for name in NAMES:
        getattr(new, name)[back >= 0] = getattr(old, name)[back[back >= 0]]
    return new.select(~wrong | (back >= 0))


def deepest(motion: Motion, there: Records, depth: Floats, rows: Records) -> Floats:
    """The largest depth [m] among the records between the same two bodies as each row, -inf for none, (r,)."""
    count = len(motion.bodies)
    pair = np.minimum(there.a, there.b) * count + np.maximum(there.a, there.b)
    keys, which = np.unique(pair, return_inverse=True)
    most = np.full(len(keys), -np.inf)
    np.maximum.at(most, which.reshape(-1), depth)
    wanted = np.minimum(rows.a, rows.b) * count + np.maximum(rows.a, rows.b)
    return recalled(keys, most, wanted, -np.inf)


def travel(motion: Motion, rows: Records) -> Floats:
    """How far the two sides of each row move against each other in the step [m], (r,)."""
    moved = motion.end[rows.corners] - motion.start[rows.corners]
    return np.linalg.norm(np.einsum("rk,rki->ri", rows.weights, moved), axis=1)


def at_rims(end: Floats, records: Records, out: Ints, mesh: Adjacency, normals: Floats) -> tuple[Records, Ints]:
    """The records with marks of the vertices that are held outside, and the faces by which those leave that are not; -1 for all others."""
    outside = (records.kind == VERTEX_FACE) & ((out >= 0) | (records.before <= -2))
    rows = np.flatnonzero(outside)
    if len(rows) == 0:
        return records, out
    left = np.where(out[rows] >= 0, out[rows], -2 - records.before[rows])
    depth, beyond = np.zeros(len(rows)), np.zeros(len(rows))
    face = end[mesh.faces[records.feature_b[rows]]]
    size = np.linalg.norm(face - np.roll(face, 1, axis=1), axis=2).max(axis=1)
    some = records.select(rows)
    _beyond(contiguous(end), some.feature_a, some.feature_b, some.sigma, mesh.faces, normals, depth, beyond)
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
