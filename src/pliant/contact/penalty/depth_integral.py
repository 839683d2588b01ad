"""How far pairs of features press into each other during a step: the integral that a penalty impulse is made of.

With N(t) = e x f, P(t) = N.r and L = |N| the gap of a pair is sigma P / L and its normal sigma N / L (theory/penalty 5.2; the weights
drop out, because the foot lies in the plane of the features), so that
    I = -k dt  integral of P N / L^2  over the times in which sigma P < 0.
`exact` takes L(t) as it is, by Gauss-Legendre with four points an interval, in pieces where L^2 varies by more than 1.4 times;
`constant` puts L_k^2 = (L_0 + ... + L_4) / 5 in its place as the thesis does, whose integrand is a polynomial that four points
integrate exactly. Discrete is the depth and normal at the end of the step, for all of it (theory/penalty 5.1).

Where N passes (nearly) through zero a direction cannot be integrated: the pair takes the normal of the time at which |N| is largest
and its depth at the end. Such pairs are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.blended_normals import blended
from pliant.contact.penalty.edges import edge_states
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.coplanar_times import normal_and_cubic
from pliant.detect.time_of_impact import bernstein, corners_of, critical_points, frame, root_between, value
from pliant.kernels import axpy, contiguous, cross, dot, inline, parallel, prange, scale, store, use_threads

DISCRETE, EXACT, CONSTANT = 0, 1, 2
WIDE = 1.4  # most / least L^2 of a piece that four points integrate: to nine digits of the impulse
PIECES = 128  # at most; where L^2 still varies more in one of them, N passes through (nearly) zero
FLAT = 1e-12  # |N|^2 / (|e|^2 |f|^2) below which there is no normal, to rounding
NODES, SHARES = np.polynomial.legendre.leggauss(4)  # on [-1, 1]


class Pressed(NamedTuple):
    """What records do in a step; the impulse on A is stiffness x dt x push."""

    push: Floats  # [m] (r, 3) minus the integral of gap times normal over the times of penetration, in units of the step
    time: Floats  # (r,) share of the step in contact
    lever: Floats  # (r,) integral of t over those times: how much of what an impulse does falls into them
    gap: Floats  # [m] (r,) at the end of the step
    normal: Floats  # (r, 3) unit, at the end of the step, out of B; zero if there is none
    guarded: np.ndarray  # (r,) bool: the normal could not be integrated

    @property
    def size(self) -> Floats:
        return np.linalg.norm(self.push, axis=1)

    def direction(self) -> Floats:
        """Mean normal, along which the impulse acts; that at the end where nothing presses."""
        size = self.size[:, None]
        return np.where(size > 0.0, self.push / np.where(size > 0.0, size, 1.0), self.normal)


@dataclass
class Known:
    """Gaps and normals of records that are not made from the planes of their features: points with exact shapes."""

    rows: np.ndarray  # (r,) bool: for which records
    before: Floats  # [m] (r,) gap at the start of the step
    after: Floats  # [m] (r,) and at its end
    normal: Floats  # (r, 3) at its end

    @staticmethod
    def joined(parts: list[Known]) -> Known:
        return Known(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("rows", "before", "after", "normal")))


@inline
def factors(n, x, y, low, high):  # type: ignore[no-untyped-def]
    """Bernstein coefficients L_0 ... L_4 on [low, high] of L^2 = |n + t x + t^2 y|^2."""
    a = (n[0] + low * (x[0] + low * y[0]), n[1] + low * (x[1] + low * y[1]), n[2] + low * (x[2] + low * y[2]))
    b = axpy(0.5 * (high - low), axpy(2.0 * low, y, x), a)
    c = (n[0] + high * (x[0] + high * y[0]), n[1] + high * (x[1] + high * y[1]), n[2] + high * (x[2] + high * y[2]))
    return dot(a, a), dot(a, b), (2.0 * dot(b, b) + dot(a, c)) / 3.0, dot(b, c), dot(c, c)


@inline
def quadrature(n, x, y, p, square, blend, other, low, high):  # type: ignore[no-untyped-def]
    """Minus the integral of P N / L^2 over [low, high]; `square` > 0 stands for L^2, else L^2 as it is.

    blend > 0: the normal is turned that share towards the unit vector `other` (theory/penalty 5.9).
    """
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    g0, g1, g2 = 0.0, 0.0, 0.0
    for k in range(4):
        t = middle + half * NODES[k]
        u, v, w = n[0] + t * (x[0] + t * y[0]), n[1] + t * (x[1] + t * y[1]), n[2] + t * (x[2] + t * y[2])
        ll = u * u + v * v + w * w
        f = -SHARES[k] * half * (p[0] + t * (p[1] + t * (p[2] + t * p[3]))) / (square if square > 0.0 else ll)
        if blend > 0.0:
            side = 1.0 if f >= 0.0 else -1.0
            length = math.sqrt(ll)
            c = blended(blend, (side * u / length, side * v / length, side * w / length), other)
            f = abs(f) * length / math.sqrt(dot(c, c))
            u, v, w = c
        g0, g1, g2 = g0 + f * u, g1 + f * v, g2 + f * w
    return g0, g1, g2


@inline
def sweep(n, x, y, p, square, floor, blend, other, low, high):  # type: ignore[no-untyped-def]
    """(quadrature over [low, high], whether N stays away from zero); in pieces in which L^2 varies by no more than WIDE."""
    if square > 0.0:
        return quadrature(n, x, y, p, square, blend, other, low, high), True
    push, good = (0.0, 0.0, 0.0), True
    done, size, t = 0, PIECES, low  # pieces behind us and in this one
    while done < PIECES:
        size = min(size, PIECES - done)
        end = high if done + size == PIECES else low + (done + size) * (high - low) / PIECES
        l0, l1, l2, l3, l4 = factors(n, x, y, t, end)
        least, most = min(min(min(l0, l1), min(l2, l3)), l4), max(max(max(l0, l1), max(l2, l3)), l4)
        if (least <= floor or most > WIDE * least) and size > 1:
            size //= 2
            continue
        good = good and least > floor
        g = quadrature(n, x, y, p, 0.0, blend, other, t, end)
        push = (push[0] + g[0], push[1] + g[1], push[2] + g[2])
        done, t, size = done + size, end, 2 * size
    return push, good


@inline
def integrate(n, x, y, p, sigma, since, square, floor, blend, other):  # type: ignore[no-untyped-def]
    """(push, time, lever, good) over the times in [since, 1] at which sigma P < 0: at most two intervals, P having at most three roots."""
    b = bernstein(p)
    b = (sigma * b[0], sigma * b[1], sigma * b[2], sigma * b[3])
    push, time, lever, good = (0.0, 0.0, 0.0), 0.0, 0.0, True
    if min(min(b[0], b[1]), min(b[2], b[3])) >= 0.0:
        return push, time, lever, good
    if since <= 0.0 and max(max(b[0], b[1]), max(b[2], b[3])) < 0.0:
        push, good = sweep(n, x, y, p, square, floor, blend, other, 0.0, 1.0)
        return push, 1.0, 0.5, good
    noise = 1e-15 * max(max(abs(b[0]), abs(b[1])), max(abs(b[2]), abs(b[3])))
    middle, late = critical_points(b)
    t0, v0 = max(since, 0.0), value(b, max(since, 0.0))
    low = t0  # where the open interval began
    for k in range(3):
        t1 = middle if k == 0 else (late if k == 1 else 1.0)
        if t1 <= t0 and k < 2:
            continue
        v1 = value(b, t1)
        high = -1.0  # where it ends, if it does in this piece
        if (v0 < 0.0) != (v1 < 0.0):
            root = root_between(b, t0, t1, v0, v1, noise)
            if v0 < 0.0:
                high = root
            else:
                low = root
        if high < 0.0 and k == 2 and v1 < 0.0:
            high = 1.0
        if high > low:
            g, fine = sweep(n, x, y, p, square, floor, blend, other, low, high)
            good = good and fine
            push = (push[0] + g[0], push[1] + g[1], push[2] + g[2])
            time += high - low
            lever += 0.5 * (high * high - low * low)
        t0, v0 = t1, v1
    return push, time, lever, good


@inline
def largest_normal(n, x, y):  # type: ignore[no-untyped-def]
    """N at the one of the times 0, 1/2 and 1 at which it is longest."""
    m = axpy(0.25, y, axpy(0.5, x, n))
    o = (n[0] + x[0] + y[0], n[1] + x[1] + y[1], n[2] + x[2] + y[2])
    best = n if dot(n, n) >= dot(m, m) else m
    return best if dot(best, best) >= dot(o, o) else o


@parallel
def press(mode, pairs, since, blend, other, start, end, push, time, lever, gap, normal, guarded):  # type: ignore[no-untyped-def]
    """Fill in the rows of vertex-face and edge-edge records; discrete where `mode` is DISCRETE."""
    for i in prange(len(since)):
        if pairs.kind[i] == VERTEX_SHAPE:
            continue
        face = pairs.kind[i] != EDGE_EDGE
        begin, last = frame(face, corners_of(start, pairs.corners, i)), frame(face, corners_of(end, pairs.corners, i))
        n = cross(last[0], last[1])
        square = dot(n, n)
        size = dot(last[0], last[0]) * dot(last[1], last[1])
        flat = square <= FLAT * size
        towards = (other[i, 0], other[i, 1], other[i, 2])
        share = blend if dot(towards, towards) > 0.0 else 0.0
        if mode != DISCRETE:
            m, x, y, p = normal_and_cubic(begin, last)
            given = 0.0
            if mode == CONSTANT:
                l0, l1, l2, l3, l4 = factors(m, x, y, 0.0, 1.0)
                given = 0.2 * (l0 + l1 + l2 + l3 + l4)
            g, time[i], lever[i], good = integrate(m, x, y, p, pairs.sigma[i], since[i], given, FLAT * size, share, towards)
            if good and not flat:
                store(normal, i, scale(pairs.sigma[i] / math.sqrt(square), n))
                gap[i] = pairs.sigma[i] * dot(n, last[2]) / math.sqrt(square)
                store(push, i, g)
                continue
            guarded[i] = True
            n = largest_normal(m, x, y)
            square = dot(n, n)
            flat = square == 0.0
            time[i], lever[i] = 0.0, 0.0
        if flat:
            continue
        n = scale(pairs.sigma[i] / math.sqrt(square), n)
        store(normal, i, n)
        gap[i] = dot(n, last[2])
        if gap[i] < 0.0:
            if share > 0.0:
                n = blended(share, n, towards)
                n = scale(1.0 / math.sqrt(dot(n, n)), n)
            store(push, i, scale(-gap[i], n))
            time[i], lever[i] = 1.0, 1.0


def linear_push(before: Floats, after: Floats, since: Floats, discrete: bool) -> tuple[Floats, Floats, Floats]:
    """(size of the push, time, lever) of gaps that change linearly from `before` to `after`: the ground plane of theory/penalty 5.4.

    I = k dt [(t_a - t_b) p_0 - (t_b^2 - t_a^2) v / 2], one interval always.
    """
    if discrete:
        inside = after < 0.0
        return np.where(inside, -after, 0.0), inside.astype(np.float64), inside.astype(np.float64)
    change = after - before
    root = np.divide(before, -change, out=np.zeros_like(before), where=change != 0.0)
    low = np.where(before > 0.0, np.where(after < 0.0, root, 1.0), 0.0)
    high = np.where(before <= 0.0, np.where(after > 0.0, root, 1.0), 1.0)
    low = np.maximum(low, since)
    high = np.maximum(high, low)
    lever = 0.5 * (high**2 - low**2)
    size = (low - high) * before - lever * change
    return np.maximum(size, 0.0), high - low, lever


def pressed(
    mode: int, records: Records, since: Floats, start: Floats, end: Floats, known: Known, blend: float = 0.0, other: Floats | None = None
) -> Pressed:
    """What all records do between the points at the start and the end of the step.

    since (r,): when each began, 0 if it endures; known: records whose gaps are known otherwise; blend, other (r, 3): share by
    which normals are turned towards other unit vectors, zero rows for none.
    """
    count = len(records)
    zero, vectors = np.zeros(count), np.zeros((count, 3))
    out = Pressed(vectors, zero, zero.copy(), zero.copy(), vectors.copy(), np.zeros(count, bool))
    use_threads(count)
    pairs = records.columns._replace(kind=np.where(known.rows, VERTEX_SHAPE, records.kind))
    other = np.zeros((count, 3)) if other is None else other
    press(mode, pairs, contiguous(since), blend, other, contiguous(start), contiguous(end), *out)
    rows = known.rows
    before, after, normal = known.before[rows], known.after[rows], known.normal[rows]
    size, out.time[rows], out.lever[rows] = linear_push(before, after, since[rows], mode == DISCRETE)
    out.gap[rows], out.normal[rows], out.push[rows] = after, normal, size[:, None] * normal
    return out


def gaps(points: Floats, records: Records, mesh: Adjacency, normals: Floats | None = None) -> Floats:
    """Signed distance of every pair [m], (r,), negative: penetrating; NaN for exact shapes, 0 for parallel edges."""
    normals = mesh.normals(points) if normals is None else normals
    out = edge_states(points, records).gap
    face = np.flatnonzero(records.kind == VERTEX_FACE)
    corners = records.corners[face]
    out[face] = records.sigma[face] * np.einsum("ij,ij->i", normals[records.feature_b[face]], points[corners[:, 0]] - points[corners[:, 1]])
    return out
