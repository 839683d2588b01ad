r"""Linear elasticity: small strain, sees a rotation as strain (theory/elements 4.1).

    eps = (F + F^T) / 2 - 1,   psi = mu eps:eps + lam/2 tr(eps)^2,   P = 2 mu eps + lam tr(eps) 1

Limitations: only for rotations of a few degrees; a larger one blows the body up.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.bodies.matrix3 import product, transposed
from pliant.kernels import inline


def _strain(F: Floats) -> Floats:
    return 0.5 * (F + np.swapaxes(F, -1, -2)) - np.eye(3)


class Linear:
    """Hooke's law in the rest frame."""

    code = 0

    def energy(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        eps = _strain(F)
        return mu * np.einsum("nij,nij->n", eps, eps) + 0.5 * lam * np.einsum("nii->n", eps) ** 2

    def stress(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        eps = _strain(F)
        trace = np.einsum("nii->n", eps)
        return 2.0 * mu[:, None, None] * eps + (lam * trace)[:, None, None] * np.eye(3)


@inline
def hooke(m, lam, mu):  # type: ignore[no-untyped-def]
    """2 mu sym(m) + lam tr(m) 1."""
    t = lam * (m[0] + m[4] + m[8])
    a = mu * (m[1] + m[3])
    b = mu * (m[2] + m[6])
    c = mu * (m[5] + m[7])
    k = 2.0 * mu
    return k * m[0] + t, a, b, a, k * m[4] + t, c, b, c, k * m[8] + t


@inline
def rotated_strain(f, r):  # type: ignore[no-untyped-def]
    """R^T F - 1, whose symmetric part is the strain."""
    m = product(transposed(r), f)
    return m[0] - 1.0, m[1], m[2], m[3], m[4] - 1.0, m[5], m[6], m[7], m[8] - 1.0


@inline
def density(m, lam, mu):  # type: ignore[no-untyped-def]
    """Energy density of the strain sym(m)."""
    t = m[0] + m[4] + m[8]
    shear = (m[1] + m[3]) ** 2 + (m[2] + m[6]) ** 2 + (m[5] + m[7]) ** 2
    return mu * (m[0] * m[0] + m[4] * m[4] + m[8] * m[8] + 0.5 * shear) + 0.5 * lam * t * t
