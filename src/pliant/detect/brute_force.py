"""Everything against everything: slow, simple, and the oracle that every fast way must agree with."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints

BLOCK = 1 << 20  # pairs looked at together, to bound memory


def box_pairs(low_a: Floats, high_a: Floats, low_b: Floats | None = None, high_b: Floats | None = None) -> Ints:
    """All pairs (k, 2) of overlapping boxes of two sets, or i < j of one; touching counts."""
    one = low_b is None or high_b is None
    lb, hb = (low_a, high_a) if low_b is None or high_b is None else (low_b, high_b)
    rows, out = max(1, BLOCK // max(1, len(lb))), [np.zeros((0, 2), np.int64)]
    for k in range(0, len(low_a), rows):
        la, ha = low_a[k : k + rows, None], high_a[k : k + rows, None]
        i, j = np.nonzero(((la <= hb) & (lb <= ha)).all(axis=2))
        out.append(np.stack([i + k, j], axis=1))
    pairs = np.concatenate(out)
    return pairs[pairs[:, 0] < pairs[:, 1]] if one else pairs


def apart(first: Ints, second: Ints) -> np.ndarray:
    """Which rows have no number in common."""
    return ~(first[:, :, None] == second[:, None, :]).any(axis=(1, 2))


def points_in_tets(points: Floats, tet_points: Floats, tets: Ints, tolerance: float = 1e-12) -> Ints:
    """All pairs (point, tetrahedron), sorted, with the point in the box and no weight below -tolerance; flat ones have no inside."""
    x = tet_points[tets]
    matrix = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)
    edges = np.linalg.norm(x[:, :, None] - x[:, None, :], axis=3).max(axis=(1, 2), initial=0.0)
    solid = np.flatnonzero(np.abs(np.linalg.det(matrix)) > 1e-12 * edges**3)
    inverse = np.linalg.inv(matrix[solid])
    low, high = x[solid].min(axis=1), x[solid].max(axis=1)
    rows, out = max(1, BLOCK // max(1, len(solid))), [np.zeros((0, 2), np.int64)]
    for k in range(0, len(points), rows):
        p = points[k : k + rows, None]
        w = np.einsum("tij,ptj->pti", inverse, p - x[solid, 0])
        weight = np.minimum(w.min(axis=2), 1.0 - w.sum(axis=2))
        i, j = np.nonzero((weight >= -tolerance) & (p >= low).all(axis=2) & (p <= high).all(axis=2))
        out.append(np.stack([i + k, solid[j]], axis=1))
    return np.concatenate(out)
