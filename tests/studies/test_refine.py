"""Refinement: orders and limits of sequences that are known, a bounce along steps and elements, a stretch of a run, chaos."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import Scene, refine
from pliant.base import PliantError
from pliant.cli import app
from pliant.shop import scenes
from pliant.simulate import running
from pliant.studies.refine import CONVERGED, Limit, Row, limit_of


@pytest.mark.parametrize("order", [0.8, 1.0, 2.0])
def test_the_limit_of_a_power_is_found(order):
    found = limit_of([5.0 + 0.3 * (0.5**k) ** order for k in range(3)])
    assert found.settled and found.value == pytest.approx(5.0, rel=1e-12) and found.order == pytest.approx(order, rel=1e-9)
    assert found.first == pytest.approx(0.3 / 5.3) and found.last == pytest.approx(0.3 * 0.25**order / 5.3)


def test_sequences_without_a_limit_have_none():
    assert not limit_of([1.0, 1.2, 1.5]).settled and not limit_of([1.0, 1.2, 1.0]).settled and not limit_of([1.0, np.nan]).settled
    assert limit_of([1.0, 1.2, 1.5]).last == pytest.approx(0.2)
    still, two, lucky = limit_of([2.0, 3.001, 3.0]), limit_of([3.0, 2.0]), limit_of([2.0, 3.0, 3.001])
    assert still.settled and still.value == 3.0 and still.last == pytest.approx(0.001 / 3.001)
    assert lucky.order > 9.0 and lucky.value == pytest.approx(3.001 + 0.001 / 3), "no order above 2 is relied on"
    assert two.assumed and two.value == pytest.approx(1.0) and limit_of([0.0, 0.0, 0.0]).last == 0.0


def test_changes_that_grow_are_no_limit_however_small_they_are():
    """A column that is let go: at 10, 5 and 2.5 ms all of its swing is lost, at 0.3 ms 0.109 J."""
    grows = [0.1996, 0.1995, 0.1990]
    assert not limit_of(grows).settled and "more and more, by 0.3% with" in Row("energy", "dt", grows, limit_of(grows)).verdict
    assert limit_of([0.1996, 0.1990, 0.1993]).settled, "to and fro"
    assert limit_of([0.19960, 0.19959, 0.19957]).settled, "a change that is told as 0.0 %"
    slow = limit_of([1.0, 1.004, 1.007])  # by three quarters with each halving: three times as far again
    assert slow.settled and slow.value == 1.007 and slow.last == pytest.approx(3 * 0.003 / 1.007) and slow.order < 0.5
    assert not limit_of([1.0, 1.004, 1.0079]).settled, "39 times as far again"


def test_what_disturbances_change_as_much_as_steps_do_is_chaotic():
    values = [1.0, 1.2, 1.0]
    wild, tame = (Row("peak", "dt", values, limit_of(values), [1.0, 1.0 - by, 1.03]) for by in (0.12, 0.0))
    assert wild.spread == pytest.approx(0.15) and "chaotic: 0.88 to 1.03 N in 3 runs with tiny disturbances" in wild.verdict
    assert tame.verdict.startswith("not converged")
    assert Row("peak", "dt", values, limit_of(values), [1.0, 1.3, 1.03, 1.003]).verdict.startswith("not converged"), "in proportion"
    assert Row("peak", "dt", values, Limit(1.0, 1.0, 0.3, 0.2 * CONVERGED, True, False)).verdict.startswith("converged to 1.0%; scene off by 30")


def thrown(dt=2e-3):
    scene = Scene(name="thrown", dt=dt, duration=0.04, gravity=(0, 0, 0), contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    ball = dict(kind="ball", radius=0.05, edge=0.04)
    soft = dict(youngs_modulus=1e5, poisson_ratio=0.3, stiffness_damping=0.001)
    scene.add(name="ball", shape=ball, position=(0, 0, 0.0505), velocity=(0, 0, -1), material=soft)
    return scene


def test_a_bounce_tends_to_what_shorter_steps_give(tmp_path):
    """Implicit steps are of first order, and the estimate is nearer to a run at an eighth of dt than the finest run that it is made from."""
    found = refine(thrown(), measures=["peak", "energy"])
    row = found.row("peak")
    assert [round(level.dt, 9) for level in found.levels] == [2e-3, 1e-3, 5e-4, 2e-3] and found.levels[-1].edge == 0.5
    assert set(found.pair) == {"ground", "ball"} and 0.5 < row.limit.order < 1.6
    finest = refine(thrown(2.5e-4), dts=1, edges=1).levels[0].values["peak"]
    assert abs(row.limit.value - finest) < abs(row.values[-1] - finest) < abs(row.values[0] - finest)
    assert found.row("peak", "edge").values[0] == row.values[0] and found.row("peak", "edge").limit.assumed
    assert found.plot(tmp_path / "refined.png").stat().st_size > 10_000
    with pytest.raises(PliantError, match="no measure 'peek'"):
        refine(thrown(), measures=["peek"])


def test_friction_tends_to_what_theory_says():
    """A rigid block slides up a slope: friction takes mu N times the way, and steps err with their first power."""
    scene = scenes.make("slope", dt=0.01, duration=0.3)
    found = refine(scene, edges=1, measures=["force", "energy"]).row("energy")
    slope, g = np.radians(10.0), 9.81
    brake, normal = g * (np.sin(slope) + 0.3 * np.cos(slope)), 16.0 * g * np.cos(slope)
    taken = 0.3 * normal * (3.0 * 0.3 - 0.5 * brake * 0.3**2)
    assert found.limit.order == pytest.approx(1.0, abs=0.05) and found.limit.value == pytest.approx(taken, rel=1e-4)
    off = abs(found.values[-1] / taken - 1.0)
    assert found.limit.last == pytest.approx(off, rel=0.05) and off > 1e-3, "converged to what it is"


def test_a_run_that_does_not_finish_leaves_what_the_others_say(monkeypatch):
    """As with springs of given stiffness (`bar-on-cube`): between lighter nodes they are too stiff for the step of the scene."""
    whole, runs = running.run, []

    def run(*given):
        runs.append(whole(*given))
        return replace(runs[-1], status="failed", message="it flew apart") if len(runs) == 3 else runs[-1]

    monkeypatch.setattr(running, "run", run)
    found = refine(thrown(), dts=2, measures=["peak"])
    assert [(row.measure, row.along) for row in found.rows] == [("peak", "dt")] and len(found.levels) == 2
    assert found.notes == ["The run at dt = 0.002 s, edges 0.5, did not finish: it flew apart"]
    with pytest.raises(PliantError, match="did not finish"):  # without the first there is nothing to hold others against
        runs[:] = [None, None]
        refine(thrown(), dts=2, measures=["peak"])


def test_what_runs_say_against_themselves_is_told_with_the_table(monkeypatch):
    """Numbers of a run in which contact made energy are no refinement: its sentence is among the notes."""
    whole = running.run
    monkeypatch.setattr(running, "run", lambda *given: (made := whole(*given), made.wrong.append("Contact gave back more than it took: x."))[0])
    found = refine(thrown(), dts=2, edges=1, measures=["peak"])
    assert found.notes == [f"At dt = {dt} s, edges 1: Contact gave back more than it took: x." for dt in (0.002, 0.001)]


def test_a_stretch_of_a_run_begins_from_its_checkpoint(tmp_path):
    """At the dt of the run it gives the numbers of the run; elements stay what they were."""
    sim, recorder = running.start(thrown(), tmp_path / "whole", every=4e-3, checkpoint_every=1)
    running.run(sim, recorder)
    found = refine(tmp_path / "whole.vtkhdf", dts=2, since=0.008, measures=["peak", "area"])
    assert found.between == (pytest.approx(0.008), pytest.approx(0.04)) and "begins from a state" in found.notes[0]
    whole = refine(thrown(), dts=1, edges=1, pair=found.pair).levels[0].values
    assert found.levels[0].values["peak"] == pytest.approx(whole["peak"], rel=1e-9)
    again = refine(thrown(), dts=1, edges=1, since=0.008).levels[0].values
    assert again["area"] == pytest.approx(found.levels[0].values["area"], rel=1e-9)


def test_the_command_prints_the_table_and_says_by_its_code_whether_all_has_settled(tmp_path):
    (tmp_path / "thrown.toml").write_text(thrown().to_toml())
    given = ["refine", str(tmp_path / "thrown.toml"), "--edges", "1", "--measures", "peak", "--out", str(tmp_path / "plot.png")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "peak (N)" in done.output and "Wrote" in done.output and (tmp_path / "plot.png").exists()
    facts = json.loads(CliRunner().invoke(app, [*given, "--dts", "2", "--json"]).output)
    assert facts["rows"][0]["measure"] == "peak" and facts["rows"][0]["limit"]["assumed"] and len(facts["levels"]) == 2
