r"""3x3 matrices inside kernels, as tuples of nine floats, row by row, so that they live in registers.

The rotation and the singular values of a deformation gradient: both routes end at the same rotation R of F = R S with det R = +1: for an
inverted element the direction of the smallest singular value is the one that is mirrored, sigma_3 < 0 (Irving, Teran, Fedkiw 2004).

``fast_rotation``  branch free, for lanes. l = tr S is the largest root of the quartic of Horn (1987)

    p(l) = l^4 - 2 |F|^2 l^2 - 8 det(F) l + |F|^4 - 4 |cof F|^2

and found by Halley's iteration from above, l_0 = sqrt(3) |F|; all roots are real, so it falls monotonically. Since
dl/dF = R, differentiating p = 0 gives

    R = ((l^2 + |F|^2) F + 2 l cof F - 2 F F^T F) / (l^3 - |F|^2 l - 2 det F).

Every term is R times a polynomial of S, so an error of l leaves the polar factor of the result alone; one step
X <- (X + X^-T) / 2 (Higham 1986) squares it away, and its change tells whether it was small.

``symmetric_axes`` eigenvalues and axes of S, branch free as well: cyclic Jacobi (Golub 2013, 8.5), a fixed number of sweeps.

``signed_svd``     any matrix: one-sided Jacobi (Hestenes 1958), accurate for small singular values.
"""

from __future__ import annotations

import math

from pliant.kernels import axpy, cross, dot, inline, kernel, norm, scale

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inline
def product(a, b):  # type: ignore[no-untyped-def]
    """a b."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@inline
def transposed(a):  # type: ignore[no-untyped-def]
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@inline
def cofactor(a):  # type: ignore[no-untyped-def]
    """det(a) a^-T, defined for singular a too."""
    return (
        a[4] * a[8] - a[5] * a[7],
        a[5] * a[6] - a[3] * a[8],
        a[3] * a[7] - a[4] * a[6],
        a[2] * a[7] - a[1] * a[8],
        a[0] * a[8] - a[2] * a[6],
        a[1] * a[6] - a[0] * a[7],
        a[1] * a[5] - a[2] * a[4],
        a[2] * a[3] - a[0] * a[5],
        a[0] * a[4] - a[1] * a[3],
    )


@inline
def combined(s, a, t, b):  # type: ignore[no-untyped-def]
    """s a + t b."""
    return (
        s * a[0] + t * b[0],
        s * a[1] + t * b[1],
        s * a[2] + t * b[2],
        s * a[3] + t * b[3],
        s * a[4] + t * b[4],
        s * a[5] + t * b[5],
        s * a[6] + t * b[6],
        s * a[7] + t * b[7],
        s * a[8] + t * b[8],
    )


@inline
def inner(a, b):  # type: ignore[no-untyped-def]
    """a : b, the sum of products of entries."""
    return (
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
        + (a[6] * b[6] + a[7] * b[7] + a[8] * b[8])
    )


@inline
def determinant(a):  # type: ignore[no-untyped-def]
    return (
        a[0] * (a[4] * a[8] - a[5] * a[7]) + a[1] * (a[5] * a[6] - a[3] * a[8]) + a[2] * (a[3] * a[7] - a[4] * a[6])
    )


CONVERGED = 1e-16  # of the squared last change: the change was below 1e-8, so the error left is below 1e-16
SMALL = 1e-28  # of squared entries beside squared eigenvalues: what is put together from them again is right to 1e-14
SWEEPS = 10  # one-sided Jacobi ends after 4 to 6 sweeps


@inline
def quartic_step(l, size, det, constant):  # type: ignore[no-untyped-def]
    """Halley's step for p = `value`, p' = 4 `slope`, p'' = 4 `bend`."""
    square = l * l
    value = ((square - 2.0 * size) * l - 8.0 * det) * l + constant
    slope = (square - size) * l - 2.0 * det
    bend = 3.0 * square - size
    return l - 2.0 * value * slope / (8.0 * slope * slope - value * bend)


@inline
def fast_rotation(f):  # type: ignore[no-untyped-def]
    """R of F = R S, and whether it can be trusted; if not (mirrored, flat or wildly stretched) use `signed_svd`.

    Four steps suffice for singular values up to 1 : 10.
    """
    c = cofactor(f)
    det = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
    size = inner(f, f)
    constant = size * size - 4.0 * inner(c, c)
    l = math.sqrt(3.0 * size)
    l = quartic_step(l, size, det, constant)
    l = quartic_step(l, size, det, constant)
    l = quartic_step(l, size, det, constant)
    l = quartic_step(l, size, det, constant)
    w = 1.0 / ((l * l - size) * l - 2.0 * det)
    cubic = product(product(f, transposed(f)), f)
    x = combined(w, combined(l * l + size, f, 2.0 * l, c), -2.0 * w, cubic)
    c = cofactor(x)
    r = combined(0.5, x, 0.5 / (x[0] * c[0] + x[1] * c[1] + x[2] * c[2]), c)
    change = combined(1.0, r, -1.0, x)
    return r, inner(change, change) < CONVERGED


@inline
def _turned(p, q, g, x, y, vp, vq):  # type: ignore[no-untyped-def]
    """Turn axes p and q of a symmetric matrix until its entry g between them is zero; x and y are those between the third axis and them.

    The smaller of the two turns; t is its tangent, which is 0 where nothing is to do.
    """
    d = q - p
    t = (2.0 if d >= 0.0 else -2.0) * g / (abs(d) + math.sqrt(d * d + 4.0 * g * g) + 1e-300)
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = c * t
    return p - t * g, q + t * g, c * x - s * y, s * x + c * y, axpy(-s, vq, scale(c, vp)), axpy(s, vp, scale(c, vq))


@inline
def _sweep(a, u, v, w):  # type: ignore[no-untyped-def]
    """Each pair of axes in turn; a as 00, 11, 22, 01, 02, 12; u, v, w are the axes so far."""
    p, q, r, d, e, f = a
    p, q, e, f, u, v = _turned(p, q, d, e, f, u, v)
    p, r, d, f, u, w = _turned(p, r, e, 0.0, f, u, w)
    q, r, d, e, v, w = _turned(q, r, f, d, 0.0, v, w)
    return (p, q, r, d, e, 0.0), u, v, w


@inline
def symmetric_axes(a):  # type: ignore[no-untyped-def]
    """Eigenvalues of the symmetric matrix (nine-tuple, upper half), the rotation whose columns are its axes, and whether they are exact.

    In no order. Four sweeps reach rounding for all but a few matrices with entries of very different size.
    """
    m = (a[0], a[4], a[8], a[1], a[2], a[5])
    m, u, v, w = _sweep(m, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    m, u, v, w = _sweep(m, u, v, w)
    m, u, v, w = _sweep(m, u, v, w)
    m, u, v, w = _sweep(m, u, v, w)
    left, size = m[3] * m[3] + m[4] * m[4], m[0] * m[0] + m[1] * m[1] + m[2] * m[2]
    axes = (u[0], v[0], w[0], u[1], v[1], w[1], u[2], v[2], w[2])
    return (m[0], m[1], m[2]), axes, left <= SMALL * size


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


@kernel
def svd_rotation(f):  # type: ignore[no-untyped-def]
    """R of F = R S by `signed_svd`."""
    u, _, v = signed_svd(f)
    return product(u, transposed(v))


@inline
def positive(a):  # type: ignore[no-untyped-def]
    """Whether the leading minors of a symmetric matrix (00, 11, 22, 01, 02, 12) are."""
    d, e, f = a[3], a[4], a[5]
    return (a[0] > 0.0) & (a[0] * a[1] > d * d) & (determinant((a[0], d, e, d, a[1], f, e, f, a[2])) > 0.0)


@inline
def projected(a):  # type: ignore[no-untyped-def]
    """The symmetric matrix (00, 11, 22, 01, 02, 12) without its negative eigenvalues, unchanged if it has none.

    It has none if its leading minors are positive (Sylvester), which most have. Shifted by its norm the matrix is positive, so that its
    singular vectors are its eigenvectors.
    """
    d, e, f = a[3], a[4], a[5]
    if positive(a):
        return a
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
