r"""Stable neo-Hookean elasticity: Eq. (14) of Smith, De Goes, Kim, "Stable Neo-Hookean Flesh Simulation", ACM
Transactions on Graphics 37(2), 2018, without its constant, so that the energy is zero at rest (theory/elements 4.5):

    psi = m/2 (I - 3) - m/2 log((I + 1)/4) + l/2 (J - a)^2 - l/2 (1 - a)^2,   I = F:F,  J = det F
    P   = m (1 - 1/(I + 1)) F + l (J - a) cof F
    m = 4/3 mu,   l = lam + 5/6 mu,   a = 1 + 3/4 m / l

With these m, l, a the stress at rest is zero and small strains follow Hooke's law with the given lam and mu; l > 0 for
every Poisson ratio in (-1, 1/2). Defined and smooth for every F, also flat and inverted. With g = l (J - a) and
h = m (1 - 1/(I + 1)), dP/dF in the frame of the singular vectors has

    d2psi/ds_i ds_j = delta_ij h + 2 m s_i s_j / (I + 1)^2 + l J_i J_j + (1 - delta_ij) g s_k,   J_i = s_j s_k
    symmetric pair  h - g s_k
    skew pair       h + g s_k

Golden numbers for lam = 15/26 kPa, mu = 5/13 kPa (E = 1 kPa, nu = 0.3), computed with 40 digits from psi alone, P by
numerical differentiation:

    F = diag(1.1, 1, 1)                         psi =    6.7517213912 Pa   P11 =   135.2396613679 Pa
    F = [[1, 0, .1], [0, 1, .2], [0, 0, 1.3]]   psi =   71.2198013879 Pa   P33 =   410.6350751920 Pa
    F = diag(1, 1, -1), inverted                psi = 2564.1025641026 Pa   P33 = -2564.1025641026 Pa
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.bodies.matrix3 import cofactor, combined, inner
from pliant.kernels import inline


class NeoHookean:
    """Rubber-like, stable under any deformation."""

    code = 3

    def energy(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        m, l = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
        q = np.einsum("nij,nij->n", F, F) - 3.0
        d = np.linalg.det(F) - 1.0
        return 0.5 * m * (q - np.log1p(0.25 * q)) + 0.5 * l * d * d - 0.75 * m * d

    def stress(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        m, l = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
        I = np.einsum("nij,nij->n", F, F)
        g = l * (np.linalg.det(F) - 1.0) - 0.75 * m
        cof = np.stack([np.cross(F[:, i - 2], F[:, i - 1]) for i in range(3)], axis=1)
        return (m * I / (I + 1.0))[:, None, None] * F + g[:, None, None] * cof


@inline
def stress(f, lam, mu):  # type: ignore[no-untyped-def]
    m, l = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    c = cofactor(f)
    J = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
    I = inner(f, f)
    return combined(m * I / (I + 1.0), f, l * (J - 1.0) - 0.75 * m, c)


@inline
def density(f, lam, mu):  # type: ignore[no-untyped-def]
    """l/2 (J - a)^2 - l/2 (1 - a)^2 = l/2 (J - 1)^2 - 3/4 m (J - 1), without the cancellation near rest."""
    m, l = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    c = cofactor(f)
    d = f[0] * c[0] + f[1] * c[1] + f[2] * c[2] - 1.0
    q = inner(f, f) - 3.0
    return 0.5 * m * (q - math.log1p(0.25 * q)) + 0.5 * l * d * d - 0.75 * m * d


@inline
def principal(s, lam, mu):  # type: ignore[no-untyped-def]
    """d2psi/ds2 (00, 11, 22, 01, 02, 12), symmetric pairs and skew pairs (01, 02, 12) at the stretches s."""
    m, l = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    x, y, z = s
    I = x * x + y * y + z * z
    h = m * I / (I + 1.0)
    g = l * (x * y * z - 1.0) - 0.75 * m
    k = 2.0 * m / ((I + 1.0) * (I + 1.0))
    jx, jy, jz = y * z, x * z, x * y
    second = (
        h + k * x * x + l * jx * jx,
        h + k * y * y + l * jy * jy,
        h + k * z * z + l * jz * jz,
        k * x * y + l * jx * jy + g * z,
        k * x * z + l * jx * jz + g * y,
        k * y * z + l * jy * jz + g * x,
    )
    return second, (h - g * z, h - g * y, h - g * x), (h + g * z, h + g * y, h + g * x)
