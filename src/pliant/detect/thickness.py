"""How thick bodies are: what may go no further into them within a step, lest it come out on the other side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.closest import face_neighbours
from pliant.detect.lines import crossing
from pliant.detect.shapes import BALL, BOX, CAPSULE, CYLINDER, NO_SHAPE, TORUS
from pliant.kernels import add, cross, kernel, load, norm, scale, sub

if TYPE_CHECKING:
    from pliant.model import Rest

THIN = 0.05  # of a surface: where it is thinner than what counts; less than the rims and tips of most shapes have, more than noise in scans
RAYS = 1000  # of a body, at most


class Thickness:
    """Half the thickness of each body at rest, and how far its points are from the middle of its frame: `motion.kept(Thickness)`."""

    def __init__(self, rest: Rest) -> None:
        bodies, skin = rest.bodies, rest.skin
        self.half = exact_halves(bodies.analytic, bodies.parameters)  # [m] (B,); infinite where nothing can come out again
        self.usual = self.half.copy()  # [m] (B,) the same of most of the body, not of its thin parts
        closed = (bodies.analytic == NO_SHAPE) & (np.diff(bodies.face_start) > 0)
        closed[skin.face_body[(face_neighbours(skin.faces) < 0).any(axis=1)]] = False  # a surface with a rim has no inside
        for b in np.flatnonzero(closed):
            faces = skin.faces[bodies.face_start[b] : bodies.face_start[b + 1]]
            self.half[b], self.usual[b] = 0.5 * thickness(rest.points, faces, np.array([THIN, 0.5]))
        far = np.linalg.norm(skin.local, axis=1)
        self.reach = np.zeros(len(bodies))  # [m] (B,) of bodies with frames
        shown = (skin.body >= 0) & (skin.frame >= 0)
        np.maximum.at(self.reach, skin.body[shown], far[shown])


def exact_halves(kind: Ints, parameters: Floats) -> Floats:
    """Largest depth that a place inside an exact shape can have [m], (B,); infinite for planes, and where there is no shape."""
    a, b, c = parameters.T
    known = [(BALL, a), (BOX, np.minimum(np.minimum(a, b), c)), (CAPSULE, a), (CYLINDER, np.minimum(a, b)), (TORUS, b)]
    return np.select([kind == k for k, _ in known], [size for _, size in known], np.inf)


def thickness(points: Floats, faces: Ints, share: Floats) -> Floats:
    """Thickness of a closed surface [m]: straight inwards from its border to the other side, but for the thinnest shares of its area.

    Parts of it may overlap or lie on each other: what bounds nothing, with the inside on both sides, is neither asked nor in the way.
    """
    some = np.arange(0, len(faces), max(1, -(-len(faces) // RAYS)))
    depth, area = np.empty(len(some)), np.empty(len(some))
    _inwards(points, faces, some, depth, area)
    order = np.argsort(depth, kind="stable")
    up_to = np.cumsum(area[order])
    return np.asarray(depth[order][np.searchsorted(up_to, share * up_to[-1])])


@kernel
def _inwards(points, faces, some, depth, area):  # type: ignore[no-untyped-def]
    far, leaves = np.empty(len(faces)), np.empty(len(faces), dtype=np.int64)
    for i in range(len(some)):
        own = faces[some[i]]
        a, b, c = load(points, own[0]), load(points, own[1]), load(points, own[2])
        normal = cross(sub(b, a), sub(c, a))
        size = norm(normal)
        area[i], depth[i] = 0.0, np.inf
        if size == 0.0:
            continue
        middle, way = scale(1.0 / 3.0, add(a, add(b, c))), scale(-1.0 / size, normal)
        n = 0
        for k in range(len(faces)):
            if k == some[i]:
                continue
            way_through, t = crossing(points, faces[k], middle, way)
            if way_through != 0:
                far[n], leaves[n] = t, way_through
                n += 1
        if leaves[:n].sum() != 1:  # how often the surface winds around the place under the face: more than once, and it bounds nothing
            continue
        area[i], inside = size, 1
        for j in np.argsort(far[:n]):
            inside -= leaves[j]
            if inside == 0:
                depth[i] = far[j]
                break
