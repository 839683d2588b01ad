"""A bounding-volume tree over primitives of all bodies: one flat array of boxes, one root per body (theory/springs 5).

Primitives are points, edges, faces or tetrahedra (rows of `corners`), at rest or swept along straight paths, or bare boxes. The
primitives of a body are ordered once by median splits; leaves are runs of LEAF of them, inner nodes are runs of `arity` nodes of the
level below. Nodes are stored level by level, leaves of all bodies first, so boxes of moved primitives are refit in one
pass from the leaves up, O(n).

The published tree [Motheram, Tribble], after [Larsson, Akenine-Möller 2001], is here too (`centre_tree`): the box of a body is halved
`depth` times, each half along its own longest axis at its centre, and a primitive belongs to the cell that its centre is in. Where we
differ: cells that hold nothing have no node (at depth 12 most of the 4096 leaves of a sphere of 600 triangles are empty, so the tree is
not balanced), boxes are refit from the leaves up in one pass, O(n), and a cell that is left with more than LEAF primitives is a subtree
over runs of them as they come, so that a shallow tree is slow but right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.kernels import contiguous, inline, kernel, parallel, prange, use_threads

LEAF = 4
ARITY = 8  # measured in benchmarks/broad_phase.py against 2 and 4
WORN = 1.5  # sum of surface areas, relative to the best since it was built, at which a tree is built anew


class Nodes(NamedTuple):
    """The arrays of a tree as kernels take them; see `Tree`. Nodes below `leaves` are leaves."""

    root: Ints
    leaves: int
    first: Ints
    children: Ints  # how many: `Tree.count`
    order: Ints
    low: Floats
    high: Floats
    box_low: Floats
    box_high: Floats


@inline
def put_off(nodes, i, stack, top):  # type: ignore[no-untyped-def]
    """Put the children of node i, which is no leaf, on the stack of a walk; the new top."""
    for child in range(nodes.first[i], nodes.first[i] + nodes.children[i]):
        stack[top] = child
        top += 1
    return top


@dataclass
class Tree:
    """Node i has children first[i] : first[i] + count[i]; for a leaf (i < level[1]) these are places in `order`."""

    start: Ints  # (B + 1,) places of each body's primitives
    order: Ints  # (n,) primitive at each place
    corners: Ints  # (n, k) points of the primitive at each place; k = 0 for bare boxes
    root: Ints  # (B,) -1 for a body without primitives
    first: Ints  # (nodes,)
    count: Ints  # (nodes,)
    level: Ints  # (levels + 1,) nodes of level k are level[k] : level[k + 1]
    box_low: Floats  # (n, 3) boxes of primitives, by place
    box_high: Floats
    low: Floats  # (nodes, 3)
    high: Floats
    best: float = np.inf  # [m^2] smallest sum of surface areas since it was built
    builds: int = 1
    most: int = -1  # the highest point number of its rows

    @staticmethod
    def build(
        points: Floats, corners: Ints, start: Ints, end: Floats | None = None, margin: float = 0.0, arity: int = ARITY
    ) -> Tree:
        """A tree per body over its primitives, rows start[b] : start[b + 1] of `corners`, swept from `points` to `end`."""
        corners = np.asarray(corners, dtype=np.int64)
        if corners.ndim != 2:
            raise PliantError(f"Tree.build: rows of point numbers are (n, k), not {corners.shape}; of points, numbers[:, None].")
        if corners.size and not 0 <= corners.min() <= corners.max() < len(points):
            raise PliantError(f"Tree.build: rows have points {corners.min()} to {corners.max()}, but {len(points)} points were given.")
        low, high = boxes_of(points, corners, end, margin)
        tree = Tree.of_boxes(low, high, start, arity)
        tree.corners, tree.most = np.ascontiguousarray(corners[tree.order]), int(corners.max(initial=-1))
        return tree

    @staticmethod
    def of_boxes(low: Floats, high: Floats, start: Ints | None = None, arity: int = ARITY) -> Tree:
        """A tree per body over bare boxes start[b] : start[b + 1]; one body if no `start` is given."""
        low, high = contiguous(low).reshape(-1, 3), contiguous(high).reshape(-1, 3)
        check_finite(low, high)
        start = np.array([0, len(low)]) if start is None else contiguous(start, np.int64)
        if len(start) == 0 or start[0] != 0 or start[-1] != len(low) or (np.diff(start) < 0).any():
            raise PliantError(f"Tree: `start` says where rows of each body begin: it rises from 0 to {len(low)}, not {start}.")
        root, first, count, level = _structure(start, arity)
        order = median_order(0.5 * low + 0.5 * high, start)
        bare, node = np.zeros((len(low), 0), np.int64), np.zeros((len(first), 3))
        tree = Tree(start, order, bare, root, first, count, level, low[order], high[order], node, node.copy())
        tree._refit_nodes()
        tree.best = tree.area()
        return tree

    def refit(self, points: Floats, end: Floats | None = None, margin: float = 0.0) -> None:
        """Boxes for where the points are now, or go from here to `end`; a tree that has worn out is built anew."""
        points, moves = contiguous(points), end is not None
        if len(points) <= self.most or (end is not None and len(end) != len(points)):
            few = len(points) if len(points) <= self.most or end is None else len(end)
            raise PliantError(f"Tree.refit: {few} points, but rows go up to point {self.most}; give those that the tree was built of.")
        end = points if end is None else contiguous(end)
        use_threads(len(self.order) // CHEAP)
        bad = np.zeros(self.level[1], np.uint8)
        leaf_boxes(self.first, self.count, self.corners, points, moves, end, margin, self.box_low, self.box_high, self.low, self.high, bad)
        if bad.any():
            check_finite(points, end, "points")
        refit_inner(self.level, self.first, self.count, self.low, self.high)
        if self.worn():
            self.rebuild()

    def worn(self) -> bool:
        """Whether the sum of surface areas has grown so much that pairs would be found slowly."""
        now = self.area()
        self.best = min(self.best, now)
        return now > WORN * self.best

    def area(self) -> float:
        """Sum of the surface areas of all nodes [m^2]."""
        return float(surface_sum(self.low, self.high))

    @property
    def nodes(self) -> Nodes:
        """What kernels need of it, as it is now."""
        return Nodes(
            self.root, int(self.level[1]), self.first, self.count, self.order, self.low, self.high, self.box_low, self.box_high
        )  # fmt: skip

    def root_boxes(self) -> tuple[Floats, Floats]:
        """Box of each body, (B, 3) twice; an empty one (inf, -inf) for a body without primitives."""
        low, high = np.empty((len(self.root), 3)), np.empty((len(self.root), 3))
        _root_boxes(self.root, self.low, self.high, low, high)
        return low, high

    def rebuild(self) -> None:
        """Order the primitives anew for where they are now, as a new tree would."""
        back = np.argsort(self.order)
        place = back[median_order((0.5 * self.box_low + 0.5 * self.box_high)[back], self.start)]
        for name in ("order", "corners", "box_low", "box_high"):
            setattr(self, name, getattr(self, name)[place])
        self._refit_nodes()
        self.best = self.area()
        self.builds += 1

    def _refit_nodes(self) -> None:
        refit_nodes(self.level, self.first, self.count, self.box_low, self.box_high, self.low, self.high)


def _structure(start: Ints, arity: int) -> tuple[Ints, Ints, Ints, Ints]:
    """(root, first, count, level) of balanced trees over runs of primitives."""
    size, begin, unit, body = np.diff(start), start[:-1], LEAF, np.arange(len(start) - 1)
    root = np.full(len(start) - 1, -1, np.int64)
    first, count, level, used = [], [], [0], 0
    size, begin, body = size[size > 0], begin[size > 0], body[size > 0]
    while len(body):
        nodes = (size + unit - 1) // unit
        offset = np.cumsum(nodes) - nodes
        inside = np.arange(nodes.sum()) - np.repeat(offset, nodes)
        first.append(np.repeat(begin, nodes) + unit * inside)
        count.append(np.minimum(unit, np.repeat(size, nodes) - unit * inside))
        top = nodes == 1
        root[body[top]] = used + offset[top]
        size, begin, body = nodes[~top], used + offset[~top], body[~top]
        used += int(nodes.sum())
        level.append(used)
        unit = arity
    if len(level) == 1:
        level.append(0)
    joined = [np.concatenate([*part, np.zeros(0, np.int64)]) for part in (first, count)]
    return root, joined[0], joined[1], np.array(level)


def median_order(centre: Floats, start: Ints) -> Ints:
    """Primitives of each body by median splits of their centres along the longest axis, down to leaves."""
    order = np.arange(len(centre))
    _median_splits(centre.copy(), start, order)
    return order


@kernel
def _median_splits(centre, start, order):  # type: ignore[no-untyped-def]
    """Split so that the left part holds a power of two of full leaves: runs of such leaves are the nodes, whatever the arity."""
    stack = np.empty((128, 2), np.int64)
    for b in range(len(start) - 1):
        stack[0, 0], stack[0, 1] = start[b], start[b + 1]
        top = 1
        while top > 0:
            top -= 1
            lo, hi = stack[top, 0], stack[top, 1]
            if hi - lo <= LEAF:
                continue
            half = LEAF
            while 2 * half < hi - lo:
                half *= 2
            _select(centre, _longest_axis(centre, lo, hi), order, lo, hi, lo + half)
            stack[top, 0], stack[top, 1] = lo, lo + half
            stack[top + 1, 0], stack[top + 1, 1] = lo + half, hi
            top += 2


@kernel
def _longest_axis(centre, lo, hi):  # type: ignore[no-untyped-def]
    lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for k in range(lo, hi):
        x, y, z = centre[k, 0], centre[k, 1], centre[k, 2]
        lx, ly, lz, hx, hy, hz = min(lx, x), min(ly, y), min(lz, z), max(hx, x), max(hy, y), max(hz, z)
    if hx - lx >= hy - ly and hx - lx >= hz - lz:
        return 0
    return 1 if hy - ly >= hz - lz else 2


@kernel
def _select(centre, axis, order, lo, hi, nth):  # type: ignore[no-untyped-def]
    """Put the smallest of order[lo:hi] before place nth (Hoare's quickselect), centres along with them; ties go by number."""
    left, right = lo, hi - 1
    while left < right:
        middle = (left + right) // 2
        x, pivot = centre[middle, axis], order[middle]
        i, j = left, right
        while i <= j:
            while centre[i, axis] < x or (centre[i, axis] == x and order[i] < pivot):
                i += 1
            while centre[j, axis] > x or (centre[j, axis] == x and order[j] > pivot):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                for c in range(3):
                    centre[i, c], centre[j, c] = centre[j, c], centre[i, c]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return


CHEAP = 8  # a box costs so much less than what `use_threads` counts as an item


def boxes_of(points: Floats, corners: Ints, end: Floats | None = None, margin: float = 0.0) -> tuple[Floats, Floats]:
    """Boxes (n, 3), (n, 3) of primitives given by their corners (n, k), swept from `points` to `end`."""
    points, corners = contiguous(points), contiguous(corners, np.int64)
    end = points if end is None else contiguous(end)
    check_finite(points, end, "points")
    low, high = np.empty((len(corners), 3)), np.empty((len(corners), 3))
    use_threads(len(corners) // CHEAP)
    _boxes(corners, points, end, margin, low, high)
    return low, high


def check_finite(low: Floats, high: Floats, what: str = "boxes") -> None:
    """Refuse NaN and infinity with the rows they are in."""
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)).all(axis=1))
    if len(bad):
        some = ", ".join(str(i) for i in bad[:8]) + (", ..." if len(bad) > 8 else "")
        raise PliantError(
            f"{len(bad)} {what} for collision detection are not finite: {some}. Contacts there would be missed silently; "
            "a step that diverges gives such positions, so reduce dt or check the input."
        )


@inline
def swept(corners, i, points, end, margin):  # type: ignore[no-untyped-def]
    """(low, high) of primitive i."""
    lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for c in range(corners.shape[1]):
        p = corners[i, c]
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        u, v, w = end[p, 0], end[p, 1], end[p, 2]
        lx, ly, lz = min(lx, x, u), min(ly, y, v), min(lz, z, w)
        hx, hy, hz = max(hx, x, u), max(hy, y, v), max(hz, z, w)
    return (lx - margin, ly - margin, lz - margin), (hx + margin, hy + margin, hz + margin)


@inline
def still(corners, i, points, margin):  # type: ignore[no-untyped-def]
    """The same where nothing moves."""
    u = v = (points[corners[i, 0], 0], points[corners[i, 0], 1], points[corners[i, 0], 2])
    for c in range(1, corners.shape[1]):
        x, y, z = points[corners[i, c], 0], points[corners[i, c], 1], points[corners[i, c], 2]
        u = (min(u[0], x), min(u[1], y), min(u[2], z))
        v = (max(v[0], x), max(v[1], y), max(v[2], z))
    return (u[0] - margin, u[1] - margin, u[2] - margin), (v[0] + margin, v[1] + margin, v[2] + margin)


@parallel
def _boxes(corners, points, end, margin, low, high):  # type: ignore[no-untyped-def]
    for i in prange(len(corners)):
        a, b = swept(corners, i, points, end, margin)
        low[i, 0], low[i, 1], low[i, 2] = a
        high[i, 0], high[i, 1], high[i, 2] = b


@parallel
def leaf_boxes(first, count, corners, points, moves, end, margin, box_low, box_high, low, high, bad):  # type: ignore[no-untyped-def]
    """Boxes of moved primitives and of the leaves around them; `bad` marks leaves with coordinates that are not finite."""
    for i in prange(len(bad)):
        lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
        zero = 0.0
        for k in range(first[i], first[i] + count[i]):
            a, b = swept(corners, k, points, end, margin) if moves else still(corners, k, points, margin)
            for c in range(corners.shape[1]):  # NaN would get lost in min and max; 0 x is NaN for NaN and infinity
                p = corners[k, c]
                zero += 0.0 * (points[p, 0] + points[p, 1] + points[p, 2])
                if moves:
                    zero += 0.0 * (end[p, 0] + end[p, 1] + end[p, 2])
            box_low[k, 0], box_low[k, 1], box_low[k, 2] = a
            box_high[k, 0], box_high[k, 1], box_high[k, 2] = b
            lx, ly, lz = min(lx, a[0]), min(ly, a[1]), min(lz, a[2])
            hx, hy, hz = max(hx, b[0]), max(hy, b[1]), max(hz, b[2])
        bad[i] = zero != 0.0
        low[i, 0], low[i, 1], low[i, 2] = lx, ly, lz
        high[i, 0], high[i, 1], high[i, 2] = hx, hy, hz


@inline
def union(i, first, count, child_low, child_high, low, high):  # type: ignore[no-untyped-def]
    """Box i around its children."""
    lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for k in range(first[i], first[i] + count[i]):
        lx, ly, lz = min(lx, child_low[k, 0]), min(ly, child_low[k, 1]), min(lz, child_low[k, 2])
        hx, hy, hz = max(hx, child_high[k, 0]), max(hy, child_high[k, 1]), max(hz, child_high[k, 2])
    low[i, 0], low[i, 1], low[i, 2] = lx, ly, lz
    high[i, 0], high[i, 1], high[i, 2] = hx, hy, hz


@kernel
def refit_nodes(level, first, count, box_low, box_high, low, high):  # type: ignore[no-untyped-def]
    """Boxes of all nodes from those of the primitives."""
    for i in range(level[1]):
        union(i, first, count, box_low, box_high, low, high)
    for i in range(level[1], level[-1]):
        union(i, first, count, low, high, low, high)


@kernel
def refit_inner(level, first, count, low, high):  # type: ignore[no-untyped-def]
    """Boxes of inner nodes from those of the leaves; children come before their parents."""
    for i in range(level[1], level[-1]):
        union(i, first, count, low, high, low, high)


@kernel
def _root_boxes(root, node_low, node_high, low, high):  # type: ignore[no-untyped-def]
    for b in range(len(root)):
        if root[b] < 0:
            low[b], high[b] = np.inf, -np.inf
        else:
            low[b], high[b] = node_low[root[b]], node_high[root[b]]


@kernel
def surface_sum(low, high):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(low)):
        x, y, z = high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2]
        total += x * y + y * z + z * x
    return 2.0 * total


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
    root, first, count, level = _cell_structure(cell[order], len(start) - 1, depth)
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


def _cell_structure(cell: Ints, bodies: int, depth: int) -> tuple[Ints, Ints, Ints, Ints]:
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
