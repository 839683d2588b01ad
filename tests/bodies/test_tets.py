"""What every tetrahedron owes its user, linear and quadratic, under every law and under a law from outside."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.bodies.elasticity import lame
from pliant.bodies.fem import materials
from pliant.bodies.fem.any_law import gradients
from pliant.bodies.fem.materials import LAWS
from pliant.bodies.fem.tets import Tet4, Tet10, elevated
from pliant.bodies.matrix3 import symmetric_axes
from pliant.bodies.stable_step import block_matrix
from pliant.geometry.mesh import TET_EDGES

UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
LAM, MU = lame(1000.0, 0.3)
KINDS = {"tet4": Tet4, "tet10": Tet10}
seeds = st.integers(0, 2**32 - 1)


class Logarithmic:
    """A user's law: psi = mu/2 (F:F - 3 - 2 log J) + lam/2 log(J)^2, only for J > 0."""

    def energy(self, F, lam, mu):
        J = np.linalg.det(F)
        return 0.5 * mu * ((F * F).sum(axis=(1, 2)) - 3 - 2 * np.log(J)) + 0.5 * lam * np.log(J) ** 2

    def stress(self, F, lam, mu):
        inverse = np.swapaxes(np.linalg.inv(F), 1, 2)
        k = lam * np.log(np.linalg.det(F)) - mu
        return mu[:, None, None] * F + k[:, None, None] * inverse


class Uncompiled:
    """A built-in law as if it came from outside: no kernel."""

    def __init__(self, law):
        self.energy, self.stress = law.energy, law.stress


@pytest.fixture(autouse=True, scope="module")
def laws_from_outside():
    before = dict(LAWS)
    materials.register_material("logarithmic", Logarithmic())
    for name in before:
        materials.register_material(f"numpy {name}", Uncompiled(before[name]))
    yield
    LAWS.clear()
    LAWS.update(before)


every_kind = pytest.mark.parametrize("kind", KINDS)
every_law = pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean", "logarithmic"])
turning_law = pytest.mark.parametrize("law", ["corotated", "stvk", "neo-hookean", "logarithmic"])
property_test = settings(max_examples=15, deadline=None)


def box_mesh(n, kind, seed=0):
    """A box of n^3 cells of six tets with shaken nodes inside; points and cells as `kind` wants them."""
    rng = np.random.default_rng(seed)
    points = np.stack(np.meshgrid(*[np.arange(n + 1.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(points)).reshape(n + 1, n + 1, n + 1)
    cube = np.stack([index[i : n + i, j : n + j, k : n + k].ravel() for i in (0, 1) for j in (0, 1) for k in (0, 1)], 1)
    paths = [[0, 4, 6, 7], [0, 6, 2, 7], [0, 2, 3, 7], [0, 3, 1, 7], [0, 1, 5, 7], [0, 5, 4, 7]]
    tets = cube[:, paths].reshape(-1, 4)
    inside = ((points > 0) & (points < n)).all(axis=1)
    points[inside] += 0.15 * rng.uniform(-1, 1, (inside.sum(), 3))
    if kind == "tet4":
        return points, tets
    edges, at = np.unique(np.sort(tets[:, TET_EDGES].reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    cells = np.concatenate([tets, len(points) + at.reshape(-1, 6)], axis=1)
    return np.concatenate([points, points[edges].mean(axis=1)]), cells


def make(kind, law, points=None, cells=None, **options):
    if points is None:
        points = UNIT if kind == "tet4" else elevated(UNIT[None])[0]
        cells = np.arange(len(points))[None]
    return KINDS[kind](cells, points, LAM, MU, 1000.0, law=law, **options), points


def corner_forces(group, x, v=None):
    out = np.full((group.nodes.size, 3), np.nan)
    group.forces(x, np.zeros_like(x) if v is None else v, out)
    return out


def node_forces(group, x):
    out = np.zeros_like(x)
    np.add.at(out, group.nodes.ravel(), corner_forces(group, x))
    return out


def element_matrix(group, x):
    c = group.nodes.shape[1]
    blocks = np.full((len(group.nodes), c * (c + 1) // 2, 3, 3), np.nan)
    group.stiffness(x, blocks)
    return block_matrix(blocks, c)


def assembled(group, x):
    K = np.zeros((3 * len(x), 3 * len(x)))
    dofs = (3 * group.nodes[:, :, None] + np.arange(3)).reshape(len(group.nodes), -1)
    for e, part in enumerate(element_matrix(group, x)):
        K[np.ix_(dofs[e], dofs[e])] += part
    return K


def deformed(points, seed, size, upright=True):
    """Control points moved at random; upright: less and less until no element is inverted."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    kind = "tet4" if len(points) == 4 else "tet10"
    move = rng.normal(size=points.shape)
    group, _ = make(kind, "linear")
    while upright and group.stretch(points + size * move)[0] < 0.2:
        size *= 0.7
    return (points + size * move) @ rotation.T + rng.normal(size=3)


@every_kind
@every_law
@property_test
@given(seed=seeds)
def test_forces_are_minus_the_gradient_of_the_energy(kind, law, seed):
    group, points = make(kind, law)
    x = deformed(points, seed, 0.3)
    direction = np.random.default_rng(seed + 1).normal(size=x.shape)
    h = 1e-5
    slope = (group.energy(x + h * direction) - group.energy(x - h * direction))[0] / (2 * h)
    work = -(corner_forces(group, x) * direction).sum()
    assert slope == pytest.approx(work, abs=1e-6 * (1000 + abs(work)))


def pair_sum(group, x):
    """sigma_2 + sigma_3 of the signed singular values in the centroid; the rotation jumps where it is zero."""
    F = gradients(group, x)[0].mean(axis=0)
    s = np.linalg.svd(F, compute_uv=False)
    return s[1] + np.sign(np.linalg.det(F)) * s[2]


@every_kind
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
@property_test
@given(seed=seeds)
def test_gradient_also_when_inverted(kind, law, seed):
    group, points = make(kind, law)
    x = deformed(points * [1, 1, -1], seed, 0.15, upright=False)
    if law == "corotated" and pair_sum(group, x) < 0.3:
        x = deformed(points * [1.3, 1.2, -0.4], seed, 0.02, upright=False)
    direction = np.random.default_rng(seed + 1).normal(size=x.shape)
    h = 1e-5
    slope = (group.energy(x + h * direction) - group.energy(x - h * direction))[0] / (2 * h)
    work = -(corner_forces(group, x) * direction).sum()
    assert slope == pytest.approx(work, abs=1e-6 * (1000 + abs(work)))


@every_kind
@turning_law
@property_test
@given(seed=seeds)
def test_forces_and_torques_sum_to_zero(kind, law, seed):
    group, points = make(kind, law)
    x = deformed(points, seed, 0.3)
    f = corner_forces(group, x)
    size = np.abs(f).max() + 1.0
    assert np.abs(f.sum(axis=0)).max() < 1e-12 * size
    assert np.abs(np.cross(x - x.mean(axis=0), f).sum(axis=0)).max() < 1e-11 * size


@every_kind
@turning_law
@property_test
@given(seed=seeds)
def test_rigid_motion_costs_nothing(kind, law, seed):
    points, cells = box_mesh(2, kind)
    group, _ = make(kind, law, points, cells)
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x = points @ (Q * np.sign(np.linalg.det(Q))).T + rng.normal(size=3)
    assert np.abs(corner_forces(group, x)).max() < 1e-11 * 1000
    assert np.abs(group.energy(x)).max() < 1e-11 * 1000


@every_kind
@pytest.mark.parametrize("law", ["stvk", "neo-hookean", "logarithmic"])
@property_test
@given(seed=seeds)
def test_stiffness_is_the_derivative_of_the_force_where_nothing_is_projected(kind, law, seed):
    group, points = make(kind, law)
    x = deformed(points * 1.05, seed, 0.003)  # in mild tension every tangent is positive
    K = element_matrix(group, x)[0]
    direction = np.random.default_rng(seed + 1).normal(size=x.shape)
    h = 1e-5
    change = (corner_forces(group, x - h * direction) - corner_forces(group, x + h * direction)).ravel() / (2 * h)
    assert np.allclose(K @ direction.ravel(), change, rtol=0, atol=2e-6 * np.abs(change).max())


@every_kind
@pytest.mark.parametrize("law", ["linear", "corotated"])
def test_stiffness_at_rest_is_the_derivative_of_the_force(kind, law):
    group, points = make(kind, law)
    K = element_matrix(group, points)[0]
    for seed in range(5):
        direction = np.random.default_rng(seed).normal(size=points.shape)
        h = 1e-5
        change = (corner_forces(group, points - h * direction) - corner_forces(group, points + h * direction)) / (2 * h)
        assert np.allclose(K @ direction.ravel(), change.ravel(), rtol=0, atol=1e-6 * np.abs(change).max())


def test_corotated_stiffness_turns_with_the_element():
    group, points = make("tet10", "corotated")
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    turn = np.kron(np.eye(10), Q)
    K = element_matrix(group, points)[0]
    assert np.allclose(element_matrix(group, points @ Q.T)[0], turn @ K @ turn.T, atol=1e-9)


@every_kind
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean", "numpy neo-hookean"])
@property_test
@given(seed=seeds)
def test_stiffness_is_positive_semi_definite_for_any_deformation(kind, law, seed):
    group, points = make(kind, law)
    x = deformed(points, seed, 1.0, upright=False)
    K = element_matrix(group, x)[0]
    values = np.linalg.eigvalsh(K)
    assert values.min() > -1e-11 * values.max()


@every_kind
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
@property_test
@given(seed=seeds)
def test_kernels_agree_with_numpy(kind, law, seed):
    group, points = make(kind, law)
    oracle, _ = make(kind, f"numpy {law}")
    x = deformed(points, seed, 0.8, upright=False)
    pointwise = not (kind == "tet10" and law == "corotated")  # there the rotation belongs to the whole element
    if pointwise and (law != "corotated" or pair_sum(group, x) > 1e-3):
        assert np.allclose(group.energy(x), oracle.energy(x), rtol=1e-10, atol=1e-8)
        assert np.allclose(corner_forces(group, x), corner_forces(oracle, x), rtol=1e-8, atol=1e-6)
    if law != "corotated":  # whose tangent is not the derivative but R K R^T
        K = element_matrix(oracle, x)
        assert np.allclose(element_matrix(group, x), K, rtol=0, atol=1e-6 * np.abs(K).max() + 1e-3)


@every_kind
@every_law
@property_test
@given(seed=seeds)
def test_damping_is_minus_b_times_stiffness_times_velocity(kind, law, seed):
    group, points = make(kind, law, rayleigh=0.02)
    x = deformed(points, seed, 0.4)
    v = np.random.default_rng(seed + 2).normal(size=x.shape)
    damping = corner_forces(group, x, v) - corner_forces(group, x)
    expected = -0.02 * element_matrix(group, x)[0] @ v.ravel()
    assert np.allclose(damping.ravel(), expected, rtol=0, atol=1e-9 * (np.abs(expected).max() + 1000))
    assert (damping * v).sum() <= 1e-9


@every_kind
@pytest.mark.parametrize("law", ["stvk", "neo-hookean"])
def test_damping_of_elements_side_by_side_is_right_where_some_are_inverted_or_squeezed(kind, law):
    """Lanes whose axes or tangent cannot be taken from all lanes at once are redone one by one."""
    points, cells = box_mesh(3, kind)
    rng = np.random.default_rng(3)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for size in (1e-9, 0.1, 0.5):  # nearly at rest, and torn about until a third is inverted
        group, _ = make(kind, law, points, cells, rayleigh=0.02)
        x, v = (points + size * rng.normal(size=points.shape)) @ rotation.T, rng.normal(size=points.shape)
        damping = (corner_forces(group, x, v) - corner_forces(group, x)).reshape(len(cells), -1)
        expected = -0.02 * np.einsum("eij,ej->ei", element_matrix(group, x), v[cells].reshape(len(cells), -1))
        assert np.allclose(damping, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("values", [(3.0, 1.0, 1e-3), (1.0, 1.0, 1.0), (2.0, 2.0, -1.0), (0.0, 0.0, 1.0), (1.0, 1.0 + 1e-9, 1.0 - 1e-9)])
def test_axes_of_symmetric_matrices_put_them_together_again(values):
    rng = np.random.default_rng(4)
    for turned in (np.eye(3), np.eye(3)[[1, 2, 0]], *(np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(50))):
        matrix = turned @ np.diag(values) @ turned.T
        found, axes, exact = symmetric_axes(tuple(matrix.ravel()))
        v = np.reshape(axes, (3, 3))
        assert exact and np.allclose(v @ v.T, np.eye(3), atol=1e-14) and np.linalg.det(v) > 0
        assert np.allclose(v @ np.diag(found) @ v.T, matrix, atol=1e-13)


@every_kind
@every_law
@property_test
@given(seed=seeds)
def test_patch_uniform_strain_leaves_no_force_inside(kind, law, seed):
    points, cells = box_mesh(2, kind)
    group, _ = make(kind, law, points, cells)
    A = np.eye(3) + 0.15 * np.random.default_rng(seed).uniform(-1, 1, (3, 3))
    inside = ((points > 1e-9) & (points < 2 - 1e-9)).all(axis=1)
    assert inside.any()
    f = node_forces(group, points @ A.T)
    assert np.abs(f[inside]).max() < 1e-10 * (np.abs(f).max() + 1000)


@every_kind
@every_law
def test_six_zero_modes_at_rest(kind, law):
    points, cells = box_mesh(1, kind)
    group, _ = make(kind, law, points, cells)
    values = np.linalg.eigvalsh(assembled(group, points))
    assert np.abs(values[:6]).max() < 1e-6 * values[-1]
    assert values[6] > 1e-3 * values[-1]


@every_kind
@pytest.mark.parametrize("law", ["corotated", "stvk", "neo-hookean"])
def test_broken_elements_give_finite_numbers(kind, law):
    group, points = make(kind, law, rayleigh=0.01)
    flat, line = points * [1, 1, 0], points * [1, 0, 0]
    for x in (flat, line, points * 0, -points, points * [1, 1, -1], points * 1e-200, points * [1, 1e-9, -1e-9]):
        assert np.isfinite(corner_forces(group, x, points)).all()
        assert np.isfinite(element_matrix(group, x)).all()
        assert np.isfinite(group.energy(x)).all() and np.isfinite(group.stress(x)).all()


@every_kind
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
def test_bits_do_not_depend_on_threads_nor_on_the_neighbours_in_a_block(kind, law):
    points, cells = box_mesh(5, kind)
    group, _ = make(kind, law, points, cells, rayleigh=0.01)
    rng = np.random.default_rng(4)
    x, v = points + 0.2 * rng.normal(size=points.shape), rng.normal(size=points.shape)
    f, W, K = corner_forces(group, x, v), group.energy(x), element_matrix(group, x)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert np.array_equal(corner_forces(group, x, v), f)
        assert np.array_equal(group.energy(x), W) and np.array_equal(element_matrix(group, x), K)
    finally:
        numba.set_num_threads(before)
    order = rng.permutation(len(cells))[: len(cells) - 7]
    other, _ = make(kind, law, points, cells[order], rayleigh=0.01)
    c = cells.shape[1]
    assert np.array_equal(corner_forces(other, x, v).reshape(-1, c, 3), f.reshape(-1, c, 3)[order])
    assert np.array_equal(other.energy(x), W[order]) and np.array_equal(element_matrix(other, x), K[order])


@every_kind
@pytest.mark.parametrize("law", ["corotated", "logarithmic"])
def test_stable_step_bounds_the_highest_frequency_of_the_mesh(kind, law):
    points, cells = box_mesh(2, kind)
    group, _ = make(kind, law, points, cells)
    node_mass = np.bincount(cells.ravel(), group.mass.ravel())
    root = np.repeat(node_mass**-0.5, 3)
    omega = np.sqrt(np.linalg.eigvalsh(assembled(group, points) * root[:, None] * root[None, :]).max())
    dt = group.stable_dt(node_mass)
    assert 2.0 / dt.min() >= omega
    group.rayleigh[:] = 1e-3
    zeta = 0.5e-3 * 2.0 / dt
    assert np.allclose(group.stable_dt(node_mass), dt * (np.sqrt(1 + zeta**2) - zeta))
    group.rayleigh[:] = 0.0
    assert np.allclose(group.stable_dt(4 * node_mass), 2 * dt)


@every_kind
@property_test
@given(seed=seeds)
def test_stable_step_is_within_ten_percent_of_the_elements_own(kind, seed):
    rng = np.random.default_rng(seed)
    corners = UNIT + 0.15 * rng.normal(size=UNIT.shape)
    points = corners if kind == "tet4" else elevated(corners[None])[0]
    group, _ = make(kind, "corotated", points, np.arange(len(points))[None])
    omega = np.sqrt(np.linalg.eigvalsh(element_matrix(group, points)[0]).max() / group.mass[0, 0])
    bound = 2.0 / group.stable_dt(group.mass[0])[0]
    assert omega <= bound <= 1.1 * omega


@every_kind
@every_law
def test_material_may_be_changed_in_place(kind, law):
    points, cells = box_mesh(1, kind)
    group, _ = make(kind, law, points, cells)
    x = points * 1.1
    f, m, dt = corner_forces(group, x), group.mass, group.stable_dt(np.ones(len(points)))
    group.lam[:] *= 4.0
    group.mu[:] *= 4.0
    group.density[:] *= 3.0
    assert np.allclose(corner_forces(group, x), 4 * f) and np.allclose(group.mass, 3 * m)
    assert np.allclose(group.stable_dt(np.ones(len(points))), dt / 2)


@every_kind
def test_stiffness_per_element_is_felt_by_that_element_only(kind):
    points, cells = box_mesh(1, kind)
    group, _ = make(kind, "corotated", points, cells)
    before = corner_forces(group, points * 1.1).reshape(len(cells), -1)
    group.mu[2] *= 5.0
    after = corner_forces(group, points * 1.1).reshape(len(cells), -1)
    assert np.flatnonzero((before != after).any(axis=1)).tolist() == [2]


@every_kind
def test_stretch_is_the_volume_ratio(kind):
    group, points = make(kind, "corotated")
    assert group.stretch(points * [2.0, 1.0, 0.5])[0] == pytest.approx(1.0)
    assert group.stretch(points * 0.5)[0] == pytest.approx(0.125)
    assert group.stretch(points * [1.0, 1.0, -1.0])[0] == pytest.approx(-1.0)


def test_names_say_kind_and_law():
    assert make("tet10", "corotated")[0].name == "tet10 corotated"
