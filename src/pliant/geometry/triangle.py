"""The nearest place of a segment and of a triangle, right for triangles of every form.

The Voronoi regions of Ericson (2005, 5.1.5) are told apart by differences of products that cancel in slivers: at a width of 1e-8 of the
length the distance is wrong by half. Here a triangle stands on its longest edge. How high up the foot of a point lies comes from the parts
of both across that edge, and how far along from what is left then: rounding of the height, which slivers enlarge, moves the foot along the
triangle's side only, and the second step takes that back. Outside it is the nearest of the three edges.

The same for many triangles: distance of points from a surface, and the nearest places on it. They are sorted along a curve that keeps
neighbours together and halved again and again; a group whose box is farther away than what was found already is passed over.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mesh import Surface
from pliant.geometry.winding import along_curve, halved
from pliant.kernels import axpy, contiguous, dot, inline, kernel, load, store, sub


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


def distance_to(surface: Surface, at: Floats) -> Floats:
    """Distance of each place from the surface [m]."""
    return nearest_on(surface, at)[1]


def nearest_on(surface: Surface, at: Floats) -> tuple[Floats, Floats]:
    """The place of the surface nearest to each point, and its distance [m]."""
    return nearest_faces(surface, at)[1:]


def nearest_faces(surface: Surface, at: Floats) -> tuple[Ints, Floats, Floats]:
    """The face nearest to each point, the place on it, and its distance [m]."""
    x = surface.points[surface.faces]
    order = np.argsort(along_curve(x.mean(axis=1)), kind="stable")
    x = contiguous(x[order])
    first, last = halved(len(x))
    low, high = np.empty((len(first), 3)), np.empty((len(first), 3))
    _boxes(x, first, last, low, high)
    face, place, away = np.zeros(len(at), np.int64), np.zeros((len(at), 3)), np.empty(len(at))
    _nearest(contiguous(at), x, first, last, low, high, face, place, away)
    return order[face], place, away


@kernel
def _boxes(x, first, last, low, high):  # type: ignore[no-untyped-def]
    """Of every group, those of halves before that of the whole."""
    leaves = (len(first) - 1) // 2
    for g in range(len(first) - 1, -1, -1):
        for i in range(3):
            if g < leaves:
                low[g, i] = min(low[2 * g + 1, i], low[2 * g + 2, i])
                high[g, i] = max(high[2 * g + 1, i], high[2 * g + 2, i])
                continue
            low[g, i], high[g, i] = np.inf, -np.inf
            for n in range(first[g], last[g]):
                for k in range(3):
                    low[g, i] = min(low[g, i], x[n, k, i])
                    high[g, i] = max(high[g, i], x[n, k, i])


@inline
def _square_to_box(p, low, high, g):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(3):
        d = max(low[g, i] - p[i], 0.0, p[i] - high[g, i])
        total += d * d
    return total


@kernel
def _nearest(at, x, first, last, low, high, face, place, away):  # type: ignore[no-untyped-def]
    leaves = (len(first) - 1) // 2
    stack = np.empty(64, np.int64)
    for i in range(len(at)):
        p, found, top = load(at, i), np.inf, 1
        stack[0] = 0
        while top > 0:
            top -= 1
            g = stack[top]
            if _square_to_box(p, low, high, g) >= found:
                continue
            if g < leaves:
                near = 1 if _square_to_box(p, low, high, 2 * g + 1) <= _square_to_box(p, low, high, 2 * g + 2) else 2
                stack[top], stack[top + 1] = 2 * g + 3 - near, 2 * g + near
                top += 2
                continue
            for n in range(first[g], last[g]):
                a, b, c = load(x[n], 0), load(x[n], 1), load(x[n], 2)
                _, v, w = closest_on_triangle(p, a, b, c)
                q = axpy(v, sub(b, a), axpy(w, sub(c, a), a))
                d = sub(q, p)
                if dot(d, d) < found:
                    found, face[i] = dot(d, d), n
                    store(place, i, q)
        away[i] = np.sqrt(found)
