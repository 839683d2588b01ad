"""How well the vertices of a mesh foretell each other: each where a polynomial through those around it would have put it.

A smooth surface through vertices is as good as what lies between them is smooth. That is seen where a vertex is left out and the others
are asked for it (cross-validation [Stone 1974]): on finely meshed round things they know it to a part in thousands of the edges, on scans
whose details are as large as a triangle they do not.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from pliant.base import Floats, Ints
from pliant.geometry.curved import Curved
from pliant.geometry.mesh import Surface

MOST = 30  # nearest neighbours of two rings that foretell a vertex
CUBIC, QUADRATIC = 13, 7  # of them for such a polynomial
TERMS = [(t, r) for t in (0, 1, 2, 3) for r in range(t + 1)]  # x^(t - r) y^r
RIDGE = 1e-9  # of the normal equations, as in geometry/curved.py


def left_out(curved: Curved) -> Curved:
    """The surface with all vertices moved to where their neighbours expect them; those on sharp edges stay."""
    points, vertex = curved.surface.points, curved.vertex
    alone = np.flatnonzero(np.bincount(vertex, minlength=len(points))[vertex] == 1)
    normal = curved.fits(alone).normal
    moved = points.copy()
    moved[vertex[alone]] += foretold(points[vertex], alone, _rings(curved), normal)[:, None] * normal
    return Curved(Surface(moved, curved.surface.faces), curved.blended)


def _rings(curved: Curved) -> csr_array:
    """Two rings around each smooth corner."""
    c, n = curved.corner, len(curved.vertex)
    i, j = np.concatenate([c[:, 0], c[:, 1], c[:, 2]]), np.concatenate([c[:, 1], c[:, 2], c[:, 0]])
    near = coo_array((np.ones(2 * len(i)), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)).tocsr()
    near = csr_array(near + eye_array(n, format="csr"))
    return csr_array(near @ near)


def foretold(points: Floats, chosen: Ints, rings: csr_array, normal: Floats) -> Floats:
    """(n,) [m] how far above chosen points, along normals (n, 3) there, a polynomial through their neighbours passes."""
    near = rings[chosen]
    row = np.repeat(np.arange(len(chosen)), np.diff(near.indptr))
    other = near.indices != chosen[row]
    row, to = row[other], near.indices[other]
    far = np.linalg.norm(points[to] - points[chosen[row]], axis=1)
    order = np.lexsort((to, far, row))
    row, to = row[order], to[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(len(chosen)))[row]
    row, to, place = row[place < MOST], to[place < MOST], place[place < MOST]
    used, d = np.zeros((len(chosen), MOST), bool), np.zeros((len(chosen), MOST, 3))
    used[row, place], d[row, place] = True, points[to] - points[chosen[row]]
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
