"""Tests of features at rest: golden numbers, brute force and rational arithmetic as oracles."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.detect.feature_tests import closest_on_edges, edge_triangle, tet_weights
from pliant.detect.rational_time import vertex_face_time
from pliant.detect.triangle_overlap import crossing_interval, segments_meet_2d, triangles_touch
from pliant.kernels import axpy, cross, dot, inline, kernel, load, store, sub


@kernel
def touch_all(p, q, out):
    for i in range(len(p)):
        a, b = p[i], q[i]
        out[i] = triangles_touch(load(a, 0), load(a, 1), load(a, 2), load(b, 0), load(b, 1), load(b, 2))


@kernel
def pierce_all(p, q, out):
    """Whether some edge of one triangle hits the other."""
    for i in range(len(p)):
        for swap in range(2):
            a, b = (p[i], q[i]) if swap == 0 else (q[i], p[i])
            for k in range(3):
                if edge_triangle(load(a, k), load(a, (k + 1) % 3), load(b, 0), load(b, 1), load(b, 2))[0]:
                    out[i] = True


@kernel
def closest_all(x, weights, gap):
    for i in range(len(x)):
        a, b, c, d = load(x[i], 0), load(x[i], 1), load(x[i], 2), load(x[i], 3)
        s, t = closest_on_edges(a, b, c, d)
        weights[i, 0], weights[i, 1] = s, t
        store(gap, i, edge_gap(a, b, c, d, s, t))


@inline
def edge_gap(a, b, c, d, s, t):
    """Vector from the point t of edge cd to the point s of edge ab."""
    return sub(axpy(s, sub(b, a), a), axpy(t, sub(d, c), c))


@kernel
def tet_all(x, p, out):
    for i in range(len(x)):
        w = tet_weights(load(p, i), load(x[i], 0), load(x[i], 1), load(x[i], 2), load(x[i], 3))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w


@kernel
def hit_one(x):
    return edge_triangle(load(x, 0), load(x, 1), load(x, 2), load(x, 3), load(x, 4))


@kernel
def interval(x, d):
    return crossing_interval(x[0], x[1], x[2], d[0], d[1], d[2])


@kernel
def signed_gap(x, s, t):
    n = cross((x[1, 0] - x[0, 0], x[1, 1] - x[0, 1], x[1, 2] - x[0, 2]), (x[3, 0] - x[2, 0], x[3, 1] - x[2, 1], x[3, 2] - x[2, 2]))
    g = edge_gap(load(x, 0), load(x, 1), load(x, 2), load(x, 3), s, t)
    return dot(n, g) / np.sqrt(dot(n, n))


@kernel
def meet_2d(x):
    return segments_meet_2d((x[0, 0], x[0, 1]), (x[1, 0], x[1, 1]), (x[2, 0], x[2, 1]), (x[3, 0], x[3, 1]))


def touch(p, q):
    out = np.zeros(len(p), bool)
    touch_all(np.ascontiguousarray(p, float), np.ascontiguousarray(q, float), out)
    return out


def closest(x):
    weights, gap = np.zeros((len(x), 2)), np.zeros((len(x), 3))
    closest_all(np.ascontiguousarray(x, float), weights, gap)
    return weights, gap


def exactly_touch(p, q):
    """Some edge of one triangle, as the path of a vertex, meets the other triangle; rational arithmetic."""
    for a, b in ((p, q), (q, p)):
        for k in range(3):
            if np.isfinite(vertex_face_time(np.vstack([a[k], b]), np.vstack([a[(k + 1) % 3], b]))):
                return True
    return False


def test_G21_edge_edge_overlap():
    x = np.array([[-1, 0, 0], [1, 0.2, 0.1], [0.1, -1, -0.05], [0, 1, 0]])
    weights, gap = closest(x[None])
    np.testing.assert_allclose(weights[0], [0.5205878361, 0.5530767617], atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(gap[0]), 0.0745158230, atol=1e-10)
    # interior minimum: the gap is along the common normal
    np.testing.assert_allclose(abs(signed_gap(x, *weights[0])), 0.0745158230, atol=1e-10)


def test_G31_triangle_triangle_intervals():
    p = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    q = np.array([[0.2, 0.2, -0.5], [0.2, 0.3, 0.5], [0.8, 0.8, 0.5]])
    n, m = np.cross(p[1] - p[0], p[2] - p[0]), np.cross(q[1] - q[0], q[2] - q[0])
    assert abs(np.cross(n, m)).argmax() == 0
    np.testing.assert_allclose(interval(p[:, 0].copy(), (p - q[0]) @ m), [0, 0.5], atol=1e-14)
    np.testing.assert_allclose(interval(q[:, 0].copy(), (q - p[0]) @ n), [0.2, 0.5], atol=1e-14)
    assert touch(p[None], q[None])[0]


def test_triangle_pairs_equal_edge_triangle_tests():
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(2, 20_000, 3, 3))
    expected = np.zeros(len(p), bool)
    pierce_all(p, q, expected)
    np.testing.assert_array_equal(touch(p, q), expected)
    assert 2000 < expected.sum() < 18_000


coordinate = st.integers(-2, 2)


@settings(max_examples=250, deadline=None)
@given(st.lists(coordinate, min_size=18, max_size=18))
def test_triangles_on_small_integers_agree_with_rational_arithmetic(values):
    p, q = np.array(values, float).reshape(2, 3, 3)
    both_flat = not np.cross(p[1] - p[0], p[2] - p[0]).any() and not np.cross(q[1] - q[0], q[2] - q[0]).any()
    if both_flat:
        return
    assert touch(p[None], q[None])[0] == exactly_touch(p, q)
    assert touch(q[None], p[None])[0] == exactly_touch(p, q)


@settings(max_examples=150, deadline=None)
@given(st.lists(coordinate, min_size=12, max_size=12), st.sampled_from([(1, 0, 0), (1, 2, 0), (1, 2, 3)]))
def test_coplanar_triangles_agree_with_rational_arithmetic(values, normal):
    # the plane normal . x = 0 spanned by two integer vectors
    n = np.array(normal)
    u = np.array([n[1], -n[0], 0]) if n[1] else np.array([0, 1, 0])
    v = np.cross(n, u)
    plane = np.array(values).reshape(6, 2)
    p, q = (plane[:, :1] * u + plane[:, 1:] * v).astype(float).reshape(2, 3, 3)
    if not np.cross(p[1] - p[0], p[2] - p[0]).any() and not np.cross(q[1] - q[0], q[2] - q[0]).any():
        return
    assert touch(p[None], q[None])[0] == exactly_touch(p, q)


def test_one_coplanar_triangle_inside_the_other_touches():
    big = np.array([[-4, -4, 1], [4, -4, 1], [0, 4, 1]], float)
    assert touch(big[None], 0.1 * big[None] + [0, 0, 0.9])[0]
    assert not touch(big[None], 0.1 * big[None] + [0, 0, 0.9 + 1e-9])[0]


def test_edge_triangle_needs_the_sum_of_the_weights():
    triangle = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert hit_one(np.array([[0.25, 0.25, 1], [0.25, 0.25, -1], *triangle], float)) == (True, 0.5, 0.25, 0.25)
    assert not hit_one(np.array([[0.75, 0.75, 1], [0.75, 0.75, -1], *triangle], float))[0]  # both <= 1, their sum is not
    assert not hit_one(np.array([[0.25, 0.25, 1], [0.25, 0.25, 0.5], *triangle], float))[0]
    assert hit_one(np.array([[0.5, 0.5, 1], [0.5, 0.5, 0], *triangle], float))[0]  # end point on an edge
    assert not hit_one(np.array([[-1, 0.2, 0], [1, 0.2, 0], *triangle], float))[0]  # in the plane: left to other edges


def test_closest_points_of_edges_against_sampling_and_projection():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 4, 3))
    x[::7, 3] = x[::7, 2] + (x[::7, 1] - x[::7, 0]) * rng.normal(size=(len(x[::7]), 1))  # parallel
    x[::11, 1] = x[::11, 0]  # a point
    weights, gap = closest(x)
    assert weights.min() >= 0 and weights.max() <= 1
    length = np.linalg.norm(gap, axis=1)
    grid = np.linspace(0, 1, 41)
    s, t = (a.ravel() for a in np.meshgrid(grid, grid))
    for i in range(0, len(x), 5):
        a, b, c, d = x[i]
        q = a + s[:, None] * (b - a) - c - t[:, None] * (d - c)
        best = np.linalg.norm(q, axis=1).min()
        assert length[i] <= best + 1e-12
        assert length[i] >= best - np.linalg.norm(b - a) / 80 - np.linalg.norm(d - c) / 80
    swapped = np.linalg.norm(closest(x[:, [2, 3, 0, 1]])[1], axis=1)
    np.testing.assert_allclose(swapped, length, atol=1e-7)


def test_segments_of_the_plane():
    def meet(*x):
        return meet_2d(np.array(x, float))

    assert meet((0, 0), (2, 2), (0, 2), (2, 0))
    assert meet((0, 0), (2, 0), (1, 0), (3, 0)) and not meet((0, 0), (1, 0), (2, 0), (3, 0))
    assert meet((0, 0), (1, 0), (1, 0), (2, 5)) and not meet((0, 0), (1, 0), (1.1, 0), (2, 5))


def test_point_in_tet_weights_rebuild_the_point():
    rng = np.random.default_rng(2)
    x, p, w = rng.normal(size=(500, 4, 3)), rng.normal(size=(500, 3)), np.zeros((500, 4))
    tet_all(x, p, w)
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(np.einsum("ij,ijk->ik", w, x), p, atol=1e-9 * abs(w).max())
    inside = rng.dirichlet(np.ones(4), 500)
    tet_all(x, np.einsum("ij,ijk->ik", inside, x), w)
    np.testing.assert_allclose(w, inside, atol=1e-8)
    flat = np.zeros((1, 4, 3))
    tet_all(flat, np.zeros((1, 3)), w[:1])
    assert np.isnan(w[0]).any()
