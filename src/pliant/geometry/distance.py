"""Distance of points from a triangle surface, and the nearest places on it."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.topology import diagonal

FINEST = 64  # at most so many sample points along an edge
NEAREST = 8  # triangles looked at per point


def distance_to(surface: Surface, at: Floats) -> Floats:
    """Distance of each place from the surface [m], exact to the triangles that own the nearest of dense samples."""
    return nearest_on(surface, at)[1]


def nearest_on(surface: Surface, at: Floats) -> tuple[Floats, Floats]:
    """The place of the surface nearest to each point, and its distance [m]; exact as in `distance_to`."""
    samples, owner = _samples(surface, diagonal(surface.points) / 200.0)
    near = kd_tree(samples).query(at, k=min(NEAREST, len(samples)))[1].reshape(len(at), -1)
    x = surface.points[surface.faces]
    best, away = np.zeros((len(at), 3)), np.full(len(at), np.inf)
    for column in near.T:
        place = _on_triangles(at, x[owner[column]])
        distance = np.linalg.norm(place - at, axis=1)
        closer = distance < away
        best[closer], away[closer] = place[closer], distance[closer]
    return best, away


def _samples(surface: Surface, spacing: float) -> tuple[Floats, Ints]:
    """Points on every triangle, about `spacing` apart, and the triangle of each."""
    x = surface.points[surface.faces]
    longest = np.linalg.norm(np.roll(x, -1, axis=1) - x, axis=2).max(axis=1)
    cuts = np.clip(np.ceil(longest / max(spacing, 1e-300)), 1, FINEST).astype(np.int64)
    points, owner = [], []
    for n in np.unique(cuts):
        chosen = np.nonzero(cuts == n)[0]
        u, v = np.divmod(np.arange((n + 1) ** 2), n + 1)
        weights = np.stack([n - u - v, u, v], axis=1)[u + v <= n] / n
        points.append(np.einsum("sk,mki->msi", weights, x[chosen]).reshape(-1, 3))
        owner.append(np.repeat(chosen, len(weights)))
    return np.concatenate(points), np.concatenate(owner)


def _on_triangles(at: Floats, x: Floats) -> Floats:
    """The place of triangle i nearest to place i: in its plane if it projects inside, else on the nearest edge."""
    a, b, c = x[:, 0], x[:, 1], x[:, 2]
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    inside = np.ones(len(at), dtype=bool)
    best, away = a.copy(), np.full(len(at), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(q - p, at - p), normal) >= 0
        length = np.maximum(np.einsum("ij,ij->i", q - p, q - p), 1e-300)
        place = p + np.clip(np.einsum("ij,ij->i", at - p, q - p) / length, 0.0, 1.0)[:, None] * (q - p)
        distance = np.linalg.norm(at - place, axis=1)
        best[distance < away] = place[distance < away]
        away = np.minimum(away, distance)
    flat = at - (np.einsum("ij,ij->i", at - a, normal) / square)[:, None] * normal
    return np.where(inside[:, None], flat, best)
