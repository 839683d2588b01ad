"""The report page says what the run holds, and needs nothing else."""

from __future__ import annotations

import base64
import re
from typing import ClassVar

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.look.report import report
from pliant.look.report.hardest import hardest_contact, pair_pressure, plot_map
from pliant.look.report.html import figure, legend, table, text
from pliant.look.report.words import bodies, lead, method_words, notes, warnings
from pliant.look.source import Film
from pliant.measure.forces import Forces
from pliant.record import Run
from pliant.scene import Scene
from pliant.simulate.running import run as carry_out
from pliant.simulate.running import start


@pytest.fixture(scope="module")
def dropped(tmp_path_factory):
    """A soft box is dropped on the ground; the name of the scene tries to be html."""
    scene = Scene(name="<b>drop</b>", dt=0.004, duration=0.12, about="A box & the ground.", contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=dict(kind="box", size=[0.1, 0.1, 0.1], edge=0.05), position=(0, 0, 0.06), material=dict(youngs_modulus=4e4), velocity=(0, 0, -0.5))
    path = tmp_path_factory.mktemp("report") / "drop"
    sim, recorder = start(scene, path, every=0.02)
    carry_out(sim, recorder)
    with Run.open(path) as run:
        yield run


@pytest.fixture(scope="module")
def page(dropped, tmp_path_factory):
    return report(dropped, tmp_path_factory.mktemp("page") / "drop.html", stills=3).read_text("utf-8")


def test_the_page_has_all_parts_and_loads_nothing(dropped, page, can_draw):
    for heading in ("What was simulated", "looked like", "materials", "Curves", "hardest contact", "touched what", "Warnings", "Notes", "do it again"):
        assert heading in page
    assert "<b>drop</b>" not in page and "&lt;b&gt;drop" in page and "A box &amp; the ground." in page
    assert not re.search(r"(src|href)=(?!'data:)", page) and "<script" not in page
    pictures = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", page)
    assert len(pictures) >= (1 if can_draw else 3) + 4  # stills; energy, force, depth, momentum; perhaps the map
    assert all(base64.b64decode(p)[:8] == b"\x89PNG\r\n\x1a\n" for p in pictures)
    assert "E = 40 kPa" in page and "0.004 s" in page and "ground" in page and "pliant resume drop.vtkhdf" in page
    assert all(note.replace('"', "&quot;") in page for note in dropped.notes) and dropped.notes


def test_the_page_shows_the_contact_that_bodies_hide(page, can_draw):
    """The box lies on its contact."""
    assert ("what the bodies hide" in page) == (not can_draw)


def test_the_table_of_pairs_has_the_peak_of_the_run(dropped, page):
    peak = np.linalg.norm(dropped.pairs()["force"], axis=1).max()
    assert f">{peak:.4g}<" in page


def test_the_hardest_contact_is_the_frame_with_the_largest_force(dropped, page):
    found = hardest_contact(dropped)
    assert "resolved in this step in depth, time, space" in page
    each = [float(np.linalg.norm(dropped.contacts(t=t).total_force)) for t in dropped.times]
    assert found is not None and found.frame == int(np.argmax(each))
    assert np.linalg.norm(found.contacts.total_force) == pytest.approx(max(each))
    assert {found.a, found.b} == {"ground", "soft"}
    peak = np.linalg.norm(dropped.pairs()["force"], axis=1).max()
    assert peak > 1.01 * max(each)  # between two frames of this run: the page says both, and which is which
    assert f"a force of {max(each):.4g} N" in page and f"with {peak:.4g} N, between two frames" in page


@pytest.fixture(scope="module")
def stacked(tmp_path_factory):
    """A box on a box on the ground: the lower one is touched from both sides."""
    scene = Scene(name="stack", dt=0.004, duration=0.04, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    for name, z in (("lower", 0.0505), ("upper", 0.1515)):
        shape = dict(kind="box", size=[0.1, 0.1, 0.1], edge=0.05)
        scene.add(name=name, shape=shape, position=(0, 0, z), material=dict(youngs_modulus=4e4), velocity=(0, 0, -0.4))
    path = tmp_path_factory.mktemp("stack") / "stack"
    carry_out(*start(scene, path, every=0.004))
    with Run.open(path) as run:
        yield run


def test_the_map_has_the_pressure_of_its_pair_only(dropped, stacked, tmp_path):
    alone = hardest_contact(dropped)
    picture = Film(dropped).picture(alone.frame, ("pressure",))
    np.testing.assert_allclose(pair_pressure(picture.points, picture.triangles, alone.contacts), picture.point_fields["pressure"], rtol=1e-5)
    found = hardest_contact(stacked)
    assert {found.a, found.b} == {"ground", "lower"}
    picture = Film(stacked).picture(found.frame, ("pressure",))
    lower = picture.triangles[picture.triangle_body == 1]
    z, corners = picture.points[:, 2], np.unique(lower)
    top, foot = corners[z[corners] > 0.08], corners[z[corners] < 0.02]
    pressure = pair_pressure(picture.points, lower, found.contacts)
    assert (picture.point_fields["pressure"][top] > 0).any() and (pressure[top] == 0).all()
    np.testing.assert_allclose(pressure[foot], picture.point_fields["pressure"][foot], rtol=1e-5)
    assert pressure.max() == pytest.approx(np.nanmax(found.contacts.pressure))  # the text and the map say the same
    assert plot_map(stacked, found, tmp_path / "map.png") is not None


def test_the_page_begins_with_the_result(dropped, page):
    assert "pliant simulates contact" in page and page.index("The largest contact force was") < page.index("What was simulated")
    peak, imbalance = np.linalg.norm(dropped.pairs()["force"], axis=1).max(), dropped.series()["imbalance"].max()
    mean = Forces(dropped).strongest().mean
    assert mean < peak and f"force was {mean:.4g} N" in lead(dropped) and f"({peak:.4g} N in a single step)" in lead(dropped)
    assert f"to {imbalance:.1g} of their size" in page
    assert "pip install ." in page and "pip install pliant" not in page
    assert "size = [0.1, 0.1, 0.1] m, edge = 0.05 m" in page


def test_what_the_table_doubts_the_head_does_not_hide(dropped):
    """No warning is not the same as resolved: a box of two elements across has no pressure."""
    found = Forces(dropped).strongest().resolution
    assert found.in_space == "not resolved" and "areas and pressures are not resolved" in lead(dropped)
    assert ("depths are" in lead(dropped)) == (found.in_depth != "resolved")


def test_only_methods_that_two_bodies_have_are_named(dropped):
    scene = Scene(dt=0.004)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=dict(kind="box", size=[0.1, 0.1, 0.1], edge=0.05), position=(0, 0, 0.06))
    assert method_words(scene, ['contact = "auto": patch, since it is right.']) == "patch (chosen by auto: see the notes)"
    assert method_words(scene, []).startswith("patch, noniterative")  # of files that do not say it


def test_choices_are_no_warnings(dropped):
    assert any("is integrated with" in note for note in dropped.notes)
    assert "is integrated with" in notes(dropped) and "is integrated with" not in warnings(dropped)

    class Bad:
        notes, status, message, dropped_bytes = [*dropped.notes, "Energy came from nowhere."], "failed", "It broke.", 0
        damage: ClassVar[list[str]] = []

    assert "Energy came from nowhere." in warnings(Bad) and "It broke." in warnings(Bad) and "nowhere" not in notes(Bad)


def test_a_shape_from_a_file_keeps_its_name(tmp_path):
    (tmp_path / "wedge.obj").write_text("v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    scene = Scene(name="file", dt=0.01, duration=0.02)
    scene.add(name="piece", model="rigid", shape=dict(file=str(tmp_path / "wedge.obj")))
    carry_out(*start(scene, tmp_path / "file"))
    with Run.open(tmp_path / "file") as run:
        assert "wedge.obj, kept in the run file" in bodies(run) and str(tmp_path) not in bodies(run)


def test_runs_without_contacts_or_scene_are_reported_too(run, tmp_path):
    page = report(run, tmp_path / "falling.html", stills=2).read_text("utf-8")
    assert "Nothing touched anything in a recorded frame." in page
    with pytest.raises(PliantError, match="name it .html"):
        report(run, tmp_path / "falling.pdf")


def test_words_are_escaped():
    evil = "<script>alert(1)</script>'\""
    for made in (text(evil), table([evil], [[evil]]), figure("", evil), legend({evil: (1, 2, 3)})):
        assert "<script" not in made
