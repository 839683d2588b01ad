"""The structure of an HDF5 file is searched in a process of its own first.

A run file is read by its index, without HDF5. One that has none (of the first format), or a damaged one, is left to the library, and there
damage can make it search without end, or crash. So another process goes the same ways ahead, in bounded time; what it does not survive is
refused.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from pliant.base import DamageError

SEARCH = 10.0  # [s] of the processor: a good file of a thousand datasets takes a second
STUCK = 20  # times as long by the clock on the wall, where others use the processor too
TIME_IS_UP = -int(getattr(signal, "SIGPROF", 1))  # code of a process that its timer has ended, as `subprocess` tells it


def search(path: Path) -> None:
    """Refuse a file in which HDF5 finds no end, or crashes."""
    judge(path, _ended("walk_ahead", path))


def opens(path: Path) -> bool:
    """Whether HDF5, and with it ParaView, reads the structure of a file."""
    return _ended("open_ahead", path) == 0


def _ended(what: str, path: Path) -> int:
    """The code with which a process ends that does this with a file; 0 where no other process can be had."""
    begin = f"import sys; sys.path[:] = {sys.path!r}; from pliant.record.vtkhdf import {what}; {what}(sys.argv[1])"
    try:
        return subprocess.run([sys.executable, "-I", "-c", begin, str(path)], timeout=STUCK * SEARCH, capture_output=True).returncode
    except subprocess.TimeoutExpired:
        return TIME_IS_UP
    except OSError:
        return 0


def end_in_time() -> None:
    """Let a timer end this process, also within the library."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SEARCH)


def judge(path: Path, code: int) -> None:
    """Refuse a file by the code with which the other process ended; below 0: it was ended."""
    if code < 0:
        what = f"searches in it for more than {SEARCH:g} s" if code == TIME_IS_UP else "crashes"
        raise DamageError(f"{path} is damaged: the HDF5 library {what}; copy it again from where it was made")
