"""Tests of features that stand still: edge and triangle (theory/penalty 4.1), point in tetrahedron (theory/noniterative 3.2), distance of
two edges; two triangles are in triangle_overlap.py.

Helpers for kernels, on 3-vectors that are tuples. Touching counts as meeting; what is smaller than the rounding of its own
computation counts as zero.
"""

from __future__ import annotations

from pliant.kernels import cross, dot, inline, sub

ROUNDING = 2.0**-48  # 32 units in the last place: above the error of a triple product of rounded differences


@inline
def spread(u, v):  # type: ignore[no-untyped-def]
    """What the components of u x v would be if nothing cancelled: the yardstick of their rounding error."""
    return (
        abs(u[1] * v[2]) + abs(u[2] * v[1]),
        abs(u[2] * v[0]) + abs(u[0] * v[2]),
        abs(u[0] * v[1]) + abs(u[1] * v[0]),
    )


@inline
def height(n, size, u):  # type: ignore[no-untyped-def]
    """n . u, zero where it is not more than rounding; size is the spread of n."""
    h = dot(n, u)
    error = ROUNDING * (size[0] * abs(u[0]) + size[1] * abs(u[1]) + size[2] * abs(u[2]))
    return h if abs(h) > error else 0.0


@inline
def is_flat(n, size):  # type: ignore[no-untyped-def]
    """A cross product that is nothing but rounding: the triangle has no plane, the edges are parallel."""
    return (
        abs(n[0]) <= ROUNDING * size[0] and abs(n[1]) <= ROUNDING * size[1] and abs(n[2]) <= ROUNDING * size[2]
    )


@inline
def largest_axis(u):  # type: ignore[no-untyped-def]
    x, y, z = abs(u[0]), abs(u[1]), abs(u[2])
    if x >= y and x >= z:
        return 0
    return 1 if y >= z else 2


@inline
def dropped(u, axis):  # type: ignore[no-untyped-def]
    """The two components of u that remain without `axis`, in cyclic order."""
    if axis == 0:
        return u[1], u[2]
    if axis == 1:
        return u[2], u[0]
    return u[0], u[1]


@inline
def edge_triangle(p, q, a, b, c):  # type: ignore[no-untyped-def]
    """(hit, w_q, w_b, w_c) of edge pq against triangle abc: p + w_q (q - p) = a + w_b (b - a) + w_c (c - a), by Cramer's rule.

    An edge parallel to the triangle does not hit it here; triangle pairs find that case with their other edges.
    """
    d, e, f, r = sub(p, q), sub(b, a), sub(c, a), sub(p, a)
    n, size = cross(e, f), spread(e, f)
    det = height(n, size, d)
    if det == 0.0:
        return False, 0.0, 0.0, 0.0
    along = height(n, size, r) / det
    m = cross(r, d)
    v, w = -dot(f, m) / det, dot(e, m) / det
    slack = ROUNDING * (dot(size, (abs(r[0]), abs(r[1]), abs(r[2]))) + dot(size, (abs(d[0]), abs(d[1]), abs(d[2])))) / abs(det)
    hit = along >= 0.0 and along <= 1.0 and v >= -slack and w >= -slack and v + w <= 1.0 + slack
    return hit, along, v, w


@inline
def tet_weights(p, a, b, c, d):  # type: ignore[no-untyped-def]
    """Barycentric weights of p in tetrahedron abcd; NaN where it has no volume. Inside if none is negative."""
    e, f, g, r = sub(b, a), sub(c, a), sub(d, a), sub(p, a)
    fg, er = cross(f, g), cross(e, r)
    det = dot(e, fg)
    u, v, w = dot(r, fg) / det, dot(g, er) / det, -dot(f, er) / det
    return 1.0 - u - v - w, u, v, w


@inline
def clamp(x):  # type: ignore[no-untyped-def]
    return min(max(x, 0.0), 1.0)


@inline
def closest_on_edges(a, b, c, d):  # type: ignore[no-untyped-def]
    """(s, t) of the nearest points a + s (b - a) and c + t (d - c) of two edges (Ericson 2005, 5.1.9); parallel edges
    take the point nearest to a, edges without length count as points."""
    e, f, r = sub(b, a), sub(d, c), sub(a, c)
    ee, ff, fr = dot(e, e), dot(f, f), dot(f, r)
    if ee == 0.0:
        return 0.0, clamp(fr / ff) if ff > 0.0 else 0.0
    er = dot(e, r)
    if ff == 0.0:
        return clamp(-er / ee), 0.0
    n = cross(e, f)
    nn = dot(n, n)
    # |e x f|^2 itself, not ee ff - ef^2, which cancels for nearly parallel edges
    s = clamp(dot(n, cross(f, r)) / nn) if nn > ROUNDING * ROUNDING * ee * ff else 0.0
    t = (s * dot(e, f) + fr) / ff
    if t < 0.0:
        return clamp(-er / ee), 0.0
    if t > 1.0:
        return clamp((dot(e, f) - er) / ee), 1.0
    return s, t
