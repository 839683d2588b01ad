"""One convex problem per step and island (theory/patch 4.1, 4.2): velocities of bodies that touch, compliant contact, Coulomb friction.

    min_w  1/2 w.A w + sum_r l_r(J_r w),      w = v - v*,  v* the end velocity of every body on its own

A = M + dt C + dt^2 K of implicit bodies, m of explicit nodes, m and R I R^T of frames (two vectors each: velocity and turning). With
u = J_r w, n the normal, g the gap and s the stretch of the tangential spring at the end of the step of every body on its own:

    depth           x = max(0, -g - dt n.u)
    normal force    f = k x (1 + c x^2)
    friction        t = k_t (s + dt T u),  cut to the limit  mu f0,      T = 1 - n n^T
    l = k x^2 (2 + c x^2) / 4 + Huber(|s + dt T u|; k_t, mu f0)

[Castro 2022]. The load f0 that limits friction is lagged, so that what is left is convex, and renewed until it has settled. Newton's
method; directions by conjugate gradients on H = A + J^T G J, G the Hessian of l; exact line search. The preconditioner adds the inverse
diagonal blocks of H and a solve for the rigid motions of all bodies of the island (in small islands of all together, in large ones of each
alone); its norm therefore sees a body that moves as a whole as well as one that deforms, and the search stops by it.

Islands share no unknown, so they are solved apart: far-away bodies and the number of threads change nothing.

Arrays that kernels share, packed so that there are few of them: `row` (r, ROW) and `trial` (r, TRIAL) with the columns named below,
`vectors` (6, N, 3) scratch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

TOLERANCE = 1e-5  # of the norm of the gradient, against that of the contact impulses, at rest
LOOSE = 1e-3  # the same, of the change of velocity in the step, against that by contact
ROUGH = 5e-2  # the same, while it is still to be seen where the step ends, and from where on loads are worth renewing
SMALLEST = 1e-3  # of what the search began with: impulses where nothing touches in the end, and the slope along a direction
FORCING = 0.1  # of the gradient's norm, to which a Newton direction is solved at least: tighter costs iterations, looser Newton steps
MOST_STEPS = 60  # Newton steps of an island
MOST_ITERATIONS = 500  # of conjugate gradients for a direction
RENEWALS = 10  # how often the loads that limit friction are renewed at most
TOGETHER = 40  # bodies in an island up to which their rigid motions are solved together, densely

NORMAL, GAP, STRETCH, STIFF, SHEAR, FRICTION, LOAD, PLACE, HARD, ROW = 0, 3, 4, 7, 8, 9, 10, 11, 14, 15  # columns of `row`; HARD: c
MOTION, CHANGE, HESSIAN, TRIAL = 0, 3, 6, 12  # columns of `trial`: u, its change along the direction, G (on the way along it `set_line`)


class System(NamedTuple):
    """A, over vectors (N, 3): nodes first, then velocity and turning of each frame."""

    indptr: np.ndarray  # (n + 1,) blocks of implicit nodes
    indices: np.ndarray
    values: Floats  # (nnz, 3, 3)
    diagonal: Floats  # (N, 6) its diagonal blocks xx, xy, xz, yy, yz, zz, all of it for what is not in the sparse part


class Contact(NamedTuple):
    """Rows, sorted by island."""

    start: Ints  # (r + 1,)
    dof: np.ndarray  # (entries,) int32: node, or nodes + 2 frame
    weight: Floats  # (entries,)
    origin: Floats  # [m] (frames, 3) where frames are
    row: Floats  # (r, ROW)
    side: Ints  # (r, 2) body on side A and B, counted through all islands; -1 if it does not move as a whole


class Islands(NamedTuple):
    """What belongs together."""

    bounds: Ints  # (i + 1, 3) first row, first of `dof`, first of the bodies that can move as a whole
    dof: Ints
    run: Ints  # (b, 2) where its dofs begin and end, counted from the first of its island; those of no such body come behind them
    whole: Floats  # (b, 7) mass [kg] and moments of inertia xx, xy, xz, yy, yz, zz [kg m^2] about the centre
    centre: Floats  # [m] (b, 3)
    arm: Floats  # (n, 3) [m] from the centre of its body to each node


class Solution(NamedTuple):
    """Results."""

    still: Floats  # (N, 3) given: the w with which velocities stay as they were
    w: Floats  # (N, 3) change of velocity
    trial: Floats  # (r, TRIAL)
    force: Floats  # (r, 4) [N] friction on A, normal force
    counts: Ints  # (i, 3) Newton steps, iterations, renewals
    left: Floats  # (i,) norm of the gradient that is left, of that of the impulses


@kernel
def set_rows(order, normal, at, gap, stretch, stiff, shear, friction, load_, hard, row):  # type: ignore[no-untyped-def]
    """Fill the columns of `row`, in the order of the islands."""
    for k in range(len(order)):
        r = order[k]
        for c in range(3):
            row[k, NORMAL + c], row[k, STRETCH + c], row[k, PLACE + c] = normal[r, c], stretch[r, c], at[r, c]
        row[k, GAP], row[k, STIFF], row[k, SHEAR], row[k, FRICTION], row[k, LOAD], row[k, HARD] = (
            gap[r], stiff[r], shear[r], friction[r], load_[r], hard[r],
        )  # fmt: skip


@inline
def three(a, r, k):  # type: ignore[no-untyped-def]
    return a[r, k], a[r, k + 1], a[r, k + 2]


@inline
def lever(row, origin, r, frame):  # type: ignore[no-untyped-def]
    """From a frame to the place of a row [m]."""
    return sub(three(row, r, PLACE), load(origin, frame))


@inline
def row_sum(start, dof, weight, origin, row, r, nodes, x):  # type: ignore[no-untyped-def]
    """J_r x."""
    u = (0.0, 0.0, 0.0)
    for e in range(start[r], start[r + 1]):
        i = dof[e]
        y = load(x, i)
        if i >= nodes:
            y = add(y, cross(load(x, i + 1), lever(row, origin, r, (i - nodes) // 2)))
        u = axpy(weight[e], y, u)
    return u


@inline
def add_row(start, dof, weight, origin, row, r, nodes, g, out):  # type: ignore[no-untyped-def]
    """out += J_r^T g."""
    for e in range(start[r], start[r + 1]):
        i = dof[e]
        h = scale(weight[e], g)
        store(out, i, add(load(out, i), h))
        if i >= nodes:
            store(out, i + 1, add(load(out, i + 1), cross(lever(row, origin, r, (i - nodes) // 2), h)))


@inline
def six(a, r, k):  # type: ignore[no-untyped-def]
    return a[r, k], a[r, k + 1], a[r, k + 2], a[r, k + 3], a[r, k + 4], a[r, k + 5]


@inline
def times(m, x):  # type: ignore[no-untyped-def]
    """A symmetric 3x3 matrix xx, xy, xz, yy, yz, zz times a vector."""
    return (
        m[0] * x[0] + m[1] * x[1] + m[2] * x[2],
        m[1] * x[0] + m[3] * x[1] + m[4] * x[2],
        m[2] * x[0] + m[4] * x[1] + m[5] * x[2],
    )


@inline
def law(row, r, u, dt):  # type: ignore[no-untyped-def]
    """(depth, normal force, tangential spring, its length, its force over its length) at u."""
    n = three(row, r, NORMAL)
    across = dot(n, u)
    x = max(0.0, -row[r, GAP] - dt * across)
    f = row[r, STIFF] * x * (1.0 + row[r, HARD] * x * x)
    s = axpy(dt, axpy(-across, n, u), three(row, r, STRETCH))
    length, limit = norm(s), row[r, FRICTION] * row[r, LOAD]
    stiffness = row[r, SHEAR] if row[r, SHEAR] * length <= limit else limit / length
    return x, f, s, length, stiffness


@inline
def slope_and_curvature(row, r, u, dt):  # type: ignore[no-untyped-def]
    """Gradient of l, minus the impulse on A, and its Hessian G."""
    n = three(row, r, NORMAL)
    x, f, s, length, stiffness = law(row, r, u, dt)
    a = dt * dt * stiffness
    b = (dt * dt * row[r, STIFF] * (1.0 + 3.0 * row[r, HARD] * x * x) if f > 0.0 else 0.0) - a
    c = -a / (length * length) if stiffness < row[r, SHEAR] and length > 0.0 else 0.0
    return scale(dt, axpy(-f, n, scale(stiffness, s))), (
        a + b * n[0] * n[0] + c * s[0] * s[0], b * n[0] * n[1] + c * s[0] * s[1], b * n[0] * n[2] + c * s[0] * s[2],
        a + b * n[1] * n[1] + c * s[1] * s[1], b * n[1] * n[2] + c * s[1] * s[2], a + b * n[2] * n[2] + c * s[2] * s[2],
    )  # fmt: skip


@inline
def set_line(row, trial, r, dt):  # type: ignore[no-untyped-def]
    """What a row knows of the way u + alpha du, in place of its G: gap g0 + alpha g1, square of the stretch a + 2 b alpha + c alpha^2."""
    n, u, du = three(row, r, NORMAL), three(trial, r, MOTION), three(trial, r, CHANGE)
    along, more = dot(n, u), dot(n, du)
    s, t = axpy(dt, axpy(-along, n, u), three(row, r, STRETCH)), scale(dt, axpy(-more, n, du))
    trial[r, HESSIAN], trial[r, HESSIAN + 1] = row[r, GAP] + dt * along, dt * more
    trial[r, HESSIAN + 2], trial[r, HESSIAN + 3], trial[r, HESSIAN + 4] = dot(s, s), dot(s, t), dot(t, t)


@inline
def along_line(row, trial, r, alpha):  # type: ignore[no-untyped-def]
    """First and second derivative of l by alpha."""
    g1, a, b, c = trial[r, HESSIAN + 1], trial[r, HESSIAN + 2], trial[r, HESSIAN + 3], trial[r, HESSIAN + 4]
    x = max(0.0, -trial[r, HESSIAN] - alpha * g1)
    value, rise, turn = 0.0, 0.0, b + alpha * c
    if x > 0.0:
        value = -row[r, STIFF] * x * (1.0 + row[r, HARD] * x * x) * g1
        rise = row[r, STIFF] * (1.0 + 3.0 * row[r, HARD] * x * x) * g1 * g1
    limit, square = row[r, FRICTION] * row[r, LOAD], max(a + alpha * (turn + b), 0.0)
    if row[r, SHEAR] * row[r, SHEAR] * square <= limit * limit:
        return value + row[r, SHEAR] * turn, rise + row[r, SHEAR] * c
    if limit > 0.0:
        stiffness = limit / math.sqrt(square)
        value, rise = value + stiffness * turn, rise + stiffness * (c - turn * turn / square)
    return value, rise


@inline
def multiply(indptr, indices, values, diagonal, i, x):  # type: ignore[no-untyped-def]
    """Row i of A x."""
    if i + 1 >= len(indptr) or indptr[i] == indptr[i + 1]:
        return times(six(diagonal, i, 0), load(x, i))
    y0 = y1 = y2 = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        j = indices[k]
        y0 += values[k, 0, 0] * x[j, 0] + values[k, 0, 1] * x[j, 1] + values[k, 0, 2] * x[j, 2]
        y1 += values[k, 1, 0] * x[j, 0] + values[k, 1, 1] * x[j, 1] + values[k, 1, 2] * x[j, 2]
        y2 += values[k, 2, 0] * x[j, 0] + values[k, 2, 1] * x[j, 1] + values[k, 2, 2] * x[j, 2]
    return y0, y1, y2


@kernel
def _blocks(diagonal, nodes, start, dof, weight, trial, active, list_, block):  # type: ignore[no-untyped-def]
    """Inverse diagonal blocks of H; `active` and `list_` of one island."""
    for i in list_:
        for m in range(6):
            block[i, m] = diagonal[i, m]
    for r in active:
        h = six(trial, r, HESSIAN)
        for e in range(start[r], start[r + 1]):
            i = dof[e]
            if i < nodes:
                w = weight[e] * weight[e]
                for m in range(6):
                    block[i, m] += w * h[m]
    for i in list_:
        a, b, c, d, e, f = six(block, i, 0)
        p, q, s = d * f - e * e, c * e - b * f, b * e - c * d
        t = 1.0 / (a * p + b * q + c * s)
        block[i] = (t * p, t * q, t * s, t * (a * f - c * c), t * (b * c - a * e), t * (a * d - b * b))


@inline
def skew(s):  # type: ignore[no-untyped-def]
    """[s], of the cross product s x, by rows."""
    return (0.0, -s[2], s[1]), (s[2], 0.0, -s[0]), (-s[1], s[0], 0.0)


@kernel
def _add_pair(coarse, i, j, g, p, q, sa, sb, sign):  # type: ignore[no-untyped-def]
    """coarse[6i.., 6j..] += sign sum_r [1, -[a]]^T G [1, -[b]]: motions v + o x r, arms a = x + sa and b = x + sb of rows at x.

    From the sums over rows g = G, p = [x] G and q = [x] G [x]: the lower left is p + [sa] g, the upper right p^T - g [sb], the lower
    right -(q + p [sb] - [sa] p^T + [sa] g [sb]).
    """
    ka, kb = skew(sa), skew(sb)
    for m in range(3):
        for n in range(3):
            left, right, low = p[m, n], p[n, m], q[m, n]
            for k in range(3):
                left += ka[m][k] * g[k, n]
                right -= g[m, k] * kb[k][n]
                low += p[m, k] * kb[k][n] - ka[m][k] * p[n, k]
                for o in range(3):
                    low += ka[m][k] * g[k, o] * kb[o][n]
            coarse[6 * i + m, 6 * j + n] += sign * g[m, n]
            coarse[6 * i + 3 + m, 6 * j + n] += sign * left
            coarse[6 * i + m, 6 * j + 3 + n] += sign * right
            coarse[6 * i + 3 + m, 6 * j + 3 + n] -= sign * low


@kernel
def _factor(m, first, size):  # type: ignore[no-untyped-def]
    """Cholesky factor of the square block in rows first : first + size, columns 0 : size, in its lower triangle.

    Column by column of what is left, so that the innermost loop adds along rows and not up, which the compiler may not do side by side.
    """
    column = np.empty(size)
    for j in range(size):
        root = math.sqrt(max(m[first + j, j], 1e-300))
        m[first + j, j] = root
        for i in range(j + 1, size):
            m[first + i, j] /= root
            column[i] = m[first + i, j]
        for i in range(j + 1, size):
            part = m[first + i]
            for k in range(j + 1, i + 1):
                part[k] -= column[i] * column[k]


@kernel
def _substitute(m, first, size, x):  # type: ignore[no-untyped-def]
    for i in range(size):
        s = x[first + i]
        for p in range(i):
            s -= m[first + i, p] * x[first + p]
        x[first + i] = s / m[first + i, i]
    for i in range(size - 1, -1, -1):
        s = x[first + i]
        for p in range(i + 1, size):
            s -= m[first + p, i] * x[first + p]
        x[first + i] = s / m[first + i, i]


@kernel
def _coarse(row, side, trial, active, bodies, whole, centre, coarse):  # type: ignore[no-untyped-def]
    """H on the rigid motions of the bodies of an island, factored; blocks of pairs of bodies only if there is room for them."""
    first, count = bodies[0], bodies[1] - bodies[0]
    together = coarse.shape[1] == 6 * count
    coarse[:] = 0.0
    for b in range(count):
        at = 6 * b if together else 0
        for i in range(3):
            coarse[6 * b + i, at + i] = whole[first + b, 0]
        xx, xy, xz, yy, yz, zz = six(whole, first + b, 1)
        coarse[6 * b + 3, at + 3], coarse[6 * b + 4, at + 4], coarse[6 * b + 5, at + 5] = xx, yy, zz
        coarse[6 * b + 4, at + 3], coarse[6 * b + 5, at + 3], coarse[6 * b + 5, at + 4] = xy, xz, yz
    sums = np.zeros((3, 3, 3))  # of G, [x] G and [x] G [x], x from the middle of body A, or of B if A does not move
    for k in range(len(active)):
        r = active[k]
        a, b = side[r, 0], side[r, 1]
        base = load(centre, a if a >= 0 else b) if a >= 0 or b >= 0 else (0.0, 0.0, 0.0)
        g = six(trial, r, HESSIAN)
        full = (g[0], g[1], g[2]), (g[1], g[3], g[4]), (g[2], g[4], g[5])
        x = skew(sub(three(row, r, PLACE), base))
        for m in range(3):
            xg = (dot(x[m], full[0]), dot(x[m], full[1]), dot(x[m], full[2]))
            for n in range(3):
                sums[0, m, n] += full[m][n]
                sums[1, m, n] += xg[n]
                sums[2, m, n] -= dot(xg, x[n])  # [x]^T = -[x]
        if k + 1 < len(active) and side[active[k + 1], 0] == a and side[active[k + 1], 1] == b:
            continue  # of the same two bodies
        if a == b:  # moves with itself
            sums[:] = 0.0
            continue
        to_a = sub(base, load(centre, a)) if a >= 0 else base
        to_b = sub(base, load(centre, b)) if b >= 0 else base
        if a >= 0:
            _add_pair(coarse, a - first, a - first if together else 0, sums[0], sums[1], sums[2], to_a, to_a, 1.0)
        if b >= 0:
            _add_pair(coarse, b - first, b - first if together else 0, sums[0], sums[1], sums[2], to_b, to_b, 1.0)
        if together and a > b >= 0:
            _add_pair(coarse, a - first, b - first, sums[0], sums[1], sums[2], to_a, to_b, -1.0)
        elif together and b > a >= 0:
            _add_pair(coarse, b - first, a - first, sums[0], sums[1], sums[2], to_b, to_a, -1.0)
        sums[:] = 0.0
    if together:
        _factor(coarse, 0, 6 * count)
    else:
        for b in range(count):
            _factor(coarse, 6 * b, 6)


@kernel
def _precondition(nodes, bodies, list_, run, behind, arm, block, coarse, r, z, y):  # type: ignore[no-untyped-def]
    """z = P r + R C^-1 R^T r, and r.z; frames are all coarse. `behind`: where the dofs of no body that moves as a whole begin."""
    first, count = bodies[0], bodies[1] - bodies[0]
    for b in range(count):
        f, t = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for q in range(run[first + b, 0], run[first + b, 1]):
            i = list_[q]
            g = load(r, i)
            if i < nodes:
                f, t = add(f, g), add(t, cross(load(arm, i), g))
            elif (i - nodes) % 2 == 0:
                f = g
            else:
                t = g
        for m in range(3):
            y[6 * b + m], y[6 * b + 3 + m] = f[m], t[m]
    if coarse.shape[1] == 6 * count:
        _substitute(coarse, 0, 6 * count, y)
    else:
        for b in range(count):
            _substitute(coarse, 6 * b, 6, y)
    total = 0.0
    for b in range(count):
        v, o = (y[6 * b], y[6 * b + 1], y[6 * b + 2]), (y[6 * b + 3], y[6 * b + 4], y[6 * b + 5])
        for q in range(run[first + b, 0], run[first + b, 1]):
            i = list_[q]
            g = load(r, i)
            if i < nodes:
                x = add(times(six(block, i, 0), g), add(v, cross(o, load(arm, i))))
            else:
                x = v if (i - nodes) % 2 == 0 else o
            store(z, i, x)
            total += dot(g, x)
    for q in range(behind[0], behind[1]):
        i = list_[q]
        x = times(six(block, i, 0), load(r, i))
        store(z, i, x)
        total += dot(load(r, i), x)
    return total


@kernel
def _hessian_times(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, active, list_, x, out
):  # fmt: skip
    """out = (A + J^T G J) x."""
    for i in list_:
        store(out, i, multiply(indptr, indices, values, diagonal, i, x))
    for r in active:
        u = row_sum(start, dof, weight, origin, row, r, nodes, x)
        add_row(start, dof, weight, origin, row, r, nodes, times(six(trial, r, HESSIAN), u), out)


@kernel
def _line(row, trial, rows, dt, began, curve):  # type: ignore[no-untyped-def]
    """The step along d at which the objective is least: the root of its rising slope, by Newton's method kept in brackets.

    began, curve: d.gradient and d.H d at its start. What rows have of them there is taken off; the rest is that of A.
    """
    low, high, alpha = 0.0, np.inf, 1.0
    linear, quadratic = began, curve
    for r in range(rows[0], rows[1]):
        set_line(row, trial, r, dt)
        value, rise = along_line(row, trial, r, 0.0)
        linear -= value
        quadratic -= rise
    for _ in range(40):
        value, rise = linear + alpha * quadratic, quadratic
        for r in range(rows[0], rows[1]):
            one, two = along_line(row, trial, r, alpha)
            value += one
            rise += two
        if abs(value) <= SMALLEST * abs(began):
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
def _gradient(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, rows, list_, dt, w, contact, out, active
):  # fmt: skip
    """What contact has in the gradient, the whole gradient at w, and G; rows whose G is not zero go to `active`, returns how many."""
    many = 0
    for i in list_:
        store(contact, i, (0.0, 0.0, 0.0))
    for r in range(rows[0], rows[1]):
        g, h = slope_and_curvature(row, r, three(trial, r, MOTION), dt)
        for m in range(6):
            trial[r, HESSIAN + m] = h[m]
        if h[0] != 0.0 or h[3] != 0.0 or h[5] != 0.0:
            active[many] = r
            many += 1
        if g[0] != 0.0 or g[1] != 0.0 or g[2] != 0.0:
            add_row(start, dof, weight, origin, row, r, nodes, g, contact)
    for i in list_:
        store(out, i, add(multiply(indptr, indices, values, diagonal, i, w), load(contact, i)))
    return many


@kernel
def _renew(row, trial, rows, dt):  # type: ignore[no-untyped-def]
    """Renew the loads; the largest change, of the largest load."""
    most = change = 0.0
    for r in range(rows[0], rows[1]):
        _, f, _, _, _ = law(row, r, three(trial, r, MOTION), dt)
        most = max(most, f)
        change = max(change, abs(f - row[r, LOAD]))
        row[r, LOAD] = f
    return change / most if most > 0.0 else 0.0


@inline
def _wanted(diagonal, list_, w, still, least, most):  # type: ignore[no-untyped-def]
    """Tolerance: `most` of how much velocities change in the step, against what contact changes them by, but no less than `least`."""
    change = whole = 0.0
    for i in list_:
        x, m = load(w, i), six(diagonal, i, 0)
        y = sub(x, load(still, i))
        change += dot(y, times(m, y))
        whole += dot(x, times(m, x))
    return max(least, most * min(1.0, math.sqrt(change / whole))) if whole > 0.0 else least


@kernel
def _island(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, start, dof, weight, origin, row, side, rows, bodies, list_, run, whole, centre, arm, still, w, trial,
    vectors, block, listed, counts, dt, least, most,
):  # fmt: skip
    """Newton's method for one island; what is left of the gradient. `run` counts within `list_`."""
    nodes, count = len(arm), bodies[1] - bodies[0]
    coarse, y = np.empty((6 * count, 6 * count if count <= TOGETHER else 6)), np.empty(6 * count)
    gradient, d, z, p, hp, residual = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    behind = (run[bodies[1] - 1, 1] if count > 0 else 0, len(list_))
    for r in range(rows[0], rows[1]):
        u = row_sum(start, dof, weight, origin, row, r, nodes, w)
        trial[r, MOTION], trial[r, MOTION + 1], trial[r, MOTION + 2] = u
    left, floor, rough = 1.0, 0.0, least >= ROUGH
    direct = behind[0] == 2 * count == len(list_) and count <= TOGETHER  # frames only: the coarse level is all of H
    while counts[0] < MOST_STEPS:
        many = _gradient(
            indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, rows, list_, dt, w, p, gradient, listed
        )
        active = listed[:many]
        _blocks(diagonal, nodes, start, dof, weight, trial, active, list_, block)
        _coarse(row, side, trial, active, bodies, whole, centre, coarse)
        size = _precondition(nodes, bodies, list_, run, behind, arm, block, coarse, p, z, y)
        if counts[0] == 0:
            for i in list_:  # A w, which balances contact in the end
                store(p, i, sub(load(gradient, i), load(p, i)))
            size = max(size, _precondition(nodes, bodies, list_, run, behind, arm, block, coarse, p, z, y))
            floor = SMALLEST * SMALLEST * size
        rz = _precondition(nodes, bodies, list_, run, behind, arm, block, coarse, gradient, z, y)
        left = math.sqrt(rz / max(size, floor)) if max(size, floor) > 0.0 else 0.0
        tolerance = _wanted(diagonal, list_, w, still, least, most)
        if left <= tolerance and (rough or not direct or counts[0] > 0):  # a step that costs no iterations is always worth it
            if rough or counts[2] >= RENEWALS or _renew(row, trial, rows, dt) <= 10.0 * tolerance:
                break  # single loads are known less well than the whole
            counts[2] += 1
            continue
        for i in list_:
            store(d, i, (0.0, 0.0, 0.0))
            store(residual, i, scale(-1.0, load(gradient, i)))
            store(p, i, scale(-1.0, load(z, i)))
        enough = rz * max(min(FORCING, left), 0.5 * tolerance / left) ** 2  # what the next step can still make use of
        for _ in range(MOST_ITERATIONS):
            _hessian_times(indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, active, list_, p, hp)
            curve = 0.0
            for i in list_:
                curve += dot(load(p, i), load(hp, i))
            if not curve > 0.0:  # all that is left has underflowed
                break
            alpha = rz / curve
            for i in list_:
                store(d, i, axpy(alpha, load(p, i), load(d, i)))
                store(residual, i, axpy(-alpha, load(hp, i), load(residual, i)))
            new = _precondition(nodes, bodies, list_, run, behind, arm, block, coarse, residual, z, y)
            counts[1] += 1
            if new <= enough:
                break
            for i in list_:
                store(p, i, axpy(new / rz, load(p, i), load(z, i)))
            rz = new
        began = curve = 0.0
        for i in list_:  # the residual is -gradient - H d
            di = load(d, i)
            began += dot(load(gradient, i), di)
            curve -= dot(add(load(gradient, i), load(residual, i)), di)
        if not began < 0.0:  # nothing but rounding is left to descend
            return 0.0
        for r in range(rows[0], rows[1]):
            u = row_sum(start, dof, weight, origin, row, r, nodes, d)
            trial[r, CHANGE], trial[r, CHANGE + 1], trial[r, CHANGE + 2] = u
        alpha = _line(row, trial, rows, dt, began, curve)
        for i in list_:
            store(w, i, axpy(alpha, load(d, i), load(w, i)))
        for r in range(rows[0], rows[1]):
            for m in range(3):
                trial[r, MOTION + m] += alpha * trial[r, CHANGE + m]
        counts[0] += 1
        if counts[0] <= 2 or not rough:  # loads settle while the search goes on
            _renew(row, trial, rows, dt)
    return left


@kernel
def solve(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, start, dof, weight, origin, row, side, bounds, list_, run, whole, centre, arm, still, w, trial,
    force, counts, left, dt, least, most,
):  # fmt: skip
    """Solve all islands; w holds where each starts, row[:, LOAD] the loads that limit friction at first; tolerances as in `_wanted`."""
    vectors, block = np.zeros((6, len(w), 3)), np.empty((len(w), 6))  # zero where nothing moves
    listed = np.empty(len(row), np.int64)
    for k in range(len(bounds) - 1):
        rows, bodies = (bounds[k, 0], bounds[k + 1, 0]), (bounds[k, 2], bounds[k + 1, 2])
        left[k] = _island(
            indptr, indices, values, diagonal, start, dof, weight, origin, row, side, rows, bodies,
            list_[bounds[k, 1] : bounds[k + 1, 1]], run, whole, centre, arm, still, w, trial, vectors, block, listed, counts[k], dt,
            least, most,
        )  # fmt: skip
    for r in range(len(row)):
        _, f, s, length, stiffness = law(row, r, three(trial, r, MOTION), dt)
        if stiffness * length > row[r, FRICTION] * f:  # within its cone to the last digit: loads have settled but for a little
            stiffness = row[r, FRICTION] * f / length
        t = scale(-stiffness, s)
        force[r, 0], force[r, 1], force[r, 2], force[r, 3] = t[0], t[1], t[2], f
