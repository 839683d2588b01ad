"""What the experiments look at along a run, how jitter is measured, and how curves and pictures are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats
from pliant.look import Picture, draw_series
from pliant.simulate.simulation import Simulation

if TYPE_CHECKING:
    from PIL import Image

CPF, DPF = "continuous-penalty", "penalty"
SHORT = {CPF: "CPF", DPF: "DPF"}


class History:
    """Contact of two bodies and the motion of the first one, one entry per step."""

    def __init__(self, sim: Simulation, a: str, b: str) -> None:
        self.sim, self.a, self.b = sim, a, b
        self._rows: list[tuple[float, ...]] = []

    def look(self, report: object = None) -> None:
        contacts = self.sim.contacts(self.a, self.b)
        deep = np.minimum(contacts.gap, 0.0)
        centre = self.sim.centre(self.a)
        self._rows.append((self.sim.time, *contacts.total_force, -deep.sum(), -deep.min(initial=0.0), len(contacts), *centre))

    def run(self, until: float | None = None) -> History:
        self.sim.run(until, each=self.look)
        return self

    def _column(self, first: int, last: int) -> Floats:
        return np.array([row[first:last] for row in self._rows])

    @property
    def time(self) -> Floats:
        """[s] (n,)"""
        return self._column(0, 1)[:, 0]

    @property
    def force(self) -> Floats:
        """On the first body [N] (n, 3)."""
        return self._column(1, 4)

    @property
    def depth(self) -> Floats:
        """Summed over the contacts [m] (n,)."""
        return self._column(4, 5)[:, 0]

    @property
    def deepest(self) -> Floats:
        """[m] (n,)"""
        return self._column(5, 6)[:, 0]

    @property
    def count(self) -> Floats:
        """Contacts (n,)."""
        return self._column(6, 7)[:, 0]

    @property
    def centre(self) -> Floats:
        """Of the first body [m] (n, 3)."""
        return self._column(7, 10)

    def after(self, time: float) -> np.ndarray:
        """Which entries are later than a time [s]."""
        return self.time > time


def jitter(force: Floats) -> float:
    """Root mean square of the second difference of a force that is sampled once a step [N]: what does not follow its neighbours."""
    return float(np.sqrt(np.mean(np.diff(force, 2, axis=0) ** 2))) if len(force) > 2 else 0.0


def plot(
    path: Path,
    panels: Sequence[tuple[str, str, dict[str, tuple[Any, Any]]]],
    x: str = "time [s]",
    log: Sequence[int] = (),
    dots: bool = False,
    zero: bool = False,
) -> None:
    """Curves by name, in panels of (title, label of y, curves); some of them with a logarithmic y; dots for lines; y from zero on."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 2 if len(panels) > 1 else 1
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6 * columns, 3.2 * rows))
    FigureCanvasAgg(figure)
    for k, (title, y, curves) in enumerate(panels):
        axis = figure.add_subplot(rows, columns, k + 1)
        for name, (along, values) in curves.items():
            scattered, few = dots and len(along) > 2, 2 < len(along) < 20
            axis.plot(along, values, ls="" if scattered else "-", lw=1.0, marker="." if scattered or few else None, label=name)
        axis.set(title=title, ylabel=y, xlabel=x)
        if k in log:
            axis.set_yscale("log")
        if zero:
            axis.set_ylim(bottom=0.0)
        if len(curves) > 1 or "" not in curves:
            axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def bars(path: Path, panels: Sequence[tuple[str, str, dict[str, dict[str, float]]]]) -> None:
    """Stacked bars in panels of (title, label of y, bars): each bar by its name, of parts by theirs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(panels), 3.6))
    FigureCanvasAgg(figure)
    for k, (title, y, stacks) in enumerate(panels):
        axis = figure.add_subplot(1, len(panels), k + 1)
        parts = list(dict.fromkeys(part for stack in stacks.values() for part in stack))
        low = np.zeros(len(stacks))
        for part in parts:
            height = np.array([stack.get(part, 0.0) for stack in stacks.values()])
            axis.bar(list(stacks), height, bottom=low, label=part, width=0.6)
            low += height
        axis.set(title=title, ylabel=y)
        axis.tick_params(axis="x", labelsize=8)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def strip(
    path: Path, pictures: Sequence[Picture], field: str = "auto", size: tuple[int, int] = (640, 480), columns: int = 3, **options: Any
) -> None:
    """Moments of a run side by side, with one camera and one colour bar; options as for `draw`."""
    sheet(path, draw_series(pictures, field, size, **options), columns)


def sheet(path: Path, images: Sequence[Image.Image], columns: int = 3) -> None:
    """Images of one size side by side."""
    from PIL import Image

    columns, size = min(columns, len(images)), images[0].size
    whole = Image.new("RGB", (columns * size[0], -(-len(images) // columns) * size[1]), "white")
    for k, image in enumerate(images):
        whole.paste(image, (k % columns * size[0], k // columns * size[1]))
    whole.save(path, optimize=True)
