"""Who is next to whom on the skins of all bodies, and what the faces around an edge tell of it: as arrays that kernels take whole
(theory/penalty 3.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.normals import face_normal
from pliant.geometry.topology import listed, topology
from pliant.kernels import contiguous, kernel, parallel, prange, store, use_threads

FLAT = 1e-12  # 1 - cosine of the angle between the faces of an edge that counts as flat: rounding


class Adjacency(NamedTuple):
    """Faces, edges and vertices of all bodies. Edges have the numbers of `FeatureTree`; edge k of a face runs from corner k to the next."""

    faces: Ints  # (f, 3)
    edges: Ints  # (e, 2) lower point first
    edge_faces: Ints  # (e, 2) second -1 on a boundary; of an edge with more than two the first two
    face_edges: Ints  # (f, 3)
    face_start: Ints  # (p + 1,) faces_around[face_start[v] : face_start[v + 1]] are those at vertex v
    faces_around: Ints
    edge_start: Ints  # (p + 1,) the same of edges
    edges_around: Ints
    body: Ints  # (p,) of each point
    two_sided: np.ndarray  # (p,) bool: points of open surfaces, which can be met from both sides

    @staticmethod
    def of(faces: Ints, body: Ints) -> Adjacency:
        """Of faces (f, 3) over points whose bodies (p,) are given."""
        faces, body = contiguous(faces, np.int64).reshape(-1, 3), contiguous(body, np.int64)
        around = topology(faces, len(body))
        # numbers by first use in the list of faces, as `detect/feature_pairs.py` deals them, not in lexical order
        first = np.full(len(around.edges), 3 * len(faces), np.int64)
        np.minimum.at(first, around.face_edges.reshape(-1), np.arange(3 * len(faces)))
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        edges, edge_faces = np.ascontiguousarray(around.edges[order]), np.ascontiguousarray(around.edge_faces[order])
        open_bodies = np.unique(body[edges[edge_faces[:, 1] < 0]])
        at_vertices = listed(edges.reshape(-1), np.repeat(np.arange(len(order)), 2), len(body))
        return Adjacency(
            faces, edges, edge_faces, number[around.face_edges], *around.vertex_faces, *at_vertices, body, np.isin(body, open_bodies)
        )

    def normals(self, points: Floats) -> Floats:
        """Unit normals of all faces as they are now, (f, 3); zero for one without area."""
        out = np.empty((len(self.faces), 3))
        use_threads(len(out))
        _normals(contiguous(points), self.faces, out)
        return out


@parallel
def _normals(points, faces, out):  # type: ignore[no-untyped-def]
    for f in prange(len(faces)):
        store(out, f, face_normal(points, faces, f))


def edge_normals(points: Floats, mesh: Adjacency, edge: Ints) -> tuple[Floats, Floats]:
    """Unit normals of the two faces of each edge, (k, 3) each; zero for a face that is not there."""
    first, second = np.zeros((len(edge), 3)), np.zeros((len(edge), 3))
    _edge_normals(contiguous(points), mesh.faces, mesh.edge_faces, contiguous(edge, np.int64), first, second)
    return first, second


@kernel
def _edge_normals(points, faces, edge_faces, edge, first, second):  # type: ignore[no-untyped-def]
    for k in range(len(edge)):
        f, g = edge_faces[edge[k], 0], edge_faces[edge[k], 1]
        store(first, k, face_normal(points, faces, f))
        if g >= 0:
            store(second, k, face_normal(points, faces, g))


def flat_edges(points: Floats, mesh: Adjacency, edge: Ints) -> np.ndarray:
    """Whether both faces of each edge lie in one plane, (k,) bool: then it is no edge of the shape."""
    return np.einsum("ri,ri->r", *edge_normals(points, mesh, edge)) > 1.0 - FLAT


def edge_sides(points: Floats, mesh: Adjacency, e: Ints, g: Ints) -> Floats:
    """1 or -1: which of the normals +-(e x g) of two edges points out of the second body and into the first; 0 if none does."""
    (a, b), (c, d) = points[mesh.edges[e].T], points[mesh.edges[g].T]
    normal = np.cross(b - a, d - c)
    first, second = (np.einsum("ri,ri->r", normal, sum(edge_normals(points, mesh, edge))) for edge in (e, g))
    return np.where(first * second < 0.0, np.sign(second), 0.0)
