"""One convex problem per step and island: velocities of bodies that touch, with contact that gives way a little and Coulomb friction.

    min_w  1/2 w.A w + sum_r l_r(J_r w),      w = v - v*,  v* the end velocity of every body on its own

A = M + dt C + dt^2 K of implicit bodies, m of explicit nodes, m and R I R^T of frames (two vectors each: velocity and turning). With
u = J_r w, n the normal, g the gap and s the stretch of the tangential spring at the end of the step of every body on its own:

    normal force    f = k max(0, -g - dt n.u)
    friction        t = k_t (s + dt T u),  cut to the limit  mu f0,      T = 1 - n n^T
    l = k/2 min(0, g + dt n.u)^2 + Huber(|s + dt T u|; k_t, mu f0)

[Castro 2022] with f0, the load that limits friction, lagged: taken from the iterate until it has settled, so that what is left is convex.
Newton's method; directions by conjugate gradients on H = A + J^T G J, G the Hessian of l; exact line search. The preconditioner adds the
inverse diagonal blocks of H and a solve for the rigid motions of all bodies of the island (in small islands of all together, in large
ones of each alone); its norm therefore sees a body that moves as a whole as well as one that deforms, and the search stops by it.

Islands share no unknown, so they are solved apart: far-away bodies and the number of threads change nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

ROUGH = 1e-2  # the same, while it is still to be seen where the step ends
TOLERANCE = 1e-5  # of the norm of the gradient, against that of the contact impulses
SMALLEST = 1e-3  # of the impulses that the search began with: where nothing touches in the end there are none to compare with
FORCING = 0.1  # of the gradient's norm, to which a Newton direction is solved: tighter costs iterations, looser Newton steps
MOST_STEPS = 60  # Newton steps of an island
MOST_ITERATIONS = 500  # of conjugate gradients for a direction
SETTLED = 1e-4  # of the largest load: change of the loads that limit friction below which they stay as they are
RENEWALS = 8  # how often these loads are renewed at most
TOGETHER = 40  # bodies in an island up to which their rigid motions are solved together, densely


class System(NamedTuple):
    """A, over vectors (N, 3): nodes first, then velocity and turning of each frame."""

    indptr: np.ndarray  # (n + 1,) blocks of implicit nodes
    indices: np.ndarray
    values: Floats  # (nnz, 3, 3)
    diagonal: Floats  # (N, 3, 3) of everything else
    own: np.ndarray  # (N,) bool: has its blocks in the sparse part
    nodes: int


class Contact(NamedTuple):
    """Rows, sorted by island."""

    start: Ints  # (r + 1,)
    dof: Ints  # node, or nodes + 2 frame
    weight: Floats
    lever: Floats  # (entries, 3) [m] from the frame to the row
    normal: Floats  # (r, 3) out of B, towards A
    gap: Floats  # [m] (r,)
    stretch: Floats  # [m] (r, 3) across the normal
    k: Floats  # [N/m] (r,)
    kt: Floats  # [N/m] (r,)
    mu: Floats  # (r,)
    side: Ints  # (r, 2) body of the island on side A and B, counted through all islands; -1 if it does not move
    arm: Floats  # (r, 2, 3) [m] from the centre of these bodies to the row


class Islands(NamedTuple):
    """What belongs together."""

    rows: Ints  # (i + 1,) first row of each
    dofs: Ints  # (i + 1,) first of `dof`
    dof: Ints
    bodies: Ints  # (i + 1,) first of the bodies that can move as a whole
    run: Ints  # (b, 2) first and last of `dof` for each body that can move as a whole; dofs of no such body come behind them
    inertia: Floats  # (b, 6, 6) of the body moving as a whole: mass and moments
    arm: Floats  # (N, 3) [m] from the centre of its body to each node


class Found(NamedTuple):
    """Results."""

    w: Floats  # (N, 3) change of velocity
    force: Floats  # (r,) [N] normal force
    friction: Floats  # (r, 3) [N] on A
    limit: Floats  # (r,) [N] load f0 that limited friction
    newton: Ints  # (i,)
    iterations: Ints  # (i,)
    left: Floats  # (i,) norm of the gradient that is left, of that of the impulses


class Work(NamedTuple):
    """Scratch of all islands."""

    gradient: Floats
    d: Floats
    z: Floats
    p: Floats
    hp: Floats
    ad: Floats
    block: Floats  # (N, 6) inverse diagonal blocks
    u: Floats  # (r, 3)
    du: Floats
    hessian: Floats  # (r, 6)


def work(size: int, rows: int) -> Work:
    """Room for the vectors of a problem."""
    v = np.zeros((6, size, 3))
    return Work(v[0], v[1], v[2], v[3], v[4], v[5], np.zeros((size, 6)), np.zeros((rows, 3)), np.zeros((rows, 3)), np.zeros((rows, 6)))


@inline
def row_sum(c, r, nodes, x):  # type: ignore[no-untyped-def]
    """J_r x."""
    u = (0.0, 0.0, 0.0)
    for e in range(c.start[r], c.start[r + 1]):
        i = c.dof[e]
        y = load(x, i)
        if i >= nodes:
            y = add(y, cross(load(x, i + 1), load(c.lever, e)))
        u = axpy(c.weight[e], y, u)
    return u


@inline
def add_row(c, r, nodes, g, out):  # type: ignore[no-untyped-def]
    """out += J_r^T g."""
    for e in range(c.start[r], c.start[r + 1]):
        i = c.dof[e]
        h = scale(c.weight[e], g)
        store(out, i, add(load(out, i), h))
        if i >= nodes:
            store(out, i + 1, add(load(out, i + 1), cross(load(c.lever, e), h)))


@inline
def times(m, x):  # type: ignore[no-untyped-def]
    """A symmetric 3x3 matrix xx, xy, xz, yy, yz, zz times a vector."""
    return (
        m[0] * x[0] + m[1] * x[1] + m[2] * x[2],
        m[1] * x[0] + m[3] * x[1] + m[4] * x[2],
        m[2] * x[0] + m[4] * x[1] + m[5] * x[2],
    )


@inline
def outer(a, u):  # type: ignore[no-untyped-def]
    """a u u^T."""
    return a * u[0] * u[0], a * u[0] * u[1], a * u[0] * u[2], a * u[1] * u[1], a * u[1] * u[2], a * u[2] * u[2]


@inline
def add6(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inline
def law(c, r, u, limit, dt):  # type: ignore[no-untyped-def]
    """(normal force, tangential spring, its length, its force over its length) at u."""
    n = load(c.normal, r)
    phi = c.gap[r] + dt * dot(n, u)
    f = c.k[r] * max(0.0, -phi)
    s = axpy(dt, axpy(-dot(n, u), n, u), load(c.stretch, r))
    length = norm(s)
    stiffness = c.kt[r] if c.kt[r] * length <= limit else limit / length
    return f, s, length, stiffness


@inline
def slope(c, r, u, limit, dt):  # type: ignore[no-untyped-def]
    """Gradient of l: minus the impulse on A."""
    f, s, _, stiffness = law(c, r, u, limit, dt)
    return scale(dt, axpy(-f, load(c.normal, r), scale(stiffness, s)))


@inline
def curvature(c, r, u, limit, dt):  # type: ignore[no-untyped-def]
    """Hessian G of l."""
    n = load(c.normal, r)
    f, s, length, stiffness = law(c, r, u, limit, dt)
    a = dt * dt * stiffness
    g = add6((a, 0.0, 0.0, a, 0.0, a), outer((dt * dt * c.k[r] if f > 0.0 else 0.0) - a, n))
    if stiffness < c.kt[r] and length > 0.0:
        g = add6(g, outer(-a / (length * length), s))
    return g


@inline
def multiply(a, i, x):  # type: ignore[no-untyped-def]
    """Row i of A x."""
    if not a.own[i]:
        y = load(x, i)
        d = a.diagonal[i]
        return (
            d[0, 0] * y[0] + d[0, 1] * y[1] + d[0, 2] * y[2],
            d[1, 0] * y[0] + d[1, 1] * y[1] + d[1, 2] * y[2],
            d[2, 0] * y[0] + d[2, 1] * y[1] + d[2, 2] * y[2],
        )
    y0 = y1 = y2 = 0.0
    v = a.values
    for k in range(a.indptr[i], a.indptr[i + 1]):
        j = a.indices[k]
        y0 += v[k, 0, 0] * x[j, 0] + v[k, 0, 1] * x[j, 1] + v[k, 0, 2] * x[j, 2]
        y1 += v[k, 1, 0] * x[j, 0] + v[k, 1, 1] * x[j, 1] + v[k, 1, 2] * x[j, 2]
        y2 += v[k, 2, 0] * x[j, 0] + v[k, 2, 1] * x[j, 1] + v[k, 2, 2] * x[j, 2]
    return y0, y1, y2


@inline
def inverse6(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    """Inverse of a symmetric 3x3 matrix xx, xy, xz, yy, yz, zz."""
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * p + b * q + c * r
    s = 1.0 / det
    return s * p, s * q, s * r, s * (a * f - c * c), s * (b * c - a * e), s * (a * d - b * b)


@kernel
def _blocks(a, c, isl, k, w):  # type: ignore[no-untyped-def]
    """Inverse diagonal blocks of H of the dofs of island k."""
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        i = isl.dof[q]
        if a.own[i]:
            for j in range(a.indptr[i], a.indptr[i + 1]):
                if a.indices[j] == i:
                    v = a.values[j]
                    w.block[i] = (v[0, 0], v[0, 1], v[0, 2], v[1, 1], v[1, 2], v[2, 2])
        else:
            v = a.diagonal[i]
            w.block[i] = (v[0, 0], v[0, 1], v[0, 2], v[1, 1], v[1, 2], v[2, 2])
    for r in range(isl.rows[k], isl.rows[k + 1]):
        g = w.hessian[r]
        for e in range(c.start[r], c.start[r + 1]):
            i = c.dof[e]
            if i < a.nodes:
                for m in range(6):
                    w.block[i, m] += c.weight[e] * c.weight[e] * g[m]
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        i = isl.dof[q]
        b = w.block[i]
        w.block[i] = inverse6(b[0], b[1], b[2], b[3], b[4], b[5])


@inline
def add_block(coarse, i, j, g, ra, rb, sign):  # type: ignore[no-untyped-def]
    """coarse[6i.., 6j..] += sign [1, -[ra]]^T G [1, -[rb]]: motions v + o x r."""
    for col in range(6):
        e = (1.0 if col == 0 else 0.0, 1.0 if col == 1 else 0.0, 1.0 if col == 2 else 0.0)
        if col >= 3:
            e = cross((1.0 if col == 3 else 0.0, 1.0 if col == 4 else 0.0, 1.0 if col == 5 else 0.0), rb)
        f = times(g, e)
        t = cross(ra, f)
        for m in range(3):
            coarse[6 * i + m, 6 * j + col] += sign * f[m]
            coarse[6 * i + 3 + m, 6 * j + col] += sign * t[m]


@kernel
def _factor(m, size, band):  # type: ignore[no-untyped-def]
    """Cholesky factor, in its lower triangle; entries farther than `band` before the diagonal are zero."""
    for j in range(size):
        low = max(0, j - band)
        total = m[j, j]
        for p in range(low, j):
            total -= m[j, p] * m[j, p]
        if total <= 0.0:
            return False
        m[j, j] = math.sqrt(total)
        for i in range(j + 1, min(size, j + band + 1)):
            s = m[i, j]
            for p in range(max(0, i - band), j):
                s -= m[i, p] * m[j, p]
            m[i, j] = s / m[j, j]
    return True


@kernel
def _substitute(m, size, band, x):  # type: ignore[no-untyped-def]
    for i in range(size):
        s = x[i]
        for p in range(max(0, i - band), i):
            s -= m[i, p] * x[p]
        x[i] = s / m[i, i]
    for i in range(size - 1, -1, -1):
        s = x[i]
        for p in range(i + 1, min(size, i + band + 1)):
            s -= m[p, i] * x[p]
        x[i] = s / m[i, i]


@kernel
def _coarse(c, isl, k, w, coarse, together):  # type: ignore[no-untyped-def]
    """H on the rigid motions of the bodies of island k, factored; blocks of pairs of bodies only if `together`."""
    first, last = isl.bodies[k], isl.bodies[k + 1]
    count = last - first
    coarse[:] = 0.0
    for b in range(count):
        for i in range(6):
            for j in range(6):
                coarse[6 * b + i, (6 * b if together else 0) + j] = isl.inertia[first + b, i, j]
    for r in range(isl.rows[k], isl.rows[k + 1]):
        h = w.hessian[r]
        g = (h[0], h[1], h[2], h[3], h[4], h[5])
        a, b = c.side[r, 0] - first, c.side[r, 1] - first
        ra, rb = load(c.arm[r], 0), load(c.arm[r], 1)
        if c.side[r, 0] >= 0:
            add_block(coarse, a, a if together else 0, g, ra, ra, 1.0)
        if c.side[r, 1] >= 0:
            add_block(coarse, b, b if together else 0, g, rb, rb, 1.0)
        if together and c.side[r, 0] >= 0 and c.side[r, 1] >= 0:
            add_block(coarse, a, b, g, ra, rb, -1.0)
            add_block(coarse, b, a, g, rb, ra, -1.0)
    if together:
        return _factor(coarse, 6 * count, 6 * count)
    good = True
    for b in range(count):
        good = _factor(coarse[6 * b : 6 * b + 6], 6, 6) and good
    return good


@kernel
def _precondition(a, isl, k, w, coarse, together, r, z, y):  # type: ignore[no-untyped-def]
    """z = P r + R C^-1 R^T r; frames are all coarse."""
    first, last = isl.bodies[k], isl.bodies[k + 1]
    for b in range(first, last):
        f, t = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for q in range(isl.run[b, 0], isl.run[b, 1]):
            i = isl.dof[q]
            if i >= a.nodes:
                if (i - a.nodes) % 2 == 0:
                    f, t = load(r, i), load(r, i + 1)
            else:
                g = load(r, i)
                f = add(f, g)
                t = add(t, cross(load(isl.arm, i), g))
        for m in range(3):
            y[6 * (b - first) + m], y[6 * (b - first) + 3 + m] = f[m], t[m]
    count = last - first
    if together:
        _substitute(coarse, 6 * count, 6 * count, y)
    else:
        for b in range(count):
            _substitute(coarse[6 * b : 6 * b + 6], 6, 6, y[6 * b : 6 * b + 6])
    for b in range(first, last):
        v = (y[6 * (b - first)], y[6 * (b - first) + 1], y[6 * (b - first) + 2])
        o = (y[6 * (b - first) + 3], y[6 * (b - first) + 4], y[6 * (b - first) + 5])
        for q in range(isl.run[b, 0], isl.run[b, 1]):
            i = isl.dof[q]
            if i >= a.nodes:
                store(z, i, v if (i - a.nodes) % 2 == 0 else o)
            else:
                m = w.block[i]
                x = times((m[0], m[1], m[2], m[3], m[4], m[5]), load(r, i))
                store(z, i, add(x, add(v, cross(o, load(isl.arm, i)))))
    for q in range(isl.run[last - 1, 1] if last > first else isl.dofs[k], isl.dofs[k + 1]):
        i = isl.dof[q]
        m = w.block[i]
        store(z, i, times((m[0], m[1], m[2], m[3], m[4], m[5]), load(r, i)))


@kernel
def _inner(isl, k, x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        total += dot(load(x, isl.dof[q]), load(y, isl.dof[q]))
    return total


@kernel
def _hessian_times(a, c, isl, k, w, x, out):  # type: ignore[no-untyped-def]
    """out = (A + J^T G J) x."""
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        store(out, isl.dof[q], multiply(a, isl.dof[q], x))
    for r in range(isl.rows[k], isl.rows[k + 1]):
        h = w.hessian[r]
        g = times((h[0], h[1], h[2], h[3], h[4], h[5]), row_sum(c, r, a.nodes, x))
        if g[0] != 0.0 or g[1] != 0.0 or g[2] != 0.0:
            add_row(c, r, a.nodes, g, out)


@kernel
def _direction(a, c, isl, k, w, coarse, together, y, forcing):  # type: ignore[no-untyped-def]
    """Conjugate gradients for H d = -gradient; (iterations, norm of the gradient)."""
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        i = isl.dof[q]
        store(w.d, i, (0.0, 0.0, 0.0))
        store(w.hp, i, scale(-1.0, load(w.gradient, i)))  # the residual lives in ad meanwhile
        store(w.ad, i, load(w.hp, i))
    _precondition(a, isl, k, w, coarse, together, w.ad, w.z, y)
    rz = _inner(isl, k, w.ad, w.z)
    first = rz
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        store(w.p, isl.dof[q], load(w.z, isl.dof[q]))
    count = 0
    while count < MOST_ITERATIONS and rz > forcing * forcing * first:
        _hessian_times(a, c, isl, k, w, w.p, w.hp)
        alpha = rz / _inner(isl, k, w.p, w.hp)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):
            i = isl.dof[q]
            store(w.d, i, axpy(alpha, load(w.p, i), load(w.d, i)))
            store(w.ad, i, axpy(-alpha, load(w.hp, i), load(w.ad, i)))
        _precondition(a, isl, k, w, coarse, together, w.ad, w.z, y)
        new = _inner(isl, k, w.ad, w.z)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):
            i = isl.dof[q]
            store(w.p, i, axpy(new / rz, load(w.p, i), load(w.z, i)))
        rz = new
        count += 1
    return count


@kernel
def _line(c, isl, k, w, limit, dt, began, linear, quadratic):  # type: ignore[no-untyped-def]
    """The step along d at which the objective is least: the root of its rising slope, by Newton's method kept in brackets."""
    low, high, alpha = 0.0, np.inf, 1.0
    for _ in range(40):
        value, rise = linear + alpha * quadratic, quadratic
        for r in range(isl.rows[k], isl.rows[k + 1]):
            du = load(w.du, r)
            u = axpy(alpha, du, load(w.u, r))
            value += dot(slope(c, r, u, limit[r], dt), du)
            g = curvature(c, r, u, limit[r], dt)
            rise += dot(times(g, du), du)
        if abs(value) <= 1e-9 * abs(began):
            break
        if value > 0.0:
            high = alpha
        else:
            low = alpha
        new = alpha - value / rise
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * alpha
        if abs(new - alpha) <= 1e-12 * alpha:
            break
        alpha = new
    return alpha


@kernel
def _gradient(a, c, isl, k, w, found, dt):  # type: ignore[no-untyped-def]
    """Gradient at w, and what contact has in it, which goes to z."""
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        store(w.z, isl.dof[q], (0.0, 0.0, 0.0))
    for r in range(isl.rows[k], isl.rows[k + 1]):
        g = slope(c, r, load(w.u, r), found.limit[r], dt)
        w.hessian[r] = curvature(c, r, load(w.u, r), found.limit[r], dt)
        add_row(c, r, a.nodes, g, w.z)
    for q in range(isl.dofs[k], isl.dofs[k + 1]):
        i = isl.dof[q]
        store(w.gradient, i, add(multiply(a, i, found.w), load(w.z, i)))


@kernel
def _loads(c, isl, k, w, found, dt):  # type: ignore[no-untyped-def]
    """Renew the loads that limit friction; the largest change, of the largest load."""
    most = change = 0.0
    for r in range(isl.rows[k], isl.rows[k + 1]):
        f = c.k[r] * max(0.0, -c.gap[r] - dt * dot(load(c.normal, r), load(w.u, r)))
        most = max(most, f)
        change = max(change, abs(c.mu[r] * f - found.limit[r]))
        found.limit[r] = c.mu[r] * f
    return change / most if most > 0.0 else 0.0


@kernel
def _island(a, c, isl, k, w, found, dt, tolerance):  # type: ignore[no-untyped-def]
    first, last = isl.bodies[k], isl.bodies[k + 1]
    count = last - first
    together = count <= TOGETHER
    coarse, y = np.empty((6 * count, 6 * count if together else 6)), np.empty(6 * count)
    other = np.empty(6 * count)
    for r in range(isl.rows[k], isl.rows[k + 1]):
        store(w.u, r, row_sum(c, r, a.nodes, found.w))
    _loads(c, isl, k, w, found, dt)
    renewed = steps = total = 0
    left, floor = 1.0, 0.0
    while steps < MOST_STEPS:
        _gradient(a, c, isl, k, w, found, dt)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):
            store(w.p, isl.dof[q], load(w.z, isl.dof[q]))
        _blocks(a, c, isl, k, w)
        _coarse(c, isl, k, w, coarse, together)
        _precondition(a, isl, k, w, coarse, together, w.p, w.z, other)
        size = _inner(isl, k, w.p, w.z)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):  # A w, which balances contact in the end
            store(w.p, isl.dof[q], sub(load(w.gradient, isl.dof[q]), load(w.p, isl.dof[q])))
        _precondition(a, isl, k, w, coarse, together, w.p, w.z, other)
        size = max(size, _inner(isl, k, w.p, w.z), floor)
        floor = max(floor, SMALLEST * SMALLEST * size)
        _precondition(a, isl, k, w, coarse, together, w.gradient, w.z, other)
        left = math.sqrt(_inner(isl, k, w.gradient, w.z) / size) if size > 0.0 else 0.0
        if left <= tolerance:
            if tolerance > TOLERANCE or renewed >= RENEWALS or _loads(c, isl, k, w, found, dt) <= SETTLED:
                break
            renewed += 1
            continue
        total += _direction(a, c, isl, k, w, coarse, together, y, FORCING)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):
            store(w.ad, isl.dof[q], multiply(a, isl.dof[q], w.d))
        linear, quadratic = _inner(isl, k, w.ad, found.w), _inner(isl, k, w.ad, w.d)
        for r in range(isl.rows[k], isl.rows[k + 1]):
            store(w.du, r, row_sum(c, r, a.nodes, w.d))
        alpha = _line(c, isl, k, w, found.limit, dt, _inner(isl, k, w.gradient, w.d), linear, quadratic)
        for q in range(isl.dofs[k], isl.dofs[k + 1]):
            i = isl.dof[q]
            store(found.w, i, axpy(alpha, load(w.d, i), load(found.w, i)))
        for r in range(isl.rows[k], isl.rows[k + 1]):
            store(w.u, r, axpy(alpha, load(w.du, r), load(w.u, r)))
        steps += 1
        if steps <= 2:
            _loads(c, isl, k, w, found, dt)
    for r in range(isl.rows[k], isl.rows[k + 1]):
        f, s, _, stiffness = law(c, r, load(w.u, r), found.limit[r], dt)
        found.force[r] = f
        store(found.friction, r, scale(-stiffness, s))
    found.newton[k], found.iterations[k], found.left[k] = steps, total, left


@kernel
def solve(a, c, isl, w, found, dt, tolerance):  # type: ignore[no-untyped-def]
    """Solve all islands; found.w holds where each starts."""
    for k in range(len(isl.rows) - 1):
        _island(a, c, isl, k, w, found, dt, tolerance)
