"""Restitution of rigid bodies under `patch` (theory/patch 4.4): rebound, chains of impacts, energy, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pliant import PliantError, Scene
from pliant.contact.patch.restitution import parting_speed

BALL = {"kind": "ball", "radius": 0.1}
BOX = {"kind": "box", "size": (0.2, 0.2, 0.2)}


@given(
    st.floats(0.1, 1.0), st.floats(1e-4, 5e-3), st.floats(-20.0, 0.0), st.floats(-8.0, -0.2), st.floats(0.0, 0.99),
)  # fmt: skip
def test_what_falls_freely_has_the_energy_of_its_impact_wherever_in_the_step_it_lands(e, dt, a, before, share):
    """Energy of the exact path through the discrete places, whose velocity is v + a dt / 2 at the end of a step."""
    free = before + a * dt
    start = share * -free * dt
    v = float(parting_speed(np.array([start + dt * free]), np.array([before]), np.array([free]), np.array([e]), dt)[0])
    touching = (before + 0.5 * a * dt) ** 2 - 2 * a * start
    left = e**2 * touching + 2 * a * start  # twice the kinetic energy back at the height of the start
    if left > (0.5 * a * dt) ** 2:
        end = start + dt * v
        assert (v + 0.5 * a * dt) ** 2 - 2 * a * end == pytest.approx(e**2 * touching, rel=1e-9)
    else:
        assert v == 0.0  # too slow to part within the step: it comes to rest


def test_nothing_is_asked_of_what_opens_or_has_no_restitution():
    gap, before, free, e = np.array([[0.1, -1, -1, 1], [-0.1, 1, 1, 1], [-0.1, -1, -1, 0.0]]).T
    assert (parting_speed(gap, before, free, e, 1e-3) == 0.0).all()


@pytest.mark.parametrize(("shape", "e", "dt"), [(BALL, 1.0, 5e-3), (BALL, 0.5, 1e-3), (BOX, 0.8, 5e-3), (BOX, 0.3, 2.3e-3)])
def test_a_body_rebounds_with_its_share_of_speed_at_any_step_and_any_way_up(shape, e, dt):
    turn = Rotation.random(random_state=7)
    scene = Scene(dt=dt, contact="patch", gravity=tuple(turn.apply([0, 0, -9.81])))
    scene.add(name="floor", shape="plane", model="static", rotation=tuple(np.degrees(turn.as_rotvec())))
    scene.add(
        name="falls", shape=shape, model="rigid", restitution=e, position=tuple(turn.apply([0, 0, 0.6])), rotation=tuple(np.degrees(turn.as_rotvec()))
    )  # fmt: skip
    sim, height = scene.simulate(), []
    while sim.time < 0.32 + 2 * e * 0.32:
        sim.step()
        height.append(turn.inv().apply(sim.state.position[-1])[2] - 0.1)
    height = np.array(height)
    landed = int(np.argmin(height[: round(0.4 / dt)]))
    assert np.sqrt(height[landed:].max() / 0.5) == pytest.approx(e, rel=0.01)
    assert height.min() > -1e-4


@pytest.mark.parametrize("dt", [5e-3, 1e-3])
@pytest.mark.parametrize(("e", "last"), [(1.0, 1.0), (0.5, 0.75**4)])
def test_a_row_of_balls_passes_the_motion_on(dt, e, last):
    """1 mm apart: four impacts of equal balls one after the other, also where several come within one step."""
    scene = Scene(dt=dt, contact="auto", gravity=(0, 0, 0))
    for i in range(5):
        place, speed = 0.101 * i - (0.02 if i == 0 else 0.0), 1.0 if i == 0 else 0.0
        scene.add(
            name=f"ball{i}", shape={"kind": "ball", "radius": 0.05}, model="rigid", position=(place, 0, 0), velocity=(speed, 0, 0),
            restitution=e, friction=0.0,
        )  # fmt: skip
    sim = scene.simulate()
    while sim.time < 0.06:
        sim.step()
    v = sim.state.velocity[:, 0]
    assert v[-1] == pytest.approx(last, rel=5e-3)
    assert v.sum() == pytest.approx(1.0, rel=1e-12)


def test_balls_that_touch_part_as_if_those_behind_were_one():
    """Two fifths of the speed for the four, three fifths back: the limit that docs/methods/patch.md names."""
    scene = Scene(dt=1e-3, contact="patch", gravity=(0, 0, 0))
    for i in range(5):
        place, speed = 0.1 * i - (0.02 if i == 0 else 0.0), 1.0 if i == 0 else 0.0
        scene.add(
            name=f"ball{i}", shape={"kind": "ball", "radius": 0.05}, model="rigid", position=(place, 0, 0), velocity=(speed, 0, 0), restitution=1.0
        )
    sim = scene.simulate()
    for _ in range(40):
        sim.step()
    assert sim.state.velocity[:, 0] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=3e-3)


def test_tumbling_boxes_never_gain_energy():
    scene = Scene(dt=2e-3, contact="patch")
    scene.add(name="floor", shape="plane", model="static")
    rng = np.random.default_rng(3)
    for i in range(3):
        scene.add(
            name=f"box{i}", shape=BOX, model="rigid", restitution=0.7, position=(0.1 * i, 0, 0.3 + 0.35 * i), rotation=tuple(rng.uniform(-180, 180, 3)),
            angular_velocity=tuple(rng.normal(size=3)),
        )  # fmt: skip
    sim = scene.simulate()
    start = sim.books().total
    energy = []
    for _ in range(280):
        sim.step()
        energy.append(sim.books().total)
    assert max(energy) < start * 1.001


def test_the_pair_has_the_last_word():
    scene = Scene(dt=2e-3, contact="patch", gravity=(0, 0, 0))
    scene.add(name="wall", shape="plane", model="static", restitution=0.9)
    scene.add(name="ball", shape=BALL, model="rigid", position=(0, 0, 0.15), velocity=(0, 0, -1.0), restitution=0.2)
    scene.pair("ball", "wall", restitution=0.5)
    sim = scene.simulate()
    while sim.time < 0.1:
        sim.step()
    assert sim.state.velocity[-1][2] == pytest.approx(0.5, rel=2e-3)


def test_refusals_say_what_to_do():
    def made(contact="auto", **fields):
        scene = Scene(dt=2e-3, contact=contact)
        scene.add(name="floor", shape="plane", model="static")
        scene.add(name="ball", shape=BALL, position=(0, 0, 1), **fields)
        return scene

    with pytest.raises(PliantError, match="restitution is for rigid bodies"):
        made(model="fem", restitution=0.5)
    with pytest.raises(PliantError, match="at least 0 and at most 1"):
        made(model="rigid", restitution=1.5)
    with pytest.raises(PliantError, match=r"'floor' and 'ball'.*penalty.*patch|'ball' and 'floor'.*penalty.*patch"):
        made("penalty", model="rigid", restitution=0.5).simulate()
    soft = made(model="fem")
    soft.pair("ball", "floor", restitution=0.5)
    with pytest.raises(PliantError, match="'ball' is soft"):
        soft.simulate()


def test_rigid_bodies_that_start_in_each_other_come_apart_gently():
    """At GENTLE times half the thickness of the thinner one (theory/patch 4.3), not within a step."""
    scene = Scene(dt=2e-4, contact="patch", gravity=(0, 0, 0))
    scene.add(name="held", shape=BOX, model="static")
    scene.add(name="free", shape=BOX, model="rigid", position=(0.01, 0.02, 0.1996))
    sim, speed = scene.simulate(), []
    while sim.time < 4e-3:
        sim.step()
        speed.append(sim.state.velocity[-1][2])
    assert max(speed) == pytest.approx(5.0 * 0.1, rel=0.02)
    assert sim.state.position[-1][2] > 0.2
