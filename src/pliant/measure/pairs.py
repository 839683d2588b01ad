"""Contacts summed per pair of bodies: one row for each pair that touches, in every step and over a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.contacts import Contacts
from pliant.kernels import add, contiguous, cross, inline, kernel, load, scale, store
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
    low, high = np.minimum(contacts.a, contacts.b), np.maximum(contacts.a, contacts.b)
    count = int(high.max()) + 1
    key, row = np.unique(low * count + high, return_inverse=True)
    vectors, numbers, largest = np.zeros((len(key), 4, 3)), np.zeros((len(key), 4)), np.zeros((len(key), 2))
    columns = contacts.impulse, contacts.normal, contacts.friction_impulse, contacts.point, contacts.area, contacts.gap, contacts.sticking
    _sum_rows(row, contacts.a <= contacts.b, *map(contiguous, columns), contacts.dt, vectors, numbers, largest)
    pressed = numbers[:, :1]
    centre = np.divide(vectors[:, 3], pressed, out=np.full((len(key), 3), np.nan), where=pressed > 0.0)
    return {
        "a": key // count, "b": key % count, "force": vectors[:, 0], "friction": vectors[:, 1], "torque": vectors[:, 2], "centre": centre,
        "normal_force": numbers[:, 1], "area": numbers[:, 2], "pressure": largest[:, 0], "depth": largest[:, 1],
        "contacts": np.bincount(row, minlength=len(key)), "sticking": numbers[:, 3],
    }  # fmt: skip


@kernel
def _sum_rows(row, ordered, impulse, normal, friction, point, area, gap, sticking, dt, vectors, numbers, largest):  # type: ignore[no-untyped-def]
    """Sums over the rows of each pair: force, friction, torque, push times point; push, normal force, area, sticking. Largest pressure and
    depth. What a row does not know counts as zero.
    """
    for r in range(len(row)):
        k, turn, along = row[r], 1.0 if ordered[r] else -1.0, impulse[r] / dt
        push, x, across, force = max(known(along), 0.0), load(point, r), scale(1.0 / dt, each_known(load(friction, r))), load(normal, r)
        force = add(scale(along, force), across)
        parts = scale(turn, force), scale(turn, across), scale(turn, cross(x, force)), scale(push, x)
        for n in range(4):
            store(vectors[k], n, add(load(vectors[k], n), each_known(parts[n])))
        numbers[k, 0] += push
        numbers[k, 1] += known(along)
        numbers[k, 2] += known(area[r])
        numbers[k, 3] += known(sticking[r])
        if area[r] > 0.0:
            largest[k, 0] = max(largest[k, 0], known(along / area[r]))
        largest[k, 1] = max(largest[k, 1], known(-gap[r]))


@inline
def known(value):  # type: ignore[no-untyped-def]
    return 0.0 if math.isnan(value) else value


@inline
def each_known(u):  # type: ignore[no-untyped-def]
    return known(u[0]), known(u[1]), known(u[2])


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
