"""What a reader returns, and what readers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints, PliantError


@dataclass
class Raw:
    """A file's content before units, axes and any check."""

    points: Floats  # (n, 3), in the file's unit
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    tets: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    normals: Floats | None = None  # (n, 3)
    notices: list[str] = field(default_factory=list)  # what was left out or changed, in sentences


def damaged(path: Path, what: str, line: int | None = None, fix: str = "Export the file again.") -> PliantError:
    """The error for a file that cannot be read."""
    where = f"{path}, line {line}" if line is not None else str(path)
    return PliantError(f"{where}: {what}. {fix}")


def text_lines(path: Path) -> list[str]:
    """The lines of a text file; refuses a binary one."""
    data = path.read_bytes()
    if b"\0" in data[:4096]:
        raise damaged(path, "this should be a text file but holds binary data")
    return data.decode("utf-8", errors="replace").splitlines()


def floats(words: list[str], path: Path, line: int, what: str) -> list[float]:
    """The words as numbers, or an error that shows them."""
    try:
        return [float(word) for word in words]
    except ValueError:
        raise damaged(path, f"{what} should be numbers, but '{shown(words)}' stands there", line) from None


def integers(words: list[str], path: Path, line: int, what: str) -> list[int]:
    """The words as whole numbers, or an error that shows them."""
    try:
        return [int(word) for word in words]
    except ValueError:
        raise damaged(path, f"{what} should be whole numbers, but '{shown(words)}' stands there", line) from None


def shown(words: list[str] | str) -> str:
    text = words if isinstance(words, str) else " ".join(words)
    return text if len(text) <= 60 else text[:57] + "..."


def renumbered(ids: list[int], wanted: Ints, path: Path, what: str) -> Ints:
    """Positions of node numbers in the list of nodes; refuses numbers that no node has."""
    names = np.asarray(ids, dtype=np.int64)
    order = np.argsort(names, kind="stable")
    place = np.searchsorted(names, wanted, sorter=order)
    found = order[np.minimum(place, len(names) - 1)] if len(names) else np.zeros_like(wanted)
    missing = np.ones(wanted.shape, dtype=bool) if not len(names) else names[found] != wanted
    if missing.any():
        row = int(np.nonzero(missing.any(axis=1))[0][0])
        node = int(wanted[row][missing[row]][0])
        raise damaged(path, f"{what} {row} (counted from 0) uses node {node}, which the file does not define")
    return found
