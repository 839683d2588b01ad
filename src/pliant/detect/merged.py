"""Rows of contact from the quadrature points of the common surface (theory/patch 3.2): three for what a face shares with a smooth part of
a body, whatever the number of triangles there.

All points q of a face of the slave push along its normal, so what they do is known by few integrals. With the area A, centroid c and
covariance L L^T of all of them there are three points x_k of a third of the area each, as for one polygon, and linear functions phi_k with
phi_k(x_j) = 1 if j = k, else 0. Row k is the mean with the weight phi_k,

    gap, place and weights of the master's points:   3/A sum_q a_q phi_k(q) (...)_q

which is exact for motions of the slave, linear over the face, and for the resultants of those of the master; both sides' places lie on one
line along the normal. Parts of a body that meet at a sharp edge keep rows of their own, as the gap has a kink there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.patches import COS, ON_EDGE, ROUNDING, SIN, Patches, quadrature
from pliant.detect.penetration import ACROSS
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub


class Merged(NamedTuple):
    """Rows of contact between pairs of bodies, with their points: three of the slave's face first, the master's behind, negative."""

    slave: Ints  # (r,) face
    master: Ints  # (r,) one of the faces, -1 for an exact shape
    pair: Ints  # (r,) which pair of bodies
    weights: Floats  # (r, 3) of the place on the slave's face
    normal: Floats  # (r, 3) unit, out of the slave, towards the master
    gap: Floats  # [m] (r,) along the normal; negative where they overlap
    area: Floats  # [m^2] (r,)
    tip: Floats  # (r,) share of the circle around it that a tip stands for, 0 of other rows
    carried: Floats  # [m] (r,) how deep a tip is where the area around it carries all that the tip would
    at: Floats  # [m] (r, 3) in the middle between both sides
    spot: Ints  # (r,) number that a row of two flat sides keeps from step to step, -1 of others
    start: Ints  # (r + 1,) of its points
    point: Ints
    share: Floats  # weights of the points, summing to zero

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.gap)


ROWS = Merged._fields[:11]  # one entry a row


def merged(points: Floats, faces: Ints, found: Patches, anchor: Ints, alone: Bools, corner: Bools) -> Merged:
    """Rows of quadrature points; `alone` (r,): those that stay as they are; `corner` (r,): of these, those that are one where faces meet;
    anchor (r,): the point of a master that is an exact shape.
    """
    count = len(found)
    out = Merged(
        slave=np.empty(count, np.int64), master=np.empty(count, np.int64), pair=np.empty(count, np.int64), weights=np.empty((count, 3)),
        normal=np.empty((count, 3)), gap=np.empty(count), area=np.empty(count), tip=np.zeros(count), carried=np.zeros(count),
        at=np.empty((count, 3)), spot=np.full(count, -1), start=np.zeros(count + 1, np.int64), point=np.empty(12 * count, np.int64),
        share=np.empty(12 * count),
    )  # fmt: skip
    room = np.full(len(points), -1, np.int64), np.empty(3 * count, np.int64), np.empty((3 * count, 3)), np.empty((2, count), np.int64)
    met = np.full(len(points) if corner.any() else 0, -1, np.int64), np.empty(count, np.int64)
    used = _merge(points, faces, *found, anchor, alone, corner, *room, *met, out)
    rows, last = {name: getattr(out, name)[:used] for name in ROWS}, out.start[used]
    return Merged(**rows, start=out.start[: used + 1], point=out.point[:last], share=out.share[:last])


def select(rows: Merged, some: np.ndarray) -> Merged:
    """Some of them, by mask or index."""
    some = np.flatnonzero(some) if some.dtype == np.bool_ else some
    start = np.append(0, np.cumsum(np.diff(rows.start)[some]))
    point, share = np.empty(start[-1], np.int64), np.empty(start[-1])
    _pick(rows.start, rows.point, rows.share, some, start, point, share)
    return Merged(**{name: getattr(rows, name)[some] for name in ROWS}, start=start, point=point, share=share)


def joined(parts: list[Merged]) -> Merged:
    """Rows one after the other."""
    some = [part for part in parts if len(part)] or parts[:1]
    if len(some) == 1:
        return some[0]
    start = np.append(0, np.cumsum(np.concatenate([np.diff(part.start) for part in some])))
    rows = {name: np.concatenate([getattr(part, name) for part in some]) for name in (*ROWS, "point", "share")}
    return Merged(start=start, **rows)


@kernel
def _pick(start, point, share, some, out_start, out_point, out_share):  # type: ignore[no-untyped-def]
    for k in range(len(some)):
        for e in range(out_start[k + 1] - out_start[k]):
            out_point[out_start[k] + e], out_share[out_start[k] + e] = point[start[some[k]] + e], share[start[some[k]] + e]


@inline
def _outward(points, faces, f):  # type: ignore[no-untyped-def]
    """Unit normal of a face."""
    o = load(points, faces[f, 0])
    n = cross(sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o))
    length = norm(n)
    return scale(1.0 / length if length > 0.0 else 0.0, n)


@inline
def _slave_side(faces, out, used, s):  # type: ignore[no-untyped-def]
    """Put the three points of a slave's face first; returns the place behind."""
    e = out.start[used]
    for k in range(3):
        out.point[e + k], out.share[e + k] = faces[s, k], out.weights[used, k]
    return e + 3


@inline
def _corner_of(weights, q):  # type: ignore[no-untyped-def]
    """The corner of its face that a place is, 0 to 2, or -1."""
    for k in range(3):
        if weights[q, k] > 1.0 - ON_EDGE:
            return k
    return -1


@inline
def _met(points, faces, slave, pair, weights, normal, gap, area, q, last, before, out):  # type: ignore[no-untyped-def]
    """Add the area of quadrature point q to a row at the same corner of the slave, in the same plane; else say where such a row is to be
    listed: the point, -1 if it is no corner, -2 if it has been added.
    """
    k = _corner_of(weights, q)
    if k < 0:
        return -1
    p, n = faces[slave[q], k], load(normal, q)
    r, slack = last[p], ON_EDGE * norm(sub(load(points, faces[slave[q], (k + 1) % 3]), load(points, p)))
    while r >= 0:
        if (
            out.pair[r] == pair[q]
            and (out.gap[r] > 0.0) == (gap[q] > 0.0)
            and norm(sub(load(out.normal, r), n)) <= ON_EDGE
            and abs(out.gap[r] - gap[q]) <= slack
        ):
            out.area[r] += area[q]
            return -2
        r = before[r]
    return p


@inline
def _as_it_is(faces, slave, master, pair, weights, others, normal, gap, area, at, anchor, q, out, used):  # type: ignore[no-untyped-def]
    """Quadrature point q as a row."""
    m = master[q]
    out.slave[used], out.master[used], out.pair[used], out.gap[used], out.area[used] = slave[q], m, pair[q], gap[q], area[q]
    store(out.weights, used, load(weights, q))
    store(out.normal, used, load(normal, q))
    store(out.at, used, load(at, q))
    e = _slave_side(faces, out, used, slave[q])
    for k in range(3 if m >= 0 else 1):
        out.point[e], out.share[e] = faces[m, k] if m >= 0 else anchor[q], -others[q, k]
        e += 1
    out.start[used + 1] = e


@kernel
def _three(  # type: ignore[no-untyped-def]
    faces, slave, master, pair, weights, others, normal, gap, area, at, mark, listed, total, list_, out, used
):  # fmt: skip
    """Three rows for the quadrature points in `list_`, of one face; `mark`, `listed` and `total`: room for the master's points."""
    first = list_[0]
    whole = cu = cv = 0.0
    for q in list_:
        a = area[q]
        whole, cu, cv = whole + a, cu + a * weights[q, 1], cv + a * weights[q, 2]
    cu, cv = cu / whole, cv / whole
    uu = uv = vv = 0.0
    for q in list_:
        u, v = weights[q, 1] - cu, weights[q, 2] - cv
        uu, uv, vv = uu + area[q] * u * u, uv + area[q] * u * v, vv + area[q] * v * v
    _, _, l00, l10, l11 = quadrature(whole, 0.0, 0.0, uu, uv, vv)
    if l11 * l11 <= ROUNDING * 2.0 * vv / whole:
        l11 = 0.0  # all on one line
    for k in range(3):
        row = used + k
        out.slave[row], out.master[row], out.pair[row] = slave[first], master[first], pair[first]
        out.area[row], out.gap[row] = whole / 3.0, 0.0
        store(out.normal, row, load(normal, first))
        store(out.at, row, (0.0, 0.0, 0.0))
        u, v = cu + l00 * COS[k], cv + l10 * COS[k] + l11 * SIN[k]
        out.weights[row, 0], out.weights[row, 1], out.weights[row, 2] = 1.0 - u - v, u, v
    count = 0
    for q in list_:
        y1 = (weights[q, 1] - cu) / l00 if l00 > 0.0 else 0.0
        y2 = (weights[q, 2] - cv - l10 * y1) / l11 if l11 > 0.0 else 0.0
        share = 3.0 * area[q] / whole
        part = (share * (1.0 + 2.0 * y1) / 3.0, share * (1.0 - y1 + 2.0 * SIN[1] * y2) / 3.0, share * (1.0 - y1 + 2.0 * SIN[2] * y2) / 3.0)
        for k in range(3):
            out.gap[used + k] += part[k] * gap[q]
            store(out.at, used + k, axpy(part[k], load(at, q), load(out.at, used + k)))
        for c in range(3):
            p = faces[master[q], c]
            if mark[p] < 0:
                mark[p], listed[count] = count, p
                store(total, count, (0.0, 0.0, 0.0))
                count += 1
            store(total, mark[p], axpy(others[q, c], part, load(total, mark[p])))
    for k in range(3):
        e = _slave_side(faces, out, used + k, slave[first])
        for c in range(count):
            out.point[e], out.share[e] = listed[c], -total[c, k]
            e += 1
        out.start[used + k + 1] = e
    for c in range(count):
        mark[listed[c]] = -1


@kernel
def _merge(  # type: ignore[no-untyped-def]
    points, faces, slave, master, pair, weights, others, normal, gap, area, at, tip, carried, spot, anchor, alone, corner, mark, listed,
    total, room, last, before, out,
):  # fmt: skip
    """`last` (p,) and `before` (r,): rows at each corner, for those that meet there."""
    used = first = 0
    todo, list_ = room[0], room[1]
    while first < len(slave):
        end = first + 1
        while end < len(slave) and slave[end] == slave[first] and pair[end] == pair[first] and not (alone[first] or alone[end]):
            end += 1
        left = end - first
        for k in range(left):
            todo[k] = first + k
        while left > 0:
            leader, count, more = todo[0], 0, 0
            for k in range(left):  # as near as the first, and not beyond a sharp edge
                q = todo[k]
                like = k == 0 or (
                    (gap[q] > 0.0) == (gap[leader] > 0.0)
                    and (
                        master[q] == master[leader]
                        or dot(_outward(points, faces, master[q]), _outward(points, faces, master[leader])) > ACROSS
                    )
                )
                if like:
                    list_[count] = q
                    count += 1
                else:
                    todo[more] = q
                    more += 1
            left = more
            if count > 3:
                _three(
                    faces, slave, master, pair, weights, others, normal, gap, area, at, mark, listed, total, list_[:count], out, used
                )  # fmt: skip
                used += 3
                continue
            for k in range(count):
                q = list_[k]
                p = _met(points, faces, slave, pair, weights, normal, gap, area, q, last, before, out) if corner[q] and spot[q] < 0 else -1
                if p == -2:
                    continue
                _as_it_is(faces, slave, master, pair, weights, others, normal, gap, area, at, anchor, q, out, used)
                out.tip[used], out.carried[used], out.spot[used] = tip[q], carried[q], spot[q]
                if p >= 0:
                    before[used], last[p] = last[p], used
                used += 1
        first = end
    return used
