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

    The contact of two bodies gives back no more energy than they have lent to it: with the work W > 0 of a step and S [J] lent, S / W of
    the impulses. Work is convex in this share, so that it is no more than S then. change [m/s] (r, 3): what contact makes of motions.
    """
    share, explicit = np.ones(len(rows)), pairs.explicit
    if not explicit.any():
        return share, {}
    keys, own = np.unique(surface.pair_key(len(motion.bodies), pairs.slave, pairs.master), return_inverse=True)
    at = find(memory["lender"], keys) if "lender" in memory else np.full(len(keys), -1)
    lent = np.where(at >= 0, np.append(memory.get("lent", ()), 0.0)[at], 0.0)
    mean = 0.5 * (motion.row_velocity_before(rows) + motion.row_velocity(rows) + change)
    some = explicit[found.pair]
    pair = own[found.pair[some]]
    work = np.bincount(pair, np.einsum("ri,ri->r", impulse, mean)[some], len(keys))
    part = np.where(work > lent, lent / np.where(work > lent, work, 1.0), 1.0)
    share[some] = part[pair]
    touched = np.bincount(pair, minlength=len(keys)) > 0
    return share, {"lender": keys[touched], "lent": np.maximum(lent - part * work, 0.0)[touched]}
