"""Whether kernels are being compiled in this process, and for how long: what a page says instead of standing still."""

from __future__ import annotations

import time
from typing import Any

from numba.core import event

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
