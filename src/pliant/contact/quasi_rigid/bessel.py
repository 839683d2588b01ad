"""The two special functions of the elastic kernels, without branches or calls so that loops over them vectorise.

    I0e(z) = exp(-z) I0(z) = sqrt(y) H(y),  y = 1 / (1 + z)

H is smooth and lies between H(0) = 1/sqrt(2 pi) and H(1) = 1 for all z >= 0: short polynomials on equal pieces of y give it to 1e-13.
exp(-x) is a tabulated value times a short polynomial; beyond x = 42, where it is below 1e-18, it stays at that value.
"""

from __future__ import annotations

import numpy as np
from scipy.special import i0e as exact_i0e

from pliant.base import Floats
from pliant.kernels import inline, kernel

PIECES = 64
DEGREE = 6
FASTEST = 42.0  # largest x of exp(-x)


def _smooth(y: Floats) -> Floats:
    """H(y); near y = 0 by the asymptotic series of I0, where z does not fit into a float."""
    z = 1.0 / np.maximum(y, 1e-12) - 1.0
    return exact_i0e(z) * np.sqrt(1.0 + z)


def _pieces() -> Floats:
    """Coefficients (PIECES, DEGREE + 1) of H in powers of t in [-1, 1] on each piece, by interpolation at Chebyshev points."""
    t = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    y = (np.arange(PIECES)[:, None] + 0.5 + 0.5 * t) / PIECES
    return np.ascontiguousarray(np.linalg.solve(np.vander(t, increasing=True), _smooth(y).T).T)


H = _pieces()
E = np.exp(-np.arange(int(8 * FASTEST) + 2) / 8.0)


@inline
def smooth_i0e(y):  # type: ignore[no-untyped-def]
    """H(y) for 0 <= y <= 1."""
    x = y * PIECES
    k = np.uint32(min(x, PIECES - 1.0))
    t = 2.0 * (x - k) - 1.0
    low = H[k, 0] + t * H[k, 1]
    high = H[k, 4] + t * (H[k, 5] + t * H[k, 6])
    return low + t * t * (H[k, 2] + t * (H[k, 3] + t * high))


@inline
def decay(x):  # type: ignore[no-untyped-def]
    """exp(-x) for x >= 0, to 1e-14."""
    x = min(x, FASTEST)
    k = np.uint32(8.0 * x + 0.5)
    r = 0.125 * k - x
    r2 = r * r
    low = 1.0 + r + r2 * (0.5 + r * (1.0 / 6.0))
    high = 1.0 / 24.0 + r * (1.0 / 120.0) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    return E[k] * (low + r2 * r2 * high)


@kernel
def i0e(z):  # type: ignore[no-untyped-def]
    """exp(-z) I0(z) of an array, z >= 0."""
    out = np.empty_like(z)
    for i in range(len(z)):
        y = 1.0 / (1.0 + z[i])
        out[i] = smooth_i0e(y) * np.sqrt(y)
    return out
