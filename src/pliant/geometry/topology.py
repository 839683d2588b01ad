"""Who is next to whom: adjacency of triangle skins, nodes, skin and split of quadratic tetrahedra; edges, welding, parts and orientation of
surfaces as they come from files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.blocks import split_octahedra
from pliant.geometry.components import labels
from pliant.geometry.mesh import TET_EDGES, TET_FACES, Surface, TetMesh, lone
from pliant.geometry.near import kd_tree


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
    edge_faces: Ints  # (m, 2) the first two faces of each edge, lower one first; -1: the edge is on the boundary
    face_edges: Ints  # (f, 3)
    vertex_faces: Csr


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


def topology(faces: Ints, n_points: int) -> Topology:
    """Build the adjacency."""
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
    edge_faces = np.full((len(edges), 2), -1, dtype=np.int64)
    if len(edges):
        edge_faces[:, 0] = around.indices[around.offsets[:-1]]
        two = count > 1
        edge_faces[two, 1] = around.indices[around.offsets[:-1][two] + 1]
    return Topology(edges, edge_faces, number.reshape(-1, 3), listed(faces.reshape(-1), face, n_points))


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
    faces = six[lone(six[:, :3])][:, _FOUR].reshape(-1, 3)
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


# ---- surfaces as they come from files: edges, welding, parts and orientation

WELD = 1e-8  # of the diagonal of the bounding box: vertices closer than this are one vertex


def diagonal(points: Floats) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


@dataclass(frozen=True)
class Edges:
    """The undirected edges of a set of faces."""

    faces: Ints

    @cached_property
    def directed(self) -> Ints:
        """Start and end of the three edges of each face, (3 m, 2)."""
        return self.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)

    @cached_property
    def _unique(self) -> tuple[Ints, Ints, Ints]:
        ends, edge = unique_edges(self.directed)
        return ends, edge, np.bincount(edge, minlength=len(ends))

    @property
    def ends(self) -> Ints:
        """The two vertices of each edge, lower first."""
        return self._unique[0]

    @property
    def of_corner(self) -> Ints:
        """Number of the edge at each of the three places of each face, (3 m,)."""
        return self._unique[1]

    @property
    def count(self) -> Ints:
        """How many faces share each edge."""
        return self._unique[2]

    @cached_property
    def balance(self) -> Ints:
        """Passages along an edge minus passages against it: 0 everywhere for a closed, coherently oriented surface."""
        sign = np.where(self.directed[:, 0] < self.directed[:, 1], 1, -1)
        return np.bincount(self.of_corner, weights=sign, minlength=len(self.count)).astype(np.int64)

    @cached_property
    def shared(self) -> tuple[Ints, Ints]:
        """Places (in `directed`) that are next to each other on one edge: chained for edges of more than two faces."""
        order = np.argsort(self.of_corner, kind="stable")
        same = self.of_corner[order[1:]] == self.of_corner[order[:-1]]
        return order[:-1][same], order[1:][same]

    @cached_property
    def part(self) -> Ints:
        """Part of each face; faces that share an edge are in one part."""
        a, b = self.shared
        return labels(len(self.faces), np.stack([a // 3, b // 3], axis=1))


def weld_map(points: Floats, faces: Ints) -> Ints:
    """For each vertex the one it becomes: vertices at one place are joined if both lie on an open edge.

    Vertices of parts that are closed already stay apart: joining them would glue bodies that merely touch.
    """
    edges = Edges(faces)
    on_open = np.unique(edges.ends[edges.count == 1])
    to = np.arange(len(points))
    if len(on_open) == 0:
        return to
    pairs = kd_tree(points[on_open]).query_pairs(WELD * diagonal(points), output_type="ndarray")
    group = labels(len(on_open), pairs)
    first = np.full(group.max() + 1, len(points))
    np.minimum.at(first, group, on_open)
    to[on_open] = first[group]
    return to


def split_vertices(edges: Edges) -> Ints:
    """Vertices whose faces fall into several fans, though no edge there is shared by more than two faces."""
    a, b = edges.shared
    start = edges.directed[:, 0]
    corner = np.arange(len(edges.directed))  # place k of face f starts at corner k
    following = 3 * (corner // 3) + (corner % 3 + 1) % 3
    same = start[a] == start[b]  # the two faces pass the edge in the same sense
    pairs = np.concatenate(
        [
            np.stack([a, np.where(same, b, following[b])], axis=1),
            np.stack([following[a], np.where(same, following[b], b)], axis=1),
        ]
    )
    fan = labels(len(corner), pairs)
    together = np.unique(np.stack([start, fan], axis=1), axis=0)
    vertex, fans = np.unique(together[:, 0], return_counts=True)
    crowded = np.unique(edges.ends[edges.count > 2])
    return np.setdiff1d(vertex[fans > 1], crowded)


def volume_of(points: Floats, faces: Ints, part: Ints) -> Floats:
    """Signed volume inside each part, by the divergence theorem about the middle of the box."""
    x = points[faces] - points[faces].reshape(-1, 3).mean(axis=0) if len(faces) else points[faces]
    return np.bincount(  # type: ignore[return-value]
        part, weights=np.einsum("ij,ij->i", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0
    )


def inside_volume(surface: Surface) -> float:
    """Signed volume inside a surface as a whole [m^3]."""
    return float(volume_of(surface.points, surface.faces, np.zeros(len(surface.faces), np.int64))[0])


@dataclass(frozen=True)
class Orientation:
    """Which faces must be turned round so that neighbours agree and closed parts look outwards."""

    against: Ints  # faces turned to agree with their neighbours
    inward: Ints  # parts turned as a whole, because they looked inwards
    cavities: Ints  # parts that look inwards and lie inside another part: hollows, left as they are
    moebius: Ints  # faces of patches that have no two sides
    faces: Ints  # the turned faces, (m, 3)


def oriented(points: Floats, faces: Ints) -> Orientation:
    """Turn faces so that they agree across every edge of two faces; then turn closed parts outwards."""
    edges = Edges(faces)
    turn, moebius = np.zeros(len(faces), dtype=bool), np.zeros(0, dtype=np.int64)
    unbalanced = np.isin(edges.part, edges.part[np.nonzero(edges.balance[edges.of_corner] != 0)[0] // 3])
    if unbalanced.any():
        turn, moebius = _agreeing(edges)
        turn &= unbalanced
    out = _turned(faces, turn)
    after = Edges(out)
    closed = np.ones(int(edges.part.max()) + 1 if len(faces) else 0, dtype=bool)
    closed[edges.part[np.nonzero(after.balance[after.of_corner] != 0)[0] // 3]] = False
    inward, cavities = _inward(points, out, edges.part, closed)
    out = _turned(out, np.isin(edges.part, inward))
    return Orientation(np.nonzero(turn)[0], inward, cavities, moebius, out)


def _turned(faces: Ints, which: np.ndarray) -> Ints:
    return np.where(which[:, None], faces[:, [0, 2, 1]], faces)


def _agreeing(edges: Edges) -> tuple[np.ndarray, Ints]:
    """Faces to turn, by joining (face, as it is) and (face, turned) over edges of exactly two faces."""
    m = len(edges.faces)
    a, b = edges.shared
    two = edges.count[edges.of_corner[a]] == 2
    a, b = a[two], b[two]
    clash = edges.directed[a, 0] == edges.directed[b, 0]  # both pass the edge in the same sense
    f, g = a // 3, b // 3
    pairs = np.concatenate([np.stack([f, g + m * clash], axis=1), np.stack([f + m, g + m * ~clash], axis=1)])
    label = labels(2 * m, pairs)
    moebius = np.nonzero(label[:m] == label[m:])[0]
    patch = np.minimum(label[:m], label[m:])
    turned = label[:m] != patch
    share = np.bincount(patch, weights=turned, minlength=2 * m) / np.maximum(np.bincount(patch, minlength=2 * m), 1)
    turned ^= share[patch] > 0.5  # the majority stays
    turned[moebius] = False
    return turned, moebius


def _inward(points: Floats, faces: Ints, part: Ints, closed: np.ndarray) -> tuple[Ints, Ints]:
    """Parts to turn (with all that lies inside them), and parts of negative volume that are hollows of another, which may be open."""
    volume = np.where(closed, volume_of(points, faces, part), 0.0)
    if not (volume < 0).any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    from pliant.geometry.winding import WindingTree  # kernels: start-up time

    low, high = np.full((len(volume), 3), np.inf), np.full((len(volume), 3), -np.inf)
    np.minimum.at(low, np.repeat(part, 3), points[faces].reshape(-1, 3))
    np.maximum.at(high, np.repeat(part, 3), points[faces].reshape(-1, 3))
    sample = points[faces[np.unique(part, return_index=True)[1], 0]]
    turn, hollow = volume < 0, np.zeros(len(volume), dtype=bool)
    for outer in np.argsort(np.linalg.norm(high - low, axis=1), kind="stable"):  # the largest decides last
        within = np.nonzero(closed & (low > low[outer]).all(axis=1) & (high < high[outer]).all(axis=1))[0]
        if len(within):
            winds = WindingTree.of_triangles(points, faces[part == outer]).about(sample[within])
            inside, outward = within[np.abs(winds) > 0.5], winds[np.abs(winds) > 0.5] > 0.0
            turn[inside], hollow[inside] = ~outward, (volume[inside] < 0) & outward
    return np.nonzero(turn)[0], np.nonzero(hollow)[0]
