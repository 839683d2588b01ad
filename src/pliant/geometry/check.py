"""Diagnosis and careful repair of meshes and point clouds.

    report = diagnose(mesh)       # what is wrong, and what pliant will do about it
    print(report.text())
    mesh = repair(mesh, report)   # exactly that; PliantError if the mesh is refused

Repairs change neither the shape nor the parts: vertices at one place on open edges are welded, faces that collapsed or
repeat are left out, flat faces are removed by splitting a neighbour, orientation is made coherent and outward, a tet
mesh that is inside out as a whole is turned round. Holes are not filled, parts are neither joined nor dropped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats
from pliant.geometry.check_points import diagnose_points, repair_points
from pliant.geometry.check_surface import diagnose_surface, repair_surface
from pliant.geometry.check_tets import diagnose_tets, repair_tets
from pliant.geometry.files import Mesh, open_file
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.report import Finding, Report
from pliant.geometry.units import Rotation

__all__ = ["Finding", "Report", "diagnose", "repair", "check_file", "load"]

LARGE = 20.0  # [m]; a body larger than this was probably drawn in millimetres
SMALL = 1e-3  # [m]


def diagnose(mesh: Mesh, name: str = "", notices: list[str] | None = None) -> Report:
    """Look for everything that is wrong with a mesh."""
    if isinstance(mesh, TetMesh):
        report = Report("tet mesh", f"{len(mesh.points)} nodes, {len(mesh.tets)} tetrahedra")
    elif isinstance(mesh, Surface):
        report = Report("surface", f"{len(mesh.points)} vertices, {len(mesh.faces)} triangles")
    else:
        with_normals = "" if mesh.normals is None else " with normals"
        report = Report("point cloud", f"{len(mesh.points)} points{with_normals}")
    report.name = name
    report.notices = list(notices or [])
    report.summary += f", {_extent(mesh.points)}."
    if isinstance(mesh, TetMesh):
        diagnose_tets(mesh, report)
    elif isinstance(mesh, Surface):
        diagnose_surface(mesh, report)
    else:
        diagnose_points(mesh, report)
    _scale(mesh.points, report)
    return report


def repair(mesh: Mesh, report: Report) -> Mesh:
    """The mesh after what its report announces; raises PliantError if the report refuses it."""
    report.require_usable()
    if not any(f.repaired for f in report.findings):
        return mesh
    if isinstance(mesh, TetMesh):
        return repair_tets(mesh, report)
    if isinstance(mesh, Surface):
        return repair_surface(mesh, report)
    return repair_points(mesh, report)


def check_file(
    path: str | Path, *, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None
) -> tuple[Mesh, Report]:
    """Read a file and diagnose it; raises PliantError only if it cannot be read."""
    file = open_file(path, unit=unit, up=up, size=size, rotation=rotation)
    return file.mesh, diagnose(file.mesh, name=str(file.path), notices=file.notices)


def load(
    path: str | Path, *, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None
) -> tuple[Mesh, Report]:
    """Read a file, diagnose and repair it; raises PliantError if it is refused."""
    mesh, report = check_file(path, unit=unit, up=up, size=size, rotation=rotation)
    return repair(mesh, report), report


def _span(points: Floats) -> Floats:
    finite = points[np.isfinite(points).all(axis=1)]
    return np.ptp(finite, axis=0) if len(finite) else np.zeros(3)


def _extent(points: Floats) -> str:
    return "{:.4g} x {:.4g} x {:.4g} m".format(*_span(points))


def _scale(points: Floats, report: Report) -> None:
    size = float(_span(points).max()) if len(points) else 0.0
    if size > LARGE:
        report.add(
            "scale", (), f"The body is {size:.4g} m large. If the file is in millimetres, read it with unit='mm' "
            f"({size / 1000:.4g} m), or give its size.", count=1,
        )  # fmt: skip
    elif 0 < size < SMALL:
        report.add(
            "scale",
            (),
            f"The body is only {size:.3g} m large. Is the unit right? Its size can be set on reading.",
            count=1,
        )
