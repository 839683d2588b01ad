"""A run as the page gets it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pliant.geometry.mesh import PliantError
from pliant.live import shown
from pliant.live.curves import MOST, thinned
from pliant.live.html import page, write_page
from pliant.live.reel import Reel
from pliant.look import fields
from pliant.look.source import Picture
from pliant.record import Run


@pytest.fixture(scope="module")
def unpacked():
    spec = importlib.util.spec_from_file_location("live_pack", Path(__file__).with_name("test_pack.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.unpacked


def test_frames_hold_points_fields_and_contacts_of_the_run(run_file, unpacked):
    with Run.open(run_file) as run:
        reel = Reel(run)
        words, _ = unpacked(reel.manifest())
        assert [body["name"] for body in words["bodies"]] == ["ground", "box", "ball"]
        assert words["times"] == pytest.approx(run.times.tolist())
        assert {"pressure", "traction", "depth", "von_mises", "speed"} <= {field["name"] for field in words["fields"]}
        assert [plot["title"] for plot in words["curves"]] == ["contact force", "deepest penetration", "energy", "contacts"]
        i = run.frames - 1
        meta, arrays = unpacked(reel.frame(i, ["pressure", "speed"]))
        np.testing.assert_allclose(arrays["points"].reshape(-1, 3), run.points(i), atol=1e-7)
        np.testing.assert_allclose(arrays["field/pressure"], run.field("pressure", i), rtol=1e-6)
        np.testing.assert_allclose(arrays["field/speed"], np.linalg.norm(run.field("velocity", i), axis=1), rtol=1e-5, atol=1e-9)
        contacts = run.contacts()
        assert meta["contacts"] == len(contacts) > 0
        np.testing.assert_allclose(arrays["contact/force"].reshape(-1, 3).sum(axis=0), contacts.total_force, rtol=1e-5, atol=1e-6)
        carrying = np.flatnonzero(np.linalg.norm(run.field("contact_force", i), axis=1) > 0)
        assert set(carrying.tolist()) <= set(arrays["contact/carrying"].tolist())
        assert sum(meta["pairs"].values()) > 0  # every frame of this run has a checkpoint, so pairs are known


def test_topology_says_whose_each_point_is(run_file, unpacked):
    with Run.open(run_file) as run:
        reel = Reel(run)
        _, arrays = unpacked(reel.topology(reel.words["topologies"][0]))
        cells = run.cells(0)
        owner, point, triangles = arrays["owner"], arrays["point"], arrays["triangles"].reshape(-1, 3)
        assert (owner[cells.tets] == 2).all()  # inside points too: cuts need them
        assert set(owner[point[triangles]].ravel().tolist()) == {1, 2}
        assert len(arrays["tets"]) == cells.tets.size


@pytest.mark.parametrize("ask", [lambda r: r.frame(-1, []), lambda r: r.frame(10**9, []), lambda r: r.frame(0, ["nothing"]), lambda r: r.topology(-3)])
def test_what_is_not_there_is_refused(run_file, ask):
    with Run.open(run_file) as run, pytest.raises(PliantError, match="there is no"):
        ask(Reel(run))


def test_bodies_of_points_are_discs_with_normal_and_radius():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    normal, radius = np.tile([0.0, 0.0, 1.0], (3, 1)), np.array([0.1, 0.2, 0.3])
    none = np.zeros((0, 3), np.int64)
    cloud = Picture(points, none, none[:, 0], {4: "cloud"}, {4: "points"}, {"normal": normal, "radius": radius}, surfels=np.arange(3), surfel_body=np.full(3, 4))
    arrays = shown.frame(cloud, [])
    np.testing.assert_array_equal(arrays["surfel/normal"], normal)
    np.testing.assert_array_equal(arrays["surfel/radius"], radius)
    assert shown.topology(cloud)["owner"].tolist() == [0, 0, 0]
    bare = shown.frame(Picture(**{**vars(cloud), "point_fields": {}}), [])
    assert (bare["surfel/radius"] > 0).all() and not bare["surfel/normal"].any()  # discs that face the viewer


def test_traction_times_area_is_the_contact_force():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    force = np.array([[0.0, 0, 3], [4, 0, 3], [0, 0, 0], [1, 0, 0]])
    picture = Picture(points, np.array([[0, 1, 2], [0, 2, 3]]), np.zeros(2, np.int64), {0: "a"}, {0: "rigid"}, {"contact_force": force})
    traction, area = fields.values(picture, "traction"), fields.point_areas(picture)
    assert area.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(traction * area, np.linalg.norm(force, axis=1))


def test_long_curves_keep_their_extremes():
    x = np.linspace(0.0, 1.0, 20000)
    y = np.sin(40.0 * x)
    y[777], y[888] = 5.0, np.nan
    shorter, values = thinned(x, y)
    assert len(shorter) <= MOST and values.max() == 5.0 and values.min() == pytest.approx(-1.0, abs=1e-6)
    assert (np.diff(shorter) > 0).all() and np.isfinite(values).all()


def test_the_page_loads_nothing_from_outside(run_file, tmp_path):
    text = page()
    assert "http://" not in text and "https://" not in text and "<!--" not in text
    assert "default-src 'none'" in text
    with Run.open(run_file) as run:
        reel = Reel(run)
        written = write_page(reel, tmp_path / "a.html").read_text("utf-8")
        assert "http://" not in written and "connect-src 'none'" in written
        with pytest.raises(PliantError, match="name it .html"):
            write_page(reel, tmp_path / "a.txt")
