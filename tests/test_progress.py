"""What a run says while it goes on, and at its end of weights."""

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.cli import bars
from pliant.cli.exporting import _view
from pliant.cli.terminal import OFTEN_CUT, experiments_bar, progress_bar, weight_rows, weights
from pliant.shop.reproduce import crew
from pliant.simulate.running import Progress
from pliant.simulate.verdicts import Cut


def test_a_run_that_becomes_slow_says_so(monkeypatch, capsys):
    """A line every minute, the time left by the pace of now, and once why: ten seconds for a tenth at first, then minutes for a thousandth."""
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    cuts = {}
    with progress_bar() as show:
        for time, wall in [(0.0, 0.0), (0.1, 10.0), (0.2, 20.0), (0.201, 50.0), (0.202, 90.0), (0.203, 160.0), (0.204, 230.0)]:
            now[0] = wall
            if time > 0.2:
                cuts = {("igea", "bunny"): Cut(OFTEN_CUT, 0.2, "")}
            show(Progress(time, 1.0, 7, 3, 1e-3, cuts))
    lines = capsys.readouterr().err.strip().split("\n")
    left = [int(line.split("about ")[1].split(" s left")[0]) for line in lines if "s left" in line]
    assert left[:2] == [90, 80] and left[-1] > 10_000
    assert sum("igea and bunny would get too deep" in line for line in lines) == 1
    assert sum("cut short 10 times" in line for line in lines) == 3  # 90, 160 and 230 s


def test_experiments_tell_once_how_long_the_rest_will_take(monkeypatch, capsys, tmp_path):
    """Two estimates stood in one line, "about 180 minutes left, about 55203 s left"."""
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    todo = crew.jobs({"thesis": ["T2", "T4"]}, tmp_path, quick=False)
    times = crew.Times(todo, 1)
    with experiments_bar(times) as show:
        for now[0], part in ((0.0, 0.0), (70.0, 0.3), (140.0, 0.6)):
            times.tell(("thesis", "T4"), part)
            show(False)
    lines = capsys.readouterr().err.strip().split("\n")
    assert lines and all(line.count(" left") <= 1 and "of 2 ended" in line for line in lines) and "thesis T4 60 %" in lines[-1]
    assert " s left" in lines[-1]


def test_weights_and_what_is_carried():
    scene = Scene(dt=0.005)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 0.1), material=dict(density=500.0))
    sim = scene.simulate()
    assert weights(sim)["carried"] == 0.0
    for _ in range(20):
        sim.step()
    found = weights(sim)
    assert found["bodies"] == {"ball": pytest.approx(9.81 * 500.0 * 4.0 / 3.0 * np.pi * 1e-3, rel=0.05)}
    assert found["carried"] == pytest.approx(found["all"], rel=1e-3)
    assert [name for name, _ in weight_rows(found)] == ["weight (N)", "carried (N)"]


def test_where_pictures_are_taken_from():
    assert _view("30,-20") == (30.0, -20.0) and _view(None) is None
    with pytest.raises(PliantError, match="azimuth"):
        _view("below")


def test_what_fixed_points_hold_is_carried():
    """A block glued to its place hangs from it, though it touches nothing."""
    scene = Scene(dt=0.01, contact="patch")
    scene.add(
        name="block", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05), fixed=[dict(side="+z")],
        material=dict(youngs_modulus=1e6, density=1000.0, stiffness_damping=0.05),
    )  # fmt: skip
    sim = scene.simulate()
    for _ in range(60):
        sim.step()
    found = weights(sim)
    assert found["all"] == pytest.approx(9.81, rel=1e-6) and found["carried"] == pytest.approx(9.81, rel=1e-2)
