"""Tables of how a surface gives way around a force, as `pliant response` writes them: radii [m], displacements per force [m/N]."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats, PliantError

RESPONSES = {"boussinesq": 0, "volume-preserving": 1, "layer": 2, "table": 3}  # how the surface of a quasi-rigid body gives way


def read_table(path: str | Path) -> tuple[float, Floats]:
    """(C, rows (k, 2)) of a file whose head says C."""
    path = Path(path)
    rows = read_rows(path)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# C ="):
            return float(line.split("=")[1].split()[0]), table_of(rows[:, 0].tolist(), rows[:, 1].tolist())
    raise PliantError(f"{path.name} does not say C, as in '# C = 2.5e-07 m^2/N': make it with `pliant response`.")


def table_of(r: list[float], values: list[float]) -> Floats:
    """Rows (k, 2) of radii and values, checked."""
    if len(r) < 4 or len(r) != len(values):
        raise PliantError(f"a response needs at least four radii and as many values, not {len(r)} and {len(values)}.")
    if r[0] <= 0.0 or np.any(np.diff(r) <= 0.0):
        raise PliantError("the radii of a response must be positive and rising: sort them, and drop r = 0, where C / r takes over.")
    return np.column_stack([r, values])


def read_rows(path: Path) -> Floats:
    """Two columns of numbers, (k, 2)."""
    try:
        rows = np.loadtxt(path, delimiter=",", ndmin=2)
    except OSError:
        raise PliantError(f"There is no file {path}.") from None
    except ValueError as error:
        raise PliantError(f"{path.name} is not a table of numbers with commas between them: {error}") from None
    if rows.shape[1] != 2 or len(rows) < 4:
        raise PliantError(f"{path.name} needs at least four rows of a radius and a displacement, not {rows.shape[0]} x {rows.shape[1]}.")
    return rows
