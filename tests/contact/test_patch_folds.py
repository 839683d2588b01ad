"""Contact over the common surface of a body with itself: what two parts of one body do to each other is what two bodies do."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene, TetMesh
from pliant.geometry.shapes import make
from pliant.shop import scenes

G = 9.81
MATERIAL = dict(youngs_modulus=1e5, poisson_ratio=0.3, mass_damping=20.0)


def block(width: float, height: float) -> TetMesh:
    mesh = make("box", size=(width, width, height), edge=0.05).tets
    assert mesh is not None
    return mesh


def two_blocks(one: bool, itself: bool = True, turned: float = 0.0) -> Scene:
    """A block of 0.1 m on one of 0.2 m: as one body of two parts that may meet itself, or as two bodies."""
    low, high = block(0.2, 0.1).moved((0, 0, 0.05)), block(0.1, 0.1).moved((0.013, 0.007, 0.15))
    scene = Scene(dt=0.004, contact="patch")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    more = dict(integrator="implicit", friction=0.5, material=MATERIAL, rotation=(0.0, 0.0, turned))
    if one:
        both = TetMesh(np.concatenate([low.points, high.points]), np.concatenate([low.tets, high.tets + len(low.points)]))
        scene.add(name="both", shape=both, **more)
        if itself:
            scene.pair("both", "both", contact=True)
    else:
        scene.add(name="low", shape=low, **more)
        scene.add(name="high", shape=high, **more)
    return scene


@pytest.mark.parametrize("turned", [0.0, 31.0])
def test_two_parts_of_a_body_rest_on_each_other_as_two_bodies_do(turned):
    one, two = (two_blocks(one, turned=turned).simulate().run(until=0.6) for one in (True, False))
    own, other = one.contacts("both", "both"), two.contacts("high", "low")
    assert own.total_area == pytest.approx(0.01, rel=0.025) and other.total_area == pytest.approx(0.01, rel=0.01)  # found from both sides
    pressed = float(np.abs(own.normal_force).sum())
    assert pressed == pytest.approx(G, rel=2e-3)
    assert pressed == pytest.approx(float(other.normal_force.sum()), rel=1e-4)
    assert one.points("both")[:, 2].max() == pytest.approx(two.points("high")[:, 2].max(), abs=2e-6)
    assert one.contacts("both", "ground").total_force == pytest.approx([0, 0, 5 * G], rel=1e-3, abs=1e-3)


def test_parts_pass_each_other_unless_a_pair_says_that_they_meet():
    sim = two_blocks(True, itself=False).simulate().run(until=0.15)
    assert len(sim.contacts("both", "both")) == 0
    assert sim.points("both")[-8:, 2].min() < 0.1 - 0.03


@pytest.mark.slow
def test_a_strip_that_folds_lies_on_itself_within_a_hundredth_of_its_thickness():
    """At 14 times the step that explicit contact takes; 10 mm thick. It comes to rest, and the ground carries what its held end does not."""
    scene = scenes.make("folding-strip", dt=0.004, duration=3.0)
    scene.contact, scene.bodies[1].integrator = "patch", "implicit"
    sim, deepest = scene.simulate(), 0.0
    while sim.time < scene.duration - 1e-9:
        sim.step()
        deepest = max(deepest, float(sim.contacts("strip", "strip").depth.max(initial=0.0)))
    assert 0.0 < deepest < 1e-4
    assert sim.books().kinetic < 1e-8
    assert len(sim.contacts("strip", "strip")) > 10
