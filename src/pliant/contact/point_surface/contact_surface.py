"""The common contact surface Phi of two bodies, F(x) = E_a f_a(x) - E_b f_b(x) = 0 inside both ((3) of Keiser et al.).

Every colliding surfel moves along the line to its foot on the other surface until F = 0, found with Brent's method. A surfel that leaves
the common volume on its way, or finds no change of sign, is left out.

Where we differ: the weights are E, not 1/E as printed, which would make the stiffer body give way (theory/point-surface-contact 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.colliding_surfels import Hits
from pliant.contact.point_surface.implicit_surfaces import LOST, Surfaces, distance
from pliant.detect.surfels.projection import CLOSE, NEARLY
from pliant.kernels import axpy, inline, kernel, load, norm, store, sub

MOST = 40  # evaluations of F


@dataclass
class Moved:
    """Where hits come to lie on the contact surface."""

    points: Floats  # (r, 3) [m]
    kept: np.ndarray  # (r,) bool: found, and inside both bodies all the way
    looked: Ints  # (r,) evaluations of F


def moved_to_contact(surfaces: Surfaces, hits: Hits, share: Floats) -> Moved:
    """Bring hits onto the contact surface. `share` (r,): part of the overlap that the surfel's own body gives way,

    E_b / (E_a + E_b), theory/point-surface-contact 5 (`stiffness.Compliance.share`).
    """
    count, points = len(hits), np.empty((len(hits), 3))
    kept, looked = np.zeros(count, bool), np.zeros(count, np.int64)
    pairs = surfaces.fixed.body, hits.surfel, hits.other, hits.sample, hits.gap, hits.normal
    _move(surfaces.field, surfaces.shapes, *pairs, share, points, kept, looked)
    return Moved(points, kept, looked)


@inline
def _difference(field, shapes, i, a, s, b, q, share, most, square):  # type: ignore[no-untyped-def]
    """(inside both, F) at q: F = (1 - share) f_a - share f_b."""
    known_a, fa, _, _ = distance(field, shapes, i, a, q, square)
    known_b, fb, _, _ = distance(field, shapes, s, b, q, square)
    inside = known_a != LOST and known_b != LOST and fa < most and fb < most
    return inside, (1.0 - share) * fa - share * fb


@kernel
def _move(field, shapes, body, surfel, other, sample, gap, normal, share, out, kept, looked):  # type: ignore[no-untyped-def]
    square = np.empty(field.graph.shape[1])
    for r in range(len(surfel)):
        i, s, b = surfel[r], sample[r], other[r]
        a, x, l = body[i], load(field.points, i), field.spacing[i]
        foot = axpy(-gap[r], load(normal, r), x)
        state, f, n, s = distance(field, shapes, s, b, foot, square)
        foot = axpy(-f, n, foot) if state != LOST else foot
        line = sub(foot, x)
        if share[r] >= 1.0 or share[r] <= 0.0:  # one of them keeps its shape
            store(out, r, foot if share[r] >= 1.0 else x)
            kept[r] = state != LOST
            continue
        # F > 0 at the surfel and F < 0 at its foot; where f is linear the root is at `share`
        kept[r], t, looked[r] = _root(
            field, shapes, i, a, s, b, x, line, share[r], -share[r] * gap[r], CLOSE * l / max(norm(line), 1e-300), NEARLY * l, square
        )
        store(out, r, axpy(t, line, x))


@kernel
def _root(field, shapes, i, a, s, b, x, line, share, first, tol, most, square):  # type: ignore[no-untyped-def]
    """(found, t, evaluations): Brent's method for F(x + t line) = 0, t from 0 (where F is `first`) to 1."""
    ta, fa, tb, tc, fc, d, e, beyond, looked = 0.0, first, share, 0.0, first, share, share, False, 0
    while looked < MOST:
        inside, fb = _difference(field, shapes, i, a, s, b, axpy(tb, line, x), share, most, square)
        looked += 1
        if not inside:
            return False, tb, looked
        if looked == 1 and fb > 0.0:  # the root is between here and the foot
            ta, fa, tc, fc, tb, d, e, beyond = tb, fb, tb, fb, 1.0, 1.0 - tb, 1.0 - tb, True
            continue
        if looked == 2 and beyond and fb > 0.0:
            return False, tb, looked
        ta, tb, tc, fa, fb, fc, d, e, done = _brent_step(ta, tb, tc, fa, fb, fc, d, e, tol)
        if done:
            return True, tb, looked
    return False, tb, looked


@inline
def _brent_step(ta, tb, tc, fa, fb, fc, d, e, tol):  # type: ignore[no-untyped-def]
    """One step of Brent's method: b is the best so far, a the one before, the root is between b and c; b becomes the next try."""
    if fb * fc > 0.0:
        tc, fc, d, e = ta, fa, tb - ta, tb - ta
    if abs(fc) < abs(fb):
        ta, tb, tc, fa, fb, fc = tb, tc, tb, fb, fc, fb
    m = 0.5 * (tc - tb)
    if abs(m) <= tol or fb == 0.0:
        return ta, tb, tc, fa, fb, fc, d, e, True
    halve = True
    if abs(e) >= tol and abs(fa) > abs(fb):
        s = fb / fa
        if ta == tc:  # secant
            p, q = 2.0 * m * s, 1.0 - s
        else:  # inverse quadratic
            q, r = fa / fc, fb / fc
            p, q = s * (2.0 * m * q * (q - r) - (tb - ta) * (r - 1.0)), (q - 1.0) * (r - 1.0) * (s - 1.0)
        q = -q if p > 0.0 else q
        p = abs(p)
        if 2.0 * p < min(3.0 * m * q - abs(tol * q), abs(e * q)):
            e, d, halve = d, p / q, False
    if halve:
        d = e = m
    ta, fa = tb, fb
    tb += d if abs(d) > tol else math.copysign(tol, m)
    return ta, tb, tc, fa, fb, fc, d, e, False
