"""Surfaces in packed files: VTK's polygons (.vtp, .vtk) through VTK, .3mf (a zip archive of XML)."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, unbroken
from pliant.geometry.formats.raw import Raw, damaged, triangulated
from pliant.geometry.units import UNITS


def read_vtp(path: Path) -> Raw:
    """VTK's XML."""
    if not path.read_bytes()[:4096].lstrip().startswith((b"<?xml", b"<VTKFile")):
        raise damaged(path, "a VTP file starts with <?xml or <VTKFile; this one does not")
    return read_polydata(path)


def read_polydata(path: Path) -> Raw:
    """Polygons and triangle strips of VTK's XML or its older format; without any, its points with their normals."""
    with unbroken():
        from vtkmodules.util.numpy_support import vtk_to_numpy  # VTK: start-up time
        from vtkmodules.vtkCommonCore import vtkObject
        from vtkmodules.vtkFiltersCore import vtkTriangleFilter
        from vtkmodules.vtkIOLegacy import vtkPolyDataReader
        from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    noisy = vtkObject.GetGlobalWarningDisplay()
    vtkObject.GlobalWarningDisplayOff()
    try:
        reader = vtkPolyDataReader() if path.suffix.lower() == ".vtk" else vtkXMLPolyDataReader()
        if isinstance(reader, vtkXMLPolyDataReader) and not reader.CanReadFile(str(path)):
            raise damaged(path, "this is not a VTP file that VTK can read (its type is not PolyData, or the XML is broken)")
        reader.SetFileName(str(path))
        reader.Update()
        failed, data = reader.GetErrorCode() != 0, reader.GetOutput()
        if failed or data.GetNumberOfPoints() == 0:
            raise damaged(path, "VTK cannot read it, or it holds no points: it is damaged or empty")
        points = vtk_to_numpy(data.GetPoints().GetData()).astype(np.float64)
        normals = data.GetPointData().GetNormals()
        cut = vtkTriangleFilter()
        cut.SetInputData(data)
        cut.PassVertsOff()
        cut.PassLinesOff()
        cut.Update()
        faces: Ints = np.zeros((0, 3), np.int64)
        if cut.GetOutput().GetNumberOfPolys():
            faces = vtk_to_numpy(cut.GetOutput().GetPolys().GetConnectivityArray()).astype(np.int64).reshape(-1, 3)
    finally:
        vtkObject.SetGlobalWarningDisplay(noisy)
    return Raw(points, faces, normals=None if normals is None else vtk_to_numpy(normals).astype(np.float64))


LARGEST = 2e9  # bytes of a model in an archive
MF = {"micron": 1e-6, "millimeter": 1e-3, "centimeter": 1e-2, "meter": 1.0, "inch": UNITS["in"], "foot": UNITS["ft"]}  # [m]


def read_3mf(path: Path) -> Raw:
    """All meshes that the build of a 3MF file places, as one surface; its numbers are as in the file, whose unit is said."""
    import xml.etree.ElementTree as tree

    try:
        with zipfile.ZipFile(path) as archive:
            models = [name for name in archive.namelist() if name.lower().endswith(".model")]
            if sum(archive.getinfo(name).file_size for name in models) > LARGEST:
                raise damaged(path, f"it would be larger than {LARGEST / 1e9:g} GB unpacked", fix="Export it as .stl or .ply.")
            roots = [tree.fromstring(archive.read(name)) for name in models]
    except zipfile.BadZipFile:
        raise damaged(path, "a 3MF file is a zip archive; this one is not, or it is cut off") from None
    except tree.ParseError as error:
        raise damaged(path, f"the XML is broken: {error}") from None
    if not roots:
        raise damaged(path, "there is no .model in it")
    objects = {o.get("id"): o for root in roots for o in root.iter() if _tag(o) == "object"}
    items = [i for root in roots for b in root if _tag(b) == "build" for i in b if _tag(i) == "item"]
    points: list[Floats] = []
    corners: list[Ints] = []
    placed = [(i.get("objectid"), _matrix(i.get("transform"))) for i in items] or [(name, np.eye(4)) for name in objects]
    looked = 0
    while placed:
        name, matrix = placed.pop(0)
        looked += 1
        if name not in objects:
            raise damaged(path, f"the build places object {name}, which the file does not define")
        for part in objects[name].iter():
            if _tag(part) == "component":
                placed.append((part.get("objectid"), matrix @ _matrix(part.get("transform"))))
            elif _tag(part) == "mesh":
                x, f = _mesh(part)
                corners.append(f + sum(len(p) for p in points))
                points.append(x @ matrix[:3, :3].T + matrix[:3, 3])
        if max(len(points), looked) > 10_000:
            raise damaged(path, "its objects contain each other without end")
    if not points:
        raise damaged(path, "there is no mesh in it")
    flat = np.concatenate(corners)
    faces, said = triangulated(np.concatenate(points), flat.reshape(-1), np.full(len(flat), 3), path)
    unit = roots[0].get("unit", "millimeter")
    said.append(f"The file says that its unit is the {unit} ({MF.get(unit, 1e-3):g} m).")
    return Raw(np.concatenate(points), faces, notices=said)


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _matrix(text: str | None) -> Floats:
    """3MF writes four columns of three, for row vectors."""
    out = np.eye(4)
    if text:
        out[:3] = np.array([float(w) for w in text.split()]).reshape(4, 3).T
    return out


def _mesh(mesh: Any) -> tuple[Floats, Ints]:
    vertices = [[float(v.get(a)) for a in "xyz"] for v in mesh.iter() if _tag(v) == "vertex"]
    triangles = [[int(t.get(a)) for a in ("v1", "v2", "v3")] for t in mesh.iter() if _tag(t) == "triangle"]
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)
