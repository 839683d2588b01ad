"""The published tree: boxes halved at their centre along the longest axis, to a fixed depth, and never ordered anew.

[Motheram, Tribble], after [Larsson, Akenine-Möller 2001]: the box of a body is halved `depth` times, each half along its own longest
axis at its centre, and a primitive belongs to the cell that its centre is in. Compare `tree.py`, which halves the list of primitives
instead of the box and orders it anew once it has worn out.

Where we differ: cells that hold nothing have no node (at depth 12 most of the 4096 leaves of a sphere of 600 triangles are empty, so the
tree is not balanced), boxes are refit from the leaves up in one pass, O(n), and a cell that is left with more than LEAF primitives is
a subtree over runs of them as they come, so that a shallow tree is slow but right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.boxes import boxes_of, check_finite
from pliant.detect.tree import ARITY, LEAF, Tree
from pliant.kernels import contiguous

DEEPEST = 30  # cells are numbered in 30 bits


@dataclass
class CentreTree(Tree):
    """A tree whose structure stays as it was built."""

    def worn(self) -> bool:
        return False


def centre_tree(points: Floats, corners: Ints, start: Ints, depth: int = 12) -> CentreTree:
    """A tree per body over its primitives, rows start[b] : start[b + 1] of `corners`, with boxes halved `depth` times."""
    if not 0 <= depth <= DEEPEST:
        raise PliantError(f"depth = {depth}: a tree of boxes halved at their centre has a depth of 0 to {DEEPEST}.")
    low, high = boxes_of(points, corners)
    check_finite(low, high)
    start = contiguous(start, np.int64)
    cell = cells(np.asarray(points, np.float64)[corners].mean(axis=1), low, high, start, depth)
    order = np.argsort(cell, kind="stable")
    root, first, count, level = _structure(cell[order], len(start) - 1, depth)
    box = np.zeros((len(first), 3))
    held = np.ascontiguousarray(np.asarray(corners, np.int64)[order])
    tree = CentreTree(start, order, held, root, first, count, level, low[order], high[order], box, box.copy())
    tree._refit_nodes()
    tree.best = tree.area()
    return tree


def cells(centre: Floats, low: Floats, high: Floats, start: Ints, depth: int) -> Ints:
    """Which cell the centre of each primitive is in, body << depth | path; body b has primitives start[b] : start[b + 1]."""
    count = np.diff(start)
    body = np.repeat(np.arange(len(count)), count)
    filled = start[:-1][count > 0]
    at = np.searchsorted(filled, np.arange(len(low)), side="right") - 1
    bottom = np.minimum.reduceat(low, filled)[at] if len(filled) else low
    top = np.maximum.reduceat(high, filled)[at] if len(filled) else high
    bottom, top, path, every = bottom.copy(), top.copy(), body, np.arange(len(low))
    for _ in range(depth):
        axis = np.argmax(top - bottom, axis=1)
        middle = 0.5 * bottom[every, axis] + 0.5 * top[every, axis]
        right = centre[every, axis] >= middle
        bottom[every[right], axis[right]] = middle[right]
        top[every[~right], axis[~right]] = middle[~right]
        path = 2 * path + right
    return path


def _structure(cell: Ints, bodies: int, depth: int) -> tuple[Ints, Ints, Ints, Ints]:
    """(root, first, count, level) over primitives sorted by cell: runs of LEAF, then cells, then pairs of cells up to the roots."""
    first, count, level = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [0]
    key, begin, most = cell, 0, LEAF  # what the level below holds, and where it is
    while len(key):
        new = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
        size = np.diff(np.append(new, len(key)))
        runs = (size + most - 1) // most
        inside = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
        first.append(begin + np.repeat(new, runs) + most * inside)
        count.append(np.minimum(most, np.repeat(size, runs) - most * inside))
        begin, key = level[-1], np.repeat(key[new], runs)
        level.append(level[-1] + len(key))
        most = ARITY
        joins = bool((runs > 1).any())
        while not joins and depth > 0:  # levels that join nothing are left out
            key, depth = key >> 1, depth - 1
            joins = bool((np.diff(key) == 0).any())
        if not joins:
            break
    root = np.full(bodies, -1, np.int64)
    root[key] = level[-1] - len(key) + np.arange(len(key))
    if len(level) == 1:
        level.append(0)
    return root, np.concatenate(first), np.concatenate(count), np.array(level)
