"""The scenes of the thesis on continuous penalty forces, watched along their runs."""

import numpy as np
import pytest

from pliant.shop import scenes
from pliant.shop.reproduce.thesis.slides import Slide
from pliant.shop.scenes.thesis import BOWL, BUNNY, CUBE, LIMITS, PARTICLE, WALL, critical, cube_velocity, hooked_pairs, predicted


def expected(name, **values):
    """A scene run without a record, and what it says."""
    sim = scenes.make(name, **values).simulate()
    sim.run()
    return sim, scenes.find(name).expect(sim)


@pytest.mark.parametrize("method, dt", [("continuous-penalty", 0.14), ("continuous-penalty", 0.17), ("penalty", 0.11), ("penalty", 0.13)])
def test_particle_on_plane_at_published_steps(method, dt):
    expected("particle-on-plane", method=method, stiffness=100.0, dt=dt, duration=15 * dt)


@pytest.mark.parametrize("method, heights", [
    ("continuous-penalty", (-0.0029721253, -0.0166229318, -0.0457020597, 0.0361454992)),
    ("penalty", (-0.0027045000, -0.0154071000, -0.0378994001, 0.0189404926)),
])  # fmt: skip
def test_g16_the_recurrence_that_the_scene_expects(method, heights):
    z = predicted(method, 1000.0, 1.0, 0.1, 0.01, 30)
    assert z[[13, 14, 19, 29]] == pytest.approx(heights, abs=1e-9)


@pytest.mark.parametrize("method", LIMITS)
def test_the_recurrence_rests_below_the_critical_step_and_not_above(method):
    limit = critical(method, 100.0, 1.0)
    ends = [np.ptp(predicted(method, 100.0, 1.0, 0.1, part * limit, 4000)[-50:]) for part in (0.995, 1.005)]
    assert ends[0] < 1e-6 < 1e-3 < ends[1]


def test_cube_on_bar_keeps_its_speed_and_no_hooked_pair_pushes():
    seen = Slide(duration=0.3)
    seen.run()
    assert max(seen.hooks) == 0 and max(abs(np.array(seen.speeds) - 1.0)) < 0.01


def test_cube_on_bar_is_stopped_without_redefinition_by_hooked_pairs_that_push():
    """They are told, and that they are told changes nothing."""
    seen = Slide(redefinition=False, duration=0.1)
    seen.run()
    assert max(seen.hooks) >= 5 and seen.speeds[-1] < 0.0
    off = scenes.make("cube-on-bar", duration=0.1)
    off.contact["redefinition"] = False
    assert np.array_equal(off.simulate().run().state.x, seen.sim.state.x)
    _, said = expected("cube-on-bar", redefinition=False, duration=0.3)
    assert "left" in said[0]


def test_cube_on_bar_with_friction_stops_where_coulomb_says():
    sim, _ = expected("cube-on-bar", friction=0.3, duration=0.5)
    went = sim.centre("cube")[0] - sim.scene.bodies[1].position[0]
    assert went == pytest.approx(1.0 / (2 * 9.81 * 0.3), rel=0.05)


@pytest.mark.slow
def test_cube_on_bar_is_as_fast_as_on_a_bar_four_times_finer():
    coarse, fine = (scenes.make("cube-on-bar", edge=edge).simulate() for edge in (0.1, 0.025))
    for _ in range(6):
        for sim in (coarse, fine):
            sim.run(until=sim.time + 0.1)
            assert hooked_pairs(sim) == 0
        assert cube_velocity(coarse)[0] == pytest.approx(cube_velocity(fine)[0], rel=0.01)


@pytest.mark.slow
def test_cube_on_bar_does_not_drift_in_20000_steps():
    sim = scenes.make("cube-on-bar", friction=0.1, static_friction=0.8, speed=0.2, dt=0.001, duration=20.0).simulate()
    sim.run(until=5.0)
    before = sim.centre("cube")
    sim.run()
    assert np.abs(sim.centre("cube") - before).max() < 1e-4 * CUBE


def test_bunny_in_bowl_stays_inside_at_the_impact():
    """No deeper than 2 % of the body, no vertex through the wall, fewer than 0.1 % of the elements inverted."""
    sim = scenes.make("bunny-in-bowl", duration=0.25).simulate()
    group, inner = sim.world.model.groups[0], BOWL - WALL
    deepest, inverted = 0.0, 0

    def look(report):
        nonlocal deepest, inverted
        deepest = max(deepest, report.max_depth)
        inverted = max(inverted, int(np.count_nonzero(group.stretch(sim.state.x) <= 0)))

    start = sim.points("bowl")[:, 2].min()
    sim.run(each=look)
    sphere = np.array([0.0, 0.0, sim.points("bowl")[:, 2].min() - start + 0.03 + BOWL])
    away = np.linalg.norm(sim.points("bunny") - sphere, axis=1)
    assert deepest < 0.02 * BUNNY and away.max() < inner + 0.02 * BUNNY
    assert inverted < 0.001 * len(group.nodes)


@pytest.mark.slow
def test_bunny_in_bowl_comes_to_rest():
    """At automatic stiffness: rest, no deeper than 2 % of the body all along, under 0.1 % inverted at impact, none at rest."""
    sim = scenes.make("bunny-in-bowl").simulate()
    group, deepest, inverted = sim.world.model.groups[0], [], []

    def look(report):
        deepest.append(report.max_depth)
        inverted.append(int(np.count_nonzero(group.stretch(sim.state.x) <= 0)))

    sim.run(each=look)
    assert "rests" in scenes.find("bunny-in-bowl").expect(sim)[0]
    assert max(deepest) < 0.02 * BUNNY, max(deepest)
    assert max(inverted) < 0.001 * len(group.nodes) and inverted[-1] == 0


def test_bunny_in_bowl_takes_a_file(tmp_path):
    points = 0.5 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) + [3.0, 0.0, 0.0]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    path = tmp_path / "block.obj"
    path.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in points) + "".join(f"f {a + 1} {b + 1} {c + 1} {d + 1}\n" for a, b, c, d in faces))
    scene = scenes.make("bunny-in-bowl", file=str(path), edge=0.05)
    assert scene.bodies[2].position == pytest.approx((0.01 - 0.45, 0.0, 0.13 + 0.075))


@pytest.mark.parametrize("method", ["continuous-penalty", "penalty"])
def test_bar_on_cube_weighs_on_the_cube(method):
    """The mean force over half a second of swaying is the bar's weight."""
    sim = scenes.make("bar-on-cube", method=method, duration=2.0).simulate()
    force = []
    sim.run(until=1.0)
    sim.run(until=2.0, each=lambda report: force.append(sim.contacts("bar", "cube").total_force[2]))
    assert np.mean(force) == pytest.approx(9.81 * sim.world.model.nodes.mass.sum(), rel=0.05)


@pytest.mark.parametrize("name, values", [("bar-on-cube", dict(duration=0.8)), ("cube-on-bar", dict(duration=0.1))])
def test_scenes_see_inverted_elements_and_energy_from_nowhere(name, values):
    sim, _ = expected(name, **values)
    state = sim.state.copy()
    a, b = sim.world.model.groups[0].nodes[0, :2]
    sim.state.x[[a, b]] = sim.state.x[[b, a]]
    with pytest.raises(AssertionError, match="inverted"):
        scenes.find(name).expect(sim)
    sim.world.state = state
    sim.state.v += [0.0, 0.0, 30.0]
    with pytest.raises(AssertionError, match="from nowhere"):
        scenes.find(name).expect(sim)


def test_particle_on_plane_is_not_deep_for_its_size(tmp_path):
    """The scene at its defaults says nothing that worries."""
    from pliant.measure.resolution import DEPTH
    from pliant.simulate import running

    sim, recorder = running.start(scenes.make("particle-on-plane", duration=0.3), tmp_path / "particle")
    assert running.run(sim, recorder).max_depth < DEPTH[1] * 2 * PARTICLE


def test_cloth_meets_itself_and_stays_over_the_ball():
    sim, _ = expected("cloth-on-ball", edge=0.05, duration=0.5)
    assert sim.scene.pairs[0].a == sim.scene.pairs[0].b == "cloth"
    assert sim.contacts("cloth", "ball").total_force[2] > 0.0
