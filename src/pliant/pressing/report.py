"""What the command `press` reads and prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.pressing.maps import compared, read_measured
from pliant.pressing.quantities import pascals
from pliant.pressing.tool import Pressed


def numbers(name: str, text: str) -> Floats:
    """Three numbers, separated by commas or spaces."""
    try:
        found = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        found = np.zeros(0)
    if found.shape != (3,):
        raise PliantError(f"{name} = '{text}': it needs three numbers, such as 0,0,-1.")
    return found


def sensor_shape(sensor: str | None, measured: Path | None) -> tuple[int, int] | None:
    """Rows and columns of a sensor, such as 37x13; those of a measured map unless given."""
    if sensor is None:
        if measured is None:
            return None
        rows, columns = read_measured(measured).shape
        return int(rows), int(columns)
    words = sensor.lower().replace("×", "x").split("x")
    if len(words) != 2 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise PliantError(f"sensor = '{sensor}': write rows and columns, such as 37x13.")
    one, two = (int(word) for word in words)
    return max(one, two), min(one, two)


def report(found: Pressed, sensor: tuple[int, int] | None, measured: Path | None) -> tuple[dict[str, Any], str]:
    """(facts for programs, lines for people)."""
    grid = found.map(sensor)
    facts = found.facts() | {"map": grid.facts()}
    x, y, z = (1e3 * c for c in found.centre)
    (rows, columns), (tall, wide) = grid.values.shape, 1e3 * grid.cell
    lines = [
        f"[bold]{facts['a']}[/] on [bold]{facts['b']}[/]: {facts['status']}, {facts['touching']} of {facts['nodes']} nodes touch.",
        f"  force          {found.force:.5g} N at a depth of {1e3 * found.depth:.4g} mm",
        f"  area           {1e4 * found.area:.4g} cm²",
        f"  pressure       mean {pascals(found.mean)}, peak {pascals(found.peak)} at a sample",
        f"  map            {rows} x {columns} cells of {tall:.3g} x {wide:.3g} mm, peak {pascals(grid.peak)} in a cell",
        f"  centre         ({x:.4g}, {y:.4g}, {z:.4g}) mm",
        f"  stiffness      {1e-3 * found.stiffness:.4g} N/mm",
    ]
    if found.tilt > 0.0:
        lines.append(f"  tilt           {found.tilt:.3g}°")
    if measured is not None:
        facts["measured"] = compared(grid, read_measured(measured))
        m = facts["measured"]
        lines.append(
            f"  measured       correlation {m['correlation']:.3f}, peak {100 * m['peak_error']:+.0f} %, "
            f"area {100 * m['area_error']:+.0f} %, centre {1e3 * m['centre_error']:.2g} mm away"
        )
        for turn, correlation in m["better"].items():
            lines.append(f"  note: {turn}, the measured map correlates better ({correlation:.3f}): was it written from another side?")
    return facts, "\n".join([*lines, *(f"  note: {note}" for note in found.notes)])
