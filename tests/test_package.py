"""The package as others get it: installed by pip into an empty environment, with its command, light to import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
UNREACHABLE = ("No matching distribution", "Could not find a version", "ConnectionError", "NewConnectionError", "ConnectTimeout")


def test_the_command_and_the_version_are_those_of_the_project():
    (command,) = [e for e in entry_points(group="console_scripts") if e.name == "pliant"]
    assert command.value == "pliant.__main__:main"
    assert f'version = "{version("pliant")}"' in (ROOT / "pyproject.toml").read_text()
    assert (Path(pliant.__file__).parent / "py.typed").exists()


def test_the_command_line_starts_without_what_it_may_not_need():
    code = "import sys, pliant.cli; print([m for m in ('numba', 'scipy', 'h5py', 'meshio', 'pyvista', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_pip_install_into_an_empty_environment_gives_a_command_that_runs(tmp_path):
    """In a folder of its own, with no access to this checkout, a first run compiles, records and can be asked about."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    folder = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [folder / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT]
    installed = subprocess.run(pip, capture_output=True, text=True)
    if installed.returncode and any(word in installed.stderr for word in UNREACHABLE):
        pytest.skip("pip cannot reach a package index")
    assert installed.returncode == 0, installed.stderr
    work = tmp_path / "work"
    work.mkdir()
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}

    def call(*arguments):
        environment = {**clean, "PLIANT_CACHE": str(tmp_path / "cache")}
        done = subprocess.run([folder / "pliant", *arguments], cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "bowl" in json.loads(call("scenes", "--json"))
    assert "finished at t = 0.1 s" in call("run", "tumble", "--duration", "0.1", "--no-pictures")
    assert json.loads(call("info", "runs/tumble.vtkhdf", "--json"))["status"] == "finished"


def test_slow_cases_name_tests_that_exist():
    """tests/slow_cases.txt: a test that was renamed must not come back into the quick set unseen."""
    for line in (ROOT / "tests" / "slow_cases.txt").read_text().splitlines()[1:]:
        file, name = line.split("[")[0].split("::")
        assert f"def {name}(" in (ROOT / file).read_text(), line
