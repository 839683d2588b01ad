"""What one row of contact does (theory/patch 4.1): its motion, its force and how that changes, and its part of the slope along a line.

With u = J_r w, n the normal, g the gap and s the stretch of the tangential spring at the end of the step of every body on its own:

    depth           x = max(0, -g - dt n.u)
    normal force    f = k x
    friction        t = k_t (s + dt T u),  cut to the limit  mu f0,      T = 1 - n n^T
    l = k x^2 / 2 + Huber(|s + dt T u|; k_t, mu f0)

Rows are packed into two arrays that kernels share, `row` (r, ROW) and `trial` (r, TRIAL), with the columns named below.
"""

from __future__ import annotations

import math

from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, norm, scale, store, sub

NORMAL, GAP, STRETCH, STIFF, SHEAR, FRICTION, LOAD, PLACE, BEFORE, TURN, ROW = 0, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16  # columns of `row`
# TURN: while loads are renewed, by how much what came out differed from what went in the last time
MOTION, CHANGE, HESSIAN, TRIAL = 0, 3, 6, 12  # columns of `trial`: u, its change along the direction, G (on the way along it `set_line`)


@kernel
def set_rows(  # type: ignore[no-untyped-def]
    order, pair, normal, at, gap, span, far, held, slid, slips, load_, late, before, stiff, shear, mu_s, mu_d, free_gap, row
):  # fmt: skip
    """Fill the columns of `row`, in the order of the islands, and the gaps that rows would have with w = 0, but for what comes out later.

    far: from where rows were found to the end of every body on its own [m]; held, slid: stretch at the start of the step, and what
    sides slide in it; span: the area that their stiffness stands for [m^2]; stiffness per area and friction are of the pairs of bodies.
    """
    for k in range(len(order)):
        r = order[k]
        p, n = pair[r], load(normal, r)
        s = add(load(held, r), load(slid, r))
        s = axpy(-dot(s, n), n, s)
        free_gap[r] = gap[r] + dot(n, load(far, r))
        for c in range(3):
            row[k, NORMAL + c], row[k, STRETCH + c], row[k, PLACE + c] = n[c], s[c], at[r, c]
        row[k, GAP], row[k, STIFF], row[k, SHEAR] = free_gap[r] + late[r], stiff[p] * span[r], shear[p] * span[r]
        row[k, FRICTION], row[k, LOAD], row[k, BEFORE] = mu_d[p] if slips[r] > 0.5 else mu_s[p], load_[r], before[r]


@kernel
def told_rows(order, row, trial, force, lively, late, dt, impulse, press, friction, gap, mu):  # type: ignore[no-untyped-def]
    """What was found, in the order of the rows: impulses [N s], normal forces and friction [N], gaps [m] at the end, coefficients."""
    for k in range(len(order)):
        r, n = order[k], three(row, k, NORMAL)
        press[r], mu[r] = force[k, 3], row[k, FRICTION]
        store(friction, r, three(force, k, 0))
        store(impulse, r, scale(dt, axpy(press[r], n, three(force, k, 0))))
        gap[r] = row[k, GAP] + dt * dot(n, three(trial, k, MOTION)) - (0.0 if lively[r] else late[r])


@kernel
def return_stretch(order, row, slid, held, slip, sticks):  # type: ignore[no-untyped-def]
    """Return mapping: stretch `held` at the end of the step, in place, by what rows have really slipped, so that nothing adds up."""
    for k in range(len(order)):
        r, n = order[k], three(row, k, NORMAL)
        u = load(slid, r)
        s = add(load(held, r), u)
        store(slip, r, axpy(-dot(u, n), n, u))
        s = axpy(-dot(s, n), n, s)
        length, most = norm(s), row[k, FRICTION] * row[k, LOAD] / row[k, SHEAR]
        sticks[r] = length <= most * (1.0 + 1e-9)
        store(held, r, scale(min(1.0, most / length) if length > 0.0 else 1.0, s))


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
def press(row, r, gap):  # type: ignore[no-untyped-def]
    """Normal force and how it grows with depth, where the step ends with this gap: k x; of what keeps energy k / 2 (x^2 - y^2) / (x - y),
    with the depth y a step before the start, and squares of what is not negative only (theory/patch 4.6).
    """
    k, x, y = row[r, STIFF], -gap, row[r, BEFORE]
    if math.isnan(y):
        return (k * x, k) if x > 0.0 else (0.0, 0.0)
    if x > 0.0 and y > 0.0:
        return 0.5 * k * (x + y), 0.5 * k
    if x > 0.0:
        part = x / (x - y)
        return 0.5 * k * x * part, 0.5 * k * part * (2.0 - part)
    if y > 0.0:
        part = y / (y - x)
        return 0.5 * k * y * part, 0.5 * k * part * part
    return 0.0, 0.0


@inline
def law(row, r, u, dt):  # type: ignore[no-untyped-def]
    """(normal force, how it grows with depth, tangential spring, its length, its force over its length) at u."""
    n = three(row, r, NORMAL)
    across = dot(n, u)
    f, rise = press(row, r, row[r, GAP] + dt * across)
    s = axpy(dt, axpy(-across, n, u), three(row, r, STRETCH))
    length, limit = norm(s), row[r, FRICTION] * row[r, LOAD]
    stiffness = row[r, SHEAR] if row[r, SHEAR] * length <= limit else limit / length
    return f, rise, s, length, stiffness


@inline
def slope_and_curvature(row, r, u, dt):  # type: ignore[no-untyped-def]
    """Gradient of l, minus the impulse on A, and its Hessian G."""
    n = three(row, r, NORMAL)
    f, rise, s, length, stiffness = law(row, r, u, dt)
    a = dt * dt * stiffness
    b = dt * dt * rise - a
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
    f, rise = press(row, r, trial[r, HESSIAN] + alpha * g1)
    value, rise, turn = -f * g1, rise * g1 * g1, b + alpha * c
    limit, square = row[r, FRICTION] * row[r, LOAD], max(a + alpha * (turn + b), 0.0)
    if row[r, SHEAR] * row[r, SHEAR] * square <= limit * limit:
        return value + row[r, SHEAR] * turn, rise + row[r, SHEAR] * c
    if limit > 0.0:
        stiffness = limit / math.sqrt(square)
        value, rise = value + stiffness * turn, rise + stiffness * (c - turn * turn / square)
    return value, rise
