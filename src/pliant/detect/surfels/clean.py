"""Raw points made fit: repeats merged, outliers dropped, noise smoothed."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.surfels.neighbours import KDTree
from pliant.geometry.topology import diagonal, labels

SAME = 1e-9  # of the diagonal of the box: points nearer than this are one
LEAST = 4  # points of a surface
LINE = 1e-6  # of the longest extent: points thinner than this across are no surface
LONELY = 16  # neighbours whose mean distance tells an outlier
MADS = 6.0  # median absolute deviations beyond the median
ALONE = 3.0  # and so many times the mean distance of its neighbours


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
    if extent[1] < LINE * extent[0]:
        raise PliantError(f"{what}: all {len(points)} points lie on one line, which is no surface.")


def outliers(points: Floats, graph: Ints) -> np.ndarray:
    """(n,) points farther from their neighbours than median + 6 MAD, and than three times what is usual among those neighbours.

    The second condition keeps sparse parts of a scan, and regular samples, whose MAD is nearly zero.
    """
    near = graph[:, 1 : LONELY + 1]
    mean = np.linalg.norm(points[near] - points[:, None], axis=2).mean(axis=1)
    middle = np.median(mean)
    beyond = mean > middle + MADS * np.median(np.abs(mean - middle))
    return np.asarray(beyond & (mean > ALONE * np.median(mean[near], axis=1)))
