r"""St. Venant-Kirchhoff: Hooke's law between Green strain and second Piola-Kirchhoff stress (theory/elements 4.4).

    E = (F^T F - 1) / 2,   psi = mu E:E + lam/2 tr(E)^2,   S = 2 mu E + lam tr(E) 1,   P = F S

In principal stretches, with e_i = (s_i^2 - 1)/2, t = e_1 + e_2 + e_3 and d psi/d s_i = s_i (lam t + 2 mu e_i):

    d2psi/ds_i ds_j = lam s_i s_j + delta_ij (lam t + 2 mu e_i + 2 mu s_i^2)
    symmetric pair  lam t + mu (s_i^2 + s_i s_j + s_j^2 - 1)
    skew pair       lam t + mu (s_i^2 - s_i s_j + s_j^2 - 1)

are the entries and eigenvalues of dP/dF in the frame of the singular vectors (Smith, De Goes, Kim 2019).

Limitations: softens under compression and gives way below a stretch of 1/sqrt(3) = 0.58; an inverted element stays
inverted. Use `neo-hookean` there.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.bodies.fem.laws.linear import hooke
from pliant.bodies.matrix3 import product, transposed
from pliant.kernels import inline


def _green(F: Floats) -> Floats:
    return 0.5 * (np.einsum("nki,nkj->nij", F, F) - np.eye(3))


class StVenantKirchhoff:
    """Hooke's law for large rotations and small strain."""

    code = 2

    def energy(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        E = _green(F)
        return mu * np.einsum("nij,nij->n", E, E) + 0.5 * lam * np.einsum("nii->n", E) ** 2

    def stress(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        E = _green(F)
        S = 2.0 * mu[:, None, None] * E + (lam * np.einsum("nii->n", E))[:, None, None] * np.eye(3)
        return F @ S


@inline
def green(f):  # type: ignore[no-untyped-def]
    """Green strain (F^T F - 1) / 2."""
    c = product(transposed(f), f)
    return (
        0.5 * c[0] - 0.5,
        0.5 * c[1],
        0.5 * c[2],
        0.5 * c[3],
        0.5 * c[4] - 0.5,
        0.5 * c[5],
        0.5 * c[6],
        0.5 * c[7],
        0.5 * c[8] - 0.5,
    )


@inline
def stress(f, lam, mu):  # type: ignore[no-untyped-def]
    return product(f, hooke(green(f), lam, mu))


@inline
def principal(s, lam, mu):  # type: ignore[no-untyped-def]
    """d2psi/ds2 (00, 11, 22, 01, 02, 12), symmetric pairs and skew pairs (01, 02, 12) at the stretches s."""
    a, b, c = s[0] * s[0], s[1] * s[1], s[2] * s[2]
    t = 0.5 * lam * (a + b + c - 3.0) - mu
    ab, ac, bc = s[0] * s[1], s[0] * s[2], s[1] * s[2]
    k = lam + 3.0 * mu
    second = (k * a + t, k * b + t, k * c + t, lam * ab, lam * ac, lam * bc)
    symmetric = (t + mu * (a + b + ab), t + mu * (a + c + ac), t + mu * (b + c + bc))
    skew = (t + mu * (a + b - ab), t + mu * (a + c - ac), t + mu * (b + c - bc))
    return second, symmetric, skew
