"""The nearest place of a segment and of a triangle, right for triangles of every form.

The Voronoi regions of Ericson (2005, 5.1.5) are told apart by differences of products that cancel in slivers: at a width of 1e-8 of the
length the distance is wrong by half. Here a triangle stands on its longest edge. How high up the foot of a point lies comes from the parts
of both across that edge, and how far along from what is left then: rounding of the height, which slivers enlarge, moves the foot along the
triangle's side only, and the second step takes that back. Outside it is the nearest of the three edges.
"""

from __future__ import annotations

from pliant.kernels import axpy, dot, inline, sub


@inline
def closest_on_segment(p, a, b):  # type: ignore[no-untyped-def]
    """(squared distance, t) of the point a + t (b - a) of segment ab nearest to p."""
    ab, ap = sub(b, a), sub(p, a)
    square = dot(ab, ab)
    t = min(max(dot(ap, ab) / square, 0.0), 1.0) if square > 0.0 else 0.0
    d = axpy(-t, ab, ap)
    return dot(d, d), t


@inline
def _closest_on_edges(p, a, b, c):  # type: ignore[no-untyped-def]
    """Barycentric weights of the nearest point of the three edges."""
    (d, t), (e, u), (f, v) = closest_on_segment(p, a, b), closest_on_segment(p, b, c), closest_on_segment(p, c, a)
    if d <= e and d <= f:
        return 1.0 - t, t, 0.0
    if e <= f:
        return 0.0, 1.0 - u, u
    return v, 0.0, 1.0 - v


@inline
def _above(p, a, b, c):  # type: ignore[no-untyped-def]
    """The same of triangle abc, whose longest edge is ab."""
    ab, ac, ap = sub(b, a), sub(c, a), sub(p, a)
    square = dot(ab, ab)
    if square > 0.0:
        across, off = axpy(-dot(ac, ab) / square, ab, ac), axpy(-dot(ap, ab) / square, ab, ap)
        height = dot(across, across)
        w = dot(off, across) / height if height > 1e-28 * square else -1.0  # what is narrower than rounding has edges only
        if 0.0 <= w <= 1.0:
            v = dot(axpy(-w, ac, ap), ab) / square
            if v >= 0.0 and v + w <= 1.0:
                return 1.0 - (v + w), v, w
    return _closest_on_edges(p, a, b, c)


@inline
def closest_on_triangle(p, a, b, c):  # type: ignore[no-untyped-def]
    """Barycentric weights of the point of triangle abc nearest to p; a weight is 0 where it lies on an edge."""
    ab, bc, ca = sub(b, a), sub(c, b), sub(a, c)
    first, second, third = dot(ab, ab), dot(bc, bc), dot(ca, ca)
    if first >= second and first >= third:
        return _above(p, a, b, c)
    if second >= third:
        v, w, u = _above(p, b, c, a)
        return u, v, w
    w, u, v = _above(p, c, a, b)
    return u, v, w
