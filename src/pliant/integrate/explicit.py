r"""Symplectic Euler and Verlet, all explicit nodes of all bodies in one loop; and how long a step each scheme may take.

Symplectic Euler: v' = v + dt a, x' = x + dt v'. Verlet in its position form, x' = 2 x - x_before + dt^2 a, is the same with a kick that
spans half of the last and half of the next step, so v is the velocity in the middle of a step and positions are of second order.
Both let a contact reach its goal in the same step (gamma = 1 in theory/noniterative 5.7).

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
from pliant.kernels import axpy, load, parallel, prange, scale, store
from pliant.model import COOPER_VERNER, DOP853, SYMPLECTIC, VERLET


@parallel
def kick_nodes(scheme, inverse, damping, gravity, force, x, v, dt, last_dt, out_x, out_v):  # type: ignore[no-untyped-def]
    """Write positions and velocities of explicit nodes after dt; fixed nodes and those of other schemes stay as they are."""
    g = (gravity[0], gravity[1], gravity[2])
    for i in prange(len(x)):
        if scheme[i] > VERLET or inverse[i] == 0.0:
            store(out_x, i, load(x, i))
            store(out_v, i, load(v, i))
            continue
        h = 0.5 * (dt + last_dt) if scheme[i] == VERLET else dt
        # mass-proportional damping fades what was there before: stable for any dt, and nothing at rest
        old = scale(1.0 / (1.0 + h * damping[i]), load(v, i))
        new = axpy(h, axpy(inverse[i], load(force, i), g), old)
        store(out_v, i, new)
        store(out_x, i, axpy(dt, new, load(x, i)))


AXES = {COOPER_VERNER: (3.0017, 3.7154), DOP853: (5.9603, 6.3936)}  # limits on the imaginary and the real axis (theory/springs 10, G30)


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
