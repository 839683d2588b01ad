"""Figures: exact sizes, vectors, cameras by numbers, colours whose brightness grows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.look import fields
from pliant.look.draw import scale_of, triangle_colours
from pliant.look.figure import figure
from pliant.look.source import Film
from pliant.look.stage import MAPS, Camera, colour_map, seen_from


def test_a_pdf_has_the_size_that_was_asked_for(run, tmp_path):
    path = figure(run, tmp_path / "a.pdf", time=0.2, size=(85.0, 60.0))
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", path.read_bytes())
    assert [float(x) / 72 * 25.4 for x in box.groups()] == pytest.approx([85.0, 60.0], abs=0.01)


def test_triangles_and_words_stay_vectors_and_text(run, tmp_path):
    text = figure(run, tmp_path / "a.svg", field="speed", title=True, floor=False).read_text()
    paths = len(re.findall(r"<path|<use ", text))
    assert paths > 60 and "<image" not in text
    assert "falling, t = 0.5 s" in text and re.search(r"speed \[m+/s\]", text)


def test_a_camera_by_numbers_sees_what_geometry_says():
    camera = Camera((0.0, -2.0, 0.0), (0.0, 0.0, 0.0), angle=90.0)  # half of the height at distance d is d
    points = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.0, 0, 1.0], [0.5, -1, 0.0]])
    assert np.allclose(seen_from(camera, points)[:, :2], [[0, 0], [0.5, 0], [0, 0.5], [0.5, 0]])


def test_the_nearer_body_hides_the_other(run, tmp_path):
    """From where the ball is before the box, pixels of the box are gone."""
    from PIL import Image

    shots = []
    for x in (3.0, -3.0):
        view = Camera((x, 0.0, 0.3), (0.15, 0.0, 0.3))
        shots.append(np.asarray(Image.open(figure(run, tmp_path / f"{x}.png", field="body", camera=view, floor=False)).convert("RGB")).astype(int))
    blue = [np.count_nonzero((shot[..., 2] - shot[..., 0]) > 60) for shot in shots]
    assert blue[1] > 1.1 * blue[0] > 0


def test_transparent_figures_have_nothing_behind_bodies(run, tmp_path):
    from PIL import Image

    alpha = np.asarray(Image.open(figure(run, tmp_path / "a.png", transparent=True, field="body")))[..., 3]
    assert alpha[0, 0] == 0 and (alpha == 255).any()
    solid = np.asarray(Image.open(figure(run, tmp_path / "b.png", field="body", floor=False)))
    assert solid.shape[2] == 3 or (solid[..., 3] == 255).all()


@pytest.mark.parametrize("name", ["viridis", "cividis", "grey"])
def test_brightness_grows_along_the_map(name):
    """So that it can be read with any eyes, and in grey: the relative luminance of sRGB."""
    colours = colour_map(np.linspace(0, 1, 50), name) / 255.0
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > 0).all() and name in MAPS


def test_every_colour_of_a_triangle_is_in_the_bar(run):
    """The colour of a mean, not the mean of colours: between the ends of viridis that is a grey that the bar has not."""
    picture = Film(run).near(None)
    scale = scale_of("speed", fields.sample(picture, "speed"), None, 1.0, "viridis")
    values = fields.values(picture, "speed").copy()
    values[::2], values[1::2] = 0.0, scale.high
    picture.point_fields["speed"] = values
    shown = triangle_colours(picture, scale, ())[np.isin(picture.triangle_body, list(fields.coloured_bodies(picture, "speed")))]
    bar = colour_map(np.linspace(0.0, 1.0, 4001), "viridis").astype(int)
    assert len(shown) and all(np.abs(bar - colour).max(axis=1).min() <= 1 for colour in np.unique(shown, axis=0).astype(int))


def test_a_curve_beside_it(run, tmp_path):
    assert figure(run, tmp_path / "a.pdf", curve="kinetic", size=(170.0, 60.0)).stat().st_size > 5000


def test_errors(run, tmp_path):
    with pytest.raises(PliantError, match="name it .pdf"):
        figure(run, tmp_path / "a.doc")
    with pytest.raises(PliantError, match="millimetres"):
        figure(run, tmp_path / "a.pdf", size=(3.0, 4.0))
    with pytest.raises(PliantError, match="no colours 'viridi'.*viridis"):
        figure(run, tmp_path / "a.pdf", colours="viridi")
    with pytest.raises(PliantError, match="below the second"):
        figure(run, tmp_path / "a.pdf", limits=(1.0, 0.0), field="speed")
