"""Assembly of block matrices against the dense sum over elements."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.bodies.fem.tets import Tet4, Tet10, elevated
from pliant.geometry.shapes import make
from pliant.integrate import assembly
from pliant.integrate.assembly import Assembly

from .conftest import Given, InParts, matrix_of


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


def assembled(start, groups, stiffness, scales, lumped, implicit=None, kind=Given):
    given = [kind(g, upper_blocks(k, g.shape[1]), s) for g, k, s in zip(groups, stiffness, scales, strict=True)]
    return matrix_of(given, start, lumped, implicit)


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
    matrix = matrix_of([Given([[0, 2]], np.zeros((3, 3, 3)))], np.array([0, 3]), [1.0, 2.0, 3.0])
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
        Assembly([Given(nodes, np.zeros((1, 3, 3, 3)))], np.array([0, 2, 4]))


def test_arrays_of_wrong_size_are_refused():
    with pytest.raises(PliantError, match="has 2 nodes"):
        matrix_of([Given([[0, 1]], np.zeros((3, 3, 3)))], np.array([0, 2]), np.ones(3))


@pytest.mark.parametrize("part", [1, 7, 64])
def test_the_size_of_parts_changes_no_more_than_rounding(part, monkeypatch):
    given = world(21, [30, 12], per_body=40)
    whole = assembled(*given)
    monkeypatch.setattr(assembly, "PART", part)
    np.testing.assert_allclose(assembled(*given, kind=InParts).values, whole.values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("law", ["linear", "corotated"])
@pytest.mark.parametrize("kind", [Tet4, Tet10])
@pytest.mark.parametrize("part", [37, 8192])
def test_turned_gradients_make_the_matrix_of_the_element_blocks(law, kind, part, monkeypatch):
    """The same sum two ways, far from rest and with an inverted element."""
    monkeypatch.setattr(assembly, "PART", part)
    mesh = make("box", size=(0.3, 0.2, 0.1), edge=0.1).tets
    rest, nodes = mesh.points, mesh.tets
    if kind is Tet10:
        corners = elevated(rest[nodes])
        rest, nodes = np.unique(np.round(corners.reshape(-1, 3), 9), axis=0, return_inverse=True)
        nodes = nodes.reshape(-1, 10)
    rng = np.random.default_rng(1)
    group = kind(nodes, rest, rng.uniform(1e3, 1e4, len(nodes)), rng.uniform(1e3, 1e4, len(nodes)), 1000.0, rng.uniform(0, 0.01, len(nodes)), law)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x, lumped, start = (rest + 0.05 * rng.normal(size=rest.shape)) @ turn.T, rng.uniform(1, 2, len(rest)), np.array([0, len(rest)])
    assert (group.stretch(x) < 0.0).any()
    blocks = np.empty((len(nodes), group.corners * (group.corners + 1) // 2, 3, 3))
    group.stiffness(x, blocks)
    dt = 0.003
    expected = matrix_of([Given(nodes, blocks, dt * group.rayleigh + dt * dt)], start, lumped)
    found = Assembly([group], start).matrix(x, lumped, dt)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12 * np.abs(expected.values).max())
    plain = Assembly([group], start).matrix(x, lumped)
    np.testing.assert_allclose(plain.values, matrix_of([Given(nodes, blocks)], start, lumped).values, rtol=1e-9, atol=1e-8)
