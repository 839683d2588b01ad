"""Flat sides of rigid bodies as few triangles (theory/patch 3.7).

A side of a rigid box may be drawn with a hundred triangles, but it is one plane and stays one: what another rigid body shares with it is
known from two. A side is a connected set of faces in one plane; if its outline is convex, a fan over the corners of the outline stands for
it. Other faces stand for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.closest import face_neighbours
from pliant.geometry.components import labels
from pliant.geometry.normals import face_normals

FLAT = 1e-9  # of the size of a side, and sine of an angle: what rounding leaves of a plane


@dataclass
class Flats:
    """Faces of the skin, and behind them those of rigid bodies anew with as few triangles as their flat sides take."""

    faces: Ints  # (f, 3)
    start: Ints  # (2 B + 1,) faces of each body as it is drawn, then of each body in few triangles (none where these are the same)
    few: Ints  # (B,) where to look for the surface of a body in few triangles: itself, or B + itself
    own: Ints  # (f,) a face of the skin in the same plane


def flats(points: Floats, faces: Ints, start: Ints, rigid: np.ndarray) -> Flats:
    """Of bodies with faces start[b] : start[b + 1]; rigid (B,): those whose sides stay flat."""
    count = len(start) - 1
    parts, own, few = [faces], [np.arange(len(faces))], np.arange(count)
    for b in np.flatnonzero(rigid & (np.diff(start) > 0)):
        mine = faces[start[b] : start[b + 1]]
        triangles, face = _in_few(points, mine)
        if len(triangles) < len(mine):
            parts.append(triangles)
            own.append(start[b] + face)
            few[b] = count + b
    sizes = np.zeros(count, np.int64)
    sizes[few >= count] = [len(part) for part in parts[1:]]
    return Flats(np.concatenate(parts), np.append(start, len(faces) + np.cumsum(sizes)), few, np.concatenate(own))


def _in_few(points: Floats, faces: Ints) -> tuple[Ints, Ints]:
    """Triangles of one body, with convex flat sides as fans, and for each a face in its plane."""
    normal, neighbour = face_normals(points, faces), face_neighbours(faces)
    turn = np.linalg.norm(np.cross(normal[:, None], normal[neighbour]), axis=2)
    flat = (neighbour >= 0) & (turn <= FLAT) & (np.einsum("fi,fki->fk", normal, normal[neighbour]) > 0.0)
    face, corner = np.nonzero(flat)
    side = labels(len(faces), np.stack([face, neighbour[face, corner]], axis=1))
    order = np.argsort(side, kind="stable")
    first = np.flatnonzero(np.diff(side[order], prepend=-1))
    triangles, own = [], []
    for some in np.split(order, first[1:]):
        fan = _fan(points, faces, some, side, neighbour, normal[some[0]]) if len(some) > 2 else None
        if fan is None or len(fan) >= len(some):
            triangles.append(faces[some])
            own.append(some)
        else:
            triangles.append(fan)
            own.append(np.full(len(fan), some[0]))
    return np.concatenate(triangles), np.concatenate(own)


def _fan(points: Floats, faces: Ints, some: Ints, side: Ints, neighbour: Ints, normal: Floats) -> Ints | None:
    """A fan over the outline of a flat side, or None if that is not one convex loop in one plane."""
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
    corners = np.array(loop)[bend > FLAT]
    k = np.arange(1, len(corners) - 1)
    return np.stack([np.full(len(k), corners[0]), corners[k], corners[k + 1]], axis=1)
