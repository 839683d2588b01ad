"""An append-only journal of records that a kill cannot spoil.

A file is the 8 bytes `pliantJ1` and then records. A record is

    length  u64   whole record in bytes, a multiple of 8
    crc     u32   CRC32 of length, head size, head and arrays
    size    u32   head size in bytes, a multiple of 8
    head          JSON: [kind, meta, [[name, dtype, shape], ...]], padded with spaces
    arrays        raw bytes in C order, each padded with zeros to a multiple of 8

all little-endian. Each record goes out in one write, so whatever stops the process leaves whole records and at most
one broken one at the end; readers stop there, and a writer that reopens the file cuts it off.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.base import PliantError

try:
    import fcntl
except ImportError:  # Windows: an open journal is protected by the system's own file sharing rules
    fcntl = None  # type: ignore[assignment]

MAGIC = b"pliantJ1"
PREFIX = struct.Struct("<QII")
PLAIN_KINDS = "biufcSUMm"  # numpy kinds whose bytes are the whole value

Array = NDArray[Any]


@dataclass(frozen=True)
class Spec:
    """Type and shape of a stored array."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the array without padding."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Record:
    """A record in memory."""

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, Array]


@dataclass(frozen=True)
class Head:
    """What a record is, without its arrays."""

    kind: str
    meta: dict[str, Any]
    specs: dict[str, Spec]


@dataclass(frozen=True)
class Entry(Head):
    """A record on disk: its arrays are read when asked for."""

    load: Callable[[str], Array]
    end: int = 0  # offset of the byte after the record; 0 where the record is not in a journal

    def record(self) -> Record:
        """The record with all its arrays."""
        return Record(self.kind, self.meta, {name: self.load(name) for name in self.specs})


def plain(value: object) -> Any:
    """A numpy scalar or small array as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


def head_text(kind: str, meta: Mapping[str, Any], specs: Mapping[str, Spec]) -> str:
    """The head of a record as JSON."""
    arrays = [[name, spec.dtype, list(spec.shape)] for name, spec in specs.items()]
    return json.dumps([kind, dict(meta), arrays], separators=(",", ":"), default=plain)


def parsed_head(text: str | bytes) -> Head:
    """The head written by `head_text`."""
    kind, meta, arrays = json.loads(text)
    return Head(kind, meta, {name: Spec(dtype, tuple(shape)) for name, dtype, shape in arrays})


def _padded(nbytes: int) -> int:
    return nbytes + (-nbytes) % 8


def _storable(name: str, array: object) -> Array:
    values = np.asarray(array, order="C")
    if values.dtype.kind not in PLAIN_KINDS:
        raise PliantError(
            f"array {name!r} has dtype {values.dtype}, which has no plain bytes; store numbers or strings"
        )
    return values


def encoded(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, object]) -> bytearray:
    """A record as the bytes of the file."""
    values = {name: _storable(name, array) for name, array in arrays.items()}
    specs = {name: Spec(array.dtype.str, array.shape) for name, array in values.items()}
    head = head_text(kind, meta, specs).encode()
    head += b" " * (-len(head) % 8)
    buffer = bytearray(PREFIX.size + len(head) + sum(_padded(array.nbytes) for array in values.values()))
    view = memoryview(buffer)
    at = PREFIX.size
    view[at : at + len(head)] = head
    at += len(head)
    for array in values.values():
        if array.nbytes:
            view[at : at + array.nbytes] = array.reshape(-1).view(np.uint8).data
        at += _padded(array.nbytes)
    PREFIX.pack_into(buffer, 0, len(buffer), _crc(len(buffer), len(head), view[PREFIX.size :]), len(head))
    return buffer


def _crc(length: int, head_size: int, body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<QI", length, head_size)))


def _load(handle: BinaryIO, places: dict[str, tuple[int, Spec]], name: str) -> Array:
    """One array of a record, read from an open journal."""
    offset, spec = places[name]
    array: Array = np.zeros(spec.shape, dtype=spec.dtype)
    if array.nbytes:
        handle.seek(offset)
        if handle.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise PliantError(f"the journal became shorter while array {name!r} was read; open the run again")
    return array


def _entry(handle: BinaryIO, start: int, length: int, head_size: int, head: Head) -> Entry:
    places = {}
    at = start + PREFIX.size + head_size
    for name, spec in head.specs.items():
        places[name] = (at, spec)
        at += _padded(spec.nbytes)
    return Entry(head.kind, head.meta, head.specs, partial(_load, handle, places), start + length)


def _next_entry(handle: BinaryIO, start: int, size: int) -> Entry | None:
    """The record that begins at `start`, or None when what is there is not a whole good record."""
    handle.seek(start)
    prefix = handle.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    length, crc, head_size = PREFIX.unpack(prefix)
    if length % 8 or not PREFIX.size + head_size <= length <= size - start:
        return None
    body = handle.read(length - PREFIX.size)
    if len(body) < length - PREFIX.size or _crc(length, head_size, body) != crc:
        return None
    return _entry(handle, start, length, head_size, parsed_head(body[:head_size]))


class JournalReader(Iterator[Record]):
    """The good records of a journal, first to last; `dropped_bytes` is the size of the broken tail."""

    def __init__(self, path: str | Path) -> None:
        self.handle = _opened(path)
        size = os.fstat(self.handle.fileno()).st_size
        self.entries: list[Entry] = []
        self.good_bytes = len(MAGIC)
        while (entry := _next_entry(self.handle, self.good_bytes, size)) is not None:
            self.entries.append(entry)
            self.good_bytes = entry.end
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


def _opened(path: str | Path) -> BinaryIO:
    """A journal opened for reading, unbuffered so that it is never behind the writer."""
    try:
        handle = open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise PliantError(f"there is no journal {path}") from None
    if handle.read(len(MAGIC)) != MAGIC:
        handle.close()
        raise PliantError(f"{path} is not a journal of pliant: it does not begin with {MAGIC.decode()!r}")
    return handle


def read_journal(path: str | Path) -> JournalReader:
    """Iterate over the good records of a journal; a broken tail is skipped and counted in `dropped_bytes`."""
    return JournalReader(path)


class JournalWriter:
    """Appends records to a journal; reopening one cuts off a broken tail first.

    `sync=True` waits after each record until the disk has it, which also survives a loss of power.
    One process at a time: a second writer is refused.
    """

    def __init__(self, path: str | Path, sync: bool = False) -> None:
        self.path, self.sync = Path(path), sync
        self._file = open(path, "ab", buffering=0)
        try:
            self._lock()
            if os.fstat(self._file.fileno()).st_size == 0:
                self._write(MAGIC)
            reader = JournalReader(path)
        except BaseException:
            self._file.close()
            raise
        self._reading = reader.handle
        self.entries, self.size = reader.entries, reader.good_bytes
        self.dropped_bytes = reader.dropped_bytes
        self._file.truncate(self.size)

    def append(self, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, object] | None = None) -> Entry:
        """Add a record; it is in the file (out of this process's reach) when the call returns."""
        buffer = encoded(kind, meta, arrays or {})
        if os.fstat(self._file.fileno()).st_size != self.size:  # Ctrl-C fell into an earlier append
            self._file.truncate(self.size)
        try:
            self._write(buffer)
        except OSError as error:
            self._file.truncate(self.size)  # room or not, the journal stays whole
            raise PliantError(
                f"cannot write a {kind} record of {len(buffer)} bytes to {self.path}: {error.strerror}. "
                "All records before it are safe; free some space and resume the run"
            ) from error
        _, _, head_size = PREFIX.unpack_from(buffer)
        head = parsed_head(bytes(buffer[PREFIX.size : PREFIX.size + head_size]))
        entry = _entry(self._reading, self.size, len(buffer), head_size, head)
        self.entries.append(entry)
        self.size = entry.end
        return entry

    def cut(self, count: int) -> None:
        """Keep the first `count` records only."""
        del self.entries[count:]
        self.size = self.entries[-1].end if self.entries else len(MAGIC)
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

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PliantError(
                f"{self.path} is being written by another process: wait until that run ends, or stop it first"
            ) from None
