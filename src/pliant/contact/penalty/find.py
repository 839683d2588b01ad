"""Which features press into each other: pairs that begin to during a step, and pairs by their places at its end alone.

Along the motion: vertices with faces and edges with edges by continuous detection on straight paths (theory/penalty 4.2): a pair is
new at the first root at which it enters inside its features. Exact shapes (plane, ball, capsule, cylinder, torus) are met by points through
their signed distance; a box is met through its faces, which are exact, and a ball meets exact shapes as a ball.

An open surface (a cloth) has no inside: there a vertex may come from either side, and sigma keeps the side it came from.
A vertex has one face per body, the one that it enters fastest. An edge between two faces in one plane is no edge of the shape; it makes no
pairs, because what it would do the vertices around it do already, and its pairs with edges across the plane would push along it.

At the end (detection = "discrete", and bodies that start inside each other): a point belongs to the face through which it would come out.
Two edges are a pair if the point nearest to both is inside both, one of them pierces a face of the other, and the normal between them
points out of both bodies (theory/penalty 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.bounds import deepest, travel
from pliant.contact.penalty.depth_integral import Known, gaps
from pliant.contact.penalty.distribution import foot_weights
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.detect.adjacency import Adjacency, edge_sides, flat_edges
from pliant.detect.body_pairs import overlapping, swept_boxes
from pliant.detect.coplanar_times import COPLANAR, Crossings, crossings
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.keys import find
from pliant.detect.penetration import Penetration
from pliant.detect.piercing import pierces_beside
from pliant.detect.shapes import BALL, BOX, asked_points, distances_to_shapes, points_in_shapes, widen_swept_boxes
from pliant.detect.tree import Tree
from pliant.model import Bodies, Rest
from pliant.world.motion import Motion

TOUCHING = 1e-9  # of the size of two edges, or of a face: features nearer than this have no sides, to rounding
DEPTH = 0.1  # of the mean edge: half the depth up to which crossing edges are found; deeper ones are across the body from each other


class Features:
    """Faces and edges of all skins, and a tree over them: `motion.kept(Features)`."""

    def __init__(self, rest: Rest) -> None:
        skin, bodies = rest.skin, rest.bodies
        self.mesh = Adjacency.of(skin.faces, skin.body)
        self.tree = FeatureTree.build(rest.points, skin.faces, bodies.face_start)
        self.edge_body = skin.body[self.mesh.edges[:, 0]]
        self.open = np.zeros(len(bodies), bool)
        self.open[self.edge_body[self.mesh.edge_faces[:, 1] < 0]] = True
        self.exact = (bodies.analytic >= 0) & (bodies.analytic != BOX)


@dataclass
class Found:
    """What a look along the motion has found."""

    records: Records
    since: Floats  # (r,) when each begins, in [0, 1]
    vertex_face: Ints  # (k, 2) vertices and faces that may cross during the motion
    tree: Tree  # over all faces, with boxes that hold them during the motion, if any records are of features


def new_pairs(motion: Motion, features: Features, known: Records) -> Found:
    """Pairs that begin to press during the motion and are not known yet."""
    pairs, low, high = meeting(motion)
    as_ball = balls_meet(motion.bodies, pairs)
    meshes = with_faces(motion.bodies, pairs[~as_ball])
    parts = [_vertex_shape(motion, features, pairs, as_ball, low, high, known)]
    vertex_face = np.zeros((0, 2), np.int64)
    if len(meshes) or (known.kind != VERTEX_SHAPE).any():  # known pairs need the tree, too
        found = features.tree.candidates(motion.start, motion.end, meshes)
        vertex_face = found.vertex_face
        if len(found.vertex_face):
            parts.append(_vertex_face(motion, features, found.vertex_face, known))
        if len(found.edge_edge):
            parts.append(_edge_edge(motion, features, found.edge_edge, known))
    records, since = Records.joined([records for records, _ in parts]), np.concatenate([since for _, since in parts])
    return Found(records, since, vertex_face, features.tree.tree)


def meeting(motion: Motion) -> tuple[Ints, Floats, Floats]:
    """Pairs (m, 2), a <= b, sorted, of bodies that may meet and whose boxes over the step overlap, with itself too; and the boxes."""
    bodies, own = motion.bodies, np.arange(len(motion.bodies))
    low, high = swept_boxes(bodies.point_start[:-1], bodies.point_start[:-1] + bodies.surface, motion.start, motion.end)
    widen_swept_boxes(motion.shapes, motion.position_start, low, high)
    pairs = np.concatenate([overlapping(low, high), np.stack([own, own], axis=1)])
    pairs = pairs[motion.pairs.meet(*pairs.T)]
    return pairs[np.lexsort(pairs.T[::-1])], low, high


def balls_meet(bodies: Bodies, pairs: Ints) -> np.ndarray:
    """Which pairs are of a ball and an exact shape, (m,) bool."""
    kind = bodies.analytic[pairs]
    return (kind == BALL).any(axis=1) & (kind >= 0).all(axis=1)


def with_faces(bodies: Bodies, pairs: Ints) -> Ints:
    """Pairs that have faces; a body with itself only if it can bend."""
    faces = np.diff(bodies.face_start) > 0
    keep = faces[pairs].all(axis=1) & ((pairs[:, 0] != pairs[:, 1]) | (bodies.frame[pairs[:, 0]] < 0))
    return np.ascontiguousarray(pairs[keep])


# -- features along the motion


def _vertex_face(motion: Motion, features: Features, pairs: Ints, known: Records) -> tuple[Records, Floats]:
    skin = motion.skin
    vertex, face = pairs.T
    b = skin.face_body[face]
    keep = ~features.exact[b] & (find(vertex_keys(motion, known), vertex_key(motion, vertex, b)) < 0)
    vertex, face, b = vertex[keep], face[keep], b[keep]
    corners = np.concatenate([vertex[:, None], skin.faces[face]], axis=1)
    found = crossings(motion.start, motion.end, corners, True)
    both = found.inside & ((found.turn == 1) | (features.open[b][:, None] & (found.turn == -1)))
    begun = ~both.any(axis=1) & ~features.open[b]
    begun[begun] = _starts_on(motion, corners[begun], found.cubic[begun])
    rows = np.flatnonzero(both.any(axis=1) | begun)
    if len(rows) == 0:
        return Records.none(), np.zeros(0)
    root, begun = both[rows].argmax(axis=1), begun[rows]
    vertex, face, b, corners = vertex[rows], face[rows], b[rows], corners[rows]
    since = np.where(begun, 0.0, found.roots[rows, root])
    sigma = np.where(begun | (found.turn[rows, root] == 1), 1.0, -1.0)
    speed = _approach(found, rows, since, sigma, motion, corners)
    key = vertex_key(motion, vertex, b)
    order = np.lexsort((face, since, -speed, key))
    first = order[_firsts(key[order])]
    first.sort()
    made = Records.new(VERTEX_FACE, skin.body[vertex], b, vertex, face, corners, found.weights[rows, root], sigma)
    made.weights[begun] = foot_weights(made.select(begun), motion.end)[0]
    return made.select(first), since[first]


def vertex_key(motion: Motion, vertex: Ints, b: Ints) -> Ints:
    return vertex * len(motion.bodies) + b


def vertex_keys(motion: Motion, known: Records) -> Ints:
    """Sorted (vertex, body) pairs that have a record."""
    mine = known.kind != EDGE_EDGE
    return np.sort(vertex_key(motion, known.feature_a[mine], known.b[mine]))


def _approach(found: Crossings, rows: Ints, t: Floats, sigma: Floats, motion: Motion, corners: Ints) -> Floats:
    """How fast each vertex goes through its face at the root [m per step]: -sigma P' / L."""
    p = found.cubic[rows]
    slope = p[:, 1] + t * (2.0 * p[:, 2] + 3.0 * t * p[:, 3])
    x = motion.start[corners] + t[:, None, None] * (motion.end[corners] - motion.start[corners])
    length = np.linalg.norm(np.cross(x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]), axis=1)
    return -sigma * slope / np.where(length > 0.0, length, 1.0)


def _starts_on(motion: Motion, corners: Ints, cubic: Floats) -> np.ndarray:
    """Whether vertices start the step on their face, to rounding, so that P(0) does not tell their side, and end behind it, (m,)."""
    x = motion.start[corners]
    e, f = x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]
    size = np.sqrt(np.maximum(np.einsum("ri,ri->r", e, e), np.einsum("ri,ri->r", f, f)))
    on = np.flatnonzero((np.abs(cubic[:, 0]) <= TOUCHING * size * np.linalg.norm(np.cross(e, f), axis=1)) & (cubic.sum(axis=1) < 0.0))
    out = np.zeros(len(corners), bool)
    rows = Records.new(VERTEX_FACE, *(corners[on, 0],) * 4, corners[on], np.zeros((len(on), 4)), np.ones(len(on)))
    for points in (motion.start, motion.end):
        weights, ok = foot_weights(rows, points)
        out[on] = ok & (weights[:, 1:] <= 0.0).all(axis=1) & (out[on] | (points is motion.start))
    return out


def _edge_edge(motion: Motion, features: Features, pairs: Ints, known: Records) -> tuple[Records, Floats]:
    count, mine, start = len(features.edge_body), known.kind == EDGE_EDGE, motion.start
    keep = find(np.sort(known.feature_a[mine] * count + known.feature_b[mine]), pairs[:, 0] * count + pairs[:, 1]) < 0
    e, g = pairs[keep].T
    corners = features.mesh.edges[pairs[keep]].reshape(-1, 4)
    found = crossings(start, motion.end, corners, False)
    root = np.where(found.flags & COPLANAR, -1, found.first())
    touching = _touching(start, features, e, g, found.cubic)
    rows = np.flatnonzero((root >= 0) | touching)
    if len(rows) == 0:
        return Records.none(), np.zeros(0)
    rows = rows[~flat_edges(start, features.mesh, e[rows]) & ~flat_edges(start, features.mesh, g[rows])]
    rows, on = rows[~touching[rows]], rows[touching[rows]]
    made = _edges(features, e[rows], g[rows], found.weights[rows, root[rows]], found.sigma[rows])
    begun = _begun(motion, features, e[on], g[on], found.cubic[on])
    return Records.joined([made, begun]), np.concatenate([found.roots[rows, root[rows]], np.zeros(len(begun))])


def _edges(features: Features, e: Ints, g: Ints, weights: Floats, sigma: Floats) -> Records:
    edges, body = features.mesh.edges, features.edge_body
    return Records.new(EDGE_EDGE, body[e], body[g], e, g, np.concatenate([edges[e], edges[g]], axis=1), weights, sigma)


def _touching(points: Floats, features: Features, e: Ints, g: Ints, cubic: Floats) -> np.ndarray:
    """Whether two edges of closed bodies start the step on each other, to rounding: P(0) then does not tell their sides."""
    edges, body, out = features.mesh.edges, features.edge_body, np.zeros(len(e), bool)
    length = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
    near = np.flatnonzero(np.abs(cubic[:, 0]) <= TOUCHING * 2.0 * length.max() ** 3)  # few, so that most need no lengths
    e, g = e[near], g[near]
    size = length[e] * length[g] * (length[e] + length[g])
    out[near] = (np.abs(cubic[near, 0]) <= TOUCHING * size) & ~features.open[body[e]] & ~features.open[body[g]]
    return out


def _begun(motion: Motion, features: Features, e: Ints, g: Ints, cubic: Floats) -> Records:
    """Edges that start on each other and end inside both bodies."""
    sigma = edge_sides(motion.start, features.mesh, e, g)
    enters = sigma * cubic.sum(axis=1) < 0.0
    made = _edges(features, e[enters], g[enters], np.zeros((int(enters.sum()), 4)), sigma[enters])
    made.weights, ok = foot_weights(made, motion.end)
    return made.select(ok & (np.abs(made.weights) <= 1.0).all(axis=1))


def _firsts(keys: Ints) -> np.ndarray:
    """Which of sorted keys differ from the one before."""
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    return first


# -- exact shapes


def _vertex_shape(
    motion: Motion, features: Features, pairs: Ints, as_ball: np.ndarray, low: Floats, high: Floats, known: Records
) -> tuple[Records, Floats]:  # fmt: skip
    """Points that end the step inside exact shapes; a record has no time of its own, its gap is linear in time."""
    kind, other = motion.bodies.analytic, pairs[~as_ball & (pairs[:, 0] != pairs[:, 1])]
    balls = pairs[as_ball]
    first = kind[balls[:, 0]] == BALL
    ordered = np.concatenate([np.where(first[:, None], balls, balls[:, ::-1]), other, other[:, ::-1]])
    points = np.arange(len(ordered)) >= len(balls)
    ordered = ordered[~points | features.exact[ordered[:, 1]] & (motion.bodies.surface[ordered[:, 0]] > 0)]
    if len(ordered) == 0:
        return Records.none(), np.zeros(0)
    a, b = np.ascontiguousarray(ordered[:, 0]), np.ascontiguousarray(ordered[:, 1])
    bodies, counts = motion.bodies, np.ones(len(motion.skin), bool)
    asked = asked_points(bodies.point_start, bodies.surface, bodies.anchor, bodies.ball_radius)
    pair, point, _, _ = points_in_shapes(a, b, *asked, bodies.ball_radius, counts, motion.end, low, high, motion.shapes)
    a, b = a[pair], b[pair]
    fresh = find(vertex_keys(motion, known), vertex_key(motion, point, b)) < 0
    return shape_records(motion, point[fresh], a[fresh], b[fresh]), np.zeros(int(fresh.sum()))


def shape_records(motion: Motion, point: Ints, a: Ints, b: Ints) -> Records:
    """Records of points with exact shapes."""
    anchor = motion.bodies.anchor[b]
    corners = np.stack([point, anchor, anchor, anchor], axis=1)
    weights = np.tile([1.0, -1.0, 0.0, 0.0], (len(point), 1))
    return Records.new(VERTEX_SHAPE, a, b, point, np.full(len(point), -1, np.int64), corners, weights, np.ones(len(point)))


def shape_gaps(motion: Motion, records: Records) -> Known:
    """Gaps of the records with exact shapes at both ends of the motion; linear in between, which is exact for a plane."""
    bodies, rows, count = motion.bodies, records.kind == VERTEX_SHAPE, len(records)
    out = Known(rows, np.zeros(count), np.zeros(count), np.zeros((count, 3)))
    point, body, radius = records.feature_a[rows], records.b[rows], bodies.ball_radius[records.a[rows]]
    started = bodies.shapes(motion.position_start, motion.rotation_start)
    out.before[rows] = distances_to_shapes(started, body, motion.start[point])[0] - radius
    after, out.normal[rows] = distances_to_shapes(motion.shapes, body, motion.end[point])
    out.after[rows] = after - radius
    return out


# -- at the end of the step


def at_the_end(motion: Motion, features: Features) -> tuple[Records, Known]:
    """All pairs at the end of the step, with what is known of their gaps."""
    points, known = points_inside(motion)
    edges = edges_crossing(motion, features, points)
    r = len(edges)
    unknown = Known(np.zeros(r, bool), np.zeros(r), np.zeros(r), np.zeros((r, 3)))
    return Records.joined([points, edges]), Known.joined([known, unknown])


def starting_inside(motion: Motion, features: Features, found: Records) -> Records:
    """Pairs of closed bodies that are in each other from the start, beside those found along the motion."""
    inside = points_inside(motion)[0]
    fresh = find(vertex_keys(motion, found), vertex_key(motion, inside.feature_a, inside.b)) < 0
    points = inside.select(fresh & ~features.open[inside.b] & (inside.feature_a < motion.bodies.point_start[-1]))
    edges = edges_crossing(motion, features, Records.joined([inside, found]))
    return Records.joined([points, edges.select(edges.places_in(found) < 0)])


def points_inside(motion: Motion) -> tuple[Records, Known]:
    """Points that end the step inside other bodies, with the face where they would come out, or the exact shape; balls as balls."""
    finder = motion.kept(Penetration)
    hits = finder.find(finder.fit(motion.end, motion.shapes), motion.pairs.meet)
    exact = hits.face < 0
    shapes = shape_records(motion, hits.point[exact], hits.a[exact], hits.b[exact])
    point, face = hits.point[~exact], hits.face[~exact]
    corners = np.concatenate([point[:, None], motion.skin.faces[face]], axis=1)
    weights = np.concatenate([np.ones((len(point), 1)), -hits.weights[~exact]], axis=1)
    faces = Records.new(VERTEX_FACE, hits.a[~exact], hits.b[~exact], point, face, corners, weights, np.ones(len(point)))
    order = np.concatenate([np.flatnonzero(~exact), np.flatnonzero(exact)])
    known = Known(np.ones(len(hits), bool), np.zeros(len(hits)), hits.gap[order], hits.normal[order])
    return Records.joined([faces, shapes]), known


def edges_crossing(motion: Motion, features: Features, inside: Records) -> Records:
    """Pairs of edges, of different bodies, that are through each other at the end of the step; `inside` are the points that are."""
    pairs, _, _ = meeting(motion)
    pairs = with_faces(motion.bodies, pairs[~balls_meet(motion.bodies, pairs)])
    pairs = np.ascontiguousarray(pairs[pairs[:, 0] != pairs[:, 1]])
    if len(pairs) == 0:
        return Records.none()
    points, mesh = motion.end, features.mesh
    # edges that are through each other are apart by their depth: boxes must be wider than that
    margin = DEPTH * float(np.linalg.norm(points[mesh.edges[:, 1]] - points[mesh.edges[:, 0]], axis=1).mean())
    e, g = features.tree.candidates(points, points, pairs, margin).edge_edge.T
    made = _edges(features, e, g, np.zeros((len(e), 4)), edge_sides(points, mesh, e, g))
    made.weights, ok = foot_weights(made, points)
    x = points[made.corners]
    gap = made.sigma * np.einsum("ri,ri->r", np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2]), x[:, 0] - x[:, 2])
    keep = ok & (np.abs(made.weights) <= 1.0).all(axis=1) & (gap < 0.0)
    keep &= ~flat_edges(points, mesh, e) & ~flat_edges(points, mesh, g)
    keep &= pierces_beside(points, mesh, e, g) | pierces_beside(points, mesh, g, e)
    return _shallow(motion, mesh, made.select(keep), inside, 2.0 * margin)


def _shallow(motion: Motion, mesh: Adjacency, edges: Records, inside: Records, limit: float) -> Records:
    """The pairs of edges no deeper than the points of their two bodies, or as they moved; where no point is inside, than `limit` [m].

    Where bodies are flush rounding alone decides which edges pierce which faces, and some are across the whole body from each other.
    """
    depth = -gaps(motion.end, edges, mesh)
    most = deepest(motion, inside, np.nan_to_num(-gaps(motion.end, inside, mesh)), edges)
    return edges.select(depth <= np.where(np.isfinite(most), np.maximum(most, travel(motion, edges)), limit))
