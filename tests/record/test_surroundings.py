"""Whatever surrounds a run: folders with spaces, accents and brackets, a clock that is set back, pipes and links in place of files."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pliant import PliantError, Scene
from pliant.cli import app
from pliant.geometry.files import check_there
from pliant.record import Run
from pliant.simulate import running

FOLDER = "two words, 50 % of scène [bold][/x]"  # folder and subfolder: to rich, that is markup which does not match
BODY = "box [red][/x]"


def falling() -> Scene:
    scene = Scene(dt=0.005, duration=0.05, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name=BODY, shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), model="rigid", position=(0, 0, 0.06))
    return scene


def test_folders_with_spaces_accents_and_brackets(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "a scene.toml").write_text(falling().to_toml())
    for given in (
        ["run", str(folder / "a scene.toml"), "--no-pictures", "--out", str(folder / "a run")],
        ["info", str(folder / "a run.vtkhdf")],
        ["resume", str(folder / "a run.vtkhdf")],
        ["export", str(folder / "a run.vtkhdf"), "--to", "vtu", "--out", str(folder / "a frame")],
        ["contacts", str(folder / "a run.vtkhdf"), "--to", "csv", "--out", str(folder / "a table.csv")],
    ):
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, (given, done.output)
        whole = given[0] == "resume" or FOLDER in done.output.replace("\n", "")  # nothing was taken for a style
        assert whole, (given, done.output)
    assert BODY in CliRunner().invoke(app, ["contacts", str(folder / "a run.vtkhdf")]).output
    assert {Path(each).name for each in folder.iterdir()} >= {"a run.vtkhdf", "a scene.toml", "a table.csv"}


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, monkeypatch):
    running.run(*running.start(falling(), tmp_path / "true"))
    back = itertools.count(2_000_000_000, -3600)  # [s] an hour back at every look
    monkeypatch.setattr(time, "time", lambda: float(next(back)))
    assert running.run(*running.start(falling(), tmp_path / "back")).steps == 10
    with Run.open(tmp_path / "true") as run, Run.open(tmp_path / "back") as other:
        assert other.status == "finished"
        assert (other.points(-1) == run.points(-1)).all() and len(other.times) == len(run.times)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes among the files of this system")
@pytest.mark.parametrize("name", ["run.vtkhdf", "run.journal", "scene.toml", "mesh.stl"])
def test_a_pipe_is_refused_and_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    read = {".toml": Scene.load, ".stl": check_there}.get((tmp_path / name).suffix, Run.open)
    with pytest.raises(PliantError, match="not a file but a device"):
        read(tmp_path / name)


def test_links_that_lead_nowhere_and_files_without_content(tmp_path):
    (tmp_path / "loop.stl").symlink_to(tmp_path / "loop.stl")
    (tmp_path / "empty.stl").touch()
    for name, words in (("loop.stl", "a link that leads to no file"), ("empty.stl", "it has 0 bytes")):
        with pytest.raises(PliantError, match=words):
            check_there(tmp_path / name)
        (tmp_path / "scene.toml").write_text(f'[[bodies]]\nname = "a"\nmodel = "rigid"\nshape = {{ file = "{name}" }}\n')
        with pytest.raises(PliantError, match=words):
            Scene.load(tmp_path / "scene.toml").simulate()


def test_a_run_without_frames_says_so(tmp_path):
    running.start(falling(), tmp_path / "run")[1].abandon()
    with Run.open(tmp_path / "run") as run, pytest.raises(PliantError, match="has no frames: the run ended before its first one"):
        run.points(-1)
