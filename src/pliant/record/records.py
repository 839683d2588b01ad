"""Records: a kind, facts as JSON and arrays with checksums; what journal and run file hold, each in its own order."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from sys import intern
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.base import DamageError, PliantError

try:
    from isal.isal_zlib import crc32  # the same sums in a third of the time
except ImportError:  # there is none for this processor
    from zlib import crc32  # type: ignore[assignment]

PLAIN_KINDS = "biufcSUMm"  # numpy kinds whose bytes are the whole value
LOST = "lost"  # kind of what stands for records that cannot be read
NO_SUM = -1  # in place of a checksum: of the first format, which has none
Array = NDArray[Any]
Form = dict[str, tuple[int, str, tuple[int, ...] | None, int]]  # of each array: position, type, shape and bytes of a row


@dataclass(frozen=True, slots=True)
class Spec:
    """Type and shape of a stored array, and the checksum of its bytes."""

    dtype: str
    shape: tuple[int, ...]
    crc: int | None = None  # None: of the first format, which has none

    @property
    def nbytes(self) -> int:
        """Bytes of the array without padding."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)


class Specs(Mapping[str, Spec]):
    """The arrays of a record by name. Records of a kind differ in rows and checksums only: that is all that each keeps for itself."""

    __slots__ = ("_form", "_rows", "_sums")

    def __init__(self, specs: Mapping[str, Spec]) -> None:
        self._form = _form(tuple((name, spec.dtype, spec.shape[1:] if spec.shape else None) for name, spec in specs.items()))
        self._rows = array("q", [spec.shape[0] if spec.shape else 1 for spec in specs.values()])
        self._sums = array("q", [NO_SUM if spec.crc is None else spec.crc for spec in specs.values()])

    def __getitem__(self, name: str) -> Spec:
        k, dtype, inner, _ = self._form[name]
        crc = self._sums[k]
        return Spec(dtype, () if inner is None else (self._rows[k], *inner), None if crc == NO_SUM else crc)

    def __iter__(self) -> Iterator[str]:
        return iter(self._form)

    def __len__(self) -> int:
        return len(self._form)

    def begin(self, name: str) -> int:
        """Bytes of the arrays before one, as they lie in a journal."""
        k = self._form[name][0]
        return sum(padded(rows * size) for rows, (_, _, _, size) in zip(self._rows[:k], self._form.values(), strict=False))

    @property
    def nbytes(self) -> int:
        """Bytes of all of them, as they lie in a journal."""
        return sum(padded(rows * size) for rows, (_, _, _, size) in zip(self._rows, self._form.values(), strict=True))


@lru_cache(maxsize=256)  # a run has some ten
def _form(arrays: tuple[tuple[str, str, tuple[int, ...] | None], ...]) -> Form:
    """What records of a kind have in common."""
    return {name: (k, dtype, inner, np.dtype(dtype).itemsize * math.prod(inner or ())) for k, (name, dtype, inner) in enumerate(arrays)}


@dataclass(frozen=True)
class Record:
    """A record in memory."""

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, Array]


@dataclass(frozen=True, slots=True)
class Head:
    """What a record is, without its arrays."""

    kind: str
    meta: dict[str, Any]
    specs: Mapping[str, Spec]
    number: int  # among all records of the run; -1: of the first format, which did not count them

    @property
    def title(self) -> str:
        """What a message calls it."""
        kind = {"state": "checkpoint", "step": "table of steps"}.get(self.kind, self.kind)
        return f"{kind} at t = {self.meta['time']:.4g} s" if "time" in self.meta else kind


@dataclass(frozen=True, slots=True)
class Entry(Head):
    """A record on disk: its arrays are read when asked for."""

    read: Callable[[str], Array]  # an array as it is in the file, be it damaged or not
    file: str
    end: int = 0  # offset of the byte after the record; 0 where the record is not in a journal
    sealed: Callable[[str], bool] = lambda name: False  # whether reading an array verifies it: its blocks have checksums of their own

    def load(self, name: str) -> Array:
        """An array that is what was written."""
        array = self.read(name)
        if not self.sealed(name) and not unspoilt(array, self.specs[name]):
            raise DamageError(
                f"{self.file} is damaged: {name!r} of the {self.title} does not have the checksum it was written with. "
                f"`pliant repair {self.file}` saves all that is whole."
            )
        return array

    def record(self) -> Record:
        """The record with all its arrays."""
        return Record(self.kind, self.meta, {name: self.load(name) for name in self.specs})


def lost_entry(number: int, file: str) -> Entry:
    """In the place of a record of which damage has left not even the head."""
    return Entry(LOST, {}, {}, number, lambda name: np.zeros(0), file)


def checksum(array: Array) -> int:
    """CRC32 of the bytes of an array in C order."""
    return crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) if array.size else 0


def unspoilt(array: Array, spec: Spec) -> bool:
    """Whether an array has the checksum it was written with, if it has one."""
    return spec.crc is None or checksum(array) == spec.crc


def plain(value: object) -> Any:
    """A numpy scalar or small array as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


def head_text(kind: str, meta: Mapping[str, Any], specs: Mapping[str, Spec], number: int = -1) -> str:
    """The head of a record as JSON."""
    arrays = [[name, spec.dtype, list(spec.shape), spec.crc] for name, spec in specs.items()]
    return json.dumps([kind, dict(meta), arrays, number], separators=(",", ":"), default=plain)


def summed_head(text: str) -> str:
    """A head with the checksum of its text as one more number, for a list that has none of its own."""
    return f"{text[:-1]},{crc32(text.encode())}]"


def is_summed(text: bytes) -> bool:
    """Whether a head, which `parsed_head` takes, has the checksum of its text."""
    return len(json.loads(text)) > 4


def parsed_head(text: str | bytes) -> Head:
    """The head written by `head_text`, now or in the first format, or by `summed_head`; ValueError: it is none."""
    try:
        kind, meta, arrays, *number = json.loads(text)
        raw = text.encode() if isinstance(text, str) else text
        if len(number) > 1 and crc32(raw[: raw.rindex(b",")] + b"]") != number[1]:
            raise ValueError("a head that is not as it was written")
        specs = {intern(str(row[0])): _parsed_spec(*row[1:]) for row in arrays}  # the same few names in all records
        if not (isinstance(kind, str) and isinstance(meta, dict) and len(specs) == len(arrays)):
            raise ValueError("a head is a kind, facts and arrays")
        return Head(intern(kind), meta, Specs(specs), int(number[0]) if number else -1)
    except (TypeError, KeyError, IndexError, RecursionError, SyntaxError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _parsed_spec(dtype: str, shape: list[int], crc: int | None = None) -> Spec:
    sizes = tuple(int(n) for n in shape)
    if min(sizes, default=0) < 0 or np.dtype(dtype).kind not in PLAIN_KINDS:
        raise ValueError(f"an array of {dtype} and shape {sizes}")
    return Spec(intern(dtype), sizes, crc)


def whole(entry: Entry) -> bool:
    """Whether all arrays of a record are what was written."""
    try:
        for name in entry.specs:
            entry.load(name)
    except (PliantError, OSError):
        return False
    return True


# ---- where the arrays of a record are in a file


def padded(nbytes: int) -> int:
    """With the zeros that make it a multiple of 8."""
    return nbytes + (-nbytes) % 8


PLACE = Lock()  # an open file has one place at which it is read, and pages and notebooks read runs on several threads


def read_at(handle: BinaryIO, offset: int, spec: Spec) -> Array:
    """An array whose bytes begin at an offset of an open file."""
    array: Array = np.zeros(spec.shape, dtype=spec.dtype)
    with PLACE:
        handle.seek(offset)
        if array.nbytes and handle.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise DamageError(f"{handle.name} ends before an array that it should hold: it was cut short, or is being written anew")
    return array


def _read(handle: BinaryIO, begin: int, specs: Specs, name: str) -> Array:
    """An array of a record whose arrays begin at an offset, one after the other."""
    return read_at(handle, begin + specs.begin(name), specs[name])


def entry_of(handle: BinaryIO, head: Head, arrays: int, end: int) -> Entry:
    """The record whose arrays begin at an offset, and which ends at another."""
    specs = head.specs
    assert isinstance(specs, Specs)  # as it was parsed
    if arrays + specs.nbytes != end:
        raise ValueError("the arrays of a record do not fill it")
    return Entry(head.kind, head.meta, specs, head.number, partial(_read, handle, arrays, specs), str(handle.name), end)
