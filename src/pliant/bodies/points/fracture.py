"""Fracture of bodies of points (theory/point-bodies 8): which pairs tear, and the skin of a body that broke.

A pair of phyxels that is longer than at the start by more than the lower tear strain of the two is torn, for good. When a body has come
apart every face (or tet) goes to one piece, cracks are closed, and all of it rides on the piece's phyxels.

A point belongs to the piece of the phyxel that carries most of it, a face to the piece of most of its corners. Corners on the other
side of the crack are doubled and bound anew, so that each piece has a whole rim. Rims are closed by rings around their middle; where
tets fill the skin, the boundary of a piece's tets is closed already. A piece from within, to which no face goes, has the convex hull of
its phyxels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.points.neighbourhoods import CRUMB, NEAREST
from pliant.bodies.points.skin import ride
from pliant.geometry.components import labels
from pliant.geometry.mesh import TET_FACES
from pliant.geometry.near import kd_tree
from pliant.geometry.normals import face_crosses, vertex_area_vectors
from pliant.kernels import dot, kernel, load, sub

EVENED = (0.5, -0.53) * 8  # shares of the way to the middle of its neighbours that a point of a rim goes, one after the other


@dataclass(frozen=True)
class Whole:
    """The skin and the phyxels of a body before it broke, in numbers of its own, at the start."""

    points: Floats  # [m] (p, 3): surface, inside if there are tets, then one per phyxel
    surface: int
    faces: Ints
    tets: Ints
    phyxels: Floats  # [m] (m, 3)
    carrier: Ints  # (p,) phyxel that carries most of each point
    shown: np.ndarray  # (f,) bool, of tets where there are some: not cut off

    @property
    def cells(self) -> Ints:
        """Tets, or faces where there are none."""
        return self.tets if len(self.tets) else self.faces


@dataclass(frozen=True)
class Piece:
    """The skin of a piece, in numbers of its own; `source` says which point of the whole each is, -1: a new one."""

    source: Ints  # (q,)
    home: np.ndarray  # (q,) bool: False for copies of points of other pieces
    surface: int
    faces: Ints
    face_source: Ints  # (f,) face of the whole, -1: new
    tets: Ints
    start: Ints  # (q + 1,) binding to phyxels of the piece
    node: Ints
    weight: Floats
    places: Floats  # [m] (q, 3) at which its points are bound
    lost: Ints  # (l,) points of the whole that are of this piece, but cut off with what was drawn out
    stand_in: Ints  # (l,) the nearest point that is left


def pieces_of(whole: Whole, label: Ints, before: Ints, now: list[Floats] | None = None) -> list[Piece]:
    """The pieces of a body; label (m,) is the piece of each phyxel, before (pieces,) the body that each was a part of until now.

    `now`: points of the whole as they are in each piece [m], (p, 3) each.
    Pieces of what has flowed are closed and bound as they are now: at the start their phyxels were elsewhere among each other.
    """
    home = _homes(whole, label)
    shapes = [whole.points] * len(before) if now is None else [_trimmed(whole, label, k, before, p)[0] for k, p in enumerate(now)]
    return [_piece(whole, label, np.flatnonzero(home == piece), piece, places) for piece, places in enumerate(shapes)]


def cut_off(whole: Whole, label: Ints, before: Ints, now: list[Floats]) -> Ints:
    """Cells of the whole that no piece of what has flowed keeps, though they are shown: what was drawn out between two pieces.

    Arguments: see `pieces_of`. They lie beyond a new crack with all of their points; flattened onto it they would be folds in its face.
    """
    home, gone = _homes(whole, label), [np.zeros(0, np.int64)]
    for piece, places in enumerate(now):
        mine = np.flatnonzero(home == piece)
        gone.append(mine[~_left(whole.cells[mine], _trimmed(whole, label, piece, before, places)[1])])
    return np.concatenate(gone)


def _homes(whole: Whole, label: Ints) -> Ints:
    """The piece of each cell, -1: not shown."""
    return np.where(whole.shown, _majority(label[whole.carrier][whole.cells]), -1)


def _majority(sides: Ints) -> Ints:
    """The most frequent entry of each row, the first of equals."""
    votes = (sides[:, :, None] == sides[:, None, :]).sum(axis=2)
    return np.take_along_axis(sides, votes.argmax(axis=1)[:, None], axis=1)[:, 0]


def _left(cells: Ints, beyond: np.ndarray) -> np.ndarray:
    """Which cells (c, k) of a piece are left, (c,) bool: not those beyond a crack with all of their points, nor what hung on them."""
    left: np.ndarray = np.logical_not(beyond[cells].all(axis=1))
    if left.all() or not left.any():
        return left
    was, now = _together(cells)[left], _together(cells[left])
    part, first, size = np.unique(now, return_index=True, return_counts=True)
    largest = np.argsort(-size, kind="stable")
    left[left] = np.isin(now, part[largest[np.unique(was[first][largest], return_index=True)[1]]])
    return left


def _together(cells: Ints) -> Ints:
    """Which cells (c, k) share points, (c,)."""
    pairs = np.stack([cells[:, :-1], cells[:, 1:]], axis=2).reshape(-1, 2)
    return labels(int(cells.max()) + 1, pairs)[cells[:, 0]]


def _trimmed(whole: Whole, label: Ints, piece: int, before: Ints, places: Floats) -> tuple[Floats, np.ndarray]:
    """Places (p, 3) with points at a new crack no further out of the piece than half way to the phyxels that it tore from, as they were,
    and which points (p,) were further out.

    What is between two pieces has been drawn out before it tore, and would be an empty spike on either of them. Half of the way at the
    start is what a phyxel stands for.
    """
    then, now, out = whole.phyxels, places[len(places) - len(whole.phyxels) :], places.copy()
    pairs = _nearest_pairs(then)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    inner, outer = pairs[(label[pairs[:, 0]] == piece) & (label[pairs[:, 1]] != piece) & (before[label[pairs[:, 1]]] == before[piece])].T
    far = np.zeros(len(places), bool)
    if len(inner) == 0:
        return out, far
    crack, row = np.unique(inner, return_inverse=True)
    half, way = np.full(len(crack), np.inf), np.zeros((len(crack), 3))
    np.minimum.at(half, row, 0.5 * np.linalg.norm(then[outer] - then[inner], axis=1))
    np.add.at(way, row, _unit(now[outer] - now[inner]))
    way = _unit(way)
    mine, skin = np.flatnonzero(label == piece), np.arange(len(places) - len(then))
    beside = np.isin(mine[kd_tree(now[mine]).query(places[skin], workers=1)[1]], crack)
    skin = skin[beside | (label[whole.carrier[skin]] != piece)]
    near = kd_tree(now[crack]).query(places[skin], workers=1)[1]
    beyond = np.einsum("ij,ij->i", places[skin] - now[crack[near]], way[near]) - half[near]
    out[skin] -= np.maximum(beyond, 0.0)[:, None] * way[near]
    far[skin] = beyond > 0.0
    return out, far


def _unit(vectors: Floats) -> Floats:
    length: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(length, 1e-300)


def _nearest_pairs(phyxels: Floats) -> Ints:
    """Each phyxel with those that are nearest to it, (k, 2)."""
    near = kd_tree(phyxels).query(phyxels, k=min(NEAREST + 1, len(phyxels)), workers=1)[1].reshape(len(phyxels), -1)
    pairs = np.stack([np.repeat(near[:, 0], near.shape[1] - 1), near[:, 1:].ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


def _piece(whole: Whole, label: Ints, cells: Ints, piece: int, points: Floats) -> Piece:
    """The piece that has some cells of the whole, with its points at `points` (p, 3) [m]."""
    mine = np.flatnonzero(label == piece)
    if len(whole.tets):
        tets = whole.tets[cells]
        faces, face_source = _boundary(tets, whole.faces)
    else:
        tets, face_source, faces = np.zeros((0, 4), np.int64), cells, whole.faces[cells]
    surface = np.unique(faces)
    inside = np.setdiff1d(np.unique(tets), surface)
    shown = np.concatenate([surface, inside])
    number = np.full(len(whole.points), -1, np.int64)
    number[shown] = np.arange(len(shown))
    faces, tets = number[faces], number[tets]
    rims = _rims(faces)
    outside = _even(points[surface], rims)
    closing, caps = _caps(outside, rims)
    phyxels = points[len(points) - len(whole.phyxels) :][mine]
    if len(faces) == 0:
        closing, caps = _hull(whole.phyxels[mine], phyxels)
    # new points come behind the surface, before the inside
    tets = np.where(tets >= len(surface), tets + len(closing), tets)
    places = np.concatenate([outside, closing, points[inside]])
    riding, phyxel = ride(places, phyxels), np.arange(len(mine))
    source = np.concatenate([surface, np.full(len(closing), -1), inside, len(whole.points) - len(whole.phyxels) + mine])
    outer = len(surface) + len(closing)
    lost = np.setdiff1d(np.flatnonzero(label[whole.carrier] == piece), source) if outer else np.zeros(0, np.int64)
    return Piece(
        source=source.astype(np.int64),
        home=(source < 0) | (label[whole.carrier][source] == piece),
        surface=outer,
        faces=np.concatenate([faces, caps]),
        face_source=np.concatenate([face_source, np.full(len(caps), -1)]).astype(np.int64),
        tets=tets,
        start=np.concatenate([riding.start, riding.start[-1] + 1 + phyxel]),
        node=np.concatenate([riding.node, phyxel]),
        weight=np.concatenate([riding.weight, np.ones(len(mine))]),
        places=np.concatenate([places, phyxels]),
        lost=lost,
        stand_in=kd_tree(places[:outer]).query(points[lost], workers=1)[1].astype(np.int64) if len(lost) else lost,
    )


def _hull(start: Floats, phyxels: Floats) -> tuple[Floats, Ints]:
    """Points and faces of the convex hull that phyxels (m, 3) [m] had at the start, half a spacing away from where they are now; none where
    they lay in a plane."""
    from scipy.spatial import ConvexHull, QhullError  # start-up

    try:
        hull = ConvexHull(start)
    except QhullError:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    corner, faces = np.unique(hull.simplices, return_inverse=True)
    faces = faces.reshape(-1, 3).astype(np.int64)
    inward = np.einsum("ij,ij->i", face_crosses(start[corner], faces), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    points = phyxels[corner]
    spacing = float(kd_tree(phyxels).query(phyxels, k=2, workers=1)[0][:, 1].mean())
    return points + 0.5 * spacing * _unit(vertex_area_vectors(points, faces)), faces


def _even(points: Floats, rims: list[Ints]) -> Floats:
    """Points with every rim evened out along itself, to and fro so that it stays as long as it was (Taubin 1995).

    Which face goes to which piece makes teeth, and where a body was drawn out before it broke they would be spikes.
    """
    out = points.copy()
    for rim in rims:
        for share in EVENED:
            out[rim] += share * (0.5 * (np.roll(out[rim], 1, axis=0) + np.roll(out[rim], -1, axis=0)) - out[rim])
    return out


def _boundary(tets: Ints, known: Ints) -> tuple[Ints, Ints]:
    """Outer faces of tets, and which of the known faces each is."""
    faces = tets[:, TET_FACES].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    faces = faces[np.sort(first[count == 1])]
    table = {tuple(face): i for i, face in enumerate(np.sort(known, axis=1).tolist())}
    return faces, np.array([table.get(tuple(face), -1) for face in np.sort(faces, axis=1).tolist()], np.int64)


def _rims(faces: Ints) -> list[Ints]:
    """The rims of a surface, each as its points one after the other, as the faces that close it run through them."""
    edges = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    size = int(edges.max(initial=0)) + 1
    there = np.isin(edges[:, 0] * size + edges[:, 1], edges[:, 1] * size + edges[:, 0])
    after: dict[int, list[int]] = {}
    for a, b in edges[~there].tolist():  # an open edge a b of a face is run through b a by its cap
        after.setdefault(b, []).append(a)
    rims: list[Ints] = []
    while after:
        rim = [min(after)]
        while (following := after.get(rim[-1])) is not None:
            rim.append(following.pop(0))
            if not following:
                del after[rim[-2]]
            if rim[-1] == rim[0]:
                break
        rims.append(np.array(rim[:-1] if rim[-1] == rim[0] else rim, np.int64))
    return rims


def _caps(points: Floats, rims: list[Ints]) -> tuple[Floats, Ints]:
    """New points behind the others, and triangles that close rims with them: rings that shrink to their middle, as fine as the rims are.

    A fan from the rim to its middle has no point on its face, and what touches that would find points of the sides to be the nearest. A
    round rim of n edges has n / 2 pi of them between itself and its middle; how many there are must not depend on where points are, or a
    resumed run would have others.
    """
    new, caps, count = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], len(points)
    for rim in rims:
        outer, way = rim, points[rim].mean(axis=0) - points[rim]
        rings = max(1, round(len(rim) / (2.0 * math.pi)))
        for k in range(1, rings):
            inner = count + np.arange(len(rim))
            caps.append(np.stack([outer, np.roll(outer, -1), inner], axis=1))
            caps.append(np.stack([np.roll(outer, -1), np.roll(inner, -1), inner], axis=1))
            new.append(points[rim] + k / rings * way)
            outer, count = inner, count + len(rim)
        caps.append(np.stack([outer, np.roll(outer, -1), np.full(len(rim), count)], axis=1))
        new.append(points[rim].mean(axis=0, keepdims=True))
        count += 1
    return np.concatenate(new), np.concatenate(caps)


def without_crumbs(own: Ints, other: Ints, weight: Floats, torn: np.ndarray) -> np.ndarray:
    """Which of the torn slots (lower number first) tear: those that would set free less than `CRUMB` phyxels hold.

    A crumb stays with the part that it hangs on most, by the weights of its torn pairs, and tears from all others.
    """
    count = int(max(own.max(initial=-1), other.max(initial=-1))) + 1
    held = (own < other) & ~torn
    label = labels(count, np.stack([own[held], other[held]], axis=1))
    slot = np.flatnonzero(torn)
    tears = torn.copy()
    while True:
        a, b = label[own[slot]], label[other[slot]]
        size = np.bincount(label)
        small = np.unique(np.concatenate([a, b])[np.concatenate([(a != b) & (size[a] < CRUMB), (a != b) & (size[b] < CRUMB)])])
        if len(small) == 0:
            return tears
        crumb = small[np.argmin(size[small])]
        mine = (a != b) & ((a == crumb) | (b == crumb))
        pull = np.bincount(np.where(a == crumb, b, a)[mine], weight[slot[mine]], minlength=len(size))
        to = int(pull.argmax())
        tears[slot[mine & ((a == to) | (b == to))]] = False
        label[label == crumb] = to


def as_rigid(pairs: Ints, mass: Floats, x: Floats, v: Floats, node: Ints) -> Floats:
    """Velocities (n, 3) with which nodes (m,) that pairs (k, 2) of them connect move as rigid bodies; momenta are what they were."""
    count = len(node)
    label = labels(count, pairs)
    parts = int(label.max(initial=-1)) + 1

    def summed(each: Floats) -> Floats:
        out = np.zeros((parts, *each.shape[1:]))
        np.add.at(out, label, each)
        return out

    whole = summed(mass)[:, None]
    middle, drift = summed(mass[:, None] * x[node]) / whole, summed(mass[:, None] * v[node]) / whole
    r = x[node] - middle[label]
    spin = summed(mass[:, None] * np.cross(r, v[node]))
    inertia = summed(mass[:, None, None] * ((r * r).sum(axis=1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :]))
    turning = np.einsum("pij,pj->pi", np.linalg.pinv(inertia, hermitian=True), spin)
    out = v.copy()
    out[node] = drift[label] + np.cross(turning[label], r)
    return out


@kernel
def overstretched(start, other, nodes, origin, limit, x, out):  # type: ignore[no-untyped-def]
    """Which slots (lower number first) hold a pair longer than at the start by more than the lower tear strain of the two."""
    for i in range(len(nodes)):
        for s in range(start[i], start[i + 1]):
            j = other[s]
            most = 1.0 + min(limit[i], limit[j])
            if j > i and most < math.inf:
                now, then = sub(load(x, nodes[j, 0]), load(x, nodes[i, 0])), sub(load(origin, j), load(origin, i))
                out[s] = dot(now, now) > most * most * dot(then, then)
