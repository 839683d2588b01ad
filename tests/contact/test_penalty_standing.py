"""What stands stays, and no contact adds energy: soft boxes stacked exactly, stones that start flush, and how impulses are solved."""

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.enduring_springs import alike, sweep
from pliant.contact.penalty.records import VERTEX_FACE, Forces, Records
from pliant.shop.scenes.spillmann import upright
from pliant.world.motion import Rows

METHODS = ["continuous-penalty", "penalty"]


def stacked(count, edge, method="continuous-penalty"):
    """Soft boxes of 0.1 m exactly on top of each other, E = 0.1 MPa, with the default step."""
    scene = Scene(dt=5e-3, duration=1.0, contact=method)
    scene.add(name="ground", shape="plane", model="static")
    for k in range(count):
        shape = dict(kind="box", size=(0.1,) * 3, edge=edge)
        scene.add(name=f"box {k}", shape=shape, position=(0, 0, 0.05 + 0.1 * k), material=dict(youngs_modulus=1e5, poisson_ratio=0.3))
    return scene.simulate()


def arch(ratio, method):
    """Eleven rigid stones, flush with each other."""
    scene = Scene(dt=5e-4, duration=0.3, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    stone = dict(kind="arch_stone", inner=0.5 - ratio / 4, outer=0.5 + ratio / 4, angle=180.0 / 11, depth=0.3, edge=0.15)
    for k in range(11):
        turn = upright((k + 0.5) * 180.0 / 11)
        scene.add(name=f"stone {k}", shape=stone, model="rigid", position=(0, 0.004 * (k % 2), 0), rotation=turn, friction=0.6)
    return scene.simulate()


def sideways(sim, count):
    return max(float(np.abs(sim.centre(f"box {k}")[:2]).max()) for k in range(count))


@pytest.mark.parametrize("method", METHODS)
def test_soft_boxes_stacked_exactly_do_not_wander_and_friction_adds_nothing(method):
    sim = stacked(2, 0.034, method)
    for _ in range(20):
        sim.step()
        assert sim.books().friction <= 1e-6
    assert sideways(sim, 2) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("count, most", [(2, 5e-4), (3, 2e-3)])
def test_soft_boxes_stacked_exactly_come_to_rest(count, most):
    sim = stacked(count, 0.0125)
    for _ in range(160):
        sim.step()
        assert sim.books().friction <= 1e-6 and sideways(sim, count) < most
    assert sim.books().kinetic < 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [0.08, 0.14])
def test_no_spring_begins_loaded_where_bodies_start_flush(ratio, method):
    """Rounding decides which edges cross, and a pair across a stone would hold 200 or 1300 J in the first step."""
    sim = arch(ratio, method)
    for _ in range(2):
        sim.step()
    books = sim.books()
    assert books.contact <= 1e-6 and books.kinetic < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [0.14, 0.2])
def test_an_arch_stands_and_gains_nothing(ratio, method):
    sim = arch(ratio, method)
    high = sim.centre("stone 5")[2]
    start = sim.books().total
    for _ in range(300):
        sim.step()
        assert sim.books().total < start
    assert abs(sim.centre("stone 5")[2] - high) < 1e-3 * high


# -- how impulses are solved


def friction_by_sweeps(times, most, sweeps):
    """(impulses by `sweep`, what it pushed, how near they are to the least of j.W j / 2 + b.j, 1: there) of contacts that want to slip.

    They are coupled by a matrix W whose absolute row sums are so many times what `sweep` is told.
    """
    random = np.random.default_rng(3)
    g = random.standard_normal((40, 60))
    w, b = g @ g.T / 60 + np.ones((40, 40)), random.standard_normal((40, 1))
    d = np.abs(w).sum(axis=1, keepdims=True) / times
    j = np.zeros((40, 1))
    pushed = j.copy()

    def push(change):
        pushed[:] += change

    found = sweep(lambda j, u, more: np.clip(j - u / (more * d), -most, most), lambda: w @ pushed + b, push, j, d, most, sweeps)
    exact = j
    for _ in range(3000):
        exact = np.clip(exact - (w @ exact + b) / (times * d.max()), -most, most)
    taken, least = (0.5 * np.sum(x * (w @ x)) + np.sum(b * x) for x in (found, exact))
    return found, pushed, taken / least


@pytest.mark.parametrize("times", [1.0, 3.0, 10.0])
def test_sweeps_do_not_run_away_where_the_give_is_taken_too_small(times):
    found, pushed, share = friction_by_sweeps(times, 0.3, 100)
    np.testing.assert_allclose(found, pushed, atol=1e-12)
    assert 0.99 < share < 1.001


def test_tangents_are_alike_where_normals_are():
    n = np.random.default_rng(0).standard_normal((200, 3))
    n = np.concatenate([n / np.linalg.norm(n, axis=1, keepdims=True), np.eye(3)])
    t = alike(n)
    np.testing.assert_allclose(np.linalg.norm(t, axis=1), 1.0)
    np.testing.assert_allclose(np.einsum("ri,ri->r", t, n), 0.0, atol=1e-14)
    tilted = np.array([[1e-3, -2e-3, 1.0], [-2e-3, 1e-3, 1.0]])
    assert (alike(tilted / np.linalg.norm(tilted, axis=1, keepdims=True))[:, 0] > 0.99).all()


def test_impulses_tried_roughly_are_answered_exactly_in_the_end():
    sim = stacked(1, 0.05)
    rows = Rows.dense(np.array([[0], [3], [5]]), np.ones((3, 1)), np.tile([0.0, 0.0, 1.0], (3, 1)), np.zeros((3, 3)))
    impulse = np.random.default_rng(1).standard_normal((3, 3))
    rough, exact = sim.world.free_motion(5e-3), sim.world.free_motion(5e-3)
    before = exact.v.copy()
    with rough.roughly():
        for share in (0.7, 0.6, -0.3):
            rough.push(rows, share * impulse)
    exact.push(rows, impulse)
    size = np.abs(exact.v - before).max()
    assert size > 0.1
    np.testing.assert_allclose(rough.v, exact.v, atol=1e-4 * size)  # what pushes are answered to
    np.testing.assert_allclose(rough.end, exact.end, atol=1e-4 * size * 5e-3)
    gained = (rough.nodes.mass[:, None] * (rough.v - before)).sum(axis=0)
    np.testing.assert_allclose(gained, impulse.sum(axis=0), rtol=1e-10)


def test_forces_of_the_last_step_are_found_by_key():
    ids = np.array([4, 2, 9])
    corners = np.zeros((3, 4), np.int64)
    records = Records.new(VERTEX_FACE, ids, ids + 1, ids, ids + 2, corners, np.zeros((3, 4)), np.ones(3))
    last = Forces.recalled(Forces(records.key, np.array([1.0, 2.0, 3.0]), np.eye(3)).remembered())
    other = Records.new(VERTEX_FACE, ids, ids + 1, np.array([2, 7, 4]), np.array([4, 9, 6]), corners, np.zeros((3, 4)), np.ones(3))
    normal, friction = last.of(other)
    assert normal.tolist() == [2.0, 0.0, 1.0] and friction.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert Forces.recalled({}).of(other)[0].tolist() == [0.0, 0.0, 0.0]
