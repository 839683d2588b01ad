"""Samples of shapes that are known exactly, for the tests of point surfaces."""

from __future__ import annotations

import numpy as np

from pliant.detect.surfels import PointSurface


def fibonacci(count: int) -> np.ndarray:
    """Points spread evenly over the unit sphere."""
    i = np.arange(count) + 0.5
    polar, around = np.arccos(1 - 2 * i / count), np.pi * (1 + np.sqrt(5)) * i
    return np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)


def directions(count: int, seed: int = 0) -> np.ndarray:
    """Random unit vectors."""
    u = np.random.default_rng(seed).normal(size=(count, 3))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def ball(count: int) -> PointSurface:
    """The unit ball, with exact normals and equal areas."""
    x = fibonacci(count)
    return PointSurface(x, x, np.full(count, 4 * np.pi / count))


def cap_removed(count: int, degrees: float) -> PointSurface:
    """The unit ball without the samples around the north pole."""
    x = fibonacci(count)
    x = x[x[:, 2] < np.cos(np.radians(degrees))]
    return PointSurface(x, x, np.full(len(x), 4 * np.pi / count))


def lattice(side: int, spacing: float, z: float = 0.0) -> np.ndarray:
    """A square grid of points around the z axis."""
    i = spacing * (np.arange(side) - 0.5 * (side - 1))
    return np.array([[x, y, z] for x in i for y in i])


def rotation(seed: int) -> np.ndarray:
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def degrees_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.degrees(np.arccos(np.clip(np.einsum("ij,ij->i", a, b), -1, 1)))
