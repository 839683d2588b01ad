"""Contacts summed per pair of bodies: one row for each pair that touches, in every step and over a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.contacts import Contacts

if TYPE_CHECKING:
    from pliant.record import Run


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
    names = run.cells(-1).bodies
    columns = {"time": run.series()["time"][pairs["row"]], **{n: v for n, v in pairs.items() if n != "row"}}
    return columns | {end: np.array([names.get(int(i), str(i)) for i in pairs[end]]) for end in ("a", "b")}


def pair_series(run: Run, a: str, b: str) -> dict[str, np.ndarray]:
    """The history of one pair: time [s] and the columns of `per_pair`, acting on a, one row per step.

    Where they do not touch all is zero, but for the centre of pressure, which is NaN: there is none.
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
    for name, values in pairs.items():
        if name in ("row", "a", "b"):
            continue
        column = np.full((len(series["time"]), *values.shape[1:]), np.nan if name == "centre" else 0.0)
        column[pairs["row"][mine]] = values[mine]
        out[name] = -column if names[a] > names[b] and name in ("force", "friction", "torque") else column
    return out


def parted(run: Run, time: float) -> list[dict[str, Any]]:
    """Pairs that touched before a time [s] but not in the last step up to it: names, when last, and their largest force [N] and when."""
    pairs, steps = run.pairs(), run.series().get("time", np.zeros(0))
    past = steps <= time * (1 + 1e-9) + 1e-12
    if "row" not in pairs or not past.any():
        return []
    last, names = int(np.flatnonzero(past)[-1]), run.cells(-1).bodies
    size, ends = np.linalg.norm(pairs["force"], axis=1), np.stack([pairs["a"], pairs["b"]], axis=1)
    found = []
    for a, b in np.unique(ends[past[pairs["row"]]], axis=0).tolist():
        mine = np.flatnonzero((pairs["a"] == a) & (pairs["b"] == b) & past[pairs["row"]])
        if pairs["row"][mine[-1]] < last:
            peak = mine[np.argmax(size[mine])]
            found.append({
                "a": names.get(a, str(a)), "b": names.get(b, str(b)), "last": float(steps[pairs["row"][mine[-1]]]),
                "largest": float(size[peak]), "at": float(steps[pairs["row"][peak]]),
            })  # fmt: skip
    return sorted(found, key=lambda row: -row["last"])
