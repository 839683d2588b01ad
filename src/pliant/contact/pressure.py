"""Pressure where vertices carry the contact: from forces on skin points to a field, and back to an area per contact.

Force f_i on skin point i is the sum of its share of all contacts. The point stands for a third of the faces around it, as seen along
f_i: A_i. Then p_i = |f_i| / A_i is the pressure, linear over the faces; its integral with lumped areas is the force exactly. In static
equilibrium of linear elements f_i are the consistent loads of the true pressure, so p_i is right also where vertices have few or many
faces. A row's pressure is that of its points, its area the force over it.
"""

from __future__ import annotations

import numpy as np

from pliant.contact.contacts import Support
from pliant.geometry.mesh import Floats
from pliant.geometry.topology import listed
from pliant.kernels import cross, dot, inline, kernel, load, norm, scale, sub
from pliant.model import Model
from pliant.motion import Motion, Rows


class Pressure:
    """Faces around each skin point; made once (`motion.kept(Pressure)`)."""

    def __init__(self, world: Motion | Model) -> None:
        skin = world.skin
        self.faces = skin.faces
        self.around = listed(skin.faces.ravel(), np.repeat(np.arange(len(skin.faces)), 3), len(skin))
        self.soft = (skin.frame < 0) & (np.diff(skin.start) > 0)

    def row_areas(self, motion: Motion, rows: Rows, impulse: Floats) -> Floats:
        """Area that each row stands for [m^2], (r,): of its soft side if it has one; NaN where neither side has a surface."""
        pushed = impulse[:, None] * rows.normal
        pressure = point_pressure(motion.end, self, Support.of(rows), pushed)
        out = np.empty(len(rows))
        _row_areas(rows.start, rows.point, rows.weight, impulse, pressure, self.soft, out)
        return out


def point_pressure(points: Floats, surface: Pressure, support: Support, force: Floats) -> Floats:
    """Pressure at every skin point [force unit / m^2], (p,), NaN where there is no surface to carry it."""
    on_points, touched = np.zeros_like(points), np.zeros(len(points), bool)
    _on_points(support.row, support.point, support.weight, force, on_points, touched)
    out = np.zeros(len(points))
    _over_areas(points, surface.faces, surface.around.offsets, surface.around.indices, np.flatnonzero(touched), on_points, out)
    return out


@kernel
def _on_points(row, point, weight, force, out, touched):  # type: ignore[no-untyped-def]
    """Sum of each row's force over the points that carry it."""
    for k in range(len(row)):
        if weight[k] != 0.0:
            touched[point[k]] = True
            for i in range(3):
                out[point[k], i] += weight[k] * force[row[k], i]


@inline
def facing_area(points, faces, start, around, point, n):  # type: ignore[no-untyped-def]
    """A third of the faces around a point, as seen along -n [m^2]."""
    area = 0.0
    for j in range(start[point], start[point + 1]):
        f = around[j]
        a = load(points, faces[f, 0])
        size = cross(sub(load(points, faces[f, 1]), a), sub(load(points, faces[f, 2]), a))
        area += max(0.0, -dot(size, n)) / 6.0
    return area


@kernel
def _over_areas(points, faces, start, around, chosen, force, out):  # type: ignore[no-untyped-def]
    for k in range(len(chosen)):
        i = chosen[k]
        f = load(force, i)
        size = norm(f)
        if size == 0.0:
            continue
        area = facing_area(points, faces, start, around, i, scale(1.0 / size, f))
        out[i] = size / area if area > 0.0 else np.nan


@kernel
def _row_areas(start, point, weight, impulse, pressure, soft, out):  # type: ignore[no-untyped-def]
    """Force over the pressure of the side that knows it: a soft one rather than a hard one, A rather than B."""
    for r in range(len(out)):
        best, found = 0.0, -1
        for side in (1.0, -1.0):
            p, share, gives = 0.0, 0.0, 0
            for k in range(start[r], start[r + 1]):
                w = side * weight[k]
                if w > 0.0 and pressure[point[k]] > 0.0:
                    p += w * pressure[point[k]]
                    share += w
                    gives = max(gives, 1 if soft[point[k]] else 0)
            if share > 0.0 and gives > found:
                best, found = p / share, gives
        out[r] = impulse[r] / best if best > 0.0 else np.nan
