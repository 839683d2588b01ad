"""Projection onto sampled surfaces (theory/point-surfaces 5.1-5.7).

`mls`     quadric moving least squares (theory/point-surfaces 5.6; Pauly, Gross, Kobbelt 2002, as used by Pauly, Pai, Guibas 2004): find
the weighted principal plane
          on which the query's foot is the centre of the weights, then fit a quadric over it. The default.
`aa`      Alexa and Adamson 2004, equation (1) of Keiser et al. 2004: f(x) = n(x).(x - a(x)) = 0 with weighted mean position a and normal n.
          `step` says how the root is found: simple x <- x - f n; almost orthogonal x <- x0 - (n.(x0 - a)) n; orthogonal: the same with
          grad f / |grad f| for n. Cheaper and smooth, but its zero set lies inside a sphere of radius R by h^2 / R.

Where we differ: queries start on the tangent plane of the nearest sample, not at themselves, so that far ones need no special case;
steps are relaxed after Irons and Tuck (1969), because the plain iteration diverges beyond one radius of curvature; samples that face the
other way have no weight, so that thin parts have two sides.

A point finds its samples through the sample nearest to it: the neighbours of that sample, on its own sheet. Samples whose normals oppose
it (cosine below -0.25) belong to the other side of a thin part and have no weight. Weights are theta = exp(-d^2 / 2 h^2), of the width
h(x) = c l(x), l a smooth average of the spacing of the samples around.

Beside sharp edges samples of other sides have no weight either (creases.py).

Limitations: creases that are not told as sharp are rounded over about h, and a foot near one is pulled towards it; a sheet thinner than
noise has no sides.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.hash_grid import squared
from pliant.detect.surfels.answers import FAR, LOST, OFF, PLANE, THIN
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, parallel, prange, scale, store, sub

SIMPLE, ALMOST, ORTHOGONAL, QUADRIC = 0, 1, 2, 3
STEPS = {"simple": SIMPLE, "almost orthogonal": ALMOST, "orthogonal": ORTHOGONAL}
CHUNK = 64
OPPOSITE = -0.25  # cosine of normals below which a neighbour lies on another sheet
CUT = 4.0  # widths at which weights end, those of a regular surface with the last of its neighbours
SUPPORT = 3.0  # widths h from the nearest sample beyond which directions are less certain
MOST = 30  # iterations
FOLLOW = 10  # iterations in which samples around are chosen anew; later a choice that flips back and forth would never end
CLOSE = 1e-8  # of h: the step at which iteration ends, half the digits that there are
NEARLY = 1e-3  # of h: steps as small as this come from samples that enter and leave the kernel; nothing is told nearer
NEEDED = 9  # samples within 3 h for a quadric
BLUR = 0.5  # spacings: nearer, samples tell nothing. So far a surface reaches beyond its rim samples, and so far bodies move unseen
SURE = 2.0  # spacings that a sample speaks for the surface: a foot farther off is in a hole, a query has its side from the winding number
SINGULAR = 1e-8  # ratio of pivots below which the six terms cannot be told apart


class Samples(NamedTuple):
    """A sampled surface as kernels take it."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    spacing: Floats  # (n,) [m]
    reach: Floats  # (n,) [m] distance of the farthest neighbour
    graph: Ints  # (n, K) each sample and its nearest
    own: np.ndarray  # (n, K) bool, whether these lie on its side of sharp edges
    factor: float  # width of the weights over the spacing


@parallel
def project_all(samples, off, width, mode, queries, left, foot, sample, normal, flags, taken):  # type: ignore[no-untyped-def]
    """Feet of all queries; `foot` and `sample` hold where to start, `left` the sample that has no say, or -1."""
    points, normals, spacing, graph = samples.points, samples.normals, samples.spacing, samples.graph
    k, count = graph.shape[1], len(queries)
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        theta, system = np.empty(k), np.empty((6, 7))
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            x, q, s = load(queries, i), load(foot, i), sample[i]
            s, h, q, n, flag, taken[i] = _settle(samples, width, mode, x, q, s, left[i], theta)
            if flag & LOST:
                n = load(normals, s)
                q = axpy(-dot(sub(x, load(points, s)), n), n, x)
            elif mode == QUADRIC and not flag & PLANE:
                fine, q_new, n_new = quadric_foot(points, graph, s, q, n, h, theta, system)
                if fine and norm(sub(q_new, q)) < h:
                    q, n = q_new, n_new
                else:
                    flag |= PLANE
            beyond = sub(q, load(points, s))
            if dot(beyond, load(off, s)) > BLUR * spacing[s] or norm(beyond) > SURE * spacing[s]:
                flag |= OFF
            if norm(sub(x, load(points, s))) > SUPPORT * h:
                flag |= FAR
            store(foot, i, q)
            store(normal, i, n)
            sample[i], flags[i] = s, flag


@kernel
def _settle(samples, width, mode, x, q, s, left, theta):  # type: ignore[no-untyped-def]
    """(sample, h, q, n, flag, iterations): the point q that the plane at q carries x to; theta holds its weights."""
    relax, last, flag, n, h = 1.0, (0.0, 0.0, 0.0), LOST, load(samples.normals, s), samples.spacing[s]
    for iteration in range(MOST):
        if iteration < FOLLOW:
            s = nearest_around(samples, s, q, left)
        h = width_at(samples, s, q, width)
        total, mean, side, opposed, near = weigh(samples, s, q, h, left, theta)
        if not (total > 1e-12 and norm(side) > 1e-12 * total):
            return s, h, q, n, LOST, iteration
        flag = (PLANE if near < NEEDED else 0) | (THIN if opposed > 0.0 else 0)
        a = middle(q, mean, total)
        if mode == QUADRIC:
            n = aligned(plane_normal(samples.points, samples.graph, s, q, theta, total, mean), side)
        else:
            n = scale(1.0 / norm(side), side)
        along = n
        if mode == ORTHOGONAL:
            gradient = implicit_gradient(samples, s, q, h, theta, total, a, n, norm(side))
            along = scale(1.0 / norm(gradient), gradient)
        base = q if mode == SIMPLE else x
        step = sub(axpy(-dot(sub(base, a), n) / dot(along, n), along, base), q)
        if norm(step) < CLOSE * h:
            return s, h, add(q, step), n, flag, iteration + 1
        relax = relaxed(relax, step, last) if iteration > 0 else 1.0
        q = add(q, limited(scale(relax, step), h))
        last = step
    return s, h, q, n, flag if norm(last) < NEARLY * h else flag | LOST, MOST


@inline
def relaxed(relax, step, last):  # type: ignore[no-untyped-def]
    """The factor that would have ended the last step at a fixed point [Irons and Tuck 1969], at most 2; 1 where that leads back."""
    change = sub(step, last)
    square = dot(change, change)
    factor = -relax * dot(last, change) / square if square > 0.0 else 1.0
    return min(factor, 2.0) if factor > 0.0 else 1.0


@kernel
def implicit_all(samples, width, queries, sample, value, gradient):  # type: ignore[no-untyped-def]
    """f and grad f of Alexa and Adamson's implicit function at the queries themselves; NaN where no sample has weight."""
    theta = np.empty(samples.graph.shape[1])
    for i in range(len(queries)):
        q = load(queries, i)
        s = nearest_around(samples, sample[i], q, -1)
        h = width_at(samples, s, q, width)
        total, mean, side, _, _ = weigh(samples, s, q, h, -1, theta)
        if not (total > 1e-12 and norm(side) > 1e-12 * total):
            value[i] = np.nan
            store(gradient, i, (np.nan, np.nan, np.nan))
            continue
        a, n = middle(q, mean, total), scale(1.0 / norm(side), side)
        value[i] = dot(sub(q, a), n)
        store(gradient, i, implicit_gradient(samples, s, q, h, theta, total, a, n, norm(side)))


# The weighted least-squares quadric over a plane (Pauly, Gross, Kobbelt 2002).


@inline
def plane_normal(points, graph, s, q, theta, total, mean):  # type: ignore[no-untyped-def]
    """Unit normal, of either sign, of the weighted principal plane through a = q + mean / total."""
    xx = xy = xz = yy = yz = zz = 0.0
    m = scale(1.0 / total, mean)
    for c in range(graph.shape[1]):
        if theta[c] > 0.0:
            d = sub(sub(load(points, graph[s, c]), q), m)
            xx, xy, xz = xx + theta[c] * d[0] * d[0], xy + theta[c] * d[0] * d[1], xz + theta[c] * d[0] * d[2]
            yy, yz, zz = yy + theta[c] * d[1] * d[1], yz + theta[c] * d[1] * d[2], zz + theta[c] * d[2] * d[2]
    return smallest_axis(xx, xy, xz, yy, yz, zz)[1]


@inline
def quadric_foot(points, graph, s, q, n, h, theta, system):  # type: ignore[no-untyped-def]
    """(solvable, foot, normal there) of g(u, v) = c0 + c1 u + c2 v + c3 u^2 + c4 u v + c5 v^2 over the plane (q, n), lengths in h."""
    u = across(n)
    v = cross(n, u)
    system[:] = 0.0
    for c in range(graph.shape[1]):
        if theta[c] > 0.0:
            d = sub(load(points, graph[s, c]), q)
            a, b, g, w = dot(d, u) / h, dot(d, v) / h, dot(d, n) / h, theta[c]
            terms = (1.0, a, b, a * a, a * b, b * b, g)
            for i in range(6):
                for j in range(i, 7):
                    system[i, j] += w * terms[i] * terms[j]
    if not solve_six(system):
        return False, q, n
    tilted = axpy(-system[1, 6], u, axpy(-system[2, 6], v, n))
    return True, axpy(h * system[0, 6], n, q), scale(1.0 / norm(tilted), tilted)


@inline
def solve_six(a):  # type: ignore[no-untyped-def]
    """Solve the symmetric 6x6 system whose upper half and right side (column 6) `a` holds; the solution replaces column 6."""
    largest, smallest = 0.0, math.inf
    for i in range(6):  # U^T D U in place
        pivot = a[i, i]
        largest, smallest = max(largest, pivot), min(smallest, pivot)
        if not pivot > SINGULAR * largest:
            return False
        for r in range(i + 1, 6):
            factor = a[i, r] / pivot
            for c in range(r, 7):
                a[r, c] -= factor * a[i, c]
    for i in range(5, -1, -1):
        for c in range(i + 1, 6):
            a[i, 6] -= a[i, c] * a[c, 6]
        a[i, 6] /= a[i, i]
    return smallest > SINGULAR * largest


# Moving averages over samples, and their principal axes.


@inline
def nearest_around(samples, s, q, left):  # type: ignore[no-untyped-def]
    """Walk from sample s to the sample nearest to q on the same sheet, not the one left out; at most 64 steps."""
    points, normals, graph, best = samples.points, samples.normals, samples.graph, squared(samples.points, s, q)
    for _ in range(64):
        here, n = s, load(normals, s)
        for c in range(1, graph.shape[1]):
            d = squared(points, graph[here, c], q)
            if d < best and graph[here, c] != left and samples.own[here, c] and dot(load(normals, graph[here, c]), n) > OPPOSITE:
                best, s = d, graph[here, c]
        if s == here:
            break
    return s


@inline
def width_at(samples, s, q, width):  # type: ignore[no-untyped-def]
    """h(q) = factor * average of l_i with weights (1 - d^2 / r^2)^3, r the reach of the neighbours of s; or `width` if above zero."""
    if width > 0.0:
        return width
    points, spacing, graph, top, total = samples.points, samples.spacing, samples.graph, 0.0, 0.0
    square = samples.reach[s] * samples.reach[s]
    for c in range(graph.shape[1]):
        j = graph[s, c]
        w = max(1.0 - squared(points, j, q) / square, 0.0)
        w = w * w * w
        top += w * spacing[j]
        total += w
    return samples.factor * (top / total if total > 0.0 else spacing[s])


@inline
def weigh(samples, s, q, h, left, theta):  # type: ignore[no-untyped-def]
    """Fill theta (K,) and sum up: (sum theta, sum theta (s_i - q), sum theta n_i, sum of opposed weights, samples within 3 h)."""
    points, normals, graph, total, opposed = samples.points, samples.normals, samples.graph, 0.0, 0.0
    near, mean, normal, own = 0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), load(normals, s)
    for c in range(graph.shape[1]):
        j = graph[s, c]
        theta[c] = 0.0
        square = squared(points, j, q)
        if j != left and samples.own[s, c] and square < CUT * CUT * h * h:
            w = math.exp(-0.5 * square / (h * h))
            n = load(normals, j)
            if dot(n, own) <= OPPOSITE:
                opposed += w
                continue
            theta[c] = w
            near += square < SUPPORT * SUPPORT * h * h
            total += w
            mean = axpy(w, sub(load(points, j), q), mean)
            normal = axpy(w, n, normal)
    return total, mean, normal, opposed, near


@inline
def implicit_gradient(samples, s, q, h, theta, total, a, n, length):  # type: ignore[no-untyped-def]
    """grad f = n - Da^T n + Dn^T (q - a) of Alexa and Adamson's f = n.(q - a), h held fixed.

    Da = sum (s_i - a) g_i^T / sum theta, Dn = (I - n n^T)/|N| sum n_i g_i^T, g_i = -theta_i (q - s_i) / h^2.
    """
    points, normals, graph, away = samples.points, samples.normals, samples.graph, sub(q, a)
    away = axpy(-dot(away, n), n, away)
    gradient = n
    for c in range(graph.shape[1]):
        if theta[c] > 0.0:
            j = graph[s, c]
            p = load(points, j)
            g = scale(-theta[c] / (h * h), sub(q, p))
            gradient = axpy(dot(load(normals, j), away) / length - dot(sub(p, a), n) / total, g, gradient)
    return gradient


@inline
def middle(q, mean, total):  # type: ignore[no-untyped-def]
    """a(q) = sum theta_i s_i / sum theta_i."""
    return add(q, scale(1.0 / total, mean))


@inline
def aligned(u, v):  # type: ignore[no-untyped-def]
    """u, turned to the side of v."""
    return scale(-1.0, u) if dot(u, v) < 0.0 else u


@inline
def limited(u, most):  # type: ignore[no-untyped-def]
    """u, not longer than `most`."""
    length = norm(u)
    return scale(most / length, u) if length > most else u


@inline
def smallest_axis(xx, xy, xz, yy, yz, zz):  # type: ignore[no-untyped-def]
    """(values, vector): eigenvalues of a symmetric 3x3 matrix, ascending, and the unit eigenvector of the smallest (closed form)."""
    mean = (xx + yy + zz) / 3.0
    a, b, c = xx - mean, yy - mean, zz - mean
    spread = math.sqrt((a * a + b * b + c * c + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    if not spread > 1e-14 * abs(mean):
        return (mean, mean, mean), (0.0, 0.0, 1.0)
    half = (a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)) / (2.0 * spread * spread * spread)
    angle = math.acos(min(max(half, -1.0), 1.0)) / 3.0
    high, low = mean + 2.0 * spread * math.cos(angle), mean + 2.0 * spread * math.cos(angle + 2.0 * math.pi / 3.0)
    u, v, w = (xx - low, xy, xz), (xy, yy - low, yz), (xz, yz, zz - low)
    best = cross(u, v)
    for other in (cross(v, w), cross(w, u)):
        if dot(other, other) > dot(best, best):
            best = other
    length = norm(best)
    if not length > 1e-14 * spread * spread:  # the two smaller values are one: any direction across the largest axis will do
        return (low, 3.0 * mean - low - high, high), across(longest(u, v, w))
    return (low, 3.0 * mean - low - high, high), scale(1.0 / length, best)


@inline
def longest(u, v, w):  # type: ignore[no-untyped-def]
    if dot(u, u) >= dot(v, v) and dot(u, u) >= dot(w, w):
        return u
    return v if dot(v, v) >= dot(w, w) else w


@inline
def across(n):  # type: ignore[no-untyped-def]
    """A unit vector at right angles to n."""
    if abs(n[0]) <= abs(n[1]) and abs(n[0]) <= abs(n[2]):
        u = (0.0, -n[2], n[1])
    elif abs(n[1]) <= abs(n[2]):
        u = (n[2], 0.0, -n[0])
    else:
        u = (-n[1], n[0], 0.0)
    return scale(1.0 / norm(u), u)
