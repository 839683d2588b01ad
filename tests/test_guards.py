"""What stops a run that has gone wrong names body, element, step and a way out; what is merely fast or squeezed goes on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.record import Run
from pliant.simulate import running
from pliant.simulate.guards import Guard, check_start

BALL = dict(kind="ball", radius=0.1, edge=0.06)
CUBE = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)


def on_ground(height, **pair):
    scene = Scene(dt=0.005, duration=0.1)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape=BALL, position=(0, 0, height))
    if pair:
        scene.pair("ball", "ground", **pair)
    return scene


def vector(text):
    return np.array([float(x) for x in re.search(r"move \w+ by \(([^)]*)\)", text)[1].split(",")])


# -- overlap at the start


@pytest.mark.parametrize("depth", [0.08, 0.011])
def test_deep_overlap_is_refused_with_its_depth_and_a_cure_that_works(depth):
    with pytest.raises(PliantError, match=rf"ball and ground overlap by {depth:.3g} m at the start.*contact = false") as told:
        check_start(on_ground(0.1 - depth).simulate())
    shift = vector(str(told.value))
    assert np.allclose(shift, (0, 0, depth))
    assert check_start(on_ground(0.1 - depth + 1.01 * shift[2]).simulate()) == []


def test_shallow_overlap_is_noted():
    (note,) = check_start(on_ground(0.099).simulate())
    assert "ball and ground overlap by 0.001 m" in note and np.allclose(vector(note), (0, 0, 0.001))


@pytest.mark.parametrize("height", [0.1, 0.1 + 1e-12, 0.5])
def test_touching_is_not_overlap(height):
    assert check_start(on_ground(height).simulate()) == []


def test_a_pair_without_contact_may_overlap():
    assert check_start(on_ground(0.02, contact=False).simulate()) == []


def test_every_overlapping_pair_is_found_and_the_movable_body_is_to_move():
    scene = Scene()
    scene.add(name="table", shape=CUBE, model="static")
    scene.add(name="a", shape=BALL, position=(0, 0, 0.1975))
    scene.add(name="b", shape=dict(CUBE, edge=0.2), model="rigid", position=(0.199, 0, 0))
    notes = check_start(scene.simulate())
    assert len(notes) == 2
    assert "move a by (0, 0, 0.0025)" in " ".join(notes)
    assert "b and table overlap by 0.001 m" in " ".join(notes) and "move b by (0.001, 0, 0)" in " ".join(notes)


def test_a_body_inside_another_is_refused():
    scene = Scene()
    scene.add(name="shell", shape=dict(kind="ball", radius=0.3, edge=0.1), model="rigid")
    scene.add(name="pea", shape=dict(kind="ball", radius=0.02, edge=0.02), position=(0.01, 0, 0))
    with pytest.raises(PliantError, match="(pea and shell|shell and pea) overlap"):
        check_start(scene.simulate())


# -- inverted elements


def crushed(depth, back=False, law="corotated"):
    """A cube whose upper side is driven down by `depth` (0.2: flat), and up again."""
    scene = Scene(dt=0.01, duration=0.2, gravity=(0, 0, 0), contact="none")
    shift = dict(times=[0, 0.1, 0.2], values=[[0, 0, 0], [0, 0, -depth], [0, 0, 0 if back else -depth]])
    held = dict(fixed=[dict(side="-z")], motions=[dict(where=dict(side="+z"), shift=shift)])
    scene.add(name="cube", shape=CUBE, **held, integrator="implicit", material=dict(law=law))
    return scene


def test_elements_that_stay_inverted_stop_the_run_and_the_last_frame_shows_them(tmp_path):
    outcome = running.run(*running.start(crushed(0.3), tmp_path / "run", every=0.01))
    assert outcome.status == "failed"
    found = re.search(r"(\d+) of (\d+) elements of cube were inverted \(first: (\d+)\) at t = ([\d.]+) s, step (\d+)", outcome.message)
    bad, count, first, time, step = (float(x) for x in found.groups())
    with Run.open(outcome.path) as run:
        assert run.status == "failed" and run.message == outcome.message
        volume = run.field("det_F", -1)
        assert len(volume) == count and (volume <= 0).sum() == bad and np.flatnonzero(volume <= 0)[0] == first
        assert run.times[-1] == pytest.approx(time) and run.steps[-1] == step
        assert (run.field("det_F", -3) > 0).mean() > 0.95, "it should have stopped when many elements stayed inverted"


@pytest.mark.parametrize("law", ["corotated", "neo-hookean"])
def test_nobody_is_advised_to_take_the_law_that_is_there(law, tmp_path):
    outcome = running.run(*running.start(crushed(0.3, law=law), tmp_path / "run", every=0.01))
    assert "elements of cube were inverted" in outcome.message
    assert ('a finer mesh or law = "neo-hookean"' in outcome.message) == (law == "corotated")


def test_a_squeeze_without_inversion_is_not_mentioned(tmp_path):
    outcome = running.run(*running.start(crushed(0.1, back=True), tmp_path / "run", every=0.01))
    assert outcome.status == "finished" and not any("inverted" in note for note in outcome.notes)


def test_a_passing_inversion_is_noted_once_with_its_worst_moment(tmp_path):
    outcome = running.run(*running.start(crushed(0.22, back=True), tmp_path / "run", every=0.05))
    assert outcome.status == "finished"
    (note,) = [note for note in outcome.notes if "inverted" in note]
    assert "elements of cube" in note and "t = 0.1 s" in note and "at the last frame all have turned back" in note
    outcome = running.run(*running.start(crushed(0.22), tmp_path / "held", every=0.05))
    (note,) = [note for note in outcome.notes if "inverted" in note]
    with Run.open(outcome.path) as run:
        assert f"; {np.count_nonzero(run.field('det_F', -1) <= 0)} are at the last frame" in note


# -- runaway


def test_a_node_that_leaves_its_body_stops_the_run(tmp_path):
    scene = Scene(dt=0.005, duration=0.1, contact="none")
    scene.add(name="still", shape=CUBE, position=(1, 0, 0))
    scene.add(name="cube", shape=CUBE, loads=[dict(value=(1e7, 0, 0), where=dict(ids=[5]))], integrator="implicit")
    outcome = running.run(*running.start(scene, tmp_path / "run"))
    assert outcome.status == "failed"
    assert re.search(r"node 5 of body 'cube' runs away.* in step 1 .*smaller dt", outcome.message)
    with Run.open(outcome.path) as run:
        assert run.status == "failed" and run.frames == 1 and run.state().meta["step"] == 0


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_a_body_kicked_away_stops_the_run(model):
    scene = Scene(dt=0.005, contact="none")
    scene.add(name="cube", shape=CUBE, model=model, velocity=(1, 0, 0))
    sim = scene.simulate()
    guard = Guard(sim)
    sim.step()
    guard.after_step(sim.dt)
    (sim.state.velocity if model == "rigid" else sim.state.v)[:] = (0, 3000.0, 0)
    with pytest.raises(PliantError, match="body 'cube' runs away"):
        guard.after_step(sim.dt)


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_what_is_small_and_fast_or_falls_far_is_no_alarm(model):
    """A pea that falls for two seconds and a bullet move many times their size in a step."""
    pea = dict(kind="ball", radius=0.0005, edge=0.0005)
    scene = Scene(dt=0.01, duration=2.0, contact="none")
    scene.add(name="pea", shape=pea, model=model)
    scene.add(name="bullet", shape=pea, model=model, position=(0, 1, 0), velocity=(800, 0, 0), angular_velocity=(0, 0, 50))
    sim = scene.simulate(dt=0.01)
    guard = Guard(sim)
    for _ in range(20):
        sim.step(0.1 if model == "rigid" else None)
        guard.after_step(sim.report.dt)
    assert np.linalg.norm(sim.centre("pea")) > (19 if model == "rigid" else 0.1)


def test_a_frame_that_spins_into_nan_stops_the_run():
    scene = Scene(dt=0.005, contact="none")
    scene.add(name="top", shape=CUBE, model="rigid")
    sim = scene.simulate()
    guard = Guard(sim)
    sim.step()
    sim.state.rotation[0] = np.nan
    with pytest.raises(PliantError, match="'top'"):
        guard.after_step(sim.dt)
