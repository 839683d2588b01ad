"""Bodies set down on others: `on` in a scene."""

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.simulate.guards import overlaps
from pliant.simulate.set_down import set_down

BUNNY = dict(kind="bunny", height=0.3, edge=0.02)


def scene(**bodies):
    made = Scene(dt=0.002)
    made.add(name="ground", shape="plane", model="static")
    for name, fields in bodies.items():
        made.add(name=name, **fields)
    return made


def box(size, **fields):
    return dict(shape=dict(kind="box", size=(size,) * 3, edge=size), **fields)


def test_three_boxes_on_each_other_in_any_order():
    sim = scene(top=box(0.1, on="middle"), middle=box(0.2, on="low", position=(0.05, 0, 0)), low=box(0.4, on="ground", position=(1, 2, 0))).simulate()
    assert sim.centre("low") == pytest.approx([1.0, 2.0, 0.2], abs=1e-12)
    assert sim.centre("middle") == pytest.approx([1.05, 2.0, 0.5], abs=1e-12)
    assert sim.centre("top") == pytest.approx([1.05, 2.0, 0.65], abs=1e-12)
    assert all(body.on is None for body in sim.given.bodies)  # what is recorded has places


def test_position_is_how_far_aside_and_above():
    sim = scene(low=box(0.4, on="ground"), top=box(0.1, on="low", position=(0, 0.24, 0.003))).simulate()
    assert sim.centre("top") == pytest.approx([0, 0.24, 0.4 + 0.003 + 0.05], abs=1e-12)


SLOW = [pytest.param(model, marks=pytest.mark.slow) for model in ("rigid", "static", "springs", "points", "quasi-rigid")]


@pytest.mark.parametrize("model", ["fem", *SLOW])
def test_a_bunny_touches_what_it_is_on_and_no_more(model):
    """Whatever it is made of; turned, so that no side of its box is where it touches."""
    under = dict(shape=BUNNY, on="ground", model="quasi-rigid" if model == "quasi-rigid" else "fem")
    upper = dict(shape=BUNNY, on="low", model=model, rotation=(100, 20, 0))
    sim = scene(low=under, top=upper).simulate()
    assert max((depth for _, _, depth, _ in overlaps(sim.world)), default=0.0) < 1e-9
    deeper = scene(low=under, top=dict(upper, position=(0, 0, -1e-3))).simulate()
    assert sim.points("top")[:, 2].min() - deeper.points("top")[:, 2].min() == pytest.approx(1e-3)
    assert overlaps(deeper.world)


def test_an_exact_ball_touches_as_a_ball():
    """Its drawn polyhedron lies inside it: by that it would sink in."""
    sim = scene(ball=dict(shape=dict(kind="ball", radius=0.1), model="rigid", on="ground")).simulate()
    assert sim.centre("ball")[2] == pytest.approx(0.1, abs=1e-9)
    sim = scene(ball=dict(shape=dict(kind="ball", radius=0.1), model="static", on="ground"), cube=box(0.1, on="ball", rotation=(0, 0, 30))).simulate()
    depth = max((depth for _, _, depth, _ in overlaps(sim.world)), default=0.0)
    assert sim.points("cube")[:, 2].min() == pytest.approx(0.2, abs=1e-3) and depth < 1e-9


def test_on_a_slope():
    made = Scene(dt=0.002)
    made.add(name="slope", shape="plane", model="static", rotation=(0, 30, 0), position=(0, 0, 1))
    made.add(name="cube", **box(0.2, on="slope"))
    points = made.simulate().points("cube")
    normal = np.array([np.sin(np.radians(30)), 0, np.cos(np.radians(30))])
    assert ((points - [0, 0, 1]) @ normal).min() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("bodies, words", [
    (dict(a=box(0.1, on="grond")), r"Body 'a', on = \"grond\": there is no such body: did you mean ground\?"),
    (dict(a=box(0.1, on="a")), r"Body 'a', which is on 'a': one of them"),
    (dict(a=box(0.1, on="b"), b=box(0.1, on="a")), r"Body 'a', which is on 'b', which is on 'a': one of them must have a place of its own"),
    (dict(a=box(0.1), b=box(0.1, on="a", position=(0.3, 0, 0))), r"Body 'b' cannot be set down on 'a': nothing of it is below.*0\.3, 0"),
    (dict(a=box(0.1), b=dict(shape="plane", model="static", on="a")), r"a plane has no end"),
])  # fmt: skip
def test_what_cannot_be_is_said(bodies, words):
    with pytest.raises(PliantError, match=words):
        scene(**bodies).simulate()


def test_a_scene_without_it_stays_the_same():
    made = scene(a=box(0.1))
    assert set_down(made) is made


def test_it_is_written_and_read(tmp_path):
    made = scene(low=box(0.4, on="ground"), top=box(0.1, on="low"))
    assert Scene.from_toml(made.to_toml()).bodies[2].on == "low"
