"""Stiffness blocks and stretch of tetrahedra of any built-in law, element by element."""

from __future__ import annotations

import math

from pliant.bodies.lanes import COROTATED
from pliant.bodies.matrix3 import IDENTITY, determinant, product, transposed
from pliant.bodies.polar import fast_rotation, signed_svd
from pliant.bodies.tangent import tangent, tangent_block
from pliant.kernels import inline, kernel, parallel, prange, sub


@kernel
def _svd_rotation(f):  # type: ignore[no-untyped-def]
    u, _, v = signed_svd(f)
    return product(u, transposed(v))


@inline
def _tet_of_point(x, nodes, e, weights, controls, point, m):  # type: ignore[no-untyped-def]
    """Corner m of the linear tet of an evaluation point, see `tet_blocks`."""
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
                    r = _svd_rotation(f)
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
