"""The area that each sample stands for, from the density of the samples around it (theory/point-surfaces 3.2-3.4).

Two estimators. k nearest neighbours (the density of Keiser et al. 2004, section 5): A = pi r_k^2 / k, r_k the distance of the k-th
neighbour without the sample itself. Gaussian: A = 1 / sum_j exp(-d_j^2 / 2 h^2) / (2 pi h^2), itself included, h^2 = A of k = 8. The first
is unbiased for random samples but off by up to 18 % on regular ones; the second is exact on regular ones and 11 % low on random ones.
`estimated_areas` therefore asks how regular the samples are: where the distance of the nearest neighbour varies by more than
35 % they count as random, and the first is averaged over k = 6 ... 16.

At a rim density is one-sided: areas would come out 1.5 times too large on edges and 2.6 times in corners. No area of a rim sample may
exceed the median of the samples around that are not on the rim.

A sample is on a rim if its neighbours, seen in its tangent plane, leave a gap of more than 120 degrees. The bisector of the gap points
off the surface; projections beyond it are no contacts. Random samples leave such a gap by chance among few neighbours
(3.6 % of them with 16, 0.2 % with 24): hence 24.

Where a sampled surface ends: samples whose neighbours leave a wide gap are on the rim of it, or of a hole
(theory/point-surfaces 4.4).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.hash_grid import squared
from pliant.detect.surfels.projection import OPPOSITE, across
from pliant.kernels import cross, dot, kernel, load, sub

IRREGULAR = 0.35  # coefficient of variation of the nearest distance above which samples count as random
SPAN = range(6, 17)  # neighbours averaged over for random samples
WIDTH = 8  # neighbours that set the Gaussian's width
AROUND = 24  # neighbours that must leave no gap around a sample
GAP = 2.0 * np.pi / 3.0  # angle without neighbours from which on a sample is on a rim
ESTIMATORS = ("auto", "gaussian", "neighbours")


def neighbour_areas(distances: Floats, k: int = WIDTH) -> Floats:
    """pi r_k^2 / k [m^2]; column 0 of `distances` (n, K) is the sample itself, infinite where there are fewer neighbours."""
    count = np.minimum(np.isfinite(distances).sum(axis=1) - 1, k)
    r = np.take_along_axis(distances, count[:, None], 1)[:, 0]
    return np.pi * r * r / np.maximum(count, 1)


def gaussian_areas(distances: Floats) -> Floats:
    """1 / sum_j exp(-d_j^2 / 2 h^2) / (2 pi h^2) [m^2], h^2 = A of the 8th neighbour."""
    square = np.maximum(neighbour_areas(distances), np.finfo(float).tiny)
    return 2.0 * np.pi * square / np.exp(-0.5 * distances**2 / square[:, None]).sum(axis=1)


def irregularity(distances: Floats) -> float:
    """Coefficient of variation of the distance of the nearest neighbour: 0 on a lattice, 0.52 for random samples."""
    first = distances[:, 1][np.isfinite(distances[:, 1])]
    return float(first.std() / first.mean()) if len(first) else 0.0


def estimated_areas(
    distances: Floats, graph: Ints, estimator: str = "auto", total: float | None = None, rim: np.ndarray | None = None
) -> Floats:
    """Areas [m^2] (n,), clipped at rims, summing up to `total` [m^2] if it is given; `rim`: samples at edges and holes."""
    if estimator not in ESTIMATORS:
        raise PliantError(f"'{estimator}' is no estimator of areas; there are {', '.join(ESTIMATORS)}.")
    random = irregularity(distances) > IRREGULAR if estimator == "auto" else estimator == "neighbours"
    if random:
        areas = np.mean([neighbour_areas(distances, k) for k in SPAN], axis=0) if estimator == "auto" else neighbour_areas(distances)
    else:
        areas = gaussian_areas(distances)
    alone = ~np.isfinite(distances[:, 1]) if distances.shape[1] > 1 else np.ones(len(areas), bool)
    if alone.all():
        raise PliantError("areas cannot be estimated: no sample has a neighbour that faces its way.")
    areas[alone] = np.median(areas[~alone])  # nothing of its own sheet is near
    return rescaled(clipped(areas, graph, rim), total)


def clipped(areas: Floats, graph: Ints, rim: np.ndarray | None = None) -> Floats:
    """On a rim not more than the median of those around that are not on it."""
    if rim is None or not rim.any():
        return areas
    out, near = areas.copy(), graph[rim, 1:]
    inner = np.ma.median(np.ma.masked_array(out[near], rim[near]), axis=1)
    out[rim] = np.minimum(out[rim], np.ma.filled(inner, np.inf))
    return out


def rescaled(areas: Floats, total: float | None) -> Floats:
    if total is None:
        return areas
    if not (np.isfinite(total) and total > 0.0):
        raise PliantError(f"the total area of a surface must be above zero, not {total} m^2.")
    return areas * (total / areas.sum())


def own_side(points: Floats, normals: Floats, graph: Ints) -> Floats:
    """Distances (n, K) [m] of the neighbours on the same sheet, ascending, then infinite: the back of a thin sheet does not count."""
    distances = np.full(graph.shape, np.inf)
    _own_side(points, normals, graph, distances)
    return distances


@kernel
def _own_side(points, normals, graph, distances):  # type: ignore[no-untyped-def]
    for i in range(len(graph)):
        x, n, count = load(points, i), load(normals, i), 0
        for c in range(graph.shape[1]):
            j = graph[i, c]
            if dot(load(normals, j), n) > OPPOSITE:
                distances[i, count] = np.sqrt(squared(points, j, x))
                count += 1


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
