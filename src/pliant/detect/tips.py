"""Tips of the common surface (theory/patch 3.9): corners of its polygons that are deep, where corners and edges of bodies poke.

A corner that pokes into a face shares a pyramid with it, two edges that cross share a wedge, and the area of either goes to zero with the
square of the depth: what holds them must be a row at the corner itself. It stands for its angle of the full circle around it, so that
polygons that meet in a corner have one tip together, however many they are, and a sliver has none.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.patches import (
    CORNERS,
    FACING,
    MOST_CORNERS,
    ROUNDING,
    Patches,
    Shape,
    cut,
    edge,
    empty,
    first,
    frame_of,
    shape_distance,
)
from pliant.geometry.quaternions import load4, rotate
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub


def on_meshes(points: Floats, faces: Ints, found: Patches, rim: Bools, depth: Floats, deep: Floats) -> Patches:
    """Corners, deeper than `depth` [m] (r,), of the polygons that the rows are of, up to `deep` [m] (r,), on faces at `rim`s (f,) bool.

    In place of an area each has its share of the circle, 0 to 1.
    """
    leads = _leads(found.slave, found.master, found.pair, found.gap, rim, depth)
    out = empty(MOST_CORNERS * len(leads))
    return first(out, _tips(points, faces, leads, found.slave, found.master, found.pair, depth, deep, out))


@kernel
def _leads(slave, master, pair, gap, rim, depth):  # type: ignore[no-untyped-def]
    """One row of each polygon at a rim that may have a corner so deep: a linear depth that is d at most is d / 3 in the mean at least."""
    out, used = np.empty(len(slave), np.int64), 0
    for r in range(len(slave)):
        if master[r] < 0 or not (rim[slave[r]] or rim[master[r]]) or 3.0 * -gap[r] <= depth[r]:
            continue
        last = out[used - 1] if used > 0 else -1
        if last >= 0 and slave[last] == slave[r] and master[last] == master[r] and pair[last] == pair[r]:
            continue
        out[used] = r
        used += 1
    return out[:used]


def on_shapes(points: Floats, faces: Ints, found: Patches, rim: Bools, depth: Floats, shape: Shape) -> Patches:
    """The same of faces on exact shapes, (r,): their own corners, since it is these that poke; depth -inf: all of them."""
    out = empty(3 * len(found))
    kind, parameters, position, rotation = shape
    used = _on_shapes(points, faces, found.slave, found.pair, found.gap, rim, depth, kind, parameters, position, rotation, out)
    return first(out, used)


@kernel
def _on_shapes(points, faces, slave, pair, gap, rim, depth, kind, parameters, position, rotation, out):  # type: ignore[no-untyped-def]
    used, last = 0, -1
    for r in range(len(slave)):
        s = slave[r]
        if not rim[s] or (last >= 0 and slave[last] == s and pair[last] == pair[r]):
            continue
        last, q = r, load4(rotation, r)
        _, n, _, _, twice = frame_of(points, faces, s)
        for k in range(3 if twice > 0.0 else 0):
            x = load(points, faces[s, k])
            d, m = shape_distance(kind, parameters, position, q, r, x)
            m = rotate(q, m)
            if d > -depth[r] or -dot(m, n) <= FACING:
                continue
            a, b = sub(load(points, faces[s, (k + 1) % 3]), x), sub(load(points, faces[s, (k + 2) % 3]), x)
            out.slave[used], out.master[used], out.pair[used], out.gap[used] = s, -1, pair[r], d
            out.area[used] = math.atan2(norm(cross(a, b)), dot(a, b)) / (2.0 * math.pi)
            for i in range(3):
                out.weights[used, i], out.others[used, i] = 1.0 if i == k else 0.0, 1.0 if i == 0 else 0.0
            store(out.normal, used, scale(-1.0, m))
            store(out.at, used, axpy(-0.5 * d, m, x))
            used += 1
    return used


@inline
def _angle(poly, count, k, near):  # type: ignore[no-untyped-def]
    """Between the two sides at corner k [rad], to the next corners that are not at the same place but for rounding, near [m^2]."""
    a0 = a1 = b0 = b1 = 0.0
    i = j = k
    while a0 * a0 + a1 * a1 <= near:
        i = i - 1 if i > 0 else count - 1
        if i == k:
            return 0.0
        a0, a1 = poly[i, 0] - poly[k, 0], poly[i, 1] - poly[k, 1]
    while b0 * b0 + b1 * b1 <= near:
        j = j + 1 if j + 1 < count else 0
        b0, b1 = poly[j, 0] - poly[k, 0], poly[j, 1] - poly[k, 1]
    return abs(math.atan2(a0 * b1 - a1 * b0, a0 * b0 + a1 * b1))


@kernel
def _tips(points, faces, leads, slave, master, pair, depth, deep, out):  # type: ignore[no-untyped-def]
    used = 0
    poly, spare, q, h = np.empty((CORNERS, 2)), np.empty((CORNERS, 2)), np.empty((1, 3, 2)), np.empty(3)
    for r in leads:
        s, m = slave[r], master[r]
        o, n, t1, t2, twice = frame_of(points, faces, s)
        d, e = sub(load(points, faces[s, 1]), o), sub(load(points, faces[s, 2]), o)
        ux, uy, vx, vy = dot(d, t1), dot(d, t2), dot(e, t1), dot(e, t2)
        for k in range(3):
            d = sub(load(points, faces[m, k]), o)
            q[0, k, 0], q[0, k, 1], h[k] = dot(d, t1), dot(d, t2), dot(d, n)
        x0, y0 = q[0, 0, 0], q[0, 0, 1]
        a0, a1, c0, c1 = q[0, 1, 0] - x0, q[0, 1, 1] - y0, q[0, 2, 0] - x0, q[0, 2, 1] - y0
        det = a0 * c1 - a1 * c0
        gu = ((h[1] - h[0]) * c1 - (h[2] - h[0]) * a1) / det
        gv = ((h[2] - h[0]) * a0 - (h[1] - h[0]) * c0) / det
        g0 = h[0] - gu * x0 - gv * y0
        poly[0, 0], poly[0, 1], poly[1, 0], poly[1, 1], poly[2, 0], poly[2, 1] = 0.0, 0.0, ux, uy, vx, vy
        count = 3
        for k in range(3):
            a, b, c = edge(q, 0, k)
            count = cut(poly, count, a, b, c, spare)
            poly, spare = spare, poly
        count = cut(poly, count, -g0, -gu, -gv, spare)
        inverse = 1.0 / (ux * vy - uy * vx)
        for k in range(min(count, MOST_CORNERS) if count >= 3 else 0):
            u, v = spare[k, 0], spare[k, 1]
            g, j = g0 + gu * u + gv * v, k - 1 if k > 0 else count - 1
            near = (spare[j, 0] - u) ** 2 + (spare[j, 1] - v) ** 2 <= ROUNDING * twice
            share = _angle(spare, count, k, ROUNDING * twice) / (2.0 * math.pi)
            if g > -depth[r] or g < -deep[r] or near or share == 0.0:
                continue
            out.slave[used], out.master[used], out.pair[used], out.gap[used], out.area[used] = s, m, pair[r], g, share
            w1, w2 = (u * vy - v * vx) * inverse, (ux * v - uy * u) * inverse
            out.weights[used, 0], out.weights[used, 1], out.weights[used, 2] = 1.0 - w1 - w2, w1, w2
            x, y = u - x0, v - y0
            m1, m2 = (x * c1 - y * c0) / det, (a0 * y - a1 * x) / det
            out.others[used, 0], out.others[used, 1], out.others[used, 2] = 1.0 - m1 - m2, m1, m2
            store(out.normal, used, n)
            store(out.at, used, axpy(u, t1, axpy(v, t2, axpy(0.5 * g, n, o))))
            used += 1
    return used
