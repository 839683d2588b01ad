"""The published run file: records laid out so that VTK and ParaView read them as they are, and read back as records.

`/VTKHDF` is a temporal UnstructuredGrid, version 2.2, one part per topology. `Points` and every field have one block of
rows per frame; connectivity, offsets, types and `body` one block per topology, to which the offsets under `Steps`
point. A frame without a field that other frames have points at a block of fill values (NaN, -1 or 0).
`/pliant` holds the rest: contact rows, the step and pair tables, states, models, and `records`, the head of every
record in order, from which the place of every array follows. The file is thus the journal in another order, and the
journal can be written again from it. `index` says where they are, so that reading needs no HDF5 (`index.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pliant.base import DamageError, PliantError
from pliant.disk import TEMPORARY, Reserved, said
from pliant.record import index
from pliant.record.apart import end_in_time, search
from pliant.record.datasets import Datasets
from pliant.record.filters import UNSEALED, Blocking, Press, blocking, seal_of, whole_specs
from pliant.record.layout import (
    BODY,
    CELL_TYPES,
    CONNECTIVITY,
    FRAME_GROUPS,
    POINTS,
    TABLES,
    Layout,
    Place,
    as_bytes,
    fill_value,
)
from pliant.record.records import LOST, Array, Entry, Head, Spec, head_text, is_summed, lost_entry, parsed_head, summed_head, unspoilt

if TYPE_CHECKING:
    import h5py

VERSION = (2, 2)
RECORDS, INDEX, AGAIN = "pliant/records", "pliant/index", "pliant/index_again"
RESERVE = 4  # a part of its arrays so large is reserved besides: offsets and types of cells, fill values
NODE = 100  # bytes that HDF5 takes for a block besides its values
HEADER = 1500  # bytes that HDF5 takes for a dataset and its group besides values
BLOCK_BYTES = 1 << 20  # small blocks are collected up to about this size before they are written
WAITING_BYTES = 8 << 20  # and those of all datasets up to this size: a long run has hundreds of columns of steps and pairs


# ------------------------------------------------------------------------------------------------ writing


def publish(entries: Sequence[Entry], path: Path, patience: float = 0.0, small: bool = False) -> str:
    """Write the records to `path` whole: to a temporary file that then takes its place. Returns why not, or nothing.

    `small`: arrays are deflated, once and for all; the views of a run that goes on are written often and quickly.

    It cannot when the disk is full, or the file is not replaced within `patience` seconds (on Windows: another program
    holds it); `path` is then as it was.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        write(entries, temporary, small)
        _take_place(temporary, path, patience)
    except (OSError, RuntimeError, DamageError) as error:  # h5py reports what it does not expect as one of the first two
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        return said(error, path) if isinstance(error, OSError) else str(error)
    return ""


def _take_place(temporary: Path, path: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            return os.replace(temporary, path)
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def write(entries: Sequence[Entry], path: Path, small: bool = False) -> None:
    """Write the records as a VTKHDF file; OSError if the disk does not take it."""
    import h5py

    entries = list(entries)
    layout = Layout(entries)
    names = layout.datasets
    held = sum(spec.nbytes for entry in entries for spec in entry.specs.values())
    plan = blocking(layout, whole_specs(layout), _fill_rows(layout), small)
    blocks = sum(each.count for each in plan.values())
    disk = Reserved(path, held + held // RESERVE + 3 * index.size(entries, blocks, len(names)) + HEADER * len(names) + NODE * blocks)
    try:
        with h5py.File(disk, "w") as file:
            _write(file, disk, entries, layout, plan)
        disk.finish()
    finally:
        disk.close()


def _write(file: h5py.File, disk: Reserved, entries: Sequence[Entry], layout: Layout, plan: dict[str, Blocking]) -> None:
    import h5py

    room = index.size(entries, sum(each.count for each in plan.values()), len(plan))
    made = Datasets(file)
    made.put(INDEX, np.zeros(room, np.uint8))  # first, with its space
    root = file.create_group("VTKHDF")
    root.attrs["Version"] = np.array(VERSION, dtype=np.int64)
    root.attrs.create("Type", np.bytes_("UnstructuredGrid"))
    fillers = _create_datasets(made, layout, plan)
    _write_steps(file, made, layout, fillers)
    _write_cells(made, layout)
    blocks = _Blocks(made, layout, plan, disk)
    spoilt: set[Place] = set()
    try:
        for entry, places in zip(entries, layout.places, strict=True):
            if disk.error is not None:
                raise disk.error
            for name, place in places.items():  # as they are: what was damaged meanwhile has a checksum that says so
                if place.start is not None and (not place.rows or place.start < blocks.end.get(place.dataset, 0)):
                    continue  # nothing, or it is there, from a frame before
                array, filtered = entry.read(name), bool(plan[place.dataset].rows)
                if filtered and not unspoilt(array, entry.specs[name]):
                    spoilt.add(place)
                if place.start is None:
                    _write_whole(file, made, place, entry.specs[name], array, blocks if filtered else None)
                else:
                    blocks.add(place.dataset, place.start, place.rows, array)
        blocks.flush()
    except BaseException:
        blocks.press.give_up()
        raise
    _write_contact_offsets(made, layout)
    texts = [summed_head(head_text(entry.kind, entry.meta, entry.specs, entry.number)) for entry in entries]
    file.create_dataset(RECORDS, data=texts, dtype=h5py.string_dtype())
    stored = [_stored(made[name], each, blocks.seals.get(name, {})) for name, each in plan.items()]
    damaged = {i for i, places in enumerate(layout.places) if spoilt and not spoilt.isdisjoint(places.values())}
    found = np.frombuffer(index.encoded(entries, stored, damaged), np.uint8)
    made.fill(INDEX, 0, found)
    made.put(AGAIN, found)  # last: what hits one end of the file leaves the other


def _stored(dataset: Any, each: Blocking, seals: dict[int, int]) -> index.Stored:
    """Where the library has put a dataset. `seals`: of its blocks, by their first rows."""
    if not each.rows:
        at = dataset.get_offset()
        return index.Stored(0, [(-1 if at is None else at, dataset.get_storage_size(), UNSEALED)])
    inner = (0,) * (len(dataset.shape) - 1)
    rows = [k * each.rows if each.count > 1 else 0 for k in range(each.count)]
    found = [dataset.get_chunk_info_by_coord((row, *inner)) for row in rows]
    return index.Stored(each.rows, [(block.byte_offset, block.size, seals[row]) for row, block in zip(rows, found, strict=True)])


def _fill_rows(layout: Layout) -> dict[str, int]:
    """Rows of fill values behind each field, for frames without it."""
    frames = [(layout.heads[i], layout.places[i]) for i in layout.numbers("frame")]
    fields = [name for name in layout.rows if name.startswith((FRAME_GROUPS["point"], FRAME_GROUPS["cell"])) and name != BODY]
    return {name: _rows_missing(frames, name) for name in fields}


def _create_datasets(made: Datasets, layout: Layout, plan: dict[str, Blocking]) -> dict[str, int]:
    """Create every dataset at its final size; returns where the fill block of each field begins."""
    fill = _fill_rows(layout)
    for dataset, rows in layout.rows.items():
        dtype, missing = layout.dtypes[dataset], fill.get(dataset, 0)
        shape = (rows + missing, *layout.row_shape[dataset])
        # Only tables and fields can have gaps; a fill value elsewhere would write everything twice.
        gaps = missing or dataset.startswith(tuple(TABLES.values()))
        made.make(dataset, shape, dtype, plan[dataset].rows, fill_value(dtype) if gaps else None)
    for dataset, shape in ((POINTS, (0, 3)), (CONNECTIVITY, (0,))):
        if dataset not in layout.rows:
            made.make(dataset, shape, np.float64 if dataset == POINTS else np.int64)
    return {dataset: layout.rows[dataset] for dataset in fill}


def _rows_missing(frames: Iterable[tuple[Head, dict[str, Place]]], dataset: str) -> int:
    """The most rows that a frame without this field needs."""
    counter = "points" if dataset.startswith(FRAME_GROUPS["point"]) else "cells"
    most = 0
    for head, places in frames:
        if all(place.dataset != dataset for place in places.values()):
            most = max(most, head.meta["counts"][counter])
    return most


class _Blocks:
    """Collects neighbouring rows of a dataset: small writes cost more than their bytes, and filters work on whole blocks."""

    def __init__(self, made: Datasets, layout: Layout, plan: dict[str, Blocking], disk: Reserved) -> None:
        self.made, self.layout, self.plan, self.disk = made, layout, plan, disk
        self.press = Press(self._take)
        self.seals: dict[str, dict[int, int]] = {}  # of blocks that are written: dataset, first row
        self.waiting: dict[str, list[Array]] = {}
        self.held = 0  # bytes of all that waits
        self.begin: dict[str, int] = {}
        self.end: dict[str, int] = {}
        self.open: dict[str, tuple[int, Array | None]] = {}  # number and rows of the block that is being filled; None: it is at the press

    def add(self, dataset: str, start: int, rows: int, array: Array) -> None:
        """`rows` rows of a dataset from `start` on."""
        if self.end.get(dataset) != start:  # the first rows, or rows after a gap
            self._write(dataset)
            self.begin[dataset] = start
        stored = array.view(np.uint8) if array.dtype.kind == "b" else array
        stored = stored.reshape(rows, *self.layout.row_shape[dataset])
        if self.plan[dataset].rows:
            self.end[dataset] = start + rows
            return self._fill(dataset, start, stored)
        self.waiting.setdefault(dataset, []).append(stored)
        self.end[dataset] = start + rows
        self.held += stored.nbytes
        if stored.nbytes * len(self.waiting[dataset]) > BLOCK_BYTES:
            self._write(dataset)
        elif self.held > WAITING_BYTES:
            self._write_waiting()

    def flush(self) -> None:
        """Write what is waiting, and blocks that nothing came for."""
        self._write_waiting()
        for dataset, each in self.plan.items():
            if each.rows and dataset in self.layout.rows:
                number, block = self.open.get(dataset, (-1, None))
                if block is not None:
                    self.press.add(dataset, number * each.rows, block)
                for k in range(number + 1, each.count):
                    self.press.add(dataset, k * each.rows, self._empty(dataset))
        self.press.close()

    def _fill(self, dataset: str, start: int, values: Array) -> None:
        """Put rows into blocks; a block goes to the press when the next one begins."""
        size = self.plan[dataset].rows
        while len(values):
            number, at = divmod(start, size)
            if dataset not in self.open or self.open[dataset][0] != number:
                last, block = self.open.get(dataset, (-1, None))
                if block is not None:
                    self.press.add(dataset, last * size, block)
                for k in range(last + 1, number):
                    self.press.add(dataset, k * size, self._empty(dataset))
                if at == 0 and len(values) >= size and values.dtype == self.layout.dtypes[dataset]:  # a whole block, as most are
                    self.press.add(dataset, start, values[:size])
                    self.open[dataset] = number, None
                    values, start = values[size:], start + size
                    continue
                self.open[dataset] = number, self._empty(dataset)
            part = values[: size - at]
            rows = self.open[dataset][1]
            assert rows is not None
            rows[at : at + len(part)] = part
            values, start = values[len(part) :], start + len(part)

    def _empty(self, dataset: str) -> Array:
        dtype = self.layout.dtypes[dataset]
        return np.full((self.plan[dataset].rows, *self.layout.row_shape[dataset]), fill_value(dtype), dtype)

    def _take(self, dataset: str, row: int, data: bytes) -> None:
        """A block that is ready."""
        if self.disk.error is not None:
            raise self.disk.error
        target = self.made[dataset]
        self.seals.setdefault(dataset, {})[row] = seal_of(data)
        target.write_direct_chunk((row, *(0,) * (len(target.shape) - 1)), data)

    def _write_waiting(self) -> None:
        for dataset in self.waiting:
            self._write(dataset)

    def _write(self, dataset: str) -> None:
        if waiting := self.waiting.get(dataset):
            self.held -= sum(part.nbytes for part in waiting)
            rows = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
            self.made.fill(dataset, self.begin[dataset], rows.astype(self.layout.dtypes[dataset], copy=False))
            self.waiting[dataset] = []
            self.begin[dataset] = self.end[dataset]


def _write_whole(file: h5py.File, made: Datasets, place: Place, spec: Spec, array: Array, blocks: _Blocks | None) -> None:
    """An array that is a dataset of its own; with `blocks` it is deflated as one of them."""
    stored = array.view(np.uint8) if array.dtype.kind == "b" else array
    if as_bytes(spec):
        stored = np.frombuffer(array.tobytes(), dtype=np.uint8)
    if blocks is None:
        made.put(place.dataset, stored)
    else:
        made.make(place.dataset, stored.shape, stored.dtype, len(stored))
        blocks.press.add(place.dataset, 0, stored)
    if as_bytes(spec):
        file[place.dataset].attrs["dtype"] = spec.dtype


def _write_cells(made: Datasets, layout: Layout) -> None:
    """Sizes, offsets and types of the cells, one part per topology."""
    sizes: dict[str, list[int]] = {"NumberOfPoints": [], "NumberOfCells": [], "NumberOfConnectivityIds": []}
    offsets, types = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    for i in layout.numbers("topology"):
        head = layout.heads[i]
        counts = [head.specs[name].shape[0] if name in head.specs else 0 for name in CELL_TYPES]
        nodes = np.repeat([nodes for _, nodes in CELL_TYPES.values()], counts)
        offsets.append(np.concatenate([[0], np.cumsum(nodes)]))
        types.append(np.repeat(np.array([kind for kind, _ in CELL_TYPES.values()], np.uint8), counts))
        sizes["NumberOfPoints"].append(head.meta["points"])
        sizes["NumberOfCells"].append(sum(counts))
        sizes["NumberOfConnectivityIds"].append(int(nodes.sum()))
    for name, values in sizes.items():
        made.put(f"VTKHDF/{name}", np.array(values, dtype=np.int64))
    made.put("VTKHDF/Offsets", np.concatenate(offsets).astype(np.int64))
    made.put("VTKHDF/Types", np.concatenate(types))


def _write_steps(file: h5py.File, made: Datasets, layout: Layout, fillers: dict[str, int]) -> None:
    """The table that tells VTK where the parts of every frame begin."""
    steps = _steps(layout)
    file.create_group("VTKHDF/Steps").attrs["NSteps"] = len(steps["Values"])
    for name, values in steps.items():
        made.put(f"VTKHDF/Steps/{name}", values)
    for where in ("point", "cell"):
        offsets = f"VTKHDF/Steps/{'PointDataOffsets' if where == 'point' else 'CellDataOffsets'}"
        file.create_group(offsets)
        for dataset in [*fillers, BODY] if BODY in layout.rows else fillers:
            if dataset.startswith(FRAME_GROUPS[where] + "/"):
                made.put(f"{offsets}/{dataset.rsplit('/', 1)[1]}", _field_offsets(layout, dataset, fillers.get(dataset, 0)))


def _steps(layout: Layout) -> dict[str, Array]:
    times, starts, tops, cells, ids = [], [], [], [], []
    topology, cell_count, next_cells, id_count, next_ids = -1, 0, 0, 0, 0
    for head, places in zip(layout.heads, layout.places, strict=True):
        if head.kind == "topology":
            topology, cell_count, id_count = topology + 1, next_cells, next_ids
            next_cells += head.specs["body"].shape[0]
            next_ids += sum(place.rows for place in places.values() if place.dataset == CONNECTIVITY)
        elif head.kind == "frame":
            times.append(head.meta["time"])
            starts.append(places["points"].start)
            tops.append(topology)
            cells.append(cell_count)
            ids.append(id_count)
    as_ints = lambda values: np.array(values, dtype=np.int64)
    return {
        "Values": np.array(times, dtype=np.float64),
        "PartOffsets": as_ints(tops),
        "NumberOfParts": np.ones(len(times), dtype=np.int64),
        "PointOffsets": as_ints(starts),
        "CellOffsets": as_ints(cells).reshape(-1, 1),
        "ConnectivityIdOffsets": as_ints(ids).reshape(-1, 1),
    }


def _field_offsets(layout: Layout, dataset: str, filler: int) -> Array:
    """First row of a field in every frame; `body` belongs to the topology of the frame."""
    offsets = []
    body = 0
    for head, places in zip(layout.heads, layout.places, strict=True):
        if head.kind == "topology":
            body = places["body"].start or 0
        elif head.kind == "frame":
            own = [place.start for place in places.values() if place.dataset == dataset]
            offsets.append(body if dataset == BODY else own[0] if own else filler)
    return np.array(offsets, dtype=np.int64)


def _write_contact_offsets(made: Datasets, layout: Layout) -> None:
    """Rows `offsets[i]` to `offsets[i + 1]` of a contact array belong to frame i."""
    frames = [layout.places[i] for i in layout.numbers("frame")]
    for dataset in layout.rows:
        group, _, field = dataset.rpartition("/")
        if group == FRAME_GROUPS["contact"]:
            counts = [sum(place.rows for place in places.values() if place.dataset == dataset) for places in frames]
            made.put(f"pliant/contact_offsets/{field}", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


# ------------------------------------------------------------------------------------------------ reading


def read(path: Path) -> tuple[IO[bytes] | h5py.File, list[Entry]]:
    """The open file and its records; arrays are read when asked for."""
    found = index.read(path)
    if found is not None:
        return found
    search(path)
    return _read_hdf5(path)


def walk_ahead(path: str | Path) -> None:
    """What the other process of `apart.search` does."""
    end_in_time()
    with suppress(Exception):  # damage that is told: whoever reads the file hears it too
        walk(Path(path))


def open_ahead(path: str | Path) -> None:
    """What the other process of `apart.opens` does: raises what HDF5 raises, and where HDF5 finds an array elsewhere than the index."""
    import h5py

    end_in_time()
    layout, places = index.places(Path(path))
    with h5py.File(path) as file:
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            _ = file[name]
        for name, said in places.items():
            seals = {k * said.rows if len(said.blocks) > 1 else 0: seal for k, (_, _, seal) in enumerate(said.blocks)}
            if _stored(file[name].id, Blocking(said.rows, len(said.blocks)), seals) != said:
                raise DamageError(f"{name} is not where it was written")
        for name, dtype in layout.dtypes.items():
            if (file[name].dtype, file[name].shape[1:]) != (dtype, layout.row_shape[name]) or len(file[name]) < layout.rows[name]:
                raise DamageError(f"{name} is not what was written")


def walk(path: Path) -> None:
    """Go all ways through the structure of a file that reading may go, without reading its arrays."""
    file, entries = _read_hdf5(path)
    for name in {place.dataset for entry in entries if isinstance(entry.read, _Loader) for place in entry.read.places.values()}:
        with suppress(Exception):
            dataset = file[name]
            if dataset.chunks is None:
                dataset[:1]
            else:
                for k in range(dataset.id.get_num_chunks()):
                    dataset.id.get_chunk_info(k)


def _read_hdf5(path: Path) -> tuple[h5py.File, list[Entry]]:
    """A file of the first format, one whose index is damaged, or one that another program has written anew."""
    import h5py

    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError) as error:
        raise DamageError(
            f"{path} cannot be read as HDF5 ({error}): it is another kind of file, or damaged or cut short; "
            "copy it again from where it was made"
        ) from None
    try:
        if RECORDS not in file:
            raise PliantError(f"{path} is an HDF5 file, but not a run of pliant: it has no /{RECORDS}")
        heads, lost, summed = _heads(file)
        layout = Layout(heads)
    except PliantError:
        file.close()
        raise
    except Exception:  # whatever a damaged file makes of HDF5 and of our own list
        with suppress(Exception):
            file.close()
        raise DamageError(f"{path} is damaged: its list of records cannot be read; copy it again") from None
    entries = []
    for head, places in zip(heads, layout.places, strict=True):
        entries.append(Entry(head.kind, head.meta, head.specs, head.number, _Loader(file, head, places, summed), str(path)))
    for i in lost:
        entries[i] = lost_entry(i, str(path))
    return file, entries


def _heads(file: h5py.File) -> tuple[list[Head], list[int], bool]:
    """Heads of the list of a file whose index is damaged; positions of those that are lost; and whether the others were verified.

    Where the list is damaged too the index may still have that head, and the checksum in the list tells whether it is right. If not, it
    only serves to find the arrays of the records after it, which have checksums of their own; without it they are sought as if that record
    had none.
    """
    texts = [bytes(text) for text in file[RECORDS][:]]
    found = [_parsed(text) for text in texts]
    summed = any(head is not None and is_summed(text) for head, text in zip(found, texts, strict=True))
    bad = [i for i, head in enumerate(found) if head is None or is_summed(texts[i]) != summed]
    others = index.damaged_lines(file[name][:].tobytes() for name in (INDEX, AGAIN) if name in file) if bad else {}
    lost = []
    for i in bad:
        found[i], line = others.get(i, (Head(LOST, {}, {}, i), b"[]"))
        if not texts[i].endswith(summed_head(line.decode()).rpartition(",")[2].encode()):
            lost.append(i)
    return [head for head in found if head is not None], lost, summed


def _parsed(text: bytes) -> Head | None:
    try:
        return parsed_head(text)
    except ValueError:
        return None


def unverified(entries: Sequence[Entry]) -> bool:
    """Whether heads were read that no checksum speaks for, though it has an index: that is damaged, and its list is an old one."""
    return any(isinstance(entry.read, _Loader) and not entry.read.summed and entry.number >= 0 for entry in entries)


@dataclass(frozen=True)
class _Loader:
    """Reads the arrays of one record from an open file, through HDF5."""

    file: h5py.File
    head: Head
    places: dict[str, Place]
    summed: bool  # whether the head was verified

    def __call__(self, name: str) -> Array:
        spec = self.head.specs[name]
        dtype, place = np.dtype(spec.dtype), self.places[name]
        try:
            values = self._stored(place)
            if as_bytes(spec) and place.start is None:
                raw = values.tobytes()
                return np.frombuffer(raw, dtype=dtype).reshape(spec.shape).copy() if raw else np.zeros(spec.shape, dtype)
            return values.astype(dtype, copy=False).reshape(spec.shape)
        except Exception as error:  # whatever a damaged file makes of HDF5
            raise DamageError(
                f"the run file is damaged: {place.dataset} cannot be read ({error}). "
                f"`pliant repair {self.file.filename}` saves all that is whole."
            ) from None

    def _stored(self, place: Place) -> Array:
        dataset = self.file[place.dataset]
        return np.asarray(dataset[()] if place.start is None else dataset[place.start : place.start + place.rows])
