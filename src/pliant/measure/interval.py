"""What happens from one row of the history to the next: a step, or parts of one that had to be divided, added up.

Impulses and work are sums over all parts; forces, torques and areas are means over the time of the interval, so that force times its
length is the impulse; pressure, depth and `peak` are the largest of any part. So the history has every impulse that the bodies got.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.measure.account import key_of
from pliant.measure.pairs import mean_pressure, over_a_face
from pliant.measure.scales import scales_of

if TYPE_CHECKING:
    from pliant.simulate.step import StepReport
    from pliant.world.world import World

FINE = 20  # rows in the shortest window of a world, at least, where steps are divided as finely
MEANS = ("force", "friction", "torque", "normal_force", "area")
SUMS = ("impulse", "normal_work", "friction_work")
LARGEST = ("pressure", "depth", "contacts", "sticking", "peak")


@dataclass
class Interval:
    """Parts since the last row."""

    dt: float = 0.0  # [s]
    max_depth: float = 0.0  # [m]
    contacts: int = 0
    iterations: int = 0
    imbalance: float = 0.0
    timings: dict[str, float] = field(default_factory=dict)
    tables: list[dict[str, np.ndarray]] = field(default_factory=list)

    def take(self, report: StepReport, rows: bool = True) -> None:
        """Add a step, or a part of one; `rows`: with its pairs."""
        self.dt += report.dt
        self.max_depth, self.contacts = max(self.max_depth, report.max_depth), max(self.contacts, len(report.contacts))
        self.iterations, self.imbalance = self.iterations + report.solver_iterations, max(self.imbalance, report.balance.error)
        for stage, seconds in report.timings.items():
            self.timings[stage] = self.timings.get(stage, 0.0) + seconds
        if rows and len(report.contacts):
            self.tables.append(_part(report))

    def pairs(self, world: World) -> dict[str, np.ndarray]:
        """One row for each pair that touched: what it went through in this interval, and what it is measured against."""
        if not self.tables:
            return {}
        found = self._joined()
        scales, (a, b) = scales_of(world), (found["a"], found["b"])
        against = {
            "window": scales.window(a, b, world.model.gravity), "edge": np.minimum(scales.edge[a], scales.edge[b]),
            "length": scales.against(a, b),
            "elastic": scales.elastic_depth(a, b, found["normal_force"], found["area"]),
            "mean_pressure": mean_pressure(found["normal_force"], found["area"], scales.face(a, b)),
            "over_a_face": over_a_face(found["area"], scales.face(a, b)),
        }  # fmt: skip
        return {name: values for name, values in found.items() if name not in ("dt", "key")} | against

    def _joined(self) -> dict[str, np.ndarray]:
        """The tables of all parts in one, by pair."""
        every = {name: np.concatenate([table[name] for table in self.tables]) for name in self.tables[0]}
        key, first, which = np.unique(every["key"], return_index=True, return_inverse=True)
        last = np.zeros(len(key), np.int64)
        last[which] = np.arange(len(which))
        if len(key) == len(which) and self.dt == every["dt"][0]:
            return every
        add = lambda values: _by_pair(np.add, values, which, len(key))
        out = {name: every[name][first] for name in ("a", "b")}
        pressed = np.maximum(every["normal_force"], 0.0) * every["dt"]
        weight = add(pressed)[:, None]
        centre = add(pressed[:, None] * np.nan_to_num(every["centre"]))
        out |= {name: add((every[name].T * every["dt"]).T) / self.dt for name in MEANS}
        out |= {name: add(every[name]) for name in SUMS}
        out |= {name: _by_pair(np.maximum, every[name], which, len(key)) for name in LARGEST}
        out["centre"] = np.divide(centre, weight, out=np.full_like(centre, np.nan), where=weight > 0.0)
        return out | {"kinetic_before": every["kinetic_before"][first], "kinetic": every["kinetic"][last]}


def _by_pair(how: np.ufunc, values: np.ndarray, which: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    how.at(out, which, values)
    return out


def _part(report: StepReport) -> dict[str, np.ndarray]:
    """The pairs of one part."""
    table = report.pairs
    key = key_of(table["a"], table["b"])
    normal, friction, before, after = report.work.of(key)
    return table | {
        "key": key, "dt": np.full(len(key), report.dt), "impulse": report.dt * table["force"],
        "peak": np.linalg.norm(table["force"], axis=1), "normal_work": normal, "friction_work": friction,
        "kinetic_before": before, "kinetic": after,
    }  # fmt: skip
