"""Run files with less in them: only chosen fields, or places rounded, with a bound of the error that the file keeps.

What is left out cannot be had again. Numbers of steps and pairs, and checkpoints, are not touched; a copy for drawing has no checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import DiskError, PliantError, nearest
from pliant.disk import make_folder
from pliant.record.arrays import UNITS
from pliant.record.journal import JournalWriter
from pliant.record.journal_files import absorb, remove
from pliant.record.records import Array
from pliant.record.run import FORMAT, Run, run_paths

ALWAYS = "positions"
CONTACTS = "contacts"


@dataclass(frozen=True)
class Reduction:
    """What frames keep: names of fields, `positions` (always) and `contacts`; None: everything. Lengths to `precision` [m], 0: exactly."""

    keep: tuple[str, ...] | None = None
    precision: float = 0.0

    @staticmethod
    def of(header: Mapping[str, Any]) -> Reduction:
        """As a run was begun."""
        keep = header.get("keep")
        return Reduction(None if keep is None else tuple(keep), float(header.get("precision", 0.0)))

    @property
    def facts(self) -> dict[str, Any]:
        """For the header of a run."""
        kept = {} if self.keep is None else {"keep": list(self.keep)}
        return kept | ({"precision": self.precision} if self.precision else {})

    def frame(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """What is left of the arrays of a frame."""
        self.refuse_unknown({name.split("/", 1)[1] for name in arrays if name.startswith(("point/", "cell/"))})
        return {name: self._rounded(name, array) for name, array in arrays.items() if self._kept(name)}

    def refuse_unknown(self, fields: set[str]) -> None:
        """Refuse to keep what is none of the fields of a frame."""
        names = fields | {ALWAYS, CONTACTS}
        for name in self.keep or ():
            if name not in names:
                raise PliantError(f"There is no field '{name}' to keep: {nearest(name, sorted(names))}")

    def _kept(self, name: str) -> bool:
        if self.keep is None or name == "points":
            return True
        group, _, field = name.partition("/")
        return CONTACTS in self.keep if group == "contact" else field in self.keep

    def _rounded(self, name: str, array: Array) -> Array:
        """Lengths as multiples of a power of two: off by half of it at most, and their last bits are zeros, which deflate well."""
        long = name == "points" or UNITS.get(name.partition("/")[2]) == "m" and name.startswith(("point/", "cell/"))
        if not self.precision or not long or array.dtype.kind != "f":
            return array
        grid = 2.0 ** np.floor(np.log2(2.0 * self.precision))
        return (np.rint(np.asarray(array, np.float64) / grid) * grid).astype(array.dtype)


EVERYTHING = Reduction()


def reduced_copy(run: Run, out: str | Path, reduction: Reduction, frames: Sequence[int] | None = None) -> Path:
    """A run file for drawing: frames with less in them, the numbers of all steps, no checkpoints. Returns it."""
    target, journal = run_paths(out)
    for old in (target, journal):
        if old.exists():
            raise PliantError(f"{old} exists: name another file with --out")
    chosen = set(range(run.frames) if frames is None else [run.index(i) for i in frames])
    make_folder(target.parent)
    try:
        _write(run, journal, reduction, chosen)
    except BaseException:
        remove(journal)
        raise
    reason = absorb(JournalWriter(journal), target)
    if reason:
        raise DiskError(reason)
    return target


def _write(run: Run, journal: Path, reduction: Reduction, chosen: set[int]) -> None:
    new: dict[int, int] = {}  # numbers of topologies
    frame = -1
    before: dict[str, Array] = {}
    writer = JournalWriter(journal)
    try:
        for entry in run.entries:
            meta: dict[str, Any] = dict(entry.meta)
            if entry.kind in ("state", "model"):
                continue
            if entry.kind != "frame":
                meta |= {"format": FORMAT, **reduction.facts, "copy": True} if entry.kind == "header" else {}
                new[entry.number] = writer.append(entry.kind, meta, entry.record().arrays).number
                continue
            frame += 1
            if frame not in chosen:
                continue
            arrays = reduction.frame(entry.record().arrays)
            meta = {key: value for key, value in meta.items() if key != "same"}
            if "topology" in meta:
                meta["topology"] = new[meta["topology"]]
            if same := [name for name, array in arrays.items() if _same(before.get(name), array) and not name.startswith("contact/")]:
                meta["same"] = same
            writer.append("frame", meta, arrays)
            before = arrays
    finally:
        writer.close()


def _same(a: Array | None, b: Array) -> bool:
    return a is not None and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
