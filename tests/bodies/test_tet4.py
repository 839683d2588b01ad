"""Linear tetrahedra: golden numbers of theory/elements 7."""

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.bodies.elasticity import lame, von_mises
from pliant.bodies.fem.tets import Tet4
from pliant.bodies.stable_step import block_matrix

UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
NODES = np.arange(4)[None]
MOVED = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.1, 0.2, 1.3]])


def unit_tet(law, **options):
    lam, mu = lame(1000.0, 0.3)
    return Tet4(NODES, UNIT, lam, mu, 1000.0, law=law, **options)


def forces(group, x):
    out = np.empty((group.nodes.size, 3))
    group.forces(x, np.zeros_like(x), out)
    return out


@pytest.mark.parametrize(
    "law, f3",
    [
        ("stvk", (-14.7115384615, -29.4230769231, -107.9166666667)),
        ("corotated", (-8.5659512049, -17.1319024097, -68.8117495070)),
        ("linear", (-6.4102564103, -12.8205128205, -67.3076923077)),
        # own golden number: P of the table in laws/neo_hookean times -1/6
        ("neo-hookean", (-6.7438421869, -13.4876843738, -68.4391791987)),
    ],
)
def test_G24_force_of_the_moved_corner(law, f3):
    assert np.allclose(forces(unit_tet(law), MOVED)[3], f3, rtol=0, atol=1e-9)


def test_G24_stvk_energy():
    assert unit_tet("stvk").energy(MOVED)[0] == pytest.approx(16.9599358974, abs=1e-9)


@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
def test_G25_stiffness_at_rest(law):
    blocks = np.empty((1, 10, 3, 3))
    unit_tet(law).stiffness(UNIT, blocks)
    K = block_matrix(blocks, 4)[0]
    assert K[0, 0] == pytest.approx(352.5641025641, abs=1e-9)
    assert np.trace(K) == pytest.approx(2115.3846153846, abs=1e-9)


def test_stiffness_blocks_are_those_of_the_methods_page():
    lam, mu = lame(1000.0, 0.3)
    rng = np.random.default_rng(1)
    X = UNIT + 0.2 * rng.normal(size=UNIT.shape)
    group = Tet4(NODES, X, lam, mu, 1.0, law="linear")
    blocks = np.empty((1, 10, 3, 3))
    group.stiffness(rng.normal(size=X.shape), blocks)
    g = np.linalg.inv(np.column_stack([np.ones(4), X]))[1:].T
    V = np.linalg.det(X[1:] - X[0]) / 6
    at = 0
    for a in range(4):
        for b in range(a, 4):
            expected = lam * np.outer(g[a], g[b]) + mu * np.outer(g[b], g[a]) + mu * (g[a] @ g[b]) * np.eye(3)
            assert np.allclose(blocks[0, at], V * expected)
            at += 1


def test_mass_is_a_quarter_per_corner():
    assert np.allclose(unit_tet("linear").mass, 1000.0 / 6 / 4)


@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
def test_stress_of_a_small_uniaxial_strain_is_hookes(law):
    x = UNIT * [1.0 + 1e-6, 1.0, 1.0]
    lam, mu = lame(1000.0, 0.3)
    sigma = unit_tet(law).stress(x)[0]
    assert np.allclose(sigma, 1e-6 * np.diag([lam + 2 * mu, lam, lam]), rtol=0, atol=1e-5 * lam * 1e-6)
    assert von_mises(sigma) == pytest.approx(2e-6 * mu, rel=1e-4)


def test_cauchy_stress_carries_the_force_through_a_deformed_face():
    """Traction times deformed area of the face opposite corner 3 balances three times that corner's force."""
    group = unit_tet("neo-hookean")
    sigma = group.stress(MOVED)[0]
    area = 0.5 * np.cross(MOVED[2] - MOVED[0], MOVED[1] - MOVED[0])
    assert np.allclose(sigma @ area, 3.0 * forces(group, MOVED)[3])


def test_tets_without_volume_are_refused_by_number():
    flat = UNIT.copy()
    flat[3, 2] = 0.0
    with pytest.raises(PliantError, match=r"first: \[1\]"):
        Tet4(np.stack([NODES[0], NODES[0]]), np.stack([UNIT, flat]), 1.0, 1.0, 1.0)


def test_rest_positions_may_be_given_per_corner():
    per_corner = Tet4(NODES, UNIT[None], 1.0, 1.0, 1.0)
    assert np.array_equal(per_corner.inverse, Tet4(NODES, UNIT, 1.0, 1.0, 1.0).inverse)
