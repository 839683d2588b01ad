"""Triangles cut until no edge is longer than a length, and how the new vertices ride on the old ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.mesh import Surface
from pliant.geometry.topology import unique_edges
from pliant.kernels import kernel

MOST = 4_000_000  # triangles
ROUNDS = 40


@dataclass(frozen=True)
class Subdivision:
    """A finer surface whose vertices are weighted sums of those of the coarse one, at most three each; the coarse ones come first."""

    surface: Surface
    corner: Ints  # (n, 3) coarse vertices; those with weight 0 repeat the first
    weight: Floats  # (n, 3) sum to one


def subdivided(surface: Surface, longest: float | Callable[[Floats], Floats]) -> Subdivision:
    """Edges longer than `longest` [m] are halved, with the triangles on both sides, until there are none; it may depend on where
    the middles (n, 3) of edges are."""
    points, faces, coarse = surface.points, surface.faces, len(surface.points)
    parents = [np.zeros((0, 2), np.int64)]
    for _ in range(ROUNDS):
        pair, which = unique_edges(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2))
        limit = longest(0.5 * (points[pair[:, 0]] + points[pair[:, 1]])) if callable(longest) else longest
        long = np.linalg.norm(points[pair[:, 0]] - points[pair[:, 1]], axis=1) > limit
        if not long.any():
            break
        middle = np.full(len(pair), -1)
        middle[long] = len(points) + np.arange(np.count_nonzero(long))
        parents.append(pair[long])
        points = np.concatenate([points, 0.5 * (points[pair[long, 0]] + points[pair[long, 1]])])
        faces = _cut(faces, middle[which].reshape(-1, 3))
        if len(faces) > MOST:
            least = 1e3 * float(np.min(limit))
            raise PliantError(f"points {least:.3g} mm apart would take more than {MOST} triangles; choose a larger spacing.")
    corner, weight = np.zeros((len(points), 3), np.int64), np.zeros((len(points), 3))
    corner[:coarse], weight[:coarse, 0] = np.arange(coarse)[:, None], 1.0
    _ride(np.concatenate(parents), coarse, corner, weight)
    return Subdivision(Surface(points, faces), corner, weight)


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


@kernel
def _ride(parents, first, corner, weight):  # type: ignore[no-untyped-def]
    """Weights of each new vertex: the mean of those of its two parents, which lie in one coarse triangle."""
    for k in range(len(parents)):
        used, new = 0, first + k
        for side in range(2):
            old = parents[k, side]
            for c in range(3):
                if weight[old, c] == 0.0:
                    continue
                place = 0
                while place < used and corner[new, place] != corner[old, c]:
                    place += 1
                corner[new, place] = corner[old, c]
                weight[new, place] += 0.5 * weight[old, c]
                used = max(used, place + 1)
        for c in range(used, 3):
            corner[new, c] = corner[new, 0]
