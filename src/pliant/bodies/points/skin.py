"""The surface that rides on phyxels: each of its points is a fixed weighted sum of them (theory/point-bodies 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.near import kd_tree

SUPPORT = 16  # phyxels that carry a point, and all that are as near as the last of them, so that no tie is broken by rounding
REACH = 1.05  # distances of the last of them at which weights vanish
SEEN = 40  # phyxels looked at
SINGULAR = 1e-7  # relative eigenvalue of M below which a direction is left out: phyxels in a plane


@dataclass(frozen=True)
class Ride:
    """Weighted sums over phyxels, CSR."""

    start: Ints  # (p + 1,)
    node: Ints
    weight: Floats


def ride(points: Floats, phyxels: Floats) -> Ride:
    r"""Bind points (p, 3) to phyxels (m, 3), both at rest.

        x = sum_i b_i x_i,   b_i = w_i p_i^T M^-1 (1, 0, 0, 0),   p_i = (1, X_i - X),   M = sum_i w_i p_i p_i^T

    Weights by moving least squares reproduce every affine motion. The source averages linear predictions of the phyxels near; that gives
    weights of the same kind over some hundreds of phyxels, this over sixteen or a few more. The transpose carries forces back without
    losing force or moment.
    """
    distance, near = kd_tree(phyxels).query(points, k=np.arange(1, min(SEEN, len(phyxels)) + 1), workers=1)
    order = np.argsort(near, axis=1)  # in order of their numbers
    radius = np.maximum(REACH * distance[:, [min(SUPPORT, len(phyxels)) - 1]], 1e-300)
    near, distance = np.take_along_axis(near, order, axis=1), np.take_along_axis(distance, order, axis=1)
    weight = np.maximum(1.0 - (distance / radius) ** 2, 0.0) ** 3
    p = np.ones((*near.shape, 4))
    p[:, :, 1:] = (phyxels[near] - points[:, None]) / radius[:, :, None]
    M = np.einsum("pk,pki,pkj->pij", weight, p, p)
    values, vectors = np.linalg.eigh(M)
    shares = np.divide(1.0, values, out=np.zeros_like(values), where=values > SINGULAR * values[:, -1:])
    first = np.einsum("pij,pj,pj->pi", vectors, shares, vectors[:, 0])
    b = weight * np.einsum("pki,pi->pk", p, first)
    b /= b.sum(axis=1, keepdims=True)
    kept = weight > 0.0
    start = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return Ride(start, near[kept].astype(np.int64), b[kept])
