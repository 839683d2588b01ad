"""Curves over the time of a run: energies, contact forces, depths and numbers of contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.disk import make_folder, replacing
from pliant.look.fields import PREFIXES, extent, floors
from pliant.look.stage import BODIES
from pliant.measure.books import ROUNDING
from pliant.measure.pairs import pair_series
from pliant.measure.windows import running_means
from pliant.record import Run
from pliant.record.arrays import UNITS
from pliant.record.orders import from_lowest
from pliant.record.table import Table, split_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENERGIES = {
    "kinetic": "kinetic", "elastic": "elastic", "gravity": "gravity, from its lowest", "total": "total",
    "contact_work": "work of contact", "friction_work": "of friction, a part of it", "drive_work": "work of prescribed motion",
    "load_work": "work of loads", "lost": "lost by flow, damping and integration",
    "attachment_work": "work of springs, strings and hands",
}  # fmt: skip
FEW = 3  # names of curves that find a free corner
DOTS = 120  # of a curve with more points, so many are drawn
DECADES = 100.0  # an axis of x that spans more than this factor is logarithmic
BAND = "#dddddd"
MOST_PAIRS = 8  # curves of the pairs with the largest forces; the others are summed


def plots(run: Run, stem: str | Path) -> list[Path]:
    """All plots the run has data for: STEM_energy.png, STEM_force.png, STEM_depth.png, STEM_momentum.png."""
    stem = Path(stem)
    known = run.series()
    written = []
    if any(name in known for name in ENERGIES):
        written.append(plot_energies(run, stem.with_name(stem.name + "_energy.png")))
    if len(run.pairs().get("force", [])):
        written.append(plot_forces(run, stem.with_name(stem.name + "_force.png")))
    if "max_depth" in known:
        written.append(plot_depths(run, stem.with_name(stem.name + "_depth.png")))
    if "momentum" in known and "angular_momentum" in known:
        written.append(plot_momenta(run, stem.with_name(stem.name + "_momentum.png")))
    return written


def plot_energies(run: Run, path: str | Path) -> Path:
    """Energies over time; gravity is drawn from its lowest value on, because its zero means nothing."""
    series = run.series()
    names = [name for name in ENERGIES if name in series]
    names = [name for name in names if not name.endswith("_work") or np.any(series[name])]  # nothing worked: no curve
    if not names:
        raise PliantError(_lacks(run, "energies", ENERGIES, series))
    time = _time(run, series)
    figure, (axes,) = _figure()
    for i, name in enumerate(names):
        values = from_lowest(time, series[name], run.orders) if name == "gravity" else series[name]
        known = np.isfinite(values)  # the elastic energy is only taken at frames
        axes.plot(time[known], values[known], color=colour(i), linestyle=_dashes(i), label=ENERGIES[name])
    axes.axhline(0.0, color="0.75", linewidth=0.8, zorder=0)
    return _finish(figure, axes, run, "energy [J]", path)


def plot_momenta(run: Run, path: str | Path) -> Path:
    """Linear and angular momentum of everything that can move, over time."""
    series = run.series()
    if not ("momentum" in series and "angular_momentum" in series):
        raise PliantError(_lacks(run, "momenta", ("momentum", "angular_momentum"), series))
    time = _time(run, series)
    figure, panels = _figure(2)
    for panel, name, label in zip(panels, ("momentum", "angular_momentum"), ("kg m/s", "kg m²/s, about the origin"), strict=True):
        for k, axis in enumerate("xyz"):
            panel.plot(time, series[name][:, k], color=colour(k), label=axis)
        panel.axhline(0.0, color="0.75", linewidth=0.8, zorder=0)
        panel.set_ylabel(f"{name.replace('_', ' ')}\n[{label}]")
    return _finish(figure, panels[1], run, panels[1].get_ylabel(), path)


def plot_forces(run: Run, path: str | Path) -> Path:
    """Size of the contact force of each pair of bodies over time, as mean over the pair's window."""
    series, pairs = run.series(), run.pairs()
    if not {"row", "a", "b", "force"} <= pairs.keys():
        raise PliantError(_lacks(run, "contact forces", ("a", "b", "force"), pairs))
    time = _time(run, series)
    figure, (axes,) = _figure()
    for i, (label, force) in enumerate(pair_forces(pairs, time, series.get("dt"), run.cells(-1).bodies).items()):
        axes.plot(time, force, color=colour(i), linestyle=_dashes(i), label=label)
    axes.set_ylim(bottom=0.0)
    return _finish(figure, axes, run, "contact force, mean [N]" if "window" in pairs else "contact force [N]", path)


def pair_forces(pairs: Mapping[str, np.ndarray], time: Floats, dt: Floats | None, names: Mapping[int, str]) -> dict[str, Floats]:
    """Force of each pair in each step [N], (steps,), as mean over its window up to then if it has one; largest pairs first."""
    ends = np.sort(np.stack([pairs["a"], pairs["b"]], axis=1), axis=1)
    turn = np.where(pairs["a"] <= pairs["b"], 1.0, -1.0)[:, None]  # rows a-b and b-a of a step belong together
    found, which = np.unique(ends, axis=0, return_inverse=True)
    vectors = np.zeros((len(found), len(time), 3))
    np.add.at(vectors, (which.ravel(), pairs["row"]), turn * pairs["force"])
    if "window" in pairs and dt is not None:
        wide = np.zeros(len(found))
        wide[which.ravel()] = pairs["window"]
        vectors = np.stack([running_means(time, dt, force, float(window)) for force, window in zip(vectors, wide, strict=True)])
    size = np.linalg.norm(vectors, axis=2)
    order = np.argsort(-size.sum(axis=1), kind="stable")
    title = lambda k: " – ".join(names.get(int(body), f"body {body}") for body in found[k])
    named = len(order) if len(order) <= MOST_PAIRS + 1 else MOST_PAIRS  # one more has a name too
    curves = {title(k): size[k] for k in order[:named]}
    if len(order) > named:
        curves[f"{len(order) - named} other pairs, sum"] = size[order[named:]].sum(axis=0)
    return curves


def plot_pair(run: Run, a: str, b: str, path: str | Path, window: float | None = None) -> Path:
    """Force as mean over a window [s], normal force and friction, area and largest pressure of one pair over time."""
    found = pair_series(run, a, b, window)
    if "force" not in found:
        raise PliantError(f"{run.path}: nothing touched anything, so there is no contact of {a} and {b} to plot.")
    figure, panels = _figure(3)
    time = found["time"]
    panels[0].plot(time, found["normal_force"], color=colour(0), label="normal", linewidth=0.9)
    panels[0].plot(time, np.linalg.norm(found["friction"], axis=1), color=colour(1), label="friction", linewidth=0.9)
    panels[0].plot(time, np.linalg.norm(found["mean_force"], axis=1), color="black", label="mean over the window", linewidth=1.6)
    panels[0].set_ylabel("force [N]")
    panels[0].legend()
    panels[1].plot(time, 1e4 * found["area"], color=colour(0))
    panels[1].set_ylabel("area [cm²]")
    factor, unit = _pressure_unit(float(np.nanmax(found["pressure"], initial=0.0)))
    panels[2].plot(time, found["pressure"] / factor, color=colour(0))
    return _finish(figure, panels[2], run, f"largest pressure [{unit}]", path)


def axes_of(run: Run, what: str, pair: tuple[str, str] | None = None, axes: Axes | None = None) -> Axes:
    """A curve over time in axes of matplotlib: of a pair (force, pressure, area, ...), of all pairs (force), or of the table of steps."""
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    drawn = _curves(run, what, pair, run.series())
    factor, title = 1.0, _label(what)
    if UNITS.get(what) == "Pa":
        top = max(float(np.nanmax(np.abs(values), initial=0.0)) for _, values in drawn.values())
        factor, unit = _pressure_unit(top, axes.get_ylabel())
        title = title.replace("[Pa]", f"[{unit}]")
    size = extent(run.points(0))
    for label, (time, values) in drawn.items():
        values = without_rounding(values, {"depth": "m"}.get(what, UNITS.get(what, "")), size)
        known = np.isfinite(values)
        axes.plot(time[known], values[known] / factor, label=label, color=colour(len(axes.lines)), linestyle=_dashes(len(axes.lines)))
    axes.set(xlabel="time [s]", ylabel=title, title=str(run.header.get("name") or run.path.stem))
    axes.grid(color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    _mark([axes], run)
    _legend(axes)
    return axes


def _curves(run: Run, what: str, pair: tuple[str, str] | None, series: Table) -> dict[str, tuple[Floats, Floats]]:
    """Curves with their labels, each as times and values."""
    if pair is not None:
        found = pair_series(run, *pair)
        name = {"force": "mean_force"}.get(what, what)
        if name not in found:
            raise PliantError(f"{run.path} has no '{what}' of {pair[0]} and {pair[1]}: {nearest(what, ['force', *found])}")
        values = found[name] if found[name].ndim == 1 else np.linalg.norm(found[name], axis=1)
        return {f"{pair[0]} – {pair[1]}": (found["time"], values)}
    time = _time(run, series)
    if what == "force":
        return {label: (time, force) for label, force in pair_forces(run.pairs(), time, series.get("dt"), run.cells(-1).bodies).items()}
    if what == "energy":
        names = [n for n in ENERGIES if n in series and (not n.endswith("_work") or np.any(series[n]))]
        return {ENERGIES[n]: (time, from_lowest(time, series[n], run.orders) if n == "gravity" else series[n]) for n in names}
    name = {"depth": "max_depth"}.get(what, what)
    if name not in series:
        if what in run.pairs():
            raise PliantError(f"'{what}' is of two bodies: say which, as in run.plot({what!r}, pair=(A, B))")
        raise PliantError(f"{run.path} has no '{what}' to plot: {nearest(what, ['force', 'energy', 'depth', *series])}")
    if series[name].ndim == 1:
        return {"_": (time, series[name])}  # matplotlib leaves names that begin so out of legends
    return {axis: (time, values) for axis, values in split_columns(name, series[name]).items()}


def _label(what: str) -> str:
    """Of the upright axis, with the unit."""
    unit = {"energy": "J", "depth": "m"}.get(what, UNITS.get(what, ""))
    words = {"force": "contact force, mean", "pressure": "largest pressure"}.get(what, what.replace("_", " "))
    return f"{words} [{unit}]" if unit else words


def _pressure_unit(largest: float, before: str = "") -> tuple[float, str]:
    """What to divide pressures by and the unit then, as pictures choose it; `before`: the label of axes that have curves already."""
    units = [(size, f"{letter}Pa") for size, letter in PREFIXES if 1.0 <= size <= 1e9]
    held = [each for each in units if before.endswith(f"[{each[1]}]")]
    return held[0] if held else next((each for each in units if largest >= 0.9999 * each[0]), units[-1])


def plot_depths(run: Run, path: str | Path) -> Path:
    """Deepest penetration and number of contacts over time."""
    series = run.series()
    if "max_depth" not in series:
        raise PliantError(_lacks(run, "depths", ("max_depth", "contacts"), series))
    time = _time(run, series)
    figure, panels = _figure(2 if "contacts" in series else 1)
    depth = np.asarray(series["max_depth"], np.float64)
    factor, unit = (1e3, "mm") if np.nanmax(depth, initial=0.0) < 0.1 else (1.0, "m")
    panels[0].plot(time, factor * depth, color=colour(1))
    panels[0].set_ylabel(f"deepest penetration [{unit}]")
    panels[0].set_ylim(bottom=0.0)
    if "contacts" in series:
        panels[1].plot(time, series["contacts"], color=colour(0))
        panels[1].set_ylim(bottom=0.0)
    return _finish(figure, panels[-1], run, "contacts" if "contacts" in series else panels[0].get_ylabel(), path)


# ------------------------------------------------------------------------------------------------ paper


def _time(run: Run, series: Mapping[str, np.ndarray]) -> Floats:
    if "time" in series:
        return series["time"]
    if "dt" in series:
        return np.cumsum(series["dt"])
    raise PliantError(_lacks(run, "times", ("time", "dt"), series))


def _lacks(run: Run, what: str, wanted: Any, known: Mapping[str, Any]) -> str:
    return f"{run.path} has no {what} to plot (columns {', '.join(wanted)}); it has {', '.join(sorted(known)) or 'none'}"


def colour(i: int) -> tuple[float, ...]:
    return tuple(c / 255 for c in BODIES[i % len(BODIES)])


def _dashes(i: int) -> str:
    """Where colours come again."""
    return "-" if i < len(BODIES) else "--"


def _figure(rows: int = 1, height: float = 4.6, tall: Sequence[float] | None = None) -> tuple[Figure, list[Axes]]:
    """Panels below each other over one x; with `tall`, as tall as that and each over its own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(figure.subplots(rows, 1, sharex=tall is None, squeeze=False, height_ratios=tall)[:, 0])
    for axes in panels:
        axes.grid(color="0.9", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    return figure, panels


def _finish(figure: Figure, axes: Axes, run: Run, label: str, path: str | Path) -> Path:
    """Titles and labels, marks where something was changed by hand, and the file."""
    axes.set_ylabel(label)
    _mark(figure.axes, run)
    _legend(axes)
    return _save(figure, axes, str(run.header.get("name") or run.path.stem), "time [s]", path)


def without_rounding(values: Floats, unit: str, size: float) -> Floats:
    """A curve with zeros where it is only rounding, against what bodies of a size [m] have by themselves."""
    own, _ = floors(size).get(unit, (0.0, 0.0))
    return np.where(np.abs(values) < ROUNDING * own, 0.0, values)


def _legend(axes: Axes) -> None:
    """Names of curves; more than a few stand beside the axes, where they hide none."""
    names = axes.get_legend_handles_labels()[1]
    if names:
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(names) > FEW else {}
        axes.legend(frameon=False, fontsize=9, **beside)


def _mark(panels: Sequence[Axes], run: Run) -> None:
    """A line with a number, as in the table of the report, for each thing that was changed by hand; what lasts is a band."""
    numbers: dict[float, list[str]] = {}
    for number, order in enumerate(run.orders, 1):
        if order.early:
            continue
        numbers.setdefault(order.time, []).append(str(number))
        for axes in panels:
            axes.axvline(order.time, color="0.45", linewidth=0.8, linestyle=(0, (3, 2)), zorder=0.5)
            if order.until is not None:
                axes.axvspan(order.time, order.until, color="0.5", alpha=0.12, linewidth=0, zorder=0.4)
    for time, found in numbers.items():
        top = panels[0].get_xaxis_transform()
        panels[0].text(time, 1.01, ", ".join(found), transform=top, ha="center", va="bottom", fontsize=8, color="0.3")


def _save(figure: Figure, lowest: Axes, title: str, along: str, path: str | Path) -> Path:
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    lowest.set_xlabel(along)
    for panel in figure.axes:
        panel.margins(x=0.01)
    path = Path(path)
    make_folder(path.parent)
    with replacing(path) as temporary:
        figure.savefig(temporary)
    return path


@dataclass(frozen=True)
class Panel:
    """Theory as a line over x, and points by name."""

    what: str  # of y, with its unit
    along: str  # of x
    line: tuple[Any, Any]  # x and y of theory
    band: tuple[Any, Any] | None = None  # lowest and highest y that are tolerated, at the same x
    points: dict[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """One number: theory, what is tolerated on each side of it, and ours by name; all as shares of theory, or of what is tolerated."""

    what: str
    theory: float
    tolerated: float
    here: dict[str, float]


def against_theory(title: str, panels: list[Panel], bars: list[Bar], path: str | Path) -> Path:
    """Panels of lines below each other, then one panel of bars."""
    count = len(panels) + bool(bars)
    tall = [1.0] * len(panels) + ([max(0.5, 0.16 * sum(max(1, len(bar.here)) + 1 for bar in bars) / 1.6)] if bars else [])
    figure, axes = _figure(count, 0.6 + 1.7 * sum(tall), tall)
    names = list(dict.fromkeys(name for panel in panels for name in panel.points) | dict.fromkeys(n for bar in bars for n in bar.here))
    for own, panel in zip(axes, panels, strict=False):
        _theory_line(own, panel, names)
    if bars:
        _bars(axes[-1], bars, names)
    marks = [_dot(axes[0], name, names) for name in names]
    axes[0].legend(handles=marks, frameon=False, fontsize=6, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return _save(figure, axes[-1], title, axes[-1].get_xlabel(), path)


def _dot(axes: Axes, name: str, names: list[str]) -> Any:
    return axes.plot([], [], "o", color=colour(names.index(name)), markersize=3.5, label=name)[0]


def _theory_line(axes: Axes, panel: Panel, names: list[str]) -> None:
    x, y = (np.asarray(each, dtype=np.float64) for each in panel.line)
    order = np.argsort(x, kind="stable")
    if panel.band is not None:
        low, high = (np.asarray(each, dtype=np.float64)[order] for each in panel.band)
        axes.fill_between(x[order], low, high, color=BAND, linewidth=0)
    axes.plot(x[order], y[order], color="black", linewidth=0.9, marker="_" if panel.band is not None else "", markersize=9)
    for name, (at, here) in panel.points.items():
        thin = slice(None, None, max(1, len(at) // DOTS))
        axes.plot(np.asarray(at)[thin], np.asarray(here)[thin], "o", color=colour(names.index(name)), markersize=2.6)
    if panel.band is not None and x.min() > 0.0 and x.max() > DECADES * x.min():
        axes.set_xscale("log")
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.margins(x=0.05)
    axes.set_title(panel.what, fontsize=7, loc="left")  # beside the axis long names run into each other
    axes.set_xlabel(panel.along, fontsize=7)
    axes.tick_params(labelsize=7)


def _bars(axes: Axes, bars: list[Bar], names: list[str]) -> None:
    """Below each other, the first on top: a band for what is tolerated, a stroke for theory, a bar for each of ours."""
    top, ticks, most = 0.0, [], 1.5
    for bar in bars:
        rows = max(1, len(bar.here))
        axes.barh(top + 0.5 * rows, 2.0 * bar.tolerated, rows, bar.theory - bar.tolerated, color=BAND, linewidth=0)
        for k, (name, value) in enumerate(bar.here.items()):
            shown = most if not np.isfinite(value) else float(np.clip(value, -most, most))
            axes.barh(top + k + 0.5, shown, 0.6, color=colour(names.index(name)), linewidth=0)
            if shown != value:  # further than the axis goes
                axes.text(0.98 * most, top + k + 0.5, f"{value:.2g}", ha="right", va="center", fontsize=5, color="white")
        axes.plot([bar.theory] * 2, [top, top + rows], color="black", linewidth=1.2)
        ticks.append(top + 0.5 * rows)
        top += rows + 1
    axes.set_ylim(top, -0.5)
    axes.set_xlim(min(0.0, -most * any(v < 0.0 for bar in bars for v in bar.here.values())), most)
    axes.set_yticks(ticks, [_short(bar.what) for bar in bars], fontsize=5.5)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("of theory; where that is 0, of what is tolerated", fontsize=7)


def _short(what: str, most: int = 58) -> str:
    return what if len(what) <= most else what[: most - 3].rstrip() + "..."


def panels_of(curves: Mapping[str, Mapping[str, tuple[Any, Any]]], title: str, along: str, path: str | Path) -> Path:
    """One panel for each label of y, with curves by name as (x, y)."""
    figure, panels = _figure(len(curves), height=1.6 + 1.9 * len(curves))
    for axes, (label, lines) in zip(panels, curves.items(), strict=True):
        for i, (name, (x, y)) in enumerate(lines.items()):
            axes.plot(x, y, color=colour(i), label=name, linewidth=1.2)
        axes.set_ylabel(label, fontsize=9)
    panels[0].legend(frameon=False, fontsize=9, ncols=3)
    return _save(figure, panels[-1], title, along, path)
