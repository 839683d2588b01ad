"""The plots of a study's page, each as a png in base64: small multiples of curves and maps, parallel coordinates, bars, fits."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats
from pliant.look.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.studies.calibrate import Fit
    from pliant.studies.find import Threshold
    from pliant.studies.sensitivity import Indices

MOST_LINES = 10  # curves in a panel; more are coloured along a scale
MAP = "viridis"
NO, YES = "#dbe4ee", "#c8553d"
Columns = Mapping[str, Floats]
Labels = Mapping[str, str]  # names with units, of parameters and measures


def figure(panels: int, wide: int = 2, size: tuple[float, float] = (4.6, 3.4)) -> tuple[Figure, list[Axes]]:
    """Panels side by side, `wide` in a row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(wide, panels)
    size = (1.6 * size[0], size[1]) if columns < wide else size  # one alone is as wide as the page too
    rows = math.ceil(panels / columns)
    made = Figure(figsize=(size[0] * columns, size[1] * rows), dpi=110, layout="constrained")
    FigureCanvasAgg(made)
    axes = list(made.subplots(rows, columns, squeeze=False).ravel())
    for extra in axes[panels:]:
        extra.set_visible(False)
    for each in axes[:panels]:
        each.spines[["top", "right"]].set_visible(False)
        each.set_axisbelow(True)
        each.tick_params(labelsize=8)
    return made, axes[:panels]


def encoded(made: Figure) -> str:
    buffer = io.BytesIO()
    made.savefig(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode()


def along(axes: Axes, values: Floats, log: bool, which: str = "x") -> None:
    """A log axis where the parameter runs in equal ratios."""
    if not (log and np.all(values > 0)):
        return
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # start-up

    getattr(axes, f"set_{which}scale")("log")
    line = getattr(axes, f"{which}axis")
    line.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    line.set_major_formatter(StrMethodFormatter("{x:g}"))
    line.set_minor_locator(NullLocator())


def curves(columns: Columns, x: str, over: str | None, labels: Labels, measures: Sequence[str], logs: Mapping[str, bool]) -> str:
    """A panel for each measure over x, with a line for each value of `over`."""
    made, panels = figure(len(measures))
    lines = [None] if over is None else np.unique(columns[over]).tolist()
    for axes, measure in zip(panels, measures, strict=True):
        axes.grid(color="0.9", linewidth=0.8)
        for i, value in enumerate(lines):
            mine = np.ones(len(columns[x]), bool) if over is None else columns[over] == value
            at = np.unique(columns[x][mine])
            mean = np.array([_mean(columns[measure][mine & (columns[x] == v)]) for v in at])
            shade = colour(i) if len(lines) <= MOST_LINES else _shade(i / max(1, len(lines) - 1))
            axes.plot(at, mean, "o-", color=shade, markersize=3.5, linewidth=1.3, label=None if over is None else f"{value:.4g}")
        along(axes, columns[x], logs.get(x, False))
        axes.set_xlabel(labels[x], fontsize=8)
        axes.set_title(labels[measure], fontsize=10, loc="left")
    if over is not None and len(lines) <= MOST_LINES:
        panels[0].legend(title=labels[over], frameon=False, fontsize=7, title_fontsize=7)
    return encoded(made)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _shade(part: float) -> Any:
    from matplotlib import colormaps

    return colormaps[MAP](part)


def maps(
    columns: Columns, x: str, y: str, labels: Labels, measures: Sequence[str], logs: Mapping[str, bool], yes_no: Callable[[str], bool]
) -> str:
    """A heat map of each measure over two parameters, with dots where cases were run; only these where they are no grid."""
    from matplotlib.colors import ListedColormap

    two = ListedColormap([NO, YES])
    made, panels = figure(len(measures))
    at_x, at_y = np.unique(columns[x]), np.unique(columns[y])
    whole = len(at_x) * len(at_y) <= 2 * len(columns[x])
    for axes, measure in zip(panels, measures, strict=True):
        values, colours = columns[measure], two if yes_no(measure) else MAP
        if whole:
            grid = np.array([[_mean(values[(columns[x] == a) & (columns[y] == b)]) for a in at_x] for b in at_y])
            shown: Any = axes.pcolormesh(_edges(at_x, logs.get(x, False)), _edges(at_y, logs.get(y, False)), grid, cmap=colours)
            ring: dict[str, Any] = {"markeredgecolor": "0.2", "markeredgewidth": 0.6, "markersize": 3.5}
            axes.plot(columns[x], columns[y], "o", color="white", clip_on=False, zorder=4, **ring)
        else:
            shown = axes.scatter(columns[x], columns[y], c=values, cmap=colours, s=22)
        along(axes, columns[x], logs.get(x, False))
        along(axes, columns[y], logs.get(y, False), "y")
        axes.set_facecolor("0.75")  # cases that gave no number
        axes.set_xlabel(labels[x], fontsize=8)
        axes.set_ylabel(labels[y], fontsize=8)
        axes.set_title(labels[measure], fontsize=10, loc="left")
        bar = made.colorbar(shown, ax=axes)
        bar.ax.tick_params(labelsize=7)
        if yes_no(measure):
            shown.set_clim(0.0, 1.0)
            bar.set_ticks([0.25, 0.75], labels=["no", "yes"])
    return encoded(made)


def _edges(at: Floats, log: bool) -> Floats:
    """Borders of the cells around points; the outer ones end at the points, beyond which nothing was run."""
    if len(at) == 1:
        return np.array([0.9, 1.1]) * at[0] if at[0] else np.array([-0.5, 0.5])
    places = np.log(at) if log and np.all(at > 0) else at
    middle = 0.5 * (places[1:] + places[:-1])
    found = np.concatenate([places[:1], middle, places[-1:]])
    return np.exp(found) if log and np.all(at > 0) else found


def scatter(columns: Columns, parameters: Sequence[str], labels: Labels, measure: str, logs: Mapping[str, bool]) -> str:
    """A measure against each parameter, a point for each case."""
    made, panels = figure(len(parameters), wide=3, size=(3.3, 2.8))
    for axes, parameter in zip(panels, parameters, strict=True):
        axes.plot(columns[parameter], columns[measure], "o", color=colour(0), markersize=3.2, alpha=0.7)
        along(axes, columns[parameter], logs.get(parameter, False))
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_xlabel(labels[parameter], fontsize=8)
    panels[0].set_ylabel(labels[measure], fontsize=9)
    return encoded(made)


def parallel(columns: Columns, parameters: Sequence[str], measures: Sequence[str]) -> str:
    """Parallel coordinates: a line for each case over all parameters and measures, coloured by the last measure."""
    names = [*parameters, *measures]
    made, (axes,) = figure(1, 1, (1.6 * len(names) + 1.2, 3.6))
    scaled, ranges = [], []
    for name in names:
        known = columns[name][np.isfinite(columns[name])]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        ranges.append((low, high))
        scaled.append((columns[name] - low) / (high - low) if high > low else np.full(len(columns[name]), 0.5))
    rows = np.array(scaled).T
    by = scaled[-1]
    for row, part in sorted(zip(rows.tolist(), by.tolist(), strict=True), key=lambda each: each[1]):
        axes.plot(range(len(names)), row, color=_shade(part) if np.isfinite(part) else "0.7", alpha=0.55, linewidth=1.0)
    for k, (low, high) in enumerate(ranges):
        axes.plot([k, k], [0.0, 1.0], color="0.6", linewidth=0.8, zorder=0)
        axes.text(k, -0.04, f"{low:.3g}", ha="center", va="top", fontsize=7, color="0.35")
        axes.text(k, 1.04, f"{high:.3g}", ha="center", va="bottom", fontsize=7, color="0.35")
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.tick_params(axis="x", pad=14, length=0)
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_ylim(-0.08, 1.08)
    return encoded(made)


def bars(indices: Mapping[str, Indices]) -> str:
    """Sobol indices with their confidence, a panel for each measure."""
    made, panels = figure(len(indices))
    for axes, each in zip(panels, indices.values(), strict=True):
        at = np.arange(len(each.parameters))
        kinds = ((each.first, each.first_low, each.first_high, "alone"), (each.total, each.total_low, each.total_high, "with others"))
        for k, (values, low, high, label) in enumerate(kinds):
            error = np.maximum(np.stack([values - low, high - values]), 0.0)
            axes.barh(at + 0.2 - 0.4 * k, values, 0.36, xerr=error, color=colour(k), label=label, error_kw={"linewidth": 1.0, "capsize": 2})
        axes.set_yticks(at, each.parameters, fontsize=8)
        axes.invert_yaxis()
        axes.axvline(0.0, color="0.5", linewidth=0.8)
        axes.set_xlabel("part of the variance", fontsize=8)
        axes.set_title(each.measure, fontsize=10, loc="left")
    panels[0].legend(frameon=False, fontsize=7)
    return encoded(made)


def fits(fit: Fit) -> str:
    """Fitted curves over measured ones."""
    made, panels = figure(len(fit.curves))
    for axes, (measured, model) in zip(panels, fit.curves, strict=True):
        axes.grid(color="0.9", linewidth=0.8)
        axes.plot(measured.x, measured.y, "o", color="0.45", markersize=3.0, label="measured")
        axes.plot(measured.x, model, "-", color=colour(1), linewidth=1.8, label="fitted")
        axes.set_xlabel("time [s]" if measured.spec.x == "time" else measured.spec.x, fontsize=8)
        axes.set_title(measured.spec.y, fontsize=10, loc="left")
    panels[0].legend(frameon=False, fontsize=8)
    return encoded(made)


def profiles(fit: Fit) -> str:
    """Signed roots of the profiles: straight where the linearised uncertainty is right."""
    made, panels = figure(len(fit.profiles))
    for axes, (name, each) in zip(panels, fit.profiles.items(), strict=True):
        k = fit.names.index(name)
        axes.grid(color="0.9", linewidth=0.8)
        axes.plot(each.values, each.roots, "o-", color=colour(0), markersize=3.5, label="profile")
        axes.plot(each.values, (each.values - fit.values[k]) / fit.errors[k], "--", color="0.5", label="linearised")
        axes.set_xlabel(name, fontsize=8)
        axes.set_ylabel("standard errors", fontsize=8)
    panels[0].legend(frameon=False, fontsize=8)
    return encoded(made)


def thresholds(found: Sequence[Threshold], x: str, over: str | None, name: str, labels: Labels, log: bool) -> str:
    """The threshold over another parameter, with brackets; a line for each value of a second."""
    made, (axes,) = figure(1, 1, (6.4, 3.8))
    axes.grid(color="0.9", linewidth=0.8)
    lines = [None] if over is None else sorted({each.point[over] for each in found})
    for i, value in enumerate(lines):
        mine = sorted((t for t in found if t.status == "found" and (over is None or t.point[over] == value)), key=lambda t: t.point[x])
        at, middle = [t.point[x] for t in mine], np.array([t.value for t in mine])
        width = np.abs(np.array([[t.value - t.low, t.high - t.value] for t in mine]).reshape(-1, 2).T)
        label = None if over is None else f"{labels[over]} = {value:.4g}"
        axes.errorbar(at, middle, yerr=width, fmt="o-", color=colour(i), markersize=3.5, capsize=3, linewidth=1.3, label=label)
    along(axes, np.array([t.point[x] for t in found], dtype=np.float64), log)
    axes.set_xlabel(labels[x], fontsize=9)
    axes.set_ylabel(labels[name], fontsize=9)
    if over is not None:
        axes.legend(frameon=False, fontsize=8)
    return encoded(made)
