"""What is done by hand in a live simulation: done once, answered at once, and told by the run that was recorded."""

from __future__ import annotations

import threading
import time
from html import escape

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.cli.terminal import run_facts, run_text
from pliant.cli.view import busy_words
from pliant.live import change, orders
from pliant.live.curves import run_curves
from pliant.live.orders import Desk, obey
from pliant.live.pace import PAUSE, Compiling
from pliant.live.session import Session
from pliant.look.report import words
from pliant.record import Run
from pliant.record.orders import Order, from_lowest
from pliant.scene import Scene


@pytest.fixture
def session(scene, tmp_path):
    opened = Session(scene, tmp_path / "runs")
    yield opened
    assert opened.close()


def recorded(session) -> str:
    return obey(session, {"do": "record"})["say"].split()[1].rstrip(":")


def test_a_recording_tells_what_was_changed_by_hand(session):
    obey(session, {"do": "friction", "body": "box", "to": 0.9})  # before the recording
    obey(session, {"do": "record"})
    do = lambda *names, **more: [obey(session, {"do": name, **more}) for name in names]
    do("step", "step")
    do("gravity", to=[0, 0, -1.5])
    do("stiffness", body="ball", to=2e5)
    do("drop", shape="box", kind="rigid", size=0.05)
    top = int(np.argmax(session.sim.points("ball")[:, 2])) + int(session.sim.world.model.bodies.point_start[2])
    do("grab", point=top)
    do("pull", to=[0.0, 0.0, 1.0])
    do("step", "step")
    strongest = session.hand.peak
    do("release", "step")
    do("dt", to=0.002)
    do("method", to="none")
    with Run.open(recorded(session)) as run:
        orders = run.orders
        assert [order.what for order in orders] == [
            "friction of box", "gravity", "Young's modulus of ball", "body dropped", "pull at ball", "dt", "contact method",
        ]  # fmt: skip
        assert [order.early for order in orders] == [True] + 6 * [False]
        assert orders[1].time == pytest.approx(0.008) and orders[1].change == "(0, 0, -9.81) m/s² → (0, 0, -1.5) m/s²"
        assert orders[4].until == pytest.approx(0.016) and strongest > 0 and f"at most {strongest:.3g} N" in orders[4].after
        assert (orders[5].change, orders[6].change) == ("0.004 s → 0.002 s", "ground → none")
        assert run.series()["pull"].max() == strongest and (run.series()["pull"] > 0).sum() == 2  # steps with a hand in them
        assert "pull of the hand" in [plot["title"] for plot in run_curves(run)]
        # the report says so
        assert "6 things were changed by hand" in words.lead(run)
        table = words.changed(run)
        assert all(escape(order.what) in table for order in orders) and "Before the recording began" in table
        assert "none from t = 0.02 s" in words.summary(run) and "(0, 0, -1.5) m/s² from t = 0.008 s" in words.summary(run)
        assert "box 2 (dropped while it ran)" in words.bodies(run)
        assert "cannot be repeated" in words.again(run) and "pliant run" not in words.again(run)
        path = run.path
    facts = run_facts(path)
    assert [order["what"] for order in facts["orders"]] == [order.what for order in orders] and "Changed by hand" in run_text(facts)


def test_a_run_that_nobody_touched_can_be_done_again(run_file):
    with Run.open(run_file) as run:
        assert run.orders == [] and words.changed(run) == "" and "pliant run" in words.again(run)


def answered(counter, order):
    while (said := counter.take(order)).get("queued"):
        time.sleep(0.01)
    return said


def test_an_order_that_comes_twice_is_done_once(session, monkeypatch):
    monkeypatch.setattr(orders, "SOON", 0.05)
    counter, held = Desk(session), threading.Event()
    session.later(lambda: {"held": held.wait(30)}, "something long")
    drop = {"do": "drop", "shape": "ball", "kind": "rigid", "id": "page 1"}
    assert [counter.take(drop) for _ in range(3)] == 3 * [{"queued": True}]
    told = session.busy()
    assert told["doing"] == "something long" and told["waiting"] == ["drop rigid ball"]
    assert busy_words(told | {"seconds": 12.0}) == "Something long, 10 s so far; queued: drop rigid ball."
    held.set()
    said = answered(counter, drop)
    assert "ball 2" in said["say"] and counter.take(drop) == said
    assert [b.name for b in session.sim.scene.bodies].count("ball 2") == 1 and len(session.sim.scene.bodies) == 4
    assert "ball 3" in answered(counter, drop | {"id": "page 2"})["say"]  # another order
    with pytest.raises(PliantError, match="no order"):
        counter.take({"do": "fly", "id": "page 3"})
    assert busy_words(session.busy()) == ""


def test_a_session_that_is_held_up_ends_at_once_and_its_recording_is_whole(scene, tmp_path):
    live, held = Session(scene, tmp_path), threading.Event()
    obey(live, {"do": "record"})
    for _ in range(10):
        obey(live, {"do": "step"})
    path = live.tape.recorder.path
    live.later(lambda: {"held": held.wait(60)})
    began = time.monotonic()
    assert live.close(0.2) is False and time.monotonic() - began < 20.0
    with Run.open(path) as run:
        assert run.status == "interrupted" and len(run.series()["time"]) == 10
    held.set()  # what held it up is over: nothing more is written
    live._thread.join(30)
    with Run.open(path) as run:
        assert run.status == "interrupted"


def test_what_is_compiled_is_timed_and_what_is_read_from_disk_is_not(monkeypatch):
    from numba import njit

    now = [100.0]
    monkeypatch.setattr("pliant.live.pace.time.monotonic", lambda: now[0])
    watch = Compiling()
    try:
        assert watch.seconds is None
        seen = []
        watch.on_start(None)
        now[0] += 7.0
        seen.append(watch.seconds)
        watch.on_end(None)
        njit(lambda x: x + 1)(2)  # numba tells of a kernel that it compiles
        now[0] += 0.2
        seen.append(watch.seconds)
        now[0] += PAUSE
        assert seen == [7.0, pytest.approx(7.2)] and watch.seconds is None
    finally:
        watch.close()


def test_gravity_is_counted_from_its_lowest_and_anew_after_each_change():
    times, energy = np.arange(6.0), np.array([5.0, 4.0, 3.0, 30.0, 20.0, np.nan])
    np.testing.assert_allclose(from_lowest(times, energy, []), [2, 1, 0, 27, 17, np.nan])
    np.testing.assert_allclose(from_lowest(times, energy, [Order(2.0, "gravity"), Order(1.0, "dt")]), [2, 1, 0, 10, 0, np.nan])


def test_the_past_of_a_curve_stays_when_gravity_changes(session):
    for _ in range(4):
        obey(session, {"do": "step"})
    gravity = lambda: next(c["y"] for p in session.history.curves(["g", "box", "ball"], session.log) if p["title"] == "energy" for c in p["curves"] if "gravity" in c["name"])
    before = gravity()
    obey(session, {"do": "gravity", "to": [0, 0, -100.0]})
    obey(session, {"do": "step"})
    np.testing.assert_array_equal(gravity()[:4], before)


def test_the_size_of_a_dropped_body_can_be_chosen(session):
    sim = session.sim
    usual = change.usual_size(sim)
    assert change.dropped(sim, "ball", "rigid").shape["radius"] == pytest.approx(usual / 2)
    assert change.dropped(sim, "box", "rigid", 0.07).shape["size"] == [0.07, 0.07, 0.07]
    for wrong in (-1.0, 0.0, 100 * usual, np.nan):
        with pytest.raises(PliantError, match="give one from"):
            change.dropped(sim, "ball", "soft", wrong)


def test_a_saved_scene_has_the_name_of_its_file(session, tmp_path):
    said = obey(session, {"do": "save-scene"})["say"]
    assert f"pliant run {tmp_path / 'runs' / 'small-live.toml'}" in said
    assert Scene.load(tmp_path / "runs" / "small-live.toml").name == "small-live"
    obey(session, {"do": "save-scene"})
    assert Scene.load(tmp_path / "runs" / "small-live-2.toml").name == "small-live-2"
