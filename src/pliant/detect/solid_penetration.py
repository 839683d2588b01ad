"""Points of bodies inside solid bodies, those below the surface too, with consistent depth and way out: what `noniterative` asks for.

Bodies whose boxes overlap are looked at, and of them only points and tetrahedra in the common part of the boxes. Points in tetrahedra are
found pair by pair (points_in_bodies.py) and get their consistent depth (consistent_depth.py); points in planes, and in rigid or static
boxes, balls, capsules, cylinders and tori, get theirs from the exact signed distance. In these a ball of the same kind is its centre with
a radius, so that it rolls. All points of a body count, those inside too; of a body with an embedded skin only the points of the skin, and
inside it is what its skin encloses.

A body may touch itself (its pair with itself is on): its points are looked for in its own tetrahedra too. Tetrahedra with a corner that is
the point or one of its neighbours do not count, so compressed or inverted elements do not collide with those beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.closest import face_neighbours
from pliant.detect.consistent_depth import NOT_POSITIVE, RESOLVED, penetration_depths
from pliant.detect.keys import find
from pliant.detect.penetration import (
    ACROSS,
    ALONG,
    HALF_WAY,
    Distances,
    Meet,
    Mesh,
    Surfaces,
    body_boxes,
    faces_only,
    meeting,
    signed_distances,
)
from pliant.detect.points_in_bodies import PointsInBodies
from pliant.detect.shapes import NO_SHAPE, Shapes, asked_points, points_in_shapes
from pliant.detect.spatial_hashing import Inside, points_in_tets
from pliant.detect.tree import Tree
from pliant.geometry.components import labels
from pliant.geometry.mesh import TET_EDGES
from pliant.geometry.normals import area_normals, face_normals
from pliant.geometry.topology import Csr, listed
from pliant.kernels import use_threads

if TYPE_CHECKING:
    from pliant.model import Rest

SHALLOW = 0.01  # of the mean edge of the finer body: deeper ways out are compared with the closest; the most that comes out slowly a step


@dataclass
class Collisions:
    """Points inside bodies, one row per point and body."""

    point: Ints  # (h,) skin point; the anchor of an exact ball in an exact shape
    a: Ints  # (h,) its body
    b: Ints  # (h,) the body it is in
    face: Ints  # (h,) where it comes out, -1 for an exact shape or if not known
    weights: Floats  # (h, 3) of that place on the face
    normal: Floats  # (h, 3) which way, unit, out of B
    depth: Floats  # [m] (h,) the consistent depth D
    ray: Floats  # [m] (h,) distance to that place along the normal
    status: Ints  # (h,) as in detect/consistent_depth.py; only resolved rows have face, weights, normal and depth
    radius: Floats  # [m] (h,) of that ball, 0 for points

    def __len__(self) -> int:
        return len(self.point)

    def select(self, rows: np.ndarray) -> Collisions:
        """Some rows, by mask or index."""
        return Collisions(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: Collisions) -> Collisions:
        return Collisions(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))


class SolidPenetration:
    """Finds points inside bodies; keeps what does not change between steps."""

    def __init__(self, rest: Rest) -> None:
        skin, bodies = rest.skin, rest.bodies
        self.skin, self.bodies = skin, bodies
        self.tree = Tree.build(rest.points, skin.faces, bodies.face_start)
        used = np.zeros(len(skin), bool)
        used[skin.tets] = True
        surface = np.arange(len(skin)) < (bodies.point_start[:-1] + bodies.surface)[skin.body]
        riding = surface & ~used & (skin.body >= 0)
        self.embedded = np.zeros(len(bodies), bool)
        self.embedded[skin.body[riding]] = np.isin(skin.body[riding], skin.tet_body)
        self.counts = (skin.body >= 0) & ~(self.embedded[skin.body] & ~surface)
        self.counts[bodies.anchor[bodies.ball_radius > 0.0]] = True
        self.asked = asked_points(bodies.point_start, np.diff(bodies.point_start), bodies.anchor, bodies.ball_radius)
        self.links = self._links()
        self.neighbour = face_neighbours(skin.faces)
        ends = rest.points[skin.tets[:, TET_EDGES]]
        length = np.linalg.norm(ends[:, :, 0] - ends[:, :, 1], axis=2)
        self.edge = float(length.mean()) if len(ends) else 1.0  # [m] mean of all bodies at rest
        count = np.bincount(skin.tet_body, minlength=len(bodies))
        self.edges = np.divide(  # [m] (B,) mean of each body at rest
            np.bincount(skin.tet_body, length.mean(axis=1), minlength=len(bodies)), count, out=np.full(len(bodies), np.inf), where=count > 0
        )  # fmt: skip
        self.points_in_bodies = PointsInBodies(skin.tets, skin.tet_body, bodies.point_start, self.counts, self.edge)
        self.normal_of = smooth_corners(rest.points, skin.faces, self.neighbour)

    def shallow(self, a: Ints, b: Ints) -> Floats:
        """What counts as little depth between bodies [m], (h,): by the finer of the two."""
        return SHALLOW * np.minimum(self.edges[a], self.edges[b])

    def _links(self) -> Csr:
        """Neighbours of each point that counts: along edges of tetrahedra, or of the faces of an embedded skin."""
        skin = self.skin
        inner = skin.tets[~self.embedded[skin.tet_body]][:, TET_EDGES].reshape(-1, 2)
        faces = skin.faces[self.embedded[skin.face_body]]
        edges = np.concatenate([inner, faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        key = np.unique(np.concatenate([edges[:, 0] * len(skin) + edges[:, 1], edges[:, 1] * len(skin) + edges[:, 0]]))
        return listed(key // len(skin), key % len(skin), len(skin))

    def fit(self, points: Floats, shapes: Shapes) -> tuple[Surfaces, Floats]:
        """The surfaces where they are now, with normals weighted by area; and those of corners that are smooth together."""
        self.tree.refit(points)
        face_normal, vertex_normal = np.empty((len(self.skin.faces), 3)), np.empty((len(points), 3))
        corner_normal = np.empty((int(self.normal_of.max(initial=-1)) + 1, 3))
        area_normals(points, self.skin.faces, self.normal_of, face_normal, vertex_normal, corner_normal)
        return Surfaces(Mesh(points, self.skin.faces, self.neighbour, face_normal, vertex_normal), self.tree.nodes, shapes), corner_normal

    def find(self, points: Floats, shapes: Shapes, meet: Meet) -> tuple[Collisions, Surfaces]:
        """All points inside bodies, and the surfaces that they were found in."""
        surfaces, corner_normal = self.fit(points, shapes)
        low, high = body_boxes(self.tree, shapes)
        a, b = meeting(low, high, self.bodies.surface, meet)
        exact = shapes.kind[b] != NO_SHAPE
        found = self._in_shapes(surfaces, a[exact], b[exact], low, high)
        point, body = self.points_in_bodies.find(points, a[~exact], b[~exact], low, high)
        every = np.arange(len(self.bodies))
        themselves = self._in_themselves(points, every[meet(every, every)])
        point, body = np.concatenate([point, themselves]), np.concatenate([body, self.skin.body[themselves]])
        if self.embedded.any():
            point, body = self._within_skin(surfaces, point, body)
        return found.joined(self._with_depth(surfaces, corner_normal, point, body)) if len(point) else found, surfaces

    def _in_shapes(self, surfaces: Surfaces, a: Ints, b: Ints, low: Floats, high: Floats) -> Collisions:
        """Points in exact shapes."""
        radius = self.bodies.ball_radius
        pair, point, gap, normal = points_in_shapes(
            a, b, *self.asked, radius, self.counts, surfaces.points, low, high, surfaces.shapes
        )  # fmt: skip
        used, depth = len(point), -gap
        none, weights = np.full(used, -1, np.int64), np.tile([1.0, 0.0, 0.0], (used, 1))
        status = np.full(used, RESOLVED, np.int64)
        return Collisions(point, a[pair], b[pair], none, weights, normal, depth, depth.copy(), status, radius[a[pair]])

    def _in_themselves(self, x: Floats, bodies: Ints) -> Ints:
        """Points of bodies that may touch themselves, in tetrahedra of their own that are not beside them."""
        if len(bodies) == 0:
            return np.zeros(0, np.int64)
        skin = self.skin
        for body in bodies[self.embedded[bodies]][:1]:
            raise PliantError(
                f"Body '{self.bodies.names[body]}' is to touch itself and has an embedded skin, whose points are inside its own "
                "tetrahedra from the start: leave out `skin`, or switch off its pair with itself."
            )
        tet = np.flatnonzero(np.isin(skin.tet_body, bodies))
        hits: Inside = points_in_tets(x, x, skin.tets[tet], same=True, cell=self.edge)
        hits = Inside(hits.point, tet[hits.tet], hits.weights, hits.flat)
        own = skin.body[hits.point] == skin.tet_body[hits.tet]
        point, corners = hits.point[own], skin.tets[hits.tet[own]]
        count = len(skin)
        edge = np.repeat(np.arange(count), np.diff(self.links.offsets)) * count + self.links.indices
        beside = (find(edge, point[:, None] * count + corners) >= 0).any(axis=1)
        return np.unique(point[~beside])

    def _within_skin(self, surfaces: Surfaces, point: Ints, body: Ints) -> tuple[Ints, Ints]:
        """Without those in tetrahedra that an embedded skin rides in, but outside of the skin."""
        rows = np.flatnonzero(self.embedded[body])
        gap = closest_faces(surfaces, point[rows], body[rows]).gap
        keep = np.ones(len(point), bool)
        keep[rows] = gap < 0.0
        return point[keep], body[keep]

    def _with_depth(self, surfaces: Surfaces, corner_normal: Floats, point: Ints, body: Ints) -> Collisions:
        """Consistent depths; points without a positive one get the closest way out. (Left out while they are shallow they would tremble:
        a point that nothing pushes until it is SHALLOW deep is then thrown out at SHALLOW / dt.)

        A point that lies on a surface, to rounding, does not meet it when it looks along its edges, and would get the depth of some other
        side; so would one near an edge. Whoever is far deeper than the closest surface is away gets the closest way out, too, unless its
        own is that of the other points of the two bodies and the closest is not: rims of boxes on each other are next to a side, but
        leave with the others.
        """
        skin = self.skin
        use_threads(16 * len(point))
        found = penetration_depths(
            surfaces.points, point, body, self.links, self.tree, skin.faces, corner_normal, self.edge, skin.body, self.normal_of
        )
        out = Collisions(
            found.point, skin.body[found.point], found.body, found.face, found.weights, found.direction, found.depth, found.ray,
            found.status, np.zeros(len(found.point)),
        )  # fmt: skip
        bad = np.flatnonzero((out.status == NOT_POSITIVE) | ((out.depth > self.shallow(out.a, out.b)) & (out.a != out.b)))
        if len(bad) == 0:
            return out
        face, weights, normal, gap = closest_faces(surfaces, out.point[bad], out.b[bad])
        beyond = ACROSS * out.depth[bad] > np.abs(gap)  # as of a way that leans away from the closest one
        beyond[beyond] = ~agree(out, bad[beyond], normal[beyond], len(self.bodies))
        out.status[bad[beyond]] = NOT_POSITIVE
        deep = (gap < 0.0) & (out.a[bad] != out.b[bad]) & (out.status[bad] == NOT_POSITIVE)
        rows = bad[deep]
        out.face[rows], out.weights[rows], out.normal[rows] = face[deep], weights[deep], normal[deep]
        out.depth[rows] = out.ray[rows] = -gap[deep]
        out.status[rows] = RESOLVED
        return out.select(out.status != NOT_POSITIVE)


def closest_faces(surfaces: Surfaces, point: Ints, body: Ints) -> Distances:
    """The place on each body's faces that is closest to each point."""
    return signed_distances(faces_only(surfaces), surfaces.points[point], body)


def agree(found: Collisions, rows: Ints, other: Floats, bodies: int) -> np.ndarray:
    """Whether the way out of each row, and not another one, is that of the resolved rest of its pair of bodies, (rows,) bool."""
    pair = np.minimum(found.a, found.b) * bodies + np.maximum(found.a, found.b)
    sign = np.where(found.a < found.b, 1.0, -1.0)[:, None]  # what is out for one is in for the other
    some, place = np.unique(pair[rows], return_inverse=True)
    rest = (found.status == RESOLVED) & np.isin(pair, some)
    rest[rows] = False
    at, mean = np.searchsorted(some, pair[rest]), np.zeros((len(some), 3))
    np.add.at(mean, at, (sign * found.normal)[rest])
    mean /= np.maximum(np.bincount(at, minlength=len(some)), 1)[:, None]
    own, theirs = (np.einsum("ri,ri->r", sign[rows] * way, mean[place]) for way in (found.normal[rows], other))
    return (own > ALONG) & (theirs < ACROSS)


def smooth_corners(points: Floats, faces: Ints, neighbour: Ints) -> Ints:
    """Which normal each corner of each face has, (m, 3): faces around a vertex share one across edges that are not sharp."""
    normal = face_normals(points, faces)
    f, k = np.nonzero(neighbour >= 0)
    g = neighbour[f, k]
    smooth = np.einsum("ei,ei->e", normal[f], normal[g]) > HALF_WAY  # a normal half way round an edge is no way out
    f, g, k = f[smooth], g[smooth], k[smooth]
    ends = [((k + step) % 3) for step in (1, 2)]  # the edge across from corner k
    here = np.concatenate([3 * f + end for end in ends])
    there = np.concatenate([3 * g + np.argmax(faces[g] == faces[f, end][:, None], axis=1) for end in ends])
    return labels(faces.size, np.stack([here, there], axis=1)).reshape(faces.shape)
