"""The page a user mails to a colleague: one html file that says what was simulated, what happened, and how to do it again."""

from __future__ import annotations

import base64
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, PliantError
from pliant.disk import make_folder, write_text
from pliant.look.draw import Canvas, draw_through, viewpoint
from pliant.look.movie import survey
from pliant.look.plots import plots
from pliant.look.report import words
from pliant.look.report.hardest import Hardest, hardest_contact, plot_map
from pliant.look.report.html import beside, figure, legend, page, section, text
from pliant.look.source import Film
from pliant.look.stage import STONE, Camera, containers, plain_colours
from pliant.record import Run

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["report"]

STILLS = 6
SIZE = (640, 640)  # of a still: shown two in a row, its words are as large as those of the page
PLOTS = {
    "energy": "Energies. Gravity is counted from its lowest value, and anew after each change of gravity.",
    "force": "Contact force of each pair of bodies.",
    "depth": "Deepest penetration and number of contacts.",
    "momentum": "Momentum of everything that can move. How well the contacts account for it: see momentum balance, above.",
}  # fmt: skip


def report(run: Run, path: str | Path, field: str = "auto", stills: int = STILLS) -> Path:
    """Write the report of a run; `stills` pictures along the time line, coloured by a field."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise PliantError(f"cannot write a report to {path.name}: name it .html")
    if run.frames == 0:
        raise PliantError(f"{run.path} has no frames to report: the run ended before its first one")
    hardest = hardest_contact(run)
    parts = [
        words.lead(run),
        section("What was simulated", words.summary(run)),
        *([section("What was changed while it ran", changed)] if (changed := words.changed(run)) else []),
        section("What it looked like", _stills(run, field, stills, hardest)),
        section("Bodies and materials", words.bodies(run)),
        section("Curves", _curves(run)),
        section("The hardest contact that was recorded", _hardest(run, hardest)),
        section("What touched what", words.pairs(run)),
        section("Warnings", words.warnings(run)),
        section("Notes", words.notes(run)),
        section("How to go on with it" if changed else "How to do it again", words.again(run)),
    ]
    make_folder(path.parent)
    write_text(path, page(f"{words.title(run)}: report of a pliant run", parts))
    return path


def _stills(run: Run, field: str, count: int, hardest: Hardest | None) -> str:
    """Pictures at equal distances in time, with one camera and one scale; a sentence where this machine cannot draw."""
    film = Film(run)
    chosen = sorted(set(np.linspace(0, run.frames - 1, max(1, min(count, run.frames))).round().astype(int).tolist()))
    if hardest is not None and hardest.frame not in chosen:  # in place of its neighbour, but not of the first and the last
        inner = chosen[1:-1]
        near = min(inner, key=lambda i: abs(i - hardest.frame), default=None)
        chosen = sorted({*(i for i in chosen if i != near), hardest.frame})
    wanted, around, scale = survey(film, chosen, field)
    camera = viewpoint(around, SIZE, None, scale)
    try:
        shown = [_who_is_who(film, around, camera)]
        with Canvas(around, SIZE, camera, scale, containers(film.picture(chosen[-1], ()), camera)) as canvas:
            for i in chosen[1:] if len(chosen) > 1 and (hardest is None or hardest.frame > 0) else chosen:
                mark = ", the hardest contact of those recorded" if hardest is not None and i == hardest.frame else ""
                shown.append(figure(_encoded(canvas.draw(film.picture(i, wanted))), f"t = {run.times[i]:.4g} s{mark}"))
        pressed = chosen[-1] if hardest is None else hardest.frame
        through = draw_through(film.picture(pressed, wanted | {"contact_force"}), "body" if scale is None else scale.field, SIZE)
        if through is not None:
            shown.append(figure(_encoded(through), f"t = {run.times[pressed]:.4g} s, what the bodies hide"))
    except PliantError as error:
        return text(f"No pictures: {error}.")
    others = "" if scale is None else f" The others are coloured by {scale.title}."
    what = f"The first picture tells which body is which.{others}"
    return text(what, "quiet") + f"<div class='stills'>{''.join(shown)}</div>"


def _who_is_who(film: Film, around: Floats, camera: Camera) -> str:
    """The first frame with a colour for each body, and their names."""
    picture = film.picture(0, ())
    glass = containers(picture, camera)
    with Canvas(around, SIZE, camera, None, glass) as canvas:
        drawn = _encoded(canvas.draw(picture))
    names: dict[str, tuple[int, int, int]] = {}
    for body, colour in list(plain_colours(picture, by_field=False).items())[: words.MOST_BODIES]:
        clear = picture.names[body] in glass
        names[picture.names[body] + (" (as glass)" if clear else "")] = STONE if clear else colour
    return figure(drawn, f"t = {picture.time:.4g} s, a colour for each body:", legend(names))


def _encoded(image: Image.Image) -> str:
    data = io.BytesIO()
    image.convert("RGB").save(data, "PNG", optimize=True)
    return base64.b64encode(data.getvalue()).decode()


def _curves(run: Run) -> str:
    with tempfile.TemporaryDirectory() as folder:
        made = plots(run, Path(folder) / "plot")
        files = {path.stem.split("_")[-1]: base64.b64encode(path.read_bytes()).decode() for path in made}
    shown = [figure(files[name], caption) for name, caption in PLOTS.items() if name in files]
    return beside(shown) if shown else text("The run holds no series to plot.")


def _hardest(run: Run, hardest: Hardest | None) -> str:
    if hardest is None:
        return text("Nothing touched anything in a recorded frame.")
    said = words.hardest(run, hardest)
    with tempfile.TemporaryDirectory() as folder:
        made = plot_map(run, hardest, Path(folder) / "map.png")
        if made is None:
            return said + words.numbers(run, hardest) + text("There is no map: the pressure over the surface is not known.")
        caption = f"Pressure between {hardest.a} and {hardest.b} alone, seen along the mean normal; distances from its centre."
        return said + beside([figure(base64.b64encode(made.read_bytes()).decode(), caption), words.numbers(run, hardest)])
