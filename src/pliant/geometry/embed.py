"""Tie points to the tetrahedra that carry them, so that a fine surface can ride in a coarse mesh.

A uniform grid lists, for each of its cells, the boxes of tets (or boundary faces) that reach into it. A point inside
the mesh is in a tet of its own cell; a point outside searches shells of cells around it until no nearer face can exist.
Both are exact.

Which part of each tetrahedron is in a region: a group of its file, or the inside of a second surface.

Samples on a grid over the region are looked up in the tetrahedra; a part is the share of a tetrahedron's samples that are inside. So a
region may end anywhere in a tetrahedron.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.geometry.filling import contained
from pliant.geometry.lattice.closing import closed_surface
from pliant.geometry.mesh import TET_FACES, Surface, TetMesh, lone
from pliant.geometry.triangle import closest_on_triangle
from pliant.geometry.winding import WindingTree
from pliant.kernels import axpy, contiguous, dot, inline, kernel, load, sub

INSIDE = -1e-12  # a weight may be this negative in a containing tet, for points on a face


class Embedding(NamedTuple):
    """Points as weighted sums of tet corners."""

    tet: Ints  # (n,)
    weights: Floats  # (n, 4), each row sums to one; negative: the point lies outside its tet


@dataclass(frozen=True)
class _Grid:
    origin: Floats  # [m], (3,)
    cell: float  # [m]
    counts: Ints  # (3,)
    offsets: Ints
    items: Ints


def embed(points: Floats, mesh: TetMesh) -> Embedding:
    """The containing tet of each point and the weights of its corners.

    A point outside takes the tet of the nearest boundary face and extrapolates; one that is further out than the
    longest edge of that tet is an error.
    """
    x = contiguous(points).reshape(-1, 3)
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise PliantError(f"point {bad} of the embedded surface is not finite: {x[bad].tolist()}")
    if not len(mesh.tets) or (mesh.volumes <= 0).any():
        raise PliantError("points can only ride in a mesh of positive tetrahedra; check the mesh first")
    tet, weights, first, to_weights = _contained(x, mesh)
    outside = np.flatnonzero(tet < 0)
    if outside.size:
        _extrapolate(x, outside, mesh, first, to_weights, tet, weights)
    return Embedding(tet, weights)


def containing(points: Floats, mesh: TetMesh) -> Ints:
    """The tet that each point is in, -1 for points outside the mesh."""
    return _contained(contiguous(points).reshape(-1, 3), mesh)[0]


def _contained(x: Floats, mesh: TetMesh) -> tuple[Ints, Floats, Floats, Floats]:
    """Tets of points and weights in them, and what gives weights: first corners and the gradients of weights 1, 2, 3 as rows."""
    corners = mesh.points[mesh.tets]
    to_weights = np.ascontiguousarray(np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)))
    first = np.ascontiguousarray(corners[:, 0])
    grid = _grid(corners.min(axis=1), corners.max(axis=1))
    tet = np.empty(len(x), dtype=np.int64)
    weights = np.empty((len(x), 4))
    _contain(x, grid.origin, grid.cell, grid.counts, grid.offsets, grid.items, first, to_weights, tet, weights)
    tet[((x < grid.origin) | (x > grid.origin + grid.cell * grid.counts)).any(axis=1)] = -1
    return tet, weights, first, to_weights


def _extrapolate(
    x: Floats, outside: Ints, mesh: TetMesh, first: Floats, to_weights: Floats, tet: Ints, w: Floats
) -> None:
    """Fill in the points that no tet contains."""
    faces, owner = _boundary_with_owner(mesh)
    triangles = np.ascontiguousarray(mesh.points[faces])
    grid = _grid(triangles.min(axis=1), triangles.max(axis=1))
    corners = mesh.points[mesh.tets[owner]]
    size = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=3).max(axis=(1, 2))
    low, high = mesh.points[faces].min(axis=(0, 1)), mesh.points[faces].max(axis=(0, 1))
    gap = np.linalg.norm(np.maximum(0.0, np.maximum(low - x[outside], x[outside] - high)), axis=1)
    if gap.max() > size.max():
        far = int((gap > size.max()).sum())
        _too_far(int(outside[gap.argmax()]), float(gap.max()), float(size.max()), "bounding box", far)
    face = np.empty(len(outside), dtype=np.int64)
    distance = np.empty(len(outside))
    queries = np.ascontiguousarray(x[outside])
    g = (grid.origin, grid.cell, grid.counts, grid.offsets, grid.items)
    _nearest(queries, *g, triangles, np.ascontiguousarray(owner), first, to_weights, face, distance)
    over = distance > size[face]
    if over.any():
        n = int(np.argmax(np.where(over, distance, 0.0)))
        _too_far(int(outside[n]), float(distance[n]), float(size[face[n]]), "surface", int(over.sum()))
    tet[outside] = owner[face]
    inner = np.einsum("nij,nj->ni", to_weights[tet[outside]], queries - first[tet[outside]])
    w[outside, 1:] = inner
    w[outside, 0] = 1.0 - inner.sum(axis=1)


def _too_far(point: int, distance: float, size: float, part: str, count: int) -> None:
    raise PliantError(
        f"{count} points lie too far outside the tet mesh to ride in it; worst: point {point}, {distance:.4g} m from "
        f"the mesh's {part} where the tets are {size:.4g} m large; check units and position, or use a mesh that "
        "encloses the surface"
    )


def _boundary_with_owner(mesh: TetMesh) -> tuple[Ints, Ints]:
    """Boundary faces and the tet each belongs to."""
    faces = mesh.tets[:, TET_FACES].reshape(-1, 3)
    at = lone(faces)
    return faces[at], at // 4


def _grid(low: Floats, high: Floats) -> _Grid:
    """A grid over boxes, with cells about as large as the boxes and at most some millions of them."""
    origin, top = low.min(axis=0), high.max(axis=0)
    extent = np.maximum(top - origin, 1e-300)
    cell = max(float((high - low).max(axis=1).mean()), float(extent.max()) * 1e-3)
    cell = max(cell, float(np.prod(np.maximum(extent, cell)) / 8e6) ** (1.0 / 3.0))
    counts = np.floor(extent / cell).astype(np.int64) + 1
    a = np.clip(np.floor((low - origin) / cell).astype(np.int64), 0, counts - 1)
    b = np.clip(np.floor((high - origin) / cell).astype(np.int64), 0, counts - 1)
    offsets, items = boxes_in_cells(np.ascontiguousarray(a), np.ascontiguousarray(b), counts)
    return _Grid(origin, cell, counts, offsets, items)


@kernel
def boxes_in_cells(a, b, counts):  # type: ignore[no-untyped-def]
    """(offsets, items): boxes that reach from cell a to cell b, (n, 3) each, listed per cell in their order: count, scan, fill."""
    offsets = np.zeros(counts[0] * counts[1] * counts[2] + 1, np.int64)
    for fill in range(2):
        if fill == 1:
            for c in range(offsets.size - 1):
                offsets[c + 1] += offsets[c]
            items = np.empty(offsets[-1], np.int64)
            at = offsets[:-1].copy()
        for n in range(len(a)):
            for i in range(a[n, 0], b[n, 0] + 1):
                for j in range(a[n, 1], b[n, 1] + 1):
                    for k in range(a[n, 2], b[n, 2] + 1):
                        c = (i * counts[1] + j) * counts[2] + k
                        if fill == 0:
                            offsets[c + 1] += 1
                        else:
                            items[at[c]] = n
                            at[c] += 1
    return offsets, items


@inline
def _weights(p, first, to_weights, t):  # type: ignore[no-untyped-def]
    d = sub(p, load(first, t))
    m = to_weights
    w1 = dot((m[t, 0, 0], m[t, 0, 1], m[t, 0, 2]), d)
    w2 = dot((m[t, 1, 0], m[t, 1, 1], m[t, 1, 2]), d)
    w3 = dot((m[t, 2, 0], m[t, 2, 1], m[t, 2, 2]), d)
    return 1.0 - w1 - w2 - w3, w1, w2, w3


@inline
def _cell_of(p, origin, cell, counts):  # type: ignore[no-untyped-def]
    """The cell of a point, or the nearest one if the point is outside the grid."""
    i = int(math.floor((p[0] - origin[0]) / cell))
    j = int(math.floor((p[1] - origin[1]) / cell))
    k = int(math.floor((p[2] - origin[2]) / cell))
    return min(max(i, 0), counts[0] - 1), min(max(j, 0), counts[1] - 1), min(max(k, 0), counts[2] - 1)


@kernel
def _contain(x, origin, cell, counts, offsets, items, first, to_weights, tet, weights):  # type: ignore[no-untyped-def]
    """The tet with the largest smallest weight in the point's cell; -1 if none contains it."""
    for n in range(len(x)):
        p = load(x, n)
        tet[n] = -1
        best = INSIDE
        i, j, k = _cell_of(p, origin, cell, counts)
        c = (i * counts[1] + j) * counts[2] + k
        for s in range(offsets[c], offsets[c + 1]):
            w = _weights(p, first, to_weights, items[s])
            least = min(min(w[0], w[1]), min(w[2], w[3]))
            if least > best:
                best = least
                tet[n] = items[s]
                weights[n, 0], weights[n, 1], weights[n, 2], weights[n, 3] = w


@inline
def _squared_distance(p, a, b, c):  # type: ignore[no-untyped-def]
    """To a triangle."""
    _, v, w = closest_on_triangle(p, a, b, c)
    d = sub(p, axpy(v, sub(b, a), axpy(w, sub(c, a), a)))
    return dot(d, d)


@kernel
def _nearest(x, origin, cell, counts, offsets, items, triangles, owner, first, to_weights, face, distance):  # type: ignore[no-untyped-def]
    """Nearest boundary face; of faces equally near (a shared edge or corner) the one whose tet extrapolates least."""
    for n in range(len(x)):
        p = load(x, n)
        ci, cj, ck = _cell_of(p, origin, cell, counts)
        best, least = np.inf, -np.inf
        face[n] = -1
        for shell in range(max(counts[0], max(counts[1], counts[2])) + 1):
            reach = max(shell - 1, 0) * cell  # nothing in this shell is nearer, also seen from outside the grid
            if best < reach * reach:
                break
            for i in range(max(ci - shell, 0), min(ci + shell, counts[0] - 1) + 1):
                for j in range(max(cj - shell, 0), min(cj + shell, counts[1] - 1) + 1):
                    edge = abs(i - ci) == shell or abs(j - cj) == shell
                    for k in range(max(ck - shell, 0), min(ck + shell, counts[2] - 1) + 1):
                        if not (edge or abs(k - ck) == shell):
                            continue
                        c = (i * counts[1] + j) * counts[2] + k
                        for s in range(offsets[c], offsets[c + 1]):
                            f = items[s]
                            t = triangles[f]
                            d = _squared_distance(p, load(t, 0), load(t, 1), load(t, 2))
                            if d > best * (1.0 + 1e-9):
                                continue
                            w = _weights(p, first, to_weights, owner[f])
                            smallest = min(min(w[0], w[1]), min(w[2], w[3]))
                            if d < best * (1.0 - 1e-9) or smallest > least:
                                face[n], least = f, smallest
                                best = min(best, d)
        distance[n] = np.sqrt(best)


FINE = 5  # samples along the edge of a cube of five tetrahedra
MOST = 20_000_000  # samples
SHIFT = (0.31, 0.47, 0.41)  # of a step: samples beside the planes of a lattice


def part_in_group(mesh: TetMesh, group: int | str) -> Floats:
    """(t,) 1 for the tetrahedra of a group, by number or name."""
    names = dict(mesh.names)
    if mesh.groups is None:
        raise PliantError("the file of this body says nothing about groups of tetrahedra; use a region with a `shape`.")
    known = [*names, *(str(n) for n in np.unique(mesh.groups).tolist())]
    number = names.get(str(group), int(group) if str(group).lstrip("-").isdigit() else None)
    if number is None or not (mesh.groups == number).any():
        raise PliantError(f"there is no group '{group}' in the file: {nearest(str(group), known)}")
    return (mesh.groups == number).astype(np.float64)


def part_inside(mesh: TetMesh, surface: Surface) -> Floats:
    """(t,) part of each tetrahedron that is inside a surface in the same frame, which is closed if need be."""
    edge = float((5.0 * np.median(mesh.volumes)) ** (1.0 / 3.0))
    closed = closed_surface(surface, 0.5 * edge)[0]
    step = edge / FINE
    low, high = closed.points.min(axis=0), closed.points.max(axis=0)
    counts = np.ceil((high - low) / step + 2.0).astype(np.int64)
    if counts.prod() > MOST:
        step *= (counts.prod() / MOST) ** (1.0 / 3.0)
        counts = np.ceil((high - low) / step + 2.0).astype(np.int64)
    start = low - step * np.array(SHIFT)
    inside = contained(closed, start, np.full(3, step), counts).ravel()
    places = start + step * (np.indices(tuple(counts)).reshape(3, -1).T + 0.5)
    tet = containing(places, mesh)
    some = tet >= 0
    all_ = np.bincount(tet[some], minlength=len(mesh.tets))
    own = np.bincount(tet[some & inside], minlength=len(mesh.tets))
    part = np.divide(own, all_, out=np.zeros(len(mesh.tets)), where=all_ > 0)
    middle = mesh.points[mesh.tets].mean(axis=1)
    bare = np.flatnonzero((all_ == 0) & ((middle > low) & (middle < high)).all(axis=1))  # smaller than the samples are apart
    if len(bare):
        part[bare] = WindingTree.of_triangles(closed.points, closed.faces).about(middle[bare]) > 0.5
    if not part.any():
        where = "lies outside the body" if not some[inside].any() else "is too small for its elements"
        body = _span(mesh.points.min(axis=0), mesh.points.max(axis=0))
        raise PliantError(f"the region {where}: it spans {_span(low, high)}, the body {body}.")
    return part


def _span(low: Floats, high: Floats) -> str:
    digits = max(0, 3 - math.floor(math.log10(max(float(np.abs(high - low).max()), 1e-12))))
    return f"{low.round(digits).tolist()} to {high.round(digits).tolist()} m"
