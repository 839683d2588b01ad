"""Pictures from runs and simulations."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.geometry.files import PointCloud
from pliant.geometry.shapes import make
from pliant.look.source import Film, Picture, from_run, from_simulation, planes_of
from pliant.record import Cells, Recorder, Run
from pliant.scene import Scene
from pliant.simulate import running


def test_a_frame_has_the_skin_of_its_tets_and_the_triangles_of_the_others(run, falling):
    picture = from_run(run, 3)
    soft, ball = picture.triangle_body == 1, picture.triangle_body == 2
    assert set(picture.triangle_body) == {1, 2}
    area = np.linalg.norm(np.cross(*np.diff(picture.points[picture.triangles], axis=1).swapaxes(0, 1)), axis=1) / 2
    assert area[soft].sum() == pytest.approx(6 * 0.2**2)
    assert np.array_equal(picture.triangles[ball], run.cells(3).triangles)
    assert picture.time == pytest.approx(0.3) and picture.title == "falling"
    assert picture.kinds == {0: "static", 1: "fem", 2: "rigid"}
    stress = picture.point_fields["von_mises"]
    np.testing.assert_allclose(stress[picture.triangles[soft]], 4000.0)
    assert np.isnan(stress[picture.triangles[ball]]).all()


def test_only_the_fields_asked_for_are_read(run):
    assert set(from_run(run, 0, {"velocity"}).point_fields) == {"velocity"}


def test_a_time_that_was_not_recorded_is_refused_with_the_range(run):
    last, spacing = float(run.times[-1]), float(np.diff(run.times).max())
    assert Film(run).near(last + 0.9 * spacing).time == last and run.frame_at(last + 0.9 * spacing) == run.frames - 1
    for ask, wrong in ((Film(run).near, last + 2 * spacing), (run.frame_at, last + 2 * spacing), (Film(run).near, -2 * spacing)):
        with pytest.raises(PliantError, match=rf"nothing at t = {wrong:g} s: its {run.frames} frames are from 0 to {last:g} s"):
            ask(wrong)


def test_the_ground_comes_from_the_scene_of_the_run(run, falling, tmp_path):
    (plane,) = from_run(run, 0).planes
    np.testing.assert_allclose(plane.axes, np.eye(3))
    assert from_run(falling.record(tmp_path / "bare", 1, planes=False), 0).planes == ()


def test_a_tilted_plane_has_a_tilted_normal():
    scene = Scene(bodies=[dict(name="slope", shape="plane", model="static", rotation=(0, 30, 0), position=(1, 2, 3))])
    (plane,) = planes_of(scene)
    np.testing.assert_allclose(plane.axes[2], [0.5, 0, np.sqrt(0.75)], atol=1e-12)
    np.testing.assert_allclose(plane.point, [1, 2, 3])
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(3), atol=1e-12)


def test_inverted_tets_are_found_from_det_F_or_from_the_points(tmp_path):
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, -1.0], [0, 0, 1.0]])
    cells = Cells(tets=[[0, 1, 2, 3], [0, 1, 2, 4]], body=[0, 0], bodies={0: "soft"})
    recorder = Recorder(tmp_path / "turned", {"kinds": ["fem"]}, every=0.1)
    recorder.topology(cells, 5)
    recorder.frame(0.0, 0, points)
    recorder.frame(0.1, 1, points, cell_fields={"det_F": np.array([1.0, -0.5])})
    film = Film(recorder.run())
    np.testing.assert_array_equal(film.picture(0).inverted, points[cells.tets[:1]])
    np.testing.assert_array_equal(film.picture(1).inverted, points[cells.tets[1:]])
    recorder.close("finished")


def test_a_film_follows_changes_of_topology(tmp_path):
    recorder = Recorder(tmp_path / "breaks", {"kinds": ["fem"]}, every=0.1)
    points = np.random.default_rng(0).random((8, 3))
    recorder.topology(Cells(tets=[[0, 1, 2, 3], [4, 5, 6, 7]], body=[0, 0], bodies={0: "whole"}), 8)
    recorder.frame(0.0, 0, points)
    parts = Cells(tets=[[0, 1, 2, 3], [4, 5, 6, 7]], body=[0, 1], bodies={0: "whole", 1: "part"}, parents={1: 0})
    recorder.topology(parts, 8)
    recorder.frame(0.1, 1, points)
    film = Film(recorder.run())
    assert set(film.picture(0).triangle_body) == {0}
    later = film.picture(1)
    assert later.triangle_body.tolist() == [0] * 4 + [1] * 4 and later.kinds == {0: "fem", 1: "fem"}
    assert set(film.picture(0).triangle_body) == {0}
    recorder.close("finished")


def test_a_run_without_frames_says_so(tmp_path):
    recorder = Recorder(tmp_path / "empty", {}, every=0.1)
    with pytest.raises(PliantError, match="no frames to draw"):
        Film(recorder.run())
    recorder.close("failed")


def test_a_simulation_and_its_run_give_the_same_picture(tmp_path):
    from pliant.simulate import running

    scene = Scene(dt=0.01, duration=0.03)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), position=(0, 0, 0.101))
    sim, recorder = running.start(scene, tmp_path / "drop", every=0.01)
    with Run.open(running.run(sim, recorder).path) as run:
        now, then = from_simulation(sim), from_run(run, -1)
    np.testing.assert_allclose(now.points, then.points)
    assert len(now.triangles) == len(then.triangles) and now.kinds == then.kinds and now.title == then.title
    for name in ("von_mises", "velocity", "depth", "displacement"):
        np.testing.assert_allclose(now.point_fields[name], then.point_fields[name], rtol=1e-5, atol=1e-7)
    assert np.nanmax(now.point_fields["von_mises"]) > 0.0


def test_a_cloud_is_recorded_and_drawn_as_discs(tmp_path):
    """Points, normals that turn with the body and radii that add up to its area: in the run file as in the simulation."""
    surface = make("ball", radius=0.1, edge=0.02).surface()
    scene = Scene(dt=0.01, duration=0.02, contact="none", gravity=(0, 0, 0))
    scene.add(name="cloud", shape=PointCloud(surface.points), model="quasi-rigid", rotation=(0, 90, 0), angular_velocity=(0, 20, 0))
    outcome = running.run(*running.start(scene, tmp_path / "cloud"))
    now = from_simulation(outcome.simulation)
    with Run.open(outcome.path) as run:
        cells, then = run.cells(-1), from_run(run, run.frames - 1)
        assert len(cells.triangles) == 0 and (cells.body == 0).all()
    for picture in (now, then):
        at, fields = picture.surfels, picture.point_fields
        assert len(at) == len(surface.points)
        outward = picture.points[at] / np.linalg.norm(picture.points[at], axis=1, keepdims=True)
        assert np.einsum("ij,ij->i", fields["normal"][at], outward).min() > 0.99
        area = np.pi * (np.asarray(fields["radius"], np.float64)[at]) ** 2
        assert area.sum() == pytest.approx(4 * np.pi * 0.01, rel=0.05)
    assert (now.surfels == then.surfels).all() and np.abs(now.point_fields["normal"] - then.point_fields["normal"]).max() < 1e-6


def test_crumbs_that_fly_away_do_not_decide_what_is_seen():
    points = np.concatenate([np.random.default_rng(0).uniform(size=(9, 3)), [[500.0, 0.0, 0.0]]])
    surfels = np.arange(10)
    picture = Picture(points, np.zeros((0, 3), np.int64), np.zeros(0, np.int64), {}, {}, surfels=surfels, surfel_body=np.array([0] * 9 + [1]))
    assert len(picture.movable_points()) == 9 and picture.movable_points().max() <= 1.0
