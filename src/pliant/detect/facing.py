"""Pairs of triangles that face each other, of two bodies, within a depth (theory/patch 3.1); which of their rows count (theory/patch 3.3).

What two triangles share lies in the prism that the slave's triangle sweeps along its own normal, from -deep to high. The slave's tree
is descended as far as its boxes, widened by both, meet the master's; then the box of each prism against the tree of the master. Bodies
that are in no pair are not looked at. A body may be its own master: faces with a common corner are neighbours, no contact.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.closest import closest_on_body
from pliant.detect.patches import FACING, Patches
from pliant.detect.penetration import ACROSS
from pliant.detect.tree import Tree
from pliant.geometry.normals import face_normal
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, sub

STACK = 128  # nodes that a walk puts off: the depth of a tree times its arity is less
ROOM = 4096  # pairs of triangles to provide for at first


def facing_faces(tree: Tree, points: Floats, faces: Ints, slave: Ints, master: Ints, deep: Floats, high: Floats) -> tuple[Ints, Ints, Ints]:
    """(pair, face of the slave, face of the master) for pairs of bodies (k,), each with its depth and height [m]; `tree` fits `points`."""
    found = _facing_faces(
        tree.root, tree.level[1], tree.first, tree.count, tree.order, tree.low, tree.high, tree.box_low, tree.box_high,
        points, faces, slave, master, deep, high,
    )  # fmt: skip
    return found[0], found[1], found[2]


@inline
def _meets(low, high, i, a, b):  # type: ignore[no-untyped-def]
    """Whether box i meets the box from a to b; touching counts."""
    return (
        (low[i, 0] <= b[0]) & (high[i, 0] >= a[0]) & (low[i, 1] <= b[1]) & (high[i, 1] >= a[1]) & (low[i, 2] <= b[2]) & (high[i, 2] >= a[2])
    )


@inline
def _prism(points, faces, f, deep, high):  # type: ignore[no-untyped-def]
    """(low, high, unit normal, height) of what face f sweeps along its normal; the height is that of its plane, n . x."""
    p, q, r = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
    n = cross(sub(q, p), sub(r, p))
    length = norm(n)
    n = scale(1.0 / length if length > 0.0 else 0.0, n)
    low = (min(p[0], q[0], r[0]), min(p[1], q[1], r[1]), min(p[2], q[2], r[2]))
    top = (max(p[0], q[0], r[0]), max(p[1], q[1], r[1]), max(p[2], q[2], r[2]))
    d, e = scale(-deep, n), scale(high, n)
    low = (low[0] + min(d[0], e[0]), low[1] + min(d[1], e[1]), low[2] + min(d[2], e[2]))
    top = (top[0] + max(d[0], e[0]), top[1] + max(d[1], e[1]), top[2] + max(d[2], e[2]))
    return low, top, n, dot(n, p)


@inline
def _share_corner(faces, f, g):  # type: ignore[no-untyped-def]
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    for k in range(3):
        if faces[g, k] == a or faces[g, k] == b or faces[g, k] == c:
            return True
    return False


@kernel
def _facing_faces(  # type: ignore[no-untyped-def]
    root, leaves, first, count, order, low, high, box_low, box_high, points, faces, slave, master, deep, up
):
    used, out = 0, np.empty((3, ROOM), np.int64)
    stack, other = np.empty(STACK, np.int64), np.empty(STACK, np.int64)
    for k in range(len(slave)):
        a, b = root[slave[k]], root[master[k]]
        if a < 0 or b < 0:
            continue
        wide = max(deep[k], up[k])
        margin = (wide, wide, wide)
        least, most = axpy(-1.0, margin, load(low, b)), axpy(1.0, margin, load(high, b))
        stack[0], top = a, 1
        while top > 0:
            top -= 1
            node = stack[top]
            if not _meets(low, high, node, least, most):
                continue
            if node >= leaves:
                for i in range(count[node]):
                    stack[top] = first[node] + i
                    top += 1
                continue
            for place in range(first[node], first[node] + count[node]):
                f = order[place]
                start, end, n, plane = _prism(points, faces, f, deep[k], up[k])
                other[0], more = b, 1
                while more > 0:
                    more -= 1
                    node2 = other[more]
                    if not _meets(low, high, node2, start, end):
                        continue
                    if node2 >= leaves:
                        for i in range(count[node2]):
                            other[more] = first[node2] + i
                            more += 1
                        continue
                    for place2 in range(first[node2], first[node2] + count[node2]):
                        if not _meets(box_low, box_high, place2, start, end):
                            continue
                        g = order[place2]
                        p, q, r = load(points, faces[g, 0]), load(points, faces[g, 1]), load(points, faces[g, 2])
                        m = cross(sub(q, p), sub(r, p))
                        if dot(n, m) >= -FACING * norm(m):
                            continue
                        x, y, z = dot(n, p) - plane, dot(n, q) - plane, dot(n, r) - plane
                        if min(x, y, z) > up[k] or max(x, y, z) < -deep[k] or _share_corner(faces, f, g):
                            continue
                        if used == out.shape[1]:
                            more_room = np.empty((3, 2 * used), np.int64)
                            more_room[:, :used] = out
                            out = more_room
                        out[0, used], out[1, used], out[2, used] = k, f, g
                        used += 1
    return out[:, :used].copy()


def straight(
    tree: Tree, points: Floats, faces: Ints, slave: Ints, master: Ints, found: Patches, slack: Floats, side: Floats, sharp: Bools,
    tight: Bools,
) -> Floats:  # fmt: skip
    """How much of each row counts as contact, 0 to 1 (r,), by whether it is the short way out; bodies, slack [m] and edge [m] of each row.

    Where the sides of two boxes overlap a little, the top of the one and the bottom of the other share a thin strip, far in depth. Its
    points are at the sides: nothing counts that is deeper than 1 / ACROSS times the distance d from either of its ends to the surface of
    the other body. A slack s on top of that fades the share to zero over as much again, so that forces do not jump:

        share = (d / ACROSS + 2 s - depth) / s, in 0 to 1

    Where the faces that both ends are closest to face each other, these are the contact, and s is no more than d: a lip by which one tile
    is higher than the next, as low as contact gives way, stops nothing, however far its side was crossed within a step. Rows at corners
    (`sharp` (r,)) lie on both faces and cannot tell; nor are explicit bodies asked. What is no deeper than the slack is asked only of
    polygons so thin, for their area and the edge of a face, that d may be too small.

    Rows that stand for more than their area (`tight` (r,)) are all asked, and s is no more than d for them: of a strip however thin a tip
    (theory/patch 3.9) has the stiffness of all that is around a node, and no slack makes that little.
    A body that is its own master is at no distance from itself: there every row counts.
    """
    out = np.ones(len(found))
    _straight(
        tree.nodes, points, faces, slave, master, found.slave, found.master, found.weights, found.others, found.gap, found.area, slack,
        side, sharp, tight, out,
    )  # fmt: skip
    return out


@inline
def _at(points, faces, f, weights, r):  # type: ignore[no-untyped-def]
    """The place on face f with the weights of row r."""
    a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
    return axpy(weights[r, 0], a, axpy(weights[r, 1], b, scale(weights[r, 2], c)))


@kernel
def _straight(  # type: ignore[no-untyped-def]
    nodes, points, faces, slave, master, face, other, weights, others, gap, area, slack, side, sharp, tight, out
):
    stack = np.empty(STACK, np.int64)
    for r in range(len(gap)):
        depth = -gap[r]
        low = not tight[r] and depth <= slack[r] and (sharp[r] or 3.0 * ACROSS * area[r] >= depth * side[r])
        if depth <= 0.0 or slave[r] == master[r] or low:
            continue
        x, y = _at(points, faces, face[r], weights, r), _at(points, faces, other[r], others, r)
        a, f, _, _, _ = closest_on_body(x, master[r], nodes, points, faces, stack)
        b, g, _, _, _ = closest_on_body(y, slave[r], nodes, points, faces, stack)
        d, s = np.sqrt(min(a, b)), slack[r]
        if tight[r] or (not sharp[r] and dot(face_normal(points, faces, f), face_normal(points, faces, g)) < -FACING):
            s = min(s, d)
        out[r] = min(1.0, max(0.0, (d / ACROSS + 2.0 * s - depth) / s)) if s > 0.0 else 0.0


def entered(start: Floats, faces: Ints, found: Patches, before: Floats) -> Floats:
    """1 for rows whose surfaces can have met here, 0 for those that were deeper than `before` [m] with the points at `start`, (r,).

    Where the sides of two boxes overlap a little, their tops and bottoms overlap in a thin strip, far in depth; that is no contact.
    """
    out = np.ones(len(found))
    _entered(start, faces, found.slave, found.master, found.weights, found.others, found.normal, before, out)
    return out


@kernel
def _entered(start, faces, face, other, weights, others, normal, before, out):  # type: ignore[no-untyped-def]
    for r in range(len(out)):
        apart = sub(_at(start, faces, other[r], others, r), _at(start, faces, face[r], weights, r))
        if dot(apart, load(normal, r)) < -before[r]:
            out[r] = 0.0
