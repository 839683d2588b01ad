"""Faces with more than three corners, cut into triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.raw import damaged


def triangulated(points: Floats, corners: Ints, counts: Ints, path: Path, lines: Ints | None = None) -> tuple[Ints, list[str]]:
    """Triangles in the order of the polygons, and notices; `corners` holds all polygons one after the other."""
    start = np.cumsum(counts) - counts
    outside = (corners < 0) | (corners >= len(points))
    if outside.any():
        bad = int(np.nonzero(outside)[0][0])
        face = int(np.searchsorted(start, bad, side="right")) - 1
        raise damaged(
            path,
            f"face {face} (counted from 0) uses vertex {corners[bad]} (counted from 0), but the file has {len(points)} vertices",
            int(lines[face]) if lines is not None else None,
        )
    notices = []
    if (counts < 3).any():
        few = np.nonzero(counts < 3)[0]
        notices.append(f"{len(few)} faces with fewer than three corners were left out (first: face {few[0]}).")
    if (counts > 3).any():
        notices.append(f"{int((counts > 3).sum())} faces with more than three corners were cut into triangles.")
    cut = np.maximum(counts - 2, 0)
    to = np.cumsum(cut) - cut
    out = np.zeros((int(cut.sum()), 3), dtype=np.int64)
    three = counts == 3
    out[to[three]] = corners[start[three, None] + np.arange(3)]
    four = counts == 4
    out[to[four, None] + np.arange(2)] = _quads(points, corners[start[four, None] + np.arange(4)])
    for polygon in np.nonzero(counts > 4)[0]:
        ring = corners[start[polygon] : start[polygon] + counts[polygon]]
        out[to[polygon] : to[polygon] + cut[polygon]] = _ears(points, ring)
    return out, notices


def _quads(points: Floats, quads: Ints) -> Ints:
    """Two triangles each, along the diagonal whose two triangles agree best about the normal."""
    first = quads[:, [[0, 1, 2], [0, 2, 3]]]
    second = quads[:, [[0, 1, 3], [1, 2, 3]]]

    def agreement(pair: Ints) -> Floats:
        x = points[pair]
        n = np.cross(x[:, :, 1] - x[:, :, 0], x[:, :, 2] - x[:, :, 0])
        n /= np.maximum(np.linalg.norm(n, axis=2, keepdims=True), 1e-300)
        return np.einsum("ij,ij->i", n[:, 0], n[:, 1])

    better = agreement(second) > agreement(first) + 1e-6
    return np.where(better[:, None, None], second, first)


def _ears(points: Floats, ring: Ints) -> Ints:
    """Ear clipping in the plane of the polygon's mean (Newell) normal; a fan where no ear is left."""
    x = points[ring]
    after = np.roll(x, -1, axis=0)
    normal = np.cross(x, after).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    plane = np.delete(x, drop, axis=1)
    if (normal[drop] < 0) != (drop == 1):  # leaving out y mirrors the plane
        plane[:, 0] *= -1.0
    left = list(range(len(ring)))
    out = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = plane[[i for i in left if i not in (a, b, c)]]
            if _turn(plane[a], plane[b], plane[c]) > 0 and not _inside(plane[a], plane[b], plane[c], others):
                break
        else:
            k, (a, b, c) = 1, left[:3]
        out.append((a, b, c))
        del left[k]
    return ring[np.array([*out, tuple(left)])]


def _turn(a: Floats, b: Floats, c: Floats) -> Floats:
    """Twice the signed area of abc."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def _inside(a: Floats, b: Floats, c: Floats, others: Floats) -> bool:
    return bool(((_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)).any())
