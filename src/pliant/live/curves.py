"""Curves beside the scene: contact force per pair, depth, energies, number of contacts."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats
from pliant.look.fields import extent
from pliant.look.plots import ENERGIES, pair_forces, without_rounding
from pliant.look.stage import BODIES
from pliant.measure.books import ROUNDING, books
from pliant.record import Run
from pliant.record.orders import Order, from_lowest

if TYPE_CHECKING:  # a run is shown without the code that steps
    from pliant.simulate.simulation import Simulation
    from pliant.simulate.step import StepReport

ENERGY_PLACE = {title: k for k, title in enumerate(sorted(ENERGIES.values(), key=lambda title: title == "total"))}  # runs keep no total
MOST = 1500  # points of a curve that is drawn; extremes are kept


def run_curves(run: Run) -> list[dict[str, Any]]:
    """All plots that the run has data for."""
    series, pairs = run.series(), run.pairs()
    if "time" not in series:
        return []
    time = np.asarray(series["time"], np.float64)
    forces = pair_forces(pairs, time, series.get("dt"), run.cells(-1).bodies) if {"row", "a", "b", "force"} <= pairs.keys() else {}
    first = {name: int(np.argmax(force > 0.0)) for name, force in forces.items()}
    body = {name: k for k, name in enumerate(run.cells(-1).bodies.values())}
    order = sorted(forces, key=lambda name: (first[name], [body.get(end, len(body)) for end in name.split(" – ")]))
    title = "contact force, mean" if "window" in pairs else "contact force"
    return plots_of(time, series, forces, extent(run.points(0)), {name: k for k, name in enumerate(order)}, run.orders, title)


def plots_of(
    time: Floats,
    series: Mapping[str, np.ndarray],
    forces: Mapping[str, Floats],
    size: float,
    order: Mapping[str, int] | None = None,
    orders: Sequence[Order] = (),
    force_title: str = "contact force",
) -> list[dict[str, Any]]:
    """Plots from the table of steps [s], (n,), and forces of pairs [N], (n,) each, in a scene of a size [m]; rounding is drawn as zero.

    A pair has the colour of its place in `order`, an energy that of its place among all energies: curves that come later change none.
    `orders`: what was changed by hand, to be marked.
    """
    plots = []
    if forces:
        clean = {name: without_rounding(force, "N", size) for name, force in forces.items()}
        plots.append(_plot(force_title, "N", time, clean, order))
    if "max_depth" in series:
        plots.append(_plot("depth", "m", time, {"depth": without_rounding(series["max_depth"], "m", size)}))
    if np.any(np.nan_to_num(series.get("pull", np.zeros(0)))):
        plots.append(_plot("pull of the hand", "N", time, {"pull": series["pull"]}))
    energies = {title: series[name] for name, title in ENERGIES.items() if name in series and np.any(np.nan_to_num(series[name]))}
    if ENERGIES["gravity"] in energies:
        energies[ENERGIES["gravity"]] = from_lowest(time, series["gravity"], orders)
    if energies:
        most = max(float(np.nanmax(np.abs(values), initial=0.0)) for values in energies.values())
        energies = {title: np.where(np.abs(values) < ROUNDING * most, 0.0, values) for title, values in energies.items()}
        plots.append(_plot("energy", "J", time, energies, ENERGY_PLACE))
    if "contacts" in series:
        plots.append(_plot("contacts", "", time, {"contacts": series["contacts"]}))
    marks = [{"time": order.time, "until": order.until, "words": order.words} for order in orders if not order.early]
    return [plot | {"marks": marks} for plot in plots]


def _plot(title: str, unit: str, time: Floats, curves: Mapping[str, np.ndarray], order: Mapping[str, int] | None = None) -> dict[str, Any]:
    lines = []
    for k, (name, values) in enumerate(curves.items()):
        x, y = thinned(time, np.asarray(values, np.float64))
        place = (order or {}).get(name, k)
        lines.append({"name": name, "colour": BODIES[place % len(BODIES)], "dashed": place >= len(BODIES), "x": x, "y": y})
    return {"title": title, "unit": unit, "curves": lines}


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The finite values; where they are many, lowest and highest of each stretch."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) <= MOST:
        return x, y
    kept = []
    for part in np.array_split(np.arange(len(x)), MOST // 2):
        kept += sorted({int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])})
    return x[kept], y[kept]


# The last steps of a live simulation, for the curves beside it.

KEPT = 2000  # steps
MOST_PAIRS = 8


class History:
    """Numbers of the last steps."""

    def __init__(self) -> None:
        self.steps: deque[tuple[float, int, float, float, float, float, float]] = deque(maxlen=KEPT)
        self.forces: deque[dict[tuple[int, int], float]] = deque(maxlen=KEPT)
        self.pulls: deque[float] = deque(maxlen=KEPT)
        self.order: dict[tuple[int, int], int] = {}  # pairs in the order in which they first touched, which is that of their colours
        self.size = 0.0  # [m] of the scene as it was first seen
        self._lock = Lock()  # one thread steps, others ask

    def take(self, sim: Simulation, report: StepReport, elastic: bool = False, pull: float = 0.0) -> None:
        """One step more, with the force of a hand [N]; the elastic energy costs a pass over the elements and is known where asked for."""
        now = books(sim.world, elastic=elastic)
        sums = report.pairs
        size = np.linalg.norm(sums["force"], axis=1) if sums else np.zeros(0)
        force = {(int(a), int(b)): float(f) for a, b, f in zip(sums.get("a", []), sums.get("b", []), size, strict=True)}
        if self.size == 0.0:
            self.size = max(extent(sim.points()), 1e-300)
        with self._lock:
            self.steps.append((report.time, len(report.contacts), report.max_depth, now.kinetic, now.elastic, now.gravity, now.contact))
            for pair in sorted(force):
                self.order.setdefault(pair, len(self.order))
            self.forces.append(force)
            self.pulls.append(pull)

    def curves(self, names: list[str], orders: Sequence[Order] = ()) -> list[dict[str, Any]]:
        """Plots, as for a run; `orders`: what was changed by hand."""
        with self._lock:
            rows, forces, pulls = list(self.steps), list(self.forces), np.array(self.pulls)
        if not rows:
            return []
        columns = np.array(rows, np.float64).T
        series = dict(zip(("time", "contacts", "max_depth", "kinetic", "elastic", "gravity", "contact_work"), columns, strict=True))
        series["pull"] = pulls
        totals: dict[tuple[int, int], float] = {}
        for row in forces:
            for pair, force in row.items():
                totals[pair] = totals.get(pair, 0.0) + force
        largest = sorted(totals, key=lambda pair: -totals[pair])[:MOST_PAIRS]
        title = lambda pair: f"{names[pair[0]]} – {names[pair[1]]}"
        shown = sorted(largest, key=self.order.__getitem__)
        curves = {title(pair): np.array([row.get(pair, 0.0) for row in forces]) for pair in shown}
        return plots_of(series["time"], series, curves, self.size, {title(pair): self.order[pair] for pair in shown}, orders)
