"""Numba with less to do (compiler.py) compiles to the same, and helpers can still be called."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite.binding import Linkage
from numba.core import codegen

from pliant import compiler, kernels
from pliant.detect import keys
from pliant.kernels import axpy, dot, inline, load, norm, prange
from pliant.simulate import compile_ahead

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


TRIANGLES_ON_A_PLANE = """
import sys
from pathlib import Path
import numpy as np
from pliant.detect.shape_patches import Shape, on_shapes
from pliant.detect.shapes import PLANE
from pliant.geometry.shapes import make
mesh = make("box", size=(0.2, 0.2, 0.2), edge=0.05).surface()
points = mesh.points + 1e-3 * np.random.default_rng(0).normal(size=mesh.points.shape)
points[:, 2] -= points[:, 2].min() + 1e-3
plane = Shape(np.array([PLANE]), np.zeros((1, 3)), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]))
first, last = np.array([0]), np.array([len(mesh.faces)])
found = on_shapes(points, np.ascontiguousarray(mesh.faces), first, last, first, plane, np.array([1e-3]), np.array([False]))
sys.stdout.write((found.weights.tobytes() + found.gap.tobytes() + found.at.tobytes()).hex())
"""


@tried
@pytest.mark.slow
def test_a_process_that_compiles_finds_the_bits_of_one_that_takes_kernels_from_the_cache(tmp_path):
    """A run that is resumed by another process goes on bit for bit, also where the first one had to compile; and so does one with code of its own."""
    found = set()
    for cache in ("one", "one", "other"):
        env = os.environ | {"PLIANT_CACHE": str(tmp_path / cache)}
        found.add(subprocess.run([sys.executable, "-c", TRIANGLES_ON_A_PLANE], env=env, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1 and len(found.pop()) > 1000


@tried
def test_a_kernel_shares_no_function_with_others():
    """The linker would take the copy of whichever kernel was loaded first, and copies differ in their last digits."""
    find = fresh(keys.places.py_func)  # one of pliant's, compiled here and now
    out = np.zeros(2, int)
    find(np.array([3, 5, 9]), np.array([5, 9]), out)
    assert list(out) == [1, 2]
    (made,) = find.overloads.values()
    functions = list(made.library.get_defined_functions())
    assert len(functions) > 2 and not any(f.linkage == Linkage.linkonce_odr for f in functions)


READ = """
import sys
from pathlib import Path
import numba
import numpy as np
from pliant.detect.keys import find
known, keys = np.array([3, 5, 9]), np.array([5, 9, 4])
find(known, keys)
if sys.argv[1] == "read":
    assert "numba.np.npyimpl" not in sys.modules  # what Numba compiles NumPy with
    from pliant.detect.keys import places
    @numba.njit
    def calls(known, keys, out):
        places(known, keys, out)
    out = np.zeros(3, int)
    calls(known, keys, out)
    print(places.stats.cache_hits and list(map(int, out)))
"""


@tried
def test_a_kernel_that_is_read_needs_nothing_to_compile_with_and_can_be_pasted_into_others(tmp_path):
    """A quarter of a start went into that; whoever compiles still finds it."""
    env = os.environ | {"PLIANT_CACHE": str(tmp_path)}
    done = [subprocess.run([sys.executable, "-c", READ, word], env=env, capture_output=True, text=True) for word in ("make", "read")]
    assert [(each.returncode, each.stdout) for each in done] == [(0, ""), (0, "[1, 2, -1]\n")], done[1].stderr


CALL_EACH_OTHER = """
import numba
import pliant.kernels
@numba.njit
def even(n):
    return True if n == 0 else odd(n - 1)
@numba.njit
def odd(n):
    return False if n == 0 else even(n - 1)
@numba.njit
def ask(n):
    return even(n), odd(n)
print(ask(8))
"""


def test_functions_may_call_each_other():
    """Numba finds such functions by their names once they are compiled (a process of its own, as the price is a crash)."""
    done = subprocess.run([sys.executable, "-c", CALL_EACH_OTHER], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "(True, False)\n"), done.stderr


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


def test_interpreted_kernels_are_not_compiled_ahead(monkeypatch):
    """NUMBA_DISABLE_JIT=1, for debuggers: a run ended in a traceback."""
    monkeypatch.setattr(compile_ahead.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(compile_ahead.multiprocessing, "get_context", lambda kind: pytest.fail("processes that compile"))
    monkeypatch.setattr(compile_ahead, "CAN_CACHE", True)
    monkeypatch.setattr(compile_ahead, "_mark", lambda job: Path("nowhere"))
    compile_ahead.warm(quiet=True)
