"""Two triangles: whether they intersect (theory/springs 6), and all pairs that do, by overlapping boxes from the tree.

The walk in `box_overlap.py` is made for threads; its lists cost more than the walk itself where there is little to do. So few bodies with
few faces have one serial kernel from the roots of the tree to the exact test.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.box_overlap import overlap, place_pairs, sorted_pairs
from pliant.detect.feature_tests import ROUNDING, dropped, edge_triangle, height, is_flat, largest_axis, spread
from pliant.detect.tree import Tree
from pliant.kernels import SMALL, contiguous, cross, inline, kernel, load, parallel, prange, sub, use_threads


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


@inline
def turn(a, b, c):  # type: ignore[no-untyped-def]
    """Sign of the turn a, b, c in the plane; 0 within rounding."""
    left, right = (b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])
    area = left - right
    if abs(area) <= ROUNDING * (abs(left) + abs(right)):
        return 0
    return 1 if area > 0.0 else -1


@inline
def _in_box(a, b, p):  # type: ignore[no-untyped-def]
    return (
        min(a[0], b[0]) <= p[0]
        and p[0] <= max(a[0], b[0])
        and min(a[1], b[1]) <= p[1]
        and p[1] <= max(a[1], b[1])
    )


@inline
def segments_meet_2d(a, b, c, d):  # type: ignore[no-untyped-def]
    """Whether the closed segments ab and cd of the plane share a point."""
    c_side, d_side = turn(a, b, c), turn(a, b, d)
    a_side, b_side = turn(c, d, a), turn(c, d, b)
    if c_side * d_side < 0 and a_side * b_side < 0:
        return True
    return (
        (c_side == 0 and _in_box(a, b, c))
        or (d_side == 0 and _in_box(a, b, d))
        or (a_side == 0 and _in_box(c, d, a))
        or (b_side == 0 and _in_box(c, d, b))
    )


@inline
def point_in_triangle_2d(p, a, b, c):  # type: ignore[no-untyped-def]
    """Whether the closed triangle abc of the plane holds p; one without area holds nothing, its edges do."""
    u, v, w = turn(a, b, p), turn(b, c, p), turn(c, a, p)
    return turn(a, b, c) != 0 and ((u >= 0 and v >= 0 and w >= 0) or (u <= 0 and v <= 0 and w <= 0))


@inline
def lone_corner(d0, d1, d2):  # type: ignore[no-untyped-def]
    """The corner that is alone on its side of a plane, from the signed heights of the three; -1 if all are in the plane."""
    if d0 * d1 > 0.0:
        return 2
    if d0 * d2 > 0.0:
        return 1
    if d1 * d2 > 0.0 or d0 != 0.0:
        return 0
    if d1 != 0.0:
        return 1
    return 2 if d2 != 0.0 else -1


@inline
def crossing_interval(x0, x1, x2, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Interval in which a triangle cuts the common line of two planes (Moeller 1997), from its coordinates x on that line
    and its heights d over the other plane: x_m + (x_i - x_m) d_m / (d_m - d_i) for the lone corner m and the others i."""
    m = lone_corner(d0, d1, d2)
    if m == 1:
        x0, x1, d0, d1 = x1, x0, d1, d0
    elif m == 2:
        x0, x2, d0, d2 = x2, x0, d2, d0
    u = x0 + (x1 - x0) * (d0 / (d0 - d1)) if d0 != d1 else x0
    v = x0 + (x2 - x0) * (d0 / (d0 - d2)) if d0 != d2 else x0
    return min(u, v), max(u, v)


@inline
def coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, axis):  # type: ignore[no-untyped-def]
    """Triangles of one plane, seen along `axis`: some edges meet, or one triangle holds the other."""
    a0, a1, a2 = dropped(p0, axis), dropped(p1, axis), dropped(p2, axis)
    b0, b1, b2 = dropped(q0, axis), dropped(q1, axis), dropped(q2, axis)
    for i in range(3):
        a, c = (a0, a1) if i == 0 else ((a1, a2) if i == 1 else (a2, a0))
        if segments_meet_2d(a, c, b0, b1) or segments_meet_2d(a, c, b1, b2) or segments_meet_2d(a, c, b2, b0):
            return True
    return point_in_triangle_2d(a0, b0, b1, b2) or point_in_triangle_2d(b0, a0, a1, a2)


@inline
def _edges_hit(p0, p1, p2, q0, q1, q2):  # type: ignore[no-untyped-def]
    """Whether an edge of triangle p hits triangle q."""
    return (
        edge_triangle(p0, p1, q0, q1, q2)[0]
        or edge_triangle(p1, p2, q0, q1, q2)[0]
        or edge_triangle(p2, p0, q0, q1, q2)[0]
    )


@inline
def one_side(d0, d1, d2):  # type: ignore[no-untyped-def]
    return (d0 > 0.0 and d1 > 0.0 and d2 > 0.0) or (d0 < 0.0 and d1 < 0.0 and d2 < 0.0)


@inline
def triangles_touch(p0, p1, p2, q0, q1, q2):  # type: ignore[no-untyped-def]
    """Whether two triangles share a point (Moeller 1997, coplanar case included); two without area are never found to."""
    e, f = sub(q1, q0), sub(q2, q0)
    nq, size = cross(e, f), spread(e, f)
    a0, a1, a2 = height(nq, size, sub(p0, q0)), height(nq, size, sub(p1, q0)), height(nq, size, sub(p2, q0))
    if one_side(a0, a1, a2):
        return False
    q_flat = is_flat(nq, size)
    e, f = sub(p1, p0), sub(p2, p0)
    np, size = cross(e, f), spread(e, f)
    b0, b1, b2 = height(np, size, sub(q0, p0)), height(np, size, sub(q1, p0)), height(np, size, sub(q2, p0))
    if one_side(b0, b1, b2):
        return False
    p_flat = is_flat(np, size)
    if not q_flat and a0 == 0.0 and a1 == 0.0 and a2 == 0.0:
        return coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, largest_axis(nq))
    if not p_flat and b0 == 0.0 and b1 == 0.0 and b2 == 0.0:
        return coplanar_triangles_touch(p0, p1, p2, q0, q1, q2, largest_axis(np))
    if p_flat or q_flat:
        # a triangle without area is its longest edge: it meets the other where an edge passes through
        return _edges_hit(p0, p1, p2, q0, q1, q2) or _edges_hit(q0, q1, q2, p0, p1, p2)
    axis = largest_axis(cross(np, nq))
    low, high = crossing_interval(p0[axis], p1[axis], p2[axis], a0, a1, a2)
    first, last = crossing_interval(q0[axis], q1[axis], q2[axis], b0, b1, b2)
    slack = ROUNDING * (abs(low) + abs(high) + abs(first) + abs(last))
    return low <= last + slack and first <= high + slack
