"""Scenes of surfaces with springs between all vertices: what is promised of each, with a scheme that takes one force a step."""

import numpy as np
import pytest

from pliant.geometry.shapes import make as make_shape
from pliant.shop import scenes
from pliant.shop.scenes import motheram


def test_displacements_leave_out_rigid_motion():
    rng = np.random.default_rng(2)
    rest, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 1.0, 40)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    assert np.abs(motheram.displacements(rest, rest @ turn.T + [3, 4, 5], weight)).max() < 1e-12
    dented = rest.copy()
    dented[7] += [0.0, 0.0, 0.5]
    u = motheram.displacements(rest, dented @ turn.T - 2.0, weight)
    assert u[7] == pytest.approx([0, 0, 0.5], abs=0.05) and np.abs(np.delete(u, 7, 0)).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-spheres", "soft-meets-hard", "sphere-and-bunny", "bunny-and-teapot", "three-spheres", "two-bunnies"])
def test_the_whole_scene_keeps_its_promise(name):
    said = scenes.find(name).expect(scenes.make(name, integrator="verlet").simulate().run())
    assert all(sentence.endswith(".") for sentence in said)


def test_three_spheres_have_more_than_600_triangles_each():
    sim = scenes.make("three-spheres").simulate()
    assert min(len(sim.faces(n)) for n in ("left", "right", "top")) > 600


def test_damping_of_2000_is_divided_with_the_reason_or_explodes_where_allowed():
    """Fig. 3: 10 c dt / m = 40 is far above 3.7; divided steps are below it."""
    small = dict(damping=2000.0, dt=0.002, duration=0.01)
    sim = scenes.make("two-bunnies", **small).simulate()
    assert any("divided" in note for note in sim.notes)
    assert 10 * 2000 * sim.dt / sim._pieces < 3.7154
    wild = scenes.make("two-bunnies", unsafe=True, **small).simulate()
    assert wild._pieces == 1
    wild.state.x[0] += 0.1  # as a collision would do it
    wild.run()
    assert np.abs(wild.points()).max() > 1e6


def test_a_surface_of_the_user_takes_the_place_of_the_bunny(tmp_path):
    surface = make_shape("ball", radius=1.0, edge=0.4).surface()
    lines = [f"v {x} {y} {z}" for x, y, z in surface.points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in surface.faces]
    (tmp_path / "own.obj").write_text("\n".join(lines))
    scene = scenes.make("two-bunnies", file=str(tmp_path / "own.obj"), integrator="verlet")
    sim = scene.simulate()
    assert len(sim.points("one")) == len(surface.points) and np.ptp(sim.points("one"), axis=0).max() == pytest.approx(2.0, rel=1e-6)
