"""A lattice of cubic cells that fills a closed surface, for springs that run through the inside.

A cell belongs to the body if at least half of it is inside or a vertex of the surface lies in it, so the surface can ride in the cells. The
lattice is laid along the axes of the shape and centred on its box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.blocks import brick
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.winding import winding_numbers

CELLS = 8  # along the longest side, unless the spacing is given
MOST = 2_000_000  # cells of the box; more than this is taken for a mistake in `spacing`


@dataclass(frozen=True)
class Lattice:
    """Cells of a body: their corners, and five tetrahedra in each."""

    mesh: TetMesh
    cells: Ints  # (c, 8) points
    filled: Floats  # (c,) how much of a cell is inside, an eighth at least


def lattice(surface: Surface, spacing: float | None = None) -> Lattice:
    """The cells of a closed surface; spacing [m] is the edge of a cell, None: an eighth of the longest side."""
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    spacing = float((high - low).max()) / CELLS if spacing is None else spacing
    counts = np.maximum(1, np.ceil((high - low) / spacing - 1e-6)).astype(np.int64)
    if counts.prod() > MOST:
        raise PliantError(f"spacing = {spacing:g} m cuts the body's box into {counts.prod()} cells (at most {MOST}): take a larger one.")
    origin = 0.5 * (low + high) - 0.5 * spacing * counts
    cell = np.indices(counts).reshape(3, -1).T
    quarter = 0.25 + 0.5 * np.indices((2, 2, 2)).reshape(3, 8).T
    samples = origin + spacing * (cell[:, None] + quarter).reshape(-1, 3)
    filled = (winding_numbers(surface.points, surface.faces, samples).reshape(-1, 8) > 0.5).mean(axis=1)
    at = np.clip(np.floor((surface.points - origin) / spacing).astype(np.int64), 0, counts - 1)
    kept = filled >= 0.5
    kept[np.ravel_multi_index(tuple(at.T), tuple(counts))] = True
    points, tets = brick(*(int(n) for n in counts))
    corner = cell[kept][:, None] + np.indices((2, 2, 2)).reshape(3, 8).T
    cells = np.ravel_multi_index(tuple(np.moveaxis(corner, 2, 0)), tuple(counts + 1))
    used, cells = np.unique(cells, return_inverse=True)
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    mesh = TetMesh(origin + spacing * counts * points[used], number[tets.reshape(-1, 5, 4)[kept].reshape(-1, 4)])
    return Lattice(mesh, cells.reshape(-1, 8).astype(np.int64), np.maximum(filled[kept], 0.125))
