"""Which part of each tetrahedron is in a region: a group of its file, or the inside of a second surface.

Samples on a grid over the region are looked up in the tetrahedra; a part is the share of a tetrahedron's samples that are inside. So a
region may end anywhere in a tetrahedron.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.geometry.embed import containing
from pliant.geometry.filling import contained
from pliant.geometry.lattice.closing import closed_surface
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.winding import WindingTree

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
