"""Recording a run so that it cannot be lost.

While a run lasts, NAME.journal is the truth: every record is appended to it whole. NAME.vtkhdf is a view of it for
ParaView, rewritten under a temporary name and put in place after half a second, whenever the journal has grown by a quarter,
and at the end, when it holds everything and the journal is removed.

    recorder = Recorder("fall", {"scene": text, "seed": 1}, every=0.02)
    recorder.topology(cells, len(points), ...)
    recorder.step({"dt": dt, "kinetic": energy})
    recorder.frame(time, step, points, point_fields={"velocity": v}, contacts={"depth": d})
    if recorder.checkpoint_due: recorder.state(time, step, arrays)
    recorder.close("finished")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np

from pliant.base import PliantError
from pliant.record import vtkhdf
from pliant.record.journal import JournalWriter
from pliant.record.journal_files import absorb, new_journal
from pliant.record.layout import estimate_bytes, human
from pliant.record.orders import Order
from pliant.record.records import Array, Entry, Record, checksum, head_text, parsed_head
from pliant.record.reduce import EVERYTHING, Reduction
from pliant.record.run import FORMAT, Cells, Run, run_paths, stacked
from pliant.record.salvage import step_rows

__all__ = ["Cells", "Recorder", "Run", "estimate_bytes", "human"]

GROWTH = 1.25  # publish when the journal is this many times larger: all publishing together writes at most 5 journals
PAUSE = 0.5  # [s] between publications: a small run must not spend its time on them
QUICK = 0.005  # [s] a publication that takes longer makes the pause longer in proportion: a 100th of the time at most
MOST_ROWS = 2000  # of steps and pairs that wait for a frame: some 3 MB, as each value is an object of its own
STATUSES = ("finished", "interrupted", "failed")


class Recorder:
    """Writes a run; made by `Recorder(...)` for a new one and by `resume_writer` for one that goes on.

    `every` [s] is the simulated time between frames (0: every step); every `checkpoint_every`-th frame is followed by a
    checkpoint. Both only say when something is due: the run loop asks `next_frame_time` and `checkpoint_due`.
    `reduction`: what frames leave out.
    `begin`: records (the model, a first checkpoint) without which the run must not exist, not even if it is killed now.
    """

    keeps: Literal[True] = True  # what it is given; see Unrecorded

    def __init__(
        self,
        path: str | Path,
        header: Mapping[str, Any],
        every: float,
        checkpoint_every: int = 10,
        overwrite: bool = False,
        sync: bool = False,
        begin: Sequence[Record] = (),
        reduction: Reduction = EVERYTHING,
    ) -> None:
        if not (np.isfinite(every) and every >= 0):
            raise PliantError(f"every = {every} is not a time between frames; give seconds, or 0 for every step")
        if checkpoint_every < 1:
            raise PliantError(f"checkpoint_every = {checkpoint_every}: give the frames from one checkpoint to the next")
        self.path, journal = run_paths(path)
        for old in (self.path, journal):
            if old.exists() and not overwrite:
                ways = "resume that run, choose another name, or overwrite it (overwrite=True, in a shell --overwrite)"
                raise PliantError(f"{old} exists: {ways}")
        meta = {
            "format": FORMAT,
            "pliant": version_here(),
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **header,
            "every": float(every),
            "checkpoint_every": int(checkpoint_every),
            **reduction.facts,
        }
        self._start(new_journal(journal, [Record("header", meta, {}), *begin], sync))

    @classmethod
    def _reopened(cls, path: Path, writer: JournalWriter) -> Recorder:
        recorder = cls.__new__(cls)
        recorder.path = path
        recorder._start(writer)
        return recorder

    def _start(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._rest_until = monotonic() + PAUSE  # when the next publication may begin
        self._published = 0  # size of the journal when it was last published
        self._steps: list[Mapping[str, Any]] = []
        self._pairs: list[dict[str, Array]] = []
        self._waiting = 0  # rows of both
        self._rows = 0  # rows of the step table that are in the journal
        self._last: dict[str, Entry] = {}  # newest record of each kind
        self._first_time = 0.0
        self._frames = 0
        self._fresh = False  # whether the newest frame has no checkpoint yet
        self._shapes: dict[str, tuple[int, ...]] = {}  # shape per row of every field, contact array and column
        self.notes: list[str] = []  # what was found to be damaged when it was reopened
        self.left_out = 0  # bytes of a last record that was not complete when it was reopened
        self.trouble = ""  # why the run file could not be written at the end
        for entry in writer.entries:
            self._note(entry)

    # -------------------------------------------------------------------------------------------- what is due

    @property
    def header(self) -> dict[str, Any]:
        """The header of the run, with `every` and `checkpoint_every`."""
        return self._last["header"].meta

    @property
    def frames(self) -> int:
        """Frames recorded so far."""
        return self._frames

    @property
    def next_frame_time(self) -> float:
        """Time at which the next frame is due [s]; counted from the first frame, so that rounding does not add up, and after the newest,
        also where frames between them are lost."""
        if not self._frames:
            return -np.inf
        every = self.header["every"]
        past = round((self._last["frame"].meta["time"] - self._first_time) / every) + 1 if every > 0 else 0
        return self._first_time + max(self._frames, past) * every

    @property
    def checkpoint_due(self) -> bool:
        """Whether the frame just recorded is to be followed by a checkpoint."""
        return self._fresh and (self._frames - 1) % int(self.header["checkpoint_every"]) == 0

    @property
    def saved_step(self) -> int:
        """Step of the newest checkpoint; -1 if there is none."""
        return int(self._last["state"].meta["step"]) if "state" in self._last else -1

    @property
    def size(self) -> int:
        """Bytes in the journal."""
        return self._writer.size

    def run(self) -> Run:
        """What has been recorded so far, to read; valid until the recorder is closed."""
        return Run(list(self._writer.entries), self.path)

    # -------------------------------------------------------------------------------------------- recording

    def topology(self, cells: Cells, points: int) -> None:
        """What is drawn from the next frame on, over `points` points. The same again is not recorded again."""
        if len(cells.body) != cells.count:
            raise PliantError(f"topology: `body` has {len(cells.body)} ids for {cells.count} cells; give one per cell")
        for name, block in cells.blocks.items():
            if block.size and (block.min() < 0 or block.max() >= points):
                raise PliantError(
                    f"topology: {name} use points {block.min()} to {block.max()}, but there are {points} points"
                )
        arrays = {name: block for name, block in cells.blocks.items() if len(block)}
        meta = {
            "points": int(points),
            "bodies": [[int(body), name] for body, name in cells.bodies.items()],
            "parents": [[int(body), int(parent)] for body, parent in cells.parents.items()],
        }
        self._changed("topology", meta, {**arrays, "body": cells.body})

    def model(self, arrays: Mapping[str, Array], meta: Mapping[str, Any] | None = None) -> None:
        """The model of the epoch that begins now. The same again is not recorded again."""
        self._changed("model", dict(meta or {}), arrays)

    def step(self, values: Mapping[str, Any], pairs: Mapping[str, Array] | None = None) -> None:
        """Numbers of one step (scalars or short vectors), and arrays with one row per touching pair of bodies.

        They are kept until the next frame or checkpoint, and written with it, or before when they are many.
        """
        if pairs:
            rows = {len(column) for column in pairs.values()}
            if len(rows) > 1:
                raise PliantError(
                    f"step: the columns of `pairs` have different lengths {sorted(rows)}; one row per pair"
                )
            row = np.full(rows.pop(), self._rows + len(self._steps), dtype=np.int64)
            self._pairs.append({"row": row, **{name: np.array(column) for name, column in pairs.items()}})
            self._waiting += len(row)
        self._steps.append(dict(values))
        self._waiting += 1
        if self._waiting >= MOST_ROWS:
            self._flush_steps()

    def frame(
        self,
        time: float,
        step: int,
        points: Array,
        point_fields: Mapping[str, Array] | None = None,
        cell_fields: Mapping[str, Array] | None = None,
        contacts: Mapping[str, Array] | None = None,
        shown: Array | None = None,
    ) -> None:
        """What is seen at a moment: points to draw (P, 3), fields over points and cells, contact rows.

        `shown` is the displacement that is drawn but not simulated; `points` contain it, it is kept as a point field.
        """
        if "topology" not in self._last:
            raise PliantError("frame: say what is drawn over the points first (`topology`)")
        counts = {
            "points": self._last["topology"].meta["points"],
            "cells": self._last["topology"].specs["body"].shape[0],
        }
        point_fields = dict(point_fields or {}) | ({} if shown is None else {"shown": shown})
        refuse_names(point_fields, cell_fields or {})
        arrays = {"points": with_rows(np.asarray(points, dtype=np.float64).reshape(-1, 3), counts["points"], "points")}
        for name, values in point_fields.items():
            arrays[f"point/{name}"] = with_rows(numeric(values, name), counts["points"], name)
        for name, values in (cell_fields or {}).items():
            arrays[f"cell/{name}"] = with_rows(numeric(values, name), counts["cells"], name)
        for name, values in (contacts or {}).items():
            arrays[f"contact/{name}"] = numeric(values, name)
        arrays = Reduction.of(self.header).frame(arrays)
        self._check_shapes(arrays)
        self._flush_steps()
        topology = self._last["topology"].number
        meta = {"time": float(time), "step": int(step), "counts": counts, "topology": topology}
        if same := self._unchanged(arrays):
            meta["same"] = same
        self._append("frame", meta, arrays)
        due = self._writer.size >= GROWTH * self._published and monotonic() >= self._rest_until
        began = monotonic()
        if due and not vtkhdf.publish(self._writer.entries, self.path):
            self._published = self._writer.size
            self._rest_until = monotonic() + PAUSE * max(1.0, (monotonic() - began) / QUICK)

    def state(self, time: float, step: int, arrays: Mapping[str, Array], meta: Mapping[str, Any] | None = None) -> None:
        """A checkpoint: all that is needed to go on from here."""
        self._flush_steps()
        model = {"model": self._last["model"].number} if "model" in self._last else {}
        self._append("state", {**(meta or {}), "time": float(time), "step": int(step), **model}, arrays)

    def order(self, order: Order) -> None:
        """What a person changed by hand."""
        self._append("order", order.meta, {})

    def close(self, status: str, message: str = "", notes: Sequence[str] = ()) -> Path:
        """End the run: everything goes into the run file, and the journal is removed. Returns the run file.

        `notes`: what was decided and warned of on the way. Where the run file cannot be written `trouble` says why.
        """
        if status not in STATUSES:
            raise PliantError(f"status {status!r} is not one of {', '.join(STATUSES)}")
        self._flush_steps()
        self._append("end", {"status": status, "message": message, "notes": list(notes)}, {})
        self.trouble = absorb(self._writer, self.path)
        return self.path

    def abandon(self) -> None:
        """Give up the journal as it is, after an error of the disk: all records are in it."""
        self._writer.close()

    # -------------------------------------------------------------------------------------------- inside

    def _append(self, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self._note(self._writer.append(kind, meta, arrays))

    def _note(self, entry: Entry) -> None:
        """Keep account of a record, be it new or found in the journal."""
        if entry.kind == "frame":
            self._first_time = self._first_time if self._frames else entry.meta["time"]
            self._frames += 1
        self._fresh = entry.kind == "frame" or (self._fresh and entry.kind != "state")
        if entry.kind == "step":
            self._rows = int(entry.meta.get("row", self._rows)) + step_rows(entry)
        if entry.kind in ("frame", "step"):
            self._shapes.update({name: spec.shape[1:] for name, spec in entry.specs.items()})
        self._last[entry.kind] = entry

    def _unchanged(self, arrays: Mapping[str, Array]) -> list[str]:
        """Points and fields that are what they were in the frame before: the run file holds them once."""
        last = self._last.get("frame")
        if last is None:
            return []
        drawn = {name: array for name, array in arrays.items() if name in last.specs and not name.startswith("contact/")}
        alike = [name for name, array in drawn.items() if last.specs[name].crc == checksum(array)]
        return [name for name in alike if _identical(last.read(name), drawn[name])]

    def _changed(self, kind: str, meta: dict[str, Any], arrays: Mapping[str, Array]) -> None:
        last = self._last.get(kind)
        meta = parsed_head(head_text(kind, meta, {})).meta  # as it will be read back
        if last is not None and last.meta == meta and last.specs.keys() == arrays.keys():
            if all(_identical(last.load(name), np.asarray(array)) for name, array in arrays.items()):
                return
        self._append(kind, meta, arrays)

    def _flush_steps(self) -> None:
        if not self._steps:
            return
        names = dict.fromkeys(name for values in self._steps for name in values)
        arrays = {f"step/{name}": column_of([values.get(name) for values in self._steps], name) for name in names}
        arrays |= {f"pair/{name}": numeric(column, name) for name, column in stacked(self._pairs).items()}
        self._check_shapes(arrays)
        self._append("step", {"row": self._rows}, arrays)
        self._steps, self._pairs, self._waiting = [], [], 0

    def _check_shapes(self, arrays: Mapping[str, Array]) -> None:
        for name, array in arrays.items():
            known = self._shapes.get(name, array.shape[1:])
            if array.shape[1:] != known:
                raise PliantError(
                    f"{name} had shape {known} per row in earlier records and has {array.shape[1:]} now; "
                    "a name keeps its shape during a run, so give the new one another name"
                )


def version_here() -> str:
    """The version of pliant that writes."""
    try:
        return version("pliant")
    except PackageNotFoundError:
        return "unknown"


def _identical(a: Array, b: Array) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    one, two = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (a, b))
    return np.array_equal(one, two)


# ---- what a recorder accepts


def numeric(values: object, name: str) -> Array:
    """An array that VTK can hold, with at least one axis."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise PliantError(f"{name!r} is {array.dtype} with shape {array.shape}; give an array of numbers, one row each")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return array


def with_rows(array: Array, rows: int, name: str) -> Array:
    """The array, if it has one row for each point or cell."""
    if len(array) != rows:
        raise PliantError(
            f"frame: {name!r} has {len(array)} rows, but the topology has {rows}; record the new one first"
        )
    return array


def refuse_names(point_fields: Mapping[str, Array], cell_fields: Mapping[str, Array]) -> None:
    """A name means one thing: refuse what is ambiguous or taken."""
    both = point_fields.keys() & cell_fields.keys()
    if both:
        raise PliantError(f"frame: fields {sorted(both)} are given for points and for cells; rename one of each")
    if "body" in point_fields or "body" in cell_fields:
        raise PliantError("frame: the field `body` is part of the topology; give yours another name")


def column_of(values: list[Any], name: str) -> Array:
    """One column of the step table; steps that lack it get NaN."""
    shape = np.shape(next(value for value in values if value is not None))
    try:
        column = np.array([np.full(shape, np.nan) if value is None else value for value in values])
    except ValueError:
        raise PliantError(
            f"step: {name!r} changes its shape from step to step; give numbers or vectors of one size"
        ) from None
    return numeric(column, name)
