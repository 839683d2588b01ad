"""Springs between all pairs: golden numbers, equality with listed springs, derivatives, stability, threads, and what is refused."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import Scene
from pliant.base import PliantError
from pliant.bodies.springs.all_pairs import AllPairs
from pliant.bodies.springs.elements import Springs
from pliant.bodies.stable_step import block_matrix
from pliant.geometry.mesh import Surface

seeds = st.integers(0, 2**32 - 1)
UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TET = Surface(UNIT, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]))


def group_of(sizes, rest, **values):
    start = np.concatenate([[0], np.cumsum(sizes)])
    return AllPairs(np.arange(len(rest)), start, rest, **{"stiffness": 40.0, **values})


def forces(group, x, v=None):
    out = np.full((len(group.nodes), 3), np.nan)
    group.forces(x, np.zeros_like(x) if v is None else v, out)
    return out


def listed(group, rest):
    """The same springs, in a list."""
    pairs = [np.stack(np.triu_indices(b - a, 1), axis=1) + a for a, b in zip(group.start[:-1], group.start[1:], strict=True)]
    pairs = np.concatenate(pairs)
    k = np.sqrt(group.spring_stiffness[pairs].prod(axis=1))
    length = np.linalg.norm(rest[pairs[:, 1]] - rest[pairs[:, 0]], axis=1)
    return Springs(pairs, length, k, group.damping[pairs[:, 0]], group.rayleigh[pairs[:, 0]])


def sphere(n, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_G22_stiffness_of_all_pairs_on_a_sphere():
    """By central differences of forces; the breathing mode is k n, which is what the stable step is made of."""
    n, k, h = 50, 40.0, 1e-5
    rest = sphere(n)
    group = group_of([n], rest, stiffness=k)
    K = np.empty((3 * n, 3 * n))
    for i in range(3 * n):
        d = np.zeros(3 * n)
        d[i] = h
        K[i] = (forces(group, rest - d.reshape(n, 3)) - forces(group, rest + d.reshape(n, 3))).ravel() / (2 * h)
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    assert values[-1] == pytest.approx(2000.0, rel=1e-8)
    assert np.abs(values[:6]).max() < 1e-6
    assert values[6:].mean() == pytest.approx(680.5555556, rel=1e-8)
    assert group.stable_dt(np.full(n, 3.0)) == pytest.approx(2.0 / np.sqrt(2000.0 / 3.0), rel=1e-12)


def test_G23_force_of_the_moved_corner_and_its_adaptive_damping():
    scene = Scene(contact="none", gravity=(0, 0, 0), dt=1e-3)
    material = dict(spring_stiffness=40.0, vertex_mass=2.0, vertex_damping=1.0, adaptive_force=10.0)
    scene.add(name="t", shape=TET, model="springs", network="all-pairs", material=material)
    sim = scene.simulate()
    state, world = sim.state, sim.world
    state.x[3], state.v[3] = [0.1, 0.2, 1.3], [0.5, 0.0, -1.0]
    force, _, _, damping = world.forces(state.x, state.v, state.position, state.rotation, 0.0)
    assert force[3] == pytest.approx([2.7855591435, -0.4203740414, -22.3623462381], abs=1e-9)
    scale = damping * 2.0  # c = 1
    assert scale[3] == pytest.approx(2.2539090118, abs=1e-9)
    assert -scale[3] * state.v[3] == pytest.approx([-1.1269545059, 0, 2.2539090118], abs=1e-9)


def test_adaptive_damping_stops_at_its_cap():
    scene = Scene(contact="none", gravity=(0, 0, 0), dt=1e-4)
    material = dict(spring_stiffness=4e4, vertex_mass=2.0, vertex_damping=3.0, adaptive_force=10.0, adaptive_cap=7.0)
    scene.add(name="t", shape=TET, model="springs", network="all-pairs", material=material)
    sim = scene.simulate()
    sim.state.x[3] = [0.1, 0.2, 1.3]
    damping = sim.world.forces(sim.state.x, sim.state.v, sim.state.position, sim.state.rotation, 0.0).damping
    assert damping[3] == pytest.approx(7.0 * 3.0 / 2.0, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=seeds, sizes=st.lists(st.integers(1, 70), min_size=1, max_size=4), damped=st.booleans())
def test_forces_energy_and_stretch_equal_those_of_listed_springs(seed, sizes, damped):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    rest = rng.normal(size=(n, 3))
    values = dict(stiffness=rng.uniform(10, 90, n))
    if damped:
        values |= dict(damping=np.repeat(rng.uniform(0, 2, len(sizes)), sizes), rayleigh=np.repeat(rng.uniform(0, 0.1, len(sizes)), sizes))
    group = group_of(sizes, rest, **values)
    same = listed(group, rest)
    x, v = rest + 0.3 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    corner, expected = np.empty((2 * len(same.nodes), 3)), np.zeros((n, 3))
    same.forces(x, v, corner)
    np.add.at(expected, same.nodes.ravel(), corner)
    assert np.abs(forces(group, x, v) - expected).max() < 1e-11 * max(1.0, np.abs(corner).max(initial=0.0) * n)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    energy = np.bincount(owner[same.nodes[:, 0]], same.energy(x), minlength=len(sizes))
    assert np.bincount(owner, group.energy(x), minlength=len(sizes)) == pytest.approx(energy, rel=1e-12, abs=1e-12)
    if min(sizes) > 1:
        ratios = np.bincount(same.nodes.ravel(), np.repeat(same.stretch(x), 2), minlength=n) / np.repeat(np.array(sizes) - 1, sizes)
        assert group.stretch(x) == pytest.approx(ratios, rel=1e-10)


def test_at_rest_there_is_no_force_at_all():
    rest = sphere(700)
    assert (forces(group_of([700], rest), rest) == 0.0).all()


def test_momentum_and_angular_momentum_are_kept_and_forces_are_minus_the_gradient_of_the_energy():
    rng, rest = np.random.default_rng(3), sphere(600)
    group = group_of([600], rest, stiffness=rng.uniform(10, 90, 600))
    x, d, h = rest + 0.1 * rng.normal(size=rest.shape), rng.normal(size=rest.shape), 1e-6
    f = forces(group, x)
    assert np.abs(f.sum(axis=0)).max() < 1e-9 and np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-9
    slope = (group.energy(x + h * d).sum() - group.energy(x - h * d).sum()) / (2 * h)
    assert slope == pytest.approx(-(f * d).sum(), rel=1e-6)


def test_threads_and_other_bodies_change_no_bit():
    rng, sizes = np.random.default_rng(4), [1100, 3, 600, 40]
    rest = rng.normal(size=(sum(sizes), 3))
    x, v = rest + 0.1 * rng.normal(size=rest.shape), rng.normal(size=rest.shape)
    group, results = group_of(sizes, rest, damping=1.0), []
    before = numba.get_num_threads()
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            numba.set_num_threads(threads)
            results.append(forces(group, x, v))
    finally:
        numba.set_num_threads(before)
    assert all((r == results[0]).all() for r in results)
    alone = slice(1103, 1703)
    assert (forces(group_of([600], rest[alone], damping=1.0), x[alone], v[alone]) == results[0][alone]).all()


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_the_stable_step_is_below_that_of_the_assembled_matrix(seed):
    """2 / omega of the true matrix, for vertices of different mass and stiffness, deformed or not; not more than 2.5 times below."""
    rng, n = np.random.default_rng(seed), 12
    rest = rng.normal(size=(n, 3))
    group = group_of([n], rest, stiffness=rng.uniform(10, 90, n))
    mass, same = rng.uniform(0.5, 2.0, n), listed(group, rest)
    for x in (rest, rest + 0.5 * rng.normal(size=rest.shape)):
        blocks = np.empty((len(same.nodes), 3, 3, 3))
        same.stiffness(x, blocks)
        K = np.zeros((3 * n, 3 * n))
        for pair, part in zip(same.nodes, block_matrix(blocks, 2), strict=True):
            dofs = (3 * pair[:, None] + np.arange(3)).ravel()
            K[np.ix_(dofs, dofs)] += part
        root = np.repeat(1.0 / np.sqrt(mass), 3)
        true = 2.0 / np.sqrt(np.linalg.eigvalsh(K * root[:, None] * root)[-1])
        assert group.stable_dt(mass).min() <= true * (1 + 1e-12)
    assert group.stable_dt(mass).min() > true / 2.5


# -- what is refused


def body(**fields):
    scene = Scene(contact="none")
    scene.add(**{"name": "t", "shape": TET, "model": "springs", "network": "all-pairs", **fields})
    return scene


def test_implicit_steps_and_equilibrium_are_refused_with_the_way_out():
    with pytest.raises(PliantError, match=r'integrator = "verlet"'):
        body(integrator="implicit")
    with pytest.raises(PliantError, match=r'network = "tets"'):
        body(fixed=[dict(side="-z")]).simulate().equilibrium()


def test_vertices_at_one_place_are_refused():
    twice = Surface(np.concatenate([UNIT, UNIT[:1]]), np.array([[0, 2, 1], [4, 1, 3], [1, 2, 3], [0, 3, 2]]))
    with pytest.raises(PliantError, match="vertices 0 and 4 are at one place"):
        body(shape=twice).simulate()


def test_lists_must_have_one_value_per_vertex():
    with pytest.raises(PliantError, match="vertex_mass has 2 values for 4 vertices: .* one per vertex"):
        body(material=dict(vertex_mass=[1.0, 2.0])).simulate()
    with pytest.raises(PliantError, match="spring_stiffness has 6 values for 4 vertices: .* one per vertex"):
        body(material=dict(spring_stiffness=[1.0] * 6)).simulate()


def test_mass_and_stiffness_per_vertex():
    sim = body(material=dict(vertex_mass=[1.0, 2.0, 3.0, 4.0], spring_stiffness=[1.0, 4.0, 9.0, 16.0])).simulate()
    assert sim.world.model.nodes.mass == pytest.approx([1, 2, 3, 4])
    x = sim.state.x.copy()
    x[3, 2] += 1.0  # l = 2, L = 1 along z to vertex 0: k = sqrt(1 * 16)
    f = forces(sim.world.model.groups[0], x)
    assert f[0, 2] == pytest.approx(4.0, rel=1e-12)


def test_auto_is_verlet_and_a_long_step_is_divided():
    scene = body(material=dict(spring_stiffness=40.0, vertex_mass=1.0))
    limit = 0.9 * 2.0 / np.sqrt(160.0)
    sim = scene.simulate(dt=2.5 * limit)
    assert any("verlet" in n and "no implicit steps" in n for n in sim.notes) and any("divided into 3" in n for n in sim.notes)
    assert sim.step().step == 3
