"""What every part of pliant may use: the types of arrays, the error that bad input gets, and the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

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
    """'did you mean X?' or the list of names, for an unknown name."""
    names = sorted(set(known))
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {', '.join(names)}."
