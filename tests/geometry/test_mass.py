"""Volume, centre and inertia against closed forms."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pliant.base import Floats, PliantError
from pliant.geometry.mass import mass_of_surface, principal
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shapes import make

SIZE = np.array([0.3, 0.5, 0.7])


def box() -> TetMesh:
    mesh = make("box", size=SIZE, edge=0.2).tets
    assert mesh is not None
    return mesh


def box_inertia(size: Floats, mass: float) -> Floats:
    return np.diag(mass / 12 * ((size**2).sum() - size**2))


def test_box_is_exact() -> None:
    volume = float(SIZE.prod())
    shift = np.array([10.0, -3.0, 2.0])
    m = mass_of_surface(box().surface().moved(shift), 1200.0)
    assert m.volume == pytest.approx(volume, rel=1e-13)
    assert m.mass == pytest.approx(1200 * volume, rel=1e-13)
    assert np.allclose(m.centre, shift, atol=1e-12)
    assert np.allclose(m.inertia, box_inertia(SIZE, 1200 * volume), atol=1e-12 * m.mass)


a, b, c = 1.0, 1.25, 0.8
R, r = 2.0, 1.0
ROUND: list[tuple[str, dict[str, Any], list[float]]] = [
    ("ball", {"radius": 1.0}, [0.4, 0.4, 0.4]),
    ("ellipsoid", {"radii": (a, b, c)}, [(b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5]),
    ("cylinder", {"radius": 1.0, "height": 1.5}, [1 / 4 + 1.5**2 / 12, 1 / 4 + 1.5**2 / 12, 1 / 2]),
    ("torus", {"major": R, "minor": r}, [R * R / 2 + 5 * r * r / 8, R * R / 2 + 5 * r * r / 8, R * R + 3 * r * r / 4]),
]


@pytest.mark.parametrize(("kind", "parameters", "per_mass"), ROUND, ids=[r[0] for r in ROUND])
def test_inertia_converges_at_second_order(kind: str, parameters: dict[str, Any], per_mass: list[float]) -> None:
    error = []
    for n in (4, 8):
        m = mass_of_surface(make(kind, **parameters, edge=1 / n).surface())
        error.append(np.abs(m.inertia / m.mass - np.diag(per_mass)).max())
    assert 1.7 < np.log2(error[0] / error[1]) < 2.3
    assert error[1] < 0.03 * max(per_mass)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_rotation_and_shift_covariance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rotation = Rotation.random(random_state=seed).as_matrix()
    shift = rng.normal(size=3)
    mesh = TetMesh(box().points * rng.uniform(0.5, 2, 3), box().tets)
    m, moved = mass_of_surface(mesh.surface(), 10.0), mass_of_surface(mesh.surface().moved(shift, rotation), 10.0)
    assert np.allclose(moved.centre, rotation @ m.centre + shift, atol=1e-12)
    assert np.allclose(moved.inertia, rotation @ m.inertia @ rotation.T, atol=1e-12 * np.trace(m.inertia) + 1e-14)
    moments, axes = principal(moved.inertia)
    assert np.allclose(moments, np.sort(np.diag(m.inertia)), rtol=1e-9)
    assert np.linalg.det(axes) == pytest.approx(1.0) and np.allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert np.allclose(axes @ np.diag(moments) @ axes.T, moved.inertia, atol=1e-12 * np.trace(m.inertia))


def test_open_surface_is_refused_with_the_number_of_boundary_edges() -> None:
    skin = box().surface()
    with pytest.raises(PliantError, match="3 boundary edges.*holes = true"):
        mass_of_surface(Surface(skin.points, skin.faces[1:]))


def test_turned_faces_are_refused() -> None:
    skin = box().surface()
    faces = skin.faces.copy()
    faces[0] = faces[0, ::-1]
    with pytest.raises(PliantError, match="3 edges join unlike sides.*alike"):
        mass_of_surface(Surface(skin.points, faces))
    with pytest.raises(PliantError, match="inside out"):
        mass_of_surface(Surface(skin.points, skin.faces[:, ::-1]))


def test_ball_mass_golden_value_of_water() -> None:
    assert mass_of_surface(make("ball", radius=0.1, edge=0.005).surface(), 1000.0).mass == pytest.approx(
        4 / 3 * pi, rel=3e-3
    )
