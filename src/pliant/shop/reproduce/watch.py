"""What the experiments look at along a run, how jitter is measured, and how curves are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.simulate.simulation import Simulation

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


def plot(path: Path, panels: Sequence[tuple[str, str, dict[str, tuple[Any, Any]]]], x: str = "time [s]") -> None:
    """Curves by name, in panels of (title, label of y, curves)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = 2 if len(panels) > 1 else 1
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(6 * columns, 3.2 * rows), squeeze=False)
    for axis in axes.ravel()[len(panels) :]:
        axis.set_visible(False)
    for axis, (title, y, curves) in zip(axes.ravel(), panels, strict=False):
        for name, (along, values) in curves.items():
            axis.plot(along, values, label=name, linewidth=1.0, marker="." if len(along) < 20 else None)
        axis.set(title=title, ylabel=y, xlabel=x)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
