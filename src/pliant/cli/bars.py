"""Progress of anything that takes long: a bar with an estimate, or plain lines where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Update(Protocol):
    """Shows how far something is; `total` None: not known yet. `state` goes behind the bar, `line` into logs."""

    def __call__(self, done: float, total: float | None, state: str, line: str) -> None: ...


@contextmanager
def bar(what: str, hidden: bool = False) -> Iterator[Update]:
    """A bar on the terminal; a line at every tenth for logs; `hidden`: nothing."""
    if hidden:
        yield lambda done, total, state, line: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as shown:
        task = shown.add_task(what, total=None, state="")
        yield lambda done, total, state, line: shown.update(task, completed=done, total=total, state=state)


class _Lines:
    """A line at every tenth, or at every tenth item while nobody knows how many there are."""

    def __init__(self) -> None:
        self.said, self.began = 0, time.monotonic()
        self.start: float | None = None  # what was there before took no time now

    def __call__(self, done: float, total: float | None, state: str, line: str) -> None:
        self.start = done if self.start is None else self.start
        tenth = int(10.0 * done / total + 1e-9) if total else int(done // 10)
        if tenth <= self.said:
            return
        self.said = tenth
        took, since = time.monotonic() - self.began, done - self.start
        left = took / since * (total - done) if total and since > 0.0 else 0.0
        print(f"  {line}{f', about {left:.0f} s left' if left >= 1.0 else ''}", file=sys.stderr, flush=True)
