"""Pressure to look at, from forces of nodes (theory/quasi-rigid 4.6)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from pliant.base import Bools, Floats
from pliant.geometry.near import kd_tree

NEIGHBOURS = 48  # nodes within four spacings of a point of a surface


def covered(points: Floats, areas: Floats, contact: Bools) -> Floats:
    """(n,) part of each node's area that is in contact, where nodes of two surfaces carry forces and have half of theirs (mode merged).

    Blurred by a Gaussian of variance A, the loaded area is Phi(x/sqrt A) at a distance x from its rim; the square of the node goes from
    -sqrt A/2 to sqrt A/2. Forces are spread over twice that area, whose square reaches beyond by sqrt(A/2) - sqrt A/2.
    """
    beyond = math.sqrt(0.5) - 0.5
    loaded = pressure(points, areas, areas * contact)
    part = np.clip(loaded / np.median(loaded[contact]), 1e-12, 1.0 - 1e-12)
    return np.clip(0.5 + ndtri(part) + beyond, 0.0, 1.0)


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
