"""The results of a study on disk. A case is finished when its line is in rows.jsonl; the tables are views of that, written as it grows.

Every line is whole or it is not there: a line that a kill or a full disk cut off is dropped, and its case is run again.
"""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base import DiskError, PliantError
from pliant.disk import make_folder
from pliant.studies.work import Result

if TYPE_CHECKING:
    from pandas import DataFrame

    from pliant.studies.case import Case

PAUSE = (2.0, 20.0)  # [s] at least and at most between two writings of the tables while a study runs
SHARE = 0.02  # of the time goes into them, if that fits
AFTER = ("status", "reason", "seconds", "steps", "stepping", "seed", "version", "cpu", "key")  # columns behind the measures


class Ledger:
    """Rows by the key of their case, in a folder that one study at a time may use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder / "cases")
        self.path = folder / "rows.jsonl"
        self._lock = _locked(folder / "lock")
        self.results = {result.key: result for result in read_rows(self.path, mend=True)}
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._due = 0.0  # when the tables may be written again

    def add(self, result: Result) -> None:
        """Write a result down: what is kept of it first, then its row. When this returns it cannot be lost."""
        try:
            for suffix, content in result.files.items():
                put(self.folder / "cases" / f"{result.key}.{suffix}", content)
            row = asdict(result) | {"files": sorted(result.files)}
            self._append(json.dumps(row).encode() + b"\n")
        except OSError as error:
            raise DiskError(
                f"Cannot write to {self.folder}: {error.strerror}. What is there is whole; make room and run the study again, it goes on."
            ) from None
        result.files = dict.fromkeys(result.files, b"")  # they are on disk now
        self.results[result.key] = result

    def _append(self, line: bytes) -> None:
        """A whole line, on the disk and not in a buffer, or none."""
        size = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def tables(self, cases: Sequence[Case], names: Sequence[str], at_once: bool = False) -> None:
        """Write table.csv and table.parquet, if some time has passed since they were written."""
        if not at_once and time.monotonic() < self._due:
            return
        began = time.monotonic()
        try:
            write_tables(self.folder / "table", table(cases, self.results, names))
        except OSError as error:
            raise DiskError(f"Cannot write the tables to {self.folder}: {error}. All rows are in rows.jsonl; make room.") from None
        took = time.monotonic() - began
        self._due = time.monotonic() + min(max(PAUSE[0], took / SHARE), PAUSE[1])

    def close(self) -> None:
        os.close(self._file)
        self._lock.close()


def _locked(path: Path) -> Any:
    """A lock that ends with this process, however it ends."""
    file = path.open("a+")
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise PliantError(f"Another process runs the study in {path.parent}: wait for it, or choose another folder (--out).") from None
    return file


def read_rows(path: Path, mend: bool = False) -> list[Result]:
    """All whole rows of a file; `mend` cuts off what follows the last of them."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if mend and whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    rows = [json.loads(line) for line in content[:whole].splitlines() if line.strip()]
    return [Result(**{**row, "files": dict.fromkeys(row["files"], b"")}) for row in rows]


def put(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there."""
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


# ---- the table


def table(cases: Iterable[Case], results: Mapping[str, Result], names: Sequence[str]) -> dict[str, list[Any]]:
    """A column for each parameter and measure (`names`, and what functions gave besides) and for what happened; a row for each case."""
    done = [(case, results[case.key]) for case in cases if case.key in results]
    parameters = list(dict.fromkeys(name for case, _ in done for name in case.parameters))
    measures = list(dict.fromkeys([*names, *(name for _, result in done for name in result.measures)]))
    columns: dict[str, list[Any]] = {"case": [case.number for case, _ in done]}
    columns |= {name: [case.parameters.get(name) for case, _ in done] for name in parameters}
    columns |= {name: [result.measures.get(name, math.nan) for _, result in done] for name in measures}
    for name in AFTER:
        columns[name] = [case.seed if name == "seed" else getattr(result, name) for case, result in done]
    return columns


def write_tables(stem: Path, columns: Mapping[str, Sequence[Any]]) -> list[Path]:
    """STEM.csv, and STEM.parquet where pandas and pyarrow are there."""
    text = stem.with_suffix(".csv")
    draft = text.with_name(text.name + ".part")
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    draft.replace(text)
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        return [text]
    packed = stem.with_suffix(".parquet")
    draft = packed.with_name(packed.name + ".part")
    parquet.write_table(pyarrow.table({name: _column(values) for name, values in columns.items()}), draft)
    draft.replace(packed)
    return [text, packed]


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """One type for a column: text where numbers and other things meet."""
    kinds = {type(v) for v in values if v is not None}
    if len(kinds) <= 1 and not kinds & {list, tuple, dict}:
        return values
    if kinds <= {int, float, bool}:
        return [None if v is None else float(v) for v in values]
    return [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]


def frame(columns: Mapping[str, Sequence[Any]]) -> DataFrame:
    """The table for pandas."""
    try:
        import pandas
    except ImportError:
        raise PliantError("Tables as DataFrames need pandas: pip install 'pliant[studies]'. `rows` has them as dictionaries.") from None
    return pandas.DataFrame(columns)
