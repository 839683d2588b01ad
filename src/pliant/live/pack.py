"""Arrays and words in one block of bytes, as the page reads them (`page/unpack.js`).

Four bytes with the length of a JSON text, the text, then the arrays one after the other, each at a multiple of four bytes. Arrays of
floating point numbers go as float32, or in 16 bits between their smallest and largest value, where 65535 stands for NaN: what is only
looked at always, places if the block is to be small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

COARSE = ("surfel/", "field/", "contact/normal")  # always in 16 bits: only the eye needs them
LAST = 65534  # the largest number that stands for a value


def pack(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], small: bool = False) -> bytes:
    """The block; `small` takes 16 bits for each floating point number."""
    heads, parts = [], []
    for name, array in arrays.items():
        head: dict[str, Any] = {"name": name, "count": int(array.size)}
        if array.dtype.kind == "f":
            head["type"] = "f32"
            array = np.asarray(array, np.float32)
            if small or name.startswith(COARSE):
                array, low, step = narrowed(array)
                head |= {"type": "u16", "low": low, "step": step}
        else:
            head["type"] = "i8" if array.dtype == np.int8 else {1: "u8", 2: "u16"}.get(array.dtype.itemsize, "u32")
            array = array if array.dtype.itemsize < 4 else array.astype(np.uint32)
        data = np.ascontiguousarray(array).tobytes()
        parts.append(data + b"\0" * (-len(data) % 4))
        heads.append(head)
    text = json.dumps({"meta": plain(dict(meta)), "arrays": heads}, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def narrowed(array: np.ndarray) -> tuple[np.ndarray, list[float], list[float]]:
    """16 bits for each number, and lowest value and step of each column."""
    rows = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if rows.size and np.isfinite(low := rows.min(axis=0)).all() and np.isfinite(high := rows.max(axis=0)).all():  # the usual case, quick
        step = np.maximum((high.astype(np.float64) - low) / LAST, 1e-30)
        return np.rint((rows - low) * (1.0 / step).astype(np.float32)).astype(np.uint16), low.tolist(), step.tolist()
    known = np.isfinite(rows)
    low = np.where(known, rows, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, rows, -np.inf).max(axis=0, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    step = np.maximum((high - low) / LAST, 1e-30)
    whole = np.where(known, np.rint((np.where(known, rows, 0.0) - low) / step), LAST + 1)
    return whole.astype(np.uint16), low.tolist(), step.tolist()


def plain(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
