"""USD stages, read back by Pixar's library."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.contact.contacts import Contacts
from pliant.formats import write_usd
from pliant.record.export import skin

pxr = pytest.importorskip("pxr", reason="usd-core is not installed (pip install usd-core)")
SPEED, FPS = 0.5, 30.0


@pytest.fixture(scope="module")
def stage(run, tmp_path_factory):
    from pxr import Usd

    path, _ = write_usd(run, tmp_path_factory.mktemp("usd") / "a.usdc", field="pressure", speed=SPEED, fps=FPS)
    return Usd.Stage.Open(str(path))


def code(run, i: int) -> float:
    return float(run.times[i]) / SPEED * FPS


def test_units_axes_and_time(run, stage):
    from pxr import UsdGeom, UsdPhysics

    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0 and UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == FPS
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, pytest.approx(code(run, -1)))
    assert stage.GetDefaultPrim().GetCustomData()["played_at"] == SPEED


def test_the_range_of_colours_is_in_the_unit_that_is_said(run, stage):
    facts = stage.GetDefaultPrim().GetCustomData()
    largest = max(float(run.field("pressure", i).max()) for i in range(run.frames))
    assert facts["colours"] == "contact pressure [Pa]" and 0.5 * largest < facts["colour_range"][1] < 1.25 * largest


@pytest.mark.parametrize("name, body", [("soft_box", 1), ("ball", 2)])
def test_places_in_the_world(run, stage, name, body):
    """Points of soft bodies, transforms of rigid ones: both give the places of the run in every frame."""
    from pxr import UsdGeom

    mesh = UsdGeom.Mesh(stage.GetPrimAtPath(f"/two_bodies/{name}/{name}"))
    used = np.unique(skin(run.cells(0), body))
    for i in range(run.frames):
        matrix = np.array(UsdGeom.XformCache(code(run, i)).GetLocalToWorldTransform(mesh.GetPrim()))  # rows times matrix
        points = np.array(mesh.GetPointsAttr().Get(code(run, i)), float)
        assert np.abs(points @ matrix[:3, :3] + matrix[3, :3] - run.points(i)[used]).max() < 1e-7
    faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    assert np.array_equal(np.sort(used[faces].ravel()), np.sort(skin(run.cells(0), body).ravel()))
    assert (mesh.GetPointsAttr().GetNumTimeSamples() == 0) == (name == "ball")


def test_fields_are_primvars_with_units(run, stage):
    from pxr import UsdGeom

    used = np.unique(skin(run.cells(0), 1))
    api = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/two_bodies/soft_box/soft_box"))
    for i in range(run.frames):
        assert np.array_equal(np.array(api.GetPrimvar("pressure").Get(code(run, i))), run.field("pressure", i)[used])
        assert np.array_equal(np.array(api.GetPrimvar("velocity").Get(code(run, i))), run.field("velocity", i)[used])
    assert api.GetPrimvar("pressure").GetAttr().GetCustomDataByKey("unit") == "Pa"
    assert api.GetPrimvar("displayColor").GetAttr().GetNumTimeSamples() == run.frames


def test_tetrahedra_with_the_stress_of_each(run, stage):
    from pxr import UsdGeom

    inside = UsdGeom.TetMesh(stage.GetPrimAtPath("/two_bodies/soft_box/soft_box_inside"))
    used = np.unique(run.cells(0).tets)
    tets = used[np.array(inside.GetTetVertexIndicesAttr().Get())]
    assert np.array_equal(tets, run.cells(0).tets)
    stress = UsdGeom.PrimvarsAPI(inside).GetPrimvar("von_mises")
    for i in range(run.frames):
        points = np.array(inside.GetPointsAttr().Get(code(run, i)), float)
        assert np.abs(points - run.points(i)[used]).max() < 1e-7
        assert np.array_equal(np.array(stress.Get(code(run, i))), run.field("von_mises", i)[: len(tets)])
    counted = UsdGeom.TetMesh.ComputeSurfaceFaces(inside)
    mine = np.array(inside.GetSurfaceFaceVertexIndicesAttr().Get())
    assert {tuple(sorted(f)) for f in np.array(counted).tolist()} == {tuple(sorted(f)) for f in mine.tolist()}


def test_contacts_and_their_forces(run, stage):
    from pxr import UsdGeom

    points = UsdGeom.Points(stage.GetPrimAtPath("/two_bodies/contacts"))
    curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/two_bodies/forces"))
    scale = curves.GetPrim().GetCustomDataByKey("metresPerNewton")
    for i in range(1, run.frames):
        rows = Contacts.of_arrays(run.contact_rows(i))
        force = np.array(UsdGeom.PrimvarsAPI(points).GetPrimvar("force").Get(code(run, i)), float)
        assert np.abs(np.array(points.GetPointsAttr().Get(code(run, i))) - rows.point).max() < 1e-7
        assert np.allclose(force, -rows.force, rtol=1e-6)  # of the later of the two bodies
        ends = np.array(curves.GetPointsAttr().Get(code(run, i)), float).reshape(-1, 2, 3)
        assert np.allclose((ends[:, 1] - ends[:, 0]) / scale, force, atol=1e-6 / scale)


def test_physics_takes_the_motion_as_given(stage):
    from pxr import UsdPhysics

    ball = stage.GetPrimAtPath("/two_bodies/ball")
    assert UsdPhysics.RigidBodyAPI(ball).GetKinematicEnabledAttr().Get() is True
    assert stage.GetPrimAtPath("/two_bodies/ball/ball").HasAPI(UsdPhysics.CollisionAPI)
    material = UsdPhysics.MaterialAPI(stage.GetPrimAtPath("/two_bodies/ball/material"))
    assert material.GetDynamicFrictionAttr().Get() == 0.25
    assert UsdPhysics.Scene(stage.GetPrimAtPath("/two_bodies/physics")).GetGravityMagnitudeAttr().Get() == pytest.approx(9.81)
    assert stage.GetPrimAtPath("/two_bodies/ground").GetTypeName() == "Plane"


def test_errors(run, tmp_path):
    with pytest.raises(PliantError, match="name it .usdc"):
        write_usd(run, tmp_path / "a.abc")
    with pytest.raises(PliantError, match="fps = 0"):
        write_usd(run, tmp_path / "a.usda", fps=0.0)
