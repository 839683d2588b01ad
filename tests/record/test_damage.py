"""Damaged files: what is whole is read, what is not is told, nothing is ever read wrong; files of older formats are read for ever."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from pliant.base import DamageError, PliantError
from pliant.cli.terminal import run_facts
from pliant.record import Run, apart, repair, resume_writer
from pliant.record import index as run_index
from pliant.record.journal import MARK, JournalReader
from pliant.record.records import head_text, summed_head
from pliant.record.runfile import Cells, Recorder
from pliant.record.salvage import sift

FRAMES = 11
CORPUS = Path(__file__).with_name("corpus")
CONTENTS = json.loads((CORPUS / "contents.json").read_text())


def digest(run: Run) -> str:
    """Of every record with every array."""
    found = hashlib.sha256()
    for entry in run.entries:
        found.update(entry.kind.encode())
        found.update(json.dumps(entry.meta, sort_keys=True).encode())
        for name in entry.specs:
            found.update(name.encode())
            found.update(entry.load(name).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("name", CONTENTS)
def test_files_of_every_format_are_read_as_when_they_were_written(tmp_path, name):
    path = Path(shutil.copy(CORPUS / name, tmp_path / name.partition("-")[2]))
    with Run.open(path) as run:
        found = {"records": len(run.entries), "frames": run.frames, "status": run.status, "sha256": digest(run)}
        assert found == CONTENTS[name] and not run.damage
    assert repair(path)[0] is None  # nothing to do
    recorder, state = resume_writer(path)  # in the format of today
    assert recorder.frames > 0 and state.arrays and not recorder.notes
    recorder.close("interrupted")
    with Run.open(path) as again:
        assert again.frames == recorder.frames


def test_what_hdf5_does_not_survive_is_refused(tmp_path, monkeypatch):
    old = CORPUS / "format1-finished.vtkhdf"
    apart.search(old)  # another process, which ends well
    for code, words in ((apart.TIME_IS_UP, "searches in it for more than"), (-11, "crashes")):
        with pytest.raises(DamageError, match=words):
            apart.judge(old, code)
    monkeypatch.setattr(apart, "STUCK", 1e-9)
    with pytest.raises(DamageError, match="searches in it"), Run.open(old):
        pass
    with Run.open(CORPUS / "format3-placed.vtkhdf") as run:  # has an index, which needs no HDF5
        assert run.frames == 4


@pytest.mark.parametrize("name", [name for name in CONTENTS if "block" in name])
def test_a_run_of_an_older_format_goes_on(tmp_path, name):
    from pliant.simulate import running

    path = Path(shutil.copy(CORPUS / name, tmp_path / "block.vtkhdf"))
    sim, recorder = running.reopen(path, 0.05)
    outcome = running.run(sim, recorder)
    assert outcome.status == "finished" and sim.time == pytest.approx(0.05)
    with Run.open(path) as run:
        assert run.frames == 6


def frames_of(run: Run) -> dict[float, bytes]:
    return {float(t): b"".join(run._frame(i).load(n).tobytes() for n in run._frame(i).specs) for i, t in enumerate(run.times)}


@pytest.fixture
def played(toy, tmp_path):
    """A run that was killed after nine frames, as journal alone; its frames."""
    toy.play(tmp_path / "run", FRAMES, stop=9)._writer.close()
    (tmp_path / "run.vtkhdf").rename(tmp_path / "view.vtkhdf")
    with Run.open(tmp_path / "run") as run:
        return tmp_path / "run.journal", frames_of(run)


def entry_at(path: Path, kind: str, number: int) -> tuple[int, int]:
    """First and last byte of the number-th record of a kind."""
    reader = JournalReader(path)
    begin = [8, *(entry.end for entry in reader.entries)]
    found = [(begin[i], entry.end) for i, entry in enumerate(reader.entries) if entry.kind == kind]
    reader.close()
    return found[number]


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("place", ["head", "arrays", "mark"])
def test_one_flipped_bit_in_a_journal_costs_one_frame(toy, played, place):
    path, frames = played
    begin, end = entry_at(path, "frame", 3)
    flip(path, {"head": begin + 30, "arrays": end - 100, "mark": begin + 2}[place])
    with Run.open(path) as run:
        if place == "arrays":  # seen when it is read
            assert run.frames == 9 and not run.damage
            with pytest.raises(DamageError, match=r"frame at t = 0\.3 s.*pliant repair"):
                [run.points(3), *(run.field(n, 3) for n in run.fields(3)), run.contact_rows(3)]
        else:
            assert run.frames == 8 and "lost: 1 record before" in run.damage[0]
    written, sifted = repair(path)
    assert written is not None and len(sifted.lost) == 1
    with Run.open(written) as saved:
        assert frames_of(saved) == {t: content for t, content in frames.items() if t != pytest.approx(0.3)}
        assert not saved.damage and saved.resumable
    assert repair(written)[0] is None
    recorder, state = resume_writer(path)  # from the last checkpoint, not from the beginning
    assert state.meta["frame"] == 8 and recorder.frames == 8
    assert "damaged: lost" in recorder.notes[0]
    recorder.close("interrupted")
    assert path.with_name("run.journal.damaged").exists()  # what there was is kept


def test_resume_takes_the_last_whole_checkpoint_and_says_so(toy, played):
    path, _ = played
    last = entry_at(path, "state", 2)
    flip(path, last[1] - 60)
    with Run.open(path) as run:  # it is the last record, which a kill may have left so
        assert run.state().meta["frame"] == 4 and run.dropped_bytes == last[1] - last[0]
    content = path.read_bytes()
    path.write_bytes(content + content[slice(*entry_at(path, "step", 0))].replace(b'],0,"', b'],9,"'))  # something whole after it
    recorder, state = resume_writer(path)
    assert state.meta["frame"] == 4 and recorder.frames == 5
    assert any("cannot be used" in note and "can." in note for note in recorder.notes)
    recorder._writer.close()


def test_the_view_beside_a_journal_fills_what_is_lost(toy, played):
    path, frames = played
    path.with_name("view.vtkhdf").rename(path.with_name("run.vtkhdf"))
    flip(path, entry_at(path, "header", 0)[0] + 40)
    flip(path, entry_at(path, "topology", 0)[0] + 40)
    with Run.open(path) as run:
        assert frames_of(run) == frames and "is in run.vtkhdf" in run.damage[0]
    recorder, state = resume_writer(path)
    assert state.meta["frame"] == 8
    recorder._writer.close()


def test_a_view_of_another_run_fills_nothing(toy, played, tmp_path):
    path, _ = played
    other = toy.play(tmp_path / "other", FRAMES, stop=5)
    other._append("order", {"time": 0.0, "what": "x"}, {})
    toy.frame(other, 5, np.full(50, 0.9), *toy.cells(1))
    other.close("interrupted")
    (tmp_path / "other.vtkhdf").rename(path.with_name("run.vtkhdf"))
    flip(path, entry_at(path, "frame", 1)[0] + 40)
    with Run.open(path) as run:
        assert run.frames == 8 and "lost" in run.damage[0]


def test_frames_without_their_topology_are_not_drawn_with_another(toy, played):
    path, frames = played
    flip(path, entry_at(path, "topology", 1)[0] + 40)  # of frames 3, 4 and 5
    with Run.open(path) as run:
        assert np.allclose(run.times, [0.0, 0.1, 0.2, 0.6, 0.7, 0.8])
        assert frames_of(run) == {t: c for t, c in frames.items() if not 0.25 < t < 0.55}


def test_a_lost_header_costs_the_scene_and_no_frame(toy, played):
    path, frames = played
    flip(path, entry_at(path, "header", 0)[0] + 40)
    with pytest.raises(DamageError, match="first record.*pliant repair"):
        Run.open(path)
    written, _ = repair(path)
    with Run.open(written) as saved:
        assert frames_of(saved) == frames and not saved.resumable
    flip(path, 0)  # and the first bytes of all
    assert JournalReader(path).entries


def test_rows_of_pairs_stay_with_their_steps(toy, played):
    path, _ = played
    flip(path, entry_at(path, "step", 2)[0] + 40)
    for run in (Run.open(path), Run.open(repair(path)[0])):
        series, pairs = run.series(), run.pairs()
        assert len(series["energy"]) == 8 * toy.STEPS
        assert np.array_equal(pairs["force"], series["energy"][pairs["row"], None] * np.ones(3))
        run.close()


def test_a_flipped_bit_in_a_first_journal_is_told(tmp_path, toy):
    path = Path(shutil.copy(CORPUS / "format1-killed.journal", tmp_path / "run.journal"))
    reader = JournalReader(path)
    ends = [(e.kind, e.end) for e in reader.entries]
    frames = sum(kind == "frame" for kind, _ in ends)
    reader.close()
    at = next(end for kind, end in ends if kind == "frame")
    flip(path, at - 50)
    with Run.open(path) as run:
        assert run.frames == frames
        with pytest.raises(DamageError, match="frame at t = 0 s"):
            run.points(0)
    flip(path, at)  # the length of the next record
    with Run.open(path) as run:
        assert run.damage and run.frames == frames
    assert repair(path)[0] is not None
    recorder, state = resume_writer(path)
    assert state.meta["frame"] == 4
    recorder._writer.close()


# ---- the run file


@pytest.fixture
def finished(toy, tmp_path):
    toy.play(tmp_path / "run", FRAMES)
    with Run.open(tmp_path / "run") as run:
        return tmp_path / "run.vtkhdf", frames_of(run)


def test_the_run_file_is_read_without_hdf5(finished):
    path, frames = finished
    content = bytearray(path.read_bytes())
    content[8:96] = bytes(88)  # of the structure that HDF5 needs first of all
    path.write_bytes(content)
    with pytest.raises(OSError):
        h5py.File(path)
    with Run.open(path) as run:
        assert frames_of(run) == frames


def spoil_indexes(file: h5py.File, begin: int = 0, end: int = 40) -> None:
    """The same bytes of both."""
    for name in ("pliant/index", "pliant/index_again"):
        file[name][begin:end] = 0


def test_a_run_file_without_its_beginning_is_read_by_the_index_at_its_end(finished):
    path, frames = finished
    with h5py.File(path) as file:
        indexes = [file[name][:].tobytes() for name in ("pliant/index", "pliant/index_again")]
    assert indexes[0] == indexes[1]
    content = path.read_bytes()
    assert content.rindex(indexes[1]) > len(content) // 2  # at the other end
    path.write_bytes(bytes(4096) + content[4096:])  # HDF5's own beginning, and that of the first index
    with Run.open(path) as run:
        assert frames_of(run) == frames and not run.damage


def test_a_run_file_without_its_index_is_read_through_hdf5_and_verified(finished):
    path, frames = finished
    with h5py.File(path, "r+") as file:
        spoil_indexes(file)
        offset = file["VTKHDF/Points"].id.get_offset()
    assert run_index.read(path) is None
    with Run.open(path) as run:
        assert frames_of(run) == frames
    flip(path, offset + 7)
    with Run.open(path) as run, pytest.raises(DamageError, match="checksum"):
        run.points(0)


def spoil_list(path: Path, number: int, old: bytes, new: bytes) -> None:
    """Another text in the head of a record in the list, of as many bytes."""
    with h5py.File(path) as file:
        head = bytes(file["pliant/records"][number])
    content = path.read_bytes()
    assert content.count(head) == 1 and old in head and len(old) == len(new)  # with its checksum it is in the list alone
    path.write_bytes(content.replace(head, head.replace(old, new, 1)))


def test_a_wrong_head_is_not_believed_where_the_index_is_damaged_too(finished):
    """Found by the fuzzer: two wrong bytes, one in the index and one in a text of the list that serves then."""
    path, frames = finished
    with h5py.File(path, "r+") as file:
        spoil_indexes(file, 0, 32)  # all but the heads
    spoil_list(path, 0, b'\\"toy\\"', b'\\"Toy\\"')
    with Run.open(path) as run:  # the list has the sum of the text that the index has
        assert run.header["scene"] == 'name = "toy"\n' and frames_of(run) == frames and not run.damage
    with h5py.File(path, "r+") as file:
        spoil_indexes(file)  # the first head too
    with pytest.raises(DamageError, match="its first record is broken.*pliant repair"):
        Run.open(path)


@pytest.mark.parametrize("place", ["text", "sum", "everywhere"])
def test_where_index_and_list_are_damaged_all_frames_that_are_whole_are_saved(finished, place):
    path, frames = finished
    with Run.open(path) as run:
        frame = run._frame(5)
        number, text = frame.number, head_text(frame.kind, frame.meta, frame.specs, frame.number).encode()
    with h5py.File(path, "r+") as file:
        begin = file["pliant/index"][:].tobytes().index(text)
        spoil_indexes(file, -8, file["pliant/index"].shape[0])  # a place
        if place == "everywhere":
            spoil_indexes(file, begin, begin + 4)
    sums = summed_head(text.decode()).encode()[len(text) - 1 :]
    spoil_list(path, number, *((sums, sums[:-3] + b"xx]") if place == "sum" else (b'"time":0.5', b'"time":0.7')))
    assert run_index.read(path) is None
    saved = {"text": set(frames), "sum": set(frames) - {0.5}, "everywhere": {t for t in frames if t < 0.45}}[place]
    with Run.open(path) as run:
        told = "" if place == "text" else f"record {number}, whose head is damaged"
        assert told in " ".join(run.damage) and bool(run.damage) == bool(told)
        assert len(run.times) == len(frames) - bool(told)
        if place == "everywhere":  # later ones are not where they are sought
            with pytest.raises(DamageError, match="checksum"):
                run.points(-1)
        else:
            assert frames_of(run) == {t: frames[t] for t in saved}
    written, sifted = repair(path)
    assert (written is None) == (place == "text") and bool(sifted.lost) == (place != "text")
    if written is not None:
        with Run.open(written) as run:
            assert frames_of(run) == {t: frames[t] for t in saved}


def test_heads_of_older_files_that_nothing_verifies_are_told(tmp_path):
    path = Path(shutil.copy(CORPUS / "format2-block.vtkhdf", tmp_path / "block.vtkhdf"))
    with h5py.File(path, "r+") as file:
        file["pliant/index"][:40] = 0
    with Run.open(path) as run:
        assert run.frames == CONTENTS["format2-block.vtkhdf"]["frames"]
        assert "without checksums and may be wrong" in run.damage[0]


def test_a_run_file_that_was_cut_short_gives_what_it_has(finished):
    path, frames = finished
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 6 // 10])  # list of records and second index, which are at the end, are two tenths of it
    with Run.open(path) as run:
        assert "cut short" in run.damage[0]
        kept = sift(run.entries)
    try:
        written, _ = repair(path)
    except DamageError as error:  # in this order of datasets a tenth may be part of every frame
        assert "no frame is whole" in str(error) and not any(e.kind == "frame" for e in kept.entries)
    else:
        with Run.open(written) as saved:
            assert frames_of(saved).items() <= frames.items()


def test_repair_of_a_run_file_saves_all_other_frames(finished):
    path, frames = finished
    with h5py.File(path) as file:
        points = file["VTKHDF/Points"]
        flip(path, points.id.get_offset() + 24 * int(file["VTKHDF/Steps/PointOffsets"][5]) + 3)
    written, sifted = repair(path)
    assert sifted.lost == ["the frame at t = 0.5 s"]
    with Run.open(written) as saved:
        assert frames_of(saved) == {t: c for t, c in frames.items() if t != 0.5} and saved.status == "finished"
    with pytest.raises(PliantError, match="exists: name another"):
        repair(path)


def test_only_a_read_of_damage_is_refused(finished):
    path, frames = finished
    with h5py.File(path) as file:
        flip(path, file["VTKHDF/PointData/velocity"].id.get_offset() + 5)
    with Run.open(path) as run:
        run.points(0)
        with pytest.raises(DamageError, match="'point/velocity' of the frame at t = 0 s"):
            run.field("velocity", 0)
        assert run.field("velocity", 1).shape[1] == 3


def test_info_reads_a_large_file_only_when_it_is_asked(finished, monkeypatch):
    from pliant.cli import terminal

    path, _ = finished
    with h5py.File(path) as file:
        flip(path, file["VTKHDF/PointData/velocity"].id.get_offset() + 5)
    assert "frame at t = 0 s" in terminal.run_facts(path)["damage"][0]
    monkeypatch.setattr(terminal, "VERIFIED", 1000)
    facts = terminal.run_facts(path)
    assert not facts["damage"] and not facts["verified"] and "--verify" in terminal.run_text(facts)
    assert "frame at t = 0 s" in terminal.run_facts(path, verify=True)["damage"][0]


def test_records_are_found_by_their_marks_alone(played):
    path, _ = played
    content = path.read_bytes()
    count = len(JournalReader(path).entries)
    assert content.count(MARK) == count
    path.write_bytes(content[:8] + os.urandom(1000) + content[8:])  # something came before them all
    assert len(JournalReader(path).entries) == count


# ---- blocks that are deflated


@pytest.fixture
def pressed(tmp_path):
    """A journal whose frames are large enough to be deflated when it ends; of four frames two draw the same points."""
    recorder = Recorder(tmp_path / "run", {"scene": ""}, every=0.1)
    recorder.topology(Cells(vertices=np.arange(4000), body=np.zeros(4000)), 4000)
    for i in range(4):
        recorder.frame(0.1 * i, i, np.round(np.arange(12000.0).reshape(-1, 3) ** 0.5, 3) + max(i, 1))
    return recorder


def test_what_inflating_verifies_is_not_summed_up_again(pressed, monkeypatch):
    pressed.close("finished")
    with Run.open(pressed.path) as run:
        frames = frames_of(run)
        assert len({run.points(0).tobytes(), run.points(1).tobytes()}) == 1 and len(frames) == 4
        monkeypatch.setattr("pliant.record.records.checksum", lambda array: -1)
        assert [run.points(i)[0, 0] for i in range(4)] == [1.0, 1.0, 2.0, 3.0]
    monkeypatch.undo()
    with Run.open(pressed.path) as run:
        offset, size, _ = run.entries[-2].read.stored["VTKHDF/Points"].blocks[-1]
    content = pressed.path.read_bytes()
    for at in np.linspace(offset, offset + size - 1, 40, dtype=int):
        flip(pressed.path, int(at))
        with Run.open(pressed.path) as run, pytest.raises(DamageError, match="damaged"):
            run.points(3)
        pressed.path.write_bytes(content)


def test_a_block_in_the_place_of_another_is_noticed(tmp_path):
    recorder = Recorder(tmp_path / "run", {"scene": ""}, every=0.1)
    recorder.topology(Cells(vertices=np.arange(4000), body=np.zeros(4000)), 4000)
    for i in range(3):
        recorder.frame(0.1 * i, i, np.full((4000, 3), 5.0 + i))
    recorder.close("finished")
    with Run.open(recorder.path) as run:
        (one, size, _), (two, as_large, _) = run.entries[-2].read.stored["VTKHDF/Points"].blocks[:2]
    assert size == as_large
    content = bytearray(recorder.path.read_bytes())
    content[two : two + size] = content[one : one + size]
    recorder.path.write_bytes(content)
    with Run.open(recorder.path) as run:
        with pytest.raises(DamageError, match="it is another one"):
            run.points(1)
        assert run.points(0)[0, 0] == 5.0 and run.points(2)[0, 0] == 7.0


def test_what_was_damaged_before_it_was_deflated_is_told(pressed):
    entries = pressed.run().entries
    frames = [entry for entry in entries if entry.kind == "frame"]
    flip(pressed._writer.path, frames[0].end - 5000)
    pressed.close("finished")
    with Run.open(pressed.path) as run:
        for i in (0, 1):  # which are one block
            with pytest.raises(DamageError, match="checksum"):
                run.points(i)
        assert run.points(2)[0, 0] == 2.0
    _, sifted = repair(pressed.path)
    assert len(sifted.lost) == 2


def test_a_file_that_only_hdf5_cannot_open_is_repaired(tmp_path, capsys):
    """The first 600 bytes: pliant reads by its own index, ParaView could not, and `repair` said that nothing is damaged."""
    path = tmp_path / "run.vtkhdf"
    content = bytearray((CORPUS / "format3-finished.vtkhdf").read_bytes())
    path.write_bytes(content)
    assert repair(path)[0] is None
    content[:64] = bytes(64)
    path.write_bytes(content)
    with pytest.raises(OSError):
        h5py.File(path)
    written, found = repair(path)
    assert written is not None and not found.lost and "nothing but the structure" in found.words
    with Run.open(path) as before, Run.open(written) as saved, h5py.File(written) as file:
        assert "VTKHDF" in file and saved.frames == before.frames and not saved.damage
        assert all(saved.points(i).tobytes() == before.points(i).tobytes() for i in range(before.frames))


def test_info_tells_of_a_structure_that_hdf5_does_not_read(tmp_path):
    """All records are whole, by the index of pliant; ParaView finds nothing, or an array elsewhere."""
    good = (CORPUS / "format3-finished.vtkhdf").read_bytes()
    path = tmp_path / "run.vtkhdf"
    path.write_bytes(good)
    assert not run_facts(path)["damage"]
    with h5py.File(path) as file:
        dataset = file["VTKHDF/Points"]
        block = dataset.id.get_chunk_info(0) if dataset.chunks else None
        offset = struct.pack("<Q", dataset.id.get_offset() if block is None else block.byte_offset)
        end = file["pliant/index"].id.get_offset() + file["pliant/index"].id.get_storage_size()  # which names it as well
    for at in (0, good.index(offset, end)):  # the signature; where the points are
        content = bytearray(good)
        content[at] ^= 8
        path.write_bytes(content)
        (said,) = run_facts(path)["damage"]
        assert "HDF5 structure is damaged" in said and f"pliant repair {path}" in said and "\n" not in said
        assert repair(path, tmp_path / f"saved{at}")[0] is not None
