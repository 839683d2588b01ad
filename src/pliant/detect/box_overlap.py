"""Pairs of primitives whose boxes overlap, from trees; sorted by number, so that the history of the tree cannot matter.

Both trees are descended together from pairs of roots: first serially, level by level, until there are tasks for all threads (as many
whatever the number of threads), then each task on its own with a stack. Every task writes to its own slot; slots that prove too small are
found out and the walk is repeated. A pair of leaves keeps one bit per pair of its primitives, so boxes are tested once: chunks of pairs of
leaves are marked and counted, the counts are summed up, and each chunk writes to its own place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.detect.tree import LEAF, Tree
from pliant.kernels import inline, kernel, parallel, prange, use_threads

CHUNK = 256


def box_pairs(low_a: Floats, high_a: Floats, low_b: Floats | None = None, high_b: Floats | None = None) -> Ints:
    """All pairs (k, 2) of overlapping boxes, sorted: of set a and set b, or i < j within set a. Touching counts."""
    low_a, high_a = np.asarray(low_a, float).reshape(-1, 3), np.asarray(high_a, float).reshape(-1, 3)
    _refuse_inverted(low_a, high_a)
    if (low_b is None) != (high_b is None):
        given, left = ("low_b", "high_b") if high_b is None else ("high_b", "low_b")
        raise PliantError(f"box_pairs: {given} was given without {left}; boxes of a second set need both, those of one set neither.")
    if low_b is None or high_b is None:
        tree = Tree.of_boxes(low_a, high_a)
        return pairs_between(tree, np.array([[0, 0]]))
    low, high = np.concatenate([low_a, np.reshape(low_b, (-1, 3))]), np.concatenate([high_a, np.reshape(high_b, (-1, 3))])
    _refuse_inverted(low, high)
    tree = Tree.of_boxes(low, high, np.array([0, len(low_a), len(low)]))
    return pairs_between(tree, np.array([[0, 1]])) - np.array([0, len(low_a)])


def _refuse_inverted(low: Floats, high: Floats) -> None:
    bad = np.flatnonzero((low > high).any(axis=1))
    if len(bad):
        raise PliantError(f"{len(bad)} boxes have a lower corner above their upper one (first: box {bad[0]}): they would meet nothing.")


def pairs_between(tree: Tree, bodies: Ints, shared: bool = False) -> Ints:
    """Pairs (k, 2), i < j, sorted, of primitives with overlapping boxes, for a list (m, 2) of pairs of bodies.

    (b, b) is a body with itself. Primitives that share a corner are left out unless `shared`; bare boxes have no corners.
    """
    asked, count = np.asarray(bodies), len(tree.root)
    if asked.size and not 0 <= asked.min() <= asked.max() < count:
        raise PliantError(f"Pairs of bodies {asked.min()} to {asked.max()} were asked of a tree of {count}: numbers are 0 to {count - 1}.")
    place = place_pairs(tree, bodies, shared)
    key = np.empty(len(place), np.int64)
    _keys(place, tree.order, key)
    return sorted_pairs(key)


def place_pairs(tree: Tree, bodies: Ints, shared: bool = False) -> NDArray[np.int32]:
    """The same by places in the tree's order, unsorted."""
    bodies = np.unique(np.sort(np.asarray(bodies, dtype=np.int64).reshape(-1, 2), axis=1), axis=0)
    leaves = leaf_pairs(tree, bodies[:, 0], bodies[:, 1])
    mask = np.empty(len(leaves), np.uint16)
    count = np.zeros((len(leaves) + CHUNK - 1) // CHUNK, np.int64)
    use_threads(len(leaves))
    _mark(leaves, tree.first, tree.count, tree.box_low, tree.box_high, tree.corners, shared, mask, count)
    offset = np.cumsum(count) - count
    place = np.empty((int(count.sum()), 2), np.int32)
    _write(leaves, tree.first, mask, offset, place)
    return place


def sorted_pairs(key: Ints) -> Ints:
    """Keys i << 32 | j as sorted pairs (k, 2)."""
    key.sort()
    out = np.empty((len(key), 2), np.int64)
    _unpack(key, out)
    return out


@inline
def share(corners, p, q):  # type: ignore[no-untyped-def]
    """Whether the primitives at places p and q have a corner in common."""
    common = False
    for i in range(corners.shape[1]):
        for j in range(corners.shape[1]):
            common |= corners[p, i] == corners[q, j]
    return common


@inline
def ones(mask):  # type: ignore[no-untyped-def]
    """How many bits of a 16-bit mask are set."""
    m = np.int64(mask)
    m = (m & 0x5555) + ((m >> 1) & 0x5555)
    m = (m & 0x3333) + ((m >> 2) & 0x3333)
    m = (m & 0x0F0F) + ((m >> 4) & 0x0F0F)
    return (m & 0xFF) + (m >> 8)


@inline
def lowest(mask):  # type: ignore[no-untyped-def]
    """Place of the lowest bit that is set."""
    return ones((mask & -mask) - 1)


@parallel
def _mark(leaves, first, count, low, high, corners, shared, mask, total):  # type: ignore[no-untyped-def]
    """Bit LEAF i + j of a pair of leaves: boxes of primitive i of the one and j of the other overlap."""
    for chunk in prange(len(total)):
        sum_ = 0
        for k in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(leaves))):
            a, b = leaves[k, 0], leaves[k, 1]
            bits = 0
            for i in range(count[a]):
                p = first[a] + i
                for j in range(i + 1 if a == b else 0, count[b]):
                    bits |= np.int64(overlap(low, high, p, first[b] + j)) << (LEAF * i + j)
            if not shared and corners.shape[1] > 0:
                left = bits
                while left:
                    bit = lowest(left)
                    left &= left - 1
                    if share(corners, first[a] + bit // LEAF, first[b] + bit % LEAF):
                        bits ^= 1 << bit
            mask[k] = bits
            sum_ += ones(bits)
        total[chunk] = sum_


@parallel
def _write(leaves, first, mask, offset, place):  # type: ignore[no-untyped-def]
    for chunk in prange(len(offset)):
        at = offset[chunk]
        for k in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(leaves))):
            left = np.int64(mask[k])
            while left:
                bit = lowest(left)
                left &= left - 1
                place[at, 0], place[at, 1] = first[leaves[k, 0]] + bit // LEAF, first[leaves[k, 1]] + bit % LEAF
                at += 1


@kernel
def _keys(place, order, key):  # type: ignore[no-untyped-def]
    for k in range(len(place)):
        i, j = order[place[k, 0]], order[place[k, 1]]
        key[k] = min(i, j) << 32 | max(i, j)


@kernel
def _unpack(key, out):  # type: ignore[no-untyped-def]
    for k in range(len(key)):
        out[k, 0], out[k, 1] = key[k] >> 32, key[k] & 0xFFFFFFFF


TASKS = 512  # pairs of nodes to start from, at least
STACK = 4096  # pairs a walk can put off: the depth of both trees times the square of the arity is far less
ROOM = 1 << 20  # leaf pairs to provide for at first, over all tasks


def leaf_pairs(tree: Tree, a: Ints, b: Ints) -> NDArray[np.int32]:
    """Pairs (k, 2) of leaves with overlapping boxes, of bodies a and b; of a body with itself each pair once, and each leaf with itself."""
    tasks = _tasks(tree, np.stack([tree.root[a], tree.root[b]], axis=1))
    use_threads(4 * int(tree.level[1]) if len(tasks) >= TASKS else 0)
    room = np.full(len(tasks), max(64, ROOM // max(1, len(tasks))), np.int64)
    while True:
        offset = np.cumsum(room) - room
        found, count = np.empty((int(room.sum()), 2), np.int32), np.zeros(len(tasks), np.int64)
        _walk(tasks, tree.level, tree.first, tree.count, tree.low, tree.high, offset, room, found, count)
        if (count <= room).all():
            break
        room = count
    pairs = np.empty((int(count.sum()), 2), np.int32)
    _gather(offset, count, found, pairs)
    return pairs


def _tasks(tree: Tree, pairs: Ints) -> Ints:
    """Overlapping node pairs that together cover the given pairs of roots."""
    pairs = pairs[(pairs >= 0).all(axis=1)]
    i, j = pairs[:, 0], pairs[:, 1]
    pairs = pairs[((tree.low[i] <= tree.high[j]) & (tree.low[j] <= tree.high[i])).all(axis=1)]
    leaves, widest = tree.level[1], int(tree.count.max(initial=1)) ** 2
    while 0 < len(pairs) < TASKS and (pairs >= leaves).any():
        out = np.empty((len(pairs) * widest, 2), np.int64)
        pairs = out[: _widen(pairs, tree.level, tree.first, tree.count, tree.low, tree.high, out)]
    return pairs


@inline
def overlap(low, high, i, j):  # type: ignore[no-untyped-def]
    """Closed boxes: touching counts. Without branches, which would be guessed wrong half of the time."""
    return (
        (low[i, 0] <= high[j, 0])
        & (low[j, 0] <= high[i, 0])
        & (low[i, 1] <= high[j, 1])
        & (low[j, 1] <= high[i, 1])
        & (low[i, 2] <= high[j, 2])
        & (low[j, 2] <= high[i, 2])
    )


@inline
def _descend(i, j, leaves, first, count, low, high, out, top):  # type: ignore[no-untyped-def]
    """Put the overlapping pairs of children of nodes i and j behind out[:top]; a leaf stands for itself."""
    i0, i1 = (i, i + 1) if i < leaves else (first[i], first[i] + count[i])
    j0, j1 = (j, j + 1) if j < leaves else (first[j], first[j] + count[j])
    for p in range(i0, i1):
        if i == j:
            out[top, 0], out[top, 1] = p, p
            top += 1
            j0 = p + 1
        elif not overlap(low, high, p, j):
            continue
        for q in range(j0, j1):
            out[top, 0], out[top, 1] = p, q
            top += overlap(low, high, p, q)
    return top


@kernel
def _widen(pairs, level, first, count, low, high, out):  # type: ignore[no-untyped-def]
    used = 0
    for k in range(len(pairs)):
        used = _descend(pairs[k, 0], pairs[k, 1], level[1], first, count, low, high, out, used)
    return used


@parallel
def _walk(tasks, level, first, count, low, high, offset, room, found, used):  # type: ignore[no-untyped-def]
    leaves, n = level[1], len(tasks)
    for chunk in prange((n + 15) // 16):
        stack = np.empty((STACK, 2), np.int64)
        for k in range(16 * chunk, min(16 * chunk + 16, n)):
            stack[0, 0], stack[0, 1] = tasks[k, 0], tasks[k, 1]
            top = 1
            at, end = offset[k], offset[k] + room[k]
            while top > 0:
                top -= 1
                i, j = stack[top, 0], stack[top, 1]
                if i < leaves and j < leaves:
                    if at < end:
                        found[at, 0], found[at, 1] = i, j
                    at += 1
                else:
                    top = _descend(i, j, leaves, first, count, low, high, stack, top)
            used[k] = at - offset[k]


@kernel
def _gather(offset, count, found, pairs):  # type: ignore[no-untyped-def]
    """The filled parts of the slots one after the other."""
    at = 0
    for k in range(len(offset)):
        for j in range(offset[k], offset[k] + count[k]):
            pairs[at, 0], pairs[at, 1] = found[j, 0], found[j, 1]
            at += 1
