"""What every part of pliant may use: the types of arrays, the error of bad input, the nearest known name, and what Ctrl-C waits for."""

from __future__ import annotations

import difflib
import importlib
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class PliantError(ValueError):
    """Bad input: what is wrong, with which body, element or file, why it matters, how to fix it."""


class DiskError(PliantError):
    """A disk that is full, read-only or failing: which file, why, what is safe."""


class DamageError(PliantError):
    """A file whose content is not what was written: what is damaged, what can be had."""


def nearest(name: str, known: Iterable[str]) -> str:
    """'did you mean X?', or the list of names, or both where X is hardly alike, for an unknown name."""
    names = sorted(set(known))
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    listed = f"known are {', '.join(names)}."
    if not close:
        return listed
    alike = difflib.get_close_matches(str(name), names)
    return f"did you mean {' or '.join(close)}?{'' if alike else f' If not, {listed}'}"


def loaded_when_used(package: str, where: Mapping[str, str], more: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are in modules that load when they are first used."""

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'; it has {', '.join(where)}.{more}")
        return getattr(importlib.import_module(where[name]), name)

    return get, lambda: list(where)


@contextmanager
def unbroken() -> Iterator[None]:
    """Ctrl-C waits until what is inside is done: VTK crashes where one falls into the loading of its modules, Dask leaves tracebacks
    where it starts workers."""
    pressed: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    except ValueError:  # not in the main thread, which alone hears it
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    if pressed and callable(before):
        before(pressed[0], None)
