"""Who is next to whom: adjacency of triangle skins, and the nodes, skin and split of quadratic tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.blocks import split_octahedra
from pliant.geometry.mesh import TET_EDGES, TET_FACES, TetMesh


class Csr(NamedTuple):
    """Lists of different lengths in one array: list i is ``indices[offsets[i]:offsets[i + 1]]``, ascending."""

    offsets: Ints  # (n + 1,)
    indices: Ints

    def of(self, i: int) -> Ints:
        """List i."""
        return self.indices[self.offsets[i] : self.offsets[i + 1]]


@dataclass(frozen=True)
class Topology:
    """Adjacency of a triangle mesh. Edge k of a face runs from its corner k to the next."""

    edges: Ints  # (m, 2) unique, lower point first, in lexical order
    edge_faces: Ints  # (m, 2) faces of each edge, lower one first; -1: the edge is on the boundary
    face_edges: Ints  # (f, 3)
    vertex_faces: Csr
    vertex_edges: Csr
    vertex_vertices: Csr
    boundary: Ints  # edges with one face
    nonmanifold: Ints  # edges with more than two faces; edge_faces names the first two


def listed(owner: Ints, item: Ints, count: int) -> Csr:
    """Items gathered by owner (0 .. count - 1), each list ascending."""
    order = np.lexsort((item, owner))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=offsets[1:])
    return Csr(offsets, item[order])


def unique_edges(pairs: Ints) -> tuple[Ints, Ints]:
    """Each unordered pair once (m, 2), and for every given pair the number of its edge."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    span = int(high.max(initial=0)) + 1
    keys, number = np.unique(low * span + high, return_inverse=True)
    return np.stack([keys // span, keys % span], axis=1), number.reshape(-1)


def topology(faces: Ints, n_points: int, strict: bool = True) -> Topology:
    """Build the adjacency; edges with more than two faces are an error, or only listed if ``strict`` is off."""
    faces = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    if faces.size and (faces.min() < 0 or faces.max() >= n_points):
        bad = int(np.flatnonzero(((faces < 0) | (faces >= n_points)).any(axis=1))[0])
        raise PliantError(f"face {bad} names the points {faces[bad].tolist()}, but there are only {n_points} points")
    twice = np.flatnonzero((faces == np.roll(faces, 1, axis=1)).any(axis=1))
    if twice.size:
        raise PliantError(f"{twice.size} faces use a point twice (first: {twice[0]}); remove these empty faces")
    pairs = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, number = unique_edges(pairs)
    face = np.repeat(np.arange(len(faces)), 3)
    around = listed(number, face, len(edges))
    count = np.diff(around.offsets)
    nonmanifold = np.flatnonzero(count > 2)
    if strict and nonmanifold.size:
        e = int(nonmanifold[0])
        raise PliantError(
            f"{nonmanifold.size} edges have more than two faces (first: edge {e} between points {edges[e].tolist()} "
            f"with the {count[e]} faces {around.of(e).tolist()}); a skin must be a manifold: remove or split them"
        )
    edge_faces = np.full((len(edges), 2), -1, dtype=np.int64)
    if len(edges):
        edge_faces[:, 0] = around.indices[around.offsets[:-1]]
        two = count > 1
        edge_faces[two, 1] = around.indices[around.offsets[:-1][two] + 1]
    ends, others = edges.reshape(-1), edges[:, ::-1].reshape(-1)
    return Topology(
        edges=edges,
        edge_faces=edge_faces,
        face_edges=number.reshape(-1, 3),
        vertex_faces=listed(faces.reshape(-1), face, n_points),
        vertex_edges=listed(ends, np.repeat(np.arange(len(edges)), 2), n_points),
        vertex_vertices=listed(ends, others, n_points),
        boundary=np.flatnonzero(count == 1),
        nonmanifold=nonmanifold,
    )


def elevate(mesh: TetMesh) -> tuple[Floats, Ints]:
    """Quadratic Bernstein-Bezier tets of the same form: control points (n, 3) and tets (m, 10).

    Nodes 0-3 are the corners of the mesh, 4-9 the edges in the order of TET_EDGES; of a straight edge the control point
    is the midpoint.
    """
    edges, number = unique_edges(mesh.tets[:, TET_EDGES].reshape(-1, 2))
    points = np.concatenate([mesh.points, mesh.points[edges].mean(axis=1)])
    return points, np.concatenate([mesh.tets, len(mesh.points) + number.reshape(-1, 6)], axis=1)


class SubdividedSkin(NamedTuple):
    """Skin points of quadratic tets, one per node: corners, and the curve points half-way along the edges.

    Points on the surface come first. Point p sits at the weighted sum of the control points
    ``nodes[offsets[p]:offsets[p + 1]]``: itself for a corner; corner, edge node, corner with 1/4, 1/2, 1/4 for an edge,
    the values of the quadratic Bernstein polynomials at 1/2.
    """

    faces: Ints  # (4 b, 3) over skin points, outward; four per boundary face
    offsets: Ints  # (n + 1,)
    nodes: Ints
    weights: Floats
    point_of_node: Ints  # (n,) skin point of each node
    n_surface: int  # skin points on the surface: 0 .. n_surface - 1


# The edge node between each two corners of a ten-node tet.
_EDGE_NODE = np.full((4, 4), -1)
_EDGE_NODE[TET_EDGES[:, 0], TET_EDGES[:, 1]] = _EDGE_NODE[TET_EDGES[:, 1], TET_EDGES[:, 0]] = np.arange(4, 10)
# Each face as its three corners and the nodes of the edges between them.
_FACES6 = np.concatenate([TET_FACES, _EDGE_NODE[TET_FACES, np.roll(TET_FACES, -1, axis=1)]], axis=1)
_FOUR = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])
_CORNER_TETS = np.where(np.eye(4, dtype=bool), np.arange(4), _EDGE_NODE)  # each corner with the nodes of its edges


def subdivided_skin(tets10: Ints, n_nodes: int) -> SubdividedSkin:
    """Bind one skin point to every node and cut each boundary face into four."""
    tets10 = np.asarray(tets10, dtype=np.int64).reshape(-1, 10)
    six = tets10[:, _FACES6].reshape(-1, 6)
    _, first, count = np.unique(np.sort(six[:, :3], axis=1), axis=0, return_index=True, return_counts=True)
    faces = six[np.sort(first[count == 1])][:, _FOUR].reshape(-1, 3)
    surface = np.unique(faces)
    inner = np.setdiff1d(np.arange(n_nodes), surface, assume_unique=True)
    node_of_point = np.concatenate([surface, inner])
    point_of_node = np.empty(n_nodes, dtype=np.int64)
    point_of_node[node_of_point] = np.arange(n_nodes)
    ends = np.full((n_nodes, 2), -1, dtype=np.int64)
    ends[tets10[:, 4:].reshape(-1)] = tets10[:, TET_EDGES].reshape(-1, 2)
    ends = np.sort(ends[node_of_point], axis=1)
    terms = np.stack([ends[:, 0], node_of_point, ends[:, 1]], axis=1)
    edge = ends[:, :1] >= 0
    used = np.where(edge, True, [False, True, False])
    offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    weights = np.where(edge, [0.25, 0.5, 0.25], [0.0, 1.0, 0.0])
    return SubdividedSkin(point_of_node[faces], offsets, terms[used], weights[used], point_of_node, len(surface))


def split_eight(tets10: Ints, control_points: Floats) -> Ints:
    """Eight linear tets per quadratic one, (8 m, 4), in node numbers (map with ``point_of_node`` to skin points).

    They span corners and half-way points; the octahedron in the middle is cut along the diagonal that is shortest now.
    """
    tets10 = np.asarray(tets10, dtype=np.int64).reshape(-1, 10)
    a, b = control_points[tets10[:, TET_EDGES]].transpose(2, 0, 1, 3)
    half = np.array(control_points, dtype=np.float64)
    half[tets10[:, 4:]] = 0.25 * a + 0.5 * control_points[tets10[:, 4:]] + 0.25 * b
    corners = tets10[:, _CORNER_TETS]
    inner = split_octahedra(tets10[:, 4:], half).reshape(-1, 4, 4)
    return np.concatenate([corners, inner], axis=1).reshape(-1, 4)
