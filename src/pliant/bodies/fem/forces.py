"""Forces and energies: `linear` and `corotated` are Hooke's law in a frame R per element, `stvk` and `neo-hookean` functions of F."""

from __future__ import annotations

import math

from pliant.bodies.fem.blocks import (
    COROTATED,
    LAM,
    LANES,
    MU,
    RATE,
    STVK,
    TET,
    TRUSTED,
    VISCOUS,
    F,
    P,
    R,
    begin,
    fill,
    finish,
    gather_spin,
    hooke_energy,
    hooke_stress,
    hyperelastic_energy,
    matrix,
    neo_hookean_stress,
    point_forces,
    point_gradients,
    put,
    rotations,
    spin_stress,
    stvk_stress,
    turn,
)
from pliant.bodies.fem.laws import neo_hookean, stvk
from pliant.bodies.fem.stiffness import projected_pairs, tangent, tangent_times
from pliant.bodies.matrix3 import IDENTITY, combined, fast_rotation, positive, product, svd_rotation, symmetric_axes, transposed
from pliant.kernels import inline, kernel, parallel, prange


@kernel
def _gradients(s, weights, controls, point, rate):  # type: ignore[no-untyped-def]
    point_gradients(s, weights, controls, point, rate)


@kernel
def _forces(s, share, weights, controls, point):  # type: ignore[no-untyped-def]
    point_forces(s, share, weights, controls, point)


@inline
def _frames(s, law):  # type: ignore[no-untyped-def]
    """R of every lane: 1, or the rotation of F."""
    if law != COROTATED:
        for i in range(9):
            fill(s, R + i, 1, IDENTITY[i])
        return
    rotations(s)
    for k in range(LANES):
        if s[TRUSTED * LANES + k] == 0.0:
            put(s, R, k, svd_rotation(matrix(s, F, k)))


@inline
def _block(s, law, weights, controls, rate, forces, energies):  # type: ignore[no-untyped-def]
    centre = weights.shape[0] - 1
    points = max(centre, 1)
    spinning = law == COROTATED and centre > 0 and forces
    _gradients(s, weights, controls, centre, rate)
    _frames(s, law)
    for q in range(points if forces or energies else 0):
        if centre > 0:
            _gradients(s, weights, controls, q, rate)
        if energies:
            hooke_energy(s, 1.0 / points)
        if forces:
            hooke_stress(s, rate)
            _forces(s, 1.0 / points, weights, controls, q)
        if spinning:
            gather_spin(s, 1.0 / points)
    if spinning:
        _gradients(s, weights, controls, centre, rate)
        spin_stress(s)
        _forces(s, 1.0, weights, controls, centre)


@parallel
def evaluate_hooke(law, tets, first, last, x, v, rate, dt, out, energy, turned, scratch):  # type: ignore[no-untyped-def]
    """Corner forces, energies and turned gradients of the elements first..last; what has length zero is not computed.

    out (E c, 3) and energy (E,) are of all elements, turned (last - first, 14) of these: R g_m, then V lam and V mu times dt b + dt^2 (or
    1, if dt is infinite). tets: see `blocks.begin`; rate: whether there is damping, without it v is not read; scratch (chunks,
    ROWS * LANES), whose length changes no result.
    """
    chunks = scratch.shape[0]
    corners, forces, energies = tets[0].shape[1], out.shape[0] > 0, energy.shape[0] > 0
    blocks = (last - first + LANES - 1) // LANES
    for chunk in prange(chunks):
        s = scratch[chunk]
        for block in range(chunk * blocks // chunks, (chunk + 1) * blocks // chunks):
            begun = first + block * LANES
            used = min(LANES, last - begun)
            begin(s, tets, x, v, rate, begun, used)
            _block(s, law, tets[6], tets[7], rate, forces, energies)
            finish(s, corners, out, energy, begun, used)
            if turned.shape[0] > 0:
                turn(s)
                for k in range(used):
                    e, t = begun + k, turned[begun + k - first]
                    for i in range(12):
                        t[i] = s[(TET + i) * LANES + k]
                    share = tets[2][e] * (1.0 if math.isinf(dt) else dt * tets[5][e] + dt * dt)
                    t[12], t[13] = share * tets[3][e], share * tets[4][e]


@kernel
def _damping_stress(law, f, rate, lam, mu):  # type: ignore[no-untyped-def]
    """The projected tangent times b dF/dt: Rayleigh's damping (theory/elements 4.6)."""
    return tangent_times(tangent(law, f, IDENTITY, lam, mu), rate)


@inline
def _axes(f):  # type: ignore[no-untyped-def]
    """F = R S: R, the stretches and axes of S, and whether they can be trusted."""
    r, rotated = fast_rotation(f)
    stretches, axes, exact = symmetric_axes(product(transposed(r), f))
    return r, stretches, axes, rotated & exact


@inline
def _put_damping(s, k, r, axes, trusted, second, symmetric, skew):  # type: ignore[no-untyped-def]
    """`_damping_stress` of a lane to VISCOUS, by the tangent in these axes: as U = R V, dP = R (V dP' V^T) of R^T dF. TRUSTED: whether."""
    same, swap = projected_pairs(symmetric, skew)
    rate = product(transposed(r), matrix(s, RATE, k))
    put(s, VISCOUS, k, product(r, tangent_times((axes, axes, second, same, swap), rate)))
    s[TRUSTED * LANES + k] = 1.0 if trusted & positive(second) else 0.0


@inline
def _hyperelastic_stress(s, law, rate):  # type: ignore[no-untyped-def]
    if law == STVK:
        stvk_stress(s)
    else:
        neo_hookean_stress(s)
    if not rate:
        return
    if law == STVK:
        for k in range(LANES):
            r, stretches, axes, trusted = _axes(matrix(s, F, k))
            second, symmetric, skew = stvk.principal(stretches, s[LAM * LANES + k], s[MU * LANES + k])
            _put_damping(s, k, r, axes, trusted, second, symmetric, skew)
    else:
        for k in range(LANES):
            r, stretches, axes, trusted = _axes(matrix(s, F, k))
            second, symmetric, skew = neo_hookean.principal(stretches, s[LAM * LANES + k], s[MU * LANES + k])
            _put_damping(s, k, r, axes, trusted, second, symmetric, skew)
    for k in range(LANES):
        if s[TRUSTED * LANES + k] == 0.0:
            lam, mu = s[LAM * LANES + k], s[MU * LANES + k]
            put(s, VISCOUS, k, _damping_stress(law, matrix(s, F, k), matrix(s, RATE, k), lam, mu))
    for k in range(LANES):
        put(s, P, k, combined(1.0, matrix(s, P, k), 1.0, matrix(s, VISCOUS, k)))


@inline
def _hyperelastic_block(s, law, weights, controls, rate, forces, energies):  # type: ignore[no-untyped-def]
    points = max(weights.shape[0] - 1, 1)
    for q in range(points):
        point_gradients(s, weights, controls, q, rate)
        if energies:
            hyperelastic_energy(s, law, 1.0 / points)
        if forces:
            _hyperelastic_stress(s, law, rate)
            point_forces(s, 1.0 / points, weights, controls, q)


@parallel
def evaluate_hyperelastic(law, tets, x, v, rate, out, energy, scratch):  # type: ignore[no-untyped-def]
    """Corner forces and energies of all elements, as `evaluate_hooke`."""
    chunks = scratch.shape[0]
    count, corners = tets[0].shape
    blocks = (count + LANES - 1) // LANES
    for chunk in prange(chunks):
        s = scratch[chunk]
        for block in range(chunk * blocks // chunks, (chunk + 1) * blocks // chunks):
            first = block * LANES
            used = min(LANES, count - first)
            begin(s, tets, x, v, rate, first, used)
            _hyperelastic_block(s, law, tets[6], tets[7], rate, out.shape[0] > 0, energy.shape[0] > 0)
            finish(s, corners, out, energy, first, used)
