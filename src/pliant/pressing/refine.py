"""Triangles cut until no edge is longer than a length: vertices near enough to stand for the surface, and triangles between them."""

from __future__ import annotations

import numpy as np

from pliant.geometry.mesh import Ints, PliantError, Surface

MOST = 4_000_000  # triangles
ROUNDS = 40


def refined(surface: Surface, longest: float) -> Surface:
    """Edges longer than `longest` [m] are halved, with the triangles on both sides, until there are none."""
    points, faces = surface.points, surface.faces
    for _ in range(ROUNDS):
        ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        key, which = np.unique(ends[:, 0] * len(points) + ends[:, 1], return_inverse=True)
        a, b = key // len(points), key % len(points)
        long = np.linalg.norm(points[a] - points[b], axis=1) > longest
        if not long.any():
            return Surface(points, faces)
        middle = np.full(len(key), -1)
        middle[long] = len(points) + np.arange(np.count_nonzero(long))
        points = np.concatenate([points, 0.5 * (points[a[long]] + points[b[long]])])
        faces = _cut(faces, middle[which].reshape(-1, 3))
        if len(faces) > MOST:
            raise PliantError(f"samples {1e3 * longest:.3g} mm apart would take more than {MOST} triangles; choose a larger spacing.")
    return Surface(points, faces)


def _cut(faces: Ints, middle: Ints) -> Ints:
    """Triangles with 0, 1, 2 or 3 of their edges halved (middle: -1 or the new vertex on edges 01, 12, 20)."""
    count = np.count_nonzero(middle >= 0, axis=1)
    out = [faces[count == 0]]
    for number in (1, 2, 3):
        chosen = np.flatnonzero(count == number)
        if len(chosen) == 0:
            continue
        marked = middle[chosen] >= 0
        shift = np.argmin(marked, axis=1) + 1 if number == 2 else np.argmax(marked, axis=1)
        turn = (shift[:, None] + np.arange(3)) % 3
        (a, b, c), (ab, bc, ca) = np.take_along_axis(faces[chosen], turn, 1).T, np.take_along_axis(middle[chosen], turn, 1).T
        if number == 1:
            parts = [(a, ab, c), (ab, b, c)]
        elif number == 2:  # ab and bc are halved
            parts = [(ab, b, bc), (a, ab, bc), (a, bc, c)]
        else:
            parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        out += [np.stack(part, axis=1) for part in parts]
    return np.concatenate(out)
