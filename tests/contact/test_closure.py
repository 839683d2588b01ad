"""Bare formulas of non-iterative contact forces: golden numbers G5-G9 and properties P1-P7 of theory/noniterative 8, 9."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

spec = importlib.util.spec_from_file_location("closure", Path(__file__).with_name("closure.py"))
c = importlib.util.module_from_spec(spec)
spec.loader.exec_module(c)

MASS = np.array([1, 2, 1.5, 1, 0.5, 2, 1])
POINT = np.array([0, 1, 3])
CORNERS = np.array([[2, 3, 4], [3, 4, 5], [0, 1, 6]])
H = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2]])
WAY = np.array([[0, 0, 0.1], [0, 0.02, 0.08], [0.01, 0, -0.09]])
DT = 0.1
CASE = (POINT, CORNERS, H, 1.0 / MASS)
MODES = pytest.mark.parametrize("mode", [c.paper, c.moment])


def test_G5_crowding_and_alpha():
    assert c.crowding(POINT, CORNERS, H, 7) == pytest.approx([1.4, 1.4, 0.5, 1.5, 0.4, 0.6, 0.2], abs=1e-12)
    assert c.paper(*CASE).alpha == pytest.approx([0.7319034853, 0.6252342286, 0.7358490566], abs=1e-9)


def test_G6_paper_mode():
    force = c.forces(POINT, CORNERS, WAY, c.paper(*CASE), DT, 7)
    wanted = [
        (-0.0754716981, 0, 5.9071273206), (-0.1509433962, 1.7863835103, 8.5040246073), (0, 0, -4.0214477212),
        (0.4905660377, -0.0999375390, -5.3510375253), (0, -0.1873828857, -1.4197728296), (0, -1.4990630856, -5.9962523423),
        (-0.2641509434, 0, 2.3773584906),
    ]  # fmt: skip
    assert force == pytest.approx(np.array(wanted), abs=1e-9)
    assert np.abs(force.sum(axis=0)).max() < 1e-14


def test_G7_moment_mode():
    closure = c.moment(*CASE)
    force = c.forces(POINT, CORNERS, WAY, closure, DT, 7)
    assert closure.give == pytest.approx([2.1766666667, 1.34, 2.38], abs=1e-9)
    assert force[0] == pytest.approx([-0.1680672269, 0, 6.1067857465], abs=1e-9)
    assert force[3] == pytest.approx([0.4201680672, -0.2985074627, -6.3537966671], abs=1e-9)
    assert force[6] == pytest.approx([-0.0840336134, 0, 0.7563025210], abs=1e-9)
    assert np.abs(force.sum(axis=0)).max() < 1e-14


def closed(point, corners, weights, force, inverse, dt):
    """How far each point comes out of its triangle, (c, 3)."""
    shift = dt**2 * inverse[:, None] * force
    return shift[point] - np.einsum("ck,cki->ci", weights, shift[corners])


@MODES
def test_G8_the_closed_gaps_sum_to_the_depths(mode):
    way = WAY * [0, 0, 1]
    force = c.forces(POINT, CORNERS, way, mode(*CASE), DT, 7)
    gaps = closed(POINT, CORNERS, H, force, 1.0 / MASS, DT)[:, 2]
    assert np.sum(gaps * np.sign(way[:, 2])) == pytest.approx(0.27, abs=1e-12)


@MODES
def test_G9_an_isolated_hit_is_closed_exactly(mode):
    point, corners, inverse = np.array([0]), np.array([[1, 2, 3]]), np.ones(4)
    way = np.array([[0, 0, 0.1]])
    third = np.full((1, 3), 1 / 3)
    force = c.forces(point, corners, way, mode(point, corners, third, inverse), 0.1, 4)
    assert 0.01 * force[:, 2] == pytest.approx([0.075, -0.025, -0.025, -0.025], abs=1e-12)
    h = np.array([[0.6, 0.3, 0.1]])
    force = c.forces(point, corners, way, mode(point, corners, h, inverse), 0.1, 4)
    if mode is c.moment:
        assert 0.01 * force[:, 2] == pytest.approx([0.0684931507, -0.0410958904, -0.0205479452, -0.0068493151], abs=1e-9)
    assert closed(point, corners, h, force, inverse, 0.1)[0, 2] == pytest.approx(0.1, abs=1e-14)


@st.composite
def collisions(draw, one_each=False):
    """Random points, triangles, weights, masses and depths along z."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, hits = draw(st.integers(6, 30)), draw(st.integers(1, 25))
    hits = min(hits, n - 3)
    point = rng.permutation(n)[:hits] if one_each else rng.integers(0, n, hits)
    corners = np.array([rng.permutation(np.setdiff1d(np.arange(n), p))[:3] for p in point])
    weights = rng.dirichlet(np.ones(3), hits)
    inverse = 10.0 ** rng.uniform(-1.5, 1.5, n)
    return point, corners, weights, inverse, rng.normal(size=(hits, 3))


@MODES
@given(case=collisions())
def test_P1_forces_are_in_equilibrium(mode, case):
    point, corners, weights, inverse, way = case
    force = c.forces(point, corners, way, mode(point, corners, weights, inverse), 0.01, len(inverse))
    assert np.abs(force.sum(axis=0)).max() <= 1e-12 * np.abs(force).max()


@given(case=collisions())
def test_P2_no_torque_in_moment_mode_when_points_leave_along_the_way(case):
    point, corners, weights, inverse, way = case
    rng = np.random.default_rng(0)
    for i in range(len(point)):  # one collision at a time: its point is on the line through where it comes out
        x = rng.normal(size=(len(inverse), 3))
        x[point[i]] = weights[i] @ x[corners[i]] - way[i]
        closure = c.moment(point[[i]], corners[[i]], weights[[i]], inverse)
        force = c.forces(point[[i]], corners[[i]], way[[i]], closure, 0.01, len(inverse))
        assert np.abs(np.cross(x, force).sum(axis=0)).max() <= 1e-11 * np.abs(force).max()


@MODES
@given(seed=st.integers(0, 2**32 - 1), hits=st.integers(1, 30))
def test_P3_closed_gaps_sum_to_depths_between_two_bodies(mode, seed, hits):
    """Any points of two bodies in each other, any masses: along one axis the gaps close by the sum of the depths."""
    rng = np.random.default_rng(seed)
    n = 10  # vertices of each body
    upper = rng.integers(0, 2, hits)  # whether the point is of the upper body, which is to move up
    point = rng.integers(0, n, hits) + n * upper
    corners = np.array([rng.permutation(n)[:3] for _ in range(hits)]) + n * (1 - upper)[:, None]
    weights, inverse = rng.dirichlet(np.ones(3), hits), 10.0 ** rng.uniform(-1.5, 1.5, 2 * n)
    way = np.outer(rng.uniform(0.1, 1.0, hits) * (2 * upper - 1), [0, 0, 1])
    force = c.forces(point, corners, way, mode(point, corners, weights, inverse), 0.01, 2 * n)
    gaps = closed(point, corners, weights, force, inverse, 0.01)[:, 2] * (2 * upper - 1)
    assert gaps.sum() == pytest.approx(np.abs(way).sum(), rel=1e-10)


@given(case=collisions(one_each=True))
def test_P4_closed_form_and_correction_are_the_accumulated_force(case):
    point, corners, weights, inverse, way = case
    force = c.forces(point, corners, way, c.paper(point, corners, weights, inverse), 0.01, len(inverse))[point]
    form = c.closed_form(point, corners, weights, way, inverse, 0.01)
    fixed = c.ghost_correction(point, corners, weights, way, inverse, 0.01)
    assert form + fixed == pytest.approx(force, abs=1e-10 * np.abs(force).max())


@MODES
@given(case=collisions())
def test_P5_alpha_is_a_share(mode, case):
    alpha = mode(*case[:4]).alpha
    assert (alpha >= 0.0).all() and (alpha <= 1.0).all()


@given(case=collisions())
def test_P6_a_sweep_in_moment_mode_cannot_diverge(case):
    """Largest eigenvalue of D^-1 W at most one, for normals of any direction."""
    point, corners, weights, inverse, way = case
    g = np.zeros((len(point), len(inverse), 3))
    normal = way / np.linalg.norm(way, axis=1, keepdims=True)
    for i in range(len(point)):
        g[i, point[i]] += normal[i]
        g[i, corners[i]] -= weights[i][:, None] * normal[i]
    g = g.reshape(len(point), -1)
    w = (g * np.repeat(inverse, 3)) @ g.T
    give = c.moment(point, corners, weights, inverse).give
    assert np.linalg.eigvals(w / give[:, None]).real.max() <= 1.0 + 1e-12


@MODES
def test_fixed_vertices_take_the_reaction(mode):
    """Paper: all of it goes to what is fixed; moment: by h as ever. The point moves by all of its depth in the first case."""
    point, corners, h = np.array([0]), np.array([[1, 2, 3]]), np.array([[0.5, 0.3, 0.2]])
    inverse, way = np.array([2.0, 0.0, 0.0, 1.0]), np.array([[0, 0, 0.1]])
    closure = mode(point, corners, h, inverse)
    if mode is c.paper:
        assert closure.shares[0] == pytest.approx([0.5, 0.5, 0.0])  # c h is one for each: q = h
        assert closure.give == pytest.approx([2.0]) and closure.alpha == pytest.approx([1.0])
    else:
        assert closure.give == pytest.approx([2.0 + 0.2 * 0.2])
    force = c.forces(point, corners, way, closure, 0.1, 4)
    assert np.abs(force.sum(axis=0)).max() < 1e-15


def test_nothing_moves_when_everything_is_fixed():
    point, corners, h = np.array([0]), np.array([[1, 2, 3]]), np.array([[0.5, 0.3, 0.2]])
    for mode in (c.paper, c.moment):
        closure = mode(point, corners, h, np.zeros(4))
        assert closure.give == pytest.approx([0.0])
        assert np.abs(c.forces(point, corners, np.array([[0, 0, 1.0]]), closure, 0.1, 4)).max() == 0.0
