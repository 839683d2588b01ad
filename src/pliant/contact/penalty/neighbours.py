"""Who is next to whom on the whole skin, and its normals: what categories and redefinition ask for (section 6 of the methods page)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.topology import Csr, listed, topology
from pliant.kernels import contiguous, cross, kernel, load, norm, parallel, prange, scale, store, sub, use_threads


class Neighbours:
    """Adjacency of all faces of all bodies, made once per epoch: `motion.kept(Neighbours)`. Edges have the numbers of `FeatureTree`."""

    def __init__(self, motion: Any) -> None:
        skin = motion.skin
        n = len(skin.body)
        self.faces: Ints = contiguous(skin.faces, np.int64).reshape(-1, 3)
        around = topology(self.faces, n)
        # numbers by first use in the list of faces, as `detect/feature_pairs.py` deals them, not in lexical order
        first = np.full(len(around.edges), 3 * len(self.faces), np.int64)
        np.minimum.at(first, around.face_edges.reshape(-1), np.arange(3 * len(self.faces)))
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.edges: Ints = np.ascontiguousarray(around.edges[order])  # (e, 2) lower point first
        self.edge_faces: Ints = np.ascontiguousarray(around.edge_faces[order])  # (e, 2) second -1 on a boundary
        self.face_edges: Ints = number[around.face_edges]  # (f, 3) edge k from corner k to the next
        self.vertex_faces: Csr = around.vertex_faces
        self.vertex_edges: Csr = listed(self.edges.reshape(-1), np.repeat(np.arange(len(order)), 2), n)
        self.body: Ints = contiguous(skin.body, np.int64)  # (p,) of each point
        open_bodies = np.unique(self.body[self.edges[self.edge_faces[:, 1] < 0]])
        self.two_sided = np.isin(self.body, open_bodies)  # (p,) points of open surfaces, which can be met from both sides

    @staticmethod
    def of(faces: Ints, body: Ints) -> Neighbours:
        """Of faces (m, 3) over points whose bodies are given."""
        return Neighbours(SimpleNamespace(skin=SimpleNamespace(faces=np.asarray(faces), body=np.asarray(body))))

    def normals(self, points: Floats) -> Floats:
        """Unit normals of all faces as they are now, (f, 3); zero for one without area."""
        out = np.empty((len(self.faces), 3))
        use_threads(len(out))
        _normals(contiguous(points), self.faces, out)
        return out

    def vertex_normals(self, vertex: Ints, normals: Floats) -> Floats:
        """Normalised averages of the normals of the faces around vertices, (k, 3); zero where they cancel."""
        out = np.zeros((len(vertex), 3))
        _vertex_normals(contiguous(vertex, np.int64), self.vertex_faces.offsets, self.vertex_faces.indices, normals, out)
        return out


@parallel
def _normals(points, faces, out):  # type: ignore[no-untyped-def]
    for f in prange(len(faces)):
        a = load(points, faces[f, 0])
        n = cross(sub(load(points, faces[f, 1]), a), sub(load(points, faces[f, 2]), a))
        length = norm(n)
        store(out, f, scale(1.0 / length if length > 0.0 else 0.0, n))


@kernel
def _vertex_normals(vertex, start, around, normals, out):  # type: ignore[no-untyped-def]
    for i in range(len(vertex)):
        for k in range(start[vertex[i]], start[vertex[i] + 1]):
            for j in range(3):
                out[i, j] += normals[around[k], j]
        length = norm(load(out, i))
        if length > 0.0:
            store(out, i, scale(1.0 / length, load(out, i)))
