r"""Corotated elasticity: Hooke's law in a frame that turns with the element (Mueller, Gross 2004; theory/elements 4.3).

    F = R S with det R = +1,   psi = mu |S - 1|^2 + lam/2 tr(S - 1)^2,   P = R (2 mu (S - 1) + lam tr(S - 1) 1)

P is the exact gradient of psi, since R maximises R:F. The kernels share the strain energy of `linear`.

Where we differ: elements use the tangent R K_e R^T, which leaves out the change of R with F. It is positive
semi-definite and exact at rest.
Limitations: the energy of a crushed element is finite; use `neo-hookean` for strong compression.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats


def proper_rotation(F: Floats) -> Floats:
    """R of F = R S, (n, 3, 3); if det F < 0 the smallest singular direction is mirrored so that det R = +1."""
    u, _, vt = np.linalg.svd(F)
    u[:, :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[:, None]
    return u @ vt


class Corotated:
    """Hooke's law in the rotated frame."""

    code = 1

    def energy(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        eps = np.einsum("nki,nkj->nij", proper_rotation(F), F) - np.eye(3)
        return mu * np.einsum("nij,nij->n", eps, eps) + 0.5 * lam * np.einsum("nii->n", eps) ** 2

    def stress(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        R = proper_rotation(F)
        trace = np.einsum("nij,nij->n", R, F) - 3.0
        return 2.0 * mu[:, None, None] * (F - R) + (lam * trace)[:, None, None] * R
