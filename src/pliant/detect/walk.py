"""Pairs of leaves whose boxes overlap: both trees are descended together from pairs of roots.

First serially, level by level, until there are tasks for all threads (as many whatever the number of threads), then
each task on its own with a stack. Every task writes to its own slot; slots that prove too small are found out and the walk is repeated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.base import Ints
from pliant.detect.tree import Tree
from pliant.kernels import inline, kernel, parallel, prange, use_threads

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
