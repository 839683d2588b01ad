"""Tests of features that stand still: edge-triangle, triangle-triangle, point in tetrahedron, distance of two edges (theory/penalty 4.1,
theory/springs 6).

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
def turn(a, b, c):  # type: ignore[no-untyped-def]
    """Sign of the turn a, b, c in the plane; 0 within rounding."""
    left, right = (b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])
    area = left - right
    if abs(area) <= ROUNDING * (abs(left) + abs(right)):
        return 0
    return 1 if area > 0.0 else -1


@inline
def _in_box(a, b, p):  # type: ignore[no-untyped-def]
    return (
        min(a[0], b[0]) <= p[0]
        and p[0] <= max(a[0], b[0])
        and min(a[1], b[1]) <= p[1]
        and p[1] <= max(a[1], b[1])
    )


@inline
def segments_meet_2d(a, b, c, d):  # type: ignore[no-untyped-def]
    """Whether the closed segments ab and cd of the plane share a point."""
    c_side, d_side = turn(a, b, c), turn(a, b, d)
    a_side, b_side = turn(c, d, a), turn(c, d, b)
    if c_side * d_side < 0 and a_side * b_side < 0:
        return True
    return (
        (c_side == 0 and _in_box(a, b, c))
        or (d_side == 0 and _in_box(a, b, d))
        or (a_side == 0 and _in_box(c, d, a))
        or (b_side == 0 and _in_box(c, d, b))
    )


@inline
def point_in_triangle_2d(p, a, b, c):  # type: ignore[no-untyped-def]
    """Whether the closed triangle abc of the plane holds p; one without area holds nothing, its edges do."""
    u, v, w = turn(a, b, p), turn(b, c, p), turn(c, a, p)
    return turn(a, b, c) != 0 and ((u >= 0 and v >= 0 and w >= 0) or (u <= 0 and v <= 0 and w <= 0))


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
def lone_corner(d0, d1, d2):  # type: ignore[no-untyped-def]
    """The corner that is alone on its side of a plane, from the signed heights of the three; -1 if all are in the plane."""
    if d0 * d1 > 0.0:
        return 2
    if d0 * d2 > 0.0:
        return 1
    if d1 * d2 > 0.0 or d0 != 0.0:
        return 0
    if d1 != 0.0:
        return 1
    return 2 if d2 != 0.0 else -1


@inline
def crossing_interval(x0, x1, x2, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Interval in which a triangle cuts the common line of two planes (Moeller 1997), from its coordinates x on that line
    and its heights d over the other plane: x_m + (x_i - x_m) d_m / (d_m - d_i) for the lone corner m and the others i."""
    m = lone_corner(d0, d1, d2)
    if m == 1:
        x0, x1, d0, d1 = x1, x0, d1, d0
    elif m == 2:
        x0, x2, d0, d2 = x2, x0, d2, d0
    u = x0 + (x1 - x0) * (d0 / (d0 - d1)) if d0 != d1 else x0
    v = x0 + (x2 - x0) * (d0 / (d0 - d2)) if d0 != d2 else x0
    return min(u, v), max(u, v)


@inline
def coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, axis):  # type: ignore[no-untyped-def]
    """Triangles of one plane, seen along `axis`: some edges meet, or one triangle holds the other."""
    a0, a1, a2 = dropped(p0, axis), dropped(p1, axis), dropped(p2, axis)
    b0, b1, b2 = dropped(q0, axis), dropped(q1, axis), dropped(q2, axis)
    for i in range(3):
        a, c = (a0, a1) if i == 0 else ((a1, a2) if i == 1 else (a2, a0))
        if segments_meet_2d(a, c, b0, b1) or segments_meet_2d(a, c, b1, b2) or segments_meet_2d(a, c, b2, b0):
            return True
    return point_in_triangle_2d(a0, b0, b1, b2) or point_in_triangle_2d(b0, a0, a1, a2)


@inline
def _edges_hit(p0, p1, p2, q0, q1, q2):  # type: ignore[no-untyped-def]
    """Whether an edge of triangle p hits triangle q."""
    return (
        edge_triangle(p0, p1, q0, q1, q2)[0]
        or edge_triangle(p1, p2, q0, q1, q2)[0]
        or edge_triangle(p2, p0, q0, q1, q2)[0]
    )


@inline
def one_side(d0, d1, d2):  # type: ignore[no-untyped-def]
    return (d0 > 0.0 and d1 > 0.0 and d2 > 0.0) or (d0 < 0.0 and d1 < 0.0 and d2 < 0.0)


@inline
def triangles_touch(p0, p1, p2, q0, q1, q2):  # type: ignore[no-untyped-def]
    """Whether two triangles share a point (Moeller 1997, coplanar case included); two without area are never found to."""
    e, f = sub(q1, q0), sub(q2, q0)
    nq, size = cross(e, f), spread(e, f)
    a0, a1, a2 = height(nq, size, sub(p0, q0)), height(nq, size, sub(p1, q0)), height(nq, size, sub(p2, q0))
    if one_side(a0, a1, a2):
        return False
    q_flat = is_flat(nq, size)
    e, f = sub(p1, p0), sub(p2, p0)
    np, size = cross(e, f), spread(e, f)
    b0, b1, b2 = height(np, size, sub(q0, p0)), height(np, size, sub(q1, p0)), height(np, size, sub(q2, p0))
    if one_side(b0, b1, b2):
        return False
    p_flat = is_flat(np, size)
    if not q_flat and a0 == 0.0 and a1 == 0.0 and a2 == 0.0:
        return coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, largest_axis(nq))
    if not p_flat and b0 == 0.0 and b1 == 0.0 and b2 == 0.0:
        return coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, largest_axis(np))
    if p_flat or q_flat:
        # a triangle without area is its longest edge: it meets the other where an edge passes through
        return _edges_hit(p0, p1, p2, q0, q1, q2) or _edges_hit(q0, q1, q2, p0, p1, p2)
    axis = largest_axis(cross(np, nq))
    low, high = crossing_interval(p0[axis], p1[axis], p2[axis], a0, a1, a2)
    first, last = crossing_interval(q0[axis], q1[axis], q2[axis], b0, b1, b2)
    slack = ROUNDING * (abs(low) + abs(high) + abs(first) + abs(last))
    return low <= last + slack and first <= high + slack


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
