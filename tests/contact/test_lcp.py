"""Solvers of the elastic contact problem: against each other, against their conditions, and against contact mechanics."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.contact.elastic import (
    Boussinesq,
    Dense,
    LayerCut,
    Patch,
    VolumePreserving,
    assemble,
    blobs,
    carried,
    compliance,
    contact_stiffness,
    displacement,
    elastic,
    lcp,
    pressure,
    solve,
    solve_load,
)
from pliant.contact.elastic.contact_stiffness import hexagonal
from pliant.contact.elastic.hierarchical import Hierarchical
from pliant.contact.elastic.lcp_load import Border, LoadProblem

METHODS = ("active-set", "conjugate-gradients", "gauss-seidel", "lemke")
FORCE, PEAK = 0.133333, 0.0636620  # Q9: E* = 1, R = 10, depth = 0.1, so that a = 1


def hertz(across, half=1.6, response=None, depth=0.1):
    """Sphere of radius 10 over a hexagonal lattice: points, areas, q, K."""
    points, areas = hexagonal(1.0 / across, half)
    q = np.sum(points**2, axis=1) / 20.0 - depth
    return points, areas, q, elastic(points, areas, response or Boussinesq(1.0 / math.pi), dense_up_to=4000)


def check_conditions(K, q, found, tolerance):
    """P >= 0, s >= 0, s P = 0, and s is K P + q."""
    scale = np.max(np.abs(q))
    assert found.P.min() >= 0.0
    assert found.s.min() >= -tolerance * scale
    assert np.sum(np.abs(found.s * found.P)) <= tolerance * np.sum(np.abs(q) * found.P) + 1e-300
    assert np.max(np.abs(K @ found.P + q - found.s)) <= 1e-12 * scale * max(1.0, len(q) / 100)


def random_problem(seed, n, response):
    random = np.random.default_rng(seed)
    points = np.column_stack([random.random((n, 2)), np.zeros(n)])
    areas = random.uniform(0.5, 2.0, n) / n
    return Dense(assemble(blobs(points, areas), response)), random.normal(size=n) - random.uniform(-1, 1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), preserving=st.booleans())
def test_Q10_solvers_agree_on_random_problems(seed, n, preserving):
    K, q = random_problem(seed, n, VolumePreserving(1.0, 0.3) if preserving else Boussinesq(1.0))
    exact = solve(K, q, method="lemke")
    for method, same in (("active-set", 1e-9), ("conjugate-gradients", 1e-5)):
        found = solve(K, q, method=method, tolerance=1e-10)
        assert found.solved
        check_conditions(K, q, found, 1e-8)
        assert np.max(np.abs(K @ (found.P - exact.P))) <= same * np.max(np.abs(q))


@pytest.mark.parametrize("response", [Boussinesq(1.0 / math.pi), VolumePreserving(1.0 / math.pi, 1.0)])
def test_Q10_solvers_agree_on_hertz(response):
    _, _, q, K = hertz(6, half=2.0, response=response)
    found = {method: solve(K, q, method=method, tolerance=1e-9, most=2000) for method in METHODS}
    exact = found["lemke"]
    for method, each in found.items():
        assert each.solved and each.method == method
        check_conditions(K, q, each, 1e-8)
        same = 1e-10 if method in ("active-set", "lemke") else 1e-6
        assert np.max(np.abs(each.P - exact.P)) <= same * np.max(exact.P)
        assert np.array_equal(each.contact, exact.contact)


def test_Q10_pivots_of_hertz_are_contacts_and_one():
    _, _, q, K = hertz(4)
    found = solve(K, q, method="lemke")
    assert found.iterations == np.count_nonzero(found.contact) + 1


def test_Q7_hertz_eight_nodes_a_radius():
    points, areas, q, K = hertz(8)
    found = solve(K, q)
    assert len(q) == 739 and np.count_nonzero(found.contact) == 235
    assert np.sum(found.P) / FORCE - 1 == pytest.approx(0.0018, abs=0.0005)
    assert found.P[np.argmin(q)] / areas[0] / PEAK - 1 == pytest.approx(0.0022, abs=0.001)
    k = contact_stiffness(K, found.contact, np.ones((len(q), 1)))[0, 0]
    assert k / 2.0 - 1 == pytest.approx(0.0123, abs=0.003)


def test_Q8_hertz_sixteen_nodes_a_radius():
    _, areas, q, K = hertz(16)
    found = solve(K, q)
    assert np.sum(found.P) / FORCE - 1 == pytest.approx(0.0005, abs=0.0002)
    assert found.P[np.argmin(q)] / areas[0] / PEAK - 1 == pytest.approx(0.0004, abs=0.0004)
    assert contact_stiffness(K, found.contact, np.ones(len(q)))[0, 0] / 2.0 == pytest.approx(1.0003, abs=0.001)


def test_Q9_hertz_force_converges_to_the_second_order():
    """Within 1.5 % at four nodes a radius, 0.3 % at eight; theory/quasi-rigid 15 has 3.1, 1.1, 0.18, 0.05 %."""
    errors = []
    for across in (2, 4, 8, 16):
        _, _, q, K = hertz(across)
        errors.append(abs(np.sum(solve(K, q).P) / (4 / 3 * math.sqrt(10) * 0.1**1.5) - 1))
    assert errors[1] < 0.015 and errors[2] < 0.003
    assert np.polyfit(np.log([2, 4, 8, 16]), np.log(errors), 1)[0] < -1.8


def test_square_patches_by_fft():
    """Love's squares: -0.08 % at four nodes a radius, +0.04 % at eight, in force."""
    for across, bar in ((4, 0.0015), (8, 0.0006)):
        k = np.arange(-2 * across, 2 * across + 1) / across
        q = ((k[:, None] ** 2 + k**2) / 20.0 - 0.1).ravel()
        found = solve(Patch((len(k), len(k)), 1.0 / across, Boussinesq(1.0 / math.pi), "love"), q, method="conjugate-gradients")
        assert found.solved and abs(np.sum(found.P) / FORCE - 1) < bar


def test_displacement_outside_the_contact():
    points, areas, q, K = hertz(8)
    found = solve(K, q)
    r = np.array([1.5, 2.0, 4.0])
    probe = blobs(np.column_stack([r, np.zeros((3, 2))]), areas[0])
    u = displacement(probe, blobs(points, areas), found.P, Boussinesq(1.0 / math.pi))
    expected = ((2 - r**2) * np.arcsin(1 / r) + r * np.sqrt(1 - r**-2)) / (math.pi * 10)
    assert u == pytest.approx(expected, rel=0.003)


def test_only_overlapping_nodes_carry_force_where_a_push_never_lifts():
    """The lemma of theory/quasi-rigid 6.2: the problem on them alone has the same solution."""
    points, areas, q, K = hertz(8)
    whole, inside = solve(K, q), q <= 0.0
    part = solve(elastic(points[inside], areas[inside], Boussinesq(1.0 / math.pi)), q[inside])
    assert not np.any(whole.contact & ~inside)
    assert np.max(np.abs(part.P - whole.P[inside])) < 1e-12 * np.max(whole.P)


@pytest.mark.parametrize("radius, stiffer", [(2.0, 1.0018), (1.0, 1.353)])
def test_Q11_layer_cut(radius, stiffer):
    _, _, q, K = hertz(8, half=1.5, response=LayerCut(1.0 / math.pi, radius))
    assert np.sum(solve(K, q).P) / FORCE == pytest.approx(stiffer, abs=0.005)


def test_Q12_volume_preservation():
    points, areas, q, K = hertz(6, half=4.2, response=VolumePreserving(1.0 / math.pi, 1.0))
    found = solve(K, q)
    assert np.sum(found.P) / FORCE == pytest.approx(4.874, abs=0.05)
    u = found.s - q
    assert abs(np.sum(u * areas)) < 0.01 * np.sum(np.maximum(u, 0.0) * areas)
    assert -np.min(u) / 0.1 == pytest.approx(0.193, abs=0.005)


def test_Q13_contact_grows_beyond_the_overlap():
    """Volume preservation with b = a/2: solved on the overlap alone, nodes around it overlap; one enlargement ends it."""
    response = VolumePreserving(1.0 / math.pi, 0.5)
    points, areas, q, K = hertz(8, half=2.2, response=response)
    inside = q <= 0.0
    first = solve(elastic(points[inside], areas[inside], response), q[inside])
    s = displacement(blobs(points, areas), blobs(points[inside], areas[inside]), first.P, response) + q
    assert np.min(s) / 0.1 == pytest.approx(-0.264, abs=0.02)
    assert np.sum(first.P) / FORCE == pytest.approx(21.33, abs=0.2)
    more = inside | (s < 0.0)
    second = solve(elastic(points[more], areas[more], response), q[more])
    s = displacement(blobs(points, areas), blobs(points[more], areas[more]), second.P, response) + q
    assert np.min(s) > -1e-9 * 0.1
    assert np.sum(second.P) / FORCE == pytest.approx(24.44, abs=0.1)
    assert math.sqrt(np.sum(areas[more][second.contact]) / math.pi) == pytest.approx(1.672, abs=0.02)


@pytest.mark.parametrize("across, axial, tilt", [(8, 1.0051, 1.0154), (16, 1.0023, 1.0070)])
def test_Q14_flat_punch(across, axial, tilt):
    """2 E* a and 4/3 E* a^3, with the radius of the disc that has the area of the nodes."""
    points, areas = hexagonal(1.0 / across, 1.0)
    inside = np.hypot(points[:, 0], points[:, 1]) <= 1.0 + 1e-9
    points, areas = points[inside], areas[inside]
    K = elastic(points, areas, Boussinesq(1.0 / math.pi))
    rows = np.column_stack([np.ones(len(points)), points[:, 1], -points[:, 0]])
    k = contact_stiffness(K, np.ones(len(points), bool), rows)
    a = math.sqrt(np.sum(areas) / math.pi)
    assert k[0, 0] / (2 * a) == pytest.approx(axial, abs=0.003)
    assert k[1, 1] / (4 / 3 * a**3) == pytest.approx(tilt, abs=0.003) and k[2, 2] == pytest.approx(k[1, 1], rel=0.01)
    assert abs(k[0, 1]) < 0.02 * k[0, 0] and np.allclose(k, k.T)


def test_problem_4_flat_punch_pressure():
    """p = P/(2 pi a^2)/sqrt(1 - r^2/a^2) away from the edge, where it is infinite; stiffness to 1 %."""
    points, areas = hexagonal(1.0 / 16, 1.0)
    r = np.hypot(points[:, 0], points[:, 1])
    points, areas, r = points[r <= 1 + 1e-9], areas[r <= 1 + 1e-9], r[r <= 1 + 1e-9]
    found = solve(elastic(points, areas, Boussinesq(compliance(1e6, 0.3))), np.full(len(points), -1e-3))
    a = math.sqrt(np.sum(areas) / math.pi)
    total = np.sum(found.P)
    assert found.contact.all() and total == pytest.approx(2 * a * 1e6 / 0.91 * 1e-3, rel=0.01)
    inner = r < 0.7
    expected = total / (2 * math.pi * a**2) / np.sqrt(1 - (r[inner] / a) ** 2)
    assert np.max(np.abs(found.P[inner] / areas[inner] / expected - 1)) < 0.02


def test_problem_2_two_hemispheres():
    """SSNV104: R = 50 mm, E = 20 GPa, nu = 0.3, each; approach 4 mm: p0 = 2798.3 MPa, a = 10 mm, P = 586.1 kN."""
    points, areas = hexagonal(0.01 / 12, 0.015)
    q = np.sum(points**2, axis=1) / 0.05 - 0.004  # 1/R = 2/50 mm, r^2/2R
    one = Boussinesq(compliance(20e9, 0.3))
    found = solve(elastic(points, areas, one + one), q)
    assert np.sum(found.P) == pytest.approx(586.1e3, rel=0.01)
    assert np.max(found.P / areas) == pytest.approx(2798.3e6, rel=0.01)
    assert np.sum(areas[found.contact]) == pytest.approx(math.pi * 0.01**2, rel=0.1)


def test_problem_1_two_materials():
    """1/E* = sum of (1 - nu^2)/E; energy 8/15 E* sqrt(R) d^2.5."""
    points, areas = hexagonal(1.0 / 10, 1.6)
    q = np.sum(points**2, axis=1) / 20.0 - 0.1
    soft, hard = compliance(2e6, 0.45), compliance(30e6, 0.2)
    found = solve(elastic(points, areas, Boussinesq(soft) + Boussinesq(hard)), q)
    modulus = 1 / ((1 - 0.45**2) / 2e6 + (1 - 0.2**2) / 30e6)
    assert np.sum(found.P) == pytest.approx(4 / 3 * modulus * math.sqrt(10) * 0.1**1.5, rel=0.005)
    assert -found.energy(q) == pytest.approx(8 / 15 * modulus * math.sqrt(10) * 0.1**2.5, rel=0.01)


def test_every_sweep_lowers_the_energy():
    _, _, q, K = hertz(4)
    energies = [solve(K, q, method="gauss-seidel", tolerance=0.0, most=n).energy(q) for n in range(1, 12)]
    assert np.all(np.diff(energies) < 0.0)
    assert solve(K, q).energy(q) < energies[-1]


def test_large_patches_of_low_rank():
    """7000 nodes in blocks; the same answer as the active set on the exact matrix of the nodes that touch."""
    points, areas = hexagonal(1.0 / 32, 1.42)
    q = np.sum(points**2, axis=1) / 20.0 - 0.1
    points, areas, q = points[q <= 0], areas[q <= 0], q[q <= 0]
    K = elastic(points, areas, Boussinesq(1.0 / math.pi))
    assert isinstance(K, Hierarchical) and len(q) > 7000
    found = solve(K, q, tolerance=1e-7)
    assert found.solved and found.method == "conjugate-gradients"
    assert np.sum(found.P) / (4 / 3 * math.sqrt(10) * 0.1**1.5) == pytest.approx(1.0, abs=3e-4)
    probe = np.flatnonzero(found.contact)[::50]
    exact = displacement(blobs(points[probe], areas[probe]), blobs(points, areas), found.P, K.response) + q[probe]
    assert np.max(np.abs(exact)) < 1e-6 * 0.1


def test_active_set_of_an_inexact_operator_is_refined():
    points, areas, q, _ = hertz(10)
    found = solve(Hierarchical.build(blobs(points, areas), Boussinesq(1.0 / math.pi), 1e-5), q, method="active-set")
    assert found.solved and found.residual < 1e-8


@pytest.mark.parametrize("method", ["active-set", "conjugate-gradients"])
def test_a_start_from_the_last_step_saves_iterations(method):
    _, _, q, K = hertz(10)
    before = solve(K, q, method=method)
    cold = solve(K, q - 0.002, method=method)
    warm = solve(K, q - 0.002, method=method, start=before.P)
    assert np.max(np.abs(warm.P - cold.P)) < 1e-5 * np.max(cold.P)
    again = solve(K, q, method=method, start=before.P)
    assert again.iterations <= 1
    assert warm.iterations <= cold.iterations if method == "conjugate-gradients" else warm.iterations <= 8


def test_sets_close_to_a_factored_one_are_solved_with_its_factor():
    _, _, q, K = hertz(12)
    nodes = np.flatnonzero(solve(K, q).contact)
    factored = lcp.Factored.of(K, nodes)
    other = np.sort(np.concatenate([nodes[5:], np.setdiff1d(np.arange(K.size), nodes)[:4]]))
    assert factored.near(other)
    found = factored.forces(K, other, -q)
    assert np.count_nonzero(found) == len(other)
    assert np.max(np.abs((K @ found + q)[other])) < 1e-11 * 0.1


def test_sets_that_do_not_settle_end_in_gradients():
    _, _, q, K = hertz(4)
    force = np.zeros(K.size)
    force[np.argmax(q)] = 1.0  # the worst of starts
    found = solve(K, q, method="active-set", start=force, most=1)
    assert found.solved and found.method.endswith("conjugate-gradients")
    assert np.sum(found.P) == pytest.approx(np.sum(solve(K, q, method="lemke").P), rel=1e-6)


def test_what_is_not_solved_is_said():
    _, _, q, K = hertz(4)
    few = solve(K, q, method="conjugate-gradients", most=2)
    assert not few.solved and few.status.startswith("not solved") and few.residual > 1e-8
    assert not solve(K, q, method="gauss-seidel", most=1).solved
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    found = solve(indefinite, np.array([-1.0, -1.0]), method="active-set", start=np.ones(2))
    assert "positive definite" in found.status and not found.solved


def test_two_nodes_at_one_place_are_said_or_survived():
    """Their matrix is singular: no factor, but gradients find forces that share the load."""
    points = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]])
    K, q = elastic(points, np.ones(3), Boussinesq(1.0)), np.array([-1.0, -1.0, -0.5])
    assert "positive definite" in solve(K, q, method="active-set", start=np.ones(3)).status
    found = solve(K, q, method="conjugate-gradients")
    assert found.solved
    check_conditions(K, q, found, 1e-7)


def test_lemke_says_why_it_ends_on_a_ray():
    with pytest.raises(PliantError, match="ray.*Smallest separation -1.*asymmetry"):
        solve(np.array([[1.0, -2.0], [-2.0, 1.0]]), np.array([-1.0, -1.0]), method="lemke")


def test_edge_cases():
    apart = solve(np.eye(3), np.array([0.0, 1.0, 2.0]))
    assert apart.status == "apart" and apart.solved and not apart.contact.any()
    assert solve(np.array([[4.0]]), np.array([-2.0])).P == pytest.approx([0.5])  # P = -q / K
    for method in METHODS:
        assert solve(np.array([[4.0]]), np.array([-2.0]), method=method).P == pytest.approx([0.5], rel=1e-7)
    for bad in (
        lambda: solve(np.zeros((2, 2)), -np.ones(2)),
        lambda: solve(np.eye(2), -np.ones(3)),
        lambda: solve(np.eye(2), np.array([-1.0, np.nan])),
        lambda: solve(np.eye(2), -np.ones(2), method="newton"),
        lambda: solve(np.eye(2), -np.ones(2), start=np.ones(3)),
        lambda: solve_load(np.eye(2), np.zeros(2), np.ones(2), [1.0, 2.0]),
    ):
        with pytest.raises(PliantError):
            bad()


@pytest.mark.parametrize("across", [4, 8])
def test_a_total_force_finds_its_approach(across):
    _, _, q, K = hertz(across)
    known = solve(K, q)
    found = solve_load(K, q + 0.1, np.ones(len(q)), np.sum(known.P))
    assert found.solved and found.position == pytest.approx([0.1], rel=1e-10)
    assert np.max(np.abs(found.P - known.P)) < 1e-9 * np.max(known.P)
    mean_removed = lcp.conjugate_gradients(K, q + 0.1, None, 1e-9, None, total=float(np.sum(known.P)))
    assert mean_removed.solved and mean_removed.position == pytest.approx([0.1], rel=1e-6)
    assert np.max(np.abs(mean_removed.P - known.P)) < 1e-6 * np.max(known.P)


def stance(across):
    """Three bumps of different height over a plane: a foot that may tilt."""
    points, areas = hexagonal(1.0 / across, 1.6)
    x, y = points[:, 0], points[:, 1]
    bumps = [((x - a) ** 2 + (y - b) ** 2) / 4 + c for a, b, c in ((-1, -0.8, 0.0), (1, -0.9, 0.02), (0.1, 1.0, 0.05))]
    return np.min(bumps, axis=0), np.column_stack([np.ones(len(x)), y, -x]), elastic(points, areas, Boussinesq(1.0 / math.pi))


@pytest.mark.parametrize("moments", [(0.0, 0.0), (0.02, -0.03), (-0.05, 0.01)])
def test_stance_balances_force_and_moments(moments):
    gap, rows, K = stance(6)
    wanted = np.array([0.1, *moments])
    found = solve_load(K, gap, rows, wanted)
    assert found.solved and rows.T @ found.P == pytest.approx(wanted, abs=1e-10)
    check_conditions(K, gap - rows @ found.position, found, 1e-9)
    problem = LoadProblem(K, gap, rows, wanted, 1e-9)
    newton = problem.newton(problem.first(), None)
    assert newton.solved and newton.position == pytest.approx(found.position, abs=1e-9)
    again = solve_load(K, gap, rows, wanted, start=found)
    assert again.iterations == 1 and np.allclose(again.P, found.P)


def test_stance_on_a_large_operator():
    gap, rows, K = stance(8)
    wanted = np.array([0.1, 0.02, -0.03])
    exact = solve_load(K, gap, rows, wanted)
    points = np.column_stack([-rows[:, 2], rows[:, 1], np.zeros(len(gap))])
    far = Hierarchical.build(blobs(points, math.sqrt(3) / 2 / 64), Boussinesq(1.0 / math.pi), 1e-7)
    problem = LoadProblem(far, gap, rows, wanted, 1e-6)
    found = problem.newton(problem.first(), None)
    assert found.solved and found.position == pytest.approx(exact.position, abs=1e-6)


def test_stance_of_many_nodes_from_few():
    """A coarse answer, carried over, starts the active set of an operator that has no dense matrix."""
    wanted = np.array([0.1, 0.02, -0.03])
    (gap, rows, K), (finer_gap, finer_rows, finer) = stance(6), stance(17)
    points, finer_points = (np.column_stack([-r[:, 2], r[:, 1], np.zeros(len(r))]) for r in (rows, finer_rows))
    coarse = solve_load(K, gap, rows, wanted)
    start = replace(coarse, P=carried(points, 1 / 36, coarse.P, finer_points, 1 / 17**2))
    found = solve_load(finer, finer_gap, finer_rows, wanted, start=start, tolerance=1e-7)
    assert isinstance(finer, Hierarchical) and found.solved and found.method == "active-set"
    check_conditions(finer, finer_gap - finer_rows @ found.position, found, 1e-6)
    assert finer_rows.T @ found.P == pytest.approx(wanted, abs=1e-7)
    assert found.position == pytest.approx(coarse.position, abs=0.02 * 0.1)


@pytest.mark.parametrize("wanted", [(-0.1, 0.0, 0.0), (0.1, 0.2, 0.0), (0.0, 0.0, 0.0)])
def test_a_load_that_no_push_can_carry_is_said(wanted):
    """Pulling, a line of action outside the foot, nothing at all."""
    gap, rows, K = stance(3)
    found = solve_load(K, gap, rows, wanted)
    assert not found.solved and "add up" in found.status


def test_contact_stiffness_is_the_derivative_of_the_load():
    """Hertz: the contact set moves, but carries nothing at its edge."""
    _, _, q, K = hertz(16)
    found = solve(K, q)
    k = contact_stiffness(K, found.contact, np.ones(len(q)))[0, 0]
    step = 0.002
    slope = (np.sum(solve(K, q - step).P) - np.sum(solve(K, q + step).P)) / (2 * step)
    assert slope == pytest.approx(k, rel=0.01)


def test_contact_stiffness_without_a_matrix(monkeypatch):
    points, areas, q, K = hertz(8)
    found = solve(K, q)
    rows = np.column_stack([np.ones(len(q)), points[:, 1], -points[:, 0]])
    exact = contact_stiffness(K, found.contact, rows)
    monkeypatch.setattr("pliant.contact.elastic.lcp.ACTIVE_SET", 10)
    assert np.allclose(contact_stiffness(K, found.contact, rows), exact, rtol=1e-8, atol=1e-10)
    assert contact_stiffness(K, np.zeros(len(q), bool), rows).shape == (3, 3)


def test_threads_change_no_bit(monkeypatch):
    _, _, q, K = hertz(12, response=VolumePreserving(1.0 / math.pi, 1.0))
    monkeypatch.setenv("PLIANT_THREADS", "1")
    one = [solve(K, q, method=m) for m in ("active-set", "conjugate-gradients")]
    monkeypatch.setenv("PLIANT_THREADS", "2")
    for a, m in zip(one, ("active-set", "conjugate-gradients"), strict=True):
        assert np.array_equal(a.P, solve(K, q, method=m).P)


def relaxed(spacing, half, seed=0):
    """Uneven nodes: a hexagonal lattice shaken by a fifth of its spacing."""
    points, areas = hexagonal(spacing, half)
    points[:, :2] += 0.2 * spacing * np.random.default_rng(seed).uniform(-1, 1, (len(points), 2))
    return points, areas


def test_smoothed_pressure_scatters_less_and_keeps_the_force():
    points, areas = relaxed(1 / 12, 1.6)
    found = solve(elastic(points, areas, Boussinesq(1.0 / math.pi)), np.sum(points**2, axis=1) / 20 - 0.1)
    inner = np.hypot(points[:, 0], points[:, 1]) < 0.8
    exact = PEAK * np.sqrt(1 - np.sum(points[inner, :2] ** 2, axis=1))
    raw = np.sqrt(np.mean((found.P[inner] / areas[inner] - exact) ** 2)) / PEAK
    smooth = np.sqrt(np.mean((pressure(points, areas, found.P)[inner] - exact) ** 2)) / PEAK
    assert smooth < 0.6 * raw and smooth < 0.04
    k = np.arange(-1.5, 1.5, 0.03)
    at = np.column_stack([np.repeat(k, len(k)), np.tile(k, len(k)), np.zeros(len(k) ** 2)])
    assert np.sum(pressure(points, areas, found.P, at)) * 0.03**2 == pytest.approx(np.sum(found.P), rel=2e-3)


def test_coarse_pressure_is_a_good_start_for_finer_nodes():
    """theory/quasi-rigid 11: forces keep their sum, gradients need fewer iterations, the answer is the same."""
    coarse, coarse_areas, q, K = hertz(5)
    first = solve(K, q)
    points, areas, q, K = hertz(14)
    start = carried(coarse, coarse_areas, first.P, points, areas)
    assert np.sum(start) == pytest.approx(np.sum(first.P), rel=0.03)
    cold, warm = (solve(K, q, method="conjugate-gradients", tolerance=1e-6, start=each) for each in (None, start))
    assert warm.iterations < cold.iterations
    assert np.max(np.abs(warm.P - cold.P)) < 1e-3 * np.max(cold.P)


@pytest.mark.parametrize("across, active, bar", [(3.0, 30, 0.045), (3.8, 50, 0.03), (5.4, 100, 0.02)])
def test_few_nodes_suffice(across, active, bar):
    """Force at 30, 50 and 100 nodes in contact, at ten offsets of the lattice."""
    points, areas = hexagonal(1 / across, 2.0)
    K = elastic(points, areas, Boussinesq(1.0 / math.pi))
    errors, counts = [], []
    for offset in np.random.default_rng(0).uniform(0, 1 / across, (10, 2)):
        found = solve(K, np.sum((points[:, :2] - offset) ** 2, axis=1) / 20 - 0.1)
        errors.append(abs(np.sum(found.P) / FORCE - 1))
        counts.append(np.count_nonzero(found.contact))
    assert np.mean(counts) == pytest.approx(active, rel=0.15)
    assert max(errors) < bar


@pytest.mark.parametrize(("beside", "holds"), [(1e-4, True), (1e-6, False)])
def test_nodes_nearly_on_a_line_do_not_hold_a_tilt(beside, holds):
    """Five nodes beside the line y = x by parts of their distances: the condition of approach and tilts is the square of that."""
    x = np.arange(5.0)
    y = x + beside * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    points = np.column_stack([x, y, np.zeros(5)])
    border = Border.of(elastic(points, np.ones(5), Boussinesq(1.0)), np.arange(5), np.column_stack([np.ones(5), x, y]))
    assert (border is not None) == holds
