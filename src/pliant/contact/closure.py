"""The bare formulas of non-iterative contact forces, on arrays: which force closes all gaps at once, on average.

Spillmann, Becker and Teschner (section 3 of the methods page). Collision i is a point and a place h_ij on a triangle of the body it is in;
d_i moves the point out. With s_v the sum of all h at vertex v and chi_v the number of its own collisions,
    q_v = chi_v + s_v,  c_v = 1 / q_v,  S_i = sum_j c_j h_ij m_j,  alpha_i = S_i / (c_i m_i + S_i).
paper:   f_i = d_i / (dt^2 D_i),  D_i = q_i w_i + 1 / S_i,            f_ij = -(c_j h_ij m_j / S_i) f_i     (eqs 1-3, any subset of points)
moment:  f_i = d_i / (dt^2 D_i),  D_i = q_i w_i + sum_j h_ij q_j w_j, f_ij = -h_ij f_i                     (3.3, no ghost torque)
Forces are accumulated over all collisions, so they are in equilibrium for any mesh, any masses and any set of collisions. Everything is
written with w = 1 / m, which is 0 where a vertex is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints


@dataclass(frozen=True)
class Closure:
    """How each collision is closed: force on the point is d / (dt^2 give), on triangle vertex j minus share_j of it."""

    give: Floats  # [1/kg] (c,) D
    shares: Floats  # (c, 3) sum one
    alpha: Floats  # (c,) part of the gap that the point closes


def crowding(point: Ints, corners: Ints, weights: Floats, count: int) -> Floats:
    """q_v = chi_v + s_v of each of `count` vertices: how many collisions share it, (count,)."""
    own = np.bincount(point, minlength=count).astype(np.float64)
    return own + np.bincount(corners.ravel(), weights.ravel(), minlength=count)


def paper(point: Ints, corners: Ints, weights: Floats, inverse: Floats) -> Closure:
    """As published. A fixed vertex of the triangle has S = infinity and takes all of the reaction (3.4)."""
    q = crowding(point, corners, weights, len(inverse))
    w, share = inverse[corners], np.divide(weights, q[corners], out=np.zeros_like(weights), where=weights > 0.0)  # c h
    fixed = ((w == 0.0) & (weights > 0.0)).any(axis=1)
    heavy = np.where(fixed[:, None], share * (w == 0.0), np.divide(share, w, out=np.zeros_like(w), where=w > 0.0))
    total = heavy.sum(axis=1)  # S, or the sum of c h over what is fixed
    own, other = q[point] * inverse[point], np.where(fixed, 0.0, 1.0 / total)
    return Closure(own + other, heavy / total[:, None], _share(own, own + other))


def moment(point: Ints, corners: Ints, weights: Floats, inverse: Floats) -> Closure:
    """With the reaction spread by h itself: resultants meet at the contact point."""
    q = crowding(point, corners, weights, len(inverse))
    own, other = q[point] * inverse[point], (weights * (q * inverse)[corners]).sum(axis=1)
    return Closure(own + other, weights, _share(own, own + other))


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0.0)


def forces(point: Ints, corners: Ints, way: Floats, closure: Closure, dt: float, count: int) -> Floats:
    """Forces on all vertices [N], (count, 3), accumulated over collisions that are to move along `way` [m], (c, 3)."""
    scale = np.divide(1.0, dt**2 * closure.give, out=np.zeros_like(closure.give), where=closure.give > 0.0)
    f = scale[:, None] * way
    out = np.zeros((count, 3))
    np.add.at(out, point, f)
    np.add.at(out, corners, -closure.shares[:, :, None] * f[:, None, :])
    return out


def closed_form(point: Ints, corners: Ints, weights: Floats, way: Floats, inverse: Floats, dt: float) -> Floats:
    """F_i = m_i alpha_i d_i / dt^2 (eq 4) of the colliding points, (c, 3): not in equilibrium without `ghost_correction`."""
    return (paper(point, corners, weights, inverse).alpha / inverse[point])[:, None] * way / dt**2


def ghost_correction(point: Ints, corners: Ints, weights: Floats, way: Floats, inverse: Floats, dt: float) -> Floats:
    """What (4) lacks of the accumulated force at each colliding point, one collision per point (3.2), (c, 3):

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
