"""Bodies at rest sleep: what wakes them, what stays reported, and that a resumed run has the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.live.hand import Hand, with_hand
from pliant.model import State
from pliant.record.snapshot import freeze, thaw
from pliant.simulate.simulation import Simulation

METHODS = ["patch", "noniterative"]
EDGE, DT = 0.1, 0.01
WEIGHT = 1000.0 * EDGE**3 * 9.81
STACKS = {"patch": ((0.0, 0.0, 0.05), (0.0, 0.0, 0.15)), "noniterative": ((0.0, 0.0, 0.05), (0.3, 0.0, 0.05))}  # whose stacks tremble on
BOX = {"kind": "box", "size": (EDGE, EDGE, EDGE)}


def boxes(method: str = "patch", places: tuple[tuple[float, ...], ...] | None = None, **scene: object) -> Scene:
    """Rigid boxes on a plane."""
    places = STACKS.get(method, ()) if places is None else places
    out = Scene(dt=DT, contact=method, **{"sleep": True, **scene})  # type: ignore[arg-type]
    out.add(name="ground", shape="plane", model="static", friction=0.5)
    for i, place in enumerate(places):
        out.add(name=f"box{i}", shape=BOX, position=place, model="rigid", friction=0.5, material={"density": 1000.0})
    return out


def slept(scene: Scene, bodies: int = 2, most: float = 2.0) -> Simulation:
    """Run until so many sleep."""
    sim = scene.simulate()
    while len(sim.asleep) < bodies and sim.time < most:
        sim.step()
    assert len(sim.asleep) == bodies, f"only {sim.asleep} sleep after {sim.time} s"
    return sim


@pytest.fixture(scope="module", params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def same(a: State, b: State) -> bool:
    """Whether all arrays of two states have the same bits."""
    one, other = freeze(a)[0], freeze(b)[0]
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_sleeps_and_forces_stay(method: str) -> None:
    """Nothing moves, and the ground goes on to carry what it would carry awake."""
    sim, awake = slept(boxes(method)), boxes(method, sleep=False).simulate()
    where = sim.state.position.copy()
    sim.run(until=1.0)
    awake.run(until=1.0)
    assert sim.asleep == ["box0", "box1"] and np.array_equal(where, sim.state.position)
    assert not sim.state.velocity.any() and not sim.state.spin.any()
    for body in ("ground", "box0", "box1"):
        force = [each.contacts(body).total_force for each in (sim, awake)]
        assert np.abs(force[0] - force[1]).max() <= 1e-6 * WEIGHT
    assert sim.contacts("ground").total_force[2] == pytest.approx(-2 * WEIGHT, rel=1e-6)
    told = next(pair for pair in sim.books().pairs if {pair.a, pair.b} == {"ground", "box0"})
    assert told.touches == 1 and told.last == pytest.approx(sim.time)


@pytest.mark.slow
def test_a_step_of_another_length_reports_the_same_force(method: str) -> None:
    sim = slept(boxes(method))
    force = sim.contacts("box0", "ground").total_force
    sim.step(0.3 * DT)
    assert sim.contacts("box0", "ground").total_force == pytest.approx(force, rel=1e-12)


@pytest.mark.parametrize("ahead", [30, 75])  # before and after they sleep
def test_a_resumed_run_has_the_same_bits(method: str, ahead: int) -> None:
    scene = boxes(method, (*STACKS[method], (1.0, 0.0, 3.0)))  # the last one falls for 0.77 s
    sim, other = scene.simulate(), scene.simulate()
    for _ in range(ahead):
        sim.step()
    other.recall(thaw(*freeze(sim.state.copy())))
    for _ in range(85 - ahead):
        sim.step()
        other.step()
    assert sim.asleep == other.asleep == ["box0", "box1"] and same(sim.state, other.state)
    assert np.array_equal(sim.contacts().force, other.contacts().force)


@pytest.mark.slow
def test_what_is_awake_moves_as_it_would_with_all(method: str) -> None:
    places = ((0.0, 0.0, 0.05), (1.0, 0.0, 1.6))
    one, other = (boxes(method, places, sleep=each).simulate().run(until=0.75) for each in (True, False))
    assert one.asleep == ["box0"]
    assert np.allclose(one.state.position, other.state.position, atol=1e-7)
    assert one.contacts("box1", "ground").total_force == pytest.approx(other.contacts("box1", "ground").total_force, rel=1e-6, abs=1e-6)


def test_soft_bodies_sleep_beside_one_that_falls(method: str) -> None:
    def scene(sleep: bool) -> Scene:
        out = Scene(dt=DT, contact=method, sleep=sleep)
        out.add(name="ground", shape="plane", model="static", friction=0.5)
        material = {"youngs_modulus": 2e5, "density": 1000.0, "stiffness_damping": 0.01}
        for name, place in (("low", (0.0, 0.0, 0.05)), ("high", (1.0, 0.0, 9.0))):
            out.add(name=name, shape={**BOX, "edge": 0.05}, position=place, material=material)
        return out

    one, other = slept(scene(True), 1), scene(False).simulate()
    other.run(until=one.time)
    assert one.asleep == ["low"]
    assert np.abs(one.state.x - other.state.x).max() < 1e-6
    force = [each.contacts("low", "ground").total_force[2] for each in (one, other)]
    assert force[0] == pytest.approx(force[1], rel=1e-5) and force[0] == pytest.approx(WEIGHT, rel=1e-3)
    one.run(until=one.time + 0.1)
    assert one.contacts("low", "ground").total_force[2] == pytest.approx(force[0], rel=1e-12)


@pytest.mark.slow
def test_a_body_that_comes_near_wakes(method: str) -> None:
    """And lands on it as on one that never slept."""
    scenes = [boxes(method, ((0.0, 0.0, 0.05), (0.02, 0.01, 0.6)), sleep=sleep) for sleep in (True, False)]
    for scene in scenes:
        scene.bodies[2].velocity = (0.0, 0.0, 3.2)  # up, and down again after 0.77 s
    one, other = (scene.simulate() for scene in scenes)
    one.run(until=0.75)
    assert one.asleep == ["box0"]
    one.run(until=0.85)
    other.run(until=0.85)
    assert not one.asleep
    if method == "patch":  # rigid boxes of 4.4 m/s go through each other under noniterative, awake as well
        assert one.pose("box1")[0][2] > 0.1 and np.allclose(one.state.position, other.state.position, atol=1e-3)


@pytest.mark.parametrize("part, moves", [(0.98, False), (1.02, True)])
def test_a_push_about_friction(part: float, moves: bool) -> None:
    """A load that changes wakes; just above friction it moves the body, just below it lets it sleep again (rigid bodies on a slope hop and
    creep under noniterative, and stay awake)."""
    scene = boxes("patch", ())
    table = {"times": [0.0, 0.8, 0.801], "values": [[0, 0, 0], [0, 0, 0], [0.5 * WEIGHT * part, 0, 0]]}
    loads = [{"kind": "force", "value": table}]
    scene.add(name="box0", shape=BOX, position=(0.0, 0.0, 0.05), model="rigid", friction=0.5, material={"density": 1000.0}, loads=loads)
    sim = slept(scene, 1)
    sim.run(until=0.83)
    assert not sim.asleep
    sim.run(until=1.5)
    assert bool(sim.asleep) is not moves
    assert bool(sim.pose("box0")[0][0] > 0.01) is moves


def test_a_support_that_goes_wakes(method: str) -> None:
    scene = Scene(dt=DT, contact=method, sleep=True)
    motion = {"shift": {"times": [0.0, 0.8, 1.3], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -2.0]]}}
    scene.add(name="table", shape={"kind": "box", "size": (0.3, 0.3, 0.1)}, model="static", motions=[motion], friction=0.5)
    scene.add(name="box", shape=BOX, position=(0.0, 0.0, 0.1), model="rigid", friction=0.5)
    sim = slept(scene, 1)
    sim.run(until=0.81)
    assert not sim.asleep
    sim.run(until=0.9)
    assert sim.pose("box")[0][2] < 0.1 - 0.02


def test_changes_and_pushes_by_hand_wake(method: str) -> None:
    sim = slept(boxes(method))
    sleeping = sim.state.copy()

    def again() -> None:
        sim.recall(sleeping.copy())
        sim.step()
        assert len(sim.asleep) == 2

    again()
    sim.set("gravity", (5.5, 0.0, -9.81))  # beyond friction
    sim.run(until=sim.time + 0.2)
    assert not sim.asleep and sim.pose("box0")[0][0] > 0.005
    sim.set("gravity", (0.0, 0.0, -9.81))
    again()
    sim.state.velocity[2] = (1.0, 0.0, 0.0)
    sim.step()
    assert "box1" not in sim.asleep and sim.pose("box1")[0][0] > STACKS[method][1][0] + 0.002
    again()
    sim.wake()
    assert not sim.asleep


@pytest.mark.slow
def test_a_hand_wakes(method: str) -> None:
    sim = with_hand(Simulation(boxes(method)))
    while len(sim.asleep) < 2 and sim.time < 2.0:
        sim.step()
    hand = Hand.grab(sim, int(sim.world.model.bodies.point_start[2]))
    hand.move((0.3, 0.0, 0.5))
    for step in range(20):
        hand.reach()
        sim.step()
        assert not sim.asleep, step
    assert sim.pose("box1")[0][2] > STACKS[method][1][2] + 0.01


@pytest.mark.slow
def test_changes_of_the_scene_wake(method: str) -> None:
    scene = boxes(method)
    scene.change("ground.friction", {"times": [0.0, 0.8, 0.81], "values": [0.5, 0.5, 0.4]})
    sim = slept(scene)
    sim.run(until=0.83)
    assert not sim.asleep


@pytest.mark.parametrize("part, sleeps", [(0.99, True), (1.01, False)])
def test_a_slope_about_the_angle_of_friction(part: float, sleeps: bool) -> None:
    slope = np.arctan(0.5 * part)
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    sim = boxes("patch", ((0.0, 0.0, 0.05),), gravity=gravity).simulate().run(until=1.0)
    assert bool(sim.asleep) is sleeps
    assert bool(sim.pose("box0")[0][0] > 0.01) is not sleeps


def test_without_gravity_what_drifts_stays_awake() -> None:
    scene = boxes(places=((0.0, 0.0, 1.0), (1.0, 0.0, 1.0)), gravity=(0.0, 0.0, 0.0))
    scene.bodies[1].velocity = (1e-6, 0.0, 0.0)
    assert scene.simulate().run(until=0.6).asleep == ["box1"]


def test_bodies_that_attachments_join_sleep_together() -> None:
    scene = boxes(places=((0.0, 0.0, 0.05), (1.0, 0.0, 3.0)))
    ends = {"body": "box0", "at": (0.0, 0.0, 0.1)}, {"body": "box1", "at": (1.0, 0.0, 3.05)}
    scene.attach(kind="string", a=ends[0], b=ends[1], stiffness=100.0, length=9.0)
    assert scene.simulate().run(until=0.7).asleep == []  # the first rests, but a string leads from it to one that falls


def test_what_cannot_sleep_is_refused() -> None:
    with pytest.raises(PliantError, match="penalty"):
        boxes("penalty").simulate()
    scene = Scene(sleep=True)
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1}, model="points", position=(0.0, 0.0, 1.0))
    with pytest.raises(PliantError, match="points"):
        scene.simulate()
