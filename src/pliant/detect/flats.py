"""Flat sides of rigid bodies (theory/patch 3.7).

A side of a rigid box may be drawn with a hundred triangles, but it is one plane and stays one: what another rigid body shares with it is
known from its outline. A side is a connected set of faces in one plane, two at least; if its outline is convex, a fan over the corners of
the outline stands for it in the tree. Other faces stand for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.closest import face_neighbours
from pliant.geometry.components import labels
from pliant.geometry.normals import face_crosses, face_normals

FLAT = 1e-9  # of the size of a side, and sine of an angle: what rounding leaves of a plane


class Sides(NamedTuple):
    """Convex flat sides."""

    of: Ints  # (f,) the side of each face, -1 of none
    chief: Ints  # (s,) its largest face among those of `Flats`, which stands for all of it
    area: Floats  # [m^2] (s,)
    start: Ints  # (s + 1,) of the faces of `Flats` that make up each
    face: Ints
    begin: Ints  # (s + 1,) of the corners of each outline, counter-clockwise seen from outside
    outline: Ints  # points
    first: Ints  # (s + 1,) of the points in each side
    point: Ints
    part: Floats  # [m^2] a third of the faces of the side around each of them


@dataclass
class Flats:
    """Faces of the skin, and behind them those of rigid bodies anew with as few triangles as their flat sides take."""

    faces: Ints  # (f, 3)
    start: Ints  # (2 B + 1,) faces of each body as it is drawn, then of each body in few triangles (none where these are the same)
    few: Ints  # (B,) where to look for the surface of a body in few triangles: itself, or B + itself
    own: Ints  # (f,) a face of the skin in the same plane
    sides: Sides
    first: Ints  # (B + 1,) of the sides of each body
    has: Bools  # (B,) bodies with a side
    flat: Bools  # (f,) faces of a side
    times: Floats  # (f,) area of the side that a face stands for as its chief, in its own; 1 of others


def flats(points: Floats, faces: Ints, start: Ints, rigid: np.ndarray) -> Flats:
    """Of bodies with faces start[b] : start[b + 1]; rigid (B,): those whose sides stay flat."""
    count = len(start) - 1
    parts, own, few, first = [faces], [np.arange(len(faces))], np.arange(count), np.zeros(count + 1, np.int64)
    of = [np.full(len(faces), -1)]
    outlines: list[Ints] = []
    inside: list[Ints] = []  # of each side, faces of the skin
    fans: list[Ints] = []  # and those that stand for it
    for b in np.flatnonzero(rigid & (np.diff(start) > 0)):
        mine = faces[start[b] : start[b + 1]]
        triangles, face, side, found = _in_few(points, mine)
        side[side >= 0] += len(outlines)
        for k, (_, some) in enumerate(found):
            of[0][start[b] + some] = len(outlines) + k
        first[b + 1] = len(found)
        outlines += [outline for outline, _ in found]
        inside += [start[b] + some for _, some in found]
        if len(triangles) < len(mine):
            behind = sum(map(len, parts))
            fans += [behind + np.flatnonzero(side == len(fans) + k) for k in range(len(found))]
            parts.append(triangles)
            own.append(start[b] + face)
            of.append(side)
            few[b] = count + b
        else:
            fans += [start[b] + some for _, some in found]
    sizes = np.zeros(count, np.int64)
    sizes[few >= count] = [len(part) for part in parts[1:]]
    every, first = np.concatenate(parts), np.cumsum(first)
    twice = np.linalg.norm(face_crosses(points, every), axis=1)
    sides, times = _sides(faces, twice, np.concatenate(of), outlines, inside, fans), np.ones(len(every))
    times[sides.chief] = 2.0 * sides.area / twice[sides.chief]
    starts = np.append(start, len(faces) + np.cumsum(sizes))
    return Flats(every, starts, few, np.concatenate(own), sides, first, np.diff(first) > 0, sides.of >= 0, times)


def _sides(faces: Ints, twice: Floats, of: Ints, outlines: list[Ints], inside: list[Ints], fans: list[Ints]) -> Sides:
    """Sides with these outlines and faces of the skin; twice (f,): twice the area of all faces."""
    size = lambda lists: np.append(0, np.cumsum([len(x) for x in lists], dtype=np.int64))
    order = np.lexsort((-twice, of))
    order = order[of[order] >= 0]
    chief = order[np.flatnonzero(np.diff(of[order], prepend=-1))] if len(order) else order
    nodes = [np.unique(faces[some]) for some in inside]
    each = zip(nodes, inside, strict=True)
    part = [np.bincount(np.searchsorted(n, faces[some].ravel()), np.repeat(twice[some] / 6.0, 3)) for n, some in each]
    none = np.zeros(0, np.int64)
    return Sides(
        of, chief, np.array([twice[some].sum() / 2.0 for some in inside]), size(fans), np.concatenate([none, *fans]), size(outlines),
        np.concatenate([none, *outlines]), size(nodes), np.concatenate([none, *nodes]), np.concatenate([np.zeros(0), *part]),
    )  # fmt: skip


def _in_few(points: Floats, faces: Ints) -> tuple[Ints, Ints, Ints, list[tuple[Ints, Ints]]]:
    """Triangles of one body, with convex flat sides as fans, for each a face in its plane and its side; outlines and faces of the sides."""
    normal, neighbour = face_normals(points, faces), face_neighbours(faces)
    turn = np.linalg.norm(np.cross(normal[:, None], normal[neighbour]), axis=2)
    flat = (neighbour >= 0) & (turn <= FLAT) & (np.einsum("fi,fki->fk", normal, normal[neighbour]) > 0.0)
    face, corner = np.nonzero(flat)
    label = labels(len(faces), np.stack([face, neighbour[face, corner]], axis=1))
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    triangles, own, side = [], [], []
    found: list[tuple[Ints, Ints]] = []
    for some in np.split(order, starts[1:]):
        outline = _outline(points, faces, some, label, neighbour, normal[some[0]]) if len(some) > 1 else None
        fan = faces[some]
        if outline is not None and len(outline) - 2 < len(some):
            k = np.arange(1, len(outline) - 1)
            fan = np.stack([np.full(len(k), outline[0]), outline[k], outline[k + 1]], axis=1)
        triangles.append(fan)
        own.append(np.full(len(fan), some[0]) if len(fan) < len(some) else some)
        side.append(np.full(len(fan), -1 if outline is None else len(found)))
        if outline is not None:
            found.append((outline, some))
    return np.concatenate(triangles), np.concatenate(own), np.concatenate(side), found


def _outline(points: Floats, faces: Ints, some: Ints, side: Ints, neighbour: Ints, normal: Floats) -> Ints | None:
    """The corners of a flat side, or None if its outline is not one convex loop in one plane."""
    other = neighbour[some]
    rim, corner = np.nonzero((other < 0) | (side[other] != side[some[0]]))
    begin, end = faces[some[rim], (corner + 1) % 3], faces[some[rim], (corner + 2) % 3]  # the edge across from a corner
    after = dict(zip(begin.tolist(), end.tolist(), strict=True))
    if len(after) != len(begin):
        return None  # the outline meets itself
    loop = [int(begin[0])]
    while after[loop[-1]] != loop[0]:
        loop.append(after[loop[-1]])
        if len(loop) > len(begin) or loop[-1] not in after:
            return None
    if len(loop) != len(begin):
        return None  # there is a hole
    x = points[loop]
    edge = np.roll(x, -1, axis=0) - x
    length = np.linalg.norm(edge, axis=1)
    size, inside = np.ptp(x, axis=0).max(), points[faces[some].ravel()] - x[0]
    if length.min() <= FLAT * size or np.abs(inside @ normal).max() > FLAT * size:
        return None
    edge /= length[:, None]
    bend = np.cross(np.roll(edge, 1, axis=0), edge) @ normal  # at each corner, sine of the angle
    ahead = np.einsum("ci,ci->c", np.roll(edge, 1, axis=0), edge)
    if (bend < -FLAT).any() or ((np.abs(bend) <= FLAT) & (ahead < 0.0)).any():
        return None
    if round(float(np.arctan2(bend, ahead).sum()) / (2.0 * np.pi)) != 1:
        return None  # goes round more than once
    return np.array(loop)[bend > FLAT]
