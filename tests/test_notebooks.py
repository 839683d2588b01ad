"""The notebooks of examples/ run from top to bottom, and hold what they showed when they were written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (pip install nbclient ipykernel)")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = ("6_own_method",)
NAMES = ("1_first_steps", "2_own_mesh", "3_gripper", "4_foot", "5_refine", "6_own_method")


def test_every_notebook_is_listed():
    assert sorted(NAMES) == sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES])
def test_it_runs(name, tmp_path):
    """Each ends with a cell that asserts what the text says."""
    shutil.copy(EXAMPLES / "bunny.obj", tmp_path)
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    assert notebook.cells[-1].source.startswith("assert")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [set(output.get("data", {})) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in kind for kind in kinds), "nothing showed itself"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_kept_as_it_ran(name):
    """Executed in order, without errors, small enough to be read on the web, and without a path of the machine it ran on."""
    path = EXAMPLES / f"{name}.ipynb"
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert path.stat().st_size < 1_500_000 and not re.search(r"/(root|home|tmp)/", path.read_text())
