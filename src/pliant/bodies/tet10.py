r"""Quadratic Bernstein-Bezier tetrahedra: ten control points, linear strain.

Control points: the four corners, then the six edges in the order of TET_EDGES. Edge points pull the edge towards them
and lie on it only where it is straight. At rest the element is straight: edge points are the midpoints.

    x(l) = sum_I B_I(l) b_I,  B = l_m^2 for corners and 2 l_m l_n for edges
    F(l) = sum_m z_m g_m^T,   z_m = 2 sum_k l_k b_(m,k)              (a linear tet in every point, see `tet_blocks`)

Quadrature: four points (l = 0.585, 0.138, 0.138, 0.138 and permutations), weight V/4, exact for polynomials of degree
2. That is what the stiffness at rest is, so it is exact; strains in four points are 24 numbers = 30 - 6 rigid modes, so
there is no spurious zero mode, with the fewest points possible; shape gradients are of degree 1, so the patch test is
passed.

`corotated` has one rotation per element, that of F in the centroid, and the exact K_e (the methods page, section 5):
f = -R K_e (R^T x - x_rest). Where we differ: that force is not the gradient of its energy 1/2 u.K_e u, because R
changes with the nodes, and leaves a torque of second order in the strain. We add what is missing, so that angular
momentum and energy are kept: with S = R^T F_c, T = tr(S) 1 - S, N = sum_q V/4 R^T F_q sigma_q and the axial vector
n = (N_yz - N_zy, ...), a stress R [skew of T^-1 n] in the centroid. The tangent stays R K_e R^T.

Lumped mass density V / 10 per control point: the row sums of M_IJ = density V prod_m C(i_m + j_m, i_m) / 210, all equal
and positive (Lagrange nodes would give -density V / 20 at the corners).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.tets import Tets
from pliant.geometry.mesh import TET_EDGES

NEAR, FAR = (5.0 + 3.0 * np.sqrt(5.0)) / 20.0, (5.0 - np.sqrt(5.0)) / 20.0
POINTS = np.full((4, 4), FAR) + (NEAR - FAR) * np.eye(4)  # barycentric coordinates of the quadrature


def bernstein(barycentric: Floats) -> Floats:
    """Values of the ten shape functions, (n, 10), at barycentric coordinates (n, 4); zeros in one give a face's six."""
    l = np.asarray(barycentric, dtype=np.float64)
    return np.concatenate([l * l, 2.0 * l[:, TET_EDGES[:, 0]] * l[:, TET_EDGES[:, 1]]], axis=1)


def elevated(corners: Floats) -> Floats:
    """Control points (E, 10, 3) of straight tetrahedra with corners (E, 4, 3)."""
    return np.concatenate([corners, corners[:, TET_EDGES].mean(axis=2)], axis=1)


def _control_table() -> Ints:
    """Number of the control point e_m + e_k."""
    table = np.diag(np.arange(4, dtype=np.int64))
    table[TET_EDGES[:, 0], TET_EDGES[:, 1]] = table[TET_EDGES[:, 1], TET_EDGES[:, 0]] = np.arange(4, 10)
    return table


class Tet10(Tets):
    """Quadratic tetrahedra; see `Tets` for the arguments."""

    kind: ClassVar[str] = "tet10"
    corners: ClassVar[int] = 10
    weights: ClassVar[Floats] = 2.0 * np.concatenate([POINTS, np.full((1, 4), 0.25)])
    controls: ClassVar[Ints] = _control_table()
    watched: ClassVar[Floats] = 2.0 * np.concatenate([POINTS, np.eye(4)])

    def _check_rest(self, corners: Floats) -> None:
        straight = elevated(corners[:, :4])
        size = np.ptp(corners[:, :4], axis=1).max(axis=1, initial=0.0)
        bent = np.flatnonzero(np.abs(corners - straight).max(axis=(1, 2), initial=0.0) > 1e-6 * size)
        if bent.size:
            raise PliantError(
                f"{bent.size} quadratic tetrahedra are curved at rest (first: {bent[:5].tolist()}); "
                "edge control points must be edge midpoints at rest; make them with `elevated`"
            )
