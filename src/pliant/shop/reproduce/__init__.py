"""The experiments of the five sources, computed again: what was published, what comes out here, and whether they agree.

A source is a file with a docstring (its first line is printed) and EXPERIMENTS, from the experiment's id to a function that takes a folder,
writes its plots and pictures there and returns lines. The function's docstring says what is done and what the source left open.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pliant.base import PliantError, nearest

SOURCES: dict[str, str] = {
    "keiser": "pliant.shop.reproduce.keiser",
    "motheram": "pliant.shop.reproduce.motheram",
    "pauly": "pliant.shop.reproduce.pauly",
    "spillmann": "pliant.shop.reproduce.spillmann",
    "thesis": "pliant.shop.reproduce.thesis",
}


@dataclass(frozen=True)
class Line:
    """One published statement beside what was found."""

    what: str
    published: str
    here: str
    agrees: bool | None  # None: the source gives nothing to compare with
    why: str = ""  # the reason where it does not agree, or what the source left open

    def text(self) -> str:
        verdict = {True: "agrees", False: "differs", None: "no figure published"}[self.agrees]
        return f"{self.what}: published {self.published} / here {self.here} / {verdict}" + (f" ({self.why})" if self.why else "")


Experiment = Callable[[Path], list[Line]]


def source(name: str) -> Any:
    """The module of a source."""
    if name not in SOURCES:
        raise PliantError(f"There is no source '{name}' to reproduce: {nearest(name, SOURCES)}")
    return importlib.import_module(SOURCES[name])


def experiments(name: str, ids: list[str] | None = None) -> dict[str, Experiment]:
    """The experiments of a source, all or those asked for."""
    known: dict[str, Experiment] = source(name).EXPERIMENTS
    for wanted in ids or []:
        if wanted not in known:
            raise PliantError(f"'{name}' has no experiment '{wanted}': {nearest(wanted, known)}")
    return {i: known[i] for i in ids or known}


def reproduce(name: str, ids: list[str] | None, folder: Path) -> Iterator[tuple[str, list[Line]]]:
    """Run experiments one by one; lines are also kept in FOLDER/results.json, those of other experiments stay there."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for experiment, run in experiments(name, ids).items():
        lines = run(folder)
        results[experiment] = [asdict(line) for line in lines]
        kept.write_text(json.dumps(results, indent=2))
        yield experiment, lines
