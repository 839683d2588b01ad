"""How often a surface winds around a place: 1 inside, 0 outside, in between where it has holes.

Triangles: the sum of their solid angles over 4 pi (van Oosterom and Strackee 1983). Samples with normals and areas:
    w(x) = 1/(4 pi) sum A_i (s_i - x).n_i / |s_i - x|^3  [Barill et al. 2018]; theory/point-surfaces 6.3
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, cross, dot, inline, kernel, load, norm, sub


@inline
def half_solid_angle(a, b, c):  # type: ignore[no-untyped-def]
    """Half of the solid angle of the triangle abc as seen from the origin."""
    la, lb, lc = norm(a), norm(b), norm(c)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return math.atan2(dot(a, cross(b, c)), below)


@inline
def sample_solid_angle(r, n, area):  # type: ignore[no-untyped-def]
    """Solid angle of a sample at r from the eye with unit normal n; 0 for one in the eye."""
    length = norm(r)
    return area * dot(r, n) / (length * length * length) if length > 0.0 else 0.0


def winding_numbers(points: Floats, faces: Ints, at: Floats) -> Floats:
    """Winding number of triangles about each place, (n,)."""
    out = np.empty(len(at))
    _triangles(contiguous(points), contiguous(faces, np.int64), contiguous(at), out)
    return out


def sampled_winding_numbers(start: Ints, points: Floats, normals: Floats, areas: Floats, at: Floats, body: Ints) -> Floats:
    """Winding number of the samples start[b] : start[b + 1] of body b = body[i] about each place i, sample by sample, (n,)."""
    out = np.zeros(len(at))
    _samples(start, points, normals, areas, at, body, out)
    return out


@kernel
def _triangles(points, faces, at, out):  # type: ignore[no-untyped-def]
    for i in range(len(at)):
        p, total = load(at, i), 0.0
        for f in range(len(faces)):
            total += half_solid_angle(
                sub(load(points, faces[f, 0]), p), sub(load(points, faces[f, 1]), p), sub(load(points, faces[f, 2]), p)
            )
        out[i] = total / (2.0 * math.pi)


@kernel
def _samples(start, points, normals, areas, at, body, out):  # type: ignore[no-untyped-def]
    for i in range(len(at)):
        p, total = load(at, i), 0.0
        for j in range(start[body[i]], start[body[i] + 1]):
            total += sample_solid_angle(sub(load(points, j), p), load(normals, j), areas[j])
        out[i] = total / (4.0 * math.pi)
