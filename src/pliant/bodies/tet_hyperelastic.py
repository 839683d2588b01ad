"""Forces and energies of the laws `stvk` and `neo-hookean`: functions of F in every point."""

from __future__ import annotations

from pliant.bodies.lanes import (
    LAM,
    LANES,
    MU,
    RATE,
    STVK,
    F,
    P,
    hyperelastic_energy,
    matrix,
    neo_hookean_stress,
    put,
    stvk_stress,
)
from pliant.bodies.matrix3 import IDENTITY, combined
from pliant.bodies.tangent import tangent, tangent_times
from pliant.bodies.tet_blocks import begin, finish, point_forces, point_gradients
from pliant.kernels import inline, kernel, parallel, prange


@kernel
def _damping_stress(law, f, rate, lam, mu):  # type: ignore[no-untyped-def]
    """The projected tangent times b dF/dt."""
    return tangent_times(tangent(law, f, IDENTITY, lam, mu), rate)


@inline
def _stress(s, law, rate):  # type: ignore[no-untyped-def]
    if law == STVK:
        stvk_stress(s)
    else:
        neo_hookean_stress(s)
    if rate:
        for k in range(LANES):
            lam, mu = s[LAM * LANES + k], s[MU * LANES + k]
            extra = _damping_stress(law, matrix(s, F, k), matrix(s, RATE, k), lam, mu)
            put(s, P, k, combined(1.0, matrix(s, P, k), 1.0, extra))


@inline
def _block(s, law, weights, controls, rate, forces, energies):  # type: ignore[no-untyped-def]
    points = max(weights.shape[0] - 1, 1)
    for q in range(points):
        point_gradients(s, weights, controls, q, rate)
        if energies:
            hyperelastic_energy(s, law, 1.0 / points)
        if forces:
            _stress(s, law, rate)
            point_forces(s, 1.0 / points, weights, controls, q)


@parallel
def evaluate_hyperelastic(law, tets, x, v, rate, out, energy, scratch):  # type: ignore[no-untyped-def]
    """As `evaluate_hooke`."""
    chunks = scratch.shape[0]
    count, corners = tets[0].shape
    blocks = (count + LANES - 1) // LANES
    for chunk in prange(chunks):
        s = scratch[chunk]
        for block in range(chunk * blocks // chunks, (chunk + 1) * blocks // chunks):
            first = block * LANES
            used = min(LANES, count - first)
            begin(s, tets, x, v, rate, first, used)
            _block(s, law, tets[6], tets[7], rate, out.shape[0] > 0, energy.shape[0] > 0)
            finish(s, corners, out, energy, first, used)
