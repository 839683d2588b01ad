"""Asking point surfaces: projection, distance, side, clusters, active samples; against exact shapes and brute force."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.detect.surfels import Exact, PointSurface, Posed, Spheres, active_against_exact, active_samples, from_mesh
from pliant.detect.surfels.answers import FAR, MEDIAL, OFF, PLANE, THIN
from pliant.detect.surfels.creases import _proposed
from pliant.detect.surfels.winding import OPEN
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.solids import torus
from pliant.kernels import numba

spec = importlib.util.spec_from_file_location("surfel_shapes", Path(__file__).with_name("surfel_shapes.py"))
shapes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shapes)
fibonacci, ball, lattice, directions = shapes.fibonacci, shapes.ball, shapes.lattice, shapes.directions

STEPS = ("simple", "almost orthogonal", "orthogonal")
EXACT = [Exact("plane"), Exact("ball", (0.7,)), Exact("box", (0.5, 0.4, 0.6)), Exact("capsule", (0.3, 0.5)), Exact("cylinder", (0.4, 0.5)), Exact("torus", (0.8, 0.25))]


def near_ball(count, spread, seed=0):
    """Queries within `spread` of the unit sphere."""
    return directions(count, seed) * (1 + np.random.default_rng(seed + 1).uniform(-spread, spread, (count, 1)))


def ellipsoid(count):
    """2 : 1 : 1, with exact normals; areas from the map of the sphere."""
    x = fibonacci(count) * [2, 1, 1]
    n = x / [4, 1, 1]
    stretch = 2 * np.linalg.norm(fibonacci(count) / [2, 1, 1], axis=1)
    return PointSurface(x, n, 4 * np.pi / count * stretch)


def slope(errors, sizes):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


# Projection -----------------------------------------------------------------------------------------------------------


def test_Q19_implicit_surface_shrinks_and_quadric_does_not():
    surface = ball(2000)
    l = surface.spacing[0]
    q = near_ball(400, 0.5 * l)
    for step in STEPS:
        foot = surface.project(q, "aa", step)
        assert foot.valid.all()
        assert 1 - np.linalg.norm(foot.points, axis=1).mean() == pytest.approx(0.00630, rel=0.02)
    foot = surface.project(q)
    assert foot.valid.all() and np.abs(np.linalg.norm(foot.points, axis=1) - 1).max() < 1e-4


def test_projections_converge_to_the_sphere():
    """The implicit surface lies h^2 / R inside: order 2. The quadric's error is of fourth order."""
    sizes, implicit, quadric, tilt = [], [], [], []
    for count in (500, 2000, 8000):
        surface = ball(count)
        l = surface.spacing[0]
        q = near_ball(300, 0.5 * l)
        sizes.append(l)
        implicit.append(1 - np.linalg.norm(surface.project(q, "aa").points, axis=1).mean())
        assert implicit[-1] == pytest.approx(l * l, rel=0.03)
        foot = surface.project(q)
        quadric.append(np.abs(np.linalg.norm(foot.points, axis=1) - 1).max())
        tilt.append(np.linalg.norm(np.cross(foot.normals, foot.points), axis=1).max())
    assert slope(implicit, sizes) == pytest.approx(2.0, abs=0.1)
    assert slope(quadric, sizes) > 3.5
    assert slope(tilt, sizes) > 2.0
    assert quadric[0] < 7e-4 and quadric[1] < 5e-5


@pytest.mark.parametrize(("offset", "error"), [(0.5, 0.0011), (2.0, 0.0027), (3.0, 0.0042)])
def test_feet_on_an_ellipsoid(offset, error):
    """Queries straight above points of the surface come back to them: rms tangential error over h, at most twice the table."""
    surface = ellipsoid(6000)
    u = directions(300, 5)
    base, n = u * [2, 1, 1], u / [2, 1, 1]
    n = n / np.linalg.norm(n, axis=1, keepdims=True)
    h = surface.spacing[surface.nearest(base)][:, None]
    for method, step in (("mls", "simple"), ("aa", "almost orthogonal"), ("aa", "orthogonal")):
        foot = surface.project(base + offset * h * n, method, step)
        away = foot.points - base
        along = np.einsum("ij,ij->i", away, n)[:, None] * n
        assert foot.valid.all()
        assert np.sqrt(np.mean(((away - along) / h) ** 2) * 3) < 2.0 * error


def test_gradient_of_the_implicit_function_is_that_of_finite_differences():
    surface = ellipsoid(2000)
    h = float(np.median(surface.spacing))
    x = (directions(60, 2) * [2, 1, 1]) * np.random.default_rng(3).uniform(0.97, 1.03, (60, 1))
    _, gradient = surface.implicit(x, width=h)
    e = 1e-5 * h
    numeric = np.stack([(surface.implicit(x + e * d, width=h)[0] - surface.implicit(x - e * d, width=h)[0]) / (2 * e) for d in np.eye(3)], axis=1)
    good = np.abs(gradient - numeric).max(axis=1) < 1e-6  # a sample that enters or leaves the kernel in between spoils the difference
    assert good.mean() > 0.9


@pytest.mark.parametrize("step", STEPS)
def test_feet_are_roots_of_the_implicit_function(step):
    surface = ellipsoid(3000)
    foot = surface.project(directions(100, 4) * [2.02, 1.02, 1.02], "aa", step)
    f, _ = surface.implicit(foot.points)
    assert np.abs(f / surface.spacing[foot.sample]).max() < 2e-3 and np.median(np.abs(f / surface.spacing[foot.sample])) < 1e-6


def test_planes_are_reproduced_and_parabolas_by_quadrics():
    x = lattice(21, 0.1)
    plane = PointSurface(x, np.tile([0, 0, 1.0], (len(x), 1)), np.full(len(x), 0.01))
    q = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 3)) * [1, 1, 0.3]
    for method in ("mls", "aa"):
        foot = plane.project(q, method)
        assert np.allclose(foot.points, q * [1, 1, 0], atol=1e-12) and np.allclose(foot.distance, q[:, 2], atol=1e-12)
    top = np.zeros((1, 3))  # at the top of a paraboloid the plane lies level and the quadric is exact
    x[:, 2] = -0.5 * (x[:, 0] ** 2 + x[:, 1] ** 2)
    normals = np.stack([x[:, 0], x[:, 1], np.ones(len(x))], axis=1)
    foot = PointSurface(x, normals, np.full(len(x), 0.01)).project(top + [0, 0, 0.02])
    assert np.allclose(foot.points, top, atol=1e-12) and np.allclose(foot.normals, [[0, 0, 1]], atol=1e-12)


def test_feet_move_with_the_body_and_scale_with_it():
    surface = ellipsoid(1500)
    q = directions(200, 6) * [2.05, 0.97, 1.04]
    turn, shift = shapes.rotation(3), np.array([1.0, -2, 3])
    moved = PointSurface(2.0 * surface.points @ turn.T + shift, surface.normals @ turn.T, 4.0 * surface.areas)
    a, b = surface.project(q), moved.project(2.0 * q @ turn.T + shift)
    assert np.allclose(2.0 * a.points @ turn.T + shift, b.points, atol=1e-5) and np.allclose(2.0 * a.distance, b.distance, atol=1e-6)


@pytest.mark.parametrize("shape", [ellipsoid(1500), Exact("torus", (0.8, 0.25))])
def test_a_posed_shape_answers_in_world_coordinates(shape):
    turn, shift = shapes.rotation(3), np.array([1.0, -2, 3])
    q = directions(50, 6) * 1.1
    here, there = shape.project(q), Posed(shape, turn, shift).project(q @ turn.T + shift)
    assert np.allclose(here.points @ turn.T + shift, there.points, atol=1e-5)
    assert np.allclose(here.normals @ turn.T, there.normals, atol=1e-5) and np.allclose(here.distance, there.distance, atol=1e-6)
    assert np.allclose(shape.signed_distance(q), Posed(shape, turn, shift).signed_distance(q @ turn.T + shift), atol=1e-6)
    assert np.allclose(shape.winding(q), Posed(shape, turn, shift).winding(q @ turn.T + shift), atol=1e-9)


def test_a_warm_start_finds_the_same_feet():
    surface = ellipsoid(4000)
    q = directions(300, 7) * [2.01, 1.01, 1.01]
    first = surface.project(q)
    moved = q + 0.3 * surface.spacing.mean() * directions(300, 8)
    cold, warm = surface.project(moved), surface.project(moved, start=first.sample)
    assert np.abs(cold.points - warm.points).max() < 1e-4 * surface.spacing.mean()
    turn, shift = shapes.rotation(1), np.array([0.1, 0.2, 0.3])
    posed = Posed(surface, turn, shift).project(moved @ turn.T + shift, start=first.sample)
    assert np.allclose(warm.points @ turn.T + shift, posed.points, atol=1e-9)
    for wrong in (first.sample[:5], first.sample - len(surface)):
        with pytest.raises(PliantError, match="cannot start"):
            surface.project(q, start=wrong)


def test_a_warm_start_keeps_feet_on_their_sheet():
    """A point pushed through the middle of a plate stays with the side it came from."""
    x = np.concatenate([lattice(21, 0.1, 0.2), lattice(21, 0.1, -0.2)])
    plate = PointSurface(x, np.sign(x[:, 2:]) * [0, 0, 1], np.full(len(x), 0.01))
    sample = plate.project(np.array([[0.02, 0.03, 0.25]])).sample
    for z in (0.1, 0.0, -0.1):
        foot = plate.project(np.array([[0.02, 0.03, z]]), start=sample)
        sample = foot.sample
        assert foot.distance[0] == pytest.approx(z - 0.2, abs=1e-9)
    assert plate.project(np.array([[0.02, 0.03, -0.1]])).distance[0] == pytest.approx(-0.1, abs=1e-9)


def test_far_queries_find_their_foot_and_say_so():
    """From a twentieth of the radius around the centre to six radii away."""
    surface = ball(2000)
    u = directions(300, 9)
    r = np.random.default_rng(0).uniform(0.3, 6.0, (300, 1))
    foot = surface.project(u * r)
    assert foot.has(FAR)[np.abs(r[:, 0] - 1) > 4 * surface.spacing[0]].all()
    assert foot.valid.mean() > 0.99
    assert np.linalg.norm(foot.points - u, axis=1)[foot.valid].max() < 0.1 * surface.spacing[0]
    assert not surface.project(u * (1 + surface.spacing[0])).has(FAR).any()


def test_feet_in_a_hole_are_off_the_surface():
    surface = shapes.cap_removed(4000, 30)
    l = np.sqrt(4 * np.pi / 4000)
    polar = np.radians(np.linspace(0, 90, 181))
    q = 1.01 * np.stack([np.sin(polar), np.zeros(181), np.cos(polar)], axis=1)
    foot = surface.project(q)
    hole = polar < np.radians(30) - 2 * l
    assert not foot.valid[hole].any() and foot.has(OFF)[hole].all()
    assert foot.valid[polar > np.radians(30) + 1.0 * l].all()


def test_the_middle_between_two_parts_is_marked_on_demand():
    surface = ball(2000)
    x = np.concatenate([np.zeros((1, 3)), directions(50) * 0.6, directions(50) * 1.2])
    foot = surface.project(x, medial=True)
    assert foot.has(MEDIAL)[0] and not foot.has(MEDIAL)[1:].any()
    plates = np.concatenate([lattice(21, 0.1, 0.5), lattice(21, 0.1, -0.5)])
    slab = PointSurface(plates, plates * [0, 0, 1], np.full(len(plates), 0.01))
    q = np.array([[0.03, 0.02, 0.0], [0.03, 0.02, 0.3], [0.03, 0.02, -0.45]])
    assert np.array_equal(slab.project(q, medial=True).has(MEDIAL), [True, False, False])


def test_a_thin_sheet_has_two_sides():
    """Plates a third of a spacing apart: feet lie on the side of the nearest sample, marked as thin."""
    top, bottom = lattice(21, 0.1, 0.015), lattice(21, 0.1, -0.015) + [0.05, 0.05, 0]
    x = np.concatenate([top, bottom])
    sheet = PointSurface(x, np.sign(x[:, 2:]) * [0, 0, 1], np.full(len(x), 0.01))
    q = np.random.default_rng(1).uniform(-0.4, 0.4, (60, 3))
    q[:, 2] = np.repeat([0.1, -0.1], 30)
    foot = sheet.project(q)
    assert foot.has(THIN).all() and foot.valid.all()
    assert np.allclose(foot.points[:, 2], np.repeat([0.015, -0.015], 30), atol=1e-9)
    assert np.allclose(foot.distance, 0.085, atol=1e-9)


def test_few_samples_give_planes():
    corners = Surface(np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]), np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]))
    foot = from_mesh(corners).project(directions(10))
    assert foot.has(PLANE).all() and np.isfinite(foot.points).all()


def test_answers_do_not_depend_on_threads(monkeypatch):
    surface, q = ellipsoid(2000), directions(1000) * [2.01, 1.0, 1.02]
    answers = []
    for threads in ("1", str(numba.config.NUMBA_NUM_THREADS)):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        foot = surface.project(q)
        answers.append((foot.points, foot.normals, surface.winding(q), surface.signed_distance(q)))
    for a, b in zip(*answers, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("surface", [ball(300), ball(300).moved(fibonacci(300))])
def test_no_queries_are_fine_and_queries_that_are_not_numbers_are_refused(surface):
    none, bad = np.zeros((0, 3)), np.array([[0, 0, 1.0], [np.nan, 0, 0]])
    assert len(surface.project(none, medial=True).points) == len(surface.signed_distance(none)) == len(surface.winding(none)) == 0
    for ask in (surface.project, surface.signed_distance, surface.fast_distance, surface.winding, surface.implicit):
        with pytest.raises(PliantError, match="query 1"):
            ask(bad)


def test_unknown_methods_are_refused():
    with pytest.raises(PliantError, match="mls, rounded, aa"):
        ball(100).project(np.zeros((1, 3)), "nearest")


def test_samples_that_moved_answer_like_a_new_surface():
    """Neighbours are kept, the search goes through a grid, spheres are refitted."""
    surface = ball(1500)
    assert len(surface.spheres.left) > 1
    stretched = surface.points * [1.2, 1.0, 0.9]
    normals = surface.points / [1.2, 1.0, 0.9]
    moved, new = surface.moved(stretched, normals), PointSurface(stretched, normals, surface.areas)
    q = directions(100, 11) * [1.22, 1.01, 0.88]
    assert np.array_equal(moved.nearest(q), new.nearest(q))
    assert np.abs(moved.project(q).points - new.project(q).points).max() < 1e-3 * surface.spacing[0]
    assert np.allclose(moved.winding(1.2 * q), new.winding(1.2 * q), atol=1e-12)


# Side and distance ----------------------------------------------------------------------------------------------------


def test_Q20_winding_number():
    surface = ball(4000)
    l, u = surface.spacing[0], directions(200)
    for r in (0.0, 0.5, 1 - 2 * l):
        assert surface.winding(r * u) == pytest.approx(1.0, abs=1e-3)
    for r in (1 + 2 * l, 2.0, 5.0):
        assert surface.winding(r * u) == pytest.approx(0.0, abs=1e-3)
    assert shapes.cap_removed(4000, 30).winding(np.zeros((1, 3)))[0] == pytest.approx((1 + np.cos(np.radians(30))) / 2, abs=1e-3)


def test_clusters_wind_like_their_samples():
    surface = ellipsoid(6000)
    q = np.concatenate([directions(300) * [2.1, 1.1, 1.1], directions(300, 1) * [1.9, 0.9, 0.9], directions(100, 2) * 9])
    exact = surface.winding(q, np.inf)
    errors = [np.abs(surface.winding(q, opening) - exact).max() for opening in (2.0, OPEN)]
    assert errors[1] < 1e-3 and errors[1] < errors[0] / 4


def test_winding_number_is_the_sum_over_samples():
    surface, q = ellipsoid(300), directions(20) * 1.5
    r = surface.points - q[:, None]
    terms = surface.areas * np.einsum("ijk,jk->ij", r, surface.normals) / np.linalg.norm(r, axis=2) ** 3
    assert np.allclose(surface.winding(q), terms.sum(axis=1) / (4 * np.pi), rtol=1e-12)


def test_signed_distance_converges():
    """Planes of nearest samples: order 2; projection: order 4 near the surface."""
    fast, accurate, sizes = [], [], []
    for count in (500, 2000, 8000):
        surface = ball(count)
        sizes.append(surface.spacing[0])
        q = near_ball(400, 0.5 * surface.spacing[0], 3)
        true = np.linalg.norm(q, axis=1) - 1
        fast.append(np.abs(surface.fast_distance(q) - true).max())
        accurate.append(np.abs(surface.signed_distance(q) - true).max())
    assert slope(fast, sizes) == pytest.approx(2.0, abs=0.3)
    assert slope(accurate, sizes) > 3.5


def test_sign_and_length_of_the_distance_agree():
    surface = ellipsoid(4000)
    q = directions(400, 3) * [2, 1, 1] * np.random.default_rng(2).uniform(0.9, 1.1, (400, 1))
    foot = surface.project(q)
    length = np.linalg.norm(q - foot.points, axis=1)
    clear = length > 0.1 * surface.spacing[foot.sample]
    assert np.abs(np.abs(foot.distance) / length - 1)[clear].max() < 0.05
    inside = (q**2 / [4, 1, 1]).sum(axis=1) < 1
    assert ((foot.distance < 0) == inside)[clear].all()


def test_far_distances_keep_their_side_in_spite_of_a_hole():
    """Below a hole of 30 degrees and above it: the foot is in the hole, the winding number still knows the side."""
    surface = shapes.cap_removed(4000, 30)
    d = surface.signed_distance(np.array([[0, 0, 0.3], [0, 0, 1.8], [0, 0, -0.5], [0, 0, -1.5]]))
    assert np.array_equal(np.sign(d), [-1, 1, -1, 1])
    assert d[2:] == pytest.approx([-0.5, 0.5], abs=1e-3)
    rim = np.array([np.sin(np.radians(30)), np.cos(np.radians(30))])
    assert -d[0] == pytest.approx(np.hypot(rim[0], rim[1] - 0.3), abs=0.02) or -d[0] == pytest.approx(0.7, abs=0.02)


def test_a_sampled_box_knows_its_inside():
    """Sharp edges: beyond two spacings every side is right, nearer all but a few per cent along the edges."""
    half = np.array([0.5, 0.4, 0.6])
    i, j, k = np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")
    corners = np.stack([i, j, k], axis=-1).reshape(-1, 3) * half
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])
    surface = from_mesh(Surface(corners, faces), spacing=0.05)
    q = np.random.default_rng(0).uniform(-0.9, 0.9, (3000, 3))
    true = Exact("box", tuple(half)).signed_distance(q)
    found = surface.signed_distance(q)
    far = np.abs(true) > 0.1
    assert ((found < 0) == (true < 0))[far].all()
    assert ((found < 0) == (true < 0)).mean() > 0.99
    foot = Exact("box", tuple(half)).project(q).points
    flat = (np.sort(half - np.abs(foot), axis=1)[:, 1] > 0.2) & (np.abs(true) < 0.1)  # far from edges
    assert flat.sum() > 50 and np.abs(found - true)[flat].max() < 1e-9
    assert np.abs(np.abs(found) - np.abs(true)).max() < 1.5 * 0.05


@pytest.mark.parametrize("spacing", [None, 0.05])
def test_flat_sides_are_flat_up_to_their_edges(spacing):
    """A fit over both sides bulged by a tenth of a spacing beside an edge and rounded it. Samples on vertices lie on edges, others do not."""
    half = np.array([0.5, 0.4, 0.6])
    surface = from_mesh(make("box", size=tuple(2 * half), edge=0.05).surface(), spacing=spacing)
    exact = Exact("box", tuple(half))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, 3)) * (half + 0.1)
    q = q[(np.abs(exact.signed_distance(q)) < 0.1) & ((np.abs(q) > half).sum(axis=1) < 3)]  # corners have an edge of two sides
    found, true = surface.project(q), exact.project(q)
    assert np.abs(found.distance - true.distance).max() < 1e-12 and found.valid.mean() > 0.99
    assert np.abs(found.points - true.points)[np.abs(q / half).max(axis=1) > 1.0].max() < 1e-12  # inside, two feet may be as near
    assert np.array_equal(surface.moved(surface.points).project(q).distance, found.distance)


def test_the_foot_of_a_query_in_an_inner_edge_is_on_it():
    """An L, pulled along z: beside its inner edge at (1/2, 1/2) the solid is the union of two sides."""
    p = np.array([(0, 0), (1, 0), (1, 0.5), (0.5, 0.5), (0.5, 1), (0, 1)], float)
    points = np.vstack([np.column_stack([p, np.full(6, z)]) for z in (0.0, 1.0)])
    walls = [f for i, j in ((i, (i + 1) % 6) for i in range(6)) for f in ([i, j, 6 + j], [i, 6 + j, 6 + i])]
    caps = [f for k in range(1, 5) for f in ([0, k + 1, k], [6, 6 + k, 7 + k])]
    surface = from_mesh(Surface(points, np.array(walls + caps)), spacing=0.05)
    q = np.random.default_rng(0).uniform([0.42, 0.42, 0.3], [0.58, 0.58, 0.7], (1000, 3))
    u, v = q[:, 0] - 0.5, q[:, 1] - 0.5
    true = np.where(np.maximum(u, v) < 0.0, -np.hypot(u, v), np.minimum(u, v))
    found = surface.project(q)
    assert np.abs(found.distance - true).max() < 1e-12 and found.valid.all()


def test_round_walls_end_at_their_edges():
    """A cylinder of ten samples a radius: beside its rim the wall is fitted by its own samples alone."""
    surface = from_mesh(make("cylinder", radius=0.3, height=0.6, edge=0.03).surface())
    q = np.random.default_rng(0).uniform(-0.33, 0.33, (6000, 3))
    wall, end = np.hypot(q[:, 0], q[:, 1]) - 0.3, np.abs(q[:, 2]) - 0.3
    beside = (wall < 0.0) & (end < 0.0) & (np.maximum(wall, end) > -0.03) & (np.hypot(wall, end) < 0.09)
    error = np.abs(surface.project(q[beside]).distance - np.maximum(wall, end)[beside]) / 0.03
    assert np.quantile(error, 0.9) < 0.02 and error.max() < 0.2


@pytest.mark.parametrize("edge", [0.3, 0.25, 0.1])
def test_edges_of_coarse_boxes_are_seen(edge):
    """From four samples a side on."""
    surface = from_mesh(make("box", size=(1.0, 1.0, 1.0), edge=edge).surface())
    inner = 0.5 - np.abs(surface.points - surface.points.mean(axis=0))
    on = np.count_nonzero(inner < 1e-9, axis=1) > 1
    assert surface.sharp[on].all() and (surface.creases.sides[on, 1] >= 0).all()


def test_a_thin_wall_ends_at_its_top():
    """Two spacings thick, so that its top has one row of samples, too few for a side. Its walls went on beyond it as if it were not there:
    a point 0.8 spacings above the middle of the top counted as one spacing inside."""
    l, x, z = 0.1, *(0.1 * g.ravel() for g in np.meshgrid(np.arange(-10, 11), np.arange(-9, 1), indexing="ij"))
    walls = [np.column_stack([x, np.full(len(x), side), z]) for side in (-l, l)]
    facing = [np.column_stack([0 * x, np.full(len(x), np.sign(side)), z == 0]) for side in (-l, l)]
    points = np.concatenate([*walls, np.column_stack([0.1 * np.arange(-10, 11), np.zeros((21, 2))])])
    surface = PointSurface(points, np.concatenate([*facing, np.tile([0.0, 0.0, 1.0], (21, 1))]), np.full(len(points), l * l))
    y, h = (g.ravel() for g in np.meshgrid(np.linspace(-0.14, 0.14, 15), np.linspace(-0.09, 0.09, 10)))
    found = surface.project(np.column_stack([np.full(len(y), 0.03), y, h]))
    true = np.where((h > 0) & (np.abs(y) > l), np.hypot(np.abs(y) - l, h), np.maximum(np.abs(y) - l, h))
    assert found.valid.all() and (np.abs(found.distance - true) < 0.077 * np.abs(true) + 1e-9).all()  # 1 - cos 22.5°: planes before an edge make a bevel of it


def test_noise_makes_no_edges_and_hides_none():
    """Normals of a ball's triangles that are scattered by 0.3 spacings propose edges; samples do not bear them out. Those of a box that is
    scattered by a tenth are found: a fixed angle between normals would take both or none."""
    rng, ball = np.random.default_rng(0), make("ball", radius=1.0, edge=0.1).surface()
    rough = from_mesh(Surface(ball.points + 0.03 * rng.normal(size=ball.points.shape), ball.faces))
    assert np.count_nonzero(_proposed(rough.points, rough.normals, rough.graph).sharp) > 100
    assert np.count_nonzero(rough.sharp) < 0.05 * len(rough)
    box = from_mesh(make("box", size=(1.0, 1.0, 1.0), edge=0.1).surface(), spacing=0.05)
    noisy = PointSurface(box.points + 0.005 * rng.normal(size=box.points.shape), box.normals, box.areas)
    assert np.count_nonzero(noisy.sharp) > 0.85 * np.count_nonzero(box.sharp) > 500


def test_the_published_surface_goes_round_its_edges():
    surface = from_mesh(make("box", size=(1.0, 1.0, 1.0), edge=0.1).surface())
    top, middle = surface.points.max(axis=0), surface.points.mean(axis=0)
    beside = np.array([[middle[0], top[1] - 0.1, top[2]]])  # on the face, a spacing from its edge
    assert abs(surface.project(beside).distance[0]) < 1e-12
    assert 0.003 < abs(surface.project(beside, method="rounded").distance[0]) < 0.02


@pytest.mark.parametrize("shape", EXACT, ids=lambda s: s.kind)
def test_exact_shapes_answer_the_same_queries(shape):
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (300, 3))
    foot = shape.project(q)
    assert foot.valid.all()
    assert np.allclose(shape.signed_distance(foot.points), 0, atol=1e-12)
    assert np.allclose(np.linalg.norm(q - foot.points, axis=1), np.abs(foot.distance), atol=1e-12)
    assert np.array_equal(shape.winding(q), np.where(foot.distance < 0, 1.0, 0.0))
    e = 1e-6
    gradient = np.stack([(shape.signed_distance(q + e * d) - shape.signed_distance(q - e * d)) / (2 * e) for d in np.eye(3)], axis=1)
    assert (np.abs(gradient - foot.normals).max(axis=1) < 1e-5).mean() > 0.98  # kinks aside


def test_wrong_sizes_of_exact_shapes_are_refused():
    for wrong in (("ball", ()), ("ball", (-1.0,)), ("box", (1.0, 2.0)), ("cone", (1.0,))):
        with pytest.raises(PliantError):
            Exact(*wrong)


def test_a_sampled_torus_answers_like_the_exact_one():
    mesh = torus(0.8, 0.25, 0.05).surface()
    surface = from_mesh(mesh)
    q = mesh.points[::7] + 0.02 * directions(len(mesh.points[::7]))
    exact = Exact("torus", (0.8, 0.25))
    sampled = surface.project(q)
    assert sampled.valid.all()
    assert np.abs(sampled.distance - exact.signed_distance(q)).max() < 2e-3


# Clusters and active samples ------------------------------------------------------------------------------------------


def test_clusters_of_a_ball_are_as_the_table_says():
    surface = ball(20000)
    for size, count, ratio, inside in ((8, 3710, 0.53, 0.0005), (32, 970, 0.67, 0.0028), (128, 242, 0.73, 0.0132)):
        level = surface.level(size)
        assert len(level.nodes) == pytest.approx(count, rel=0.01)
        assert (level.radius / np.sqrt(level.areas)).mean() == pytest.approx(ratio, abs=0.01)
        assert 1 - np.linalg.norm(surface.spheres.centre[level.nodes], axis=1).mean() == pytest.approx(inside, rel=0.08)
        assert np.abs(np.linalg.norm(level.points, axis=1) - 1).max() < 1e-5  # representatives are on the surface
        assert level.areas.sum() == pytest.approx(4 * np.pi, rel=1e-10)
        assert np.array_equal(np.sort(level.samples), np.arange(20000))
        assert np.diff(level.start).max() <= size


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 300), st.booleans())
def test_spheres_hold_their_samples_and_refitted_ones_their_children(seed, count, flat):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)) * ([1, 1, 0] if flat else 1)
    tree = Spheres.build(x)
    for t, points in ((tree, x), (tree.refitted(2 * x[:, [1, 0, 2]]), 2 * x[:, [1, 0, 2]])):
        start, samples = t.members(np.arange(len(t.left)))
        row = np.repeat(np.arange(len(t.left)), np.diff(start))
        assert (np.linalg.norm(points[samples] - t.centre[row], axis=1) <= t.radius[row] * (1 + 1e-9) + 1e-12).all()
    assert np.array_equal(np.sort(tree.order), np.arange(count))
    assert ((tree.end - tree.begin)[tree.left < 0] <= 8).all()


def test_a_cluster_that_wraps_around_is_not_kept_whole():
    """The surface variation of a whole ball is 1/3: no plane stands for it."""
    assert len(Spheres.build(fibonacci(64)).cut(64)) > 1


def test_equal_points_end_in_small_clusters():
    tree = Spheres.build(np.zeros((100, 3)))
    assert ((tree.end - tree.begin)[tree.left < 0] <= 8).all()


def brute_active(a, b, reach, turn, shift, margin):
    x = a.points @ turn.T + shift
    d = np.linalg.norm(x[:, None] - b.points, axis=2)
    nearest = d.argmin(axis=1)
    side = np.einsum("ij,ij->i", x - b.points[nearest], b.normals[nearest])
    return np.flatnonzero((side < margin) & (d.min(axis=1) <= reach))


BODY, OTHER = ellipsoid(700), from_mesh(torus(0.8, 0.25, 0.12).surface())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 0.6), st.sampled_from([0.0, 0.05]))
def test_active_samples_are_those_of_brute_force(seed, reach, margin):
    turn, shift = shapes.rotation(seed), np.random.default_rng(seed).uniform(-1.5, 1.5, 3)
    for a, b in ((BODY, OTHER), (OTHER, BODY)):
        found = active_samples(a, b, reach, rotation=turn, translation=shift, margin=margin)
        assert np.array_equal(found.sample, brute_active(a, b, reach, turn, shift, margin))
        x = a.points[found.sample] @ turn.T + shift
        assert np.allclose(found.distance, np.einsum("ij,ij->i", x - b.points[found.nearest], b.normals[found.nearest]), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(EXACT), st.sampled_from([0.0, 0.05]))
def test_active_samples_against_exact_shapes_are_those_of_brute_force(seed, shape, margin):
    turn, shift = shapes.rotation(seed), np.random.default_rng(seed).uniform(-1.5, 1.5, 3)
    found = active_against_exact(BODY, shape, rotation=turn, translation=shift, margin=margin)
    true = shape.signed_distance(BODY.points @ turn.T + shift)
    assert np.array_equal(found.sample, np.flatnonzero(true < margin))
    assert np.allclose(found.distance, true[found.sample], atol=1e-12)


def test_few_samples_are_looked_at():
    """A ball on a plane: work follows the number of active samples, not of all."""
    surface = ball(20000)
    found = active_against_exact(surface, Exact("plane"), translation=np.array([0, 0, 0.999]))
    assert len(found.sample) == (surface.points[:, 2] < -0.999).sum() and found.looked < 400
    assert len(active_samples(surface, surface, 0.1, translation=np.array([0, 0, 5.0])).sample) == 0
