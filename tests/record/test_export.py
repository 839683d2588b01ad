"""Exported files, read again by others."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import meshio
import numpy as np
import pytest

from pliant.base import PliantError
from pliant.record.export import MESHIO_NAMES, export, skin
from pliant.record.run import Cells
from pliant.record.runfile import Recorder, Run

FRAMES = 7
# A unit cube as five positive tetrahedra; corner k at (k & 1, k >> 1 & 1, k >> 2).
CORNERS = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], dtype=float)
CUBE = np.array([[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]])
EDGES = np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]])


@pytest.fixture
def run(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    with Run.open(tmp_path / "run") as opened:
        yield opened


def quadratic(points: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same mesh with nodes in the middle of its edges."""
    ends, middle = np.unique(np.sort(tets[:, EDGES], axis=2).reshape(-1, 2), axis=0, return_inverse=True)
    nodes = np.concatenate([points, points[ends].mean(axis=1)])
    return nodes, np.concatenate([tets, len(points) + middle.reshape(-1, 6)], axis=1)


def volume(points: np.ndarray, faces: np.ndarray) -> float:
    """Enclosed volume; half-edges must cancel, so that there is an inside."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert np.array_equal(np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0)) and len(edges) > 0
    assert len(np.unique(edges, axis=0)) == len(edges)
    return float(np.linalg.det(points[faces]).sum() / 6.0)


def test_vtu_series(run, tmp_path):
    files = export(run, "vtu", tmp_path / "out" / "toy.pvd")
    assert [path.name for path in files] == ["toy.pvd", *[f"toy_{i:04d}.vtu" for i in range(FRAMES)]]
    for i, path in enumerate(files[1:]):
        mesh = meshio.read(path)
        cells = run.cells(i)
        assert np.array_equal(mesh.points, run.points(i))
        for name, block in cells.blocks.items():
            if len(block):
                assert np.array_equal(mesh.cells_dict[MESHIO_NAMES[name]].reshape(block.shape), block)
        assert np.array_equal(np.concatenate(mesh.cell_data["body"]), cells.body)
        for name, where in run.fields(i).items():
            values = run.field(name, i)
            got = mesh.point_data[name] if where == "point" else np.concatenate(mesh.cell_data[name])
            assert np.array_equal(got.reshape(values.shape), values), name


def test_pvd_names_every_frame_with_its_time(run, tmp_path):
    index, *files = export(run, "vtu", tmp_path / "a & b", frames=[0, -1, 3])
    sets = ElementTree.parse(index).getroot().findall("./Collection/DataSet")
    assert [item.get("file") for item in sets] == [path.name for path in files]
    assert [path.name for path in files] == ["a & b_0000.vtu", "a & b_0006.vtu", "a & b_0003.vtu"]
    assert np.array_equal([float(item.get("timestep")) for item in sets], run.times[[0, -1, 3]])


def test_csv_gives_back_the_step_table(run, tmp_path):
    (path,) = export(run, "csv", tmp_path / "out.csv")
    table = np.genfromtxt(path, delimiter=",", names=True)
    series = run.series()
    assert np.array_equal(table["energy"], series["energy"])
    assert np.array_equal(table["contacts"], series["contacts"])
    assert np.array_equal(np.stack([table[f"momentum_{axis}"] for axis in "xyz"], axis=1), series["momentum"])


def two_cubes(tmp_path) -> Run:
    """A linear cube (tets only), a quadratic one two units further, a shell over it as body 2, three surfels."""
    nodes, tets10 = quadratic(CORNERS, CUBE)
    points = np.concatenate([CORNERS, nodes + [2.0, 0, 0], CORNERS[:3] + [9.0, 0, 0]])
    q, s = len(CORNERS), len(CORNERS) + len(nodes)
    cells = Cells(
        tets=CUBE, tets10=tets10 + q, vertices=np.arange(s, s + 3), body=np.repeat([0, 1, 7], [5, 5, 3]),
        bodies={0: "linear", 1: "curved", 7: "cloud"},
    )  # fmt: skip
    recorder = Recorder(tmp_path / "cubes", {}, every=1.0)
    recorder.topology(cells, len(points))
    recorder.frame(0.0, 0, points, {"velocity": points * 2.0, "heat": points[:, 0]})
    recorder.close("finished")
    return Run.open(tmp_path / "cubes")


def test_skin_of_tetrahedra_encloses_their_volume(tmp_path):
    with two_cubes(tmp_path) as run:
        points, cells = run.points(0), run.cells(0)
        assert volume(points, skin(cells)) == pytest.approx(2.0, rel=1e-12)
        assert volume(points, skin(cells, 0)) == pytest.approx(1.0, rel=1e-12)
        assert volume(points, skin(cells, 1)) == pytest.approx(1.0, rel=1e-12)
        assert len(skin(cells, 0)) == 12 and len(skin(cells, 1)) == 48 and len(skin(cells, 7)) == 0


def test_drawn_triangles_are_the_skin_where_there_are_any():
    """A body with triangles over a coarser cage of tetrahedra shows the triangles only."""
    shell = np.array([[0, 1, 2]])
    cells = Cells(tets=np.concatenate([CUBE, CUBE + 8]), triangles=shell, body=np.repeat([0, 1, 0], [5, 5, 1]))
    assert np.array_equal(skin(cells, 0), shell)
    assert len(skin(cells)) == 1 + 12 and skin(cells, 1).min() == 8


def test_ply_sequence(tmp_path):
    with two_cubes(tmp_path) as run:
        for body, volumes, count in ((None, 2.0, 8 + 26 + 3), ("curved", 1.0, 26), (0, 1.0, 8)):
            (path,) = export(run, "ply", tmp_path / f"skin_{body}", body=body)
            mesh = meshio.read(path)
            assert len(mesh.points) == count
            assert volume(mesh.points, mesh.cells_dict["triangle"]) == pytest.approx(volumes, rel=1e-12)
            assert np.array_equal(mesh.point_data["heat"], mesh.points[:, 0])
            assert np.array_equal(mesh.point_data["velocity_z"], mesh.points[:, 2] * 2.0)


def test_every_frame_becomes_a_ply(run, tmp_path):
    files = export(run, "ply", tmp_path / "skin.ply")
    assert [path.name for path in files] == [f"skin_{i:04d}.ply" for i in range(FRAMES)]
    for i, path in enumerate(files):
        faces = skin(run.cells(i))
        used = np.unique(np.concatenate([faces.ravel(), run.cells(i).vertices]))
        mesh = meshio.read(path)
        assert np.array_equal(mesh.points, run.points(i)[used])
        if len(faces):
            assert np.array_equal(used[mesh.cells_dict["triangle"]], faces)


def test_every_frame_becomes_an_obj(tmp_path):
    with two_cubes(tmp_path) as run:
        (path,) = export(run, "obj", tmp_path / "skin", body="curved")
        mesh = meshio.read(path)
        used = np.unique(skin(run.cells(0), 1))
        assert np.array_equal(mesh.points, run.points(0)[used])  # every digit
        assert volume(mesh.points, mesh.cells_dict["triangle"]) == pytest.approx(1.0, rel=1e-12)


def test_series_say_unit_axis_and_time(run, tmp_path):
    """Comments of ply and obj, field data of vtu as VTK reads it."""
    from vtkmodules import vtkIOXML as vtk

    for to in ("ply", "obj"):
        head = export(run, to, tmp_path / "a", frames=[2])[0].read_bytes()[:400].decode(errors="replace")
        assert all(word in head for word in ("unit m", "up z", "time 0.2 s", "frames per second 10")), to
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(export(run, "vtu", tmp_path / "a", frames=[2])[1]))
    reader.Update()
    held = reader.GetOutput().GetFieldData()
    assert held.GetArray("TimeValue").GetValue(0) == run.times[2]
    assert held.GetArray("metres_per_unit").GetValue(0) == 1.0 and held.GetArray("up_axis").GetValue(0) == 2.0
    assert b"velocity m/s" in (tmp_path / "a_0002.vtu").read_bytes()
    assert reader.GetOutput().GetNumberOfPoints() == len(run.points(2))


@pytest.mark.parametrize("to, needs", [("nc", "h5netcdf"), ("zarr", "zarr")])
def test_arrays_as_xarray_reads_them(run, tmp_path, to, needs):
    """Frames 0 to 2 draw the same cells: all of them, to the last bit."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    (path,) = export(run, to, tmp_path / "a", frames=[0, 1, 2])
    opened = xarray.open_dataset(path, engine="h5netcdf") if to == "nc" else xarray.open_zarr(path, consolidated=False)
    with opened as data:
        assert np.array_equal(data["time"], run.times[:3]) and data["time"].attrs.get("units", "s") == "s"
        assert data.attrs["length_unit"] == "m" and data.attrs["up_axis"] == "z"
        for i in range(3):
            assert np.array_equal(data["points"][i], run.points(i))
            for name in run.fields(i):
                values = run.field(name, i)
                assert np.array_equal(np.asarray(data[name][i]).reshape(values.shape), values), name
        assert data["velocity"].attrs["units"] == "m/s" and data["velocity"].dims == ("time", "point", "axis")
        assert np.array_equal(data["heat"][2], run.field("heat", 2)) and np.isnan(data["heat"][0]).all()
        assert np.array_equal(data["step_energy"], run.series()["energy"])
        assert np.array_equal(data["pair_force"], run.pairs()["force"])
        assert np.array_equal(data["body"], run.cells(0).body)
        for body in run.cells(0).bodies:
            assert np.array_equal(data["skin"][np.asarray(data["skin_body"]) == body], skin(run.cells(0), body))
    assert run.to_xarray(frames=[0])["points"].sizes == {"time": 1, "point": len(run.points(0)), "axis": 3}


def test_what_changes_its_cells_is_no_array(run):
    pytest.importorskip("xarray", reason="xarray is not installed")
    with pytest.raises(PliantError, match="frames 0 and 3 .* choose frames from 0 to 2"):
        run.to_xarray()


def test_a_folder_of_somebody_is_not_replaced_by_zarr(run, tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed")
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "letter").write_text("dear")
    with pytest.raises(PliantError, match="is no Zarr store"):
        export(run, "zarr", tmp_path / "a", frames=[0])
    assert (tmp_path / "a.zarr" / "letter").exists()


def test_parquet_gives_back_the_step_table(run, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (path,) = export(run, "parquet", tmp_path / "a")
    table = pandas.read_parquet(path)
    assert np.array_equal(table["energy"], run.series()["energy"]) and np.array_equal(table["momentum_z"], run.series()["momentum"][:, 2])


def test_errors(run, tmp_path):
    with pytest.raises(PliantError, match="'stl'; formats are vtu, ply, obj, csv, parquet, nc, zarr"):
        export(run, "stl", tmp_path / "a")
    with pytest.raises(PliantError, match="no body 'ball'.*body 0"):
        export(run, "ply", tmp_path / "a", body="ball")
    with pytest.raises(PliantError, match="`body` chooses"):
        export(run, "vtu", tmp_path / "a", body="ball")
    with pytest.raises(PliantError, match="every step"):
        export(run, "csv", tmp_path / "a", frames=[0])
    with pytest.raises(PliantError, match="no frame 99"):
        export(run, "vtu", tmp_path / "a", frames=[99])
