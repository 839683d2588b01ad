"""Contacts of rims: edges that cross edges, and points next to a rim that leave with them. Shared by `ground` and `noniterative`.

A point in a body leaves by the closest surface. On the rim of a face that is the side beside it: boxes that lie exactly on each other
would be pushed aside, and fall through. So where edges of two rigid or static bodies cross, points of theirs that would leave another way
by no more than the depth of the crossings try the way of the crossings, and take it if it leads out of the same rim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.detect.keys import recalled
from pliant.detect.penetration import body_boxes, signed_gaps
from pliant.detect.sharp_edges import Crossed, SharpEdges
from pliant.detect.tree import Tree
from pliant.kernels import axpy, dot, kernel, load, norm, scale, store, sub
from pliant.world.motion import Motion, Rows

NEW = 0.01  # of the least width: deeper crossings at the start of the step are not new
GROWN = 2.0  # times the depth of two bodies in the last step: crossings may be as deep
SLIGHT = 1e-6  # of the least width: what crosses so little beyond an end crosses
WITH, ACROSS = 0.9, 0.5  # cosines: of a way that goes with the crossings, and of one that does not


class Surfaces(Protocol):
    """What knows the surfaces of all bodies at the end of the motion."""

    tree: Tree
    neighbour: Ints
    face_normal: Floats
    vertex_normal: Floats


@dataclass
class Ways:
    """Points in bodies and how they leave: what `settle` may change."""

    point: Ints  # (h,)
    a: Ints
    b: Ints
    face: Ints
    weights: Floats  # (h, 3)
    normal: Floats  # (h, 3)
    depth: Floats  # [m] (h,)


def crossed_edges(motion: Motion, tree: Tree, memory: Memory) -> Crossed:
    """Edges that cross, each place once: those that have come together just now, and those that are as deep as their bodies were.

    tree: over all faces, fit to the end of the motion.
    """
    edges = motion.kept(SharpEdges)
    if len(edges.bodies) < 2:
        return Crossed.none()
    found = edges.find(motion, *body_boxes(motion, tree))
    if len(found) == 0:
        return found
    least = np.minimum(edges.width[found.a], edges.width[found.b])
    pair = found.a * len(motion.bodies) + found.b
    deepest = recalled(memory.get("rim_pair", np.zeros(0, np.int64)), memory.get("rim_depth", np.zeros(0)), pair)
    found.beyond[found.beyond <= SLIGHT * least] = 0.0
    found = found.select(found.before >= -np.maximum(NEW * least, GROWN * deepest))
    found = found.select(np.lexsort((found.beyond, found.b, found.a)))
    first = np.ones(len(found), np.bool_)
    _drop_twins(found.a, found.b, edge_rows(motion, found).at, found.normal, found.gap, first)
    return found.select(first)


def remember_depths(motion: Motion, a: Ints, b: Ints, depth: Floats) -> Memory:
    """How deep pairs of bodies are in each other, for the next step."""
    if len(motion.kept(SharpEdges).bodies) < 2:
        return {}
    pair, place = np.unique(np.minimum(a, b) * len(motion.bodies) + np.maximum(a, b), return_inverse=True)
    deepest = np.zeros(len(pair))
    np.maximum.at(deepest, place, depth)
    return {"rim_pair": pair, "rim_depth": deepest}


def edge_key(motion: Motion, edges: Crossed) -> Ints:
    """A number for each pair of edges, the same in every step, behind those of points in bodies."""
    count = len(motion.kept(SharpEdges).ends)
    return len(motion.skin) * len(motion.bodies) + edges.edge[:, 0] * count + edges.edge[:, 1]


def features(point: Ints, face: Ints, edges: Crossed) -> tuple[Ints, Ints]:
    """Skin points of A and faces of B, of points and then of edges: the nearer end of A's edge, and no face."""
    end = edges.points[np.arange(len(edges)), (edges.place[:, 0] > 0.5).astype(np.int64)]
    return np.append(point, end), np.append(face, np.full(len(edges), -1))


def edge_rows(motion: Motion, edges: Crossed) -> Rows:
    """Four points a row: the ends of both edges; the impulse acts half way between them."""
    s, t = edges.place.T
    weights = np.stack([1.0 - s, s, t - 1.0, -t], axis=1)
    at = 0.5 * np.einsum("ek,eki->ei", np.abs(weights), motion.end[edges.points])
    return Rows.dense(edges.points, weights, edges.normal, at)


def settle(motion: Motion, surfaces: Surfaces, ways: Ways, edges: Crossed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turn points at rims into the way of the edges that cross there; (points that were turned, points and edges that count), bool each.

    Of a point and a crossing next to it that push the same way one is enough: the crossing, because the point comes and goes with
    rounding where rims lie on each other; the point, if the edges cross only beyond their ends.
    """
    turned, wanted, crossing = np.zeros(len(ways.point), bool), np.ones(len(ways.point), np.bool_), np.ones(len(edges), np.bool_)
    if len(edges) and len(ways.point):
        count = len(motion.bodies)
        pair = edges.a * count + edges.b  # in order, as they are found
        mine = np.minimum(ways.a, ways.b) * count + np.maximum(ways.a, ways.b)
        first, last = np.searchsorted(pair, mine), np.searchsorted(pair, mine, side="right")
        turned = _turn(motion, surfaces, ways, edges, first, last)
        at = motion.end[ways.point] + 0.5 * ways.depth[:, None] * ways.normal
        place = edge_rows(motion, edges).at
        _drop_doubles(
            first, last, ways.a, at, ways.normal, edges.a, place, edges.normal, edges.gap, edges.beyond, wanted, crossing
        )  # fmt: skip
    return turned, wanted, crossing


def _turn(motion: Motion, surfaces: Surfaces, ways: Ways, edges: Crossed, first: Ints, last: Ints) -> np.ndarray:
    way, deepest = np.zeros((len(first), 3)), np.zeros(len(first))
    _mean_ways(first, last, ways.a, edges.a, edges.normal, edges.gap, way, deepest)
    aside = (np.einsum("hi,hi->h", way, ways.normal) < ACROSS) & (ways.depth <= deepest)
    rows = np.flatnonzero(aside)
    step = 2.0 * deepest[rows, None]
    found = _distances(motion, surfaces, motion.end[ways.point[rows]] + step * way[rows], ways.b[rows])
    face, weights, normal, gap = found
    depth = step[:, 0] - gap
    out = (gap > 0.0) & (depth > 0.0) & (np.einsum("hi,hi->h", way[rows], normal) > WITH)
    rows = rows[out]
    ways.face[rows], ways.normal[rows], ways.depth[rows] = face[out], normal[out], depth[out]
    ways.weights[rows] = np.where(face[out, None] < 0, [1.0, 0.0, 0.0], weights[out])
    turned = np.zeros(len(first), bool)
    turned[rows] = True
    return turned


@kernel
def _drop_twins(a, b, at, normal, gap, first):  # type: ignore[no-untyped-def]
    """Of crossings of two bodies that are no farther apart than twice their depth, and push alike, only the first counts."""
    for e in range(len(a)):
        f = e - 1
        while f >= 0 and a[f] == a[e] and b[f] == b[e] and first[e]:
            near = norm(sub(load(at, e), load(at, f))) <= -2.0 * min(gap[e], gap[f])
            if first[f] and near and dot(load(normal, e), load(normal, f)) > WITH:
                first[e] = False
            f -= 1


@kernel
def _drop_doubles(start, stop, a, at, normal, edge_a, edge_at, edge_normal, gap, beyond, wanted, crossing):  # type: ignore[no-untyped-def]
    """Of a point and a crossing that are no farther apart than twice its depth, and push alike, one is dropped."""
    for h in range(len(start)):
        for e in range(start[h], stop[h]):
            side = 1.0 if a[h] == edge_a[e] else -1.0
            near = norm(sub(load(at, h), load(edge_at, e))) <= -2.0 * gap[e]
            if near and side * dot(load(normal, h), load(edge_normal, e)) > WITH:
                if beyond[e] == 0.0:
                    wanted[h] = False
                else:
                    crossing[e] = False


@kernel
def _mean_ways(start, stop, a, edge_a, edge_normal, gap, way, deepest):  # type: ignore[no-untyped-def]
    """Mean way of the crossings of each point's bodies, as that body leaves, zero if they disagree; and how deep the deepest is."""
    for h in range(len(start)):
        u = (0.0, 0.0, 0.0)
        for e in range(start[h], stop[h]):
            u = axpy(1.0 if a[h] == edge_a[e] else -1.0, load(edge_normal, e), u)
            deepest[h] = max(deepest[h], -gap[e])
        length = norm(u)
        if length > WITH * (stop[h] - start[h]):
            store(way, h, scale(1.0 / length, u))
        else:
            deepest[h] = -1.0


def _distances(motion: Motion, surfaces: Surfaces, places: Floats, body: Ints) -> tuple[Ints, Floats, Floats, Floats]:
    """(face, weights, normal, signed distance) of places to bodies."""
    tree, bodies, count, first = surfaces.tree, motion.bodies, len(places), len(motion.end)
    face, gap = np.full(count, -1, np.int64), np.zeros(count)
    weights, normal = np.zeros((count, 3)), np.zeros((count, 3))
    signed_gaps(
        body, np.arange(first, first + count), np.zeros(count), np.concatenate([motion.end, places]), bodies.analytic, bodies.parameters,
        bodies.frame, motion.position, motion.rotation, tree.root, tree.level[1], tree.first, tree.count, tree.order, tree.low, tree.high,
        motion.skin.faces, surfaces.neighbour, surfaces.face_normal, surfaces.vertex_normal, face, weights, normal, gap,
    )  # fmt: skip
    return face, weights, normal, gap
