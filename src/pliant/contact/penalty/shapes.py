"""Points against exact shapes: gaps at both ends of a step, and which points of which bodies end it inside.

A ball is tested as what it is, its centre with a radius, against planes and all other exact shapes. Gaps change linearly in time between
the ends of the step, which is exact for a plane.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.impulses import Known
from pliant.contact.penalty.records import VERTEX_SHAPE, Records
from pliant.detect.analytic import signed_distance
from pliant.geometry.rotations import load4, rotate, rotate_back
from pliant.kernels import inline, kernel, load, store, sub
from pliant.model import ANALYTIC, Bodies
from pliant.world.motion import Motion

BALL, BOX = ANALYTIC["ball"], ANALYTIC["box"]


@inline
def distance(kind, parameters, b, position, rotation, f, p):  # type: ignore[no-untyped-def]
    """Signed distance of p to body b and the normal there, in the pose of frame f."""
    q = load4(rotation, f)
    local = rotate_back(q, sub(p, load(position, f)))
    d, n = signed_distance(kind, parameters[b, 0], parameters[b, 1], parameters[b, 2], local)
    return d, rotate(q, n)


@kernel
def _gaps(point, b, radius, analytic, parameters, frame, start, position0, rotation0, end, position1, rotation1, before, after, normal):  # type: ignore[no-untyped-def]
    for i in range(len(point)):
        if b[i] < 0:
            continue
        kind, f, p = analytic[b[i]], frame[b[i]], point[i]
        d, _ = distance(kind, parameters, b[i], position0, rotation0, f, load(start, p))
        before[i] = d - radius[i]
        d, n = distance(kind, parameters, b[i], position1, rotation1, f, load(end, p))
        after[i] = d - radius[i]
        store(normal, i, n)


@kernel
def _inside(a, b, anchor, point_start, surface, radius, analytic, parameters, frame, points, position, rotation, fill, pair, point):  # type: ignore[no-untyped-def]
    """Points of a (of a ball its centre) inside the exact shape b, counted, or written if `fill`."""
    used = 0
    for k in range(len(a)):
        r, f = radius[k], frame[b[k]]
        first, last = point_start[a[k]], point_start[a[k]] + surface[a[k]]
        if r > 0.0:
            first, last = anchor[a[k]], anchor[a[k]] + 1
        for p in range(first, last):
            d, _ = distance(analytic[b[k]], parameters, b[k], position, rotation, f, load(points, p))
            if d < r:
                if fill:
                    pair[used], point[used] = k, p
                used += 1
    return used


def ball_radius(bodies: Bodies, a: Ints, b: Ints) -> Floats:
    """Radius with which body a meets body b: of an exact ball against exact shapes, 0 for points."""
    return np.where((bodies.analytic[a] == BALL) & (bodies.analytic[b] >= 0), bodies.parameters[a, 0], 0.0)


def shape_gaps(motion: Motion, records: Records) -> Known:
    """Gaps of the records with exact shapes at both ends of the motion."""
    bodies, rows = motion.bodies, records.kind == VERTEX_SHAPE
    body = np.where(rows, records.b, -1)
    before, after, normal = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros((len(rows), 3))
    _gaps(
        records.feature_a, body, ball_radius(bodies, records.a, records.b), bodies.analytic, bodies.parameters, bodies.frame,
        motion.start, motion.position_start, motion.rotation_start, motion.end, motion.position, motion.rotation,
        before, after, normal,
    )  # fmt: skip
    return Known(rows, before, after, normal)


def points_in_shapes(motion: Motion, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Of pairs of bodies (points of a, exact shape of b): the number of the pair and the point, for points that end the step inside."""
    bodies = motion.bodies
    given = (
        a, b, bodies.anchor, bodies.point_start, bodies.surface, ball_radius(bodies, a, b), bodies.analytic, bodies.parameters,
        bodies.frame, motion.end, motion.position, motion.rotation,
    )  # fmt: skip
    none = np.zeros(1, np.int64)
    count = _inside(*given, False, none, none.copy())
    pair, point = np.empty(count, np.int64), np.empty(count, np.int64)
    _inside(*given, True, pair, point)
    return pair, point


@kernel
def _body_boxes(point_start, surface, start, end, low, high):  # type: ignore[no-untyped-def]
    for b in range(len(surface)):
        for p in range(point_start[b], point_start[b] + surface[b]):
            for axis in range(3):
                low[b, axis] = min(low[b, axis], min(start[p, axis], end[p, axis]))
                high[b, axis] = max(high[b, axis], max(start[p, axis], end[p, axis]))


def swept_bodies(motion: Motion) -> tuple[Floats, Floats]:
    """Box of each body over the step, (B, 3) twice, exact shapes included."""
    bodies = motion.bodies
    low, high = np.full((len(bodies), 3), np.inf), np.full((len(bodies), 3), -np.inf)
    _body_boxes(bodies.point_start, bodies.surface, motion.start, motion.end, low, high)
    exact = np.flatnonzero(bodies.analytic > 0)
    f, reach = bodies.frame[exact], np.abs(bodies.parameters[exact]).sum(axis=1)[:, None]
    centres = motion.position_start[f], motion.position[f]
    low[exact] = np.minimum(low[exact], np.minimum(*centres) - reach)
    high[exact] = np.maximum(high[exact], np.maximum(*centres) + reach)
    plane = bodies.analytic == 0
    low[plane], high[plane] = -np.inf, np.inf
    return low, high


def meeting(motion: Motion, low: Floats, high: Floats) -> Ints:
    """Pairs (m, 2), a <= b, of bodies that may meet and whose boxes over the step overlap, a body with itself included."""
    count = len(low)
    order = np.argsort(low[:, 0], kind="stable")  # sweep along x: each body against those that start before it ends
    behind = np.maximum(np.searchsorted(low[order, 0], high[order, 0], side="right") - np.arange(count) - 1, 0)
    first = np.repeat(np.arange(count), behind)
    step = np.arange(len(first)) - np.repeat(np.cumsum(behind) - behind, behind) + 1
    i, j = order[first], order[first + step]
    touch = ((low[i] <= high[j]) & (low[j] <= high[i])).all(axis=1)
    a = np.concatenate([np.minimum(i, j)[touch], np.arange(count)])
    b = np.concatenate([np.maximum(i, j)[touch], np.arange(count)])
    keep = motion.pairs.meet(a, b)
    a, b = a[keep], b[keep]
    sorting = np.lexsort((b, a))
    return np.stack([a[sorting], b[sorting]], axis=1)
