"""One number from a history: means over a window, peaks of them, integrals, times of events.

A history has a value (or a vector) for each step, which holds over the whole step: `end` [s] is where it ends, `dt` [s] its length. A
*windowed peak* is the largest mean over any stretch of time of the given length: what a sensor that averages would have shown, and what
does not grow without bound as steps become shorter.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Bools, Floats


def cumulative(end: Floats, dt: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Times [s] and the integral up to them: one more than there are steps."""
    times, parts = np.concatenate([[end[0] - dt[0]], end]), (values.T * dt).T
    return times, np.concatenate([np.zeros_like(parts[:1]), np.cumsum(parts, axis=0)])


def window_means(end: Floats, dt: Floats, values: Floats, window: float) -> tuple[Floats, Floats]:
    """The mean over every window [s] that begins or ends with a step (which the largest and the smallest do), and where they end."""
    times, integral = cumulative(end, dt, values)
    window = min(window, float(times[-1] - times[0]))
    ends = np.unique(np.concatenate([times, times + window]))
    rounding = 1e-9 * window  # a window that fits but for rounding fits
    ends = ends[(ends >= times[0] + window - rounding) & (ends <= times[-1] + rounding)]
    between = lambda column: np.interp(ends, times, column) - np.interp(ends - window, times, column)
    sums = between(integral) if integral.ndim == 1 else np.stack([between(column) for column in integral.T], axis=1)
    return ends, sums / window


def largest_mean(end: Floats, dt: Floats, vectors: Floats, window: float) -> tuple[float, float]:
    """The largest size of the mean of vectors over any window [s], and where that ends [s]."""
    ends, means = window_means(end, dt, vectors, window)
    size = np.linalg.norm(means, axis=1)
    k = int(np.argmax(size))
    return float(size[k]), float(ends[k])


def running_means(end: Floats, dt: Floats, vectors: Floats, window: float) -> Floats:
    """The mean over the window [s] up to the end of each step, (n, k); the history is nothing before it begins."""
    times, integral = cumulative(end, dt, vectors)
    return np.stack([np.interp(end, times, column) - np.interp(end - window, times, column) for column in integral.T], axis=1) / window


def inside(end: Floats, dt: Floats, between: tuple[float, float]) -> Bools:
    """The steps whose middle lies between two times [s]."""
    middle = end - 0.5 * dt
    return (middle >= between[0]) & (middle <= between[1])


def first_time(end: Floats, values: Floats, above: float | None, below: float | None) -> float:
    """When a value is first above or below a bound [s]; NaN: never."""
    hit = np.zeros(len(values), bool)
    if above is not None:
        hit |= values > above
    if below is not None:
        hit |= values < below
    return float(end[np.argmax(hit)]) if hit.any() else np.nan


TAKES = {
    "last": "at the end",
    "first": "of the first step",
    "peak": "largest",
    "lowest": "smallest",
    "mean": "over time",
    "integral": "over time: of a force the impulse",
    "when": "time at which it is first `above` or `below` a bound [s]; NaN: never",
    "ever": "1 if it is ever `above` or `below` a bound, else 0",
}


def taken(
    take: str, end: Floats, dt: Floats, values: Floats, window: float | None = None, above: float | None = None, below: float | None = None
) -> float:
    """One of TAKES of a history; NaN for one without steps. With a `window` [s], of the means over it."""
    if len(values) == 0:
        return np.nan
    if take == "integral":
        return float(np.sum(values * dt))
    if take == "mean":
        return float(np.sum(values * dt) / np.sum(dt))
    if window is not None:
        end, values = window_means(end, dt, values, window)
    if take in ("when", "ever"):
        time = first_time(end, values, above, below)
        return time if take == "when" else float(np.isfinite(time))
    known = values[np.isfinite(values)]
    choose = {"last": lambda: values[-1], "first": lambda: values[0], "peak": lambda: known.max(initial=-np.inf),
              "lowest": lambda: known.min(initial=np.inf)}  # fmt: skip
    return float(choose[take]()) if len(known) else np.nan
