"""Stiffness blocks and stretch of tetrahedra of any built-in law, element by element (theory/elements 4.1, 4.2).

Every isotropic law has the same tangent in the frame of its singular vectors F = U diag(s) V^T: a 3x3 matrix between
the diagonal entries and one 2x2 matrix per off-diagonal pair (Smith, De Goes, Kim 2019, "Analytic Eigensystems for
Isotropic Distortion Energies"; theory/elements 4.5). Clamping their eigenvalues at zero projects the whole 9x9 matrix to the nearest
positive semi-definite one. For `linear` and `corotated` the frame is U = R, V = 1 and nothing is negative.

A tangent is (U, V, second, same, swap): dP = U dP' V^T, dF' = U^T dF V,
dP'_ii = sum_j second_ij dF'_jj and dP'_ij = same_ij dF'_ij + swap_ij dF'_ji.
Entries of `second` are ordered 00, 11, 22, 01, 02, 12; pairs 01, 02, 12.
"""

from __future__ import annotations

import math

from pliant.bodies.fem.blocks import COROTATED, STVK
from pliant.bodies.fem.laws import neo_hookean, stvk
from pliant.bodies.matrix3 import IDENTITY, determinant, fast_rotation, product, projected, signed_svd, svd_rotation, transposed
from pliant.kernels import inline, kernel, parallel, prange, sub


@inline
def _tet_of_point(x, nodes, e, weights, controls, point, m):  # type: ignore[no-untyped-def]
    """Corner m of the linear tet of an evaluation point, see `blocks`."""
    if weights.shape[0] == 1:
        node = nodes[e, m]
        return x[node, 0], x[node, 1], x[node, 2]
    a, b, c = 0.0, 0.0, 0.0
    for k in range(4):
        node = nodes[e, controls[m, k]]
        w = weights[point, k]
        a += w * x[node, 0]
        b += w * x[node, 1]
        c += w * x[node, 2]
    return a, b, c


@inline
def _gradient_at(x, nodes, e, weights, controls, point, inverse):  # type: ignore[no-untyped-def]
    """F in an evaluation point of an element."""
    a = _tet_of_point(x, nodes, e, weights, controls, point, 0)
    p = sub(_tet_of_point(x, nodes, e, weights, controls, point, 1), a)
    q = sub(_tet_of_point(x, nodes, e, weights, controls, point, 2), a)
    r = sub(_tet_of_point(x, nodes, e, weights, controls, point, 3), a)
    edges = (p[0], q[0], r[0], p[1], q[1], r[1], p[2], q[2], r[2])
    return product(edges, _inverse_at(inverse, e))


@inline
def _inverse_at(inverse, e):  # type: ignore[no-untyped-def]
    return (
        inverse[0, e],
        inverse[1, e],
        inverse[2, e],
        inverse[3, e],
        inverse[4, e],
        inverse[5, e],
        inverse[6, e],
        inverse[7, e],
        inverse[8, e],
    )


@inline
def _point_blocks(t, b, w, small):  # type: ignore[no-untyped-def]
    """small[m, n] = w K_mn of the linear tet with tangent t, all sixteen blocks."""
    g = product(b, t[1])  # rows: V^T g_1..3
    grads = (
        (-(g[0] + g[3] + g[6]), -(g[1] + g[4] + g[7]), -(g[2] + g[5] + g[8])),
        (g[0], g[1], g[2]),
        (g[3], g[4], g[5]),
        (g[6], g[7], g[8]),
    )
    for m in range(4):
        for n in range(m, 4):
            k = tangent_block(t, grads[m], grads[n])
            for i in range(3):
                for j in range(3):
                    small[m, n, i, j] = w * k[3 * i + j]
                    small[n, m, j, i] = small[m, n, i, j]


@inline
def _add_spread(small, weights, controls, point, corners, out):  # type: ignore[no-untyped-def]
    """Add the blocks of a point to the upper blocks of its element."""
    if weights.shape[0] == 1:
        at = 0
        for m in range(4):
            for n in range(m, 4):
                for i in range(3):
                    for j in range(3):
                        out[at, i, j] += small[m, n, i, j]
                at += 1
        return
    for m in range(4):
        for k in range(4):
            a = controls[m, k]
            for n in range(4):
                for l in range(4):
                    b = controls[n, l]
                    if a <= b:
                        at = a * corners - a * (a - 1) // 2 + (b - a)
                        w = weights[point, k] * weights[point, l]
                        for i in range(3):
                            for j in range(3):
                                out[at, i, j] += w * small[m, n, i, j]


@parallel
def stiffness(law, nodes, inverse, volume, lam, mu, weights, controls, x, out, scratch):  # type: ignore[no-untyped-def]
    """Blocks of the projected tangent; see `Elements.stiffness`. scratch is (chunks, 4, 4, 3, 3)."""
    chunks = scratch.shape[0]
    count, corners = nodes.shape
    centre = weights.shape[0] - 1
    points = max(centre, 1)
    for chunk in prange(chunks):
        small = scratch[chunk]
        for e in range(chunk * count // chunks, (chunk + 1) * count // chunks):
            b = _inverse_at(inverse, e)
            r = IDENTITY
            if law == COROTATED:
                f = _gradient_at(x, nodes, e, weights, controls, centre, inverse)
                r, good = fast_rotation(f)
                if not good:
                    r = svd_rotation(f)
            out[e] = 0.0
            for q in range(points):
                f = _gradient_at(x, nodes, e, weights, controls, q, inverse)
                t = tangent(law, f, r, lam[e], mu[e])
                _point_blocks(t, b, volume[e] / points, small)
                _add_spread(small, weights, controls, q, corners, out[e])


@kernel
def least_stretch(nodes, inverse, weights, controls, x, out):  # type: ignore[no-untyped-def]
    """Smallest det F over the given points of each element."""
    for e in range(nodes.shape[0]):
        least = math.inf
        for q in range(weights.shape[0]):
            least = min(least, determinant(_gradient_at(x, nodes, e, weights, controls, q, inverse)))
        out[e] = least


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
    same, swap = projected_pairs(symmetric, skew)
    return u, v, projected(second), same, swap


@inline
def projected_pairs(symmetric, skew):  # type: ignore[no-untyped-def]
    """`same` and `swap` of a tangent, from the eigenvalues of its pairs that are not negative."""
    a, b, c = max(symmetric[0], 0.0), max(symmetric[1], 0.0), max(symmetric[2], 0.0)
    x, y, z = max(skew[0], 0.0), max(skew[1], 0.0), max(skew[2], 0.0)
    return (0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z)), (0.5 * (a - x), 0.5 * (b - y), 0.5 * (c - z))


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
