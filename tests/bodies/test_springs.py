"""Springs: golden numbers, derivatives, stability, and the networks."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.bodies.springs.elements import Springs, bending_pairs, surface_edges, tet_edges
from pliant.bodies.stable_step import block_matrix

seeds = st.integers(0, 2**32 - 1)
UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def network(points, pairs, **options):
    rest = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
    return Springs(pairs, rest, options.pop("stiffness", 40.0), **options)


def corner_forces(group, x, v=None):
    out = np.full((2 * len(group.nodes), 3), np.nan)
    group.forces(x, np.zeros_like(x) if v is None else v, out)
    return out


def node_forces(group, x, v=None):
    out = np.zeros_like(x)
    np.add.at(out, group.nodes.ravel(), corner_forces(group, x, v))
    return out


def blocks(group, x):
    out = np.full((len(group.nodes), 3, 3, 3), np.nan)
    group.stiffness(x, out)
    return out


def assembled(group, x):
    K = np.zeros((3 * len(x), 3 * len(x)))
    for pair, part in zip(group.nodes, block_matrix(blocks(group, x), 2), strict=True):
        dofs = (3 * pair[:, None] + np.arange(3)).ravel()
        K[np.ix_(dofs, dofs)] += part
    return K


def test_G23_force_of_the_moved_corner():
    group = network(UNIT, tet_edges(np.arange(4)[None]))
    x = UNIT.copy()
    x[3] = [0.1, 0.2, 1.3]
    assert np.allclose(node_forces(group, x)[3], [2.7855591435, -0.4203740414, -22.3623462381], rtol=0, atol=1e-9)


def test_G22_stiffness_of_all_pairs_on_a_sphere():
    n, k = 50, 40.0
    points = np.random.default_rng(0).normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    values = np.linalg.eigvalsh(assembled(network(points, pairs, stiffness=k), points))
    assert values[-1] == pytest.approx(2000.0, abs=1e-8)
    assert np.abs(values[:6]).max() < 1e-9
    assert values[6:].mean() == pytest.approx(680.5555556, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_forces_are_minus_the_gradient_of_the_energy_and_balance(seed):
    rng = np.random.default_rng(seed)
    group = network(UNIT, tet_edges(np.arange(4)[None]))
    x, d, h = UNIT + 0.2 * rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), 1e-6
    f = node_forces(group, x)
    slope = (group.energy(x + h * d) - group.energy(x - h * d)).sum() / (2 * h)
    assert slope == pytest.approx(-(f * d).sum(), abs=1e-6)
    assert np.abs(f.sum(axis=0)).max() < 1e-12 and np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-12


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_tangent_is_exact_when_stretched_and_positive_always(seed):
    rng = np.random.default_rng(seed)
    group = Springs([[0, 1]], 1.0, 40.0)
    x = rng.normal(size=(2, 3))
    K = block_matrix(blocks(group, x), 2)[0]
    assert np.linalg.eigvalsh(K).min() > -1e-12
    x[1] = x[0] + (x[1] - x[0]) / np.linalg.norm(x[1] - x[0]) * 1.5
    d, h = rng.normal(size=(2, 3)), 1e-6
    change = (corner_forces(group, x - h * d) - corner_forces(group, x + h * d)).ravel() / (2 * h)
    assert np.allclose(block_matrix(blocks(group, x), 2)[0] @ d.ravel(), change, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_damping_acts_along_the_spring_and_takes_energy(seed):
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    dashpot = corner_forces(Springs([[0, 1]], 1.0, 40.0, damping=3.0), x, v)
    plain = corner_forces(Springs([[0, 1]], 1.0, 40.0), x, v)
    u = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    assert np.allclose((dashpot - plain)[0], 3.0 * (u @ (v[1] - v[0])) * u)
    group = Springs([[0, 1]], 1.0, 40.0, rayleigh=0.1)
    extra = corner_forces(group, x, v) - plain
    assert np.allclose(extra.ravel(), -0.1 * block_matrix(blocks(group, x), 2)[0] @ v.ravel())
    assert (extra * v).sum() <= 1e-12 and ((dashpot - plain) * v).sum() <= 1e-12


def test_coincident_nodes_have_no_force_and_no_nan():
    group = Springs([[0, 1]], 1.0, 40.0, damping=1.0, rayleigh=0.1)
    x = np.ones((2, 3))
    assert np.array_equal(corner_forces(group, x, np.arange(6.0).reshape(2, 3)), np.zeros((2, 3)))
    assert np.array_equal(blocks(group, x), np.zeros((1, 3, 3, 3)))
    assert group.stretch(x)[0] == 0.0


def test_stable_step_is_exact_for_one_spring_and_safe_for_a_network():
    mass = np.array([1.0, 3.0])
    one = Springs([[0, 1]], 1.0, 40.0)
    assert one.stable_dt(mass)[0] == pytest.approx(2.0 / np.sqrt(40.0 * (1 + 1 / 3)))
    one.damping[:] = 2.0
    omega, zeta = np.sqrt(40.0 * 4 / 3), 0.5 * 2.0 / 40.0 * np.sqrt(40.0 * 4 / 3)
    assert one.stable_dt(mass)[0] == pytest.approx(2.0 / omega * (np.sqrt(1 + zeta**2) - zeta))
    rng = np.random.default_rng(3)
    points, mass = rng.normal(size=(12, 3)), rng.uniform(0.5, 2.0, 12)
    pairs = np.stack(np.triu_indices(12, 1), axis=1)[::2]
    group = network(points, pairs, stiffness=rng.uniform(1, 100, len(pairs)))
    root = np.repeat(mass**-0.5, 3)
    highest = np.linalg.eigvalsh(assembled(group, points) * root[:, None] * root[None, :]).max()
    assert 2.0 / group.stable_dt(mass).min() >= np.sqrt(highest)


def test_springs_have_no_mass():
    assert np.array_equal(Springs([[0, 1], [1, 2]], 1.0, 1.0).mass, np.zeros((2, 2)))


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    group = Springs(rng.integers(0, 500, (3000, 2)), 1.0, rng.uniform(1, 2, 3000), damping=0.1, rayleigh=0.01)
    x, v = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
    f, K = corner_forces(group, x, v), blocks(group, x)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert np.array_equal(corner_forces(group, x, v), f) and np.array_equal(blocks(group, x), K)
    finally:
        numba.set_num_threads(before)


def test_networks_of_an_octahedron():
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    edges = surface_edges(faces)
    assert len(edges) == 12 and (edges[:, 0] < edges[:, 1]).all()  # 6 - 12 + 8 = 2
    assert bending_pairs(faces).tolist() == [[0, 1], [2, 3], [4, 5]]  # the three diagonals
    assert bending_pairs(faces[:1]).shape == (0, 2)
    assert bending_pairs(faces[:2]).tolist() == [[0, 1]]


def test_edges_of_two_tets_that_share_a_face():
    assert len(tet_edges(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))) == 9


@pytest.mark.parametrize("bad", [{"rest_length": -1.0}, {"stiffness": 0.0}, {"damping": -1.0}, {"rayleigh": np.nan}])
def test_impossible_springs_are_refused(bad):
    good = {"rest_length": 1.0, "stiffness": 1.0, "damping": 0.0, "rayleigh": 0.0}
    with pytest.raises(PliantError, match=next(iter(bad))):
        Springs([[0, 1]], **{**good, **bad})


def test_dashpots_damp_implicit_bodies_too():
    """Two masses on a spring with a dashpot, stepped implicitly: the free decay is that of implicit Euler's recurrence."""
    from pliant import Scene, TetMesh

    points = np.vstack([np.zeros(3), np.eye(3)])
    decay = {}
    for damping in (0.0, 5.0):
        scene = Scene(dt=0.01, gravity=(0, 0, 0), contact="none")
        scene.add(
            name="b", shape=TetMesh(points, [[0, 1, 2, 3]]), model="springs", integrator="implicit",
            material=dict(spring_stiffness=1e-6, spring_damping=damping, density=24.0),
        )  # fmt: skip
        sim = scene.simulate()
        sim.state.v[0], sim.state.v[1] = (-1, 0, 0), (1, 0, 0)
        sim.step()
        decay[damping] = sim.state.v[1, 0] - sim.state.v[0, 0]
    assert decay[0.0] == pytest.approx(2.0, rel=1e-6)
    assert decay[5.0] < 1.9
