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

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.surfels.exact import NEEDED, Exact
from pliant.detect.surfels.posed import Posed
from pliant.detect.surfels.riding import Riding, on_points, on_triangles, tangent_weights
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.rotations import load4, quaternion_to_matrix, rotate
from pliant.geometry.topology import listed
from pliant.kernels import add, axpy, cross, kernel, load, norm, scale, store, sub
from pliant.model import ANALYTIC, Model
from pliant.world import bindings
from pliant.world.motion import Motion

MANY, FEW, ALL = 2000, 200, 40_000  # surfels of a body at least, in a scene of few bodies, of many, and of all bodies together
FRAMED, FACED, LOOSE = 0, 1, 2  # where a normal comes from: a frame, triangles, neighbours
NAMES = {code: name for name, code in ANALYTIC.items()}


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

    def __init__(self, motion: Motion) -> None:
        bodies, count = motion.bodies, len(motion.bodies)
        wanted = max(FEW, min(MANY, ALL // max(count, 1)))
        rest = rest_points(motion)
        self.exact = [exact_of(motion, b) for b in range(count)]
        self.riding = [_riding(motion, rest, b, wanted, self.exact[b]) for b in range(count)]
        known = [r for r in self.riding if r is not None]
        size = [0 if r is None else len(r.points) for r in self.riding]
        self.start: Ints = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)  # surfels of body b: start[b] to start[b + 1]
        self.body: Ints = np.repeat(np.arange(count), size)
        offset = bodies.point_start[self.body]
        self.point: Ints = np.concatenate([np.zeros((0, 3), np.int64), *(r.corner for r in known)]) + offset[:, None]  # (n, 3) skin points
        self.weight: Floats = np.concatenate([np.zeros((0, 3)), *(r.weight for r in known)])  # (n, 3) sum to one
        self.area: Floats = np.concatenate([np.zeros(0), *(r.areas for r in known)])  # (n,) [m^2] at rest
        self.frame: Ints = bodies.frame[self.body]
        self._local = np.concatenate([np.zeros((0, 3)), *(r.points for r in known)])
        self._normal = np.concatenate([np.zeros((0, 3)), *(r.normals for r in known)])
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
            vector = np.zeros_like(self._local)
            self._vectors(self._local, np.zeros((0, 4)), vector, np.flatnonzero(deforming))
            length = np.linalg.norm(vector, axis=1)
            self._size[deforming] = self.area[deforming] / np.maximum(length[deforming], 1e-300)

    def __len__(self) -> int:
        return len(self.body)

    # -- at one moment of a step

    def at(self, motion: Motion, when: str = "end") -> Surfels:
        """Surfels of all bodies at the "start" or "end" of a step."""
        skin, position, rotation = _moment(motion, when)
        points, vector, areas = np.empty_like(self._local), np.empty_like(self._local), self.area.copy()
        _places(self.point, self.weight, skin, self.frame, self._local, position, rotation, points)
        self._vectors(points, rotation, vector, np.arange(len(self.body)))
        _sized(vector, self._kind, self._size, self._normal, areas)
        return Surfels(points, vector, areas)

    def _vectors(self, points: Floats, rotation: Floats, out: Floats, chosen: Ints) -> None:
        offsets, indices = self.around
        _area_vectors(
            chosen, self._kind, points, self.frame, rotation, self._normal, self.faces, offsets, indices, self._near, self._tangent, out
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

    def samples(self, motion: Motion, body: int, when: str = "end", surfels: Surfels | None = None) -> Posed:
        """The samples of a body where they are: posed if it has a frame, else moved with the neighbours of rest."""
        if motion.bodies.frame[body] >= 0:
            return self._framed(motion, body, when, self.rest(body))
        now = self.at(motion, when) if surfels is None else surfels
        mine = slice(self.start[body], self.start[body + 1])
        return Posed(self.rest(body).moved(now.points[mine], now.normals[mine], now.areas[mine]), np.eye(3), np.zeros(3))

    def posed(self, motion: Motion, body: int, when: str = "end", surfels: Surfels | None = None) -> Posed:
        """What others ask for distances: the exact shape if there is one, else the samples."""
        exact = self.exact[body]
        return self.samples(motion, body, when, surfels) if exact is None else self._framed(motion, body, when, exact)

    def _framed(self, motion: Motion, body: int, when: str, shape: PointSurface | Exact) -> Posed:
        frame = motion.bodies.frame[body]
        _, position, rotation = _moment(motion, when)
        return Posed(shape, quaternion_to_matrix(rotation[frame]), position[frame].copy())


def _moment(motion: Motion, when: str) -> tuple[Floats, Floats, Floats]:
    """(skin points, positions and rotations of frames) at one end of a step."""
    if when == "start":
        return motion.start, motion.position_start, motion.rotation_start
    if when == "end":
        return motion.end, motion.position, motion.rotation
    raise PliantError(f"a step has a 'start' and an 'end', not '{when}'.")


def rest_points(model: Motion | Model) -> Floats:
    """Skin points at rest [m], (p, 3): in their frame, or in the world as the scene begins."""
    skin, nodes = model.skin, model.nodes
    out = np.empty((len(skin), 3))
    still, turn = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
    frame = np.where(skin.frame >= 0, 0, -1)
    bindings.skin_positions(skin.start, skin.node, skin.weight, frame, skin.local, nodes.rest, still, turn, out)
    return out


def exact_of(model: Motion | Model, body: int) -> Exact | None:
    """The exact shape of a body, in its frame."""
    code = int(model.bodies.analytic[body])
    if code < 0:
        return None
    name = NAMES[code]
    return Exact(name, tuple(model.bodies.parameters[body, : NEEDED[name]].tolist()))


def _riding(motion: Motion, rest: Floats, body: int, wanted: int, exact: Exact | None) -> Riding | None:
    bodies, skin = motion.bodies, motion.skin
    first, last = bodies.point_start[body], bodies.point_start[body] + bodies.surface[body]
    faces = skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]] - first
    if len(faces):
        return on_triangles(rest[first:last], faces, wanted, exact)
    if len(skin.area):
        return on_points(rest[first:last], skin.normal[first:last], skin.area[first:last])
    return None


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
