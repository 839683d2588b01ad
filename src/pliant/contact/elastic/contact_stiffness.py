"""How stiff a contact is: the load that small motions of the body make while the same nodes touch (theory/quasi-rigid 10)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic import lcp
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.grid_squares import Part, Patch
from pliant.contact.elastic.lcp import dot
from pliant.contact.elastic.operators import Dense, Operator


def products(a: Floats, b: Floats) -> Floats:
    """a^T b for a few columns; not by BLAS, whose last digits depend on its threads."""
    return np.sum(a[:, :, None] * b[:, None, :], axis=0)


def contact_stiffness(operator: Operator | Floats, contact: np.ndarray, rows: Floats, tolerance: float = 1e-10) -> Floats:
    """J_c^T K_cc^-1 J_c, (m, m): how the load J^T P grows with motions x of the body while the same nodes touch (theory/quasi-rigid 10).

    With rows (n_i, (x_i - c) x n_i) it is the 6 x 6 stiffness of the contact. Terms from turning normals are not in it.
    """
    K = Dense(operator) if isinstance(operator, np.ndarray) else operator
    nodes = np.flatnonzero(contact)
    J = np.asarray(rows, dtype=np.float64).reshape(K.size, -1)[nodes]
    if len(nodes) == 0:
        return np.zeros((J.shape[1], J.shape[1]))
    if len(nodes) <= lcp.ACTIVE_SET and not isinstance(K, Patch | Part):  # those multiply faster than they are factored
        found = Factor.elastic(K.block(nodes)).solve(J)
    else:
        found = np.column_stack([_conjugate_gradients(K, nodes, column, tolerance) for column in J.T])
    stiffness = products(J, found)
    return 0.5 * (stiffness + stiffness.T)


def _conjugate_gradients(K: Operator, nodes: np.ndarray, b: Floats, tolerance: float) -> Floats:
    """K_cc^-1 b by conjugate gradients."""
    x, r, wide = np.zeros(len(b)), b.copy(), np.zeros(K.size)
    t, size = r.copy(), dot(r, r)
    end = tolerance**2 * size
    for _ in range(2000):
        if size <= end:
            break
        wide[nodes] = t
        give = (K @ wide)[nodes]
        step = size / dot(t, give)
        x, r = x + step * t, r - step * give
        before, size = size, dot(r, r)
        t = r + size / before * t
    return x
