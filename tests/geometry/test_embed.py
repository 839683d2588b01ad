"""Embedding against brute force over all tets and all boundary faces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import Floats, PliantError
from pliant.geometry.embed import embed
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shapes import make


def tets_of(kind: str, **parameters: Any) -> TetMesh:
    mesh = make(kind, **parameters).tets
    assert mesh is not None
    return mesh


MESHES = {
    "ball": tets_of("ball", radius=1.0, edge=0.34),
    "plate": tets_of("plate", size=(2.0, 1.0), thickness=0.1, edge=0.2),
    "bowl": tets_of("bowl", radius=1.0, thickness=0.2, edge=0.25),
}


def all_weights(points: Floats, mesh: TetMesh) -> Floats:
    """Weights of every point in every tet, by solving the 4x4 systems."""
    m = np.concatenate([mesh.points[mesh.tets].transpose(0, 2, 1), np.ones((len(mesh.tets), 1, 4))], axis=1)
    right = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    return np.einsum("tij,nj->nti", np.linalg.inv(m), right)


def triangle_distance(p: Floats, triangles: Floats) -> Floats:
    """Least squares over a + s (b - a) + t (c - a); where that leaves the triangle, the nearest of its sides."""
    a, b, c = triangles.transpose(1, 0, 2)
    e = np.stack([b - a, c - a], axis=2)
    s = np.einsum("fij,fj->fi", np.linalg.pinv(e), p - a)
    flat = np.linalg.norm(p - a - np.einsum("fij,fj->fi", e, s), axis=1)
    sides = []
    for u, v in ((a, b), (b, c), (c, a)):
        along = np.clip(((p - u) * (v - u)).sum(axis=1) / ((v - u) ** 2).sum(axis=1), 0, 1)
        sides.append(np.linalg.norm(p - u - along[:, None] * (v - u), axis=1))
    return np.where((s.min(axis=1) >= 0) & (s.sum(axis=1) <= 1), flat, np.min(sides, axis=0))


@pytest.mark.parametrize("name", MESHES)
def test_inside_points_get_a_containing_tet_as_brute_force_finds_it(name: str) -> None:
    mesh = MESHES[name]
    rng = np.random.default_rng(5)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    points = rng.uniform(low, high, (400, 3))
    least = all_weights(points, mesh).min(axis=2)
    inside = least.max(axis=1) >= 0
    assert 20 < inside.sum()
    found = embed(points[inside], mesh)
    assert np.array_equal(found.tet, least[inside].argmax(axis=1))
    assert np.allclose(found.weights, all_weights(points[inside], mesh)[np.arange(inside.sum()), found.tet], atol=1e-12)
    assert found.weights.min() >= -1e-12


@pytest.mark.parametrize("name", MESHES)
def test_outside_points_get_the_nearest_tet_as_brute_force_finds_it(name: str) -> None:
    mesh = MESHES[name]
    rng = np.random.default_rng(8)
    skin = mesh.surface()
    points = skin.points[rng.integers(0, len(skin.points), 60)] + rng.normal(scale=0.05, size=(60, 3))
    points = points[all_weights(points, mesh).min(axis=2).max(axis=1) < -1e-9]
    assert len(points) > 15
    found = embed(points, mesh)
    faces = mesh.boundary
    owner = {tuple(sorted(f)): t for t, tet in enumerate(mesh.tets.tolist()) for f in _triples(tet)}
    for p, tet, w in zip(points, found.tet, found.weights, strict=True):
        distance = triangle_distance(p, mesh.points[faces])
        nearest = {owner[tuple(sorted(faces[f]))] for f in np.flatnonzero(distance <= distance.min() * (1 + 1e-6))}
        assert tet in nearest
        # of the equally near ones, the one that extrapolates least
        least = {t: all_weights(p[None], mesh)[0, t].min() for t in nearest}
        assert w.min() == pytest.approx(max(least.values()), abs=1e-9)


def _triples(tet: list[int]) -> list[list[int]]:
    return [sorted(tet[:k] + tet[k + 1 :]) for k in range(4)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(MESHES)))
def test_weights_reproduce_points_and_sum_to_one(seed: int, name: str) -> None:
    mesh = MESHES[name]
    rng = np.random.default_rng(seed)
    skin = mesh.surface()
    points = skin.points[rng.integers(0, len(skin.points), 40)] + rng.normal(scale=0.03, size=(40, 3))
    tet, weights = embed(points, mesh)
    assert np.allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert np.allclose(np.einsum("nk,nki->ni", weights, mesh.points[mesh.tets[tet]]), points, atol=1e-12)


def test_nodes_face_centres_and_edges_are_inside() -> None:
    mesh = MESHES["ball"]
    corners = mesh.points[mesh.tets]
    points = np.concatenate([mesh.points, corners[:, :3].mean(axis=1), corners[:, :2].mean(axis=1)])
    assert embed(points, mesh).weights.min() > -1e-12


def test_fine_surface_rides_with_an_affine_motion() -> None:
    mesh = MESHES["ball"]
    fine = make("ball", radius=1.0, edge=0.1).surface()
    tet, weights = embed(fine.points, mesh)
    matrix = np.array([[1.1, 0.2, 0], [0, 0.9, 0.3], [0.1, 0, 1.0]])
    moved = mesh.points @ matrix.T + 0.5
    assert np.allclose(np.einsum("nk,nki->ni", weights, moved[mesh.tets[tet]]), fine.points @ matrix.T + 0.5)
    assert embed(fine.points, mesh).weights.min() < 0  # the fine ball sticks out of the coarse one


def test_point_too_far_outside_is_named_with_its_distance() -> None:
    mesh = MESHES["ball"]
    with pytest.raises(PliantError, match="1 points .* point 1, 9 m from the mesh's bounding box"):
        embed(np.array([[0, 0, 0], [0, 0, 10.0]]), mesh)
    bowl = MESHES["bowl"]  # the middle of the cavity is inside the bounding box but far from any wall
    with pytest.raises(PliantError, match="point 0, 0.7.* m from the mesh's surface"):
        embed(np.array([[0, 0, 0.95]]), bowl)


def test_bad_input_is_refused() -> None:
    with pytest.raises(PliantError, match="point 1 .* not finite"):
        embed(np.array([[0, 0, 0], [np.nan, 0, 0]]), MESHES["ball"])
    inverted = TetMesh(MESHES["ball"].points, MESHES["ball"].tets[:, [0, 2, 1, 3]])
    with pytest.raises(PliantError, match="positive tetrahedra"):
        embed(np.zeros((1, 3)), inverted)


def test_no_points_are_fine() -> None:
    tet, weights = embed(np.empty((0, 3)), MESHES["ball"])
    assert len(tet) == 0 and weights.shape == (0, 4)
