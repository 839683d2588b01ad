"""The weighted least-squares quadric over a plane, inside kernels (Pauly, Gross, Kobbelt 2002)."""

from __future__ import annotations

import math

from pliant.detect.surfels.axes import across, smallest_axis
from pliant.kernels import axpy, cross, dot, inline, load, norm, scale, sub

SINGULAR = 1e-8  # ratio of pivots below which the six terms cannot be told apart


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
