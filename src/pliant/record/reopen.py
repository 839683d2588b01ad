"""Going on with a run that was stopped or killed, and saving what damage has left of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import DamageError, DiskError, PliantError
from pliant.disk import TEMPORARY, make_folder
from pliant.record import apart, vtkhdf
from pliant.record.journal import JournalReader, JournalWriter
from pliant.record.journal_files import absorb, is_first, rebuild, remove
from pliant.record.records import Entry, Record
from pliant.record.run import FORMAT, Run, run_paths
from pliant.record.runfile import Recorder, version_here
from pliant.record.salvage import Sifted, filled, sift


def resume_writer(path: str | Path, frame: int | None = None, sync: bool = False) -> tuple[Recorder, Record]:
    """Go on with a run from its last whole checkpoint, or the last one at or before a frame.

    Everything recorded after that checkpoint is dropped, so that repeating it gives the same records. Returns the
    recorder and the checkpoint; the model it belongs to is `recorder.run().model()`. `recorder.notes` say what damage has taken.
    """
    published, journal = run_paths(path)
    with Run.open(path) as run:
        state = run.state(frame)
        sifted = sift(run.entries[: run.state_number(frame) + 1])
        left_out = run.dropped_bytes
        notes = [f"{run.path} is damaged: {sifted.words}."] if sifted.lost else run.damage
        if not _is_journal(run) or notes or is_first(journal):
            rebuild(sifted.entries, journal, [published, journal] if notes else [])
    for rest in (published, journal):
        remove(rest.with_name(rest.name + TEMPORARY))
    writer = JournalWriter(journal, sync)
    writer.cut(len(sifted.entries))
    recorder = Recorder._reopened(published, writer)
    recorder.notes, recorder.left_out = notes, left_out
    return recorder, state


def fold(path: str | Path) -> Path:
    """Bring the run file up to date with the journal of a run that was killed, and remove the journal."""
    published, journal = run_paths(path)
    with Run.open(path) as run:
        from_journal = _is_journal(run)
        if from_journal and (run.damage or is_first(journal)):
            rebuild(sift(run.entries).entries, journal, [journal] if run.damage else [])
    if from_journal:
        reason = absorb(JournalWriter(journal), published)
        if reason:
            raise DiskError(reason)
    return published


def repair(path: str | Path, out: str | Path | None = None) -> tuple[Path | None, Sifted]:
    """Save every record of a damaged run that is whole, as NAME-repaired.vtkhdf (or `out`); what there is stays as it is.

    Returns the new run file, None if nothing is damaged, and what was saved and lost: nothing where only the structure by which other
    programs read a run file is damaged.
    """
    published, journal = run_paths(path)
    entries, gaps, close = _all_there_is(published, journal)
    try:
        sifted = sift(entries, gaps)
        whole = not sifted.lost and bool(sifted.entries) and sifted.entries[0].kind == "header"
        if whole and (not published.exists() or apart.opens(published)):
            return None, sifted
        if not any(entry.kind == "frame" for entry in sifted.entries):
            raise DamageError(f"Nothing of {path} can be saved: no frame is whole")
        target, temporary = run_paths(out if out is not None else published.with_name(f"{published.stem}-repaired"))
        for old in (target, temporary):
            if old.exists():
                raise PliantError(f"{old} exists: name another file with --out")
        make_folder(target.parent)
        rebuild(_with_header(sifted, path), temporary)
    finally:
        close()
    reason = absorb(JournalWriter(temporary), target)
    if reason:
        raise DiskError(reason)
    return target, sifted


def _with_header(sifted: Sifted, path: str | Path) -> list[Entry]:
    """Records that begin with a header: if it is lost, one that says so. What was run is then not known, so that nothing can resume it."""
    if sifted.entries[0].kind == "header":
        return sifted.entries
    meta = {"format": FORMAT, "pliant": version_here(), "name": Path(path).stem, "scene": "", "every": 0.0, "checkpoint_every": 1}
    rest = [entry for entry in sifted.entries if entry.kind not in ("state", "model")]
    return [Entry("header", meta, {}, -1, lambda name: np.zeros(0), str(path)), *rest]


def _all_there_is(published: Path, journal: Path) -> tuple[list[Entry], list[int], Callable[[], None]]:
    """The records of a journal and of the run file beside it, or of one of them; gaps between them; and what closes both."""
    files: list[Any] = []

    def close() -> None:
        for file in files:
            file.close()

    if journal.exists():
        try:
            reader = JournalReader(journal)
            files.append(reader)
        except PliantError:
            if not published.exists():
                raise
        else:
            entries, beside = filled(reader.entries, published) if published.exists() else (reader.entries, None)
            files += [beside] if beside is not None else []
            if entries:
                return list(entries), [] if beside is not None else reader.lost, close
    if not published.exists():
        raise PliantError(f"there is no run to repair: {published} does not exist, and no journal of it that can be read")
    file, entries = vtkhdf.read(published)
    files.append(file)
    return entries, [], close


def _is_journal(run: Run) -> bool:
    return any(entry.end > 0 for entry in run.entries)
