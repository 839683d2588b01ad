"""Quadratic tetrahedra: golden numbers of theory/elements 7, exactness of the quadrature, degree elevation."""

from math import comb

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.bodies.elasticity import lame
from pliant.bodies.fem.tets import POINTS, Tet4, Tet10, elevated
from pliant.bodies.stable_step import block_matrix
from pliant.geometry.mesh import TET_EDGES

UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
REST = elevated(UNIT[None])[0]
INDEX = np.concatenate([2 * np.eye(4, dtype=int), np.eye(4, dtype=int)[TET_EDGES].sum(axis=1)])  # multi-indices I


def bernstein(barycentric):
    """Values of the ten shape functions, (n, 10), at barycentric coordinates (n, 4); zeros in one give a face's six."""
    l = np.asarray(barycentric)
    return np.concatenate([l * l, 2.0 * l[:, TET_EDGES[:, 0]] * l[:, TET_EDGES[:, 1]]], axis=1)


def unit_tet(law, X=REST):
    lam, mu = lame(1000.0, 0.3)
    return Tet10(np.arange(10)[None], X, lam, mu, 1000.0, law=law)


def matrix_at(group, x):
    blocks = np.empty((1, 55, 3, 3))
    group.stiffness(x, blocks)
    return block_matrix(blocks, 10)[0]


@pytest.mark.parametrize("law", ["linear", "corotated", pytest.param("stvk", marks=pytest.mark.slow), "neo-hookean"])
def test_G25_quadratic_stiffness(law):
    K = matrix_at(unit_tet(law), REST)
    assert K[0, 0] == pytest.approx(141.0256410256, abs=1e-9)
    assert np.trace(K) == pytest.approx(2961.5384615385, abs=1e-9)
    assert np.linalg.eigvalsh(K).max() == pytest.approx(778.3574130419, abs=1e-9)


def integral(f):
    """Mean of f(l) over a tetrahedron by a conical product rule, exact to degree 7."""
    x, w = np.polynomial.legendre.leggauss(5)
    x, w = 0.5 * (x + 1), 0.5 * w
    a, b, c = (g.ravel() for g in np.meshgrid(x, x, x, indexing="ij"))
    weight = np.einsum("i,j,k->ijk", w, w, w).ravel() * 6.0 * a**2 * b
    l = np.stack([1 - a, a * (1 - b), a * b * (1 - c), a * b * c], axis=1)
    return np.einsum("n,n...->...", weight, f(l))


def test_G25_mass_row_and_its_lumping():
    M = integral(lambda l: np.einsum("ni,nj->nij", bernstein(l), bernstein(l)))
    expected = [[np.prod([comb(a + b, a) for a, b in zip(I, J, strict=True)]) / 210 for J in INDEX] for I in INDEX]
    assert np.allclose(M, expected, atol=1e-14)
    assert np.allclose(sorted(210 * M[0], reverse=True), [6, 3, 3, 3, 1, 1, 1, 1, 1, 1])
    assert np.allclose(M.sum(axis=1), 0.1)
    assert np.allclose(unit_tet("linear").mass, 1000.0 / 6 * M.sum(axis=1))


def test_G26_bernstein_values_on_a_face():
    B = bernstein(np.array([[0.2, 0.3, 0.5, 0.0]]))[0]
    by_index = {tuple(I): value for I, value in zip(INDEX, B, strict=True)}
    face = [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]
    assert np.allclose([by_index[(*I, 0)] for I in face], [0.04, 0.12, 0.2, 0.09, 0.3, 0.25], rtol=0, atol=1e-15)
    assert np.allclose([by_index[I] for I in by_index if I[3]], 0.0)


def test_quadrature_is_exact_for_degree_two():
    exact = integral(lambda l: np.einsum("ni,nj->nij", l, l))
    assert np.allclose(np.einsum("qi,qj->ij", POINTS, POINTS) / 4, exact, atol=1e-15)
    assert np.allclose(POINTS.sum(axis=1), 1.0)


def test_stiffness_is_that_of_the_methods_page():
    """Block (I, J) = lam G + mu G^T + mu tr(G) 1, G = 4 sum_mn g_m g_n^T V (1 + delta_k(m)k(n)) / 20, irregular tet."""
    rng = np.random.default_rng(5)
    corners = UNIT + 0.2 * rng.normal(size=UNIT.shape)
    lam, mu = lame(1000.0, 0.3)
    K = matrix_at(unit_tet("linear", elevated(corners[None])[0]), REST)
    g = np.linalg.inv(np.column_stack([np.ones(4), corners]))[1:].T
    V = np.linalg.det(corners[1:] - corners[0]) / 6
    for a, I in enumerate(INDEX):
        for b, J in enumerate(INDEX):
            G = np.zeros((3, 3))
            for m in np.flatnonzero(I):
                for n in np.flatnonzero(J):
                    same = np.argmax(I - np.eye(4)[m]) == np.argmax(J - np.eye(4)[n])
                    G += 4 * np.outer(g[m], g[n]) * V * (1 + same) / 20
            block = lam * G + mu * G.T + mu * np.trace(G) * np.eye(3)
            assert np.allclose(K[3 * a : 3 * a + 3, 3 * b : 3 * b + 3], block, atol=1e-11 * 1000)


def elevation():
    """Matrix (30, 12) that turns corner displacements into those of the control points: b_I = sum_m i_m x_m / 2."""
    return np.kron(0.5 * INDEX, np.eye(3))


def test_degree_elevation_reproduces_the_linear_stiffness():
    lam, mu = lame(1000.0, 0.3)
    blocks = np.empty((1, 10, 3, 3))
    Tet4(np.arange(4)[None], UNIT, lam, mu, 1.0, law="linear").stiffness(UNIT, blocks)
    E = elevation()
    assert np.allclose(E.T @ matrix_at(unit_tet("linear"), REST) @ E, block_matrix(blocks, 4)[0], atol=1e-10)


@pytest.mark.parametrize("law", ["linear", "corotated", pytest.param("stvk", marks=pytest.mark.slow), "neo-hookean"])
def test_degree_elevation_reproduces_the_linear_element_when_strained(law):
    lam, mu = lame(1000.0, 0.3)
    x = UNIT + 0.3 * np.random.default_rng(2).normal(size=UNIT.shape)
    small = Tet4(np.arange(4)[None], UNIT, lam, mu, 1000.0, law=law)
    big = unit_tet(law)
    x10 = elevated(x[None])[0]
    assert big.energy(x10)[0] == pytest.approx(small.energy(x)[0])
    f4, f10 = np.empty((4, 3)), np.empty((10, 3))
    small.forces(x, x, f4)
    big.forces(x10, x10, f10)
    assert np.allclose(elevation().T @ f10.ravel(), f4.ravel(), atol=1e-9)
    assert big.stretch(x10)[0] == pytest.approx(small.stretch(x)[0])
    assert np.allclose(big.stress(x10), small.stress(x))


def test_stretch_sees_an_inversion_at_a_corner_only():
    x = REST.copy()
    x[4] = [-0.05, 0, 0]  # the edge point 0-1 beyond the corner 0 folds the element there
    assert unit_tet("corotated").stretch(x)[0] < 0.0
    assert unit_tet("corotated").stretch(REST)[0] == pytest.approx(1.0)


def test_curved_rest_shapes_are_refused():
    bent = REST.copy()
    bent[5] += 0.1
    with pytest.raises(PliantError, match="edge midpoints"):
        unit_tet("corotated", bent)
