"""Point surfaces as they are made: neighbours, areas, normals, rims; from meshes and from raw scans."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.contact.elastic import Boussinesq, Side, resolve
from pliant.detect.hash_grid import HashGrid
from pliant.detect.surfels import Exact, PointSurface, from_cloud, from_mesh
from pliant.detect.surfels.areas import estimated_areas, gaussian_areas, irregularity, neighbour_areas, own_side
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.scan_normals import oriented, principal_normals
from pliant.geometry.files import PointCloud
from pliant.geometry.mass import nearest_areas
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.solids import torus

spec = importlib.util.spec_from_file_location("surfel_shapes", Path(__file__).with_name("surfel_shapes.py"))
shapes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shapes)
fibonacci, ball, lattice, directions = shapes.fibonacci, shapes.ball, shapes.lattice, shapes.directions


def around(points, k=52):
    return KDTree(points).nearest(points, k)[1]


def random_sphere(count, seed=0):
    return directions(count, seed)


# Neighbours -----------------------------------------------------------------------------------------------------------


def brute_nearest(points, queries, k):
    d = np.sqrt(((queries[:, None] - points) ** 2).sum(axis=2))
    return np.sort(d, axis=1)[:, :k]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 120), st.booleans(), st.integers(1, 20), st.floats(0.01, 3.0))
def test_grid_and_tree_return_the_same_neighbours(seed, count, regular, k, radius):
    """Also where many are equally far, as on a lattice; and what brute force returns."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (count, 3)).astype(float) if regular else rng.normal(size=(count, 3))
    queries = np.concatenate([points[:5], rng.normal(size=(10, 3)) * 3, [[50.0, 0, 0]]])
    tree, grid, k = KDTree(points), HashGrid(points), min(k, count)
    for a, b in zip(tree.nearest(queries, k), grid.nearest(queries, k), strict=True):
        assert np.array_equal(a, b)
    assert np.allclose(grid.nearest(queries, k)[0], brute_nearest(points, queries, k), rtol=1e-14, atol=0)
    start, found = tree.within(queries, radius)
    for a, b in zip((start, found), grid.within(queries, radius), strict=True):
        assert np.array_equal(a, b)
    inside = ((queries[:, None] - points) ** 2).sum(axis=2) <= radius**2
    row = np.repeat(np.arange(len(queries)), np.diff(start))
    assert abs(int(inside.sum()) - len(found)) <= 2 and inside[row, found].mean() > 0.99 if len(found) else not inside.any()


def test_too_many_neighbours_are_refused():
    with pytest.raises(PliantError, match="1 to 4"):
        KDTree(np.eye(4, 3)).nearest(np.zeros((1, 3)), 5)


# Areas ----------------------------------------------------------------------------------------------------------------


def test_Q21_area_estimators_on_a_regular_sphere():
    x = fibonacci(4000)
    d = own_side(x, x, around(x))
    gauss = gaussian_areas(d)
    assert gauss.sum() / (4 * np.pi) == pytest.approx(1.0001, abs=0.002)
    assert gauss.std() / gauss.mean() < 0.001
    for k, ratio in ((6, 0.932), (8, 0.973), (10, 1.184), (16, 0.970), (24, 1.088)):
        assert neighbour_areas(d, k).sum() / (4 * np.pi) == pytest.approx(ratio, abs=0.002)


def test_areas_of_random_samples_use_neighbours():
    """Gaussian density is 11 % low there; the average over k = 6 ... 16 is within 1 %."""
    x = random_sphere(4000)
    graph = around(x)
    d = own_side(x, x, graph)
    assert irregularity(d) == pytest.approx(np.sqrt(4 / np.pi - 1), abs=0.02)  # nearest neighbour of a Poisson process in the plane
    assert gaussian_areas(d).sum() / (4 * np.pi) == pytest.approx(0.889, abs=0.01)
    assert estimated_areas(d, graph).sum() / (4 * np.pi) == pytest.approx(1.0, abs=0.01)
    assert estimated_areas(d, graph, total=4 * np.pi).sum() == pytest.approx(4 * np.pi, rel=1e-14)


def test_areas_of_samples_four_times_as_dense_on_one_half_add_up():
    """Areas beside the seam are large because samples are sparse there: bounded by twice the median around, 2.1 % of the sphere was missing."""
    x = np.random.default_rng(5).standard_normal((6000, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    kept = (x[:, 2] > 0) | (np.random.default_rng(6).random(6000) < 0.25)
    assert from_cloud(x[kept], drop_outliers=False).areas.sum() / (4 * np.pi) == pytest.approx(1.0, abs=0.019)


def test_areas_scale_with_the_square_of_length_and_ignore_motion():
    x = fibonacci(500)
    moved = 3.0 * x @ shapes.rotation(1).T + [1, 2, 3]
    a, b = from_cloud(x), from_cloud(moved)
    assert np.allclose(9.0 * a.areas, b.areas, rtol=1e-9)
    assert np.allclose(a.normals @ shapes.rotation(1).T, b.normals, atol=1e-9)


def test_areas_at_a_rim_are_clipped():
    """A square of 31 x 31 samples: density is one-sided at the rim, yet each sample gets its cell."""
    x = lattice(31, 0.1)
    made = from_cloud(x, drop_outliers=False)
    inner = (np.abs(x[:, :2]) < 1.0).all(axis=1)
    assert np.allclose(made.areas[inner], 0.01, rtol=0.01)
    assert made.areas.max() < 0.0125
    assert made.area == pytest.approx(9.61, rel=0.02)


def test_a_thin_sheet_has_two_sides_of_full_area():
    """Plates a third of a spacing apart: density would count both."""
    top, bottom = lattice(21, 0.1, 0.015), lattice(21, 0.1, -0.015)
    normals = np.repeat([[0, 0, 1.0], [0, 0, -1.0]], len(top), axis=0)
    made = from_cloud(PointCloud(np.concatenate([top, bottom]), normals))
    inner = (np.abs(made.points[:, :2]) < 0.5).all(axis=1)
    assert np.allclose(made.areas[inner], 0.01, rtol=0.02)


# Normals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "k", "mean", "most"),
    [(0.0, 8, 0.56, 0.91), (0.0, 16, 0.36, 0.85), (0.0, 32, 0.32, 0.92), (0.1, 8, 3.5, 11), (0.1, 16, 1.7, 5.4), (0.1, 32, 0.88, 2.9), (0.3, 16, 5.2, 18), (0.3, 32, 2.5, 7.8)],
)
def test_principal_normals_are_as_good_as_the_table_says(noise, k, mean, most):
    x = fibonacci(4000)
    l = np.sqrt(4 * np.pi / 4000)
    noisy = x + noise * l * np.random.default_rng(0).normal(size=x.shape)
    n, variation = principal_normals(noisy, around(noisy), k)
    error = np.degrees(np.arccos(np.clip(np.abs(np.einsum("ij,ij->i", n, x)), 0, 1)))
    assert error.mean() == pytest.approx(mean, rel=0.15)
    assert error.max() < 1.5 * most
    assert (variation >= 0).all() and variation.max() <= 1 / 3


def test_orientation_turns_no_normal_the_wrong_way():
    x = fibonacci(4000)
    graph = around(x)
    n, _ = principal_normals(x, graph)
    out, notes = oriented(x, n * np.random.default_rng(0).choice([-1, 1], (4000, 1)), graph, np.full(4000, 4 * np.pi / 4000))
    assert (np.einsum("ij,ij->i", out, x) > 0).all() and not notes


def test_normals_against_their_neighbours_are_suspect():
    x = fibonacci(500)
    wrong = x.copy()
    wrong[[7, 300]] *= -1
    surface = PointSurface(x, wrong, np.full(500, 4 * np.pi / 500))
    assert np.array_equal(np.flatnonzero(surface.suspect), [7, 300])


def test_each_part_is_turned_outwards():
    x = np.concatenate([fibonacci(600), 0.5 * fibonacci(500) + [3, 0, 0]])
    made = from_cloud(x)
    assert (np.einsum("ij,ij->i", made.normals[:600], x[:600]) > 0).all()
    assert (np.einsum("ij,ij->i", made.normals[600:], x[600:] - [3, 0, 0]) > 0).all()
    assert made.volume == pytest.approx(4 / 3 * np.pi * (1 + 0.125), rel=0.03)


def test_a_flat_patch_faces_up_and_says_so_or_faces_the_scanner():
    x = lattice(15, 0.1)
    made = from_cloud(x)
    assert (made.normals[:, 2] > 0.999).all() and "guess" in made.notes[0]
    seen = from_cloud(x, view=np.array([0.0, 0, -5]))
    assert (seen.normals[:, 2] < -0.999).all() and not seen.notes


def test_creases_and_thin_parts_are_crossed():
    """A plate of 1.6 spacings with round edges: its sides face apart although each is the other's nearest neighbour."""
    ring = torus(1.0, 0.3, 0.08).surface().points
    plate = ring * [1, 1, 0.3]
    made = from_cloud(plate)
    radial = np.linalg.norm(plate[:, :2], axis=1)
    true = np.stack([(radial - 1) * plate[:, 0] / radial, (radial - 1) * plate[:, 1] / radial, plate[:, 2] / 0.09], axis=1)
    assert (np.einsum("ij,ij->i", made.normals, true) > 0).mean() > 0.995


def test_rims_are_the_samples_at_the_edge():
    """A hemisphere: samples within a spacing of the equator are on its rim, and no others; a closed ball has none."""
    x = fibonacci(4000)
    half = x[x[:, 2] > 0]
    l = np.sqrt(4 * np.pi / 4000)
    made = PointSurface(half, half, np.full(len(half), l * l))
    assert made.rim[half[:, 2] < 0.25 * l].all()
    assert not made.rim[half[:, 2] > 1.5 * l].any()
    assert made._rims[1][made.rim][:, 2].max() < -0.5  # they point off the surface
    assert not ball(2000).rim.any()


# From clouds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn, same", [(0.0, True), (90.0, True), (100.0, True), (120.0, False), (180.0, False)])
def test_a_sheet_goes_on_round_a_right_angle_and_ends_where_it_turns_back(turn, same):
    points, angle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.radians(turn)
    normals = np.array([[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]])
    assert np.isfinite(own_side(points, normals, np.array([[0, 1], [1, 0]]))).all() == same


@pytest.mark.parametrize("height, sure", [(0.02, False), (0.04, False), (0.08, True), (0.5, True)])
def test_a_dome_encloses_something_from_a_twentieth_of_its_radius_on(height, sure):
    """Volume over area^1.5 of a paraboloid is 0.19 height / radius, 0.0075 and 0.015 for the two in between."""
    u, angle = (np.arange(800) + 0.5) / 800, np.pi * (3.0 - np.sqrt(5.0)) * np.arange(800)
    points = np.stack([np.sqrt(u) * np.cos(angle), np.sqrt(u) * np.sin(angle), height * (1.0 - u)], axis=1)
    slope = np.stack([2.0 * height * points[:, 0], 2.0 * height * points[:, 1], np.ones(800)], axis=1)
    size = np.linalg.norm(slope, axis=1)
    normals, notes = oriented(points, slope / size[:, None], KDTree(points).nearest(points, 20)[1], np.pi / 800 * size)
    assert (normals[:, 2] > 0.0).all() and bool(notes) == (not sure)


def test_repeats_are_merged_and_outliers_left_out():
    x = fibonacci(1000)
    far = 2.0 * directions(5, 3)
    cloud = np.concatenate([x, x[:20] + 1e-11, far])
    made = from_cloud(cloud)
    assert len(made) == 1000 and np.array_equal(made.source, np.arange(1000))
    assert "20 points lie on others" in made.notes[0] and "5 points lie far" in made.notes[1]
    assert len(from_cloud(cloud, drop_outliers=False)) == 1005


def test_sparse_parts_are_not_outliers():
    """Half a ball with 4 times fewer samples than the other."""
    dense, sparse = fibonacci(4000), fibonacci(1000)
    x = np.concatenate([dense[dense[:, 2] > 0], sparse[sparse[:, 2] <= 0]])
    assert len(from_cloud(x)) == len(x)


def test_smoothing_takes_noise_away():
    x = fibonacci(3000)
    l = np.sqrt(4 * np.pi / 3000)
    noisy = x * (1 + 0.2 * l * np.random.default_rng(0).normal(size=(3000, 1)))
    rough, smooth = from_cloud(noisy), from_cloud(noisy, smooth=True)
    scatter = [np.std(np.linalg.norm(s.points, axis=1)) / l for s in (rough, smooth)]
    assert scatter[0] == pytest.approx(0.2, rel=0.1) and scatter[1] < 0.08
    assert shapes.degrees_between(smooth.normals, x).mean() < shapes.degrees_between(rough.normals, x).mean()


def test_a_thick_cloud_becomes_a_thin_surface():
    """Noise twice the spacing."""
    x = random_sphere(12000)
    l = np.sqrt(4 * np.pi / 12000)
    made = from_cloud(x * (1 + 2.0 * l * np.random.default_rng(1).normal(size=(12000, 1))))
    radius = np.linalg.norm(made.points, axis=1)
    assert len(made) > 300 and np.std(radius) < 0.3 * l and abs(radius.mean() - 1) < 0.6 * l
    assert (np.einsum("ij,ij->i", made.normals, made.points) > 0).all()
    assert "average" in made.notes[-1]


def test_points_that_fill_a_ball_give_its_skin():
    x = lattice(17, 0.125)[:, :2]
    grid = np.array([[a, b, z] for a, b in x for z in np.arange(-1, 1.01, 0.125)])
    made = from_cloud(grid[np.linalg.norm(grid, axis=1) < 1] + 1e-3 * np.random.default_rng(0).normal(size=(int((np.linalg.norm(grid, axis=1) < 1).sum()), 3)))
    assert np.linalg.norm(made.points, axis=1).min() > 0.75
    assert (np.einsum("ij,ij->i", made.normals, made.points) > 0).all()
    assert "fill a body" in made.notes[0]


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (np.zeros((0, 3)), "0 different points"),
        (np.eye(3), "3 different points"),
        (np.zeros((9, 3)), "1 different points"),
        (np.outer(np.arange(9), [1, 2, 3]), "one line"),
        (np.full((5, 3), np.nan), "not numbers"),
    ],
)
def test_what_is_no_surface_is_refused(points, reason):
    with pytest.raises(PliantError, match=reason):
        from_cloud(np.asarray(points, float))


def test_normals_without_direction_are_refused():
    with pytest.raises(PliantError, match="no direction"):
        from_cloud(PointCloud(fibonacci(50), np.zeros((50, 3))))


# From meshes ----------------------------------------------------------------------------------------------------------


def test_vertices_of_a_mesh_carry_its_area_and_volume():
    mesh = torus(1.0, 0.4, 0.08).surface()
    made = from_mesh(mesh)
    a, b, c = np.moveaxis(mesh.points[mesh.faces], 1, 0)
    assert made.area == pytest.approx(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum(), rel=1e-12)
    assert made.volume == pytest.approx(2 * np.pi**2 * 0.16, rel=0.02)


def test_loose_triangles_are_joined_and_unused_vertices_left_out():
    mesh = torus(1.0, 0.4, 0.15).surface()
    loose = Surface(np.concatenate([mesh.points[mesh.faces].reshape(-1, 3), [[9.0, 9, 9]]]), np.arange(3 * len(mesh.faces)).reshape(-1, 3))
    made = from_mesh(loose)
    order = np.lexsort(mesh.points.T), np.lexsort(made.points.T)
    assert np.array_equal(mesh.points[order[0]], made.points[order[1]])
    assert np.allclose(from_mesh(mesh).normals[order[0]], made.normals[order[1]], atol=1e-12)
    assert np.array_equal(loose.points[made.source], made.points)


def test_a_surface_inside_out_is_turned_round():
    mesh = torus(1.0, 0.4, 0.15).surface()
    assert from_mesh(Surface(mesh.points, mesh.faces[:, ::-1])).volume == pytest.approx(from_mesh(mesh).volume, rel=1e-12)


CUBE = Surface(
    np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)], float),
    np.array([[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]),
)


def test_faces_are_sampled_evenly():
    """A cube of twelve triangles, every 0.05: areas are exact, samples are neither closer than announced nor far apart."""
    made = from_mesh(CUBE, spacing=0.05)
    assert made.area == pytest.approx(6.0, rel=1e-12)
    assert made.volume == pytest.approx(1.0, rel=0.02)
    assert 0.7 < len(made) * 0.05**2 / 6.0 < 1.6
    nearest, index = KDTree(made.points).nearest(made.points, 2)
    same_side = np.einsum("ij,ij->i", made.normals, made.normals[index[:, 1]]) > 0.5
    assert nearest[same_side, 1].min() >= 0.75 * 0.05 * (1 - 1e-9) and nearest[:, 1].max() < 0.05 * 1.3
    assert made.areas.max() < 4 * made.areas.mean() and made.areas.min() > made.areas.mean() / 6
    with pytest.raises(PliantError, match="more than zero"):
        from_mesh(CUBE, spacing=0.0)


def test_faces_that_cancel_are_refused_with_the_reason():
    both = Surface(CUBE.points, np.concatenate([CUBE.faces, CUBE.faces[:, ::-1]]))
    with pytest.raises(PliantError, match="opposite ways"):
        from_mesh(both)


def test_areas_of_vertices_are_what_is_nearest_to_them():
    """On a lattice of squares the same everywhere, however they are cut; thirds were 2/3 to 4/3 of it, and a coarse punch lost 5.3 % of its area."""
    surface = make("box", size=(0.1, 0.1, 0.1), edge=0.02).surface()
    made = from_mesh(surface)
    inner = (np.abs(made.points) < 0.049).sum(axis=1) == 2  # not on edges
    assert inner.sum() > 50 and np.allclose(made.areas[inner], 4e-4, rtol=1e-9) and made.areas.sum() == pytest.approx(0.06, rel=1e-12)
    obtuse = nearest_areas(np.array([[0.0, 0, 0], [4, 0, 0], [2, 0.5, 0]]), np.array([[0, 1, 2]]))
    assert np.allclose(obtuse, [0.25, 0.25, 0.5])
    found = resolve(Side(made, Boussinesq(1.0), translation=np.array([0.0, 0.0, 0.0495])), Side(Exact("plane")))
    assert found.area == pytest.approx(0.01, rel=1e-9)
