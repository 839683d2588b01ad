"""The list of what a run file holds and where, by which it is read without the HDF5 library, each array with its checksum.

The dataset `/pliant/index` is the first in the file, so that also one that was cut short has it; `/pliant/index_again`, the same once
more, is the last, so that one whose beginning is gone has it. It is

    mark      8 bytes   `pliantI5`, by which it is found whatever the rest of the file looks like
    length    u64       of the texts, a multiple of 8
    count     u64       of the numbers
    crc       u32       CRC32 of length, count, texts and numbers; 4 bytes of zeros follow
    texts               the heads of all records, one in a line, padded with spaces
    numbers   i64 each  of every record: 0, or 1 where it was damaged before it came here; then of every dataset that the heads imply, in
                        the order of `Layout.datasets`: rows in a block (0: it is stored as it is, in one piece), number of blocks, and
                        offset, size and seal of each; an offset of -1: it is empty

little-endian. Blocks are as `filters.py` makes them: each ends with the Adler-32 of its bytes, its seal, which inflating verifies, and
every array is verified before it is deflated, so that it is not summed up once more when it is read. By the seals that are noted here a
block is told from another whole one that lies in its place. What is stored as it is has the CRC32 of its head.
Before (`pliantI4`) no seals were noted; in the third format (`pliantI3`) the numbers of records are missing, for they were not verified
before they were deflated; in the second (`pliantI2`) the numbers are one offset for each dataset, all of which are stored as they are. A
file whose index is damaged is read through HDF5 (`/pliant/records` has the heads too, each with the CRC32 of its text, which older files
lack: that is told), a file whose HDF5 structure is damaged through its index. Where index and list are damaged, each serves for what the
other has lost (`vtkhdf._heads`). Files of the first format have no index.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np

from pliant.base import DamageError
from pliant.disk import failure, refuse_special
from pliant.record.filters import UNSEALED, inflated
from pliant.record.layout import Layout, Place, as_bytes
from pliant.record.records import PLACE, Array, Entry, Head, Spec, head_text, parsed_head, read_at

MARK, FOURTH, THIRD, SECOND = b"pliantI5", b"pliantI4", b"pliantI3", b"pliantI2"
PREFIX = struct.Struct("<8sQQI4x")
NEAR = 1 << 16  # bytes from the beginning of a file in which the index of one that is not damaged begins


@dataclass(frozen=True)
class Stored:
    """Where a dataset is: offset, size and seal of each block of so many rows; 0 rows: one piece, as it is."""

    rows: int
    blocks: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class _Found:
    """What an index says."""

    heads: list[Head]
    stored: list[Stored]
    doubtful: Sequence[int]  # of each record: whether it was not whole when it was deflated, or nobody looked
    sized: bool  # sizes of blocks are known


def size(heads: Sequence[Head], blocks: int, datasets: int) -> int:
    """Bytes of the index."""
    return PREFIX.size + len(_texts(heads)) + 8 * (len(heads) + 2 * datasets + 3 * blocks)


def encoded(heads: Sequence[Head], stored: Sequence[Stored], damaged: Collection[int]) -> bytes:
    """The index as the bytes of the file. `damaged`: positions of records that were not whole when they came here."""
    numbers = [int(i in damaged) for i in range(len(heads))]
    numbers += [n for each in stored for n in (each.rows, len(each.blocks), *(m for block in each.blocks for m in block))]
    body = _texts(heads) + np.array(numbers, "<i8").tobytes()
    length, count = len(body) - 8 * len(numbers), len(numbers)
    return PREFIX.pack(MARK, length, count, zlib.crc32(body, zlib.crc32(struct.pack("<QQ", length, count)))) + body


def _texts(heads: Sequence[Head]) -> bytes:
    text = "\n".join(head_text(head.kind, head.meta, head.specs, head.number) for head in heads).encode()
    return text + b" " * (-len(text) % 8)


def read(path: Path) -> tuple[BinaryIO, list[Entry]] | None:
    """The open file and its records, if it has a good index."""
    refuse_special(path)
    try:
        handle = open(path, "rb", buffering=0)
    except OSError as error:
        raise failure(error, "cannot read", path) from None
    found = _found(handle)
    if found is None:
        handle.close()
        return None
    layout = Layout(found.heads)
    places = dict(zip(layout.datasets, found.stored, strict=True))
    entries = []
    for head, own, doubtful in zip(found.heads, layout.places, found.doubtful, strict=True):
        load = _Reader(handle, layout, head, own, places, bool(doubtful))
        entries.append(Entry(head.kind, head.meta, head.specs, head.number, load, str(path), sealed=load.sealed))
    return handle, entries  # type: ignore[return-value]


def places(path: Path) -> tuple[Layout, dict[str, Stored]]:
    """Where a file has its datasets; without a good index, and of the second format, which does not say how large they are: nothing."""
    with open(path, "rb", buffering=0) as handle:
        found = _found(handle)
    layout = Layout([] if found is None or not found.sized else found.heads)
    return layout, dict(zip(layout.datasets, found.stored if found else [], strict=False))


def missing(handle: IO[bytes], entries: Sequence[Entry]) -> int:
    """Bytes that a file with an index lacks at its end."""
    reader = entries[0].read if entries else None
    if not isinstance(reader, _Reader):
        return 0
    return max((reader.end(name) for name in reader.stored), default=0) - min(handle.seek(0, 2), 1 << 62)


def _found(handle: BinaryIO) -> _Found | None:
    """Heads and places of the first good index of a file."""
    block, start = NEAR, 0
    while text := _read(handle, start, block + PREFIX.size):
        at = _mark(text, 0)
        while at >= 0:
            if (good := _parsed(handle, start + at)) is not None:
                return good
            at = _mark(text, at + 1)
        start, block = start + block, 1 << 22
    return None


def damaged_lines(indexes: Iterable[bytes]) -> dict[int, tuple[Head, bytes]]:
    """Heads with their texts, by number, that can still be read in damaged indexes; whether they are right nobody knows."""
    found = {}
    for content in indexes:
        for line in content[PREFIX.size :].split(b"\n"):
            with suppress(ValueError, RecursionError):
                _, end = json.JSONDecoder().raw_decode(line.decode("latin-1"))  # numbers follow the last one
                head = parsed_head(line[:end])
                found[head.number] = head, line[:end]
    return found


def _mark(text: bytes, start: int) -> int:
    """Where the next mark of any format is; -1: nowhere."""
    return min((at for at in (text.find(mark, start) for mark in (MARK, FOURTH, THIRD, SECOND)) if at >= 0), default=-1)


def _parsed(handle: BinaryIO, at: int) -> _Found | None:
    prefix = _read(handle, at, PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    mark, length, count, crc = PREFIX.unpack(prefix)
    if max(length, 8 * count) > handle.seek(0, 2):
        return None
    body = _read(handle, at + PREFIX.size, length + 8 * count)
    if zlib.crc32(body, zlib.crc32(struct.pack("<QQ", length, count))) != crc:
        return None
    try:
        heads = [parsed_head(text) for text in body[:length].split(b"\n")]
        numbers = np.frombuffer(body[length:], "<i8").tolist()
        known = len(heads) if mark in (MARK, FOURTH) else 0
        stored = [Stored(0, [(n, 0, UNSEALED)]) for n in numbers] if mark == SECOND else _unfolded(numbers[known:], mark == MARK)
        return _Found(heads, stored, numbers[:known] or [1] * len(heads), mark != SECOND)
    except (ValueError, IndexError):
        return None


def _unfolded(numbers: list[int], sealed: bool) -> list[Stored]:
    stored, k, width = [], 0, 3 if sealed else 2
    while k < len(numbers):
        rows, count = numbers[k : k + 2]
        facts = numbers[k + 2 : k + 2 + width * count]
        seals = facts[2::width] if sealed else [UNSEALED] * count
        stored.append(Stored(rows, list(zip(facts[::width], facts[1::width], seals, strict=True))))
        k += 2 + width * count
    return stored


def _read(handle: BinaryIO, at: int, count: int) -> bytes:
    with PLACE:
        handle.seek(at)
        return handle.read(count)


@dataclass(frozen=True)
class _Reader:
    """Reads the arrays of one record as they are in the file."""

    handle: BinaryIO
    layout: Layout
    head: Head
    places: dict[str, Place]
    stored: dict[str, Stored]
    doubtful: bool  # blocks may hold what was never written

    def sealed(self, name: str) -> bool:
        """Whether an array is verified by being inflated."""
        return not self.doubtful and bool(self.stored[self.places[name].dataset].rows)

    def end(self, dataset: str) -> int:
        """The byte after a dataset."""
        if self.stored[dataset].rows:
            return max(offset + size for offset, size, _ in self.stored[dataset].blocks)
        offset, rows = self.stored[dataset].blocks[0][0], self.layout.rows.get(dataset)
        if offset < 0 or rows is None:  # an array that is a dataset of its own: its spec is in another record
            return max(offset, 0)
        return offset + Spec(self.layout.dtypes[dataset].str, (rows, *self.layout.row_shape[dataset])).nbytes

    def __call__(self, name: str) -> Array:
        spec, place = self.head.specs[name], self.places[name]
        where = self.stored[place.dataset]
        offset = where.blocks[0][0] if where.blocks else -1
        if offset < 0 or not spec.nbytes:
            return np.zeros(spec.shape, spec.dtype)
        if place.start is None and not where.rows:
            return read_at(self.handle, offset, spec)
        if place.start is None:
            raw = as_bytes(spec)
            block = self._block(where, 0, "|u1" if raw else spec.dtype, (spec.nbytes,) if raw else spec.shape)
            return block.view(np.dtype(spec.dtype)).reshape(spec.shape) if raw else block
        dtype, inner = self.layout.dtypes[place.dataset].str, self.layout.row_shape[place.dataset]
        if where.rows:
            values = self._rows(where, place.start, place.rows, dtype, inner)
        else:
            stored = Spec(dtype, (place.rows, *inner))
            values = read_at(self.handle, offset + place.start * (stored.nbytes // max(place.rows, 1)), stored)
        return values.astype(np.dtype(spec.dtype), copy=False).reshape(spec.shape)

    def _rows(self, where: Stored, start: int, rows: int, dtype: str, inner: tuple[int, ...]) -> Array:
        """Rows out of the blocks that hold them."""
        first, last = start // where.rows, (start + rows - 1) // where.rows
        blocks = [self._block(where, k, dtype, (where.rows, *inner)) for k in range(first, last + 1)]
        joined = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return joined[start - first * where.rows :][:rows]

    def _block(self, where: Stored, k: int, dtype: str, shape: tuple[int, ...]) -> Array:
        if k >= len(where.blocks):
            raise DamageError(f"{self.handle.name} is damaged: its index lacks a block")
        offset, size, seal = where.blocks[k]
        return inflated(_read(self.handle, offset, size), dtype, shape, str(self.handle.name), seal)
