"""What fills a closed surface: points, each with its share of the volume, or a lattice of cubic cells for springs.

Points: the box of the surface is cut into cells that fit it. A cell holds one point in its middle (cubic), or two at a quarter and at
three quarters of its diagonal: a body-centred lattice that keeps the same distance from opposite faces of a box. Points outside are left
out. The volume goes to the nearest point inside, piece by piece, and is scaled to that of the surface.

Which pieces are inside is found by columns along z: every triangle writes its crossings into the columns it covers, and a running
sum of them from above is the winding number, so the cost does not grow with triangles times pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.asking import refuse_many
from pliant.base import Floats, Ints, PliantError
from pliant.geometry.blocks import brick
from pliant.geometry.lattice.lines import crossings, mass_of_solid
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.near import kd_tree
from pliant.geometry.winding import winding_numbers

POINTS = 400  # in a body, unless the spacing is given
FEWEST = 8  # points below which there is no neighbourhood worth the name
MOST = 30_000_000  # pieces of the box; more than this is taken for a mistake in `spacing`

AS_TETS = 20  # a point of a body takes as much memory and time as so many tetrahedra, about


def fill(surface: Surface, spacing: float | None = None, lattice: str = "cubic") -> tuple[Floats, Floats]:
    """Points inside a closed surface (n, 3) [m] and their volumes (n,) [m^3]; spacing^3 is the volume of one, None: for 400 points."""
    volume = mass_of_solid(surface).volume  # refuses an open surface
    spacing = (volume / POINTS) ** (1.0 / 3.0) if spacing is None else spacing
    cell = spacing * (2.0 ** (1.0 / 3.0) if lattice == "bcc" else 1.0)
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    cells = np.maximum(1.0, np.round((high - low) / cell))
    fine = 6 if lattice == "bcc" else 3  # pieces along a cell; points lie in the middle of pieces
    if not cells.prod() * fine**3 <= MOST:
        raise PliantError(f"spacing = {spacing:g} m cuts the body's box into {cells.prod():.3g} cells: take a larger one.")
    counts = cells.astype(np.int64)
    count = volume / spacing**3
    refuse_many(f"spacing = {spacing:g} m makes {count:.2g} points, which", AS_TETS * count, "Use a larger spacing")
    piece = (high - low) / (fine * counts)
    inside = contained(surface, low, piece, fine * counts)
    index = np.argwhere(inside)
    middle = (index % 3 == 1).all(axis=1)
    if lattice == "bcc":
        half = index // 3 % 2
        middle &= (half == half[:, :1]).all(axis=1)
    places = low + piece * (index + 0.5)
    points = np.ascontiguousarray(places[middle])
    if len(points) < FEWEST:
        raise PliantError(f"spacing = {spacing:g} m leaves {len(points)} points inside the body, too few: take a smaller one.")
    owner = kd_tree(points).query(places, workers=1)[1]
    share = np.bincount(owner, minlength=len(points))
    return points, volume * share / len(places)


def contained(surface: Surface, low: Floats, piece: Floats, counts: np.ndarray) -> np.ndarray:
    """Whether the centre of each piece of a grid is inside a closed surface, (nx, ny, nz) bool."""
    found, (nx, ny, nz) = crossings((surface.points - low) / piece, surface.faces, counts, 2), counts
    below = np.clip(np.ceil(found.at - 0.5), 0, nz).astype(np.int64)  # pieces below have their centres under the crossing
    column = np.repeat(np.arange(nx * ny), np.diff(found.start))
    sums = np.zeros((nx * ny, nz + 1), np.int32)
    np.add.at(sums, (column, below), found.out)
    return (np.cumsum(sums[:, ::-1], axis=1)[:, ::-1][:, 1:] > 0).reshape(nx, ny, nz)


# ---- A lattice of cubic cells, laid along the axes of the shape and centred on its box. A cell belongs to the body if at least half of it
# is inside or a vertex of the surface lies in it, so the surface can ride in the cells.

CELLS = 8  # along the longest side, unless the spacing is given
MOST_CELLS = 2_000_000  # cells of the box; more than this is taken for a mistake in `spacing`


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
    if counts.prod() > MOST_CELLS:
        cut = f"cuts the body's box into {counts.prod()} cells (at most {MOST_CELLS}): take a larger one."
        raise PliantError(f"spacing = {spacing:g} m {cut}")
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
