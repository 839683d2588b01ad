"""Adjacency against brute force; quadratic tets against Bernstein polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.mesh import TET_EDGES, TetMesh
from pliant.geometry.shapes import make
from pliant.geometry.topology import elevate, split_eight, subdivided_skin, topology


def surface_faces(kind: str) -> tuple[Ints, int]:
    shape = {
        "closed": make("torus", major=1, minor=0.3, edge=0.3),
        "open": make("membrane", size=(1, 1), edge=0.25),
    }[kind]
    return shape.surface().faces, len(shape.surface().points)


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_adjacency_equals_brute_force(kind: str) -> None:
    faces, n = surface_faces(kind)
    faces = faces[np.random.default_rng(3).permutation(len(faces))]
    t = topology(faces, n + 2)  # two points without any face
    by_edge: dict[tuple[int, int], list[int]] = {}
    for f, face in enumerate(faces.tolist()):
        for k in range(3):
            a, b = face[k], face[(k + 1) % 3]
            by_edge.setdefault((min(a, b), max(a, b)), []).append(f)
    assert t.edges.tolist() == [list(e) for e in sorted(by_edge)]
    for e, (a, b) in enumerate(t.edges.tolist()):
        owners = by_edge[a, b]
        assert t.edge_faces[e].tolist() == (owners + [-1])[:2]
    for f, face in enumerate(faces.tolist()):
        for k in range(3):
            assert sorted(t.edges[t.face_edges[f, k]]) == sorted([face[k], face[(k + 1) % 3]])
    for v in range(n + 2):
        assert t.vertex_faces.of(v).tolist() == [f for f, face in enumerate(faces.tolist()) if v in face]


FAN = np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4], [5, 6, 7]])


def test_an_edge_of_more_than_two_faces_names_the_first_two() -> None:
    assert topology(FAN, 8).edge_faces[0].tolist() == [0, 1]


def test_bad_faces_are_named() -> None:
    with pytest.raises(PliantError, match="face 1 names"):
        topology(np.array([[0, 1, 2], [0, 1, 9]]), 3)
    with pytest.raises(PliantError, match="use a point twice .first: 1"):
        topology(np.array([[0, 1, 2], [0, 1, 1]]), 3)


def test_no_faces_make_empty_lists() -> None:
    t = topology(np.empty((0, 3), dtype=np.int64), 4)
    assert len(t.edges) == 0 and t.vertex_faces.offsets.tolist() == [0] * 5


def ball_mesh() -> TetMesh:
    mesh = make("ball", radius=1.0, edge=0.5).tets
    assert mesh is not None
    return mesh


def test_elevated_nodes_are_corners_then_edge_midpoints() -> None:
    mesh = ball_mesh()
    points, tets10 = elevate(mesh)
    assert np.array_equal(tets10[:, :4], mesh.tets)
    assert np.array_equal(points[: len(mesh.points)], mesh.points)
    assert np.allclose(points[tets10[:, 4:]], mesh.points[mesh.tets[:, TET_EDGES]].mean(axis=2), atol=0)
    pairs = np.unique(np.sort(mesh.tets[:, TET_EDGES].reshape(-1, 2), axis=1), axis=0)
    assert len(points) == len(mesh.points) + len(pairs)


def bernstein(tets10: Ints, points: Floats, tet: int, b: Floats) -> Floats:
    """sum b_i^2 c_i + sum 2 b_i b_j c_ij."""
    i, j = TET_EDGES.T
    return np.concatenate([b**2, 2 * b[i] * b[j]]) @ points[tets10[tet]]


def test_skin_points_lie_on_the_curved_elements() -> None:
    points, tets10 = elevate(ball_mesh())
    points = points + 0.05 * np.random.default_rng(1).normal(size=points.shape)  # curved
    skin = subdivided_skin(tets10, len(points))
    x = np.add.reduceat(skin.weights[:, None] * points[skin.nodes], skin.offsets[:-1])
    for tet in (0, 17, len(tets10) - 1):
        for k in range(4):
            assert np.allclose(x[skin.point_of_node[tets10[tet, k]]], points[tets10[tet, k]])
        for e, (a, b) in enumerate(TET_EDGES):
            half = np.zeros(4)
            half[[a, b]] = 0.5
            assert np.allclose(x[skin.point_of_node[tets10[tet, 4 + e]]], bernstein(tets10, points, tet, half))


def test_subdivided_skin_is_the_closed_boundary_with_surface_points_first() -> None:
    mesh = ball_mesh()
    points, tets10 = elevate(mesh)
    skin = subdivided_skin(tets10, len(points))
    assert len(skin.faces) == 4 * len(mesh.boundary)
    assert np.array_equal(np.unique(skin.faces), np.arange(skin.n_surface))
    assert (topology(skin.faces, len(points)).edge_faces >= 0).all()
    assert sorted(skin.point_of_node.tolist()) == list(range(len(points)))
    sums = np.add.reduceat(skin.weights, skin.offsets[:-1])
    assert np.array_equal(sums, np.ones(len(points)))
    x = np.add.reduceat(skin.weights[:, None] * points[skin.nodes], skin.offsets[:-1])
    a, b, c = x[skin.faces].transpose(1, 0, 2)
    assert np.einsum("ni,ni->", a, np.cross(b, c)) / 6 == pytest.approx(mesh.volumes.sum())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_split_eight_fills_random_tets_and_cuts_along_the_shortest_diagonal(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(4, 3))
    order = [0, 1, 2, 3] if np.linalg.det(x[1:] - x[0]) > 0 else [0, 1, 3, 2]
    mesh = TetMesh(x, np.array([order]))
    points, tets10 = elevate(mesh)
    small = TetMesh(points, split_eight(tets10, points))
    assert np.allclose(small.volumes, mesh.volumes[0] / 8, rtol=1e-9, atol=1e-15)
    assert len(small.boundary) == 16
    inner = tets10[0, 4:]
    lengths = {(0, 5): 0.0, (1, 4): 0.0, (2, 3): 0.0}
    for p, q in lengths:
        lengths[p, q] = float(np.linalg.norm(points[inner[p]] - points[inner[q]]))
    shortest = min(lengths, key=lambda pq: lengths[pq])
    assert all(set(inner[list(shortest)]) <= set(t) for t in small.tets[4:])


def test_split_eight_conforms_across_elements() -> None:
    mesh = ball_mesh()
    points, tets10 = elevate(mesh)
    small = TetMesh(points, split_eight(tets10, points))
    skin = subdivided_skin(tets10, len(points))
    assert (small.volumes > 0).all() and small.volumes.sum() == pytest.approx(mesh.volumes.sum())
    as_set = lambda faces: {tuple(sorted(f)) for f in faces.tolist()}
    assert as_set(skin.point_of_node[small.boundary]) == as_set(skin.faces)
