"""How arrays are made small on disk: bytes of equal rank brought together (shuffle), then deflated at the quickest level.

Both are filters that every HDF5 library has built in, so that ParaView reads them; here they are done on blocks of our own, by several
threads, and undone without HDF5. A block holds the rows of one frame, where all frames have as many.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import DamageError
from pliant.record.layout import BODY, CONNECTIVITY, FRAME_GROUPS, TABLES, Layout, as_bytes
from pliant.record.records import Array, Spec

try:
    from isal.isal_zlib import compress  # the same format in an eighth of the time, a tenth larger
except ImportError:  # there is none for this processor
    from zlib import compress  # type: ignore[assignment]

LEVEL = 1  # of deflate: higher ones take times the time for a few percent
SMALL = 1 << 15  # bytes of a dataset that is stored as it is: what filters need besides would be more than they save
LEAST = 1 << 14  # bytes of a block of contact rows
WAITING = 64  # blocks that may wait for being written
UNSEALED = -1  # seal of a block of which none was noted
WORKERS = min(4, os.cpu_count() or 1)


def deflated(array: Array) -> bytes:
    """The bytes of a block as HDF5's filters `shuffle` and `deflate` leave them."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.itemsize > 1:
        flat = np.ascontiguousarray(flat.view(np.uint8).reshape(len(flat), flat.dtype.itemsize).T)
    return compress(flat.data if flat.size else b"", LEVEL)


def seal_of(data: bytes) -> int:
    """The Adler-32 with which a deflated block ends: inflating verifies it, and it tells one block from another."""
    return int.from_bytes(data[-4:], "big")


def inflated(data: bytes, dtype: Any, shape: tuple[int, ...], file: str, seal: int = UNSEALED) -> Array:
    """A block as it was. `seal`: the one that was noted when it was written."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) if shape else 1
    try:
        if seal not in (UNSEALED, seal_of(data)):
            raise ValueError("it is another one")
        raw = np.frombuffer(zlib.decompress(data, bufsize=max(count * dtype.itemsize, 1)), np.uint8)
        if raw.size != count * dtype.itemsize:
            raise ValueError("it has another size")
    except (zlib.error, ValueError) as error:
        advice = f"`pliant repair {file}` saves all that is whole."
        raise DamageError(f"{file} is damaged: a block of it cannot be read ({error}). {advice}") from None
    if dtype.itemsize > 1:
        raw = np.ascontiguousarray(raw.reshape(dtype.itemsize, count).T)
    return raw.reshape(-1).view(dtype).reshape(shape)


@dataclass(frozen=True)
class Blocking:
    """How a dataset is divided: so many rows in a block; 0: it is stored as it is, in one piece."""

    rows: int
    count: int


def blocking(layout: Layout, specs: dict[str, Spec], extra: dict[str, int], small: bool) -> dict[str, Blocking]:
    """Of every dataset. `specs`: of arrays that are datasets of their own; `extra`: rows of fill values; `small`: filters are used."""
    plan = {}
    typical = _typical(layout) if small else {}
    for name in layout.datasets:
        if name in specs:
            spec = specs[name]
            filtered = small and spec.nbytes >= SMALL
            plan[name] = Blocking(1 if filtered else 0, 1)  # a whole array is one block
            continue
        total = layout.rows[name] + extra.get(name, 0)
        size = total * int(np.prod(layout.row_shape[name])) * layout.dtypes[name].itemsize
        rows = typical.get(name, 0) if size >= SMALL else 0
        plan[name] = Blocking(rows, -(-total // rows) if rows else 1)
    return plan


def _typical(layout: Layout) -> dict[str, int]:
    """Rows of the middle one of the blocks of each dataset, by size; tables of steps grow by a few rows and stay as they are."""
    sizes: dict[str, list[int]] = {}
    for places in layout.places:
        for place in places.values():
            if place.start is not None and place.rows and not place.dataset.startswith(tuple(TABLES.values())):
                sizes.setdefault(place.dataset, []).append(place.rows)
    whole = (CONNECTIVITY, BODY)  # one block for each topology
    typical = {name: int(np.max(rows) if name in whole else np.median(rows)) for name, rows in sizes.items()}
    return {name: max(rows, _least(layout, name)) if name.startswith(FRAME_GROUPS["contact"]) else rows for name, rows in typical.items()}


def _least(layout: Layout, name: str) -> int:
    """Rows of contacts in a block: they are few and differ from frame to frame; a block for each frame would cost more than it saves."""
    row = int(np.prod(layout.row_shape[name])) * layout.dtypes[name].itemsize
    return min(LEAST // max(row, 1) + 1, layout.rows[name])


def whole_specs(layout: Layout) -> dict[str, Spec]:
    """Arrays that are datasets of their own, as they are stored."""
    found = {}
    for head, places in zip(layout.heads, layout.places, strict=True):
        for name, place in places.items():
            if place.start is None:
                spec = head.specs[name]
                found[place.dataset] = Spec("|u1", (spec.nbytes,)) if as_bytes(spec) else spec
    return found


class Press:
    """Deflates blocks in threads and hands them over in the order in which they came."""

    def __init__(self, write: Callable[[str, int, bytes], None]) -> None:
        """`write`: takes a dataset, the first row of a block and its bytes."""
        self._write = write
        self._pool = ThreadPoolExecutor(WORKERS)
        self._waiting: list[tuple[str, int, Future[bytes]]] = []

    def add(self, dataset: str, row: int, block: Array) -> None:
        self._waiting.append((dataset, row, self._pool.submit(deflated, block)))
        if len(self._waiting) > WAITING:
            self._take()

    def _take(self) -> None:
        dataset, row, future = self._waiting.pop(0)
        self._write(dataset, row, future.result())

    def close(self) -> None:
        """Write what is waiting."""
        while self._waiting:
            self._take()
        self._pool.shutdown()

    def give_up(self) -> None:
        self._pool.shutdown(cancel_futures=True)
