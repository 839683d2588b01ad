"""A closed surface around a scan, so that a body with an inside can be made of it."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.detect.surfels.make import from_cloud
from pliant.geometry.files import PointCloud
from pliant.geometry.lattice.closing import FAR, drawn_to, without_crumbs, wrapped
from pliant.geometry.mesh import Surface
from pliant.geometry.topology import diagonal
from pliant.geometry.winding_tree import WindingTree

STEPS = 100  # along the diagonal, unless the edge of cells is given


def wrapped_cloud(cloud: PointCloud, edge: float | None = None) -> Surface:
    """The border of what the samples wind around, drawn to them; four times as fine as cells of this edge [m]."""
    made = from_cloud(cloud)
    least = 0.5 * float(np.median(made.spacing))  # finer, it would follow single samples
    step = max(0.25 * edge if edge else diagonal(made.points) / STEPS, least)

    def onto(x: Floats) -> tuple[Floats, Floats]:
        foot = made.project(x).points  # over holes too, where it is near
        away = np.linalg.norm(foot - x, axis=1)
        return foot, np.where(np.isfinite(away), away, np.inf)

    found = wrapped(WindingTree.of_samples(made.points, made.normals, made.areas), made.points, step, onto)
    found = drawn_to(found, made.points, float(np.median(made.spacing)), 2.0 * float(np.median(made.spacing)))
    return without_crumbs(found, made.points, made.areas[:, None] * made.normals, FAR * step)
