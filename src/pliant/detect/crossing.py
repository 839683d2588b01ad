"""Crossing triangles of few bodies with few faces: one serial kernel from the roots of the tree to the exact test.

The walk in `walk` and `pairs` is made for threads; its lists cost more than the walk itself where there is little to do.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.discrete import triangles_touch
from pliant.detect.tree import Tree
from pliant.detect.walk import overlap
from pliant.kernels import inline, kernel, load

STACK = 4096  # pairs a walk can put off, as in `walk`


def crossing_keys(tree: Tree, points: Floats, a: Ints, b: Ints) -> Ints:
    """Keys i << 32 | j, i < j, unsorted, of intersecting faces of bodies a and b, never the same one."""
    stack, key = np.empty((STACK, 2), np.int64), np.empty(256, np.int64)
    while True:
        used = _cross(
            tree.root[a], tree.root[b], tree.level[1], tree.first, tree.count, tree.low, tree.high, tree.box_low, tree.box_high, tree.order,
            tree.corners, points, stack, key,
        )  # fmt: skip
        if used <= len(key):
            return key[:used]
        key = np.empty(used, np.int64)


@inline
def _faces_touch(corners, points, p, q):  # type: ignore[no-untyped-def]
    return triangles_touch(
        load(points, corners[p, 0]), load(points, corners[p, 1]), load(points, corners[p, 2]),
        load(points, corners[q, 0]), load(points, corners[q, 1]), load(points, corners[q, 2]),
    )  # fmt: skip


@kernel
def _cross(a, b, leaves, first, count, low, high, box_low, box_high, order, corners, points, stack, key):  # type: ignore[no-untyped-def]
    """How many there are; those for which `key` has room are written."""
    used = 0
    for k in range(len(a)):
        if a[k] < 0 or b[k] < 0 or not overlap(low, high, a[k], b[k]):
            continue
        stack[0, 0], stack[0, 1] = a[k], b[k]
        top = 1
        while top > 0:
            top -= 1
            i, j = stack[top, 0], stack[top, 1]
            both = i < leaves and j < leaves
            i0, i1 = (first[i], first[i] + count[i]) if both or i >= leaves else (i, i + 1)
            j0, j1 = (first[j], first[j] + count[j]) if both or j >= leaves else (j, j + 1)
            for p in range(i0, i1):
                for q in range(j0, j1):
                    if not both:
                        stack[top, 0], stack[top, 1] = p, q
                        top += overlap(low, high, p, q)
                    elif overlap(box_low, box_high, p, q) and _faces_touch(corners, points, p, q):
                        if used < len(key):
                            key[used] = min(order[p], order[q]) << 32 | max(order[p], order[q])
                        used += 1
    return used
