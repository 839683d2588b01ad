"""Moving averages over samples and their principal axes, inside kernels: weights theta = exp(-d^2 / 2 h^2) of the samples around a point.

A point finds its samples through the sample nearest to it: the neighbours of that sample, on its own sheet. Samples whose normals oppose
it (cosine below -0.25) belong to the other side of a thin part and have no weight. The width is h(x) = c l(x), l a smooth average of the
spacing of the samples around.
"""

from __future__ import annotations

import math

from pliant.detect.hash_grid import squared
from pliant.kernels import add, axpy, cross, dot, inline, load, norm, scale, sub

OPPOSITE = -0.25  # cosine of normals below which a neighbour lies on another sheet
CUT = 4.0  # widths at which weights end


@inline
def nearest_around(points, normals, graph, s, q):  # type: ignore[no-untyped-def]
    """Walk from sample s to the sample nearest to q on the same sheet; at most 64 steps."""
    best = squared(points, s, q)
    for _ in range(64):
        here, n = s, load(normals, s)
        for c in range(1, graph.shape[1]):
            d = squared(points, graph[here, c], q)
            if d < best and dot(load(normals, graph[here, c]), n) > OPPOSITE:
                best, s = d, graph[here, c]
        if s == here:
            break
    return s


@inline
def width_at(points, spacing, reach, graph, s, q, factor, width):  # type: ignore[no-untyped-def]
    """h(q) = factor * average of l_i with weights (1 - d^2 / r^2)^3, r the reach of the neighbours of s; or `width` if above zero."""
    if width > 0.0:
        return width
    top = total = 0.0
    square = reach[s] * reach[s]
    for c in range(graph.shape[1]):
        j = graph[s, c]
        w = max(1.0 - squared(points, j, q) / square, 0.0)
        w = w * w * w
        top += w * spacing[j]
        total += w
    return factor * (top / total if total > 0.0 else spacing[s])


@inline
def weigh(points, normals, graph, s, q, h, theta):  # type: ignore[no-untyped-def]
    """Fill theta (K,) and sum up: (sum theta, sum theta (s_i - q), sum theta n_i, sum of opposed weights, samples within 3 h)."""
    total = opposed = 0.0
    near, mean, normal, own = 0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), load(normals, s)
    for c in range(graph.shape[1]):
        j = graph[s, c]
        theta[c] = 0.0
        square = squared(points, j, q)
        if square < CUT * CUT * h * h:
            w = math.exp(-0.5 * square / (h * h))
            n = load(normals, j)
            if dot(n, own) <= OPPOSITE:
                opposed += w
                continue
            theta[c] = w
            near += square < 9.0 * h * h
            total += w
            mean = axpy(w, sub(load(points, j), q), mean)
            normal = axpy(w, n, normal)
    return total, mean, normal, opposed, near


@inline
def implicit_gradient(points, normals, graph, s, q, h, theta, total, a, n, length):  # type: ignore[no-untyped-def]
    """grad f = n - Da^T n + Dn^T (q - a) of Alexa and Adamson's f = n.(q - a), h held fixed.

    Da = sum (s_i - a) g_i^T / sum theta, Dn = (I - n n^T)/|N| sum n_i g_i^T, g_i = -theta_i (q - s_i) / h^2.
    """
    away = sub(q, a)
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
