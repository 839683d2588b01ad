"""Edges that cross edges, and rims that lie on rims: what points in bodies do not see."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pliant import Scene
from pliant.detect.penetration import Penetration, body_boxes
from pliant.detect.sharp_edges import SharpEdges, each_place_once
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion

METHODS = ("ground", "noniterative")
G = 9.81
SHIFTS = st.one_of(st.just(0.0), st.floats(-1e-3, 1e-3), st.sampled_from([1e-16, -1e-12, 1e-9, 1e-7, -1e-5, 1e-4]))


def stack(method, shifts=((0.0, 0.0),), turn=0.0, size=(0.1, 0.1, 0.1), edge=0.1, models=("rigid", "rigid"), dt=1e-3):
    """Boxes on each other, every other one moved aside and turned."""
    scene = Scene(dt=dt, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    for k, model in enumerate(models):
        material = dict(density=1000.0, **(dict(youngs_modulus=1e6, poisson_ratio=0.3, stiffness_damping=2e-3) if model == "fem" else {}))
        x, y = shifts[k % len(shifts)] if k % 2 else (0.0, 0.0)
        place = (x, y, (k + 0.5) * size[2])
        shape = dict(kind="box", size=size, edge=edge)
        scene.add(
            name=f"box {k}", shape=shape, model=model, material=material, position=place, rotation=(0, 0, turn * (k % 2)), friction=0.5
        )
    return scene.simulate()


def ride(sim: Simulation, until: float, upper: str = "box 1", lower: str = "box 0"):
    """Run; (mean force between two boxes in the second half [N], how far the upper one went)."""
    begin, force = sim.centre(upper), []
    while sim.time < until - 1e-9:
        sim.step()
        if sim.time > until / 2:
            force.append(sim.contacts(upper, lower).total_force[2])
    return float(np.mean(force)), sim.centre(upper) - begin


def motion_of(sim: Simulation) -> Motion:
    """Where everything is now, as a motion without time."""
    return sim.world.standing()


def crossings(sim: Simulation):
    motion = motion_of(sim)
    finder = motion.kept(Penetration)
    finder.fit(motion.end, motion.shapes)
    return motion.kept(SharpEdges).find(motion.start, motion.end, *body_boxes(finder.tree, motion.shapes), motion.pairs.meet)


def two_boxes(depth: float, turn: float, shift=(0.0, 0.0)):
    scene = Scene(dt=1e-3, contact="none", gravity=(0, 0, 0))
    shape = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1)
    scene.add(name="low", shape=shape, model="rigid")
    scene.add(name="high", shape=shape, model="rigid", position=(*shift, 0.1 - depth), rotation=(0, 0, turn))
    return scene.simulate()


def boxes_on_edge(depth=1e-3, rotation=(0.0, 0.0, 45.0), shift=(0.0, 0.0), model="rigid", edge=0.1):
    """A rigid box of 0.1 m, and another one on top of it, turned."""
    scene = Scene(dt=1e-3, contact="none", gravity=(0, 0, 0))
    scene.add(name="low", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), model="rigid")
    shape = dict(kind="box", size=(0.1, 0.1, 0.1), edge=edge)
    scene.add(name="high", shape=shape, model=model, position=(*shift, 0.1 - depth), rotation=rotation)
    return scene.simulate()


def test_edges_may_cross_a_little_beyond_their_ends():
    """The line of an edge crosses another one `shift` beyond its end: 1.5 % of the width is near enough, 4 % is not."""
    assert len(crossings(boxes_on_edge(5e-3, (0, 0, 0), (1.5e-3, 0.03)))) == 4
    assert len(crossings(boxes_on_edge(5e-3, (0, 0, 0), (4e-3, 0.03)))) == 2


def test_edges_of_tilted_boxes_cross_up_to_five_degrees():
    assert len(crossings(boxes_on_edge(0.015, (4, 0, 45)))) == 8
    assert len(crossings(boxes_on_edge(0.015, (6, 0, 45)))) == 4


def test_edges_that_crossed_in_the_last_step_may_tilt_further():
    """Up to 17 degrees; else what they push makes them come and go (squeezed bars trembled at 0.4 m/s)."""
    for tilt, new, still in ((6, 4, 8), (10, 4, 8), (16, 0, 2)):
        motion = motion_of(boxes_on_edge(0.015, (tilt, 0, 45)))
        edges, finder = motion.kept(SharpEdges), motion.kept(Penetration)
        finder.fit(motion.end, motion.shapes)
        every = np.sort(edges.key(np.array(list(itertools.product(range(len(edges.ends)), repeat=2)))))
        given = motion.start, motion.end, *body_boxes(finder.tree, motion.shapes), motion.pairs.meet
        assert (len(edges.find(*given)), len(edges.find(*given, every))) == (new, still)


def test_what_slides_on_to_the_next_edge_of_a_rim_may_tilt_as_far():
    """A rim of squeezed bars went over from an edge to the next, which leant too far to begin there: nothing held it, 5 m/s every other step."""
    motion = motion_of(boxes_on_edge(0.015, (10, 0, 45), edge=0.05))
    edges, finder = motion.kept(SharpEdges), motion.kept(Penetration)
    finder.fit(motion.end, motion.shapes)
    given = motion.start, motion.end, *body_boxes(finder.tree, motion.shapes), motion.pairs.meet
    every = np.array(list(itertools.product(range(len(edges.ends)), repeat=2)))
    begin, there = (set(map(tuple, found.edge)) for found in (edges.find(*given), edges.find(*given, np.sort(edges.key(every)))))
    assert len(there - begin) >= 4
    for one, other in there - begin:
        shares = (edges.ends[:, None, :, None] == edges.ends[None, [one, other], None, :]).any(axis=(2, 3))  # an end with either of them
        apart = edges.ends[:, 0] >= edges.ends[other].min()  # of the body of the other
        next_to, far = np.flatnonzero(shares[:, 1] & (np.arange(len(edges.ends)) != other)), np.flatnonzero(~shares[:, 1] & apart)
        for last, kept in ((next_to[0], True), (far[0], False)):
            found = edges.find(*given, edges.key(np.array([[one, last]])))
            assert ((one, other) in set(map(tuple, found.edge))) == kept


def test_short_edges_do_not_cross_where_points_are_dense_enough():
    """Soft rims count down to 0.2 of the width, rigid ones, which do not give way, down to 0.05."""
    assert [len(crossings(boxes_on_edge(model="fem", edge=edge))) for edge in (0.025, 0.0167)] == [8, 0]
    assert len(crossings(boxes_on_edge(edge=0.00625))) == 8


def test_the_facets_of_a_cylinder_have_edges_too():
    """A cylinder lies across a box, no point of the one in the other: its long edges, some 30 degrees each, cross two rims."""
    scene = Scene(dt=1e-3, contact="none", gravity=(0, 0, 0))
    scene.add(name="low", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), model="rigid")
    shape = dict(kind="cylinder", radius=0.05, height=0.2, edge=0.03)
    scene.add(name="high", shape=shape, model="rigid", position=(0, 0, 0.099), rotation=(90, 5, 0))
    assert len(crossings(scene.simulate())) == 2


# -- what crosses


def test_boxes_turned_by_45_degrees_cross_at_the_eight_corners_of_an_octagon():
    found = crossings(two_boxes(1e-3, 45.0))
    assert len(found) == 8
    assert np.allclose(found.gap, -1e-3, atol=1e-12) and np.allclose(np.abs(found.normal @ [0, 0, 1]), 1.0)
    motion = motion_of(two_boxes(1e-3, 45.0))
    s = found.place[:, :1]
    at = (1 - s) * motion.end[found.points[:, 0]] + s * motion.end[found.points[:, 1]]
    assert np.allclose(np.hypot(at[:, 0], at[:, 1]), 0.05 / math.cos(math.radians(22.5)), rtol=1e-9)  # of the common octagon
    assert np.allclose(np.abs(at[:, :2]).max(axis=1), 0.05)


def test_edges_of_boxes_side_by_side_or_apart_do_not_cross():
    assert len(crossings(two_boxes(-1e-6, 45.0))) == 0
    assert len(crossings(two_boxes(1e-3, 45.0, (0.2, 0.0)))) == 0
    assert len(crossings(two_boxes(0.05, 45.0))) == 0  # half way in: it came in elsewhere


@pytest.mark.parametrize(("last", "stays"), [(2.5e-3, True), (1.2e-3, False)])
def test_crossings_go_on_while_bodies_are_up_to_twice_as_deep_as_in_the_last_step(last, stays):
    """4 mm deep: a stack that settles keeps its crossings, and what was 1.2 mm deep has come in elsewhere."""
    sim = two_boxes(4e-3, 45.0)
    found, motion = crossings(sim), motion_of(sim)
    assert len(found) == 8
    assert (len(each_place_once(found, motion.end, motion.kept(SharpEdges).width, np.full(8, last))) > 0) == stays


@settings(max_examples=20, deadline=None)
@given(turn=st.floats(3.0, 87.0), x=st.floats(-0.03, 0.03), y=st.floats(-0.03, 0.03), depth=st.floats(1e-5, 1e-3))
def test_corners_of_the_common_part_are_points_and_crossings(turn, x, y, depth):
    """Of two squares on each other: its corners by clipping the one with the other."""
    sim = two_boxes(depth, turn, (x, y))
    angle, square = math.radians(turn), 0.05 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    upper = square @ rotation.T + [x, y]
    expected = []
    for (a, b), (c, d) in itertools.product(*(list(zip(p, np.roll(p, -1, axis=0), strict=True)) for p in (upper, square))):
        s, t = np.linalg.solve(np.stack([b - a, c - d], axis=1), c - a)
        if 0 <= s <= 1 and 0 <= t <= 1:
            expected.append(a + s * (b - a))
    found = crossings(sim)
    motion = motion_of(sim)
    s = found.place[:, :1]
    at = ((1 - s) * motion.end[found.points[:, 0]] + s * motion.end[found.points[:, 1]])[:, :2]
    assert all(np.linalg.norm(at - corner, axis=1).min() < 1e-9 for corner in expected)
    within = found.beyond == 0.0  # others lie no farther beyond an end than they are deep
    assert within.sum() == len(expected) and (found.beyond <= depth + 1e-12).all()


# -- what stands


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=2, deadline=None)
@example(x=0.0, y=0.0)
@example(x=1e-3, y=0.0)
@given(x=SHIFTS, y=SHIFTS)
def test_a_coarse_rigid_box_stands_on_another_however_their_rims_lie(method, x, y):
    sim = stack(method, ((x, y), (x, y)))
    force, moved = ride(sim, 0.08)
    assert abs(moved[0]) < 1e-4 and abs(moved[1]) < 1e-4 and -1e-3 < moved[2] < 1e-5
    assert force > 0.5 * G


@pytest.mark.slow
@pytest.mark.parametrize("edge", [0.1, 0.05])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (1e-7, 0.0), (1e-3, 0.0), (1e-3, 1e-3)])
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("method", METHODS)
def test_aligned_rigid_stacks_stand_for_a_second(method, count, shift, edge):
    """Within a millimetre, with the weight of what is above between each two boxes; dt = 0.5 ms, for the depth grows with its square."""
    sim = stack(method, (shift, shift), edge=edge, models=("rigid",) * count, dt=5e-4)
    begin = np.array([sim.centre(f"box {k}") for k in range(count)])
    force, steps = np.zeros(count), 0
    while sim.time < 1.0 - 1e-9:
        sim.step()
        if sim.time > 0.3:
            steps += 1
            force += [sim.contacts(f"box {k}", f"box {k - 1}" if k else "ground").total_force[2] for k in range(count)]
    end = np.array([sim.centre(f"box {k}") for k in range(count)])
    assert np.abs(end - begin).max() < 1e-3
    assert force / steps == pytest.approx(G * (count - np.arange(count)), rel=0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size, turn", [((0.1, 0.1, 0.1), 45.0), ((0.4, 0.05, 0.02), 90.0)])
def test_rigid_boxes_and_planks_rest_crosswise(method, size, turn):
    """No point of the one is in the other."""
    sim = stack(method, size=size, edge=0.4, turn=turn)
    force, moved = ride(sim, 0.08)
    assert np.abs(moved[:2]).max() < 1e-5 and -1e-3 < moved[2] < 0.0
    assert force > 0.5 * G * 1000 * np.prod(size)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("models", [("rigid", "fem"), ("fem", "rigid"), ("fem", "fem")])
@pytest.mark.parametrize("turn, x", [(45.0, 0.0), (0.0, 0.0), (0.0, 1e-7), (0.0, 1e-3)])
def test_coarse_soft_boxes_rest_on_each_other(method, models, turn, x):
    force, moved = ride(stack(method, ((x, 0.0), (x, 0.0)), turn=turn, models=models), 0.4)
    assert force == pytest.approx(G, rel=0.01)
    assert np.abs(moved[:2]).max() < 1e-4 and -1e-3 < moved[2] < 0.0


def test_rims_of_soft_boxes_with_edges_of_a_third_of_their_width_do_not_tremble():
    """The upper box is 1 mm aside: corners of its rim have come down beside the lower one, where only crossings carry them."""
    sim, fastest = stack("noniterative", ((1e-3, 0.0),), models=("fem", "fem"), edge=0.034), []
    while sim.time < 0.1 - 1e-9:
        sim.step()
        fastest.append(np.linalg.norm(sim.state.v, axis=1).max())
    assert np.median(fastest[-50:]) < 3e-3  # 10 mm/s where such edges do not cross


@pytest.mark.parametrize("method", ["ground", "noniterative", {"method": "noniterative", "mode": "paper"}])
def test_momentum_and_reported_forces_balance_where_edges_cross(method):
    sim = two_falling(method)
    before, touched = momentum(sim), 0
    for _ in range(40):
        report = sim.step()
        touched += len(report.contacts) > 0
        assert report.balance.error < 1e-9
    assert touched >= 2 and np.allclose(momentum(sim), before, atol=1e-12)


def two_falling(method):
    """Two boxes that fly at each other, with crossed edges ahead."""
    scene = Scene(dt=1e-3, contact=method, gravity=(0, 0, 0))
    shape = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1)
    scene.add(name="a", shape=shape, model="rigid", rotation=(45, 0, 0), velocity=(0, 0, 0.5), material=dict(density=1000.0))
    scene.add(name="b", shape=shape, model="rigid", rotation=(0, 45, 0), position=(0.004, 0.003, 0.148), material=dict(density=2000.0))
    return scene.simulate()


def momentum(sim: Simulation):
    return sum(m * speed(sim, name) for name, m in (("a", 1.0), ("b", 2.0)))


def speed(sim: Simulation, name: str):
    """Velocity of a rigid body's centre [m/s], (3,)."""
    bodies = sim.world.model.bodies
    return sim.world.state.velocity[bodies.frame[bodies.names.index(name)]].copy()


# -- balls


def test_a_rigid_ball_rolls_as_a_ball_under_noniterative():
    """With g sin(angle) / (1 + I / (m r²)): mass and inertia are those of its coarse mesh, the surface that rolls is the ball's."""
    angle = math.radians(20.0)
    scene = Scene(dt=1e-3, contact="noniterative", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1, edge=0.1), model="rigid", position=(0, 0, 0.1), friction=0.5)
    sim = scene.simulate().run(until=0.1)
    early, frames = speed(sim, "ball")[0], sim.world.model.frames
    inertia = (frames.inertia[-1] / frames.mass[-1]).mean()
    assert speed(sim.run(until=0.3), "ball")[0] - early == pytest.approx(0.2 * G * math.sin(angle) / (1.0 + inertia / 0.1**2), rel=1e-3)
    assert len(sim.contacts("ball", "plane")) == 1
