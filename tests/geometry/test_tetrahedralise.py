"""Filling surfaces with tetrahedra: valid, close to the surface, the same again; failures are sentences."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.geometry import tetrahedralise as module
from pliant.geometry.check import diagnose
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.tetrahedralise import fill, tetrahedralise
from pliant.geometry.triangle import distance_to

CORNERS = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)], dtype=float)
QUADS = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
CUBE = Surface(CORNERS, np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]]))
OPEN = Surface(CORNERS, CUBE.faces[(CORNERS[CUBE.faces][:, :, 2] < 1).any(axis=1)])

needs_pytetwild = pytest.mark.skipif(not module.find_spec("pytetwild"), reason="pytetwild is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@needs_pytetwild
def test_cube_is_filled_close_valid_and_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    first = fill(CUBE, edge=0.4, progress=said.append)
    assert isinstance(first.mesh, TetMesh)
    assert (first.mesh.volumes > 0).all()
    assert first.mesh.volumes.sum() == pytest.approx(1.0, abs=0.02)
    assert first.distance <= 3 * 2e-3 * np.sqrt(3) and first.lost <= 3 * 2e-3 * np.sqrt(3)
    assert diagnose(first.mesh).clean
    assert said and said[-1].startswith("filled: ")
    again = fill(CUBE, edge=0.4)
    assert again.seconds == 0.0
    assert np.array_equal(again.mesh.points, first.mesh.points) and np.array_equal(again.mesh.tets, first.mesh.tets)
    assert os.listdir(tmp_path) == ["cache"]  # fTetWild's own files do not land in the user's folder


@needs_pytetwild
def test_unwelded_and_inside_out_is_put_right_first() -> None:
    soup = Surface(CORNERS[CUBE.faces[:, ::-1]].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    mesh = tetrahedralise(soup, edge=0.6)
    assert mesh.volumes.sum() == pytest.approx(1.0, abs=0.02)


@needs_pytetwild
@pytest.mark.slow
def test_an_open_box_is_closed_by_winding_number_on_request() -> None:
    rim = fill(OPEN, edge=0.3, holes=True)
    assert 0.5 < rim.mesh.volumes.sum() < 1.1


def test_open_surface_is_refused_with_counts() -> None:
    with pytest.raises(PliantError, match=r"not closed \(4 edges with one face, 0 with more than two\).*holes = true"):
        tetrahedralise(OPEN)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (dict(edge=-1.0), "must be positive"),
        (dict(edge=5.0), "not longer than the body's diagonal"),
        (dict(edge=1e-3), "would make about .* tetrahedra"),
        (dict(deviation=1.0), "below a tenth of the diagonal"),
    ],
)
def test_impossible_sizes_are_refused(how: dict, words: str) -> None:
    with pytest.raises(PliantError, match=words):
        tetrahedralise(CUBE, **how)


def test_bad_coordinates_are_refused() -> None:
    points = CORNERS.copy()
    points[0, 0] = np.inf
    with pytest.raises(PliantError, match="not finite"):
        tetrahedralise(Surface(points, CUBE.faces))


def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put another program in the place of pytetwild's process."""
    (tmp_path / "stand_in.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "CHILD", "stand_in")
    monkeypatch.setattr(module, "_require_pytetwild", lambda: None)


def test_a_crash_becomes_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(tmp_path, monkeypatch, "import os, sys\nprint('last words', flush=True)\nos.abort()\n")
    with pytest.raises(PliantError, match="killed by signal 6 .*last words"):
        tetrahedralise(CUBE)


def test_an_endless_loop_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(tmp_path, monkeypatch, "while True: pass\n")
    with pytest.raises(PliantError, match="was stopped after"):
        tetrahedralise(CUBE, timeout=0.3)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell what a process has worked")
def test_waiting_for_a_busy_machine_is_no_work_and_what_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(tmp_path, monkeypatch, "import time\ntime.sleep(600)\n")
    began = time.monotonic()
    with pytest.raises(PliantError, match="was stopped after"):
        tetrahedralise(CUBE, timeout=0.05)
    assert time.monotonic() - began > 0.5 * 0.05 / module.HANGS


RESULTS = {
    "no inside": ("np.zeros((4, 3)), np.zeros((0, 4), int)", "found no inside"),
    "mixed orientation": (
        "np.array([[0,0,0],[1,0,0],[0,1,0],[0,0,1.],[0,0,-1]]), np.array([[0,1,2,3],[0,1,2,3],[0,1,2,4]])",
        "1 tetrahedra without volume",
    ),
    "overlap": (
        "np.array([[0,0,0],[1,0,0],[0,1,0],[0,0,1.],[0,0,2],[0,0,3]]), np.array([[0,1,2,3],[0,1,2,4],[0,1,2,5]])",
        "overlap",
    ),
    "elsewhere": ("9 + np.array([[0,0,0],[1,0,0],[0,1,0],[0,0,1.]]), np.array([[0,1,2,3]])", "stray"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_a_bad_result_is_never_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    made, words = RESULTS[case]
    child(
        tmp_path,
        monkeypatch,
        f"import sys\nimport numpy as np\np, t = {made}\nnp.savez(sys.argv[2], points=p, tets=t)\n",
    )
    with pytest.raises(PliantError, match=words):
        tetrahedralise(CUBE)


def test_a_damaged_cache_is_made_again(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kuhn = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
    child(
        tmp_path, monkeypatch,
        "import sys\nimport numpy as np\n"
        f"np.savez(sys.argv[2], points=np.array({CORNERS.tolist()}), tets=np.array({kuhn})[:, ::-1])\n",
    )  # fmt: skip
    first = fill(CUBE)
    assert first.distance == pytest.approx(0.0, abs=1e-12) and first.lost == pytest.approx(0.0, abs=1e-12)
    assert (first.mesh.volumes > 0).all()
    (kept,) = (own_cache / "pliant" / "tets").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert np.array_equal(fill(CUBE).mesh.tets, first.mesh.tets)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_distance_to_the_cube_is_exact(seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1, 2, (20, 3))
    outside = np.linalg.norm(np.maximum(np.maximum(-x, x - 1), 0), axis=1)
    inside = np.minimum(x, 1 - x).min(axis=1)
    exact = np.where((x > 0).all(axis=1) & (x < 1).all(axis=1), inside, outside)
    assert np.allclose(distance_to(CUBE, x), exact, atol=1e-9)
