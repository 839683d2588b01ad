"""Surfels of all bodies of a running world: where they are, which way they face and how large they are at both ends of a step.

    carried = motion.kept(Carried)
    surfels = carried.at(motion, "end")             # points, normals, areas of all bodies
    posed = carried.posed(motion, body, "start")    # one body as a surface that answers queries

A surfel rides on at most three skin points: `support` holds them with weights that sum to one, so a contact at a surfel is a row over
skin points. Bodies with a frame carry their surfels rigidly: their surface is made once and posed. Surfels of deforming bodies take
normal and area from the triangles around them, or, if the body has none, from two tangents that are linear in the positions of
their neighbours; their surface keeps the neighbours it had at rest. Shapes known exactly answer exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.shapes import KINDS, SIZES
from pliant.detect.surfels.answers import Posed
from pliant.detect.surfels.clean import merged
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.mass import vertex_areas
from pliant.geometry.mesh import Surface
from pliant.geometry.normals import face_crosses, vertex_area_vectors
from pliant.geometry.quaternions import load4, quaternion_to_matrix, rotate
from pliant.geometry.subdivide import subdivided
from pliant.geometry.topology import listed
from pliant.kernels import add, axpy, cross, kernel, load, norm, scale, store, sub

if TYPE_CHECKING:
    from pliant.model import Rest

LONGEST = 1.8  # edge in spacings: halved edges are 0.9 to 1.8 spacings long
TANGENT = 10  # samples around one that say how its tangents deform
FLAT = 1e-9  # of its area: an area vector shorter than this has no direction
MANY, FEW, ALL = 2000, 200, 40_000  # surfels of a body at least, in a scene of few bodies, of many, and of all bodies together
FRAMED, FACED, LOOSE = 0, 1, 2  # where a normal comes from: a frame, triangles, neighbours
NAMES = {code: name for name, code in KINDS.items()}


class Step(Protocol):
    """Skin points (p, 3) and frames, their positions (f, 3) and rotations (f, 4), at both ends of a step: a `Motion` is one."""

    start: Floats
    position_start: Floats
    rotation_start: Floats
    position: Floats
    rotation: Floats

    @property
    def end(self) -> Floats: ...


@dataclass
class Surfels:
    """Surfels of all bodies at one moment."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3) outward, length 1
    areas: Floats  # (n,) [m^2]


@dataclass
class Bounds:
    """A ball around the surfels of each body; infinite around planes, of radius -1 around nothing."""

    centre: Floats  # (B, 3) [m]
    radius: Floats  # (B,) [m]


class Carried:
    """Which surfels each body has and what carries them; made once (`motion.kept(Carried)`)."""

    def __init__(self, rest: Rest) -> None:
        bodies, count = rest.bodies, len(rest.bodies)
        wanted = max(FEW, min(MANY, ALL // max(count, 1)))
        self.exact = [exact_of(int(bodies.analytic[b]), bodies.parameters[b]) for b in range(count)]
        self.riding = [_riding(rest, b, wanted, self.exact[b]) for b in range(count)]
        self.body_frame: Ints = bodies.frame  # (B,) -1: it deforms
        known = [r for r in self.riding if r is not None]
        size = [0 if r is None else len(r.points) for r in self.riding]
        self.start: Ints = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)  # surfels of body b: start[b] to start[b + 1]
        self.body: Ints = np.repeat(np.arange(count), size)
        offset = bodies.point_start[self.body]
        self.point: Ints = np.concatenate([np.zeros((0, 3), np.int64), *(r.corner for r in known)]) + offset[:, None]  # (n, 3) skin points
        self.weight: Floats = np.concatenate([np.zeros((0, 3)), *(r.weight for r in known)])  # (n, 3) sum to one
        self.area: Floats = np.concatenate([np.zeros(0), *(r.areas for r in known)])  # (n,) [m^2] at rest
        self.frame: Ints = bodies.frame[self.body]
        self.local: Floats = np.concatenate([np.zeros((0, 3)), *(r.points for r in known)])  # (n, 3) [m] at rest, in their frame if any
        self.normal: Floats = np.concatenate([np.zeros((0, 3)), *(r.normals for r in known)])
        self.faces: Ints = np.concatenate(
            [np.zeros((0, 3), np.int64), *(r.faces + s for r, s in zip(self.riding, self.start, strict=False) if r is not None)]
        )  # (m, 3) between surfels
        self._wire()
        self._surfaces: dict[int, PointSurface] = {}

    def _wire(self) -> None:
        """Where normals of deforming bodies come from."""
        around = listed(self.faces.ravel(), np.repeat(np.arange(len(self.faces)), 3), len(self.body))
        self.around = around.offsets, around.indices
        self._kind = np.where(self.frame >= 0, FRAMED, np.where(np.diff(around.offsets) > 0, FACED, LOOSE))
        loose = np.unique(self.body[self._kind == LOOSE])
        found = {int(b): tangent_weights(r) for b in loose if (r := self.riding[b]) is not None}
        width = max([1, *(near.shape[1] for near, _ in found.values())])
        rows = len(self.body) if found else 0
        self._near, self._tangent = np.zeros((rows, width), np.int64), np.zeros((rows, width, 2))
        for b, (near, weights) in found.items():
            mine = slice(self.start[b], self.start[b + 1])
            self._near[mine, : near.shape[1]], self._tangent[mine, : near.shape[1]] = near + self.start[b], weights
        self._size = np.ones(len(self.body))  # area at rest over the length of the area vector there
        if len(self.body):
            deforming = self._kind != FRAMED
            vector = np.zeros_like(self.local)
            self._vectors(self.local, np.zeros((0, 4)), vector, np.flatnonzero(deforming))
            length = np.linalg.norm(vector, axis=1)
            self._size[deforming] = self.area[deforming] / np.maximum(length[deforming], 1e-300)

    def __len__(self) -> int:
        return len(self.body)

    # -- at one moment of a step

    def at(self, step: Step, when: str = "end") -> Surfels:
        """Surfels of all bodies at the "start" or "end" of a step."""
        return self._where(*_moment(step, when))

    def at_rest(self, rest: Rest) -> Surfels:
        """Surfels of all bodies at rest, those of bodies with a frame in its coordinates."""
        count = len(rest.frames.body)
        return self._where(rest.points, np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)))

    def _where(self, skin: Floats, position: Floats, rotation: Floats) -> Surfels:
        points, vector, areas = np.empty_like(self.local), np.empty_like(self.local), self.area.copy()
        _places(self.point, self.weight, skin, self.frame, self.local, position, rotation, points)
        self._vectors(points, rotation, vector, np.arange(len(self.body)))
        _sized(vector, self._kind, self._size, self.normal, areas)
        return Surfels(points, vector, areas)

    def _vectors(self, points: Floats, rotation: Floats, out: Floats, chosen: Ints) -> None:
        offsets, indices = self.around
        _area_vectors(
            chosen, self._kind, points, self.frame, rotation, self.normal, self.faces, offsets, indices, self._near, self._tangent, out
        )

    def bounds(self, surfels: Surfels) -> Bounds:
        """Balls around the bodies."""
        centre, radius = np.zeros((len(self.exact), 3)), np.full(len(self.exact), -1.0)
        _balls(self.start, surfels.points, centre, radius)
        plane = [exact is not None and exact.kind == "plane" for exact in self.exact]
        radius[plane] = np.inf
        return Bounds(centre, radius)

    # -- one body as a surface

    def rest(self, body: int) -> PointSurface:
        """The samples of a body in its frame, or in the world at rest; sample i is surfel start[body] + i."""
        if body not in self._surfaces:
            riding = self.riding[body]
            if riding is None:
                raise PliantError("this body has neither a surface nor points with areas, so it has no surfels.")
            self._surfaces[body] = riding.surface()
        return self._surfaces[body]

    def samples(self, step: Step, body: int, when: str = "end", surfels: Surfels | None = None) -> Posed:
        """The samples of a body where they are: posed if it has a frame, else moved with the neighbours of rest."""
        if self.body_frame[body] >= 0:
            return self._framed(step, body, when, self.rest(body))
        now = self.at(step, when) if surfels is None else surfels
        mine = slice(self.start[body], self.start[body + 1])
        return Posed(self.rest(body).moved(now.points[mine], now.normals[mine], now.areas[mine]), np.eye(3), np.zeros(3))

    def posed(self, step: Step, body: int, when: str = "end", surfels: Surfels | None = None) -> Posed:
        """What others ask for distances: the exact shape if there is one, else the samples."""
        exact = self.exact[body]
        return self.samples(step, body, when, surfels) if exact is None else self._framed(step, body, when, exact)

    def _framed(self, step: Step, body: int, when: str, shape: PointSurface | Exact) -> Posed:
        frame = self.body_frame[body]
        _, position, rotation = _moment(step, when)
        return Posed(shape, quaternion_to_matrix(rotation[frame]), position[frame].copy())


def _moment(step: Step, when: str) -> tuple[Floats, Floats, Floats]:
    """(skin points, positions and rotations of frames) at one end of a step."""
    if when == "start":
        return step.start, step.position_start, step.rotation_start
    if when == "end":
        return step.end, step.position, step.rotation
    raise PliantError(f"a step has a 'start' and an 'end', not '{when}'.")


def exact_of(code: int, sizes: Floats) -> Exact | None:
    """The exact shape of a body in its frame, from its number and sizes; None for -1."""
    return None if code < 0 else Exact(NAMES[code], tuple(sizes[: SIZES[NAMES[code]]].tolist()))


def _riding(rest: Rest, body: int, wanted: int, exact: Exact | None) -> Riding | None:
    bodies, skin, x = rest.bodies, rest.skin, rest.points
    first, last = bodies.point_start[body], bodies.point_start[body] + bodies.surface[body]
    faces = skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]] - first
    if len(faces):
        return on_triangles(x[first:last], faces, wanted, exact)
    if len(skin.area):
        return on_points(x[first:last], skin.normal[first:last], skin.area[first:last])
    return None


# -- the surfels of one body at rest: on the vertices of its skin, and between them where its triangles are large


@dataclass(frozen=True)
class Riding:
    """Surfels of one body in its own coordinates: its frame, or the world at rest if it deforms."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    areas: Floats  # (n,) [m^2]
    corner: Ints  # (n, 3) skin points of the body that carry it
    weight: Floats  # (n, 3) sum to one
    faces: Ints  # (m, 3) between surfels; none for points without triangles

    def surface(self) -> PointSurface:
        """The surfels as a surface, in the same order."""
        return PointSurface(self.points, self.normals, self.areas)


def on_triangles(points: Floats, faces: Ints, wanted: int, exact: Exact | None = None) -> Riding | None:
    """Vertices of a skin and middles of long edges, about `wanted` surfels or more; on the exact shape if the body has one."""
    place = merged(points)
    first = np.unique(place, return_index=True)[1]
    kept = place[faces]
    kept = kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])]
    skin = Surface(points[first], kept)
    area = float(0.5 * np.linalg.norm(face_crosses(skin.points, skin.faces), axis=1).sum())
    if area == 0.0:
        return None
    fine = subdivided(skin, LONGEST * math.sqrt(area / wanted))
    x, normals = fine.surface.points, None
    if exact is not None:  # corners are on it, but middles of edges are not
        found = exact.project(x)
        x, normals = found.points, found.normals
    areas = vertex_areas(x, fine.surface.faces)
    normals = vertex_area_vectors(x, fine.surface.faces) if normals is None else normals
    length = np.linalg.norm(normals, axis=1)
    good = (areas > 0.0) & (length > FLAT * areas)
    number = np.where(good, np.cumsum(good) - 1, -1)
    found_faces = number[fine.surface.faces]
    return Riding(
        x[good], normals[good] / length[good, None], areas[good], first[fine.corner[good]], fine.weight[good],
        found_faces[found_faces.min(axis=1, initial=0) >= 0],
    )  # fmt: skip


def on_points(points: Floats, normals: Floats, areas: Floats) -> Riding | None:
    """One surfel on each point of a skin without triangles that has an area."""
    chosen = np.flatnonzero(areas > 0.0)
    if len(chosen) == 0:
        return None
    weight = np.zeros((len(chosen), 3))
    weight[:, 0] = 1.0
    corner = np.repeat(chosen[:, None], 3, axis=1)
    return Riding(points[chosen], normals[chosen], areas[chosen], corner, weight, np.zeros((0, 3), np.int64))


def tangent_weights(rest: Riding) -> tuple[Ints, Floats]:
    """(neighbours (n, K), coefficients (n, K, 2)): t_k = sum_j c_jk (x_j - x_i) are two tangents that are orthonormal at rest.

    A least-squares fit of dx = t_1 y_1 + t_2 y_2 to samples with rest offsets y in the tangent plane. Linear in positions, so normal and
    area of a deforming surface of points are t_1 x t_2 as those of a triangle are (edge x edge) / 2.
    """
    count = min(TANGENT, len(rest.points))
    near = KDTree(rest.points).nearest(rest.points, count)[1]
    n = rest.normals
    helper = np.eye(3)[np.abs(n).argmin(axis=1)]
    t1 = np.cross(n, helper)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    t2 = np.cross(n, t1)
    d = rest.points[near] - rest.points[:, None]
    y = np.stack([np.einsum("nkj,nj->nk", d, t1), np.einsum("nkj,nj->nk", d, t2)], axis=2)
    y *= (np.einsum("nkj,nj->nk", n[near], n) > 0.0)[:, :, None]  # not from the other side of a thin sheet
    spread = np.einsum("nka,nkb->nab", y, y)
    spread += 1e-9 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(2) + 1e-300 * np.eye(2)
    return near, np.einsum("nab,nkb->nka", np.linalg.inv(spread), y)


# -- kernels


@kernel
def _places(point, weight, skin, frame, local, position, rotation, out):  # type: ignore[no-untyped-def]
    for i in range(len(point)):
        f = frame[i]
        if f >= 0:
            store(out, i, add(load(position, f), rotate(load4(rotation, f), load(local, i))))
        else:
            u = scale(weight[i, 0], load(skin, point[i, 0]))
            u = axpy(weight[i, 1], load(skin, point[i, 1]), u)
            store(out, i, axpy(weight[i, 2], load(skin, point[i, 2]), u))


@kernel
def _area_vectors(chosen, kind, points, frame, rotation, normal, faces, offsets, indices, near, tangent, out):  # type: ignore[no-untyped-def]
    """Turned normals of framed surfels; of others a vector along the normal, as long as the area has grown."""
    for c in range(len(chosen)):
        i = chosen[c]
        if kind[i] == FRAMED:
            store(out, i, rotate(load4(rotation, frame[i]), load(normal, i)))
        elif kind[i] == FACED:
            u = (0.0, 0.0, 0.0)
            for k in range(offsets[i], offsets[i + 1]):
                f = indices[k]
                a = load(points, faces[f, 0])
                u = add(u, cross(sub(load(points, faces[f, 1]), a), sub(load(points, faces[f, 2]), a)))
            store(out, i, u)
        else:
            here, t1, t2 = load(points, i), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            for k in range(near.shape[1]):
                d = sub(load(points, near[i, k]), here)
                t1, t2 = axpy(tangent[i, k, 0], d, t1), axpy(tangent[i, k, 1], d, t2)
            store(out, i, cross(t1, t2))


@kernel
def _sized(vector, kind, size, normal, areas):  # type: ignore[no-untyped-def]
    """Areas of deforming surfels from the lengths of their vectors, and unit normals; one that collapsed keeps its rest normal."""
    for i in range(len(vector)):
        if kind[i] == FRAMED:
            continue
        length = norm(load(vector, i))
        if length > 0.0:
            areas[i] = size[i] * length
            store(vector, i, scale(1.0 / length, load(vector, i)))
        else:
            areas[i] = 1e-12 * areas[i]
            store(vector, i, load(normal, i))


@kernel
def _balls(start, points, centre, radius):  # type: ignore[no-untyped-def]
    """Around the middle of each body's box."""
    for b in range(len(centre)):
        if start[b + 1] == start[b]:
            continue
        for k in range(3):
            low = high = points[start[b], k]
            for i in range(start[b], start[b + 1]):
                low, high = min(low, points[i, k]), max(high, points[i, k])
            centre[b, k] = 0.5 * (low + high)
        c, far = load(centre, b), 0.0
        for i in range(start[b], start[b + 1]):
            far = max(far, norm(sub(load(points, i), c)))
        radius[b] = far
