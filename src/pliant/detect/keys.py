"""Memory by key: what is known under sorted integer keys, looked up for many keys at once."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel

Memory = dict[str, np.ndarray]


def find(known: Ints, keys: Ints) -> Ints:
    """Place of each key in the sorted list `known`, -1 where it is not there; the first place if it is there more than once."""
    keys = contiguous(keys, np.int64)
    out = np.empty(keys.shape, np.int64)
    places(contiguous(known, np.int64), keys.reshape(-1), out.reshape(-1))
    return out


def recalled(known: Ints, values: np.ndarray, keys: Ints, default: float = 0) -> np.ndarray:
    """The row of `values` that goes with each key, in the order of the keys; `default` for keys that are not in `known`.

    Values are of 8 bytes and copied as they are, so that one kernel serves integers and floats.
    """
    shape = (*np.shape(keys), *values.shape[1:])
    if len(known) == 0 or np.size(keys) == 0:
        return np.full(shape, default, values.dtype)
    out, other = np.empty(shape, values.dtype), np.array(default, values.dtype)
    rows = contiguous(values, values.dtype).view(np.int64).reshape(len(values), -1)
    _copy(rows, find(known, keys).reshape(-1), int(other.view(np.int64)), out.view(np.int64).reshape(-1, rows.shape[1]))
    return out


def remember(key: Ints, **values: np.ndarray) -> Memory:
    """A memory of one row per key, sorted by key: {"key": ..., name: ...}."""
    order = np.argsort(key, kind="stable")
    return {"key": key[order], **{name: value[order] for name, value in values.items()}}


def recall(memory: Memory, name: str, key: Ints, shape: tuple[int, ...] = ()) -> Floats:
    """What `remember` was given under a name, (k, *shape), zero for keys that are new."""
    if len(memory.get(name, ())) == 0:
        return np.zeros((len(key), *shape))
    return recalled(memory["key"], memory[name], key)


@kernel
def places(known, keys, out):  # type: ignore[no-untyped-def]
    """Keys mostly come in order: each is looked for in ever wider steps from the place of the one before."""
    low = 0
    for r in range(len(keys)):
        high, step = low, 1
        while low > 0 and known[low - 1] >= keys[r]:
            low, step = max(low - step, 0), 2 * step
        step = 1
        while high < len(known) and known[high] < keys[r]:
            low, high, step = high + 1, min(high + step, len(known)), 2 * step
        while low < high:
            middle = (low + high) // 2
            if known[middle] < keys[r]:
                low = middle + 1
            else:
                high = middle
        out[r] = low if low < len(known) and known[low] == keys[r] else -1


@kernel
def _copy(rows, at, other, out):  # type: ignore[no-untyped-def]
    """out[r] = rows[at[r]], all `other` where at[r] < 0."""
    for r in range(len(at)):
        for k in range(out.shape[1]):
            out[r, k] = rows[at[r], k] if at[r] >= 0 else other
