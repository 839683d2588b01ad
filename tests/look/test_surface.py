"""Shading, discs, shadows and the camera, as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.geometry import solids
from pliant.look.source import Picture
from pliant.look.stage import Camera, Floor, containers, extremes, framed, scattered, seen_from
from pliant.look.surface import COVER, Shading, face_normals, with_surfels_as_triangles, without_lost_points


def test_a_box_has_flat_faces_and_twelve_sharp_edges(falling):
    mesh = falling.box(0.2, 0.1)
    shading = Shading.of(mesh.points, mesh.boundary)
    normals = shading.normals(mesh.points)
    flat = face_normals(mesh.points, mesh.boundary)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(normals[shading.triangles], np.repeat(flat[:, None], 3, axis=1), atol=1e-12)
    lengths = np.linalg.norm(np.diff(mesh.points[shading.creases], axis=1)[:, 0], axis=1)
    assert lengths.sum() == pytest.approx(12 * 0.2)
    assert np.array_equal(shading.point[shading.triangles], mesh.boundary)


def test_a_ball_is_smooth_with_radial_normals():
    ball = solids.ball(radius=1.0, edge=0.25).surface()
    shading = Shading.of(ball.points, ball.faces)
    assert len(shading.creases) == 0
    assert len(shading.point) == len(np.unique(ball.faces))
    radial = ball.points[shading.point] / np.linalg.norm(ball.points[shading.point], axis=1, keepdims=True)
    assert np.einsum("ij,ij->i", shading.normals(ball.points), radial).min() > 0.98


def test_a_few_sharp_edges_are_no_crease():
    """A single fold is shaded smoothly, the six edges of a tetrahedron are sharp."""
    points = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    fold, solid = np.array([[0, 1, 2], [0, 3, 1]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert len(Shading.of(points, fold).creases) == 0 and len(Shading.of(points, fold).point) == 4
    assert len(Shading.of(points, solid).creases) == 6 and len(Shading.of(points, solid).point) == 12


@pytest.mark.parametrize("fades", [False, True])
def test_a_fold_that_fades_out_is_no_crease(fades):
    """A sheet folded from border to border has a crease; a fold that ends within the sheet, as between toes, has none."""
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(-1.0, 1.0, 21), np.linspace(-0.4, 0.4, 9), indexing="ij"))
    points = np.stack([x, y, np.abs(y) * (np.clip(2.0 * x, 0.0, 1.0) if fades else 1.0)], axis=1)
    a = (np.arange(20)[:, None] * 9 + np.arange(8)).ravel()
    faces = np.concatenate([np.stack([a, a + 9, a + 10], axis=1), np.stack([a, a + 10, a + 1], axis=1)])
    shading = Shading.of(points, faces)
    assert len(shading.creases) == (0 if fades else 20)
    assert len(shading.point) == len(points) + (0 if fades else 21)


def test_shaded_as_round_nothing_is_sharp(falling):
    mesh = falling.box(0.2, 0.1)
    shading = Shading.of(mesh.points, mesh.boundary, -1.0)
    assert len(shading.creases) == 0 and len(shading.point) == len(np.unique(mesh.boundary))


def test_shading_of_nothing():
    shading = Shading.of(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    assert len(shading.point) == 0 and len(shading.creases) == 0


def test_surfels_become_discs_of_their_radius_and_normal():
    rng = np.random.default_rng(3)
    centre, normal, radius = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), rng.uniform(0.1, 0.2, 20)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    cloud = Picture(
        centre, np.zeros((0, 3), np.int64), np.zeros(0, np.int64), {0: "cloud"}, {0: "points"},
        {"normal": normal, "radius": radius, "depth": np.arange(20.0)}, surfels=np.arange(20), surfel_body=np.zeros(20, np.int64),
    )  # fmt: skip
    drawn, radius = with_surfels_as_triangles(cloud), COVER * radius
    owner = drawn.point_fields["depth"][drawn.triangles].astype(int)
    assert (owner == owner[:, :1]).all() and len(drawn.surfels) == 0
    away = drawn.points - centre[drawn.point_fields["depth"].astype(int)]
    size = np.linalg.norm(away, axis=1)
    rim = size > 1e-12
    np.testing.assert_allclose(size[rim], radius[drawn.point_fields["depth"].astype(int)][rim])
    flat = face_normals(drawn.points, drawn.triangles)
    area = 0.5 * np.bincount(owner[:, 0], np.einsum("ij,ij->i", flat, normal[owner[:, 0]]))
    np.testing.assert_allclose(area, 5 * radius**2 * np.sin(2 * np.pi / 10))  # of a regular decagon, and oriented


def test_points_without_normals_become_closed_beads():
    cloud = Picture(
        np.array([[0.0, 0, 0], [1.0, 0, 0]]), np.zeros((0, 3), np.int64), np.zeros(0, np.int64), {0: "cloud"}, {0: "points"},
        surfels=np.arange(2), surfel_body=np.zeros(2, np.int64),
    )  # fmt: skip
    drawn = with_surfels_as_triangles(cloud)
    volume = np.einsum("ij,ij->i", drawn.points[drawn.triangles[:, 0]], face_normals(drawn.points, drawn.triangles)) / 6
    assert volume.sum() == pytest.approx(2 * 4 / 3 * 0.4**3)  # octahedra of radius 0.4 of the spacing, faces outwards


def test_lost_points_take_their_triangles_with_them(falling):
    mesh = falling.picture()
    points = mesh.points.copy()
    points[mesh.triangles[0, 0]] = np.nan
    kept = without_lost_points(falling.picture(points=points))
    assert np.isfinite(kept.points).all()
    assert len(kept.triangles) == len(mesh.triangles) - (mesh.triangles == mesh.triangles[0, 0]).any(axis=1).sum()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 1000), st.floats(-180, 180), st.floats(-60, 80), st.sampled_from([(960, 720), (720, 960)]),
    st.booleans(), st.floats(-3, 3),
)  # fmt: skip
def test_the_camera_sees_every_point_and_wastes_little(seed, azimuth, elevation, size, aside, power):
    rng = np.random.default_rng(seed)
    points = 10.0**power * (rng.normal(size=(50, 3)) * [1, 2, 0.5] + rng.normal(size=3))
    camera = framed(extremes(points), size, azimuth, elevation, aside)
    seen = seen_from(camera, points)
    across = seen[:, 0] * size[1] / size[0]
    assert (seen[:, 2] > 0).all()
    assert np.abs(seen[:, 1]).max() < 0.9 and across.min() > -0.97 and across.max() < (0.8 if aside else 0.97)
    assert np.ptp(seen[:, 1]) > 1.2 or np.ptp(across) > 1.2


def test_nothing_to_look_at_is_an_error():
    with pytest.raises(PliantError, match="nothing to look at"):
        framed(np.zeros((0, 3)), (100, 100))


def test_the_shadow_lies_where_the_light_throws_it(falling):
    light = np.array([0.5, 0.0, -1.0])
    square = np.array([[-0.1, -0.1, 1.0], [0.1, -0.1, 1.0], [0.1, 0.1, 1.0], [-0.1, 0.1, 1.0]])
    around = np.array([[-1.0, -1, 0], [1, 1, 1]])
    floor = Floor(falling.GROUND, around, light)
    shadow = floor.shadow(square, np.array([[0, 1, 2], [0, 2, 3]]))
    n = len(shadow)
    at = (np.arange(n) + 0.5) / n * 2 * floor.half - floor.half
    centre = np.array([shadow.sum(axis=0) @ at, shadow.sum(axis=1) @ at]) / shadow.sum() + floor.centre
    np.testing.assert_allclose(centre, [0.5, 0.0], atol=0.02)  # one metre down, half a metre aside
    dark = floor.image(square, np.array([[0, 1, 2], [0, 2, 3]]))
    bright = floor.image(square, np.zeros((0, 3), np.int64))
    place = np.unravel_index(np.argmax(bright.astype(int).sum(axis=2) - dark.astype(int).sum(axis=2)), dark.shape[:2])
    scale = 2 * floor.half / len(dark)
    assert abs(place[1] * scale - floor.half + floor.centre[0] - 0.5) < 0.15
    assert abs(place[0] * scale - floor.half + floor.centre[1]) < 0.15


def test_a_wall_gets_no_shadow(falling):
    wall = type(falling.GROUND)(np.zeros(3), np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    floor = Floor(wall, np.array([[-1.0, -1, 0], [1, 1, 1]]), np.array([0.0, 0.0, -1.0]))
    assert floor.shadow(np.eye(3), np.array([[0, 1, 2]])).max() == 0.0


def test_scattered_points_lie_inside_and_evenly():
    corners = np.array([[[0.0, 0.0, 5.0], [30.0, 0.0, 5.0], [0.0, 20.0, 8.0]]])
    at, owner = scattered(corners)
    s, t = at[:, 0] / 30, at[:, 1] / 20
    assert len(at) == 901 and (owner == 0).all()
    assert (s >= 0).all() and (t >= 0).all() and (s + t <= 1 + 1e-12).all()
    np.testing.assert_allclose(at[:, 2], 5 + 3 * t)
    np.testing.assert_allclose(at[:, :2].mean(axis=0), [10, 20 / 3], rtol=0.02)  # the centroid


def test_a_bowl_that_hides_its_content_is_a_container():
    bowl = solids_surface("bowl", radius=0.2, thickness=0.02, edge=0.03)
    ball = solids.ball(radius=0.06, edge=0.03).surface().moved((0.0, 0.0, 0.09))
    camera = Camera((1.0, -1.0, 0.1), (0.0, 0.0, 0.1))

    def joined(kind: str, up: float) -> Picture:
        return Picture(
            np.concatenate([bowl.points, ball.points + [0, 0, up]]), np.concatenate([bowl.faces, ball.faces + len(bowl.points)]),
            np.repeat([0, 1], [len(bowl.faces), len(ball.faces)]), {0: "bowl", 1: "ball"}, {0: kind, 1: "fem"},
        )  # fmt: skip

    assert containers(joined("rigid", 0.0), camera) == {"bowl"}
    assert containers(joined("fem", 0.0), camera) == set()
    assert containers(joined("rigid", 0.3), camera) == set()
    above = Camera((0.0, -0.1, 3.0), (0.0, 0.0, 0.1))
    assert containers(joined("rigid", 0.0), above) == set()


def solids_surface(kind: str, **parameters: float):
    from pliant.geometry.shapes import make

    return make(kind, **parameters).surface()
