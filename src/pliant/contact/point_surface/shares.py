"""How the surfels of the penetrated body share a contact: the transpose of how they make its surface.

Weights (1 - d^2 / r^2)^3 about the foot x - f n, r = 2.2 h, made linear-exact in the tangent plane: their centre is the foot itself, so
that a force along n at x and its reaction are on one line and no moment is made (4.6 of the methods page).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.hits import Hits
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.detect.surfels.neighbours import squared
from pliant.detect.surfels.weights import OPPOSITE, across
from pliant.kernels import axpy, cross, dot, kernel, load, sub

WIDE = 2.2  # spacings that a contact is spread over
LEAST = 0.2  # factor by which a weight may be reduced to move their centre


def shares(surfaces: Surfaces, hits: Hits, moved: Floats | None = None) -> tuple[Ints, Ints, Floats]:
    """CSR (start (r + 1,), surfels, weights that sum to one) of the other side of each hit; nothing where its sample is -1.

    `moved` [m] (r, 3): how far from the foot it is shared.
    """
    fixed, room = surfaces.fixed, surfaces.fixed.around.shape[1]
    start = np.zeros(len(hits) + 1, np.int64)
    surfel, weight = np.empty(len(hits) * room, np.int64), np.empty(len(hits) * room)
    count = _shares(
        surfaces.points, surfaces.normals, surfaces.spacing, fixed.around, surfaces.points[hits.surfel] + (0.0 if moved is None else moved),
        hits.sample, hits.gap, hits.normal, hits.deep, start, surfel, weight,
    )  # fmt: skip
    return start, surfel[:count].copy(), weight[:count].copy()


@kernel
def _shares(points, normals, spacing, graph, queries, sample, gap, normal, deep, start, surfel, weight):  # type: ignore[no-untyped-def]
    count = 0
    for r in range(len(queries)):
        s = sample[r]
        if s >= 0 and deep[r]:
            surfel[count], weight[count] = s, 1.0
            count += 1
        elif s >= 0:
            n = load(normal, r)
            count = _share(points, normals, spacing, graph, s, axpy(-gap[r], n, load(queries, r)), n, surfel, weight, count)
        start[r + 1] = count
    return count


@kernel
def _share(points, normals, spacing, graph, s, foot, n, surfel, weight, count):  # type: ignore[no-untyped-def]
    """Weights of the neighbours of sample s about the foot, from place `count` on."""
    first, own, far, u = count, load(normals, s), (WIDE * spacing[s]) ** 2, across(n)
    v = cross(n, u)
    total, mu, mv, uu, uv, vv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(graph.shape[1]):
        j = graph[s, c]
        if j < 0 or dot(load(normals, j), own) <= OPPOSITE:
            continue
        w = 1.0 - squared(points, j, foot) / far
        if w > 0.0:
            w, d = w * w * w, sub(load(points, j), foot)
            y, z = dot(d, u), dot(d, v)
            total, mu, mv = total + w, mu + w * y, mv + w * z
            uu, uv, vv = uu + w * y * y, uv + w * y * z, vv + w * z * z
            surfel[count], weight[count] = j, w
            count += 1
    if count == first:
        surfel[count], weight[count] = s, 1.0
        return count + 1
    determinant = uu * vv - uv * uv
    a = b = 0.0
    if determinant > 1e-6 * (uu + vv) ** 2:
        a, b = -(vv * mu - uv * mv) / determinant, -(uu * mv - uv * mu) / determinant
    least = 1.0
    for k in range(first, count):
        d = sub(load(points, surfel[k]), foot)
        least = min(least, 1.0 + a * dot(d, u) + b * dot(d, v))
    if least < LEAST:  # the foot is beyond a rim: no share may pull
        a, b = a * (1.0 - LEAST) / (1.0 - least), b * (1.0 - LEAST) / (1.0 - least)
    total += a * mu + b * mv
    for k in range(first, count):
        d = sub(load(points, surfel[k]), foot)
        weight[k] *= (1.0 + a * dot(d, u) + b * dot(d, v)) / total
    return count
