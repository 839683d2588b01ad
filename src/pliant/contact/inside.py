"""Points of bodies inside bodies, with depth and way out: what `noniterative` looks at.

Bodies whose boxes overlap are looked at, and of them only points and tetrahedra in the common part of the boxes. Points in
tetrahedra are found pair by pair (detect/within.py) and get their consistent depth (detect/depth.py); points in planes, and in rigid or
static boxes, balls, capsules, cylinders and tori, get theirs from the exact signed distance. In these a ball of the same kind is its centre
with a radius, so that it rolls. All points of a body count, those inside too; of a body with an embedded skin only the points of the
skin, and inside it is what its skin encloses.

A body may touch itself (its pair with itself is on): its points are looked for in its own tetrahedra too. Tetrahedra with a corner that is
the point or one of its neighbours do not count, so compressed or inverted elements do not collide with those beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.analytic import signed_distance
from pliant.detect.closest import face_neighbours
from pliant.detect.depth import NOT_POSITIVE, RESOLVED, penetration_depths
from pliant.detect.grid import Inside, points_in_tets
from pliant.detect.penetration import body_boxes, body_pairs, signed_gaps
from pliant.detect.sharp import rest_points
from pliant.detect.tree import Tree
from pliant.detect.within import Within
from pliant.geometry.mesh import TET_EDGES
from pliant.geometry.rotations import load4, rotate, rotate_back
from pliant.geometry.topology import Csr, listed
from pliant.kernels import axpy, cross, kernel, load, norm, scale, store, sub, use_threads
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.simulate.simulation import Simulation

SHARP = np.cos(np.radians(45.0))  # faces that meet at a larger angle do not share normals: a normal half way round an edge is no way out
BEYOND = 4.0  # times the distance to the closest surface: no depth along a sensible direction is larger
ALONG, ACROSS = 0.9, 0.5  # cosines with the mean way of a pair: of a way that goes with the others, and of one that does not
SHALLOW = 0.01  # of the mean edge: points without a positive depth that are no deeper exert no force


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
    status: Ints  # (h,) as in detect/depth.py; only resolved rows have face, weights, normal and depth
    radius: Floats  # [m] (h,) of that ball, 0 for points

    def __len__(self) -> int:
        return len(self.point)

    def select(self, rows: np.ndarray) -> Collisions:
        """Some rows, by mask or index."""
        return Collisions(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: Collisions) -> Collisions:
        return Collisions(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))


class Finder:
    """Finds points inside bodies; keeps what does not change between steps."""

    def __init__(self, motion: Motion) -> None:
        skin, bodies = motion.skin, motion.bodies
        self.tree = Tree.build(motion.end, skin.faces, bodies.face_start)
        used = np.zeros(len(skin), bool)
        used[skin.tets] = True
        surface = np.arange(len(skin)) < (bodies.point_start[:-1] + bodies.surface)[skin.body]
        riding = surface & ~used & (skin.body >= 0)
        self.embedded = np.zeros(len(bodies), bool)
        self.embedded[skin.body[riding]] = np.isin(skin.body[riding], skin.tet_body)
        self.counts = (skin.body >= 0) & ~(self.embedded[skin.body] & ~surface)
        self.links = self._links(motion)
        self.neighbour = face_neighbours(skin.faces)
        ends = motion.start[skin.tets[:, TET_EDGES]]
        mean = np.linalg.norm(ends[:, :, 0] - ends[:, :, 1], axis=2).mean() if len(ends) else 1.0
        self.edge = float(2.0 ** np.round(np.log2(mean)))  # [m] a power of two, so that a resumed run finds the same
        self.within = Within(skin.tets, skin.tet_body, bodies.point_start, self.counts, self.edge)
        self.normal_of = smooth_corners(rest_points(motion), skin.faces, self.neighbour)
        self.face_normal, self.vertex_normal = np.zeros((len(skin.faces), 3)), np.zeros((len(skin), 3))
        self.corner_normal = np.zeros((int(self.normal_of.max(initial=-1)) + 1, 3))
        self.selfish = np.flatnonzero(motion.pairs.meet(np.arange(len(bodies)), np.arange(len(bodies))))
        self._refuse(motion)

    def _links(self, motion: Motion) -> Csr:
        """Neighbours of each point that counts: along edges of tetrahedra, or of the faces of an embedded skin."""
        skin = motion.skin
        inner = skin.tets[~self.embedded[skin.tet_body]][:, TET_EDGES].reshape(-1, 2)
        faces = skin.faces[self.embedded[skin.face_body]]
        edges = np.concatenate([inner, faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        key = np.unique(np.concatenate([edges[:, 0] * len(skin) + edges[:, 1], edges[:, 1] * len(skin) + edges[:, 0]]))
        return listed(key // len(skin), key % len(skin), len(skin))

    def _refuse(self, motion: Motion) -> None:
        for body in self.selfish[self.embedded[self.selfish]][:1]:
            raise PliantError(
                f"Body '{motion.bodies.names[body]}' is to touch itself and has an embedded skin, whose points are inside its own "
                "tetrahedra from the start: leave out `skin`, or switch off its pair with itself."
            )

    def find(self, motion: Motion) -> Collisions:
        """All points inside bodies at the end of the motion."""
        x = motion.end
        self.tree.refit(x)
        _normals(x, motion.skin.faces, self.normal_of, self.face_normal, self.vertex_normal, self.corner_normal)
        low, high = body_boxes(motion, self.tree)
        a, b = body_pairs(motion, low, high)
        exact = motion.bodies.analytic[b] >= 0
        shapes = self._in_shapes(motion, a[exact], b[exact], low, high)
        point, body = self._in_tets(motion, a[~exact], b[~exact], low, high)
        return shapes.joined(self._with_depth(motion, point, body)) if len(point) else shapes

    def _in_shapes(self, motion: Motion, a: Ints, b: Ints, low: Floats, high: Floats) -> Collisions:
        """Points in exact shapes."""
        bodies, room = motion.bodies, int(np.diff(motion.bodies.point_start)[a].sum())
        pair, point = np.empty(room, np.int64), np.empty(room, np.int64)
        normal, depth = np.empty((room, 3)), np.empty(room)
        radius = bodies.ball_radius
        used = _points_in_shapes(
            a, b, low, high, bodies.point_start, self.counts, motion.end, bodies.analytic, bodies.parameters, bodies.frame,
            bodies.anchor, radius, motion.position, motion.rotation, pair, point, normal, depth,
        )  # fmt: skip
        pair, point, normal, depth = pair[:used], point[:used], normal[:used], depth[:used]
        none, weights = np.full(used, -1, np.int64), np.tile([1.0, 0.0, 0.0], (used, 1))
        status = np.full(used, RESOLVED, np.int64)
        return Collisions(point, a[pair], b[pair], none, weights, normal, depth, depth.copy(), status, radius[a[pair]])

    def _in_tets(self, motion: Motion, a: Ints, b: Ints, low: Floats, high: Floats) -> tuple[Ints, Ints]:
        """(point, body) of points in tetrahedra of bodies, each once."""
        point, body = self.within.find(motion.end, a, b, low, high)
        if len(self.selfish):
            mine = self._in_themselves(motion)
            point, body = np.concatenate([point, mine]), np.concatenate([body, motion.skin.body[mine]])
        return self._within_skin(motion, point, body) if self.embedded.any() else (point, body)

    def _in_themselves(self, motion: Motion) -> Ints:
        """Points of bodies that may touch themselves, in tetrahedra of their own that are not beside them."""
        skin, x = motion.skin, motion.end
        tet = np.flatnonzero(np.isin(skin.tet_body, self.selfish))
        hits: Inside = points_in_tets(x, x, skin.tets[tet], same=True, cell=self.edge)
        hits = Inside(hits.point, tet[hits.tet], hits.weights, hits.flat)
        own = skin.body[hits.point] == skin.tet_body[hits.tet]
        point, corners = hits.point[own], skin.tets[hits.tet[own]]
        count = len(skin)
        edge = np.repeat(np.arange(count), np.diff(self.links.offsets)) * count + self.links.indices
        wanted = point[:, None] * count + corners
        at = np.minimum(np.searchsorted(edge, wanted), len(edge) - 1)
        beside = (edge[at] == wanted).any(axis=1)
        return np.unique(point[~beside])

    def _within_skin(self, motion: Motion, point: Ints, body: Ints) -> tuple[Ints, Ints]:
        """Without those in tetrahedra that an embedded skin rides in, but outside of the skin."""
        rows = np.flatnonzero(self.embedded[body])
        gap = self.closest(motion, point[rows], body[rows])[3]
        keep = np.ones(len(point), bool)
        keep[rows] = gap < 0.0
        return point[keep], body[keep]

    def closest(self, motion: Motion, point: Ints, body: Ints) -> tuple[Ints, Floats, Floats, Floats]:
        """(face, weights, normal, signed distance) of the place on the body's faces that is closest to each point."""
        count, tree, none = len(point), self.tree, np.full(len(motion.bodies), -1, np.int64)
        face, gap = np.full(count, -1, np.int64), np.zeros(count)
        weights, normal = np.zeros((count, 3)), np.zeros((count, 3))
        use_threads(count)
        signed_gaps(
            body, point, np.zeros(count), motion.end, none, motion.bodies.parameters, motion.bodies.frame, motion.position,
            motion.rotation, tree.root, tree.level[1], tree.first, tree.count, tree.order, tree.low, tree.high, motion.skin.faces,
            self.neighbour, self.face_normal, self.vertex_normal, face, weights, normal, gap,
        )  # fmt: skip
        return face, weights, normal, gap

    def _with_depth(self, motion: Motion, point: Ints, body: Ints) -> Collisions:
        """Consistent depths; points without a positive one get the closest way out if they are not shallow, else they are left out.

        A point that lies on a surface, to rounding, does not meet it when it looks along its edges, and would get the depth of some other
        side; so would one near an edge. Whoever is far deeper than the closest surface is away gets the closest way out, too, unless its
        own is that of the other points of the two bodies and the closest is not: rims of boxes on each other are next to a side, but
        leave with the others.
        """
        skin = motion.skin
        use_threads(16 * len(point))
        found = penetration_depths(
            motion.end, point, body, self.links, self.tree, skin.faces, self.corner_normal, self.edge, skin.body, self.normal_of
        )
        out = Collisions(
            found.point, skin.body[found.point], found.body, found.face, found.weights, found.direction, found.depth, found.ray,
            found.status, np.zeros(len(found.point)),
        )  # fmt: skip
        bad = np.flatnonzero((out.status == NOT_POSITIVE) | ((out.depth > SHALLOW * self.edge) & (out.a != out.b)))
        if len(bad) == 0:
            return out
        face, weights, normal, gap = self.closest(motion, out.point[bad], out.b[bad])
        beyond = out.depth[bad] > BEYOND * np.abs(gap)
        beyond[beyond] = ~agree(out, bad[beyond], normal[beyond], len(motion.bodies))
        out.status[bad[beyond]] = NOT_POSITIVE
        deep = (gap < -SHALLOW * self.edge) & (out.a[bad] != out.b[bad]) & (out.status[bad] == NOT_POSITIVE)
        rows = bad[deep]
        out.face[rows], out.weights[rows], out.normal[rows] = face[deep], weights[deep], normal[deep]
        out.depth[rows] = out.ray[rows] = -gap[deep]
        out.status[rows] = RESOLVED
        return out.select(out.status != NOT_POSITIVE)


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
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    x = points[faces]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    f, k = np.nonzero(neighbour >= 0)
    g = neighbour[f, k]
    smooth = np.einsum("ei,ei->e", normal[f], normal[g]) > SHARP
    f, g, k = f[smooth], g[smooth], k[smooth]
    ends = [((k + step) % 3) for step in (1, 2)]  # the edge across from corner k
    here = np.concatenate([3 * f + end for end in ends])
    there = np.concatenate([3 * g + np.argmax(faces[g] == faces[f, end][:, None], axis=1) for end in ends])
    links = coo_matrix((np.ones(len(here)), (here, there)), shape=(faces.size, faces.size))
    return connected_components(links, directed=False)[1].astype(np.int64).reshape(faces.shape)


def remaining(sim: Simulation) -> Collisions:
    """Points that are inside bodies as they are now, with `depth` the distance to the body's surface [m].

    What a step has left: over all points, of all pairs that meet. A point inside its own body has its consistent depth.
    """
    world, state = sim.world, sim.world.state
    motion = Motion(world, 0.0, state.x, state.v, state.velocity, state.spin)
    finder = motion.kept(Finder)
    found = finder.find(motion)
    rows = np.flatnonzero((motion.bodies.analytic[found.b] < 0) & (found.a != found.b))
    found.depth[rows] = -finder.closest(motion, found.point[rows], found.b[rows])[3]
    return found


def remaining_depth(sim: Simulation) -> float:
    """Largest of them [m]; 0 if nothing is inside anything."""
    return float(np.nanmax(remaining(sim).depth, initial=0.0))


@kernel
def _points_in_shapes(  # type: ignore[no-untyped-def]
    a, b, low, high, point_start, counts, x, analytic, parameters, frame, anchor, radius, position, rotation, pair, point, normal, depth
):
    """Points of a (of a ball its centre) inside the exact shape of b; how many. Signed distance grows no faster than distance."""
    used = 0
    for k in range(len(a)):
        i, j = a[k], b[k]
        kind, f = analytic[j], frame[j]
        u, v, w = parameters[j, 0], parameters[j, 1], parameters[j, 2]
        q, centre = load4(rotation, f), load(position, f)
        middle = scale(0.5, axpy(1.0, load(low, i), load(high, i)))
        away = signed_distance(kind, u, v, w, rotate_back(q, sub(middle, centre)))[0]
        if away > 0.5 * norm(sub(load(high, i), load(low, i))):
            continue
        r, first, last = radius[i], point_start[i], point_start[i + 1]
        if r > 0.0:
            first, last = anchor[i], anchor[i] + 1
        for p in range(first, last):
            if not (counts[p] or r > 0.0):
                continue
            d, n = signed_distance(kind, u, v, w, rotate_back(q, sub(load(x, p), centre)))
            if d < r:
                pair[used], point[used], depth[used] = k, p, r - d
                store(normal, used, rotate(q, n))
                used += 1
    return used


@kernel
def _normals(points, faces, normal_of, face_normal, vertex_normal, corner_normal):  # type: ignore[no-untyped-def]
    """Unit face normals, and area-weighted sums of them per vertex and per smooth part of a vertex."""
    vertex_normal[:], corner_normal[:] = 0.0, 0.0
    for f in range(len(faces)):
        x = load(points, faces[f, 0])
        n = cross(sub(load(points, faces[f, 1]), x), sub(load(points, faces[f, 2]), x))
        length = norm(n)
        store(face_normal, f, scale(1.0 / length if length > 0.0 else 0.0, n))
        for k in range(3):
            i, j = faces[f, k], normal_of[f, k]
            store(vertex_normal, i, axpy(1.0, n, load(vertex_normal, i)))
            store(corner_normal, j, axpy(1.0, n, load(corner_normal, j)))
