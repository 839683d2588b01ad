"""Forces, energies and stiffness of tetrahedra of any built-in law, linear or quadratic, in three kernels.

At an evaluation point a quadratic Bernstein-Bezier tet has the deformation gradient of a *linear* tet whose corners are
z_m = 2 sum_k l_k b_(m,k), with l the barycentric coordinates of the point and b_(m,k) the control point of e_m + e_k
(de Casteljau). So everything is written for linear tets; `weights` (2 l per point) and `controls` (which control point
is (m, k)) carry positions there and forces and stiffness back. A linear tet is its own single point.
"""

from __future__ import annotations

import math

from pliant.bodies.lanes import (
    COROTATED,
    LAM,
    LANES,
    LINEAR,
    MU,
    OUT,
    RATE,
    SPIN,
    STVK,
    TET,
    TRUSTED,
    VOLUME,
    WORK,
    B,
    F,
    P,
    R,
    V,
    X,
    copy,
    corners_of_point,
    fill,
    gather_spin,
    gradient,
    hooke_stress,
    matrix,
    neo_hookean_stress,
    point_energy,
    put,
    rotations,
    spin_stress,
    spread_point,
    stvk_stress,
    tet_forces,
)
from pliant.bodies.matrix3 import IDENTITY, combined, determinant, product, transposed
from pliant.bodies.polar import newton_rotation, signed_svd
from pliant.bodies.tangent import tangent, tangent_block, tangent_times
from pliant.kernels import inline, kernel, parallel, prange


@kernel
def _svd_rotation(f):  # type: ignore[no-untyped-def]
    u, _, v = signed_svd(f)
    return product(u, transposed(v))


@kernel
def _tangent_at(law, f, r, lam, mu):  # type: ignore[no-untyped-def]
    return tangent(law, f, r, lam, mu)


@inline
def _gather(s, source, nodes, x, scale, scaled, first, count):  # type: ignore[no-untyped-def]
    """Control points of a block into its lanes, times a number per element if scaled."""
    for k in range(LANES):
        e = first + k if k < count else first
        w = scale[e] if scaled else 1.0
        for a in range(nodes.shape[1]):
            node = nodes[e, a]
            for i in range(3):
                s[(source + 3 * a + i) * LANES + k] = w * x[node, i]


@inline
def _gather_material(s, inverse, volume, lam, mu, first, count):  # type: ignore[no-untyped-def]
    if count == LANES:
        for i in range(9):
            for k in range(LANES):
                s[(B + i) * LANES + k] = inverse[i, first + k]
        for k in range(LANES):
            s[VOLUME * LANES + k] = volume[first + k]
            s[LAM * LANES + k] = lam[first + k]
            s[MU * LANES + k] = mu[first + k]
        return
    for k in range(LANES):
        e = first + k if k < count else first
        for i in range(9):
            s[(B + i) * LANES + k] = inverse[i, e]
        s[VOLUME * LANES + k] = volume[e]
        s[LAM * LANES + k] = lam[e]
        s[MU * LANES + k] = mu[e]


@kernel
def _gradient(s, source, point, weights, controls):  # type: ignore[no-untyped-def]
    """F = gradient of the control points at `source` in an evaluation point."""
    if weights.shape[0] > 1:
        corners_of_point(s, source, weights[point], controls)
        gradient(s, TET)
    elif source == X:
        gradient(s, X)
    else:
        gradient(s, V)


@kernel
def _forces(s, share, point, weights, controls):  # type: ignore[no-untyped-def]
    """Add the forces of the stress P in an evaluation point to OUT; of linear tets leave them in TET."""
    tet_forces(s, share)
    if weights.shape[0] > 1:
        spread_point(s, weights[point], controls)


@inline
def _rotations(s):  # type: ignore[no-untyped-def]
    rotations(s)
    for k in range(LANES):
        if s[TRUSTED * LANES + k] == 0.0:
            put(s, R, k, _svd_rotation(matrix(s, F, k)))


@inline
def _stress(s, law, rate):  # type: ignore[no-untyped-def]
    """P in every lane; with damping also the projected tangent times RATE = b dF/dt."""
    if law <= COROTATED:
        hooke_stress(s, rate)
        return
    if law == STVK:
        stvk_stress(s)
    else:
        neo_hookean_stress(s)
    if rate:
        for k in range(LANES):
            d = matrix(s, RATE, k)
            t = _tangent_at(law, matrix(s, F, k), IDENTITY, s[LAM * LANES + k], s[MU * LANES + k])
            put(s, P, k, combined(1.0, matrix(s, P, k), 1.0, tangent_times(t, d)))


@inline
def _block(s, law, rate, forces, energies, weights, controls):  # type: ignore[no-untyped-def]
    """OUT and WORK of one block whose X, V and material rows are filled."""
    centre = weights.shape[0] - 1
    points = max(centre, 1)
    share = 1.0 / points
    fill(s, WORK, 1, 0.0)
    if centre > 0:
        fill(s, OUT, 30, 0.0)
        fill(s, SPIN, 9, 0.0)
    _gradient(s, X, centre, weights, controls)
    if law == COROTATED:
        _rotations(s)
    elif law == LINEAR:
        for i in range(9):
            fill(s, R + i, 1, IDENTITY[i])
    for q in range(points):
        if rate:
            _gradient(s, V, q, weights, controls)
            copy(s, F, RATE, 9)
        if rate or centre > 0:
            _gradient(s, X, q, weights, controls)
        if energies:
            point_energy(s, law, share)
        if forces:
            _stress(s, law, rate)
            _forces(s, share, q, weights, controls)
            if law == COROTATED and centre > 0:
                gather_spin(s, share)
    if forces and law == COROTATED and centre > 0:
        _gradient(s, X, centre, weights, controls)
        spin_stress(s)
        _forces(s, 1.0, centre, weights, controls)


@parallel
def evaluate(law, nodes, inverse, volume, lam, mu, rayleigh, weights, controls, x, v, rate, out, energy, scratch):  # type: ignore[no-untyped-def]
    """Corner forces into out and energies into energy; one that has length zero is not computed.

    inverse (9, E): rest edge matrix inverted; weights (points + centroid, 4), or (1, 4) for linear tets; controls
    (4, 4); rate: whether v and rayleigh are used; scratch (chunks, ROWS * LANES), whose length changes no result.
    """
    chunks = scratch.shape[0]
    blocks = (nodes.shape[0] + LANES - 1) // LANES
    corners = nodes.shape[1]
    result = OUT if corners > 4 else TET
    forces, energies = out.shape[0] > 0, energy.shape[0] > 0
    for chunk in prange(chunks):
        s = scratch[chunk]
        for block in range(chunk * blocks // chunks, (chunk + 1) * blocks // chunks):
            first = block * LANES
            count = min(LANES, nodes.shape[0] - first)
            _gather(s, X, nodes, x, rayleigh, False, first, count)
            if rate:
                _gather(s, V, nodes, v, rayleigh, True, first, count)
            _gather_material(s, inverse, volume, lam, mu, first, count)
            _block(s, law, rate, forces, energies, weights, controls)
            for k in range(count):
                if energies:
                    energy[first + k] = s[WORK * LANES + k]
                if forces:
                    for a in range(corners):
                        for i in range(3):
                            out[(first + k) * corners + a, i] = s[(result + 3 * a + i) * LANES + k]


@inline
def _tet_of_point(x, nodes, e, weights, controls, point, m):  # type: ignore[no-untyped-def]
    """Corner m of the linear tet of an evaluation point, see the top."""
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
    a = _tet_of_point(x, nodes, e, weights, controls, point, 0)
    p = _tet_of_point(x, nodes, e, weights, controls, point, 1)
    q = _tet_of_point(x, nodes, e, weights, controls, point, 2)
    r = _tet_of_point(x, nodes, e, weights, controls, point, 3)
    edges = (
        p[0] - a[0],
        q[0] - a[0],
        r[0] - a[0],
        p[1] - a[1],
        q[1] - a[1],
        r[1] - a[1],
        p[2] - a[2],
        q[2] - a[2],
        r[2] - a[2],
    )
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
                r, good = newton_rotation(f)
                if not good:
                    r = _svd_rotation(f)
            out[e] = 0.0
            for q in range(points):
                f = _gradient_at(x, nodes, e, weights, controls, q, inverse)
                t = _tangent_at(law, f, r, lam[e], mu[e])
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
