"""Coulomb friction in impulse form, one sweep, shared by the methods (theory/penalty 6.3, theory/noniterative 5.6,
theory/quasi-rigid 14, theory/point-surface-contact 7.5).

With the predicted slip u_t of a step, the stretch e of the tangential anchor since it stuck, and D_t the give of the row along it:
    wanted impulse = -(u_t + beta e) / (dt D_t)
If that is within mu_s |I_n| the contact sticks; else it slides with mu_d |I_n| against the slip and drags its anchor behind, stretched to
what holds just that impulse (return mapping). The anchor is what stops a body at rest from creeping; one that started anew at every
slip would let go of its share, and a body would creep from about 0.85 mu on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats
from pliant.kernels import add, axpy, dot, kernel, load, norm, scale, store
from pliant.world.attachments import islands
from pliant.world.motion import Motion, Rows

BETA = 0.2  # share of the anchor's stretch that is taken back per step


@dataclass
class Friction:
    """Tangential impulses, whether each row sticks, and what the anchor of a sliding row is stretched to."""

    impulse: Floats  # [N s] (r, 3)
    sticks: np.ndarray  # (r,) bool
    dragged: Floats  # [m] (r, 3)
    shorter: Floats | None = None  # (r,) what is left of the impulse where it would have added energy; None: all


def coulomb(motion: Motion, rows: Rows, normal_impulse: Floats, mu_s: Floats, mu_d: Floats, stretch: Floats) -> Friction:
    """Friction for the predicted motion, before anything of this step has been pushed along the tangent."""
    direction, size = np.empty((len(rows), 3)), np.empty(len(rows))
    _wanted(motion.slide(rows), stretch, rows.normal, direction, size)
    give = motion.give(rows, direction)
    out = Friction(np.empty((len(rows), 3)), np.empty(len(rows), np.bool_), np.empty((len(rows), 3)))
    _limited(direction, size, give, normal_impulse, mu_s, mu_d, motion.dt, out.impulse, out.sticks, out.dragged)
    return out


@kernel
def _wanted(slide, stretch, normal, direction, size):  # type: ignore[no-untyped-def]
    """u_t + beta e of each row: its length and unit direction."""
    for r in range(len(size)):
        n = load(normal, r)
        u = axpy(BETA, load(stretch, r), load(slide, r))
        u = axpy(-dot(u, n), n, u)
        size[r] = norm(u)
        store(direction, r, scale(1.0 / size[r] if size[r] > 0.0 else 0.0, u))


@kernel
def _limited(direction, size, give, normal_impulse, mu_s, mu_d, dt, impulse, sticks, dragged):  # type: ignore[no-untyped-def]
    """The impulse that is wanted, or what the cone leaves of it; whether it sticks, and what it drags its anchor to."""
    for r in range(len(size)):
        wanted = size[r] / (dt * give[r]) if give[r] > 0.0 else 0.0
        sticks[r] = wanted <= mu_s[r] * normal_impulse[r]
        length = wanted if sticks[r] else min(wanted, mu_d[r] * normal_impulse[r])
        store(impulse, r, scale(-length, load(direction, r)))
        store(dragged, r, scale(length * dt * give[r] / BETA, load(direction, r)))


def passive(motion: Motion, rows: Rows, rub: Friction) -> Friction:
    """Friction that was pushed, less what would add energy, which is taken off.

    Its work is y.(u + dt W y), u the slip without friction. Rows that push along their slip v lose y.v / (dt D |y|^2), a sweep of Jacobi's
    method towards none; then, where the work of an island is still above zero, its rows are shortened to -y.u / (dt y.W y) of
    themselves, which makes it nothing, and so are their anchors (theory/noniterative 5.6).
    """
    y, slip = rub.impulse, motion.slide(rows)
    along, size = np.einsum("ri,ri->r", y, slip), np.linalg.norm(y, axis=1)
    if not (along > 0.0).any():
        return rub
    give = motion.give(rows, np.divide(y, size[:, None], out=np.zeros_like(y), where=size[:, None] > 0.0))
    all_of_it = motion.dt * give * size**2
    part = 1.0 - np.clip(np.divide(along, all_of_it, out=np.zeros_like(along), where=all_of_it > 0.0), 0.0, 1.0)
    motion.push(rows, (part - 1.0)[:, None] * y)
    y = part[:, None] * y
    number, island = islands(motion, rows)

    def work(slip: Floats) -> Floats:
        return np.bincount(island, np.einsum("ri,ri->r", y, slip), number).astype(np.float64)

    slip = motion.slide(rows)
    adds = work(slip) > 0.0
    if adds.any():
        theirs = np.where(adds[island][:, None], y, 0.0)
        motion.push(rows, -theirs)
        without = motion.slide(rows)
        answer = work(slip - without)
        least = np.divide(-work(without), answer, out=np.zeros(number), where=answer > 0.0)
        shorter = np.where(adds, np.clip(least, 0.0, 1.0), 1.0)[island]
        motion.push(rows, shorter[:, None] * theirs)
        return Friction(shorter[:, None] * y, rub.sticks, (shorter * part)[:, None] * rub.dragged, shorter)
    return Friction(y, rub.sticks, part[:, None] * rub.dragged)


def anchored(stretch: Floats, slip: Floats, sticks: np.ndarray, dragged: Floats, normal: Floats) -> Floats:
    """Stretch of the anchors after the step, (r, 3): longer by the slip if it sticks, else dragged behind.

    A contact that slides back takes its anchor back with it. If it stayed dragged, its friction would push along the motion.
    """
    out = np.empty_like(stretch)
    _anchored(stretch, slip, sticks, dragged, normal, out)
    return out


@kernel
def _anchored(stretch, slip, sticks, dragged, normal, out):  # type: ignore[no-untyped-def]
    for r in range(len(out)):
        old, u, n, d = load(stretch, r), load(slip, r), load(normal, r), load(dragged, r)
        held = add(axpy(-dot(old, n), n, old), u)
        if not sticks[r] and dot(u, d) >= 0.0:
            held = d
        elif not sticks[r] and norm(held) > norm(d):
            held = scale(norm(d) / norm(held), held)
        store(out, r, held)


def stribeck(mu_s: Floats, mu_d: Floats, speed: Floats, width: float) -> Floats:
    """Coefficient mu_d + (mu_s - mu_d) exp(-(v / width)^2) at a slip speed v [m/s]: it falls smoothly where sliding begins."""
    return mu_d + (mu_s - mu_d) * np.exp(-((speed / width) ** 2))


def tangential(u: Floats, n: Floats) -> Floats:
    """The part of u across n, of each row."""
    out = np.empty_like(u)
    _tangential(u, n, out)
    return out


@kernel
def _tangential(u, n, out):  # type: ignore[no-untyped-def]
    for r in range(len(out)):
        v, m = load(u, r), load(n, r)
        store(out, r, axpy(-dot(v, m), m, v))
