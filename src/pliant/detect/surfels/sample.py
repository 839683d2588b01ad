"""Samples spread evenly over triangles."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.mesh import Surface
from pliant.kernels import kernel

FINE = 3.0  # pieces per spacing that samples are chosen from
APART = 0.75  # of the spacing: samples of one side are not nearer than this
MOST = 20_000_000


def spread_samples(surface: Surface, spacing: float) -> tuple[Floats, Floats, Floats]:
    """(points, normals, areas): about one sample per spacing^2, no two on one side nearer than 0.75 spacing; areas sum up exactly.

    Triangles are cut into pieces a third of the spacing large; pieces are visited in a fixed shuffled order, and one is kept if no kept
    one is near. Each piece gives its area to the nearest kept one that faces its way.
    """
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise PliantError(f"samples must be more than zero metres apart, not {spacing}.")
    points, normals, areas = _pieces(surface, spacing / FINE)
    order = np.random.default_rng(0).permutation(len(points))
    points, normals, areas = points[order], normals[order], areas[order]
    owner, reach = np.full(len(points), -1, np.int64), APART * spacing
    cell, around = _cells(points, reach)
    _thin(points, normals, reach * reach, cell, around, np.full(len(around), -1), np.full(len(points), -1), owner)
    kept = np.unique(owner)
    place = np.searchsorted(kept, owner)
    total = np.bincount(place, areas, minlength=len(kept)).astype(np.float64)
    vector = np.stack([np.bincount(place, areas * normals[:, i], minlength=len(kept)) for i in range(3)], axis=1)
    return points[kept], vector / np.linalg.norm(vector, axis=1, keepdims=True), total


def _pieces(surface: Surface, size: float) -> tuple[Floats, Floats, Floats]:
    """(centres, normals, areas) of m^2 equal pieces of each triangle, m = longest edge / size."""
    x = surface.points[surface.faces]
    vector = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = np.linalg.norm(vector, axis=1)
    x, vector, area = x[area > 0.0], vector[area > 0.0], area[area > 0.0]
    edge = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    m = np.maximum(np.ceil(edge / size), 1).astype(np.int64)
    if not len(x):
        raise PliantError("the surface has no triangle with an area: nothing to sample.")
    if int((m * m).sum()) > MOST:
        raise PliantError(f"sampling every {size * FINE:g} m would take {int((m * m).sum())} pieces of triangles; choose a larger spacing.")
    weights, face = _centres(m), np.repeat(np.arange(len(x)), m * m)
    points = np.einsum("ij,ijk->ik", weights, x[face])
    return points, (vector / area[:, None])[face], (area / (m * m))[face]


@kernel
def _centres(m):  # type: ignore[no-untyped-def]
    """Barycentric coordinates of the centres of m^2 pieces, triangle after triangle."""
    out, place = np.empty(((m * m).sum(), 3)), 0
    for t in range(len(m)):
        for i in range(m[t]):
            for j in range(2 * (m[t] - i) - 1):
                u, v = (i + 1.0 / 3.0) / m[t], (j // 2 + 1.0 / 3.0) / m[t]
                if j % 2 == 1:
                    u, v = (i + 2.0 / 3.0) / m[t], (j // 2 + 2.0 / 3.0) / m[t]
                out[place, 0], out[place, 1], out[place, 2] = 1.0 - u - v, u, v
                place += 1
    return out


def _cells(points: Floats, size: float) -> tuple[Ints, Ints]:
    """(cell of each point (n,), cells around each cell and itself (c, 27), -1 where there is none), of cubes of a size."""
    place = np.floor((points - points.min(axis=0)) / size).astype(np.int64) + 1
    high = place.max(axis=0) + 2

    def number(x: Ints) -> Ints:
        return (x[..., 0] * high[1] + x[..., 1]) * high[2] + x[..., 2]

    known, first, cell = np.unique(number(place), return_index=True, return_inverse=True)
    shift = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    wanted = number(place[first][:, None] + shift)
    found = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return cell, np.where(known[found] == wanted, found, -1)


@kernel
def _thin(points, normals, reach2, cell, around, head, after, owner):  # type: ignore[no-untyped-def]
    """Keep a piece if no kept one of its side is near; others go to the nearest kept one of their side. Cells list the kept ones."""
    for i in range(len(points)):
        if _nearest_kept(points, normals, reach2, around[cell[i]], head, after, i) < 0:
            owner[i], after[i], head[cell[i]] = i, head[cell[i]], i
    for i in range(len(points)):
        if owner[i] < 0:
            owner[i] = _nearest_kept(points, normals, reach2, around[cell[i]], head, after, i)


@kernel
def _nearest_kept(points, normals, reach2, cells, head, after, i):  # type: ignore[no-untyped-def]
    """Nearest kept piece within reach that faces the same way, the first of equal ones; -1 if there is none."""
    best, found = reach2, -1
    for c in cells:
        j = head[c] if c >= 0 else -1
        while j >= 0:
            d = (points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2 + (points[i, 2] - points[j, 2]) ** 2
            if (d < best or (d == best and (found < 0 or j < found))) and _facing(normals, i, j) > 0.0:
                best, found = d, j
            j = after[j]
    return found


@kernel
def _facing(normals, i, j):  # type: ignore[no-untyped-def]
    return normals[i, 0] * normals[j, 0] + normals[i, 1] * normals[j, 1] + normals[i, 2] * normals[j, 2]
