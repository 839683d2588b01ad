"""Fewer triangles for a surface that is finer than what is made of it, by quadric error metrics [Garland 1997] through VTK."""

from __future__ import annotations

import numpy as np

from pliant.geometry.distance import distance_to
from pliant.geometry.mesh import Surface
from pliant.geometry.topology import Edges

WORTH = 2.0  # times as many triangles as are needed: with fewer, simplifying saves nothing
TRIES = 3  # each removes half as much as the one before


def simplified(surface: Surface, edge: float, deviation: float) -> Surface:
    """The surface with triangles about `edge` [m] large, everywhere within `deviation` [m] of the old one; or itself."""
    x = surface.points[surface.faces]
    area = 0.5 * float(np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum())
    wanted = max(area / (0.43 * edge * edge), 100.0)  # equilateral triangles
    have = len(surface.faces)
    if have < WORTH * wanted:
        return surface
    for turn in range(TRIES):
        left = have / (have / wanted) ** (0.5**turn)
        found = _decimated(surface, 1.0 - left / have)
        if _closed_as(surface, found) and _apart(surface, found) <= deviation:
            return found
    return surface


def _closed_as(surface: Surface, found: Surface) -> bool:
    return len(found.faces) > 0 and bool(Edges(found.faces).balance.any()) <= bool(Edges(surface.faces).balance.any())


def _apart(a: Surface, b: Surface) -> float:
    """Largest distance of the vertices of either from the other [m]."""
    return max(float(distance_to(a, b.points).max()), float(distance_to(b, a.points[np.unique(a.faces)]).max()))


def _decimated(surface: Surface, reduction: float) -> Surface:
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
