"""Whatever surrounds a run: folders with spaces and accents, a clock that is set back."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from typer.testing import CliRunner

from pliant import Scene
from pliant.cli import app
from pliant.record import Run
from pliant.simulate import running

FOLDER = "two words, 50 % of scène"


def falling() -> Scene:
    scene = Scene(dt=0.005, duration=0.05, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), model="rigid", position=(0, 0, 0.06))
    return scene


def test_folders_with_spaces_and_accents(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir()
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
    assert {Path(each).name for each in folder.iterdir()} >= {"a run.vtkhdf", "a scene.toml", "a table.csv"}


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, monkeypatch):
    running.run(*running.start(falling(), tmp_path / "true"))
    back = itertools.count(2_000_000_000, -3600)  # [s] an hour back at every look
    monkeypatch.setattr(time, "time", lambda: float(next(back)))
    assert running.run(*running.start(falling(), tmp_path / "back")).steps == 10
    with Run.open(tmp_path / "true") as run, Run.open(tmp_path / "back") as other:
        assert other.status == "finished"
        assert (other.points(-1) == run.points(-1)).all() and len(other.times) == len(run.times)
