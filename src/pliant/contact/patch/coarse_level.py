"""The preconditioner of the search (theory/patch 4.2): inverse diagonal blocks of H, and H on the rigid motions of all bodies of an island.

    P^-1 = blocks(H)^-1 + R (R^T H R)^-1 R^T

R: six motions of every body, solved together in small islands and one by one in large ones.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.contact.patch.row_law import HESSIAN, PLACE, six, three, times
from pliant.kernels import add, cross, dot, inline, kernel, load, store, sub


@kernel
def blocks(diagonal, nodes, start, dof, weight, trial, active, list_, block):  # type: ignore[no-untyped-def]
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
def _factor(m, first, size, lead):  # type: ignore[no-untyped-def]
    """Cholesky factor of the square block in rows first : first + size, columns 0 : size, in its lower triangle.

    Column by column of what is left, so that the innermost loop adds along rows and not up, which the compiler may not do side by side.
    lead: the first entry of each row that is not zero; nothing comes in before it.
    """
    for i in range(size):
        lead[first + i] = 0
        while m[first + i, lead[first + i]] == 0.0 and lead[first + i] < i:
            lead[first + i] += 1
    column = np.empty(size)
    for j in range(size):
        root = math.sqrt(max(m[first + j, j], 1e-300))
        m[first + j, j] = root
        for i in range(j + 1, size):
            m[first + i, j] /= root
            column[i] = m[first + i, j]
        for i in range(j + 1, size):
            if lead[first + i] <= j:
                part = m[first + i]
                for k in range(j + 1, i + 1):
                    part[k] -= column[i] * column[k]


@kernel
def _substitute(m, first, size, lead, x):  # type: ignore[no-untyped-def]
    """x = (L L^T)^-1 x, along the rows of L both times."""
    for i in range(first, first + size):
        s = x[i]
        for p in range(lead[i], i - first):
            s -= m[i, p] * x[first + p]
        x[i] = s / m[i, i - first]
    for i in range(first + size - 1, first - 1, -1):
        x[i] /= m[i, i - first]
        for p in range(lead[i], i - first):
            x[first + p] -= m[i, p] * x[i]


@kernel
def coarse_level(row, side, trial, active, bodies, whole, centre, coarse, lead):  # type: ignore[no-untyped-def]
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
        _factor(coarse, 0, 6 * count, lead)
    else:
        for b in range(count):
            _factor(coarse, 6 * b, 6, lead)


@kernel
def precondition(nodes, bodies, list_, run, behind, arm, block, coarse, lead, r, z, y):  # type: ignore[no-untyped-def]
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
        _substitute(coarse, 0, 6 * count, lead, y)
    else:
        for b in range(count):
            _substitute(coarse, 6 * b, 6, lead, y)
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
