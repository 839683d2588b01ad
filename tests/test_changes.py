"""Gravity, friction and materials that change during a run: by hand (`sim.set`) and by tables over time."""

import numpy as np
import pytest

from pliant import PliantError, Scene

CUBE = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)


def falling():
    scene = Scene(dt=0.01, contact="none")
    scene.add(name="ball", shape=CUBE, model="rigid")
    return scene


def test_gravity_set_by_hand_acts_from_now_on():
    sim = falling().simulate().run(until=0.5)
    sim.set("gravity", (1.0, 0, 0))
    before = sim.state.velocity[0].copy()
    sim.run(until=1.0)
    assert sim.state.velocity[0] - before == pytest.approx([0.5, 0, 0], abs=1e-12)
    assert sim.scene.gravity == (1.0, 0.0, 0.0) and sim.state.values["gravity"] == (1.0, 0, 0)


def test_gravity_over_time_is_the_sum_of_its_steps():
    scene = falling()
    scene.change("gravity", dict(times=[0, 1], values=[[0, 0, 0], [0, 0, -10.0]]))
    sim = scene.simulate().run(until=1.0)
    assert sim.state.velocity[0, 2] == pytest.approx(-0.01 * np.sum(10 * 0.01 * np.arange(100)), rel=1e-9)


def test_the_users_scene_is_not_touched():
    scene = falling()
    sim = scene.simulate()
    sim.set("gravity", (0, 0, 0))
    sim.set("ball.friction", 0.9)
    sim.set("ball.material.mass_damping", 2.0)
    assert scene.gravity == (0, 0, -9.81) and scene.bodies[0].friction == 0.3 and scene.bodies[0].material.mass_damping == 0.0


@pytest.mark.parametrize("element", ["linear", "quadratic"])
@pytest.mark.parametrize("integrator", ["symplectic", "implicit"])
def test_a_stiffer_bar_hangs_less_in_the_same_ratio(element, integrator):
    scene = Scene(dt=0.002, contact="none", gravity=(1.0, 0, 0))
    scene.add(
        name="bar", shape=dict(kind="box", size=(0.5, 0.1, 0.1), edge=0.1), element=element, integrator=integrator,
        fixed=[dict(side="-x")], material=dict(youngs_modulus=1e6, poisson_ratio=0.0),
    )  # fmt: skip
    sim = scene.simulate().equilibrium()
    rest = sim.world.model.nodes.rest
    soft = (sim.state.x - rest)[:, 0].max()
    pieces = sim._pieces
    sim.set("bar.material.youngs_modulus", 4e6)
    stiff = (sim.equilibrium().state.x - rest)[:, 0].max()
    assert soft / stiff == pytest.approx(4.0, rel=1e-2)
    if integrator == "symplectic":  # twice the speed of sound: the steps are divided anew
        assert sim._pieces >= 2 * pieces - 1
        sim.run(until=0.1)


def test_a_spring_network_gets_softer():
    scene = Scene(dt=0.002, contact="none", gravity=(0.1, 0, 0))
    scene.add(name="net", shape=CUBE, model="springs", fixed=[dict(side="-x")], material=dict(spring_stiffness=4000.0))
    sim = scene.simulate().equilibrium()
    rest = sim.world.model.nodes.rest
    stiff = (sim.state.x - rest)[:, 0].max()
    sim.set("net.material.spring_stiffness", 1000.0)
    assert (sim.equilibrium().state.x - rest)[:, 0].max() / stiff == pytest.approx(4.0, rel=2e-2)


def test_a_table_of_stiffness_equals_setting_by_hand():
    def soft():
        scene = Scene(dt=0.002, contact="none")
        scene.add(name="b", shape=CUBE, fixed=[dict(side="+z")], integrator="implicit", material=dict(youngs_modulus=1e5))
        return scene

    scene = soft()
    scene.change("b.material.youngs_modulus", dict(times=[0, 0.1, 0.1000001], values=[1e5, 1e5, 3e5]))
    tabled = scene.simulate().run(until=0.2)
    by_hand = soft().simulate().run(until=0.102)
    by_hand.set("b.material.youngs_modulus", 3e5)
    by_hand.run(until=0.2)
    assert tabled.state.x == pytest.approx(by_hand.state.x, abs=1e-12)


@pytest.mark.parametrize("path", ["block.friction", "floor.friction", "pair.block.floor.friction"])
def test_friction_that_goes_away_lets_a_block_slide(path):
    """Held on a slope of 10 degrees until its friction is zero; then a = g sin."""
    scene = Scene(dt=0.002)
    scene.add(name="floor", shape="plane", model="static", friction=0.5, rotation=(0, 10, 0))
    turn = np.radians(10)
    normal = np.array([np.sin(turn), 0, np.cos(turn)])
    scene.add(name="block", shape=CUBE, model="rigid", friction=0.5, rotation=(0, 10, 0), position=tuple(0.1 * normal))
    if path.startswith("pair"):
        scene.pair("block", "floor", friction=0.5)
    sim = scene.simulate().run(until=0.2)
    start = sim.centre("block").copy()
    assert np.linalg.norm(start - 0.1 * normal) < 1e-3
    sim.set(path, 0.0)
    speed = np.linalg.norm(sim.state.velocity[1])
    sim.run(until=0.4)
    assert np.linalg.norm(sim.state.velocity[1]) - speed == pytest.approx(9.81 * np.sin(turn) * 0.2, rel=0.01)


def test_unknown_paths_get_help():
    scene = falling()
    scene.add(name="soft", shape=CUBE)
    sim = scene.simulate()
    with pytest.raises(PliantError, match="did you mean gravity"):
        sim.set("gravty", (0, 0, 0))
    with pytest.raises(PliantError, match="did you mean ball"):
        sim.set("bal.friction", 0.1)
    with pytest.raises(PliantError, match="did you mean soft.material.youngs_modulus"):
        sim.set("soft.material.young_modulus", 1e5)
    with pytest.raises(PliantError, match="add it with scene.pair"):
        sim.set("pair.ball.soft.friction", 0.1)
    with pytest.raises(PliantError, match="cannot be changed"):
        sim.set("soft.material.density", 2.0)
    with pytest.raises(PliantError, match="did you mean soft"):
        sim.set("pair.ball.sof.friction", 0.1)


@pytest.mark.parametrize("path, value", [("soft.material.poisson_ratio", 0.5), ("soft.friction", -1.0), ("soft.material.youngs_modulus", 0.0)])
def test_values_out_of_range_are_refused_and_nothing_changes(path, value):
    scene = falling()
    scene.add(name="soft", shape=CUBE)
    sim = scene.simulate()
    with pytest.raises(PliantError, match="must be"):
        sim.set(path, value)
    assert not sim.state.values


def test_a_wrong_change_in_the_scene_is_told_when_it_is_built():
    scene = falling()
    scene.change("bal.friction", 0.1)
    with pytest.raises(PliantError, match="did you mean ball"):
        scene.simulate()
