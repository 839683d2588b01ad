"""How a block of 64 tetrahedra gets into its lanes and out again, for linear and quadratic elements alike.

At an evaluation point a quadratic Bernstein-Bezier tet has the deformation gradient of a *linear* tet whose corners are
z_m = 2 sum_k l_k b_(m,k), with l the barycentric coordinates of the point and b_(m,k) the control point of e_m + e_k
(de Casteljau). So everything is written for linear tets; `weights` (2 l per point) and `controls` (which control point
is (m, k)) carry positions there and forces and stiffness back. The last row of weights is the centroid; a linear tet is
its own single point, and `weights` has one row.
"""

from __future__ import annotations

from pliant.bodies.lanes import (
    LAM,
    LANES,
    MU,
    OUT,
    RATE,
    SPIN,
    TET,
    VOLUME,
    WORK,
    B,
    F,
    V,
    X,
    copy,
    corners_of_point,
    fill,
    gradient,
    spread_point,
    tet_forces,
)
from pliant.kernels import inline


@inline
def _gather(s, row, nodes, x, scale, scaled, first, count):  # type: ignore[no-untyped-def]
    """Control points of a block into its lanes, times a number per element if scaled."""
    for k in range(LANES):
        e = first + k if k < count else first
        w = scale[e] if scaled else 1.0
        for a in range(nodes.shape[1]):
            node = nodes[e, a]
            for i in range(3):
                s[(row + 3 * a + i) * LANES + k] = w * x[node, i]


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


@inline
def begin(s, tets, x, v, rate, first, count):  # type: ignore[no-untyped-def]
    """Fill the lanes of a block; tets = (nodes, inverse, volume, lam, mu, rayleigh, weights, controls).

    Positions of linear tets go straight to TET, unless TET is needed for velocities first.
    """
    nodes, inverse, volume, lam, mu, rayleigh, weights, _ = tets
    _gather_material(s, inverse, volume, lam, mu, first, count)
    fill(s, WORK, 1, 0.0)
    quadratic = weights.shape[0] > 1
    if quadratic or rate:
        _gather(s, X, nodes, x, rayleigh, False, first, count)
    else:
        _gather(s, TET, nodes, x, rayleigh, False, first, count)
    if rate:
        _gather(s, V, nodes, v, rayleigh, True, first, count)
    if quadratic:
        fill(s, OUT, 30, 0.0)
        fill(s, SPIN, 9, 0.0)


@inline
def _corners(s, row, weights, controls, point):  # type: ignore[no-untyped-def]
    """TET = corners of the linear tet of an evaluation point, from the control points at `row`."""
    if weights.shape[0] > 1:
        corners_of_point(s, row, weights[point], controls)
    else:
        copy(s, row, TET, 12)


@inline
def point_gradients(s, weights, controls, point, rate):  # type: ignore[no-untyped-def]
    """F of the positions; RATE = b dF/dt if there is damping."""
    if rate:
        _corners(s, V, weights, controls, point)
        gradient(s)
        copy(s, F, RATE, 9)
    if rate or weights.shape[0] > 1:
        _corners(s, X, weights, controls, point)
    gradient(s)


@inline
def point_forces(s, share, weights, controls, point):  # type: ignore[no-untyped-def]
    """Add the forces of the stress P in an evaluation point to OUT; of linear tets leave them in TET."""
    tet_forces(s, share)
    if weights.shape[0] > 1:
        spread_point(s, weights[point], controls)


@inline
def finish(s, corners, out, energy, first, count):  # type: ignore[no-untyped-def]
    """Write what a block found; an array of length zero is not wanted."""
    row = OUT if corners > 4 else TET
    for k in range(count):
        if energy.shape[0] > 0:
            energy[first + k] = s[WORK * LANES + k]
        if out.shape[0] > 0:
            for a in range(corners):
                for i in range(3):
                    out[(first + k) * corners + a, i] = s[(row + 3 * a + i) * LANES + k]
