"""What is pressed: a file, a shape by name, a mesh, points or an exact shape become a surface with samples, in metres with z up.

Parts of scans are what lies on one side of planes across the axes, such as "z<50mm" or "z<50mm,x>-2cm"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.closest import face_neighbours
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_cloud, from_mesh
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.files import PointCloud, read
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import SHAPES, make
from pliant.geometry.subdivide import subdivided
from pliant.geometry.units import UNITS, units_asked
from pliant.pressing import quantities

ROUNDED = (0.5, 40.0)  # [degree] by which neighbouring triangles of a round surface bend; less is flat, more an edge
NO_FACES = np.zeros((0, 3), np.int64)
ENOUGH = 8000  # vertices with which a mesh is taken as it is; below, its triangles are cut
SAMPLES = 20000  # then, about
CUT = re.compile(r"\s*([xyz])\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*")
LONGEST = 1.8  # edge in spacings: halved edges are 0.9 to 1.8 spacings long


@dataclass(frozen=True)
class Thing:
    """A surface, the triangles between its samples if they are known, and what was decided on the way."""

    name: str
    shape: PointSurface | Exact
    faces: Ints  # (m, 3) of samples; empty for point clouds
    notes: tuple[str, ...] = ()
    facet: float = 0.0  # [m] mean edge of its triangles, if they stand for a round surface
    sag: float = 0.0  # [m] how far their middles are then below it


@dataclass(frozen=True)
class Source:
    """What an object is made from, and how it is read."""

    what: Any  # "plane", a path, the name of a shape, {"kind": ...}, a mesh, a cloud, points (n, 3), a PointSurface or an Exact shape
    unit: str = "m"  # of the numbers in a file
    up: str = "z"  # axis that points up in a file
    size: float | str | None = None  # [m] largest extent of what a file holds, instead of a unit
    crop: str | None = None  # the part that is used
    spacing: float | str | None = None  # [m] of samples on the faces of a mesh

    def thing(self) -> Thing:
        what = self.what
        if isinstance(what, PointSurface):
            return Thing("points", what, NO_FACES, what.notes)
        if isinstance(what, Exact):
            return Thing(what.kind, what, NO_FACES)
        if isinstance(what, str) and what == "plane":
            return Thing("plane", Exact("plane"), NO_FACES)
        if isinstance(what, str) and what in SHAPES and not Path(what).exists():
            what = {"kind": what}
        if isinstance(what, str | Path):
            size = None if self.size is None else quantities.length("size", self.size)
            mesh = read(what, unit=self.unit, up=self.up, size=size)
            thing = self._sampled(Path(what).stem, self._part(mesh))
            return replace(thing, notes=(*units_asked(float(np.ptp(mesh.points, axis=0).max())), *thing.notes))
        if isinstance(what, dict):
            if "kind" not in what:
                raise PliantError(f"a shape to press needs a kind, as in {{'kind': 'ball', 'radius': 0.1}}, not {what}.")
            what = make(**what)
        if isinstance(what, Shape):
            return self._sampled(what.name, what.surface())
        if isinstance(what, Surface | TetMesh | PointCloud):
            return self._sampled("mesh", self._part(what))
        if isinstance(what, np.ndarray):
            return self._sampled("points", self._part(PointCloud(what)))
        raise PliantError(f"{type(what).__name__} cannot be pressed: give a file, the name of a shape, a mesh, points or 'plane'.")

    def _part(self, mesh: Surface | TetMesh | PointCloud) -> Surface | TetMesh | PointCloud:
        return mesh if self.crop is None else cropped(mesh, self.crop)

    def _sampled(self, name: str, mesh: Surface | TetMesh | PointCloud) -> Thing:
        """Samples on a mesh, or at points."""
        if isinstance(mesh, PointCloud):
            made = from_cloud(mesh, name=name)
            return Thing(name, made, NO_FACES, made.notes)
        surface = mesh.surface() if isinstance(mesh, TetMesh) else mesh
        x = surface.points[surface.faces]
        area = 0.5 * float(np.sum(np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1))) if len(x) else 0.0
        notes: tuple[str, ...] = ()
        flat = facets(surface)
        spacing = None if self.spacing is None else quantities.length("spacing", self.spacing)
        if spacing is None and len(surface.points) < ENOUGH and area > 0.0:
            spacing = math.sqrt(area / SAMPLES)
        if spacing is not None:
            count = len(surface.points)
            surface = subdivided(surface, LONGEST * spacing).surface
            notes = (f"its {count} vertices became {len(surface.points)}, about {1e3 * spacing:.3g} mm apart",)
        made = from_mesh(surface, name=name)
        return Thing(name, made, _between_samples(surface, made), (*made.notes, *notes), *flat)


def facets(surface: Surface) -> tuple[float, float]:
    """Mean edge e of the triangles of a rounded surface, and how far these are below it, e times their bend / 8 [m].

    Nothing of a surface that has flat sides and creases only, which are what they are.
    """
    if len(surface.faces) == 0:
        return 0.0, 0.0
    x = surface.points[surface.faces]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    other = face_neighbours(surface.faces)
    bend = np.degrees(np.arccos(np.clip(np.einsum("fi,fki->fk", normal, normal[other]), -1.0, 1.0)))
    rounded = (other >= 0) & (bend > ROUNDED[0]) & (bend < ROUNDED[1])
    if not rounded.mean() > 0.5:
        return 0.0, 0.0
    edge = float(np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).mean())
    return edge, edge * math.radians(float(bend[rounded].mean())) / 8.0


def _between_samples(surface: Surface, made: PointSurface) -> Ints:
    """The triangles with samples for corners; vertices at one place are one sample, those left out take their triangles with them."""
    far, sample = made.search.nearest(surface.points, 1)
    sample = np.where(far[:, 0] <= 1e-9 * float(np.ptp(surface.points)), sample[:, 0], -1)
    faces = sample[surface.faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return faces[distinct & (faces.min(axis=1) >= 0)]


def centre_of(surface: PointSurface) -> Floats:
    """(3,) [m] centre of the enclosed volume, from integral x_i dV = 1/2 sum A x_i^2 n_i; of the area if it encloses none."""
    middle = np.average(surface.points, axis=0, weights=surface.areas)
    volume = surface.volume
    if not volume > 1e-3 * surface.area**1.5:
        return middle
    x = surface.points - middle
    centre = middle + 0.5 * np.sum(surface.areas[:, None] * x**2 * surface.normals, axis=0) / volume
    inside = np.all((centre > surface.points.min(axis=0)) & (centre < surface.points.max(axis=0)))
    return centre if inside else middle


def cuts(text: str) -> list[tuple[int, bool, float]]:
    """(axis, whether below, place [m]) of each condition."""
    found = []
    for part in text.split(","):
        match = CUT.fullmatch(part)
        if match is None or match[4] and match[4] not in UNITS:
            raise PliantError(f"crop = '{text}': '{part}' is no condition; write for instance z<50mm, or z<50mm,x>-2cm.")
        found.append(("xyz".index(match[1]), match[2] == "<", float(match[3]) * (UNITS[match[4]] if match[4] else 1.0)))
    return found


def cropped(mesh: Surface | TetMesh | PointCloud, text: str) -> Surface | PointCloud:
    """What fulfils all conditions: points, or the triangles with all corners there. In metres with z up, as read."""
    if isinstance(mesh, TetMesh):
        mesh = mesh.surface()
    keep = np.ones(len(mesh.points), bool)
    for axis, below, place in cuts(text):
        keep &= (mesh.points[:, axis] < place) == below
    if isinstance(mesh, PointCloud):
        left: Surface | PointCloud = PointCloud(mesh.points[keep], None if mesh.normals is None else mesh.normals[keep])
    else:
        faces = mesh.faces[keep[mesh.faces].all(axis=1)]
        used, corner = np.unique(faces, return_inverse=True)
        left = Surface(mesh.points[used], corner.reshape(-1, 3))
    if len(left.points) == 0:
        low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
        box = ", ".join(f"{name} from {1e3 * a:.4g} to {1e3 * b:.4g} mm" for name, a, b in zip("xyz", low, high, strict=True))
        raise PliantError(f"crop = '{text}' leaves nothing of the object, which has {box}.")
    return left
