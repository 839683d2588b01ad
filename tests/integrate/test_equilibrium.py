"""Static equilibrium against closed forms: linear tetrahedra, non-linear springs, follower pressure."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.bodies.fem.tets import Tet4
from pliant.integrate.assembly import Assembly
from pliant.integrate.equilibrium import StaticProblem, solve_static

from .conftest import Given, matrix_of

G = 9.81


def grid(nx, ny, nz, h):
    """A block of cubes, each cut into six tetrahedra."""
    shape = (nx + 1, ny + 1, nz + 1)
    node = np.arange(np.prod(shape)).reshape(shape)
    corner = np.stack([node[a : nx + a, b : ny + b, c : nz + c].ravel() for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    tets = np.concatenate([corner[[0, p, p + q, 7]].T for p, q, _ in permutations((4, 2, 1))])
    points = h * np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)
    flip = np.linalg.det(points[tets][:, 1:] - points[tets][:, :1]) < 0
    tets[flip] = tets[flip][:, [0, 2, 1, 3]]
    return points, tets


def linear_tets(points, tets, youngs_modulus, poisson_ratio, density, gravity=(0, 0, -G)):
    """One linear elastic body; returns the problem and the displacement-free positions."""
    lam = youngs_modulus * poisson_ratio / ((1 + poisson_ratio) * (1 - 2 * poisson_ratio))
    mu = youngs_modulus / (2 * (1 + poisson_ratio))
    d = points[tets][:, 1:] - points[tets][:, :1]
    volume = np.linalg.det(d) / 6
    g = np.linalg.inv(d).transpose(0, 2, 1)
    g = np.concatenate([-g.sum(axis=1, keepdims=True), g], axis=1)
    gg = np.einsum("eai,ebj->eabij", g, g)
    k = lam * gg + mu * gg.swapaxes(3, 4) + mu * np.einsum("eai,ebi->eab", g, g)[..., None, None] * np.eye(3)
    a, b = np.triu_indices(4)
    blocks = (volume[:, None, None, None, None] * k)[:, a, b]
    matrix = matrix_of([Given(tets, blocks)], np.array([0, len(points)]), np.zeros(len(points)))
    mass = np.bincount(tets.ravel(), np.repeat(density * volume / 4, 4))
    weight = mass[:, None] * np.array(gravity, dtype=float)

    def energy(x, load):
        u = x - points
        return np.array([0.5 * np.sum(u * (matrix @ u)) - load[0] * np.sum(weight * u)])

    return StaticProblem(matrix.pattern, lambda x: -(matrix @ (x - points)), lambda x: weight, lambda x: matrix, energy)


class Springs:
    """Springs with any tension T(stretch) and its integral and slope, as a static problem under dead loads."""

    def __init__(self, ends, rest, law, body_start, external, with_energy=True):
        self.ends, self.rest, self.law = np.asarray(ends), np.asarray(rest, dtype=float), law
        self.start = np.asarray(body_start)
        self.pattern = Assembly([Given(self.ends, np.zeros((len(self.ends), 3, 3, 3)))], self.start).pattern
        self.owner = np.repeat(np.arange(len(body_start) - 1), np.diff(body_start))
        self.external = external
        self.problem = StaticProblem(
            self.pattern,
            self.internal,
            external if callable(external) else lambda x: external,
            self.tangent,
            self.energy if with_energy else None,
        )

    def shape(self, x):
        d = x[self.ends[:, 1]] - x[self.ends[:, 0]]
        length = np.linalg.norm(d, axis=1)
        return d / length[:, None], length

    def internal(self, x):
        d, length = self.shape(x)
        pull = self.law.tension(length - self.rest)[:, None] * d
        out = np.zeros_like(x)
        np.add.at(out, self.ends[:, 0], pull)
        np.add.at(out, self.ends[:, 1], -pull)
        return out

    def tangent(self, x):
        d, length = self.shape(x)
        e = length - self.rest
        dd = d[:, :, None] * d[:, None, :]
        across = np.maximum(self.law.tension(e) / length, 0.0)[:, None, None]
        k = np.maximum(self.law.slope(e), 0.0)[:, None, None] * dd + across * (np.eye(3) - dd)
        return matrix_of([Given(self.ends, np.stack([k, -k, k], axis=1))], self.start, np.zeros(self.pattern.n))

    def energy(self, x, load):
        _, length = self.shape(x)
        bodies = len(load)
        elastic = np.bincount(self.owner[self.ends[:, 0]], self.law.energy(length - self.rest), minlength=bodies)
        return elastic - load * np.bincount(self.owner, np.sum(self.external * x, axis=1), minlength=bodies)


class Cubic:
    """T = k e + c e^3."""

    def __init__(self, k, c=0.0):
        self.k, self.c = k, c

    def tension(self, e):
        return self.k * e + self.c * e**3

    def slope(self, e):
        return self.k + 3 * self.c * e**2

    def energy(self, e):
        return 0.5 * self.k * e**2 + 0.25 * self.c * e**4

    def stretch(self, tension):
        """The real root of k e + c e^3 = T, by Cardano."""
        p, q = self.k / self.c, -tension / self.c
        root = np.sqrt(q**2 / 4 + p**3 / 27)
        return np.cbrt(-q / 2 + root) + np.cbrt(-q / 2 - root)


class Tearing(Cubic):
    """T = k e exp(-e): carries at most k / 2.718..."""

    def tension(self, e):
        return self.k * e * np.exp(-e)

    def slope(self, e):
        return self.k * (1 - e) * np.exp(-e)

    def energy(self, e):
        return self.k * (1 - (1 + e) * np.exp(-e))


def chain(count, law, mass=0.2, direction=(0, 0, -1), with_energy=True, copies=1):
    """Chains of `count` springs of rest length 1 hung up at their first node; start along `direction`, unstretched."""
    one = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    ends = np.concatenate([one + k * (count + 1) for k in range(copies)])
    start = (count + 1) * np.arange(copies + 1)
    x0 = np.tile(np.arange(count + 1.0)[:, None] * np.array(direction, dtype=float), (copies, 1))
    external = np.tile([0, 0, -mass * G], (len(x0), 1))
    free = np.ones(len(x0), dtype=bool)
    free[start[:-1]] = False
    return Springs(ends, np.ones(len(ends)), law, start, external, with_energy), x0, free


def hanging(count, law, mass=0.2):
    """Heights of a hanging chain in closed form: spring i carries the masses below it."""
    below = mass * G * (count - np.arange(count))
    return -np.concatenate([[0], np.cumsum(1 + law.stretch(below))])


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_hanging_bar_stretches_as_the_closed_form_says(solver):
    """u = rho g / E (L z - z^2 / 2) at depth z, nu = 0: exact for the mean over each layer of nodes, near it elsewhere.

    The mean of sigma_zz = E eps_zz over a slab is the weight below it, since displacements that are linear in z there
    and constant above and below are in the trial space.
    """
    e, rho, length, n = 1e5, 1000.0, 1.0, 12
    points, tets = grid(2, 3, n, length / n)
    points[:, 2] -= length
    problem = linear_tets(points, tets, e, 0.0, rho)
    found = solve_static(problem, points, points[:, 2] < -1e-9, tolerance=1e-10, solver=solver)
    assert found.converged.all() and found.complaint() == ""
    depth = -points[:, 2]
    exact = rho * G / e * (length * depth - depth**2 / 2)
    u = points[:, 2] - found.x[:, 2]
    np.testing.assert_allclose(u, exact, atol=0.05 * exact.max())
    layer = np.rint(depth * n).astype(int)
    bottom = tets[(layer[tets] == n).sum(axis=1) == 3]
    area = np.bincount(bottom[layer[bottom] == n], minlength=len(points))[layer == n]  # the same in every layer
    for k in range(1, n + 1):
        assert np.average(u[layer == k], weights=area) == pytest.approx(exact[layer == k][0], rel=1e-7)


def test_linear_body_takes_one_newton_iteration():
    points, tets = grid(2, 2, 3, 0.1)
    found = solve_static(linear_tets(points, tets, 1e5, 0.3, 1000.0), points, points[:, 2] > 0.01)
    assert found.converged[0] and found.iterations[0] == 1 and found.load[0] == 1
    assert found.relative[0] <= 1e-8


@pytest.mark.parametrize(
    ("law", "traction"),
    [
        pytest.param("corotated", lambda stretch, e: e * (stretch - 1), id="corotated"),
        pytest.param("stvk", lambda stretch, e: 0.5 * e * stretch * (stretch**2 - 1), id="stvk", marks=pytest.mark.slow),
    ],
)
def test_bar_of_real_tets_stretches_uniformly_under_end_traction(law, traction):
    """nu = 0, first Piola stress P(stretch) = dead traction: E (s - 1) corotated, E s (s^2 - 1) / 2 St. Venant-Kirchhoff."""
    e, stretch, h = 1e4, 1.6, 0.1
    points, tets = grid(2, 2, 5, h)
    group = Tet4(tets, points, 0.0, e / 2, 1000.0, law=law)
    assembly = Assembly([group], np.array([0, len(points)]))
    end = np.isclose(points[:, 2], 0.5)
    face = tets[end[tets].sum(axis=1) == 3]
    external = np.zeros_like(points)
    np.add.at(external, face[end[face]], [0, 0, traction(stretch, e) * h * h / 6])

    def internal(x):
        corner, out = np.empty((tets.size, 3)), np.zeros_like(x)
        group.forces(x, np.zeros_like(x), corner)
        np.add.at(out, tets.ravel(), corner)
        return out

    def tangent(x):
        return assembly.matrix(x, np.zeros(len(points)))

    def energy(x, load):
        return np.array([group.energy(x).sum() - load[0] * np.sum(external * x)])

    problem = StaticProblem(assembly.pattern, internal, lambda x: external, tangent, energy)
    found = solve_static(problem, points, points[:, 2] > 0.01, tolerance=1e-11)
    assert found.converged[0]
    np.testing.assert_allclose(found.x, points * [1, 1, stretch], atol=1e-8)


def test_patch_moved_boundary_gives_linear_interior():
    """No load at all: prescribed boundary displacements u = B x are met exactly inside."""
    points, tets = grid(3, 3, 3, 0.1)
    inner = ((points > 0.01) & (points < 0.29)).all(axis=1)
    points[inner] += np.random.default_rng(0).uniform(-0.02, 0.02, (inner.sum(), 3))
    bend = 0.05 * np.random.default_rng(1).normal(size=(3, 3))
    x0 = np.where(inner[:, None], points, points + points @ bend)
    found = solve_static(linear_tets(points, tets, 1e5, 0.3, 0.0), x0, inner)
    assert found.converged[0]
    np.testing.assert_allclose(found.x, points + points @ bend, atol=1e-11)


def test_without_load_nothing_moves_even_far_from_the_origin():
    points, tets = grid(2, 2, 2, 0.1)
    points += 100.0
    found = solve_static(linear_tets(points, tets, 1e7, 0.3, 0.0), points, points[:, 2] > 100.01)
    assert found.converged[0]
    np.testing.assert_allclose(found.x, points, atol=1e-12)


@pytest.mark.parametrize("direction", [(0, 0, -1), (1, 0, 0), (0.6, 0, 0.8)], ids=["down", "sideways", "upwards"])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_nonlinear_spring_chain_equals_closed_form(direction, solver):
    law = Cubic(50.0, 400.0)
    springs, x0, free = chain(12, law, direction=direction)
    found = solve_static(springs.problem, x0, free, tolerance=1e-10, solver=solver)
    assert found.converged[0]
    np.testing.assert_allclose(found.x[:, 2], hanging(12, law), rtol=1e-8)
    np.testing.assert_allclose(found.x[:, :2], 0.0, atol=1e-6)


@pytest.mark.parametrize("direction", [(0, 0, -1), (1, 0, 0)], ids=["down", "sideways"])
def test_chain_without_energy_is_found_by_its_forces(direction):
    law = Cubic(50.0, 400.0)
    springs, x0, free = chain(6, law, direction=direction, with_energy=False)
    found = solve_static(springs.problem, x0, free, tolerance=1e-10)
    assert found.converged[0], found.complaint()
    np.testing.assert_allclose(found.x[:, 2], hanging(6, law), rtol=1e-8)


def test_ring_under_follower_pressure_equals_closed_form():
    """A ring of n springs under pressure p [N/m] along its edges: l = L / (1 - p cot(pi/n) / (2 k))."""
    n, k, p = 16, 100.0, 6.0
    angle = 2 * np.pi * np.arange(n) / n
    rest = 2 * np.sin(np.pi / n)
    x0 = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    ends = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)

    def pressure(x):
        edge = x[ends[:, 1]] - x[ends[:, 0]]
        force = 0.5 * p * np.stack([edge[:, 1], -edge[:, 0], 0 * edge[:, 2]], axis=1)
        out = np.zeros_like(x)
        np.add.at(out, ends[:, 0], force)
        np.add.at(out, ends[:, 1], force)
        return out

    springs = Springs(ends, np.full(n, rest), Cubic(k), [0, n], pressure, with_energy=False)
    found = solve_static(springs.problem, x0, np.arange(n) > 0, tolerance=1e-9)
    assert found.converged[0], found.complaint()
    _, length = springs.shape(found.x)
    np.testing.assert_allclose(length, rest / (1 - p / np.tan(np.pi / n) / (2 * k)), rtol=1e-7)
    radius = np.linalg.norm(found.x - found.x.mean(axis=0), axis=1)
    np.testing.assert_allclose(radius, length[0] / rest, rtol=1e-6)


def test_a_load_beyond_strength_is_refused_with_the_part_that_is_carried():
    """T = k e exp(-e) carries k / e: the chain of 2 with total weight W stops at load k / (e W)."""
    law = Tearing(10.0)
    springs, x0, free = chain(2, law, mass=0.4)
    found = solve_static(springs.problem, x0, free)
    limit = 10.0 / np.e / (0.8 * G)
    assert not found.converged[0]
    assert limit - 2 / 256 <= found.load[0] <= limit
    assert "no static equilibrium beyond" in found.complaint(["rope"]) and '"rope"' in found.complaint(["rope"])
    force = springs.internal(found.x) + found.load[0] * springs.external
    assert np.abs(force[free]).max() < 1e-6  # where it stays is an equilibrium


def test_other_bodies_change_no_bit_and_wait_for_nobody():
    law = Cubic(50.0, 400.0)
    springs, x0, free = chain(5, law, direction=(1, 0, 0))
    alone = solve_static(springs.problem, x0, free)
    springs, x0, free = chain(5, law, direction=(1, 0, 0), copies=3)
    springs.external[6:12] *= 0.3
    x0[12:] = x0[12:][:, [2, 1, 0]] * [1, 1, -1]
    together = solve_static(springs.problem, x0, free)
    np.testing.assert_array_equal(together.x[:6], alone.x)
    assert together.iterations[0] == alone.iterations[0]
    assert len(set(together.iterations)) > 1
    assert together.converged.all()


def test_inactive_bodies_stay():
    springs, x0, free = chain(3, Cubic(50.0, 400.0), copies=2)
    found = solve_static(springs.problem, x0, free, active=np.array([True, False]))
    np.testing.assert_array_equal(found.x[4:], x0[4:])
    np.testing.assert_allclose(found.x[:4, 2], hanging(3, Cubic(50.0, 400.0)), rtol=1e-7)


def test_free_bodies_and_loose_parts_are_refused():
    springs, x0, free = chain(3, Cubic(50.0, 400.0), copies=2)
    free[4] = True
    with pytest.raises(PliantError, match="no static equilibrium of body 1: nothing holds"):
        solve_static(springs.problem, x0, free)
    loose = Springs([[0, 1], [2, 3]], np.ones(2), Cubic(50.0, 400.0), [0, 4], np.zeros((4, 3)))
    with pytest.raises(PliantError, match="three that are not in line"):
        solve_static(loose.problem, x0[:4], np.array([False, True, True, True]))
    solve_static(springs.problem, x0, free, active=np.array([True, False]))


def test_unknown_solver_is_refused():
    springs, x0, free = chain(2, Cubic(50.0))
    with pytest.raises(PliantError, match="auto, direct, cg"):
        solve_static(springs.problem, x0, free, solver="lu")
