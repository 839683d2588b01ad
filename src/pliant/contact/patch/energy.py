"""Contact of explicit bodies (theory/patch 4.6): the energy that they keep, that contact gives none, and that it does not turn them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats
from pliant.contact.method import Memory
from pliant.contact.patch import surface
from pliant.detect.keys import find
from pliant.detect.merged import Merged
from pliant.kernels import add, axpy, cross, dot, kernel, load, norm, scale, store, sub
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


def without_couple(motion: Motion, pairs: surface.Pairs, found: Merged, rows: Rows, impulse: Floats) -> Rows:
    """Rows whose impulses (r, 3) [N s] turn two explicit soft bodies by as much as each other.

    Nodes take impulses where they are at the start of the step; the places of a row are on one line along its normal at the end.
    """
    alone = motion.ways[0] & ~motion.ways[1]
    some = alone[pairs.slave] & alone[pairs.master]
    if not some.any():
        return rows
    weight = rows.weight.copy()
    _without_couple(rows.start, rows.point, weight, motion.start, impulse, some[found.pair])
    return replace(rows, weight=weight)


@kernel
def _without_couple(start, point, weight, x, impulse, some):  # type: ignore[no-untyped-def]
    """Of all weights with the same sums those next to what there is for which both places are on one line along the impulse (theory/patch
    4.6); the places go no farther than they are apart. The first three points are the slave's.
    """
    arm = np.empty((np.diff(start).max(), 3))  # [m] from the middle of the points on the same side
    for r in range(len(some)):
        j, first, count = load(impulse, r), start[r], start[r + 1] - start[r]
        size = norm(j)
        if not some[r] or size == 0.0:
            continue
        way = (0.0, 0.0, 0.0)
        for e in range(count):
            way = axpy(weight[first + e], load(x, point[first + e]), way)
        for begin, end in ((0, 3), (3, count)):
            middle = (0.0, 0.0, 0.0)
            for e in range(begin, end):
                middle = axpy(1.0 / (end - begin), load(x, point[first + e]), middle)
            for e in range(begin, end):
                store(arm, e, sub(load(x, point[first + e]), middle))
        p = cross(j, (0.0, 1.0, 0.0) if abs(j[0]) > max(abs(j[1]), abs(j[2])) else (1.0, 0.0, 0.0))
        p = scale(1.0 / norm(p), p)
        q = cross(scale(1.0 / size, j), p)
        pp = pq = qq = 0.0
        for e in range(count):
            a, b = dot(load(arm, e), p), dot(load(arm, e), q)
            pp, pq, qq = pp + a * a, pq + a * b, qq + b * b
        det, a, b = pp * qq - pq * pq, -dot(way, p), -dot(way, q)
        if not det > 0.0:
            continue  # all points are in one plane along the impulse
        change, shift = add(scale((a * qq - b * pq) / det, p), scale((b * pp - a * pq) / det, q)), (0.0, 0.0, 0.0)
        for e in range(count):
            shift = axpy(dot(load(arm, e), change), load(arm, e), shift)
        share = min(1.0, norm(way) / max(norm(shift), 1e-300))
        for e in range(count):
            weight[first + e] += share * dot(load(arm, e), change)
