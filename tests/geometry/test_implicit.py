import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.shop.sculpt import implicit as im

X = np.random.default_rng(0).uniform(-1.5, 1.5, (400, 3))
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])

EXACT = {
    "ball": im.ball((0.1, 0, 0.2), 0.7),
    "round_cone": im.round_cone((-0.5, 0, 0.1), (0.6, 0.2, 0), 0.4, 0.2),
    "box": im.box((0, 0.1, 0), (0.5, 0.6, 0.7), 0.1),
    "cylinder": im.cylinder((0, 0.1, 0), (1, 1, 0), 0.5, 0.6, 0.1),
    "torus": im.torus((0, 0.1, 0), (1, 0.3, 0.2), 0.7, 0.2),
    "half_space": im.half_space((0, 0.1, 0), (1, 2, 3)),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_fields_are_distances(name: str) -> None:
    """|grad f| = 1, and stepping back by f along the gradient lands on f = 0 (outside, where distance is smooth)."""
    f, h = EXACT[name], 1e-6
    gradient = np.stack([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    outside = f(X) > 1e-3
    np.testing.assert_allclose(np.linalg.norm(gradient[outside], axis=1), 1, atol=1e-6)
    foot = X - f(X)[:, None] * gradient
    np.testing.assert_allclose(f(foot[outside]), 0, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.floats(0.05, 0.8), st.floats(0.05, 0.8))
def test_round_cone_is_the_union_of_its_balls(ends: list[float], ra: float, rb: float) -> None:
    a, b = np.array(ends[:3]), np.array(ends[3:])
    s = np.linspace(0, 1, 2001)[:, None, None]
    brute = (np.linalg.norm(X[:40] - (a + s * (b - a)), axis=2) - (ra + s[..., 0] * (rb - ra))).min(axis=0)
    np.testing.assert_allclose(im.round_cone(a, b, ra, rb)(X[:40]), brute, atol=2e-3)
    assert np.all(im.round_cone(a, b, ra, rb)(X[:40]) <= brute + 1e-12)


def test_ellipsoid_is_zero_on_itself_bounded_and_first_order_a_distance() -> None:
    r = np.array([0.3, 0.6, 1.0])
    n = X / np.linalg.norm(X, axis=1, keepdims=True)
    f = im.ellipsoid((0, 0, 0), r)
    np.testing.assert_allclose(f(n * r), 0, atol=1e-14)
    normal = n / r / np.linalg.norm(n / r, axis=1, keepdims=True)
    np.testing.assert_allclose(f(n * r + 1e-6 * normal), 1e-6, rtol=1e-4)
    np.testing.assert_allclose(f(np.zeros((1, 3))), -0.3)
    assert np.all(np.isfinite(f(1e-12 * X)))


def test_blend_acts_only_within_its_radius() -> None:
    f, g, k = im.ball((-0.3, 0, 0), 0.5), im.ball((0.3, 0, 0), 0.5), 0.2
    a, b = f(X), g(X)
    sharp, soft = im.union(f, g)(X), im.union(f, g, blend=k)(X)
    np.testing.assert_array_equal(sharp, np.minimum(a, b))
    far = np.abs(a - b) >= k
    np.testing.assert_array_equal(soft[far], sharp[far])
    assert np.all(soft[~far] < sharp[~far]) and np.all(soft >= sharp - k / 4)
    np.testing.assert_array_equal(im.intersection(f, g)(X), np.maximum(a, b))
    np.testing.assert_array_equal(im.difference(f, g)(X), np.maximum(a, -b))
    np.testing.assert_allclose(
        im.intersection(f, g, blend=k)(X), -im.union(im.complement(f), im.complement(g), blend=k)(X)
    )


def test_motion_mirror_extrusion() -> None:
    f = im.ball((1, 0, 0), 0.25)
    np.testing.assert_allclose(im.moved(f, (0, 0, 3), TURN, 2.0)(X), im.ball((0, 2, 3), 0.5)(X), atol=1e-14)
    np.testing.assert_allclose(im.mirrored(f, 0)(X), np.minimum(f(X), im.ball((-1, 0, 0), 0.25)(X)), atol=1e-14)
    disc = im.extruded(im.ball((0, 0, 0), 0.5), 2, 0.7, 0.1)
    np.testing.assert_allclose(disc(X), im.cylinder((0, 0, 0), (0, 0, 1), 0.5, 0.7, 0.1)(X), atol=1e-14)



@pytest.mark.parametrize(
    "make",
    [
        lambda: im.ball((0, 0, 0), -1.0),
        lambda: im.ellipsoid((0, 0, 0), (1, 0, 1)),
        lambda: im.box((0, 0, 0), (1, 1, 0.1), 0.2),
        lambda: im.half_space((0, 0, 0), (0, 0, 0)),
        lambda: im.union(EXACT["ball"], EXACT["box"], blend=-0.1),
        lambda: im.moved(EXACT["ball"], rotation=2 * np.eye(3)),
        lambda: im.tube([(0, 0, 0)], 0.1),
    ],
)
def test_bad_parameters_are_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PliantError):
        make()
