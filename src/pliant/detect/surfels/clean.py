"""Raw points made fit: repeats merged, outliers dropped, clouds that are no thin layer of points made into one (theory/point-surfaces 4.3).

A thin layer looks flat in a neighbourhood of 12 or 32 points: its surface variation l0 / (l0 + l1 + l2) is small. Where it is not, larger
neighbourhoods are tried. Noise averages out: the cloud is replaced by fewer points, each on a quadric fitted to its surroundings. If no
neighbourhood is flat the points fill a body: those that have others on one side only are its skin.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.hash_grid import squared, thinned
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.projection import plane_normal, quadric_foot
from pliant.detect.surfels.scan_normals import NOISY
from pliant.geometry.components import labels
from pliant.geometry.topology import diagonal
from pliant.kernels import axpy, dot, kernel, load, scale, store, sub

SAME = 1e-9  # of the diagonal of the box: points nearer than this are one, and those thinner than this across are no surface
LEAST = 4  # points of a surface
LONELY = 16  # neighbours whose mean distance tells an outlier
ALONE = 3.0  # times what is usual among its neighbours: a part of a scan with a ninth of the samples is kept
THIN = 32  # points of the neighbourhood in which a thin layer is flat, if not in a smaller one
SIZES = (12, THIN, 64, 128, 256, 512, 1024)
FEW = 1000  # points below which coarseness cannot be told from noise: taken as a thin layer
PROBES = 400  # points at which neighbourhoods are tried
AROUND = 24  # neighbours that tell skin from inside
LOPSIDED = 0.3  # |mean direction of the neighbours|: 0 inside, 1/2 on a flat skin


def merged(points: Floats) -> Ints:
    """(n,) number of the place of each point; points nearer than 1e-9 of the box share one. Places are numbered by first appearance."""
    pairs = KDTree(points).tree.query_pairs(SAME * diagonal(points), output_type="ndarray")
    if not len(pairs):
        return np.arange(len(points))
    part = labels(len(points), pairs.astype(np.int64))
    first = np.unique(part, return_index=True)[1]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[part]


def check_finite(points: Floats, what: str) -> None:
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise PliantError(f"{what}: {len(bad)} points have coordinates that are not numbers (the first is point {bad[0]}).")


def check(points: Floats, what: str) -> None:
    """Refuse points that cannot be a surface."""
    if len(points) < LEAST:
        raise PliantError(f"{what}: {len(points)} different points are left, at least {LEAST} are needed for a surface.")
    extent = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if extent[1] < SAME * extent[0]:
        raise PliantError(f"{what}: all {len(points)} points lie on one line, which is no surface.")


def outliers(points: Floats, graph: Ints) -> np.ndarray:
    """(n,) points farther from their neighbours than three times what is usual among those neighbours."""
    near = graph[:, 1 : LONELY + 1]
    mean = np.linalg.norm(points[near] - points[:, None], axis=2).mean(axis=1)
    return np.asarray(mean > ALONE * np.median(mean[near], axis=1))


# Clouds that are no thin layer -----------------------------------------------------------------------------------------


def flat_size(points: Floats) -> int | None:
    """How many points a flat neighbourhood has, at least 32; None if there is none. Clouds too small to tell count as flat."""
    probes = np.arange(0, len(points), max(len(points) // PROBES, 1))
    tree = KDTree(points)
    if len(points) < FEW:
        return THIN
    for k in SIZES:
        if k > len(points) // 4:
            return None
        near = tree.nearest(points[probes], k)[1]
        spread = points[near] - points[near].mean(axis=1, keepdims=True)
        values = np.linalg.eigvalsh(np.einsum("ikj,ikl->ijl", spread, spread))
        variation = values[:, 0] / np.maximum(values.sum(axis=1), np.finfo(float).tiny)
        if np.median(variation) <= NOISY:
            return max(k, THIN)
    return None


def consolidated(points: Floats, k: int) -> tuple[Floats, Ints]:
    """(points (c, 3), rows they started from (c,)): fewer points, on quadrics fitted to their k nearest."""
    tree = KDTree(points)
    width = float(np.median(tree.nearest(points[:: max(len(points) // PROBES, 1)], k)[0][:, -1])) / 3.0
    rows = np.unique(thinned(points, width))
    feet = np.empty((len(rows), 3))
    _fit(points, tree.nearest(points[rows], k)[1], points[rows], width, feet)
    return feet, rows


def skin(points: Floats) -> tuple[Ints, Floats] | None:
    """(rows, outward directions) of the points of a filled body that have neighbours on one side only; None if most have."""
    near = KDTree(points).nearest(points, min(AROUND + 1, len(points)))[1][:, 1:]
    way = points[near] - points[:, None]
    mean = (way / np.linalg.norm(way, axis=2, keepdims=True)).mean(axis=1)
    length = np.linalg.norm(mean, axis=1)
    rows = np.flatnonzero(length > LOPSIDED)
    if 2 * len(rows) > len(points):
        return None
    return rows, -mean[rows] / length[rows, None]


@kernel
def _fit(points, near, queries, h, feet):  # type: ignore[no-untyped-def]
    """Feet of the queries on quadrics over weighted planes of their neighbours."""
    theta, system = np.empty(near.shape[1]), np.empty((6, 7))
    for i in range(len(queries)):
        x = load(queries, i)
        q = x
        for _ in range(10):
            total, mean = 0.0, (0.0, 0.0, 0.0)
            for c in range(near.shape[1]):
                theta[c] = math.exp(-0.5 * squared(points, near[i, c], q) / (h * h))
                total += theta[c]
                mean = axpy(theta[c], sub(load(points, near[i, c]), q), mean)
            n = plane_normal(points, near, i, q, theta, total, mean)
            height = dot(sub(sub(x, q), scale(1.0 / total, mean)), n)
            q = axpy(-height, n, x)
        fine, foot, _ = quadric_foot(points, near, i, q, n, h, theta, system)
        store(feet, i, foot if fine else q)
