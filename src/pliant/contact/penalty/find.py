"""Which features begin to press into each other during a step: new records for the enduring set.

Vertices with faces and edges with edges by continuous detection on straight paths (8.2 of the methods page): a pair is new at the first
root at which it enters inside its features. Exact shapes (plane, ball, capsule, cylinder, torus) are met by points through
their signed distance; a box is met through its faces, which are exact, and a ball meets exact shapes as a ball.

An open surface (a cloth) has no inside: there a vertex may come from either side, and sigma keeps the side it came from.
A vertex has one face per body, the one that it enters fastest. An edge between two faces in one plane is no edge of the shape; it makes no
pairs, because what it would do the vertices around it do already, and its pairs with edges across the plane would push along it.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.impulses import foot_weights
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.contact.penalty.shapes import meeting, points_in_shapes, swept_bodies
from pliant.detect.coplanar_times import COPLANAR, Crossings, crossings
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.shapes import BALL, BOX
from pliant.geometry.topology import topology
from pliant.world.motion import Motion

TOUCHING = 1e-9  # of the size of two edges, or of a face: features nearer than this have no sides
FLAT_EDGE = 1e-12  # 1 - cosine of the angle between the faces of an edge that counts as flat


class Finder:
    """Finds new pairs of features; keeps what does not change between steps (`motion.kept(Finder)`)."""

    def __init__(self, motion: Motion) -> None:
        skin, bodies = motion.skin, motion.bodies
        self.faces = skin.faces
        self.tree = FeatureTree.build(motion.start, skin.faces, bodies.face_start, motion.end)
        self.edges = self.tree.edges.corners
        self.edge_body = skin.body[self.edges[:, 0]] if len(self.edges) else np.zeros(0, np.int64)
        self.edge_faces = _faces_of(self.edges, skin.faces, len(skin))
        self.open = np.zeros(len(bodies), bool)
        self.open[self.edge_body[(self.edge_faces < 0).any(axis=1)]] = True
        self.exact = (bodies.analytic >= 0) & (bodies.analytic != BOX)
        self.vertex_face: Ints = np.zeros((0, 2), np.int64)  # pairs that may have met in the last motion looked at

    def new(self, motion: Motion, known: Records) -> tuple[Records, Floats]:
        """Pairs that begin to press during the motion and are not known yet, and when, in [0, 1]."""
        pairs = meeting(motion, *swept_bodies(motion))
        as_ball = self.balls_meet(motion, pairs)
        meshes = self.meshes(motion, pairs[~as_ball])
        parts = [self._vertex_shape(motion, pairs, as_ball, known)]
        self.vertex_face = np.zeros((0, 2), np.int64)
        if len(meshes) or (known.kind == EDGE_EDGE).any():  # the end of the step asks the tree about known edges
            found = self.tree.candidates(motion.start, motion.end, meshes)
            self.vertex_face = found.vertex_face
            if len(found.vertex_face):
                parts.append(self._vertex_face(motion, found.vertex_face, known))
            if len(found.edge_edge):
                parts.append(self._edge_edge(motion, found.edge_edge, known))
        return Records.joined([records for records, _ in parts]), np.concatenate([since for _, since in parts])

    def balls_meet(self, motion: Motion, pairs: Ints) -> np.ndarray:
        """Which pairs are of a ball and an exact shape, (m,) bool."""
        kind = motion.bodies.analytic[pairs]
        return (kind == BALL).any(axis=1) & (kind >= 0).all(axis=1)

    def meshes(self, motion: Motion, pairs: Ints) -> Ints:
        """Pairs that have faces; a body with itself only if it can bend."""
        faces = np.diff(motion.bodies.face_start) > 0
        keep = faces[pairs].all(axis=1) & ((pairs[:, 0] != pairs[:, 1]) | (motion.bodies.frame[pairs[:, 0]] < 0))
        return np.ascontiguousarray(pairs[keep])

    # -- features

    def _vertex_face(self, motion: Motion, pairs: Ints, known: Records) -> tuple[Records, Floats]:
        skin = motion.skin
        vertex, face = pairs.T
        b = skin.face_body[face]
        keep = ~self.exact[b] & ~_among(self.vertex_key(motion, vertex, b), self.vertex_keys(motion, known))
        vertex, face, b = vertex[keep], face[keep], b[keep]
        corners = np.concatenate([vertex[:, None], self.faces[face]], axis=1)
        found = crossings(motion.start, motion.end, corners, True)
        both = found.inside & ((found.turn == 1) | (self.open[b][:, None] & (found.turn == -1)))
        begun = ~both.any(axis=1) & ~self.open[b]
        begun[begun] = _starts_on(motion, corners[begun], found.cubic[begun])
        rows = np.flatnonzero(both.any(axis=1) | begun)
        if len(rows) == 0:
            return Records.none(), np.zeros(0)
        root, begun = both[rows].argmax(axis=1), begun[rows]
        vertex, face, b, corners = vertex[rows], face[rows], b[rows], corners[rows]
        since = np.where(begun, 0.0, found.roots[rows, root])
        sigma = np.where(begun | (found.turn[rows, root] == 1), 1.0, -1.0)
        speed = _approach(found, rows, since, sigma, motion, corners)
        order = np.lexsort((face, since, -speed, self.vertex_key(motion, vertex, b)))
        first = order[_firsts(self.vertex_key(motion, vertex, b)[order])]
        first.sort()
        made = make(VERTEX_FACE, skin.body[vertex], b, vertex, face, corners, found.weights[rows, root], sigma)
        made.weights[begun] = foot_weights(made.select(begun), motion.end)[0]
        return made.select(first), since[first]

    def vertex_key(self, motion: Motion, vertex: Ints, b: Ints) -> Ints:
        return vertex * len(motion.bodies) + b

    def vertex_keys(self, motion: Motion, known: Records) -> Ints:
        """Sorted (vertex, body) pairs that have a record."""
        mine = known.kind != EDGE_EDGE
        return np.sort(self.vertex_key(motion, known.feature_a[mine], known.b[mine]))

    def _edge_edge(self, motion: Motion, pairs: Ints, known: Records) -> tuple[Records, Floats]:
        mine = known.kind == EDGE_EDGE
        e, g = pairs.T
        key = e * len(self.edges) + g
        keep = ~_among(key, np.sort(known.feature_a[mine] * len(self.edges) + known.feature_b[mine]))
        e, g = e[keep], g[keep]
        corners = np.concatenate([self.edges[e], self.edges[g]], axis=1)
        found = crossings(motion.start, motion.end, corners, False)
        root = np.where(found.flags & COPLANAR, -1, found.first())
        touching = self._touching(motion.start, e, g, found.cubic)
        rows = np.flatnonzero((root >= 0) & ~touching)
        if len(rows) == 0 and not touching.any():
            return Records.none(), np.zeros(0)
        rows = rows[~self.flat(motion.start, e[rows]) & ~self.flat(motion.start, g[rows])]
        made = self._edges(rows, e, g, corners, found.weights[rows, root[rows]], found.sigma[rows])
        begun = self._begun(motion, np.flatnonzero(touching), e, g, corners, found.cubic)
        return Records.joined([made, begun]), np.concatenate([found.roots[rows, root[rows]], np.zeros(len(begun))])

    def _edges(self, rows: Ints, e: Ints, g: Ints, corners: Ints, weights: Floats, sigma: Floats) -> Records:
        e, g = e[rows], g[rows]
        return make(EDGE_EDGE, self.edge_body[e], self.edge_body[g], e, g, corners[rows], weights, sigma)

    def _touching(self, points: Floats, e: Ints, g: Ints, cubic: Floats) -> np.ndarray:
        """Whether two edges of closed bodies start the step on each other, to rounding: P(0) then does not tell their sides."""
        length = np.linalg.norm(points[self.edges[:, 1]] - points[self.edges[:, 0]], axis=1)
        size = length[e] * length[g] * (length[e] + length[g])
        return (np.abs(cubic[:, 0]) <= TOUCHING * size) & ~self.open[self.edge_body[e]] & ~self.open[self.edge_body[g]]

    def _begun(self, motion: Motion, rows: Ints, e: Ints, g: Ints, corners: Ints, cubic: Floats) -> Records:
        """Edges that start on each other and end inside both bodies."""
        rows = rows[~self.flat(motion.start, e[rows]) & ~self.flat(motion.start, g[rows])]
        sigma = self.side(motion.start, e[rows], g[rows], corners[rows])
        enters = sigma * cubic[rows].sum(axis=1) < 0.0
        made = self._edges(rows[enters], e, g, corners, np.zeros((int(enters.sum()), 4)), sigma[enters])
        made.weights, ok = foot_weights(made, motion.end)
        return made.select(ok & (np.abs(made.weights) <= 1.0).all(axis=1))

    def side(self, points: Floats, e: Ints, g: Ints, corners: Ints) -> Floats:
        """1 or -1: which of the normals between two edges points out of the second body and into the first; 0 if none does."""
        x = points[corners]
        normal = np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
        first, second = (np.einsum("ri,ri->r", normal, self.outward(points, edge)) for edge in (e, g))
        return np.where(first * second < 0.0, np.sign(second), 0.0)

    def outward(self, points: Floats, edge: Ints) -> Floats:
        """Sum of the normals of the faces of each edge."""
        faces = self.edge_faces[edge]
        n = [np.where(f[:, None] >= 0, face_normals(points, self.faces[np.maximum(f, 0)]), 0.0) for f in faces.T]
        return n[0] + n[1]

    def flat(self, points: Floats, edge: Ints) -> np.ndarray:
        """Whether both faces of each edge lie in one plane."""
        faces = self.edge_faces[edge]
        n = [face_normals(points, self.faces[np.maximum(f, 0)]) for f in faces.T]
        return (faces[:, 1] >= 0) & (np.einsum("ri,ri->r", *n) > 1.0 - FLAT_EDGE)

    # -- exact shapes

    def _vertex_shape(self, motion: Motion, pairs: Ints, as_ball: np.ndarray, known: Records) -> tuple[Records, Floats]:
        """Points that end the step inside exact shapes; a record has no time of its own, its gap is linear in time."""
        kind, other = motion.bodies.analytic, pairs[~as_ball & (pairs[:, 0] != pairs[:, 1])]
        balls = pairs[as_ball]
        first = kind[balls[:, 0]] == BALL
        ordered = np.concatenate([np.where(first[:, None], balls, balls[:, ::-1]), other, other[:, ::-1]])
        points = np.arange(len(ordered)) >= len(balls)
        ordered = ordered[~points | self.exact[ordered[:, 1]] & (motion.bodies.surface[ordered[:, 0]] > 0)]
        if len(ordered) == 0:
            return Records.none(), np.zeros(0)
        a, b = np.ascontiguousarray(ordered[:, 0]), np.ascontiguousarray(ordered[:, 1])
        pair, point = points_in_shapes(motion, a, b)
        a, b = a[pair], b[pair]
        fresh = ~_among(self.vertex_key(motion, point, b), self.vertex_keys(motion, known))
        return shape_records(motion, point[fresh], a[fresh], b[fresh]), np.zeros(int(fresh.sum()))


def make(kind: int, a: Ints, b: Ints, feature_a: Ints, feature_b: Ints, corners: Ints, weights: Floats, sigma: Floats) -> Records:
    """New records: regular, active, without a past."""
    r = len(a)
    return Records(
        np.full(r, kind), a, b, feature_a, feature_b, corners, weights, sigma, np.zeros(r, bool), np.ones(r, bool), np.zeros(r),
        np.zeros((r, 3)), np.full(r, -1, np.int64), np.zeros(r, np.int64),
    )  # fmt: skip


def shape_records(motion: Motion, point: Ints, a: Ints, b: Ints) -> Records:
    """Records of points with exact shapes."""
    anchor = motion.bodies.anchor[b]
    corners = np.stack([point, anchor, anchor, anchor], axis=1)
    weights = np.tile([1.0, -1.0, 0.0, 0.0], (len(point), 1))
    return make(VERTEX_SHAPE, a, b, point, np.full(len(point), -1, np.int64), corners, weights, np.ones(len(point)))


def _faces_of(edges: Ints, faces: Ints, count: int) -> Ints:
    """The two faces of each edge, -1 for none, (e, 2)."""
    if len(edges) == 0:
        return np.zeros((0, 2), np.int64)
    known = topology(faces, count, strict=False)
    key = known.edges[:, 0] * count + known.edges[:, 1]
    return known.edge_faces[np.searchsorted(key, edges[:, 0] * count + edges[:, 1])]


def face_normals(points: Floats, corners: Ints) -> Floats:
    """Unit normals of faces, (m, 3)."""
    a, b, c = (points[corners[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    length = np.linalg.norm(n, axis=1, keepdims=True)
    return n / np.where(length > 0.0, length, 1.0)


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
    rows = make(VERTEX_FACE, *(corners[on, 0],) * 4, corners[on], np.zeros((len(on), 4)), np.ones(len(on)))
    for points in (motion.start, motion.end):
        weights, ok = foot_weights(rows, points)
        out[on] = ok & (weights[:, 1:] <= 0.0).all(axis=1) & (out[on] | (points is motion.start))
    return out


def _among(keys: Ints, known: Ints) -> np.ndarray:
    """Which keys are in a sorted list."""
    if len(known) == 0:
        return np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return known[at] == keys


def _firsts(keys: Ints) -> np.ndarray:
    """Which of sorted keys differ from the one before."""
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    return first
