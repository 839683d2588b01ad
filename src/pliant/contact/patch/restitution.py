"""Restitution of rigid bodies (theory/patch 4.4): how fast what closes within a step must part at its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.contact.patch import surface
from pliant.contact.patch.problem import Contact
from pliant.contact.patch.row_law import row_sum
from pliant.detect import merged
from pliant.detect.merged import Merged
from pliant.kernels import kernel
from pliant.world.motion import Motion, Place, Rows


def parting_speed(gap: Floats, before: Floats, free: Floats, e: Floats, dt: float) -> Floats:
    """Speed [m/s] at which rows part at the end of the step, (r,); 0 where they do not rebound.

    gap [m] at the end and `free` [m/s] of the motion of every body on its own, `before` at the start of the step; negative closes.

    With a = (free - before) / dt what passes the start of the step has the speed V = before + a dt / 2 there, since velocities of
    symplectic steps are those of the middle between two places. It touches with V_c, leaves with e V_c, and at the end of the step has the
    energy that this leaves it, wherever within the step it touched:

        V_c^2 = V^2 - 2 a g_0,      v = a dt / 2 + sqrt(e^2 V_c^2 + 2 a g_0),      g_0 the gap at the start
    """
    a = (free - before) / dt
    start = np.maximum(gap - dt * free, 0.0)
    middle = before + 0.5 * a * dt
    touching = np.maximum(middle**2 - 2.0 * a * start, 0.0)
    speed = 0.5 * a * dt + np.sqrt(np.maximum(e**2 * touching + 2.0 * a * start, 0.0))
    return np.where((e > 0.0) & (gap < 0.0) & (middle < 0.0), np.maximum(speed, 0.0), 0.0)


def target(motion: Motion, rows: Rows, contact: Contact, order: Ints, gap: Floats, e: Floats) -> Floats:
    """Gaps [m] that rows must close instead of their own, so that they part as fast as they should, (r,)."""
    if not (e > 0.0).any():
        return gap
    moved = np.empty((len(rows), 3))
    moved[order] = _motions(contact.start, contact.dof, contact.weight, contact.origin, contact.row, len(motion.x), motion.still())
    free = np.einsum("ri,ri->r", rows.normal, motion.row_velocity(rows))
    before = free + np.einsum("ri,ri->r", rows.normal, moved)
    speed = parting_speed(gap, before, free, e, motion.dt)
    return np.where(speed > 0.0, np.minimum(gap, motion.dt * (free - speed)), gap)


@kernel
def _motions(start, dof, weight, origin, row, nodes, w):  # type: ignore[no-untyped-def]
    """J w of all rows."""
    out = np.empty((len(start) - 1, 3))
    for r in range(len(out)):
        out[r, 0], out[r, 1], out[r, 2] = row_sum(start, dof, weight, origin, row, r, nodes, w)
    return out


@dataclass
class Bounced:
    """Pairs that part within the step: they touched where they were looked for first, and are not found again where they end."""

    motion: Motion
    pairs: surface.Pairs
    hot: np.ndarray  # (k,) bool
    found: Merged  # of these pairs
    place: Place

    def joined(self, found: Merged, place: Place) -> Merged:
        """What was found of the other pairs at `place`, and these carried there."""
        kept = surface.carried(self.motion, self.pairs, self.found, self.place, place)
        return merged.joined([merged.select(found, ~self.hot[found.pair]), kept])

    def meets_more(self, loaded: np.ndarray, memory: Memory) -> bool:
        """Whether one of these bodies runs into another that it did not touch before; `loaded`: (k,) pairs."""
        motion, pairs = self.motion, self.pairs
        thrown = np.zeros(len(motion.bodies), bool)
        thrown[pairs.slave[self.hot]] = thrown[pairs.master[self.hot]] = True
        thrown &= motion.pairs.movable
        count, touched = len(motion.bodies), memory.get("key", pairs.slave[:0])  # faces that carried force, and against which body
        known = surface.pair_key(count, motion.skin.face_body[touched // count], touched % count)
        new = ~np.isin(surface.pair_key(count, pairs.slave, pairs.master), known)
        lively = motion.pairs.restitution(pairs.slave, pairs.master) > 0.0
        return bool((loaded & new & lively & ~self.hot & (thrown[pairs.slave] | thrown[pairs.master])).any())
