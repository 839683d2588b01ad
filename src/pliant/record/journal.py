"""An append-only journal of records that a kill cannot spoil, and damage spoils only where it is.

A file is the 8 bytes `pliantJ2` and then records. A record is

    mark    8 bytes   `pliantR2`, by which the next record is found where one is damaged
    length  u64       whole record in bytes, a multiple of 8
    size    u32       head size in bytes, a multiple of 8
    crc     u32       CRC32 of length, size and head
    head              JSON: [kind, meta, [[name, dtype, shape, CRC32], ...], number], padded with spaces
    arrays            raw bytes in C order, each padded with zeros to a multiple of 8

all little-endian. Numbers count the records from 0; records refer to each other by them. Each record goes out in one write, so
whatever stops the process leaves whole records and at most one broken one at the end, which a writer that reopens the file cuts off.
Heads are verified when a journal is opened, arrays when they are read.

`journal_first.py` reads the first format.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array as integers
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np

from pliant.base import DamageError, DiskError, PliantError
from pliant.disk import failure, refuse_special
from pliant.record.journal_first import FIRST_MAGIC, first_entry, next_first
from pliant.record.records import PLAIN_KINDS, Array, Entry, Record, Spec, checksum, entry_of, head_text, padded, parsed_head, whole

try:
    import fcntl
except ImportError:  # Windows: an open journal is protected by the system's own file sharing rules
    fcntl = None  # type: ignore[assignment]

MAGIC = b"pliantJ2"
MARK = b"pliantR2"
PREFIX = struct.Struct("<8sQII")
GLANCE = 8192  # bytes read at once of a record: most heads are shorter


def _storable(name: str, array: object) -> Array:
    values = np.asarray(array, order="C")
    if values.dtype.kind not in PLAIN_KINDS:
        raise PliantError(
            f"array {name!r} has dtype {values.dtype}, which has no plain bytes; store numbers or strings"
        )
    return values


def encoded(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, object], number: int = 0) -> bytearray:
    """A record as the bytes of the file."""
    values = {name: _storable(name, array) for name, array in arrays.items()}
    specs = {name: Spec(array.dtype.str, array.shape, checksum(array)) for name, array in values.items()}
    head = head_text(kind, meta, specs, number).encode()
    head += b" " * (-len(head) % 8)
    buffer = bytearray(PREFIX.size + len(head) + sum(padded(array.nbytes) for array in values.values()))
    view = memoryview(buffer)
    at = PREFIX.size
    view[at : at + len(head)] = head
    at += len(head)
    for array in values.values():
        if array.nbytes:
            view[at : at + array.nbytes] = array.reshape(-1).view(np.uint8).data
        at += padded(array.nbytes)
    PREFIX.pack_into(buffer, 0, MARK, len(buffer), len(head), _head_crc(len(buffer), head))
    return buffer


def _head_crc(length: int, head: bytes) -> int:
    return zlib.crc32(head, zlib.crc32(struct.pack("<QI", length, len(head))))


# ------------------------------------------------------------------------------------------------ reading


def _next_entry(handle: BinaryIO, start: int, size: int) -> Entry | None:
    """The record that begins at `start`, or None when what is there has no good head, or goes beyond the file."""
    handle.seek(start)
    begin = handle.read(GLANCE)
    if len(begin) < PREFIX.size:
        return None
    mark, length, head_size, crc = PREFIX.unpack_from(begin)
    if mark != MARK or length % 8 or not PREFIX.size + head_size <= length <= size - start:
        return None
    head = begin[PREFIX.size : PREFIX.size + head_size]
    if len(head) < head_size:
        head += handle.read(head_size - len(head))
    if len(head) < head_size or _head_crc(length, head) != crc:
        return None
    try:
        return entry_of(handle, parsed_head(head), start + PREFIX.size + head_size, start + length)
    except ValueError:
        return None


def _next_mark(handle: BinaryIO, start: int, size: int) -> int:
    """Where the next mark is at or after `start`, or the size of the file."""
    block = 1 << 20
    while start < size:
        handle.seek(start)
        text = handle.read(block + len(MARK))
        at = text.find(MARK)
        if at >= 0:
            return start + at
        start += block
    return size


class JournalReader(Iterator[Record]):
    """The records of a journal whose heads are good, first to last.

    `dropped_bytes` is the size of a broken tail, `lost` the position among the records of each stretch between them that is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.handle, self.first_format = _opened(path)
        entry_at, next_at = (first_entry, next_first) if self.first_format else (_next_entry, _next_mark)
        size = os.fstat(self.handle.fileno()).st_size
        self.entries: list[Entry] = []
        self.starts = integers("q")  # of each of them
        self.lost: list[int] = []
        self.good_bytes = at = len(MAGIC)
        while at < size:
            entry = entry_at(self.handle, at, size)
            if entry is None:
                at = next_at(self.handle, at + 8 if not self.first_format else at, size)
                continue
            if at != self.good_bytes:
                self.lost.append(len(self.entries))
            self.entries.append(entry)
            self.starts.append(at)
            self.good_bytes = at = entry.end
        if self.entries and not whole(self.entries[-1]):  # a loss of power may leave a length without content
            self.good_bytes = self.entries[-2].end if len(self.entries) > 1 else len(MAGIC)
            del self.entries[-1], self.starts[-1]
        self.dropped_bytes = size - self.good_bytes
        self._at = 0

    def __next__(self) -> Record:
        if self._at == len(self.entries):
            raise StopIteration
        self._at += 1
        return self.entries[self._at - 1].record()

    def close(self) -> None:
        """Close the file; arrays can no longer be read."""
        self.handle.close()


def _opened(path: str | Path) -> tuple[BinaryIO, bool]:
    """A journal opened for reading, unbuffered so that it is never behind the writer; and whether it is of the first format."""
    refuse_special(path)
    try:
        handle = open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise PliantError(f"there is no journal {path}") from None
    except OSError as error:
        raise failure(error, "cannot read", path) from None
    magic = handle.read(len(MAGIC))
    if magic not in (MAGIC, FIRST_MAGIC) and not _next_mark_near(handle):
        handle.close()
        raise PliantError(f"{path} is not a journal of pliant: it does not begin with {MAGIC.decode()!r}")
    return handle, magic == FIRST_MAGIC  # type: ignore[return-value]


def _next_mark_near(handle: Any) -> bool:
    """Whether a record begins where the first one does: then only the first bytes of the journal are damaged."""
    return bool(handle.read(len(MARK)) == MARK)


def read_journal(path: str | Path) -> JournalReader:
    """Iterate over the good records of a journal; a broken tail is skipped and counted in `dropped_bytes`."""
    return JournalReader(path)


# ------------------------------------------------------------------------------------------------ writing


class Written(Sequence[Entry]):
    """The records of a journal that is being written. Their heads stay on disk: a long run would fill the memory with them."""

    def __init__(self, handle: BinaryIO, starts: integers[int]) -> None:
        self._handle, self.starts = handle, starts

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, i: int) -> Entry: ...
    @overload
    def __getitem__(self, i: slice) -> list[Entry]: ...
    def __getitem__(self, i: int | slice) -> Entry | list[Entry]:
        if isinstance(i, slice):
            return [self._at(start) for start in self.starts[i]]
        return self._at(self.starts[i])

    def _at(self, start: int) -> Entry:
        entry = _next_entry(self._handle, start, os.fstat(self._handle.fileno()).st_size)
        if entry is None:
            raise DamageError(f"{self._handle.name} is damaged: what was written at byte {start} is no longer there")
        return entry


class JournalWriter:
    """Appends records to a journal; reopening one cuts off a broken tail first.

    `sync=True` waits after each record until the disk has it, which also survives a loss of power.
    One process at a time: a second writer is refused.
    """

    def __init__(self, path: str | Path, sync: bool = False) -> None:
        self.path, self.sync = Path(path), sync
        try:
            self._file = open(path, "ab", buffering=0)
        except OSError as error:
            raise failure(error, "cannot write", path) from None
        try:
            lock(self._file, self.path)
            if os.fstat(self._file.fileno()).st_size == 0:
                self._write(MAGIC)
            reader = JournalReader(path)
            if reader.first_format:
                raise PliantError(f"{path} is of an older format, which is only read")
        except OSError as error:
            self._file.close()
            raise failure(error, "cannot write", path) from None
        except BaseException:
            self._file.close()
            raise
        self._reading = reader.handle
        self.entries, self.size = Written(reader.handle, reader.starts), reader.good_bytes
        self._next = reader.entries[-1].number + 1 if reader.entries else 0  # number
        self.dropped_bytes = reader.dropped_bytes
        self._file.truncate(self.size)

    def append(
        self, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, object] | None = None, number: int | None = None
    ) -> Entry:
        """Add a record; it is in the file (out of this process's reach) when the call returns. `number`: of one that is copied."""
        if number is None:
            number = self._next
        buffer = encoded(kind, meta, arrays or {}, number)
        if os.fstat(self._file.fileno()).st_size != self.size:  # Ctrl-C fell into an earlier append
            self._file.truncate(self.size)
        try:
            self._write(buffer)
        except OSError as error:
            self._file.truncate(self.size)  # room or not, the journal stays whole
            raise DiskError(
                f"cannot write a {kind} record of {len(buffer)} bytes to {self.path}: {error.strerror}. "
                "All records before it are safe; free some space and resume the run"
            ) from error
        _, _, head_size, _ = PREFIX.unpack_from(buffer)
        head = parsed_head(bytes(buffer[PREFIX.size : PREFIX.size + head_size]))
        entry = entry_of(self._reading, head, self.size + PREFIX.size + head_size, self.size + len(buffer))
        self.entries.starts.append(self.size)
        self.size, self._next = entry.end, number + 1
        return entry

    def cut(self, count: int) -> None:
        """Keep the first `count` records only."""
        del self.entries.starts[count:]
        last = self.entries[-1] if len(self.entries) else None
        self.size, self._next = (last.end, last.number + 1) if last is not None else (len(MAGIC), 0)
        self._file.truncate(self.size)

    def close(self) -> None:
        """Close the file and give up the right to write it."""
        self._reading.close()
        self._file.close()

    def _write(self, buffer: bytes | bytearray) -> None:
        view = memoryview(buffer)
        while view:  # one call, except for records above the 2 GiB that a system writes at once
            view = view[self._file.write(view) :]
        if self.sync:
            os.fsync(self._file.fileno())


def lock(file: Any, path: Path) -> None:
    """Take the right to write an open file, or refuse."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise PliantError(
            f"{path} is being written by another process: wait until that run ends, or stop it first"
        ) from None
