"""The list of what a run file holds and where, by which it is read without the HDF5 library, each array with its checksum.

The dataset `/pliant/index` is the first in the file, so that also one that was cut short has it. It is

    mark      8 bytes   `pliantI2`, by which it is found whatever the rest of the file looks like
    length    u64       of the texts, a multiple of 8
    count     u64       of datasets
    crc       u32       CRC32 of length, count, texts and offsets; 4 bytes of zeros follow
    texts               the heads of all records, one in a line, padded with spaces
    offsets   i64 each  of the datasets that the heads imply, in the order of `Layout.datasets`; -1 for an empty one

little-endian. A file whose index is damaged is read through HDF5 (`/pliant/records` has the heads too), a file whose HDF5 structure
is damaged through its index. Files of the first format have no index.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np

from pliant.base import PliantError
from pliant.disk import failure
from pliant.record.layout import Layout, Place
from pliant.record.records import Array, Entry, Head, Spec, head_text, parsed_head, read_at

MARK = b"pliantI2"
PREFIX = struct.Struct("<8sQQI4x")
NEAR = 1 << 16  # bytes from the beginning of a file in which the index of one that is not damaged begins


def size(heads: Sequence[Head], datasets: int) -> int:
    """Bytes of the index."""
    return PREFIX.size + len(_texts(heads)) + 8 * datasets


def encoded(heads: Sequence[Head], offsets: Sequence[int]) -> bytes:
    """The index as the bytes of the file."""
    body = _texts(heads) + np.array(offsets, "<i8").tobytes()
    length, count = len(body) - 8 * len(offsets), len(offsets)
    return PREFIX.pack(MARK, length, count, zlib.crc32(body, zlib.crc32(struct.pack("<QQ", length, count)))) + body


def _texts(heads: Sequence[Head]) -> bytes:
    text = "\n".join(head_text(head.kind, head.meta, head.specs, head.number) for head in heads).encode()
    return text + b" " * (-len(text) % 8)


def read(path: Path) -> tuple[BinaryIO, list[Entry]] | None:
    """The open file and its records, if it has a good index."""
    try:
        handle = open(path, "rb", buffering=0)
    except OSError as error:
        raise failure(error, "cannot read", path) from None
    found = _found(handle)
    if found is None:
        handle.close()
        return None
    heads, offsets = found
    layout = Layout(heads)
    places = dict(zip(layout.datasets, offsets, strict=True))
    entries = []
    for head, own in zip(heads, layout.places, strict=True):
        load = _Reader(handle, layout, head, own, places)
        entries.append(Entry(head.kind, head.meta, head.specs, head.number, load, str(path)))
    return handle, entries  # type: ignore[return-value]


def missing(handle: IO[bytes], entries: Sequence[Entry]) -> int:
    """Bytes that a file with an index lacks at its end."""
    reader = entries[0].read if entries else None
    if not isinstance(reader, _Reader):
        return 0
    return max((reader.end(name) for name in reader.offsets), default=0) - min(handle.seek(0, 2), 1 << 62)


def _found(handle: BinaryIO) -> tuple[list[Head], list[int]] | None:
    """Heads and offsets of the first good index of a file."""
    block, start = NEAR, 0
    while text := _read(handle, start, block + PREFIX.size):
        at = text.find(MARK)
        while at >= 0:
            if (good := _parsed(handle, start + at)) is not None:
                return good
            at = text.find(MARK, at + 1)
        start, block = start + block, 1 << 22
    return None


def _parsed(handle: BinaryIO, at: int) -> tuple[list[Head], list[int]] | None:
    prefix = _read(handle, at, PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    _, length, count, crc = PREFIX.unpack(prefix)
    if max(length, 8 * count) > handle.seek(0, 2):
        return None
    body = _read(handle, at + PREFIX.size, length + 8 * count)
    if zlib.crc32(body, zlib.crc32(struct.pack("<QQ", length, count))) != crc:
        return None
    try:
        heads = [parsed_head(text) for text in body[:length].split(b"\n")]
    except ValueError:
        return None
    return heads, np.frombuffer(body[length:], "<i8").tolist()


def _read(handle: BinaryIO, at: int, count: int) -> bytes:
    handle.seek(at)
    return handle.read(count)


@dataclass(frozen=True)
class _Reader:
    """Reads the arrays of one record as they are in the file."""

    handle: BinaryIO
    layout: Layout
    head: Head
    places: dict[str, Place]
    offsets: dict[str, int]

    def end(self, dataset: str) -> int:
        """The byte after a dataset."""
        offset, rows = self.offsets[dataset], self.layout.rows.get(dataset)
        if offset < 0 or rows is None:  # an array that is a dataset of its own: its spec is in another record
            return max(offset, 0)
        return offset + Spec(self.layout.dtypes[dataset].str, (rows, *self.layout.row_shape[dataset])).nbytes

    def __call__(self, name: str) -> Array:
        spec, place = self.head.specs[name], self.places[name]
        offset = self.offsets[place.dataset]
        if offset < 0 or not spec.nbytes:
            return np.zeros(spec.shape, spec.dtype)
        if place.start is None:
            return read_at(self.handle, offset, spec)
        stored = Spec(self.layout.dtypes[place.dataset].str, (place.rows, *self.layout.row_shape[place.dataset]))
        values = read_at(self.handle, offset + place.start * (stored.nbytes // max(place.rows, 1)), stored)
        return values.astype(np.dtype(spec.dtype), copy=False).reshape(spec.shape)


def offsets_of(layout: Layout, offset: dict[str, int | None]) -> list[int]:
    """The offsets of all datasets in the order of the index."""
    missing = [name for name in layout.datasets if name not in offset]
    if missing:
        raise PliantError(f"the run file was not written whole: it lacks {missing[0]}")
    return [-1 if (at := offset[name]) is None else at for name in layout.datasets]
