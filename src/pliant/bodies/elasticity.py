"""Elastic constants, and the stress number people look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, PliantError


def lame(youngs_modulus: Any, poisson_ratio: Any) -> tuple[Any, Any]:
    """Lamé constants lam = E nu / ((1 + nu) (1 - 2 nu)) and mu = E / (2 (1 + nu)) [Pa]; numbers or arrays."""
    E, nu = np.asarray(youngs_modulus, dtype=np.float64), np.asarray(poisson_ratio, dtype=np.float64)
    if not np.all(np.isfinite(E) & (E > 0.0)):
        raise PliantError(f"youngs_modulus is {_worst(E, E <= 0.0)}; allowed: greater than 0 [Pa]")
    if not np.all((nu > -1.0) & (nu < 0.5)):
        raise PliantError(
            f"poisson_ratio is {_worst(nu, (nu <= -1.0) | (nu >= 0.5))}; allowed: greater than -1 and less than 0.5 "
            "(at 0.5 the material is incompressible and its stiffness infinite; 0.49 is nearly so)"
        )
    lam, mu = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), E / (2.0 * (1.0 + nu))
    return (float(lam), float(mu)) if lam.ndim == 0 and mu.ndim == 0 else (lam, mu)


def _worst(values: Floats, bad: Any) -> float:
    """The first offending value, for a message."""
    wrong = values[bad | ~np.isfinite(values)] if values.ndim else values
    return float(wrong.flat[0])


def von_mises(sigma: Floats) -> Floats:
    """sqrt(3/2 s:s) with s the deviator of the Cauchy stress, (n, 3, 3) -> (n,) [Pa]."""
    s = sigma - np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] / 3.0 * np.eye(3)
    return np.sqrt(1.5 * np.einsum("...ij,...ij->...", s, s))
