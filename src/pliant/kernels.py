"""How every compiled kernel of pliant is made, and the small vector helpers that kernels share.

Three decorators and nothing else:

``kernel``    a serial compiled function, called from Python
``parallel``  the same with ``prange`` loops; only for loops longer than about 1e4
``inline``    a helper that is pasted into the kernels that call it, also across files

Rules (see docs/kernels.md): results must not depend on the number of threads, so a parallel loop writes
only to its own slot and sums run over fixed chunks in order; no ``raise`` in a parallel loop; one signature per kernel.

Machine code is cached on disk, by what the source says (cache.py): an edit compiles anew what depends on it and nothing else, and
copies of pliant share what they have in common.

``PLIANT_BOUNDSCHECK=1`` compiles everything serially with bounds checks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from threading import get_ident
from typing import Any

BOUNDSCHECK = os.environ.get("PLIANT_BOUNDSCHECK", "") not in ("", "0")
# `reassoc` slows short row loops fourfold and dropping NaN handling breaks geometric tests, so no fastmath=True.
FASTMATH = {"contract", "nsz", "arcp"}
CHUNK = 1024  # length of the partial sums of `chunked_dot` and friends; fixed, so that threads cannot matter
# Threads that wait spin only briefly: on a busy machine a spinning thread keeps the one it waits for from running
# (88k tets, two threads, load 4: 15.6 ms a call with the default, 5.6 ms so).
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
os.environ.setdefault("KMP_BLOCKTIME", "1")

import numba  # noqa: E402  reads the two above
import numpy as np  # noqa: E402
from numba import prange  # noqa: E402

from pliant import cache, compiler  # noqa: E402

LEAN = compiler.install()
CAN_CACHE = cache.install(BOUNDSCHECK) is not None

__all__ = ["kernel", "parallel", "inline", "prange", "CHUNK"]


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a serial kernel."""
    return _kept(function, fastmath=FASTMATH, boundscheck=BOUNDSCHECK, error_model="numpy")


def parallel(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose ``prange`` loops run on all threads."""
    return _kept(function, fastmath=FASTMATH, boundscheck=BOUNDSCHECK, parallel=not BOUNDSCHECK, error_model="numpy")


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    """Compile what is called from Python, and keep its machine code, unless it was typed in and is in no file."""
    try:
        return numba.njit(cache=CAN_CACHE, **options)(function)
    except RuntimeError:
        if os.path.exists(function.__code__.co_filename):
            raise
        return numba.njit(**options)(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a helper that is pasted into its callers."""
    options: dict[str, Any] = dict(forceinline=True, fastmath=FASTMATH, boundscheck=BOUNDSCHECK, error_model="numpy")
    if LEAN:
        options |= dict(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # what Python would call it by
    helper: Any = numba.njit(**options)(function)
    if LEAN:
        helper._insert = lambda *_: None  # Python finds nothing to call, asks for it, and gets a kernel that pastes the helper
        helper._compile_for_args = lambda *args: _kernel_of(helper)
    return helper


@lru_cache(None)
def _kernel_of(helper: Any) -> Any:
    """A kernel that does what a helper does, for calls from Python."""
    return numba.njit(fastmath=FASTMATH, boundscheck=BOUNDSCHECK, error_model="numpy")(lambda *args: helper(*args))


# 3-vectors inside kernels are tuples of floats: no allocation, and LLVM keeps them in registers.


@inline
def load(a, i):  # type: ignore[no-untyped-def]
    return a[i, 0], a[i, 1], a[i, 2]


@inline
def store(a, i, u):  # type: ignore[no-untyped-def]
    a[i, 0] = u[0]
    a[i, 1] = u[1]
    a[i, 2] = u[2]


@inline
def add(u, v):  # type: ignore[no-untyped-def]
    return u[0] + v[0], u[1] + v[1], u[2] + v[2]


@inline
def sub(u, v):  # type: ignore[no-untyped-def]
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


@inline
def scale(s, u):  # type: ignore[no-untyped-def]
    return s * u[0], s * u[1], s * u[2]


@inline
def axpy(s, u, v):  # type: ignore[no-untyped-def]
    """s u + v."""
    return s * u[0] + v[0], s * u[1] + v[1], s * u[2] + v[2]


@inline
def dot(u, v):  # type: ignore[no-untyped-def]
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


@inline
def cross(u, v):  # type: ignore[no-untyped-def]
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@inline
def norm(u):  # type: ignore[no-untyped-def]
    return math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])


SMALL = 20_000  # items below which a second thread costs more than it brings, most of all on a busy machine


_set = [0, 0]  # threads that loops run on now, and may run on; 0: not known
_asked: list[object] = [None, None]  # what that was found from: PLIANT_THREADS, and whose loops they are; numba keeps a number for each


def use_threads(items: int) -> None:
    """Run the parallel loops that follow on all threads, or on one where there is little to do. Results do not depend on it."""
    wanted = 1 if items < SMALL else _set[1] or allowed_threads()
    if wanted != _set[0]:
        numba.set_num_threads(wanted)
        _set[0] = wanted


def allowed_threads() -> int:
    """How many threads kernels may use: PLIANT_THREADS, or all cores. It is looked up at the start of a step, not by every loop."""
    wanted, who = os.environ.get("PLIANT_THREADS", ""), get_ident()
    if wanted != _asked[0] or who != _asked[1]:
        most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        _asked[:] = wanted, who
        _set[:] = 0, max(1, min(most, int(wanted))) if wanted.isdigit() else most
    return _set[1]


def contiguous(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """The array as kernels want it: C order, one dtype, writeable, so that no second signature is compiled."""
    out = np.ascontiguousarray(a, dtype=dtype)
    return out if out.flags.writeable else out.copy()
