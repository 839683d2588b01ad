"""Rules that all kernels keep: one signature each, few parallel ones, in bounds."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pliant import cache

ROOT = Path(__file__).resolve().parents[1]


def test_parallel_kernels_are_few():
    """Each costs a second or more to compile."""
    count = sum(len(re.findall(r"^@parallel$", f.read_text(), re.M)) for f in (ROOT / "src").rglob("*.py"))
    assert 10 < count <= 50


def test_kernels_of_more_than_a_dozen_arguments_become_fewer():
    """What belongs together goes in as a named group (docs/kernels.md): this count and the most that one takes may only fall."""
    wide = {}
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            made = [getattr(d, "id", "") for d in getattr(node, "decorator_list", [])]
            if {"kernel", "parallel"} & set(made) and len(node.args.args) > 12:
                wide[f"{file.stem}.{node.name}"] = len(node.args.args)
    assert 10 < len(wide) <= 40 and max(wide.values()) <= 27, wide


def written_through_groups(text: str) -> list[str]:
    """Names of parallel kernels that write into an array inside one of their arguments, under its own name or another."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "parallel" for d in node.decorator_list)):
            continue
        inside = set()  # local names of what is in a group
        for each in ast.walk(node):
            if isinstance(each, ast.Assign):
                names, values = ([*v.elts] if isinstance(v, ast.Tuple) else [v] for v in (each.targets[0], each.value))
                whole = len(names) > len(values) == 1 and isinstance(values[0], ast.Name)  # a, b = group
                pairs = [(name, whole) for name in names] if whole else zip(names, values, strict=False)
                inside |= {name.id for name, value in pairs if isinstance(name, ast.Name) and (value is True or isinstance(value, ast.Attribute))}
        written = [e.value for e in ast.walk(node) if isinstance(e, ast.Subscript) and isinstance(e.ctx, ast.Store)]
        written += [e.args[0] for e in ast.walk(node) if isinstance(e, ast.Call) and getattr(e.func, "id", "") == "store"]
        if any(isinstance(w, ast.Attribute) or isinstance(w, ast.Name) and w.id in inside for w in written):
            found.append(node.name)
    return found


def test_parallel_kernels_write_into_arrays_of_their_own_arguments():
    """Numba can lose what a prange loop writes into an array inside a NamedTuple: groups are for reading."""
    planted = "@parallel\ndef f(g, out):\n    for i in prange(3):\n        {}\n"
    for line, bad in (("out[i] = g.x[i]", 0), ("g.x[i] = 1.0", 1), ("x = g.x; x[i] = 1.0", 1), ("x, y = g; y[i] = 1.0", 1), ("store(g.x, i, u)", 1)):
        assert len(written_through_groups(planted.format(line))) == bad, line
    texts = [text for file in (ROOT / "src").rglob("*.py") if "\n@parallel" in (text := file.read_text())]
    assert len(texts) > 10 and not [name for text in texts for name in written_through_groups(text)]


def test_machine_code_is_kept_by_all_that_it_is_made_of(tmp_path, monkeypatch):
    """An edit of a kernel, of a helper or a constant that it takes from elsewhere, or of what these take, makes a new key; others do not."""
    text = {
        "top.py": "from pliant.middle import helper\nfrom pliant.plain import word\n@kernel\ndef f(x):\n    return helper(x)\n",
        "middle.py": "from pliant.numbers import SCALE\n@kernel\ndef helper(x):\n    return SCALE * x\n",
        "numbers.py": "SCALE = 2.0\n",
        "plain.py": "def word():\n    return 'a'\n",
    }

    def key() -> str:
        for memo in (cache._text, cache._modules, cache._compiled, cache._sources, cache.digest):
            memo.cache_clear()
        return cache.digest(tmp_path / "top.py")

    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    for name, lines in text.items():
        (tmp_path / name).write_text(lines)
    first = key()
    for name, changes in (("top.py", True), ("middle.py", True), ("numbers.py", True), ("plain.py", False)):
        (tmp_path / name).write_text(text[name] + "# edited\n")
        assert (key() != first) == changes, name
        (tmp_path / name).write_text(text[name])
    assert key() == first
    for memo in (cache._text, cache._modules, cache._compiled, cache._sources, cache.digest):
        memo.cache_clear()


def test_a_kernel_has_one_signature():
    """A second one means that some call passes another dtype, order or read-only array, and everything compiles twice."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{}"


def kernels_with_several_signatures():
    """Run what calls most kernels, in a process of its own: other tests call them in their own ways."""
    from numba.core.dispatcher import Dispatcher

    from pliant import Scene

    for integrator in ("symplectic", "implicit"):
        scene = Scene(dt=0.002)
        scene.add(name="ground", shape="plane", model="static")
        box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
        scene.add(name="a", shape=box, position=(0, 0, 0.099), integrator=integrator)
        scene.add(name="b", shape=box, position=(0.01, 0, 0.298), model="springs", integrator=integrator)
        scene.add(name="c", shape=box, position=(0, 0.01, 0.497), model="rigid")
        scene.add(name="d", shape=box, position=(0, 0.01, 0.696), element="quadratic", integrator=integrator)
        scene.attach(kind="weld", a=dict(body="c", at=(0, 0, 0.6)), b=dict(body="d", at=(0, 0, 0.6)))
        sim = scene.simulate().run(until=0.01)
        sim.books()
    return {
        f"{name}.{key}": len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("pliant.")
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher) and not value.targetoptions.get("forceinline") and len(value.signatures) > 1
    }


@pytest.mark.slow
def test_nothing_is_read_or_written_out_of_bounds():
    """The seam, detection and depth, compiled with bounds checks."""
    tests = ["tests/test_seam.py", "tests/detect", "tests/integrate", "tests/bodies", "tests/test_attachments.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "PLIANT_BOUNDSCHECK": "1"}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


if __name__ == "__main__":
    print(kernels_with_several_signatures())


def test_a_kernel_that_was_typed_in_compiles():
    """There is no file to keep its machine code by."""
    for maker in ("kernel", "parallel"):
        names = {}
        exec(f"from pliant.kernels import {maker}\n@{maker}\ndef twice(x, out):\n    for i in range(len(x)):\n        out[i] = 2.0 * x[i]\n", names)
        names["twice"](x := np.arange(3.0), out := np.empty(3))
        assert (out == 2.0 * x).all()
