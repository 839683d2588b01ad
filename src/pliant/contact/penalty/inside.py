"""Pairs by their places at the end of the step alone: points inside bodies, and edges that cross each other (detection = "discrete").

A point belongs to the face through which it would come out. Two edges are a pair if the point nearest to both is inside both, one of them
pierces a face of the other, and the normal between them points out of both bodies (8.1 of the methods page).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.find import TOUCHING, Finder, make, shape_records
from pliant.contact.penalty.impulses import Known, foot_weights
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.plausible import deepest, ways
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.resolve import gaps
from pliant.contact.penalty.shapes import meeting, swept_bodies
from pliant.detect.feature_tests import edge_triangle
from pliant.detect.penetration import Penetration
from pliant.kernels import add, axpy, kernel, load, scale, sub
from pliant.world.motion import Motion

DEPTH = 0.1  # of the mean edge: half the depth up to which crossing edges are found
APART = 4.0  # times the shallowest of the pairs of edges of two bodies: as deep as another one may be


def points_inside(motion: Motion) -> tuple[Records, Known]:
    """Points that end the step inside other bodies, with the face where they would come out, or the exact shape; balls as balls."""
    finder = motion.kept(Penetration)
    hits = finder.find(finder.fit(motion.end, motion.shapes), motion.pairs.meet)
    exact = hits.face < 0
    shapes = shape_records(motion, hits.point[exact], hits.a[exact], hits.b[exact])
    point, face = hits.point[~exact], hits.face[~exact]
    corners = np.concatenate([point[:, None], motion.skin.faces[face]], axis=1)
    weights = np.concatenate([np.ones((len(point), 1)), -hits.weights[~exact]], axis=1)
    faces = make(VERTEX_FACE, hits.a[~exact], hits.b[~exact], point, face, corners, weights, np.ones(len(point)))
    order = np.concatenate([np.flatnonzero(~exact), np.flatnonzero(exact)])
    known = Known(np.ones(len(hits), bool), np.zeros(len(hits)), hits.gap[order], hits.normal[order])
    return Records.joined([faces, shapes]), known


def at_the_end(motion: Motion, finder: Finder) -> tuple[Records, Known]:
    """All pairs at the end of the step, with what is known of their gaps."""
    points, known = points_inside(motion)
    edges = edges_crossing(motion, finder, points)
    r = len(edges)
    unknown = Known(np.zeros(r, bool), np.zeros(r), np.zeros(r), np.zeros((r, 3)))
    return Records.joined([points, edges]), Known.joined([known, unknown])


def edges_crossing(motion: Motion, finder: Finder, inside: Records) -> Records:
    """Pairs of edges, of different bodies, that are through each other at the end of the step; `inside` are the points that are."""
    pairs = meeting(motion, *swept_bodies(motion))
    pairs = finder.meshes(motion, pairs[~finder.balls_meet(motion, pairs)])
    pairs = np.ascontiguousarray(pairs[pairs[:, 0] != pairs[:, 1]])
    points = motion.end
    if len(pairs) == 0:
        return Records.none()
    # edges that are through each other are apart by their depth: boxes must be wider than that
    margin = DEPTH * float(np.linalg.norm(points[finder.edges[:, 1]] - points[finder.edges[:, 0]], axis=1).mean())
    e, g = finder.tree.candidates(points, points, pairs, margin).edge_edge.T
    corners = np.concatenate([finder.edges[e], finder.edges[g]], axis=1)
    made = make(EDGE_EDGE, finder.edge_body[e], finder.edge_body[g], e, g, corners, np.zeros((len(e), 4)), np.ones(len(e)))
    made.weights, ok = foot_weights(made, points)
    x = points[corners]
    made.sigma = finder.side(points, e, g, corners)
    gap = made.sigma * np.einsum("ri,ri->r", np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2]), x[:, 0] - x[:, 2])
    keep = ok & (np.abs(made.weights) <= 1.0).all(axis=1) & (gap < 0.0)
    keep &= ~finder.flat(points, e) & ~finder.flat(points, g) & (_pierces(finder, points, e, g) | _pierces(finder, points, g, e))
    return shallow(motion, made.select(keep), inside, 2.0 * margin)


def shallow(motion: Motion, edges: Records, inside: Records, limit: float) -> Records:
    """The pairs of edges no deeper than the points of their two bodies; where none is inside, than APART times the shallowest or `limit`.

    Where bodies are flush rounding alone decides which edges pierce which faces, and some are across the whole body from each other.
    """
    near = motion.kept(Neighbours)
    depth = -gaps(motion.end, edges, near)
    least = -deepest(motion, edges, -depth, edges)
    most = deepest(motion, inside, np.nan_to_num(-gaps(motion.end, inside, near)), edges)
    return edges.select(depth <= np.where(np.isfinite(most), np.maximum(most, ways(motion, edges)), np.minimum(APART * least, limit)))


def _pierces(finder: Finder, points: Floats, edge: Ints, other: Ints) -> np.ndarray:
    """Whether each edge goes through a face of the other edge, farther from its rim than rounding."""
    out = np.zeros(len(edge), bool)
    _pierce(points, finder.edges, finder.faces, edge, finder.edge_faces[other], out)
    return out


@kernel
def _pierce(points, edges, faces, edge, around, out):  # type: ignore[no-untyped-def]
    for i in range(len(edge)):
        p, q = load(points, edges[edge[i], 0]), load(points, edges[edge[i], 1])
        for k in range(2):
            f = around[i, k]
            if f >= 0:
                a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
                middle = scale(1.0 / 3.0, add(add(a, b), c))
                a, b, c = axpy(TOUCHING, sub(middle, a), a), axpy(TOUCHING, sub(middle, b), b), axpy(TOUCHING, sub(middle, c), c)
                hit, _, _, _ = edge_triangle(p, q, a, b, c)
                out[i] = out[i] or hit
