"""Images: something is seen, in the right colours; bad input gets a sentence; no display is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pliant.base import PliantError
from pliant.look import Camera, draw_series, poster, still
from pliant.look.draw import _within, draw, draw_with_contact, pressed
from pliant.look.source import Picture
from pliant.look.stage import BODIES, COLOURS, RED, STATIC, framed

SIZE = (240, 180)


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB")).reshape(-1, 3).astype(float)


def like(image: Image.Image, colour: tuple[int, int, int], tolerance: float = 0.12) -> float:
    """Share of pixels with the hue of a colour, however bright; greys count as no hue."""
    seen, wanted = pixels(image), np.array(colour, float)
    hue = lambda rgb: (rgb - rgb.min(axis=-1, keepdims=True)) / np.maximum(np.ptp(rgb, axis=-1), 1e-9)[..., None]
    vivid = np.ptp(seen, axis=1) > 25
    return float(np.mean(vivid & (np.abs(hue(seen) - hue(wanted)).max(axis=1) < tolerance)))


def test_a_picture_is_neither_black_nor_white_and_shows_the_body_in_its_colour(falling):
    image = draw(falling.picture(), "body", SIZE)
    assert image.size == SIZE
    grey = pixels(image).mean(axis=1)
    assert np.mean(grey < 40) < 0.05 and np.mean(grey > 252) < 0.5 and grey.std() > 5
    assert like(image, BODIES[0]) > 0.1
    assert like(image, BODIES[1]) < 0.01


def test_the_ground_does_not_hide_what_is_seen_from_below(falling):
    picture = falling.picture()
    camera = framed(picture.points, SIZE, elevation=-30.0)
    assert like(draw(picture, "body", SIZE, camera=camera), BODIES[0]) > 0.1


def test_the_field_runs_from_low_to_high_colours_across_the_box(falling):
    image = draw(falling.picture(), "von_mises", SIZE, camera=(-90.0, 0.0))  # x runs to the right
    columns = np.asarray(image).astype(float)
    body = np.ptp(columns, axis=2) > 40
    body[:, 150:] = False  # the colour bar
    x = np.flatnonzero(body.sum(axis=0) > 20)
    warm = lambda at: (columns[90, at, 0] - columns[90, at, 2]).mean()
    assert warm(x[2:8]) < -20 and warm(x[-8:-2]) > 60  # blue on the left, red on the right
    assert like(image, COLOURS[0]) > 0.01 and like(image, COLOURS[-1]) > 0.01


def pressed_box(falling, low):
    """The box of `falling`, pressed from below or from above."""
    picture = falling.picture()
    z = picture.points[:, 2]
    touched = z < z.min() + 1e-9 if low else z > z.max() - 1e-9
    force = np.outer(touched, [0.0, 0.0, 1.0 if low else -1.0])
    return falling.picture(point_fields={"pressure": 1e4 * touched, "contact_force": force})


def test_contact_out_of_sight_is_shown_beside_through_the_bodies(falling):
    """From below: bodies in their colours, and beside them only what is pressed, not the sides that meet it. From above: one picture."""
    image = draw_with_contact(pressed_box(falling, low=True), size=(480, 240))
    left, right = image.crop((0, 0, 240, 240)), image.crop((240, 0, 420, 240))  # without the colour bar
    assert like(left, BODIES[0]) > 0.1 and like(left, COLOURS[-1]) < 0.01
    assert like(right, COLOURS[-1]) > 0.05
    box = pressed_box(falling, low=True)
    z = box.points[box.triangles][:, :, 2]
    assert np.array_equal(pressed(box, "pressure"), z.max(axis=1) < z.min() + 1e-9)
    assert draw_with_contact(pressed_box(falling, low=True)).size == (1920, 960)
    above = draw_with_contact(pressed_box(falling, low=False))
    assert above.size == (1280, 960) and like(above, COLOURS[-1]) > 0.02


def test_the_rim_of_a_contact_is_half_way_to_points_that_carry_nothing():
    """So that the area which is drawn is that of the contact; whole triangles would have a tenth too much, and only full ones too little."""
    x, y = (each.ravel() for each in np.meshgrid(np.arange(-15.0, 16.0), np.arange(-15.0, 16.0)))
    points = np.stack([x, y, 0.0 * x], axis=1)
    corner = (np.arange(30)[:, None] * 31 + np.arange(30)).ravel()
    squares = np.stack([corner, corner + 1, corner + 32, corner + 31], axis=1)
    triangles = np.concatenate([squares[:, [0, 1, 2]], squares[:, [0, 2, 3]]])
    at, faces, _, _ = _within(points, triangles, points, np.zeros(points.shape, np.uint8), np.hypot(x, y) < 10.0)
    a, b, c = np.asarray(at)[faces].transpose(1, 0, 2)
    assert 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() == pytest.approx(100.0 * np.pi, rel=0.03)


def test_a_series_has_one_camera_and_one_scale(falling):
    """The same picture looks the same beside one of ten times the speed; that one alone does not look as it does in the series."""
    slow, fast = falling.picture(), falling.picture()
    fast.point_fields["velocity"] = 10.0 * fast.point_fields["velocity"]
    alone, (first, second) = draw(slow, "speed", SIZE), draw_series([slow, fast], "speed", SIZE)
    assert like(alone, COLOURS[-1]) > 0.1 > like(first, COLOURS[-1]) and like(second, COLOURS[-1]) > 0.1
    moved = falling.picture(points=slow.points + [1.0, 0.0, 0.0])
    near, (far, _) = draw(slow, "body", SIZE), draw_series([slow, moved], "body", SIZE)
    assert like(far, BODIES[0]) < 0.5 * like(near, BODIES[0])  # the camera sees both


def test_what_touches_is_coloured_by_pressure_unless_something_else_is_asked(falling):
    picture = falling.picture()
    picture.point_fields["pressure"] = np.where(picture.points[:, 2] < 0.1, 1e4, 0.0)
    assert like(draw(picture, size=SIZE), COLOURS[-1]) > 0.02
    assert like(draw(picture, "body", SIZE), COLOURS[-1]) < 0.01


def test_limits_set_the_colours(falling):
    high = draw(falling.picture(), "speed", SIZE, limits=(0.0, 2.0))
    low = draw(falling.picture(), "speed", SIZE, limits=(0.0, 1e3))
    assert like(high, COLOURS[-1]) > 0.1 > like(low, COLOURS[-1]) and like(low, COLOURS[0]) > 0.1
    with pytest.raises(PliantError, match="limits"):
        draw(falling.picture(), "speed", SIZE, limits=(1.0, 1.0))


def test_static_bodies_are_grey_and_keep_out_of_the_field(falling):
    fixed = falling.picture(kinds={0: "static", 1: "static"})
    image = draw(fixed, "speed", SIZE)
    columns = np.asarray(image)[:, :150]
    assert np.ptp(columns.astype(int), axis=2).max() < 30
    near = np.abs(pixels(image) - np.array(STATIC)).max(axis=1) < 45
    assert near.mean() > 0.1


def test_inverted_elements_are_red_even_inside(falling):
    mesh = falling.box(0.2, 0.05)
    middle = np.abs(mesh.points[mesh.tets].mean(axis=1)).max(axis=1)
    inside = (mesh.points + [0, 0, 0.12])[mesh.tets[np.argsort(middle)[:3]]]
    assert like(draw(falling.picture(), "body", SIZE), RED, 0.06) == 0.0
    assert like(draw(falling.picture(inverted=inside), "body", SIZE), RED, 0.06) > 0.002


def test_glass_lets_the_colour_behind_it_through(falling):
    inner, outer = falling.box(0.1), falling.box(0.2)
    nested = Picture(
        np.concatenate([inner.points, outer.points]), np.concatenate([inner.boundary, outer.boundary + len(inner.points)]),
        np.repeat([0, 1], [len(inner.boundary), len(outer.boundary)]), {0: "inner", 1: "outer"}, {0: "fem", 1: "rigid"},
    )  # fmt: skip
    opaque = draw(nested, "body", SIZE, transparent=())
    assert like(opaque, BODIES[0]) == 0.0 and like(opaque, BODIES[1]) > 0.1
    for transparent in (["outer"], None):  # asked for, or found: it hides what is in it
        assert like(draw(nested, "body", SIZE, transparent=transparent), BODIES[0], 0.3) > 0.02
    with pytest.raises(PliantError, match="did you mean outer"):
        draw(nested, "body", SIZE, transparent=["outr"])


def test_surfels_are_drawn(falling):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(200, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    fields = {"normal": normal, "radius": np.full(200, 0.15), "pressure": np.full(200, 7.0)}
    nothing = np.zeros((0, 3), np.int64)
    cloud = Picture(
        normal, nothing, nothing[:, 0], {0: "cloud"}, {0: "points"}, fields, surfels=np.arange(200), surfel_body=np.zeros(200, int)
    )
    assert like(draw(cloud, "pressure", SIZE, limits=(0, 7.0)), COLOURS[-1]) > 0.2


def test_lost_points_do_not_spoil_the_picture(falling):
    points = falling.picture().points.copy()
    points[0] = np.nan
    assert like(draw(falling.picture(points=points), "body", SIZE), BODIES[0]) > 0.05


def test_a_missing_field_lists_the_fields(falling):
    with pytest.raises(PliantError, match="no field 'heat'.*speed, velocity, von_mises, body"):
        draw(falling.picture(), "heat", SIZE)


def test_a_still_of_a_run_takes_the_frame_nearest_in_time(run, tmp_path):
    camera = Camera((0.0, -3.0, 0.3), (0.0, 0.0, 0.3))
    rows = []
    for time in (0.02, 0.44, None):
        path = still(run, tmp_path / "deep" / "still.png", time, "body", SIZE, camera)
        image = np.asarray(Image.open(path)).astype(int)
        blue = (image[..., 2] - image[..., 0] > 40) & (np.ptp(image, axis=2) > 40)
        rows.append(np.flatnonzero(blue.any(axis=1)).mean())
    assert rows[0] < rows[1] - 10 and rows[1] < rows[2] - 2  # the box sinks
    with pytest.raises(PliantError, match="name it .png"):
        still(run, tmp_path / "still.bmpx")


def test_size_is_checked(falling):
    with pytest.raises(PliantError, match="at least 16"):
        draw(falling.picture(), "body", (8, 100))


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import falling
from pliant.base import PliantError
from pliant.look.draw import draw, draw_with_contact, pressed
try:
    print(len(draw(falling.picture(), "body", (80, 60)).getcolors(4800)), "colours")
except PliantError as error:
    print(error)
"""


def drawn_elsewhere(**environment: str) -> str:
    """What a new process says that draws with no display."""
    clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "VTK_DEFAULT_OPENGL_WINDOW")}
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", program], env=clean | environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr[-2000:]
    return done.stdout


def test_no_display_is_needed():
    assert int(drawn_elsewhere().split(" colours")[0]) > 50


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="EGL is Linux's")
def test_without_any_driver_a_sentence_says_what_to_install():
    said = drawn_elsewhere(__EGL_VENDOR_LIBRARY_DIRS="/nonexistent")
    assert "apt install libegl1" in said or "colours" in said  # OSMesa may be there; what must not happen is a crash


def test_a_poster_has_the_picture_and_the_curve_beside_it(run, tmp_path):
    made = np.asarray(Image.open(poster(run, tmp_path / "a.png", "kinetic", field="speed", size=(640, 300))))
    assert made.shape == (300, 640, 3)
    curve = made[:, 400:].astype(int)
    assert np.count_nonzero((curve[..., 2] - curve[..., 0]) > 60) > 100, "a blue line on the right"
    with pytest.raises(PliantError, match="name it .png"):
        poster(run, tmp_path / "a.pdf")
