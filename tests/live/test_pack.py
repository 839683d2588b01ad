"""Blocks of bytes that the page reads."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pliant.live.pack import LAST, narrowed, pack

NUMBERS = {"f32": np.float32, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "i8": np.int8}


def unpacked(block: bytes):
    """What page/unpack.js does, in Python."""
    size = int.from_bytes(block[:4], "little")
    head = json.loads(block[4 : 4 + size])
    at, arrays = 4 + size, {}
    for spec in head["arrays"]:
        assert at % 4 == 0
        raw = np.frombuffer(block, NUMBERS[spec["type"]], spec["count"], at)
        at += -(-raw.nbytes // 4) * 4
        if "low" in spec:
            low, step = (np.resize(spec[k], len(raw)) for k in ("low", "step"))
            raw = np.where(raw == LAST + 1, np.nan, low + step * raw)
        arrays[spec["name"]] = raw
    assert at == len(block)
    return head["meta"], arrays


def test_arrays_and_words_come_back():
    given_arrays = {
        "points": np.arange(12.0).reshape(4, 3), "ids": np.array([0, 7, 2**31]), "bytes": np.arange(5, dtype=np.uint8),
        "short": np.arange(3, dtype=np.uint16), "signed": np.arange(-3, 4, dtype=np.int8), "none": np.zeros((0, 3)),
    }  # fmt: skip
    meta, arrays = unpacked(pack({"time": 0.25, "name": "ü", "lost": np.nan, "list": np.arange(3)}, given_arrays))
    assert meta == {"time": 0.25, "name": "ü", "lost": None, "list": [0, 1, 2]}
    for name, array in given_arrays.items():
        np.testing.assert_array_equal(arrays[name], array.ravel())


@given(hnp.arrays(np.float32, st.tuples(st.integers(0, 20), st.just(3)), elements=st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))))
def test_sixteen_bits_are_right_to_half_a_step(values):
    whole, low, step = narrowed(values)
    back = np.where(whole == LAST + 1, np.nan, np.array(low) + np.array(step) * whole)
    np.testing.assert_array_equal(np.isnan(back), np.isnan(values))
    span = np.nan_to_num(np.nanmax(values, axis=0, initial=-np.inf) - np.nanmin(values, axis=0, initial=np.inf), posinf=0, neginf=0)
    assert (np.nan_to_num(np.abs(back - values)) <= 0.5001 * np.maximum(span / LAST, 1e-30) + 1e-9 * np.nan_to_num(np.abs(values))).all()


def test_small_blocks_hold_the_same_numbers():
    x = np.linspace(-1.0, 2.0, 3000).reshape(-1, 3)
    _, arrays = unpacked(pack({}, {"x": x}, small=True))
    assert np.abs(arrays["x"] - x.ravel()).max() <= 0.51 * 3.0 / LAST
    assert len(pack({}, {"x": x}, small=True)) < 0.6 * len(pack({}, {"x": x}))
