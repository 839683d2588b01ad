"""Rotation and singular values of a deformation gradient, for use inside kernels.

Both routes end at the same rotation R of F = R S with det R = +1: for an inverted element the direction of the
smallest singular value is the one that is mirrored, sigma_3 < 0 (Irving, Teran, Fedkiw 2004).

``newton_rotation``  branch free, for lanes: Newton's iteration of Higham (1986), X <- (g X + X^-T / g) / 2, scaled
                     by g = sqrt(|X^-T| / |X|) in the first steps; quadratic, so the last change tells the error.
``signed_svd``       any matrix: one-sided Jacobi (Hestenes 1958), accurate for small singular values.
"""

from __future__ import annotations

import math

from pliant.bodies.matrix3 import cofactor, combined, inner
from pliant.kernels import axpy, cross, dot, inline, norm, scale

CONVERGED = 1e-16  # of the squared last change: the change was below 1e-8, so the error left is below 1e-16
SWEEPS = 10  # one-sided Jacobi ends after 4 to 6 sweeps


@inline
def scaled_step(x):  # type: ignore[no-untyped-def]
    c = cofactor(x)
    d = x[0] * c[0] + x[1] * c[1] + x[2] * c[2]
    g = math.sqrt(math.sqrt(inner(c, c) / inner(x, x)) / abs(d))
    return combined(0.5 * g, x, 0.5 / (g * d), c)


@inline
def plain_step(x):  # type: ignore[no-untyped-def]
    c = cofactor(x)
    d = x[0] * c[0] + x[1] * c[1] + x[2] * c[2]
    return combined(0.5, x, 0.5 / d, c)


@inline
def newton_rotation(f):  # type: ignore[no-untyped-def]
    """R of F = R S, and whether it can be trusted; if not (inverted, flat or wildly stretched) use `signed_svd`."""
    c = cofactor(f)
    upright = f[0] * c[0] + f[1] * c[1] + f[2] * c[2] > 0.0
    x = scaled_step(f)
    x = scaled_step(x)
    x = plain_step(x)
    x = plain_step(x)
    x = plain_step(x)
    r = plain_step(x)
    change = combined(1.0, r, -1.0, x)
    return r, upright & (inner(change, change) < CONVERGED)


@inline
def orthogonalise(p, q, vp, vq):  # type: ignore[no-untyped-def]
    """Turn columns p and q (and those of V) until p.q = 0; also whether they were not yet orthogonal."""
    a, b, g = dot(p, p), dot(q, q), dot(p, q)
    if g * g <= 1e-32 * a * b:
        return p, q, vp, vq, False
    z = 0.5 * (b - a) / g
    t = math.copysign(1.0, z) / (abs(z) + math.sqrt(1.0 + z * z))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = c * t
    return (
        axpy(-s, q, scale(c, p)),
        axpy(s, p, scale(c, q)),
        axpy(-s, vq, scale(c, vp)),
        axpy(s, vp, scale(c, vq)),
        True,
    )


@inline
def descending(p, q, vp, vq):  # type: ignore[no-untyped-def]
    """The longer column first; the sign keeps det V = 1."""
    if dot(p, p) >= dot(q, q):
        return p, q, vp, vq
    return q, scale(-1.0, p), vq, scale(-1.0, vp)


@inline
def perpendicular(u):  # type: ignore[no-untyped-def]
    """Some unit vector at right angles to the unit vector u."""
    if abs(u[0]) < 0.6:
        w = cross(u, (1.0, 0.0, 0.0))
    else:
        w = cross(u, (0.0, 1.0, 0.0))
    return scale(1.0 / norm(w), w)


@inline
def signed_svd(f):  # type: ignore[no-untyped-def]
    """F = U diag(sigma) V^T with rotations U, V as nine-tuples and sigma_1 >= sigma_2 >= |sigma_3|."""
    p, q, r = (f[0], f[3], f[6]), (f[1], f[4], f[7]), (f[2], f[5], f[8])
    vp, vq, vr = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(SWEEPS):
        p, q, vp, vq, first = orthogonalise(p, q, vp, vq)
        p, r, vp, vr, second = orthogonalise(p, r, vp, vr)
        q, r, vq, vr, third = orthogonalise(q, r, vq, vr)
        if not (first or second or third):
            break
    p, q, vp, vq = descending(p, q, vp, vq)
    p, r, vp, vr = descending(p, r, vp, vr)
    q, r, vq, vr = descending(q, r, vq, vr)
    length = norm(p)
    a = scale(1.0 / length, p) if length > 0.0 else vp
    flat = axpy(-dot(a, q), a, q)
    width = norm(flat)
    b = scale(1.0 / width, flat) if width > 1e-14 * length else perpendicular(a)
    c = cross(a, b)
    u = (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])
    v = (vp[0], vq[0], vr[0], vp[1], vq[1], vr[1], vp[2], vq[2], vr[2])
    return u, (length, dot(b, q), dot(c, r)), v
