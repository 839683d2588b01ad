"""Conjugate gradients and the direct solver, behind one call: against dense solves, per body, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.integrate import cg, direct
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.rigid_part import RigidPart

from .conftest import Given, matrix_of

SOLVERS = pytest.mark.parametrize("solver", [cg, direct], ids=["cg", "direct"])


def network(seed, sizes, per_node=4, mass=1.0, scale=1.0):
    """Nodes joined at random by springs k (d d^T + 0.1), which feel no translation; body b depends on seed + b only."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    pairs, blocks, lumped = [], [], []
    for body, size in enumerate(sizes):
        rng = np.random.default_rng(seed + body)
        ends = rng.integers(0, size, (per_node * size, 2))
        ends = ends[ends[:, 0] != ends[:, 1]]
        d = rng.normal(size=(len(ends), 3))
        k = rng.uniform(0.1, 1.0, (len(ends), 1, 1)) * (d[:, :, None] * d[:, None, :] + 0.1 * np.eye(3))
        pairs.append(ends + start[body])
        blocks.append(np.stack([k, -k, k], axis=1).reshape(-1, 3, 3))
        lumped.append(mass * rng.uniform(0.5, 1.5, size))
    return matrix_of([Given(np.concatenate(pairs), np.concatenate(blocks), scale)], start, np.concatenate(lumped))


def dense_solution(matrix: BlockMatrix, rhs, x0, free):
    a, loose = matrix.to_scipy().toarray(), np.repeat(free, 3)
    x = x0.ravel().copy()
    load = rhs.ravel()[loose] - a[np.ix_(loose, ~loose)] @ x[~loose]
    x[loose] = np.linalg.solve(a[np.ix_(loose, loose)], load)
    return x.reshape(-1, 3)


@SOLVERS
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**20), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4), held=st.floats(0, 1))
def test_equals_dense_solve_with_prescribed_nodes(solver, seed, sizes, held):
    matrix = network(seed, sizes)
    rng = np.random.default_rng(seed)
    n = matrix.pattern.n
    rhs, x0, free = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(size=n) >= held
    found = solver.solve(matrix, rhs, x0, free, tolerance=1e-12)
    np.testing.assert_allclose(found.x, dense_solution(matrix, rhs, x0, free), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.x[~free], x0[~free])
    assert (found.status == cg.CONVERGED).all()
    assert (found.residual <= 1e-12).all()


def test_conjugate_gradients_end_after_as_many_iterations_as_unknowns():
    matrix = network(1, [5])
    rhs = np.random.default_rng(1).normal(size=(5, 3))
    found = cg.solve(matrix, rhs, np.zeros_like(rhs), np.ones(5, dtype=bool), tolerance=1e-10)
    assert 1 <= found.iterations[0] <= 15


@pytest.mark.parametrize("rows", [11, 30])
def test_reported_residual_is_the_preconditioned_one(rows, monkeypatch):
    """sqrt(r.M^-1 r) with M = (D + L) D^-1 (D + U), the triangles within chunks, over sqrt(r0.D^-1 r0); the textbook method finds the same x."""
    monkeypatch.setattr(cg, "LARGE", 0)
    monkeypatch.setattr(cg, "ROWS", rows)
    matrix = network(2, [30], mass=0.01)
    rng = np.random.default_rng(2)
    rhs, x0, free = rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), np.arange(30) > 3
    found = cg.solve(matrix, rhs, x0, free, tolerance=0.0, max_iterations=7)
    loose = np.repeat(free, 3)
    a = matrix.to_scipy().toarray()[np.ix_(loose, loose)]
    node = np.repeat(np.arange(30), 3)[loose]
    within = (node[:, None] // rows) == (node[None, :] // rows)
    d = np.where(node[:, None] == node[None, :], a, 0.0)
    m = (d + np.where(within & (node[:, None] > node[None, :]), a, 0.0)) @ np.linalg.inv(d)
    m = m @ (d + np.where(within & (node[:, None] < node[None, :]), a, 0.0))

    def left(x):
        return (rhs - matrix @ x).ravel()[loose]

    r = left(x0)
    first, x, z = np.sqrt(r @ np.linalg.solve(d, r)), np.zeros_like(r), np.linalg.solve(m, r)
    p = z
    for _ in range(7):
        alpha = (r @ z) / (p @ a @ p)
        x, new = x + alpha * p, r - alpha * (a @ p)
        y = np.linalg.solve(m, new)
        p, r, z = y + (new @ y) / (r @ z) * p, new, y
    np.testing.assert_allclose(found.x.ravel()[loose] - x0.ravel()[loose], x, rtol=1e-8, atol=1e-10)
    last = left(found.x)
    assert found.residual[0] == pytest.approx(np.sqrt(last @ np.linalg.solve(m, last)) / first, rel=1e-8)
    assert (found.status[0], found.iterations[0]) == (cg.OUT_OF_ITERATIONS, 7)


def test_a_start_near_the_solution_saves_iterations_and_a_far_one_costs_none():
    matrix = network(12, [200, 50], mass=0.1)
    rng = np.random.default_rng(12)
    rhs, x0, free = rng.normal(size=(250, 3)), rng.normal(size=(250, 3)), rng.uniform(size=250) > 0.1
    change = dense_solution(matrix, rhs, x0, free) - x0
    plain = cg.solve(matrix, rhs, x0, free, tolerance=1e-6)
    near = cg.solve(matrix, rhs, x0, free, tolerance=1e-6, change=1.001 * change)
    far = cg.solve(matrix, rhs, x0, free, tolerance=1e-6, change=-1e3 * change)
    assert (near.iterations < plain.iterations).all() and (near.residual <= 1e-6).all()
    np.testing.assert_array_equal(far.x, plain.x)
    np.testing.assert_array_equal(near.x[~free], x0[~free])


@pytest.mark.parametrize("large", [200, 4000])
@SOLVERS
def test_a_far_away_body_changes_no_bit(solver, large, monkeypatch):
    monkeypatch.setattr(cg, "LARGE", large)
    sizes = [37, 300]
    alone, both = network(7, sizes), network(7, [*sizes, 61])
    rng = np.random.default_rng(7)
    rhs, free = rng.normal(size=(398, 3)), rng.uniform(size=398) > 0.1
    one = solver.solve(alone, rhs[:337], 0 * rhs[:337], free[:337], tolerance=1e-7)
    two = solver.solve(both, rhs, 0 * rhs, free, tolerance=1e-7)
    np.testing.assert_array_equal(one.x, two.x[:337])
    np.testing.assert_array_equal(one.iterations, two.iterations[:2])
    np.testing.assert_array_equal(one.residual, two.residual[:2])


def test_large_and_small_bodies_give_the_same_bits_on_one_and_two_threads(monkeypatch):
    matrix = network(3, [1300, 40, 700, 5])
    rng = np.random.default_rng(3)
    rhs, free = rng.normal(size=(2045, 3)), rng.uniform(size=2045) > 0.05
    before = numba.get_num_threads()
    try:
        for large in (600, 4000):  # two bodies by rows, then all side by side
            monkeypatch.setattr(cg, "LARGE", large)
            found = []
            for threads in range(1, min(2, numba.config.NUMBA_NUM_THREADS) + 1):
                numba.set_num_threads(threads)
                found.append(cg.solve(matrix, rhs, 0 * rhs, free, tolerance=1e-9))
            for other in found[1:]:
                np.testing.assert_array_equal(found[0].x, other.x)
                np.testing.assert_array_equal(found[0].iterations, other.iterations)
            np.testing.assert_allclose((matrix @ found[0].x)[free], rhs[free], atol=1e-6)
    finally:
        numba.set_num_threads(before)


@SOLVERS
def test_no_load_gives_zero_without_iterations(solver):
    matrix = network(4, [20, 6])
    rhs = np.zeros((26, 3))
    rhs[20:] = 1.0
    found = solver.solve(matrix, rhs, np.zeros((26, 3)), np.ones(26, dtype=bool))
    assert not found.x[:20].any()
    assert found.iterations[0] == 0 and found.iterations[1] > 0
    assert (found.status == cg.CONVERGED).all()


@SOLVERS
def test_inactive_bodies_and_bodies_without_free_nodes_keep_their_values(solver):
    matrix = network(5, [8, 9, 10])
    rng = np.random.default_rng(5)
    rhs, x0, free = rng.normal(size=(27, 3)), rng.normal(size=(27, 3)), np.arange(27) < 17
    found = solver.solve(matrix, rhs, x0, free, active=np.array([False, True, True]))
    np.testing.assert_array_equal(found.x[:8], x0[:8])
    np.testing.assert_array_equal(found.x[17:], x0[17:])
    np.testing.assert_allclose((matrix @ found.x)[8:17], rhs[8:17], atol=1e-4)


@SOLVERS
def test_singular_systems_say_so(solver):
    """Springs without mass or support: any translation costs nothing, and a net force has no answer."""
    matrix = network(6, [30, 12], mass=0.0)
    lumped = np.concatenate([np.zeros(30), np.ones(12)])
    matrix = matrix.shifted(lumped)
    rhs = np.random.default_rng(6).normal(size=(42, 3)) + 1.0
    found = solver.solve(matrix, rhs, np.zeros((42, 3)), np.ones(42, dtype=bool), tolerance=1e-10)
    assert found.status[0] == cg.NOT_POSITIVE
    assert found.status[1] == cg.CONVERGED
    assert np.isfinite(found.x).all()


@SOLVERS
@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_negative_and_empty_matrices_say_so(solver, sign):
    matrix = network(8, [10])
    matrix = replace(matrix, values=sign * matrix.values)
    rhs = np.ones((10, 3))
    found = solver.solve(matrix, rhs, np.zeros((10, 3)), np.ones(10, dtype=bool))
    assert found.status[0] == cg.NOT_POSITIVE


def test_indefinite_with_positive_diagonal_says_so():
    blocks = np.stack([np.eye(3), 2 * np.eye(3), np.eye(3)])  # eigenvalues 3 and -1
    matrix = matrix_of([Given([[0, 1]], blocks)], np.array([0, 2]), np.zeros(2))
    rhs = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    for solver in (cg, direct):
        found = solver.solve(matrix, rhs, np.zeros((2, 3)), np.ones(2, dtype=bool))
        assert found.status[0] == cg.NOT_POSITIVE


@SOLVERS
@pytest.mark.parametrize("where", ["matrix", "rhs"])
def test_a_body_that_is_not_finite_keeps_x0_and_spoils_no_other(solver, where):
    matrix = network(9, [10, 11])
    clean = np.random.default_rng(9).normal(size=(21, 3))
    rhs, values = clean.copy(), matrix.values.copy()
    if where == "matrix":
        values[3, 1, 1] = np.inf
    else:
        rhs[4, 2] = np.nan
    x0 = np.ones((21, 3))
    found = solver.solve(replace(matrix, values=values), rhs, x0, np.ones(21, dtype=bool), tolerance=1e-9)
    expected = solver.solve(matrix, clean, x0, np.ones(21, dtype=bool), tolerance=1e-9)
    assert found.status.tolist() == [cg.NOT_FINITE, cg.CONVERGED]
    np.testing.assert_array_equal(found.x[:10], x0[:10])
    np.testing.assert_array_equal(found.x[10:], expected.x[10:])


@SOLVERS
def test_rough_solutions_have_the_momentum_of_exact_ones(solver):
    """Few iterations miss the solution by much, but what is left of the load has neither sum nor moment; held bodies are not touched."""
    matrix = network(10, [400, 50, 60, 2, 1], mass=0.01)
    rng = np.random.default_rng(10)
    n = matrix.pattern.n
    rhs, x, free = rng.normal(size=(n, 3)) + 5.0, rng.normal(size=(n, 3)) + 3.0, np.arange(n) != 505
    rough = solver.solve(matrix, rhs, 0 * rhs, free, tolerance=0.3, max_iterations=2).x
    found = rough.copy()
    RigidPart(matrix, cg.owners(matrix.pattern.body_start), x, free).match(np.arange(5), rhs, found)
    for first, end in ((0, 400), (400, 450), (510, 512), (512, 513)):
        left, size = (rhs - matrix @ found)[first:end], np.abs(rhs[first:end]).sum()
        assert np.abs((rhs - matrix.lumped[:, None] * found)[first:end].sum(axis=0)).max() <= 1e-14 * size
        assert np.abs(left.sum(axis=0)).max() <= 1e-12 * size
        if end - first > 2:  # those on a line cannot turn in every way
            assert np.abs(np.cross(x[first:end], left).sum(axis=0)).max() <= 1e-11 * size
    np.testing.assert_array_equal(found[450:510], rough[450:510])


def test_direct_factors_serve_many_right_hand_sides_and_agree_with_cg():
    matrix = network(11, [80, 33])
    rhs = np.random.default_rng(11).normal(size=(3, 113, 3))
    free = np.arange(113) % 7 != 0
    factors = direct.factorise(matrix, free)
    for load in rhs:
        other = cg.solve(matrix, load, np.zeros((113, 3)), free, tolerance=1e-13)
        found = factors.solve(load, np.zeros((113, 3)), tolerance=1e-12)
        np.testing.assert_allclose(found.x, other.x, rtol=1e-10, atol=1e-11)
        assert (found.iterations <= 2).all()


def test_direct_solve_that_reaches_rounding_is_a_success():
    """Tolerance 0 asks for more than rounding leaves of a chain of 2000 springs, known in closed form."""
    n, k = 2000, np.eye(3)
    chain = Given(np.stack([np.arange(n), np.arange(1, n + 1)], axis=1), np.tile(np.stack([k, -k, k]), (n, 1, 1)))
    matrix = matrix_of([chain], np.array([0, n + 1]), np.zeros(n + 1))
    rhs = np.ones((n + 1, 3))
    found = direct.solve(matrix, rhs, np.zeros((n + 1, 3)), np.arange(n + 1) > 0, tolerance=0.0)
    i = np.arange(n + 1)
    np.testing.assert_allclose(found.x[:, 0], i * n - i * (i - 1) / 2, rtol=1e-9)
    assert found.status[0] == cg.CONVERGED


@SOLVERS
def test_wrong_arrays_and_bodies_without_rows_are_refused(solver):
    matrix = matrix_of([], np.array([0, 2, 5]), np.ones(5), np.array([True, False]))
    x, free = np.zeros((5, 3)), np.ones(5, dtype=bool)
    with pytest.raises(PliantError, match="5 nodes"):
        solver.solve(matrix, x[:4], x, free)
    with pytest.raises(PliantError, match="only the implicit bodies"):
        solver.solve(matrix, x, x, free, active=np.array([True, True]))
