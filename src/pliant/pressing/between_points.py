"""Triangles between the samples of a cloud, to draw and write it as a surface: each sample's Delaunay neighbours in its tangent plane.

A triangle is taken if two of its corners agree on it [Gopi 2000], and one that a single corner names where it fills a hole between these:
where samples are uneven some lie over others, which pictures do not show.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.detect.surfels.surface import PointSurface
from pliant.kernels import contiguous, kernel

AROUND = 20  # neighbours that are looked at, itself among them
LONG = 3.0  # spacings: edges across holes are none
ALIKE = 0.3  # least cosine between normals of neighbours: the far side of a thin part is none
FAN = 3 * AROUND  # triangles around a sample, at most


def between_points(surface: PointSurface) -> Ints:
    """(m, 3) triangles that face outwards."""
    near = contiguous(surface.graph[:, :AROUND], np.int64)
    found = np.full((len(near), FAN, 3), -1, np.int64)
    _fans(contiguous(surface.points), contiguous(surface.normals), contiguous(surface.spacing), near, found)
    faces = found.reshape(-1, 3)
    faces = faces[faces[:, 0] >= 0]
    first = np.argmin(faces, axis=1)
    faces = np.stack([faces[np.arange(len(faces)), (first + k) % 3] for k in range(3)], axis=1)
    kept, count = np.unique(faces, axis=0, return_counts=True)
    agreed, others = kept[count >= 2], kept[count < 2]
    edges = lambda rows: np.stack([np.minimum(rows, np.roll(rows, -1, axis=1)), np.maximum(rows, np.roll(rows, -1, axis=1))], axis=2)
    names, used = np.unique(edges(agreed).reshape(-1, 2), axis=0, return_counts=True)
    full = names[used >= 2] @ np.array([len(near), 1])
    fills = ~np.isin(edges(others) @ np.array([len(near), 1]), full).any(axis=1)
    return np.asarray(np.concatenate([agreed, others[fills]]), dtype=np.int64)


@kernel
def _fans(points, normals, spacing, near, out):  # type: ignore[no-untyped-def]
    """Triangles of each sample with two neighbours whose circle in its tangent plane holds no other one."""
    x, y, to = np.empty(near.shape[1]), np.empty(near.shape[1]), np.empty(near.shape[1], np.int64)
    for i in range(len(near)):
        n = normals[i]
        k = 0
        if abs(n[2]) < 0.7:
            k = 2
        u = np.zeros(3)
        u[k] = 1.0
        u -= (u[0] * n[0] + u[1] * n[1] + u[2] * n[2]) * n
        u /= np.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        v = np.array([n[1] * u[2] - n[2] * u[1], n[2] * u[0] - n[0] * u[2], n[0] * u[1] - n[1] * u[0]])
        count = 0
        for c in range(near.shape[1]):
            j = near[i, c]
            alike = n[0] * normals[j, 0] + n[1] * normals[j, 1] + n[2] * normals[j, 2]
            d = points[j] - points[i]
            far = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            if j != i and alike > ALIKE and far < (LONG * spacing[i]) ** 2:
                x[count], y[count] = d[0] * u[0] + d[1] * u[1] + d[2] * u[2], d[0] * v[0] + d[1] * v[1] + d[2] * v[2]
                to[count] = j
                count += 1
        made = 0
        for a in range(count):
            for b in range(count):
                area = x[a] * y[b] - y[a] * x[b]
                if area <= 1e-6 * spacing[i] * spacing[i] or made == out.shape[1]:
                    continue
                ra, rb = x[a] * x[a] + y[a] * y[a], x[b] * x[b] + y[b] * y[b]
                cx, cy = 0.5 * (y[b] * ra - y[a] * rb) / area, 0.5 * (x[a] * rb - x[b] * ra) / area
                empty = True
                for c in range(count):
                    if c != a and c != b and x[c] * x[c] + y[c] * y[c] - 2.0 * (x[c] * cx + y[c] * cy) < -1e-9 * (cx * cx + cy * cy):
                        empty = False
                        break
                if empty:
                    out[i, made, 0], out[i, made, 1], out[i, made, 2] = i, to[a], to[b]
                    made += 1
