"""How far apart two convex things are: a lower bound that is never too large, and the direction that shows it.

A thing is a core with a radius around it. Cores are points (of a ball), segments (of a capsule), boxes, cylinders and triangles, known
by the point of theirs that lies furthest along a direction. The nearest points are sought in the difference of the two cores, from one such
point to the next [Gilbert 1988]. Whatever direction the search has come to, its furthest point bounds the distance
from below; so the search may stop anywhere, and what it returns is true.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.detect.shapes import BALL, BOX, CAPSULE
from pliant.geometry.quaternions import rotate, rotate_back
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

TRIANGLE = 6  # beside the kinds of detect/shapes.py
ROUNDS = 64  # of the search; edges, faces and corners take fewer than ten, round rims twenty
NEAR = 128  # parts of the gap: as near as the bound must come; a bound that is lower costs a swept test another step
NOTHING = 1e-12  # of the size: nearer to zero than this is touching


@inline
def shape_core(kind, u, p, q):  # type: ignore[no-untyped-def]
    """Core of a shape with parameters u in a pose."""
    return kind, u, p, q, p, p, p


@inline
def triangle_core(a, b, c):  # type: ignore[no-untyped-def]
    return TRIANGLE, (0.0, 0.0, 0.0), a, (1.0, 0.0, 0.0, 0.0), a, b, c


@inline
def furthest(core, d):  # type: ignore[no-untyped-def]
    """The point of a core that lies furthest along d."""
    kind, u, p, q, a, b, c = core
    if kind == BALL:
        return p
    if kind == TRIANGLE:
        x, y, z = dot(a, d), dot(b, d), dot(c, d)
        if x >= y and x >= z:
            return a
        return b if y >= z else c
    e = rotate_back(q, d)
    if kind == BOX:
        return add(p, rotate(q, (math.copysign(u[0], e[0]), math.copysign(u[1], e[1]), math.copysign(u[2], e[2]))))
    along = math.copysign(u[1], e[2])
    if kind == CAPSULE:
        return add(p, rotate(q, (0.0, 0.0, along)))
    across = math.sqrt(e[0] * e[0] + e[1] * e[1])
    s = u[0] / across if across > 0.0 else 0.0
    return add(p, rotate(q, (s * e[0], s * e[1], along)))


@inline
def difference(a, b, d):  # type: ignore[no-untyped-def]
    """The point of a - b that lies furthest against d."""
    return sub(furthest(a, scale(-1.0, d)), furthest(b, d))


@inline
def _keep(simplex, h, corners):  # type: ignore[no-untyped-def]
    """Keep the corners with weight; (the point, how many are left)."""
    v, n = (0.0, 0.0, 0.0), 0
    for k in range(3):
        if h[k] > 0.0:
            w = load(corners, k)
            v = axpy(h[k], w, v)
            store(simplex, n, w)
            n += 1
    return v, n


@inline
def _nearest(simplex, n, room):  # type: ignore[no-untyped-def]
    """(point nearest to the origin, how many corners hold it, now the first ones); 4 if the origin is inside."""
    zero = (0.0, 0.0, 0.0)
    if n < 4:
        for k in range(3):
            store(room, k, load(simplex, min(k, n - 1)))
        h = closest_on_triangle(zero, load(room, 0), load(room, 1), load(room, 2))
        return _keep(simplex, h, room)
    least, best, g, inside = np.inf, 0, zero, True
    for skip in range(4):
        a, b, c = load(simplex, (skip + 1) % 4), load(simplex, (skip + 2) % 4), load(simplex, (skip + 3) % 4)
        normal = cross(sub(b, a), sub(c, a))
        side, own = dot(normal, sub(load(simplex, skip), a)), -dot(normal, a)
        inside = inside and side * own > 0.0
        h = closest_on_triangle(zero, a, b, c)
        v = axpy(h[0], a, axpy(h[1], b, scale(h[2], c)))
        if dot(v, v) < least:
            least, best, g = dot(v, v), skip, h
    if inside:
        return zero, 4
    for k in range(3):
        store(room, k, load(simplex, (best + 1 + k) % 4))
    return _keep(simplex, g, room)


@kernel
def separation(a, b, radius, simplex):  # type: ignore[no-untyped-def]
    """(gap between the cores with their radii, of this sum, at least; unit vector from b to a that shows it); none above 0 if they touch.

    simplex: room, (8, 3).
    """
    corners, room = simplex[:4], simplex[4:]
    v = sub(a[2], b[2])
    if dot(v, v) == 0.0:
        v = (1.0, 0.0, 0.0)
    v = difference(a, b, v)
    size, best, way, n = norm(v), 0.0, (0.0, 0.0, 1.0), 1
    largest = size
    store(corners, 0, v)
    for _ in range(ROUNDS):
        size = norm(v)
        if size <= NOTHING * largest:
            return -radius, way
        w = difference(a, b, v)
        low = dot(v, w) / size
        if low > best:
            best, way = low, scale(1.0 / size, v)
        if NEAR * (size - best) <= size - radius or size <= radius:
            break
        largest = max(largest, norm(w))
        store(corners, n, w)
        v, n = _nearest(corners, n + 1, room)
        if n == 4:
            return -radius, way
        if norm(v) >= size:  # rounding: no nearer than it was
            break
    return best - radius, way
