"""Contacts summed per pair of bodies: one row for each pair that touches, in every step and over a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.contacts import Contacts
from pliant.measure.windows import running_means

if TYPE_CHECKING:
    from pliant.record import Run

TURNED = ("force", "friction", "torque", "impulse")  # columns that act on the other body with the opposite sign
APART = ("centre", "elastic", "kinetic", "kinetic_before", "window", "edge", "length")  # columns that are unknown where nothing touches


def per_pair(contacts: Contacts) -> dict[str, np.ndarray]:
    """Sums over the rows of each touching pair a < b, on a: force and friction [N], torque about the origin [N m], centre of
    pressure [m], normal force [N], area [m^2], largest pressure [Pa] and depth [m], number of contacts and of those that stick."""
    if len(contacts) == 0:
        return {}
    turn = np.where(contacts.a <= contacts.b, 1.0, -1.0)[:, None]
    ends = np.sort(np.stack([contacts.a, contacts.b], axis=1), axis=1)
    count = int(ends[:, 1].max()) + 1
    key, row = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)

    def sums(values: Floats) -> Floats:
        columns = np.nan_to_num(values).reshape(len(contacts), -1).T
        return np.stack([np.bincount(row, c, minlength=len(key)) for c in columns], axis=1)

    def largest(values: Floats) -> Floats:
        out = np.zeros(len(key))
        np.fmax.at(out, row, values)
        return out

    force, push = contacts.force, np.maximum(contacts.normal_force, 0.0)
    pressed = sums(push)
    centre = np.divide(sums(push[:, None] * contacts.point), pressed, out=np.full((len(key), 3), np.nan), where=pressed > 0.0)
    return {
        "a": key // count, "b": key % count, "force": sums(turn * force), "friction": sums(turn * contacts.friction),
        "torque": sums(turn * np.cross(contacts.point, force)), "centre": centre, "normal_force": sums(contacts.normal_force)[:, 0],
        "area": sums(contacts.area)[:, 0], "pressure": largest(contacts.pressure), "depth": largest(contacts.depth),
        "contacts": np.bincount(row, minlength=len(key)), "sticking": sums(contacts.sticking)[:, 0],
    }  # fmt: skip


def pair_table(run: Run) -> dict[str, np.ndarray]:
    """All pairs of a run: time [s], names of the bodies and the columns of `per_pair`, one row for each pair that touches in a step."""
    pairs = run.pairs()
    if "row" not in pairs:
        return {}
    names, series = run.cells(-1).bodies, run.series()
    columns = {"time": series["time"][pairs["row"]], "mean_force": _mean_forces(series, pairs)}
    columns |= {n: v for n, v in pairs.items() if n != "row"}
    return columns | {end: np.array([names.get(int(i), str(i)) for i in pairs[end]]) for end in ("a", "b")}


def _mean_forces(series: dict[str, np.ndarray], pairs: dict[str, np.ndarray]) -> Floats:
    """Mean force over the window of its pair up to each row [N], (n, 3)."""
    out = np.array(pairs["force"], np.float64)
    for ends in np.unique(np.stack([pairs["a"], pairs["b"]], axis=1), axis=0) if "window" in pairs else ():
        mine = (pairs["a"] == ends[0]) & (pairs["b"] == ends[1])
        force = np.zeros((len(series["time"]), 3))
        force[pairs["row"][mine]] = pairs["force"][mine]
        out[mine] = running_means(series["time"], series["dt"], force, float(pairs["window"][mine][0]))[pairs["row"][mine]]
    return out


def pair_series(run: Run, a: str, b: str, window: float | None = None) -> dict[str, np.ndarray]:
    """The history of one pair: time [s], the mean force over a window up to it [N] and the columns of `per_pair`, one row per step.

    Forces act on a; the window is the pair's own unless given [s].
    Where they do not touch all is zero, but for what there is none of, such as the centre of pressure, which is NaN.
    """
    names = {name: number for number, name in run.cells(-1).bodies.items()}
    for body in (a, b):
        if body not in names:
            raise PliantError(f"{run.path} has no body '{body}': {nearest(body, names)}")
    low, high = sorted((names[a], names[b]))
    series, pairs = run.series(), run.pairs()
    out: dict[str, np.ndarray] = {"time": series["time"]}
    if "row" not in pairs:
        return out
    mine = (pairs["a"] == low) & (pairs["b"] == high)
    out["mean_force"] = np.zeros((len(series["time"]), 3))
    for name, values in pairs.items():
        if name in ("row", "a", "b"):
            continue
        column = np.full((len(series["time"]), *values.shape[1:]), np.nan if name in APART else 0.0)
        column[pairs["row"][mine]] = values[mine]
        out[name] = -column if names[a] > names[b] and name in TURNED else column
    own = float(pairs["window"][mine][0]) if "window" in pairs and mine.any() else 0.0
    wide = own if window is None else window
    out["mean_force"] = running_means(series["time"], series["dt"], out["force"], wide) if wide > 0.0 else out["force"]
    return out
