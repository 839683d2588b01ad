"""Surfels that meet their own body: near now, but far from each other at rest (4.7 of the methods page).

A surfel meets the sheet of the nearest surfel of its body that faces it, that is nearer than 1.5 spacings now and was farther
than 4 spacings at rest. A fold that is thinner than that at rest is left alone.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Ints
from pliant.contact.point_surface.candidates import BodyGrid, Candidates, grid_entry
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.detect.surfels.neighbours import squared
from pliant.detect.surfels.weights import OPPOSITE
from pliant.kernels import dot, kernel, load

CLOSE = 1.5  # spacings: how deep a body may be in itself
APART = 4.0  # spacings at rest beyond which surfels are not neighbours


def folded(surfaces: Surfaces, bodies: Ints) -> Candidates:
    """Surfels of these bodies that are near a part of their own body which was not near at rest."""
    surfels = np.flatnonzero(np.isin(surfaces.fixed.body, bodies))
    sample = np.full(len(surfels), -1, np.int64)
    if len(surfels):
        grid = BodyGrid(surfaces)
        fixed = surfaces.fixed
        _meet_self(
            surfaces.points, surfaces.normals, surfaces.spacing, fixed.rest, fixed.body, grid.cell, grid.start, grid.held, surfels, sample
        )
    met = np.flatnonzero(sample >= 0)
    return Candidates(surfels[met], surfaces.fixed.body[surfels[met]], sample[met])


@kernel
def _meet_self(points, normals, spacing, rest, body, cell, start, held, surfels, sample):  # type: ignore[no-untyped-def]
    size = len(start) - 1
    for i in range(len(surfels)):
        s = surfels[i]
        q, n, b, r = load(points, s), load(normals, s), body[s], CLOSE * spacing[s]
        best, c, apart = r * r, cell[b], (APART * spacing[s]) ** 2
        for x in range(math.floor((q[0] - r) / c), math.floor((q[0] + r) / c) + 1):
            for y in range(math.floor((q[1] - r) / c), math.floor((q[1] + r) / c) + 1):
                for z in range(math.floor((q[2] - r) / c), math.floor((q[2] + r) / c) + 1):
                    e = grid_entry(b, x, y, z, size)
                    for place in range(start[e], start[e + 1]):
                        j = held[place]
                        d = squared(points, j, q)
                        if body[j] != b or d >= best or dot(load(normals, j), n) > OPPOSITE:
                            continue
                        if squared(rest, j, load(rest, s)) > apart:
                            best, sample[i] = d, j
