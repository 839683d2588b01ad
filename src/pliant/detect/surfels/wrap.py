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
    least = 0.5 * float(np.median(made.spacing))  # finer, it would follow single samples
    step = max(0.25 * edge if edge else diagonal(made.points) / STEPS, least)

    def onto(x: Floats) -> tuple[Floats, Floats]:
        foot = made.project(x).points  # over holes too, where it is near
        away = np.linalg.norm(foot - x, axis=1)
        return foot, np.where(np.isfinite(away), away, np.inf)

    found = wrapped(WindingTree.of_samples(made.points, made.normals, made.areas), made.points, step, onto)
    found = without_crumbs(found, made.points, made.areas[:, None] * made.normals, FAR * step)
    found = drawn_to(found, made.points, float(np.median(made.spacing)), REACH * float(np.median(made.spacing)))
    out = ~on_surface(found, made)
    note = "; ".join(["its points were wrapped with a surface", *made.notes])
    if out.any():
        low, high = (_place(end) for end in (made.points[out].min(axis=0), made.points[out].max(axis=0)))
        far = float(nearest_on(found, made.points[out])[1].max())
        note += f"; {out.sum()} of {len(out)} samples left out that enclose nothing, up to {far:.3g} m off, in {low} to {high} m"
    return found, note


def on_surface(surface: Surface, samples: PointSurface) -> Bools:
    """Which samples are on the surface that was drawn to them, (n,)."""
    return np.asarray(nearest_on(surface, samples.points)[1] <= OFF * float(np.median(samples.spacing)))


def _place(x: Floats) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in x) + ")"
