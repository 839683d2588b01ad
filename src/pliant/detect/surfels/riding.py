"""The surfels of one body at rest: on the vertices of its skin, and between them where its triangles are large."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.clean import merged
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.mesh import Surface
from pliant.geometry.subdivide import subdivided

LONGEST = 1.8  # edge in spacings: halved edges are 0.9 to 1.8 spacings long
NEAR = 10  # samples around one that say how its tangents deform
FLAT = 1e-9  # of its area: an area vector shorter than this has no direction


@dataclass(frozen=True)
class Riding:
    """Surfels of one body in its own coordinates: its frame, or the world at rest if it deforms."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    areas: Floats  # (n,) [m^2]
    corner: Ints  # (n, 3) skin points of the body that carry it
    weight: Floats  # (n, 3) sum to one
    faces: Ints  # (m, 3) between surfels; none for points without triangles

    def surface(self) -> PointSurface:
        """The surfels as a surface, in the same order."""
        return PointSurface(self.points, self.normals, self.areas)


def on_triangles(points: Floats, faces: Ints, wanted: int, exact: Exact | None = None) -> Riding | None:
    """Vertices of a skin and middles of long edges, about `wanted` surfels or more; on the exact shape if the body has one."""
    place = merged(points)
    first = np.unique(place, return_index=True)[1]
    kept = place[faces]
    kept = kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])]
    skin = Surface(points[first], kept)
    area = float(np.linalg.norm(_vectors(skin.points, skin.faces), axis=1).sum())
    if area == 0.0:
        return None
    fine = subdivided(skin, LONGEST * math.sqrt(area / wanted))
    x, normals = fine.surface.points, None
    if exact is not None:  # corners are on it, but middles of edges are not
        found = exact.project(x)
        x, normals = found.points, found.normals
    vector = _vectors(x, fine.surface.faces)
    corner = fine.surface.faces.ravel()
    areas = np.bincount(corner, np.repeat(np.linalg.norm(vector, axis=1) / 3.0, 3), minlength=len(x))
    if normals is None:
        normals = np.stack([np.bincount(corner, np.repeat(vector[:, i] / 3.0, 3), minlength=len(x)) for i in range(3)], axis=1)
    length = np.linalg.norm(normals, axis=1)
    good = (areas > 0.0) & (length > FLAT * areas)
    number = np.where(good, np.cumsum(good) - 1, -1)
    found_faces = number[fine.surface.faces]
    return Riding(
        x[good], normals[good] / length[good, None], areas[good], first[fine.corner[good]], fine.weight[good],
        found_faces[found_faces.min(axis=1, initial=0) >= 0],
    )  # fmt: skip


def on_points(points: Floats, normals: Floats, areas: Floats) -> Riding | None:
    """One surfel on each point of a skin without triangles that has an area."""
    chosen = np.flatnonzero(areas > 0.0)
    if len(chosen) == 0:
        return None
    weight = np.zeros((len(chosen), 3))
    weight[:, 0] = 1.0
    corner = np.repeat(chosen[:, None], 3, axis=1)
    return Riding(points[chosen], normals[chosen], areas[chosen], corner, weight, np.zeros((0, 3), np.int64))


def _vectors(points: Floats, faces: Ints) -> Floats:
    """Area vectors of triangles [m^2], (m, 3)."""
    x = points[faces]
    return np.asarray(0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]))


def tangent_weights(rest: Riding) -> tuple[Ints, Floats]:
    """(neighbours (n, K), coefficients (n, K, 2)): t_k = sum_j c_jk (x_j - x_i) are two tangents that are orthonormal at rest.

    A least-squares fit of dx = t_1 y_1 + t_2 y_2 to samples with rest offsets y in the tangent plane. Linear in positions, so normal and
    area of a deforming surface of points are t_1 x t_2 as those of a triangle are (edge x edge) / 2.
    """
    count = min(NEAR, len(rest.points))
    near = KDTree(rest.points).nearest(rest.points, count)[1]
    n = rest.normals
    helper = np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    t1 = np.cross(n, helper)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    t2 = np.cross(n, t1)
    d = rest.points[near] - rest.points[:, None]
    y = np.stack([np.einsum("nkj,nj->nk", d, t1), np.einsum("nkj,nj->nk", d, t2)], axis=2)
    y *= (np.einsum("nkj,nj->nk", n[near], n) > 0.0)[:, :, None]  # not from the other side of a thin sheet
    spread = np.einsum("nka,nkb->nab", y, y)
    spread += 1e-9 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(2) + 1e-300 * np.eye(2)
    return near, np.einsum("nab,nkb->nka", np.linalg.inv(spread), y)
