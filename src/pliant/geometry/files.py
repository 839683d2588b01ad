"""Reading meshes and point clouds from files: one call, whatever the format.

    read("ball.msh")                                  # TetMesh
    read("femur.off", unit="mm", up="y")              # Surface
    read("scan.ply", size=0.18, rotation=[0, 0, 1, 90])  # Surface or PointCloud

`read` changes nothing but units and axes; `pliant.geometry.check` says what is wrong with the result and repairs it.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.base import Floats, PliantError
from pliant.disk import refuse_special
from pliant.geometry.formats.gltf import read_gltf
from pliant.geometry.formats.gmsh import read_msh
from pliant.geometry.formats.packed import read_3mf, read_vtp
from pliant.geometry.formats.ply import read_ply
from pliant.geometry.formats.raw import Raw, damaged
from pliant.geometry.formats.surfaces import read_npy, read_obj, read_off, read_stl, read_xyz
from pliant.geometry.formats.volumes import read_feb, read_inp, read_medit, read_tetgen, read_veg, read_vtk, read_vtu
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.units import Rotation, placement
from pliant.spec.table import LARGEST

log = logging.getLogger("pliant")

FORMATS: dict[str, Callable[[Path], Raw]] = {
    ".obj": read_obj,
    ".ply": read_ply,
    ".stl": read_stl,
    ".off": read_off,
    ".xyz": read_xyz,
    ".pwn": read_xyz,
    ".xyzn": read_xyz,
    ".pts": read_xyz,
    ".npy": read_npy,
    ".msh": read_msh,
    ".vtk": read_vtk,
    ".vtu": read_vtu,
    ".mesh": read_medit,
    ".meshb": read_medit,
    ".node": read_tetgen,
    ".ele": read_tetgen,
    ".inp": read_inp,
    ".veg": read_veg,
    ".feb": read_feb,
    ".vtp": read_vtp,
    ".gltf": read_gltf,
    ".glb": read_gltf,
    ".3mf": read_3mf,
}


@dataclass(frozen=True)
class PointCloud:
    """Points of a surface, with outward normals if they are known."""

    points: Floats  # [m], (n, 3)
    normals: Floats | None = None  # (n, 3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", np.ascontiguousarray(self.points, dtype=np.float64).reshape(-1, 3))
        if self.normals is not None:
            normals = np.ascontiguousarray(self.normals, dtype=np.float64).reshape(-1, 3)
            if len(normals) != len(self.points):
                raise PliantError(f"a point cloud has {len(self.points)} points but {len(normals)} normals.")
            object.__setattr__(self, "normals", normals)


Mesh = Surface | TetMesh | PointCloud


@dataclass(frozen=True)
class File:
    """A file's content, placed, and what reading had to say about it."""

    path: Path
    mesh: Mesh
    notices: list[str] = field(default_factory=list)


def read(
    path: str | Path,
    *,
    unit: str = "m",
    up: str = "z",
    size: float | None = None,
    rotation: Rotation | None = None,
) -> Mesh:
    """The surface, tetrahedral mesh or point cloud in a file, in metres and z up; notices go to the log.

    unit      unit of the file's coordinates: m, cm, mm, um, in, ft, ...
    up        axis of the file that points up: x, y, z, -x, -y, -z
    size      instead of a unit: the largest extent along the file's axes [m]
    rotation  after `up`: axis times angle [rad] (3 numbers), axis and angle [degrees] (4 numbers), or a 3x3 matrix
    """
    file = open_file(path, unit=unit, up=up, size=size, rotation=rotation)
    for notice in file.notices:
        log.info("%s: %s", file.path, notice)
    return file.mesh


def open_file(
    path: str | Path,
    *,
    unit: str = "m",
    up: str = "z",
    size: float | None = None,
    rotation: Rotation | None = None,
) -> File:
    """Like `read`, with the notices."""
    where = Path(path)
    try:
        with np.errstate(invalid="ignore"):  # bits that are no number become NaN, or a corner that is not there, which is looked for
            raw = _reader(where)(where)
    except OSError as error:
        raise PliantError(f"{where}: cannot be opened ({error.strerror or error}).") from None
    except PliantError:
        raise
    except Exception as error:  # whatever bytes make of parsers, unpackers and libraries
        what = f"the file is damaged in a way that its reader did not expect ({type(error).__name__}: {error})"
        raise damaged(where, what) from error
    if not len(raw.points):
        raise damaged(where, "the file holds no points")
    for corners in (raw.faces, raw.tets):
        if len(corners) and not 0 <= corners.min() <= corners.max() < len(raw.points):
            raise damaged(where, f"its elements name points {corners.min()} to {corners.max()}, but it has {len(raw.points)}")
    if np.abs(np.where(np.isfinite(raw.points), raw.points, 0.0)).max() > LARGEST:
        raise damaged(where, f"it has coordinates beyond {LARGEST:g}")
    place = placement(raw.points, unit, up, size, rotation)
    points = place.points(raw.points)
    notices = list(raw.notices)
    if len(raw.tets):
        return File(where, TetMesh(points, raw.tets, raw.groups, tuple(raw.names.items())), notices)
    if len(raw.faces):
        return File(where, Surface(points, raw.faces), notices)
    normals = None if raw.normals is None else place.directions(raw.normals)
    return File(where, PointCloud(points, normals), notices)


def check_there(path: str | Path) -> None:
    """Refuse a file that is not there or of no known format, without reading it."""
    _reader(Path(path))


def _reader(path: Path) -> Callable[[Path], Raw]:
    """The reader for a file's name, after looking whether the file is there."""
    if path.is_dir():
        raise PliantError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        if path.is_symlink():
            raise PliantError(f"{path} is a link that leads to no file; name the file itself.")
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, near, n=3)
        hint = f" Did you mean {', '.join(close)}?" if close else ""
        raise PliantError(f"{path} does not exist (looked for it from {Path.cwd()}).{hint}")
    refuse_special(path)
    if not path.stat().st_size:
        raise PliantError(f"{path} is empty: it has 0 bytes. Export or copy it again.")
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise PliantError(
            f"{path}: files of type '{suffix or 'no suffix'}' are not read; pliant reads {', '.join(FORMATS)}. "
            "Convert it, e.g. with `meshio convert`, MeshLab or ParaView."
        )
    return FORMATS[suffix]
