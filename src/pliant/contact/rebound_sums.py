"""Sums over colliding points, pair by pair, for `rebound`: serial kernels of a few passes, since points are few and steps are many."""

from __future__ import annotations

import numpy as np

from pliant.kernels import add, axpy, cross, dot, kernel, load, scale, store, sub


@kernel
def respond_together(pair, side, point, at, frame, pairs, member, first, mean):  # type: ignore[no-untyped-def]
    """Rows of the points that respond: first one per pair and side of rigid bodies, then soft points one by one; how many there are.

    member: row of each point; first: the first point of a row; mean: of where its points are. `first` comes in as -1.
    """
    slot, size, used = np.full(2 * pairs, -1), np.zeros(len(first)), 0
    for k in range(len(pair)):
        if frame[point[k]] >= 0:
            slot[2 * pair[k] + side[k]] = 0
    for s in range(len(slot)):
        if slot[s] == 0:
            slot[s] = used
            used += 1
    for k in range(len(pair)):
        row = used
        if frame[point[k]] >= 0:
            row = slot[2 * pair[k] + side[k]]
        else:
            used += 1
        member[k] = row
        first[row] = k if first[row] < 0 else first[row]
        size[row] += 1.0
        store(mean, row, add(load(mean, row), load(at, k)))
    for row in range(used):
        mean[row] /= size[row]
    return used


@kernel
def point_velocities(  # type: ignore[no-untyped-def]
    point, at, skin_start, skin_node, skin_weight, skin_frame, v, inverse, velocity, omega, position, slid, out
):
    """Velocity of each row [m/s]: of nodes, of rigid bodies where they are touched, of prescribed ones as they slid."""
    for r in range(len(point)):
        p = point[r]
        f = skin_frame[p]
        u = (0.0, 0.0, 0.0)
        if f < 0:
            for k in range(skin_start[p], skin_start[p + 1]):
                u = axpy(skin_weight[k], load(v, skin_node[k]), u)
        elif inverse[f] > 0.0:
            u = add(load(velocity, f), cross(load(omega, f), sub(load(at, r), load(position, f))))
        else:
            u = load(slid, r)
        store(out, r, u)


@kernel
def pair_means(pair, pairs, mass, fixed, values, out):  # type: ignore[no-untyped-def]
    """Mean of a field (r, 3) over the points of a pair, by mass, or over its fixed points if it has some."""
    still, weight, total = np.zeros(pairs), np.zeros(pairs), np.zeros((pairs, 3))
    for r in range(len(pair)):
        still[pair[r]] += fixed[r]
    for r in range(len(pair)):
        p = pair[r]
        w = 1.0 * fixed[r] if still[p] > 0.0 else mass[r]
        weight[p] += w
        store(total, p, axpy(w, load(values, r), load(total, p)))
    for r in range(len(pair)):
        p = pair[r]
        store(out, r, scale(1.0 / weight[p] if weight[p] > 0.0 else 0.0, load(total, p)))


@kernel
def balance(pair, pairs, fixed, impulse):  # type: ignore[no-untyped-def]
    """Fixed points take what the others of their pair leave, in equal shares; in place."""
    number, total = np.zeros(pairs), np.zeros((pairs, 3))
    for r in range(len(pair)):
        number[pair[r]] += fixed[r]
        store(total, pair[r], add(load(impulse, r), load(total, pair[r])))
    for r in range(len(pair)):
        if fixed[r]:
            store(impulse, r, axpy(-1.0 / number[pair[r]], load(total, pair[r]), load(impulse, r)))


@kernel
def turn_along_normals(pair, side, pairs, mass, fixed, v, normal, out):  # type: ignore[no-untyped-def]
    """((v - V).n) n of the points that approach V, which is the mean of just these; zero for the others."""
    size = len(pair)
    along, active, change = np.empty(size), np.ones(size, np.bool_), np.empty(size)
    for r in range(size):
        along[r] = dot(load(v, r), load(normal, r)) * (1.0 if side[r] == 0 else -1.0)
    left = True
    while left:
        left = False
        still, weight, total = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
        for r in range(size):
            still[pair[r]] += fixed[r] & active[r]
        for r in range(size):
            w = 1.0 * fixed[r] if still[pair[r]] > 0.0 else mass[r]
            weight[pair[r]] += w if active[r] else 0.0
            total[pair[r]] += w * along[r] if active[r] else 0.0
        for r in range(size):
            p = pair[r]
            away = along[r] - (total[p] / weight[p] if weight[p] > 0.0 else 0.0)
            change[r] = away if side[r] == 0 else -away
            if active[r] and not (change[r] < 0.0 or fixed[r]):
                active[r] = False
                left = True
    for r in range(size):
        store(out, r, scale(change[r] if active[r] else 0.0, load(normal, r)))


@kernel
def told(member, gap, stands_in, pair, side, pairs, deepest, share):  # type: ignore[no-untyped-def]
    """Deepest gap of the points of each row (comes in as NaN), and the share of what passes that a row tells (comes in as 0).

    Where both bodies of a pair have points of their own, each tells half; what stands for an exact shape tells nothing.
    """
    tells = np.zeros((pairs, 2), np.bool_)
    for k in range(len(member)):
        row = member[k]
        if not stands_in[k]:
            share[row] = 1.0
            tells[pair[row], side[row]] = True
        if not gap[k] >= deepest[row] and not np.isnan(gap[k]):
            deepest[row] = gap[k]
    for row in range(len(pair)):
        if tells[pair[row], 0] and tells[pair[row], 1]:
            share[row] *= 0.5
