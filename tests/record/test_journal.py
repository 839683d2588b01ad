"""The journal gives back what was written, whatever happened to its tail."""

from __future__ import annotations

import errno
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pliant.base import PliantError
from pliant.record.journal import MAGIC, PREFIX, JournalReader, JournalWriter, encoded, read_journal

DTYPES = st.one_of(hnp.scalar_dtypes(), hnp.unicode_string_dtypes(max_len=5), hnp.byte_string_dtypes(max_len=5))
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.tuples(
    st.text(min_size=1, max_size=12),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.dictionaries(st.text(), ARRAYS, max_size=4),
)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(records=st.lists(RECORDS, max_size=4))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_round_trip(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    writer = JournalWriter(path)
    written = [writer.append(*record) for record in records]
    back = list(read_journal(path))
    assert len(back) == len(records)
    for (kind, meta, arrays), got, entry in zip(records, back, written, strict=True):
        assert (got.kind, got.meta, list(got.arrays)) == (kind, meta, list(arrays))
        assert all(same(arrays[name], got.arrays[name]) for name in arrays)
        assert all(same(arrays[name], entry.load(name)) for name in arrays)  # also read while it is being written
    assert path.stat().st_size == writer.size
    writer.close()


def three_records(path) -> list[int]:
    """A journal with three records; returns the offset after each."""
    writer = JournalWriter(path)
    rng = np.random.default_rng(1)
    ends = [writer.append("frame", {"i": i}, {"x": rng.random((3, 3)), "n": np.arange(i)}).end for i in range(3)]
    writer.close()
    return ends


def test_tail_cut_at_every_byte_keeps_the_records_before(tmp_path):
    path = tmp_path / "a.journal"
    ends = three_records(path)
    whole = path.read_bytes()
    for size in range(ends[1], ends[2]):
        path.write_bytes(whole[:size])
        reader = read_journal(path)
        assert [record.meta["i"] for record in reader] == [0, 1]
        assert reader.dropped_bytes == size - ends[1]
        reader.close()


def test_any_changed_byte_of_the_tail_is_noticed(tmp_path):
    path = tmp_path / "a.journal"
    ends = three_records(path)
    whole = path.read_bytes()
    for at in range(ends[1], ends[2]):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        reader = read_journal(path)
        assert len(reader.entries) == 2, f"byte {at} changed and nobody noticed"
        assert reader.dropped_bytes == ends[2] - ends[1]
        reader.close()


def test_reopening_cuts_the_broken_tail_and_goes_on(tmp_path):
    path = tmp_path / "a.journal"
    ends = three_records(path)
    whole = path.read_bytes()
    for size in (ends[1] + 1, ends[1] + PREFIX.size, ends[2] - 1):
        path.write_bytes(whole[:size])
        writer = JournalWriter(path)
        assert writer.dropped_bytes == size - ends[1]
        writer.append("end", {})
        writer.close()
        assert [record.kind for record in read_journal(path)] == ["frame", "frame", "end"]


def test_same_records_give_the_same_bytes(tmp_path):
    three_records(tmp_path / "a.journal")
    three_records(tmp_path / "b.journal")
    assert (tmp_path / "a.journal").read_bytes() == (tmp_path / "b.journal").read_bytes()


def test_appending_in_parts_equals_appending_at_once(tmp_path):
    whole, parts = tmp_path / "a.journal", tmp_path / "b.journal"
    arrays = [{"x": np.arange(n)} for n in range(5)]
    writer = JournalWriter(whole)
    for a in arrays:
        writer.append("frame", {}, a)
    writer.close()
    for a in arrays:
        writer = JournalWriter(parts, sync=True)
        writer.append("frame", {}, a)
        writer.close()
    assert whole.read_bytes() == parts.read_bytes()


def test_a_full_disk_leaves_the_journal_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.journal"
    writer = JournalWriter(path)
    writer.append("frame", {"i": 0}, {"x": np.arange(3)})

    def half(buffer):
        writer._file.write(memoryview(buffer)[: len(buffer) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_write", half)
        with pytest.raises(PliantError, match="No space left.*resume"):
            writer.append("frame", {"i": 1}, {"x": np.arange(300)})
    assert path.stat().st_size == writer.size
    writer.append("frame", {"i": 2}, {"x": np.arange(3)})
    writer.close()
    assert [record.meta["i"] for record in read_journal(path)] == [0, 2]


def test_an_append_that_was_interrupted_leaves_no_trace(tmp_path):
    path = tmp_path / "a.journal"
    writer = JournalWriter(path)
    writer.append("frame", {"i": 0}, {"x": np.arange(3)})
    writer._write(encoded("frame", {"i": 1}, {"x": np.arange(9)})[:-7])  # Ctrl-C before the record was complete
    entry = writer.append("frame", {"i": 2}, {"x": np.arange(5)})
    assert np.array_equal(entry.load("x"), np.arange(5))
    writer.close()
    assert [record.meta["i"] for record in read_journal(path)] == [0, 2]


def test_one_record_is_one_write(tmp_path):
    writer = JournalWriter(tmp_path / "a.journal")
    calls = []

    class Counting:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, view):
            calls.append(len(view))
            return self.file.write(view)

    writer._file = Counting(writer._file)
    before = writer.size
    writer.append("frame", {}, {"x": np.zeros((2000, 3)), "y": np.zeros(5)})
    assert calls == [writer.size - before]
    writer.close()


def test_second_writer_is_refused(tmp_path):
    pytest.importorskip("fcntl", reason="locks need fcntl")
    path = tmp_path / "a.journal"
    writer = JournalWriter(path)
    with pytest.raises(PliantError, match="another process"):
        JournalWriter(path)
    writer.close()
    JournalWriter(path).close()


def test_cut_keeps_the_first_records(tmp_path):
    path = tmp_path / "a.journal"
    ends = three_records(path)
    writer = JournalWriter(path)
    writer.cut(1)
    assert writer.size == path.stat().st_size == ends[0]
    writer.close()


@pytest.mark.parametrize("array", [np.array([None, 1]), np.zeros(2, dtype=[("a", "f8")])])
def test_arrays_without_plain_bytes_are_refused(tmp_path, array):
    writer = JournalWriter(tmp_path / "a.journal")
    with pytest.raises(PliantError, match="'bad' has dtype"):
        writer.append("frame", {}, {"bad": array})
    writer.close()


def test_foreign_and_missing_files_are_refused(tmp_path):
    (tmp_path / "a.journal").write_bytes(b"solid cube\nfacet")
    with pytest.raises(PliantError, match="not a journal of pliant"):
        read_journal(tmp_path / "a.journal")
    with pytest.raises(PliantError, match="there is no journal"):
        read_journal(tmp_path / "b.journal")


def test_writer_does_not_touch_a_foreign_file(tmp_path):
    path = tmp_path / "a.journal"
    path.write_bytes(b"something else of value")
    with pytest.raises(PliantError):
        JournalWriter(path)
    assert path.read_bytes() == b"something else of value"


def test_strided_and_big_endian_arrays(tmp_path):
    grid = np.arange(24.0).reshape(4, 6)
    arrays = {
        "columns": grid[:, ::2],
        "fortran": np.asfortranarray(grid),
        "big": grid.astype(">f8"),
        "0d": np.float32(3),
    }
    writer = JournalWriter(tmp_path / "a.journal")
    entry = writer.append("state", {"n": np.int64(3), "v": np.array([1.5, 2.5])}, arrays)
    assert entry.meta == {"n": 3, "v": [1.5, 2.5]}
    for name, array in arrays.items():
        assert np.array_equal(entry.load(name), array) and entry.load(name).dtype == np.asarray(array).dtype
    writer.close()


def test_records_begin_on_multiples_of_eight(tmp_path):
    ends = three_records(tmp_path / "a.journal")
    assert len(MAGIC) == 8 and PREFIX.size % 8 == 0
    assert all(end % 8 == 0 for end in ends)
    starts = [8, *ends[:-1]]
    reader = JournalReader(tmp_path / "a.journal")
    assert [entry.end for entry in reader.entries] == ends
    assert all(a < b for a, b in itertools.pairwise(starts))
    reader.close()
