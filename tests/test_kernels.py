"""Rules that all kernels keep: one signature each, few parallel ones, in bounds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_parallel_kernels_are_few():
    """Each costs a second or more to compile."""
    count = sum(len(re.findall(r"^@parallel$", f.read_text(), re.M)) for f in (ROOT / "src").rglob("*.py"))
    assert 10 < count <= 50


def test_compiled_functions_of_other_files_are_inline():
    """Numba notices edits of a kernel's own file only; what another file compiles in must change the cache's key."""
    source = ROOT / "src"
    files = {".".join(f.relative_to(source).with_suffix("").parts): f.read_text() for f in source.rglob("*.py")}
    kernels = {(m, name) for m, text in files.items() for name in re.findall(r"^@(?:kernel|parallel)\ndef (\w+)", text, re.M)}
    compiled = re.compile(r"^@(?:kernel|parallel|inline)\ndef \w+\(.*?(?=^@|^def |^class |\Z)", re.M | re.S)
    for module, text in files.items():
        imports = re.findall(r"^from (pliant\.\S+) import (\([^)]*\)|.*)$", text, re.M)
        imported = {(origin, name) for origin, names in imports for name in re.findall(r"\w+", names)}
        for body in compiled.findall(text):
            for origin, name in imported & kernels:
                assert not re.search(rf"\b{name}\(", body.split("\n", 2)[2]), f"{module} calls the kernel {origin}.{name} inside a kernel"


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
