"""Coulomb friction by the method `ground`: sticking, sliding, rolling, and the table of pairs."""

import numpy as np
import pytest

from pliant import Scene
from pliant.bodies.register import material_for
from pliant.bodies.rigid.motion import angular_velocities

G = 9.81


def slope(angle, friction, model="rigid", speed=0.0, dt=0.002, shape=None, **fields):
    """A body on a plane that falls towards +x by an angle [degree], sent down it with a speed."""
    scene = Scene(dt=dt, contact="ground")
    turn = np.radians(angle)
    normal, down = np.array([np.sin(turn), 0, np.cos(turn)]), np.array([np.cos(turn), 0, -np.sin(turn)])
    scene.add(name="slope", shape="plane", model="static", rotation=(0, angle, 0), friction=friction)
    shape = shape or dict(kind="box", size=(0.4, 0.4, 0.1), edge=0.1)
    height = shape["radius"] if "radius" in shape else shape["size"][2] / 2
    scene.add(**{
        "name": "b", "shape": shape, "model": model, "rotation": (0, angle, 0), "position": tuple(height * normal),
        "velocity": tuple(speed * down), "friction": friction, "material": material_for(model, youngs_modulus=1e6, density=500.0), **fields,
    })  # fmt: skip
    return scene, down


def slid(angle, friction, model, until=1.0, nu=0.0):
    scene, down = slope(angle, friction, model, material=material_for(model, youngs_modulus=1e6, density=500.0, poisson_ratio=nu))
    sim = scene.simulate().run(until=0.3)  # let it settle into the ground first
    start = sim.centre("b").copy()
    return float((sim.run(until=0.3 + until).centre("b") - start) @ down)


@pytest.mark.parametrize("model", ["rigid", "fem"])
@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_a_block_sticks_if_and_only_if_tan_is_below_mu(model, friction):
    """The threshold is within 1.25 percent of mu; the soft block does not spread under its weight (nu = 0)."""
    for part, holds in ((0.9875, True), (1.0125, False)):  # tan / mu
        moved = slid(np.degrees(np.arctan(part * friction)), friction, model, until=0.5)
        beyond = 0.01 * friction * G * 0.5**2 / 2  # what a block slides that is one percent beyond the threshold
        assert (moved < (2e-4 if model == "rigid" else beyond)) == holds, (part, moved)


def test_a_soft_block_that_spreads_creeps_slowly_near_the_threshold():
    """With nu = 0.3 friction also holds the block's foot together. One sweep takes its direction from the predicted slip, in which
    that push stays, so part of the cone is lost to it: none at 0.7 mu, less than a millimetre a second at 0.9 mu (0.4 mm/s)."""
    for part, speed in ((0.7, 1e-6), (0.9, 1e-3)):
        assert abs(slid(np.degrees(np.arctan(part * 0.6)), 0.6, "fem", until=0.5, nu=0.3)) < speed * 0.5


@pytest.mark.parametrize("model", ["rigid", "fem", "springs"])
@pytest.mark.parametrize("friction", [0.15, 0.5])
def test_stopping_distance(model, friction):
    """v^2 / (2 mu g) on level ground, and there it stays."""
    speed = 2.0
    scene, down = slope(0.0, friction, model, speed, material=material_for(model, youngs_modulus=1e6, density=500.0, spring_stiffness=3e4))
    sim = scene.simulate()
    way = speed**2 / (2 * friction * G)
    sim.run(until=1.3 * speed / (friction * G))
    went = float(sim.centre("b") @ down)
    assert went == pytest.approx(way, rel=0.01)
    sim.run(until=sim.time + 0.3)
    assert float(sim.centre("b") @ down) == pytest.approx(went, abs=1e-3 * way)


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_sliding_down_a_slope(model):
    """a = g (sin - mu cos)."""
    angle, friction = 30.0, 0.2
    scene, down = slope(angle, friction, model, 0.5)
    sim = scene.simulate().run(until=0.2)
    before = sim.state.velocity[1] @ down if model == "rigid" else sim.books().momentum @ down / sim.world.model.nodes.mass.sum()
    sim.run(until=0.7)
    after = sim.state.velocity[1] @ down if model == "rigid" else sim.books().momentum @ down / sim.world.model.nodes.mass.sum()
    turn = np.radians(angle)
    assert (after - before) / 0.5 == pytest.approx(G * (np.sin(turn) - friction * np.cos(turn)), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_a_sticking_block_does_not_creep_in_20000_steps(model):
    scene, down = slope(15.0, 0.5, model)
    sim = scene.simulate().run(until=1.0)
    start = sim.centre("b").copy()
    for _ in range(20000):
        sim.step()
    assert np.linalg.norm(sim.centre("b") - start) < 1e-6


def test_a_sticking_block_does_not_creep():
    scene, down = slope(15.0, 0.5)
    sim = scene.simulate().run(until=0.5)
    start = sim.centre("b").copy()
    assert np.linalg.norm(sim.run(until=1.5).centre("b") - start) < 3e-7


def test_friction_stays_in_the_cone_and_against_the_slip():
    scene, down = slope(20.0, 0.3, "fem", 1.0)
    sim = scene.simulate()
    for _ in range(100):
        contacts = sim.step().contacts
        sliding = contacts.sticking == 0
        size = np.linalg.norm(contacts.friction_impulse, axis=1)
        assert (size <= 0.3 * contacts.impulse * (1 + 1e-12)).all()
        assert np.abs(np.einsum("ri,ri->r", contacts.friction_impulse, contacts.normal)).max(initial=0.0) < 1e-12
        assert (np.einsum("ri,ri->r", contacts.friction_impulse, contacts.slip)[sliding] <= 1e-12).all()
        assert size[sliding] == pytest.approx(0.3 * contacts.impulse[sliding], rel=1e-9)


def test_a_ball_rolls_down_with_five_sevenths():
    """a = g sin / (1 + I / (m r^2)), 5/7 g sin for a ball; its inertia is that of its mesh."""
    angle, radius = 10.0, 0.1
    scene, down = slope(angle, 0.8, shape=dict(kind="ball", radius=radius, edge=0.02), dt=0.001)
    sim = scene.simulate()
    sim.run(until=0.2)
    before = sim.state.velocity[1] @ down
    sim.run(until=0.7)
    rate = (sim.state.velocity[1] @ down - before) / 0.5
    assert rate == pytest.approx(5 / 7 * G * np.sin(np.radians(angle)), rel=0.01)
    frames = sim.world.model.frames
    assert frames.inertia[1] / (frames.mass[1] * radius**2) == pytest.approx(0.4, rel=0.02)
    omega = np.empty((2, 3))
    angular_velocities(sim.state.rotation, sim.state.spin, frames.inverse_inertia, omega)
    assert omega[1] @ [0, 1, 0] * radius == pytest.approx(sim.state.velocity[1] @ down, rel=1e-3)  # without slip


# -- the table of pairs


def coefficients(scene, a="a", b="b"):
    sim = scene.simulate()
    i, j = np.array([sim.index(a)]), np.array([sim.index(b)])
    mu_s, mu_d = sim.world.pairs.friction(i, j)
    return float(mu_s[0]), float(mu_d[0])


def two(**pair):
    scene = Scene(contact="ground")
    ball = dict(kind="ball", radius=0.1, edge=0.1)
    scene.add(name="a", shape=ball, model="rigid", friction=0.2, static_friction=0.4)
    scene.add(name="b", shape=ball, model="rigid", friction=0.8, static_friction=0.9, position=(1, 0, 0))
    if pair:
        scene.pair("b", "a", **pair)
    return scene


def test_a_pair_takes_the_geometric_mean_unless_it_states_its_own():
    assert coefficients(two()) == pytest.approx((np.sqrt(0.36), np.sqrt(0.16)))
    assert coefficients(two(friction=0.7)) == pytest.approx((0.7, 0.7))
    assert coefficients(two(friction=0.1, static_friction=0.3)) == pytest.approx((0.3, 0.1))
    assert coefficients(two(static_friction=0.95)) == pytest.approx((0.95, 0.4))
    assert coefficients(two(), "b", "a") == coefficients(two(), "a", "b")


EARLY = pytest.mark.xfail(reason="contacts are judged one by one: corners carry less than their share, let go first and drop to mu")


@pytest.mark.parametrize("tilt, holds", [(0.4, True), pytest.param(0.55, True, marks=EARLY), (0.65, False)])
def test_static_friction_holds_what_sliding_friction_would_not(tilt, holds):
    """Gravity is tilted slowly to tan = tilt: mu_s = 0.6 holds or not; once it has let go, mu = 0.3 does not stop it.

    A flat plate, so that the moment of friction takes little load off the contacts behind.
    """
    scene, down = slope(0.0, 0.3, static_friction=0.6, shape=dict(kind="box", size=(0.4, 0.4, 0.02), edge=0.1))
    scene.bodies[0].static_friction = 0.6
    scene.change("gravity", dict(times=[0.2, 1.2], values=[[0, 0, -G], [tilt * G, 0, -G]]))
    sim = scene.simulate().run(until=1.2)
    if holds:
        assert abs(sim.run(until=2.0).centre("b")[0]) < 2e-4
    else:
        before = sim.state.velocity[1, 0]
        assert before > 0
        assert sim.run(until=1.7).state.velocity[1, 0] - before == pytest.approx(0.5 * G * (tilt - 0.3), rel=0.01)


def test_friction_of_a_pair_acts_between_these_two_only():
    scene = Scene(dt=0.002, contact="ground")
    scene.add(name="floor", shape="plane", model="static", friction=0.5)
    block = dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.1)
    for y, name in enumerate("ab"):
        scene.add(name=name, shape=block, model="rigid", position=(0, y, 0.05), velocity=(1, 0, 0), friction=0.5)
    scene.pair("floor", "b", friction=0.0)
    sim = scene.simulate().run(until=0.5)
    assert sim.centre("a")[0] == pytest.approx(1 / (2 * 0.5 * G), rel=0.02)
    assert sim.centre("b")[0] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("ground", ["plane", "box"])
@pytest.mark.parametrize("dt", [0.002, 0.0005])
def test_a_ball_that_rolls_keeps_rolling(ground, dt):
    """An exact ball touches as a ball, whatever its mesh: no resistance, no gain."""
    shape = "plane" if ground == "plane" else dict(kind="box", size=(4, 1, 0.1), edge=0.5)
    scene = Scene(dt=dt, contact="ground")
    scene.add(name="g", shape=shape, model="static", position=(0, 0, 0 if ground == "plane" else -0.05), friction=0.5)
    ball = dict(kind="ball", radius=0.05)
    scene.add(name="b", shape=ball, model="rigid", position=(0, 0, 0.05), velocity=(0.6, 0, 0), angular_velocity=(0, 12, 0))
    sim = scene.simulate()
    first = sim.books().kinetic
    sim.run(until=1.0)
    assert sim.centre("b")[0] == pytest.approx(0.6, rel=1e-3)
    assert sim.books().kinetic == pytest.approx(first, rel=1e-3)


def test_a_turntable_carries_what_lies_on_it():
    """The matter of a driven exact shape moves where it touches, not only at its centre."""
    scene = Scene(dt=0.002, contact="ground")
    turn = dict(times=[0, 4], values=[[0, 0, 0], [0, 0, 120]])
    disc = dict(kind="cylinder", radius=1.0, height=0.1)
    scene.add(name="table", shape=disc, model="static", position=(0, 0, -0.05), friction=0.8, motions=[dict(turn=turn)])
    box = dict(kind="box", size=(0.1, 0.1, 0.05), edge=0.05)
    scene.add(name="b", shape=box, model="rigid", position=(0.5, 0, 0.025), friction=0.8)
    sim = scene.simulate().run(until=3.0)
    angle, there = np.radians(90), sim.centre("b")
    assert there[:2] == pytest.approx(0.5 * np.array([np.cos(angle), np.sin(angle)]), abs=0.01)
