"""Closest points, sides and exact signed distances, against brute force and conditions that only the right answer fulfils."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import shapes
from pliant.detect.closest import closest_on_body, face_neighbours, pseudo_normal
from pliant.detect.shapes import signed_distance
from pliant.detect.tree import Tree
from pliant.geometry.mass import vertex_areas
from pliant.geometry.mesh import Surface
from pliant.geometry.normals import angle_normals
from pliant.geometry.topology import Edges
from pliant.geometry.triangle import closest_on_triangle

coordinates = st.floats(-2, 2).map(lambda x: 0.0 if abs(x) < 1e-9 else x)
points3 = st.tuples(coordinates, coordinates, coordinates)
SURFACES = {
    "ball": shapes.make("ball", radius=0.5, edge=0.2).surface(),
    "torus": shapes.make("torus", major=0.5, minor=0.2, edge=0.15).surface(),
    "box": shapes.make("box", size=(1.0, 0.6, 0.4), edge=0.2).surface(),
    "bowl": shapes.make("bowl", radius=0.5, thickness=0.1, edge=0.15).surface(),
}


def t3(u):
    return float(u[0]), float(u[1]), float(u[2])


@settings(max_examples=200, deadline=None)
@given(points3, points3, points3, points3)
def test_closest_on_triangle_is_the_projection(p, a, b, c):
    """q is the nearest point of a convex set if and only if (p - q).(v - q) <= 0 for every corner v."""
    weights = np.array(closest_on_triangle(p, a, b, c))
    corners = np.array([a, b, c])
    assert weights.min() >= -1e-12 and weights.sum() == pytest.approx(1.0, abs=1e-12)
    q = weights @ corners
    edges = corners[[1, 2, 0]] - corners
    area = np.linalg.norm(np.cross(edges[0], edges[1]))
    if area < 1e-6 * max(1e-12, (edges**2).sum()):
        return  # slivers: weights are ill-conditioned, tested below by distance
    assert ((corners - q) @ (np.array(p) - q)).max() < 1e-9


@settings(max_examples=100, deadline=None)
@given(points3, points3, points3, st.floats(-0.5, 1.5))
def test_closest_on_a_triangle_without_area_is_no_farther_than_its_corners(p, a, b, part):
    c = tuple(np.array(a) + part * (np.array(b) - np.array(a)))
    weights = np.array(closest_on_triangle(p, a, b, c))
    assert np.isfinite(weights).all()
    distance = np.linalg.norm(weights @ np.array([a, b, c]) - p)
    assert distance <= min(np.linalg.norm(np.subtract(p, v)) for v in (a, b, c)) + 1e-7


def brute(p, surface):
    """Squared distance and face by a loop over all faces."""
    best = np.inf, -1
    for f, face in enumerate(surface.faces):
        a, b, c = surface.points[face]
        weights = np.array(closest_on_triangle(p, t3(a), t3(b), t3(c)))
        d = weights @ surface.points[face] - p
        best = min(best, (float(d @ d), f))
    return best


def solid_angle(p, surface):
    """Winding number of a closed surface about p, by the solid angles of its faces (Van Oosterom and Strackee 1983)."""
    r = surface.points[surface.faces] - np.array(p)
    a, b, c = r[:, 0], r[:, 1], r[:, 2]
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    top = np.einsum("fi,fi->f", a, np.cross(b, c))
    dots = [np.einsum("fi,fi->f", *pair) for pair in ((a, b), (b, c), (c, a))]
    return float(np.arctan2(top, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb).sum() / (2 * np.pi))


def signed(p, surface, tree, prepared):
    neighbour, face_normal, vertex_normal = prepared
    stack = np.empty(128, np.int64)
    square, f, u, v, w = closest_on_body(p, 0, tree.nodes, surface.points, surface.faces, stack)
    n = np.array(pseudo_normal(f, (u, v, w), surface.faces, neighbour, face_normal, vertex_normal))
    q = np.array([u, v, w]) @ surface.points[surface.faces[f]]
    return square, f, math.copysign(math.sqrt(square), (p - q) @ n)


def prepare(surface):
    face_normal, vertex_normal = np.zeros((len(surface.faces), 3)), np.zeros((len(surface.points), 3))
    angle_normals(surface.points, surface.faces, face_normal, vertex_normal)
    tree = Tree.build(surface.points, surface.faces, np.array([0, len(surface.faces)]))
    return tree, (face_neighbours(surface.faces), face_normal, vertex_normal)


@pytest.mark.parametrize("name", SURFACES)
def test_tree_finds_what_a_loop_over_all_faces_finds(name):
    surface = SURFACES[name]
    tree, prepared = prepare(surface)
    rng = np.random.default_rng(5)
    for p in [t3(u) for u in rng.uniform(-0.8, 0.8, (25, 3))] + [t3(surface.points[3]), t3(surface.points[surface.faces[7]].mean(axis=0))]:
        square, f, _ = signed(p, surface, tree, prepared)
        wanted, face = brute(p, surface)
        assert square == pytest.approx(wanted, abs=1e-14)
        if square != wanted or f != face:  # faces that share the nearest edge or corner
            assert np.intersect1d(surface.faces[f], surface.faces[face]).size > 0


@pytest.mark.parametrize("name", SURFACES)
def test_side_is_that_of_the_winding_number(name):
    surface = SURFACES[name]
    tree, prepared = prepare(surface)
    inside = 0
    for p in np.random.default_rng(6).uniform(-0.6, 0.6, (300, 3)):
        winding = solid_angle(p, surface)
        assert winding == pytest.approx(round(winding), abs=1e-6)
        assert (signed(t3(p), surface, tree, prepared)[2] < 0) == (round(winding) == 1)
        inside += round(winding)
    assert inside > 10


def test_side_where_four_faces_meet_at_an_edge():
    """An angle of 270 degrees, and a wedge in its notch that touches it along the edge only: all four faces tell the side there."""
    outlines = [[(0, 0), (0, 1), (-1, 1), (-1, -1), (1, -1), (1, 0)], [(0, 0), (0.9, 0.5), (0.5, 0.9)]]
    corners = sorted({c for outline in outlines for c in outline})
    points = np.array([(x, y, z) for z in (-9.0, 9.0) for x, y in corners])  # long, so that ends do not matter
    sides = [(corners.index(u), corners.index(v)) for outline in outlines for u, v in zip(outline, outline[1:] + outline[:1], strict=True)]
    n = len(corners)
    rng = np.random.default_rng(0)
    for _ in range(4):
        faces = rng.permutation(np.array([t for u, v in sides for t in ((u, v, v + n), (u, v + n, u + n))]))
        surface = Surface(points, faces)
        assert np.bincount(Edges(faces).count)[4] == 1
        tree, prepared = prepare(surface)
        for p in rng.uniform(-0.9, 0.9, (200, 3)):
            x, y = p[:2]
            wedge = x + y < 1.4 and 0.9 * y > 0.5 * x and 0.9 * x > 0.5 * y
            assert (signed(t3(p), surface, tree, prepared)[2] < 0) == (min(x, y) < 0 or wedge)


@pytest.mark.parametrize("name", ["ball", "torus"])
def test_side_and_distance_are_those_of_the_exact_shape_up_to_the_sagitta(name):
    surface, sagitta = SURFACES[name], 0.05
    tree, prepared = prepare(surface)
    kind, parameters = (1, (0.5, 0.0, 0.0)) if name == "ball" else (5, (0.5, 0.2, 0.0))
    for p in np.random.default_rng(7).uniform(-0.7, 0.7, (200, 3)):
        exact = signed_distance(kind, *parameters, t3(p))[0]
        bulge = signed(t3(p), surface, tree, prepared)[2] - exact
        # chords lie inside a ball everywhere, and outside a torus where it bends inwards
        assert (-1e-9 if name == "ball" else -0.5 * sagitta) <= bulge < sagitta


def test_refitted_tree_equals_a_new_one():
    surface = SURFACES["torus"]
    tree, _ = prepare(surface)
    moved = surface.points * [2.0, 0.5, 1.0] + 0.1 * np.sin(9 * surface.points[:, [1, 2, 0]])
    tree.refit(moved)
    order = moved[surface.faces[tree.order]]
    for i in range(tree.level[1]):
        mine = order[tree.first[i] : tree.first[i] + tree.count[i]].reshape(-1, 3)
        assert np.array_equal(tree.low[i], mine.min(axis=0)) and np.array_equal(tree.high[i], mine.max(axis=0))
    assert np.array_equal(tree.low[tree.root[0]], moved[surface.faces].reshape(-1, 3).min(axis=0))
    assert np.array_equal(np.sort(tree.order), np.arange(len(surface.faces)))


def test_neighbours_and_areas():
    surface = SURFACES["box"]
    other = face_neighbours(surface.faces)
    assert (other >= 0).all()
    for f, g in enumerate(other.T[0]):  # across the edge opposite to corner 0
        assert len(np.intersect1d(surface.faces[f], surface.faces[g])) == 2
    assert vertex_areas(surface.points, surface.faces).sum() == pytest.approx(2 * (0.6 + 0.4 + 0.24), rel=1e-12)


EXACT = {"plane": (0, (0.0, 0.0, 0.0)), "ball": (1, (0.5, 0.0, 0.0)), "box": (2, (0.5, 0.3, 0.2)), "capsule": (3, (0.3, 0.4, 0.0)),
         "cylinder": (4, (0.4, 0.3, 0.0)), "torus": (5, (0.6, 0.2, 0.0))}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=100, deadline=None)
@given(p=points3)
def test_gradient_of_an_exact_distance_is_its_unit_normal(name, p):
    kind, parameters = EXACT[name]
    _, n = signed_distance(kind, *parameters, p)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    h, gradient, curved = 1e-6, np.empty(3), 0.0
    d = signed_distance(kind, *parameters, p)[0]
    for axis in range(3):
        ahead, behind = (signed_distance(kind, *parameters, t3(np.array(p) + s * h * np.eye(3)[axis]))[0] for s in (1, -1))
        gradient[axis] = (ahead - behind) / (2 * h)
        curved = max(curved, abs(ahead + behind - 2 * d) / h)
    if curved < 1e-3:  # not on a crease of the distance, inside or outside
        assert gradient == pytest.approx(n, abs=2e-3)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=100, deadline=None)
@given(p=points3)
def test_stepping_back_by_an_exact_distance_ends_on_the_surface(name, p):
    kind, parameters = EXACT[name]
    d, n = signed_distance(kind, *parameters, p)
    assert abs(signed_distance(kind, *parameters, t3(np.array(p) - d * np.array(n)))[0]) < 1e-9


@pytest.mark.parametrize("name", ["ball", "box", "capsule", "cylinder", "torus"])
def test_exact_distance_is_zero_on_the_mesh_points_of_the_shape(name):
    made = {"ball": dict(radius=0.5), "box": dict(size=(1, 0.6, 0.4)), "capsule": dict(radius=0.3, length=0.8),
            "cylinder": dict(radius=0.4, height=0.6), "torus": dict(major=0.6, minor=0.2)}[name]  # fmt: skip
    shape = shapes.make(name, **made, edge=0.2)
    kind, parameters = EXACT[name]
    assert shape.analytic == (name, tuple(pytest.approx(x) for x in parameters[: len(shape.analytic[1])]))
    assert max(abs(signed_distance(kind, *parameters, t3(p))[0]) for p in shape.surface().points) < 1e-9
