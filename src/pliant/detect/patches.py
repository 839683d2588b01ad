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

Against an exact shape the slave's triangle is cut into sixteen, on each of which the signed distance is taken as linear; moments are
gathered over the whole triangle, and gap and normal of a row are those of the exact distance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.penetration import ACROSS
from pliant.detect.shapes import BALL, CYLINDER, PLANE, signed_distance
from pliant.geometry.quaternions import load4, rotate, rotate_back
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

# cosine between one normal and the other turned round: triangles below FACING do not face each other, those above ACROSS do so with all
# of their area, and in between it grows, so that a face that turns makes no jump. At crossed edges of boxes it is 0.5.
FACING = 0.3
CORNERS = 24  # room for the corners of a polygon: 3 of a triangle, one for each of 5 cuts, the rest for cutting off what is hidden
ON_EDGE = 1e-9  # weight of a place on a triangle that is on its edge but for rounding
MOST_CORNERS = 8  # of a polygon: 3 of a triangle, one more for each of 5 cuts
PARTS = 4  # of an edge of a face on an exact shape, whose distance is taken as linear on each sixteenth of the face
PIECES = 64  # room for the pieces that hidden parts leave of a polygon; beyond either a piece stays whole
ROUNDING = 1e-12  # of the square of an edge: triangles that overlap by no more are neighbours
SPOT = 1e-8  # of the radius of a ball: what only just touches it has an area too
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

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.gap)


def empty(count: int) -> Patches:
    """Rows to be filled."""
    return Patches(
        slave=np.empty(count, np.int64), master=np.empty(count, np.int64), pair=np.empty(count, np.int64), weights=np.empty((count, 3)),
        others=np.empty((count, 3)), normal=np.empty((count, 3)), gap=np.empty(count), area=np.empty(count), at=np.empty((count, 3)),
    )  # fmt: skip


def select(patches: Patches, rows: np.ndarray) -> Patches:
    """Some of them, by mask or index."""
    some = rows.nonzero()[0] if rows.dtype == np.bool_ else rows
    return Patches(*[each.take(some, 0) for each in patches])


def first(patches: Patches, count: int) -> Patches:
    """The first rows."""
    return Patches(*[each[:count] for each in patches])


def joined(parts: list[Patches]) -> Patches:
    """Rows one after the other."""
    if len(parts) < 2:
        return parts[0] if parts else empty(0)
    return Patches(*[np.concatenate(each) for each in zip(*parts, strict=True)])


def facing(
    points: Floats, faces: Ints, slave: Ints, master: Ints, pair: Ints, deep: Floats, high: Floats, sharp: np.ndarray
) -> Patches:
    """Patches of candidate pairs of triangles (c,): what they share at gaps from -deep to high [m], (c,) each; `sharp`: rows at corners.

    Where two triangles of a master lie behind each other, seen along the slave's normal, each point of the slave belongs to the nearer one.
    """
    order = np.lexsort((master, slave, pair))
    slave, master, pair = slave[order], master[order], pair[order]
    begins = np.diff(slave, prepend=-1) != 0
    begins[1:] |= np.diff(pair) != 0
    start = np.append(np.flatnonzero(begins), len(slave))
    out = empty(6 * int((~sharp).sum()) + 2 * MOST_CORNERS * int(sharp.sum()))
    return first(out, _facing(points, faces, start, slave, master, pair, deep[order], high[order], sharp[order], out))


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


@kernel
def _facing(points, faces, start, slave, master, pair, deep, high, sharp, out):  # type: ignore[no-untyped-def]
    used = 0
    most = 1
    for k in range(len(start) - 1):
        most = max(most, start[k + 1] - start[k])
    poly, spare = np.empty((CORNERS, 2)), np.empty((CORNERS, 2))
    stack, held, last = np.empty((PIECES, CORNERS, 2)), np.zeros(PIECES, np.int64), np.empty((CORNERS, 2))
    q, h, gap, who = np.empty((most, 3, 2)), np.empty(3), np.empty((most, 3)), np.empty(most, np.int64)
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
            a0, a1, c0, c1 = q[i, 1, 0] - x0, q[i, 1, 1] - y0, q[i, 2, 0] - x0, q[i, 2, 1] - y0
            det = a0 * c1 - a1 * c0
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
                inverse = 1.0 / (ux * vy - uy * vx)
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
                    out.slave[used], out.master[used], out.pair[used] = s, m, pair[start[group]]
                    w1, w2 = (u * vy - v * vx) * inverse, (ux * v - uy * u) * inverse
                    out.weights[used, 0], out.weights[used, 1], out.weights[used, 2] = 1.0 - w1 - w2, w1, w2
                    x, y = u - x0, v - y0
                    m1, m2 = (x * c1 - y * c0) / det, (a0 * y - a1 * x) / det
                    out.others[used, 0], out.others[used, 1], out.others[used, 2] = 1.0 - m1 - m2, m1, m2
                    store(out.normal, used, n)
                    g = g0 + gu * u + gv * v
                    store(out.at, used, axpy(u, t1, axpy(v, t2, axpy(0.5 * g, n, o))))
                    if corners and min(w1, w2, 1.0 - w1 - w2) < ON_EDGE:
                        g /= math.sqrt(1.0 + gu * gu + gv * gv)  # the slave's own edge meets the master's face along the face's normal
                    out.gap[used], out.area[used] = g, part[i] * area * share
                    used += 1
    return used


def sides(points: Floats, faces: Ints, found: Patches, some: np.ndarray, count: int) -> tuple[Floats, Floats]:
    """(|sum A n| / sum A, covered share of the faces that touch) of both sides of each pair of bodies, (2, count), slaves first.

    some (r,) bool: the rows that count; those of a pair come one after the other.
    """
    sums, mark = np.zeros((2, count, 5)), np.full((2, len(faces)), -1, np.int64)
    _sides(points, faces, found.slave, found.master, found.pair, found.area, some, sums, mark)
    area = np.maximum(sums[:, :, 3], 1e-300)
    return np.linalg.norm(sums[:, :, :3], axis=2) / area, area / np.maximum(sums[:, :, 4], 1e-300)


@kernel
def _sides(points, faces, slave, master, pair, area, some, sums, mark):  # type: ignore[no-untyped-def]
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
                sums[side, k, 4] += 0.5 * whole


class Shape(NamedTuple):
    """An exact shape for each pair of bodies."""

    kind: Ints  # (k,) model.ANALYTIC
    parameters: Floats  # (k, 3) [m]
    position: Floats  # (k, 3) [m]
    rotation: Floats  # (k, 4)


def on_shapes(
    points: Floats, faces: Ints, start: Ints, end: Ints, pair: Ints, shape: Shape, high: Floats, rigid: np.ndarray, split: int = PARTS
) -> Patches:
    """Patches of the faces start : end of slaves on exact shapes, (k,) each; `rigid`: rows at corners on planes, in one point on balls.

    split: parts of an edge.
    """
    kind, parameters, position, rotation = shape
    most = np.where(rigid & (kind == PLANE), 9, 6)  # a triangle has up to four corners behind one cut, five between two
    out = empty(int((most * (end - start)).sum()))
    return first(out, _on_shapes(points, faces, start, end, pair, kind, parameters, position, rotation, high, rigid, split, out))


@inline
def shape_distance(kind, parameters, position, q, c, x):  # type: ignore[no-untyped-def]
    """(signed distance, unit normal in its own frame) of the exact shape c at x."""
    local = rotate_back(q, sub(x, load(position, c)))
    return signed_distance(kind[c], parameters[c, 0], parameters[c, 1], parameters[c, 2], local)


@inline
def _other_way(parameters, position, q, c, x):  # type: ignore[no-untyped-def]
    """(signed distance, normal in its own frame) of x in cylinder c to the farther one of its side and the nearer end."""
    p = rotate_back(q, sub(x, load(position, c)))
    radial = math.sqrt(p[0] * p[0] + p[1] * p[1])
    side, end = radial - parameters[c, 0], abs(p[2]) - parameters[c, 1]
    if side >= end or radial == 0.0:
        return end, (0.0, 0.0, math.copysign(1.0, p[2]))
    return side, (p[0] / radial, p[1] / radial, 0.0)


@kernel
def _on_shapes(points, faces, start, end, pair, kind, parameters, position, rotation, high, rigid, split, out):  # type: ignore[no-untyped-def]
    used = 0
    room, g = np.empty((3, CORNERS, 2)), np.empty((split + 1, split + 1))
    for c in range(len(start)):
        up, middle = rotate(load4(rotation, c), (0.0, 0.0, 1.0)), load(position, c)
        for s in range(start[c], end[c]):
            if kind[c] == PLANE and _above(points, faces, s, middle, up, high[c]):
                continue
            if rigid[c] and kind[c] == BALL:
                used = _on_ball(points, faces, s, pair[c], load(position, c), parameters[c, 0], high[c], out, used)
                continue
            sharp = rigid[c] and kind[c] == PLANE
            used = _on_shape(points, faces, s, c, pair, kind, parameters, position, rotation, high, sharp, split, room, g, out, used)
    return used


@inline
def _above(points, faces, s, middle, up, high):  # type: ignore[no-untyped-def]
    """Whether a face is all farther than `high` above a plane."""
    a, b, c = sub(load(points, faces[s, 0]), middle), sub(load(points, faces[s, 1]), middle), sub(load(points, faces[s, 2]), middle)
    return min(dot(a, up), dot(b, up), dot(c, up)) > high


@kernel
def _on_ball(points, faces, s, pair, centre, radius, high, out, used):  # type: ignore[no-untyped-def]
    """The row of a face of a rigid body on a rigid ball, at the place nearest to its centre: both give way nowhere, and touch there.

    Its area is what the ball has of a plane at that depth, so that where two faces meet no edge is felt.
    """
    a, b, c = load(points, faces[s, 0]), load(points, faces[s, 1]), load(points, faces[s, 2])
    w = closest_on_triangle(centre, a, b, c)
    x = axpy(w[0], a, axpy(w[1], b, scale(w[2], c)))
    away, n = sub(centre, x), cross(sub(b, a), sub(c, a))
    distance, twice = norm(away), norm(n)
    gap = distance - radius
    if gap > high or distance == 0.0 or twice == 0.0:
        return used
    cosine = dot(away, n) / (distance * twice)
    if cosine <= FACING:
        return used
    tall = max(-gap if gap < 0.0 else high - gap, SPOT * radius)  # without overlap what lies below `high`
    out.slave[used], out.master[used], out.pair[used] = s, -1, pair
    out.weights[used, 0], out.weights[used, 1], out.weights[used, 2] = w
    out.others[used, 0], out.others[used, 1], out.others[used, 2] = 1.0, 0.0, 0.0
    store(out.normal, used, scale(1.0 / distance, away))
    out.gap[used], out.area[used] = gap, min(1.0, (cosine - FACING) / (ACROSS - FACING)) * 2.0 * math.pi * radius * tall
    store(out.at, used, axpy(0.5 * gap / distance, away, x))
    return used + 1


@kernel
def _on_shape(  # type: ignore[no-untyped-def]
    points, faces, s, c, pair, kind, parameters, position, rotation, high, sharp, split, room, g, out, used
):
    """Rows of one face on one shape, from place `used`; returns the place behind them. `room` and `g`: scratch."""
    o, n, t1, t2, twice = frame_of(points, faces, s)
    if twice == 0.0:
        return used
    q = load4(rotation, c)
    x1, x2 = sub(load(points, faces[s, 1]), o), sub(load(points, faces[s, 2]), o)
    middle = axpy(1.0 / 3.0, add(x1, x2), o)
    d, _ = shape_distance(kind, parameters, position, q, c, middle)
    if d > high[c] + max(norm(sub(middle, o)), norm(sub(axpy(1.0, x1, o), middle)), norm(sub(axpy(1.0, x2, o), middle))):
        return used  # a distance changes no faster than the place
    parts = 1 if kind[c] == PLANE else split  # the distance to a plane is linear
    poly, piece, spare, shares = room[0], room[1], room[2], np.empty(CORNERS)
    least = np.inf
    for i in range(parts + 1):
        for j in range(parts + 1 - i):
            x = axpy(i / parts, x1, axpy(j / parts, x2, o))
            d, _ = shape_distance(kind, parameters, position, q, c, x)
            g[i, j] = d
            least = min(least, d)
    if least > high[c]:
        return used
    ux, vx, vy = dot(x1, t1), dot(x2, t1), dot(x2, t2)
    below, near = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    g0 = gu = gv = 0.0
    for i in range(parts):
        for j in range(parts - i):
            for half in range(2 if i + j + 2 <= parts else 1):
                if half == 0:
                    ia, ja, ib, jb, ic, jc = i, j, i + 1, j, i, j + 1
                else:
                    ia, ja, ib, jb, ic, jc = i + 1, j + 1, i, j + 1, i + 1, j
                ga, gb, gc = g[ia, ja], g[ib, jb], g[ic, jc]
                if min(ga, gb, gc) > high[c]:
                    continue
                ax, ay = (ia * ux + ja * vx) / parts, ja * vy / parts
                bx, by = (ib * ux + jb * vx) / parts, jb * vy / parts
                cx, cy = (ic * ux + jc * vx) / parts, jc * vy / parts
                poly[0, 0], poly[0, 1], poly[1, 0], poly[1, 1], poly[2, 0], poly[2, 1] = ax, ay, bx, by, cx, cy
                det = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
                gu = ((gb - ga) * (cy - ay) - (gc - ga) * (by - ay)) / det
                gv = ((gc - ga) * (bx - ax) - (gb - ga) * (cx - ax)) / det
                g0 = ga - gu * ax - gv * ay
                under = moments(piece, cut(poly, 3, -g0, -gu, -gv, piece))
                count = cut(poly, 3, g0, gu, gv, piece)
                count = cut(piece, count, high[c] - g0, -gu, -gv, spare) if opens(piece, count, g0, gu, gv) else 0
                over = moments(spare, count)
                below, near = plus6(below, under), plus6(near, over)
    for side in range(2):
        area, mu, mv, muu, muv, mvv = below if side == 0 else near
        if area <= TINY * 0.5 * twice:
            continue
        cu, cv, l00, l10, l11 = quadrature(area, mu, mv, muu, muv, mvv)
        many = 3
        if sharp and side == 0:
            many = min(cut(poly, 3, -g0, -gu, -gv, piece), 4)
        elif sharp:
            many = min(cut(spare, cut(poly, 3, g0, gu, gv, spare), high[c] - g0, -gu, -gv, piece), 5)
        if sharp:
            corner_shares(piece, many, shares)
        for k in range(many):
            share = shares[k] if sharp else 1.0 / many
            if share <= TINY:
                continue
            if sharp:
                u, v = piece[k, 0], piece[k, 1]
            else:
                u, v = cu + l00 * COS[k], cv + l10 * COS[k] + l11 * SIN[k]
            x = axpy(u, t1, axpy(v, t2, o))
            d, m = shape_distance(kind, parameters, position, q, c, x)
            m = rotate(q, m)
            cosine = -dot(m, n)
            if cosine <= FACING and kind[c] == CYLINDER and d < 0.0:  # near its rim the other of side and end may be what faces
                d, m = _other_way(parameters, position, q, c, x)
                m = rotate(q, m)
                cosine = -dot(m, n)
            if cosine <= FACING:
                continue
            w2 = v / vy
            w1 = (u - w2 * vx) / ux
            out.slave[used], out.master[used], out.pair[used] = s, -1, pair[c]
            out.weights[used, 0], out.weights[used, 1], out.weights[used, 2] = 1.0 - w1 - w2, w1, w2
            out.others[used, 0], out.others[used, 1], out.others[used, 2] = 1.0, 0.0, 0.0
            store(out.normal, used, scale(-1.0, m))
            out.gap[used], out.area[used] = d, min(1.0, (cosine - FACING) / (ACROSS - FACING)) * area * share
            store(out.at, used, axpy(-0.5 * d, m, x))
            used += 1
    return used
