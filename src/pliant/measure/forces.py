"""Forces of a recorded run that mean something: the largest mean over a window of each pair, beside the largest of a single step.

A step's force is what its impulse would be if it were spread over the step, and grows without bound as steps become shorter wherever
something hard is hit. The mean over a window that belongs to the bodies (measure/scales.py) does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.measure.resolution import ACROSS, DENT, WORDS, Resolution, resolution, rounded, worded
from pliant.measure.scales import SENSOR
from pliant.measure.windows import largest_mean

if TYPE_CHECKING:
    from pliant.record import Run


# what makes springs of contact shorter
THINNER = 'finer elements make it less under contact = "patch"; under others a shorter dt, or more `stiffness` where that was given'


@dataclass(frozen=True)
class Peak:
    """The hardest that two bodies pressed each other."""

    a: str
    b: str
    mean: float  # [N] largest mean over the window
    at: float  # [s] the end of that window
    window: float  # [s]
    half: float  # [N] largest mean over half of it
    steps: float  # in half a window
    peak: float  # [N] largest of a single step, or of a part of one that was divided
    peak_at: float  # [s]
    impulse: Floats  # [N s] (3,) on a, of the whole run
    first: float  # [s] end of the first step in which they touched
    last: float  # [s] and of the last one
    resolution: Resolution

    @property
    def advice(self) -> list[str]:
        """What would resolve it better in time and in space."""
        told, pair, said = self.resolution, f"{self.a} and {self.b}", []
        if told.in_time in WORDS[1:]:
            steps = _counted(told.steps, "step")
            said.append(f"{pair} are {told.in_time} in time, with {steps} in half a window: {told.finer}.")
        if worded(told.dent, DENT) in WORDS[1:]:
            share = f"depth is {told.dent:.0%} of the dent that carries the load, so springs of contact share out the pressure"
            said.append(f"The pressure of {pair} is {worded(told.dent, DENT)}: {share}: {THINNER}.")
        if worded(told.across, ACROSS) in WORDS[1:]:
            across = _counted(told.across, "element")
            said.append(f"{pair} are {worded(told.across, ACROSS)} in space, with {across} across: {self._finer()}.")
        return said

    def _finer(self) -> str:
        """How much finer elements would have to be to make it coarse, if it is not even that, and resolved; and what that costs."""
        seen, said = self.resolution, []
        wide = seen.finer_edge * (ACROSS[0] + 1.0)
        for least, word in zip(reversed(ACROSS), (WORDS[1], WORDS[0]), strict=True):
            if seen.across < least:
                finer = math.ceil(10.0 * (least + 1.0) * seen.edge / wide) / 10.0  # never too little by rounding
                mean = f"{1e3 * wide / (least + 1.0):.2g} mm in the mean"
                said.append(f"{finer:g} times finer ({mean}; {rounded(finer**3)} times as many) make it {word}")
        return f"elements of the softer one that are {', '.join(said)}"

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        out = {name: value for name, value in vars(self).items() if name != "resolution"}
        return {**out, "impulse": self.impulse.tolist(), "resolution": self.resolution.facts, "advice": self.advice}


class Forces:
    """Of all pairs of a run."""

    def __init__(self, run: Run) -> None:
        self.series, self.pairs = run.series(), run.pairs()
        self.names: dict[int, str] = run.cells(-1).bodies if run.frames else {}
        self.time, self.dt = _steps(self.series)
        touched = len(self.pairs.get("row", ())) > 0 and len(self.time) > 0
        ends = np.stack([self.pairs["a"], self.pairs["b"]], axis=1) if touched else np.zeros((0, 2), np.int64)
        self.ends, which = np.unique(ends, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        self._rows = np.split(order, np.cumsum(np.bincount(which.ravel(), minlength=len(self.ends)))[:-1]) if touched else []
        self.single = self.pairs.get("peak", np.linalg.norm(self.pairs["force"], axis=1)) if touched else np.zeros(0)  # [N] of each row

    def all(self, window: float | None = None) -> list[Peak]:
        """Every pair, the hardest first; `window` [s] instead of their own."""
        return sorted((self._peak(k, window) for k in range(len(self.ends))), key=lambda found: -found.mean)

    def strongest(self, window: float | None = None) -> Peak | None:
        """The hardest pair."""
        best: Peak | None = None
        highest = [float(self.single[rows].max()) for rows in self._rows]
        for k in sorted(range(len(highest)), key=lambda k: -highest[k]):
            if best is not None and highest[k] <= best.mean:  # a mean is no larger than the largest
                break
            found = self._peak(k, window)
            best = found if best is None or found.mean > best.mean else best
        return best

    def of(self, a: str, b: str, window: float | None = None) -> Peak | None:
        """One pair; None if they never touched."""
        for k, ends in enumerate(self.ends.tolist()):
            if {a, b} == {self._name(end) for end in ends}:
                return self._peak(k, window)
        return None

    def parted(self, time: float) -> list[Peak]:
        """Pairs that touched before a time [s], but not in the last step up to it; the last to part first."""
        past = self.time <= time * (1 + 1e-9) + 1e-12
        last = int(np.flatnonzero(past)[-1]) if past.any() else -1
        row = self.pairs.get("row", np.zeros(0, np.int64))
        before = [rows[past[row[rows]]] for rows in self._rows]
        apart = [k for k, rows in enumerate(before) if len(rows) and row[rows[-1]] < last]
        return sorted((self._peak(k, None, before[k]) for k in apart), key=lambda found: -found.last)

    def _name(self, body: int) -> str:
        return self.names.get(body, str(body))

    def _peak(self, k: int, window: float | None, rows: Ints | None = None) -> Peak:
        rows, pairs = self._rows[k] if rows is None else rows, self.pairs
        a, b = (self._name(end) for end in self.ends[k].tolist())
        step = pairs["row"][rows]
        own = float(pairs["window"][rows[0]]) if "window" in pairs else SENSOR
        wide = own if window is None else window
        first, last = np.searchsorted(self.time, [self.time[step[0]] - self.dt[step[0]] - wide, self.time[step[-1]] + wide])
        near = slice(int(first), int(last) + 1)
        end, dt = self.time[near], self.dt[near]
        force = np.zeros((len(end), 3))
        np.add.at(force, step - near.start, pairs["force"][rows])
        mean, at = largest_mean(end, dt, force, wide)
        inside = (end > at - wide) & (end - dt < at)
        longest = float(dt[inside].max())
        resolvable = max(wide, 2.0 * longest)  # a window within a step says nothing of how forces change from step to step
        half, steps = largest_mean(end, dt, force, 0.5 * resolvable)[0], 0.5 * resolvable / longest
        over = mean if resolvable == wide else largest_mean(end, dt, force, resolvable)[0]
        single = self.single[rows]
        top = int(np.argmax(single))
        held = {name: values[rows] for name, values in pairs.items()}
        judged = resolution(held, self.dt[step], over, half, steps, _touch(self.time[step], self.dt[step], at, wide), wide)
        return Peak(
            a, b, mean, at, wide, half, steps, float(single[top]), float(self.time[step[top]]), np.sum(force.T * dt, axis=1),
            float(self.time[step[0]]), float(self.time[step[-1]]), judged,
        )  # fmt: skip


def _touch(times: Floats, dt: Floats, at: float, window: float) -> int:
    """Steps of the touch that a window ends in or with; breaks shorter than the window do not part them, nor do steps longer than it."""
    breaks = np.diff(times) - dt[1:]
    part = np.concatenate([[0], np.cumsum(breaks > np.maximum(window, 1e-6 * dt[1:]))])
    return int(np.count_nonzero(part == part[max(int(np.searchsorted(times, at, side="right")) - 1, 0)]))


def _steps(series: dict[str, np.ndarray]) -> tuple[Floats, Floats]:
    """Ends and lengths of steps [s]; runs of other programs may have one of them only, or none."""
    if "dt" in series:
        return series.get("time", np.cumsum(series["dt"])), series["dt"]
    time = series.get("time", np.zeros(0))
    return time, np.diff(time, prepend=2.0 * time[0] - time[1]) if len(time) > 1 else np.ones_like(time)


def headline(found: Peak) -> str:
    """The first sentence about a run that touched."""
    said = (
        f"The largest contact force was {found.mean:.4g} N between {found.a} and {found.b} at t = {found.at:.4g} s, "
        f"as mean over {milliseconds(found.window)} ({found.peak:.4g} N in a single step)"
    )
    if found.resolution.in_time == "not resolved":
        said += f"; it is not resolved in time, nor is how bodies leave: {found.resolution.finer}"
    return said + "."


def _counted(number: float, what: str) -> str:
    return f"1 {what}" if f"{number:.2g}" == "1" else f"{number:.2g} {what}s"


def milliseconds(seconds: float) -> str:
    """A short time in words."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"
