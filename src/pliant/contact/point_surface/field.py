"""The implicit surfaces of bodies, inside kernels: f(x) = n(x).(x - a(x)), negative inside (Alexa, Adamson 2004; (1) of Keiser et al.).

Where we differ: the plain f is not zero on the samples themselves, it is about h^2 / R there, so that a ball is felt too small by that.
What f is at each sample at rest (`lift`) is taken off again with the same weights. Samples lose weight as they face another way than the
nearest one, and those on creases have none, so that a face is flat up to its edge. Of two faces the nearer sample decides, which at a
convex edge is the greater distance, at a concave one the smaller.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.detect.analytic import signed_distance
from pliant.detect.surfels.areas import OPPOSITE
from pliant.detect.surfels.neighbours import squared
from pliant.detect.surfels.weights import CUT
from pliant.geometry.rotations import load4, rotate, rotate_back
from pliant.kernels import axpy, dot, inline, kernel, load, norm, parallel, prange, scale, store, sub

CHUNK = 64
COMMON = 0.1  # |sum theta n| / sum theta below which samples have no common side
LOST, FOUND, DEEP = 0, 1, 2  # no field there; a good one; a sample is near, but beyond the support of the weights
APART, ALIKE = 0.2, 0.8  # cosine of normals below which a sample has no weight, and above which it has all
SUPPORT = 3.0  # widths h from the nearest sample beyond which the direction of the field is not trusted


@inline
def around(points, normals, graph, s, q, square):  # type: ignore[no-untyped-def]
    """Walk from sample s to the one nearest to q on the same sheet; `square` (K,) gets the squared distances of its neighbours."""
    for _ in range(64):
        best, to, n = np.inf, s, load(normals, s)
        for c in range(graph.shape[1]):
            j = graph[s, c]
            if j < 0:
                square[c] = np.inf
                continue
            d = squared(points, j, q)
            square[c] = d
            if d < best and dot(load(normals, j), n) > OPPOSITE:
                best, to = d, j
        if to == s:
            break
        s = to
    return s


@inline
def blended(points, normals, spacing, reach, lift, graph, s, q, square):  # type: ignore[no-untyped-def]
    """(state, f, n, h) at q from the neighbours of sample s, whose squared distances are in `square`; it then holds the weights."""
    top, total, far = 0.0, 0.0, reach[s] * reach[s]
    for c in range(graph.shape[1]):
        w = max(1.0 - square[c] / far, 0.0)
        w = w * w * w
        top += w * spacing[graph[s, c]]
        total += w
    h, nearest = top / total if total > 0.0 else spacing[s], square[0]
    mean, side, own, raised, total = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), load(normals, s), 0.0, 0.0
    for c in range(graph.shape[1]):
        theta, j = 0.0, graph[s, c]
        if square[c] < CUT * CUT * h * h:
            n = load(normals, j)
            like = min((dot(n, own) - APART) / (ALIKE - APART), 1.0)
            if like > 0.0:
                theta = like * math.exp(-0.5 * square[c] / (h * h))
                total += theta
                mean, side = axpy(theta, sub(load(points, j), q), mean), axpy(theta, n, side)
                raised += theta * lift[j]
        square[c] = theta
    if not (total > 1e-12 and norm(side) > COMMON * total):
        return LOST, dot(sub(q, load(points, s)), own), own, h
    n = scale(1.0 / norm(side), side)
    return (FOUND if nearest <= SUPPORT * SUPPORT * h * h else DEEP), -(dot(mean, n) + raised) / total, n, h


@inline
def distance(points, normals, spacing, reach, lift, graph, kind, sizes, position, rotation, s, b, q, square):  # type: ignore[no-untyped-def]
    """(state, f, n, sample) of body b at q: exact, or from the samples around s."""
    if kind[b] >= 0:
        d, n = signed_distance(kind[b], sizes[b, 0], sizes[b, 1], sizes[b, 2], rotate_back(load4(rotation, b), sub(q, load(position, b))))
        return FOUND, d, rotate(load4(rotation, b), n), s
    if s < 0:
        return LOST, np.inf, (0.0, 0.0, 1.0), s
    s = around(points, normals, graph, s, q, square)
    state, f, n, _ = blended(points, normals, spacing, reach, lift, graph, s, q, square)
    return state, f, n, s


@parallel
def distances(points, normals, spacing, reach, lift, graph, kind, sizes, position, rotation, queries, other, sample, gap, normal, state):  # type: ignore[no-untyped-def]
    """f and n of body `other` at each query; `sample` holds where to start (-1: no surfel is near) and where it ended."""
    count = len(queries)
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        square = np.empty(graph.shape[1])
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            state[i], gap[i], n, sample[i] = distance(
                points, normals, spacing, reach, lift, graph, kind, sizes, position, rotation, sample[i], other[i], load(queries, i), square
            )
            store(normal, i, n)


@kernel
def lifts(points, normals, spacing, reach, graph, lift):  # type: ignore[no-untyped-def]
    """f at the samples themselves, with `lift` zero on entry."""
    square, zero = np.empty(graph.shape[1]), np.zeros(len(points))
    for i in range(len(points)):
        s = around(points, normals, graph, i, load(points, i), square)
        state, f, _, _ = blended(points, normals, spacing, reach, zero, graph, s, load(points, i), square)
        lift[i] = f if state == FOUND else 0.0
