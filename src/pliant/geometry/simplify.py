"""Fewer triangles for a surface that is finer than what is made of it, by quadric error metrics [Garland 1997] through VTK."""

from __future__ import annotations

import numpy as np

from pliant.base import unbroken
from pliant.geometry.mesh import Surface
from pliant.geometry.normals import face_crosses
from pliant.geometry.topology import Edges
from pliant.geometry.triangle import distance_to

WORTH = 2.0  # times as many triangles as are needed: with fewer, simplifying saves nothing
TRIES = 3  # each removes half as much as the one before
CREASE = 0.5  # [rad] between faces: what is sharper is the edge of something, which fewer triangles keep as well
EQUILATERAL = 0.43  # area of a triangle with three edges of 1


def simplified(surface: Surface, edge: float, deviation: float) -> Surface:
    """The surface with triangles about `edge` [m] large, everywhere within `deviation` [m] of the old one; or itself."""
    have = len(surface.faces)
    for left in _tries(surface, edge):
        found = _decimated(surface, 1.0 - left / have)
        if _closed_as(surface, found) and _apart(surface, found) <= deviation:
            return found
    return surface


def least_left(surface: Surface, edge: float, deviation: float) -> int:
    """How many triangles `simplified` leaves, about and if all goes well: the fewest it tries that can be as near as that.

    A triangle of edge h is off a surface of curvature c by c h^2 / 8 at most, so that deviation d takes c / (8 d EQUILATERAL) triangles
    to a square metre: the sum over edges of length times half the angle between their faces, which is c summed over the surface.
    """
    enough = _bent(surface) / (8.0 * EQUILATERAL * deviation)
    return int(min((left for left in _tries(surface, edge) if left >= enough), default=len(surface.faces)))


def _tries(surface: Surface, edge: float) -> list[float]:
    """Numbers of triangles to come down to, none if the surface is not worth it."""
    area, have = 0.5 * float(np.linalg.norm(face_crosses(surface.points, surface.faces), axis=1).sum()), len(surface.faces)
    wanted = max(area / (EQUILATERAL * edge * edge), 100.0)
    return [have / (have / wanted) ** (0.5**turn) for turn in range(TRIES)] if have >= WORTH * wanted else []


def _bent(surface: Surface) -> float:
    """Curvature summed over a surface [m]: over its edges but creases, half their length times the angle between the faces."""
    normal = face_crosses(surface.points, surface.faces)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    edges = Edges(surface.faces)
    one, other = edges.shared
    a, b, ends = normal[one // 3], normal[other // 3], surface.points[edges.directed[one]]
    angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ei,ei->e", a, b))
    return 0.5 * float((np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) * angle)[angle < CREASE].sum())


def _closed_as(surface: Surface, found: Surface) -> bool:
    return len(found.faces) > 0 and bool(Edges(found.faces).balance.any()) <= bool(Edges(surface.faces).balance.any())


def _apart(a: Surface, b: Surface) -> float:
    """Largest distance of the vertices of either from the other [m]."""
    return max(float(distance_to(a, b.points).max()), float(distance_to(b, a.points[np.unique(a.faces)]).max()))


def _decimated(surface: Surface, reduction: float) -> Surface:
    with unbroken():
        from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy  # VTK: start-up time
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
        from vtkmodules.vtkFiltersCore import vtkQuadricDecimation

    points, cells, data = vtkPoints(), vtkCellArray(), vtkPolyData()
    points.SetDataTypeToDouble()
    points.SetData(numpy_to_vtk(np.ascontiguousarray(surface.points)))
    cells.SetData(3, numpy_to_vtkIdTypeArray(np.ascontiguousarray(surface.faces.ravel())))
    data.SetPoints(points)
    data.SetPolys(cells)
    filter_ = vtkQuadricDecimation()
    filter_.SetInputData(data)
    filter_.SetTargetReduction(reduction)
    filter_.Update()
    out = filter_.GetOutput()
    if out.GetNumberOfPolys() == 0:
        return Surface(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    found = vtk_to_numpy(out.GetPoints().GetData()).astype(np.float64)
    faces = vtk_to_numpy(out.GetPolys().GetConnectivityArray()).astype(np.int64).reshape(-1, 3)
    used, local = np.unique(faces, return_inverse=True)
    return Surface(found[used], local.reshape(-1, 3))
