"""One convex problem per step and island (theory/patch 4.1, 4.2): velocities of bodies that touch, compliant contact, Coulomb friction.

    min_w  1/2 w.A w + sum_r l_r(J_r w),      w = v - v*,  v* the end velocity of every body on its own

A = M + dt C + dt^2 K of implicit bodies, m of explicit nodes, m and R I R^T of frames (two vectors each: velocity and turning); l_r is the
law of a row (row_law.py) [Castro 2022]. The load f0 that limits friction is lagged, so that what is left is convex, and renewed until it
has settled. Newton's method; directions by conjugate gradients on H = A + J^T G J, G the Hessian of l, preconditioned by blocks and rigid
motions (coarse_level.py); exact line search. The norm of the preconditioner sees a body that moves as a whole as well as one that deforms,
and the search stops by it.

Islands share no unknown, so they are solved apart: far-away bodies and the number of threads change nothing.

`vectors` (6, N, 3) is scratch that kernels share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.patch.coarse_level import blocks, coarse_level, precondition
from pliant.contact.patch.row_law import (
    CHANGE,
    HESSIAN,
    LOAD,
    MOTION,
    TURN,
    add_row,
    along_line,
    law,
    row_sum,
    set_line,
    six,
    slope_and_curvature,
    three,
    times,
)  # fmt: skip
from pliant.kernels import add, axpy, dot, inline, kernel, load, scale, store, sub

TOLERANCE = 1e-5  # of the norm of the gradient, against that of the contact impulses, at rest
LOOSE = 1e-3  # the same, of the change of velocity in the step, against that by contact, or in a search, against what it began with
ROUGH = 5e-2  # the same, while it is still to be seen where the step ends, and from where on loads are worth renewing
FORCING = 0.1  # of the gradient's norm, to which a Newton direction is solved at least: tighter costs iterations, looser Newton steps
MOST_STEPS = 100  # Newton steps of an island
MOST_ITERATIONS = 500  # of conjugate gradients for a direction
RENEWALS = 40  # how often the loads that limit friction are renewed at most: of masses jammed among six walls 93 % settle in 10
TOGETHER = 40  # bodies in an island up to which their rigid motions are solved together, densely


class System(NamedTuple):
    """A, over vectors (N, 3): nodes first, then velocity and turning of each frame."""

    indptr: np.ndarray  # (n + 1,) blocks of implicit nodes, above the diagonal
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
def _multiply(indptr, indices, values, diagonal, list_, x, out):  # type: ignore[no-untyped-def]
    """out = A x for the unknowns of an island; x is zero elsewhere, and what is written there means nothing.

    Each block above the diagonal serves for its mirror image, too: half of the memory to go through takes half of the time.
    """
    for i in list_:
        store(out, i, times(six(diagonal, i, 0), load(x, i)))
    for i in list_:
        if i + 1 >= len(indptr):
            continue
        u, v, w = load(x, i)
        y0 = y1 = y2 = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j, m = indices[k], values[k]
            p, q, r = load(x, j)
            m00, m01, m02, m10, m11, m12, m20, m21, m22 = m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2]
            y0 += m00 * p + m01 * q + m02 * r
            y1 += m10 * p + m11 * q + m12 * r
            y2 += m20 * p + m21 * q + m22 * r
            out[j, 0] += m00 * u + m10 * v + m20 * w
            out[j, 1] += m01 * u + m11 * v + m21 * w
            out[j, 2] += m02 * u + m12 * v + m22 * w
        out[i, 0] += y0
        out[i, 1] += y1
        out[i, 2] += y2


@kernel
def _hessian_times(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, active, list_, x, out
):  # fmt: skip
    """out = (A + J^T G J) x."""
    _multiply(indptr, indices, values, diagonal, list_, x, out)
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
        if abs(value) <= LOOSE * abs(began):
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
    _multiply(indptr, indices, values, diagonal, list_, w, out)
    for i in list_:
        store(out, i, add(load(out, i), load(contact, i)))
    return many


@kernel
def _renew(row, trial, rows, dt, share):  # type: ignore[no-untyped-def]
    """Renew the loads; the largest change of one that is called for, of the largest load, and the share of it that was made.

    More load may let less come out: by its friction a row can carry what would else press on it, and rows would hand loads to and fro for
    ever. So the share follows from how what is called for has changed since the last time, of all rows together [Irons 1969].
    """
    most = change = along = square = 0.0
    for r in range(rows[0], rows[1]):
        f, _, _, _, _ = law(row, r, three(trial, r, MOTION), dt)
        now, last = f - row[r, LOAD], row[r, TURN]
        most, change = max(most, f), max(change, abs(now))
        along += last * (now - last)
        square += (now - last) ** 2
        row[r, TURN] = now
    share = -share * along / square if 0.0 < -share * along < square else 1.0
    for r in range(rows[0], rows[1]):
        row[r, LOAD] += share * row[r, TURN]
    return (change / most if most > 0.0 else 0.0), share


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
    indptr, indices, values, diagonal, start, dof, weight, origin, row, side, rows, bodies, list_, run, whole, centre, arm, still, w,
    trial, vectors, block, listed, counts, dt, least, most,
):  # fmt: skip
    """Newton's method for one island; what is left of the gradient. `run` counts within `list_`."""
    nodes, count = len(arm), bodies[1] - bodies[0]
    coarse, y = np.empty((6 * count, 6 * count if count <= TOGETHER else 6)), np.empty(6 * count)
    lead = np.empty(6 * count, np.int64)
    gradient, d, z, p, hp, residual = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    behind = (run[bodies[1] - 1, 1] if count > 0 else 0, len(list_))
    for r in range(rows[0], rows[1]):
        u = row_sum(start, dof, weight, origin, row, r, nodes, w)
        trial[r, MOTION], trial[r, MOTION + 1], trial[r, MOTION + 2] = u
        row[r, TURN] = 0.0
    left, floor, rough, share = 1.0, 0.0, least >= ROUGH, 1.0
    direct = behind[0] == 2 * count == len(list_) and count <= TOGETHER  # frames only: the coarse level is all of H
    while counts[0] < MOST_STEPS:
        many = _gradient(
            indptr, indices, values, diagonal, nodes, start, dof, weight, origin, row, trial, rows, list_, dt, w, p, gradient, listed
        )
        active = listed[:many]
        blocks(diagonal, nodes, start, dof, weight, trial, active, list_, block)
        coarse_level(row, side, trial, active, bodies, whole, centre, coarse, lead)
        size = precondition(nodes, bodies, list_, run, behind, arm, block, coarse, lead, p, z, y)
        if counts[0] == 0:
            for i in list_:  # A w, which balances contact in the end
                store(p, i, sub(load(gradient, i), load(p, i)))
            size = max(size, precondition(nodes, bodies, list_, run, behind, arm, block, coarse, lead, p, z, y))
            floor = LOOSE * LOOSE * size
        rz = precondition(nodes, bodies, list_, run, behind, arm, block, coarse, lead, gradient, z, y)
        left = math.sqrt(rz / max(size, floor)) if max(size, floor) > 0.0 else 0.0
        tolerance = _wanted(diagonal, list_, w, still, least, most)
        if left <= tolerance and (rough or not direct or counts[0] > 0):  # a step that costs no iterations is always worth it
            if rough or counts[2] >= RENEWALS:
                break
            change, share = _renew(row, trial, rows, dt, share)
            if change <= 10.0 * tolerance:
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
            new = precondition(nodes, bodies, list_, run, behind, arm, block, coarse, lead, residual, z, y)
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
        if counts[0] <= 2:  # later they would change the problem faster than it is solved
            _, share = _renew(row, trial, rows, dt, 1.0)
    return left


@kernel
def solve(  # type: ignore[no-untyped-def]
    indptr, indices, values, diagonal, start, dof, weight, origin, row, side, bounds, list_, run, whole, centre, arm, still, w,
    trial, force, counts, left, dt, least, most,
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
        f, _, s, _, stiffness = law(row, r, three(trial, r, MOTION), dt)
        t = scale(-stiffness, s)  # as it was solved for: cut to the cone of f it would leave other rows without what they balance
        force[r, 0], force[r, 1], force[r, 2], force[r, 3] = t[0], t[1], t[2], f
