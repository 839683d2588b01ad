"""Assembly of block matrices against the dense sum over elements."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.integrate.blocks import BlockPattern


def random_elements(rng, start, corners, per_body):
    """Elements (E, c) with distinct nodes of one body each."""
    rows = [
        rng.permutation(np.arange(a, b))[:corners]
        for a, b in zip(start[:-1], start[1:], strict=True)
        if b - a >= corners
        for _ in range(per_body)
    ]
    return rng.permutation(np.array(rows, dtype=np.int64).reshape(-1, corners))


def random_stiffness(rng, count, corners):
    """Symmetric positive semi-definite element matrices (E, 3c, 3c)."""
    g = rng.normal(size=(count, 3 * corners, 3 * corners))
    return g @ g.transpose(0, 2, 1)


def upper_blocks(k, corners):
    """Blocks of the upper triangle in the order of `Elements.stiffness`."""
    return np.stack(
        [k[:, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3] for a in range(corners) for b in range(a, corners)], axis=1
    )


def dense(n, groups, stiffness, scales, lumped):
    out = np.diag(np.repeat(lumped, 3))
    for nodes, k, s in zip(groups, stiffness, scales, strict=True):
        for e, element in enumerate(nodes):
            dofs = (3 * element[:, None] + np.arange(3)).ravel()
            out[np.ix_(dofs, dofs)] += s[e] * k[e]
    return out


def world(seed, sizes, corners=(2, 4), per_body=5):
    """A random world: (start, groups, element matrices, scales, lumped)."""
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(sizes)])
    groups = [random_elements(rng, start, c, per_body) for c in corners]
    stiffness = [random_stiffness(rng, len(g), c) for g, c in zip(groups, corners, strict=True)]
    scales = [rng.uniform(0.5, 2.0, len(g)) for g in groups]
    return start, groups, stiffness, scales, rng.uniform(1.0, 2.0, start[-1])


def assembled(start, groups, stiffness, scales, lumped, implicit=None):
    pattern = BlockPattern.build(groups, start, implicit)
    flat, parts = pattern.element_blocks()
    for part, k, g in zip(parts, stiffness, groups, strict=True):
        part[:] = upper_blocks(k, g.shape[1])
    return pattern.assemble(flat, np.concatenate(scales), lumped)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4), data=st.data())
def test_assembly_equals_dense_sum_of_implicit_bodies(seed, sizes, data):
    start, groups, stiffness, scales, lumped = world(seed, sizes)
    implicit = np.array(data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    matrix = assembled(start, groups, stiffness, scales, lumped, implicit)
    rows = np.repeat(np.repeat(implicit, sizes), 3)
    expected = dense(start[-1], groups, stiffness, scales, lumped) * np.outer(rows, rows)
    np.testing.assert_allclose(matrix.to_scipy().toarray(), expected, rtol=1e-13, atol=1e-13)
    x = np.random.default_rng(seed).normal(size=(start[-1], 3))
    np.testing.assert_allclose((matrix @ x).ravel(), expected @ x.ravel(), rtol=1e-12, atol=1e-12)
    for body in np.flatnonzero(implicit):
        part = slice(3 * start[body], 3 * start[body + 1])
        np.testing.assert_array_equal(matrix.to_scipy(body).toarray(), matrix.to_scipy().toarray()[part, part])


def test_pattern_rows_are_sorted_and_the_matrix_is_symmetric_to_the_bit():
    matrix = assembled(*world(3, [7, 1, 9, 5]))
    pattern = matrix.pattern
    for i in range(pattern.n):
        row = pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]].astype(int)
        assert (np.diff(row) > 0).all()
        assert pattern.indices[pattern.diagonal[i]] == i
    full = matrix.to_scipy().toarray()
    off = ~np.kron(np.eye(pattern.n, dtype=bool), np.ones((3, 3), dtype=bool))
    np.testing.assert_array_equal(np.where(off, full, 0), np.where(off, full.T, 0))


def test_a_node_without_elements_keeps_its_mass():
    start = np.array([0, 3])
    pattern = BlockPattern.build([np.array([[0, 2]])], start)
    matrix = pattern.assemble(np.zeros((3, 3, 3)), np.ones(1), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), np.diag([1.0, 1, 1, 2, 2, 2, 3, 3, 3]))


def test_shift_and_trace():
    matrix = assembled(*world(5, [6, 4]))
    amount = np.arange(10.0)
    difference = matrix.shifted(amount).to_scipy().toarray() - matrix.to_scipy().toarray()
    np.testing.assert_allclose(difference, np.diag(np.repeat(amount, 3)), atol=1e-12)
    np.testing.assert_allclose(matrix.trace(), matrix.to_scipy().toarray().diagonal().reshape(-1, 3).mean(axis=1))


def test_assembly_and_product_do_not_depend_on_threads_or_on_another_body():
    alone = world(11, [40], per_body=60)
    extra = world(12, [25], per_body=30)
    start, groups, stiffness, scales, lumped = (list(part) for part in zip(alone, extra, strict=True))
    both = assembled(
        np.array([0, 40, 65]),
        [np.concatenate([a, b + 40]) for a, b in zip(*groups, strict=True)],
        [np.concatenate(pair) for pair in zip(*stiffness, strict=True)],
        [np.concatenate(pair) for pair in zip(*scales, strict=True)],
        np.concatenate(lumped),
    )
    results = []
    x = np.random.default_rng(0).normal(size=(65, 3))
    before = numba.get_num_threads()
    try:
        for threads in range(1, min(2, numba.config.NUMBA_NUM_THREADS) + 1):
            numba.set_num_threads(threads)
            matrix = assembled(*alone)
            results.append((matrix.values, matrix @ x[:40]))
    finally:
        numba.set_num_threads(before)
    for values, product in results:
        np.testing.assert_array_equal(values, both.values[: len(values)])
        np.testing.assert_array_equal(product, (both @ x)[:40])


@pytest.mark.parametrize(
    ("nodes", "words"),
    [([[0, 0]], "uses a node twice"), ([[1, 2]], "joins bodies"), ([[0, 4]], "outside 0..3"), ([[-1, 0]], "outside")],
)
def test_bad_elements_are_refused(nodes, words):
    with pytest.raises(PliantError, match=words):
        BlockPattern.build([np.array(nodes)], np.array([0, 2, 4]))


def test_arrays_of_wrong_size_are_refused():
    pattern = BlockPattern.build([np.array([[0, 1]])], np.array([0, 2]))
    with pytest.raises(PliantError, match="element_blocks"):
        pattern.assemble(np.zeros((2, 3, 3)), np.ones(1), np.ones(2))
