"""Rigid bodies: momentum and angular momentum are the state, rotation by the implicit midpoint.

theory/elements 3.1: world angular momentum L is conserved exactly in free flight; the half-step rotation solves
    w_h = R_h J^-1 R_h^T L,   q_h = exp(dt w_h / 4) q,   q' = exp(dt w_h / 2) q
by fixed point, which contains the gyroscopic term and keeps the energy of a free spin bounded; in parts of the step if it is not found.
"""

from __future__ import annotations

from pliant.geometry.quaternions import inverse_inertia_times, load4, quaternion_exp, quaternion_product, quaternion_unit
from pliant.kernels import axpy, inline, kernel, load, norm, scale, store

MOST = 10_000  # parts of a step: what spins faster than that has run away, and is told so elsewhere


@inline
def _turned(q, momentum, j, dt):  # type: ignore[no-untyped-def]
    """(rotation after dt, whether the fixed point was found)."""
    w, found = inverse_inertia_times(q, j, momentum), False
    for _ in range(30):
        half = quaternion_product(quaternion_exp(scale(0.25 * dt, w)), q)
        new = inverse_inertia_times(half, j, momentum)
        change = abs(new[0] - w[0]) + abs(new[1] - w[1]) + abs(new[2] - w[2])
        size = abs(new[0]) + abs(new[1]) + abs(new[2])
        w, found = new, change <= 1e-9 * size
        if change <= 1e-15 * size:
            break
    return quaternion_unit(quaternion_product(quaternion_exp(scale(0.5 * dt, w)), q)), found


@kernel
def fly(position, rotation, velocity, spin, inverse, inverse_inertia, dt, out_position, out_rotation):  # type: ignore[no-untyped-def]
    """Poses after dt with constant velocity and angular momentum. Frames with inverse mass 0 stay."""
    for f in range(len(position)):
        if inverse[f] == 0.0:
            store(out_position, f, load(position, f))
            out_rotation[f] = rotation[f]
            continue
        store(out_position, f, axpy(dt, load(velocity, f), load(position, f)))
        q, momentum, j = load4(rotation, f), load(spin, f), load(inverse_inertia, f)
        new, found = _turned(q, momentum, j, dt)
        if not found:  # a thin rod that spins fast: iterations diverge by dt |L| (difference of J^-1) / 4, so parts that make this a half
            uneven = 0.5 * dt * norm(momentum) * (max(j[0], j[1], j[2]) - min(j[0], j[1], j[2]))
            if uneven < MOST:
                parts, new = 1 + int(uneven), q
                for _ in range(parts):
                    new, _found = _turned(new, momentum, j, dt / parts)
        out_rotation[f, 0], out_rotation[f, 1], out_rotation[f, 2], out_rotation[f, 3] = new


@kernel
def angular_velocities(rotation, spin, inverse_inertia, out):  # type: ignore[no-untyped-def]
    for f in range(len(rotation)):
        store(out, f, inverse_inertia_times(load4(rotation, f), load(inverse_inertia, f), load(spin, f)))


@kernel
def kick_frames(velocity, spin, inverse, damping, force, torque, gravity, dt, out_velocity, out_spin):  # type: ignore[no-untyped-def]
    """v + dt (f/m + g) and L + dt torque; mass-proportional damping fades what was there before, stable for any dt."""
    for f in range(len(velocity)):
        if inverse[f] == 0.0:
            store(out_velocity, f, load(velocity, f))
            store(out_spin, f, load(spin, f))
            continue
        fade = 1.0 / (1.0 + dt * damping[f])
        pull = axpy(inverse[f], load(force, f), (gravity[0], gravity[1], gravity[2]))
        store(out_velocity, f, axpy(dt, pull, scale(fade, load(velocity, f))))
        store(out_spin, f, axpy(dt, load(torque, f), scale(fade, load(spin, f))))
