"""Bodies deep in each other, by points in bodies (theory/patch 3.6): how deep they are, and which way is out of all of it at once.

Far in, the closest surface is no guide: beside it points would leave sideways, behind the middle on the far side. What the bodies share of
their volume V falls fastest along its gradient, which is the surface that each has in the other,

    d = -sum_A a_i + sum_B a_j      (side A's way out; a: area vectors of the points that are in the other body),

one direction for the pair, continuous as they move. Rows lie along it: a point of the one, and the place where it comes out of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.body_pairs import points_in_boxes
from pliant.detect.closest import face_neighbours
from pliant.detect.lines import crossing
from pliant.detect.patches import Patches, empty, select
from pliant.detect.penetration import Mesh, Surfaces, body_boxes, signed_distances, with_normals
from pliant.detect.shapes import NO_SHAPE, Shapes
from pliant.detect.tree import Tree, put_off
from pliant.geometry.normals import face_crosses
from pliant.kernels import cross, dot, inline, kernel, load, sub

if TYPE_CHECKING:
    from pliant.model import Bodies, Rest

SLIGHT = 1e-9  # of the area: what is left of sums that cancel is rounding
ROUNDED = 1e-12  # of a way along a line: by less it does not miss a box
STACK = 256  # nodes that a walk puts off: the depth of a tree times its arity is less


class Corners:
    """A face at each point (`motion.kept(Corners)`): points of rows are corners of faces."""

    def __init__(self, rest: Rest) -> None:
        faces = rest.skin.faces
        self.neighbour = face_neighbours(faces)
        self.face, self.corner = np.full(len(rest.points), -1, np.int64), np.zeros(len(rest.points), np.int64)
        self.face[faces.ravel()] = np.repeat(np.arange(len(faces)), 3)
        self.corner[faces.ravel()] = np.tile(np.arange(3), len(faces))


class Inside(NamedTuple):
    """Points of one body in another."""

    point: Ints  # (h,)
    pair: Ints  # (h,) which pair of bodies
    first: np.ndarray  # (h,) bool: a point of the pair's first body
    depth: Floats  # [m] (h,) to the closest surface
    normal: Floats  # (h, 3) of the other body there


def inside(
    tree: Tree, corners: Corners, bodies: Bodies, points: Floats, faces: Ints, shapes: Shapes, a: Ints, b: Ints, doubt: Floats
) -> Inside:
    """Points of bodies a in bodies b and the other way round, pairs (k,); `tree` fits the points.

    The closest face tells the inside of a surface that does not cut itself; skins that fold do. Points that are deeper than doubt [m] (k,)
    must be inside by what is around them too.
    """
    low, high = body_boxes(tree, shapes)
    mine, other, pair = np.append(a, b), np.append(b, a), np.tile(np.arange(len(a)), 2)
    first = bodies.point_start[mine]
    row, point = points_in_boxes(first, first + bodies.surface[mine], other, np.zeros(len(mine)), points, low, high)
    asked = shapes.kind[other[row]] == NO_SHAPE
    if asked.any():
        surfaces = with_normals(points, faces, corners.neighbour, tree, shapes)
    else:  # nobody asks for normals of triangles
        none = np.zeros((0, 3))
        surfaces = Surfaces(Mesh(points, faces, corners.neighbour, none, none), tree.nodes, shapes)
    found = signed_distances(surfaces, points[point], other[row])
    deep = np.flatnonzero(found.gap < 0.0)
    doubtful = np.flatnonzero((-found.gap[deep] > doubt[pair[row[deep]]]) & asked[deep])
    if len(doubtful):
        which = deep[doubtful]
        deep = np.delete(deep, doubtful[windings(tree, points, faces, points[point[which]], other[row[which]]) < 1])
    return Inside(point[deep], pair[row[deep]], row[deep] < len(a), -found.gap[deep], found.normal[deep])


def ways_out(bodies: Bodies, points: Floats, faces: Ints, found: Inside, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    """Unit directions in which bodies a leave bodies b, (k, 3), and area vectors of the points found [m^2].

    Where the gradient vanishes, as with one body wholly inside the other, they leave the way that their middles are apart, or the mean way
    to the surface of what has no points, as a plane has no middle; if there is none, any way is as good.
    """
    area, count = area_vectors(points, faces, found.point), len(a)
    sign = np.where(found.first, -1.0, 1.0)[:, None]
    total = np.stack([np.bincount(found.pair, (sign * area)[:, i], count) for i in range(3)], axis=1)
    size = np.bincount(found.pair, np.linalg.norm(area, axis=1), count)
    lost = np.linalg.norm(total, axis=1) <= SLIGHT * size
    total[lost] = _ways_apart(bodies, points, found, lost, a, b)[lost]
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.maximum(length, 1e-300), [0.0, 0.0, 1.0]), area


def area_vectors(points: Floats, faces: Ints, point: Ints) -> Floats:
    """A third of the area vectors of the faces around each of some points [m^2], (h, 3)."""
    some = np.zeros(len(points), bool)
    some[point] = True
    touched = np.flatnonzero(some[faces].any(axis=1))
    vectors, third = np.zeros((len(points), 3)), face_crosses(points, faces[touched]) / 6.0
    for k in range(3):
        np.add.at(vectors, faces[touched, k], third)
    return np.asarray(vectors[point])


def _ways_apart(bodies: Bodies, points: Floats, found: Inside, lost: Bools, a: Ints, b: Ints) -> Floats:
    """From the middles of bodies b to those of a, (k, 3), of pairs that are lost (k,); where one has no points, out of it, in the mean."""
    sign, out = np.where(found.first, 1.0, -1.0)[:, None], np.zeros((len(a), 3))
    np.add.at(out, found.pair, sign * found.normal)
    both = lost & (bodies.surface[a] > 0) & (bodies.surface[b] > 0)
    out[both] = _middles(bodies, points, a[both]) - _middles(bodies, points, b[both])
    return out


def _middles(bodies: Bodies, points: Floats, body: Ints) -> Floats:
    """Mean of the surface points of each body, (k, 3)."""
    return np.array([points[bodies.point_start[b] : bodies.point_start[b] + bodies.surface[b]].mean(axis=0) for b in body]).reshape(-1, 3)


def rows_along(
    tree: Tree, corners: Corners, bodies: Bodies, points: Floats, faces: Ints, found: Inside, way: Floats, area: Floats, a: Ints, b: Ints
) -> Patches:
    """Rows along the ways out (k, 3) of the pairs, one for each point found that faces its way in; numbered as the pairs are.

    `tree` fits the points.
    """
    d = way[found.pair] * np.where(found.first, 1.0, -1.0)[:, None]
    ahead = -np.einsum("hi,hi->h", area, d)
    keep = np.flatnonzero((ahead > 0.0) & (corners.face[found.point] >= 0))
    point, pair, first, d, ahead = found.point[keep], found.pair[keep], found.first[keep], d[keep], ahead[keep]
    other = np.where(first, b[pair], a[pair])
    out = empty(len(keep))
    face, weights, depth = exits(tree, points, faces, points[point], d, other)
    own = np.zeros((len(keep), 3))
    own[np.arange(len(keep)), corners.corner[point]] = 1.0
    mine = corners.face[point]
    out.slave[:], out.master[:], out.pair[:] = np.where(first, mine, face), np.where(first, face, mine), pair
    out.weights[:], out.others[:] = np.where(first[:, None], own, weights), np.where(first[:, None], weights, own)
    out.normal[:], out.gap[:], out.area[:] = -way[pair], -depth, ahead * _counted_once(pair, first, ahead, len(a))[pair]
    out.at[:] = points[point] + 0.5 * depth[:, None] * d
    return select(out, face >= 0)


def _counted_once(pair: Ints, first: np.ndarray, area: Floats, count: int) -> Floats:
    """What both sides' areas are to be multiplied with so that they make up the larger of the two, (k,)."""
    one, two = np.bincount(pair, area * first, count), np.bincount(pair, area * ~first, count)
    return np.maximum(one, two) / np.maximum(one + two, 1e-300)


def crossed(
    tree: Tree, bodies: Bodies, half: Floats, shapes: Shapes, points: Floats, faces: Ints, found: Inside, a: Ints, b: Ints
) -> Floats:
    """What share of each other's thickness the bodies of the pairs have come through, (k,); `tree` fits the points.

    It is the mean over points that face the way in, by the volume behind them, of the body of which it is more. half [m] (B,): of exact
    shapes. The thickness of others lies along two lines through each point, and the smaller share counts: along the closest surface's
    normal a point in a spike is always near the middle, along the way out of all of it one on the side of a hollow.
    """
    way, own = ways_out(bodies, points, faces, found, a, b)
    body = np.where(found.first, b[found.pair], a[found.pair])
    meshed = shapes.kind[body] == NO_SHAPE
    share = np.where(meshed, 1.0, 0.5 * found.depth / half[body])
    out = np.where(found.first, 1.0, -1.0)[:, None] * way[found.pair]
    for line in (found.normal, out):
        ahead, behind = (exits(tree, points, faces, points[found.point], sign * line, body)[2] for sign in (1.0, -1.0))
        known = np.isfinite(ahead + behind) & (ahead + behind > 0.0) & meshed
        share[known] = np.minimum(share[known], ahead[known] / (ahead + behind)[known])
    volume, side = np.maximum(-np.einsum("hi,hi->h", own, out), 0.0) * found.depth, 2 * found.pair + found.first
    mean = np.bincount(side, share * volume, 2 * len(a)) / np.maximum(np.bincount(side, volume, 2 * len(a)), 1e-300)
    return np.asarray(mean.reshape(-1, 2).max(axis=1, initial=0.0))


def exits(tree: Tree, points: Floats, faces: Ints, places: Floats, way: Floats, body: Ints) -> tuple[Ints, Floats, Floats]:
    """Where each place comes out of a body along its way: face (-1: nowhere), weights of its corners and how far it is [m]."""
    count = len(places)
    face, weights, depth = np.empty(count, np.int64), np.zeros((count, 3)), np.empty(count)
    _exits(tree.nodes, points, faces, places, way, body, face, weights, depth)
    return face, weights, depth


def windings(tree: Tree, points: Floats, faces: Ints, places: Floats, body: Ints) -> Ints:
    """How often a body's surface winds around each place: how often more a line from there leaves it than it enters."""
    out = np.zeros(len(places), np.int64)
    _windings(tree.nodes, points, faces, places, body, out)
    return out


@inline
def _ahead(low, high, i, p, d, most):  # type: ignore[no-untyped-def]
    """Whether a line from p along d meets box i before it has gone so far."""
    near, far = 0.0, most
    for axis in range(3):
        if d[axis] == 0.0:
            if p[axis] < low[i, axis] or p[axis] > high[i, axis]:
                return False
            continue
        s, t = (low[i, axis] - p[axis]) / d[axis], (high[i, axis] - p[axis]) / d[axis]
        near, far = max(near, min(s, t)), min(far, max(s, t))
    return near <= far * (1.0 + ROUNDED)


@kernel
def _windings(nodes, points, faces, places, body, out):  # type: ignore[no-untyped-def]
    d, stack = (4.0, 1.0, 2.0), np.empty(STACK, np.int64)  # any way will do but that along which lines give way (detect/lines.py)
    for k in range(len(places)):
        p, stack[0] = load(places, k), nodes.root[body[k]]
        top = 1 if stack[0] >= 0 else 0
        while top > 0:
            top -= 1
            i = stack[top]
            if not _ahead(nodes.low, nodes.high, i, p, d, np.inf):
                continue
            if i >= nodes.leaves:
                top = put_off(nodes, i, stack, top)
                continue
            for c in range(nodes.first[i], nodes.first[i] + nodes.children[i]):
                f = nodes.order[c]
                out[k] += crossing(points, faces[f], p, d)[0]


@kernel
def _exits(nodes, points, faces, places, way, body, face, weights, depth):  # type: ignore[no-untyped-def]
    """Where each place comes out of a body: the nearest face along its way that looks the same way; -1 if there is none."""
    stack = np.empty(STACK, np.int64)
    for k in range(len(places)):
        p, d = load(places, k), load(way, k)
        face[k], depth[k], stack[0] = -1, np.inf, nodes.root[body[k]]
        top = 1 if stack[0] >= 0 else 0
        while top > 0:
            top -= 1
            i = stack[top]
            if not _ahead(nodes.low, nodes.high, i, p, d, depth[k]):
                continue
            if i >= nodes.leaves:
                top = put_off(nodes, i, stack, top)
                continue
            for c in range(nodes.first[i], nodes.first[i] + nodes.children[i]):
                f = nodes.order[c]
                o = load(points, faces[f, 0])
                e, g = sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)
                across = cross(d, g)
                det = dot(e, across)
                if det >= 0.0:  # seen from outside
                    continue
                r = sub(p, o)
                u, v = dot(r, across) / det, dot(d, cross(r, e)) / det
                t = dot(g, cross(r, e)) / det
                nearer = t < depth[k] or (t == depth[k] and f < face[k])  # so that the tree cannot matter
                if u >= 0.0 and v >= 0.0 and u + v <= 1.0 and 0.0 <= t and nearer:
                    face[k], depth[k] = f, t
                    weights[k, 0], weights[k, 1], weights[k, 2] = 1.0 - u - v, u, v
