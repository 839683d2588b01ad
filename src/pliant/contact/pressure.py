"""Pressure where vertices carry the contact: from forces on skin points to a field, and back to an area per contact.

Force f_i on skin point i is the sum of its share of all contacts. The point stands for a third of the faces around it, as seen along
f_i: A_i. Then p_i = |f_i| / A_i is the pressure, linear over the faces; its integral with lumped areas is the force exactly. In static
equilibrium of linear elements f_i are the consistent loads of the true pressure, so p_i is right also where vertices have few or many
faces. A row's pressure is that of its points, its area the force over it.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Support
from pliant.geometry.topology import listed
from pliant.kernels import axpy, cross, dot, kernel, load, norm, scale, store, sub
from pliant.model import Rest
from pliant.world.motion import Rows


class Pressure:
    """Faces around each skin point; made once (`motion.kept(Pressure)`)."""

    def __init__(self, rest: Rest) -> None:
        skin = rest.skin
        self.faces = skin.faces
        self.around = listed(skin.faces.ravel(), np.repeat(np.arange(len(skin.faces)), 3), len(skin))
        self.soft = (skin.frame < 0) & (np.diff(skin.start) > 0)
        self.slot = np.full(len(skin), -1, np.int64)  # of each point that carries something; -1 between calls

    def row_areas(self, points: Floats, rows: Rows, impulse: Floats) -> Floats:
        """Area that each row stands for [m^2], (r,): of its soft side if it has one; NaN where neither side has a surface.

        points: where the skin points are meant to be [m], (p, 3).
        """
        room = min(len(self.slot), len(rows.point))
        touched, on_points, pressure = np.empty(room, np.int64), np.empty((room, 3)), np.full(room, -1.0)
        used = _on_points(rows.start, rows.point, rows.weight, impulse[:, None] * rows.normal, self.slot, touched, on_points)
        out = np.empty(len(rows))
        around = self.around
        _row_areas(
            rows.start, rows.point, rows.weight, impulse, touched[:used], on_points, points, self.faces, around.offsets, around.indices,
            self.soft, self.slot, pressure, out,
        )  # fmt: skip
        return out

    def carried(self, points: Floats, start: Ints, point: Ints, weight: Floats, force: Floats) -> tuple[Ints, Floats]:
        """The points that carry rows, and the pressure at each [force unit / m^2]; NaN where there is no surface to carry it."""
        room = min(len(self.slot), len(point))
        touched, on_points, out = np.empty(room, np.int64), np.empty((room, 3)), np.empty(room)
        used = _on_points(start, point, weight, force, self.slot, touched, on_points)
        _over_areas(points, self.faces, self.around.offsets, self.around.indices, touched[:used], on_points, out)
        return touched[:used], out[:used]


def point_pressure(points: Floats, surface: Pressure, support: Support, force: Floats) -> Floats:
    """Pressure at every skin point [force unit / m^2], (p,), NaN where there is no surface to carry it."""
    start = np.concatenate([[0], np.cumsum(support.count)])
    touched, pressure = surface.carried(points, start, support.point, support.weight, force)
    out = np.zeros(len(points))
    out[touched] = pressure
    return out


@kernel
def _on_points(start, point, weight, force, slot, touched, out):  # type: ignore[no-untyped-def]
    """Sum of each row's force over the points that carry it, touched[k]; how many there are."""
    used = 0
    for r in range(len(start) - 1):
        f = load(force, r)
        for k in range(start[r], start[r + 1]):
            if weight[k] == 0.0:
                continue
            p = point[k]
            if slot[p] < 0:
                slot[p], touched[used] = used, p
                store(out, used, (0.0, 0.0, 0.0))
                used += 1
            store(out, slot[p], axpy(weight[k], f, load(out, slot[p])))
    for k in range(used):
        slot[touched[k]] = -1
    return used


@kernel
def _over_area(points, faces, start, around, p, f):  # type: ignore[no-untyped-def]
    """Force on a point over a third of the faces around it, as seen along the force."""
    size, area = norm(f), 0.0
    if size == 0.0:
        return 0.0
    n = scale(1.0 / size, f)
    for j in range(start[p], start[p + 1]):
        m = around[j]
        a = load(points, faces[m, 0])
        area += max(0.0, -dot(cross(sub(load(points, faces[m, 1]), a), sub(load(points, faces[m, 2]), a)), n)) / 6.0
    return size / area if area > 0.0 else np.nan


@kernel
def _over_areas(points, faces, start, around, chosen, force, out):  # type: ignore[no-untyped-def]
    for k in range(len(chosen)):
        out[k] = _over_area(points, faces, start, around, chosen[k], load(force, k))


@kernel
def _row_areas(  # type: ignore[no-untyped-def]
    start, point, weight, impulse, touched, force, points, faces, around_start, around, soft, slot, pressure, out
):
    """Force over the pressure of the side that knows it: a soft one rather than a hard one, A rather than B.

    pressure comes in below zero and is computed where it is needed: mostly at the points of side A only.
    """
    for k in range(len(touched)):
        slot[touched[k]] = k
    for r in range(len(out)):
        best, found = 0.0, -1
        for side in (1.0, -1.0):
            p, share, gives = 0.0, 0.0, 0
            for k in range(start[r], start[r + 1]):
                w = side * weight[k]
                if w <= 0.0 or found == 1:
                    continue
                s = slot[point[k]]
                if pressure[s] < 0.0:
                    pressure[s] = _over_area(points, faces, around_start, around, point[k], load(force, s))
                if pressure[s] > 0.0:
                    p += w * pressure[s]
                    share += w
                    gives = max(gives, 1 if soft[point[k]] else 0)
            if share > 0.0 and gives > found:
                best, found = p / share, gives
        out[r] = impulse[r] / best if best > 0.0 else np.nan
    for k in range(len(touched)):
        slot[touched[k]] = -1
