"""What takes long says what it is at: `doing` names a stage, `telling` says it, for as long as the stage lasts, to whoever waits for it.

Programs hear nothing; commands tell (`cli`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SILENT = 5.0  # [s] after which something is said for the first time; then after twice as long
OFTEN = 60.0  # [s] between lines at most: who sees none takes it for hung
LOOK = 0.5  # [s] between looks at what is being done


@dataclass(eq=False)
class Stage:
    """Something that may take long; who tells of it by other means sets `since` to when that was."""

    words: str
    after: float  # [s] of silence before it is told of
    since: float  # [s]


_stages: list[Stage] = []  # the outermost first
_told: list[threading.Event] = []  # one for each who is told; set: no more


@contextmanager
def doing(words: str) -> Iterator[Stage]:
    """Inside, this is what is being done."""
    stage = Stage(words, SILENT, time.monotonic())
    _stages.append(stage)
    try:
        yield stage
    finally:
        _stages.remove(stage)


@contextmanager
def telling(say: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, another thread says what is being done and for how long, whenever that was silent for long enough."""
    ended = threading.Event()
    _told.append(ended)
    thread = threading.Thread(target=_tell, args=(say, ended), name="pliant telling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        _told.remove(ended)
        ended.set()
        thread.join(1.0)  # a say that hangs must not keep the command


def hush() -> None:
    """Tell nobody any more: who prints for programs prints nothing else."""
    for ended in _told:
        ended.set()


def _tell(say: Callable[[str], None], ended: threading.Event) -> None:
    begun = after = 0.0
    while not ended.wait(LOOK):
        first, last = _stages[:1], _stages[-1:]  # copies: other threads come and go
        if not first or not last:
            continue
        if first[0].since != begun:
            begun, after = first[0].since, first[0].after
        lasted = time.monotonic() - begun
        if lasted >= after:
            say(f"{last[0].words}, {lasted:.0f} s so far")
            after = min(2.0 * lasted, lasted + OFTEN)
