"""What a person changed in a simulation while it ran: the scene alone does not say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pliant.base import Floats


@dataclass(frozen=True)
class Order:
    """One change, in words that a table can show."""

    time: float  # [s]
    what: str  # gravity, friction of ball, pull at ball ...
    before: str = ""
    after: str = ""
    until: float | None = None  # [s] for what lasts
    early: bool = False  # before the recording began

    @property
    def change(self) -> str:
        """From what to what."""
        return f"{self.before} → {self.after}" if self.before else self.after

    @property
    def when(self) -> str:
        """The time [s], or from when to when."""
        return f"{self.time:.4g}" + (f" to {self.until:.4g}" if self.until is not None else "")

    @property
    def words(self) -> str:
        """All of it in a line."""
        return f"t = {self.when} s{' (before the recording)' if self.early else ''}: {self.what}: {self.change}"

    @property
    def meta(self) -> dict[str, Any]:
        """As it is recorded."""
        return asdict(self)


def from_lowest(time: Floats, energy: Floats, orders: Sequence[Order]) -> Floats:
    """Energy in the field of gravity [J], (n,), counted from its lowest; from there anew after each change of gravity."""
    breaks = np.sort([order.time for order in orders if order.what == "gravity"])
    part = np.searchsorted(breaks, np.asarray(time) - 1e-12)
    out = np.array(energy, np.float64)
    for k in np.unique(part):
        mine = (part == k) & np.isfinite(out)
        out[mine] -= out[mine].min(initial=np.inf) if mine.any() else 0.0
    return out
