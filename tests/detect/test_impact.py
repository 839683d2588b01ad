"""The earliest impact in a whole world."""

import numpy as np
import pytest

from pliant import Scene
from pliant.detect.impact import Impact


def first(sim, dt):
    motion = sim.world.free_motion(dt)
    return motion.kept(Impact).time(motion)


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_two_boxes_meet_when_they_should(model):
    scene = Scene(dt=0.1, gravity=(0, 0, 0))
    box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
    scene.add(name="a", shape=box, model=model, velocity=(2, 0, 0))
    scene.add(name="b", shape=box, model=model, position=(0.3, 0.03, 0.02), velocity=(-1, 0, 0))
    assert first(scene.simulate(), 0.1) == pytest.approx(0.1 / 0.3, abs=1e-9)
    assert first(scene.simulate(), 0.01) == np.inf


def test_edges_that_cross_are_found_where_no_vertex_is_inside():
    scene = Scene(dt=0.1, gravity=(0, 0, 0))
    bar = dict(kind="box", size=(1.0, 0.1, 0.1), edge=1.0)
    scene.add(name="a", shape=bar, model="rigid", rotation=(45, 0, 0))
    scene.add(name="b", shape=bar, model="rigid", position=(0, 0, 0.2), rotation=(0, 0, 90), velocity=(0, 0, -1))
    sim = scene.simulate()
    assert first(sim, 0.1) == pytest.approx((0.2 - 0.05 - 0.05 * np.sqrt(2)) / 0.1, abs=1e-9)


def test_excluded_pairs_do_not_count():
    scene = Scene(dt=0.1, gravity=(0, 0, 0))
    box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
    scene.add(name="a", shape=box, velocity=(2, 0, 0))
    scene.add(name="b", shape=box, position=(0.25, 0, 0))
    scene.pair("a", "b", contact=False)
    assert first(scene.simulate(), 0.1) == np.inf
