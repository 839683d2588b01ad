"""How well the vertices of a mesh foretell each other: each where a polynomial through those around it would have put it.

A smooth surface through vertices is as good as what lies between them is smooth. That is seen where a vertex is left out and the others
are asked for it (cross-validation [Stone 1974]): on finely meshed round things they know it to a part in thousands of the edges, on scans
whose details are as large as a triangle they do not.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from pliant.base import Floats, Ints
from pliant.geometry.curved import Curved, nearest_of
from pliant.geometry.mesh import Surface

CUBIC, QUADRATIC = 13, 7  # of them for such a polynomial
TERMS = [(t, r) for t in (0, 1, 2, 3) for r in range(t + 1)]  # x^(t - r) y^r
RIDGE = 1e-9  # of the normal equations, as in geometry/curved.py


def left_out(curved: Curved) -> Curved:
    """The surface with all vertices moved to where their neighbours expect them; those on sharp edges stay."""
    points, vertex = curved.surface.points, curved.vertex
    alone = np.flatnonzero(np.bincount(vertex, minlength=len(points))[vertex] == 1)
    normal = curved.fits(alone).normal
    moved = points.copy()
    moved[vertex[alone]] += foretold(points[vertex], alone, csr_array(curved.near @ curved.near), normal)[:, None] * normal
    return Curved(Surface(moved, curved.surface.faces), curved.blended)


def foretold(points: Floats, chosen: Ints, rings: csr_array, normal: Floats) -> Floats:
    """(n,) [m] how far above chosen points, along normals (n, 3) there, a polynomial through their neighbours passes."""
    used, d = nearest_of(points, chosen, csr_array(rings[chosen]))
    u = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    x, y, z = (np.einsum("nki,ni->nk", d, axis) for axis in (u, np.cross(normal, u), normal))
    count = used.sum(axis=1)
    size = np.sqrt(np.sum(x**2 + y**2, axis=1) / np.maximum(count, 1)) + 1e-300
    x, y = x / size[:, None], y / size[:, None]
    weight, out = np.where(used, np.exp(-(x**2 + y**2)), 0.0), np.zeros(len(chosen))
    for can, number in ((count >= CUBIC, 10), ((count >= QUADRATIC) & (count < CUBIC), 6)):
        if can.any():
            M = np.stack([x[can] ** (t - r) * y[can] ** r for t, r in TERMS[:number]], axis=2)
            matrix = np.einsum("nki,nk,nkj->nij", M, weight[can], M)
            matrix += (RIDGE * np.trace(matrix, axis1=1, axis2=2))[:, None, None] * np.eye(number)
            out[can] = np.linalg.solve(matrix, np.einsum("nki,nk,nk->ni", M, weight[can], z[can])[..., None])[:, 0, 0]
    return np.clip(out, -0.5 * size, 0.5 * size)
