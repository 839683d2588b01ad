"""What is pressed: a file, a shape by name, a mesh, points or an exact shape become a surface with samples, in metres with z up.

Parts of scans are what lies on one side of planes across the axes, such as "z<50mm" or "z<50mm,x>-2cm"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.side import Side
from pliant.detect.shapes import SIZES
from pliant.detect.surfels.clean import check_finite, merged
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_cloud, from_mesh, outward
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.curved import Curved
from pliant.geometry.files import PointCloud, read
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import make
from pliant.geometry.subdivide import subdivided
from pliant.geometry.units import UNITS, units_asked
from pliant.pressing import quantities
from pliant.pressing.between_points import between_points
from pliant.pressing.named import named
from pliant.pressing.relief import CloudRelief, ExactRelief, Heights, MeshRelief, Relief

TABLES = (".csv", ".txt", ".npy")  # files that may hold heights
NO_FACES = np.zeros((0, 3), np.int64)
ENOUGH = 8000  # vertices with which a mesh is sampled as it is; below, its triangles are cut
SAMPLES = 20000  # then, about
CUT = re.compile(r"\s*([xyz])\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*")
LONGEST = 1.8  # edge in spacings: halved edges are 0.9 to 1.8 spacings long


@dataclass(frozen=True)
class Thing:
    """What is pressed, in metres with z up: as heights for cells, or as samples."""

    name: str
    form: Surface | PointSurface | Exact | Heights  # a mesh stands for the smooth surface through its vertices
    notes: tuple[str, ...] = ()
    mesh: Surface | None = None  # of an exact shape, to sample and draw it
    rows: Ints | None = None  # (n,) rows of the file that its vertices or samples came from
    given: int = 0  # rows that the file has
    spacing: float | None = None  # [m] of samples on a mesh; None: as needed
    down: bool = False  # it is pressed: heights, which are towards the partner, look down

    @cached_property
    def curved(self) -> Curved | None:
        """The smooth surface of a mesh."""
        return Curved(self.form) if isinstance(self.form, Surface) else None

    @cached_property
    def relief(self) -> Relief:
        """Its heights."""
        if isinstance(self.form, Exact):
            return ExactRelief(self.form)
        if isinstance(self.form, PointSurface):
            return CloudRelief(self.form)
        if isinstance(self.form, Heights):
            return self.form
        assert self.curved is not None
        return MeshRelief(self.curved)

    @cached_property
    def _sampled(self) -> tuple[PointSurface | None, Ints]:
        """Samples, and the triangles between them if they are those of a mesh."""
        if isinstance(self.form, PointSurface):
            return self.form, NO_FACES
        if isinstance(self.form, Heights):
            points, faces = self.form.faces(self.down)
            return from_mesh(Surface(points, faces), name=self.name), faces
        mesh = self.mesh if isinstance(self.form, Exact) else self.form
        if mesh is None:
            return None, NO_FACES
        fine = self.finer(mesh, self.spacing)
        made = from_mesh(fine, name=self.name)
        return made, between_samples(fine, made)

    def finer(self, mesh: Surface, spacing: float | None) -> Surface:
        """Its triangles cut until samples are so far apart [m]; the new vertices on the smooth surface."""
        if spacing is None and len(mesh.points) < ENOUGH and (area := area_of(mesh)) > 0.0:
            spacing = math.sqrt(area / SAMPLES)
        if spacing is None:
            return mesh
        cut = subdivided(mesh, LONGEST * spacing)
        if isinstance(self.form, Exact):
            return Surface(self.form.project(cut.surface.points).points, cut.surface.faces)
        return Surface(Curved(mesh).on(cut.corner, cut.weight), cut.surface.faces)

    @property
    def samples(self) -> PointSurface | None:
        """None for an exact shape without a mesh."""
        return self._sampled[0]

    @cached_property
    def faces(self) -> Ints:
        """(m, 3) triangles between samples."""
        return between_points(self.form) if isinstance(self.form, PointSurface) else self._sampled[1]

    @cached_property
    def side(self) -> Side:
        """For contact of samples; a mesh and a cloud are what their samples are."""
        if isinstance(self.form, Exact):
            return Side(self.form, samples=self.samples)
        assert self.samples is not None
        return Side(self.samples)

    @cached_property
    def centre(self) -> Floats:
        """(3,) [m] of its volume, by samples of usual size; the origin of an exact shape without a mesh."""
        samples = (self if self.spacing is None else replace(self, spacing=None)).samples
        return np.zeros(3) if samples is None else centre_of(samples)

    def taken(self, values: Floats) -> Floats:
        """Values given for each vertex of a file, of the vertices or samples that are used."""
        if isinstance(self.form, Heights):
            count, rows = self.form.rise.size, np.arange(self.form.rise.size)
        elif self.rows is None:
            raise PliantError(f"{self.name}: values for each vertex need a mesh or points, not an exact shape: give it as a mesh.")
        else:
            count, rows = self.given, self.rows
        if len(values) != count:
            raise PliantError(f"{self.name} has {count} vertices, but {len(values)} values were given: one for each is needed.")
        return values[rows]

    def foremost(self, way: Floats) -> Floats:
        """(3,) [m] a point that is about as far along a direction as any of it."""
        if isinstance(self.form, Exact):
            return float(np.sum(self.form.sizes)) * way
        if isinstance(self.form, Heights):
            return float(self.form.rise.max()) * way
        points = self.form.points[np.unique(self.form.faces)] if isinstance(self.form, Surface) else self.form.points
        return points[int(np.argmax(points @ way))]

    @cached_property
    def extent(self) -> Floats | None:
        """(3,) [m] of its box; None if it has no end."""
        if isinstance(self.form, Heights):
            return np.array([*self.form.size, float(np.ptp(self.form.rise))])
        points = self.mesh.points if self.mesh is not None else None if isinstance(self.form, Exact) else self.form.points
        return None if points is None else np.asarray(np.ptp(points, axis=0))


@dataclass(frozen=True)
class Source:
    """What an object is made from, and how it is read."""

    what: Any  # "plane", a path, the name of a shape, {"kind": ...}, a mesh, a cloud, points (n, 3), a PointSurface or an Exact shape
    unit: str = "m"  # of the numbers in a file
    up: str = "z"  # axis that points up in a file
    size: float | str | None = None  # [m] largest extent of what a file holds, instead of a unit
    crop: str | None = None  # the part that is used
    spacing: float | str | None = None  # [m] of samples on the faces of a mesh
    cell: float | str | None = None  # [m] of heights in rows and columns, if that is what a file or an array holds

    def thing(self) -> Thing:
        what, spacing = self.what, None if self.spacing is None else quantities.length("spacing", self.spacing)
        if isinstance(what, PointSurface):
            return Thing("points", what, what.notes, rows=np.arange(len(what)), given=len(what))
        if isinstance(what, Heights):
            return Thing("heights", what)
        if isinstance(what, Exact):
            return Thing(what.kind, what)
        if isinstance(what, str) and what == "plane":
            return Thing("plane", Exact("plane"))
        if isinstance(what, str):
            what = named(what) or what
        if self.cell is not None and (isinstance(what, np.ndarray) or str(what).endswith(TABLES)):
            return self._heights(quantities.length("cell", self.cell))
        if isinstance(what, str | Path):
            size = None if self.size is None else quantities.length("size", self.size)
            mesh = read(what, unit=self.unit, up=self.up, size=size)
            thing = self._made(Path(what).stem, self._part(mesh), spacing)
            return replace(thing, notes=(*units_asked(float(np.ptp(mesh.points, axis=0).max())), *thing.notes))
        if isinstance(what, dict):
            if "kind" not in what:
                raise PliantError(f"a shape to press needs a kind, as in {{'kind': 'ball', 'radius': 0.1}}, not {what}.")
            what = make(**what)
        if isinstance(what, Shape):
            if what.analytic is not None and what.analytic[0] in SIZES:
                return Thing(what.name, Exact(*what.analytic), (), what.surface(), spacing=spacing)
            return self._made(what.name, what.surface(), spacing)
        if isinstance(what, Surface | TetMesh | PointCloud):
            return self._made("mesh", self._part(what), spacing)
        if isinstance(what, np.ndarray):
            return self._made("points", self._part(PointCloud(what)), spacing)
        raise PliantError(f"{type(what).__name__} cannot be pressed: give a file, the name of a shape, a mesh, points or 'plane'.")

    def _heights(self, cell: float) -> Thing:
        """Heights in rows and columns."""
        values, name = self.what, "heights"
        if not isinstance(values, np.ndarray):
            path = Path(values)
            if not path.exists():
                raise PliantError(f"{path} does not exist: with `cell`, it needs a file with rows of heights.")
            try:
                values = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, delimiter="," if path.suffix == ".csv" else None)
            except ValueError as error:
                raise PliantError(f"{path} is not a table of numbers ({error}).") from None
            name = path.stem
        if self.unit not in UNITS:
            raise PliantError(f"unit = '{self.unit}' is not known: write one of {', '.join(UNITS)}.")
        return Thing(name, Heights(UNITS[self.unit] * np.asarray(values, dtype=np.float64), cell))

    def _part(self, mesh: Surface | TetMesh | PointCloud) -> Surface | TetMesh | PointCloud:
        return mesh if self.crop is None else cropped(mesh, self.crop)

    def _made(self, name: str, mesh: Surface | TetMesh | PointCloud, spacing: float | None) -> Thing:
        """A mesh with vertices of their own place, facing outwards; or samples at points."""
        if isinstance(mesh, PointCloud):
            made = from_cloud(mesh, name=name)
            return Thing(name, made, made.notes, rows=made.source, given=len(mesh.points))
        surface, notes = outward(mesh)
        check_finite(surface.points, name)
        place = merged(surface.points) if len(surface.points) else np.zeros(0, np.int64)
        faces = place[surface.faces]
        faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
        rows = np.unique(place, return_index=True)[1]
        points = surface.points[rows]
        if len(points) < len(surface.points):
            notes.append(f"{len(surface.points) - len(points)} vertices lie on others and were merged")
        if len(faces) == 0:
            raise PliantError(f"{name}: no triangle is left that has an area: there is nothing to press.")
        return Thing(name, Surface(points, faces), tuple(notes), None, rows, len(surface.points), spacing)


def area_of(surface: Surface) -> float:
    """[m^2]"""
    x = surface.points[surface.faces]
    return 0.5 * float(np.sum(np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)))


def between_samples(surface: Surface, made: PointSurface) -> Ints:
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
