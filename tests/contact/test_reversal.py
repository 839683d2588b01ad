"""The method `reversal`: what collides, what velocities become, momentum, energy, setting back, bodies inside others, rest, resume."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import PliantError, Scene
from pliant.bodies.register import material_for
from pliant.contact.reversal.method import Reversal
from pliant.detect import brute_force, triangle_overlap
from pliant.detect.box_overlap import pairs_between
from pliant.detect.colliding import Collisions
from pliant.detect.tree import Tree, boxes_of, cells, centre_tree
from pliant.detect.triangle_overlap import crossing_interval, every_pair, intersecting, triangle_pairs
from pliant.geometry.shapes import make as make_shape
from pliant.simulate.simulation import Simulation

G = 9.81
LIMP = dict(spring_stiffness=1e-9, vertex_mass=0.02)  # springs that do not matter: every vertex is on its own


def two_balls(response, speed=1.0, shift=0.02, e=0.9, dt=0.001, gap=0.0, network="all-pairs", material=LIMP, **contact):
    scene = Scene(dt=dt, gravity=(0, 0, 0), contact=dict(method="reversal", response=response, restitution=e, **contact))
    soft = dict(model="springs", network=network, integrator="verlet", material=material)
    scene.add(name="a", shape=dict(kind="ball", radius=0.1, edge=0.04), velocity=(speed, 0.1, 0), **soft)
    scene.add(name="b", shape=dict(kind="ball", radius=0.1, edge=0.03), position=(0.2 + gap, shift, 0), velocity=(-speed, 0, 0.2), **soft)
    return scene


def until_contact(sim, steps=200):
    """Books and velocities before the first step with contacts, and the report of that step."""
    for _ in range(steps):
        before, v = sim.books(), sim.state.v.copy()
        report = sim.step()
        if len(report.contacts):
            return before, v, report
    raise AssertionError("nothing touched")


# -- the tree


def soup(seed, count, size=0.3):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1, (count, 1, 3)) + rng.uniform(-size, size, (count, 3, 3))
    return points.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


@given(st.integers(0, 2**31), st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(0, 14))
@settings(max_examples=40, deadline=None)
def test_P14_pairs_of_both_trees_equal_brute_force_and_refit_equals_rebuild(seed, sizes, depth):
    start = np.concatenate([[0], np.cumsum(sizes)])
    points, faces = soup(seed, start[-1])
    moved = points + np.random.default_rng(seed + 1).uniform(-0.2, 0.2, points.shape)
    bodies = np.array([(i, j) for i in range(len(sizes)) for j in range(i, len(sizes))])
    for tree in (centre_tree(points, faces, start, depth), Tree.build(points, faces, start)):
        for x in (points, moved):
            tree.refit(x)
            low, high = boxes_of(x, faces)
            assert np.array_equal(pairs_between(tree, bodies, shared=True), brute_force.box_pairs(low, high))
            for b in np.flatnonzero(np.diff(start)):
                mine = slice(start[b], start[b + 1])
                assert np.array_equal(tree.low[tree.root[b]], low[mine].min(axis=0))
                assert np.array_equal(tree.high[tree.root[b]], high[mine].max(axis=0))
    rebuilt = centre_tree(points, faces, start, depth)
    rebuilt.refit(moved)
    again = centre_tree(points, faces, start, depth)
    again.box_low[:], again.box_high[:] = (b[again.order] for b in boxes_of(moved, faces))
    again._refit_nodes()
    assert np.array_equal(rebuilt.low, again.low) and np.array_equal(rebuilt.high, again.high)


@given(st.integers(0, 2**31), st.lists(st.integers(0, 60), min_size=2, max_size=4))
@settings(max_examples=20, deadline=None)
def test_crossings_of_few_faces_are_those_of_many(seed, sizes):
    """One serial walk, the walk made for threads, and each triangle against each find the same."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    points, faces = soup(seed, start[-1])
    bodies = np.array([(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))])
    tree = Tree.build(points, faces, start)
    few = intersecting(tree, points, bodies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triangle_overlap, "SMALL", 0)
        assert np.array_equal(few, intersecting(tree, points, bodies))
    assert np.array_equal(few, every_pair(points, faces, start, bodies))


def test_the_centre_tree_halves_boxes_along_their_longest_axis():
    """Four triangles on a line along x: the first cut is at the middle of the box, whatever is on either side."""
    corner = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    points = np.concatenate([corner + [x, 0, 0] for x in (0.0, 0.2, 0.4, 9.9)])
    faces = np.arange(12).reshape(-1, 3)
    low, high = boxes_of(points, faces)
    cell = cells(points[faces].mean(axis=1), low, high, np.array([0, 4]), 1)
    assert cell.tolist() == [0, 0, 0, 1]
    cell = cells(points[faces].mean(axis=1), low, high, np.array([0, 4]), 4)
    assert len(np.unique(cell)) == 2  # 10 -> 5 -> 2.5 -> 1.25: three of four stay together


def test_most_leaves_of_the_published_tree_are_empty():
    """theory/springs 5: not balanced, as it is said to be."""
    surface = make_shape("ball", radius=1.0, edge=0.17).surface()
    low, high = boxes_of(surface.points, surface.faces)
    filled = np.unique(cells(surface.points[surface.faces].mean(axis=1), low, high, np.array([0, len(surface.faces)]), 12))
    assert len(surface.faces) > 600 and len(filled) < 0.2 * 2**12


def test_G31_intervals_of_two_triangles_on_the_line_of_their_planes():
    """Moeller: along x the first covers [0, 0.5], the second [0.2, 0.5]; they hit."""
    p = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    q = np.array([[0.2, 0.2, -0.5], [0.2, 0.3, 0.5], [0.8, 0.8, 0.5]])
    normal_p, normal_q = np.cross(p[1] - p[0], p[2] - p[0]), np.cross(q[1] - q[0], q[2] - q[0])
    of_p, of_q = (p - q[0]) @ normal_q, (q - p[0]) @ normal_p
    first = sorted(crossing_interval(*p[:, 0], *of_p))
    second = sorted(crossing_interval(*q[:, 0], *of_q))
    assert first == pytest.approx([0.0, 0.5], abs=1e-9) and second == pytest.approx([0.2, 0.5], abs=1e-9)
    assert triangle_pairs(p, [[0, 1, 2]], q, [[0, 1, 2]]).tolist() == [[0, 0]]


@pytest.mark.parametrize("split, depth", [("median", 12), ("centre", 12), ("centre", 3), ("centre", 0)])
def test_colliding_points_are_all_corners_of_triangles_that_intersect(split, depth):
    sim = two_balls("normal", gap=-0.03).simulate()
    motion = sim.world.free_motion(1e-9)
    found = motion.kept(Collisions).find(motion.start, motion.end, motion.shapes, motion.pairs.meet, split, depth)
    i, j = brute_force_crossings(sim)
    skin = sim.world.model.skin
    assert set(found.point.tolist()) == set(skin.faces[np.concatenate([i, j])].ravel().tolist()) and len(i) > 5
    assert found.pairs.tolist() == [[0, 1]] and not found.contained.any()
    assert found.normal[0, 0] < -0.9  # out of b, towards a


def brute_force_crossings(sim):
    """Faces of body 0 and of body 1 that intersect, each against each."""
    return every_pair(sim.points(), sim.world.model.skin.faces, sim.world.model.bodies.face_start, np.array([[0, 1]])).T


# -- what velocities become


def test_invert_is_minus_e_times_the_velocity_and_the_positions_of_before():
    sim = two_balls("invert").simulate()
    for _ in range(200):
        x, v = sim.state.x.copy(), sim.state.v.copy()
        report = sim.step()
        if len(report.contacts):
            break
    hit = np.unique(report.contacts.feature_a)  # skin points are the nodes here
    node = sim.world.model.skin.node[sim.world.model.skin.start[hit]]
    assert 5 < len(node) < 0.5 * len(x)
    assert sim.state.v[node] == pytest.approx(-0.9 * v[node], abs=1e-9)
    assert np.array_equal(sim.state.x[node], x[node])
    rest = np.setdiff1d(np.arange(len(x)), node)
    assert sim.state.v[rest] == pytest.approx(v[rest], abs=1e-9)


@pytest.mark.parametrize("response", ["relative", "normal"])
@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 1.0])
def test_energy_in_the_frame_of_the_mean_velocity_is_e_squared_times_what_it_was(response, e):
    """Vertices on their own (springs that do not matter), so setting them back costs nothing."""
    sim = two_balls(response, e=e).simulate()
    _, v, report = until_contact(sim)
    turned = np.flatnonzero(np.linalg.norm(sim.state.v - v, axis=1) > 1e-7)
    mass = sim.world.model.nodes.mass[turned, None]
    mean = (mass * v[turned]).sum(axis=0) / mass.sum()
    before, after = v[turned] - mean, sim.state.v[turned] - mean
    if response == "relative":
        assert (mass * after**2).sum() == pytest.approx(e**2 * (mass * before**2).sum(), rel=1e-6, abs=1e-12)
        return
    n = report.contacts.normal[0]
    assert (mass[:, 0] * (after @ n) ** 2).sum() == pytest.approx(e**2 * (mass[:, 0] * (before @ n) ** 2).sum(), rel=1e-6, abs=1e-12)
    assert after - np.outer(after @ n, n) == pytest.approx(before - np.outer(before @ n, n), abs=1e-9)  # nothing across it


@pytest.mark.parametrize("response", ["relative", "normal"])
@pytest.mark.parametrize("models", [("springs", "springs"), ("fem", "rigid"), ("rigid", "rigid"), ("springs", "fem")])
def test_momentum_is_exact(response, models):
    scene = Scene(dt=0.0005, gravity=(0, 0, 0), contact=dict(method="reversal", response=response))
    material = dict(youngs_modulus=1e5, spring_stiffness=3e3)
    for name, model, x in (("a", models[0], 0.0), ("b", models[1], 0.23)):
        explicit = {} if model == "rigid" else dict(integrator="symplectic")
        scene.add(name=name, shape=dict(kind="ball", radius=0.1, edge=0.05), model=model, position=(x, 0.3 * x, 0),
                  velocity=(1 - 8 * x, 0.2, 0), material=material_for(model, **material), **explicit)  # fmt: skip
    sim = scene.simulate()
    first, touched = sim.books(), 0
    for _ in range(120):
        touched += len(sim.step().contacts)
    last = sim.books()
    assert touched > 0
    assert np.abs(last.momentum - first.momentum).max() < 1e-12
    assert last.total < first.total * (1 + 1e-3)


@pytest.mark.parametrize("response", ["relative", "normal"])
def test_bodies_that_part_are_let_go(response):
    """They overlap a little and move apart: not one velocity changes."""
    sim = two_balls(response, speed=-1.0, shift=0.0, gap=-0.02).simulate()
    v = sim.state.v.copy()
    report = sim.step()
    assert len(report.contacts) > 0
    assert np.abs(sim.state.v - v).max() < 1e-9
    inverted = two_balls("invert", speed=-1.0, shift=0.0, gap=-0.02).simulate()
    inverted.step()
    assert np.abs(inverted.state.v - v).max() > 1.0  # as published


def test_galilean_invariance():
    """Seen from a train the collision is the same, but not with inverted velocities."""
    def change(response, train):
        scene = two_balls(response)
        for body in scene.bodies:
            body.velocity = tuple(np.add(body.velocity, (0, 0, train)))
        sim = scene.simulate()
        until_contact(sim)
        return sim.state.v - (0, 0, train)

    for response in ("relative", "normal"):
        assert change(response, 3.0) == pytest.approx(change(response, 0.0), abs=1e-8)
    assert np.abs(change("invert", 3.0) - change("invert", 0.0)).max() > 1.0


def test_a_rigid_ball_bounces_off_a_plane_with_e():
    scene = Scene(dt=0.0005, gravity=(0, 0, 0), contact=dict(method="reversal", restitution=0.7))
    scene.add(name="floor", shape="plane", model="static")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1, edge=0.05), model="rigid", position=(0, 0, 0.13), velocity=(0.5, 0, -1))
    sim = scene.simulate().run(until=0.1)
    assert sim.state.velocity[1] == pytest.approx([0.5, 0, 0.7], abs=1e-9)


# -- setting back, and bodies inside others


@pytest.mark.parametrize("split", ["median", "centre"])
@pytest.mark.parametrize("response", ["normal", "relative", "invert"])
def test_after_every_step_no_triangles_cross(response, split):
    material = dict(spring_stiffness=40.0, vertex_mass=1.0)
    scene = two_balls(response, speed=4.0, material=material, split=split, gap=0.01)
    sim = scene.simulate()
    faces, start = sim.world.model.skin.faces, sim.world.model.bodies.face_start
    touched = 0
    for _ in range(150):
        touched += len(sim.step().contacts) > 0
        tree = Tree.build(sim.points(), faces, start)
        assert len(intersecting(tree, sim.points(), np.array([[0, 1]]))) == 0
    assert touched > 5


def test_without_backtracking_the_published_response_leaves_them_crossing():
    sim = two_balls("invert", speed=4.0, backtracking=False).simulate()
    until_contact(sim)
    tree = Tree.build(sim.points(), sim.world.model.skin.faces, sim.world.model.bodies.face_start)
    assert len(intersecting(tree, sim.points(), np.array([[0, 1]]))) > 0


def test_a_body_inside_another_is_found_told_and_pushed_out():
    scene = Scene(dt=0.001, gravity=(0, 0, 0), contact="reversal")
    soft = dict(model="springs", network="all-pairs", integrator="verlet", material=dict(spring_stiffness=10.0, vertex_mass=0.1))
    scene.add(name="room", shape=dict(kind="ball", radius=0.2, edge=0.06), **soft)
    scene.add(name="guest", shape=dict(kind="ball", radius=0.05, edge=0.03), position=(0.05, 0, 0), **soft)
    sim = scene.simulate()
    first = sim.books().momentum
    report = sim.step()
    assert any("room and guest" in text and "inside" in text for text in report.warnings)
    assert len(sim.contacts("guest", "room")) > 0
    sim.run(until=0.5)
    assert np.linalg.norm(sim.centre("guest") - sim.centre("room")) > 0.24
    assert sim.books().momentum == pytest.approx(first, abs=1e-10)


def test_a_prescribed_body_keeps_its_way():
    scene = Scene(dt=0.001, contact="reversal")
    scene.add(name="floor", shape="plane", model="static")
    scene.add(name="block", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.1), position=(0, 0, 0.0501), integrator="symplectic",
              material=dict(youngs_modulus=2e4, mass_damping=5.0))  # fmt: skip
    scene.add(name="press", shape=dict(kind="box", size=(0.4, 0.4, 0.1), edge=0.2), model="rigid", position=(0, 0, 0.151),
              motions=[dict(shift=dict(times=[0, 0.4], values=[[0, 0, 0], [0, 0, -0.02]]))])  # fmt: skip
    sim = scene.simulate().run(until=0.4)
    assert sim.pose("press")[0][2] == pytest.approx(0.131, abs=1e-12)
    assert sim.contacts("block", "press").total_force[2] < -5.0  # it is pressed


# -- rest and record


@pytest.mark.parametrize("response, model, tolerance", [
    ("normal", "rigid", 0.01), pytest.param("normal", "fem", 0.02, marks=pytest.mark.slow),
    pytest.param("relative", "rigid", 0.03, marks=pytest.mark.slow),
])  # fmt: skip
def test_mean_force_at_rest_is_the_weight(response, model, tolerance):
    """A cube of 0.1 m, 1 kg, on a pad: mean over half a second."""
    scene = Scene(dt=0.001, contact=dict(method="reversal", response=response))
    soft = dict(youngs_modulus=1e5, mass_damping=4.0)
    scene.add(name="pad", shape=dict(kind="box", size=(0.2, 0.2, 0.08), edge=0.04), position=(0.013, 0.007, -0.04), fixed=[dict(side="-z")],
              integrator="symplectic", material=soft)  # fmt: skip
    explicit = {} if model == "rigid" else dict(integrator="symplectic")
    scene.add(name="cube", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05), model=model, position=(0, 0, 0.0502), material=material_for(model, **soft), **explicit)
    sim, forces = scene.simulate().run(until=0.7), []
    sim.run(until=1.2, each=lambda report: forces.append(sim.contacts("cube", "pad").total_force[2]))
    assert np.mean(forces) == pytest.approx(G, rel=tolerance)


def test_record_of_contacts():
    sim = two_balls("normal", speed=2.0).simulate()
    before, _, report = until_contact(sim)
    on_a, on_b = sim.contacts("a", "b"), sim.contacts("b", "a")
    assert on_a.total_force == pytest.approx(-on_b.total_force, abs=1e-9)
    nodes = sim.world.model.nodes
    gained = (nodes.mass[sim.nodes("a"), None] * (sim.state.v[sim.nodes("a")] - [2.0, 0.1, 0.0])).sum(axis=0)
    assert on_a.total_force * sim.dt == pytest.approx(gained, abs=1e-9)
    assert set(report.contacts.arrays()) >= {"a", "b", "feature_a", "feature_b", "point", "normal", "gap", "impulse", "friction_impulse", "area"}
    assert np.isfinite(report.contacts.gap).all() and report.contacts.gap.min() < 0 and (report.contacts.area >= 0).all()
    assert np.linalg.norm(report.contacts.normal, axis=1) == pytest.approx(1.0)
    assert report.max_depth == pytest.approx(-report.contacts.gap.min())


# -- all-pairs bodies


def test_adaptive_damping_calms_a_disturbed_body_and_leaves_free_flight_alone():
    def run(kick):
        scene = Scene(dt=0.002, gravity=(0, 0, 0), contact="none")
        material = dict(spring_stiffness=40.0, vertex_mass=1.0, vertex_damping=1.0, adaptive_force=10.0)
        scene.add(name="b", shape=dict(kind="ball", radius=1.0, edge=0.35), model="springs", network="all-pairs",
                  integrator="cooper-verner", velocity=(3, 0, 0), material=material)  # fmt: skip
        sim = scene.simulate()
        sim.state.v[:5] += [0, 0, kick]
        first = sim.books()
        sim.run(until=0.6)
        return first, sim

    first, sim = run(0.0)
    assert sim.books().kinetic == pytest.approx(first.kinetic, rel=1e-12)
    first, sim = run(20.0)
    mean = sim.state.v.mean(axis=0)
    assert 0.5 * np.sum((sim.state.v - mean) ** 2) + sim.books().elastic < 0.05 * 0.5 * 5 * 20.0**2


# -- the same bits


def test_resume_and_threads_change_no_bit(monkeypatch):
    material = dict(spring_stiffness=40.0, vertex_mass=1.0, vertex_damping=1.0, adaptive_force=10.0)
    scene = two_balls("normal", speed=4.0, material=material, gap=0.01, split="centre")
    whole, first, other = scene.simulate(), scene.simulate(), Simulation(scene)
    touched = sum(len(whole.step().contacts) for _ in range(60))
    for _ in range(30):
        first.step()
    other.world.state = first.state.copy()
    for _ in range(30):
        other.step()
    assert touched > 0
    assert np.array_equal(whole.state.x, other.state.x) and np.array_equal(whole.state.v, other.state.v)
    monkeypatch.setattr("pliant.kernels.SMALL", 0)
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        again = scene.simulate()
        for _ in range(60):
            again.step()
        assert np.array_equal(whole.state.x, again.state.x)


@pytest.mark.parametrize("options, text", [
    (dict(response="back"), "no response 'back': it takes normal, relative, invert"), (dict(split="left"), "it takes median, centre"),
    (dict(restitution=1.5), "ratio of speeds"),
])  # fmt: skip
def test_bad_options_are_refused(options, text):
    with pytest.raises(PliantError, match=text):
        Reversal(**options)
    with pytest.raises(PliantError, match="depth of 0 to 30"):
        centre_tree(np.zeros((3, 3)), np.array([[0, 1, 2]]), np.array([0, 1]), 31)


def test_self_contact_is_refused_with_the_way_out():
    scene = two_balls("normal")
    scene.pair("a", "a")
    with pytest.raises(PliantError, match="Body 'a' is to meet itself.*continuous-penalty"):
        scene.simulate().step()
