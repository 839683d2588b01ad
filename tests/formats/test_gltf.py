"""glTF files, read and played by VTK's own importer, and their structure by the rules of the format."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from vtkmodules import vtkIOGeometry as vtk_io

from pliant.base import PliantError
from pliant.formats import write_glb
from pliant.formats.gltf import linear
from pliant.look import fields
from pliant.look.source import Film
from pliant.look.stage import colour_map
from pliant.record.export import skin

FLOAT = 3e-7  # [m] single precision at a metre, a few times
DOWN_TO_Y = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # z up becomes y up


def read(path) -> dict:
    """The JSON of a .glb file, whose parts must have the lengths they say."""
    data = path.read_bytes()
    magic, version, length, size, kind = struct.unpack_from("<4sIIII", data)
    assert (magic, version, length, kind) == (b"glTF", 2, len(data), 0x4E4F534A) and length % 4 == 0
    return json.loads(data[20 : 20 + size])


def seen(path, time: float) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Points and colours that VTK shows at a time, of each body; what is scaled to nothing is not seen."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkDataObjectTreeIterator

    reader = vtk_io.vtkGLTFReader()
    reader.SetFileName(str(path))
    reader.ApplyDeformationsToGeometryOn()
    reader.UpdateInformation()
    if reader.GetNumberOfAnimations():
        reader.EnableAnimation(0)
    reader.SetFrameRate(1000)
    reader.UpdateInformation()
    reader.UpdateTimeStep(time)
    found, walk = {}, vtkDataObjectTreeIterator()
    walk.SetDataSet(reader.GetOutput())
    walk.InitTraversal()
    while not walk.IsDoneWithTraversal():
        part = walk.GetCurrentDataObject()
        points = vtk_to_numpy(part.GetPoints().GetData())
        if np.ptp(points, axis=0).max() > 1e-6:
            colours = part.GetPointData().GetArray("COLOR_0")
            found[len(found)] = (points.astype(float), None if colours is None else vtk_to_numpy(colours))
        walk.GoToNextItem()
    return found


def same_set(a: np.ndarray, b: np.ndarray) -> float:
    """Largest distance of a point of one set to the other."""
    from scipy.spatial import cKDTree

    return max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())


def bodies(run, i: int) -> list[np.ndarray]:
    """Points of the skin of both bodies, as a file whose y is up has them."""
    cells = run.cells(i)
    return [run.points(i)[np.unique(skin(cells, body))] @ DOWN_TO_Y.T for body in (1, 2)]


@pytest.mark.parametrize("field", ["body", "pressure"])
def test_vtk_plays_what_was_recorded(run, tmp_path, field):
    """Morph targets (plain colours) and one mesh per frame (a field): every frame shows the places of the run."""
    path, notes = write_glb(run, tmp_path / "a.glb", field=field)
    assert notes == []
    for i in (0, 2, 5):
        parts = seen(path, float(run.times[i]))
        moving = [points for points, _ in parts.values() if len(points) > 4]
        assert len(moving) == 2, "each body once"
        for points in bodies(run, i):
            assert min(same_set(points, other) for other in moving) < FLOAT


def test_colours_are_those_of_the_field(run, tmp_path):
    path, _ = write_glb(run, tmp_path / "a.glb", field="pressure")
    root = read(path)
    low, high = root["asset"]["extras"]["colour range"]
    scale = fields.Scale("pressure", low, high)
    for i in (1, 4):
        picture = Film(run).picture(i, {"pressure"})
        wanted = linear(colour_map(scale.fraction(fields.values(picture, "pressure"))) / 255.0)
        shown = [(points, colours) for points, colours in seen(path, float(run.times[i])).values() if colours is not None]
        assert len(shown) == 2
        for points, colours in shown:
            distance = np.linalg.norm(points[:, None] - (picture.points @ DOWN_TO_Y.T)[None], axis=2)
            scaled = colours[:, :3] / (65535.0 if colours.max() > 1.0 else 1.0)
            assert np.abs(scaled - wanted[distance.argmin(axis=1)]).max() < 1e-4


def test_the_range_of_colours_is_in_the_unit_that_is_said(run, tmp_path):
    """As in files: SI. The top is the next round number above most of the field."""
    facts = read(write_glb(run, tmp_path / "a.glb", field="pressure")[0])["asset"]["extras"]
    seen = np.concatenate([fields.sample(Film(run).picture(i, {"pressure"}), "pressure") for i in range(run.frames)])
    low, high = facts["colour range"]
    assert facts["colours"] == "contact pressure [Pa]" and low == 0.0
    assert 0.5 * seen.max() < high < 1.25 * seen.max() and seen.max() > 1000.0, "a pressure whose picture would be in kPa"


def test_auto_colours_by_what_pictures_show(run, tmp_path):
    """Pressure where anything touches, as stills and movies have it."""
    facts = read(write_glb(run, tmp_path / "a.glb")[0])["asset"]["extras"]
    assert facts["colours"] == "contact pressure [Pa]"
    still = write_glb(run, tmp_path / "b.glb", frames=[0])[0]  # nothing presses in the first frame
    assert read(still)["asset"]["extras"]["colours"] == "von Mises stress [Pa]"


def test_a_rigid_body_is_one_mesh_that_moves(run, tmp_path):
    path, _ = write_glb(run, tmp_path / "a.glb", field="body")
    root = read(path)
    node = next(k for k, node in enumerate(root["nodes"]) if node["name"] == "ball")
    paths = [channel["target"]["path"] for channel in root["animations"][0]["channels"] if channel["target"]["node"] == node]
    assert sorted(paths) == ["rotation", "translation"]
    assert "targets" not in root["meshes"][root["nodes"][node]["mesh"]]["primitives"][0]
    soft = next(node for node in root["nodes"] if node["name"] == "soft box")
    assert len(root["meshes"][soft["mesh"]]["primitives"][0]["targets"]) == run.frames - 1


def test_units_axes_and_time_are_told_and_true(run, tmp_path):
    path, _ = write_glb(run, tmp_path / "a.glb", field="body", speed=0.1)
    root = read(path)
    facts = root["asset"]["extras"]
    assert facts["length unit"] == "m" and facts["data up axis"] == "z" and facts["played at"] == 0.1
    assert facts["frames per second"] == pytest.approx(10.0) and (facts["first time"], facts["last time"]) == (0.0, 0.05)
    inputs = {sampler["input"] for sampler in root["animations"][0]["samplers"]}
    latest = max(root["accessors"][k]["max"][0] for k in inputs)
    assert latest == pytest.approx(0.5 + 0.1, rel=1e-6)  # the last frame stays for its share
    top = root["nodes"][root["scenes"][0]["nodes"][0]]
    x, y, z, w = top["rotation"]
    assert np.allclose([x, y, z, w], [-(0.5**0.5), 0, 0, 0.5**0.5])  # z up to y up


def test_a_limit_leaves_out_frames_and_says_so(run, tmp_path):
    path, notes = write_glb(run, tmp_path / "a.glb", field="pressure", largest=8000)
    frames = read(path)["asset"]["extras"]["frames"]
    assert 1 < frames < run.frames and "is the limit" in notes[0] and f"{frames} frames" in notes[0]


def test_errors(run, tmp_path):
    with pytest.raises(PliantError, match=r"name it \.glb"):
        write_glb(run, tmp_path / "a.gltf")
    with pytest.raises(PliantError, match="speed = 0"):
        write_glb(run, tmp_path / "a.glb", speed=0.0)
    with pytest.raises(PliantError, match="no body 'bal'.*ball"):
        write_glb(run, tmp_path / "a.glb", body="bal")
    with pytest.raises(PliantError, match="no field 'heat'"):
        write_glb(run, tmp_path / "a.glb", field="heat")
