"""What flat sides of rigid bodies share with each other and with planes (theory/patch 3.7): the polygon of two convex outlines, in rows at
its corners and a third of the way from the middle to them.

Rigid bodies give way nowhere, so the gap over the polygon is linear, and what it does is known by few integrals: of 1 and x, which
`corner_shares` meet, and of |x - c|, the arm of friction that turns about the centroid c. With rows at the corners x_k alone, shares b_k
of the area, that arm would be too long, of a square by 1.85. So a part a of all goes to places a third of the way from c to the corners:

    1 - a + a / 3 = T / sum b_k |x_k - c|,      T the mean of |x - c| over the polygon

a is 1/2 for a disc, 0.69 for a square and 3/4 for a thin strip, of which squares are met as well (Simpson's rule); those of a square are
too large by 0.16.

Sides that lie on each other in part are cut into bands of gaps, finer towards the line where they part: rows on that line stand for area
that closes at once and opens not at all, and what they stand for is what the next step is wrong by. The arm of each band is that about the
centroid of all of them.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.flats import Flats
from pliant.detect.patches import (
    FACING,
    ON_EDGE,
    ROUNDING,
    TINY,
    Patches,
    corner_shares,
    empty,
    first,
    frame_of,
    moments,
    opens,
    put,
)
from pliant.detect.penetration import ACROSS
from pliant.geometry.quaternions import load4, rotate
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

HALVINGS = 3  # of the largest depth: the polygon is cut where the gap is a half, a quarter, an eighth of it and zero, and as far open
MORE = 4 * HALVINGS + 4  # lines that cut beside the edges of both outlines: below and above each band of gaps


def on_sides(
    points: Floats, flats: Flats, slave: Ints, master: Ints, pair: Ints, deep: Floats, high: Floats, layered: Bools
) -> Patches:
    """Patches of pairs of sides (c,), sorted by pair and slave, at gaps from -deep to high [m], (c,) each. layered (k,) becomes true of
    pairs whose master has two sides behind each other, as seen from one of the slave.
    """
    size = np.diff(flats.sides.begin)
    out = empty(int(4 * (size[slave] + size[master] + MORE).sum()))
    return first(out, _on_sides(points, flats.faces, flats.sides, slave, master, pair, deep, high, layered, out))


def on_planes(points: Floats, flats: Flats, side: Ints, pair: Ints, position: Floats, rotation: Floats, high: Floats) -> Patches:
    """Patches of sides on planes where and turned as is said, (c,) each, at gaps up to high [m]."""
    out = empty(int(4 * (np.diff(flats.sides.begin)[side] + MORE).sum()))
    return first(out, _on_planes(points, flats.faces, flats.sides, side, pair, position, rotation, high, out))


def within(points: Floats, flats: Flats, found: Patches) -> None:
    """Put rows of sides on those faces that they are in, in place: as weights of the corners of the chief they may be negative."""
    _within(points, flats.faces, flats.sides, found.spot, found.slave, found.weights)
    _within(points, flats.faces, flats.sides, found.spot, found.master, found.others)


@kernel
def _within(points, faces, sides, spot, face, weights):  # type: ignore[no-untyped-def]
    for r in range(len(spot)):
        if spot[r] < 0 or face[r] < 0:
            continue
        f = face[r]
        s, best = sides.of[f], -np.inf
        x = scale(weights[r, 0], load(points, faces[f, 0]))
        for k in range(1, 3):
            x = axpy(weights[r, k], load(points, faces[f, k]), x)
        for k in range(sides.start[s], sides.start[s + 1]):
            g = sides.face[k]
            a = load(points, faces[g, 0])
            b, c, d = sub(load(points, faces[g, 1]), a), sub(load(points, faces[g, 2]), a), sub(x, a)
            n = cross(b, c)
            v, w = dot(cross(d, c), n) / dot(n, n), dot(cross(b, d), n) / dot(n, n)
            least = min(1.0 - v - w, v, w)
            if least > best:
                best, face[r] = least, g
                weights[r, 0], weights[r, 1], weights[r, 2] = 1.0 - v - w, v, w


@inline
def _outline(points, sides, s, frame, out):  # type: ignore[no-untyped-def]
    """Corners of side s in the plane of a frame, (k, 3): u, v, height; how many."""
    o, n, t1, t2 = frame
    first, many = sides.begin[s], sides.begin[s + 1] - sides.begin[s]
    for k in range(many):
        d = sub(load(points, sides.outline[first + k]), o)
        out[k, 0], out[k, 1], out[k, 2] = dot(d, t1), dot(d, t2), dot(d, n)
    return many


@inline
def _edge(q, k, many):  # type: ignore[no-untyped-def]
    """(a, b, c) of a + b u + c v, positive inside of edge k of an outline that turns clockwise."""
    j = k + 1 if k + 1 < many else 0
    ex, ey = q[j, 0] - q[k, 0], q[j, 1] - q[k, 1]
    return ex * q[k, 1] - ey * q[k, 0], ey, -ex


@inline
def _apart(p, n, q, m):  # type: ignore[no-untyped-def]
    """Whether an edge of outline p has all of q outside; what they share by rounding is nothing."""
    for k in range(n):
        a, b, c = _edge(p, k, n)
        most = -np.inf
        for j in range(m):
            most = max(most, a + b * q[j, 0] + c * q[j, 1])
        if most <= ROUNDING * (b * b + c * c):
            return True
    return False


@inline
def _cut(poly, line, count, abc, name, new, new_line):  # type: ignore[no-untyped-def]
    """Clip the polygon (u, v) to a + b u + c v >= 0; `line`: the name of the edge that leaves each corner. How many corners are left."""
    a, b, c = abc
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        s, t = a + b * poly[i, 0] + c * poly[i, 1], a + b * poly[j, 0] + c * poly[j, 1]
        if s >= 0.0:
            new[kept, 0], new[kept, 1] = poly[i, 0], poly[i, 1]
            new_line[kept] = name if s == 0.0 and t < 0.0 else line[i]
            kept += 1
        if (s > 0.0 and t < 0.0) or (s < 0.0 and t > 0.0):
            f = s / (s - t)
            new[kept, 0] = poly[i, 0] + f * (poly[j, 0] - poly[i, 0])
            new[kept, 1] = poly[i, 1] + f * (poly[j, 1] - poly[i, 1])
            new_line[kept] = name if s > 0.0 else line[i]
            kept += 1
    return kept


@inline
def _near(p, i, q, j, close):  # type: ignore[no-untyped-def]
    return (p[i, 0] - q[j, 0]) ** 2 + (p[i, 1] - q[j, 1]) ** 2 <= close * close


@inline
def _tidy(poly, line, count, close):  # type: ignore[no-untyped-def]
    """Make one of corners that are at the same place but for rounding."""
    kept = 0
    for i in range(count):
        if kept == 0 or not _near(poly, i, poly, kept - 1, close):
            poly[kept, 0], poly[kept, 1] = poly[i, 0], poly[i, 1]
            kept += 1
        line[kept - 1] = line[i]
    while kept > 1 and _near(poly, kept - 1, poly, 0, close):
        kept -= 1
    return kept


@inline
def _name(poly, line, count, k, own, n, other, m, close):  # type: ignore[no-untyped-def]
    """A number that corner k keeps from step to step: of a corner of either outline, else of the two lines that meet in it."""
    for i in range(n):
        if _near(poly, k, own, i, close):
            return i
    for i in range(m):
        if _near(poly, k, other, i, close):
            return n + i
    a, b = line[k - 1 if k > 0 else count - 1], line[k]
    return n + m + min(a, b) * (n + m + MORE) + max(a, b)


@inline
def _inner(poly, count, shares, c, area, o):  # type: ignore[no-untyped-def]
    """The part a of the area that goes to places in the polygon: the arm about o is then that of the polygon."""
    corners = inner = turn = 0.0
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        x, y, ex, ey = poly[k, 0] - o[0], poly[k, 1] - o[1], poly[j, 0] - poly[k, 0], poly[j, 1] - poly[k, 1]
        r, length = math.hypot(x, y), math.hypot(ex, ey)
        corners += shares[k] * r
        inner += shares[k] * math.hypot((2.0 * c[0] + poly[k, 0]) / 3.0 - o[0], (2.0 * c[1] + poly[k, 1]) / 3.0 - o[1])
        h, start = (x * ey - y * ex) / length, (x * ex + y * ey) / length
        end, away = start + length, abs(h)
        if away > 0.0:  # of |x - o| over the triangle of o and an edge: h / 3 of that over the edge
            turn += h / 6.0 * (end * math.hypot(h, end) - start * r + h * h * (math.asinh(end / away) - math.asinh(start / away)))
    return min(max((corners - turn / area) / max(corners - inner, 1e-300), 0.0), 1.0)


@kernel
def _rows(poly, line, count, gap, own, n, other, m, about, shares, rows, spots):  # type: ignore[no-untyped-def]
    """Rows of a polygon: (u, v, gap, share), and the number of each; how many there are, and the area of all. gap: g0, gu and gv, and by
    how much more that is than along the normal of the master; about: what is the same place, and the centroid of all bands.
    """
    close, centre = about
    count = _tidy(poly, line, count, close)
    area, mu, mv, _, _, _ = moments(poly, count)
    if count < 3 or area <= TINY * (close / ON_EDGE) ** 2:
        return 0, 0.0
    c = (mu / area, mv / area)
    corner_shares(poly, count, shares)
    part = _inner(poly, count, shares, c, area, centre)
    g0, gu, gv, tilt = gap
    for k in range(count):
        number = 2 * _name(poly, line, count, k, own, n, other, m, close)
        g = g0 + gu * poly[k, 0] + gv * poly[k, 1]
        if line[k] < n or line[k - 1 if k > 0 else count - 1] < n:
            g /= tilt  # the slave's own edge meets the master's face along its normal
        rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3], spots[k] = poly[k, 0], poly[k, 1], g, (1.0 - part) * shares[k], number
        u, v = (2.0 * c[0] + poly[k, 0]) / 3.0, (2.0 * c[1] + poly[k, 1]) / 3.0
        rows[count + k, 0], rows[count + k, 1], rows[count + k, 2], rows[count + k, 3] = u, v, g0 + gu * u + gv * v, part * shares[k]
        spots[count + k] = number + 1
    return 2 * count, area


@inline
def _begin(own, n, poly, line):  # type: ignore[no-untyped-def]
    """The slave's outline."""
    for k in range(n):
        poly[k, 0], poly[k, 1], line[k] = own[k, 0], own[k, 1], k
    return n


@inline
def _centroid(poly, count):  # type: ignore[no-untyped-def]
    """Where friction has no arm if the pressure is even; any place in a polygon without area."""
    area, mu, mv, _, _, _ = moments(poly, count)
    return (mu / area, mv / area) if abs(area) > 0.0 else (poly[0, 0], poly[0, 1])


@inline
def _deepest(poly, count, gap):  # type: ignore[no-untyped-def]
    """The largest depth of the polygon's corners, 0 if it is open."""
    most = 0.0
    for k in range(count):
        most = max(most, -(gap[0] + gap[1] * poly[k, 0] + gap[2] * poly[k, 1]))
    return most


@inline
def _level(k):  # type: ignore[no-untyped-def]
    """-1/2, -1/4, -1/8, 0, 1/8, 1/4, 1/2."""
    return 0.0 if k == HALVINGS else -(0.5 ** (k + 1)) if k < HALVINGS else 0.5 ** (2 * HALVINGS + 1 - k)


@inline
def _band(poly, line, count, band, gap, most, deep, high, lines, spare, spare_line, new, new_line):  # type: ignore[no-untyped-def]
    """The part of the polygon with gaps between two levels: how many corners it has in `new`. Lines of bands have names of their own."""
    g0, gu, gv, _ = gap
    low = -deep if band == 0 else max(_level(band - 1) * most, -deep)
    top = high if band == 2 * HALVINGS + 1 else min(_level(band) * most, high)
    if not low < top:
        return 0
    some = _cut(poly, line, count, (g0 - low, gu, gv), lines + 2 * band, spare, spare_line)
    if low >= 0.0 and (some < 3 or not opens(spare, some, g0, gu, gv)):
        return 0
    return _cut(spare, spare_line, some, (top - g0, -gu, -gv), lines + 2 * band + 1, new, new_line)


@kernel
def _on_sides(points, faces, sides, slave, master, pair, deep, high, layered, out):  # type: ignore[no-untyped-def]
    largest, together, used, begin = 0, 1, 0, 0
    for c in range(len(slave)):
        largest = max(largest, sides.begin[slave[c] + 1] - sides.begin[slave[c]], sides.begin[master[c] + 1] - sides.begin[master[c]])
        begin = c if pair[c] != pair[begin] or slave[c] != slave[begin] else begin
        together = max(together, c + 1 - begin)
    room = 2 * largest + MORE
    poly, spare, new, shares, rows = np.empty((room, 2)), np.empty((room, 2)), np.empty((room, 2)), np.empty(room), np.empty((2 * room, 4))
    line, spare_line, new_line = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    spots = np.empty(2 * room, np.int64)
    own, q = np.empty((largest, 3)), np.empty((together, largest, 3))
    many, which = np.empty(together, np.int64), np.empty(together, np.int64)
    begin = 0
    while begin < len(slave):
        end = begin + 1
        while end < len(slave) and pair[end] == pair[begin] and slave[end] == slave[begin]:
            end += 1
        f, size = sides.chief[slave[begin]], 0
        o, n, t1, t2, twice = frame_of(points, faces, f)
        frame = (o, n, t1, t2)
        mine, close = _outline(points, sides, slave[begin], frame, own), ON_EDGE * math.sqrt(twice)
        for c in range(begin, end):
            many[size] = _outline(points, sides, master[c], frame, q[size])
            low, top = np.inf, -np.inf
            for k in range(many[size]):
                low, top = min(low, q[size, k, 2]), max(top, q[size, k, 2])
            if low <= high[c] and top >= -deep[c]:
                which[size] = c
                size += 1
        for i in range(size):
            for j in range(i):
                if not (_apart(q[i], many[i], q[j], many[j]) or _apart(q[j], many[j], q[i], many[i])):
                    layered[pair[begin]] = True
        d, e = sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)
        for i in range(size):
            c = which[i]
            g = sides.chief[master[c]]
            b0, b1, b2 = load(points, faces[g, 0]), load(points, faces[g, 1]), load(points, faces[g, 2])
            level = cross(sub(b1, b0), sub(b2, b0))
            cosine = -dot(n, level) / norm(level)
            if not cosine > FACING:
                continue
            count = _begin(own, mine, poly, line)
            for k in range(many[i]):
                count = _cut(poly, line, count, _edge(q[i], k, many[i]), mine + k, spare, spare_line)
                poly, spare, line, spare_line = spare, poly, spare_line, line
                if count < 3:
                    break
            if count < 3:
                continue
            # the gap g0 + gu u + gv v is the height of the master's plane
            height = dot(sub(b0, o), level) / dot(n, level)
            gu, gv = -dot(t1, level) / dot(n, level), -dot(t2, level) / dot(n, level)
            gap = (height, gu, gv, math.sqrt(1.0 + gu * gu + gv * gv))
            d0, d1, d2 = sub(b0, o), sub(b1, b0), sub(b2, b0)
            shape = (
                dot(d, t1), dot(d, t2), dot(e, t1), dot(e, t2), dot(d0, t1), dot(d0, t2), dot(d1, t1), dot(d1, t2), dot(d2, t1), dot(d2, t2)
            )  # fmt: skip
            most, lines, centre = _deepest(poly, count, gap), mine + many[i], _centroid(poly, count)
            for band in range(2 * HALVINGS + 2):
                some = _band(poly, line, count, band, gap, most, deep[c], high[c], lines, spare, spare_line, new, new_line)
                if some < 3:
                    continue
                put_, area = _rows(new, new_line, some, gap, own, mine, q[i], many[i], (close, centre), shares, rows, spots)
                for r in range(put_):
                    if rows[r, 3] > TINY:
                        part = min(1.0, (cosine - FACING) / (ACROSS - FACING)) * area * rows[r, 3]
                        put(out, used, (f, g, pair[c]), frame, shape, (rows[r, 0], rows[r, 1]), rows[r, 2], part)
                        out.spot[used] = spots[r]
                        used += 1
        begin = end
    return used


@kernel
def _on_planes(points, faces, sides, side, pair, position, rotation, high, out):  # type: ignore[no-untyped-def]
    largest, used = 0, 0
    for s in side:
        largest = max(largest, sides.begin[s + 1] - sides.begin[s])
    room = largest + MORE
    spare, new, shares, rows = np.empty((room, 2)), np.empty((room, 2)), np.empty(room), np.empty((2 * room, 4))
    spare_line, new_line, spots = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(2 * room, np.int64)
    own, line = np.empty((largest, 3)), np.arange(room)
    for c in range(len(side)):
        up, f = rotate(load4(rotation, c), (0.0, 0.0, 1.0)), sides.chief[side[c]]
        o, n, t1, t2, twice = frame_of(points, faces, f)
        cosine = -dot(up, n)
        if cosine <= FACING:
            continue
        mine = _outline(points, sides, side[c], (o, n, t1, t2), own)
        gap = (dot(sub(o, load(position, c)), up), dot(t1, up), dot(t2, up), 1.0)
        d, e = sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)
        ux, vx, vy = dot(d, t1), dot(e, t1), dot(e, t2)
        most, about = _deepest(own, mine, gap), (ON_EDGE * math.sqrt(twice), _centroid(own, mine))
        for band in range(2 * HALVINGS + 2):
            some = _band(own, line, mine, band, gap, most, np.inf, high[c], mine, spare, spare_line, new, new_line)
            if some < 3:
                continue
            many, area = _rows(new, new_line, some, gap, own, mine, own, 0, about, shares, rows, spots)
            for r in range(many):
                if rows[r, 3] <= TINY:
                    continue
                u, v, g = rows[r, 0], rows[r, 1], rows[r, 2]
                w = v / vy
                out.slave[used], out.master[used], out.pair[used] = f, -1, pair[c]
                out.weights[used, 1], out.weights[used, 2] = (u - w * vx) / ux, w
                out.weights[used, 0] = 1.0 - out.weights[used, 1] - w
                out.others[used, 0], out.others[used, 1], out.others[used, 2] = 1.0, 0.0, 0.0
                store(out.normal, used, scale(-1.0, up))
                out.gap[used], out.area[used] = g, min(1.0, (cosine - FACING) / (ACROSS - FACING)) * area * rows[r, 3]
                store(out.at, used, axpy(-0.5 * g, up, axpy(u, t1, axpy(v, t2, o))))
                out.spot[used] = spots[r]
                used += 1
    return used
