"""When bodies first touch on their way through a step: exact shapes with each other and with triangles, turning too.

Frames go on straight lines while they turn about fixed axes at constant rates, by any angle; triangles go with the frame of their body, or
each corner on a straight line. Time is advanced by no more than what the gap allows (conservative advancement [Mirtich 1996]): along
the direction n of the gap of the moment, no point of a convex thing comes nearer than

    c = -n . (v_a - v_b) + |n x w_a| R_a + |n x w_b| R_b        [m per step]

for v, w the ways and turns of the step and R how far the core reaches from the middle of its frame; of a round thing it is enough to
take what turns its axis, |w x axis|. So a gap g lasts g / c of a step, and what slides along, leaves, or spins about its axis ends at once.

Never a miss: a time is never later than the touch. It is early by no more than a gap of `tolerance`; where that is not reached there is no
time. A torus is 48 capsules around its ring, thicker than it by 0.2 % of the ring's radius.

Vertices that go through faces and edges that go through edges within a step, and how far: on straight ways (`coplanar_times.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.convex import separation, shape_core, triangle_core
from pliant.detect.coplanar_times import COPLANAR, Crossings, crossings
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.shapes import BALL, BOX, CAPSULE, CYLINDER, PLANE, TORUS, Shapes
from pliant.geometry.quaternions import load4, product, quaternion_exp, quaternion_product, rotate, rotate_back
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, sub

MOST = 100_000  # times that a pair is looked at; what takes more ends where it is, early
RING = 48  # capsules that a torus is


class Ways(NamedTuple):
    """Exact shapes at the start of a step, and how their frames go; kernels take it as it is."""

    shapes: Shapes  # at the start
    shift: Floats  # [m] (f, 3)
    turn: Floats  # [rad] (f, 3) rotation vectors, of any length


def turns(before: Floats, after: Floats, about: Floats) -> Floats:
    """Rotation vectors (f, 3) that take rotations (f, 4) to others: of all that do, those nearest to `about`, also beyond half a turn."""
    q = product(after, before * np.array([1.0, -1.0, -1.0, -1.0]))
    q = np.where(q[:, :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(sine, q[:, 0])
    axis = np.divide(q[:, 1:], sine[:, None], out=np.zeros_like(q[:, 1:]), where=sine[:, None] > 0.0)
    along = np.einsum("fi,fi->f", axis, about)
    more = np.rint((along - angle) / (2.0 * math.pi))
    return axis * (angle + 2.0 * math.pi * more)[:, None]


class Poses(NamedTuple):
    """Frames at both ends of a step; kernels take it as it is."""

    before: Floats  # [m] (f, 3) positions
    after: Floats
    rotation_before: Floats  # (f, 4)
    rotation_after: Floats
    omega: Floats  # [rad] (f, 3) angular velocity times dt, of which whole turns are taken


def ways_of_bodies(
    start: Floats, end: Floats, first: Ints, last: Ints, frame: Ints, poses: Poses, reach: Floats, least: Floats
) -> tuple[Floats, Floats, bool]:
    """How the points of each body move in a step, as boxes (B, 3) twice [m], and whether any two bodies may move against each other by more
    than `least` [m] (B,) of one of them.

    Points first[b] : last[b], on straight ways; of a body with a frame, by it: whatever is no further from its middle than reach[b] [m].
    """
    low, high = np.empty((len(first), 3)), np.empty((len(first), 3))
    return low, high, _ways_of_bodies(start, end, first, last, frame, poses, reach, least, low, high)


@kernel
def _ways_of_bodies(start, end, first, last, frame, poses, reach, least, low, high):  # type: ignore[no-untyped-def]
    pace, most, second = np.zeros(len(first)), 0.0, 0.0
    for b in range(len(first)):
        f = frame[b]
        if f >= 0:
            shift = sub(load(poses.after, f), load(poses.before, f))
            p, q = load4(poses.rotation_before, f), load4(poses.rotation_after, f)
            cosine = min(abs(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]), 1.0)
            sine = math.sqrt(max(0.0, 1.0 - cosine * cosine))
            turned = max(2.0 * math.atan2(sine, cosine), norm(load(poses.omega, f))) * reach[b]
            for axis in range(3):
                low[b, axis], high[b, axis] = shift[axis] - turned, shift[axis] + turned
            pace[b] = norm(shift) + turned
        else:
            low[b], high[b] = np.inf, -np.inf
            for p in range(first[b], last[b]):
                far = 0.0
                for axis in range(3):
                    d = end[p, axis] - start[p, axis]
                    low[b, axis], high[b, axis] = min(low[b, axis], d), max(high[b, axis], d)
                    far += d * d
                pace[b] = max(pace[b], far)
            pace[b] = math.sqrt(pace[b])
        if pace[b] > most:
            most, second = pace[b], most
        else:
            second = max(second, pace[b])
    for b in range(len(first)):
        other = second if pace[b] == most else most
        if pace[b] + other > least[b]:
            return True
    return False


def shapes_touch(ways: Ways, a: Ints, b: Ints, shrink: Floats, tolerance: Floats) -> Floats:
    """When the exact shapes of bodies a[k] and b[k] first touch, (k,) in parts of the step; inf if they do not.

    shrink [m] (k,): both are so much smaller all around. tolerance [m] (k,): gap that counts as touching.
    """
    out = np.empty(len(a))
    _shapes_touch(ways, a, b, shrink, tolerance, np.empty((8, 3)), out)
    return out


def shapes_touch_faces(
    ways: Ways, a: Ints, b: Ints, shrink: Floats, tolerance: Floats, start: Floats, end: Floats, faces: Ints, face_start: Ints
) -> Floats:
    """The same for the exact shapes of bodies a and the triangles of bodies b, faces face_start[b] : face_start[b + 1]; only a shrinks.

    start, end [m] (p, 3): points of the faces; those of a body with a frame go with it.
    """
    out = np.empty(len(a))
    _shapes_touch_faces(ways, a, b, shrink, tolerance, start, end, faces, face_start, np.empty((8, 3)), out)
    return out


@inline
def _reach(kind, u):  # type: ignore[no-untyped-def]
    """How far a core reaches from the middle of its frame."""
    if kind == BOX:
        return norm(u)
    if kind == CAPSULE:
        return u[1]
    if kind == CYLINDER:
        return math.sqrt(u[0] * u[0] + u[1] * u[1])
    return u[0] if kind == TORUS else 0.0


@inline
def _round(kind, u):  # type: ignore[no-untyped-def]
    """Radius around the core."""
    if kind == BALL or kind == CAPSULE:
        return u[0]
    return u[1] if kind == TORUS else 0.0


@inline
def _shrunk(kind, u, s):  # type: ignore[no-untyped-def]
    """Parameters of the shape that is smaller by s all around."""
    if kind == TORUS:
        return u[0], max(u[1] - s, 0.0), 0.0
    if kind == BALL or kind == CAPSULE:
        return max(u[0] - s, 0.0), u[1], 0.0
    return max(u[0] - s, 0.0), max(u[1] - s, 0.0), max(u[2] - s, 0.0)


@inline
def _pose(ways, f, t):  # type: ignore[no-untyped-def]
    """Position and rotation of a frame at a time."""
    p = axpy(t, load(ways.shift, f), load(ways.shapes.position, f))
    return p, quaternion_product(quaternion_exp(scale(0.5 * t, load(ways.turn, f))), load4(ways.shapes.rotation, f))


@inline
def _pieces(kind):  # type: ignore[no-untyped-def]
    return RING if kind == TORUS else 1


@inline
def _piece(ways, body, u, piece, t):  # type: ignore[no-untyped-def]
    """(core, radius) of a convex piece of a shape at a time."""
    kind = ways.shapes.kind[body]
    p, q = _pose(ways, ways.shapes.frame[body], t)
    if kind != TORUS:
        return shape_core(kind, u, p, q), _round(kind, u)
    half = math.pi / RING
    angle = 2.0 * half * piece
    c, s = math.cos(angle), math.sin(angle)
    middle = add(p, rotate(q, (u[0] * math.cos(half) * c, u[0] * math.cos(half) * s, 0.0)))
    # the axis of the capsule, z, lies along the ring: turned about (c, s, 0) by a right angle
    r = math.sqrt(0.5)
    turned = quaternion_product(q, (r, -r * c, -r * s, 0.0))
    bulge = u[0] * (1.0 - math.cos(half))
    return shape_core(CAPSULE, (u[1] + bulge, u[0] * math.sin(half), 0.0), middle, turned), u[1] + bulge


@inline
def _spin(ways, body, u, n):  # type: ignore[no-untyped-def]
    """How far turning carries a shape along n, at most [m per step]."""
    kind, f = ways.shapes.kind[body], ways.shapes.frame[body]
    w = load(ways.turn, f)
    most = norm(cross(n, w))
    if kind != BOX and kind != TORUS:  # whose pieces are carried along by any turn
        axis = rotate(load4(ways.shapes.rotation, f), (0.0, 0.0, 1.0))
        most = min(most, norm(cross(w, axis)))
    return most * _reach(kind, u)


@inline
def _lowest(kind, u, down):  # type: ignore[no-untyped-def]
    """How far a shape reaches along the unit vector `down`, in its frame."""
    across = math.sqrt(max(0.0, 1.0 - down[2] * down[2]))
    if kind == BALL:
        return u[0]
    if kind == BOX:
        return u[0] * abs(down[0]) + u[1] * abs(down[1]) + u[2] * abs(down[2])
    if kind == CAPSULE:
        return u[0] + u[1] * abs(down[2])
    if kind == CYLINDER:
        return u[0] * across + u[1] * abs(down[2])
    return u[0] * across + u[1]


@inline
def _over_turning(speed, far, w):  # type: ignore[no-untyped-def]
    """How fast what is at most so far away comes nearer to a plane that turns by w, itself at this speed [m per step]."""
    return speed + w * (far + speed)


@inline
def _plane_time(ways, a, b, u, s, tolerance):  # type: ignore[no-untyped-def]
    """Shape a and plane b, lower by s."""
    kind, fa, fb, t = ways.shapes.kind[a], ways.shapes.frame[a], ways.shapes.frame[b], 0.0
    w, between = norm(load(ways.turn, fb)), sub(load(ways.shift, fa), load(ways.shift, fb))
    for _ in range(MOST):
        p, q = _pose(ways, fa, t)
        o, r = _pose(ways, fb, t)
        n = rotate(r, (0.0, 0.0, 1.0))
        gap = dot(n, sub(p, o)) + s - _lowest(kind, u, rotate_back(q, n))
        if gap <= tolerance:
            return t
        closing = _spin(ways, a, u, n) - dot(n, between)
        if w > 0.0:
            reach = _reach(kind, u)
            closing = _over_turning(norm(between) + norm(load(ways.turn, fa)) * reach, norm(sub(p, o)) + reach, w)
        if closing <= 0.0:
            return np.inf
        t += (gap - 0.5 * tolerance) / closing
        if t > 1.0:
            return np.inf
    return t


@inline
def _pair_time(ways, a, b, u, w, i, j, tolerance, limit, simplex):  # type: ignore[no-untyped-def]
    """Pieces i and j of two shapes; nothing after the limit need be found."""
    between = sub(load(ways.shift, ways.shapes.frame[a]), load(ways.shift, ways.shapes.frame[b]))
    t = 0.0
    for _ in range(MOST):
        one, r = _piece(ways, a, u, i, t)
        other, s = _piece(ways, b, w, j, t)
        gap, n = separation(one, other, r + s, simplex)
        if gap <= tolerance:
            return t
        closing = -dot(n, between) + _spin(ways, a, u, n) + _spin(ways, b, w, n)
        if closing <= 0.0:
            return np.inf
        t += (gap - 0.5 * tolerance) / closing
        if t > limit:
            return np.inf
    return t


@kernel
def _shapes_touch(ways, first, second, shrink, tolerance, simplex, out):  # type: ignore[no-untyped-def]
    kind, parameters = ways.shapes.kind, ways.shapes.parameters
    for k in range(len(first)):
        a, b, best = first[k], second[k], np.inf
        if kind[a] == PLANE:
            a, b = b, a
        u = _shrunk(kind[a], load(parameters, a), shrink[k])
        if kind[b] == PLANE:
            out[k] = np.inf if kind[a] == PLANE else _plane_time(ways, a, b, u, shrink[k], tolerance[k])
            continue
        w = _shrunk(kind[b], load(parameters, b), shrink[k])
        for i in range(_pieces(kind[a])):
            for j in range(_pieces(kind[b])):
                best = min(best, _pair_time(ways, a, b, u, w, i, j, tolerance[k], min(best, 1.0), simplex))
        out[k] = best


@inline
def _corner(ways, f, start, end, p, t):  # type: ignore[no-untyped-def]
    """A point of a face at a time: with frame f, or on a straight line if there is none."""
    x = load(start, p)
    if f < 0:
        return axpy(t, sub(load(end, p), x), x)
    o = load(ways.shapes.position, f)
    turned = rotate(quaternion_exp(scale(0.5 * t, load(ways.turn, f))), sub(x, o))
    return add(axpy(t, load(ways.shift, f), o), turned)


@inline
def _corner_closing(ways, f, start, end, p, n):  # type: ignore[no-untyped-def]
    """How far a point of a face comes along n, at most [m per step]."""
    x = load(start, p)
    if f < 0:
        return dot(n, sub(load(end, p), x))
    return dot(n, load(ways.shift, f)) + norm(cross(n, load(ways.turn, f))) * norm(sub(x, load(ways.shapes.position, f)))


@inline
def _beside(ways, f, start, end, corners, middle, way, reach):  # type: ignore[no-untyped-def]
    """Whether a face surely stays away from a ball of this reach on its way: by boxes; arcs bulge out from their chords."""
    bulge = 0.0
    if f >= 0:
        half = min(0.5 * norm(load(ways.turn, f)), math.pi)
        o = load(ways.shapes.position, f)
        far = max(norm(sub(load(start, corners[0]), o)), norm(sub(load(start, corners[1]), o)), norm(sub(load(start, corners[2]), o)))
        bulge = far * (1.0 - math.cos(half))
    for axis in range(3):
        low, high = np.inf, -np.inf
        for c in range(3):
            p = corners[c]
            low, high = min(low, start[p, axis], end[p, axis]), max(high, start[p, axis], end[p, axis])
        if low - bulge > max(middle[axis], middle[axis] + way[axis]) + reach:
            return True
        if high + bulge < min(middle[axis], middle[axis] + way[axis]) - reach:
            return True
    return False


@inline
def _face_time(ways, a, u, i, f, start, end, corners, tolerance, limit, simplex):  # type: ignore[no-untyped-def]
    """Piece i of shape a and a face."""
    t, way = 0.0, load(ways.shift, ways.shapes.frame[a])
    for _ in range(MOST):
        one, r = _piece(ways, a, u, i, t)
        x = _corner(ways, f, start, end, corners[0], t)
        y = _corner(ways, f, start, end, corners[1], t)
        z = _corner(ways, f, start, end, corners[2], t)
        gap, n = separation(one, triangle_core(x, y, z), r, simplex)
        if gap <= tolerance:
            return t
        comes = max(
            _corner_closing(ways, f, start, end, corners[0], n), _corner_closing(ways, f, start, end, corners[1], n),
            _corner_closing(ways, f, start, end, corners[2], n),
        )  # fmt: skip
        closing = comes - dot(n, way) + _spin(ways, a, u, n)
        if closing <= 0.0:
            return np.inf
        t += (gap - 0.5 * tolerance) / closing
        if t > limit:
            return np.inf
    return t


@inline
def _plane_face_time(ways, a, f, start, end, corners, s, tolerance, limit):  # type: ignore[no-untyped-def]
    """Plane a, lower by s, and a face: the first of its corners that goes below."""
    fa, t = ways.shapes.frame[a], 0.0
    way, w = load(ways.shift, fa), norm(load(ways.turn, fa))
    for _ in range(MOST):
        o, r = _pose(ways, fa, t)
        n = rotate(r, (0.0, 0.0, 1.0))
        gap, closing = np.inf, 0.0
        for c in range(3):
            x = _corner(ways, f, start, end, corners[c], t)
            gap = min(gap, dot(n, sub(x, o)) + s)
            if w == 0.0:
                closing = max(closing, dot(n, way) + _corner_closing(ways, f, start, end, corners[c], scale(-1.0, n)))
                continue
            own = sub(load(end, corners[c]), load(start, corners[c]))
            speed = norm(sub(own, way))
            if f >= 0:
                turned = norm(load(ways.turn, f)) * norm(sub(load(start, corners[c]), load(ways.shapes.position, f)))
                speed = norm(sub(load(ways.shift, f), way)) + turned
            closing = max(closing, _over_turning(speed, norm(sub(x, o)), w))
        if gap <= tolerance:
            return t
        if closing <= 0.0:
            return np.inf
        t += (gap - 0.5 * tolerance) / closing
        if t > limit:
            return np.inf
    return t


@kernel
def _shapes_touch_faces(ways, first, second, shrink, tolerance, start, end, faces, face_start, simplex, out):  # type: ignore[no-untyped-def]
    kind = ways.shapes.kind
    for k in range(len(first)):
        a, b, best = first[k], second[k], np.inf
        u = _shrunk(kind[a], load(ways.shapes.parameters, a), shrink[k])
        f, fa = ways.shapes.frame[b], ways.shapes.frame[a]
        reach = _reach(kind[a], u) + _round(kind[a], u) + tolerance[k]
        for face in range(face_start[b], face_start[b + 1]):
            if kind[a] == PLANE:
                best = min(best, _plane_face_time(ways, a, f, start, end, faces[face], shrink[k], tolerance[k], min(best, 1.0)))
                continue
            if _beside(ways, f, start, end, faces[face], load(ways.shapes.position, fa), load(ways.shift, fa), reach):
                continue
            for i in range(_pieces(kind[a])):
                limit = min(best, 1.0)
                best = min(best, _face_time(ways, a, u, i, f, start, end, faces[face], tolerance[k], limit, simplex))
        out[k] = best


class Through(NamedTuple):
    """Features that cross."""

    corners: Ints  # (k, 4) the points of each pair of features
    time: Floats  # (k,) when they do, in parts of the step
    way: Floats  # [m] (k,) how far they would go through each other in a whole step, along the normal of the moment


def faces_cross(tree: FeatureTree, start: Floats, end: Floats, pairs: Ints, least: float) -> Through:
    """What crosses between the surfaces of pairs (m, 2) of bodies on the way of their points from start to end, (p, 3) each.

    Features that move against each other by no more than `least` [m] are left out.
    """
    found = tree.candidates(start, end, pairs)
    faces = np.ascontiguousarray(np.concatenate([found.vertex_face[:, :1], tree_faces(tree)[found.vertex_face[:, 1]]], axis=1))
    edges = np.ascontiguousarray(tree.edges.corners[found.edge_edge].reshape(-1, 4))
    parts = [_through(start, end, rows, face, least) for rows, face in ((faces, True), (edges, False))]
    return Through(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def tree_faces(tree: FeatureTree) -> Ints:
    """Corners of the faces (m, 3) by their numbers."""
    out = np.empty_like(tree.tree.corners)
    out[tree.tree.order] = tree.tree.corners
    return out


def _through(start: Floats, end: Floats, rows: Ints, face: bool, least: float) -> Through:
    way = end[rows] - start[rows]
    rows = rows[np.linalg.norm(np.ptp(way, axis=1), axis=1) > least]
    found: Crossings = crossings(start, end, rows, face)
    root = np.where(found.flags & COPLANAR, -1, found.first())
    hit = np.flatnonzero(root >= 0)
    rows, time, weights = rows[hit], found.roots[hit, root[hit]], found.weights[hit, root[hit]]
    way, x = end[rows] - start[rows], start[rows] + time[:, None, None] * (end[rows] - start[rows])
    e, f = (x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]) if face else (x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
    normal, apart = np.cross(e, f), np.einsum("ki,kij->kj", weights, way)
    length = np.linalg.norm(normal, axis=1)
    return Through(rows, time, np.abs(np.einsum("ki,ki->k", normal, apart)) / length)
