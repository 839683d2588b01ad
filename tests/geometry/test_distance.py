"""The nearest place of a surface is the nearest of all triangles, however their sizes and shapes differ."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.geometry.mesh import Surface
from pliant.geometry.triangle import nearest_on


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_nearest_of_all_triangles(count: int) -> None:
    """Triangles of sizes e^-6 to e^6 and slivers, against each of them alone, and one against places on it."""
    rng = np.random.default_rng(count)
    x = rng.standard_normal((count, 3, 3)) * np.exp(2.0 * rng.standard_normal((count, 1, 1))) + rng.standard_normal((count, 1, 3))
    x[::3, 2] = x[::3, 1] + 1e-6 * (x[::3, 2] - x[::3, 1])
    at = 3.0 * rng.standard_normal((100, 3))
    place, away = nearest_on(Surface(x.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)), at)
    alone = np.stack([nearest_on(Surface(t, np.array([[0, 1, 2]])), at)[1] for t in x])
    assert np.array_equal(away, alone.min(axis=0))
    assert np.linalg.norm(place - at, axis=1) == pytest.approx(away, rel=1e-12)
    on = rng.dirichlet([1.0, 1.0, 1.0], 2000) @ x[0]
    assert (alone[0] <= np.linalg.norm(on[None] - at[:, None], axis=2).min(axis=1) + 1e-12).all()


def test_a_long_triangle_beside_many_small_ones() -> None:
    """Places on it are on the surface: samples of the small ones must not stand for it."""
    rng = np.random.default_rng(0)
    small = 1e-3 * rng.standard_normal((500, 3, 3)) + rng.random((500, 1, 3)) * [1.0, 0.01, 0.01]
    large = np.array([[[-1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, 1.0, 0.0]]])
    x = np.concatenate([small, large])
    at = rng.dirichlet([1.0, 1.0, 1.0], 500) @ large[0]
    assert nearest_on(Surface(x.reshape(-1, 3), np.arange(3 * len(x)).reshape(-1, 3)), at)[1].max() < 1e-12


def test_a_place_on_a_vertex_is_at_no_distance() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((50, 3, 3))
    surface = Surface(x.reshape(-1, 3), np.arange(150).reshape(-1, 3))
    assert nearest_on(surface, surface.points)[1].max() < 1e-14
