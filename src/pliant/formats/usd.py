"""A run as a USD stage (.usdc, .usda, .usd), by Pixar's own library (`pip install usd-core`).

Metres, kilograms, seconds, z up; a time code is a 24th of a second unless `fps` says otherwise, and samples lie where frames do, also
between whole time codes. Under the run there is one Xform for each body, with

    NAME        Mesh: time samples of points where the shape changes, of the Xform's transform where it does not
    NAME_inside TetMesh of soft bodies (purpose guide: not drawn unless asked for)
    primvars    the fields of the run, each with its unit; displayColor: the field that was chosen, as colours

and `contacts` (Points with force, normal and pressure) and `forces` (curves along the forces). Rigid bodies are kinematic
rigid bodies of UsdPhysics, so that a physics engine that opens the file takes their motion as given; gravity, density and friction are
those of the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import DiskError, Floats, Ints, PliantError
from pliant.bodies.register import room_of
from pliant.contact.contacts import Contacts
from pliant.disk import make_folder, replacing
from pliant.formats.gltf import linear
from pliant.formats.tracks import Reel, Track, facts_of, reel_of
from pliant.geometry.mesh import TetMesh
from pliant.geometry.quaternions import matrix_to_quaternion
from pliant.look.fields import HIDDEN, TITLES
from pliant.look.source import averaged
from pliant.look.stage import STATIC
from pliant.record import Cells, Run
from pliant.scene import Scene

FPS = 24.0  # time codes a second
ARROW = 0.35  # part of the size of what is drawn: length of the curve of the largest force
PLANE = 4.0  # sizes of the largest body: width of a plane
WIDTH = 0.004  # part of the size of what is drawn: width of points and curves


def write_usd(
    run: Run,
    path: str | Path,
    frames: Sequence[int] | None = None,
    field: str = "auto",
    speed: float = 1.0,
    body: str | None = None,
    fps: float = FPS,
) -> tuple[Path, list[str]]:
    """Write a run as a stage of USD; the file, and sentences about what was left out."""
    path = Path(path)
    if path.suffix.lower() not in (".usdc", ".usda", ".usd"):
        raise PliantError(f"cannot write USD to {path.name}: name it .usdc (numbers), or .usda (text)")
    if not fps > 0:
        raise PliantError(f"fps = {fps:g}: give the time codes of a second, above 0")
    try:
        from pxr import Tf, Usd
    except ImportError:
        raise PliantError("Writing USD needs Pixar's library: pip install usd-core (or pliant[usd]).") from None
    chosen = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
    reel = reel_of(run, chosen, field, speed, body)
    make_folder(path.parent)
    stage = Usd.Stage.CreateInMemory()  # the library reads what it has written so far, also where the disk did not take it
    Assembly(stage, run, reel, fps, speed).write(body)
    with replacing(path) as temporary:
        try:
            written = stage.GetRootLayer().Export(str(temporary))
        except Tf.ErrorException:
            written = False
        if not written:
            raise DiskError(f"cannot write {path}: the disk does not take it; free some space, or choose another place")
    return path, []


class Assembly:
    """Puts a run into a stage."""

    def __init__(self, stage: Any, run: Run, reel: Reel, fps: float, speed: float) -> None:
        from pxr import Sdf, UsdGeom, UsdPhysics

        self.stage, self.run, self.reel = stage, run, reel
        self.codes = reel.shown * fps
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(fps)
        stage.SetFramesPerSecond(fps)
        stage.SetStartTimeCode(float(self.codes[0]))
        stage.SetEndTimeCode(float(self.codes[-1]))
        self.root = UsdGeom.Xform.Define(stage, Sdf.Path.absoluteRootPath.AppendChild(_name(reel.title)))
        stage.SetDefaultPrim(self.root.GetPrim())
        facts = {name: value for name, value in facts_of(run, reel, speed).items() if value is not None}
        self.root.GetPrim().SetCustomData({_name(name): _usd_value(value) for name, value in facts.items()})
        try:
            self.scene: Scene | None = Scene.recorded(run.header["scene"])
        except (KeyError, PliantError):
            self.scene = None
        self.taken = {"physics", "contacts", "forces"}  # names of prims under the run
        self.size = max((float(np.linalg.norm(np.ptp(track.points[0], axis=0))) for track in reel.tracks), default=1.0)

    def write(self, body: str | None) -> None:
        """Everything; or one body, without contacts."""
        self._physics()
        for track in self.reel.tracks:
            self._body(track, self._free(track.name))
        if body is None:
            self._planes()
            self._contacts()

    def _free(self, name: str) -> str:
        """A name for a prim under the run that no other has."""
        wanted = _name(name)
        tries = [wanted, *(f"{wanted}_{k}" for k in range(2, 2 + len(self.taken)))]
        found = next(each for each in tries if each not in self.taken)
        self.taken.add(found)
        return found

    # ---- bodies

    def _body(self, track: Track, name: str) -> None:
        from pxr import UsdGeom

        top = UsdGeom.Xform.Define(self.stage, self.root.GetPath().AppendChild(name))
        top.GetPrim().SetCustomDataByKey("pliant:kind", track.kind)
        mesh = UsdGeom.Mesh.Define(self.stage, top.GetPath().AppendChild(name))
        mesh.CreateFaceVertexCountsAttr(np.full(len(track.triangles), 3, np.int32))
        mesh.CreateFaceVertexIndicesAttr(track.triangles.astype(np.int32).ravel())
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateDoubleSidedAttr(True)
        self._move(top, mesh, track)
        self._only_while(top, track.frames)
        colour = mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex if track.colours else UsdGeom.Tokens.constant)
        if track.colours:
            self._sample(colour.GetAttr(), track.frames, [linear(c / 255.0).astype(np.float32) for c in track.colours])
        else:
            colour.Set(linear(np.array([track.colour]) / 255.0).astype(np.float32))
        cells = self.run.cells(track.frames[0])
        loose = track.used >= self._count(track.frames[0])  # corners of the discs of a cloud: in no array of the run
        if not loose.any():
            self._fields(mesh, track, cells)
        self._inside(top, track, cells)
        self._as_rigid(top, mesh, track)

    def _move(self, top: Any, mesh: Any, track: Track) -> None:
        from pxr import Gf, UsdGeom

        if track.poses is None:
            self._sample(mesh.CreatePointsAttr(), track.frames, [points.astype(np.float32) for points in track.points])
            self._sample(mesh.CreateExtentAttr(), track.frames, [_extent(points) for points in track.points])
            return
        mesh.CreatePointsAttr(track.points[0].astype(np.float32))
        mesh.CreateExtentAttr(_extent(track.points[0]))
        turns, shifts = track.poses
        if not (np.ptp(turns, axis=0).any() or np.ptp(shifts, axis=0).any()):
            return
        moved = top.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
        turned = top.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
        for i, turn, shift in zip(track.frames, turns.tolist(), shifts.tolist(), strict=True):
            code = self._code(i)
            moved.Set(Gf.Vec3d(*shift), code)
            turned.Set(Gf.Quatd(*turn), code)

    def _fields(self, mesh: Any, track: Track, cells: Cells) -> None:
        """All fields of the run at the points of the skin."""
        from pxr import Sdf, UsdGeom

        known = {name for i in track.frames for name in self.run.fields(i)} - HIDDEN
        for name in sorted(known):
            rows = [self._rows(name, i, cells)[track.used] for i in track.frames]
            if not any(np.isfinite(row).any() for row in rows):
                continue
            kind = Sdf.ValueTypeNames.Vector3fArray if rows[0].ndim == 2 and rows[0].shape[1] == 3 else Sdf.ValueTypeNames.FloatArray
            primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, kind, UsdGeom.Tokens.vertex)
            if rows[0].ndim > 1 and rows[0].shape[1] != 3:
                primvar.SetElementSize(int(rows[0].shape[1]))
            if unit := TITLES.get(name, ("", ""))[1]:
                primvar.GetAttr().SetCustomDataByKey("unit", unit)
            flat = kind == Sdf.ValueTypeNames.FloatArray
            self._sample(primvar.GetAttr(), track.frames, [np.ascontiguousarray(row.ravel() if flat else row, np.float32) for row in rows])

    def _count(self, i: int) -> int:
        """Points of a frame."""
        return int(self.run.frame_meta(i)["counts"]["points"])

    def _rows(self, name: str, i: int, cells: Cells) -> np.ndarray:
        """A field at the points of frame i; NaN where that frame does not have it."""
        where, count = self.run.fields(i).get(name), self._count(i)
        if where is None:
            return np.full(count, np.nan)
        values = np.asarray(self.run.field(name, i), np.float64)
        if where == "cell":
            return averaged(cells, values, count)
        return values if values.ndim == 1 else values.reshape(count, -1)

    def _inside(self, top: Any, track: Track, cells: Cells) -> None:
        """The tetrahedra of a soft body, with the fields of its elements."""
        from pxr import Sdf, UsdGeom

        tets = np.concatenate([cells.tets, cells.tets10[:, :4]])
        mine = np.flatnonzero(cells.body[: len(tets)] == track.body)
        if len(mine) == 0:
            return
        used, local = np.unique(tets[mine], return_inverse=True)
        local = local.reshape(-1, 4)
        inside = UsdGeom.TetMesh.Define(self.stage, top.GetPath().AppendChild(f"{top.GetPath().name}_inside"))
        inside.CreatePurposeAttr(UsdGeom.Tokens.guide)
        inside.CreateTetVertexIndicesAttr(local.astype(np.int32))
        inside.CreateSurfaceFaceVertexIndicesAttr(_outside(local))
        points = [self.run.points(i)[used] for i in track.frames]
        self._sample(inside.CreatePointsAttr(), track.frames, [p.astype(np.float32) for p in points])
        self._sample(inside.CreateExtentAttr(), track.frames, [_extent(p) for p in points])
        for name in sorted({n for i in track.frames for n, where in self.run.fields(i).items() if where == "cell"}):
            rows = [np.asarray(self.run.field(name, i), np.float32)[mine] for i in track.frames if name in self.run.fields(i)]
            if len(rows) == len(track.frames) and rows[0].ndim == 1:
                primvar = UsdGeom.PrimvarsAPI(inside).CreatePrimvar(name, Sdf.ValueTypeNames.FloatArray, UsdGeom.Tokens.uniform)
                if unit := TITLES.get(name, ("", ""))[1]:
                    primvar.GetAttr().SetCustomDataByKey("unit", unit)
                self._sample(primvar.GetAttr(), track.frames, rows)

    # ---- physics

    def _planes(self) -> None:
        """Endless planes, drawn as squares."""
        from pxr import Gf, UsdGeom, UsdPhysics

        for plane in self.reel.film.planes:
            name = self.run.cells(self.reel.frames[0]).bodies.get(plane.body, "plane")
            flat = UsdGeom.Plane.Define(self.stage, self.root.GetPath().AppendChild(self._free(name)))
            flat.CreateAxisAttr(UsdGeom.Tokens.z)
            flat.CreateWidthAttr(PLANE * self.size)
            flat.CreateLengthAttr(PLANE * self.size)
            flat.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*plane.point.tolist()))
            flat.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*matrix_to_quaternion(plane.axes.T).tolist()))
            flat.CreateDisplayColorAttr(linear(np.array([STATIC]) / 255.0).astype(np.float32))
            UsdPhysics.CollisionAPI.Apply(flat.GetPrim())

    def _physics(self) -> None:
        from pxr import Gf, UsdPhysics

        if self.scene is None:
            return
        physics = UsdPhysics.Scene.Define(self.stage, self.root.GetPath().AppendChild("physics"))
        gravity = np.array(self.scene.gravity, np.float64)
        size = float(np.linalg.norm(gravity))
        physics.CreateGravityMagnitudeAttr(size)
        physics.CreateGravityDirectionAttr(Gf.Vec3f(*(gravity / size if size else np.array([0.0, 0.0, -1.0])).tolist()))

    def _as_rigid(self, top: Any, mesh: Any, track: Track) -> None:
        """Bodies that keep their shape collide as they are and move as they did; density and friction are those of the scene."""
        from pxr import UsdPhysics, UsdShade

        if not room_of(track.kind).hard or track.poses is None:
            return
        UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
        if room_of(track.kind).moves:
            UsdPhysics.RigidBodyAPI.Apply(top.GetPrim()).CreateKinematicEnabledAttr(True)
        given = next((each for each in self.scene.bodies if each.name == track.name), None) if self.scene is not None else None
        friction = getattr(given, "friction", None)
        if given is None or not isinstance(friction, float | int):
            return
        material = UsdShade.Material.Define(self.stage, top.GetPath().AppendChild("material"))
        physical = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        physical.CreateDynamicFrictionAttr(float(friction))
        physical.CreateStaticFrictionAttr(float(friction))
        density = getattr(getattr(given, "material", None), "density", None)
        if isinstance(density, float | int) and room_of(track.kind).moves:
            physical.CreateDensityAttr(float(density))
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material, materialPurpose="physics")

    # ---- contacts

    def _contacts(self) -> None:
        """Where bodies touch, and the forces on the second of each pair."""
        from pxr import Sdf, UsdGeom

        rows = [Contacts.of_arrays(self.run.contact_rows(i)) for i in self.reel.frames]
        turn = [np.where(c.a < c.b, -1.0, 1.0)[:, None] for c in rows]
        forces = [np.nan_to_num(t * c.force) for t, c in zip(turn, rows, strict=True)]
        largest = max((float(np.linalg.norm(force, axis=1).max(initial=0.0)) for force in forces), default=0.0)
        if not largest > 0.0:
            return
        points = UsdGeom.Points.Define(self.stage, self.root.GetPath().AppendChild("contacts"))
        places = [np.nan_to_num(c.point).astype(np.float32) for c in rows]
        width = WIDTH * self.size
        self._sample(points.CreatePointsAttr(), self.reel.frames, places)
        self._sample(points.CreateWidthsAttr(), self.reel.frames, [np.full(len(p), 2 * width, np.float32) for p in places])
        held = {
            "force": ("N", Sdf.ValueTypeNames.Vector3fArray, forces),
            "normal": ("", Sdf.ValueTypeNames.Vector3fArray, [t * c.normal for t, c in zip(turn, rows, strict=True)]),
            "pressure": ("Pa", Sdf.ValueTypeNames.FloatArray, [c.pressure for c in rows]),
        }
        for name, (unit, kind, values) in held.items():
            primvar = UsdGeom.PrimvarsAPI(points).CreatePrimvar(name, kind, UsdGeom.Tokens.vertex)
            if unit:
                primvar.GetAttr().SetCustomDataByKey("unit", unit)
            self._sample(primvar.GetAttr(), self.reel.frames, [np.ascontiguousarray(v, np.float32) for v in values])
        curves = UsdGeom.BasisCurves.Define(self.stage, self.root.GetPath().AppendChild("forces"))
        curves.CreateTypeAttr(UsdGeom.Tokens.linear)
        scale = ARROW * self.size / largest
        curves.GetPrim().SetCustomDataByKey("metresPerNewton", scale)
        ends = [np.stack([p, p + scale * f], axis=1).reshape(-1, 3).astype(np.float32) for p, f in zip(places, forces, strict=True)]
        self._sample(curves.CreatePointsAttr(), self.reel.frames, ends)
        self._sample(curves.CreateCurveVertexCountsAttr(), self.reel.frames, [np.full(len(p), 2, np.int32) for p in places])
        curves.CreateWidthsAttr(np.array([width], np.float32))
        curves.SetWidthsInterpolation(UsdGeom.Tokens.constant)

    # ---- time

    def _code(self, frame: int) -> float:
        return float(self.codes[self.reel.frames.index(frame)])

    def _sample(self, attribute: Any, frames: Sequence[int], values: Sequence[np.ndarray]) -> None:
        """Values of an attribute over time; what stays the same is stored once."""
        if all(np.array_equal(value, values[0], equal_nan=value.dtype.kind == "f") for value in values[1:]):
            attribute.Set(values[0])
            return
        for i, value in zip(frames, values, strict=True):
            attribute.Set(value, self._code(i))

    def _only_while(self, top: Any, frames: Sequence[int]) -> None:
        """Hide a body in all frames of other stretches."""
        seen = np.isin(self.reel.frames, frames)
        if seen.all():
            return
        attribute = top.CreateVisibilityAttr()
        for code, shown in zip(self.codes.tolist(), seen.tolist(), strict=True):
            attribute.Set("inherited" if shown else "invisible", code)


def _name(text: str) -> str:
    """A name that USD takes."""
    from pxr import Tf

    return str(Tf.MakeValidIdentifier(text))


def _usd_value(value: Any) -> Any:
    from pxr import Vt

    return Vt.DoubleArray(value) if isinstance(value, list) else value


def _extent(points: Floats) -> np.ndarray:
    return np.stack([points.min(axis=0), points.max(axis=0)]).astype(np.float32)


def _outside(tets: Ints) -> np.ndarray:
    return TetMesh(np.zeros((0, 3)), tets).boundary.astype(np.int32)
