"""How long a step an explicit scheme may take, from element matrices (theory/elements 4.8).

The largest eigenvalue of an assembled (K, M) is at most the largest of its elements (K_e, M_e), if the M_e add up to M
(Irons, Treharne 1971). Per element, with A = M_e^-1/2 K_e M_e^-1/2 of rank r,

    omega^2 <= (tr A^32)^(1/32) <= r^(1/32) omega^2,

a bound without an eigenvalue solver: 2.8 % above omega for linear tets (r = 6), 5.1 % for quadratic (r = 24). With
stiffness damping b the step obeys dt^2 omega^2 + 4 zeta omega dt <= 4, zeta = b omega / 2 (Belytschko et al. 2014),
which is linear in K, C and M and therefore holds for the whole if it holds for every element.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats


def stable_step(omega2: Floats, damping: Floats) -> Floats:
    """The largest dt with dt^2 omega2 + 2 dt damping <= 4; damping = 2 zeta omega [1/s]."""
    with np.errstate(divide="ignore"):
        return 4.0 / (damping + np.sqrt(damping * damping + 4.0 * omega2))


def block_matrix(blocks: Floats, corners: int) -> Floats:
    """Full symmetric matrices (E, 3 c, 3 c) from upper blocks (E, c (c + 1) / 2, 3, 3)."""
    K = np.empty((len(blocks), corners, corners, 3, 3))
    first, second = np.triu_indices(corners)
    K[:, first, second] = blocks
    K[:, second, first] = np.swapaxes(blocks, 2, 3)
    return np.swapaxes(K, 2, 3).reshape(len(blocks), 3 * corners, 3 * corners)


def frequency_bound(blocks: Floats, mass: Floats) -> Floats:
    """Upper bound of omega^2 [1/s^2], (E,), from stiffness blocks and lumped masses (E, c)."""
    root = 1.0 / np.sqrt(np.repeat(mass, 3, axis=1))
    A = block_matrix(blocks, mass.shape[1]) * root[:, :, None] * root[:, None, :]
    size = np.maximum(np.sqrt(np.einsum("eij,eij->e", A, A)), 1e-300)
    A /= size[:, None, None]
    for _ in range(4):
        A = A @ A
    bound = size * np.einsum("eij,eij->e", A, A) ** (1.0 / 32.0)
    return bound * (1.0 + 1e-12)  # for slivers the bound is an equality, which rounding must not undo
