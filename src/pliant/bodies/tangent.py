"""The positive semi-definite tangent dP/dF of the built-in laws at one point, for use inside kernels.

Every isotropic law has the same tangent in the frame of its singular vectors F = U diag(s) V^T: a 3x3 matrix between
the diagonal entries and one 2x2 matrix per off-diagonal pair (Smith, De Goes, Kim 2019, "Analytic Eigensystems for
Isotropic Distortion Energies"). Clamping their eigenvalues at zero projects the whole 9x9 matrix to the nearest
positive semi-definite one. For `linear` and `corotated` the frame is U = R, V = 1 and nothing is negative.

A tangent is (U, V, second, same, swap): dP = U dP' V^T, dF' = U^T dF V,
dP'_ii = sum_j second_ij dF'_jj and dP'_ij = same_ij dF'_ij + swap_ij dF'_ji.
Entries of `second` are ordered 00, 11, 22, 01, 02, 12; pairs 01, 02, 12.
"""

from __future__ import annotations

import math

from pliant.bodies.lanes import COROTATED, STVK
from pliant.bodies.laws import neo_hookean, stvk
from pliant.bodies.matrix3 import IDENTITY, product, transposed
from pliant.bodies.polar import signed_svd
from pliant.kernels import inline


@inline
def projected(a):  # type: ignore[no-untyped-def]
    """The symmetric matrix (00, 11, 22, 01, 02, 12) without its negative eigenvalues, unchanged if it has none.

    Shifted by its norm the matrix is positive, so that its singular vectors are its eigenvectors.
    """
    d, e, f = a[3], a[4], a[5]
    shift = math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + 2.0 * (d * d + e * e + f * f))
    _, s, v = signed_svd((a[0] + shift, d, e, d, a[1] + shift, f, e, f, a[2] + shift))
    if s[2] >= shift:
        return a
    p, q, r = max(s[0] - shift, 0.0), max(s[1] - shift, 0.0), max(s[2] - shift, 0.0)
    return (
        p * v[0] * v[0] + q * v[1] * v[1] + r * v[2] * v[2],
        p * v[3] * v[3] + q * v[4] * v[4] + r * v[5] * v[5],
        p * v[6] * v[6] + q * v[7] * v[7] + r * v[8] * v[8],
        p * v[0] * v[3] + q * v[1] * v[4] + r * v[2] * v[5],
        p * v[0] * v[6] + q * v[1] * v[7] + r * v[2] * v[8],
        p * v[3] * v[6] + q * v[4] * v[7] + r * v[5] * v[8],
    )


@inline
def tangent(law, f, r, lam, mu):  # type: ignore[no-untyped-def]
    """The tangent at F; r is the rotation for `linear` (1) and `corotated`, not used by the others."""
    if law <= COROTATED:
        k = lam + 2.0 * mu
        return r, IDENTITY, (k, k, k, lam, lam, lam), (mu, mu, mu), (mu, mu, mu)
    u, s, v = signed_svd(f)
    if law == STVK:
        second, symmetric, skew = stvk.principal(s, lam, mu)
    else:
        second, symmetric, skew = neo_hookean.principal(s, lam, mu)
    a, b, c = max(symmetric[0], 0.0), max(symmetric[1], 0.0), max(symmetric[2], 0.0)
    x, y, z = max(skew[0], 0.0), max(skew[1], 0.0), max(skew[2], 0.0)
    same = (0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z))
    swap = (0.5 * (a - x), 0.5 * (b - y), 0.5 * (c - z))
    return u, v, projected(second), same, swap


@inline
def tangent_times(t, d):  # type: ignore[no-untyped-def]
    """dP for the change d of F."""
    u, v, second, same, swap = t
    m = product(product(transposed(u), d), v)
    changed = (
        second[0] * m[0] + second[3] * m[4] + second[4] * m[8],
        same[0] * m[1] + swap[0] * m[3],
        same[1] * m[2] + swap[1] * m[6],
        same[0] * m[3] + swap[0] * m[1],
        second[3] * m[0] + second[1] * m[4] + second[5] * m[8],
        same[2] * m[5] + swap[2] * m[7],
        same[1] * m[6] + swap[1] * m[2],
        same[2] * m[7] + swap[2] * m[5],
        second[4] * m[0] + second[5] * m[4] + second[2] * m[8],
    )
    return product(product(u, changed), transposed(v))


@inline
def tangent_block(t, g, h):  # type: ignore[no-untyped-def]
    """K_ij = sum_kl g_k (dP_ik / dF_jl) h_l, with g and h already turned by V^T."""
    u, _, second, same, swap = t
    m = (
        second[0] * g[0] * h[0] + same[0] * g[1] * h[1] + same[1] * g[2] * h[2],
        second[3] * g[0] * h[1] + swap[0] * g[1] * h[0],
        second[4] * g[0] * h[2] + swap[1] * g[2] * h[0],
        second[3] * g[1] * h[0] + swap[0] * g[0] * h[1],
        second[1] * g[1] * h[1] + same[0] * g[0] * h[0] + same[2] * g[2] * h[2],
        second[5] * g[1] * h[2] + swap[2] * g[2] * h[1],
        second[4] * g[2] * h[0] + swap[1] * g[0] * h[2],
        second[5] * g[2] * h[1] + swap[2] * g[1] * h[2],
        second[2] * g[2] * h[2] + same[1] * g[0] * h[0] + same[2] * g[1] * h[1],
    )
    return product(product(u, m), transposed(u))
