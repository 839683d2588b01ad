"""How often a sampled surface winds around a point: 1 inside, 0 outside, in between where it has holes.

w(x) = 1/(4 pi) sum A_i (s_i - x).n_i / |s_i - x|^3  [Barill et al. 2018]. Clusters of samples that are far away count as one, by the
dipole and the next term of their expansion about the area's centroid c, r = c - x:
    r.D / r^3 + tr(M) / r^3 - 3 r.M r / r^5,   D = sum A n,   M = sum A (s - c) n^T.

Limitations: within a spacing of the surface single samples show through; it decides the side of far points only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.detect.surfels.clusters import Spheres
from pliant.geometry.mesh import Floats
from pliant.kernels import contiguous, dot, load, norm, parallel, prange, sub, use_threads

CHUNK = 16
OPEN = 2.5  # a cluster counts as one beyond so many of its radii; see the accuracy test
PAIRS = 1e8  # samples times queries above which clusters are used


@dataclass(frozen=True)
class Moments:
    """What a node of the tree of spheres looks like from afar."""

    centre: Floats  # (nodes, 3) [m] centroid of area
    reach: Floats  # (nodes,) [m] all samples are this near
    dipole: Floats  # (nodes, 3) [m^2]
    next: Floats  # (nodes, 3, 3) [m^3]

    @staticmethod
    def of(spheres: Spheres, points: Floats, normals: Floats, areas: Floats) -> Moments:
        area, vector = spheres.sums(areas), areas[:, None] * normals
        centre = spheres.sums(areas[:, None] * points) / np.maximum(area, np.finfo(float).tiny)[:, None]
        dipole = spheres.sums(vector)
        outer = spheres.sums(points[:, :, None] * vector[:, None, :]) - centre[:, :, None] * dipole[:, None, :]
        reach = np.linalg.norm(centre - spheres.centre, axis=1) + spheres.radius
        return Moments(centre, reach, dipole, np.ascontiguousarray(outer))


def winding_number(
    spheres: Spheres, moments: Moments, points: Floats, normals: Floats, areas: Floats, queries: Floats, opening: float | None = None
) -> Floats:
    """(m,) winding numbers; `opening`: radii beyond which clusters count as one, None: as the work demands, inf: sample by sample."""
    queries = contiguous(queries).reshape(-1, 3)
    if opening is None:
        opening = OPEN if len(queries) * len(points) > PAIRS else np.inf
    out = np.empty(len(queries))
    use_threads(100 * len(queries))
    _wind(
        spheres.begin, spheres.end, spheres.left, spheres.right, spheres.order, spheres.depth,
        moments.centre, moments.reach, moments.dipole, moments.next, points, normals, areas, queries, float(opening), out,
    )  # fmt: skip
    return out


@parallel
def _wind(begin, end, left, right, order, depth, centre, reach, dipole, outer, points, normals, areas, queries, opening, out):  # type: ignore[no-untyped-def]
    for chunk in prange((len(queries) + CHUNK - 1) // CHUNK):
        stack = np.empty(depth + 2, np.int64)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(queries))):
            x, total, top, stack[0] = load(queries, i), 0.0, 1, 0
            while top > 0:
                top -= 1
                node = stack[top]
                r = sub(load(centre, node), x)
                length = norm(r)
                if length > opening * reach[node]:
                    m = outer[node]
                    bend = (
                        r[0] * (m[0, 0] * r[0] + m[0, 1] * r[1] + m[0, 2] * r[2])
                        + r[1] * (m[1, 0] * r[0] + m[1, 1] * r[1] + m[1, 2] * r[2])
                        + r[2] * (m[2, 0] * r[0] + m[2, 1] * r[1] + m[2, 2] * r[2])
                    )
                    near = dot(r, load(dipole, node)) + m[0, 0] + m[1, 1] + m[2, 2] - 3.0 * bend / (length * length)
                    total += near / (length * length * length)
                elif left[node] >= 0:
                    stack[top], stack[top + 1] = right[node], left[node]
                    top += 2
                else:
                    for place in range(begin[node], end[node]):
                        r = sub(load(points, order[place]), x)
                        length = norm(r)
                        if length > 0.0:
                            total += areas[order[place]] * dot(r, load(normals, order[place])) / (length * length * length)
            out[i] = total / (4.0 * np.pi)
