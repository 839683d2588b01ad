"""The picture of a pressure map."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats
from pliant.pressing.maps import PressureMap
from pliant.pressing.quantities import pascals, scale_of

WIDE, HIGH = 3.4, 7.2  # [inch] least width, and height of the map


def draw_map(grid: PressureMap, path: Path, title: str, peak: float) -> None:
    """The map in the coordinates of the world, with a colour bar, the centre of pressure, and what its peak is.

    peak   [Pa] of the samples: cells are means, so theirs may be lower
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tall, wide = grid.cell * grid.values.shape
    figure = Figure(figsize=(max(HIGH * wide / tall, WIDE) + 2.2, HIGH + 1.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    scale, unit = scale_of(grid.peak)
    (bottom, top, up), (left, right, across) = (_span(grid, k) for k in (0, 1))
    shown = axes.imshow(grid.values / scale, origin="lower", extent=(left, right, bottom, top), cmap="inferno", aspect="equal")
    centre = grid.centre / (grid.cell * grid.values.shape)
    axes.plot(
        left + centre[1] * (right - left), bottom + centre[0] * (top - bottom), "+", color="white", markersize=14, markeredgewidth=2
    )
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    figure.colorbar(shown, label=f"mean pressure of a cell [{unit}]")
    cells = " x ".join(f"{1e3 * size:.3g}" for size in grid.cell)
    words = (title, f"highest cell {pascals(grid.peak)} ({cells} mm), highest sample {pascals(peak)}", "+ centre of pressure")
    figure.suptitle("\n".join(words), x=0.01, ha="left", fontsize=9)
    figure.savefig(path)


def _span(grid: PressureMap, k: int) -> tuple[float, float, str]:
    """First and last coordinate [mm] along an axis, and its name; one against x, y or z counts down along that."""
    axis, low = grid.axes[k], 1e3 * grid.corner[k]
    high = low + 1e3 * grid.cell[k] * grid.values.shape[k]
    main = int(np.argmax(np.abs(axis)))
    if abs(axis[main]) > 1.0 - 1e-9:
        sign = float(np.sign(axis[main]))
        return sign * low, sign * high, f"{'xyz'[main]} [mm]"
    return low, high, f"along {_words(axis)} [mm]"


def _words(axis: Floats) -> str:
    return f"({', '.join(f'{c + 0.0:.2g}' for c in np.round(axis, 3))})"
