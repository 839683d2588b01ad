"""Elastic responses and the matrix made of them: closed forms, quadrature, and every operator against the dense matrix."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.integrate import quad

from pliant.base import PliantError
from pliant.contact.elastic import (
    Boussinesq,
    Direct,
    LayerCut,
    Patch,
    Tabulated,
    VolumePreserving,
    assemble,
    blobs,
    compliance,
    displacement,
    elastic,
)
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.contact_stiffness import stiffening
from pliant.contact.elastic.gaussian_blobs import multiply, smooth_i0e
from pliant.contact.elastic.grid_squares import love
from pliant.contact.elastic.hierarchical import Hierarchical

RADII = np.linspace(0.01, 1.5, 600)
TABLE = Tabulated(RADII, VolumePreserving(1.0, 0.3).f(RADII), 1.0)
RESPONSES = {
    "boussinesq": Boussinesq(2.0),
    "volume preserving": VolumePreserving(1.5, 0.3),
    "layer": LayerCut(1.0, 0.35),
    "table": TABLE,
    "sum": Boussinesq(1.0) + VolumePreserving(2.0, 0.4) + TABLE,
}
everyone = pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES.keys())


def surface(n, seed=0):
    """Uneven points on a curved square, with areas within a factor of three."""
    random = np.random.default_rng(seed)
    side = math.ceil(math.sqrt(n))
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    p = (np.column_stack([x.ravel(), y.ravel()])[:n] + 0.2 * random.normal(size=(n, 2))) / side
    return np.column_stack([p, 0.1 * np.sin(3 * p[:, 0]) + 0.05 * p[:, 1] ** 2]), random.uniform(0.5, 1.5, n) / side**2


def exact_matrix(response, points, areas):
    tau2 = 0.125 * areas
    d = np.linalg.norm(points[:, None] - points, axis=2)
    return response.g(d, tau2[:, None] + tau2)


def test_i0e_is_accurate_everywhere():
    z = np.concatenate([np.linspace(0, 60, 20001), 10.0 ** np.linspace(-12, 14, 2001)])
    assert np.max(np.abs(np.array([smooth_i0e(y) for y in 1.0 / (1.0 + z)]) / np.sqrt(1.0 + z) / special.i0e(z) - 1)) < 1e-12


def test_Q1_compliance():
    assert compliance(2.6, 0.3) == pytest.approx(0.111408, abs=1e-6)


def test_Q2_boussinesq_blob():
    assert Boussinesq(1.0).g(np.array([0.0, 1.0, 3.0]), 0.49) == pytest.approx([1.7904488, 1.1460373, 0.3439437], abs=1e-7)


def test_Q3_volume_preserving_blob():
    found = VolumePreserving(1.0, 2.0).g(np.array([0.0, 0.5, 1.0, 3.0]), 0.49)
    assert found == pytest.approx([1.1316609, 0.9287931, 0.5104106, -0.0780743], abs=1e-7)


def test_Q4_volume_preserving_shape():
    response = VolumePreserving(1.0, 1.0)
    blob = quad(lambda r: float(response.g(r, 0.1)) * r, 0, 14, points=[0.3, 1, 3], limit=400, epsabs=1e-13)[0]
    assert abs(blob) < 1e-12
    assert response.f(np.array(0.7978846)) == pytest.approx(0.0, abs=1e-6)
    r = np.linspace(1, 2, 100001)
    assert response.f(r).min() == pytest.approx(-0.2080821, abs=1e-7)
    assert r[response.f(r).argmin()] == pytest.approx(1.28277, abs=2e-5)
    assert response.volume == 0.0 and Boussinesq(1.0).volume == math.inf and LayerCut(1.0, 2.0).volume == pytest.approx(4 * math.pi)


def test_Q5_volume_preserving_transform():
    found = VolumePreserving(1.0, 1.0).fourier(np.array([0.1, 0.5, 1, 2, 5]))
    assert found == pytest.approx([0.0196256, 0.4554297, 1.4527952, 2.6020271, 1.2845289], abs=1e-6)


def test_Q6_self_terms():
    area = 0.49
    assert love(np.zeros(1), np.zeros(1), math.sqrt(area))[0] / math.sqrt(area) == pytest.approx(3.52549, abs=1e-5)
    matrix = assemble(blobs(np.zeros((1, 3)), np.array([area])), Boussinesq(1.0))
    assert matrix[0, 0] * math.sqrt(area) == pytest.approx(2.50663, abs=1e-5)  # K A / sqrt(A)


@pytest.mark.parametrize("name", ["volume preserving", "layer", "table"])
def test_transform_equals_quadrature(name):
    response, k = RESPONSES[name], np.array([0.7, 3.0, 11.0])
    r = np.linspace(0, 3.5, 700_001)[1:]
    for each, found in zip(k, response.fourier(k), strict=True):
        inside = response.f(r) * special.j0(each * r) * r
        expected = 2 * math.pi * (np.sum(inside) + 0.5 * response.f(r[:1])[0] * r[0]) * r[0]
        assert found == pytest.approx(expected, rel=3e-4, abs=1e-4)


@given(k=st.floats(1e-3, 1e3), b=st.floats(0.01, 100))
def test_transforms_are_positive(k, b):
    """Hence one solution for every contact problem on a plane."""
    assert VolumePreserving(1.0, b).fourier(k) >= 0.0 and LayerCut(1.0, b).fourier(k) > 0.0


def test_wide_b_is_boussinesq():
    d = np.linspace(0, 3, 50)
    assert VolumePreserving(1.0, 1e6).g(d, 0.1) == pytest.approx(Boussinesq(1.0).g(d, 0.1), rel=1e-5)


def test_bodies_add_their_compliances():
    d, s2 = np.linspace(0, 2, 9), 0.04
    assert (Boussinesq(1.0) + Boussinesq(2.5)).g(d, s2) == pytest.approx(Boussinesq(3.5).g(d, s2), rel=1e-14)
    both = VolumePreserving(1.0, 0.3) + VolumePreserving(2.0, 0.7)
    assert both.g(d, s2) == pytest.approx(VolumePreserving(1.0, 0.3).g(d, s2) + VolumePreserving(2.0, 0.7).g(d, s2), rel=1e-14)
    assert both.volume == 0.0 and not both.positive and (Boussinesq(0.0) + LayerCut(1.0, 1.0)).positive


def test_a_table_of_a_known_response_is_that_response():
    """To the accuracy of taking the smooth part at two radii: second order in s/b, 4e-4 of the self term at s = b/10."""
    known, d = VolumePreserving(1.0, 0.3), np.linspace(0, 1.2, 200)
    errors = [np.max(np.abs(TABLE.g(d, s**2) - known.g(d, s**2))) / known.g(0, s**2) for s in (0.06, 0.03, 0.015)]
    assert errors[1] < 5e-4
    assert math.log2(errors[0] / errors[2]) / 2 > 2.0


def test_a_table_ends_as_its_last_value_says():
    r = np.linspace(0.1, 1.0, 30)
    free, layer = Tabulated(r, 2.0 / r, 2.0), Tabulated(r, 2.0 * (1.0 / r - 1.0), 2.0)
    assert free.f(np.array([4.0])) == pytest.approx([0.5]) and free.volume == math.inf
    assert layer.f(np.array([4.0])) == pytest.approx([0.0]) and layer.volume == pytest.approx(2 * math.pi * (2.0 - 1.0), rel=1e-6)
    far = Tabulated(r, 2.0 / r, 2.0).g(np.array([0.0, 0.3, 5.0]), 0.01)
    assert far == pytest.approx(Boussinesq(2.0).g(np.array([0.0, 0.3, 5.0]), 0.01), rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Boussinesq(-1.0), lambda: Boussinesq(math.nan), lambda: VolumePreserving(1.0, 0.0), lambda: LayerCut(1.0, -2.0),
        lambda: compliance(0.0, 0.3), lambda: compliance(1.0, 0.6), lambda: Tabulated([1, 2], [1, 2], 1.0),
        lambda: Tabulated([0, 1, 2, 3], [1, 1, 1, 1], 1.0), lambda: Patch((4, 4), 0.1, VolumePreserving(1.0, 1.0), "love"),
        lambda: Patch((4, 4), 0.1, Boussinesq(1.0), "loves"), lambda: stiffening(LayerCut(1.0, 1.0), 0.0),
    ],
)  # fmt: skip
def test_nonsense_is_refused(make):
    with pytest.raises(PliantError):
        make()


@everyone
def test_matrix_equals_its_formula(response):
    points, areas = surface(333)
    expected = exact_matrix(response, points, areas)
    matrix = assemble(blobs(points, areas), response)
    closed = isinstance(response, (Boussinesq, VolumePreserving, LayerCut))
    assert np.max(np.abs(matrix - expected)) < (1e-12 if closed else 1e-5) * np.max(expected)
    assert np.array_equal(matrix, matrix.T)


@everyone
def test_every_product_is_that_of_the_matrix(response):
    points, areas = surface(700)
    nodes = blobs(points, areas)
    matrix = assemble(nodes, response)
    force = np.random.default_rng(1).random(700) * (np.random.default_rng(2).random(700) < 0.6)
    expected = np.einsum("ij,j->i", matrix, force)
    size = np.max(np.abs(expected))
    assert np.max(np.abs(multiply(matrix, force) - expected)) < 1e-13 * size
    assert np.max(np.abs(displacement(nodes, nodes, force, response) - expected)) < 1e-13 * size
    far = Hierarchical.build(nodes, response)
    assert np.max(np.abs(far @ force - expected)) < 2e-6 * size
    some = np.array([5, 600, 17])
    for operator in (far, Direct(nodes, response)):
        assert np.allclose(operator.block(some), matrix[np.ix_(some, some)], rtol=1e-12)
        assert np.allclose(operator.diagonal, np.diagonal(matrix), rtol=1e-5)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
@pytest.mark.parametrize("response", [Boussinesq(1.0), VolumePreserving(1.0, 0.15), VolumePreserving(1.0, 0.03), LayerCut(1.0, 0.2)])
def test_blocks_of_low_rank_keep_their_tolerance(response, tolerance):
    points, areas = surface(4000)
    nodes = blobs(points, areas)
    far = Hierarchical.build(nodes, response, tolerance)
    force = np.random.default_rng(3).normal(size=4000) ** 2
    expected = displacement(nodes, nodes, force, response)
    assert np.max(np.abs(far @ force - expected)) < 3 * tolerance * np.max(np.abs(expected))
    assert far.error < 3 * tolerance
    a, b = np.random.default_rng(4).normal(size=(2, 4000))
    assert np.sum(a * (far @ b)) == pytest.approx(np.sum(b * (far @ a)), rel=1e-9)
    assert far.bytes < 0.6 * 8 * 4000**2


@pytest.mark.parametrize("response", [Boussinesq(1.0), VolumePreserving(1.0, 0.15)])
def test_blocks_of_low_rank_know_nodes_at_one_place(response):
    """Such nodes have equal rows: what is left of the second is nothing, though the block is not known yet."""
    points, areas = surface(1500)
    far = Hierarchical.build(blobs(np.concatenate([points, points]), np.concatenate([areas, areas]) / 2), response, 1e-4, ridge=0.01)
    assert far.error < 3e-4
    assert np.allclose(np.diagonal(far.block(np.arange(9))), far.diagonal[:9], rtol=1e-12)
    alone = np.zeros(far.size)
    alone[7] = 1.0
    assert (far @ alone)[7] == pytest.approx(far.diagonal[7], rel=1e-6)


@pytest.mark.parametrize("nodes", ["gauss", "love"])
def test_fft_product_is_the_dense_one(nodes):
    patch = Patch((13, 22), 0.3, Boussinesq(2.0), nodes)
    matrix, force = patch.block(np.arange(patch.size)), np.random.default_rng(0).random(patch.size)
    assert np.max(np.abs(patch @ force - np.einsum("ij,j->i", matrix, force))) < 1e-12 * np.max(matrix) * patch.size
    assert np.min(np.linalg.eigvalsh(matrix)) > 0.0


def test_fft_of_blobs_is_the_scattered_matrix():
    x, y = np.meshgrid(0.3 * np.arange(6), 0.3 * np.arange(9), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel(), np.zeros(54)])
    response = VolumePreserving(2.0, 0.5)
    assert np.allclose(Patch((6, 9), 0.3, response).block(np.arange(54)), assemble(blobs(points, 0.09), response), rtol=1e-11, atol=1e-13)


def test_problem_5_boussinesq_square_and_disc():
    """Uniform pressure p: square of side 2b, centre 7.0510 b; disc, centre 2 pi a and edge 4 a, all times p (1 - nu^2)/(pi E)."""
    c, h, n = compliance(1e6, 0.3), 0.02, 51
    patch = Patch((n, n), h, Boussinesq(c), "love")
    u = patch @ np.full(n * n, h * h)  # unit pressure
    assert u[n * n // 2] == pytest.approx(c * 8 * math.asinh(1.0) * 0.5 * n * h, rel=1e-12)
    k = np.arange(-60, 61) / 40.0
    x, y = np.meshgrid(k, k)
    inside = np.hypot(x, y) <= 1.0
    points = np.column_stack([x[inside], y[inside], np.zeros(np.count_nonzero(inside))])
    area = np.pi / len(points)  # of the unit disc
    probe = blobs(np.array([[0.0, 0, 0], [1.0, 0, 0], [30.0, 0, 0]]), np.full(3, area))
    found = displacement(probe, blobs(points, area), np.full(len(points), area), Boussinesq(c))
    assert found[0] == pytest.approx(2 * math.pi * c, rel=0.005)
    assert found[1] == pytest.approx(4 * c, rel=0.01)
    assert found[2] == pytest.approx(math.pi * c / 30.0, rel=1e-3)  # as a point force


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 150), mixed=st.floats(1.0, 16.0))
def test_matrix_on_a_plane_is_positive_definite(seed, n, mixed):
    random = np.random.default_rng(seed)
    points = np.column_stack([random.random((n, 2)), np.zeros(n)])
    areas = random.uniform(1.0, mixed, n) / max(n, 10)
    for response in (Boussinesq(1.0), VolumePreserving(1.0, 0.3)):
        matrix = assemble(blobs(points, areas), response)
        assert np.min(np.linalg.eigvalsh(matrix)) > -1e-12 * np.max(matrix) * n


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 333])
def test_cholesky_solves(n):
    random = np.random.default_rng(n)
    a = random.normal(size=(n, n))
    matrix, b = a @ a.T + n * np.eye(n), random.normal(size=(n, 3))
    factor = Factor.of(matrix)
    assert np.allclose(factor.solve(b), np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-12)
    assert np.allclose(factor.solve(b[:, 0]), np.linalg.solve(matrix, b[:, 0]), rtol=1e-9, atol=1e-12)
    matrix[-1, -1] = -1.0
    assert Factor.of(matrix) is None


def test_threads_change_no_bit(monkeypatch):
    points, areas = surface(2500)
    nodes, force = blobs(points, areas), np.random.default_rng(0).random(2500)
    response = VolumePreserving(1.0, 0.2)

    def everything():
        matrix = assemble(nodes, response)
        far = Hierarchical.build(nodes, response)
        patch = Patch((160, 161), 0.1, response)
        return [
            matrix, multiply(matrix, force), displacement(nodes, nodes, force, response), far @ force, Factor.of(matrix[:700, :700].copy()).u,
            patch @ np.resize(force, patch.size),
        ]  # fmt: skip

    monkeypatch.setenv("PLIANT_THREADS", "1")
    one = everything()
    monkeypatch.setenv("PLIANT_THREADS", "2")
    for a, b in zip(one, everything(), strict=True):
        assert np.array_equal(a, b)


def test_many_nodes_get_blocks_and_few_a_matrix():
    points, areas = surface(400)
    assert type(elastic(points, areas, Boussinesq(1.0))).__name__ == "Dense"
    assert isinstance(elastic(points, areas, Boussinesq(1.0), dense_up_to=300), Hierarchical)


def test_stiffening_is_reported():
    """theory/quasi-rigid 3.4, 5: a layer at 0.5 a, and at the contact's diameter; volume preservation at b = 2 a."""
    assert stiffening(LayerCut(3.0, 0.5 * 0.02), 0.02) == pytest.approx(2.41, abs=0.02)
    assert stiffening(LayerCut(3.0, 2.0 * 0.02), 0.02) == pytest.approx(1.0, abs=1e-6)
    assert stiffening(VolumePreserving(3.0, 2.0 * 0.02), 0.02) == pytest.approx(1.86, abs=0.02)
