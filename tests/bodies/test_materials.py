"""Material laws: derivatives, limits, golden numbers, the registry, and the elastic constants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.bodies.elasticity import lame, von_mises
from pliant.bodies.fem.materials import LAWS, find_law, law_tangent, projected_tangent, register_material

BUILT_IN = ("linear", "corotated", "stvk", "neo-hookean")
seeds = st.integers(0, 2**32 - 1)


def random_gradient(seed, size=0.8):
    """A random F, inverted about every third time, away from the jump of the polar rotation."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    s = 1.0 + size * rng.uniform(-1.0, 1.0, 3)
    F = U @ np.diag(s) @ V
    return F[None] if np.linalg.det(F) > 0.0 or np.sort(s)[1] - s.min() > 0.1 else -F[None]


def constants(n=1):
    lam, mu = lame(1000.0, 0.3)
    return np.full(n, lam), np.full(n, mu)


@pytest.mark.parametrize("name", BUILT_IN)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_stress_is_the_gradient_of_the_energy(name, seed):
    F, (lam, mu), law = random_gradient(seed), constants(), LAWS[name]
    P = law.stress(F, lam, mu)[0]
    h = 1e-5
    for i in range(3):
        for j in range(3):
            d = np.zeros((1, 3, 3))
            d[0, i, j] = h
            slope = (law.energy(F + d, lam, mu) - law.energy(F - d, lam, mu))[0] / (2 * h)
            assert slope == pytest.approx(P[i, j], abs=1e-5 * 1000)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("nu", [-0.9, -0.3, 0.0, 0.3, 0.49])
def test_rest_is_free_of_energy_and_stress_and_its_tangent_is_hookes(name, nu):
    lam, mu = (np.array([c]) for c in lame(1000.0, nu))
    rest = np.eye(3)[None]
    law = LAWS[name]
    assert law.energy(rest, lam, mu)[0] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(law.stress(rest, lam, mu)).max() < 1e-12 * (abs(lam[0]) + mu[0])
    one = np.eye(3)
    hooke = lam[0] * np.einsum("ij,kl->ijkl", one, one) + mu[0] * (
        np.einsum("ik,jl->ijkl", one, one) + np.einsum("il,jk->ijkl", one, one)
    )
    assert np.allclose(law_tangent(law, rest, lam, mu)[0], hooke, rtol=0, atol=1e-6 * np.abs(hooke).max())


# Computed with mpmath, 40 digits, from the energy alone: P by central differences with h = 1e-15.
NEO_HOOKEAN_GOLDEN = [
    (np.diag([1.1, 1, 1]), 6.7517213912, np.diag([135.2396613679, 66.6514404044, 66.6514404044])),
    (
        np.array([[1, 0, 0.1], [0, 1, 0.2], [0, 0, 1.3]]),
        71.2198013879,
        np.array(
            [[254.6305312128, 0, 40.4630531213], [0, 254.6305312128, 80.9261062426]]
            + [[11.5384615385, 23.0769230769, 410.6350751920]]
        ),
    ),
    (np.diag([1.0, 1, -1]), 2564.1025641026, np.diag([2564.1025641026, 2564.1025641026, -2564.1025641026])),
]


@pytest.mark.parametrize("F, psi, P", NEO_HOOKEAN_GOLDEN)
def test_neo_hookean_golden_numbers(F, psi, P):
    law, c = LAWS["neo-hookean"], constants()
    assert law.energy(F[None], *c)[0] == pytest.approx(psi, abs=1e-9)
    assert np.allclose(law.stress(F[None], *c)[0], P, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["corotated", "stvk", "neo-hookean"])
@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_energy_does_not_see_rotations_of_space_or_of_the_material(name, seed):
    rng = np.random.default_rng(seed)
    Q, W = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    Q, W = Q * np.sign(np.linalg.det(Q)), W * np.sign(np.linalg.det(W))
    F, c = random_gradient(seed), constants()
    assert LAWS[name].energy(Q @ F @ W, *c)[0] == pytest.approx(LAWS[name].energy(F, *c)[0], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_projected_tangent_is_positive_and_keeps_the_positive_part(seed):
    F, c, law = random_gradient(seed), constants(), LAWS["stvk"]
    H = law_tangent(law, F, *c).reshape(9, 9)
    values = np.linalg.eigvalsh(0.5 * (H + H.T))
    kept = np.linalg.eigvalsh(projected_tangent(law, F, *c)[0])
    assert np.allclose(kept, np.maximum(values, 0.0), atol=1e-6 * np.abs(values).max())


class Doubled:
    """A user's law with its own tangent: twice |F - 1|^2 mu."""

    def energy(self, F, lam, mu):
        return mu * ((F - np.eye(3)) ** 2).sum(axis=(1, 2))

    def stress(self, F, lam, mu):
        return 2.0 * mu[:, None, None] * (F - np.eye(3))

    def tangent(self, F, lam, mu):
        return 2.0 * mu[:, None, None, None, None] * np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3))


def test_own_tangent_is_used_and_agrees_with_differences():
    F, c = random_gradient(3), constants()

    class Bare:
        energy, stress = Doubled.energy, Doubled.stress

    assert np.allclose(law_tangent(Doubled(), F, *c), law_tangent(Bare(), F, *c), atol=1e-5)


def test_registry_takes_new_laws_once_and_refuses_incomplete_ones(monkeypatch):
    monkeypatch.setattr("pliant.bodies.fem.materials.LAWS", dict(LAWS))
    law = Doubled()
    register_material("doubled", law)
    assert find_law("doubled") is law
    with pytest.raises(PliantError, match="registered already"):
        register_material("stvk", law)
    with pytest.raises(PliantError, match="no method stress"):
        register_material("half", type("Half", (), {"energy": Doubled.energy})())


def test_unknown_law_lists_the_near_ones():
    with pytest.raises(PliantError, match="'corotated'"):
        find_law("corotational")
    with pytest.raises(PliantError, match="neo-hookean"):
        find_law("neohooke")


def test_lame_constants():
    lam, mu = lame(1000.0, 0.3)
    assert (lam, mu) == (pytest.approx(576.9230769230769), pytest.approx(384.6153846153846))
    lams, mus = lame(np.array([1000.0, 2000.0]), 0.25)
    assert np.allclose(lams, [400, 800]) and np.allclose(mus, [400, 800])


@pytest.mark.parametrize("nu", [0.5, -1.0, 0.7, np.nan])
def test_poisson_ratio_outside_its_range_is_refused_with_the_range(nu):
    with pytest.raises(PliantError, match="greater than -1 and less than 0.5"):
        lame(1000.0, nu)
    with pytest.raises(PliantError, match="less than 0.5"):
        lame(1000.0, np.array([0.3, nu]))


@pytest.mark.parametrize("E", [0.0, -5.0, np.inf, np.nan])
def test_youngs_modulus_must_be_positive(E):
    with pytest.raises(PliantError, match="greater than 0"):
        lame(E, 0.3)


def test_von_mises_of_tension_shear_and_pressure():
    tension, pressure, shear = np.diag([5.0, 0, 0]), -3.0 * np.eye(3), np.zeros((3, 3))
    shear[0, 1] = shear[1, 0] = 2.0
    assert np.allclose(von_mises(np.stack([tension, pressure, shear])), [5.0, 0.0, 2.0 * np.sqrt(3.0)])
