"""Where a sampled surface ends: samples whose neighbours leave a wide gap are on the rim of it, or of a hole
(theory/point-surfaces 4.4).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.projection import OPPOSITE, across
from pliant.kernels import cross, dot, kernel, load, sub

AROUND = 24  # neighbours whose areas bound a sample's, and that must leave no gap around it
GAP = 2.0 * np.pi / 3.0  # angle without neighbours from which on a sample is on a rim


def rims(points: Floats, normals: Floats, graph: Ints) -> tuple[np.ndarray, Floats]:
    """(on a rim (n,), unit vector (n, 3) in the tangent plane that points off the surface; zero elsewhere)."""
    gap, out = np.zeros(len(points)), np.zeros_like(points)
    _gaps(points, normals, graph, min(AROUND, graph.shape[1] - 1), gap, out)
    on = gap > GAP
    out[~on] = 0.0
    return on, out


@kernel
def _gaps(points, normals, graph, k, gap, out):  # type: ignore[no-untyped-def]
    """The largest angle between neighbours of the same sheet around each sample, and its bisector."""
    angles = np.empty(k)
    for i in range(len(points)):
        x, n, count = load(points, i), load(normals, i), 0
        u = across(n)
        v = cross(n, u)
        for c in range(1, k + 1):
            j = graph[i, c]
            d = sub(load(points, j), x)
            if dot(load(normals, j), n) > OPPOSITE and dot(d, d) > 0.0:
                angles[count] = np.arctan2(dot(d, v), dot(d, u))
                count += 1
        middle = 0.0
        if count == 0:
            gap[i] = 2.0 * np.pi
        else:
            angles[:count].sort()
            gap[i] = 2.0 * np.pi - (angles[count - 1] - angles[0])
            middle = angles[count - 1] + 0.5 * gap[i]
            for c in range(1, count):
                if angles[c] - angles[c - 1] > gap[i]:
                    gap[i] = angles[c] - angles[c - 1]
                    middle = 0.5 * (angles[c] + angles[c - 1])
        for a in range(3):
            out[i, a] = np.cos(middle) * u[a] + np.sin(middle) * v[a]
