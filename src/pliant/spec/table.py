"""A value over time: constant, tabulated (linear between rows, held at the ends) or a callable until it is sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError

LARGEST, SMALLEST = 1e30, 1e-30  # of numbers in scenes: their third powers can still be multiplied with each other


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values at times; a callable stands for itself until `sampled` makes rows of it."""

    times: Floats  # [s] (T,), ascending
    values: Floats  # (T, width)
    function: Callable[[float], Any] | None = None
    scalar: bool = False  # written and returned as a number, not as a list

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @classmethod
    def constant(cls, value: Any) -> Table:
        array: Floats = np.asarray(value, dtype=np.float64)
        return cls(np.zeros(1), array.reshape(1, -1), scalar=array.ndim == 0)

    def __call__(self, t: float) -> Floats:
        """The value at time t, (width,)."""
        if self.function is not None:
            return np.asarray(self.function(t), dtype=np.float64).reshape(-1)
        return np.array([np.interp(t, self.times, column) for column in self.values.T])

    def sampled(self, dt: float, count: int) -> Table:
        """Rows at 0, dt, 2 dt, ... instead of a callable; a run can then be saved and resumed."""
        if self.function is None:
            return self
        times: Floats = dt * np.arange(count, dtype=np.float64)
        return Table(times, np.array([self(t) for t in times]), scalar=self.scalar)

    def plain(self, path: str) -> Any:
        """As TOML holds it."""
        if self.function is not None:
            raise PliantError(f"{path} is a Python function, which a scene file cannot hold: give it as a table.")
        values = self.values[:, 0].tolist() if self.scalar else self.values.tolist()
        return values[0] if len(self.times) == 1 else {"times": self.times.tolist(), "values": values}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.function is other.function
            and np.array_equal(self.times, other.times)
            and np.array_equal(self.values, other.values)
        )


def as_table(value: Any) -> Table:
    """A Table from a number, a vector, {times, values}, or a function of time."""
    if isinstance(value, Table):
        return value
    if callable(value):
        first = np.asarray(value(0.0), dtype=np.float64)
        return Table(np.zeros(1), first.reshape(1, -1), function=value, scalar=first.ndim == 0)
    if isinstance(value, dict):
        if set(value) != {"times", "values"}:
            raise ValueError(f"a table over time has the keys `times` and `values`, not {sorted(value)}")
        times, values = _floats(value["times"], "`times` "), _floats(value["values"], "`values` ")
        if times.ndim != 1 or not 1 <= values.ndim <= 2:
            raise ValueError("`times` is a list of numbers, `values` a list of numbers or of vectors")
        if len(times) == 0 or len(times) != len(values):
            raise ValueError(f"the table has {len(times)} times and {len(values)} values")
        if not (np.isfinite(times).all() and np.isfinite(values).all() and (np.diff(times) > 0).all()):
            raise ValueError("times must ascend, and times and values be finite")
        return Table(times, values.reshape(len(times), -1), scalar=values.ndim == 1)
    array = _floats(value)
    if array.ndim > 1 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError("needs a number, a vector, a table {times, values} or a function of time")
    return Table.constant(array)


def _floats(value: Any, name: str = "") -> Floats:
    if isinstance(value, bool):
        raise ValueError(f"{name}needs numbers, not {str(value).lower()}")
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}needs numbers, lists of equal length, not {str(value)[:60]}") from None
    if np.abs(found[np.isfinite(found)]).max(initial=0.0) > LARGEST:
        raise ValueError(f"{name}has numbers beyond all that can be computed with; at most {LARGEST:g}")
    return found


@dataclass(frozen=True)
class Tables:
    """Many tables, flattened, each up to three numbers wide; a step asks for all of them at once."""

    start: Ints  # (k + 1,)
    times: Floats
    values: Floats  # (., 3)

    @classmethod
    def of(cls, tables: Sequence[Table]) -> Tables:
        values = np.zeros((sum(len(t.times) for t in tables), 3))
        start = np.concatenate([[0], np.cumsum([len(t.times) for t in tables])]).astype(np.int64)
        for i, table in enumerate(tables):
            values[start[i] : start[i + 1], : table.width] = table.values
        return cls(start, np.concatenate([t.times for t in tables] or [np.zeros(0)]), values)

    def __call__(self, t: float | Floats) -> Floats:
        """All values at time t, or each at a time of its own, (k, 3)."""
        last = self.start[1:] - 1
        # rows of table k with times <= t: a count per table, without a loop over tables
        reached = self.times <= (np.repeat(t, np.diff(self.start)) if isinstance(t, np.ndarray) else t)
        passed = np.concatenate([[0], np.cumsum(reached)])
        row = self.start[:-1] + np.maximum(passed[self.start[1:]] - passed[self.start[:-1]] - 1, 0)
        following = np.minimum(row + 1, last)
        span = self.times[following] - self.times[row]
        part = np.divide(t - self.times[row], span, out=np.zeros(len(row)), where=span > 0)
        part = np.clip(part, 0.0, 1.0)[:, None]
        return self.values[row] * (1 - part) + self.values[following] * part
