"""What can be wrong with a point cloud."""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.geometry.files import PointCloud
from pliant.geometry.report import REFUSED, Report

OUTLIER = 10.0  # a point this many typical spacings away from its neighbours is an outlier
NEIGHBOURS = 4


def diagnose_points(cloud: PointCloud, report: Report) -> None:
    """Fill the report."""
    bad = np.nonzero(~np.isfinite(cloud.points).all(axis=1))[0]
    report.add("non-finite", bad, "{n} {point has|points have} coordinates that are not numbers (NaN or infinite).", REFUSED)
    report.add("empty", (), "The cloud has no points.", REFUSED, count=int(not len(cloud.points)))
    if report.refused:
        return
    twins = _twins(cloud)
    report.add("duplicate-points", twins, "{n} {point lies|points lie} exactly on another point.", "repaired: left out")
    _spacing(cloud, twins, report)
    if cloud.normals is None:
        report.add("no-normals", (), "The points have no normals: their outer side is not known.", count=1)
        return
    length = np.linalg.norm(cloud.normals, axis=1)
    lost = np.nonzero(~(length > 1e-6) | ~np.isfinite(length))[0]
    report.add("bad-normals", lost, "{n} {normal has|normals have} no direction.", REFUSED)
    off = np.nonzero(np.abs(length - 1.0) > 1e-3)[0]
    if not len(lost):
        worst = f"length {length[np.argmax(np.abs(length - 1.0))]:.4g}"
        report.add(
            "long-normals",
            off,
            "{n} {normal does|normals do} not have length 1.",
            "repaired: set to length 1",
            worst=worst,
        )


def repair_points(cloud: PointCloud, report: Report) -> PointCloud:
    """The cloud after the repairs that its report announces."""
    keep = np.ones(len(cloud.points), dtype=bool)
    if report.will("duplicate-points"):
        keep[_twins(cloud)] = False
    normals = cloud.normals
    if normals is not None:
        normals = normals[keep]
        if report.will("long-normals"):
            normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return PointCloud(cloud.points[keep], normals)


def _twins(cloud: PointCloud) -> Ints:
    """Points that repeat an earlier one."""
    _, first = np.unique(cloud.points, axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(cloud.points)), first)


def _spacing(cloud: PointCloud, twins: Ints, report: Report) -> None:
    from scipy.spatial import cKDTree

    ids = np.delete(np.arange(len(cloud.points)), twins)
    if len(ids) <= NEIGHBOURS:
        return
    points = cloud.points[ids]
    distance = cKDTree(points).query(points, k=NEIGHBOURS + 1)[0][:, 1:]
    typical = float(np.median(distance[:, 0]))
    report.summary += f" Typical spacing {typical:.4g} m, largest {distance[:, 0].max():.4g} m."
    lonely = distance.mean(axis=1) > OUTLIER * float(np.median(distance.mean(axis=1)))
    far = float(distance.mean(axis=1).max()) / max(float(np.median(distance.mean(axis=1))), 1e-300)
    report.add(
        "outliers", ids[lonely],
        f"{{n}} {{point is|points are}} more than {OUTLIER:g} spacings away from the neighbours.",
        worst=f"{far:.3g} spacings",
    )  # fmt: skip
