"""Who gets the impulse of a pair: the weights of its corners, at the foot of the contact (theory/penalty 5.3).

A vertex gets I, the corners of its face -w_a I, -w_b I, -w_c I; of two edges (1 - s) I and s I, -(1 - t) I and -t I. Sums are zero by
construction. Weights follow the foot, and both sides take the impulse in one place, so that no moment is made.

Impulses spread over a ring, `spread = true` (theory/penalty 5.8): for bodies whose nodes are stepped explicitly.

A vertex that is pushed alone is pushed out of its surface before its neighbours know. Its impulse I goes to the vertices u of its ring
(itself and those an edge joins to it) in shares
    w_u = (1 + g . y_u) / n,     y_u: place of u across the normal, from the mean of the ring,
with g such that sum w_u = 1 and sum w_u y_u is the place of the vertex itself. So force and moment are those of I, exactly. Shares that
would pull are set to zero and g is found anew; a vertex on the rim spreads along the rim, a corner keeps all. Where we differ:
theory/penalty 5.8 also has a form that turns the single forces to balance the moment; shares of one direction keep a contact one row, so
its yield is known. Friction is not spread, as its moment would be that of the height of the vertex over its ring. Implicit bodies spread
every impulse through their stiffness anyhow; rigid ones need none.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.depth_integral import Pressed
from pliant.contact.penalty.edges import RELAXED
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.coplanar_times import SLACK, row_weights
from pliant.detect.time_of_impact import corners_of, frame
from pliant.kernels import contiguous, cross, dot, kernel, load, norm, scale, sub
from pliant.world.motion import Motion, Rows


@kernel
def feet(kind, corners, points, weights, ok):  # type: ignore[no-untyped-def]
    """Weights of the foot of each record at the given points: the projection on the face, the nearest points of two lines."""
    for i in range(len(kind)):
        if kind[i] == VERTEX_SHAPE:
            weights[i] = (1.0, -1.0, 0.0, 0.0)
            ok[i] = True
            continue
        face = kind[i] != EDGE_EDGE
        e, f, r = frame(face, corners_of(points, corners, i))
        ok[i], _, w = row_weights(face, e, f, r)
        for k in range(4):
            weights[i, k] = w[k]


def foot_weights(records: Records, points: Floats) -> tuple[Floats, np.ndarray]:
    """Weights (r, 4) with which the points of both sides are nearest to each other along the normal; whether there are any."""
    weights, ok = np.zeros((len(records), 4)), np.zeros(len(records), bool)
    feet(records.kind, records.corners, contiguous(points), weights, ok)
    return weights, ok


def follow(options: Options, motion: Motion, batch: Records) -> None:
    """Move the weights to the foot of each contact at the end of the step, so that impulses act in one line and make no moment.

    A foot that has gone far beyond its face is not followed: its weights would grow without bound.
    """
    if options.reproject:
        foot, ok = foot_weights(batch, motion.end)
        inside = np.where(batch.kind == VERTEX_FACE, (foot[:, 1:] <= RELAXED).all(axis=1), (np.abs(foot) <= 1.0 + SLACK).all(axis=1))
        batch.weights = np.where((ok & inside)[:, None], foot, batch.weights)


def contact_rows(motion: Motion, batch: Records, look: Pressed, pushed: np.ndarray) -> Rows:
    """Rows of the pushed records; both sides take the impulse half way between the point and its foot."""
    corners, weights = batch.corners[pushed], batch.weights[pushed]
    first = np.where((batch.kind[pushed] == EDGE_EDGE)[:, None], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]) * weights
    point = np.einsum("rk,rki->ri", first, motion.end[corners])
    bodies = motion.bodies
    ball = (batch.feature_a == bodies.anchor[batch.a]) & (batch.kind != EDGE_EDGE)
    radius = np.where(ball, bodies.ball_radius[batch.a], 0.0)[pushed]
    at = point - (radius + 0.5 * look.gap[pushed])[:, None] * look.normal[pushed]
    return Rows.dense(corners, weights, look.direction()[pushed], at)


STRAIGHT = 1e-9  # of its size squared: how straight a ring is that counts as a line, to rounding
TRIES = 8  # how often shares that pull are taken out


def over_rings(motion: Motion, mesh: Adjacency, rows: Rows) -> Rows:
    """The rows with every vertex that may spread replaced by its ring; normal and place stay."""
    explicit = spreading(motion)
    size = np.where(explicit[rows.point], 1 + np.diff(mesh.edge_start)[rows.point], 1)
    begin = np.concatenate([[0], np.cumsum(size)])
    point, weight = np.empty(begin[-1], np.int64), np.zeros(begin[-1])
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    _shares(row, rows.point, rows.weight, rows.normal, explicit, begin, mesh, motion.end, point, weight)
    return Rows(begin[rows.start], point, weight, rows.normal, rows.at)


def spreading(motion: Motion) -> np.ndarray:
    """Which skin points may spread, (p,) bool: those bound to nodes that move by themselves."""
    skin, free = motion.skin, motion.explicit
    count = np.diff(skin.start)
    held = np.concatenate([[0], np.cumsum(free[skin.node])])
    return (count > 0) & (held[skin.start[1:]] - held[skin.start[:-1]] == count)


@kernel
def _shares(row, vertex, weight, normal, explicit, begin, mesh, points, point, share):  # type: ignore[no-untyped-def]
    """Points and signed shares of each entry of the rows."""
    for k in range(len(vertex)):
        v, first = vertex[k], begin[k]
        point[first], share[first] = v, weight[k]
        count = begin[k + 1] - first
        if not explicit[v] or weight[k] == 0.0:
            point[first : first + count] = v
            continue
        n = load(normal, row[k])
        t = (1.0, 0.0, 0.0) if abs(n[0]) < abs(n[1]) else (0.0, 1.0, 0.0)
        t = cross(n, t)
        t = scale(1.0 / norm(t), t)
        o = cross(n, t)
        y, use = np.zeros((count, 2)), np.ones(count, np.bool_)
        for i in range(1, count):
            e = mesh.edges_around[mesh.edge_start[v] + i - 1]
            point[first + i] = mesh.edges[e, 1] if mesh.edges[e, 0] == v else mesh.edges[e, 0]
            way = sub(load(points, point[first + i]), load(points, v))
            y[i, 0], y[i, 1] = dot(way, t), dot(way, o)
        parts = np.zeros(count)
        for _ in range(TRIES):
            if _solve(y, use, parts):
                for i in range(count):
                    share[first + i] = weight[k] * parts[i]
                break


@kernel
def _solve(y, use, parts):  # type: ignore[no-untyped-def]
    """Shares of the vertices in use, whose mean is the origin; false: some would pull, and are out of use now."""
    count, mx, my = 0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            count, mx, my = count + 1, mx + y[i, 0], my + y[i, 1]
    mx, my = mx / count, my / count
    a, b, c = 0.0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            u, v = y[i, 0] - mx, y[i, 1] - my
            a, b, c = a + u * u / count, b + u * v / count, c + v * v / count
    gx, gy, det = 0.0, 0.0, a * c - b * b
    if det > STRAIGHT * (a + c) ** 2:
        gx, gy = -(c * mx - b * my) / det, -(a * my - b * mx) / det
    elif a + c > 0.0:  # all in one line, which then goes through the vertex
        gx, gy = -mx / (a + c), -my / (a + c)
    good = True
    for i in range(1, len(use)):
        parts[i] = (1.0 + gx * (y[i, 0] - mx) + gy * (y[i, 1] - my)) / count if use[i] else 0.0
        if parts[i] < 0.0:
            use[i], good = False, False
    parts[0] = 1.0 - parts[1:].sum()
    good = good and parts[0] >= 0.0
    if good and abs((parts * y[:, 0]).sum()) + abs((parts * y[:, 1]).sum()) > STRAIGHT**1.5 * np.sqrt(a + c):
        parts[:], parts[0] = 0.0, 1.0  # nearly, but not quite, in one line: no shares that are exact
    return good
