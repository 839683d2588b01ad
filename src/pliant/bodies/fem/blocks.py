"""Tetrahedra in blocks of 64, one per SIMD lane: the steps that the kernels are made of.

The scratch of a block is one flat array; row r of lane k is s[64 r + k]. With constant rows and one base pointer the
compiler sees that loads and stores cannot collide and uses the full vector width. Loops over lanes are branch free and
always 64 long: the last block repeats its first element, and no result depends on the lane that computed it.

Linear and quadratic elements get into the lanes of a block and out again alike. At an evaluation point a quadratic Bernstein-Bezier tet
has the deformation gradient of a *linear* tet whose corners are z_m = 2 sum_k l_k b_(m,k), with l the barycentric coordinates of the
point and b_(m,k) the control point of e_m + e_k (de Casteljau). So everything is written for linear tets; `weights` (2 l per point) and
`controls` (which control point is (m, k)) carry positions there and forces and stiffness back. The last row of weights is the centroid; a
linear tet is its own single point, and `weights` has one row.
"""

from __future__ import annotations

from pliant.bodies.fem.laws import linear, neo_hookean, stvk
from pliant.bodies.matrix3 import combined, fast_rotation, product, transposed
from pliant.kernels import inline

LANES = 64
LINEAR, COROTATED, STVK, NEO_HOOKEAN = 0, 1, 2, 3  # codes of the laws that have kernels

# Rows of the scratch. Control points: 3 rows each, up to ten; TET: the four corners of one evaluation point; SPIN: sum
# of S sigma over the points, whose skew part is what the rotation at the centroid misses.
X, V, OUT, TET = 0, 30, 60, 90
F, RATE, R, P, B, SPIN = 102, 111, 120, 129, 138, 147
LAM, MU, VOLUME, WORK, TRUSTED = 156, 157, 158, 159, 160
VISCOUS = R  # stress of damping, of laws that need no R
ROWS = 161


@inline
def matrix(s, row, k):  # type: ignore[no-untyped-def]
    """Nine rows from `row` on as a 3x3 matrix."""
    return (
        s[(row + 0) * LANES + k],
        s[(row + 1) * LANES + k],
        s[(row + 2) * LANES + k],
        s[(row + 3) * LANES + k],
        s[(row + 4) * LANES + k],
        s[(row + 5) * LANES + k],
        s[(row + 6) * LANES + k],
        s[(row + 7) * LANES + k],
        s[(row + 8) * LANES + k],
    )


@inline
def put(s, row, k, m):  # type: ignore[no-untyped-def]
    s[(row + 0) * LANES + k] = m[0]
    s[(row + 1) * LANES + k] = m[1]
    s[(row + 2) * LANES + k] = m[2]
    s[(row + 3) * LANES + k] = m[3]
    s[(row + 4) * LANES + k] = m[4]
    s[(row + 5) * LANES + k] = m[5]
    s[(row + 6) * LANES + k] = m[6]
    s[(row + 7) * LANES + k] = m[7]
    s[(row + 8) * LANES + k] = m[8]


@inline
def fill(s, row, rows, value):  # type: ignore[no-untyped-def]
    for i in range(row * LANES, (row + rows) * LANES):
        s[i] = value


@inline
def vector_rows(s, row, point):  # type: ignore[no-untyped-def]
    """The three neighbouring rows of a control point as one array; its index cannot be negative, so loops vectorise."""
    at = (row + 3 * point) * LANES
    return s[at : at + 3 * LANES]


@inline
def corners_of_point(s, source, weights, controls):  # type: ignore[no-untyped-def]
    """TET_m = sum_k weights_k source_controls[m,k]: the linear tet that has the element's gradient at a point."""
    for m in range(controls.shape[0]):
        target = vector_rows(s, TET, m)
        a, b = vector_rows(s, source, controls[m, 0]), vector_rows(s, source, controls[m, 1])
        c, d = vector_rows(s, source, controls[m, 2]), vector_rows(s, source, controls[m, 3])
        for k in range(3 * LANES):
            target[k] = (weights[0] * a[k] + weights[1] * b[k]) + (weights[2] * c[k] + weights[3] * d[k])


@inline
def spread_point(s, weights, controls):  # type: ignore[no-untyped-def]
    """The transpose of `corners_of_point`: forces of the linear tet to the control points."""
    for m in range(controls.shape[0]):
        h = vector_rows(s, TET, m)
        for j in range(controls.shape[1]):
            target = vector_rows(s, OUT, controls[m, j])
            for k in range(3 * LANES):
                target[k] += weights[j] * h[k]


@inline
def copy(s, source, target, rows):  # type: ignore[no-untyped-def]
    a, b = source * LANES, target * LANES
    for k in range(rows * LANES):
        s[b + k] = s[a + k]


@inline
def gradient(s):  # type: ignore[no-untyped-def]
    """F = [x1 - x0, x2 - x0, x3 - x0] B, the deformation gradient of the corners TET."""
    for k in range(LANES):
        x = s[(TET + 0) * LANES + k]
        y = s[(TET + 1) * LANES + k]
        z = s[(TET + 2) * LANES + k]
        edges = (
            s[(TET + 3) * LANES + k] - x,
            s[(TET + 6) * LANES + k] - x,
            s[(TET + 9) * LANES + k] - x,
            s[(TET + 4) * LANES + k] - y,
            s[(TET + 7) * LANES + k] - y,
            s[(TET + 10) * LANES + k] - y,
            s[(TET + 5) * LANES + k] - z,
            s[(TET + 8) * LANES + k] - z,
            s[(TET + 11) * LANES + k] - z,
        )
        put(s, F, k, product(edges, matrix(s, B, k)))


@inline
def rotations(s):  # type: ignore[no-untyped-def]
    """R of F in every lane; lanes with TRUSTED = 0 must be redone by singular values."""
    for k in range(LANES):
        r, good = fast_rotation(matrix(s, F, k))
        put(s, R, k, r)
        s[TRUSTED * LANES + k] = 1.0 if good else 0.0


@inline
def hooke_stress(s, rate):  # type: ignore[no-untyped-def]
    """P = R hooke(R^T F - 1), plus R hooke(R^T RATE) if there is damping."""
    for k in range(LANES):
        r = matrix(s, R, k)
        m = linear.rotated_strain(matrix(s, F, k), r)
        put(s, P, k, product(r, linear.hooke(m, s[LAM * LANES + k], s[MU * LANES + k])))
    if rate:
        for k in range(LANES):
            r = matrix(s, R, k)
            m = product(transposed(r), matrix(s, RATE, k))
            extra = product(r, linear.hooke(m, s[LAM * LANES + k], s[MU * LANES + k]))
            put(s, P, k, combined(1.0, matrix(s, P, k), 1.0, extra))


@inline
def stvk_stress(s):  # type: ignore[no-untyped-def]
    for k in range(LANES):
        put(s, P, k, stvk.stress(matrix(s, F, k), s[LAM * LANES + k], s[MU * LANES + k]))


@inline
def neo_hookean_stress(s):  # type: ignore[no-untyped-def]
    for k in range(LANES):
        put(s, P, k, neo_hookean.stress(matrix(s, F, k), s[LAM * LANES + k], s[MU * LANES + k]))


@inline
def hooke_energy(s, share):  # type: ignore[no-untyped-def]
    """WORK += share * volume * psi."""
    for k in range(LANES):
        m = linear.rotated_strain(matrix(s, F, k), matrix(s, R, k))
        psi = linear.density(m, s[LAM * LANES + k], s[MU * LANES + k])
        s[WORK * LANES + k] += share * s[VOLUME * LANES + k] * psi


@inline
def hyperelastic_energy(s, law, share):  # type: ignore[no-untyped-def]
    """WORK += share * volume * psi."""
    for k in range(LANES):
        f, lam, mu = matrix(s, F, k), s[LAM * LANES + k], s[MU * LANES + k]
        psi = linear.density(stvk.green(f), lam, mu) if law == STVK else neo_hookean.density(f, lam, mu)
        s[WORK * LANES + k] += share * s[VOLUME * LANES + k] * psi


@inline
def tet_forces(s, share):  # type: ignore[no-untyped-def]
    """TET = forces on the four corners, -volume P g_m, with g_1..3 the rows of B and g_0 minus their sum (theory/elements 4.1)."""
    for k in range(LANES):
        w = -share * s[VOLUME * LANES + k]
        h = product(matrix(s, P, k), transposed(matrix(s, B, k)))
        for i in range(3):
            a, b, c = w * h[3 * i], w * h[3 * i + 1], w * h[3 * i + 2]
            s[(TET + i) * LANES + k] = -(a + b + c)
            s[(TET + 3 + i) * LANES + k] = a
            s[(TET + 6 + i) * LANES + k] = b
            s[(TET + 9 + i) * LANES + k] = c


@inline
def turn(s):  # type: ignore[no-untyped-def]
    """TET = R g_m, with g_1..3 the rows of B and g_0 minus their sum."""
    for k in range(LANES):
        h = product(matrix(s, R, k), transposed(matrix(s, B, k)))
        for i in range(3):
            s[(TET + i) * LANES + k] = -(h[3 * i] + h[3 * i + 1] + h[3 * i + 2])
            s[(TET + 3 + i) * LANES + k] = h[3 * i]
            s[(TET + 6 + i) * LANES + k] = h[3 * i + 1]
            s[(TET + 9 + i) * LANES + k] = h[3 * i + 2]


@inline
def gather_spin(s, share):  # type: ignore[no-untyped-def]
    """SPIN += share * volume * (R^T F) sigma, for `spin_stress`."""
    for k in range(LANES):
        r, f = matrix(s, R, k), matrix(s, F, k)
        sigma = linear.hooke(linear.rotated_strain(f, r), s[LAM * LANES + k], s[MU * LANES + k])
        n = product(product(transposed(r), f), sigma)
        put(s, SPIN, k, combined(1.0, matrix(s, SPIN, k), share * s[VOLUME * LANES + k], n))


@inline
def spin_stress(s):  # type: ignore[no-untyped-def]
    """P at the centroid from the change of R with the nodes (theory/elements 4.3): P = R skew(T^-1 n) / volume.

    T = tr(S) 1 - S is singular where R jumps; there the term fades out instead of growing without bound.
    """
    for k in range(LANES):
        r = matrix(s, R, k)
        n = matrix(s, SPIN, k)
        x, y, z = n[5] - n[7], n[6] - n[2], n[1] - n[3]
        t = product(transposed(r), matrix(s, F, k))
        trace = t[0] + t[4] + t[8]
        a, b, c = trace - t[0], trace - t[4], trace - t[8]
        d, e, f = -0.5 * (t[1] + t[3]), -0.5 * (t[2] + t[6]), -0.5 * (t[5] + t[7])
        c00, c01, c02 = b * c - f * f, e * f - d * c, d * f - b * e
        c11, c12, c22 = a * c - e * e, d * e - a * f, a * b - d * d
        det = a * c00 + d * c01 + e * c02
        least = 1e-4 * trace * trace * trace + 1e-300
        w = 1.0 / ((det if det > least else least) * s[VOLUME * LANES + k])
        u = w * (c00 * x + c01 * y + c02 * z)
        v = w * (c01 * x + c11 * y + c12 * z)
        q = w * (c02 * x + c12 * y + c22 * z)
        put(s, P, k, product(r, (0.0, q, -v, -q, 0.0, u, v, -u, 0.0)))


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
