"""Time: simulated against wall time, and how long kernels have been compiling.

A simulation that is too slow slows down; it never leaves out a step to catch up.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from numba.core import event

LATE = 0.1  # [s] behind the wall clock: from then on the clock starts anew
WINDOW = 1.0  # [s] over which rates are taken


class Pace:
    """Keeps simulated time from running ahead of wall time, and measures both."""

    def __init__(self) -> None:
        self.wall = 0.0  # [s] spent running
        self._steps: deque[tuple[float, float]] = deque()  # wall and simulated time of the last steps
        self._start: tuple[float, float] | None = None

    def begin(self, simulated: float) -> None:
        """Start, or go on after a pause."""
        now = time.perf_counter()
        self._start = (now, simulated)
        self._steps.clear()
        self._steps.append((now, simulated))

    def ahead(self, simulated: float) -> float:
        """How long to wait before the next step [s]; 0 if there is no time to lose."""
        if self._start is None:
            self.begin(simulated)
        assert self._start is not None
        wait = (simulated - self._start[1]) - (time.perf_counter() - self._start[0])
        if wait < -LATE:
            self._start = (time.perf_counter(), simulated)
        return max(wait, 0.0)

    def stepped(self, simulated: float) -> None:
        """One step was taken."""
        now = time.perf_counter()
        if self._steps:
            self.wall += now - self._steps[-1][0]
        self._steps.append((now, simulated))
        while len(self._steps) > 2 and self._steps[1][0] < now - WINDOW:
            self._steps.popleft()

    def pause(self) -> None:
        """Time that passes now does not count."""
        self._start = None
        self._steps.clear()

    @property
    def ratio(self) -> float | None:
        """Simulated over wall time of the last second."""
        spent = self._steps[-1][0] - self._steps[0][0] if len(self._steps) > 1 else 0.0
        return (self._steps[-1][1] - self._steps[0][1]) / spent if spent > 0.0 else None

    @property
    def rate(self) -> float | None:
        """Steps per second of wall time."""
        spent = self._steps[-1][0] - self._steps[0][0] if len(self._steps) > 1 else 0.0
        return (len(self._steps) - 1) / spent if spent > 0.0 else None


PAUSE = 2.0  # [s] between two kernels that still belong together
EVENT = "numba:compile"  # not sent for kernels that are only read from disk


class Compiling(event.Listener):
    """Listens to numba until it is closed. Kernels are compiled inside each other, and by several threads."""

    def __init__(self) -> None:
        self._depth, self._since, self._last = 0, 0.0, -PAUSE
        event.register(EVENT, self)

    def on_start(self, found: Any) -> None:
        """A kernel is begun."""
        now = time.monotonic()
        if self._depth == 0 and now - self._last > PAUSE:
            self._since = now
        self._depth += 1

    def on_end(self, found: Any) -> None:
        """A kernel is done, or was refused."""
        self._depth -= 1
        self._last = time.monotonic()

    @property
    def seconds(self) -> float | None:
        """Since when it goes on; None if nothing is compiled."""
        now = time.monotonic()
        return now - self._since if self._depth > 0 or now - self._last < 0.5 * PAUSE else None

    def close(self) -> None:
        """Listen no more."""
        event.unregister(EVENT, self)
