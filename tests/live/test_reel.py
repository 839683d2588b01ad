"""A run as the page gets it."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.live import shown
from pliant.live.curves import MOST, thinned
from pliant.live.html import page, write_page
from pliant.live.reel import Reel
from pliant.live.shown import hierarchy
from pliant.look import fields
from pliant.look.source import Picture
from pliant.look.surface import COVER
from pliant.measure.pairs import per_pair
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
        assert [plot["title"] for plot in words["curves"]] == ["contact force, mean", "depth", "energy", "contacts"]
        i = run.frames - 1
        meta, arrays = unpacked(reel.frame(i, ["pressure", "speed"]))
        np.testing.assert_allclose(arrays["points"].reshape(-1, 3), run.points(i), atol=1e-7)
        for name, values in (("pressure", run.field("pressure", i)), ("speed", np.linalg.norm(run.field("velocity", i), axis=1))):
            np.testing.assert_allclose(arrays[f"field/{name}"], values, atol=np.ptp(values) / 65000)  # in 16 bits
        contacts = run.contacts()
        assert meta["contacts"] == len(contacts) > 0
        on_later = np.where(contacts.a < contacts.b, -1.0, 1.0)[:, None] * contacts.force  # shown: on the second of each pair
        np.testing.assert_allclose(arrays["contact/force"].reshape(-1, 3), on_later, rtol=1e-5, atol=1e-6)
        assert (arrays["contact/force"].reshape(-1, 3).sum(axis=0) @ [0, 0, 1]) > 0  # the ground carries the others
        carrying = np.flatnonzero(np.linalg.norm(run.field("contact_force", i), axis=1) > 0)
        assert set(carrying.tolist()) <= set(arrays["contact/carrying"].tolist())
        assert len(meta["resolved"]) == len(per_pair(contacts)["a"]) and all(" – " in each and ", space " in each for each in meta["resolved"])
        assert sum(meta["pairs"].values()) > 0  # every frame of this run has a checkpoint, so pairs are known


def test_of_large_frames_few_are_looked_at_first(run_file, monkeypatch):
    """What is read before the page opens is bounded: a run of a hundred large frames would take as long as a copy of it."""
    with Run.open(run_file) as run:
        size, asked = run.frame_bytes(-1), []
        assert size == sum(spec.nbytes for spec in run.entries[run._number(-1)].specs.values()) > 0
        load = Run.points
        monkeypatch.setattr(Run, "points", lambda self, i: asked.append(self.index(i)) or load(self, i))
        assert Reel(run).words["looked"] == min(run.frames, 24) > 4
        for room, most in ((4.5, 4), (0.1, 2)):
            monkeypatch.setattr("pliant.live.reel.LOOKED_BYTES", int(room * size))
            asked.clear()
            assert Reel(run).words["looked"] == most
            assert len(set(asked)) == most and {0, run.frames - 1} <= set(asked)


def test_cells_are_read_once_for_each_topology(run_file, monkeypatch):
    with Run.open(run_file) as run:
        asked, load = [], Run.cells
        monkeypatch.setattr(Run, "cells", lambda self, i: asked.append(i) or load(self, i))
        reel = Reel(run)
        first = len(asked)  # also the words on contact ask, once for the run
        for i in range(run.frames):
            reel.frame(i, [])
        assert len(set(reel.words["topologies"])) == 1
        assert asked.count(0) == 1 and len(asked) == first < run.frames


def test_topology_says_whose_each_point_is(run_file, unpacked):
    with Run.open(run_file) as run:
        reel = Reel(run)
        _, arrays = unpacked(reel.topology(reel.words["topologies"][0]))
        cells = run.cells(0)
        owner, point, triangles = arrays["owner"], arrays["point"], arrays["triangles"].reshape(-1, 3)
        assert (owner[cells.tets] == 2).all()  # inside points too: cuts need them
        assert set(owner[point[triangles]].ravel().tolist()) == {1, 2}
        assert len(arrays["tets"]) == cells.tets.size


@pytest.mark.parametrize("ask", [lambda r: r.frame(-1, []), lambda r: r.frame(10**9, []), lambda r: r.frame(0, ["nothing"]), lambda r: r.topology(-3), lambda r: r.hierarchy(99)])
def test_what_is_not_there_is_refused(run_file, ask):
    with Run.open(run_file) as run, pytest.raises(PliantError, match="there is no"):
        ask(Reel(run))


def test_bodies_of_points_are_discs_with_normal_and_radius():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    normal, radius = np.tile([0.0, 0.0, 1.0], (3, 1)), np.array([0.1, 0.2, 0.3])
    none = np.zeros((0, 3), np.int64)
    cloud = Picture(points, none, none[:, 0], {4: "cloud"}, {4: "points"}, {"normal": normal, "radius": radius}, surfels=np.arange(3), surfel_body=np.full(3, 4))
    arrays = shown.frame(cloud, [])
    np.testing.assert_array_equal(arrays["surfel/normal"] / 127, normal)
    np.testing.assert_array_equal(arrays["surfel/radius"], COVER * radius)
    assert shown.topology(cloud)["owner"].tolist() == [0, 0, 0]
    bare = shown.frame(Picture(**{**vars(cloud), "point_fields": {}}), [])
    assert (bare["surfel/radius"] > 0).all() and "surfel/normal" not in bare  # discs that face the viewer


def test_nodes_of_the_trees_hold_all_points_at_every_level(run_file, unpacked):
    with Run.open(run_file) as run:
        reel = Reel(run)
        _, t = unpacked(reel.hierarchy(reel.words["topologies"][0]))
        _, topology = unpacked(reel.topology(reel.words["topologies"][0]))
    begin, end, depth, leaf, body = (t[f"tree/{name}"].astype(int) for name in ("begin", "end", "depth", "leaf", "body"))
    owner, corners = topology["owner"], topology["point"][topology["triangles"]]
    assert set(body.tolist()) == {1, 2} and depth.max() >= 2 and not t["tree/round"].any()
    assert all((owner[t["tree/points"][b:e]] == o).all() for b, e, o in zip(begin, end, body, strict=True))
    for level in range(depth.max() + 1):
        chosen = np.flatnonzero((depth == level) | ((depth < level) & (leaf == 1)))
        held = np.concatenate([t["tree/points"][begin[k] : end[k]] for k in chosen])
        assert sorted(held.tolist()) == sorted(corners.tolist())  # each corner of each triangle once


def test_bodies_of_surfels_have_spheres_that_hold_each_point_once():
    chance = np.random.default_rng(2)
    points, none = chance.normal(size=(200, 3)), np.zeros((0, 3), np.int64)
    cloud = Picture(points, none, none[:, 0], {4: "cloud"}, {4: "quasi-rigid"}, surfels=np.arange(200), surfel_body=np.full(200, 4))
    t = hierarchy(cloud)
    leaves = np.flatnonzero(t["tree/leaf"])
    held = np.concatenate([t["tree/points"][t["tree/begin"][k] : t["tree/end"][k]] for k in leaves])
    assert sorted(held.tolist()) == list(range(200)) and t["tree/round"].all() and (t["tree/body"] == 0).all()
    assert all(hierarchy(Picture(points, none, none[:, 0], {}, {}))[name].size == 0 for name in t)


def test_what_bodies_have_in_common_is_told_by_pair(run_file, unpacked):
    with Run.open(run_file) as run:
        reel, i = Reel(run), run.frames - 1
        meta, arrays = unpacked(reel.frame(i, [], common=True))
        below = run.points(i)[: len(run.points(i))]
        assert unpacked(reel.frame(i, []))[0]["common"] is None
    names = [name for name, _ in meta["common"]]
    assert names[0] == "ground – box" or "ground – box" in names
    depth = max(0.0, -below[:, 2].min())
    assert dict(meta["common"])["ground – box"] == pytest.approx(0.2 * 0.2 * depth, rel=0.2)
    assert len(arrays["common/corners"]) % 9 == 0


def test_traction_times_area_is_the_contact_force():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    force = np.array([[0.0, 0, 3], [4, 0, 3], [0, 0, 0], [1, 0, 0]])
    picture = Picture(points, np.array([[0, 1, 2], [0, 2, 3]]), np.zeros(2, np.int64), {0: "a"}, {0: "rigid"}, {"contact_force": force})
    traction, area = fields.values(picture, "traction"), fields.point_areas(picture)
    assert area.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(traction * area, np.linalg.norm(force, axis=1))


def test_ranges_leave_out_rounding_noise_and_tell_the_largest_value():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    values = {"pressure": np.array([1e-11, 3e-12, 0.0, 0.0]), "depth": np.array([0.0, 0.0, 0.0, 2e-3])}
    picture = Picture(points, np.array([[0, 1, 2], [0, 2, 3]]), np.zeros(2, np.int64), {0: "a"}, {0: "rigid"}, values)
    known = shown.survey([picture], ["pressure", "depth"])
    assert known.ranges["pressure"] == (0.0, 1.0) and known.ranges["depth"] == (0.0, pytest.approx(2e-3))
    many = Picture(np.repeat(points, 25, axis=0), np.arange(99).reshape(-1, 3), np.zeros(33, np.int64), {0: "a"}, {0: "rigid"}, {"pressure": np.r_[5e4, np.full(99, 1e4)]})
    known = shown.survey([many], ["pressure"])
    assert known.ranges["pressure"][1] < known.most["pressure"].value == 5e4 and known.most["pressure"].body == "a"
    assert {f["name"]: f["most"] for f in shown.words(many, known)["fields"]}["pressure"]["value"] == 5e4
    later = replace(many, time=2.0, point_fields={"pressure": np.full(100, 6e4)})
    assert shown.survey([many, later, picture], ["pressure"]).most["pressure"] == (6e4, "a", 2.0)


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
