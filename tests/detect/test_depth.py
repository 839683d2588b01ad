"""Consistent penetration depth: golden numbers G3 and G4 (theory/noniterative 8), exactness for planes, and what must be reported."""

import numpy as np
import pytest

from pliant.detect import consistent_depth as d
from pliant.detect.tree import Tree
from pliant.geometry.mesh import TET_EDGES, TetMesh
from pliant.geometry.shapes import make
from pliant.geometry.topology import listed


def neighbours(edges, count):
    both = np.concatenate([edges, edges[:, ::-1]])
    return listed(both[:, 0], both[:, 1], count)


def vertex_normals(points, faces):
    a, b, c = (points[faces[:, k]] for k in range(3))
    out = np.zeros_like(points)
    np.add.at(out, faces, np.repeat(np.cross(b - a, c - a)[:, None], 3, axis=1))
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return np.divide(out, length, out=out, where=length > 0)


def two_bodies(a: TetMesh, b: TetMesh):
    """Joined arrays: points, faces, tree, neighbours, normals; body 0 is a, body 1 is b."""
    points = np.concatenate([a.points, b.points])
    faces = np.concatenate([a.boundary, b.boundary + len(a.points)])
    tree = Tree.build(points, faces, np.array([0, len(a.boundary), len(faces)]))
    edges = np.concatenate([a.tets[:, TET_EDGES].reshape(-1, 2), b.tets[:, TET_EDGES].reshape(-1, 2) + len(a.points)])
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    return points, faces, tree, neighbours(edges, len(points)), vertex_normals(points, faces)


def test_G3_border():
    """One border point with two hits."""
    # two big triangles, each through its hit point, whose vertices carry the given normal
    hits, normals = np.array([[0.1, 0, 0.2], [0, 0.3, 0.1]]), np.array([[0, 0, 1.0], [0, 0.6, 0.8]])
    points = [np.zeros(3), 2 * hits[0], 2 * hits[1]]  # the border point and its two neighbours outside
    faces, vertex = [], [np.zeros(3)] * 3
    for x, n in zip(hits, normals, strict=True):
        e = 0.02 * np.cross(x, [0.3, -0.5, 0.2]) / np.linalg.norm(x)
        f = 0.02 * np.cross(x, e) / np.linalg.norm(x) ** 2
        faces.append([len(points), len(points) + 1, len(points) + 2])
        points += [x + e, x - 0.5 * e + f, x - 0.5 * e - f]
        vertex += [n] * 3
    points, faces = np.array(points), np.array(faces)
    tree = Tree.build(points, faces, np.array([0, 2]))
    links = neighbours(np.array([[0, 1], [0, 2]]), len(points))
    found = d.penetration_depths(points, np.array([0]), np.array([0]), links, tree, faces, np.array(vertex), 0.1)
    assert found.depth[0] == pytest.approx(0.22, abs=1e-9)
    assert found.direction[0] == pytest.approx([0, 0.2095290887, 0.9778024141], abs=1e-9)


def test_G4_propagation():
    points = np.array([[0.0, 0, 0], [0.2, 0, -0.05], [0.05, 0.02, -0.15]])
    depth, direction = np.array([0.22, 0.12, 0.0]), np.array([[0, 0.2095290887, 0.9778024141], [0, 0, 1.0], [0, 0, 0]])
    layer, status = np.array([0, 0, -1]), np.array([d.RESOLVED, d.RESOLVED, d.UNREACHED])
    links = neighbours(np.array([[0, 2], [1, 2]]), 3)
    point, body = np.arange(3), np.zeros(3, np.int64)
    assert d._spread(points, point, body, point, tuple(links), 1e-30, 0, depth, direction, layer, status)
    assert depth[2] == pytest.approx(0.3004045416, abs=1e-9)
    assert direction[2] == pytest.approx([0, 0.1188926164, 0.9929071184], abs=1e-9)


def test_exact_for_a_plane_many_layers_deep():
    """A fine cube dips into the flat top of a wide block: depth is the distance to the top, everywhere."""
    block = make("box", size=(4.0, 4.0, 2.0), edge=0.5).tets
    cube = make("box", size=(0.8, 0.8, 0.8), edge=0.1).tets.moved((0.03, 0.02, 1.0 + 0.4 - 0.33))
    points, faces, tree, links, normals = two_bodies(block, cube)
    inside = np.flatnonzero((points[:, 2] < 1.0) & (np.arange(len(points)) >= len(block.points)))
    found = d.penetration_depths(points, inside, np.zeros(len(inside), np.int64), links, tree, faces, normals, 0.1)
    assert len(inside) > 200 and found.count(d.RESOLVED) == len(inside)
    assert np.abs(found.depth - (1.0 - points[found.point, 2])).max() < 1e-12
    assert np.abs(found.direction - [0, 0, 1]).max() < 1e-12
    assert np.abs(found.ray - found.depth).max() < 1e-12
    out = np.einsum("ck,cki->ci", found.weights, points[faces[found.face]])
    assert np.abs(out - points[found.point] - found.depth[:, None] * [0, 0, 1]).max() < 1e-12
    assert found.weights.min() >= 0 and np.abs(found.weights.sum(axis=1) - 1).max() < 1e-14


def test_a_body_wholly_inside_is_reported():
    block = make("box", size=(2.0, 2.0, 2.0), edge=0.5).tets
    ball = make("ball", radius=0.3, edge=0.15).tets
    points, faces, tree, links, normals = two_bodies(block, ball)
    inside = np.arange(len(block.points), len(points))
    found = d.penetration_depths(points, inside, np.zeros(len(inside), np.int64), links, tree, faces, normals, 0.2)
    assert found.count(d.UNREACHED) == len(inside)
    assert np.isnan(found.depth).all() and (found.face == -1).all()


def test_directions_that_cancel_are_reported():
    """A bar right through a thin plate: the middle layer hears opposite directions from both sides."""
    plate = make("plate", size=(2.0, 2.0), thickness=0.2, edge=0.2).tets
    points = np.array([[0, 0, -0.2], [0, 0, -0.05], [0, 0, 0.05], [0, 0, 0.2], [0, 0, 0.0]])
    edges = np.array([[0, 1], [2, 3], [1, 4], [2, 4]])
    everything = np.concatenate([plate.points, points])
    first = len(plate.points)
    tree = Tree.build(everything, plate.boundary, np.array([0, len(plate.boundary)]))
    links = neighbours(edges + first, len(everything))
    inside = np.array([1, 2, 4]) + first
    normals = vertex_normals(everything, plate.boundary)
    found = d.penetration_depths(everything, inside, np.zeros(3, np.int64), links, tree, plate.boundary, normals, 0.2)
    status = dict(zip((found.point - first).tolist(), found.status.tolist(), strict=True))
    assert status == {1: d.RESOLVED, 2: d.RESOLVED, 4: d.CANCELLED}


def test_ball_in_ball_points_apart():
    a = make("ball", radius=0.5, edge=0.1).tets
    b = make("ball", radius=0.5, edge=0.1).tets.moved((0, 0, 0.85))
    points, faces, tree, links, normals = two_bodies(a, b)
    mine = np.arange(len(points)) >= len(a.points)
    inside = np.flatnonzero(mine & (np.linalg.norm(points, axis=1) < 0.49))
    found = d.penetration_depths(points, inside, np.zeros(len(inside), np.int64), links, tree, faces, normals, 0.1)
    exact = 0.5 - np.linalg.norm(points[found.point], axis=1)
    assert found.count(d.RESOLVED) == len(inside) > 10
    assert np.abs(found.depth - exact).max() < 0.03
    assert (found.direction @ [0, 0, 1]).min() > 0.8
