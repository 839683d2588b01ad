"""Points of bodies whose surfaces cross: all corners of intersecting triangles, and points inside shapes known exactly.

Surfaces that do not cross may still lie one inside the other: where the boxes of two bodies nest and no triangles intersect, one point
decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.body_pairs import overlapping
from pliant.detect.penetration import Hits, Meet, Penetration, signed_distances
from pliant.detect.shapes import NO_SHAPE, Shapes
from pliant.detect.tree import Tree, centre_tree
from pliant.detect.triangle_overlap import intersecting
from pliant.geometry.normals import face_normal
from pliant.kernels import axpy, kernel, load, scale, store, sub

if TYPE_CHECKING:
    from pliant.model import Rest

CANCELLED = 1e-9  # length of a sum of unit normals that is nothing but rounding


@dataclass
class Colliding:
    """Pairs of bodies that overlap, and the points of both with which they do; points are grouped by nothing, a pair has many."""

    pairs: Ints  # (P, 2) bodies a < b
    normal: Floats  # (P, 3) unit, out of b towards a
    contained: np.ndarray  # (P,) bool: one is wholly inside the other, no triangles cross
    pair: Ints  # (k,) row of `pairs`
    side: Ints  # (k,) 0 for a point of a, 1 of b
    point: Ints  # (k,) skin point
    face: Ints  # (k,) a face of the other body that it crosses, -1 for none
    at: Floats  # [m] (k, 3) where
    radius: Floats  # [m] (k,) of an exact ball, whose point is its centre; else 0
    stands_in: np.ndarray  # (k,) bool: the point stands for an exact shape, and is not itself what touches

    def __len__(self) -> int:
        return len(self.pairs)

    @staticmethod
    def none() -> Colliding:
        ids, vectors, no = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0, bool)
        return Colliding(np.zeros((0, 2), np.int64), vectors, no, ids, ids, ids, ids, vectors, np.zeros(0), no)

    @property
    def body(self) -> Ints:
        """Body of each point."""
        return self.pairs[self.pair, self.side]

    @property
    def other(self) -> Ints:
        """The body that each point collides with."""
        return self.pairs[self.pair, 1 - self.side]


@dataclass
class _Found:
    """Points of one kind, before pairs are numbered."""

    body: Ints
    other: Ints
    point: Ints
    face: Ints
    at: Floats
    radius: Floats
    stands_in: np.ndarray
    normal: Floats  # (k, 3) out of `other`, not of unit length; zero where it is told by another point


def _joined(parts: list[_Found]) -> _Found:
    return _Found(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(_Found)))


class Collisions:
    """Finds colliding points with a tree of either kind; keeps what does not change between steps."""

    def __init__(self, rest: Rest) -> None:
        self.skin, self.bodies, self.rest = rest.skin, rest.bodies, rest.points
        self.penetration = Penetration(rest)
        self.trees: dict[int, Tree] = {}  # those with boxes halved at their centre, by depth

    def tree(self, points: Floats, split: str, depth: int) -> Tree:
        """The tree over all faces, fit to the points."""
        if split == "median":
            tree = self.penetration.tree
        elif depth in self.trees:
            tree = self.trees[depth]
        else:
            tree = self.trees[depth] = centre_tree(self.rest, self.skin.faces, self.bodies.face_start, depth)
        tree.refit(points)
        return tree

    def find(self, start: Floats, end: Floats, shapes: Shapes, meet: Meet, split: str = "median", depth: int = 12) -> Colliding:
        """All colliding points at the end of a step, of points (p, 3) that go from start to end."""
        tree = self.tree(end, split, depth)
        hits = self.penetration.find_exact(end, shapes, tree, meet) if (shapes.kind != NO_SHAPE).any() else None
        near = self.near(tree, meet)
        if len(near) == 0 and not hits:
            return Colliding.none()
        crossing = intersecting(tree, end, near)
        nested = self._nested(end, shapes, tree, near, crossing)
        if len(crossing) == 0 and len(nested) == 0 and not hits:
            return Colliding.none()
        parts = [self._corners(end, crossing), *(self._exact(end, hits) if hits else ())]
        return self._numbered(start, [*parts, *self._inside(end, shapes, nested)], nested)

    def near(self, tree: Tree, meet: Meet) -> Ints:
        """Pairs (k, 2) of bodies that are to meet and whose boxes overlap."""
        near = overlapping(*tree.root_boxes())
        return near if len(near) == 0 else near[meet(near[:, 0], near[:, 1])]

    def overlapping(self, points: Floats, meet: Meet) -> Ints:
        """Pairs of bodies whose triangles cross, as sorted keys a * bodies + b."""
        tree, body = Tree.build(points, self.skin.faces, self.bodies.face_start), self.skin.face_body
        crossing = intersecting(tree, points, self.near(tree, meet))
        return np.unique(body[crossing[:, 0]] * len(self.bodies) + body[crossing[:, 1]])

    def _corners(self, points: Floats, crossing: Ints) -> _Found:
        """The six corners of each two intersecting triangles."""
        skin, count = self.skin, 6 * len(crossing)
        body, other, point, face = np.empty((4, count), np.int64)
        at, normal = np.empty((count, 3)), np.empty((count, 3))
        corners(crossing, skin.faces, skin.face_body, points, body, other, point, face, at, normal)
        none = np.zeros(count)
        return _Found(body, other, point, face, at, none, none > 0, normal)

    def _exact(self, points: Floats, hits: Hits) -> list[_Found]:
        """Points inside exact shapes, and the anchors of these shapes on the other side, where the points come out."""
        none = np.full(len(hits), -1)
        at = points[hits.point] - (hits.radius + 0.5 * hits.gap)[:, None] * hits.normal
        inside = _Found(hits.a, hits.b, hits.point, none, at, hits.radius, none > 0, hits.normal)
        anchors = _Found(hits.b, hits.a, self.bodies.anchor[hits.b], none, at, 0.0 * hits.radius, none < 0, 0.0 * hits.normal)
        return [inside, anchors]

    def _nested(self, points: Floats, shapes: Shapes, tree: Tree, near: Ints, crossing: Ints) -> Ints:
        """Pairs (k, 2) of bodies, the first wholly inside the second: boxes nest, no triangles cross, and a point is inside."""
        if not nests(near, tree.root, tree.low, tree.high):
            return np.zeros((0, 2), np.int64)
        inner, outer = np.concatenate([near, near[:, ::-1]]).T
        low, high = tree.root_boxes()
        fits = ((low[inner] >= low[outer]) & (high[inner] <= high[outer])).all(axis=1) & (shapes.kind[outer] == NO_SHAPE)
        inner, outer = inner[fits], outer[fits]
        body, count = self.skin.face_body, len(self.bodies)
        apart = ~np.isin(np.minimum(inner, outer) * count + np.maximum(inner, outer), body[crossing[:, 0]] * count + body[crossing[:, 1]])
        inner, outer = inner[apart], outer[apart]
        if len(inner) == 0:
            return np.zeros((0, 2), np.int64)
        first = self.bodies.point_start[inner]
        inside = signed_distances(self.penetration.fit(points, shapes), points[first], outer).gap < 0.0
        return np.stack([inner[inside], outer[inside]], axis=1)

    def _inside(self, points: Floats, shapes: Shapes, nested: Ints) -> list[_Found]:
        """All surface points of bodies inside others and of those around them; the shallowest point tells the normal."""
        if len(nested) == 0:
            return []
        (pair, point), (around, outer) = (self.surface_points(nested[:, k]) for k in range(2))
        hits = signed_distances(self.penetration.fit(points, shapes), points[point], nested[pair, 1])
        order = np.lexsort((-hits.gap, pair))
        first = order[np.searchsorted(pair[order], np.arange(len(nested)))]
        normal = np.zeros((len(point), 3))
        normal[first] = hits.normal[first]
        found = []
        for k, rows, mine, out in ((0, pair, point, normal), (1, around, outer, np.zeros((len(outer), 3)))):
            none, face = np.zeros(len(mine)), np.full(len(mine), -1)
            found.append(_Found(nested[rows, k], nested[rows, 1 - k], mine, face, points[mine], none, none > 0, out))
        return found

    def surface_points(self, body: Ints) -> tuple[Ints, Ints]:
        """(row of `body`, skin point) of all surface points of the bodies."""
        size = self.bodies.surface[body]
        row = np.repeat(np.arange(len(body)), size)
        return row, np.repeat(self.bodies.point_start[body] - np.cumsum(size) + size, size) + np.arange(len(row))

    def _numbered(self, start: Floats, parts: list[_Found], nested: Ints) -> Colliding:
        """Each point once per pair, pairs numbered, and the mean normal of each pair."""
        found = parts[0] if len(parts) == 1 else _joined(parts)
        count = len(self.bodies)
        inside = np.sort(nested, axis=1) @ np.array([count, 1]) if len(nested) else np.zeros(0, np.int64)
        keys, pair, first, normal = number_pairs(found.body, found.other, found.point, found.normal, inside, count, len(self.skin))
        both = np.stack([keys // count, keys % count], axis=1)
        side = (found.body > found.other).astype(np.int64)
        contained = np.isin(keys, inside) if len(inside) else np.zeros(len(keys), bool)
        return Colliding(
            both, self._unit_or_apart(start, both, normal), contained, pair[first], side[first], found.point[first],
            found.face[first], found.at[first], found.radius[first], found.stands_in[first],
        )  # fmt: skip

    
    def _unit_or_apart(self, start: Floats, pairs: Ints, normal: Floats) -> Floats:
        """Normals of length one; where normals cancel each other, the line from centre to centre as the step began."""
        unclear = np.linalg.norm(normal, axis=1) <= CANCELLED
        out = normal.copy()
        if unclear.any():
            apart = self._centres(start, pairs[unclear, 0]) - self._centres(start, pairs[unclear, 1])
            apart[np.linalg.norm(apart, axis=1) == 0.0] = (0.0, 0.0, 1.0)
            out[unclear] = apart
        return out / np.linalg.norm(out, axis=1)[:, None]

    
    def _centres(self, start: Floats, body: Ints) -> Floats:
        """Mean of the surface points of bodies as the step began, (k, 3)."""
        rows, point = self.surface_points(body)
        size = self.bodies.surface[body]
        sums = np.stack([np.bincount(rows, start[point, axis], len(body)) for axis in range(3)], axis=1)
        return sums / np.maximum(size, 1)[:, None]


@kernel
def corners(crossing, faces, face_body, points, body, other, point, face, at, apart):  # type: ignore[no-untyped-def]
    """The corners of crossing triangles (k, 2): those of the first ones, then those of the second; `apart`: difference of their normals."""
    count = len(crossing)
    for k in range(count):
        normal = sub(face_normal(points, faces, crossing[k, 1]), face_normal(points, faces, crossing[k, 0]))
        for half in range(2):
            mine, partner = crossing[k, half], crossing[k, 1 - half]
            for c in range(3):
                row = 3 * (half * count + k) + c
                body[row], other[row] = face_body[mine], face_body[partner]
                point[row], face[row] = faces[mine, c], partner
                store(at, row, load(points, faces[mine, c]))
                store(apart, row, scale(1.0 - 2.0 * half, normal))


@kernel
def nests(pairs, root, low, high):  # type: ignore[no-untyped-def]
    """Whether the box of a body is inside that of its partner, for any of the pairs."""
    for k in range(len(pairs)):
        a, b = root[pairs[k, 0]], root[pairs[k, 1]]
        inner, outer = True, True
        for axis in range(3):
            inner = inner and low[a, axis] >= low[b, axis] and high[a, axis] <= high[b, axis]
            outer = outer and low[b, axis] >= low[a, axis] and high[b, axis] <= high[a, axis]
        if inner or outer:
            return True
    return False


@kernel
def number_pairs(body, other, point, normal, inside, bodies, points):  # type: ignore[no-untyped-def]
    """(keys of the pairs low * bodies + high, the pair of each point, the first of each point in a pair, sum of normals of a pair)."""
    count = len(body)
    key = np.empty(count + len(inside), np.int64)
    for k in range(count):
        key[k] = min(body[k], other[k]) * bodies + max(body[k], other[k])
    key[count:] = inside
    keys = np.unique(key)
    pair, total = np.searchsorted(keys, key[:count]), np.zeros((len(keys), 3))
    for k in range(count):
        store(total, pair[k], axpy(1.0 if body[k] < other[k] else -1.0, load(normal, k), load(total, pair[k])))
    place = pair * points + point
    order = np.argsort(place, kind="mergesort")
    first, used = np.empty(count, np.int64), 0
    for k in range(count):
        if k == 0 or place[order[k]] != place[order[k - 1]]:
            first[used] = order[k]
            used += 1
    return keys, pair, first[:used], total
