"""What fills a closed surface: points, each with its share of the volume, or a lattice of cubic cells for springs.

Points: the box of the surface is cut into cells that fit it. A cell holds one point in its middle (cubic), or two at a quarter and at
three quarters of its diagonal: a body-centred lattice that keeps the same distance from opposite faces of a box. Points outside are left
out. The volume goes to the nearest point inside, piece by piece, and is scaled to that of the surface.

Which pieces are inside is found by columns along z: every triangle writes its crossings into the columns it covers, and a running
sum of them from above is the winding number, so the cost does not grow with triangles times pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.asking import refuse_many
from pliant.base import Floats, Ints, PliantError
from pliant.geometry.blocks import brick
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.near import kd_tree
from pliant.geometry.overlap import mass_of_solid
from pliant.geometry.winding import winding_numbers
from pliant.kernels import contiguous, kernel

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
    crossings = np.zeros((counts[0], counts[1], counts[2] + 1), np.int32)
    shift = np.array([1e-7 * math.sqrt(2.0), 1e-7 * math.sqrt(3.0), 0.0])  # columns that pass beside vertices and edges of tidy meshes
    scaled = (surface.points - low) / piece + shift
    _cross(contiguous(scaled), contiguous(surface.faces, np.int64), crossings)
    return np.cumsum(crossings[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:] > 0


@kernel
def _cross(points, faces, crossings):  # type: ignore[no-untyped-def]
    """Add the sign of every crossing of a triangle to the piece of the column whose centre is next above it (points in pieces)."""
    nx, ny, nz = crossings.shape
    for f in range(len(faces)):
        a, b, c = points[faces[f, 0]], points[faces[f, 1]], points[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0:
            continue
        first_x = max(0, int(math.ceil(min(a[0], b[0], c[0]) - 0.5)))
        last_x = min(nx - 1, int(math.floor(max(a[0], b[0], c[0]) - 0.5)))
        first_y = max(0, int(math.ceil(min(a[1], b[1], c[1]) - 0.5)))
        last_y = min(ny - 1, int(math.floor(max(a[1], b[1], c[1]) - 0.5)))
        for i in range(first_x, last_x + 1):
            for j in range(first_y, last_y + 1):
                x, y = i + 0.5, j + 0.5
                u = (b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)
                v = (c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)
                w = (a[0] - x) * (b[1] - y) - (a[1] - y) * (b[0] - x)
                if (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0):
                    z = (u * a[2] + v * b[2] + w * c[2]) / area
                    k = min(max(int(math.ceil(z - 0.5)), 0), nz)  # pieces below k have their centres under the crossing
                    crossings[i, j, k] += 1 if area > 0.0 else -1


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
