"""The integral of penalty impulses and friction of Yamane and Nakamura: golden numbers and invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.contact.friction import stribeck
from pliant.contact.penalty.depth_integral import CONSTANT, DISCRETE, EXACT, Known, factors, linear_push, pressed
from pliant.contact.penalty.distribution import foot_weights
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.springs_and_friction import yamane_nakamura
from pliant.detect.coplanar_times import normal_and_cubic
from pliant.detect.time_of_impact import frame

VF_START = np.array([[0.3, 0.25, 0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
VF_END = VF_START + np.array([[0.05, -0.1, -0.4], [0, 0, 0.05], [0, 0.1, -0.02], [0.05, 0, 0.1]])
EE_START = np.array([[-1, 0, 0.1], [1, 0, 0.1], [0, -1, 0], [0, 1, 0.0]])
EE_END = np.array([[-1, 0.1, -0.2], [1, 0, -0.1], [0.1, -1, 0.05], [0, 1, 0.0]])
NINE = dict(rel=1e-9, abs=1e-9)


def record(kind, sigma=1.0):
    one = np.array([0])
    return Records.new(kind, one, np.array([1]), one, one.copy(), np.array([[0, 1, 2, 3]]), np.zeros((1, 4)), np.array([float(sigma)]))


def press(kind, start, end, mode=EXACT, sigma=1.0, since=0.0, blend=0.0, other=None):
    none = Known(np.zeros(1, bool), np.zeros(1), np.zeros(1), np.zeros((1, 3)))
    return pressed(mode, record(kind, sigma), np.array([since]), np.asarray(start, float), np.asarray(end, float), none, blend, other)


@pytest.mark.parametrize("mode, expected", [
    (CONSTANT, (0.0704997686, -0.0503034176, 1.2822424432)),
    (EXACT, (0.0705341089, -0.0503279169, 1.2827514962)),
    (DISCRETE, (0.2478875447, -0.1768264485, 3.2886414263)),
])  # fmt: skip
def test_g10_g11_vertex_face(mode, expected):
    look = press(VERTEX_FACE, VF_START, VF_END, mode)
    assert 1000 * 0.01 * look.push[0] == pytest.approx(expected, **NINE)
    assert -look.gap[0] == pytest.approx(0.3302707716, **NINE)
    if mode != DISCRETE:
        assert 1.0 - look.time[0] == pytest.approx(0.2275885433, **NINE)
        assert look.lever[0] == pytest.approx(0.5 * (1 - 0.2275885433**2), **NINE)


def test_g10_normals_and_factors():
    corners = [tuple(tuple(map(float, p)) for p in x) for x in (VF_START, VF_END)]
    n, x, y, cubic = normal_and_cubic(frame(True, corners[0]), frame(True, corners[1]))
    n, x, y = map(np.array, (n, x, y))
    assert cubic == pytest.approx((0.1, -0.4415, 0.008625, 0.00285), **NINE)
    assert n + 0.5 * x == pytest.approx((0.035, -0.025, 1.0), **NINE)
    assert n + x + y == pytest.approx((0.075, -0.0535, 0.995), **NINE)
    found = factors(tuple(n), tuple(x), tuple(y), 0.0, 1.0)
    assert found == pytest.approx((1.0, 1.0, 0.9995666666666667, 0.9989625, 0.99851225), **NINE)
    assert np.sqrt(sum(found) / 5) == pytest.approx(0.9997040979, **NINE)


@pytest.mark.parametrize("mode, expected", [
    (CONSTANT, (-0.0210322250, 0.0098586860, 0.5439851978)),
    (EXACT, (-0.0210478135, 0.0098659411, 0.5443395228)),
])  # fmt: skip
def test_g12_edge_edge(mode, expected):
    look = press(EDGE_EDGE, EE_START, EE_END, mode)
    assert 10 * look.push[0] == pytest.approx(expected, **NINE)
    assert 1.0 - look.time[0] == pytest.approx(0.3654246239, **NINE)


@pytest.mark.parametrize("mode, expected", [
    (CONSTANT, (1.9308205666, -0.0429250617, 1.2613909047)),
    (EXACT, (0.6462525905, 0.0162465251, 0.4916731344)),
])  # fmt: skip
def test_g13_two_intervals(mode, expected):
    start = [[3, 1, -2], [2, 1, -3], [1, 2, 3], [3, 0, -3]]
    end = [[-3, -2, 1], [0, -1, 2], [3, 1, -3], [0, 3, 2]]
    look = press(VERTEX_FACE, start, end, mode)
    assert look.push[0] == pytest.approx(expected, **NINE)
    assert look.time[0] == pytest.approx(0.3514294189 - 0.1157899864 + 1 - 0.5401066020, **NINE)
    assert not look.guarded[0]


def test_g14_ground():
    size, time, lever = linear_push(np.array([0.02]), np.array([-0.03]), np.zeros(1), False)
    assert 1000 * 0.01 * size[0] == pytest.approx(0.09, **NINE)
    assert (time[0], lever[0]) == pytest.approx((0.6, 0.5 * (1 - 0.16)))


def test_g18_yamane_nakamura():
    stretch, v = -np.array([[0.01, -0.002, 0]]), np.array([[0.1, -0.05, 0]])
    stick, sticks = yamane_nakamura(stretch, v, np.array([10.0]), np.ones(1), np.full(1, 0.5), 100.0, 25.0, 10.0)
    assert sticks[0] and stick[0] == pytest.approx((-1.5, 1.05, 0), **NINE)
    assert np.linalg.norm(stick[0]) == pytest.approx(1.8309833424, **NINE)
    slide, sticks = yamane_nakamura(stretch, v, np.array([10.0]), np.full(1, 0.1), np.full(1, 0.5), 100.0, 25.0, 10.0)
    assert not sticks[0] and slide[0] == pytest.approx((-3.0100967923, 1.5050483962, 0), **NINE)


def test_stribeck_goes_from_static_to_sliding_friction():
    mu = stribeck(np.full(3, 0.6), np.full(3, 0.1), np.array([0.0, 0.2, 2.0]), 0.2)
    assert mu == pytest.approx([0.6, 0.1 + 0.5 * np.exp(-1), 0.1])


# -- invariants

places = st.lists(st.floats(-1, 1), min_size=24, max_size=24).map(lambda v: np.array(v).reshape(2, 4, 3))


def brute(kind, x, sigma, since=0.0, count=20001):
    """The integral by the trapezoidal rule on many times."""
    t = np.linspace(since, 1.0, count)[:, None]
    corner = [x[0, k] + t * (x[1, k] - x[0, k]) for k in range(4)]
    if kind == VERTEX_FACE:
        e, f, r = corner[2] - corner[1], corner[3] - corner[1], corner[0] - corner[1]
    else:
        e, f, r = corner[1] - corner[0], corner[3] - corner[2], corner[0] - corner[2]
    n = np.cross(e, f)
    p, ll = np.einsum("ti,ti->t", n, r), np.einsum("ti,ti->t", n, n)
    value = np.where(sigma * p < 0, -p / np.maximum(ll, 1e-300), 0.0)[:, None] * n
    return np.trapezoid(value, t[:, 0], axis=0), np.sqrt(ll.min()), np.sqrt(ll.max())


@settings(max_examples=60, deadline=None)
@given(places, st.sampled_from([VERTEX_FACE, EDGE_EDGE]), st.sampled_from([1.0, -1.0]))
def test_exact_integral_against_brute_force(x, kind, sigma):
    expected, least, most = brute(kind, x, sigma)
    if least < 0.02 * most or most < 1e-3:
        return  # a normal that nearly vanishes: the trapezoidal rule itself is not good there
    look = press(kind, x[0], x[1], EXACT, sigma)
    assert look.push[0] == pytest.approx(expected, abs=2e-5)


@settings(max_examples=60, deadline=None)
@given(places, st.sampled_from([EXACT, CONSTANT, DISCRETE]), st.floats(-3, 3), st.floats(-3, 3))
def test_p10_rigid_motion_of_the_frame_and_swapping_sides(x, mode, angle, shift):
    """The impulse turns with the frame; with the sides of two edges exchanged it changes sign."""
    _, least, _ = brute(EDGE_EDGE, x, 1.0, count=101)
    if least < 1e-3:
        return
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    here, there = press(EDGE_EDGE, x[0], x[1], mode), press(EDGE_EDGE, x[0] @ turn.T + shift, x[1] @ turn.T + shift, mode)
    assert there.push[0] == pytest.approx(here.push[0] @ turn.T, abs=1e-8)
    swapped = press(EDGE_EDGE, x[0][[2, 3, 0, 1]], x[1][[2, 3, 0, 1]], mode)  # e x f and a - c both change sign: P stays
    assert swapped.push[0] == pytest.approx(-here.push[0], abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(places, st.floats(0.001, 0.5), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_p9_constant_depth_is_the_discrete_impulse(x, depth, way):
    """Everything moves together: continuous and discrete agree exactly, in both integrals."""
    a, b, c = x[0, 1], x[0, 2], x[0, 3]
    n = np.cross(b - a, c - a)
    if np.linalg.norm(n) < 0.05:
        return
    n /= np.linalg.norm(n)
    start = np.array([(a + b + c) / 3 - depth * n, a, b, c])
    looks = [press(VERTEX_FACE, start, start + np.array(way), mode) for mode in (EXACT, CONSTANT, DISCRETE)]
    for look in looks:
        assert look.push[0] == pytest.approx(depth * n, abs=1e-9)
        assert look.gap[0] == pytest.approx(-depth, abs=1e-9)


def test_p8_the_impulse_does_not_know_the_weights():
    """A vertex moved within the plane of its face at both ends has the same integral."""
    e0, e1 = VF_START[2] - VF_START[1], VF_END[2] - VF_END[1]
    start, end = VF_START.copy(), VF_END.copy()
    start[0] += 0.2 * e0
    end[0] += 0.2 * e1
    assert press(VERTEX_FACE, start, end).push[0] == pytest.approx(press(VERTEX_FACE, VF_START, VF_END).push[0], rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(places)
def test_p12_mean_of_the_factors_is_the_integral_of_the_square(x):
    """Sum L_i / 5 = integral of L^2, through the constant form: P N / L_k^2 with a known polynomial."""
    e, f = x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]
    t = (np.polynomial.legendre.leggauss(3)[0] + 1) / 2
    weight = np.polynomial.legendre.leggauss(3)[1] / 2
    normals = [np.cross(e[0] + u * (e[1] - e[0]), f[0] + u * (f[1] - f[0])) for u in t]
    mean = sum(w * (n @ n) for w, n in zip(weight, normals, strict=True))
    if mean < 1e-3 or min(n @ n for n in normals) < 1e-3 or np.linalg.norm(np.cross(e[1], f[1])) < 1e-3:
        return
    r = x[:, 0] - x[:, 1]
    both = [-n @ (r[0] + u * (r[1] - r[0])) * n for u, n in zip(t, normals, strict=True)]
    total = sum(w * b for w, b in zip(weight, both, strict=True)) / mean
    look = [press(VERTEX_FACE, x[0], x[1], CONSTANT, sigma) for sigma in (1.0, -1.0)]
    assert look[0].push[0] + look[1].push[0] == pytest.approx(total, rel=1e-9, abs=1e-9)  # both sides together: all of [0, 1]


@settings(max_examples=40, deadline=None)
@given(places, st.sampled_from([VERTEX_FACE, EDGE_EDGE]))
def test_p11_feet_sum_to_zero_and_lie_along_the_normal(x, kind):
    records = record(kind)
    weights, ok = foot_weights(records, x[0])
    if not ok[0]:
        return
    assert weights[0].sum() == pytest.approx(0.0, abs=1e-9 * max(1, np.abs(weights).max()))
    e, f = (x[0][2] - x[0][1], x[0][3] - x[0][1]) if kind == VERTEX_FACE else (x[0][1] - x[0][0], x[0][3] - x[0][2])
    apart = weights[0] @ x[0]
    size = np.linalg.norm(apart) + np.abs(weights).max()
    assert abs(apart @ e) < 1e-6 * size and abs(apart @ f) < 1e-6 * size


def test_a_face_that_turns_over_takes_the_depth_at_the_end():
    """N passes through zero: the normal of the longest N, and it is said."""
    start = np.array([[0.2, 0.2, 0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    end = np.array([[0.2, 0.2, -0.1], [0, 0, 0], [1, 0, 0], [0, -1.5, 0.0]])
    look = press(VERTEX_FACE, start, end)
    assert look.guarded[0] and np.isfinite(look.push).all()
    assert np.linalg.norm(look.push[0]) == pytest.approx(abs(look.gap[0]) if look.gap[0] < 0 else 0.0)


def test_a_record_that_begins_within_the_step_has_no_past():
    whole, late = press(VERTEX_FACE, VF_START, VF_END), press(VERTEX_FACE, VF_START, VF_END, since=0.6)
    assert late.time[0] == pytest.approx(0.4) and late.time[0] < whole.time[0]
    expected, _, _ = brute(VERTEX_FACE, np.array([VF_START, VF_END]), 1.0, since=0.6)
    assert late.push[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mode", [EXACT, DISCRETE])
def test_blended_normals_turn_towards_the_other_by_their_share(mode):
    start = np.array([[0.3, 0.3, -0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    other = np.array([[0.6, 0.0, 0.8]])
    look = press(VERTEX_FACE, start, start, mode, blend=0.25, other=other)
    n = 0.75 * np.array([0, 0, 1]) + 0.25 * other[0]
    assert look.push[0] == pytest.approx(0.1 * n / np.linalg.norm(n), rel=1e-12)
