"""The experiments of the five sources, computed again: what was published, what comes out here, and whether they agree.

A source is a file with a docstring (its first line is printed) and EXPERIMENTS, from the experiment's id to an `Experiment`: a function
that measures, claims that judge what it measured (verdict.py), and the figures that it draws. `crew.py` runs them, `page.py` shows them.
"""

from __future__ import annotations

import importlib
from typing import Any

from pliant.base import PliantError, nearest
from pliant.shop.reproduce.experiment import Experiment

SOURCES: dict[str, str] = {
    "keiser": "pliant.shop.reproduce.keiser",
    "motheram": "pliant.shop.reproduce.motheram",
    "pauly": "pliant.shop.reproduce.pauly",
    "spillmann": "pliant.shop.reproduce.spillmann",
    "thesis": "pliant.shop.reproduce.thesis",
}
ALL = "all"


def source(name: str) -> Any:
    """The module of a source."""
    if name not in SOURCES:
        raise PliantError(f"There is no source '{name}' to reproduce: {nearest(name, [*SOURCES, ALL])}")
    return importlib.import_module(SOURCES[name])


def experiments(name: str, ids: list[str] | None = None) -> dict[str, Experiment]:
    """The experiments of a source, all or those asked for."""
    known: dict[str, Experiment] = source(name).EXPERIMENTS
    for wanted in ids or []:
        if wanted not in known:
            raise PliantError(f"'{name}' has no experiment '{wanted}': {nearest(wanted, known)}")
    return {i: known[i] for i in ids or known}
