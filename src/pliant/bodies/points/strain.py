"""Strain of phyxels: the deformation gradient from the neighbours, Green's strain, stress, and the change of volume
(theory/point-bodies 4.1-4.3).

    F_i = sum_j w_ij e X^T A_i^-1,   strain e_i = (F^T F - T) / 2,   S = 2 mu (e - e_p) + lam tr(e - e_p) T
    U(d) = k_v / 2 d^2 - k_c / 3 min(d, 0)^3,   k_c = crush (lam + 2 mu),   d = det F v / V - 1

k_c is not in the source. Green's strain softens in compression: squeezed to s times its length the force (lam + 2 mu) (s - s^3) / 2 falls
below s = 1 / sqrt(3), is nothing at s = 0, and at s = -1 a mirrored neighbourhood is as much at rest as one that is not. So bodies stay
crushed. With crush = 1 the force is (lam + 2 mu) (x - x^2 / 2 + x^3 / 2), x = 1 - s: it rises for ever, its slope is that of rest or less
down to a third of the length (so steps need not be shorter), and only rotations are at rest. Small strains do not see it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pliant.base import Floats, Ints
from pliant.bodies.matrix3 import IDENTITY, combined, determinant, product, transposed
from pliant.kernels import inline, kernel, load, sub

ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Seen(NamedTuple):
    """Who sees whom (neighbourhoods.py), and where all were in the reference in use."""

    start: Ints  # (m + 1,)
    other: Ints  # (s,)
    weight: Floats  # (s,)
    near: Floats  # (s,)
    inverse: Floats  # (m, 9)
    spread: Floats  # (m, 9)
    projector: Floats  # (m, 9)
    nodes: Ints  # (m, 1)
    rest: Floats  # [m] (m, 3)


class Matter(NamedTuple):
    """What phyxels are made of, (m,) each."""

    volume: Floats  # [m^3] of the reference in use
    whole: Floats  # [m^3] at the start
    lam: Floats  # [Pa]
    mu: Floats  # [Pa]
    bulk: Floats  # [Pa] k_v
    crush: Floats  # [Pa] k_c
    stiff: Floats  # a of the hourglass energy
    plastic: Floats  # (m, 9) plastic strain


@inline
def load9(a, i):  # type: ignore[no-untyped-def]
    return a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8]


@inline
def store9(a, i, m):  # type: ignore[no-untyped-def]
    for k in range(9):
        a[i, k] = m[k]


@inline
def add_outer(m, s, u, v):  # type: ignore[no-untyped-def]
    """m + s u v^T."""
    a, b, c = s * u[0], s * u[1], s * u[2]
    return (
        m[0] + a * v[0], m[1] + a * v[1], m[2] + a * v[2],
        m[3] + b * v[0], m[4] + b * v[1], m[5] + b * v[2],
        m[6] + c * v[0], m[7] + c * v[1], m[8] + c * v[2],
    )  # fmt: skip


@inline
def times(m, u):  # type: ignore[no-untyped-def]
    """m u."""
    return (
        m[0] * u[0] + m[1] * u[1] + m[2] * u[2],
        m[3] * u[0] + m[4] * u[1] + m[5] * u[2],
        m[6] * u[0] + m[7] * u[1] + m[8] * u[2],
    )


@inline
def symmetric(m):  # type: ignore[no-untyped-def]
    xy, xz, yz = 0.5 * (m[1] + m[3]), 0.5 * (m[2] + m[6]), 0.5 * (m[5] + m[7])
    return m[0], xy, xz, xy, m[4], yz, xz, yz, m[8]


@inline
def hooke(e, lam, mu, t):  # type: ignore[no-untyped-def]
    """2 mu e + lam tr(e) T."""
    return combined(2.0 * mu, e, lam * (e[0] + e[4] + e[8]), t)


@inline
def green(f, t):  # type: ignore[no-untyped-def]
    """(F^T F - T) / 2."""
    return combined(0.5, product(transposed(f), f), -0.5, t)


@inline
def swelling(change, bulk, crush):  # type: ignore[no-untyped-def]
    """(U, U') of a volume that has changed by this part."""
    low = min(change, 0.0)
    return (0.5 * bulk - crush / 3.0 * low) * change * change, bulk * change - crush * low * low


@inline
def gradient(seen, x, i):  # type: ignore[no-untyped-def]
    """F of phyxel i for the field x."""
    other, weight, nodes, rest = seen.other, seen.weight, seen.nodes, seen.rest
    c, xi, Xi = ZERO, load(x, nodes[i, 0]), load(rest, i)
    for s in range(seen.start[i], seen.start[i + 1]):
        j = other[s]
        c = add_outer(c, weight[s], sub(load(x, nodes[j, 0]), xi), sub(load(rest, j), Xi))
    return product(c, load9(seen.inverse, i))


@kernel
def gradients(seen, x, out):  # type: ignore[no-untyped-def]
    """F of all phyxels, (m, 9)."""
    for i in range(len(out)):
        store9(out, i, gradient(seen, x, i))


@kernel
def stretches(seen, volume, whole, x, out):  # type: ignore[no-untyped-def]
    """Volume of all phyxels over that at the start, (m,): det F v / V; of flat ones sqrt(det(F^T F + 1 - T)) in place of det F."""
    for i in range(len(out)):
        f, t = gradient(seen, x, i), load9(seen.projector, i)
        if determinant(t) > 0.5:
            stretch = determinant(f)
        else:
            missing = combined(1.0, IDENTITY, -1.0, t)
            stretch = math.sqrt(max(determinant(combined(1.0, product(transposed(f), f), 1.0, missing)), 0.0))
        out[i] = stretch * volume[i] / whole[i]
