"""The bare formulas of non-iterative contact forces, on arrays: the oracle that steps are compared with (theory/noniterative 5).

moment:  f_i = d_i / (dt^2 D_i),  D_i = q_i w_i + sum_j h_ij q_j w_j, f_ij = -h_ij f_i                     (theory/noniterative 5.4)
paper:   what the method itself computes. Forces are accumulated over all collisions, so they are in equilibrium for any mesh, any masses
and any set of collisions.
"""

import numpy as np

from pliant.contact.noniterative import Closure, crowding, paper, share_of


def moment(point, corners, weights, inverse):
    """With the reaction spread by h itself: resultants meet at the contact point."""
    q = crowding(point, corners, weights, len(inverse))
    own, other = q[point] * inverse[point], (weights * (q * inverse)[corners]).sum(axis=1)
    return Closure(own + other, weights, share_of(own, own + other))


def forces(point, corners, way, closure, dt, count):
    """Forces on all vertices [N], (count, 3), accumulated over collisions that are to move along `way` [m], (c, 3)."""
    scale = np.divide(1.0, dt**2 * closure.give, out=np.zeros_like(closure.give), where=closure.give > 0.0)
    f = scale[:, None] * way
    out = np.zeros((count, 3))
    np.add.at(out, point, f)
    np.add.at(out, corners, -closure.shares[:, :, None] * f[:, None, :])
    return out


def closed_form(point, corners, weights, way, inverse, dt):
    """F_i = m_i alpha_i d_i / dt^2 (eq 4) of the colliding points, (c, 3): not in equilibrium without `ghost_correction`."""
    return (paper(point, corners, weights, inverse).alpha / inverse[point])[:, None] * way / dt**2


def ghost_correction(point, corners, weights, way, inverse, dt):
    """What (4) lacks of the accumulated force at each colliding point, one collision per point (theory/noniterative 5.3), (c, 3):

    dF_i = -(c_i m_i / dt^2) sum_{j: i in T_j} h_ji [(1 - alpha_j) (d_j + d_i) - (1 - alpha_i - alpha_j) d_i].
    """
    q, alpha = crowding(point, corners, weights, len(inverse)), paper(point, corners, weights, inverse).alpha
    row_of = np.full(len(inverse), -1)
    row_of[point] = np.arange(len(point))
    j, k = np.nonzero((weights > 0.0) & (row_of[corners] >= 0))
    i = row_of[corners[j, k]]
    term = (1.0 - alpha[j])[:, None] * (way[j] + way[i]) - (1.0 - alpha[i] - alpha[j])[:, None] * way[i]
    out = np.zeros_like(way)
    np.add.at(out, i, -(weights[j, k] / (q[point[i]] * inverse[point[i]]))[:, None] * term / dt**2)
    return out
