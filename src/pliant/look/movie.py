"""Movies of runs: mp4 through ffmpeg if there is one, else gif."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pliant.base import Floats, PliantError
from pliant.disk import CURES, failure
from pliant.look import fields
from pliant.look.draw import Canvas, View, scale_of, viewpoint
from pliant.look.source import Film
from pliant.look.stage import containers, extremes
from pliant.record import Run

if TYPE_CHECKING:
    from PIL import Image

SAMPLES = 2000  # values of each frame that the range of colours is chosen from


def movie(
    run: Run,
    path: str | Path,
    field: str = "auto",
    fps: float = 30.0,
    size: tuple[int, int] = (960, 720),
    camera: View = None,
    limits: tuple[float, float] | None = None,
    transparent: Collection[str] | None = None,
    edges: bool = False,
    frames: Sequence[int] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """A movie with one picture per frame of a run (or of chosen `frames`); returns the file that was written.

    A path that ends in .gif gives a gif, .mp4 an mp4; without ffmpeg .mp4 becomes .gif. `progress` is called with
    pictures done and their number. Everything else as for `still`; camera and colours are the same in all pictures.
    """
    path, size = Path(path), (size[0] - size[0] % 2, size[1] - size[1] % 2)  # video needs even sizes
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise PliantError(f"cannot write a movie to {path.name}: name it .mp4 or .gif")
    if not fps > 0:
        raise PliantError(f"fps = {fps}: give the pictures per second, above 0")
    film = Film(run)
    chosen = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
    if not chosen:
        raise PliantError("frames is empty: a movie needs at least one")
    wanted, around, scale = survey(film, chosen, field, limits)
    path.parent.mkdir(parents=True, exist_ok=True)
    view = viewpoint(around, size, camera, scale)
    glass = containers(film.picture(chosen[-1], ()), view) if transparent is None else transparent
    with Canvas(around, size, view, scale, glass, edges) as canvas:
        writer = _writer(path, size, fps)
        try:
            for done, i in enumerate(chosen):
                writer.add(canvas.draw(film.picture(i, wanted)))
                if progress is not None:
                    progress(done + 1, len(chosen))
        except BaseException:
            writer.give_up()
            raise
        return writer.finish()


def survey(
    film: Film, chosen: Sequence[int], field: str, limits: tuple[float, float] | None = None
) -> tuple[set[str], Floats, fields.Scale | None]:
    """Of frames in which a field is drawn: the recorded field behind it, what has to be seen over all of them, and the colour scale."""
    available = set().union(*(film.fields(i) for i in chosen))
    # whether bodies press each other in any; the last ones, which know it soonest, are asked first
    contact = field == "auto" and any(fields.touches(film.picture(i, {"pressure"})) for i in reversed(chosen))
    field = fields.choose(field, available, film.picture(chosen[0], ()).kinds, contact)
    wanted = {fields.source_of(field, available)}
    around, samples = [], []
    for i in chosen:
        picture = film.picture(i, wanted)
        around.append(extremes(picture.movable_points()))
        found = np.sort(fields.sample(picture, field)) if field != "body" else np.zeros(0)
        samples.append(found[:: max(1, len(found) // SAMPLES)])
    whole = np.concatenate(around)
    return wanted, whole, scale_of(field, np.concatenate(samples), limits, fields.extent(whole))


# ------------------------------------------------------------------------------------------------ writing


class Writer(Protocol):
    """Takes pictures one after the other."""

    def add(self, image: Image.Image) -> None: ...

    def finish(self) -> Path: ...

    def give_up(self) -> None: ...


def _writer(path: Path, size: tuple[int, int], fps: float) -> Writer:
    if path.suffix.lower() == ".mp4":
        program = ffmpeg()
        if program is not None:
            return _Mp4(program, path, size, fps)
        path = path.with_suffix(".gif")
    return _Gif(path, fps)


def ffmpeg() -> str | None:
    """The encoder: the one that imageio-ffmpeg brings, else one that is installed."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return shutil.which("ffmpeg")


class _Mp4:
    """Raw pictures through a pipe to ffmpeg; the file takes its name when it is complete."""

    def __init__(self, program: str, path: Path, size: tuple[int, int], fps: float) -> None:
        self.path, self.part = path, path.with_name(path.name + ".part")
        self.said = tempfile.TemporaryFile()
        source = f"-f rawvideo -pix_fmt rgb24 -s {size[0]}x{size[1]} -r {fps} -i -"
        # yuv420p and faststart: plays in browsers and on phones
        result = "-an -c:v libx264 -preset veryfast -crf 20 -pix_fmt yuv420p -movflags +faststart -f mp4"
        command = [program, "-y", "-loglevel", "error", *source.split(), *result.split(), str(self.part)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.said)

    def add(self, image: Image.Image) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(image.tobytes())
        except BrokenPipeError:
            self._complain()

    def finish(self) -> Path:
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait() != 0:
            self._complain()
        self.said.close()
        return self.part.replace(self.path)

    def give_up(self) -> None:
        self.process.kill()
        self.process.wait()
        self.said.close()
        self.part.unlink(missing_ok=True)

    def _complain(self) -> None:
        self.process.wait()
        self.said.seek(0)
        words = self.said.read().decode(errors="replace").strip()
        self.part.unlink(missing_ok=True)
        if refused := next((code for code in CURES if os.strerror(code) in words), None):  # by the disk, not by ffmpeg
            raise failure(OSError(refused, os.strerror(refused)), "cannot write", self.path)
        reason = "; ".join(words.splitlines()) or "no reason given"
        raise PliantError(f"ffmpeg could not write {self.path}: {reason}; a .gif needs no ffmpeg")


class _Gif:
    """Pictures with one common palette, taken from the first and the middle of what came."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.duration = max(20, round(100.0 / fps) * 10)  # [ms] in steps of ten; viewers slow down below twenty
        self.images: list[Image.Image] = []

    def add(self, image: Image.Image) -> None:
        from PIL import Image

        palette = self.images[0] if self.images else None
        if palette is None:
            self.images.append(image.quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE))
        else:
            self.images.append(image.quantize(palette=palette, dither=Image.Dither.NONE))

    def finish(self) -> Path:
        first, *rest = self.images
        part = self.path.with_name(self.path.name + ".part")
        first.save(part, format="GIF", save_all=True, append_images=rest, duration=self.duration, loop=0, optimize=False)
        return part.replace(self.path)

    def give_up(self) -> None:
        self.images.clear()
