"""Run files with less in them: what is kept is right, the bound of the error holds, what is deflated comes back bit for bit."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from pliant.base import DamageError, PliantError
from pliant.record import Cells, Recorder, Reduction, Run, reduced_copy
from pliant.record.filters import deflated, inflated
from pliant.record.reopen import repair, resume_writer

POINTS, FRAMES = 5000, 6


def record(path, reduction=None, stop=FRAMES) -> Recorder:
    """Half of the points stand still; one field never changes, one is zero for a while."""
    rng = np.random.default_rng(0)
    recorder = Recorder(path, {}, every=0.1, checkpoint_every=1, **({} if reduction is None else {"reduction": reduction}))
    recorder.topology(Cells(vertices=np.arange(POINTS), body=np.zeros(POINTS)), POINTS)
    for i in range(stop):
        add(recorder, i, rng)
    return recorder


def add(recorder, i, rng) -> None:
    points = np.random.default_rng(1).normal(size=(POINTS, 3))
    points[: POINTS // 2] += 0.01 * i
    fields = {
        "radius": np.linspace(0, 1, POINTS, dtype=np.float32), "pressure": np.full(POINTS, max(0.0, i - 2.0), np.float32),
        "displacement": (points * 0.3).astype(np.float32),
    }  # fmt: skip
    recorder.frame(0.1 * i, i, points, fields, contacts={"depth": rng.random(i)})
    recorder.state(0.1 * i, i, {"x": points, "word": np.array(["a", "é"])})


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i8", "<i2", "|u1"])
@pytest.mark.parametrize("shape", [(7, 3), (1,), (0, 3), (40, 2, 2)])
def test_filters_are_those_of_hdf5(tmp_path, dtype, shape):
    """What we deflate the library inflates, and the other way round."""
    values = np.random.default_rng(3).integers(0, 100, shape).astype(dtype)
    assert np.array_equal(inflated(deflated(values), dtype, shape, "a"), values)
    if not values.size:
        return
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("a", shape=shape, dtype=dtype, chunks=shape, compression="gzip", compression_opts=1, shuffle=True)
        made.id.write_direct_chunk((0,) * len(shape), deflated(values))
        assert np.array_equal(made[()], values)
        other = file.create_dataset("b", data=values, chunks=shape, compression="gzip", compression_opts=9, shuffle=True)
        _, data = other.id.read_direct_chunk((0,) * len(shape))
        assert np.array_equal(inflated(data, dtype, shape, "a"), values)


def test_a_bad_block_is_damage():
    data = deflated(np.arange(100.0))
    for broken in (data[:-3], data[:20] + b"\0\0\0\0" + data[24:], b""):
        with pytest.raises(DamageError, match="a block of it cannot be read"):
            inflated(broken, "<f8", (100,), "file")


def test_what_does_not_change_is_stored_once(tmp_path):
    record(tmp_path / "run").close("finished")
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        offsets = file["VTKHDF/Steps/PointDataOffsets"]
        assert offsets["radius"][:].tolist() == [0] * FRAMES and len(file["VTKHDF/PointData/radius"]) == POINTS
        assert offsets["pressure"][:].tolist() == [0, 0, 0, POINTS, 2 * POINTS, 3 * POINTS]
        assert len(file["VTKHDF/Points"]) == FRAMES * POINTS
    with Run.open(tmp_path / "run") as run:
        for i in range(FRAMES):
            assert np.array_equal(run.field("radius", i), np.linspace(0, 1, POINTS, dtype=np.float32))
            assert (run.field("pressure", i) == max(0.0, i - 2.0)).all()


def test_a_resumed_run_shares_the_same(tmp_path):
    """Stopped in the middle and resumed: the same frames, with the same things stored once."""
    record(tmp_path / "whole").close("finished")
    recorder = record(tmp_path / "half", stop=2)
    recorder.close("interrupted")
    recorder, state = resume_writer(tmp_path / "half")
    assert state.arrays["word"].tolist() == ["a", "é"]
    rng = np.random.default_rng(0)
    rng.random(1)
    for i in range(2, FRAMES):
        add(recorder, i, rng)
    recorder.close("finished")
    with Run.open(tmp_path / "whole") as one, Run.open(tmp_path / "half") as two:
        frames = [[entry for entry in run.entries if entry.kind == "frame"] for run in (one, two)]
        for a, b in zip(*frames, strict=True):
            assert {**a.meta, "topology": 0} == {**b.meta, "topology": 0} and a.specs == b.specs


def test_a_copy_keeps_what_is_asked_to_its_bound(tmp_path):
    record(tmp_path / "run").close("finished")
    bound = 1e-4
    with Run.open(tmp_path / "run") as run:
        path = reduced_copy(run, tmp_path / "copy", Reduction(("positions", "displacement"), bound), frames=[0, 3, 5])
        with Run.open(path) as copy:
            assert copy.frames == 3 and set(copy.fields(0)) == {"displacement"} and not copy.resumable
            assert copy.header["precision"] == bound and copy.header["keep"] == ["positions", "displacement"]
            for k, i in enumerate((0, 3, 5)):
                error = np.abs(copy.points(k) - run.points(i)).max()
                assert 0.2 * bound < error <= bound
                assert np.abs(copy.field("displacement", k) - run.field("displacement", i)).max() <= bound + 1e-7
                assert copy.contact_rows(k) == {}
        assert path.stat().st_size < 0.25 * run.path.stat().st_size
        with pytest.raises(PliantError, match="copy.vtkhdf exists"):
            reduced_copy(run, tmp_path / "copy", Reduction())
        with pytest.raises(PliantError, match="no field 'presure' to keep.*pressure"):
            reduced_copy(run, tmp_path / "other", Reduction(("presure",)))
    assert not list(tmp_path.glob("other*"))


def test_a_run_can_keep_less_from_the_beginning(tmp_path):
    recorder = record(tmp_path / "run", Reduction(("positions", "pressure", "contacts")), stop=3)
    recorder.close("interrupted")
    recorder, _ = resume_writer(tmp_path / "run")
    add(recorder, 3, np.random.default_rng(0))  # a resumed run keeps the same
    recorder.close("finished")
    with Run.open(tmp_path / "run") as run:
        assert [set(run.fields(i)) for i in range(run.frames)] == [{"pressure"}] * 4
        assert len(run.contact_rows(2)["depth"]) == 2 and run.resumable


def test_vtk_reads_what_is_deflated_and_shared(tmp_path):
    """VTK's own reader, which ParaView uses, sees the same numbers in every frame, back and forth."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    record(tmp_path / "run").close("finished")
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        assert file["VTKHDF/Points"].compression == "gzip" and file["VTKHDF/Points"].shuffle
    vtk = vtkHDFReader()
    vtk.SetFileName(str(tmp_path / "run.vtkhdf"))
    vtk.UpdateInformation()
    with Run.open(tmp_path / "run") as run:
        for i in [*range(FRAMES), *reversed(range(FRAMES))]:
            vtk.SetStep(i)
            vtk.Update()
            grid = vtk.GetOutput()
            assert np.array_equal(vtk_to_numpy(grid.GetPoints().GetData()), run.points(i))
            for name in run.fields(i):
                assert np.array_equal(vtk_to_numpy(grid.GetPointData().GetArray(name)), run.field(name, i)), name


def test_damage_of_a_block_costs_its_frame(tmp_path):
    """A flipped bit in the places of one frame: it is told, all others are read, and repaired files hold them."""
    record(tmp_path / "run").close("finished")
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        block = file["VTKHDF/Points"].id.get_chunk_info(3)
    data = bytearray((tmp_path / "run.vtkhdf").read_bytes())
    data[block.byte_offset + block.size // 2] ^= 16
    (tmp_path / "run.vtkhdf").write_bytes(data)
    with Run.open(tmp_path / "run") as run:
        whole = [i for i in range(FRAMES) if not _damaged(run, i)]
        assert whole == [0, 1, 2, 4, 5]
    path, _ = repair(tmp_path / "run")
    with Run.open(path) as saved:
        assert np.allclose(saved.times, 0.1 * np.array(whole)) and not saved.damage


def _damaged(run, i) -> bool:
    try:
        run.points(i)
    except DamageError:
        return True
    return False
