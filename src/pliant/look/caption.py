"""Words and the colour bar on a finished picture."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.look.fields import Scale
from pliant.look.stage import RED, colour_map

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

INK, QUIET = (44, 48, 56), (120, 126, 136)


@cache
def font(pixels: int, bold: bool = False) -> FreeTypeFont:
    """DejaVu Sans, which comes with matplotlib."""
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), pixels)


def write(image: Image.Image, title: str, time: float, tile: float | None, inverted: int, scale: Scale | None) -> None:
    """Title and time above, size of a floor tile below, inverted elements in red, the colour bar on the right."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    width, height = image.size
    unit = max(height // 40, 9)
    pen.text((unit, unit), title, INK, font(round(1.15 * unit), bold=True))
    if np.isfinite(time):  # a static picture has none
        pen.text((unit, 2.7 * unit), f"t = {time:.3f} s", QUIET, font(unit))
    if inverted:
        words = f"{inverted} inverted element{'s' if inverted > 1 else ''}"
        pen.text((unit, 4.2 * unit), words, RED, font(unit, bold=True))
    if tile is not None:
        pen.text((unit, height - 1.0 * unit), f"tiles {length_words(tile)}", QUIET, font(round(0.85 * unit)), anchor="ls")
    if scale is not None:
        _colour_bar(image, pen, scale, width, height, unit)


def legend(image: Image.Image, entries: Mapping[str, tuple[int, int, int]]) -> None:
    """Coloured words in the lower right corner, the first on top."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    width, height = image.size
    unit = max(height // 40, 9)
    for i, (words, colour) in enumerate(reversed(list(entries.items()))):
        pen.text((width - unit, height - (1.0 + 1.4 * i) * unit), words, colour, font(unit, bold=True), anchor="rs")


def length_words(metres: float) -> str:
    """A length for people: 5 cm."""
    for size, name in ((1000.0, "km"), (1.0, "m"), (0.01, "cm"), (0.001, "mm"), (1e-6, "µm")):
        if metres >= 0.9999 * size:
            return f"{metres / size:.3g} {name}"
    return f"{metres:.3g} m"


def _colour_bar(image: Image.Image, pen: ImageDraw, scale: Scale, width: int, height: int, unit: int) -> None:
    from PIL import Image

    labels, small = scale.labels(), font(round(0.9 * unit))
    room = max(pen.textlength(label, small) for label in labels)
    thick, tall = round(0.9 * unit), round(0.44 * height)
    left, top = round(width - 1.6 * unit - room - thick), round(3.2 * unit)
    ramp = colour_map(np.linspace(1.0, 0.0, tall), scale.colours)[:, None].repeat(thick, axis=1)
    image.paste(Image.fromarray(ramp), (left, top))
    for label, at in zip(labels, np.linspace(top + tall - 1, top, len(labels)), strict=True):
        pen.line([(left + thick, at), (left + thick + 0.25 * unit, at)], QUIET)
        pen.text((left + thick + 0.5 * unit, at), label, INK, small, anchor="lm")
    pen.text((width - unit, top - 1.0 * unit), scale.title, INK, small, anchor="rs")
    if scale.note:
        pen.text((width - unit, top + tall + 1.8 * unit), scale.note, QUIET, small, anchor="rs")
