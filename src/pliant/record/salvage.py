"""What damage leaves of a run: which records are whole, and which of them can be used without those that are not.

A frame needs the topology it was drawn with, a checkpoint its model; both refer to it by its number. A table of steps that is lost
shifts the rows to which the tables of pairs after it refer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pliant.base import PliantError
from pliant.record import vtkhdf
from pliant.record.records import LOST, Array, Entry, Record, whole

NEEDS = {"frame": "topology", "state": "model"}
NAMED = 6  # records that a sentence names


@dataclass
class Sifted:
    """The records that can be used, and what is lost."""

    entries: list[Entry] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """What is lost and what is left, in a sentence."""
        frames = sum(entry.kind == "frame" for entry in self.entries)
        states = sum(entry.kind == "state" for entry in self.entries)
        more = f" and {len(self.lost) - NAMED} more" if len(self.lost) > NAMED else ""
        lost = "; ".join(self.lost[:NAMED]) or "nothing but the structure by which HDF5 and ParaView read it"
        return f"lost: {lost}{more}. Whole: {frames} frames and {states} checkpoints"


def sift(entries: Sequence[Entry], gaps: Sequence[int] = (), deep: bool = True) -> Sifted:
    """The records that can be used; `gaps`: positions before which something is missing, `deep`: arrays are verified too."""
    out, numbers = Sifted(), _Numbers(set(gaps))
    for i, entry in enumerate(entries):
        if entry.kind == LOST:
            out.lost.append(f"record {entry.number}, whose head is damaged")
            numbers.skip(entry)
            continue
        if missing := numbers.missing(i, entry):
            out.lost.append(f"{missing} before the {entry.title}")
        if deep and not whole(entry):
            out.lost.append(f"the {entry.title}")
            numbers.lose(entry)
        elif (need := NEEDS.get(entry.kind)) is not None and not numbers.has(need, entry):
            out.lost.append(f"the {entry.title}, whose {need} is lost")
        elif entry.kind == "step" and not numbers.knows_rows(entry):
            out.lost.append(f"the {entry.title}, whose rows cannot be told without those before")
        else:
            out.entries.append(numbers.keep(entry))
    return out


class _Numbers:
    """Follows a sequence of records: what is missing between them, what the next may refer to."""

    def __init__(self, gaps: set[int]) -> None:
        self.gaps, self.last = gaps, -1
        self.newest: dict[str, Entry | None] = {}  # topology and model as they stand; None: lost
        self.unsure: set[str] = set()  # kinds that may be among records that are missing
        self.kept_rows, self.next_row = 0, 0
        self.rows_known = True

    def missing(self, i: int, entry: Entry) -> str:
        """What is missing before a record, in words."""
        numbered = entry.number >= 0
        jump = entry.number - self.last - 1 if numbered else int(i in self.gaps)
        self.last = entry.number if numbered else self.last
        if jump <= 0 and i not in self.gaps:
            return ""
        self._forget()
        return f"{jump} record{'s' if jump > 1 else ''}" if numbered and jump > 0 else "something"

    def skip(self, entry: Entry) -> None:
        """A record of which nothing is known."""
        self.last = entry.number
        self._forget()

    def _forget(self) -> None:
        self.unsure |= {"topology", "model"}
        self.rows_known = False

    def lose(self, entry: Entry) -> None:
        """A record whose content is damaged, though its kind is known."""
        if entry.kind in NEEDS.values():
            self.newest[entry.kind] = None
        if entry.kind == "step":
            self.next_row = int(entry.meta.get("row", self.next_row)) + step_rows(entry)

    def has(self, need: str, entry: Entry) -> bool:
        """Whether what a record needs is there."""
        newest = self.newest.get(need)
        if need in entry.meta:  # by number
            return newest is not None and newest.number == entry.meta[need]
        if newest is None:
            return need == "model" and need not in self.newest and need not in self.unsure  # a run may have no model
        if need not in self.unsure:
            return True
        counts = entry.meta.get("counts")  # of the first format: the sizes must tell, and a frame speaks for the model too
        same = counts is not None and (counts["points"], counts["cells"]) == (newest.meta["points"], newest.specs["body"].shape[0])
        self.unsure -= {"topology", "model"} if same else set()
        return same

    def knows_rows(self, entry: Entry) -> bool:
        return self.rows_known or "row" in entry.meta

    def keep(self, entry: Entry) -> Entry:
        """A record that is used, with rows as they are without those that are lost."""
        if entry.kind in NEEDS.values():
            self.newest[entry.kind] = entry
            self.unsure.discard(entry.kind)
        if entry.kind != "step":
            return entry
        first = int(entry.meta.get("row", self.next_row))
        shift, self.rows_known = first - self.kept_rows, True
        self.next_row = first + step_rows(entry)
        self.kept_rows += step_rows(entry)
        return _shifted(entry, shift) if shift else entry


def step_rows(entry: Entry) -> int:
    """Rows of a table of steps."""
    return next((spec.shape[0] for name, spec in entry.specs.items() if name.startswith("step/")), 0)


def _shifted(entry: Entry, shift: int) -> Entry:
    """A table of steps whose pairs refer to rows so many lower."""

    def read(name: str) -> Array:
        return entry.load(name) - shift if name == "pair/row" else entry.load(name)

    specs = {name: replace(spec, crc=None) if name == "pair/row" else spec for name, spec in entry.specs.items()}
    meta = {**entry.meta, "row": int(entry.meta["row"]) - shift} if "row" in entry.meta else entry.meta
    return replace(entry, meta=meta, specs=specs, read=read, end=0)


def renumbered(entries: Sequence[Entry]) -> Iterator[Record]:
    """The records counted from 0 without gaps, with what refers to numbers."""
    new = {entry.number: i for i, entry in enumerate(entries) if entry.number >= 0}
    for entry in entries:
        meta: dict[str, Any] = dict(entry.meta)
        need = NEEDS.get(entry.kind, "")
        if meta.get(need) in new:
            meta[need] = new[meta[need]]
        yield Record(entry.kind, meta, entry.record().arrays)


def filled(entries: Sequence[Entry], published: Path) -> tuple[list[Entry], Any]:
    """Records of a damaged journal, those that are missing from the run file beside it if it is of the same run; and that file, open."""
    try:
        file, others = vtkhdf.read(published)
    except PliantError:
        return list(entries), None
    mine = {entry.number: entry for entry in entries}
    lasting = ("header", "topology", "model", "frame")  # the same again in a run that was resumed; steps have times of the clock
    both = [(mine[other.number], other) for other in others if other.number in mine and other.kind in lasting]
    if -1 in mine or not both or any(a.meta != b.meta or a.specs != b.specs for a, b in both):
        with suppress(Exception):
            file.close()
        return list(entries), None
    last = max(mine)
    taken = {other.number: other for other in others if other.number < last} | mine
    return [taken[number] for number in sorted(taken)], file
