"""Skin points of one body inside another: which, how deep, and where on the surface they would come out.

For every pair of bodies whose boxes overlap, each surface point of the one is tested against the other: by signed distance where the
shape is known exactly, else by the closest point of its surface. An exact ball is tested as what it is, its centre with a
radius, so that it rolls. Points to all bodies, one call, in a fixed order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.analytic import signed_distance
from pliant.detect.closest import closest_on_body, face_neighbours, normals, pseudo_normal
from pliant.detect.tree import Tree
from pliant.geometry.rotations import load4, rotate, rotate_back
from pliant.kernels import dot, kernel, load, norm, parallel, prange, scale, store, sub
from pliant.world.motion import Motion


@dataclass
class Hits:
    """Skin points inside other bodies."""

    point: Ints  # (h,) skin point of A; the anchor of an exact ball
    radius: Floats  # [m] (h,) of that ball, 0 for points
    a: Ints  # (h,) its body
    b: Ints  # (h,) the body it is in
    face: Ints  # (h,) face of B where it would come out, -1 for an analytic shape
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

    def __init__(self, motion: Motion) -> None:
        skin = motion.skin
        self.faces, self.bodies = skin.faces, motion.bodies
        self.tree = Tree.build(motion.end, skin.faces, motion.bodies.face_start)
        self.neighbour = face_neighbours(skin.faces)
        self.face_normal = np.zeros((len(skin.faces), 3))
        self.vertex_normal = np.zeros((len(skin), 3))

    def fit(self, motion: Motion) -> None:
        """Boxes and normals for the end of the motion."""
        self.tree.refit(motion.end)
        normals(motion.end, self.faces, self.face_normal, self.vertex_normal)

    def find(self, motion: Motion) -> Hits:
        """All points inside other bodies at the end of the motion."""
        self.fit(motion)
        low, high = body_boxes(motion, self.tree)
        return self._among(motion, low, high, *body_pairs(motion, low, high))

    def find_exact(self, motion: Motion, tree: Tree) -> Hits:
        """Those inside shapes known exactly, which takes no more than boxes: of any tree that is fit to the end of the motion."""
        low, high = body_boxes(motion, tree)
        a, b = body_pairs(motion, low, high)
        known = self.bodies.analytic[b] >= 0
        return self._among(motion, low, high, a[known], b[known])

    def _among(self, motion: Motion, low: Floats, high: Floats, a: Ints, b: Ints) -> Hits:
        """Points of bodies a inside bodies b."""
        bodies, none = self.bodies, np.zeros(1, np.int64)
        round_ = bodies.ball_radius
        given = (a, b, bodies.point_start, bodies.surface, bodies.anchor, round_, motion.end, low, high)
        count = _candidates(*given, False, none, none.copy())
        pair, point = np.empty(count, np.int64), np.empty(count, np.int64)
        _candidates(*given, True, pair, point)
        hits = self.measure(motion, point, a[pair], b[pair], round_[a[pair]])
        return hits.select(hits.gap < 0.0)

    def measure(self, motion: Motion, point: Ints, a: Ints, b: Ints, radius: Floats) -> Hits:
        """Signed distance of points of bodies a (balls, with their radius) to bodies b, inside or not; fit to the motion before."""
        bodies, tree, count = self.bodies, self.tree, len(point)
        face, gap = np.full(count, -1, np.int64), np.zeros(count)
        weights, normal = np.zeros((count, 3)), np.zeros((count, 3))
        signed_gaps(
            b, point, radius, motion.end, bodies.analytic, bodies.parameters, bodies.frame, motion.position, motion.rotation,
            tree.root, tree.level[1], tree.first, tree.count, tree.order, tree.low, tree.high, self.faces, self.neighbour,
            self.face_normal, self.vertex_normal, face, weights, normal, gap,
        )  # fmt: skip
        return Hits(point, radius, a, b, face, weights, normal, gap)


def body_boxes(motion: Motion, tree: Tree) -> tuple[Floats, Floats]:
    """Box of each body, (B, 3) twice: of its faces, widened to that of the exact shape, which bulges out between its points."""
    bodies = motion.bodies
    low, high = np.empty((len(bodies), 3)), np.empty((len(bodies), 3))
    _boxes(tree.root, tree.low, tree.high, bodies.analytic, bodies.parameters, bodies.frame, motion.position, motion.rotation, low, high)
    return low, high


@kernel
def _boxes(root, node_low, node_high, analytic, parameters, frame, position, rotation, low, high):  # type: ignore[no-untyped-def]
    for body in range(len(root)):
        kind, a, b = analytic[body], parameters[body, 0], parameters[body, 1]
        for axis in range(3):
            low[body, axis] = node_low[root[body], axis] if root[body] >= 0 else np.inf
            high[body, axis] = node_high[root[body], axis] if root[body] >= 0 else -np.inf
            if kind == 0:  # a plane has no end
                low[body, axis], high[body, axis] = -np.inf, np.inf
        if kind > 0 and kind != 2:
            w, x, y, z = load4(rotation, frame[body])
            line = (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))  # the shape's axis
            for axis in range(3):
                along = abs(line[axis])
                across = math.sqrt(max(0.0, 1.0 - along * along))
                half = a * across + b
                if kind == 1:
                    half = a
                elif kind == 3:
                    half = a + b * along
                elif kind == 4:
                    half = a * across + b * along
                centre = position[frame[body], axis]
                low[body, axis] = min(low[body, axis], centre - half)
                high[body, axis] = max(high[body, axis], centre + half)


def body_pairs(motion: Motion, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Ordered pairs (points of a, surface of b) of bodies that may meet and whose boxes overlap."""
    bodies = motion.bodies
    order = np.argsort(low[:, 0], kind="stable")  # sweep along x: each body against those that start before it ends
    none = np.zeros(0, np.int64)
    met = _sweep(order, low, high, False, none, none.copy())
    i, j = np.empty(met, np.int64), np.empty(met, np.int64)
    _sweep(order, low, high, True, i, j)
    a, b = np.concatenate([i, j]), np.concatenate([j, i])
    keep = motion.pairs.meet(a, b) & (bodies.surface[a] > 0)
    a, b = a[keep], b[keep]
    sorting = np.lexsort((b, a))
    return a[sorting], b[sorting]


@kernel
def _sweep(order, low, high, fill, first, second):  # type: ignore[no-untyped-def]
    """Pairs of boxes that overlap, counted, or written if `fill`; `order`: by where they start along x."""
    used = 0
    for k in range(len(order)):
        i = order[k]
        for m in range(k + 1, len(order)):
            j = order[m]
            if low[j, 0] > high[i, 0]:
                break
            apart = (low[i, 0] > high[j, 0]) | (low[i, 1] > high[j, 1]) | (low[i, 2] > high[j, 2])
            if apart | (low[j, 1] > high[i, 1]) | (low[j, 2] > high[i, 2]):
                continue
            if fill:
                first[used], second[used] = i, j
            used += 1
    return used


@kernel
def _candidates(a, b, point_start, surface, anchor, radius, points, low, high, fill, pair, point):  # type: ignore[no-untyped-def]
    """Surface points of a (of a ball its centre) in the box of b, counted, or written if `fill`."""
    used = 0
    for k in range(len(a)):
        box, r = b[k], radius[a[k]]
        first, last = point_start[a[k]], point_start[a[k]] + surface[a[k]]
        if r > 0.0:
            first, last = anchor[a[k]], anchor[a[k]] + 1
        for p in range(first, last):
            inside = True
            for axis in range(3):
                inside = inside and low[box, axis] - r <= points[p, axis] <= high[box, axis] + r
            if inside:
                if fill:
                    pair[used], point[used] = k, p
                used += 1
    return used


@parallel
def signed_gaps(  # type: ignore[no-untyped-def]
    body, point, radius, points, analytic, parameters, frame, position, rotation, root, leaves, first, count, order, low, high,
    faces, neighbour, face_normal, vertex_normal, face, weights, normal, gap,
):  # fmt: skip
    """Signed distance of each candidate point to its body; gap >= 0 where it is outside."""
    chunks = (len(point) + 255) // 256
    for chunk in prange(chunks):
        stack = np.empty(128, np.int64)
        for k in range(256 * chunk, min(256 * chunk + 256, len(point))):
            p, b = load(points, point[k]), body[k]
            if analytic[b] >= 0:
                f = frame[b]
                q = load4(rotation, f)
                local = rotate_back(q, sub(p, load(position, f)))
                d, n = signed_distance(analytic[b], parameters[b, 0], parameters[b, 1], parameters[b, 2], local)
                gap[k] = d - radius[k]
                store(normal, k, rotate(q, n))
                continue
            square, f, u, v, w = closest_on_body(
                p, root[b], leaves, first, count, order, low, high, points, faces, stack
            )
            if f < 0:
                gap[k] = np.inf
                continue
            n = pseudo_normal(f, (u, v, w), faces, neighbour, face_normal, vertex_normal)
            c0, c1, c2 = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
            out = (
                u * c0[0] + v * c1[0] + w * c2[0] - p[0],
                u * c0[1] + v * c1[1] + w * c2[1] - p[1],
                u * c0[2] + v * c1[2] + w * c2[2] - p[2],
            )
            depth = norm(out)
            face[k] = f
            weights[k, 0], weights[k, 1], weights[k, 2] = u, v, w
            side = 1.0 if dot(out, n) > 0.0 else -1.0
            gap[k] = -side * depth - radius[k]
            if depth > 0.0:
                store(normal, k, scale(side / depth, out))
            else:  # on the surface itself
                store(normal, k, scale(1.0 / norm(n), n))
