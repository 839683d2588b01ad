"""The surface that bodies share with exact shapes, and its tips (theory/patch 3.4, 3.9).

The slave's triangle is cut into sixteen, on each of which the signed distance is taken as linear; moments are gathered over the whole
triangle, and gap and normal of a row are those of the exact distance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.patches import (
    CORNERS,
    COS,
    FACING,
    SIN,
    TINY,
    Patches,
    Rims,
    corner_shares,
    cut,
    empty,
    first,
    frame_of,
    moments,
    opens,
    plus6,
    quadrature,
)
from pliant.detect.penetration import ACROSS
from pliant.detect.shapes import BALL, CYLINDER, PLANE, signed_distance
from pliant.geometry.quaternions import load4, rotate, rotate_back
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

PARTS = 4  # of an edge of a face on an exact shape, whose distance is taken as linear on each sixteenth of the face
SPOT = 1e-8  # of the radius of a ball: what only just touches it has an area too


class Shape(NamedTuple):
    """An exact shape for each pair of bodies."""

    kind: Ints  # (k,) model.ANALYTIC
    parameters: Floats  # (k, 3) [m]
    position: Floats  # (k, 3) [m]
    rotation: Floats  # (k, 4)


def on_shapes(
    points: Floats, faces: Ints, start: Ints, end: Ints, pair: Ints, shape: Shape, high: Floats, rigid: np.ndarray, few: Bools,
    but: Bools, split: int = PARTS,
) -> Patches:  # fmt: skip
    """Patches of the faces start : end of slaves on exact shapes, (k,) each; `rigid`: rows at corners on planes, in one point on balls;
    `few`: without the faces `but` (f,). split: parts of an edge.
    """
    kind, parameters, position, rotation = shape
    most = np.where(rigid & (kind == PLANE), 9, 6)  # a triangle has up to four corners behind one cut, five between two
    out = empty(int((most * (end - start)).sum()))
    return first(out, _on_shapes(points, faces, start, end, pair, kind, parameters, position, rotation, high, rigid, few, but, split, out))


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
def _on_shapes(  # type: ignore[no-untyped-def]
    points, faces, start, end, pair, kind, parameters, position, rotation, high, rigid, few, but, split, out
):
    used = 0
    room, g = np.empty((3, CORNERS, 2)), np.empty((split + 1, split + 1))
    for c in range(len(start)):
        up, middle = rotate(load4(rotation, c), (0.0, 0.0, 1.0)), load(position, c)
        for s in range(start[c], end[c]):
            if few[c] and but[s]:
                continue
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


def tips_on_shapes(points: Floats, faces: Ints, found: Patches, rims: Rims, shape: Shape, some: Bools) -> Patches:
    """Tips of the faces of some of these rows (r,): their corners on sharp edges, since it is these that poke into a shape."""
    out = empty(3 * int(some.sum()))
    kind, parameters, position, rotation = shape
    used = _tips(points, faces, found.slave, found.pair, some, rims, kind, parameters, position, rotation, out)
    return first(out, used)


@kernel
def _tips(points, faces, slave, pair, some, rims, kind, parameters, position, rotation, out):  # type: ignore[no-untyped-def]
    used, last = 0, -1
    for r in range(len(slave)):
        s = slave[r]
        if not (some[r] and rims.face[s]) or (last >= 0 and slave[last] == s and pair[last] == pair[r]):
            continue
        last, q = r, load4(rotation, r)
        _, n, _, _, twice = frame_of(points, faces, s)
        for k in range(3 if twice > 0.0 else 0):
            if not rims.node[faces[s, k]]:
                continue
            x = load(points, faces[s, k])
            d, m = shape_distance(kind, parameters, position, q, r, x)
            m = rotate(q, m)
            cosine = -dot(m, n)
            if cosine <= FACING:
                continue
            a, b = sub(load(points, faces[s, (k + 1) % 3]), x), sub(load(points, faces[s, (k + 2) % 3]), x)
            out.slave[used], out.master[used], out.pair[used], out.gap[used], out.area[used] = s, -1, pair[r], d, 0.0
            part = min(1.0, (cosine - FACING) / (ACROSS - FACING))
            out.tip[used] = part * math.atan2(norm(cross(a, b)), dot(a, b)) / (2.0 * math.pi)
            for i in range(3):
                out.weights[used, i], out.others[used, i] = 1.0 if i == k else 0.0, 1.0 if i == 0 else 0.0
            store(out.normal, used, scale(-1.0, m))
            store(out.at, used, axpy(-0.5 * d, m, x))
            used += 1
    return used
