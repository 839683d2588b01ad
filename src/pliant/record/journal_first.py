"""The journal of the first format, `pliantJ1`: no marks, no numbers, one checksum for a record. It is read, and never written."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from functools import partial
from typing import BinaryIO

import numpy as np

from pliant.base import DamageError
from pliant.record.records import Array, Entry, entry_of, parsed_head

FIRST_MAGIC = b"pliantJ1"
PREFIX = struct.Struct("<QII")  # length, CRC32 of length, head size, head and arrays; head size


def first_entry(handle: BinaryIO, start: int, size: int) -> Entry | None:
    """The record that begins at `start`, or None when what is there is none; arrays of one with a wrong checksum are refused."""
    handle.seek(start)
    prefix = handle.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    length, crc, head_size = PREFIX.unpack(prefix)
    if length % 8 or not PREFIX.size + head_size <= length <= size - start:
        return None
    body = handle.read(length - PREFIX.size)
    try:
        entry = entry_of(handle, parsed_head(body[:head_size]), start + PREFIX.size + head_size, start + length)
    except ValueError:
        return None
    good = zlib.crc32(body, zlib.crc32(struct.pack("<QI", length, head_size))) == crc
    if not good and not entry.specs:
        return None  # its checksum is all that could tell
    return entry if good else replace(entry, read=partial(_damaged, entry))


def _damaged(entry: Entry, name: str) -> Array:
    """An array of a record whose head makes sense, and whose checksum is wrong."""
    raise DamageError(
        f"{entry.file} is damaged: the {entry.title} does not have the checksum it was written with. "
        f"`pliant repair {entry.file}` saves all that is whole."
    )


def next_first(handle: BinaryIO, start: int, size: int) -> int:
    """Where the next record is after `start`: there are no marks, so that all places are tried."""
    handle.seek(start)
    words = np.frombuffer(handle.read((size - start) // 8 * 8), "<u8")
    following = np.append(words[1:], np.uint64(0)) >> np.uint64(32)  # head sizes, if a record begins there
    room = np.uint64(size - start) - np.arange(len(words), dtype=np.uint64) * np.uint64(8)
    fits = (words % 8 == 0) & (words >= PREFIX.size) & (words <= room) & (following + PREFIX.size <= words)
    for at in np.flatnonzero(fits)[1:].tolist():
        if first_entry(handle, start + 8 * at, size) is not None:
            return start + 8 * at
    return size
