"""A pressure map on a grid across the direction of the load, and how it compares with a measured one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pliant.contact.quasi_rigid.result import ContactResult
from pliant.geometry.mesh import Floats, PliantError

MOST = 300  # cells along a side, unless a sensor is given
SPREAD = 6  # pieces along a side that the force of a node is spread in
WIDE = 1.0  # standard deviation of that spread, in spacings
LOW = 0.05  # of the peak: cells below do not count as loaded


@dataclass(frozen=True)
class PressureMap:
    """Mean pressure in the cells of a grid."""

    values: Floats  # (rows, columns) [Pa]
    corner: Floats  # (2,) [m] where the first cell begins, along the axes
    cell: Floats  # (2,) [m] size of a cell along rows and columns
    axes: Floats  # (2, 3) unit vectors along which rows and columns are counted

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

    def write(self, path: Path) -> None:
        """Numbers in rows, with a line above that says what they are."""
        names = [f"({', '.join(f'{c:.4g}' for c in axis)})" for axis in self.axes]
        head = (
            f"pressure [Pa]; rows along {names[0]} from {self.corner[0]:.6g} m in steps of {self.cell[0]:.6g} m; "
            f"columns along {names[1]} from {self.corner[1]:.6g} m in steps of {self.cell[1]:.6g} m"
        )
        np.savetxt(path, self.values, fmt="%.6g", delimiter=",", header=head)


def pressure_map(result: ContactResult, direction: Floats, shape: tuple[int, int] | None = None) -> PressureMap:
    """Forces of the nodes, spread over their surroundings, in cells across the direction; rows go along the longer side."""
    touching = result.contact
    x, force, spacing = result.deformed[touching], result.P[touching], np.sqrt(result.areas[touching])
    axes = _across(direction)
    flat = x @ axes.T
    if len(flat) == 0:
        return PressureMap(np.zeros(shape or (1, 1)), np.zeros(2), np.ones(2), axes)
    room = 2.0 * float(np.median(spacing))
    low, high = flat.min(axis=0) - room, flat.max(axis=0) + room
    if (high - low)[1] > (high - low)[0]:
        axes, flat, low, high = axes[::-1], flat[:, ::-1], low[::-1], high[::-1]
    if shape is None:
        step = max(float(np.median(spacing)), float((high - low).max()) / MOST)
        shape = (max(int((high - low)[0] / step), 1), max(int((high - low)[1] / step), 1))
    cell = (high - low) / shape
    quantiles = _gauss(SPREAD)
    offsets = WIDE * np.stack(np.meshgrid(quantiles, quantiles), axis=-1).reshape(-1, 2)
    places = (flat[:, None] + spacing[:, None, None] * offsets - low) / cell
    index = np.clip(places.astype(np.int64), 0, np.array(shape) - 1).reshape(-1, 2)
    weight = np.repeat(force / len(offsets), len(offsets))
    total = np.bincount(index[:, 0] * shape[1] + index[:, 1], weight, minlength=shape[0] * shape[1])
    return PressureMap(total.reshape(shape) / np.prod(cell), low, cell, axes)


def _gauss(count: int) -> Floats:
    """Middles of equal parts of a normal distribution, with its variance."""
    from scipy.special import ndtri

    found = ndtri((np.arange(count) + 0.5) / count)
    return np.asarray(found / np.sqrt(np.mean(found**2)), dtype=np.float64)


def _across(direction: Floats) -> Floats:
    """Two axes across a direction: x and y of the world if it is vertical."""
    if abs(direction[2]) > 1.0 - 1e-9:
        return np.eye(3)[:2]
    u = np.cross([0.0, 0.0, 1.0], direction)
    u /= np.linalg.norm(u)
    return np.stack([u, np.cross(direction, u)])


def read_measured(path: str | Path) -> Floats:
    """A measured map: rows of numbers, separated by commas, semicolons, tabs or spaces; lines that begin with # are skipped."""
    where = Path(path)
    if not where.exists():
        raise PliantError(f"{where} does not exist: --measured needs a file with rows of numbers.")
    try:
        lines = [line.replace(",", " ").replace(";", " ").split() for line in where.read_text().splitlines()]
        rows = [[float(word) for word in line] for line in lines if line and not line[0].startswith("#")]
    except (UnicodeDecodeError, ValueError) as error:
        raise PliantError(f"{where} is not a table of numbers ({error}).") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise PliantError(f"{where} has rows of different lengths, or none: a map needs the same number of values in each row.")
    values = np.array(rows)
    if not np.all(np.isfinite(values)) or not values.max() > 0.0:
        raise PliantError(f"{where}: a map needs finite values, some of them above zero.")
    return values if values.shape[0] >= values.shape[1] else values.T


def compared(computed: PressureMap, measured: Floats) -> dict[str, float]:
    """How a computed map differs from a measured one of the same shape, which is taken to cover the same rectangle.

    Units of the measured values do not matter for correlation, area and centre; its peak is compared after scaling to the same force.
    """
    if computed.values.shape != measured.shape:
        raise PliantError(f"The measured map has {measured.shape} cells, the computed one {computed.values.shape}.")
    other = PressureMap(measured * (computed.values.sum() / measured.sum()), computed.corner, computed.cell, computed.axes)
    return {
        "correlation": float(np.corrcoef(computed.values.ravel(), measured.ravel())[0, 1]),
        "peak_error": float(computed.values.max() / other.values.max() - 1.0),
        "area_error": float(computed.area / other.area - 1.0),
        "centre_error": float(np.linalg.norm(computed.centre - other.centre)),  # [m]
    }
