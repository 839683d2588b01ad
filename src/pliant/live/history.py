"""The last steps of a live simulation, for the curves beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from pliant.live.curves import plots_of
from pliant.measure.books import books
from pliant.measure.pairs import per_pair
from pliant.record.orders import Order
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

KEPT = 2000  # steps
MOST_PAIRS = 8


class History:
    """Numbers of the last steps."""

    def __init__(self) -> None:
        self.steps: deque[tuple[float, int, float, float, float, float, float]] = deque(maxlen=KEPT)
        self.forces: deque[dict[tuple[int, int], float]] = deque(maxlen=KEPT)
        self.pulls: deque[float] = deque(maxlen=KEPT)
        self.order: dict[tuple[int, int], int] = {}  # pairs in the order in which they first touched, which is that of their colours
        self._lock = Lock()  # one thread steps, others ask

    def take(self, sim: Simulation, report: StepReport, elastic: bool = False, pull: float = 0.0) -> None:
        """One step more, with the force of a hand [N]; the elastic energy costs a pass over the elements and is known where asked for."""
        now = books(sim.world, elastic=elastic)
        sums = per_pair(report.contacts)
        size = np.linalg.norm(sums["force"], axis=1) if sums else np.zeros(0)
        force = {(int(a), int(b)): float(f) for a, b, f in zip(sums.get("a", []), sums.get("b", []), size, strict=True)}
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
        return plots_of(series["time"], series, curves, {title(pair): self.order[pair] for pair in shown}, orders)
