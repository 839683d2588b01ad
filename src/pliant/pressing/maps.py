"""A pressure map on a grid across the direction of the load, its picture, and how it compares with a measured one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from pliant.base import Floats, PliantError
from pliant.contact.elastic.result import ContactResult
from pliant.disk import read_text, replacing
from pliant.pressing.quantities import metres, pascals, scale_of, scale_of_length

MOST = 300  # cells along a side, unless a sensor is given
WIDE = 1.0  # standard deviation over which the force of a sample is spread, in spacings
FAR = 4.0  # standard deviations beyond which nothing of it is left
LOW = 0.05  # of the peak: cells below do not count as loaded
TURNS = {"turned by 180 degrees": (-1, -1), "mirrored along its rows": (-1, 1), "mirrored along its columns": (1, -1)}
BETTER = 0.05  # of a correlation: by which a turned map must be better to be spoken of
INCHES = 3.4, 7.2  # least width, and height of the map in its picture


@dataclass(frozen=True)
class PressureMap:
    """Mean pressure in the cells of a grid, as seen by one who looks along the direction of the load: on a floor, from above."""

    values: Floats  # (rows, columns) [Pa]
    corner: Floats  # (2,) [m] where the first cell begins: its coordinates along the axes
    cell: Floats  # (2,) [m] size of a cell along rows and columns
    axes: Floats  # (2, 3) unit vectors along which rows and columns are counted; columns x rows is against the load
    blur: float = 0.0  # [m] standard deviation over which forces of samples are spread; those of cells are not

    @property
    def peak(self) -> float:
        """[Pa] of the cell with the highest mean: below the peak at a sample if cells are large or few samples touch."""
        return float(self.values.max(initial=0.0))

    @property
    def force(self) -> float:
        """[N]"""
        return float(np.sum(self.values) * np.prod(self.cell))

    @property
    def area(self) -> float:
        """[m^2] of the cells above a twentieth of the peak."""
        return float(np.count_nonzero(self.values > LOW * self.values.max(initial=0.0)) * np.prod(self.cell))

    @property
    def centre(self) -> Floats:
        """(2,) [m] centre of pressure from the corner, along the axes."""
        total = np.sum(self.values)
        place = [(np.arange(n) + 0.5) * c for n, c in zip(self.values.shape, self.cell, strict=True)]
        if not total > 0.0:
            return np.full(2, np.nan)
        return np.array([np.sum(self.values.sum(axis=1) * place[0]), np.sum(self.values.sum(axis=0) * place[1])]) / total

    def facts(self) -> dict[str, Any]:
        """Size and peak, for programs."""
        return {"rows": self.values.shape[0], "columns": self.values.shape[1], "cell": self.cell.tolist(), "corner": self.corner.tolist(),
                "axes": self.axes.tolist(), "peak_pressure": self.peak, "area": self.area, "blur": self.blur}  # fmt: skip

    def write(self, path: Path) -> None:
        """Numbers in rows, with a line above that says what they are."""
        names = [f"({', '.join(f'{c:.4g}' for c in axis)})" for axis in self.axes]
        head = (
            f"pressure [Pa]; rows along {names[0]} from {self.corner[0]:.6g} m in steps of {self.cell[0]:.6g} m; "
            f"columns along {names[1]} from {self.corner[1]:.6g} m in steps of {self.cell[1]:.6g} m"
            + (f"; forces of samples spread over {self.blur:.4g} m (standard deviation)" if self.blur > 0.0 else "")
        )
        with replacing(path) as temporary:
            np.savetxt(temporary, self.values, fmt="%.6g", delimiter=",", header=head)


def pressure_map(result: ContactResult, direction: Floats, shape: tuple[int, int] | None = None) -> PressureMap:
    """Forces of the nodes in cells across the direction; rows go along the longer side.

    Pressure of a square cell is even over it, so that its force is shared by overlap: with as many cells as were solved the map is what was
    found. Samples are points, and theirs is spread.
    """
    touching = result.contact
    x, force, spacing = result.deformed[touching], result.P[touching], np.sqrt(result.areas[touching])
    axes = _across(direction)
    if len(x) == 0:
        return PressureMap(np.zeros(shape or (1, 1)), np.zeros(2), np.ones(2), axes)
    if np.ptp(x @ axes[1]) > np.ptp(x @ axes[0]):
        axes = np.stack([axes[1], -axes[0]])
    squares = result.mode == "cells"
    flat, room = x @ axes.T, (2.5 if squares else 2.0) * float(np.median(spacing))  # squares end half a cell beyond their middles
    low, high = flat.min(axis=0) - room, flat.max(axis=0) + room
    if shape is None:
        step = max(float(np.median(spacing)), float((high - low).max()) / MOST)
        shape = (max(int((high - low)[0] / step + 1e-6), 1), max(int((high - low)[1] / step + 1e-6), 1))
    cell = (high - low) / shape
    share, wide = (_overlaps, spacing) if squares else (_shares, WIDE * spacing)
    shares = [share((flat[:, k] - low[k]) / cell[k], wide / cell[k], shape[k]) for k in (0, 1)]
    total = np.asarray((csr_array(shares[0].T * force) @ csr_array(shares[1])).toarray(), dtype=np.float64)
    return PressureMap(total / np.prod(cell), low, cell, axes, 0.0 if squares else WIDE * float(np.median(spacing)))


def _overlaps(place: Floats, wide: Floats, count: int) -> Floats:
    """(n, count) how much of each interval is in each cell along an axis; place, wide (n,) its middle and length, in cells."""
    below = np.clip((np.arange(count + 1) - place[:, None]) / wide[:, None] + 0.5, 0.0, 1.0)
    below[:, 0], below[:, -1] = 0.0, 1.0
    return np.diff(below, axis=1)


def _shares(place: Floats, wide: Floats, count: int) -> Floats:
    """(n, count) how much of each normal distribution is in each cell along an axis; what is beyond the ends goes to the last cells.

    place, wide   (n,) mean and standard deviation of the distributions, in cells
    """
    below = ndtr(np.clip((np.arange(count + 1) - place[:, None]) / wide[:, None], -FAR, FAR))
    below[:, 0], below[:, -1] = 0.0, 1.0
    below[below == ndtr(-FAR)], below[below == ndtr(FAR)] = 0.0, 1.0
    return np.diff(below, axis=1)


def _across(direction: Floats) -> Floats:
    """Axes of rows and columns across a direction, columns x rows against it: y and x of the world if it points down."""
    if abs(direction[2]) > 1.0 - 1e-9:
        return np.eye(3)[[1, 0]] if direction[2] < 0.0 else np.eye(3)[:2]
    u = np.cross([0.0, 0.0, 1.0], direction)
    u /= np.linalg.norm(u)
    return np.stack([u, np.cross(direction, u)])


def read_measured(path: str | Path) -> Floats:
    """A measured map: rows of numbers, separated by commas, semicolons, tabs or spaces; lines that begin with # are skipped."""
    where = Path(path)
    if not where.exists():
        raise PliantError(f"{where} does not exist: --measured needs a file with rows of numbers.")
    try:
        lines = [line.replace(",", " ").replace(";", " ").split() for line in read_text(where).splitlines()]
        rows = [[float(word) for word in line] for line in lines if line and not line[0].startswith("#")]
    except ValueError as error:
        raise PliantError(f"{where} is not a table of numbers ({error}).") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise PliantError(f"{where} has rows of different lengths, or none: a map needs the same number of values in each row.")
    values = np.array(rows)
    if not np.all(np.isfinite(values)) or not values.max() > 0.0:
        raise PliantError(f"{where}: a map needs finite values, some of them above zero.")
    return values if values.shape[0] >= values.shape[1] else values.T


def compared(computed: PressureMap, measured: Floats) -> dict[str, Any]:
    """How a computed map differs from a measured one of the same shape, which is taken to cover the same rectangle.

    Units of the measured values do not matter for correlation, area and centre; its peak is compared after scaling to the same force.
    `better` tells of a map that was written down from another side.
    """
    if computed.values.shape != measured.shape:
        raise PliantError(f"The measured map has {measured.shape} cells, the computed one {computed.values.shape}.")
    other = PressureMap(measured * (computed.values.sum() / measured.sum()), computed.corner, computed.cell, computed.axes)
    correlation = _correlation(computed.values, measured)
    turned = {name: _correlation(computed.values, measured[::rows, ::columns]) for name, (rows, columns) in TURNS.items()}
    best = max(turned, key=lambda name: turned[name])
    return {
        "correlation": correlation,
        "peak_error": float(computed.peak / other.peak - 1.0),
        "area_error": float(computed.area / other.area - 1.0),
        "centre_error": float(np.linalg.norm(computed.centre - other.centre)),  # [m]
        "better": {best: turned[best]} if turned[best] > correlation + BETTER else {},
    }


def _correlation(one: Floats, two: Floats) -> float:
    return float(np.corrcoef(one.ravel(), two.ravel())[0, 1])


def draw_map(grid: PressureMap, path: Path, title: str, peak: float) -> None:
    """The map in the coordinates of the world, with a colour bar, the centre of pressure, and what its peak is.

    peak   [Pa] that was found: the cells of a map are means, so theirs may be lower
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tall, wide = grid.cell * grid.values.shape
    figure = Figure(figsize=(max(INCHES[1] * wide / tall, INCHES[0]) + 2.2, INCHES[1] + 1.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    scale, unit = scale_of(grid.peak)
    size, unit_of_length = scale_of_length(float(max(tall, wide)))
    (bottom, top, up), (left, right, across) = (_span(grid, k, size, unit_of_length) for k in (0, 1))
    shown = axes.imshow(grid.values / scale, origin="lower", extent=(left, right, bottom, top), cmap="inferno", aspect="equal")
    centre = grid.centre / (grid.cell * grid.values.shape)
    axes.plot(
        left + centre[1] * (right - left), bottom + centre[0] * (top - bottom), "+", color="white", markersize=14, markeredgewidth=2
    )
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    figure.colorbar(shown, label=f"mean pressure of a cell [{unit}]")
    cells = " x ".join(metres(each, 3) for each in grid.cell)
    blur = "" if grid.blur == 0.0 else f"; forces of samples are spread over {metres(grid.blur, 3)}"
    words = (title, f"highest square {pascals(grid.peak)} ({cells}), peak of the contact {pascals(peak)}{blur}", "+ centre of pressure")
    figure.suptitle("\n".join(words), x=0.01, ha="left", fontsize=9)
    figure.savefig(path)


def _span(grid: PressureMap, k: int, size: float, unit: str) -> tuple[float, float, str]:
    """First and last coordinate along an axis in a unit of some size [m], and its name; one against x, y or z counts down along that."""
    axis, low = grid.axes[k], grid.corner[k] / size
    high = low + grid.cell[k] * grid.values.shape[k] / size
    main = int(np.argmax(np.abs(axis)))
    if abs(axis[main]) > 1.0 - 1e-9:
        sign = float(np.sign(axis[main]))
        return sign * low, sign * high, f"{'xyz'[main]} [{unit}]"
    return low, high, f"along {_words(axis)} [{unit}]"


def _words(axis: Floats) -> str:
    return f"({', '.join(f'{c + 0.0:.2g}' for c in np.round(axis, 3))})"
