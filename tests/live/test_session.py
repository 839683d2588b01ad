"""A live simulation: hands, changes, pace, orders, and what is saved."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.cli.run import run as carry_out
from pliant.geometry.files import PointCloud
from pliant.live import change
from pliant.live.change import apart, fitted, standing
from pliant.live.curves import History
from pliant.live.hand import GRAVITY, SAG, STRONGEST, Hand, with_hand
from pliant.live.orders import ORDERS, obey
from pliant.live.pace import LATE, Pace
from pliant.live.session import Session
from pliant.look.source import from_simulation
from pliant.record import Run
from pliant.scene import Scene
from pliant.simulate.guards import check_start
from pliant.simulate.running import over_at, reopen
from pliant.simulate.simulation import Simulation


def hanging(**values) -> Simulation:
    """A rigid ball in the air, with drag so that it comes to rest."""
    scene = Scene(dt=0.005, contact="ground")
    scene.add(name="ball", model="rigid", shape=dict(kind="ball", radius=0.1, edge=0.1), material=dict(mass_damping=5.0), **values)
    return with_hand(Simulation(scene))


# -- the hand


def test_a_hand_that_carries_a_body_pulls_with_its_weight():
    sim = hanging()
    top = int(np.argmax(sim.points("ball")[:, 2]))
    hand = Hand.grab(sim, top)
    weight = sim.world.model.frames.mass[0] * 9.81
    for _ in range(1500):
        hand.reach()
        sim.step()
    np.testing.assert_allclose(hand.force, [0, 0, weight], atol=1e-3 * weight)
    # and is stretched as its stiffness says
    assert hand.target[2] - sim.points("ball")[top, 2] == pytest.approx(SAG * np.ptp(sim.points("ball"), axis=0).max(), rel=0.01)
    assert hand.stiffness == pytest.approx(weight / (SAG * np.ptp(sim.points("ball"), axis=0).max()), rel=1e-2)
    # let go, it falls freely
    hand.release()
    assert len(sim.world.model.attachments.a) == 0
    before = sim.state.velocity[0].copy()
    sim.step()
    assert sim.state.velocity[0, 2] < before[2] - 0.9 * 9.81 * sim.dt


def test_a_hand_far_away_pulls_only_so_hard():
    sim = hanging()
    hand = Hand.grab(sim, 0)
    hand.move([0.0, 0.0, 1e6])
    hand.reach()
    assert np.linalg.norm(hand.force) == pytest.approx(STRONGEST * sim.world.model.frames.mass[0] * GRAVITY)
    assert hand.rate == 1.0
    for place in ([0, 0], [0, 0, np.nan], "here"):
        with pytest.raises((PliantError, ValueError)):
            hand.move(place)


def test_what_cannot_move_cannot_be_grabbed(scene):
    sim = with_hand(Simulation(scene))
    with pytest.raises(PliantError, match="no point"):
        Hand.grab(sim, len(sim.points()))
    fixed = Scene(dt=0.01)
    fixed.add(name="wall", model="static", shape=dict(kind="box", size=[1, 1, 1]))
    with pytest.raises(PliantError, match="wall cannot be pulled"):
        Hand.grab(with_hand(Simulation(fixed)), 0)


def test_the_point_of_a_hand_changes_nothing_while_it_is_empty(scene):
    with_, without = with_hand(Simulation(scene)), Simulation(scene)
    for _ in range(10):
        with_.step(), without.step()
    np.testing.assert_array_equal(with_.state.x, without.state.x)


# -- changes


def test_a_rebuilt_simulation_goes_on_bit_for_bit(scene):
    one, other = with_hand(Simulation(scene)), with_hand(Simulation(scene))
    for _ in range(12):
        one.step(), other.step()
    other = change.rebuilt(other, other.scene.copy_with())
    for _ in range(5):
        one.step(), other.step()
    for name in ("x", "v", "position", "rotation", "spin"):
        np.testing.assert_array_equal(getattr(one.state, name), getattr(other.state, name))
    assert one.time == other.time and one.state.step == other.state.step


def test_a_dropped_body_falls_from_above_and_moves_nothing_else(scene):
    sim = with_hand(Simulation(scene))
    for _ in range(3):
        sim.step()
    before, top = sim.points(), sim.points()[:, 2].max()
    for k, (shape, kind) in enumerate((("ball", "soft"), ("box", "rigid"), ("torus", "stiff"))):
        body = change.dropped(sim, shape, kind)
        sim = change.rebuilt(sim, sim.scene.copy_with(bodies=[*sim.scene.bodies, body]))
        np.testing.assert_array_equal(sim.points()[: len(before)], before)
        assert sim.points(body.name)[:, 2].min() > top
        top = sim.points(body.name)[:, 2].max()
        assert len(sim.world.model.bodies) == 4 + k
    height = sim.centre(body.name)[2]
    sim.step()
    assert sim.centre(body.name)[2] < height
    with pytest.raises(PliantError, match="no 'bal'.*ball"):
        change.dropped(sim, "bal", "soft")


def test_the_best_rotation_is_found_exactly_when_there_is_one():
    chance = np.random.default_rng(5)
    rest, mass = chance.normal(size=(40, 3)), chance.uniform(0.1, 1.0, 40)
    turn = np.linalg.qr(chance.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    found, c, d = fitted(mass, rest, rest @ turn.T + [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found, turn, atol=1e-12)
    np.testing.assert_allclose(found @ -c + d, [1.0, 2.0, 3.0], atol=1e-12)


def test_a_saved_scene_begins_where_this_one_stands():
    scene = Scene(name="two", dt=0.002, gravity=(0, 0, 0), contact="ground")
    spin = dict(velocity=(0.1, 0.2, 0.3), angular_velocity=(1.0, 2.0, 0.5), rotation=(10, 20, 30))
    scene.add(name="hard", model="rigid", shape=dict(kind="box", size=[0.3, 0.2, 0.1]), position=(1, 0, 0), **spin)
    scene.add(name="soft", shape=dict(kind="box", size=[0.2, 0.2, 0.2], edge=0.1), material=dict(youngs_modulus=1e7), **spin)
    sim = with_hand(Simulation(scene))
    for _ in range(100):
        sim.step()
    again = Simulation(Scene.from_toml(change.as_it_stands(scene, sim).to_toml()))
    np.testing.assert_allclose(again.points("hard"), sim.points("hard"), atol=1e-9)
    np.testing.assert_allclose(again.points("soft"), sim.points("soft"), atol=2e-3)  # it begins undeformed
    for name, before in (("momentum", sim.books().momentum), ("angular_momentum", sim.books().angular_momentum)):
        np.testing.assert_allclose(getattr(again.books(), name), before, rtol=2e-3, atol=1e-6)
    assert standing(sim.scene.bodies[0], sim)["angular_velocity"] != (1.0, 2.0, 0.5)  # a box tumbles


def test_a_saved_scene_whose_bodies_begin_undeformed_can_be_run(scene):
    """The ball is squeezed flat on the box: in its rest shape it would begin inside it."""
    sim = with_hand(Simulation(scene))
    sim.state.x[sim.nodes("ball"), 2] -= 0.03
    given = change.as_it_stands(scene, sim)
    with pytest.raises(PliantError, match="overlap"):
        check_start(Simulation(given))
    free, moved, refused = apart(given)
    assert refused == "" and 0.01 < moved["ball"] < 0.04 and "ground" not in moved
    check_start(Simulation(free))


def test_the_energy_of_a_dropped_body_is_given_not_made(scene):
    sim = with_hand(Simulation(scene))
    for _ in range(3):
        sim.step()
    lost = sim.books().lost
    more = change.rebuilt(sim, sim.scene.copy_with(bodies=[*sim.scene.bodies, change.dropped(sim, "box", "rigid")]))
    assert more.books().total > sim.books().total + 0.01  # it hangs high
    assert more.books().lost == pytest.approx(lost, abs=1e-9)


# -- pace


def test_a_simulation_that_is_ahead_waits_and_one_that_is_late_does_not_catch_up(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pliant.live.pace.time.perf_counter", lambda: now[0])
    pace = Pace()
    pace.begin(1.0)
    now[0] += 0.02
    assert pace.ahead(1.05) == pytest.approx(0.03)
    now[0] += 3.0  # far behind
    assert pace.ahead(1.05) == 0.0
    now[0] += 0.5 * LATE
    assert pace.ahead(1.05 + LATE) == pytest.approx(0.5 * LATE)  # the clock began anew: the three seconds are not made up for
    pace.begin(0.0)
    for k in range(1, 11):
        now[0] += 0.1
        pace.stepped(0.02 * k)
    assert pace.ratio == pytest.approx(0.2) and pace.rate == pytest.approx(10.0)


# -- orders


@pytest.fixture
def session(scene, tmp_path):
    opened = Session(scene, tmp_path / "runs")
    yield opened
    opened.close()
    assert not opened._thread.is_alive()


def test_orders_step_exactly_and_change_what_they_say(session, scene):
    assert obey(session, {"do": "step"})["step"] == 1
    assert obey(session, {"do": "step"})["step"] == 2
    assert session.sim.time == 2 * scene.dt
    obey(session, {"do": "dt", "to": 0.002})
    assert obey(session, {"do": "step"})["step"] == 3
    assert session.sim.time == pytest.approx(2 * scene.dt + 0.002)
    obey(session, {"do": "gravity", "to": [0, 0, 1.5]})
    assert session.sim.world.model.gravity.tolist() == [0, 0, 1.5]
    obey(session, {"do": "friction", "body": "ball", "to": 0.7})
    assert session.sim.world.model.bodies.friction[2] == 0.7
    obey(session, {"do": "stiffness", "body": "ball", "to": 1e5})
    assert session.sim.scene.bodies[2].material.youngs_modulus == 1e5
    obey(session, {"do": "method", "to": "none"})
    assert list(session.sim.contact.methods) == ["none"] and session.sim.state.step == 3
    assert session.sim.world.model.bodies.friction[2] == 0.7  # kept through the change
    obey(session, {"do": "reset"})
    assert session.sim.state.step == 0 and session.sim.dt == scene.dt


def test_bad_orders_are_refused_and_the_simulation_goes_on(session):
    for order in (
        {}, {"do": "fly"}, {"do": 7}, {"do": "dt", "to": -1}, {"do": "dt", "to": "nan"}, {"do": "dt"}, {"do": "dt", "to": 10.0}, {"do": "method", "to": "os:system"},
        {"do": "gravity", "to": [1]}, {"do": "gravity", "to": 3}, {"do": "friction", "body": "nobody", "to": 1}, {"do": "friction", "body": "ball", "to": -1},
        {"do": "stiffness", "body": "box", "to": 1}, {"do": "grab", "point": -1}, {"do": "grab", "point": 1e9}, {"do": "pull", "to": [0, 0, 0]},
        {"do": "drop", "shape": "house", "kind": "soft"}, {"do": "drop"},
    ):  # fmt: skip
        with pytest.raises((PliantError, ValueError, KeyError, TypeError)):
            obey(session, order)
    assert obey(session, {"do": "step"})["step"] == 1
    assert len(ORDERS) >= 15


def test_what_runs_takes_every_step_and_what_is_recorded_is_a_run(session, scene):
    obey(session, {"do": "record"})
    obey(session, {"do": "start"})
    version = session.moment.version
    while session.sim.state.step < 30:
        assert session.next(version, ["speed"]) != b"" or session.sim.state.step < 30
        version = session.moment.version
    obey(session, {"do": "pause"})
    assert session.sim.time == pytest.approx(session.sim.state.step * scene.dt)  # no step was left out
    steps, said = session.sim.state.step, obey(session, {"do": "record"})["say"]
    with Run.open(said.split()[1].rstrip(":")) as run:
        assert run.status == "finished" and run.frames >= 3
        assert len(run.series()["time"]) == steps
        np.testing.assert_allclose(np.diff(run.series()["time"]), scene.dt, rtol=1e-9)
    # it can be resumed, and goes on as the simulation does that was not saved
    resumed, recorder = reopen(said.split()[1].rstrip(":"), duration=session.sim.time + 3 * scene.dt)
    assert carry_out(resumed, recorder).status == "finished" and resumed.state.step == steps + 3
    for _ in range(3):
        session.sim.step()
    np.testing.assert_allclose(resumed.state.x, session.sim.state.x, rtol=0, atol=1e-12)
    said = obey(session, {"do": "save-scene"})["say"]
    assert [b.name for b in Scene.load(said.split()[1].rstrip(":")).bodies] == ["ground", "box", "ball"]
    session.history.take(session.sim, session.sim.step(), elastic=True)
    curves = session.history.curves(session.sim.world.model.bodies.names)
    assert [plot["title"] for plot in curves] == ["contact force", "depth", "energy", "contacts"]
    assert [curve["name"] for curve in curves[2]["curves"]][:3] == ["kinetic", "elastic", "gravity, from its lowest"]


def test_a_step_is_at_most_as_long_as_a_fall_through_the_smallest_body(session):
    longest = np.sqrt(2 * np.ptp(session.sim.points("ball"), axis=0).max() / GRAVITY)
    obey(session, {"do": "dt", "to": 0.99 * longest})
    with pytest.raises(PliantError, match="too long.*Give at most"):
        obey(session, {"do": "dt", "to": 1.01 * longest})
    assert session.sim.dt == 0.99 * longest


def test_a_container_turns_to_glass_once_it_hides_something(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.live.session.LOOK", -1.0)  # at every picture
    scene = Scene(name="case", dt=0.01, contact="none", gravity=(0, 0, 0))
    scene.add(name="case", model="rigid", shape=dict(kind="box", size=[0.4, 0.4, 0.4]))
    scene.add(name="ball", model="rigid", shape=dict(kind="ball", radius=0.05, edge=0.05), position=(0, 0, 0.5), velocity=(0, 0, -50))
    live = Session(scene, tmp_path)
    try:
        assert live.moment.meta["glass"] == [] and live.moment.words["bodies"][0]["glass"] is False
        obey(live, {"do": "step"})
        assert live.moment.meta["glass"] == ["case"]
        obey(live, {"do": "reset"})
        assert live.moment.meta["glass"] == []
    finally:
        live.close()


def test_curves_keep_their_colours_when_others_come():
    def history(*rows):
        made = History()
        for k, forces in enumerate(rows):
            made.steps.append((0.1 * k, 1, 0.0, 1.0, np.nan, 0.0, 0.0))
            made.forces.append(forces)
            for pair in sorted(forces):
                made.order.setdefault(pair, len(made.order))
        return {c["name"]: c["colour"] for c in made.curves(["a", "b", "c"])[0]["curves"]}

    before, after = history({(1, 2): 1.0}), history({(1, 2): 1.0}, {(0, 1): 5.0, (1, 2): 1.0})
    assert before["b – c"] == after["b – c"] != after["a – b"]


def test_a_recording_with_a_body_dropped_into_it_can_be_resumed(session):
    for order in ("step", "record", "step"):
        obey(session, {"do": order})
    obey(session, {"do": "drop", "shape": "box", "kind": "rigid"})
    for order in ("step", "step"):
        obey(session, {"do": order})
    path, time = obey(session, {"do": "record"})["say"].split()[1].rstrip(":"), session.sim.time
    assert over_at(path) is None and over_at(path, duration=time) == time
    resumed, recorder = reopen(path)
    assert resumed.scene.bodies[-1].name == "box 2" and resumed.time == time
    np.testing.assert_array_equal(resumed.points(), session.sim.points())
    resumed.scene.duration = time + 2 * resumed.dt
    assert carry_out(resumed, recorder).status == "finished"
    with Run.open(path) as run:
        assert len(run.points(-1)) == len(session.sim.points()) > len(run.points(0))
        assert run.field("max_displacement", -1).shape == (len(run.points(-1)),)


def test_what_breaks_gets_new_bodies_and_can_no_longer_be_rebuilt(tmp_path):
    scene = Scene(name="tear", dt=0.002, contact="none")
    soft = dict(youngs_modulus=1e3, tear_strain=0.02, density=1000.0)
    shape = dict(kind="box", size=[0.06, 0.06, 0.3], edge=0.03)
    scene.add(name="bar", model="points", shape=shape, material=soft, fixed=[dict(z=(0.12, 1.0))])
    live = Session(scene, tmp_path)
    try:
        obey(live, {"do": "record"})
        epoch = live.epoch
        for _ in range(200):
            obey(live, {"do": "step"})
            if live.epoch != epoch:
                break
        assert live.epoch == epoch + 1 and len(live.moment.words["bodies"]) > 1
        obey(live, {"do": "step"})
        with pytest.raises(PliantError, match="broken into pieces"):
            obey(live, {"do": "dt", "to": 0.001})
        path = obey(live, {"do": "record"})["say"].split()[1].rstrip(":")
        np.testing.assert_array_equal(reopen(path)[0].points(), live.sim.points())
    finally:
        live.close()


def test_a_cloud_keeps_its_normals_with_a_hand_in_the_scene():
    chance = np.random.default_rng(4)
    points = chance.normal(size=(400, 3))
    points /= 10.0 * np.linalg.norm(points, axis=1, keepdims=True)
    scene = Scene(dt=0.002, contact="quasi-rigid")
    scene.add(name="scan", model="quasi-rigid", shape=PointCloud(points, 10.0 * points), material=dict(youngs_modulus=1e6), angular_velocity=(0, 5, 0))
    sim = with_hand(Simulation(scene))
    for _ in range(10):
        sim.step()
    picture = from_simulation(sim)
    outwards = picture.points - sim.centre("scan")
    assert len(picture.surfels) == 400 and len(picture.triangles) == 0
    np.testing.assert_allclose(picture.point_fields["normal"], 10.0 * outwards, atol=0.02)  # they turn with the body
    assert np.pi * (picture.point_fields["radius"] ** 2).sum() == pytest.approx(4 * np.pi * 0.01, rel=0.2)
