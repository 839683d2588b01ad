"""Thresholds by bisection: where a yes-or-no condition changes, for every point of the other parameters at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base import PliantError
from pliant.spec.units import in_scene_units
from pliant.studies.case import Case
from pliant.studies.ledger import write_tables
from pliant.studies.sensitivity import grid
from pliant.studies.work import Result

if TYPE_CHECKING:
    from pliant.studies.bench import Bench, Point
    from pliant.studies.schema import Find
    from pliant.studies.study import Study


@dataclass
class Threshold:
    """The bracket in which the condition changes, for one point of the other parameters."""

    point: dict[str, Any]
    low: float  # the condition is as at the lower end of the range
    high: float  # as at the upper end
    status: str = "searching"  # found, never, always, or failed
    reason: str = ""
    holds_above: bool | None = None  # whether the condition is true above the threshold
    cases: int = 0
    log: bool = False
    ends: dict[float, bool] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The middle of the bracket; NaN without one."""
        return self.middle if self.status == "found" else math.nan

    @property
    def middle(self) -> float:
        return math.sqrt(self.low * self.high) if self.log else 0.5 * (self.low + self.high)

    def row(self) -> dict[str, Any]:
        """A row of the table of thresholds."""
        bracket = {"threshold": self.value, "low": self.low, "high": self.high}
        return {**self.point, **bracket, **{k: asdict(self)[k] for k in ("status", "holds_above", "cases", "reason")}}


def narrow_enough(find: Find, low: float, high: float) -> bool:
    """Whether a bracket is within the tolerance."""
    text = str(find.tolerance).strip()
    if text.endswith("%"):
        return high - low <= float(text[:-1]) / 100.0 * max(abs(low), abs(high))
    limit = in_scene_units(find.tolerance)
    if not isinstance(limit, int | float) or not limit > 0.0:
        raise PliantError(f"find: tolerance = {find.tolerance!r} must be a width above 0, such as 0.01, \"1mm\" or \"2%\".")
    return high - low <= float(limit)


def search(study: Study, bench: Bench, folder: Path) -> list[Threshold]:
    """Bisect at all points at once: each answer asks the next question of its point."""
    from pliant.studies.study import condition_of

    find = study.find
    assert find is not None
    low, high = find.between
    if not low < high or (find.scale == "log" and low <= 0.0):
        raise PliantError(f"find: between = {find.between} must ascend, and on a log scale begin above 0.")
    narrow_enough(find, low, high)
    holds = condition_of(find.condition, None if study.call else list(study.measures))
    points = list(grid(study))
    searches = [Threshold(point, low, high, log=find.scale == "log") for point, _ in points]
    where: dict[str, int] = {}  # which search a question belongs to

    def ask(k: int, value: float) -> tuple[Point, int]:
        question = {**points[k][0], find.parameter: value}
        where[_mark(question, points[k][1])] = k
        return question, points[k][1]

    def answered(case: Case, result: Result) -> Iterator[tuple[Point, int]]:
        k = where[_mark(case.parameters, bench.repetition_of(case))]
        here = searches[k]
        here.cases += 1
        if result.status != "finished":
            here.status, here.reason = "failed", f"at {find.parameter} = {case.parameters[find.parameter]:.6g}: {result.reason}"
        if here.status != "searching":
            return
        value, yes = float(case.parameters[find.parameter]), holds(result.measures)
        if here.holds_above is None:
            here.ends[value] = yes
            if len(here.ends) < 2:
                return
            if here.ends[low] == here.ends[high]:
                here.status = "always" if yes else "never"
                here.reason = f"the condition is {'true' if yes else 'false'} at both ends of the range"
                return
            here.holds_above = here.ends[high]
        elif yes == here.holds_above:
            here.high = value
        else:
            here.low = value
        if narrow_enough(find, here.low, here.high):
            here.status = "found"
            return
        yield ask(k, here.middle)

    bench.do([ask(k, end) for k in range(len(points)) for end in (low, high)], answered)
    rows = [each.row() for each in searches]
    write_tables(folder / "thresholds", {name: [row[name] for row in rows] for name in rows[0]} if rows else {})
    return searches


def _mark(point: Point, repetition: int) -> str:
    return repr(sorted(point.items(), key=str)) + str(repetition)
