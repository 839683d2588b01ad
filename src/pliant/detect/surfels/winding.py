"""How often a surface of samples winds around a point: 1 inside, 0 outside, in between where it has holes (theory/point-surfaces 6.3).

    w(x) = 1/(4 pi) sum A_i (s_i - x).n_i / |s_i - x|^3                                             [Barill et al. 2018]
Clusters of samples that are far away count as one, by their Taylor expansion about the centroid c of their area, with d = s - c, r = c - x:
    r.D / r^3  +  tr(M) / r^3 - 3 r.M r / r^5  -  3/2 V.r / r^5 + 15/2 T(r, r, r) / r^7,
    D = sum A n,   M = sum A d n^T,   T = sum A d d n,   V = sum A (|d|^2 n + 2 (d.n) d).
Limitations: within a spacing of the surface single samples show through; it decides the side of far points only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats
from pliant.detect.hash_grid import as_queries
from pliant.detect.surfels.clusters import Spheres
from pliant.geometry.winding import sample_solid_angle
from pliant.kernels import axpy, dot, inline, kernel, load, norm, parallel, prange, scale, sub, use_threads

CHUNK = 16  # queries of a winding number that one thread takes
OPEN = 4.0  # radii from a cluster beyond which it counts as one: error below 1e-3 of winding numbers, about 1e-3 / OPEN^2 of displacements
PAIRS = 100_000_000  # samples times queries above which clusters are used


class Moments(NamedTuple):
    """What the nodes of a tree of spheres look like from afar."""

    centre: Floats  # (nodes, 3) [m] centroid of area
    reach: Floats  # (nodes,) [m] all samples are this near
    terms: Floats  # (nodes, 42) D (3) [m^2], M (9) [m^3], V (3) [m^4], T (27) [m^4]

    @staticmethod
    def of(spheres: Spheres, points: Floats, normals: Floats, areas: Floats) -> Moments:
        area = spheres.sums(areas)
        centre = np.ascontiguousarray(spheres.sums(areas[:, None] * points) / area[:, None])
        reach = np.linalg.norm(centre - spheres.centre, axis=1) + spheres.radius
        terms = np.zeros((len(centre), 42))
        _gather_moments(spheres, points, normals, areas, centre, terms)
        return Moments(centre, reach, terms)


def winding_number(
    spheres: Spheres, moments: Moments, points: Floats, normals: Floats, areas: Floats, queries: Floats, opening: float | None = None
) -> Floats:
    """(m,) winding numbers; `opening`: radii beyond which clusters count as one, None: as the work demands, inf: sample by sample."""
    queries = as_queries(queries)
    if opening is None:
        opening = OPEN if len(queries) * len(points) > PAIRS else np.inf
    out = np.empty(len(queries))
    use_threads(100 * len(queries))
    _wind(spheres, moments, points, normals, areas, queries, float(opening), out)
    return out


@kernel
def _gather_moments(spheres, points, normals, areas, centre, terms):  # type: ignore[no-untyped-def]
    begin, end, order = spheres.begin, spheres.end, spheres.order
    for node in range(len(begin)):
        t = terms[node]
        for place in range(begin[node], end[node]):
            s = order[place]
            d, n = sub(load(points, s), load(centre, node)), scale(areas[s], load(normals, s))
            both = axpy(dot(d, d), n, scale(2.0 * dot(d, n), d))
            for a in range(3):
                t[a] += n[a]
                t[12 + a] += both[a]
                for b in range(3):
                    t[3 + 3 * a + b] += d[a] * n[b]
                    for c in range(3):
                        t[15 + 9 * a + 3 * b + c] += d[a] * d[b] * n[c]


@inline
def from_afar(t, r, length):  # type: ignore[no-untyped-def]
    """The expansion above; t the terms of a node."""
    square = 1.0 / (length * length)
    line = dot((t[0], t[1], t[2]), r) + t[3] + t[7] + t[11]
    bend, third = 0.0, 0.0
    for a in range(3):
        for b in range(3):
            bend += r[a] * r[b] * t[3 + 3 * a + b]
            third += r[a] * r[b] * dot((t[15 + 9 * a + 3 * b], t[16 + 9 * a + 3 * b], t[17 + 9 * a + 3 * b]), r)
    bend = 3.0 * bend + 1.5 * dot((t[12], t[13], t[14]), r)
    return (line - bend * square + 1.5 * 5.0 * third * square * square) * square / length


@parallel
def _wind(spheres, moments, points, normals, areas, queries, opening, out):  # type: ignore[no-untyped-def]
    begin, end, left, right, order = spheres.begin, spheres.end, spheres.left, spheres.right, spheres.order
    centre, reach, terms = moments.centre, moments.reach, moments.terms
    for chunk in prange((len(queries) + CHUNK - 1) // CHUNK):
        stack = np.empty(spheres.depth + 2, np.int64)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(queries))):
            x, total, top, stack[0] = load(queries, i), 0.0, 1, 0
            while top > 0:
                top -= 1
                node = stack[top]
                r = sub(load(centre, node), x)
                length = norm(r)
                if length > opening * reach[node]:
                    total += from_afar(terms[node], r, length)
                elif left[node] >= 0:
                    stack[top], stack[top + 1] = right[node], left[node]
                    top += 2
                else:
                    for place in range(begin[node], end[node]):
                        j = order[place]
                        total += sample_solid_angle(sub(load(points, j), x), load(normals, j), areas[j])
            out[i] = total / (4.0 * np.pi)
