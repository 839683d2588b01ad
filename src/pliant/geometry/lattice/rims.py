"""Rims of an open surface: edges split where vertices of other rims lie on them, loops, lids over them, and bands between two of them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.components import labels
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.topology import Edges, listed, oriented
from pliant.kernels import kernel


class Rims(NamedTuple):
    """Edges that are passed one way more often than the other, as their faces pass them, and how they follow each other."""

    ends: Ints  # (r, 2)
    after: Ints  # (r,) the next of the same loop
    loop: Ints  # (r,) number


def rims(surface: Surface) -> Rims:
    """Loops go round one hole each, also where holes meet in a vertex: across the gap from the edge that comes to the one that goes."""
    edges = Edges(surface.faces)
    ends = np.where((edges.balance > 0)[:, None], edges.ends, edges.ends[:, ::-1])
    ends = np.repeat(ends, np.abs(edges.balance), axis=0)
    if not len(ends):
        return Rims(ends, np.zeros(0, np.int64), np.zeros(0, np.int64))
    names, local = np.unique(ends, return_inverse=True)
    local = local.reshape(-1, 2)
    row = np.arange(len(ends))
    comes, goes = listed(local[:, 1], row, len(names)), listed(local[:, 0], row, len(names))
    turned = _turned(surface, ends)
    after = np.empty(len(ends), np.int64)
    _follow(comes.offsets, comes.indices, goes.indices, turned[:, 1], turned[:, 0], after)
    return Rims(ends, after, labels(len(ends), np.stack([row, after], axis=1)))


def _turned(surface: Surface, ends: Ints) -> Floats:
    """(r, 2) angle at which each edge leaves its first and its last vertex, about the normal there."""
    x = surface.points[surface.faces]
    normal = np.zeros((len(surface.points), 3))
    np.add.at(normal, surface.faces, np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])[:, None])
    normal = normal[ends]
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin(axis=2)])
    second = np.cross(normal, first) / np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), 1e-300)
    along = surface.points[ends[:, ::-1]] - surface.points[ends]
    return np.arctan2((along * second).sum(axis=2), (along * first).sum(axis=2))


@kernel
def _follow(start, comes, goes, came, went, after):  # type: ignore[no-untyped-def]
    """The edge that goes on from each that comes: the first to its left, where its hole is; as many go from a vertex as come."""
    used = np.zeros(len(after), np.bool_)
    for v in range(len(start) - 1):
        for s in range(start[v], start[v + 1]):
            least, best = 4.0 * math.pi, -1
            for t in range(start[v], start[v + 1]):
                turn = (went[goes[t]] - came[comes[s]]) % (2.0 * math.pi)
                turn = turn if turn > 0.0 else 2.0 * math.pi
                if not used[t] and turn < least:
                    least, best = turn, t
            used[best] = True
            after[comes[s]] = goes[best]


# ---- lids


def with_lids(surface: Surface) -> tuple[Surface, float, int]:
    """The surface with a fan over every hole, the area of the fans [m^2] without their folds, and how many holes there were."""
    rim = rims(surface)
    if not len(rim.ends):
        return surface, 0.0, 0
    count = int(rim.loop.max()) + 1
    length = np.linalg.norm(surface.points[rim.ends[:, 1]] - surface.points[rim.ends[:, 0]], axis=1)
    weight = np.bincount(rim.loop, length, minlength=count)
    middle = np.zeros((count, 3))
    np.add.at(middle, rim.loop, length[:, None] * surface.points[rim.ends].mean(axis=1))
    middle /= np.maximum(weight, 1e-300)[:, None]
    fans = np.stack([rim.ends[:, 1], rim.ends[:, 0], len(surface.points) + rim.loop], axis=1)
    points = np.concatenate([surface.points, middle])
    return Surface(points, oriented(points, np.concatenate([surface.faces, fans])).faces), _unfolded(points[fans], rim.loop), count


def _unfolded(corners: Floats, loop: Ints) -> float:
    """Area of fans [m^2], (f, 3, 3): in the plane of each its triangles count with their sign, since that over a jagged rim folds."""
    each = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    whole = np.stack([np.bincount(loop, each[:, k]) for k in range(3)], axis=1)
    flat = np.linalg.norm(whole, axis=1)
    normal = whole / np.maximum(flat, 1e-300)[:, None]
    beside = each - (each * normal[loop]).sum(axis=1, keepdims=True) * normal[loop]
    return float(np.hypot(flat, np.bincount(loop, np.linalg.norm(beside, axis=1))).sum())


# ---- bands


def with_bands(surface: Surface) -> tuple[Surface, int]:
    """The surface with rims that face each other joined by bands, and how many: in pairs, of which each is nearest to the other.

    Faces are not turned: sheets that look the same way are no border of what is between them.
    """
    rim = rims(surface)
    count = int(rim.loop.max(initial=-1)) + 1
    if count < 2 or count % 2:
        return surface, 0
    loops = [_in_order(rim, int(first)) for first in np.unique(rim.loop, return_index=True)[1]]
    other = _nearest(surface.points, loops)
    if (other[other] != np.arange(count)).any():
        return surface, 0
    bands = [_band(surface.points, loops[a], loops[b][::-1]) for a, b in enumerate(other.tolist()) if a < b]
    return Surface(surface.points, np.concatenate([surface.faces, *bands])), len(bands)


def _nearest(points: Floats, loops: list[Ints]) -> Ints:
    """The loop next to each: the one to which the farthest of its points, or of the points of the other, is nearest.

    Two loops are no nearer than the sides of the boxes around them, so that few have to be compared.
    """
    box = np.array([np.concatenate([points[loop].min(axis=0), points[loop].max(axis=0)]) for loop in loops])
    boxes, trees, out = kd_tree(box), [kd_tree(points[loop]) for loop in loops], np.empty(len(loops), np.int64)
    for a in range(len(loops)):
        away, many, bound = {a: np.inf}, 1, 0.0
        while bound <= min(away.values()) and many < len(loops):
            many = min(2 * many, len(loops))
            bounds, which = boxes.query(box[a], k=many, p=np.inf)
            for b in which.tolist():
                if b not in away:
                    away[b] = max(trees[a].query(points[loops[b]])[0].max(), trees[b].query(points[loops[a]])[0].max())
            bound = bounds[-1]
        out[a] = min(away, key=lambda b: (away[b], b))
    return out


def _in_order(rim: Rims, first: int) -> Ints:
    """Vertices of the loop of an edge, one after the other."""
    at = first
    out: list[int] = []
    while not out or at != first:
        out.append(int(rim.ends[at, 0]))
        at = int(rim.after[at])
    return np.array(out)


def _band(points: Floats, a: Ints, b: Ints) -> Ints:
    """Triangles between two loops, from where they are nearest on, each with the shorter of the two edges that can be next."""
    far, near = kd_tree(points[b]).query(points[a])
    i = int(far.argmin())
    one, two = np.roll(a, -i).tolist(), np.roll(b, -int(near[i])).tolist()
    one, two, faces = [*one, one[0]], [*two, two[0]], []
    i = j = 0
    while i + 1 < len(one) or j + 1 < len(two):
        ahead = math.dist(points[one[i + 1]], points[two[j]]) if i + 1 < len(one) else math.inf
        beside = math.dist(points[one[i]], points[two[j + 1]]) if j + 1 < len(two) else math.inf
        if ahead <= beside:
            faces.append([one[i + 1], one[i], two[j]])
            i += 1
        else:
            faces.append([one[i], two[j], two[j + 1]])
            j += 1
    return np.array(faces)


# ---- vertices on edges


def with_rims_split(surface: Surface, width: float) -> Surface:
    """Faces cut where vertices of rims lie on their open edges, up to `width` [m] beside: each side of a seam may have its own."""
    for _ in range(3):  # each of its edges in turn
        edge, vertex, place = _lying_on(surface, width)
        if not len(edge):
            break
        face = edge // 3
        first = np.unique(face, return_index=True)[1]
        mine = edge == edge[first][np.searchsorted(face[first], face)]
        edge, vertex, place = edge[mine], vertex[mine], place[mine]
        order = np.lexsort((place, edge))
        edge, vertex = edge[order], vertex[order]
        cut, start = np.unique(edge, return_index=True)
        new = []
        for corner, chain in zip(cut.tolist(), np.split(vertex, start[1:]), strict=True):
            a, b, c = np.roll(surface.faces[corner // 3], -(corner % 3))
            new += [[p, q, c] for p, q in pairwise([a, *chain, b])]
        whole = np.delete(surface.faces, cut // 3, axis=0)
        surface = Surface(surface.points, np.concatenate([whole, np.array(new, np.int64)]))
    return surface


def _lying_on(surface: Surface, width: float) -> tuple[Ints, Ints, Floats]:
    """Open edges (places in `Edges.directed`, ascending), vertices of rims that lie on them, and where along them, 0 to 1."""
    edges = Edges(surface.faces)
    open_ = np.flatnonzero(edges.count[edges.of_corner] == 1)
    ends = edges.directed[open_]
    names = np.unique(ends)
    a, b = surface.points[ends[:, 0]], surface.points[ends[:, 1]]
    length = np.linalg.norm(b - a, axis=1)
    near = kd_tree(surface.points[names]).query_ball_point(0.5 * (a + b), 0.5 * length + width)
    row = np.repeat(np.arange(len(open_)), [len(each) for each in near])
    vertex = names[np.concatenate([np.array(each, np.int64) for each in near])] if len(row) else names[:0]
    off, along = surface.points[vertex] - a[row], (b - a)[row]
    place = (off * along).sum(axis=1) / np.maximum(length[row] ** 2, 1e-300)
    beside = np.linalg.norm(off - place[:, None] * along, axis=1)
    inner = (place * length[row] > width) & ((1.0 - place) * length[row] > width)
    own = (surface.faces[open_[row] // 3] == vertex[:, None]).any(axis=1)
    kept = inner & ~own & (beside <= width)
    return open_[row[kept]], vertex[kept], place[kept]
