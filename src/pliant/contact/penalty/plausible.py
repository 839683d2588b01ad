"""A bound on what redefinition may do: no spring begins its life loaded.

A pair that moves to another face, or begins where one does, stands for a contact that is there already. So it can be about as deep as
the contacts of the two bodies are, or as far as they moved in the step, not more. Without this bound a vertex that enters a coarse box low
on its side is found regular under its top, at the depth of half a box, and is thrown out with an energy that nobody put in.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.records import NAMES, VERTEX_FACE, Records
from pliant.contact.penalty.resolve import gaps
from pliant.world.motion import Motion

DEEPER = 1.0  # times the deepest contact of the two bodies, or their way in the step


def plausible(motion: Motion, neighbours: Neighbours, old: Records, new: Records, known: Records) -> Records:
    """The new records, without the moves and the beginnings among them that would be too deep; `old` is what they were made from.

    A pair that has rested while its bodies sank into each other does not wake up as long as it would be too deep.
    """
    place = lookup(new, old)
    woken = (place >= 0) & new.active
    woken[woken] = ~old.active[place[woken]]
    fresh = (place < 0) | woken
    if not fresh.any():
        return new
    new = new.select(np.arange(len(new)))
    there = Records.joined([old, known])
    there = there.select(there.active & ~there.hooked)
    depth = -gaps(motion.end, new, neighbours)
    most = np.maximum(deepest(motion, there, np.nan_to_num(-gaps(motion.end, there, neighbours)), new), ways(motion, new))
    wrong = fresh & (depth > DEEPER * most)
    back = np.where(wrong & woken, place, -1)
    moved = wrong & (new.kind == VERTEX_FACE) & (place < 0) & (new.before >= 0)
    back[moved] = lookup(with_face(new.select(moved)), old)
    for name in NAMES:
        getattr(new, name)[back >= 0] = getattr(old, name)[back[back >= 0]]
    return new.select(~wrong | (back >= 0))


def with_face(moved: Records) -> Records:
    """The records under the face they came from."""
    moved.feature_b = moved.before
    return moved


def lookup(records: Records, source: Records) -> np.ndarray:
    """Place in the source of the record with the same key, -1 for none, (r,)."""
    if len(source) == 0 or len(records) == 0:
        return np.full(len(records), -1, np.int64)
    order = np.argsort(source.key, kind="stable")
    key = source.key[order]
    at = np.minimum(np.searchsorted(key, records.key), len(key) - 1)
    return np.where(key[at] == records.key, order[at], -1)


def deepest(motion: Motion, there: Records, depth: Floats, rows: Records) -> Floats:
    """The largest depth [m] among the records between the same two bodies as each row, -inf for none, (r,)."""
    count = len(motion.bodies)
    pair = np.minimum(there.a, there.b) * count + np.maximum(there.a, there.b)
    keys, which = np.unique(pair, return_inverse=True)
    most = np.full(len(keys) + 1, -np.inf)
    np.maximum.at(most, which.reshape(-1), depth)
    wanted = np.minimum(rows.a, rows.b) * count + np.maximum(rows.a, rows.b)
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    same = keys[place] == wanted if len(keys) else np.zeros(len(rows), bool)
    return np.where(same, most[place], -np.inf)


def ways(motion: Motion, rows: Records) -> Floats:
    """How far the two sides of each row move against each other in the step [m], (r,)."""
    moved = motion.end[rows.corners] - motion.start[rows.corners]
    return np.linalg.norm(np.einsum("rk,rki->ri", rows.weights, moved), axis=1)
