r"""How long a step each scheme may take, from what the elements allow a leapfrog and from the damping of nodes.

Elements say how long a step h of Verlet and symplectic Euler may be: 2 / omega, less with damping along springs or in K. What remains
is damping of rate d [1/s] that acts on nodes one by one:

  symplectic, verlet   v fades by b = 1 / (1 + dt d) before the kick; the motion is stable for (dt omega)^2 < 2 (1 + b), so for
                       dt < h sqrt((1 + b) / 2), whatever d is: at worst h / sqrt(2)
  cooper-verner        dt omega < 3.0017 on the imaginary axis, dt d < 3.7154 on the real one; between them the triangle of the
                       three points lies inside the region of stability, so 1 / dt > 2 / (3.0017 h) + d / 3.7154
  dop853, implicit     no limit: the former chooses steps of its own, first one from its limits 5.9603 and 6.3936
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.model import COOPER_VERNER, DOP853, SYMPLECTIC, VERLET

AXES = {COOPER_VERNER: (3.0017, 3.7154), DOP853: (5.9603, 6.3936)}  # limits on the imaginary and the real axis (G30)


def stable_step(scheme: Ints, elastic: Floats, rate: Floats) -> Floats:
    """Largest stable dt [s] of bodies with the given schemes, steps that their elements allow [s] and damping rates [1/s]."""
    out = np.full(len(scheme), np.inf)
    leap = (scheme == SYMPLECTIC) | (scheme == VERLET)
    h = elastic[leap]
    fade = 1.0 / (1.0 + np.where(np.isfinite(h), h, 0.0) * rate[leap])
    out[leap] = h * np.sqrt(0.5 * (1.0 + fade))
    staged = scheme == COOPER_VERNER
    out[staged] = staged_step(COOPER_VERNER, elastic[staged], rate[staged])
    return out


def staged_step(scheme: int, elastic: Floats, rate: Floats) -> Floats:
    """The same for a Runge-Kutta scheme."""
    imaginary, real = AXES[scheme]
    with np.errstate(divide="ignore"):
        return 1.0 / (2.0 / (imaginary * elastic) + rate / real)
