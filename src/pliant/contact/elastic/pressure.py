"""Pressure to look at, from forces of nodes (theory/quasi-rigid 4.6)."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Bools, Floats
from pliant.contact.elastic.gaussian_blobs import WIDTH
from pliant.geometry.near import kd_tree

NEIGHBOURS = 48  # nodes within four spacings of a point of a surface


def share_of(points: Floats, areas: Floats, force: Floats) -> Floats:
    """(n,) [N] the share of each node in the forces around it, where nodes of two surfaces carry them and have half of their areas (mode
    merged): the pressure as blobs of their whole areas feel it (gaussian_blobs.py), times its own area."""
    return areas * pressure(points, 2.0 * WIDTH**2 * areas, force)


def touching(points: Floats, areas: Floats, force: Floats, s: Floats, diagonal: Floats) -> Bools:
    """(n,) whether nodes of two surfaces touch (mode merged): P - s / K_ii > 0 as of active sets (lcp.py), with P the share in the forces
    around. Of neighbours only the sum of forces is determined, and one without any may touch as the others do."""
    return share_of(points, areas, force) - s / diagonal > 0.0


def pressure(points: Floats, areas: Floats, force: Floats, at: Floats | None = None) -> Floats:
    """Pressure [Pa] at points, or at the nodes: p(x) = sum_j P_j N(x - x_j; A_j), with N the plane Gaussian of variance A.

    P / A scatters on uneven nodes (9 % rms at eight nodes a contact radius); this does half as much, and blurs by a spacing.
    """
    at = points if at is None else np.asarray(at, dtype=np.float64).reshape(-1, 3)
    areas = np.broadcast_to(areas, (len(points),))
    distance, near = kd_tree(points).query(at, k=min(NEIGHBOURS, len(points)), workers=1)
    distance, near = distance.reshape(len(at), -1), near.reshape(len(at), -1)
    variance = areas[near]
    return np.sum(force[near] * np.exp(-0.5 * distance**2 / variance) / (2.0 * math.pi * variance), axis=1)
