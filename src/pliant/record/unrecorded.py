"""A recorder of nothing: it tells the loop when frames are due, so that a run without a file takes the same steps as one with a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np


class Unrecorded:
    """Of Recorder what the loop asks for; `keeps` is False, and nothing else is to be given to it than that a frame is due."""

    keeps: Literal[False] = False
    checkpoint_due = False
    path = Path()
    trouble = ""

    def __init__(self, every: float) -> None:
        self.header: dict[str, Any] = {"every": float(every)}
        self.frames = 0
        self._first = 0.0

    @property
    def next_frame_time(self) -> float:
        """[s] as Recorder counts them."""
        return self._first + self.frames * self.header["every"] if self.frames else -np.inf

    def frame(self, time: float) -> None:
        """A frame was due."""
        self._first = self._first if self.frames else time
        self.frames += 1

    def run(self) -> NoReturn:
        raise AssertionError("a run that is not recorded cannot be read")

    def abandon(self) -> None:
        """There is nothing to give up."""

    def close(self, status: str, message: str = "", notes: Sequence[str] = ()) -> Path:
        """There is no file."""
        return self.path
