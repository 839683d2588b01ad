"""A closed surface around a scan, so that a body with an inside can be made of it."""

from __future__ import annotations

import numpy as np

from pliant.base import Bools, Floats
from pliant.detect.surfels.make import from_cloud
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.distance import nearest_on
from pliant.geometry.files import PointCloud
from pliant.geometry.lattice.closing import FAR, OFF, REACH, drawn_to, without_crumbs, wrapped
from pliant.geometry.mesh import Surface
from pliant.geometry.topology import diagonal
from pliant.geometry.winding_tree import WindingTree

STEPS = 100  # along the diagonal, unless the edge of cells is given


def wrapped_cloud(cloud: PointCloud, edge: float | None = None) -> tuple[Surface, str]:
    """The border of what the samples wind around, drawn to them, and a note; four times as fine as cells of this edge [m].

    Samples that stay off it enclose nothing, such as single ones beside the rim of a scan: they are left out, which the note tells.
    """
    made = from_cloud(cloud)
    spacing = float(np.median(made.spacing))
    step = max(0.25 * edge if edge else diagonal(made.points) / STEPS, 0.5 * spacing)  # finer, it would follow single samples

    def onto(x: Floats) -> tuple[Floats, Floats]:
        foot = made.project(x).points  # over holes too, where it is near
        away = np.linalg.norm(foot - x, axis=1)
        return foot, np.where(np.isfinite(away), away, np.inf)

    found = wrapped(WindingTree.of_samples(made.points, made.normals, made.areas), made.points, step, onto)
    found = without_crumbs(found, made.points, made.areas[:, None] * made.normals, FAR * step)
    found = drawn_to(found, made.points, spacing, REACH * spacing)
    out, away = left_out(found, made)
    note = "; ".join(["its points were wrapped with a surface", *made.notes])
    if out.any():
        low, high = (_place(end) for end in (made.points[out].min(axis=0), made.points[out].max(axis=0)))
        far = float(away[out].max())
        note += f"; {out.sum()} of {len(out)} samples left out that enclose nothing, up to {far:.3g} m off, in {low} to {high} m"
    return found, note


def left_out(surface: Surface, samples: PointSurface) -> tuple[Bools, Floats]:
    """Which samples are not on the surface that was drawn to them, (n,), and how far all are from it [m]."""
    away = nearest_on(surface, samples.points)[1]
    return np.asarray(away > OFF * float(np.median(samples.spacing))), away


def _place(x: Floats) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in x) + ")"
