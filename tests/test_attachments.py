"""Springs, strings and welds between vertices, frames and the world."""

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.bodies.register import material_for

CUBE = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.2)


def scene_of(dt=1e-3, gravity=(0, 0, 0)):
    return Scene(dt=dt, gravity=gravity, contact="none")


def frequency(times, values):
    k = np.flatnonzero(np.diff(np.sign(values)))
    crossing = times[k] - values[k] * (times[k + 1] - times[k]) / (values[k + 1] - values[k])
    return 0.5 / np.diff(crossing).mean()


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_frequency_of_a_mass_on_a_spring(model):
    """omega = sqrt(k / m), 8 kg on 800 N/m; the spring is taken at the end of the step, so omega dt must be small."""
    scene = scene_of()
    scene.add(name="m", shape=CUBE, model=model, position=(1, 0, 0), velocity=(0.1, 0, 0), material=material_for(model, youngs_modulus=1e7))
    for y in (-0.1, 0.1):
        for z in (-0.1, 0.1):
            scene.attach(a=dict(at=(0, y, z)), b=dict(body="m", at=(0.9, y, z)), stiffness=200.0)
    sim = scene.simulate(dt=4e-4 if model == "rigid" else 1e-3)
    seen = []
    sim.run(until=0.7, each=lambda report: seen.append((sim.time, sim.centre("m")[0] - 1.0)))
    assert frequency(*np.array(seen).T) == pytest.approx(10 / (2 * np.pi), rel=0.01)


def test_spring_between_two_rigid_bodies_keeps_momentum_and_swings_with_the_reduced_mass():
    scene = scene_of(dt=4e-4)
    scene.add(name="a", shape=CUBE, model="rigid", position=(-0.5, 0, 0), velocity=(0.3, 0, 0))
    scene.add(name="b", shape=CUBE, model="rigid", position=(0.5, 0, 0), material=dict(density=3000.0))
    scene.attach(a=dict(body="a", at=(-0.5, 0, 0)), b=dict(body="b", at=(0.5, 0, 0)), stiffness=600.0)
    sim = scene.simulate()
    first, seen = sim.books(), []
    sim.run(until=0.7, each=lambda report: seen.append((sim.time, sim.centre("b")[0] - sim.centre("a")[0] - 1.0)))
    assert sim.books().momentum == pytest.approx(first.momentum, abs=1e-12)
    assert frequency(*np.array(seen).T) == pytest.approx(np.sqrt(600 / 6.0) / (2 * np.pi), rel=0.01)


@pytest.mark.parametrize("stiffness", [1e2, 1e5, 1e9])
@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_no_stiffness_is_unstable(stiffness, model):
    scene = scene_of(dt=0.005)
    scene.add(name="m", shape=CUBE, model=model, position=(1, 0, 0), velocity=(1, 0, 0), material=material_for(model, youngs_modulus=1e5))
    scene.attach(a=dict(at=(0, 0.1, 0.1)), b=dict(body="m", at=(0.9, 0.1, 0.1)), stiffness=stiffness)
    sim = scene.simulate()
    first = sim.books().kinetic
    sim.run(until=2.0)
    assert sim.books().kinetic <= 1.001 * first


def test_damper_brings_a_spring_to_rest_at_its_length():
    scene = scene_of()
    scene.add(name="m", shape=CUBE, model="rigid", position=(1, 0, 0), velocity=(0.5, 0, 0))
    scene.attach(a=dict(at=(0, 0, 0)), b=dict(body="m", at=(1, 0, 0)), stiffness=800.0, damping=160.0, length=0.9)
    sim = scene.simulate().run(until=2.0)
    assert sim.centre("m") == pytest.approx([0.9, 0, 0], abs=1e-6)


def test_string_is_slack_until_it_is_taut():
    """Free flight until the length is reached, to the last bit of the discrete law; then it never gets much longer."""
    scene = scene_of(gravity=(0, 0, -9.81))
    scene.add(name="m", shape=CUBE, model="rigid", position=(0, 0, -0.5))
    scene.attach(kind="string", a=dict(at=(0, 0, 0)), b=dict(body="m", at=(0, 0, -0.5)), length=1.0, stiffness=1e6, damping=2e3)
    sim = scene.simulate().run(until=0.3)
    fallen = 9.81 * 0.3 * 0.301 / 2
    assert sim.centre("m")[2] == pytest.approx(-0.5 - fallen, abs=1e-12)
    lowest = []
    sim.run(until=1.2, each=lambda report: lowest.append(sim.centre("m")[2]))
    assert min(lowest) > -1.03
    assert lowest[-1] == pytest.approx(-1.0 - 8 * 9.81 / 1e6, abs=1e-5)  # hangs by m g / k


def test_string_never_pushes():
    scene = scene_of()
    scene.add(name="m", shape=CUBE, model="rigid", position=(1, 0, 0), velocity=(-1, 0, 0))
    scene.attach(kind="string", a=dict(at=(0, 0, 0)), b=dict(body="m", at=(1, 0, 0)), stiffness=1e5)
    sim = scene.simulate().run(until=0.9)
    assert sim.state.velocity[0] == pytest.approx([-1, 0, 0], abs=1e-14)


def relative_turn(sim, a, b):
    """cos of half the angle between two frames."""
    return abs(float(sim.pose(a)[1] @ sim.pose(b)[1]))


def spinning_pair(dt):
    scene = scene_of(dt=dt)
    scene.add(name="a", shape=CUBE, model="rigid", position=(0, 0, 0), angular_velocity=(1, 2, 3))
    scene.add(name="b", shape=CUBE, model="rigid", position=(0.2, 0, 0), velocity=(0, 1, 0), rotation=(0, 0, 90))
    scene.attach(kind="weld", a=dict(body="a", at=(0.1, 0, 0)), b=dict(body="b", at=(0.1, 0, 0)))
    return scene.simulate()


def test_weld_of_rigid_bodies_keeps_place_and_orientation_and_momentum():
    sim = spinning_pair(2e-3)
    first, turn = sim.books(), relative_turn(sim, "a", "b")
    sim.run(until=0.5)
    assert np.linalg.norm(sim.centre("a") - sim.centre("b")) == pytest.approx(0.2, abs=1e-6)
    assert relative_turn(sim, "a", "b") == pytest.approx(turn, abs=1e-6)
    assert sim.books().momentum == pytest.approx(first.momentum, abs=1e-11)


def test_angular_momentum_of_welded_bodies_is_kept_to_first_order():
    """Impulses act where the bodies end the step, so a pair that turns at w loses the part w^2 dt of its spin per time."""
    losses = []
    for dt in (4e-3, 2e-3, 1e-3):
        sim = spinning_pair(dt)
        first = sim.books().angular_momentum
        losses.append(1 - np.linalg.norm(sim.run(until=0.25).books().angular_momentum) / np.linalg.norm(first))
    assert abs(losses[-1]) < 2.5e-3
    assert np.log2(np.divide(losses[:-1], losses[1:])) == pytest.approx(1.0, abs=0.2)


def test_welded_rigid_bodies_fall_turn_and_weigh_like_one():
    """Two cubes welded make a bar of twice the length; a force on one turns both with the inertia of the bar."""
    def turned(two):
        scene = scene_of()
        load = [dict(value=(0, 0, 0.5), at=(0.1, 0, 0))]
        if two:
            scene.add(name="a", shape=CUBE, model="rigid", loads=[dict(value=(0, 0, 0.5), at=(0.1, 0, 0))])
            scene.add(name="b", shape=CUBE, model="rigid", position=(-0.2, 0, 0))
            scene.attach(kind="weld", a=dict(body="a", at=(-0.1, 0, 0)), b=dict(body="b", at=(-0.1, 0, 0)))
        else:
            scene.add(name="a", shape=dict(kind="box", size=(0.4, 0.2, 0.2), edge=0.2), model="rigid", position=(-0.1, 0, 0), loads=load)
        sim = scene.simulate().run(until=0.3)
        return sim.state.velocity[:, 2].mean(), sim.world.state.rotation[0]

    (v2, q2), (v1, q1) = turned(True), turned(False)
    assert v2 == pytest.approx(v1, rel=1e-9)
    angles = [2 * np.arccos(min(1.0, abs(q[0]))) for q in (q2, q1)]
    assert angles[0] == pytest.approx(angles[1], rel=5e-3)


def test_weld_of_a_soft_body_to_a_rigid_one():
    scene = scene_of(dt=2e-3, gravity=(0, 0, -9.81))
    scene.add(name="hand", shape=CUBE, model="static", position=(0, 0, 0))
    scene.add(name="soft", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), position=(0, 0, -0.2), material=dict(youngs_modulus=1e6, mass_damping=10.0))
    for x in (-0.1, 0.1):
        for y in (-0.1, 0.1):
            scene.attach(kind="weld", a=dict(body="hand", at=(x, y, -0.1)), b=dict(body="soft", at=(x, y, -0.1)))
    sim = scene.simulate()
    gaps = []
    ends = sim.world.model.attachments

    def look(report):
        points = sim.world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)
        gaps.append(np.abs(points[ends.a] - points[ends.b]).max())

    sim.run(until=1.0, each=look)
    assert max(gaps) < 1e-6
    assert sim.books().kinetic < 1e-6
    assert -0.22 < sim.centre("soft")[2] < -0.2


@pytest.mark.parametrize("soft", [False, True])
def test_chain_of_welded_bodies_hangs_together_and_leaves_others_alone(soft):
    """Six links; every other one soft if asked. The ends stay joined, momentum of a free chain is kept."""
    scene = scene_of(dt=2e-3)
    for i in range(6):
        fem = soft and i % 2 == 1
        scene.add(
            name=f"l{i}", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.2), model="fem" if fem else "rigid",
            position=(0.2 * i, 0, 0), material=dict(youngs_modulus=1e6) if fem else {}, velocity=(0, 0, 1.0 if i == 0 else 0.0),
        )  # fmt: skip
    for i in range(5):
        for y, z in ((-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)) if soft else ((0, 0),):
            place = (0.2 * i + 0.1, y, z)
            scene.attach(kind="weld", a=dict(body=f"l{i}", at=place), b=dict(body=f"l{i + 1}", at=place))
    sim = scene.simulate()
    first = sim.books()
    sim.run(until=0.5)
    last, ends = sim.books(), sim.world.model.attachments
    points = sim.world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)
    assert np.abs(points[ends.a] - points[ends.b]).max() < 1e-5
    assert last.momentum == pytest.approx(first.momentum, abs=1e-9)
    assert sim.centre("l0")[2] > 0.05 and last.kinetic < first.kinetic


def test_vertex_to_vertex_weld_of_soft_bodies_must_meet():
    scene = scene_of()
    for i in range(2):
        scene.add(name=f"s{i}", shape=CUBE, position=(0.3 * i, 0, 0))
    scene.attach(kind="weld", a=dict(body="s0", vertex=0), b=dict(body="s1", vertex=0))
    with pytest.raises(PliantError, match="apart"):
        scene.simulate()


def test_ends_are_checked():
    with pytest.raises(PliantError, match="either `vertex` or `at`"):
        scene_of().attach(a=dict(body="x"), b=dict(at=(0, 0, 0)))
    scene = scene_of()
    scene.add(name="cube", shape=CUBE)
    scene.attach(a=dict(body="cub", vertex=0), b=dict(at=(0, 0, 0)))
    with pytest.raises(PliantError, match="did you mean cube"):
        scene.simulate()
    scene.attachments[0].a.body, scene.attachments[0].a.vertex = "cube", 99
    with pytest.raises(PliantError, match="vertices 0 to 7, not 99"):
        scene.simulate()
