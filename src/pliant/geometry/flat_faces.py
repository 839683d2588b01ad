"""Removing faces without area so that a closed surface stays closed.

A flat face abc, with c on the edge ab, cannot just be dropped: the surface would tear along ab. Instead the neighbour
bad across ab is split at c into bcd and cad, and the flat face disappears; no point moves. On an open edge ab it is
dropped.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from pliant.base import Floats, Ints

FLAT = 1e-12  # twice the area over the square of the longest edge
Face = tuple[int, int, int]


def flatness(points: Floats, faces: Ints) -> Floats:
    """Twice the area over the square of the longest edge: 0.87 for an equilateral triangle, 0 for a line."""
    x = points[faces]
    longest = ((np.roll(x, -1, axis=1) - x) ** 2).sum(axis=2).max(axis=1)
    area = np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    return area / np.maximum(longest, 1e-300)


class _Faces:
    """Faces that can be looked up by edge, and the original face each came from."""

    def __init__(self, faces: Ints, origin: Ints) -> None:
        self.number = count()
        self.rows: dict[int, Face] = {}
        self.origin: dict[int, int] = {}
        self.users: dict[frozenset[int], set[int]] = {}
        for (a, b, c), came in zip(faces.tolist(), origin.tolist(), strict=True):
            self.add((a, b, c), came)

    def add(self, face: Face, came: int) -> int:
        i = next(self.number)
        self.rows[i], self.origin[i] = face, came
        for k in range(3):
            self.users.setdefault(frozenset((face[k], face[k - 1])), set()).add(i)
        return i

    def remove(self, i: int) -> None:
        face = self.rows.pop(i)
        for k in range(3):
            self.users[frozenset((face[k], face[k - 1]))].discard(i)


def without_flat_faces(points: Floats, faces: Ints, origin: Ints) -> tuple[Ints, Ints, int]:
    """The faces, where each came from, and how many flat ones could not be removed."""
    mesh = _Faces(faces, origin)
    waiting = np.nonzero(flatness(points, faces) < FLAT)[0].tolist()
    tries = 4 * len(waiting)  # splitting may make new flat faces; bounded, so that it ends
    left = 0
    while waiting:
        i = waiting.pop(0)
        if i not in mesh.rows:
            continue
        tries -= 1
        new = _remove(points, mesh, i) if tries >= 0 else None
        if new is None:
            left += 1
        else:
            waiting += [j for j in new if flatness(points, np.array([mesh.rows[j]]))[0] < FLAT]
    kept = sorted(mesh.rows)
    rows = np.array([mesh.rows[i] for i in kept], dtype=np.int64).reshape(-1, 3)
    return rows, np.array([mesh.origin[i] for i in kept], dtype=np.int64), left


def _remove(points: Floats, mesh: _Faces, i: int) -> list[int] | None:
    """Remove one flat face; the new faces, or None if it cannot be removed."""
    face = mesh.rows[i]
    k = int(np.argmax([np.linalg.norm(points[face[j]] - points[face[(j + 1) % 3]]) for j in range(3)]))
    a, b, c = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
    others = mesh.users[frozenset((a, b))] - {i}
    if len(others) > 1:
        return None
    mesh.remove(i)
    if not others:
        return []
    other = others.pop()
    neighbour, came = mesh.rows[other], mesh.origin[other]
    mesh.remove(other)
    d = next(v for v in neighbour if v not in (a, b))
    if d == c:  # two flat faces back to back close each other
        return []
    same_sense = neighbour[(neighbour.index(a) + 1) % 3] == b
    halves: list[Face] = [(c, b, d), (a, c, d)] if same_sense else [(b, c, d), (c, a, d)]
    return [mesh.add(half, came) for half in halves]
