"""What closed bodies have in common as they stand: its volume, and the skin that bounds it.

The volume of two bodies is summed over thin columns, exact along them and sampled across them; with a plane it is a third of the sum
of x . n over the skin below it (divergence theorem), seen from a point of the plane, which then adds nothing: exact.

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
from pliant.kernels import contiguous, kernel

COLUMNS = 128  # across each side of the box
SHIFT = (0.4713, 0.5291)  # of the lines in their columns: not the middle, where corners of regular meshes lie

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


# -- columns: the box that both skins reach is cut along its shortest side. Each skin crosses the middle line of a column at places that are
# known exactly; the sum of their signs is the winding number on the way, so hollow and thin bodies are right too. What lies inside both,
# times the cross-section, is summed (layered depth images: Heidelberger, Teschner, Gross, "Real-time volumetric intersections of
# deforming objects", 2003). A second round refines the columns that met something.


def common_volume(points: Floats, first: Ints, second: Ints) -> float:
    """Volume inside both of two closed skins of triangles (n, 3), (m, 3) over the same points [m^3]."""
    if len(first) == 0 or len(second) == 0:
        return 0.0
    used, number = np.unique(np.concatenate([first, second]), return_inverse=True)  # a pair must not cost a pass over all bodies
    points, number = points[used], number.reshape(-1, 3)
    first, second = number[: len(first)], number[len(first) :]
    low = np.maximum(points[first].min(axis=(0, 1)), points[second].min(axis=(0, 1)))
    high = np.minimum(points[first].max(axis=(0, 1)), points[second].max(axis=(0, 1)))
    if not (low < high).all():
        return 0.0
    along = int(np.argmin(high - low))
    turned = contiguous(points[:, [(along + 1) % 3, (along + 2) % 3, along]])  # keeps the sense of rotation
    low, high = low[[(along + 1) % 3, (along + 2) % 3]], high[[(along + 1) % 3, (along + 2) % 3]]
    for _ in range(2):
        step = (high - low) / COLUMNS
        length = _common_lengths(turned, first, second, low, step)
        used = np.argwhere(length > 0.0)
        if len(used) == 0:
            return 0.0
        volume = float(length.sum() * step.prod())
        left, right = np.maximum(used.min(axis=0) - 1, 0), np.minimum(used.max(axis=0) + 2, COLUMNS)  # the neighbours may hold some
        low, high = low + left * step, low + right * step
    return volume


def _common_lengths(points: Floats, first: Ints, second: Ints, low: Floats, step: Floats) -> Floats:
    """Length inside both skins of the line of each column [m], (COLUMNS, COLUMNS)."""
    faces = contiguous(np.concatenate([first, second]), np.int64)
    corners = points[faces, :2]
    hit = ((corners.max(axis=1) >= low) & (corners.min(axis=1) <= low + COLUMNS * step)).all(axis=1)
    skin = np.repeat([0, 1], [len(first), len(second)])[hit]
    faces = contiguous(faces[hit], np.int64)
    start = np.zeros(COLUMNS * COLUMNS + 1, np.int64)
    origin = low + np.array(SHIFT) * step
    _cross(points, faces, skin, origin, step, start, np.zeros(0), np.zeros(0, np.int64))
    start = np.cumsum(start)
    height, sign = np.empty(start[-1]), np.empty(start[-1], np.int64)
    _cross(points, faces, skin, origin, step, start[:-1].copy(), height, sign)
    length = np.empty(COLUMNS * COLUMNS)
    _inside_both(start, height, sign, length)
    return length.reshape(COLUMNS, COLUMNS)


@kernel
def _cross(points, faces, skin, origin, step, start, height, sign):  # type: ignore[no-untyped-def]
    """Where triangles cross the lines of columns, and whether a line enters (1, 2 for the second skin) or leaves (-1, -2).

    Without room for them (`height`) they are counted, each one place behind its column.
    """
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, bx, by, cx, cy = points[a, 0], points[a, 1], points[b, 0], points[b, 1], points[c, 0], points[c, 1]
        i0 = max(0, int(np.ceil((min(ax, bx, cx) - origin[0]) / step[0])))
        i1 = min(COLUMNS - 1, int(np.floor((max(ax, bx, cx) - origin[0]) / step[0])))
        j0 = max(0, int(np.ceil((min(ay, by, cy) - origin[1]) / step[1])))
        j1 = min(COLUMNS - 1, int(np.floor((max(ay, by, cy) - origin[1]) / step[1])))
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                x, y = origin[0] + i * step[0], origin[1] + j * step[1]
                u, v, w = _side(points, b, c, x, y), _side(points, c, a, x, y), _side(points, a, b, x, y)
                if not ((u > 0.0) == (v > 0.0) and (v > 0.0) == (w > 0.0)):
                    continue
                k = i * COLUMNS + j
                if len(height) == 0:
                    start[k + 1] += 1
                else:
                    height[start[k]] = (u * points[a, 2] + v * points[b, 2] + w * points[c, 2]) / (u + v + w)
                    sign[start[k]] = (1 + skin[f]) * (-1 if u > 0.0 else 1)  # a face that looks up is left through
                    start[k] += 1


@kernel
def _side(points, a, b, x, y):  # type: ignore[no-untyped-def]
    """Twice the area of (a, b, (x, y)), never 0 and exactly opposite for (b, a), so that a line hits one of two neighbours."""
    low, high = min(a, b), max(a, b)
    area = (points[low, 0] - x) * (points[high, 1] - y) - (points[low, 1] - y) * (points[high, 0] - x)
    if area == 0.0:
        area = 1e-300
    return area if a < b else -area


@kernel
def _inside_both(start, height, sign, length):  # type: ignore[no-untyped-def]
    """Length of each line where both winding numbers are above 0; lines that do not come out again count as none. Sorts the crossings."""
    for k in range(len(length)):
        for m in range(start[k] + 1, start[k + 1]):  # by insertion: there are few
            at, kind, n = height[m], sign[m], m
            while n > start[k] and height[n - 1] > at:
                height[n], sign[n] = height[n - 1], sign[n - 1]
                n -= 1
            height[n], sign[n] = at, kind
        first, second, total = 0, 0, 0.0
        for m in range(start[k], start[k + 1]):
            if first > 0 and second > 0:
                total += height[m] - height[m - 1]
            if abs(sign[m]) == 1:
                first += sign[m]
            else:
                second += sign[m] // 2
        length[k] = total if first == 0 and second == 0 else 0.0
