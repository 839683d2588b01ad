"""Contact of explicit bodies and energy (theory/patch 4.6): what they keep of it, and that contact gives none."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.method import Memory
from pliant.contact.patch import surface
from pliant.detect.keys import find
from pliant.detect.merged import Merged
from pliant.world.motion import Motion, Place, Rows


def depth_before(motion: Motion, pairs: surface.Pairs, rows: Rows, found: Merged, place: Place) -> Floats:
    """Depth [m], negative where open, of rows that keep energy, a step before the start of this one, (r,); NaN of others."""
    out, keep = np.full(len(rows), np.nan), pairs.springy & (pairs.apart == 0.0)
    if keep.any():
        some = keep[found.pair]
        way = motion.row_paths(rows, place, motion.here()) - motion.dt * motion.row_velocity_before(rows)
        gap = found.gap + np.einsum("ri,ri->r", rows.normal, way)
        out[some] = -gap[some]
    return out


def afforded(
    motion: Motion, pairs: surface.Pairs, rows: Rows, found: Merged, impulse: Floats, change: Floats, memory: Memory
) -> tuple[Floats, Memory]:
    """The share of their impulses [N s] (r, 3) that rows of explicit bodies can afford, (r,), 1 of others, and what bodies have lent.

    The contact of two bodies gives back no more energy than they have lent to it, S [J]. Of a share s of the impulses the work is
    A s + B s², with A that on the motion without them and B that on what they change of it: the largest s that S affords is taken. So
    what stops bodies is never without force, as it takes energy, even where all of the impulse would throw them back. change [m/s] (r, 3):
    what contact makes of motions.
    """
    share, explicit = np.ones(len(rows)), pairs.explicit
    if not explicit.any():
        return share, {}
    keys, own = np.unique(surface.pair_key(len(motion.bodies), pairs.slave, pairs.master), return_inverse=True)
    at = find(memory["lender"], keys) if "lender" in memory else np.full(len(keys), -1)
    lent = np.where(at >= 0, np.append(memory.get("lent", ()), 0.0)[at], 0.0)
    free = 0.5 * (motion.row_velocity_before(rows) + motion.row_velocity(rows))
    some = explicit[found.pair]
    pair = own[found.pair[some]]
    summed = lambda v: np.bincount(pair, np.einsum("ri,ri->r", impulse, v)[some], len(keys))
    first, second = summed(free), summed(0.5 * change)
    over = first + second > lent
    root = np.sqrt(np.maximum(first**2 + 4.0 * second * lent, 0.0))
    # 2 S / (A + root) is (root - A) / 2 B without its cancellation, for A > 0
    part = np.where(first > 0.0, 2.0 * lent / np.where(first > 0.0, first + root, 1.0), (root - first) / np.where(over, 2.0 * second, 1.0))
    part = np.where(over, np.clip(part, 0.0, 1.0), 1.0)
    work = part * (first + part * second)
    share[some] = part[pair]
    touched = np.bincount(pair, minlength=len(keys)) > 0
    return share, {"lender": keys[touched], "lent": np.maximum(lent - work, 0.0)[touched]}
