"""Continuous tests: golden numbers, published queries with exact truth, rational arithmetic as oracle, invariances."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant.detect
from pliant.base import PliantError
from pliant.detect import edge_edge_toi, first_impact, vertex_face_toi
from pliant.detect.coplanar_times import COPLANAR, DEGENERATE, crossings
from pliant.detect.rational_time import edge_edge_time, square_free, times, unit_roots, vertex_face_time

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "ccd"
TOI = {"vf": vertex_face_toi, "ee": edge_edge_toi}
EXACT = {"vf": vertex_face_time, "ee": edge_edge_time}
KINDS = pytest.mark.parametrize("kind", ["vf", "ee"])


def one(start, end, face):
    return crossings(np.array(start, float), np.array(end, float), np.arange(4)[None], face)


def rows(x):
    """Queries (n, 4, 3) as points and corner numbers."""
    return x.reshape(-1, 3), np.arange(4 * len(x)).reshape(-1, 4)


# golden numbers


def test_G10_vertex_face_cubic_root_and_weights():
    start = np.array([[0.3, 0.25, 0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    found = one(start, start + [[0.05, -0.1, -0.4], [0, 0, 0.05], [0, 0.1, -0.02], [0.05, 0, 0.1]], True)
    np.testing.assert_allclose(found.cubic[0], [0.1, -0.4415, 0.008625, 0.00285], atol=1e-14)
    assert found.count[0] == 1 and found.turn[0, 0] == 1 and found.inside[0, 0] and found.flags[0] == 0
    np.testing.assert_allclose(found.roots[0, 0], 0.2275885433, atol=1e-10)
    np.testing.assert_allclose(found.weights[0, 0], [1, -0.4709149164, -0.3088735460, -0.2202115376], atol=1e-10)


def test_G12_edge_edge_cubic_root_and_weights():
    found = one(
        [[-1, 0, 0.1], [1, 0, 0.1], [0, -1, 0], [0, 1, 0]], [[-1, 0.1, -0.2], [1, 0, -0.1], [0.1, -1, 0.05], [0, 1, 0]], False
    )
    np.testing.assert_allclose(found.cubic[0], [0.4, -1.1, 0.014, 0.002], atol=1e-14)
    assert found.count[0] == 1 and found.turn[0, 0] == 1 and found.sigma[0] == 1
    np.testing.assert_allclose(found.roots[0, 0], 0.3654246239, atol=1e-10)
    np.testing.assert_allclose(found.weights[0, 0], [1 - 0.5089716917, 0.5089716917, 0.5089716917 - 1, -0.5089716917], atol=1e-10)


G13 = (
    [[3, 1, -2], [2, 1, -3], [1, 2, 3], [3, 0, -3]],
    [[-3, -2, 1], [0, -1, 2], [3, 1, -3], [0, 3, 2]],
)


def test_G13_three_roots_and_two_intervals():
    found = one(*G13, True)
    roots = [0.1157899864, 0.3514294189, 0.5401066020]
    np.testing.assert_array_equal(found.cubic[0], [6, -80, 275, -273])
    np.testing.assert_allclose(found.roots[0], roots, atol=1e-10)
    np.testing.assert_array_equal(found.turn[0], [1, -1, 1])
    assert found.first()[0] == 0


# roots and intervals


def test_P13_every_sign_change_of_a_dense_sampling_is_a_root():
    rng = np.random.default_rng(1)
    start, end = rng.normal(size=(600, 4, 3)), rng.normal(size=(600, 4, 3))
    t = np.linspace(0, 1, 4001)
    for face in (True, False):
        points, corners = rows(start)
        found = crossings(points, rows(end)[0], corners, face)
        samples = np.polynomial.polynomial.polyval(t, found.cubic.T)
        changes = samples[:, 1:] * samples[:, :-1] < 0
        many = 0
        for i in range(len(start)):
            roots = found.roots[i, : found.count[i]]
            assert np.all(np.diff(roots) > 0)
            k = np.flatnonzero(changes[i])
            assert all(((roots >= t[j]) & (roots <= t[j + 1])).any() for j in k)
            real = np.roots(found.cubic[i, ::-1])
            real = np.sort(real.real[(abs(real.imag) < 1e-9) & (real.real >= 0) & (real.real <= 1)])
            np.testing.assert_allclose(roots, real, atol=1e-7)
            many += len(roots) == 3
        assert many > 5


def test_double_root_touches_and_turns_back():
    # a face that tilts towards the vertex, which slides down the face: e = (1, 0, t), r = (1 - t, 1/4, 1/4)
    start, end = [[1, 0.25, 0.25], [0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0.25, 0.25], [0, 0, 0], [1, 0, 1], [0, 1, 0]]
    found = one(start, end, True)  # P = 1/4 - t (1 - t) = (t - 1/2)^2
    np.testing.assert_allclose(found.cubic[0], [0.25, -1, 1, 0], atol=1e-15)
    assert found.count[0] == 1 and found.turn[0, 0] == 0
    np.testing.assert_allclose(found.roots[0, 0], 0.5, atol=1e-7)
    # the exact answer sees the touch, and sees the gap when p is one unit in the last place higher
    x0, x1 = np.array([start], float), np.array([end], float)
    assert vertex_face_toi(x0, x1)[0] == 0.5
    x0[0, 0, 2] = np.nextafter(0.25, 1)
    assert vertex_face_toi(x0, x1)[0] == np.inf


def test_translation_has_no_higher_powers():
    rng = np.random.default_rng(2)
    start = rng.integers(-8, 8, (50, 4, 3)).astype(float)
    end = start.copy()
    end[:, 0] += rng.integers(-8, 8, (50, 3))
    found = crossings(rows(start)[0], rows(end)[0], rows(start)[1], True)
    np.testing.assert_array_equal(found.cubic[:, 2:], 0)


def test_sigma_and_turn_of_edges_do_not_depend_on_their_order():
    start = np.array([[-1, 0, 0.5], [1, 0, 0.5], [0, -1, 0], [0, 1, 0]])
    end = start - [[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    for order in ([0, 1, 2, 3], [1, 0, 2, 3], [2, 3, 0, 1], [0, 1, 3, 2]):
        found = one(start[order], end[order], False)
        assert found.turn[0, 0] == 1 and found.first()[0] == 0
        assert found.sigma[0] == np.sign(found.cubic[0, 0])
        assert found.count[0] == 1 and found.roots[0, 0] == pytest.approx(0.5, abs=1e-15)
        np.testing.assert_allclose(found.weights[0, 0].sum(), 0, atol=1e-15)


def test_vertex_behind_the_face_enters_only_when_it_comes_back():
    start = [[0.2, 0.2, -1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    out = one(start, [[0.2, 0.2, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]], True)
    assert out.turn[0, 0] == -1 and out.first()[0] == -1
    on = one([[0.2, 0.2, 0], *start[1:]], [[0.2, 0.2, -1], *start[1:]], True)
    assert on.roots[0, 0] == 0 and on.turn[0, 0] == 1  # begins on the plane and sinks


def test_coplanar_for_the_whole_step():
    triangle = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    enters = one([[2, 0.25, 0], *triangle], [[0, 0.25, 0], *triangle], True)
    assert enters.flags[0] == COPLANAR and enters.count[0] == 1 and enters.inside[0, 0]
    np.testing.assert_allclose(enters.roots[0, 0], 0.625, atol=1e-14)
    np.testing.assert_allclose(enters.weights[0, 0], [1, 0, -0.75, -0.25], atol=1e-14)
    begins = one([[0.1, 0.1, 0], *triangle], [[2, 2, 0], *triangle], True)
    assert begins.roots[0, 0] == 0 and begins.flags[0] == COPLANAR
    never = one([[2, 2, 0], *triangle], [[3, 1, 0], *triangle], True)
    assert never.count[0] == 0 and never.flags[0] == COPLANAR
    edges = one([[2, -1, 0], [2, 1, 0], [-1, 0, 0], [1, 0, 0]], [[0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], False)
    assert edges.flags[0] == COPLANAR
    np.testing.assert_allclose(edges.roots[0, 0], 0.5, atol=1e-14)


@KINDS
def test_coplanar_times_agree_with_rational_arithmetic(kind):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=(2, 300, 4, 3)), rng.integers(-3, 4, (2, 300, 4, 3))], axis=1)
    x[..., 2] = 0
    found = crossings(rows(x[0])[0], rows(x[1])[0], rows(x[0])[1], kind == "vf")
    assert (found.flags & COPLANAR).all()
    time = np.where(found.count > 0, found.roots[:, 0], np.inf)
    expected = np.array([EXACT[kind](a, b) for a, b in zip(x[0], x[1], strict=True)])
    clear = (found.flags & DEGENERATE) == 0
    assert clear[:300].all() and clear.sum() > 550
    np.testing.assert_allclose(time[clear], expected[clear], rtol=0, atol=1e-9)


def test_parallel_edges_are_flagged_and_not_inside():
    found = one([[0, 0, 1], [1, 0, 1], [0, 0, 0], [1, 0, 0]], [[0, 0, -1], [1, 0, -1], [0, 0, 0], [1, 0, 0]], False)
    assert found.flags[0] & DEGENERATE and not found.inside[0].any()
    x0 = np.array([[[0, 0, 1], [1, 0, 1], [0, 0, 0], [1, 0, 0]]], float)
    x1 = np.array([[[0, 0, -1], [1, 0, -1], [0, 0, 0], [1, 0, 0]]], float)
    assert edge_edge_toi(x0, x1)[0] == 0.5  # the exact answer counts them


# exact answers


def test_exact_roots_and_common_roots_of_polynomials():
    half, third, two = [-1, 2], [-1, 3], [-2, 1]
    p = times(times(half, half), times(third, two))
    assert len(square_free(p)) == 4
    roots = unit_roots(p)
    assert [r.time() for r in roots] == [np.nextafter(1 / 3, 0) if Fraction(1 / 3) > Fraction(1, 3) else 1 / 3, 0.5]
    assert roots[0].sign_of(times(third, [1, 1])) == 0
    assert roots[0].sign_of([-333333, 1000000]) == 1 and roots[0].sign_of([-333334, 1000000]) == -1
    assert [r.time() for r in unit_roots([0, -1, 1])] == [0.0, 1.0]
    assert unit_roots([1, 0, 1]) == [] and unit_roots([5]) == []
    golden = unit_roots([-1, 1, 1])[0]  # (sqrt(5) - 1) / 2
    np.testing.assert_allclose(golden.time(), (5**0.5 - 1) / 2, rtol=2e-16)


coordinate = st.integers(-3, 3)
query = st.lists(coordinate, min_size=24, max_size=24).map(lambda v: np.array(v, float).reshape(2, 1, 4, 3))


def distance(kind, x):
    """Smallest distance of the two features by dense sampling of their weights; zero only up to the sampling."""
    s = np.linspace(0, 1, 33)
    u, v = (a.ravel() for a in np.meshgrid(s, s))
    if kind == "vf":
        keep = u + v <= 1
        q = x[1] + u[keep, None] * (x[2] - x[1]) + v[keep, None] * (x[3] - x[1]) - x[0]
    else:
        q = x[0] + u[:, None] * (x[1] - x[0]) - x[2] - v[:, None] * (x[3] - x[2])
    return np.linalg.norm(q, axis=1).min()


@KINDS
@settings(max_examples=150, deadline=None)
@given(query)
def test_small_integers_agree_with_rational_arithmetic_and_with_distances(kind, x):
    time = TOI[kind](x[0], x[1])[0]
    expected = EXACT[kind](x[0, 0], x[1, 0])
    assert np.isinf(time) == np.isinf(expected)
    assert np.isinf(time) or abs(time - expected) < 1e-12
    if np.isfinite(time):
        at = (1 - time) * x[0, 0] + time * x[1, 0]
        assert 0 <= time <= 1
        assert distance(kind, at) < 13 / 33  # edges up to 13 long in steps of 1/32


@KINDS
@settings(max_examples=100, deadline=None)
@given(query, st.integers(-40, 40), st.integers(-10, 10), st.integers(0, 5))
def test_answer_does_not_depend_on_place_size_order_and_direction_of_time(kind, x, power, shift, turn):
    toi = TOI[kind]
    time = toi(x[0], x[1])[0]
    order = [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [0, 2, 1, 3], [0, 3, 2, 1]][turn]
    if kind == "ee":
        order = [[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0], [2, 3, 1, 0]][turn]
    np.testing.assert_allclose(toi(x[0][:, order], x[1][:, order])[0], time, rtol=0, atol=1e-12)
    moved = x * 2.0**power
    assert toi(moved[0], moved[1])[0] == time
    moved = x + 2.0**30 * shift  # exact: three bits besides thirty-four
    assert toi(moved[0], moved[1])[0] == time
    assert np.isinf(toi(x[1], x[0])[0]) == np.isinf(time)


@KINDS
def test_huge_and_tiny_coordinates_keep_their_answer(kind):
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, (2, 200, 4, 3)).astype(float)
    time = TOI[kind](x[0], x[1])
    assert 10 < np.isfinite(time).sum() < 190
    for power in (-1000, -400, 400, 1000):
        np.testing.assert_allclose(TOI[kind](x[0] * 2.0**power, x[1] * 2.0**power), time, atol=1e-12)


def touching(kind, rng, n, reach):
    """Integer queries that touch at t = k / 8, often at corners and along edges, and the k."""
    corner = rng.integers(-reach, reach + 1, (n, 4, 3))
    weights = rng.integers(0, 5, (n, 2))
    u, v = weights[:, :1], weights[:, 1:]
    if kind == "vf":
        v = np.minimum(v, 4 - u)
        corner[:, 1:] *= 4
        corner[:, 0] = ((4 - u - v) * corner[:, 1] + u * corner[:, 2] + v * corner[:, 3]) // 4
    else:
        # edges through a common point q: ends at q - u d and q + (4 - u) d
        q, d, e = corner[:, 0], corner[:, 1], corner[:, 2]
        corner = np.stack([q - u * d, q + (4 - u) * d, q - v * e, q + (4 - v) * e], axis=1)
    velocity = rng.integers(-reach, reach + 1, (n, 4, 3))
    k = rng.integers(0, 9, (n, 1, 1))
    return (corner - k * velocity).astype(float), (corner + (8 - k) * velocity).astype(float), k.ravel() / 8


@KINDS
@pytest.mark.parametrize("reach", [2, 1000, 2**30])
def test_constructed_touch_is_never_missed(kind, reach):
    x0, x1, t = touching(kind, np.random.default_rng(reach), 400, reach)
    time = TOI[kind](x0, x1)
    assert np.all(time <= t + 1e-12)
    expected = [EXACT[kind](a, b) for a, b in zip(x0[:100], x1[:100], strict=True)]
    np.testing.assert_allclose(time[:100], expected, atol=1e-7)


@KINDS
def test_a_few_units_in_the_last_place_decide_as_rational_arithmetic_does(kind):
    rng = np.random.default_rng(7)
    x0, x1, _ = touching(kind, rng, 500, 2**20)
    x0, x1 = x0 / 3, x1 / 3  # no longer exact: what touched now misses or crosses by rounding
    for x in (x0, x1):
        x *= 1 + 2.0**-52 * rng.integers(-2, 3, x.shape)
    time = TOI[kind](x0, x1)
    expected = np.array([EXACT[kind](a, b) for a, b in zip(x0, x1, strict=True)])
    np.testing.assert_array_equal(np.isinf(time), np.isinf(expected))
    hit = np.isfinite(time)
    assert 50 < hit.sum() < 450
    np.testing.assert_allclose(time[hit], expected[hit], atol=1e-7)


@KINDS
def test_a_plane_between_the_features_keeps_them_apart(kind):
    # n . x <= 0 on one side, n . x >= 1 on the other, with n = (1, 2, 3) and coordinates of 2^40: a gap of 1e-12 of the size
    rng = np.random.default_rng(11)
    x = rng.integers(-(2**40), 2**40, (2, 400, 4, 3))
    first = 1 if kind == "vf" else 2
    height = x[..., 0] + 2 * x[..., 1] + 3 * x[..., 2]
    goal = np.where(np.arange(4) < first, 1, 0)
    x[..., 0] += goal - height
    assert np.isinf(TOI[kind](*x.astype(float))).all()


@KINDS
def test_random_queries_agree_with_rational_arithmetic(kind):
    rng = np.random.default_rng(5)
    x0, x1 = rng.normal(size=(2, 400, 4, 3))
    time = TOI[kind](x0, x1)
    expected = [EXACT[kind](a, b) for a, b in zip(x0, x1, strict=True)]
    np.testing.assert_allclose(time, expected, atol=1e-9)
    assert 20 < np.isfinite(time).sum() < 380


# published queries


def published(pattern):
    files = sorted(DATA.glob(pattern))
    if not files:
        pytest.skip("the published queries are not here")
    return files


@pytest.mark.parametrize("pattern", ["handcrafted/*.npz", "simulation/*/*.npz"])
def test_published_queries_have_no_miss_and_no_false_alarm(pattern):
    for file in published(pattern):
        data = np.load(file)
        time = TOI[str(data["kind"])](data["x0"], data["x1"])
        hit, truth = np.isfinite(time), data["truth"]
        assert not (truth & ~hit).any(), f"{file.name}: missed rows {np.flatnonzero(truth & ~hit)}"
        assert not (hit & ~truth).any(), f"{file.name}: false alarms in rows {np.flatnonzero(hit & ~truth)}"
        if "toi" in data.files:
            np.testing.assert_allclose(time[truth], data["toi"][truth], atol=1e-6, err_msg=file.name)


# batches


@KINDS
def test_threads_change_no_bit(kind, monkeypatch):
    rng = np.random.default_rng(9)
    x0, x1 = rng.normal(size=(2, 30_000, 4, 3))
    many = TOI[kind](x0, x1)
    monkeypatch.setenv("PLIANT_THREADS", "1")
    np.testing.assert_array_equal(many, TOI[kind](x0, x1))
    np.testing.assert_array_equal(many[:100], TOI[kind](x0[:100], x1[:100]))


def test_first_impact_of_a_world_is_the_least_of_its_pairs():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        start, end = rng.normal(size=(2, 40, 3)) + 100 * (seed % 2)
        vf, ee = (np.array([rng.permutation(40)[:4] for _ in range(200)]) for _ in range(2))
        expected = min(vertex_face_toi(start[vf], end[vf]).min(), edge_edge_toi(start[ee], end[ee]).min())
        assert first_impact(start, end, vf, ee) == expected
    none = np.zeros((0, 4), int)
    assert first_impact(start, end, none, none) == np.inf
    assert first_impact(start, start, vf[:0], ee[:0]) == np.inf


@KINDS
def test_bad_input_is_refused_with_its_rows(kind):
    x = np.random.default_rng(0).normal(size=(5, 4, 3))
    for bad in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[3, 1, 2] = bad
        with pytest.raises(PliantError, match=r"rows \[3\]"):
            TOI[kind](x, y)
        with pytest.raises(PliantError, match=r"rows \[3\]"):
            TOI[kind](y, x)
        with pytest.raises(PliantError, match=r"rows \[3\]"):
            crossings(rows(x)[0], rows(y)[0], rows(x)[1], kind == "vf")
    with pytest.raises(PliantError, match=r"\(n, 4, 3\)"):
        TOI[kind](x, x[:4])
    with pytest.raises(PliantError, match=r"\(n, 4, 3\)"):
        TOI[kind](x[0], x[0])
    assert TOI[kind](x[:0], x[:0]).shape == (0,)


def test_public_names_are_listed_and_others_are_not():
    assert {"vertex_face_toi", "edge_edge_toi"} <= set(dir(pliant.detect))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pliant.detect.nonsense
