"""Triangles as they are shaded: smooth except across creases; surfels as discs; points without normals as beads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.components import labels
from pliant.geometry.near import kd_tree
from pliant.look.source import NO_POINTS, Picture

CREASE = np.cos(np.radians(48.0))  # sharper edges are kept
CHAIN = 6  # edges of a crease at least, as many as a tetrahedron has: fewer are a coarse spot of something round
COVER = 1.35  # radii of discs as they are drawn, by radii of discs of their area: so that no gaps are seen
SIDES = 10  # of a disc


@dataclass(frozen=True)
class Shading:
    """Corners of triangles joined into points that share a normal; stays valid while the topology does."""

    point: Ints  # (Q,) the point of the picture behind each shaded point
    triangles: Ints  # (F, 3) over shaded points
    creases: Ints  # (E, 2) points of the picture at the ends of sharp edges
    beside: Ints  # (E, 2) the triangles beside each

    @staticmethod
    def of(points: Floats, triangles: Ints, crease: float = CREASE) -> Shading:
        """Corners around a point stay together unless a crease divides them: an edge with a lower cosine between its faces."""
        normal = face_normals(points, triangles)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        # a side is (triangle, k): from its corner k to the next; equal sides of two triangles are neighbours in order
        ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
        key = ends.min(axis=1) * (int(triangles.max(initial=0)) + 1) + ends.max(axis=1)
        order = np.argsort(key, kind="stable")
        a, b = order[:-1], order[1:]
        shared = key[a] == key[b]
        smooth = np.einsum("ij,ij->i", normal[a // 3], normal[b // 3]) > crease
        smooth |= crease <= -1.0
        neighboured = np.zeros(len(key), bool)
        neighboured[a[shared]] = neighboured[b[shared]] = True
        smooth[shared & ~smooth] = _strays(ends[a[shared & ~smooth]], np.unique(ends[~neighboured]))
        sharp = np.stack([a, b], axis=1)[shared & ~smooth]
        a, b = a[shared & smooth], b[shared & smooth]
        same_way = ends[a, 0] == ends[b, 0]
        a_next, b_next = a - a % 3 + (a + 1) % 3, b - b % 3 + (b + 1) % 3
        first = np.concatenate([a, a_next])
        second = np.concatenate([np.where(same_way, b, b_next), np.where(same_way, b_next, b)])
        label = labels(3 * len(triangles), np.stack([first, second], axis=1))
        point = np.zeros(label.max(initial=-1) + 1, np.int64)
        point[label] = triangles.ravel()
        return Shading(point, label.reshape(-1, 3), ends[sharp[:, 0]], sharp // 3)

    def normals(self, points: Floats) -> Floats:
        """Unit normals of the shaded points, means over their triangles weighted by area."""
        normal, count = face_normals(points[self.point], self.triangles), len(self.point)
        corner, share = self.triangles.ravel(), np.repeat(normal, 3, axis=0)
        total = np.stack([np.bincount(corner, share[:, k], minlength=count) for k in range(3)], axis=1)
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)

    def creases_seen(self, points: Floats, place: Floats, lined: np.ndarray) -> Ints:
        """Sharp edges of chosen triangles (a mask) that a place sees one side of, (e, 2)."""
        x = points[self.creases[:, 0]]
        normal = face_normals(points[self.point], self.triangles)[self.beside]
        facing = (np.einsum("esk,ek->es", normal, place - x) > 0.0).any(axis=1)
        return self.creases[facing & lined[self.beside[:, 0]]]


def _strays(edges: Ints, anchored: Ints) -> np.ndarray:
    """Which sharp edges (e, 2) are no crease, (e,) bool: those that hang together with too few others, and lines that just end.

    A crease parts two sides, so it runs in a loop, or to the border of a sheet (points `anchored`). A fold that fades out, as between toes,
    has one side only: split there, the shading would break off in spikes.
    """
    size = int(max(edges.max(initial=0), anchored.max(initial=0))) + 1
    kept = np.ones(len(edges), bool)
    while True:
        degree = np.bincount(edges[kept].ravel(), minlength=size)
        degree[anchored] += 1
        loose = kept & (degree[edges] < 2).any(axis=1)
        if not loose.any():
            break
        kept &= ~loose
    label = labels(size, edges[kept])[edges[:, 0]]
    count = np.bincount(label[kept], minlength=size)
    return ~kept | (count[label] < CHAIN)


def face_normals(points: Floats, triangles: Ints) -> Floats:
    """Normals of triangles with the length of twice their area [m^2]."""
    x = points[triangles]
    return np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])


def without_lost_points(picture: Picture) -> Picture:
    """Without what hangs on points that are not finite, as in the last frame of a run that failed."""
    lost: np.ndarray = np.isfinite(picture.points).sum(axis=1) < 3
    if not lost.any():
        return picture
    kept, surfels = ~lost[picture.triangles].any(axis=1), ~lost[picture.surfels]
    return replace(
        picture,
        points=np.where(lost[:, None], 0.0, picture.points),
        triangles=picture.triangles[kept],
        triangle_body=picture.triangle_body[kept],
        surfels=picture.surfels[surfels],
        surfel_body=picture.surfel_body[surfels],
        inverted=picture.inverted[np.isfinite(picture.inverted).all(axis=(1, 2))],
    )


def with_surfels_as_triangles(picture: Picture) -> Picture:
    """Surfels become discs (point fields `normal`, `radius`), points without normals little octahedra."""
    if len(picture.surfels) == 0:
        return picture
    normal, radius = surfel_shapes(picture)
    flat = np.zeros(len(radius), bool) if normal is None else (normal != 0.0).any(axis=1)
    disc = _with_figures(picture, np.flatnonzero(flat), radius, *_disc(np.zeros((0, 3)) if normal is None else normal[flat]))
    return replace(_with_figures(disc, np.flatnonzero(~flat), radius, *_bead(int((~flat).sum()))), surfels=NO_POINTS, surfel_body=NO_POINTS)


def _with_figures(picture: Picture, chosen: Ints, radius: Floats, offsets: Floats, faces: Ints) -> Picture:
    """The picture with a figure of triangles around each chosen surfel: corners at `offsets` (s, k, 3) times its radius."""
    at, each = picture.surfels[chosen], offsets.shape[1]
    base = len(picture.points) + each * np.arange(len(at))
    new = (picture.points[at, None] + radius[chosen, None, None] * offsets).reshape(-1, 3)
    behind = np.concatenate([np.arange(len(picture.points)), np.repeat(at, each)])
    return replace(
        picture,
        points=np.concatenate([picture.points, new]),
        triangles=np.concatenate([picture.triangles, (base[:, None, None] + faces).reshape(-1, 3)]),
        triangle_body=np.concatenate([picture.triangle_body, np.repeat(picture.surfel_body[chosen], len(faces))]),
        point_fields={name: np.asarray(values)[behind] for name, values in picture.point_fields.items()},
    )


def surfel_shapes(picture: Picture) -> tuple[Floats | None, Floats]:
    """Normals, None if there are none, and radii [m] of the surfels as they are drawn: so large that they overlap."""
    fields, at = picture.point_fields, picture.surfels
    normal = np.asarray(fields["normal"])[at] if "normal" in fields else None
    if "radius" not in fields:
        return normal, spacing(picture.points[at])
    radius = np.asarray(fields["radius"])[at]
    if normal is not None:
        radius = radius * np.where((normal != 0.0).any(axis=1), COVER, 1.0)
    return normal, np.where(radius > 0.0, radius, spacing(picture.points[at])) if (radius <= 0.0).any() else radius


def spacing(points: Floats) -> Floats:
    """A radius for points that have none: 0.4 of the usual distance to the next one."""
    if len(points) < 2:
        return np.full(len(points), 0.01)
    distance, _ = kd_tree(points).query(points, k=2)
    return np.full(len(points), 0.4 * float(np.median(distance[:, 1])))


def _disc(normal: Floats) -> tuple[Floats, Ints]:
    """Centre and rim of unit discs, (S, 1 + SIDES, 3), and the triangles of one of them."""
    n = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    helper = np.where(np.abs(n[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    u = np.cross(helper, n)
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    v = np.cross(n, u)
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    rim = np.cos(angle)[None, :, None] * u[:, None] + np.sin(angle)[None, :, None] * v[:, None]
    k = np.arange(SIDES)
    faces = np.stack([np.zeros(SIDES, np.int64), 1 + k, 1 + (k + 1) % SIDES], axis=1)
    return np.concatenate([np.zeros((len(n), 1, 3)), rim], axis=1), faces


def _bead(count: int) -> tuple[Floats, Ints]:
    """Corners of octahedra, (S, 6, 3), and the triangles of one of them."""
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return np.broadcast_to(corners, (count, 6, 3)), np.array(faces, np.int64)
