"""What closed bodies have in common as they stand: its volume, and the skin that bounds it.

The volume of two bodies is summed over thin columns (columns.py); with a plane it is a third of the sum of x . n over the skin below it
(divergence theorem), seen from a point of the plane, which then adds nothing: exact.

The bounding skin is for looking at. Each skin is cut along its edges where the signed distance to the other body changes its sign,
linearly, as its vertices say. The cuts of two skins do not meet exactly, so no volume follows from them: about a wide and thin overlap
the open slit along its rim would add far more than there is. Where only edges cross and no vertex is inside, nothing is drawn.

Surfels, and skins with holes, have no inside.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.closest import face_neighbours
from pliant.detect.penetration import signed_distances, with_normals
from pliant.detect.shapes import no_shapes
from pliant.detect.tree import Tree
from pliant.kernels import contiguous
from pliant.measure.columns import common_volume

Half = tuple[int, Floats, Floats]  # body, a point of its plane [m], normal out of it


@dataclass(frozen=True)
class Intersection:
    """Triangles of skins inside other bodies, and the volume of each pair."""

    corners: Floats  # [m] (m, 3, 3)
    body: Ints  # (m,) whose skin it is
    volume: dict[tuple[int, int], float]  # [m^3] of each pair of bodies that overlap

    @property
    def total(self) -> float:
        """Volume of all pairs [m^3]."""
        return float(sum(self.volume.values()))


def intersection(
    points: Floats, triangles: Ints, body: Ints, planes: Sequence[Half] = (), still: Collection[int] = ()
) -> Intersection:
    """Of the skins of bodies with each other and with planes; pairs of `still` bodies are left out, and skins with holes."""
    skins = _Skins(contiguous(points), triangles, body, still)
    a, b, face, gap = skins.near()
    parts = [(a, b, face, gap)]
    volume = skins.volumes()
    for number, place, normal in planes:
        mine = np.flatnonzero(skins.closed[skins.row] & ~skins.fixed[skins.row])
        below = (skins.points[skins.faces[mine]] - place) @ normal
        low = (below < 0.0).any(axis=1)
        parts.append((skins.ids[skins.row[mine[low]]], np.full(int(low.sum()), number), mine[low], below[low]))
        volume |= _below(skins.points[skins.faces[mine[low]]], below[low], parts[-1][0], number, place)
    a, b, face, gap = (np.concatenate([part[k] for part in parts]) for k in range(4))
    corners, source = clipped(skins.points[skins.faces[face]], gap)
    return Intersection(corners, a[source], {pair: v for pair, v in volume.items() if v > 0.0})


def clipped(corners: Floats, gap: Floats) -> tuple[Floats, Ints]:
    """The parts of triangles (n, 3, 3) where a function, linear between its values (n, 3), is negative; the triangle of each."""
    inside = gap < 0.0
    count = inside.sum(axis=1)
    kept, source = [corners[count == 3]], [np.flatnonzero(count == 3)]
    for many in (1, 2):
        rows = np.flatnonzero(count == many)
        odd = np.argmax(inside[rows] if many == 1 else ~inside[rows], axis=1)  # the corner that is alone
        turn = (odd[:, None] + np.arange(3)) % 3
        x, g = corners[rows[:, None], turn], gap[rows[:, None], turn]
        cut = [x[:, 0] + (g[:, 0] / (g[:, 0] - g[:, k]))[:, None] * (x[:, k] - x[:, 0]) for k in (1, 2)]
        if many == 1:
            kept.append(np.stack([x[:, 0], *cut], axis=1))
            source.append(rows)
        else:
            kept += [np.stack([cut[0], x[:, 1], x[:, 2]], axis=1), np.stack([cut[0], x[:, 2], cut[1]], axis=1)]
            source += [rows, rows]
    return np.concatenate(kept), np.concatenate(source)


def _below(corners: Floats, gap: Floats, body: Ints, plane: int, place: Floats) -> dict[tuple[int, int], float]:
    """Volume of each body under a plane [m^3]."""
    cut, source = clipped(corners, gap)
    x = cut - place
    ids, row = np.unique(body[source], return_inverse=True)
    volume = np.bincount(row, np.einsum("ni,ni->n", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0, minlength=len(ids))
    return {(min(i, plane), max(i, plane)): v for i, v in zip(ids.tolist(), volume.tolist(), strict=True)}


class _Skins:
    """Skins of bodies in a tree, and which of their triangles are near other bodies."""

    def __init__(self, points: Floats, triangles: Ints, body: Ints, still: Collection[int]) -> None:
        order = np.argsort(body, kind="stable")
        self.points, self.faces = points, contiguous(triangles[order], np.int64)
        self.ids, self.row = np.unique(body[order], return_inverse=True)
        self.start = np.searchsorted(self.row, np.arange(len(self.ids) + 1))
        self.neighbour = face_neighbours(self.faces)
        self.closed = np.ones(len(self.ids), bool)
        self.closed[self.row[(self.neighbour < 0).any(axis=1)]] = False
        self.fixed = np.isin(self.ids, list(still))
        x = points[self.faces]
        self.low = np.minimum.reduceat(x.min(axis=1), self.start[:-1], axis=0) if len(x) else np.zeros((0, 3))
        self.high = np.maximum.reduceat(x.max(axis=1), self.start[:-1], axis=0) if len(x) else np.zeros((0, 3))

    def meeting(self) -> Ints:
        """Rows of closed bodies whose boxes meet, in both orders, (n, 2); not of two that stand still."""
        meet = (self.low[:, None] <= self.high[None]).all(axis=2) & (self.low[None] <= self.high[:, None]).all(axis=2)
        meet &= self.closed[:, None] & self.closed[None] & ~(self.fixed[:, None] & self.fixed[None])
        np.fill_diagonal(meet, False)
        return np.argwhere(meet)

    def volumes(self) -> dict[tuple[int, int], float]:
        """What each two bodies have in common [m^3]."""
        mine = lambda i: self.faces[self.start[i] : self.start[i + 1]]
        return {
            (int(self.ids[i]), int(self.ids[j])): common_volume(self.points, mine(i), mine(j)) for i, j in self.meeting() if i < j
        }

    def near(self) -> tuple[Ints, Ints, Ints, Floats]:
        """(body, other body, triangle, signed distance of its corners to the other) of triangles with a corner inside."""
        none = np.zeros(0, np.int64)
        if len(self.faces) == 0:
            return none, none, none, np.zeros((0, 3))
        tree = Tree.build(self.points, self.faces, self.start)
        low, high = self.low, self.high
        back = np.argsort(tree.order)
        face_low, face_high = tree.box_low[back], tree.box_high[back]
        faces, others = [none], [none]
        for i, j in self.meeting():
            mine = slice(self.start[i], self.start[i + 1])
            touch = (face_low[mine] <= high[j]).all(axis=1) & (low[j] <= face_high[mine]).all(axis=1)
            faces.append(np.flatnonzero(touch) + self.start[i])
            others.append(np.full(len(faces[-1]), j))
        face, other = np.concatenate(faces), np.concatenate(others)
        gap = self._gaps(tree, face, other)
        keep = (gap < 0.0).any(axis=1)
        face, other = face[keep], other[keep]
        return self.ids[self.row[face]], self.ids[other], face, gap[keep]

    def _gaps(self, tree: Tree, face: Ints, other: Ints) -> Floats:
        """Signed distance of the corners of faces to other bodies, (n, 3); each point once."""
        key = (other[:, None] * len(self.points) + self.faces[face]).ravel()
        asked, back = np.unique(key, return_inverse=True)
        surfaces = with_normals(self.points, self.faces, self.neighbour, tree, no_shapes(len(self.ids)))
        gap = signed_distances(surfaces, self.points[asked % len(self.points)], asked // len(self.points)).gap
        return gap[back.ravel()].reshape(-1, 3)
