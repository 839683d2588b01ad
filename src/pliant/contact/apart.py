"""What has no depth: points whose way out cannot be told get pulled apart along the last good direction.

A body wholly inside another has no border; one that is more than half through a thin one gets opposite fronts. A point that loses its
direction, or whose direction turns over from one step to the next, goes on along its own last one, else along the last mean direction of
its pair of bodies, else along the line of centres. Along it the bodies come apart by PACE mean edges a step at least: closing all of
the way in one step would shoot them apart.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.inside import Collisions, Finder
from pliant.contact.method import Memory
from pliant.detect.depth import CANCELLED, RESOLVED, ways_out
from pliant.detect.keys import recall, recalled
from pliant.kernels import add, kernel, load, norm, scale, store
from pliant.world.motion import Motion, Rows

PACE = 0.01  # mean edges a step
TURNED = -0.5  # cosine between directions of successive steps below which a point has passed to the other side
NO_IDS, NO_WAYS = np.zeros(0, np.int64), np.zeros((0, 3))
AGREE = 0.5  # length of the mean direction of a pair that is worth remembering


def pull_apart(motion: Motion, finder: Finder, found: Collisions, memory: Memory) -> tuple[Collisions, np.ndarray, list[str]]:
    """Collisions of which every row has a way out, which rows were lost, and what to say about them."""
    before = recall(memory, "way", contact_key(motion, found), (3,))
    turned = (found.status == RESOLVED) & (np.einsum("hi,hi->h", found.normal, before) < TURNED)
    lost = (found.status != RESOLVED) | turned
    rows = np.flatnonzero(lost)
    if len(rows) == 0:
        return found, lost, []
    warnings = _report(motion, found.select(rows))
    direction = _directions(motion, found.select(rows), before[rows], memory)
    own = found.a[rows] == found.b[rows]
    face, weights, ray = ways_out(motion.end, found.point[rows], found.b[rows], direction, finder.tree, motion.skin.faces, own)
    found.face[rows], found.weights[rows], found.normal[rows] = face, weights, direction
    found.depth[rows] = found.ray[rows] = ray
    known = np.ones(len(found), bool)
    known[rows] = face >= 0
    return found.select(known), lost[known], warnings


def pace(motion: Motion, finder: Finder, rows: Rows, lost: np.ndarray, depth: Floats) -> Floats:
    """How far each row is to be closed [m]: a found one all of its depth, a lost one what is missing of the pace."""
    if not lost.any():
        return depth
    moved = np.einsum("ri,ri->r", motion.slide(rows), rows.normal)
    return np.where(lost, np.clip(PACE * finder.edge - moved, 0.0, depth), depth)


def contact_key(motion: Motion, found: Collisions) -> Ints:
    """A number for each (body, point), the same in every step, in the order in which they are found."""
    return found.b * len(motion.skin) + found.point


def remember_pairs(motion: Motion, a: Ints, b: Ints, normal: Floats, lost: np.ndarray, memory: Memory) -> Memory:
    """The mean direction of each pair of bodies in contact, where its rows agree; else what was known of it."""
    key = b * len(motion.bodies) + a
    order = np.argsort(key, kind="stable")
    pair, way, agree = np.empty(len(key), np.int64), np.empty((len(key), 3)), np.empty(len(key), np.bool_)
    count = _mean_ways(key, order, normal, lost, pair, way, agree)
    pair, way, agree = pair[:count], way[:count], agree[:count]
    way[~agree] = _pair_ways(memory, pair[~agree])
    return {"pair": pair, "pair_way": way}


@kernel
def _mean_ways(key, order, normal, lost, pair, way, agree):  # type: ignore[no-untyped-def]
    """Unit mean of the normals of each pair, and whether they agree and none is lost; how many pairs there are."""
    used, k = 0, 0
    while k < len(order):
        u, rows, good, here = (0.0, 0.0, 0.0), 0, True, key[order[k]]
        while k < len(order) and key[order[k]] == here:
            u, rows, good = add(u, load(normal, order[k])), rows + 1, good and not lost[order[k]]
            k += 1
        length = norm(u)
        pair[used], agree[used] = here, good and length > AGREE * rows
        store(way, used, scale(1.0 / length if length > 0.0 else 0.0, u))
        used += 1
    return used


def _pair_ways(memory: Memory, pair: Ints) -> Floats:
    return recalled(memory.get("pair", NO_IDS), memory.get("pair_way", NO_WAYS), pair)


def _directions(motion: Motion, lost: Collisions, before: Floats, memory: Memory) -> Floats:
    """Each row's own last direction, or its pair's (seen from either side), or the line of centres, or up."""
    count = len(motion.bodies)
    pairs, back = _pair_ways(memory, lost.b * count + lost.a), -_pair_ways(memory, lost.a * count + lost.b)
    out = np.zeros((len(lost), 3))
    if _choose(out, before, pairs, back):
        centre = _centres(motion)
        _choose(out, centre[lost.a] - centre[lost.b], np.tile([0.0, 0.0, 1.0], (len(lost), 1)))
    return out


def _choose(out: Floats, *choices: Floats) -> bool:
    """Fill rows of `out` that are zero with the unit of the first choice that is not; whether any is left."""
    for choice in choices:
        length = np.linalg.norm(choice, axis=1)
        take = ~out.any(axis=1) & (length > 1e-12)
        out[take] = choice[take] / length[take, None]
    return not out.any(axis=1).all()


def _centres(motion: Motion) -> Floats:
    """Mean of each body's points at the start of the step [m], (B, 3)."""
    shown = motion.skin.body >= 0
    body, x = motion.skin.body[shown], motion.start[shown]
    sums = np.stack([np.bincount(body, x[:, k], minlength=len(motion.bodies)) for k in range(3)], axis=1)
    return sums / np.maximum(np.bincount(body, minlength=len(motion.bodies)), 1)[:, None]


def _report(motion: Motion, lost: Collisions) -> list[str]:
    names, count = motion.bodies.names, len(motion.bodies)
    pairs = np.unique(lost.a * count + lost.b)
    some = ", ".join(f"{names[k // count]} in {names[k % count]}" for k in pairs[:3]) + (", ..." if len(pairs) > 3 else "")
    through = int(np.count_nonzero((lost.status == CANCELLED) | (lost.status == RESOLVED)))
    kinds = [f"{through} more than half through"] if through else []
    kinds += [f"{len(lost) - through} with no border near"] if len(lost) > through else []
    return [f"noniterative: no depth for {len(lost)} points ({', '.join(kinds)}) of {some}; pulled apart along the last good direction."]
