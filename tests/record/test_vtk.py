"""VTK's own reader sees what was recorded."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.record.layout import CELL_TYPES
from pliant.record.reopen import fold
from pliant.record.runfile import Cells, Recorder, Run


def reader(path):
    from vtkmodules.vtkIOHDF import vtkHDFReader

    vtk = vtkHDFReader()
    vtk.SetFileName(str(path))
    vtk.UpdateInformation()
    return vtk


def shown(vtk, step: int):
    """Points, connectivity, offsets, types, point and cell data of a step, as VTK sees them."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    vtk.SetStep(step)
    vtk.Update()
    grid = vtk.GetOutput()
    cells = grid.GetCells()
    data = []
    for attributes in (grid.GetPointData(), grid.GetCellData()):
        arrays = [attributes.GetArray(k) for k in range(attributes.GetNumberOfArrays())]
        data.append({array.GetName(): vtk_to_numpy(array) for array in arrays})
    types = [grid.GetCellType(k) for k in range(grid.GetNumberOfCells())]
    connectivity, offsets = (vtk_to_numpy(a) for a in (cells.GetConnectivityArray(), cells.GetOffsetsArray()))
    return vtk_to_numpy(grid.GetPoints().GetData()), connectivity, offsets, types, *data


def flat(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1) if values.ndim > 1 else values


def assert_vtk_sees(path, run: Run) -> None:
    vtk = reader(path)
    assert vtk.GetNumberOfSteps() == run.frames
    forwards = list(range(run.frames))
    for i in [*forwards, *reversed(forwards)]:  # a viewer goes back and forth
        points, connectivity, offsets, types, point_data, cell_data = shown(vtk, i)
        cells = run.cells(i)
        assert np.array_equal(points, run.points(i))
        assert np.array_equal(connectivity, np.concatenate([block.ravel() for block in cells.blocks.values()]))
        sizes = [nodes for name, (_, nodes) in CELL_TYPES.items() for _ in cells.blocks[name]]
        assert np.array_equal(offsets, np.concatenate([[0], np.cumsum(sizes)]))
        assert types == [kind for name, (kind, _) in CELL_TYPES.items() for _ in cells.blocks[name]]
        assert np.array_equal(cell_data["body"], cells.body)
        for name, where in run.fields(i).items():
            got = (point_data if where == "point" else cell_data)[name]
            assert np.array_equal(got, flat(run.field(name, i))), (i, name)
        for name, got in {**point_data, **cell_data}.items():
            if name not in {"body", *run.fields(i)}:  # recorded in other frames only
                assert np.isnan(got).all() if got.dtype.kind == "f" else (got == -1).all(), (i, name)


def test_every_frame_of_a_run_whose_topology_and_bodies_change(toy, tmp_path):
    """Mixed cells, quadratic ones among them; fields that come and go; truth values and tensors."""
    toy.play(tmp_path / "run", 14)
    with Run.open(tmp_path / "run") as run:
        assert len({run.cells(i).count for i in range(14)}) >= 4
        assert len({len(run.cells(i).bodies) for i in range(14)}) >= 2
        assert {name for i in range(14) for name, block in run.cells(i).blocks.items() if len(block)} == set(CELL_TYPES)
        assert_vtk_sees(tmp_path / "run.vtkhdf", run)


def test_a_running_run_and_a_killed_one(toy, tmp_path):
    recorder = toy.play(tmp_path / "run", 20, stop=13)
    vtk = reader(tmp_path / "run.vtkhdf")
    steps = vtk.GetNumberOfSteps()
    assert 0 < steps <= 13
    for i in range(steps):
        assert np.array_equal(shown(vtk, i)[0], recorder.run().points(i))
    recorder._writer.close()
    fold(tmp_path / "run")
    with Run.open(tmp_path / "run") as run:
        assert run.frames == 13
        assert_vtk_sees(tmp_path / "run.vtkhdf", run)


def test_times_are_the_times_of_the_frames(toy, tmp_path):
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

    toy.play(tmp_path / "run", 6)
    vtk = reader(tmp_path / "run.vtkhdf")
    times = vtk.GetOutputInformation(0).Get(Pipeline.TIME_STEPS())
    with Run.open(tmp_path / "run") as run:
        assert np.array_equal(times, run.times)


def test_bodies_appear_and_all_vanish(tmp_path):
    """Frames without any cell or point between frames that have some."""
    recorder = Recorder(tmp_path / "run", {}, every=1.0)
    rng = np.random.default_rng(0)
    for i, count in enumerate([0, 3, 0, 5, 5, 0]):
        recorder.topology(Cells(vertices=np.arange(count), body=np.arange(count)), 2 * count)
        recorder.frame(float(i), i, rng.random((2 * count, 3)), {"v": rng.random(2 * count)}, {"s": rng.random(count)})
    recorder.close("finished")
    vtk = reader(tmp_path / "run.vtkhdf")
    with Run.open(tmp_path / "run") as run:
        for i in (1, 3, 4, 3, 1):
            points, _, _, _, point_data, cell_data = shown(vtk, i)
            assert np.array_equal(points, run.points(i))
            assert np.array_equal(point_data["v"], run.field("v", i))
            assert np.array_equal(cell_data["s"], run.field("s", i))
            assert np.array_equal(cell_data["body"], run.cells(i).body)


def test_quadratic_tetrahedron_is_drawn_with_its_volume(tmp_path):
    """The node order is VTK's: a straight-edged quadratic tetrahedron has the volume of its corners."""
    from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter

    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    edges = np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]])
    points = np.concatenate([corners, corners[edges].mean(axis=1)])
    recorder = Recorder(tmp_path / "run", {}, every=1.0)
    recorder.topology(Cells(tets10=np.arange(10)[None], body=[0]), 10)
    recorder.frame(0.0, 0, points)
    recorder.close("finished")
    size = vtkCellSizeFilter()
    vtk = reader(tmp_path / "run.vtkhdf")  # a connection does not keep its reader alive
    size.SetInputConnection(vtk.GetOutputPort())
    size.Update()
    assert size.GetOutput().GetCellData().GetArray("Volume").GetValue(0) == pytest.approx(1.0, rel=1e-12)
