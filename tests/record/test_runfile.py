"""Recording, reading back, resuming; the errors that bad files and bad input get."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import h5py
import numpy as np
import pytest

from pliant.base import PliantError
from pliant.record import filters, vtkhdf
from pliant.record.journal import JournalWriter, read_journal
from pliant.record.reopen import fold, resume_writer
from pliant.record.run import FORMAT
from pliant.record.runfile import Cells, Recorder, Run, estimate_bytes, human

FRAMES = 11


def assert_same_records(a: Run, b: Run) -> None:
    """Every record of one is in the other, bit for bit."""
    assert [entry.kind for entry in a.entries] == [entry.kind for entry in b.entries]
    for mine, other in zip(a.entries, b.entries, strict=True):
        assert mine.meta == other.meta and mine.specs == other.specs
        for name in mine.specs:
            assert mine.load(name).tobytes() == other.load(name).tobytes(), (mine.kind, name)


def test_one_file_is_left_and_holds_the_journal(toy, tmp_path):
    recorder = toy.play(tmp_path / "run", FRAMES + 1, stop=FRAMES)
    assert sorted(os.listdir(tmp_path)) == ["run.journal", "run.vtkhdf"]
    recorder._flush_steps()
    with Run.open(tmp_path / "run") as live:
        recorder._append("end", {"status": "finished", "message": "done"}, {})
        vtkhdf.write(recorder._writer.entries, tmp_path / "all.vtkhdf")
        file, entries = vtkhdf.read(tmp_path / "all.vtkhdf")
        assert_same_records(Run(entries[: len(live.entries)], live.path), live)
        file.close()
    toy.play(tmp_path / "other", FRAMES)
    assert sorted(os.listdir(tmp_path)) == ["all.vtkhdf", "other.vtkhdf", "run.journal", "run.vtkhdf"]


@pytest.mark.parametrize("ended", [True, False])
def test_a_run_is_read_on_several_threads(toy, tmp_path, ended):
    """As by a page in a notebook and by the notebook itself: an open file has one place at which it is read."""
    recorder = toy.play(tmp_path / "run", FRAMES + 1, stop=None if ended else FRAMES)
    if not ended:
        recorder._flush_steps()
    with Run.open(tmp_path / "run") as run:
        entries = [entry for entry in run.entries if entry.specs]
        alone = [{name: entry.load(name).tobytes() for name in entry.specs} for entry in entries]

        def again(first):
            return all(alone[k][n] == entries[k].load(n).tobytes() for _ in range(8) for k in range(first, len(entries)) for n in alone[k])

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(4) as pool:
                assert all(pool.map(again, range(4)))
        finally:
            sys.setswitchinterval(before)


def test_what_is_read_is_what_was_recorded(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    seen = []

    class Spy:
        """Takes the place of a recorder and keeps what it is given."""

        def frame(self, *args):
            seen.append(args)

    x = np.full(50, 0.3)
    energies = []
    for i in range(FRAMES):
        for _ in range(toy.STEPS):
            x = 3.9 * x * (1.0 - x)
            energies.append(x[0])
        toy.frame(Spy(), i, x, *toy.cells(i // 3))
    with Run.open(tmp_path / "run.vtkhdf") as run:
        assert (run.status, run.message, run.frames) == ("finished", "done", FRAMES)
        assert run.header["scene"] == toy.HEADER["scene"] and run.header["seed"] == 3
        assert np.array_equal(run.times, np.arange(FRAMES) * 0.1)
        assert np.array_equal(run.steps, np.arange(FRAMES) * toy.STEPS)
        for i, (_, _, points, point_fields, cell_fields, contacts, shown) in enumerate(seen):
            fields = {**point_fields, **cell_fields} | ({} if shown is None else {"shown": shown})
            assert np.array_equal(run.points(i), points)
            assert run.fields(i).keys() == fields.keys()
            for name, values in fields.items():
                got = run.field(name, i)
                assert np.array_equal(got, values) and got.dtype == values.dtype, name
            assert run.contact_rows(i).keys() == contacts.keys()
            assert all(np.array_equal(run.contact_rows(i)[name], contacts[name]) for name in contacts)
            want, got = toy.cells(i // 3)[0], run.cells(i)
            assert all(np.array_equal(want.blocks[name], got.blocks[name]) for name in want.blocks)
            assert np.array_equal(want.body, got.body)
            assert (want.bodies, want.parents) == (got.bodies, got.parents)
        series, pairs = run.series(), run.pairs()
        assert np.array_equal(series["energy"], energies)
        assert series["momentum"].shape == (FRAMES * toy.STEPS, 3) and series["contacts"].dtype == np.int64
        # Step k of a frame has k pairs.
        assert np.array_equal(np.bincount(pairs["row"], minlength=FRAMES * toy.STEPS), np.tile([0, 1, 2], FRAMES))
        assert np.array_equal(pairs["force"], series["energy"][pairs["row"], None] * np.ones(3))
        assert np.array_equal(run.state().arrays["x"], np.full(50, run.series()["energy"][8 * toy.STEPS + 2]))
        assert run.state().arrays["name"].tolist() == ["é"]
        assert run.model().meta == {"epoch": 0}


def test_checkpoint_at_or_before_a_frame(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    with Run.open(tmp_path / "run") as run:
        assert [run.state(i).meta["frame"] for i in range(FRAMES)] == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8]
        assert run.state(-1).meta["frame"] == run.state().meta["frame"] == 8


@pytest.mark.parametrize("stop", range(1, FRAMES))
def test_stopped_anywhere_and_resumed_equals_one_run(toy, tmp_path, stop):
    toy.play(tmp_path / "whole", FRAMES)
    toy.play(tmp_path / "parts", FRAMES, stop=stop)._writer.close()
    toy.play(tmp_path / "parts", FRAMES)
    assert sorted(os.listdir(tmp_path)) == ["parts.vtkhdf", "whole.vtkhdf"]
    with Run.open(tmp_path / "whole") as whole, Run.open(tmp_path / "parts") as parts:
        assert_same_records(whole, parts)


def test_journal_written_again_from_the_run_file_is_the_same_bytes(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES, stop=9)._writer.close()  # frame 8 is followed by a checkpoint
    journal = (tmp_path / "run.journal").read_bytes()
    toy.play(tmp_path / "run", FRAMES)
    assert not (tmp_path / "run.journal").exists()
    recorder, state = resume_writer(tmp_path / "run")
    assert (tmp_path / "run.journal").read_bytes() == journal
    assert state.meta["frame"] == 8 and recorder.frames == 9
    assert recorder.next_frame_time == 9 * 0.1 and not recorder.checkpoint_due
    recorder._writer.close()


def test_resume_from_an_earlier_frame(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    recorder, state = resume_writer(tmp_path / "run", frame=5)
    assert state.meta["frame"] == 4 and recorder.frames == 5
    assert np.array_equal(recorder.run().times, np.arange(5) * 0.1)
    recorder._writer.close()


def test_fold_brings_the_run_file_up_to_date(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES, stop=10)._writer.close()
    with Run.open(tmp_path / "run") as journal:
        assert journal.frames == 10 and journal.status == "unfinished"
        fold(tmp_path / "run")
        assert os.listdir(tmp_path) == ["run.vtkhdf"]
        with Run.open(tmp_path / "run") as folded:
            assert_same_records(journal, folded)
    fold(tmp_path / "run")  # nothing left to do
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


def test_run_file_is_never_more_than_a_quarter_behind(toy, tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.record.runfile.PAUSE", 0.0)
    recorder = toy.play(tmp_path / "run", 60, stop=0)
    sizes = []
    append = recorder._writer.append

    def checked(*args):
        if recorder.frames:
            file, entries = vtkhdf.read(recorder.path)
            file.close()
            sizes.append(recorder.size / recorder._writer.entries[len(entries) - 1].end)
        return append(*args)

    recorder._writer.append = checked
    drawn, points = toy.cells(0)
    recorder.topology(drawn, points)
    for i in range(60):
        toy.frame(recorder, i, np.full(50, 0.3), drawn, points)
    recorder.close("finished")
    assert max(sizes) < 1.25


def test_a_held_run_file_loses_nothing(toy, tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError("held by a viewer")

    monkeypatch.setattr("pliant.record.journal_files.PATIENCE", 0.1)
    recorder = toy.play(tmp_path / "run", FRAMES, stop=7)
    with monkeypatch.context() as patch:
        patch.setattr(vtkhdf.os, "replace", refuse)
        toy.frame(recorder, 7, np.full(50, 0.3), *toy.cells(2))
        recorder.close("interrupted", "Ctrl-C")
    assert "held by a viewer" in recorder.trouble and "nothing is lost" in recorder.trouble
    assert sorted(os.listdir(tmp_path)) == ["run.journal", "run.vtkhdf"]
    with Run.open(tmp_path / "run") as run:
        assert (run.frames, run.status, run.message) == (8, "interrupted", "Ctrl-C")
    fold(tmp_path / "run")
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


def test_broken_tail_is_left_out_and_counted(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES, stop=6)._writer.close()
    path = tmp_path / "run.journal"
    path.write_bytes(path.read_bytes()[:-5])
    with Run.open(path) as run:
        assert run.frames == 5 and run.dropped_bytes > 0
        assert run.frames == sum(record.kind == "frame" for record in read_journal(path))


def test_broken_journal_beside_a_good_run_file(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    (tmp_path / "run.journal").write_bytes(b"pliantJ1" + b"\0" * 40)
    with Run.open(tmp_path / "run") as run:
        assert run.frames == FRAMES
    (tmp_path / "run.vtkhdf").unlink()
    with pytest.raises(PliantError, match="first record is broken"):
        Run.open(tmp_path / "run")


def test_a_run_that_failed_before_its_first_frame(tmp_path):
    Recorder(tmp_path / "run", {"scene": "x"}, every=0.1).close("failed", "bodies overlap")
    with Run.open(tmp_path / "run") as run:
        assert (run.frames, run.status, run.message) == (0, "failed", "bodies overlap")
        assert run.series() == {} and len(run.times) == 0
        with pytest.raises(PliantError, match="no checkpoint"):
            run.state()
        with pytest.raises(PliantError, match="has no frames"):
            run.points(0)


def test_columns_that_come_later(tmp_path):
    recorder = Recorder(tmp_path / "run", {}, every=0.0)
    recorder.topology(Cells(vertices=np.arange(2), body=np.zeros(2)), 2)
    for i, values in enumerate([{"a": 1}, {"a": 2, "b": [1.0, 2.0]}, {"b": [3.0, 4.0]}, {"a": 4}]):
        recorder.step(values)
        recorder.frame(float(i), i, np.zeros((2, 3)))
    recorder.step({"a": 5, "c": True})
    recorder.step({"a": 6})
    recorder.close("finished")
    with Run.open(tmp_path / "run") as run, h5py.File(tmp_path / "run.vtkhdf") as file:
        series = run.series()
        assert series["a"].tolist() == [1, 2, -1, 4, 5, 6]
        nan = np.nan
        assert np.array_equal(series["b"], [[nan] * 2, [1, 2], [3, 4], [nan] * 2, [nan] * 2, [nan] * 2], equal_nan=True)
        assert np.array_equal(series["c"], [nan, nan, nan, nan, 1, nan], equal_nan=True)
        for name, column in series.vectors.items():  # as seen by a program that only knows HDF5
            assert np.array_equal(file["pliant/steps"][name][:], column, equal_nan=True)


@pytest.mark.parametrize("touching", [0, 3, 7])
def test_rows_do_not_wait_for_a_frame_when_they_are_many(tmp_path, monkeypatch, touching):
    """A run with few frames, or many pairs, takes no more memory the longer it lasts; its tables are the same."""
    tables, waited = [], []
    for most in (10, 10**9):
        monkeypatch.setattr("pliant.record.runfile.MOST_ROWS", most)
        recorder = Recorder(tmp_path / f"run{most}", {}, every=1.0)
        for i in range(40):
            recorder.step({"energy": i / 3.0}, {"a": np.arange(touching), "force": np.full((touching, 3), i)} if touching else None)
            waited.append(len(recorder._steps) + sum(len(rows["row"]) for rows in recorder._pairs))
        recorder.close("finished")
        with Run.open(recorder.path) as run:
            tables.append([{name: column.tolist() for name, column in table.items()} for table in (run.series().vectors, run.pairs())])
    assert max(waited[:40]) < 10 < max(waited[40:])
    assert tables[0] == tables[1] and len(tables[0][0]["energy"]) == 40
    assert tables[0][1].get("row", []) == [i for i in range(40) for _ in range(touching)]


def test_publishing_holds_a_part_of_the_columns_only(tmp_path):
    """Columns of steps wait to be written in large blocks; of all together no more than 8 MB and what one record has, however long the run."""
    with closing(JournalWriter(tmp_path / "long.journal")) as writer:
        writer.append("header", {"format": FORMAT})
        columns = {f"step/{k}": np.arange(20_000.0) for k in range(50)}  # 8 MB in each record
        for row in range(5):
            writer.append("step", {"row": row * 20_000}, columns)
        tracemalloc.start()
        assert not vtkhdf.publish(writer.entries, tmp_path / "long.vtkhdf")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 20e6
    with Run.open(tmp_path / "long.vtkhdf") as run:
        assert np.array_equal(run.entries[-1].load("step/7"), columns["step/7"])


def test_a_long_run_holds_no_heads_in_memory(tmp_path):
    """Of each record that is written only its place stays: eight bytes, where a head of 60 columns took 17 kB."""
    columns = {f"step/{k}": np.arange(5.0) for k in range(60)}
    with closing(JournalWriter(tmp_path / "long.journal")) as writer:
        for row in range(20):
            writer.append("step", {"row": 5 * row}, columns)
        tracemalloc.start()
        for row in range(20, 220):
            writer.append("step", {"row": 5 * row}, columns)
        now, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert now < 200 * 100
        assert [entry.meta["row"] for entry in writer.entries[-2:]] == [1090, 1095] and len(writer.entries) == 220
        entries = list(writer.entries)
        tracemalloc.start()
        again = list(writer.entries)
        now, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert now < 220 * 4000  # where a run is read: its rows and sums, and what it shares with its kind
        assert [entry.specs for entry in again] == [entry.specs for entry in entries]


def test_a_journal_that_is_damaged_while_it_is_written_is_told(tmp_path):
    """Heads are read again for the run file; what is whole stays in the journal."""
    with closing(JournalWriter(tmp_path / "a.journal")) as writer:
        writer.append("header", {"format": FORMAT})
        end = writer.append("step", {"row": 0}, {"step/time": np.arange(3.0)}).end
        with open(tmp_path / "a.journal", "r+b") as file:
            file.seek(end - 40)
            file.write(b"x" * 8)
        assert "no longer there" in vtkhdf.publish(writer.entries, tmp_path / "a.vtkhdf")
    assert not (tmp_path / "a.vtkhdf").exists()


def test_contact_rows_are_found_by_offsets_in_hdf5(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    with Run.open(tmp_path / "run") as run, h5py.File(tmp_path / "run.vtkhdf") as file:
        for i in range(FRAMES):
            for name, rows in run.contact_rows(i).items():
                begin, end = file[f"pliant/contact_offsets/{name}"][i : i + 2]
                assert np.array_equal(file[f"pliant/contacts/{name}"][begin:end], rows)


def test_frames_and_checkpoints_fall_due(tmp_path):
    recorder = Recorder(tmp_path / "run", {}, every=0.1, checkpoint_every=3)
    assert recorder.next_frame_time == -np.inf and not recorder.checkpoint_due
    recorder.topology(Cells(), 0)
    due = []
    for i in range(7):
        recorder.frame(2.0 + i * 0.1, i, np.zeros((0, 3)))
        assert recorder.next_frame_time == 2.0 + (i + 1) * 0.1
        due.append(recorder.checkpoint_due)
        if recorder.checkpoint_due:
            recorder.state(2.0 + i * 0.1, i, {})
            assert not recorder.checkpoint_due
    assert due == [True, False, False, True, False, False, True]
    recorder.close("finished")


def test_same_topology_and_model_are_recorded_once(toy, tmp_path):
    recorder = Recorder(tmp_path / "run", {}, every=0.1)
    for epoch in (0, 0, 1, 1, 0):
        recorder.topology(*toy.cells(epoch))
        recorder.model({"mass": np.arange(3.0)}, {"epoch": epoch, "size": (1, 2)})
    kinds = [entry.kind for entry in recorder.run().entries]
    assert kinds.count("topology") == kinds.count("model") == 3
    recorder.close("finished")


def test_odd_names(tmp_path):
    names = ["a/b", "a", ".", "..", "100%", "%2F", "ü ö"]
    recorder = Recorder(tmp_path / "run", {}, every=0.0)
    recorder.topology(Cells(vertices=[0], body=[0]), 1)
    fields = {name: np.full(1, float(i)) for i, name in enumerate(names)}
    recorder.frame(0.0, 0, np.zeros((1, 3)), fields, contacts=fields)
    recorder.state(0.0, 0, fields)
    recorder.close("finished")
    with Run.open(tmp_path / "run") as run:
        for name in names:
            assert run.field(name, 0) == fields[name] == run.contact_rows(0)[name] == run.state().arrays[name]


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", ">i4", "u8", "f2", "f4", ">f8", "g", "c8", "c16", "S3", "U4", "M8[ns]", "m8[s]"]
)
def test_checkpoints_keep_every_dtype(tmp_path, dtype):
    arrays = {str(shape): np.ones(shape).astype("i1").astype(dtype) for shape in [(), (0,), (3,), (2, 0, 3), (2, 2)]}
    recorder = Recorder(tmp_path / "run", {}, every=0.1)
    recorder.state(0.0, 0, arrays)
    recorder.close("finished")
    with Run.open(tmp_path / "run") as run:
        for name, array in run.state().arrays.items():
            assert array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
            assert np.array_equal(array, arrays[name])


def test_errors_of_files(toy, tmp_path):
    with pytest.raises(PliantError, match="there is no run"):
        Run.open(tmp_path / "nothing")
    (tmp_path / "text.vtkhdf").write_text("hello")
    with pytest.raises(PliantError, match="cannot be read as HDF5"):
        Run.open(tmp_path / "text")
    with h5py.File(tmp_path / "foreign.vtkhdf", "w") as file:
        file.create_group("VTKHDF")
    with pytest.raises(PliantError, match="not a run of pliant"):
        Run.open(tmp_path / "foreign.vtkhdf")
    toy.play(tmp_path / "run", FRAMES)
    whole = (tmp_path / "run.vtkhdf").read_bytes()
    (tmp_path / "cut.vtkhdf").write_bytes(whole[:1000])
    with pytest.raises(PliantError, match="damaged or cut short"):
        Run.open(tmp_path / "cut")
    for folder in (tmp_path, "."):
        with pytest.raises(PliantError, match="is a folder, not a run"):
            Run.open(folder)
    with h5py.File(tmp_path / "run.vtkhdf", "a") as file:
        file["pliant/index"][:8] = file["pliant/index_again"][:8] = 0
        del file["pliant/contacts/depth"]
    with Run.open(tmp_path / "run") as run, pytest.raises(PliantError, match="damaged: pliant/contacts/depth"):
        run.contact_rows(3)
    with h5py.File(tmp_path / "run.vtkhdf", "a") as file:
        file["pliant/records"][0] = "{"
        file["pliant/index"][:40] = file["pliant/index_again"][:40] = 0
    with pytest.raises(PliantError, match="first record is broken"):
        Run.open(tmp_path / "run")
    with pytest.raises(PliantError, match="does not exist"):
        Recorder(tmp_path / "missing" / "run", {}, every=0.1)
    with pytest.raises(PliantError, match="exists: resume.*overwrite=True"):
        Recorder(tmp_path / "run", {}, every=0.1)
    with pytest.raises(PliantError, match="not a journal"):
        (tmp_path / "x.journal").write_text("notes")
        Recorder(tmp_path / "x", {}, every=0.1, overwrite=True)
    assert (tmp_path / "x.journal").read_text() == "notes"


def test_newer_format_is_refused(tmp_path):
    Recorder(tmp_path / "run", {"format": 99, "pliant": "9.9"}, every=0.1).close("finished")
    with pytest.raises(PliantError, match="newer pliant .9.9"):
        Run.open(tmp_path / "run")


def test_errors_of_input(toy, tmp_path):
    recorder = Recorder(tmp_path / "run", {}, every=0.1)
    drawn, points = toy.cells(1)
    x = np.zeros((points, 3))
    with pytest.raises(PliantError, match="topology.*first|first.*topology"):
        recorder.frame(0.0, 0, x)
    with pytest.raises(PliantError, match="but there are 3 points"):
        recorder.topology(drawn, 3)
    with pytest.raises(PliantError, match="one per cell"):
        recorder.topology(Cells(vertices=[0, 1], body=[0]), 2)
    recorder.topology(drawn, points)
    with pytest.raises(PliantError, match=f"'points' has {points - 1} rows.*has {points}"):
        recorder.frame(0.0, 0, x[1:])
    with pytest.raises(PliantError, match="'v' has 2 rows"):
        recorder.frame(0.0, 0, x, {"v": np.zeros(2)})
    with pytest.raises(PliantError, match="'s' has"):
        recorder.frame(0.0, 0, x, {}, {"s": np.zeros(drawn.count + 1)})
    with pytest.raises(PliantError, match="points and for cells"):
        recorder.frame(0.0, 0, x, {"v": x}, {"v": np.zeros(drawn.count)})
    with pytest.raises(PliantError, match="`body`"):
        recorder.frame(0.0, 0, x, {"body": x})
    with pytest.raises(PliantError, match="array of numbers"):
        recorder.frame(0.0, 0, x, {"v": np.full(points, "a")})
    recorder.frame(0.0, 0, x, {"v": x})
    with pytest.raises(PliantError, match="keeps its shape"):
        recorder.frame(0.1, 1, x, {"v": x[:, 0]})
    with pytest.raises(PliantError, match="different lengths"):
        recorder.step({}, pairs={"a": np.zeros(2), "b": np.zeros(3)})
    with pytest.raises(PliantError, match="not one of finished"):
        recorder.close("done")
    assert recorder.frames == 1
    recorder.close("finished")
    with Run.open(tmp_path / "run") as run:
        with pytest.raises(PliantError, match="no field 'w'.*'v'"):
            run.field("w", 0)


@pytest.mark.parametrize(
    "every, checkpoint_every, word", [(-1.0, 1, "every"), (np.nan, 1, "every"), (0.1, 0, "checkpoint")]
)
def test_errors_of_options(tmp_path, every, checkpoint_every, word):
    with pytest.raises(PliantError, match=word):
        Recorder(tmp_path / "run", {}, every=every, checkpoint_every=checkpoint_every)


def test_a_live_run_cannot_be_resumed_or_overwritten(toy, tmp_path):
    pytest.importorskip("fcntl", reason="locks need fcntl")
    recorder = toy.play(tmp_path / "run", FRAMES, stop=6)
    for attempt in (resume_writer, fold):
        with pytest.raises(PliantError, match="another process"):
            attempt(tmp_path / "run")
    with pytest.raises(PliantError, match="another process"):
        Recorder(tmp_path / "run", {}, every=0.1, overwrite=True)
    with Run.open(tmp_path / "run") as run:  # but it can be watched
        assert run.frames == recorder.frames == 6
    recorder.close("finished")


def test_size_is_estimated_within_five_percent(tmp_path):
    points, tets, frames, states = 4000, 7000, 12, 4
    rng = np.random.default_rng(0)
    recorder = Recorder(tmp_path / "run", {}, every=0.1)
    recorder.topology(Cells(tets=rng.integers(0, points, (tets, 4)), body=np.zeros(tets)), points)
    for i in range(frames):
        x = rng.random((points, 3))
        recorder.frame(i * 0.1, i, x, {"velocity": x}, {"stress": np.zeros(tets, np.float32)})
        if i < states:
            recorder.state(i * 0.1, i, {"x": x, "v": x})
    recorder.close("finished")
    fields = {"point/velocity": 24, "cell/stress": 4}
    guess = estimate_bytes(points, {"tets": tets}, fields, frames, states, 48 * points)
    with Run.open(tmp_path / "run") as run:
        plain = [replace(entry, meta={k: v for k, v in entry.meta.items() if k != "same"}) for entry in run.entries]
        vtkhdf.write(plain, tmp_path / "plain.vtkhdf")
    assert guess == pytest.approx((tmp_path / "plain.vtkhdf").stat().st_size, rel=0.05)  # before anything is deflated or shared
    assert (tmp_path / "run.vtkhdf").stat().st_size < 0.9 * guess


def test_human_sizes():
    sizes = {0: "0 B", 999: "999 B", 1000: "1 kB", 2_830_000: "2.83 MB", 999_600_000: "1 GB", 5e12: "5 TB"}
    assert {size: human(size) for size in sizes} == sizes


def test_import_is_cheap():
    """h5py, vtk and meshio are loaded only when a file is published, read or exported."""
    heavy = ["h5py", "vtkmodules", "meshio", "numba", "scipy"]
    code = f"import sys, pliant.record; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("library", ["zlib", "isal.isal_zlib"])
def test_a_block_is_the_same_whoever_deflates_it(library, monkeypatch):
    """The format is that of RFC 1950, which HDF5 reads."""
    monkeypatch.setattr(filters, "compress", pytest.importorskip(library, reason=f"{library} is not installed").compress)
    rng = np.random.default_rng(0)
    for array in (rng.normal(size=(3000, 3)), np.arange(5000, dtype=np.float32), np.zeros((7, 0)), rng.integers(0, 9, 4000).astype(np.uint8)):
        data = filters.deflated(array)
        assert filters.inflated(data, array.dtype, array.shape, "a file").tobytes() == array.tobytes()
        assert sorted(zlib.decompress(data)) == sorted(array.tobytes())
