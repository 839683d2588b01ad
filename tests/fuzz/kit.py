"""What the fuzzers share: seeded mutations of bytes and of nested data, and a judge of what comes of them.

A case is good if it works, or is refused in a sentence (PliantError). Anything else is a failure: another exception, a crash, more
than SLOW seconds, an answer that is silently wrong. `budget` is small in ./test and large behind --slow; PLIANT_FUZZ_CASES sets it, and
PLIANT_FUZZ_SEED draws other cases than those that were seen before.
"""

from __future__ import annotations

import math
import os
import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from pliant.base import PliantError

SLOW = 30  # [s] more is a hang
MOST = int(os.environ.get("PLIANT_FUZZ_BAD", 5))  # bad cases after which it ends
TOLD = 500  # cases after which the counts are printed
STUCK = 20  # times as long by the clock on the wall: what waits takes no time of the processor
WORDS = ["", "ball", "box", "..", "../../x", "a" * 300, "50kPq", "5 m/s", "nan", "\0", "é\u202e", "mod:Class", "none", "auto", "/dev/zero"]
NUMBERS = [0, -1, 1, 2, 1e-300, 1e300, -1e300, math.nan, math.inf, -math.inf, 1e29, 5e16, 2**63, 10**400, -0.0, 1e-9, 1000, True, False]


class TooSlow(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


@contextmanager
def clock(seconds: int = SLOW):
    """Ends what takes longer, where the system can: in time of the processor, as others may use it too, or STUCK times as long in all."""

    def late(*_: object) -> None:
        raise TooSlow

    timers = [("SIGPROF", "ITIMER_PROF", seconds), ("SIGALRM", "ITIMER_REAL", STUCK * seconds)] if hasattr(signal, "setitimer") else []
    before = {name: signal.signal(getattr(signal, name), late) for name, _, _ in timers}
    for _, timer, limit in timers:
        signal.setitimer(getattr(signal, timer), limit)
    try:
        yield
    finally:
        for name, timer, _ in timers:
            signal.setitimer(getattr(signal, timer), 0.0)
            signal.signal(getattr(signal, name), before[name])


def budgets(small: int, large: int) -> list[Any]:
    """Numbers of cases: few in ./test, many behind --slow."""
    asked = os.environ.get("PLIANT_FUZZ_CASES")
    return [int(asked)] if asked else [small, pytest.param(large, marks=pytest.mark.slow)]


def judged(cases: int, seed: int | str, case: Callable[[random.Random], str]) -> Counter[str]:
    """How many cases ended in which way; fails with the first bad ones. `case` returns what it saw, or raises."""
    found: Counter[str] = Counter()
    bad: list[str] = []
    seed = f"{seed}{os.environ.get('PLIANT_FUZZ_SEED', '')}"
    for number in range(cases):
        rng = random.Random(f"{seed} {number}")
        try:
            with clock():
                found[case(rng)] += 1
        except PliantError as error:
            found["refused"] += 1
            if "\n" in str(error).strip() or not str(error).strip():
                bad.append(f"case {number}: the refusal is no sentence: {error!r}")
        except TooSlow:
            found["slow"] += 1
            bad.append(f"case {number}: more than {SLOW} s")
        except Exception:
            found["traceback"] += 1
            bad.append(f"case {number}:\n{traceback.format_exc(limit=-6)}")
        if len(bad) >= MOST:
            break
        if (number + 1) % TOLD == 0:
            print(said(seed, found), flush=True)
    print(said(seed, found))
    assert not bad, "\n".join(bad)
    return found


def said(seed: int | str, found: Counter[str]) -> str:
    """Counts by kind."""
    return f"seed {seed}: {sum(found.values())} cases: " + ", ".join(f"{count} {what}" for what, count in found.most_common())


# ---- mutations


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    """Bits flipped, stretches overwritten, doubled, removed or moved, the end cut off."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        if not data:
            return b""
        at, size = rng.randrange(len(data)), rng.choice([1, 4, 8, 64, 512])
        kind = rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at : at + size] = rng.randbytes(min(size, len(data) - at))
        elif kind == 2:
            data[at : at + size] = bytes(min(size, len(data) - at))
        elif kind == 3:
            data[at : at + size] = b"\xff" * min(size, len(data) - at)
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            del data[at : at + size]
        elif kind == 6:
            data[at:at] = data[at : at + size]
        else:
            other = rng.randrange(len(data))
            data[at : at + size] = data[other : other + size]
    return bytes(data)


def damaged_text(rng: random.Random, content: bytes) -> bytes:
    """Numbers and words of a text replaced, lines doubled, removed and swapped; or its bytes damaged."""
    if rng.random() < 0.3:
        return damaged_bytes(rng, content)
    lines = content.decode("latin-1").split("\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(lines))
        kind = rng.randrange(5)
        if kind == 0:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(["nan", "inf", "-1", "1e300", "1e-300", "999999999999", "0", "x", "", "-", "1/2/3", "\0"])
            lines[at] = " ".join(words)
        elif kind == 1:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif kind == 2:
            del lines[at]
            lines = lines or [""]
        elif kind == 3:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] += rng.choice([" 1 2 3", " 0", "\t", " # x", "\r", " 1e400"])
    return "\n".join(lines).encode("latin-1")


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value that a scene, a study or an order can hold."""
    kind = rng.randrange(8 if depth < 2 else 4)
    if kind < 2:
        return rng.choice(NUMBERS)
    if kind == 2:
        return rng.choice(WORDS)
    if kind == 3:
        return rng.choice([0.1, 0.01, 3.0, 100.0, 1e5])
    if kind < 6:
        return [value(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 3, 3, 4]))]
    keys = ["kind", "times", "values", "method", "file", "edge", "x", "shape", "name"]
    return {rng.choice(keys): value(rng, depth + 1) for _ in range(rng.randrange(3))}


def mutated(rng: random.Random, data: Any) -> Any:
    """A copy of nested data in which a few places differ."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        new = _one(rng, data)
        data = new if isinstance(new, type(data)) else data  # a file of TOML is a table
    return data


def _one(rng: random.Random, data: Any) -> Any:
    if isinstance(data, dict) and data and rng.random() < 0.93:
        key = rng.choice(list(data))
        kind = rng.random()
        rest = dict(data)
        if kind < 0.06:
            del rest[key]
        elif kind < 0.12:
            rest[rng.choice([key + "s", "colour", "edge", "skin", "core", "fixed", "integrator", "unsafe", "up", "size"])] = value(rng)
        else:
            rest[key] = _one(rng, data[key])
        return rest
    if isinstance(data, list) and data and rng.random() < 0.9:
        at = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.1:
            return data[:at] + data[at + 1 :]
        if kind < 0.2:
            return [*data, data[at]]
        return [*data[:at], _one(rng, data[at]), *data[at + 1 :]]
    if isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < 1e300 and rng.random() < 0.6:
        return rng.choice([data * 10, data / 10, -data, data * 1e6, data * 1e-6, rng.choice(NUMBERS)])
    return value(rng)
