"""Pairs of triangles that intersect: overlapping boxes from the tree, then the exact test.

The walk in `box_overlap.py` is made for threads; its lists cost more than the walk itself where there is little to do. So few bodies with
few faces have one serial kernel from the roots of the tree to the exact test.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.box_overlap import overlap, place_pairs, sorted_pairs
from pliant.detect.feature_tests import triangles_touch
from pliant.detect.tree import Tree
from pliant.kernels import SMALL, contiguous, inline, kernel, load, parallel, prange, use_threads


def triangle_pairs(points_a: Floats, faces_a: Ints, points_b: Floats | None = None, faces_b: Ints | None = None) -> Ints:
    """All pairs (k, 2) of intersecting triangles, sorted: of surfaces a and b, or i < j without a common corner of one. Touching counts."""
    points, faces = _surface(points_a, faces_a, "a")
    if points_b is None or faces_b is None:
        return intersecting(Tree.build(points, faces, np.array([0, len(faces)])), points, np.array([[0, 0]]))
    others, theirs = _surface(points_b, faces_b, "b")
    both, joined = np.concatenate([points, others]), np.concatenate([faces, theirs + len(points)])
    tree = Tree.build(both, joined, np.array([0, len(faces), len(joined)]))
    return intersecting(tree, both, np.array([[0, 1]])) - np.array([0, len(faces)])


def _surface(points: Floats, faces: Ints, name: str) -> tuple[Floats, Ints]:
    """The arrays as kernels want them; faces must name points that are there, since kernels do not look."""
    points, faces = contiguous(points).reshape(-1, 3), contiguous(faces, np.int64).reshape(-1, 3)
    bad = np.flatnonzero(((faces < 0) | (faces >= len(points))).any(axis=1))
    if len(bad):
        raise PliantError(f"{len(bad)} triangles of surface {name} name points outside 0 to {len(points) - 1} (first: triangle {bad[0]}).")
    return points, faces


def intersecting(tree: Tree, points: Floats, bodies: Ints) -> Ints:
    """Pairs (k, 2), i < j, sorted, of intersecting faces for a list (m, 2) of pairs of bodies; the tree must be fit to the points.

    (b, b) is a body with itself, without faces that have a common corner.
    """
    if len(tree.order) < SMALL and (bodies[:, 0] < bodies[:, 1]).all():
        return sorted_pairs(crossing_keys(tree, contiguous(points), bodies[:, 0], bodies[:, 1]))
    place = place_pairs(tree, bodies)
    key = np.empty(len(place), np.int64)
    use_threads(len(place))
    _test(place, tree.order, tree.corners, contiguous(points), key)
    return sorted_pairs(key[key >= 0])


@parallel
def _test(place, order, corners, points, key):  # type: ignore[no-untyped-def]
    """i << 32 | j for triangles that touch, else -1."""
    for k in prange(len(place)):
        p, q = place[k, 0], place[k, 1]
        touch = triangles_touch(
            load(points, corners[p, 0]), load(points, corners[p, 1]), load(points, corners[p, 2]),
            load(points, corners[q, 0]), load(points, corners[q, 1]), load(points, corners[q, 2]),
        )  # fmt: skip
        i, j = order[p], order[q]
        key[k] = min(i, j) << 32 | max(i, j) if touch else -1


def every_pair(points: Floats, faces: Ints, start: Ints, bodies: Ints) -> Ints:
    """What `intersecting` finds, without a tree: each face start[b] : start[b + 1] of a body against each of another."""
    pairs = []
    for a, b in np.asarray(bodies).tolist():
        i, j = np.arange(start[a], start[a + 1]), np.arange(start[b], start[b + 1])
        pairs.append(np.stack([np.repeat(i, len(j)), np.tile(j, len(i))], axis=1))
    place = np.concatenate(pairs).astype(np.int32)
    key = np.empty(len(place), np.int64)
    use_threads(len(place))
    _test(place, np.arange(len(faces)), contiguous(faces, np.int64), contiguous(points), key)
    return sorted_pairs(key[key >= 0])


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
