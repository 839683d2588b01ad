"""Consistent penetration depth: how far, and which way, points inside a body are from coming out together.

Heidelberger et al. 2004 (theory/noniterative 4.1-4.4). A colliding point with a neighbour outside is a border point: where its edges
leave the body the surface is known, x_i with interpolated normal n_i, and with weights 1 / |x_i - p|^2
    D(p) = sum w_i (x_i - p).n_i / sum w_i,    r(p) = unit(sum w_i n_i).
From there depth and direction spread inwards, a layer at a time, using only points of earlier layers, m_j = 1 / |p_j - p|^2:
    D(p) = sum m_j ((p_j - p).r(p_j) + D(p_j)) / sum m_j,    r(p) = unit(sum m_j r(p_j)).
For a plane both are exact. The triangle where a point comes out is the one that the ray p + t r meets at t nearest to D.

What cannot be resolved is said, never guessed: points that no layer reaches (a body wholly inside another), directions that
cancel (a body that has passed half through a thin one), and depths that are not positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.closest import closest_on_body
from pliant.detect.feature_tests import edge_triangle
from pliant.detect.tree import Tree
from pliant.geometry.topology import Csr
from pliant.kernels import axpy, cross, dot, inline, load, norm, parallel, prange, scale, store, sub

# of a point that is inside: it has a depth; no edge of its body leaves the other one near it (the body is wholly inside); directions
# cancel (the body is more than half through); its depth is not positive
RESOLVED, UNREACHED, CANCELLED, NOT_POSITIVE = 0, 1, 2, 3
STACK = 256
SMALL = 1e-12  # of the mean edge: distances below this count as this


@dataclass(frozen=True)
class Depths:
    """One row per colliding (point, body), ordered by body and point."""

    point: Ints  # (c,)
    body: Ints  # (c,) the body it is in
    depth: Floats  # [m] (c,) D, NaN if not resolved
    direction: Floats  # (c, 3) r, unit, out of the body; NaN if not resolved
    face: Ints  # (c,) where it comes out, -1 if not resolved
    weights: Floats  # (c, 3) of that place on the face, not negative, sum one
    ray: Floats  # [m] (c,) distance to that place along r
    status: Ints  # (c,) RESOLVED, UNREACHED, CANCELLED or NOT_POSITIVE

    def count(self, status: int) -> int:
        return int(np.count_nonzero(self.status == status))


def penetration_depths(
    points: Floats, point: Ints, body: Ints, neighbours: Csr, tree: Tree, faces: Ints, vertex_normal: Floats, edge: float,
    point_body: Ints | None = None, normal_of: Ints | None = None,
) -> Depths:  # fmt: skip
    """Depth of each colliding point in the body it is in.

    points (p, 3); point, body (c,): the collisions, from point-in-tetrahedron tests; neighbours: points joined by an edge of a
    tetrahedron; tree: over `faces` of all bodies; vertex_normal (p, 3), area-weighted; edge [m]: mean length; point_body (p,): for
    points that may be inside their own body, whose faces around them and their neighbours are then not ways out; normal_of (m, 3): which
    row of vertex_normal each corner of each face has, if that is not the row of its point (a sharp edge has several).
    """
    order = np.lexsort((point, body))
    point, body = np.ascontiguousarray(point[order]), np.ascontiguousarray(body[order])
    key = body * len(points) + point
    count = len(point)
    depth, direction = np.zeros(count), np.zeros((count, 3))
    layer = np.full(count, -1, np.int64)
    status = np.full(count, UNREACHED, np.int64)
    nodes = tree.nodes
    links = (neighbours.offsets, neighbours.indices)
    tiny = (SMALL * edge) ** 2
    own = np.zeros(count, np.bool_) if point_body is None else point_body[point] == body
    normal_of = faces if normal_of is None else normal_of
    _borders(points, point, body, own, key, links, nodes, faces, normal_of, vertex_normal, tiny, depth, direction, layer, status)
    current = 0
    while _spread(points, point, body, key, links, tiny, current, depth, direction, layer, status):
        current += 1
    status[(status == RESOLVED) & (depth <= 0.0)] = NOT_POSITIVE
    face, weights, ray = np.full(count, -1, np.int64), np.zeros((count, 3)), np.full(count, np.nan)
    _ways_out(points, point, body, own, nodes, faces, depth, direction, status, face, weights, ray)
    status[(status == RESOLVED) & (face < 0)] = UNREACHED
    lost = status != RESOLVED
    depth[lost], direction[lost] = np.nan, np.nan
    return Depths(point, body, depth, direction, face, weights, ray, status)


def ways_out(
    points: Floats, point: Ints, body: Ints, direction: Floats, tree: Tree, faces: Ints, own: np.ndarray
) -> tuple[Ints, Floats, Floats]:
    """(face, weights, distance) where points first leave bodies along given directions; the closest face if the ray meets none."""
    nodes = tree.nodes
    count = len(point)
    face, weights, ray = np.full(count, -1, np.int64), np.zeros((count, 3)), np.full(count, np.nan)
    depth, status = np.zeros(count), np.full(count, RESOLVED, np.int64)
    _ways_out(points, point, body, own, nodes, faces, depth, direction, status, face, weights, ray)
    return face, weights, ray


@inline
def _find(key, wanted, near):  # type: ignore[no-untyped-def]
    """Place of a key in the sorted list, -1 if it is not there. It is looked for in ever wider steps from a place nearby."""
    low, high, step = near, near + 1, 1
    while low > 0 and key[low] > wanted:
        low, high = max(low - step, 0), low
        step *= 2
    while high < len(key) and key[high] < wanted:
        low, high = high, min(high + step, len(key))
        step *= 2
    while low < high:
        mid = (low + high) // 2
        if key[mid] < wanted:
            low = mid + 1
        else:
            high = mid
    return low if low < len(key) and key[low] == wanted else -1


@inline
def _apart(p, q, low, high, i):  # type: ignore[no-untyped-def]
    """Whether segment pq misses box i: a plane across x, y, z or across the segment and one of them lies between (Ericson 2005, 5.3.3)."""
    ex, ey, ez = high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2]
    dx, dy, dz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    mx = p[0] + q[0] - low[i, 0] - high[i, 0]
    my = p[1] + q[1] - low[i, 1] - high[i, 1]
    mz = p[2] + q[2] - low[i, 2] - high[i, 2]
    ax, ay, az = abs(dx), abs(dy), abs(dz)
    # rounding must not lose a face that lies in the side of its box
    slack = 1e-13 * (abs(p[0]) + abs(p[1]) + abs(p[2]) + abs(q[0]) + abs(q[1]) + abs(q[2]) + ex + ey + ez)
    beside = (abs(mx) > ex + ax + slack) | (abs(my) > ey + ay + slack) | (abs(mz) > ez + az + slack)
    slack *= ax + ay + az
    beside |= abs(my * dz - mz * dy) > ey * az + ez * ay + slack
    beside |= abs(mz * dx - mx * dz) > ex * az + ez * ax + slack
    return beside | (abs(mx * dy - my * dx) > ex * ay + ey * ax + slack)


@inline
def _beside(box, low, high, i):  # type: ignore[no-untyped-def]
    """Whether the box around a segment misses box i."""
    above = (box[0] > high[i, 0]) | (box[1] > high[i, 1]) | (box[2] > high[i, 2])
    return above | (box[3] < low[i, 0]) | (box[4] < low[i, 1]) | (box[5] < low[i, 2])


@inline
def _around(p, q):  # type: ignore[no-untyped-def]
    """Box around segment pq, with slack for rounding as in `_apart`."""
    slack = 1e-13 * (abs(p[0]) + abs(p[1]) + abs(p[2]) + abs(q[0]) + abs(q[1]) + abs(q[2]))
    lx, ly, lz = min(p[0], q[0]) - slack, min(p[1], q[1]) - slack, min(p[2], q[2]) - slack
    return lx, ly, lz, max(p[0], q[0]) + slack, max(p[1], q[1]) + slack, max(p[2], q[2]) + slack


@inline
def _touches(faces, f, i, j):  # type: ignore[no-untyped-def]
    """Whether face f has corner i or j."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    return a == i or b == i or c == i or a == j or b == j or c == j


@inline
def _segment_hit(p, q, b, nodes, points, faces, wanted, outward, i_p, i_q, stack):  # type: ignore[no-untyped-def]
    """(s, face, w1, w2) of the hit p + s (q - p) of body b's surface with s nearest to `wanted`; face -1 if there is none.

    outward: only faces whose normal has a positive part along q - p. Faces with corners i_p or i_q (-1: none) do not count.
    """
    first, count, low, high = nodes.first, nodes.children, nodes.low, nodes.high
    best, face, u, v = np.inf, -1, 0.0, 0.0
    box = _around(p, q)  # most boxes miss it by this cheap test: edges are short
    top = 0
    if nodes.root[b] >= 0:
        stack[0] = nodes.root[b]
        top = 1
    while top > 0:
        top -= 1
        i = stack[top]
        for k in range(first[i], first[i] + count[i]):
            if i >= nodes.leaves:
                if not (_beside(box, low, high, k) or _apart(p, q, low, high, k)):
                    stack[top] = k
                    top += 1
                continue
            f = nodes.order[k]
            if _beside(box, nodes.box_low, nodes.box_high, k) or _apart(p, q, nodes.box_low, nodes.box_high, k):
                continue
            if i_p >= 0 and _touches(faces, f, i_p, i_q):
                continue
            x, y, z = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
            hit, s, w1, w2 = edge_triangle(p, q, x, y, z)
            if not hit or (outward and dot(cross(sub(y, x), sub(z, x)), sub(q, p)) <= 0.0):
                continue
            # of equal hits the lower face, so that the tree cannot matter
            if abs(s - wanted) < abs(best - wanted) or (s == best and f < face):
                best, face, u, v = s, f, w1, w2
    return best, face, u, v


@parallel
def _borders(points, point, body, own, key, links, nodes, faces, normal_of, vertex_normal, tiny, depth, direction, layer, status):  # type: ignore[no-untyped-def]
    """Depth and direction of points with an edge that leaves the body."""
    start, other = links
    for chunk in prange((len(point) + 255) // 256):
        stack = np.empty(STACK, np.int64)
        for k in range(256 * chunk, min(256 * chunk + 256, len(point))):
            p = load(points, point[k])
            total, along = 0.0, 0.0
            n = (0.0, 0.0, 0.0)
            for e in range(start[point[k]], start[point[k] + 1]):
                if _find(key, body[k] * len(points) + other[e], k) >= 0:
                    continue
                q = load(points, other[e])
                i_p, i_q = (point[k], other[e]) if own[k] else (-1, -1)
                s, face, u, v = _segment_hit(p, q, body[k], nodes, points, faces, 1.0, False, i_p, i_q, stack)
                if face < 0:
                    continue  # the far end is in a third body, or the surface is met only at the point itself
                m = scale(1.0 - u - v, load(vertex_normal, normal_of[face, 0]))
                m = axpy(u, load(vertex_normal, normal_of[face, 1]), m)
                m = axpy(v, load(vertex_normal, normal_of[face, 2]), m)
                length = norm(m)
                if length == 0.0:
                    continue
                m = scale(1.0 / length, m)
                way = scale(s, sub(q, p))
                w = 1.0 / max(dot(way, way), tiny)
                total += w
                along += w * dot(way, m)
                n = axpy(w, m, n)
            if total == 0.0:
                continue
            length = norm(n)
            layer[k] = 0
            if length <= 1e-9 * total:
                status[k] = CANCELLED
                continue
            depth[k] = along / total
            store(direction, k, scale(1.0 / length, n))
            status[k] = RESOLVED


@parallel
def _spread(points, point, body, key, links, tiny, current, depth, direction, layer, status):  # type: ignore[no-untyped-def]
    """One more layer; whether there was one."""
    start, other = links
    chunks = (len(point) + 255) // 256
    grew = np.zeros(chunks, np.int64)
    for chunk in prange(chunks):
        for k in range(256 * chunk, min(256 * chunk + 256, len(point))):
            if layer[k] >= 0:
                continue
            p = load(points, point[k])
            total, along, reached = 0.0, 0.0, False
            n = (0.0, 0.0, 0.0)
            for e in range(start[point[k]], start[point[k] + 1]):
                j = _find(key, body[k] * len(points) + other[e], k)
                if j < 0 or layer[j] < 0 or layer[j] > current or status[j] != RESOLVED:
                    continue
                reached = True
                way, r = sub(load(points, other[e]), p), load(direction, j)
                m = 1.0 / max(dot(way, way), tiny)
                total += m
                along += m * (dot(way, r) + depth[j])
                n = axpy(m, r, n)
            if not reached:
                continue
            grew[chunk] = 1
            layer[k] = current + 1
            length = norm(n)
            if length <= 1e-9 * total:
                status[k] = CANCELLED
                continue
            depth[k] = along / total
            store(direction, k, scale(1.0 / length, n))
            status[k] = RESOLVED
    return grew.sum() > 0


@parallel
def _ways_out(points, point, body, own, nodes, faces, depth, direction, status, face, weights, ray):  # type: ignore[no-untyped-def]
    """The face that the ray along r meets at the depth nearest to D, else the closest one."""
    for chunk in prange((len(point) + 255) // 256):
        stack = np.empty(STACK, np.int64)
        for k in range(256 * chunk, min(256 * chunk + 256, len(point))):
            if status[k] != RESOLVED:
                continue
            p, r, b = load(points, point[k]), load(direction, k), body[k]
            reach = 0.0
            for axis in range(3):
                reach += (nodes.high[nodes.root[b], axis] - nodes.low[nodes.root[b], axis]) ** 2
            reach = np.sqrt(reach)
            i_p = point[k] if own[k] else -1
            s, f, u, v = _segment_hit(p, axpy(reach, r, p), b, nodes, points, faces, depth[k] / reach, True, i_p, i_p, stack)
            if f >= 0:
                h = (max(1.0 - u - v, 0.0), max(u, 0.0), max(v, 0.0))
                ray[k] = s * reach
            elif own[k]:
                continue  # the closest face is one around the point itself
            else:
                square, f, h0, h1, h2 = closest_on_body(p, b, nodes, points, faces, stack)
                h = (h0, h1, h2)
                ray[k] = np.sqrt(square)  # a point on the surface meets none; its depth must not be more than this
                depth[k] = min(depth[k], ray[k])
            total = h[0] + h[1] + h[2]
            face[k] = f
            store(weights, k, scale(1.0 / total, h))
