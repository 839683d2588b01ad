"""Projection onto sampled surfaces.

`mls`     quadric moving least squares (Pauly, Gross, Kobbelt 2002, as used by Pauly, Pai, Guibas 2004): find the weighted principal plane
          on which the query's foot is the centre of the weights, then fit a quadric over it. The default.
`aa`      Alexa and Adamson 2004, equation (1) of Keiser et al. 2004: f(x) = n(x).(x - a(x)) = 0 with weighted mean position a and normal n.
          `step` says how the root is found: simple x <- x - f n; almost orthogonal x <- x0 - (n.(x0 - a)) n; orthogonal: the same with
          grad f / |grad f| for n. Cheaper and smooth, but its zero set lies inside a sphere of radius R by h^2 / R.

Where we differ: queries start on the tangent plane of the nearest sample, not at themselves, so that far ones need no special case;
steps are relaxed after Irons and Tuck (1969), because the plain iteration diverges beyond one radius of curvature; samples that face the
other way have no weight (weights.py), so that thin parts have two sides.

Limitations: creases are rounded over about h, and a foot near one is pulled towards it; a sheet thinner than noise has no sides.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.detect.surfels.answers import FAR, LOST, OFF, PLANE, THIN
from pliant.detect.surfels.weights import (
    across,
    aligned,
    implicit_gradient,
    limited,
    middle,
    nearest_around,
    smallest_axis,
    weigh,
    width_at,
)
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, parallel, prange, scale, store, sub

SIMPLE, ALMOST, ORTHOGONAL, QUADRIC = 0, 1, 2, 3
STEPS = {"simple": SIMPLE, "almost orthogonal": ALMOST, "orthogonal": ORTHOGONAL}
CHUNK = 64
MOST = 30  # iterations
FOLLOW = 10  # iterations in which samples around are chosen anew; later a choice that flips back and forth would never end
CLOSE = 1e-6  # of h: the step at which iteration ends
NEARLY = 1e-3  # of h: steps as small as this come from samples that enter and leave the kernel; there is no nearer
NEEDED = 9  # samples within 3 h for a quadric
COMMON = 0.1  # |sum theta n| / sum theta below which samples have no common side
SIDE = 0.5  # of the spacing: how far beyond a rim sample the surface is taken to reach
HOLE = 2.0  # of the spacing: a foot farther than this from every sample is not on the surface
SINGULAR = 1e-8  # ratio of pivots below which the six terms cannot be told apart
THINNESS = 0.1  # share of the weights on the opposite sheet from which a part counts as thin


@parallel
def project_all(points, normals, spacing, reach, graph, off, factor, width, mode, queries, foot, sample, normal, flags, taken):  # type: ignore[no-untyped-def]
    """Feet of all queries; `foot` and `sample` hold where to start."""
    k, count = graph.shape[1], len(queries)
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        theta, system = np.empty(k), np.empty((6, 7))
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            x, q, s = load(queries, i), load(foot, i), sample[i]
            s, h, q, n, flag, taken[i] = _settle(points, normals, spacing, reach, graph, factor, width, mode, x, q, s, theta)
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
            if dot(beyond, load(off, s)) > SIDE * spacing[s] or norm(beyond) > HOLE * spacing[s]:
                flag |= OFF
            if norm(sub(x, load(points, s))) > 3.0 * h:
                flag |= FAR
            store(foot, i, q)
            store(normal, i, n)
            sample[i], flags[i] = s, flag


@kernel
def _settle(points, normals, spacing, reach, graph, factor, width, mode, x, q, s, theta):  # type: ignore[no-untyped-def]
    """(sample, h, q, n, flag, iterations): the point q that the plane at q carries x to; theta holds its weights."""
    relax, last, flag, n, h = 1.0, (0.0, 0.0, 0.0), LOST, load(normals, s), spacing[s]
    for iteration in range(MOST):
        if iteration < FOLLOW:
            s = nearest_around(points, normals, graph, s, q)
        h = width_at(points, spacing, reach, graph, s, q, factor, width)
        total, mean, side, opposed, near = weigh(points, normals, graph, s, q, h, theta)
        if not (total > 1e-12 and norm(side) > COMMON * total):
            return s, h, q, n, LOST, iteration
        flag = (PLANE if near < NEEDED else 0) | (THIN if opposed > THINNESS * total else 0)
        a = middle(q, mean, total)
        if mode == QUADRIC:
            n = aligned(plane_normal(points, graph, s, q, theta, total, mean), side)
        else:
            n = scale(1.0 / norm(side), side)
        along = n
        if mode == ORTHOGONAL:
            gradient = implicit_gradient(points, normals, graph, s, q, h, theta, total, a, n, norm(side))
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
    """The factor that would have ended the last step at a fixed point [Irons and Tuck 1969], between 0.1 and 2."""
    change = sub(step, last)
    square = dot(change, change)
    return min(max(-relax * dot(last, change) / square, 0.1), 2.0) if square > 0.0 else 1.0


@kernel
def implicit_all(points, normals, spacing, reach, graph, factor, width, queries, sample, value, gradient):  # type: ignore[no-untyped-def]
    """f and grad f of Alexa and Adamson's implicit function at the queries themselves; NaN where no sample has weight."""
    theta = np.empty(graph.shape[1])
    for i in range(len(queries)):
        q = load(queries, i)
        s = nearest_around(points, normals, graph, sample[i], q)
        h = width_at(points, spacing, reach, graph, s, q, factor, width)
        total, mean, side, _, _ = weigh(points, normals, graph, s, q, h, theta)
        if not (total > 1e-12 and norm(side) > COMMON * total):
            value[i] = np.nan
            store(gradient, i, (np.nan, np.nan, np.nan))
            continue
        a, n = middle(q, mean, total), scale(1.0 / norm(side), side)
        value[i] = dot(sub(q, a), n)
        store(gradient, i, implicit_gradient(points, normals, graph, s, q, h, theta, total, a, n, norm(side)))


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
