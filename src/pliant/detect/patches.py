"""The surface that two bodies share, as clipped polygons with quadrature points (theory/patch 3.1-3.4).

A triangle of the slave is cut by the triangles of the master that face it, projected along the slave's normal n into its plane. Over the
polygon that is left the gap g between the two planes, along n, is linear; a second cut at g = 0 parts what overlaps (g <= 0) from what is
nearly touching (0 < g <= high). Each part gives three rows of a third of its area A,

    x_k = c + sqrt(2) L (cos t_k, sin t_k),   t = 0, 120, 240 degrees,   c centroid, L L^T covariance of the polygon,

which integrate every polynomial of degree two over it exactly, so shape function times linear gap is exact. Weights on both triangles are
taken under the same projection: the two points of a row lie on one line along n, and forces along it make no couple.

Rigid bodies give way nowhere, so what counts of a polygon is where its gap is least: at a corner. Between two of them its rows are its
corners. With rows inside, as deep as a strip at an edge is in the mean, every step would end half as deep in it as it was looked at. The
shares of the corners in A are those of `corner_shares`: they hold the centroid, and a corner that rounding adds or drops changes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.penetration import ACROSS
from pliant.geometry.normals import face_normal
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

# cosine between one normal and the other turned round: triangles below FACING do not face each other, those above ACROSS do so with all
# of their area, and in between it grows, so that a face that turns makes no jump. At crossed edges of boxes it is 0.5.
FACING = 0.3
CORNERS = 24  # room for the corners of a polygon: 3 of a triangle, one for each of 5 cuts, the rest for cutting off what is hidden
ON_EDGE = 1e-9  # weight of a place on a triangle that is on its edge but for rounding
CLIPPED = 6  # corners at most of two triangles
MOST_CORNERS = 8  # of a polygon: 3 of a triangle, one more for each of 5 cuts
PIECES = 64  # room for the pieces that hidden parts leave of a polygon; beyond either a piece stays whole
ROUNDING = 1e-12  # of the square of an edge: triangles that overlap by no more are neighbours
TINY = 1e-10  # of the slave's triangle: parts with less area are rounding


class Patches(NamedTuple):
    """Quadrature points of the common surface of all pairs of bodies, three in a row from one polygon."""

    slave: Ints  # (r,) face
    master: Ints  # (r,) face, -1 for an exact shape
    pair: Ints  # (r,) which pair of bodies
    weights: Floats  # (r, 3) of the place on the slave's face
    others: Floats  # (r, 3) of the place on the master's face; (1, 0, 0) for an exact shape
    normal: Floats  # (r, 3) unit, out of the slave, towards the master
    gap: Floats  # [m] (r,) along the normal; negative where they overlap
    area: Floats  # [m^2] (r,) a third of the polygon
    at: Floats  # [m] (r, 3) in the middle between both sides
    tip: Floats  # (r,) share of the circle around it that a tip stands for, which has no area; 0 of other rows
    carried: Floats  # [m] (r,) how deep a tip is where the area around it carries all that the tip would
    spot: Ints  # (r,) number that a row of two flat sides keeps from step to step, -1 of others

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.gap)


def empty(count: int) -> Patches:
    """Rows to be filled."""
    return Patches(
        slave=np.empty(count, np.int64), master=np.empty(count, np.int64), pair=np.empty(count, np.int64), weights=np.empty((count, 3)),
        others=np.empty((count, 3)), normal=np.empty((count, 3)), gap=np.empty(count), area=np.empty(count), at=np.empty((count, 3)),
        tip=np.zeros(count), carried=np.zeros(count), spot=np.full(count, -1),
    )  # fmt: skip


def select(patches: Patches, rows: np.ndarray) -> Patches:
    """Some of them, by mask or index."""
    some = rows.nonzero()[0] if rows.dtype == np.bool_ else rows
    return Patches(*(getattr(patches, name).take(some, 0) for name in Patches._fields))


def first(patches: Patches, count: int) -> Patches:
    """The first rows."""
    return Patches(*(getattr(patches, name)[:count] for name in Patches._fields))


def joined(parts: list[Patches]) -> Patches:
    """Rows one after the other."""
    if len(parts) < 2:
        return parts[0] if parts else empty(0)
    return Patches(*(np.concatenate([getattr(p, name) for p in parts]) for name in Patches._fields))


class Rims(NamedTuple):
    """Sharp edges of the skin."""

    node: Bools  # (p,) points on one
    edge: Bools  # (f, 3) whether the edge across from each corner of a face is one
    face: Bools  # (f,) faces with a corner on one


NO_RIMS = Rims(np.zeros(0, np.bool_), np.zeros((0, 3), np.bool_), np.zeros(0, np.bool_))


def facing(
    points: Floats, faces: Ints, slave: Ints, master: Ints, pair: Ints, deep: Floats, high: Floats, sharp: Bools
) -> Patches:
    """Patches of candidate pairs of triangles (c,): what they share at gaps from -deep to high [m], (c,) each; `sharp`: rows at corners.

    Where two triangles of a master lie behind each other, seen along the slave's normal, each point of the slave belongs to the nearer one.
    """
    return facing_with_tips(points, faces, slave, master, pair, deep, high, sharp, np.zeros(len(slave), np.bool_), NO_RIMS)[0]


def facing_with_tips(
    points: Floats, faces: Ints, slave: Ints, master: Ints, pair: Ints, deep: Floats, high: Floats, sharp: Bools, poked: Bools, rims: Rims
) -> tuple[Patches, Ints]:
    """`facing`, and behind its rows the tips (theory/patch 3.9) of candidates that are `poked` (c,); for each tip the deepest row of its
    polygon, by which it can be told whether that counts (beside a tip the side of the body that pokes is near, whatever is deep), for
    others themselves.
    """
    order = np.lexsort((master, slave, pair))
    slave, master, pair = slave[order], master[order], pair[order]
    begins = np.diff(slave, prepend=-1) != 0
    begins[1:] |= np.diff(pair) != 0
    start = np.append(np.flatnonzero(begins), len(slave))
    poked = poked[order]
    poked[poked] = rims.face[slave[poked]] | rims.face[master[poked]]
    out = empty(6 * int((~sharp).sum()) + 2 * MOST_CORNERS * int(sharp.sum()))
    pokes, of = empty(CLIPPED * int(poked.sum())), np.empty(CLIPPED * int(poked.sum()), np.int64)
    used, many = _facing(points, faces, start, slave, master, pair, deep[order], high[order], sharp[order], poked, rims, out, pokes, of)
    rows = np.arange(used)
    return (joined([first(out, used), first(pokes, many)]), np.append(rows, of[:many])) if many else (first(out, used), rows)


@inline
def cut(poly, count, a, b, c, new):  # type: ignore[no-untyped-def]
    """Clip the polygon (u, v) to a + b u + c v >= 0; writes `new`, returns its number of corners."""
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        s = a + b * poly[i, 0] + c * poly[i, 1]
        t = a + b * poly[j, 0] + c * poly[j, 1]
        if s >= 0.0:
            new[kept, 0], new[kept, 1] = poly[i, 0], poly[i, 1]
            kept += 1
        if (s > 0.0 and t < 0.0) or (s < 0.0 and t > 0.0):
            f = s / (s - t)
            new[kept, 0] = poly[i, 0] + f * (poly[j, 0] - poly[i, 0])
            new[kept, 1] = poly[i, 1] + f * (poly[j, 1] - poly[i, 1])
            kept += 1
    return kept


@inline
def moments(poly, count):  # type: ignore[no-untyped-def]
    """(area, first moments u v, second moments uu uv vv) of a polygon about the origin."""
    area = mu = mv = muu = muv = mvv = 0.0
    for i in range(1, count - 1):
        x0, y0, x1, y1, x2, y2 = poly[0, 0], poly[0, 1], poly[i, 0], poly[i, 1], poly[i + 1, 0], poly[i + 1, 1]
        a = 0.5 * ((x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0))
        sx, sy = x0 + x1 + x2, y0 + y1 + y2
        area += a
        mu += a * sx / 3.0
        mv += a * sy / 3.0
        muu += a / 12.0 * (x0 * x0 + x1 * x1 + x2 * x2 + sx * sx)
        muv += a / 12.0 * (x0 * y0 + x1 * y1 + x2 * y2 + sx * sy)
        mvv += a / 12.0 * (y0 * y0 + y1 * y1 + y2 * y2 + sy * sy)
    return area, mu, mv, muu, muv, mvv


@inline
def opens(poly, count, g0, gu, gv):  # type: ignore[no-untyped-def]
    """Whether the gap is above zero at any corner; a polygon in touch all over overlaps, and must not count twice."""
    for i in range(count):
        if g0 + gu * poly[i, 0] + gv * poly[i, 1] > 0.0:
            return True
    return False


@inline
def plus6(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inline
def quadrature(area, mu, mv, muu, muv, mvv):  # type: ignore[no-untyped-def]
    """Centroid and the lower triangle of sqrt(2) L, L L^T the covariance."""
    cu, cv = mu / area, mv / area
    suu, suv, svv = muu / area - cu * cu, muv / area - cu * cv, mvv / area - cv * cv
    l00 = math.sqrt(max(suu, 0.0))
    l10 = suv / l00 if l00 > 0.0 else 0.0
    l11 = math.sqrt(max(svv - l10 * l10, 0.0))
    root = math.sqrt(2.0)
    return cu, cv, root * l00, root * l10, root * l11


@kernel
def corner_shares(poly, count, shares):  # type: ignore[no-untyped-def]
    """What corners have of the area of a convex polygon, so that linear functions integrate exactly: the mean over all fans of triangles
    from one corner, a third of each triangle to each of its corners, weighted with the edges at the corner that the fan starts from.
    """
    around = area = 0.0
    for k in range(count):
        shares[k] = 0.0
    for s in range(count):
        before, after = (s - 1) % count, (s + 1) % count
        x, y = poly[s, 0], poly[s, 1]
        edges = math.hypot(poly[before, 0] - x, poly[before, 1] - y) + math.hypot(poly[after, 0] - x, poly[after, 1] - y)
        around += edges
        area = 0.0
        for k in range(s + 1, s + count - 1):
            i, j = k % count, (k + 1) % count
            third = ((poly[i, 0] - x) * (poly[j, 1] - y) - (poly[j, 0] - x) * (poly[i, 1] - y)) / 6.0
            area += 3.0 * third
            for corner in (s, i, j):
                shares[corner] += edges * third
    for k in range(count):
        shares[k] /= around * area


COS, SIN = (1.0, -0.5, -0.5), (0.0, math.sqrt(0.75), -math.sqrt(0.75))  # of 0, 120 and 240 degrees


@inline
def angle_at(poly, count, k, near):  # type: ignore[no-untyped-def]
    """Between the two sides at corner k [rad], to the next corners that are not at the same place but for rounding, near [m^2]; 0 where the
    corner before is at the same place.
    """
    a0 = a1 = b0 = b1 = 0.0
    i = j = k
    while a0 * a0 + a1 * a1 <= near:
        i = i - 1 if i > 0 else count - 1
        if i == k:
            return 0.0
        a0, a1 = poly[i, 0] - poly[k, 0], poly[i, 1] - poly[k, 1]
        if a0 * a0 + a1 * a1 <= near and i == (k - 1 if k > 0 else count - 1):
            return 0.0
    while b0 * b0 + b1 * b1 <= near:
        j = j + 1 if j + 1 < count else 0
        b0, b1 = poly[j, 0] - poly[k, 0], poly[j, 1] - poly[k, 1]
    return abs(math.atan2(a0 * b1 - a1 * b0, a0 * b0 + a1 * b1))


@inline
def on_sharp_edge(faces, rims, face, weights, r):  # type: ignore[no-untyped-def]
    """Whether the place of row r on a face is on a sharp edge."""
    f, out = face[r], False
    for k in range(3):
        if weights[r, k] > 1.0 - ON_EDGE:
            return rims.node[faces[f, k]]
        out = out or (rims.edge[f, k] and weights[r, k] < ON_EDGE)
    return out


@inline
def frame_of(points, faces, f):  # type: ignore[no-untyped-def]
    """Corner, unit normal, two unit tangents and twice the area of a face."""
    p0, p1, p2 = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
    e, d = sub(p1, p0), sub(p2, p0)
    n = cross(e, d)
    twice = norm(n)
    if twice == 0.0:
        return p0, n, n, n, 0.0
    n = scale(1.0 / twice, n)
    t = scale(1.0 / norm(e), e)
    return p0, n, t, cross(n, t), twice


@inline
def edge(q, i, k):  # type: ignore[no-untyped-def]
    """(a, b, c) of a + b u + c v, twice the area over edge k of projected triangle i: positive inside; seen along n it turns clockwise."""
    x, y = q[i, k, 0], q[i, k, 1]
    j = (k + 2) % 3
    ex, ey = q[i, j, 0] - x, q[i, j, 1] - y
    return ey * x - ex * y, -ey, ex


@inline
def apart(q, i, j):  # type: ignore[no-untyped-def]
    """Whether an edge of projected triangle i has all of triangle j outside; what they share by rounding is nothing."""
    for k in range(3):
        a, b, c = edge(q, i, k)
        most = -np.inf
        for m in range(3):
            most = max(most, a + b * q[j, m, 0] + c * q[j, m, 1])
        if most <= ROUNDING * (b * b + c * c):
            return True
    return False


@inline
def seen(poly, count, below, i, size, q, gap, deep, stack, held, spare):  # type: ignore[no-untyped-def]
    """Moments of the part of polygon i that no nearer triangle of its group hides.

    The nearer triangle j hides what lies within its three edges and between two bounds of its gap: g_i < g_j <= 0 for what overlaps
    (`below`), -deep <= g_j < g_i for what is open. Of each piece the parts outside one of these five lines after the other remain.
    """
    total = 1
    for m in range(count):
        stack[0, m, 0], stack[0, m, 1] = poly[m, 0], poly[m, 1]
    held[0] = count
    for j in range(size):
        if j == i or apart(q, i, j) or apart(q, j, i):
            continue
        d0, du, dv = gap[j, 0] - gap[i, 0], gap[j, 1] - gap[i, 1], gap[j, 2] - gap[i, 2]
        todo = total
        for piece in range(todo):
            if held[piece] + 5 > CORNERS:
                continue
            for line in range(5):
                if line < 3:
                    a, b, c = edge(q, j, line)
                elif line == 3:
                    a, b, c = (d0, du, dv) if below else (-d0, -du, -dv)
                elif below:
                    a, b, c = -gap[j, 0], -gap[j, 1], -gap[j, 2]
                else:
                    a, b, c = gap[j, 0] + deep, gap[j, 1], gap[j, 2]
                left = 0
                if total < len(stack):
                    left = cut(stack[piece], held[piece], -a, -b, -c, stack[total])
                kept = cut(stack[piece], held[piece], a, b, c, spare)
                for m in range(kept):
                    stack[piece, m, 0], stack[piece, m, 1] = spare[m, 0], spare[m, 1]
                held[piece] = kept
                if left >= 3:
                    held[total] = left
                    total += 1
                if kept < 3:
                    break
            held[piece] = 0
        free = 0  # close up
        for piece in range(total):
            if held[piece] >= 3:
                for m in range(held[piece]):
                    stack[free, m, 0], stack[free, m, 1] = stack[piece, m, 0], stack[piece, m, 1]
                held[free] = held[piece]
                free += 1
        total = free
    out = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for piece in range(total):
        out = plus6(out, moments(stack[piece], held[piece]))
    return out


@inline
def put(out, r, faces_, frame, corners, place, gap, area):  # type: ignore[no-untyped-def]
    """Row r, at a place (u, v) of the slave's plane; corners: second and third of the slave there, first of the master and the ways to its
    second and third.
    """
    (o, n, t1, t2), (u, v) = frame, place
    ux, uy, vx, vy, x0, y0, a0, a1, c0, c1 = corners
    out.slave[r], out.master[r], out.pair[r] = faces_
    inverse = 1.0 / (ux * vy - uy * vx)
    w1, w2 = (u * vy - v * vx) * inverse, (ux * v - uy * u) * inverse
    out.weights[r, 0], out.weights[r, 1], out.weights[r, 2] = 1.0 - w1 - w2, w1, w2
    x, y, inverse = u - x0, v - y0, 1.0 / (a0 * c1 - a1 * c0)
    m1, m2 = (x * c1 - y * c0) * inverse, (a0 * y - a1 * x) * inverse
    out.others[r, 0], out.others[r, 1], out.others[r, 2] = 1.0 - m1 - m2, m1, m2
    store(out.normal, r, n)
    store(out.at, r, axpy(u, t1, axpy(v, t2, axpy(0.5 * gap, n, o))))
    out.gap[r], out.area[r] = gap, area


@inline
def _edge_of(points, faces, face, weights, r):  # type: ignore[no-untyped-def]
    """Of a place on an edge of a face: the corner across from it, and the edge behind that, as a vector; no corner (-1) at its ends."""
    across = -1
    for k in range(3):
        if weights[r, k] > 1.0 - ON_EDGE:
            return -1, (0.0, 0.0, 0.0)
        across = k if weights[r, k] < ON_EDGE else across
    f, k = face[r], max(across, 0)
    return across, sub(load(points, faces[f, (k + 2) % 3]), load(points, faces[f, (k + 1) % 3]))


@inline
def _behind(points, faces, face, weights, r, d):  # type: ignore[no-untyped-def]
    """How far along d the place of a row is before the farthest corner of its face, and after the nearest."""
    f = face[r]
    x, y, z = dot(load(points, faces[f, 0]), d), dot(load(points, faces[f, 1]), d), dot(load(points, faces[f, 2]), d)
    at = weights[r, 0] * x + weights[r, 1] * y + weights[r, 2] * z
    return max(x, y, z) - at, at - min(x, y, z)


@inline
def _push_along(points, faces, out, r, d):  # type: ignore[no-untyped-def]
    """Turn row r from its normal to the way d: the place on the slave stays, that on the master goes to where d meets its face."""
    n, g, m = load(out.normal, r), out.gap[r], out.master[r]
    a = load(points, faces[m, 0])
    b, c = sub(load(points, faces[m, 1]), a), sub(load(points, faces[m, 2]), a)
    normal = cross(b, c)
    square = dot(normal, normal)
    gap = g * dot(n, normal) / dot(d, normal)
    way = sub(scale(gap, d), scale(g, n))  # of the master's place, in its face
    w1, w2 = dot(cross(way, c), normal) / square, dot(cross(b, way), normal) / square
    out.others[r, 0] -= w1 + w2
    out.others[r, 1] += w1
    out.others[r, 2] += w2
    store(out.at, r, axpy(0.5, way, load(out.at, r)))
    store(out.normal, r, d)
    out.gap[r] = gap


@inline
def _cross(points, faces, out, r):  # type: ignore[no-untyped-def]
    """Turn tip r, where edges of both sides cross, to the way that is normal to both; the places go to where these are closest."""
    n, g = load(out.normal, r), out.gap[r]
    k, e = _edge_of(points, faces, out.slave, out.weights, r)
    j, h = _edge_of(points, faces, out.master, out.others, r)
    normal = cross(e, h)
    square = dot(normal, normal)
    if k < 0 or j < 0 or square <= ON_EDGE * dot(e, e) * dot(h, h):
        return
    d = scale((1.0 if dot(normal, n) > 0.0 else -1.0) / math.sqrt(square), normal)
    ahead, _ = _behind(points, faces, out.slave, out.weights, r, d)
    _, back = _behind(points, faces, out.master, out.others, r, d)
    close = ON_EDGE * math.sqrt(dot(e, e) + dot(h, h))
    level = -dot(d, face_normal(points, faces, out.master[r]))
    if not min(dot(d, n), level) > FACING or ahead > close or back > close:
        return  # one of the faces is before its edge, or along the way: it is not the edges that meet
    gap = g * dot(n, d)
    way = sub(scale(g, n), scale(gap, d))
    s, t = dot(cross(way, h), normal) / square, dot(cross(way, e), normal) / square
    out.weights[r, (k + 2) % 3] += s
    out.weights[r, (k + 1) % 3] -= s
    out.others[r, (j + 2) % 3] += t
    out.others[r, (j + 1) % 3] -= t
    store(out.at, r, axpy(s, e, axpy(-0.5, way, load(out.at, r))))
    store(out.normal, r, d)
    out.gap[r] = gap


@kernel
def _facing(points, faces, start, slave, master, pair, deep, high, sharp, poked, rims, out, pokes, of):  # type: ignore[no-untyped-def]
    used = many_tips = 0
    most = 1
    for k in range(len(start) - 1):
        most = max(most, start[k + 1] - start[k])
    poly, spare = np.empty((CORNERS, 2)), np.empty((CORNERS, 2))
    stack, held, last = np.empty((PIECES, CORNERS, 2)), np.zeros(PIECES, np.int64), np.empty((CORNERS, 2))
    q, h, gap, who = np.empty((most, 3, 2)), np.empty(3), np.empty((most, 3)), np.empty(most, np.int64)
    place = np.empty(most, np.int64)  # among all
    part, shares = np.empty(most), np.empty(CORNERS)  # of the area: what counts, what corners have
    for group in range(len(start) - 1):
        c = start[group]
        s, depth, far = slave[c], deep[c], high[c]
        o, n, t1, t2, twice = frame_of(points, faces, s)
        if twice == 0.0:
            continue
        d, e = sub(load(points, faces[s, 1]), o), sub(load(points, faces[s, 2]), o)
        ux, uy, vx, vy = dot(d, t1), dot(d, t2), dot(e, t1), dot(e, t2)
        size = 0
        for c in range(start[group], start[group + 1]):
            m = master[c]
            b0, b1, b2 = load(points, faces[m, 0]), load(points, faces[m, 1]), load(points, faces[m, 2])
            nm = cross(sub(b1, b0), sub(b2, b0))
            cosine = -dot(n, nm) / norm(nm)
            if not cosine > FACING:
                continue
            for k in range(3):
                d = sub(load(points, faces[m, k]), o)
                q[size, k, 0], q[size, k, 1], h[k] = dot(d, t1), dot(d, t2), dot(d, n)
            if h.min() > far or h.max() < -depth:
                continue
            # the gap g0 + gu u + gv v through the heights of the master's corners
            x, y = q[size, 0, 0], q[size, 0, 1]
            a0, a1, c0, c1 = q[size, 1, 0] - x, q[size, 1, 1] - y, q[size, 2, 0] - x, q[size, 2, 1] - y
            det = a0 * c1 - a1 * c0
            gap[size, 1] = ((h[1] - h[0]) * c1 - (h[2] - h[0]) * a1) / det
            gap[size, 2] = ((h[2] - h[0]) * a0 - (h[1] - h[0]) * c0) / det
            gap[size, 0] = h[0] - gap[size, 1] * x - gap[size, 2] * y
            place[size] = c
            who[size], part[size] = m, min(1.0, (cosine - FACING) / (ACROSS - FACING))
            size += 1
        layered = False
        for i in range(size):
            for j in range(i):
                layered = layered or not (apart(q, i, j) or apart(q, j, i))
        for i in range(size):
            poly[0, 0], poly[0, 1], poly[1, 0], poly[1, 1], poly[2, 0], poly[2, 1] = 0.0, 0.0, ux, uy, vx, vy
            count = 3
            for k in range(3):
                a, b, c_ = edge(q, i, k)
                count = cut(poly, count, a, b, c_, spare)
                poly, spare = spare, poly
                if count < 3:
                    break
            if count < 3:
                continue
            g0, gu, gv = gap[i, 0], gap[i, 1], gap[i, 2]
            m = who[i]
            x0, y0 = q[i, 0, 0], q[i, 0, 1]
            shape = (ux, uy, vx, vy, x0, y0, q[i, 1, 0] - x0, q[i, 1, 1] - y0, q[i, 2, 0] - x0, q[i, 2, 1] - y0)
            names, frame, tips, rows = (s, m, pair[start[group]]), (o, n, t1, t2), many_tips, used
            d, lowest = n, np.inf
            for k in range(min(count, CLIPPED) if poked[place[i]] else 0):
                u, v = poly[k, 0], poly[k, 1]
                g, share = g0 + gu * u + gv * v, angle_at(poly, count, k, ROUNDING * twice) / (2.0 * math.pi)
                if share == 0.0 or g < -depth or g > far:
                    continue
                put(pokes, many_tips, names, frame, shape, (u, v), g, 0.0)
                mine = on_sharp_edge(faces, rims, pokes.slave, pokes.weights, many_tips)
                other = on_sharp_edge(faces, rims, pokes.master, pokes.others, many_tips)
                if mine or other:
                    if mine and other:
                        _cross(points, faces, pokes, many_tips)
                    elif mine:
                        _push_along(points, faces, pokes, many_tips, scale(-1.0, face_normal(points, faces, m)))
                    if g < lowest:
                        d = load(pokes.normal, many_tips)
                    pokes.tip[many_tips] = part[i] * share
                    many_tips += 1
                elif g < lowest:
                    d = n
                lowest = min(lowest, g)
            for side in range(2):  # what overlaps, then what is nearly touching
                if side == 0:
                    some = cut(poly, count, g0 + depth, gu, gv, spare)
                    some = cut(spare, some, -g0, -gu, -gv, stack[0]) if some >= 3 else 0
                else:
                    some = cut(poly, count, g0, gu, gv, spare)
                    some = cut(spare, some, far - g0, -gu, -gv, stack[0]) if some >= 3 and opens(spare, some, g0, gu, gv) else 0
                area, mu, mv, muu, muv, mvv = moments(stack[0], some)
                if area <= TINY * 0.5 * twice:
                    continue
                if layered:
                    for k in range(some):
                        spare[k, 0], spare[k, 1] = stack[0, k, 0], stack[0, k, 1]
                    area, mu, mv, muu, muv, mvv = seen(spare, some, side == 0, i, size, q, gap, depth, stack, held, last)
                    if area <= TINY * 0.5 * twice:
                        continue
                cu, cv, l00, l10, l11 = quadrature(area, mu, mv, muu, muv, mvv)
                many = 3
                corners = sharp[start[group]] and not layered
                if corners:
                    corner_shares(stack[0], some, shares)
                    many = min(some, MOST_CORNERS)  # there is no room for what rounding may add
                for k in range(many):
                    share = shares[k] if corners else 1.0 / many
                    if share <= TINY:
                        continue  # on top of another
                    if corners:
                        u, v = stack[0, k, 0], stack[0, k, 1]
                    else:
                        u, v = cu + l00 * COS[k], cv + l10 * COS[k] + l11 * SIN[k]
                    put(out, used, names, frame, shape, (u, v), g0 + gu * u + gv * v, part[i] * area * share)
                    if not corners and lowest < np.inf:
                        out.area[used] *= dot(n, d)
                        _push_along(points, faces, out, used, d)
                    if corners and min(out.weights[used, 0], out.weights[used, 1], out.weights[used, 2]) < ON_EDGE:
                        out.gap[used] /= math.sqrt(1.0 + gu * gu + gv * gv)  # the slave's own edge meets the master's face along its normal
                    used += 1
            if used == rows:
                many_tips = tips
            deepest = rows
            for r in range(rows, used):
                deepest = r if out.gap[r] < out.gap[deepest] else deepest
            of[tips:many_tips] = deepest
    return used, many_tips


def sides(
    points: Floats, faces: Ints, times: Floats, found: Patches, some: np.ndarray, count: int
) -> tuple[Floats, Floats]:
    """(|sum A n| / sum A, covered share of the faces that touch) of both sides of each pair of bodies, (2, count), slaves first.

    some (r,) bool: the rows that count; those of a pair come one after the other. Tips have no area. times (f,): how large the flat side is
    that a face stands for, in rows of two such, against itself.
    """
    sums, mark = np.zeros((2, count, 5)), np.full((2, len(faces)), -1, np.int64)
    counts = some & (found.tip == 0.0)
    _sides(points, faces, times, found.slave, found.master, found.pair, found.area, found.spot, counts, sums, mark)
    area = np.maximum(sums[:, :, 3], 1e-300)
    return np.linalg.norm(sums[:, :, :3], axis=2) / area, area / np.maximum(sums[:, :, 4], 1e-300)


@kernel
def _sides(points, faces, times, slave, master, pair, area, spot, some, sums, mark):  # type: ignore[no-untyped-def]
    """Sums of A n, of A, and of the areas of all faces that have a part in it, of both sides."""
    for r in range(len(slave)):
        if not some[r]:
            continue
        _, n, _, _, twice = frame_of(points, faces, slave[r])
        _, m, _, _, other = frame_of(points, faces, master[r])
        k = pair[r]
        seen_ = area[r] / max(-dot(n, m), FACING)  # [m^2] on the master
        for side, face, normal, part, whole in ((0, slave[r], n, area[r], twice), (1, master[r], m, seen_, other)):
            for c in range(3):
                sums[side, k, c] += part * normal[c]
            sums[side, k, 3] += part
            if mark[side, face] != k:
                mark[side, face] = k
                sums[side, k, 4] += 0.5 * whole * (times[face] if spot[r] >= 0 else 1.0)
