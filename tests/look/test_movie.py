"""Movies have the frames they should, in a format that plays."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pliant.base import PliantError
from pliant.look.movie import ffmpeg, movie

SIZE = (121, 91)  # odd on purpose


def frames_of(path) -> list[np.ndarray]:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    reader = imageio_ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    return [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]


@pytest.mark.skipif(ffmpeg() is None, reason="no ffmpeg")
def test_an_mp4_has_one_picture_per_frame(run, tmp_path):
    calls = []
    path = movie(run, tmp_path / "new" / "run.mp4", size=SIZE, progress=lambda done, of: calls.append((done, of)))
    assert path == tmp_path / "new" / "run.mp4" and [p.name for p in path.parent.iterdir()] == ["run.mp4"]
    frames = frames_of(path)
    assert len(frames) == run.frames and frames[0].shape == (90, 120, 3)
    assert calls == [(i + 1, run.frames) for i in range(run.frames)]
    change = [np.abs(a.astype(int) - b).mean() for a, b in zip(frames, frames[1:], strict=False)]
    assert min(change) > 0.1  # the box moves


@pytest.mark.skipif(ffmpeg() is None, reason="no ffmpeg")
def test_chosen_frames_and_their_order(run, tmp_path):
    path = movie(run, tmp_path / "run.mp4", "body", size=SIZE, frames=[5, 0, -1], transparent=())
    last, first, again = frames_of(path)
    assert np.abs(last.astype(int) - again).mean() < 0.5 < np.abs(last.astype(int) - first).mean()


def test_without_ffmpeg_the_movie_is_a_gif(run, tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["pliant.look.movie"], "ffmpeg", lambda: None)
    path = movie(run, tmp_path / "run.mp4", "speed", fps=10, size=SIZE)
    assert path == tmp_path / "run.gif"
    with Image.open(path) as image:
        assert image.n_frames == run.frames and image.info["duration"] == 100 and image.size == (120, 90)
        assert len(image.convert("RGB").getcolors(1 << 20)) > 50


def test_colours_mean_the_same_in_all_pictures(run, tmp_path):
    """The stress grows from 1 to 6 kPa: the range is that of the whole run, so the box goes from cold to warm."""
    path = movie(run, tmp_path / "run.gif", "von_mises", size=(240, 180), frames=[0, 5], camera=(-90.0, 10.0))
    with Image.open(path) as image:
        warmth = []
        for i in range(2):
            image.seek(i)
            rgb = np.asarray(image.convert("RGB")).astype(int)[:, :170]
            vivid = rgb[np.ptp(rgb, axis=2) > 40]
            warmth.append((vivid[:, 0] - vivid[:, 2]).mean())
    assert warmth[0] < 0 < warmth[1]


@pytest.mark.parametrize(
    "options, match",
    [
        (dict(path="run.avi"), "name it .mp4 or .gif"),
        (dict(fps=0), "fps"),
        (dict(frames=[]), "at least one"),
        (dict(frames=[6]), "no frame 6"),
        (dict(field="heat"), "no field 'heat'.*depth, speed, velocity, von_mises, body"),
    ],
)
def test_bad_requests_get_a_sentence(run, tmp_path, options, match):
    values = {"path": "run.mp4", "size": SIZE} | options
    with pytest.raises(PliantError, match=match):
        movie(run, tmp_path / values.pop("path"), **values)


@pytest.mark.skipif(ffmpeg() is None, reason="no ffmpeg")
def test_a_movie_that_is_broken_off_leaves_no_file(run, tmp_path):
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        movie(run, tmp_path / "run.mp4", size=SIZE, progress=stop)
    assert list(tmp_path.iterdir()) == []
