"""Signed distance of places to bodies, and the skin points of one body inside another: which, how deep, and where they would come out.

For every pair of bodies whose boxes overlap, each surface point of the one is tested against the other: by signed distance where the
shape is known exactly, else by the closest point of its surface. An exact ball is tested as what it is, its centre with a
radius, so that it rolls. Points to all bodies, one call, in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.body_pairs import both_ways, overlapping, points_in_boxes
from pliant.detect.closest import closest_on_body, face_neighbours, pseudo_normal
from pliant.detect.shapes import NO_SHAPE, Shapes, asked_points, distance_to, no_shapes, widen_boxes
from pliant.detect.tree import Nodes, Tree
from pliant.geometry.normals import angle_normals
from pliant.kernels import dot, load, norm, parallel, prange, scale, store, use_threads

if TYPE_CHECKING:
    from pliant.model import Rest

# Cosines of the angle between two ways out: above the first they are the same way, below the second they lead elsewhere. Ways out of a flat
# contact are parallel to rounding and those at its rims at right angles to them, so that what is in between hardly matters.
ALONG, ACROSS = 0.9, 0.5
HALF_WAY = math.sqrt(0.5)  # cosine of 45 degrees: normals that lean more go round an edge
Meet = Callable[[Ints, Ints], np.ndarray]  # which pairs (a, b) of bodies are to be tested against each other, (k,) bool


class Mesh(NamedTuple):
    """Triangles of all bodies as kernels take them."""

    points: Floats  # [m] (p, 3)
    faces: Ints  # (m, 3)
    neighbour: Ints  # (m, 3) the face across the edge opposite to each corner
    face_normal: Floats  # (m, 3) unit
    vertex_normal: Floats  # (p, 3) of any length


class Surfaces(NamedTuple):
    """The surfaces of all bodies where they are at one moment."""

    mesh: Mesh
    nodes: Nodes  # of a tree over the faces
    shapes: Shapes  # what is known exactly

    @property
    def points(self) -> Floats:
        """[m] (p, 3)"""
        return self.mesh.points


class Distances(NamedTuple):
    """Of places to bodies: the face that is closest (-1 for an exact shape), weights on it, unit normal, gap [m], below zero inside."""

    face: Ints
    weights: Floats
    normal: Floats
    gap: Floats


@dataclass
class Hits:
    """Skin points inside other bodies."""

    point: Ints  # (h,) skin point of A; the anchor of an exact ball
    radius: Floats  # [m] (h,) of that ball, 0 for points
    a: Ints  # (h,) its body
    b: Ints  # (h,) the body it is in
    face: Ints  # (h,) face of B where it would come out, -1 for an exact shape
    weights: Floats  # (h, 3) on that face
    normal: Floats  # (h, 3) out of B
    gap: Floats  # [m] (h,) negative

    def __len__(self) -> int:
        return len(self.point)

    def select(self, rows: np.ndarray) -> Hits:
        """Some of them, by mask or index."""
        return Hits(**{f.name: getattr(self, f.name)[rows] for f in fields(Hits)})


class Penetration:
    """Finds points inside bodies; keeps what does not change between steps."""

    def __init__(self, rest: Rest) -> None:
        self.faces, self.bodies = rest.skin.faces, rest.bodies
        self.tree = Tree.build(rest.points, self.faces, rest.bodies.face_start)
        self.neighbour = face_neighbours(self.faces)
        bodies = rest.bodies
        self.first, self.last = asked_points(bodies.point_start, bodies.surface, bodies.anchor, bodies.ball_radius)

    def fit(self, points: Floats, shapes: Shapes) -> Surfaces:
        """The surfaces with the points and shapes where they are now."""
        self.tree.refit(points)
        return with_normals(points, self.faces, self.neighbour, self.tree, shapes)

    def find(self, surfaces: Surfaces, meet: Meet) -> Hits:
        """All points inside other bodies."""
        low, high = body_boxes(self.tree, surfaces.shapes)
        return self._among(surfaces, low, high, *meeting(low, high, self.bodies.surface, meet))

    def find_exact(self, points: Floats, shapes: Shapes, tree: Tree, meet: Meet) -> Hits:
        """Those inside shapes known exactly, which takes no more than boxes: of any tree that is fit to the points."""
        low, high = body_boxes(tree, shapes)
        a, b = meeting(low, high, self.bodies.surface, meet)
        known, none = shapes.kind[b] != NO_SHAPE, np.zeros((0, 3))
        surfaces = Surfaces(Mesh(points, self.faces, self.neighbour, none, none), tree.nodes, shapes)
        return self._among(surfaces, low, high, a[known], b[known])

    def _among(self, surfaces: Surfaces, low: Floats, high: Floats, a: Ints, b: Ints) -> Hits:
        """Points of bodies a inside bodies b."""
        radius = self.bodies.ball_radius[a]
        pair, point = points_in_boxes(self.first[a], self.last[a], b, radius, surfaces.points, low, high)
        hits = measure(surfaces, point, a[pair], b[pair], radius[pair])
        return hits.select(hits.gap < 0.0)


def with_normals(points: Floats, faces: Ints, neighbour: Ints, tree: Tree, shapes: Shapes) -> Surfaces:
    """Surfaces with the normals that they have now; tree: over the faces, fit to the points."""
    face_normal, vertex_normal = np.empty((len(faces), 3)), np.empty((len(points), 3))
    angle_normals(points, faces, face_normal, vertex_normal)
    return Surfaces(Mesh(points, faces, neighbour, face_normal, vertex_normal), tree.nodes, shapes)


def measure(surfaces: Surfaces, point: Ints, a: Ints, b: Ints, radius: Floats) -> Hits:
    """Signed distance of points of bodies a (balls, with their radius) to bodies b, inside or not."""
    found = signed_distances(surfaces, surfaces.points[point], b)
    return Hits(point, radius, a, b, found.face, found.weights, found.normal, found.gap - radius)


def signed_distances(surfaces: Surfaces, places: Floats, body: Ints) -> Distances:
    """Of each place (k, 3) to a body; infinite to one that has no surface."""
    count = len(places)
    out = Distances(np.full(count, -1, np.int64), np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count))
    use_threads(count)
    _signed_distances(*surfaces, places, body, *out)
    return out


def faces_only(surfaces: Surfaces) -> Surfaces:
    """The same as if nothing were known exactly."""
    return surfaces._replace(shapes=no_shapes(len(surfaces.shapes.kind)))


def body_boxes(tree: Tree, shapes: Shapes) -> tuple[Floats, Floats]:
    """Box of each body, (B, 3) twice: of its faces, widened to that of the exact shape."""
    low, high = (box[: len(shapes.kind)] for box in tree.root_boxes())
    widen_boxes(shapes, low, high)
    return low, high


def meeting(low: Floats, high: Floats, surface: Ints, meet: Meet) -> tuple[Ints, Ints]:
    """Ordered pairs (points of a, surface of b) of bodies that may meet and whose boxes overlap; surface (B,): how many points each has."""
    a, b = both_ways(overlapping(low, high))
    keep = meet(a, b) & (surface[a] > 0)
    return a[keep], b[keep]


@parallel
def _signed_distances(mesh, nodes, shapes, places, body, face, weights, normal, gap):  # type: ignore[no-untyped-def]
    points, faces = mesh.points, mesh.faces
    for chunk in prange((len(places) + 255) // 256):
        stack = np.empty(128, np.int64)
        for k in range(256 * chunk, min(256 * chunk + 256, len(places))):
            p, b = load(places, k), body[k]
            if shapes.kind[b] != NO_SHAPE:
                gap[k], n = distance_to(shapes, b, p)
                store(normal, k, n)
                continue
            _, f, u, v, w = closest_on_body(p, b, nodes, points, faces, stack)
            if f < 0:
                gap[k] = np.inf
                continue
            n = pseudo_normal(f, (u, v, w), faces, mesh.neighbour, mesh.face_normal, mesh.vertex_normal)
            x, y, z = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
            out = (
                u * x[0] + v * y[0] + w * z[0] - p[0], u * x[1] + v * y[1] + w * z[1] - p[1], u * x[2] + v * y[2] + w * z[2] - p[2]
            )  # fmt: skip
            depth = norm(out)
            face[k] = f
            weights[k, 0], weights[k, 1], weights[k, 2] = u, v, w
            side = 1.0 if dot(out, n) > 0.0 else -1.0
            gap[k] = -side * depth
            if depth > 0.0:
                store(normal, k, scale(side / depth, out))
            else:  # on the surface itself
                store(normal, k, scale(1.0 / norm(n), n))
