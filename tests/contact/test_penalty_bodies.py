"""Penalty contact of whole bodies: with themselves, deep in each other, with spread impulses, on any number of threads."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.penalty.depth_integral import EXACT, Known, pressed
from pliant.contact.penalty.distribution import over_rings
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.geometry import shapes
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.self_intersection import self_intersections
from pliant.shop import scenes
from pliant.world.motion import Rows

METHOD = "continuous-penalty"


# -- self-contact


def book(count=5, edge=0.05, seed=0):
    """An open sheet folded along a line, half open: two leaves at 40 degrees; the vertices are moved about a little."""
    u = np.arange(-count, count + 1)
    turn = np.radians(20.0)
    x, y = np.meshgrid(u * edge, np.arange(2 * count) * edge, indexing="ij")
    points = np.stack([np.abs(x) * np.cos(turn), y, x * np.sin(turn)], axis=-1).reshape(-1, 3)
    points += 0.08 * edge * np.random.default_rng(seed).standard_normal(points.shape)
    n = 2 * count
    i = (np.arange(2 * count)[:, None] * n + np.arange(n - 1)).reshape(-1)
    faces = np.concatenate([np.stack([i, i + n, i + n + 1], 1), np.stack([i, i + n + 1, i + 1], 1)])
    return Surface(points, faces), np.repeat(np.sign(u), n)


@pytest.mark.parametrize("itself", [True, False])
def test_an_open_cloth_folds_onto_itself_and_not_through(itself):
    shape, side = book()
    scene = Scene(dt=0.002, gravity=(0, 0, 0), contact=METHOD)
    cloth = dict(spring_stiffness=100.0, spring_damping=0.05, thickness=0.002)
    scene.add(name="cloth", shape=shape, model="springs", network="surface", material=cloth, integrator="symplectic")
    if itself:
        scene.pair("cloth", "cloth")
    sim = scene.simulate()
    sim.state.v[:, 2] = -2.0 * side  # the leaves close
    leaf = np.arange(len(side)).reshape(11, -1)
    momentum, apart, touched = sim.books().momentum, [], 0
    for _ in range(100):
        touched += len(sim.step().contacts)
        z = sim.points("cloth")[:, 2]
        apart.append((z[leaf[6:10, 1:-1]] - z[leaf[4:0:-1, 1:-1]]).min())  # mirror images; at the rim they may slip past each other
    if not itself:
        assert touched == 0 and min(apart) < -0.05
        return
    assert touched > 50 and min(apart) > -0.004
    assert len(self_intersections(sim.points("cloth"), shape.faces)) == 0  # once they are apart again
    assert sim.books().momentum == pytest.approx(momentum, abs=1e-12)


@pytest.mark.slow
def test_a_cloth_that_hangs_over_a_ball_crosses_itself_in_no_step():
    scene = scenes.make("cloth-on-ball")
    sim = scene.simulate()
    while sim.time < scene.duration - 1e-9:
        sim.step()
        assert len(self_intersections(sim.points("cloth"), sim.faces("cloth"))) == 0, f"at {sim.time:.3f} s"



def fork(edge=0.05):
    """A soft block with a slot, so that it has two prongs."""
    whole = shapes.make("box", size=(0.3, 0.1, 0.4), edge=edge)
    points, tets = whole.tets.points, whole.tets.tets
    middle = points[tets].mean(axis=1)
    tets = tets[(np.abs(middle[:, 0]) > 0.05) | (middle[:, 2] < -0.1)]
    used, place = np.unique(tets, return_inverse=True)
    return TetMesh(points[used], place.reshape(-1, 4))


def test_the_prongs_of_a_soft_body_do_not_pass_each_other():
    shape = fork()
    scene = Scene(dt=0.002, gravity=(0, 0, 0), contact=METHOD)
    scene.add(name="fork", shape=shape, material=dict(youngs_modulus=2e4, density=1000.0), fixed=[dict(side="-z")])
    scene.pair("fork", "fork")
    sim = scene.simulate()
    x = sim.state.x
    left, right = (x[:, 2] > 0) & (x[:, 0] < 0), (x[:, 2] > 0) & (x[:, 0] > 0)
    sim.state.v[left, 0], sim.state.v[right, 0] = 3.0, -3.0
    worst, touched = 0.0, 0
    for _ in range(60):
        sim.step()
        touched += len(sim.contacts())
        worst = max(worst, float(sim.state.x[left, 0].max() - sim.state.x[right, 0].min()))
    assert touched > 10 and worst < 0.005


# -- deep contacts


def sunken(deep):
    """A block of small triangles that has sunk deep into a soft bed of few tetrahedra: how many pairs are hooked and idle."""
    rules = dict(method=METHOD, implicit=False, stiffness=2000.0, redefinition=dict(deep=deep))
    scene = Scene(dt=0.002, contact=rules)
    bed = dict(kind="box", size=(2, 2, 1), edge=0.5)
    scene.add(name="bed", shape=bed, position=(0, 0, -0.5), friction=0.0, material=dict(youngs_modulus=1e8), fixed=[dict(side="-z")])
    block = dict(kind="box", size=(0.4, 0.4, 0.4), edge=0.1)
    scene.add(name="block", shape=block, model="rigid", position=(0.1, -0.3, 0.201), velocity=(0, 0, -4.0), friction=0.0)
    sim = scene.simulate().run(until=0.04)
    memory = sim.state.memory[METHOD]
    face = memory["kind"] == VERTEX_FACE
    return int(np.count_nonzero(face & memory["hooked"])), int(np.count_nonzero(face & memory["active"]))


def test_fig_6_9_penetration_directions_tell_deep_from_hooked():
    """Into a bed with tetrahedra: the vertices of the sides push too when their way out is known, and rest when it is not."""
    (idle, few), (none, many) = sunken(False), sunken(True)
    assert idle > 5 and none == 0 and many > few


# -- spread impulses


def test_shares_over_a_ring_keep_force_and_moment():
    shape = shapes.make("box", size=(0.3, 0.2, 0.2), edge=0.05).surface()
    rng = np.random.default_rng(2)
    points = shape.points + 0.003 * rng.standard_normal(shape.points.shape)
    n = len(points)
    near = Adjacency.of(shape.faces, np.zeros(n, np.int64))
    skin = SimpleNamespace(start=np.arange(n + 1), node=np.arange(n))
    motion = SimpleNamespace(kept=lambda _: near, skin=skin, explicit=np.ones(n, bool), end=points)
    normal = np.zeros((n, 3))
    np.add.at(normal, near.faces, near.normals(points)[:, None])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    rows = Rows.dense(np.arange(n)[:, None], np.full((n, 1), 2.0), normal, points)
    wide = over_rings(motion, near, rows)
    row = np.repeat(np.arange(n), np.diff(wide.start))
    force = wide.weight[:, None] * normal[row]
    total, moment = np.zeros((n, 3)), np.zeros((n, 3))
    np.add.at(total, row, force)
    np.add.at(moment, row, np.cross(points[wide.point], force))
    assert total == pytest.approx(2.0 * normal, abs=1e-12)
    assert moment == pytest.approx(2.0 * np.cross(points, normal), abs=1e-12)
    largest = np.zeros(n)
    np.maximum.at(largest, row, wide.weight)
    assert wide.weight.min() >= 0.0 and np.mean(largest < 1.0) > 0.6


@pytest.mark.parametrize("implicit", [True, False])
def test_spread_impulses_keep_momentum(implicit):
    for spread in (True, False):
        scene = Scene(dt=0.001, gravity=(0, 0, 0), contact=dict(method=METHOD, spread=spread, implicit=implicit))
        box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.05)
        scene.add(name="soft", shape=box, material=dict(youngs_modulus=5e4), integrator="symplectic", velocity=(0, 0, -2.0))
        tip = np.array([[0, 0, 0], [0.1, 0, -0.2], [-0.1, 0.1, -0.2], [-0.1, -0.1, -0.2]])
        spike = Surface(tip, np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]))
        scene.add(name="spike", shape=spike, model="rigid", position=(0.01, 0.02, -0.105), velocity=(0, 0, 2.0))
        sim = scene.simulate()
        before, touched = sim.books().momentum, 0
        for _ in range(15):
            touched += len(sim.step().contacts)
        assert touched > 0 and sim.books().momentum == pytest.approx(before, abs=1e-10)


# -- threads


def test_threads_change_no_bit(monkeypatch):
    rng = np.random.default_rng(5)
    count = 30000
    start = rng.standard_normal((4 * count, 3))
    end = start + 0.3 * rng.standard_normal(start.shape)
    corners = np.arange(4 * count).reshape(-1, 4)
    zero = np.zeros(count, np.int64)
    known = Known(np.zeros(count, bool), np.zeros(count), np.zeros(count), np.zeros((count, 3)))

    def everything():
        out = []
        for kind in (VERTEX_FACE, EDGE_EDGE):
            records = Records.new(kind, zero, zero, zero, zero, corners, np.zeros((count, 4)), np.ones(count))
            look = pressed(EXACT, records, np.zeros(count), start, end, known)
            out += [look.push, look.gap, look.time]
        scene = Scene(dt=0.004, contact=METHOD)
        scene.add(name="g", shape=dict(kind="box", size=(1, 1, 0.1), edge=0.1), model="static", position=(0, 0, -0.05))
        box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.05)
        scene.add(name="a", shape=box, position=(0, 0, 0.1), velocity=(0.5, 0, 0), material=dict(youngs_modulus=3e5))
        scene.add(name="b", shape=box, model="rigid", position=(0.02, 0.01, 0.301), rotation=(0, 0, 20))
        return [*out, scene.simulate().run(until=0.06).points()]

    monkeypatch.setenv("PLIANT_THREADS", "1")
    one = everything()
    monkeypatch.setenv("PLIANT_THREADS", "2")
    for a, b in zip(one, everything(), strict=True):
        assert np.array_equal(a, b)
