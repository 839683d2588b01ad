"""Distance of points from a triangle surface, and the nearest places on it.

Triangles are sorted along a curve that keeps neighbours together and halved again and again; a group whose box is farther away than
what was found already is passed over.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mesh import Surface
from pliant.geometry.winding_tree import along_curve, halved
from pliant.kernels import add, contiguous, cross, dot, inline, kernel, load, scale, store, sub


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


@inline
def _on_segment(p, a, b):  # type: ignore[no-untyped-def]
    ab = sub(b, a)
    length = dot(ab, ab)
    t = 0.0 if length == 0.0 else min(max(dot(sub(p, a), ab) / length, 0.0), 1.0)
    return add(a, scale(t, ab))


@inline
def _on_triangle(p, a, b, c):  # type: ignore[no-untyped-def]
    """In its plane if the point projects inside, else on the nearest edge."""
    n = cross(sub(b, a), sub(c, a))
    square = dot(n, n)
    u, v, w = dot(cross(sub(b, a), sub(p, a)), n), dot(cross(sub(c, b), sub(p, b)), n), dot(cross(sub(a, c), sub(p, c)), n)
    if square > 0.0 and u >= 0.0 and v >= 0.0 and w >= 0.0:
        return sub(p, scale(dot(sub(p, a), n) / square, n))
    best = _on_segment(p, a, b)
    d = sub(best, p)
    away = dot(d, d)
    for k in range(2):
        q = _on_segment(p, b, c) if k == 0 else _on_segment(p, c, a)
        d = sub(q, p)
        if dot(d, d) < away:
            best, away = q, dot(d, d)
    return best


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
                q = _on_triangle(p, load(x[n], 0), load(x[n], 1), load(x[n], 2))
                d = sub(q, p)
                if dot(d, d) < found:
                    found, face[i] = dot(d, d), n
                    store(place, i, q)
        away[i] = np.sqrt(found)
