"""Journals as files: how one comes to be, is written again from records, and goes into the run file at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pliant.base import DiskError, PliantError
from pliant.disk import TEMPORARY, failure
from pliant.record import vtkhdf
from pliant.record.journal import FIRST_MAGIC, JournalReader, JournalWriter, lock
from pliant.record.records import Entry, Record
from pliant.record.salvage import renumbered

PATIENCE = 5.0  # [s] how long the end of a run waits for a program that holds the run file


def is_first(journal: Path) -> bool:
    """Whether a journal is of the first format, which is read and not written."""
    if not journal.exists():
        return False
    with open(journal, "rb") as file:
        return file.read(len(FIRST_MAGIC)) == FIRST_MAGIC


def rebuild(entries: Sequence[Entry], journal: Path, damaged: Sequence[Path] = ()) -> None:
    """Write a journal again from records; damaged files are put aside first."""
    temporary = journal.with_name(journal.name + TEMPORARY)
    remove(temporary)
    with _unless_locked(journal):
        _write(temporary, renumbered(entries))
        try:
            for file in damaged:
                if file.exists():
                    os.replace(file, file.with_name(file.name + ".damaged"))
            os.replace(temporary, journal)
        except OSError as error:
            raise failure(error, "cannot write", journal) from None


def _write(path: Path, records: Iterable[Record]) -> None:
    """A new journal; nothing is left of it if it cannot be written whole."""
    try:
        writer = JournalWriter(path)
        try:
            for record in records:
                writer.append(record.kind, record.meta, record.arrays)
        finally:
            writer.close()
    except BaseException:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _unless_locked(journal: Path) -> Iterator[None]:
    """Refuse a journal that another process is writing."""
    if not journal.exists():
        yield
        return
    try:
        file = open(journal, "r+b", buffering=0)
    except OSError as error:
        raise failure(error, "cannot write", journal) from None
    with file:
        lock(file, journal)
        yield


def remove(file: Path) -> None:
    """Remove what an earlier process may have left."""
    if not file.exists():
        return
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise failure(error, "cannot remove", file) from None


def new_journal(journal: Path, begin: Sequence[Record], sync: bool) -> JournalWriter:
    """A journal that has its first records from the moment it exists."""
    if not journal.parent.is_dir():
        raise PliantError(f"cannot record to {journal}: the folder {journal.parent} does not exist; create it first")
    if journal.exists():
        JournalReader(journal).close()  # refuses to replace what is no journal
    temporary = journal.with_name(journal.name + TEMPORARY)
    with _unless_locked(journal):
        try:
            remove(temporary)
            _write(temporary, begin)
        except DiskError as error:  # there is nothing yet that could be resumed
            raise failure(error.__cause__, "cannot record to", journal) if isinstance(error.__cause__, OSError) else error from None
        os.replace(temporary, journal)
    return JournalWriter(journal, sync)


def absorb(writer: JournalWriter, path: Path) -> str:
    """Publish the whole journal and remove it; it stays if the run file cannot be written, and the reason is returned."""
    reason = vtkhdf.publish(writer.entries, path, PATIENCE, small=True)
    writer.close()
    if reason:
        return (
            f"the run file could not be written ({reason}); nothing is lost: the run is in {writer.path}, "
            "and opening or resuming it reads that"
        )
    with suppress(PermissionError):  # Windows: somebody reads it; it holds the same records
        writer.path.unlink(missing_ok=True)
    return ""
