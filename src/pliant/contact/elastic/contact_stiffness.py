"""How stiff a contact is: the load that small motions of the body make while the same nodes touch (theory/quasi-rigid 10).

How much stiffer a response is than the half-space (theory/quasi-rigid 3.4): a sphere pressed into both.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.elastic import lcp
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.grid_squares import Part, Patch
from pliant.contact.elastic.lcp import Solution, dot, solve
from pliant.contact.elastic.operators import Dense, Operator, elastic
from pliant.contact.elastic.response import Boussinesq, Response


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


ACROSS = 8  # nodes per Hertz radius


def hexagonal(spacing: float, half: float) -> tuple[Floats, Floats]:
    """Points (n, 3) of a hexagonal lattice in |x|, |y| <= half with one at the origin, and their areas (n,)."""
    j = np.arange(-math.ceil(2.0 * half / (math.sqrt(3.0) * spacing)) - 1, math.ceil(2.0 * half / (math.sqrt(3.0) * spacing)) + 2)
    i = np.arange(-math.ceil(half / spacing) - 1, math.ceil(half / spacing) + 2)
    x = (i[None] + 0.5 * (j[:, None] % 2)) * spacing
    y = np.broadcast_to(j[:, None] * spacing * math.sqrt(3.0) / 2.0, x.shape)
    inside = (np.abs(x) <= half * (1.0 + 1e-9)) & (np.abs(y) <= half * (1.0 + 1e-9))
    points = np.column_stack([x[inside], y[inside], np.zeros(np.count_nonzero(inside))])
    return points, np.full(len(points), math.sqrt(3.0) / 2.0 * spacing**2)


def hertz(response: Response, radius: float, half: float, across: int = ACROSS) -> Solution:
    """A sphere pressed so deep that its contact with a half-space would have this radius [m]; curvature and depth in units of it."""
    points, areas = hexagonal(radius / across, half * radius)
    q = np.sum(points**2, axis=1) / (2.0 * radius) - radius  # forces are linear in q: any sphere will do
    return solve(elastic(points, areas, response), q)


def stiffening(response: Response, contact_radius: float) -> float:
    """Force with the response over force with Boussinesq's of the same C, for a sphere whose Hertz contact has this radius [m].

    1 for a response that is felt beyond the diameter of the contact, 1.35 for a layer cut at the contact radius, 4.9 for volume
    preservation with b = a.
    """
    if not contact_radius > 0.0:
        raise PliantError(f"contact_radius = {contact_radius}: it must be positive.")
    c = float(np.sum(response.code[0][:, 0]))
    ours, hard = hertz(response, contact_radius, 2.0), hertz(Boussinesq(c), contact_radius, 2.0)
    return float(np.sum(ours.P) / np.sum(hard.P))
