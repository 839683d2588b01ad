"""Numba with less to do (compiler.py) compiles to the same, and helpers can still be called."""

import numba
import numpy as np
import pytest
from numba.core import codegen

from pliant import compiler, kernels
from pliant.kernels import axpy, dot, inline, load, norm, prange

fresh = numba.njit(fastmath=kernels.FASTMATH, error_model="numpy")  # as `kernel`, but compiled here and now, not taken from the cache


tried = pytest.mark.skipif(not numba.__version__.startswith(compiler.TRIED), reason="this Numba was not tried with compiler.py, and is as it was")


@tried
def test_a_numba_that_was_tried_is_changed():
    assert kernels.LEAN and compiler.install()


@pytest.mark.parametrize("change", [dict(NEEDED=((codegen.JITCodeLibrary, "no_such_name"),)), dict(TRIED=("0.0.",))])
def test_a_numba_that_looks_different_or_was_not_tried_is_left_alone(change, monkeypatch):
    for name, value in change.items():
        monkeypatch.setattr(compiler, name, value)
    assert not compiler.install()


@tried
def test_a_helper_has_no_machine_code_and_answers_python_all_the_same():
    @inline
    def twice(x):
        return x + x

    @fresh
    def fourfold(x):
        return twice(twice(x))

    assert fourfold(1.5) == 6.0
    (made,) = twice.overloads.values()
    assert made.library._postponed and not fourfold.overloads[made.signature.args].library._postponed
    assert twice(1.5) == 3.0 and twice(2) == 4 and twice(1.5) == 3.0
    assert fourfold(2) == 8  # of another type, after Python has called the helper with it
    with pytest.raises(TypeError):
        twice()


@pytest.mark.parametrize("parallel", [False, True])
def test_it_compiles_to_the_same_bits(parallel, monkeypatch):
    def work(a, out):
        for i in prange(len(a) - 1):
            u, v = load(a, i), load(a, i + 1)
            out[i] = norm(axpy(dot(u, v), u, v)) / (1.0 + np.sin(u[0]))

    a = np.random.default_rng(0).normal(size=(1000, 3))
    lean, plain = np.zeros(1000), np.zeros(1000)
    options = dict(fastmath=kernels.FASTMATH, error_model="numpy", parallel=parallel)
    numba.njit(**options)(work)(a, lean)
    monkeypatch.setattr(codegen.JITCPUCodegen, "_library_class", codegen.JITCodeLibrary)
    numba.njit(**options)(work)(a, plain)
    assert lean.any() and np.array_equal(lean, plain)


def test_the_clock_counts_compiling_and_nothing_else():
    """A kernel that is compiled takes time once; calling it again, and what else is done, takes none."""
    clock = compiler.clocked()
    assert clock is compiler.clocked()
    before = clock.seconds

    @numba.njit
    def add(a, b):
        return a + b

    sum(range(200_000))
    assert clock.seconds == before
    add(1, 2)
    took = clock.seconds - before
    assert took > 0.0
    add(3, 4)
    assert clock.seconds == before + took
    add(1.0, 2.0)
    assert clock.seconds > before + took
