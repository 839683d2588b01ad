"""Symplectic Euler and Verlet, all explicit nodes of all bodies in one loop.

Symplectic Euler: v' = v + dt a, x' = x + dt v'. Verlet in its position form, x' = 2 x - x_before + dt^2 a, is the same with a kick that
spans half of the last and half of the next step, so v is the velocity in the middle of a step and positions are of second order.
Both let a contact reach its goal in the same step (gamma = 1 in 3.6 of the methods page).
"""

from __future__ import annotations

from pliant.kernels import axpy, load, parallel, prange, scale, store
from pliant.model import VERLET


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
