"""What commands do not do without being asked: import code that a file names, and begin what takes very much memory or time.

Who writes programs asks by writing them: nothing here is refused in Python, unless `commands` says so.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pliant.base import PliantError

MANY_TETS = 1_000_000  # more than these are asked about: minutes of building and gigabytes
TET_BYTES = 3000  # of memory that a tetrahedron takes with all that belongs to it; measured 1900 to 2600 between 40,000 and 830,000
# Time of a step, or of a part of one, held against six scenes by `benchmarks/endurance.py cost`.
IMPLICIT_SECONDS = 2.5e-6  # [s] for each element of implicit bodies; measured 1.0e-6 (of 20,000) to 4.8e-6 (of 830,000)
EXPLICIT_SECONDS = 2.5e-7  # [s] for each other element
BODY_SECONDS = 2e-5  # [s] for each body; measured 6e-6 (500) to 5e-5 (2000)
STEP_SECONDS = 4e-3  # [s] whatever is in it; measured 3.2e-3 (noniterative) to 6.9e-3 (patch)
LONG = 86400.0  # [s] longer runs are asked about
LONG_STEP = 60.0  # [s] and longer steps: nothing is seen of a run before its first one ends
MEMORY_PART = 0.8  # of the memory of the machine that may be used without asking


@dataclass
class _Asked:
    """What was asked for."""

    code: Collection[str] | None = None  # names "module:Class" that may be imported; None: all
    yes: bool = True  # whether whatever is large is meant


_asked = _Asked()


@contextmanager
def commands() -> Iterator[None]:
    """Inside nothing is imported because a file says so, and nothing large is begun, until `allow` says so."""
    before = (_asked.code, _asked.yes)
    _asked.code, _asked.yes = (), False
    try:
        yield
    finally:
        _asked.code, _asked.yes = before


def allow(code: bool = False, typed: str | None = None, yes: bool = False) -> None:
    """What the words of a command allow: `code` of files, `typed`: methods that were named on the command line, `yes`: large things."""
    if _asked.code is not None:
        _asked.code = None if code else [*_asked.code, *(name.strip() for name in (typed or "").split(",") if ":" in name)]
    _asked.yes = _asked.yes or yes


def refuse_code(name: str, what: str) -> None:
    """Refuse to import what a file names, unless it was allowed."""
    if _asked.code is not None and name not in _asked.code:
        raise PliantError(
            f"{what} '{name}' is Python code outside pliant, which would run on this machine with your rights. "
            "If you know and trust it, add --allow-code."
        )


def refuse_many(what: str, tets: float, fix: str, things: str = "tetrahedra") -> None:
    """Refuse to make so many tetrahedra, or things that cost as much, without being asked."""
    if _asked.yes or tets <= MANY_TETS:
        return
    raise PliantError(
        f"{what} would make as many as {tets:.2g} {things}: about {tets * TET_BYTES / 1e9:.2g} GB of memory and "
        f"{tets * IMPLICIT_SECONDS:.2g} s for each implicit step. {fix}, or add --yes if it is meant."
    )


def step_seconds(implicit: int, explicit: int, bodies: int) -> float:
    """About how long a step of so many elements takes [s]."""
    return STEP_SECONDS + bodies * BODY_SECONDS + implicit * IMPLICIT_SECONDS + explicit * EXPLICIT_SECONDS


def refuse_large(count: int, seconds: float, steps: float, parts: int) -> None:
    """Refuse a run of many elements, or steps divided into parts of some seconds, that takes very long or more memory than there is."""
    if _asked.yes:
        return
    step, needed, there = parts * seconds, count * TET_BYTES, memory()
    if there and needed > MEMORY_PART * there:
        raise PliantError(
            f"The scene has {count} elements, which need about {needed / 1e9:.2g} GB of memory; this machine has {there / 1e9:.2g} GB. "
            "Use larger elements, or add --yes if it is meant."
        )
    if steps * step > LONG or step > LONG_STEP:
        divided = f", each divided into {parts} because explicit bodies are stable only so" if parts > 1 else ""
        days = f", {steps * step / LONG:.2g} days in all" if steps * step > LONG else ""
        raise PliantError(
            f"The run has {steps:.3g} steps{divided}, and {count} elements: about {step:.3g} s for each step{days}. "
            "Use fewer steps, larger elements or integrator = \"implicit\", or add --yes if it is meant."
        )


def refuse_odd(what: str) -> None:
    """Refuse what is hardly meant."""
    if not _asked.yes:
        raise PliantError(f"{what}, or add --yes if it is meant.")


def memory() -> int:
    """Of this machine [bytes]; 0: not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
