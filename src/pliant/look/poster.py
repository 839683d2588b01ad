"""A picture with a curve beside it: what happened, and how hard."""

from __future__ import annotations

import io
from pathlib import Path

from pliant.base import PliantError
from pliant.disk import make_folder, replacing
from pliant.look.draw import View, draw
from pliant.look.plots import FEW, axes_of
from pliant.look.source import Film
from pliant.look.stage import BACKGROUND
from pliant.record import Run

SIZE = (1600, 720)  # pixels
PICTURE = 0.62  # of the width
DOTS = 144  # per inch of the curve


def poster(
    run: Run, path: str | Path, curve: str = "force", pair: tuple[str, str] | None = None, field: str = "auto", time: float | None = None,
    camera: View = None, size: tuple[int, int] = SIZE, transparent: tuple[str, ...] | None = None,
) -> Path:  # fmt: skip
    """A png of the frame nearest to a time (the last unless given) with a curve of the run on its right, as `run.plot` draws it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    path = Path(path)
    if path.suffix.lower() != ".png":
        raise PliantError(f"cannot write a poster to {path.name}: name it .png")
    wide = int(PICTURE * size[0])
    moment = Film(run).near(time)
    picture = draw(moment, field, (wide, size[1]), camera, transparent=transparent)
    behind = f"#{bytes(BACKGROUND).hex()}"
    figure = Figure(figsize=((size[0] - wide) / DOTS, size[1] / DOTS), dpi=DOTS, layout="constrained", facecolor=behind)
    FigureCanvasAgg(figure)
    axes = axes_of(run, curve, pair, figure.subplots())
    axes.set_facecolor(behind)
    axes.set_title("")
    if (legend := axes.get_legend()) is not None and len(legend.get_texts()) > FEW:  # below: beside, it would take half of the width
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    for line in axes.lines:
        line.set_linewidth(2.0)
    axes.axvline(moment.time, color="0.35", linewidth=1.0)
    held = io.BytesIO()
    figure.savefig(held, format="png")
    whole = Image.new("RGB", size, BACKGROUND)
    whole.paste(picture, (0, 0))
    whole.paste(Image.open(held).convert("RGB"), (wide, 0))
    make_folder(path.parent)
    with replacing(path) as temporary:
        whole.save(temporary)
    return path
