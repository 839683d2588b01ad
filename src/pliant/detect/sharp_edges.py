"""Sharp edges of bodies that cross inside each other: what points in bodies cannot see.

Where two faces lie on each other the corners of their common part are points of the one in the other, and crossings of their rims.
Boxes turned against each other by 45 degrees, or planks laid crosswise, have only crossings.

Two convex edges a + s u and c + t v with n = +-(u x v) / |u x v| touch there if n is a normal of B's edge and -n one of A's: in the polar
cones of the wedges, n . w <= 0 for the directions w from the edge into its faces (Gauss map; Gregorius 2013). Then
    gap = n . (a - c),    s and t where both lines are closest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.body_pairs import overlapping
from pliant.detect.consistent_depth import ways_out
from pliant.detect.keys import find
from pliant.detect.penetration import ACROSS, ALONG, Meet, Surfaces, signed_distances
from pliant.detect.tree import Tree
from pliant.geometry.topology import topology
from pliant.kernels import axpy, contiguous, cross, dot, inline, kernel, load, norm, scale, store, sub

if TYPE_CHECKING:
    from pliant.model import Rest

SHARP = np.cos(np.radians(15.0))  # faces that meet at a smaller angle make no edge to speak of
FINE = 0.05  # of the least width of two bodies: shorter edges of a rigid one, whose rims do not give way, have points enough on them
LEAN = 0.1  # n . w up to which n counts as a normal of the edge: bodies that lie on each other tilt a little
LEANS_ON = 3 * LEAN  # the same for edges that crossed in the last step, or went on from such: one that comes and goes trembles
DEEP = 0.25  # of the least width of both bodies: what is deeper has come in elsewhere
REACH = 0.02  # of the same: how far beyond its ends an edge may cross, if it is as deep; and how deep crossings are at first
COARSE = REACH / LEAN  # FINE of a soft body: ends that give way by REACH turn a shorter edge, and so the normal, by more than LEAN
GROWN = 2.0  # times the depth of two bodies in the last step: crossings may be as deep, else a stack that settles loses and finds them
SLIGHT = 1e-9  # of the same: rounding, what crosses so little beyond an end crosses


@dataclass
class Crossed:
    """Pairs of edges inside each other's bodies."""

    a: Ints  # (e,) body of the first edge
    b: Ints  # (e,) of the second, a < b
    edge: Ints  # (e, 2) their numbers
    points: Ints  # (e, 4) their ends
    place: Floats  # (e, 2) s and t, within [0, 1]
    normal: Floats  # (e, 3) unit, out of B
    gap: Floats  # [m] (e,) negative
    before: Floats  # [m] (e,) at the start of the step
    beyond: Floats  # [m] (e,) how far their lines cross beyond an end; 0 if within both
    lean: Floats  # (e,) largest n . w

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def none() -> Crossed:
        id_, ids, real = np.zeros(0, np.int64), np.zeros((0, 4), np.int64), np.zeros(0)
        return Crossed(id_, id_, ids[:, :2], ids, np.zeros((0, 2)), np.zeros((0, 3)), real, real, real, real)

    def middle(self, points: Floats) -> Floats:
        """Half way between the two edges where they cross [m], (e, 3)."""
        out = np.empty((len(self), 3))
        _middle(self.points, contiguous(self.place), points, out)
        return out

    def select(self, rows: np.ndarray) -> Crossed:
        """Some of them, by mask or index."""
        return Crossed(**{name: values[rows] for name, values in vars(self).items()})


class SharpEdges:
    """Finds crossings; keeps the edges of all bodies."""

    def __init__(self, rest: Rest) -> None:
        skin, bodies, x = rest.skin, rest.bodies, rest.points
        around = topology(skin.faces, len(skin))
        two = np.flatnonzero(around.edge_faces[:, 1] >= 0)
        first, second = skin.faces[around.edge_faces[two]].transpose(1, 0, 2)
        ends = around.edges[two]
        wings = np.stack([_third(first, ends), _third(second, ends)], axis=1)
        self.width = _least_widths(x, bodies.point_start)
        owner, length = skin.body[ends[:, 0]], np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1)
        kept = _convex(x, first, second, wings) & (bodies.ball_radius[owner] == 0.0)
        order = np.argsort(skin.body[ends[kept, 0]], kind="stable")
        self.ends, self.wings = np.ascontiguousarray(ends[kept][order]), np.ascontiguousarray(wings[kept][order])
        self.fits = (length / np.where(bodies.frame[owner] >= 0, FINE, COARSE))[kept][order]  # [m] widths up to which each edge counts
        self.start = np.searchsorted(skin.body[self.ends[:, 0]], np.arange(len(bodies) + 1))
        count = np.diff(self.start)
        self.bodies, self.most = np.flatnonzero(count), int(count.max(initial=0))  # that have any; most of one
        self.longest = np.zeros(len(bodies))
        np.maximum.at(self.longest, skin.body[self.ends[:, 0]], self.fits)
        self.room = 256  # for crossings; grows

    def find(self, start: Floats, end: Floats, low: Floats, high: Floats, meet: Meet, last: Ints | None = None) -> Crossed:
        """All crossings at the end of a step, of points (p, 3) that go from start to end.

        low, high (B, 3): boxes of bodies at the end; last: keys of those that crossed in the last step, sorted.
        """
        a, b = overlapping(low, high).T
        keep = meet(a, b)
        a, b = a[keep], b[keep]
        some = (np.minimum(self.longest[a], self.longest[b]) > np.minimum(self.width[a], self.width[b]))
        a, b = a[some], b[some]
        given = (self.most, a, b, low, high, start, end, self.start, self.ends, self.wings, self.fits, self.width)
        ids, reals = np.empty((self.room, 3), np.int64), np.empty((self.room, 9))
        used = _crossings(*given, ids, reals)
        if used > self.room:
            self.room = 2 * used
            ids, reals = np.empty((self.room, 3), np.int64), np.empty((self.room, 9))
            _crossings(*given, ids, reals)
        ids, reals = ids[:used], reals[:used]
        pair, edge = ids[:, 0], ids[:, 1:]
        points = self.ends[edge].reshape(-1, 4)
        found = Crossed(a[pair], b[pair], edge, points, reals[:, :2], reals[:, 2:5], *reals[:, 5:].T)
        kept = found.lean <= LEAN
        if last is not None and not kept.all():
            kept[~kept] = self._went_on(edge[~kept], last)
        return found.select(kept)

    def _went_on(self, edge: Ints, last: Ints) -> np.ndarray:
        """Pairs of edges (e, 2) that crossed in the last step, or share an end on either side with a pair that did, (e,) bool.

        What slides along a rim crosses the next edge of it. If that had to begin anew, nothing would hold it for a step.
        """
        there = np.unique(self._ends_of(np.stack(np.divmod(last, max(len(self.ends), 1)), axis=1)))
        return find(there, self._ends_of(edge)).max(axis=1) >= 0

    def _ends_of(self, edge: Ints) -> Ints:
        """A number for each end of the one edge with each end of the other, (e, 4)."""
        first, second = self.ends[edge[:, 0]], self.ends[edge[:, 1]]
        return first[:, [0, 0, 1, 1]] * (int(self.ends.max(initial=0)) + 1) + second[:, [0, 1, 0, 1]]

    def key(self, edge: Ints) -> Ints:
        """A number for each pair of edges (e, 2)."""
        return edge[:, 0] * len(self.ends) + edge[:, 1]


def each_place_once(found: Crossed, points: Floats, width: Floats, depth: Floats) -> Crossed:
    """Crossings that have come together in this step, or that are as deep as their bodies were; each place once.

    width (B,): least width of each body; depth [m] (e,): how deep the two bodies of each crossing were in each other in the last step.
    """
    least = np.minimum(width[found.a], width[found.b])
    found.beyond[found.beyond <= SLIGHT * least] = 0.0
    found = found.select(found.before >= -np.maximum(REACH * least, GROWN * depth))
    found = found.select(np.lexsort((found.beyond, found.b, found.a)))
    first = np.ones(len(found), np.bool_)
    _drop_twins(found.a, found.b, found.middle(points), found.normal, found.gap, first)
    return found.select(first)


@dataclass
class Ways:
    """Points in bodies and how they leave: what `leave_with_edges` and `leave_with_others` may change."""

    point: Ints  # (h,)
    a: Ints
    b: Ints
    face: Ints
    weights: Floats  # (h, 3)
    normal: Floats  # (h, 3)
    depth: Floats  # [m] (h,)


def leave_with_edges(surfaces: Surfaces, ways: Ways, edges: Crossed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turn points at rims into the way of the edges that cross there; (points that were turned, points and edges that count), bool each.

    A point in a body leaves by the closest surface. On the rim of a face that is the side beside it: boxes that lie exactly on each other
    would be pushed aside, and fall through. So where edges of two bodies cross, points of theirs that would leave another way by no more
    than the depth of the crossings try the way of the crossings, and take it if it leads out of the same rim.

    Of a point and a crossing next to it that push the same way one is enough: the crossing, because the point comes and goes with
    rounding where rims lie on each other; the point, if the edges cross only beyond their ends.
    """
    turned, wanted, crossing = np.zeros(len(ways.point), bool), np.ones(len(ways.point), np.bool_), np.ones(len(edges), np.bool_)
    if len(edges) and len(ways.point):
        count = len(surfaces.shapes.kind)
        pair = edges.a * count + edges.b  # in order, as they are found
        mine = np.minimum(ways.a, ways.b) * count + np.maximum(ways.a, ways.b)
        first, last = np.searchsorted(pair, mine), np.searchsorted(pair, mine, side="right")
        turned = _turn(surfaces, ways, edges, first, last)
        at = surfaces.points[ways.point] + 0.5 * ways.depth[:, None] * ways.normal
        place = edges.middle(surfaces.points)
        _drop_doubles(
            first, last, ways.a, at, ways.normal, edges.a, place, edges.normal, edges.gap, edges.beyond, wanted, crossing
        )  # fmt: skip
    return turned, wanted, crossing


def _turn(surfaces: Surfaces, ways: Ways, edges: Crossed, first: Ints, last: Ints) -> np.ndarray:
    way, deepest = np.zeros((len(first), 3)), np.zeros(len(first))
    _mean_ways(first, last, ways.a, edges.a, edges.normal, edges.gap, way, deepest)
    aside = (np.einsum("hi,hi->h", way, ways.normal) < ACROSS) & (ways.depth <= deepest)
    rows = np.flatnonzero(aside)
    step = 2.0 * deepest[rows, None]
    face, weights, normal, gap = signed_distances(surfaces, surfaces.points[ways.point[rows]] + step * way[rows], ways.b[rows])
    depth = step[:, 0] - gap
    out = (gap > 0.0) & (depth > 0.0) & (np.einsum("hi,hi->h", way[rows], normal) > ALONG)
    rows = rows[out]
    ways.face[rows], ways.normal[rows], ways.depth[rows] = face[out], normal[out], depth[out]
    ways.weights[rows] = np.where(face[out, None] < 0, [1.0, 0.0, 0.0], weights[out])
    turned = np.zeros(len(first), bool)
    turned[rows] = True
    return turned


def leave_with_others(surfaces: Surfaces, tree: Tree, ways: Ways) -> None:
    """Turn points at rims that no edge crosses into the way of the other points of their two bodies.

    A face within the face that it lies on has a rim that crosses none, and its points still leave by the side if that is nearer than they
    are deep: a soft body bulges by more than it sinks in, and their load came and went with it. The way of two bodies is the mean of the
    normals of their points, by depth. A point that leaves across it by no more than others are deep along it tries it, and takes it if it
    leads out through a face that looks along it, at 1 / ACROSS times the depth of the others at most.
    """
    if not (ways.face >= 0).any():  # exact shapes know their sides
        return
    count = len(surfaces.shapes.kind)
    _, place = np.unique(np.minimum(ways.a, ways.b) * count + np.maximum(ways.a, ways.b), return_inverse=True)
    sense = np.where(ways.a > ways.b, 1.0, -1.0)[:, None]
    mean = np.zeros((int(place.max()) + 1, 3))
    np.add.at(mean, place, sense * ways.depth[:, None] * ways.normal)
    mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-300)[:, None]
    way = sense * mean[place]
    along = np.einsum("hi,hi->h", way, ways.normal)
    deepest = np.zeros(len(mean))
    np.maximum.at(deepest, place, np.where(along > ALONG, ways.depth, 0.0))
    rows = np.flatnonzero((along < ACROSS) & (ways.depth <= deepest[place]) & (ways.face >= 0))
    if len(rows) == 0:
        return
    point, body = ways.point[rows], ways.b[rows]
    face, weights, ray = ways_out(surfaces.points, point, body, way[rows], tree, surfaces.mesh.faces, np.zeros(len(rows), np.bool_))
    normal = surfaces.mesh.face_normal[face]
    along = np.einsum("hi,hi->h", way[rows], normal)
    out = (face >= 0) & (along > ALONG) & (ACROSS * ray <= deepest[place[rows]])
    rows = rows[out]
    ways.face[rows], ways.weights[rows], ways.normal[rows], ways.depth[rows] = face[out], weights[out], normal[out], (ray * along)[out]


def _third(faces: Ints, ends: Ints) -> Ints:
    """The corner of each face that is not an end of the edge."""
    return faces.sum(axis=1) - ends.sum(axis=1)


def _convex(x: Floats, first: Ints, second: Ints, wings: Ints) -> np.ndarray:
    """Edges between faces (e, 3) that bend outwards, sharply; (e,) bool."""
    n, m = (np.cross(x[f[:, 1]] - x[f[:, 0]], x[f[:, 2]] - x[f[:, 0]]) for f in (first, second))
    size = np.maximum(np.linalg.norm(n, axis=1) * np.linalg.norm(m, axis=1), 1e-300)
    outwards = np.einsum("ei,ei->e", n, x[wings[:, 1]] - x[wings[:, 0]]) < 0.0
    return outwards & (np.einsum("ei,ei->e", n, m) < SHARP * size)


def _least_widths(x: Floats, start: Ints) -> Floats:
    """Least width of each body along its principal axes [m], (B,)."""
    out = np.zeros(len(start) - 1)
    for body in range(len(out)):
        p = x[start[body] : start[body + 1]]
        if len(p):
            axes = np.linalg.eigh(np.cov((p - p.mean(axis=0)).T))[1] if len(p) > 1 else np.eye(3)
            out[body] = np.ptp(p @ axes, axis=0).min()
    return out


@inline
def _box(x, ends, e, out):  # type: ignore[no-untyped-def]
    """Lowest and highest coordinates of edge e."""
    for k in range(3):
        p, q = x[ends[e, 0], k], x[ends[e, 1], k]
        out[k], out[k + 3] = min(p, q), max(p, q)


@inline
def _near(box, low, high, i, j, reach):  # type: ignore[no-untyped-def]
    """Whether an edge comes near the common part of boxes i and j."""
    for k in range(3):
        if box[k + 3] < max(low[i, k], low[j, k]) - reach or box[k] > min(high[i, k], high[j, k]) + reach:
            return False
    return True


@inline
def _apart(box, other, deep):  # type: ignore[no-untyped-def]
    """Whether the boxes of two edges are farther apart than they may be deep: most are."""
    for k in range(3):
        if box[k + 3] < other[k] - deep or box[k] > other[k + 3] + deep:
            return True
    return False


@inline
def _lean(n, u, a, p, q):  # type: ignore[no-untyped-def]
    """Largest n . w of the edge from a along u whose faces go on to p and q: not above 0 if n is a normal of it."""
    most = -1.0
    for k in range(2):
        w = sub(p if k == 0 else q, a)
        w = axpy(-dot(w, u) / dot(u, u), u, w)
        size = norm(w)
        most = max(most, dot(n, w) / size if size > 0.0 else 0.0)
    return most


@inline
def _cross(x, ends, wings, e, f, deep, reach):  # type: ignore[no-untyped-def]
    """(whether edges e and f cross, s, t, normal, gap, how far beyond an end, lean)."""
    a, c = load(x, ends[e, 0]), load(x, ends[f, 0])
    u, v, r = sub(load(x, ends[e, 1]), a), sub(load(x, ends[f, 1]), c), sub(a, c)
    n = cross(u, v)
    nn, uu, vv = dot(n, n), dot(u, u), dot(v, v)
    if nn <= REACH * REACH * uu * vv:  # over the width of a body they part by less than REACH of it: other edges cross better
        return False, 0.0, 0.0, n, 0.0, 0.0, 0.0
    s, t = -dot(n, cross(r, v)) / nn, -dot(n, cross(r, u)) / nn
    n = scale(1.0 / np.sqrt(nn), n)
    gap = dot(n, r)
    if gap > 0.0:  # the other way round they are inside each other
        n, gap = scale(-1.0, n), -gap
    beyond = max(max(-s, s - 1.0) * np.sqrt(uu), max(-t, t - 1.0) * np.sqrt(vv))
    if -gap > deep or beyond > min(-gap, reach):
        return False, s, t, n, gap, beyond, 0.0
    lean = _lean(n, v, c, load(x, wings[f, 0]), load(x, wings[f, 1]))
    if lean <= LEANS_ON:
        lean = max(lean, _lean(scale(-1.0, n), u, a, load(x, wings[e, 0]), load(x, wings[e, 1])))
    return lean <= LEANS_ON, min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0), n, gap, max(beyond, 0.0), lean


@kernel
def _crossings(most, a, b, low, high, begin, x, start, ends, wings, fits, width, ids, reals):  # type: ignore[no-untyped-def]
    """Crossings of all pairs of bodies, written as long as there is room; how many there are."""
    used, some, boxes, box = 0, np.empty(most, np.int64), np.empty((most, 6)), np.empty(6)
    for k in range(len(a)):
        i, j = a[k], b[k]
        least, count = min(width[i], width[j]), 0
        for f in range(start[j], start[j + 1]):
            if fits[f] > least:
                some[count] = f
                _box(x, ends, f, boxes[count])
                count += _near(boxes[count], low, high, i, j, REACH * least)
        for e in range(start[i], start[i + 1]):
            if count == 0 or fits[e] <= least:
                continue
            _box(x, ends, e, box)
            if not _near(box, low, high, i, j, REACH * least):
                continue
            for m in range(count):
                f = some[m]
                if _apart(box, boxes[m], DEEP * least):
                    continue
                yes, s, t, n, gap, beyond, lean = _cross(x, ends, wings, e, f, DEEP * least, REACH * least)
                if not yes:
                    continue
                if used < len(ids):
                    ids[used, 0], ids[used, 1], ids[used, 2] = k, e, f
                    reals[used, 0], reals[used, 1] = s, t
                    reals[used, 2], reals[used, 3], reals[used, 4] = n
                    reals[used, 5], reals[used, 7], reals[used, 8] = gap, beyond, lean
                    p, q = load(begin, ends[e, 0]), load(begin, ends[f, 0])
                    u, v = sub(load(begin, ends[e, 1]), p), sub(load(begin, ends[f, 1]), q)
                    reals[used, 6] = dot(n, sub(axpy(s, u, p), axpy(t, v, q)))
                used += 1
    return used


@kernel
def _middle(ends, place, x, out):  # type: ignore[no-untyped-def]
    for e in range(len(ends)):
        s, t = place[e, 0], place[e, 1]
        for k in range(3):
            first = (1.0 - s) * x[ends[e, 0], k] + s * x[ends[e, 1], k]
            out[e, k] = 0.5 * (first + ((1.0 - t) * x[ends[e, 2], k] + t * x[ends[e, 3], k]))


@kernel
def _drop_twins(a, b, at, normal, gap, first):  # type: ignore[no-untyped-def]
    """Of crossings of two bodies that are no farther apart than twice their depth, and push alike, only the first counts."""
    for e in range(len(a)):
        f = e - 1
        while f >= 0 and a[f] == a[e] and b[f] == b[e] and first[e]:
            near = norm(sub(load(at, e), load(at, f))) <= -2.0 * min(gap[e], gap[f])
            if first[f] and near and dot(load(normal, e), load(normal, f)) > ALONG:
                first[e] = False
            f -= 1


@kernel
def _drop_doubles(start, stop, a, at, normal, edge_a, edge_at, edge_normal, gap, beyond, wanted, crossing):  # type: ignore[no-untyped-def]
    """Of a point and a crossing that are no farther apart than twice its depth, and push alike, one is dropped."""
    for h in range(len(start)):
        for e in range(start[h], stop[h]):
            side = 1.0 if a[h] == edge_a[e] else -1.0
            near = norm(sub(load(at, h), load(edge_at, e))) <= -2.0 * gap[e]
            if near and side * dot(load(normal, h), load(edge_normal, e)) > ALONG:
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
        if length > ALONG * (stop[h] - start[h]):
            store(way, h, scale(1.0 / length, u))
        else:
            deepest[h] = -1.0
