"""Pressure from nodal forces: smoothed for maps, and carried from coarse nodes to finer ones (2.2 and 2.9 of the methods page)."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree

from pliant.base import Floats

NEIGHBOURS = 48  # nodes within four spacings of a point of a surface
CORNERS = 6  # coarse nodes that a fine one takes its pressure from


def pressure(points: Floats, areas: Floats, force: Floats, at: Floats | None = None) -> Floats:
    """Pressure [Pa] at points, or at the nodes: p(x) = sum_j P_j N(x - x_j; A_j), with N the plane Gaussian of variance A.

    P / A scatters on uneven nodes (9 % rms at eight nodes a contact radius); this does half as much, and blurs by a spacing.
    """
    at = points if at is None else np.asarray(at, dtype=np.float64).reshape(-1, 3)
    areas = np.broadcast_to(areas, (len(points),))
    distance, near = cKDTree(points).query(at, k=min(NEIGHBOURS, len(points)), workers=1)
    distance, near = distance.reshape(len(at), -1), near.reshape(len(at), -1)
    variance = areas[near]
    return np.sum(force[near] * np.exp(-0.5 * distance**2 / variance) / (2.0 * math.pi * variance), axis=1)


def carried(points: Floats, areas: Floats, force: Floats, finer: Floats, finer_areas: Floats) -> Floats:
    """Forces [N] on finer nodes with the pressure of coarse ones, by Shepard's weights 1/d^2: a start for `solve`."""
    distance, near = cKDTree(points).query(finer, k=min(CORNERS, len(points)), workers=1)
    distance, near = distance.reshape(len(finer), -1), near.reshape(len(finer), -1)
    weight = 1.0 / np.maximum(distance**2, 1e-12 * np.max(distance**2, initial=1e-300))
    coarse = (force / np.broadcast_to(areas, (len(points),)))[near]
    return np.broadcast_to(finer_areas, (len(finer),)) * np.sum(weight * coarse, axis=1) / np.sum(weight, axis=1)
