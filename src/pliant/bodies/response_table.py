"""Tables of how a surface gives way around a force, as `pliant response` writes them: radii [m], displacements per force [m/N]."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry.mesh import Floats, PliantError


def read_table(path: str | Path) -> tuple[float, Floats]:
    """(C, rows (k, 2)) of a file whose head says C."""
    path = Path(path)
    rows = read_rows(path)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# C ="):
            return float(line.split("=")[1].split()[0]), rows
    raise PliantError(f"{path.name} does not say C, as in '# C = 2.5e-07 m^2/N': make it with `pliant response`.")


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
