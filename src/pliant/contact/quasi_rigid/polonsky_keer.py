"""Conjugate gradients with P >= 0 [Polonsky, Keer 1999], for any operator that multiplies (2.7 of the methods page).

Gradients run over the loaded nodes; forces that would pull are cut to zero; unloaded nodes that overlap get a force by steepest descent,
which restarts the conjugation. With a total force instead of a position, the mean of s over the loaded nodes is removed (it is the
unknown approach) and P rescaled.

Many nodes are preconditioned (local_inverse.py, two_level.py), which the original does not do; directions are then conjugated after Polak
and Ribiere, who need no restart when single nodes come and go. A product K t is reused for the separations wherever nothing was cut, so
most iterations cost one product and not two.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.local_inverse import nearly_inverse
from pliant.contact.quasi_rigid.operators import Operator

REFRESH = 25  # iterations after which K P is computed anew, so that rounding does not pile up
PRECONDITIONED = 200  # iterations after which it goes on as the original
NAME = "conjugate-gradients"


def dot(a: Floats, b: Floats) -> float:
    """Not BLAS, whose last digits depend on its threads."""
    return float(np.sum(a * b))


def solve(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None, total: float | None = None) -> lcp.Solution:
    """See lcp.solve. With `total` [N] the forces add up to it, q is relative to an unknown approach, and that is returned as position."""
    force, u = _first(K, q, start, total)  # u are the displacements K P
    inverse = nearly_inverse(K, force > 0.0) if total is None else None
    scaled = 1.0 if inverse is None else 1.0 / K.diagonal  # of steepest descent, in the units of the gradients
    fresh = 0  # iterations since u was computed from P
    t, old, conjugate, status, count = np.zeros(K.size), math.inf, 0.0, lcp.STALLED, 0
    before = t
    limit = 1000 if most is None else most
    while True:
        loaded = force > 0.0
        approach = float(np.mean((u + q)[loaded])) if total is not None else 0.0
        s = u + q - approach
        error = lcp.residual(K.diagonal, q - approach, force, s)
        if fresh and (error <= tolerance or fresh >= REFRESH or count >= limit):
            u, fresh = K @ force, 0
            continue
        if error <= tolerance or count >= limit:
            status = lcp.SOLVED if error <= tolerance else lcp.STALLED
            break
        if count == PRECONDITIONED:  # very uneven nodes come and go too much
            inverse, scaled, conjugate = None, 1.0, 0.0
        gradient = np.where(loaded, s, 0.0)
        down = gradient if inverse is None else np.where(loaded, inverse @ gradient, 0.0)
        size = dot(gradient, down)
        turn = conjugate * size / old if inverse is None else max(dot(gradient - before, down) / old, 0.0)
        t, before = np.where(loaded, down + turn * t, 0.0), gradient
        give = K @ t
        bend = dot(give - np.mean(give[loaded]) if total is not None else give, t)
        if not bend > 0.0:
            status = lcp.INDEFINITE if bend < 0.0 else lcp.STALLED
            break
        step, old = dot(gradient, t) / bend, size
        moved = force - step * t
        after = np.maximum(moved, 0.0)
        overlapping = (after == 0.0) & (s < 0.0)
        after[overlapping] = -step * (scaled * s)[overlapping]
        conjugate = 0.0 if overlapping.any() else 1.0
        cut = after - moved
        u = u - step * give + (K @ cut if cut.any() else 0.0)
        scale = 1.0 if total is None else total / float(np.sum(after))
        force, u, fresh, count = scale * after, scale * u, fresh + 1, count + 1
    return lcp.Solution(force, s, status, count, error, NAME, None if total is None else np.array([approach]))


def _first(K: Operator, q: Floats, start: Floats | None, total: float | None) -> tuple[Floats, Floats]:
    """Forces to begin with and their displacements: given, or as the overlap, scaled to the least energy or to the total."""
    if start is not None and np.any(start > 0.0):
        scale = 1.0 if total is None else total / float(np.sum(start))
        return scale * start, scale * (K @ start)
    level = 0.0 if total is None else 0.5 * float(np.min(q) + np.mean(q)) + 1e-3 * float(np.ptp(q))
    force = np.maximum(level - q, 0.0) / K.diagonal
    force = force if np.any(force > 0.0) else np.ones(K.size)
    u = K @ force
    work = dot(force, u)
    scale = total / float(np.sum(force)) if total is not None else -dot(q, force) / work if work > 0.0 else 1.0
    return scale * force, scale * u
