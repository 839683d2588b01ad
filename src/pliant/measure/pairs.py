"""Contacts summed per pair of bodies: one row for each pair that touches, in every step and over a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.contacts import Contacts
from pliant.kernels import add, contiguous, cross, dot, inline, kernel, load, scale, store, sub
from pliant.measure.resolution import WORDS, words_of_steps
from pliant.measure.scales import face_of
from pliant.measure.windows import running_means

if TYPE_CHECKING:
    from pliant.record import Run

TURNED = ("force", "friction", "torque", "impulse")  # columns that act on the other body with the opposite sign
STEP_WORDS = ("in_depth", "in_time", "in_space")
LONGEST = f"U{max(map(len, WORDS))}"
APART = ("centre", "elastic", "kinetic", "kinetic_before", "window", "edge", "length")  # columns that are unknown where nothing touches


def per_pair(contacts: Contacts, face: Floats | None = None) -> dict[str, np.ndarray]:
    """Sums over the rows of each touching pair a < b, on a: force and friction [N], torque about the origin [N m], centre of
    pressure [m], normal force [N], area [m^2], mean pressure [Pa] and whether it is told over a face, largest pressure [Pa], depth [m],
    number of contacts and of those that stick.

    face [m^2] (r,): least area that a pressure of each row's pair is told over (`Scales.face`); without, that which it covers.
    """
    if len(contacts) == 0:
        return {}
    low, high = np.minimum(contacts.a, contacts.b), np.maximum(contacts.a, contacts.b)
    count = int(high.max()) + 1
    key, row = np.unique(low * count + high, return_inverse=True)
    vectors, numbers, largest = np.zeros((len(key), 4, 3)), np.zeros((len(key), 4)), np.zeros((len(key), 2))
    columns = contacts.impulse, contacts.normal, contacts.friction_impulse, contacts.point, contacts.area, contacts.gap, contacts.sticking
    _sum_rows(row, contacts.a <= contacts.b, *map(contiguous, columns), contacts.dt, vectors, numbers, largest)
    if face is not None:
        _largest_pressures(row, np.argsort(row, kind="stable"), contacts.normal_force, contacts.point, contacts.area, face, largest[:, 0])
    least = np.zeros(len(key))
    least[row] = 0.0 if face is None else face
    pressed = numbers[:, :1]
    centre = np.divide(vectors[:, 3], pressed, out=np.full((len(key), 3), np.nan), where=pressed > 0.0)
    return {
        "a": key // count, "b": key % count, "force": vectors[:, 0], "friction": vectors[:, 1], "torque": vectors[:, 2], "centre": centre,
        "normal_force": numbers[:, 1], "area": numbers[:, 2], "mean_pressure": mean_pressure(numbers[:, 1], numbers[:, 2], least),
        "over_a_face": over_a_face(numbers[:, 2], least), "pressure": largest[:, 0], "depth": largest[:, 1],
        "contacts": np.bincount(row, minlength=len(key)), "sticking": numbers[:, 3],
    }  # fmt: skip


def mean_pressure(normal_force: Floats, area: Floats, face: Floats) -> Floats:
    """Normal forces over the areas that they press on [Pa], or over faces of elements where these are more; 0 where no area is known."""
    return np.divide(normal_force, np.maximum(area, face), out=np.zeros(len(area)), where=area > 0.0)


def over_a_face(area: Floats, face: Floats) -> np.ndarray:
    """1 where the mean pressure is told over a face, which is more than the area, else 0, (k,): files have no truth values."""
    return ((area > 0.0) & (area < face)).astype(np.uint8)


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


@kernel
def _largest_pressures(row, order, force, point, area, face, out):  # type: ignore[no-untyped-def]
    """Largest pressure of each pair, where no row stands for less than a face: one that does is taken with those nearest to it.

    A row that covers less than a face is a sliver at the rim of what touches: what it carries bends the whole face, and its own area says
    nothing. Rows are whole faces first, as these often press harder than any sliver.
    """
    first = 0
    while first < len(order):
        last, k = first, row[order[first]]
        while last < len(order) and row[order[last]] == k:
            last += 1
        out[k] = 0.0
        for i in order[first:last]:
            if area[i] > 0.0 and area[i] >= face[i]:
                out[k] = max(out[k], known(force[i] / area[i]))
        far = np.empty(last - first)
        for i in order[first:last]:
            if 0.0 < area[i] < face[i] and force[i] > out[k] * area[i]:
                out[k] = max(out[k], _with_its_neighbours(i, order[first:last], force, point, area, face[i], far))
        first = last


@inline
def _with_its_neighbours(i, rows, force, point, area, least, far):  # type: ignore[no-untyped-def]
    """Force over area of row i and as many of those nearest to it as it takes to cover so much [m^2]; over that if all cover less."""
    for n in range(len(rows)):
        way = sub(load(point, rows[n]), load(point, i))
        far[n] = dot(way, way) if area[rows[n]] > 0.0 else np.inf
    carried, covered = 0.0, 0.0
    while covered < least:
        next_ = np.argmin(far)
        if far[next_] == np.inf:
            break
        far[next_] = np.inf
        carried, covered = carried + known(force[rows[next_]]), covered + area[rows[next_]]
    return carried / max(covered, least)


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
    columns = {"time": series["time"][pairs["row"]], "mean_force": np.array(pairs["force"], np.float64)}
    columns |= {n: v for n, v in pairs.items() if n != "row"}
    columns |= {end: np.array([names.get(int(i), str(i)) for i in pairs[end]]) for end in ("a", "b")}
    words = {name: np.zeros(len(pairs["row"]), LONGEST) for name in STEP_WORDS}
    for ends in np.unique(np.stack([pairs["a"], pairs["b"]], axis=1), axis=0) if "window" in pairs else ():
        mine = (pairs["a"] == ends[0]) & (pairs["b"] == ends[1])
        columns["mean_force"][mine], said = _of_pair(series, {name: values[mine] for name, values in pairs.items()})
        for name, each in said.items():
            words[name][mine] = each
    return columns | (words if "window" in pairs else {})


def _of_pair(series: dict[str, np.ndarray], rows: dict[str, np.ndarray]) -> tuple[Floats, dict[str, np.ndarray]]:
    """Mean force over the window of a pair up to each of its rows [N], (n, 3), and how well each is resolved."""
    force = np.zeros((len(series["time"]), 3))
    force[rows["row"]] = rows["force"]
    mean = running_means(series["time"], series["dt"], force, float(rows["window"][0]))[rows["row"]]
    return mean, words_of_steps(rows, float(np.linalg.norm(mean, axis=1).max()))


def of_frame(run: Run, contacts: Contacts) -> dict[str, np.ndarray]:
    """Contacts of a recorded frame per pair, with pressures over the faces that the run's history was told over."""
    history = run.pairs()
    if len(contacts) == 0 or "edge" not in history:
        return per_pair(contacts)
    count = 1 + max(int(ends.max()) for ends in (contacts.a, contacts.b, history["b"]))
    edge = np.full(count * count, np.inf)
    edge[history["a"] * count + history["b"]] = history["edge"]
    return per_pair(contacts, face_of(edge[np.minimum(contacts.a, contacts.b) * count + np.maximum(contacts.a, contacts.b)]))


def at_time(run: Run, time: float) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """The row of each two bodies that touch in the step that ends at a time [s], by their names."""
    table = pair_table(run)
    here = np.flatnonzero(np.isclose(table["time"], time, rtol=1e-9, atol=1e-12)) if table else ()
    return {(str(table["a"][k]), str(table["b"][k])): {name: values[k] for name, values in table.items()} for k in here}


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
    for name, said in (_of_pair(series, {n: v[mine] for n, v in pairs.items()})[1] if own > 0.0 else {}).items():
        out[name] = np.zeros(len(series["time"]), LONGEST)
        out[name][pairs["row"][mine]] = said
    return out
