"""What type checkers see of the public names: real types, the fields of `Scene.add`, and mistakes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pliant

SRC = Path(pliant.__file__).parents[1]
CODE = """\
from typing import Any

import numpy as np

from pliant import Body, Material, PliantError, Scene, Simulation, Study, press, register_model, shapes

scene = Scene(dt=0.002, duration=1.0, gravity=(0, 0, -9.81), contact={"method": "ground", "stiffness": 0.4})
scene.add(name="ground", shape="plane", model="static", friction=0.5)
soft = {"youngs_modulus": 5e4, "poisson_ratio": 0.4}
common: dict[str, Any] = dict(friction=0.3, position=[0, 0, 0.1])
ball = scene.add(name="ball", shape={"kind": "ball", "radius": 0.1}, material=soft, integrator="implicit", **common)
scene.add(shape=shapes.make("ball", radius=0.1), model="points", spacing=0.02, material=Material(yield_strain=0.1), fixed=[{"side": "-z"}])
scene.add(Body(shape="bunny", model="mine", loads=[dict(value=(0, 0, 1))]), name="other")
scene.add(ball, name="again", velocity=(1.0, 0, 0))
ball.material.youngs_modulus = 2e5
scene.pair("ball", "ground", friction=0.1)
scene.attach(kind="string", a={"at": (0, 0, 2)}, b={"body": "ball", "vertex": 3}, length=1.5)
sim: Simulation = scene.simulate(dt=0.001).run(until=0.1)
force: np.ndarray = sim.contacts("ball", "ground").total_force
text: str = scene.to_toml()
name: str = ball.name
other: Scene = scene.with_({"ball.material.youngs_modulus": "50kPa"}, dt="1ms", gravity=(0, 0, "-9.81m/s^2"))
study = Study(scene=scene, parameters={"ball.friction": [0.1, 0.2]}, measures={"z": {"of": "position", "body": "ball"}}, repeats=2)
rows: list[dict[str, Any]] = study.run("out", workers=0, case_timeout="10min").rows
scene.add(shape="ball", frictoin=0.3)  # wrong: no such field
scene.add(shape="ball", friction="high")  # wrong: a number
scene.add(shape="ball", integrator="implict")  # wrong: not one of the names
Body(shape="ball", nmae="b")  # wrong: no such field
Material(youngs_modulu=1e5)  # wrong: no such field
Scene(dtt=0.1)  # wrong: no such field
scene.pair("ball", "ground", fricton=0.1)  # wrong: no such field
scene.attach(kind="rope", a={"at": (0, 0, 2)}, b={"at": (0, 0, 1)})  # wrong: not one of the names
scene.simulate(untill=3.0)  # wrong: no such option
scene.sampel()  # wrong: no such method
sim.time.append(3)  # wrong: a number
number: int = scene.to_toml()  # wrong: a text
register_model(3, print)  # wrong: a name
scene.with_(dtt="1ms")  # wrong: no such field
Study(scene=scene, measure={})  # wrong: no such field
study.run(worker=2)  # wrong: no such option
"""
WRONG = {i for i, line in enumerate(CODE.splitlines(), 1) if "# wrong" in line}


def lines_with_errors(command: list[Any], path: Path, pattern: str) -> set[int]:
    environment = {**os.environ, "MYPYPATH": str(SRC), "PYTHONPATH": str(SRC)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=path.parent)
    found = {int(line) for line in re.findall(pattern, done.stdout)}
    assert done.returncode == 1 and found, done.stdout + done.stderr
    return found


def test_mypy_finds_what_is_wrong_and_nothing_else(tmp_path):
    path = tmp_path / "planted.py"
    path.write_text(CODE)
    # with the settings and the cache of ./test, which has just checked pliant itself: a second instead of twenty
    command = [sys.executable, "-m", "mypy", "--config-file", SRC.parent / "pyproject.toml", "--cache-dir", SRC.parent / ".mypy_cache", path]
    assert lines_with_errors(command, path, r"planted\.py:(\d+): error") == WRONG


def test_pyright_finds_what_is_wrong_and_nothing_else(tmp_path):
    """In the form that brings its own runtime (`pip install basedpyright`)."""
    tool = shutil.which("basedpyright") or shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("basedpyright is not installed")
    path = tmp_path / "planted.py"
    path.write_text(CODE)
    config = {"extraPaths": [str(SRC)], "typeCheckingMode": "standard", "include": ["planted.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [tool, "--pythonpath", sys.executable, "-p", tmp_path]
    assert lines_with_errors(command, path, r"planted\.py:(\d+):\d+ - error") == WRONG


def test_every_public_name_is_one_that_checkers_see():
    text = Path(pliant.__file__).read_text()
    seen = {name for block in re.findall(r"^    from pliant\S* import (.*)$", text, re.M) for name in block.split(", ")}
    assert seen == set(pliant.__all__) - {"__version__"}
    assert all(getattr(pliant, name) is not None for name in pliant.__all__)


def test_help_lists_the_fields_with_their_meaning():
    assert "friction = 0.3: coefficient while sliding" in pliant.Body.__doc__
    points = type(pliant.Material(yield_strain=0.1))
    assert "yield_strain = None: elastic strain beyond which it stays deformed" in points.__doc__


def test_importing_pliant_loads_nothing_heavy():
    code = "import sys, pliant; print(sorted(m for m in sys.modules if m.split('.')[0] in ('numpy', 'numba', 'pydantic')))"
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment).stdout.strip() == "[]"
    code = "import sys; from pliant import Scene; print([m for m in ('numba', 'scipy', 'h5py', 'meshio', 'pyvista') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment).stdout.strip() == "[]"
