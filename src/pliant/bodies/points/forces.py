r"""Forces and energies of phyxels, in two passes without scatter (theory/point-bodies 4.4, 5).

The first pass finds F_i (strain.py) and, from it, two matrices per phyxel; the second sums over neighbours. With e = x_j - x_i, X = X_j -
X_i in pairs, else e strain, S stress, U(d) the energy of volume:

    energy = v (e - e_p):S / 2  +  V U(det F v / V - 1)  +  a / 2 sum_j near_ij |e - F_i X|^2,   a = c E v / sum_j w_ij
    G_i = d energy / d F = v F S + v U'(det F v / V - 1) cof F - a (sum_j near_ij e X^T - F_i B_i),   H_i = G_i A_i^-1
    force on i = sum_j { w_ij (H_i + H_j) X + near_ij ((a_i + a_j) e - (a_i F_i + a_j F_j) X) }

The last line is the exact gradient of all energies, those of the neighbours too: what phyxel j's energy puts on i is the same expression
with i and j exchanged. Each term is opposite for the two of a pair, bit for bit, so forces sum to zero; F S symmetric in the current
frame makes torques do so too. V is the volume at the start and v that of the reference in use (they differ after plastic flow). The last
energy stops modes that F cannot see (theory/point-bodies 5).

Damping (b of C = a M + b K): S + b dS/dt without the geometric part, d + b dd/dt in U', and x + b v in place of x in the last energy
(theory/point-bodies 4.5).
"""

from __future__ import annotations

from pliant.bodies.matrix3 import IDENTITY, cofactor, combined, determinant, inner, product, transposed
from pliant.bodies.points.strain import ZERO, add_outer, gradient, green, hooke, load9, store9, swelling, symmetric, times
from pliant.kernels import axpy, dot, kernel, load, parallel, prange, store, sub


@parallel
def stresses(seen, matter, rayleigh, x, v, rate, pull, hold):  # type: ignore[no-untyped-def]
    """First pass: H into pull and a F into hold, (m, 9)."""
    start, other, weight, near, inverse, spread, projector, nodes, rest = seen
    volume, whole, lam, mu, bulk, crush, stiff, plastic = matter
    for i in prange(len(pull)):
        c, d, q = ZERO, ZERO, ZERO
        xi, vi, Xi, b = load(x, nodes[i, 0]), load(v, nodes[i, 0]), load(rest, i), rayleigh[i]
        for s in range(start[i], start[i + 1]):
            j = other[s]
            e, X = sub(load(x, nodes[j, 0]), xi), sub(load(rest, j), Xi)
            c = add_outer(c, weight[s], e, X)
            if rate:
                u = sub(load(v, nodes[j, 0]), vi)
                d = add_outer(d, weight[s], u, X)
                e = axpy(b, u, e)
            q = add_outer(q, near[s], e, X)
        inv, t = load9(inverse, i), load9(projector, i)
        f = product(c, inv)
        moved, slope = f, ZERO
        strain = combined(1.0, green(f, t), -1.0, load9(plastic, i))
        if rate:
            slope = product(d, inv)
            strain = combined(1.0, strain, b, symmetric(product(transposed(f), slope)))
            moved = combined(1.0, f, b, slope)
        stress = product(f, hooke(strain, lam[i], mu[i], t))
        if bulk[i] > 0.0 or crush[i] > 0.0:
            cof, part = cofactor(f), volume[i] / whole[i]
            change = determinant(f) * part - 1.0
            if rate:
                change += b * part * inner(cof, slope)
            stress = combined(1.0, stress, swelling(change, bulk[i], crush[i])[1], cof)
        rest_of = combined(1.0, q, -1.0, product(moved, load9(spread, i)))
        store9(pull, i, product(combined(volume[i], stress, -stiff[i], rest_of), inv))
        store9(hold, i, combined(stiff[i], moved, 0.0, IDENTITY))


@parallel
def pair_forces(seen, stiff, rayleigh, x, v, rate, pull, hold, out):  # type: ignore[no-untyped-def]
    """Second pass: the force on every phyxel, (m, 3)."""
    start, other, weight, near, nodes, rest = seen.start, seen.other, seen.weight, seen.near, seen.nodes, seen.rest
    for i in prange(len(out)):
        xi, vi, Xi, a, b = load(x, nodes[i, 0]), load(v, nodes[i, 0]), load(rest, i), stiff[i], rayleigh[i]
        h, k, force = load9(pull, i), load9(hold, i), (0.0, 0.0, 0.0)
        for s in range(start[i], start[i + 1]):
            j = other[s]
            e, X = sub(load(x, nodes[j, 0]), xi), sub(load(rest, j), Xi)
            force = axpy(weight[s], times(combined(1.0, h, 1.0, load9(pull, j)), X), force)
            held = times(combined(1.0, k, 1.0, load9(hold, j)), X)
            if rate:
                u = sub(load(v, nodes[j, 0]), vi)
                held = axpy(-(a * b + stiff[j] * rayleigh[j]), u, held)
            force = axpy(near[s] * (a + stiff[j]), e, axpy(-near[s], held, force))
        store(out, i, force)


@kernel
def energies(seen, matter, x, out):  # type: ignore[no-untyped-def]
    """Energy of every phyxel [J], (m,)."""
    start, other, near, projector, nodes, rest = seen.start, seen.other, seen.near, seen.projector, seen.nodes, seen.rest
    volume, whole, lam, mu, bulk, crush, stiff, plastic = matter
    for i in range(len(out)):
        f, t = gradient(seen, x, i), load9(projector, i)
        strain = combined(1.0, green(f, t), -1.0, load9(plastic, i))
        total = 0.5 * volume[i] * inner(strain, hooke(strain, lam[i], mu[i], t))
        if t[0] + t[4] + t[8] > 2.5:  # flat neighbourhoods have no volume that could change
            total += whole[i] * swelling(determinant(f) * volume[i] / whole[i] - 1.0, bulk[i], crush[i])[0]
        xi, Xi, square = load(x, nodes[i, 0]), load(rest, i), 0.0
        for s in range(start[i], start[i + 1]):
            j = other[s]
            r = sub(sub(load(x, nodes[j, 0]), xi), times(f, sub(load(rest, j), Xi)))
            square += near[s] * dot(r, r)
        out[i] = total + 0.5 * stiff[i] * square
