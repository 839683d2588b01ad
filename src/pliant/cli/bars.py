"""Progress of anything that takes long: a bar with an estimate, or plain lines where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pliant.waiting import OFTEN, Stage, doing


class Update(Protocol):
    """Shows how far something is; `total` None: not known yet. `state` goes behind the bar, `line` into logs, `told` before either."""

    def __call__(self, done: float, total: float | None, state: str, line: str, told: str = "") -> None: ...


@contextmanager
def bar(what: str, hidden: bool = False) -> Iterator[Update]:
    """A bar on the terminal; a line at every tenth, and every minute, for logs; `hidden`: nothing."""
    if hidden:
        yield lambda done, total, state, line, told="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        with doing(f"{what}: the first part") as stage:
            yield _Lines(what, stage)
        return
    text = lambda what: TextColumn(what, markup=False)  # names of scenes may have brackets
    columns = (text("{task.description}"), BarColumn(), text("{task.fields[state]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as shown:
        task = shown.add_task(what, total=None, state="")

        def update(done: float, total: float | None, state: str, line: str, told: str = "") -> None:
            if told:
                console.print(told, highlight=False, markup=False, soft_wrap=True)
            shown.update(task, completed=done, total=total, state=state)

        yield update


class _Lines:
    """A line at every tenth, or at every tenth item while nobody knows how many there are, and at least every OFTEN.

    What is left is told by the pace since the last line but one: what gets slower must not look as fast as it began.
    """

    def __init__(self, what: str, stage: Stage) -> None:
        self.what, self.stage = what, stage  # the stage speaks while nothing comes here
        self.tenth = 0
        self.lines: list[tuple[float, float]] = []  # when [s], and how far it was

    def __call__(self, done: float, total: float | None, state: str, line: str, told: str = "") -> None:
        now = time.monotonic()
        self.stage.words, self.stage.after, self.stage.since = f"{self.what}: what comes after {line}", OFTEN, now
        self.lines = self.lines or [(now, done)]
        if told:
            print(f"  {told}", file=sys.stderr, flush=True)
        tenth = int(10.0 * done / total + 1e-9) if total else int(done // 10)
        if tenth <= self.tenth and now - self.lines[-1][0] < OFTEN:
            return
        self.tenth = tenth
        before, was = self.lines[-2:][0]
        left = (now - before) / (done - was) * (total - done) if total and done > was else 0.0
        self.lines.append((now, done))
        print(f"  {line}{f', about {left:.0f} s left' if left >= 1.0 else ''}", file=sys.stderr, flush=True)
