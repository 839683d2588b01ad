"""Who gets the impulse of a pair: the weights of its corners, at the foot of the contact (theory/penalty 5.3).

A vertex gets I, the corners of its face -w_a I, -w_b I, -w_c I; of two edges (1 - s) I and s I, -(1 - t) I and -t I. Sums are zero by
construction. Weights follow the foot, and both sides take the impulse in one place, so that no moment is made.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.depth_integral import Pressed
from pliant.contact.penalty.edges import RELAXED
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.detect.coplanar_times import SLACK, row_weights
from pliant.detect.time_of_impact import corners_of, frame
from pliant.kernels import contiguous, kernel
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
