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
from pliant.integrate.blocks import BlockMatrix, BlockPattern

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
    pattern = BlockPattern.build([np.concatenate(pairs)], start)
    count = sum(map(len, pairs))
    return pattern.assemble(np.concatenate(blocks), np.full(count, scale), np.concatenate(lumped))


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


def test_reported_residual_is_the_preconditioned_one():
    matrix = network(2, [30], mass=0.01)
    rng = np.random.default_rng(2)
    rhs, x0, free = rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), np.arange(30) > 3
    found = cg.solve(matrix, rhs, x0, free, tolerance=0.0, max_iterations=7)
    blocks = matrix.values[matrix.pattern.diagonal[free]]

    def size(x):
        r = (rhs - matrix @ x)[free]
        return np.sqrt(np.sum(r * np.linalg.solve(blocks, r[:, :, None])[:, :, 0]))

    start = np.where(free[:, None], 0.0, x0)
    assert found.residual[0] == pytest.approx(size(found.x) / size(start), rel=1e-10)
    assert (found.status[0], found.iterations[0]) == (cg.OUT_OF_ITERATIONS, 7)


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
    found = solver.solve(matrix, rhs, np.ones((26, 3)), np.ones(26, dtype=bool))
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
    pattern = BlockPattern.build([np.array([[0, 1]])], np.array([0, 2]))
    blocks = np.stack([np.eye(3), 2 * np.eye(3), np.eye(3)])  # eigenvalues 3 and -1
    matrix = pattern.assemble(blocks, np.ones(1), np.zeros(2))
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
def test_exact_momentum_after_a_rough_solve(solver):
    """Few iterations miss the solution by much, but sum(A x) = sum(rhs), to 1e-14 of the sum of sizes."""
    matrix = network(10, [400, 50, 60], mass=0.01)
    rng = np.random.default_rng(10)
    rhs, free = rng.normal(size=(510, 3)) + 5.0, np.arange(510) != 505
    found = solver.solve(matrix, rhs, 0 * rhs, free, tolerance=0.3, max_iterations=2, exact_momentum=True)
    for first, end in ((0, 400), (400, 450)):
        left = rhs[first:end] - matrix.lumped[first:end, None] * found.x[first:end]
        assert np.abs(left.sum(axis=0)).max() <= 1e-14 * np.abs(rhs[first:end]).sum()
        assert np.abs((rhs - matrix @ found.x)[first:end].sum(axis=0)).max() <= 1e-12 * np.abs(rhs[first:end]).sum()
    assert not found.x[505].any()


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
    pattern = BlockPattern.build([np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)], np.array([0, n + 1]))
    matrix = pattern.assemble(np.tile(np.stack([k, -k, k]), (n, 1, 1)), np.ones(n), np.zeros(n + 1))
    rhs = np.ones((n + 1, 3))
    found = direct.solve(matrix, rhs, np.zeros((n + 1, 3)), np.arange(n + 1) > 0, tolerance=0.0)
    i = np.arange(n + 1)
    np.testing.assert_allclose(found.x[:, 0], i * n - i * (i - 1) / 2, rtol=1e-9)
    assert found.status[0] == cg.CONVERGED


@SOLVERS
def test_wrong_arrays_and_bodies_without_rows_are_refused(solver):
    pattern = BlockPattern.build([], np.array([0, 2, 5]), np.array([True, False]))
    matrix = pattern.assemble(np.zeros((0, 3, 3)), np.zeros(0), np.ones(5))
    x, free = np.zeros((5, 3)), np.ones(5, dtype=bool)
    with pytest.raises(PliantError, match="5 nodes"):
        solver.solve(matrix, x[:4], x, free)
    with pytest.raises(PliantError, match="only the implicit bodies"):
        solver.solve(matrix, x, x, free, active=np.array([True, True]))
