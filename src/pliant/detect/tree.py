"""A bounding-volume tree over the faces of all bodies: one flat array of boxes, one root per body.

Faces of a body are ordered once along a Morton curve and halved down to leaves of four. Nodes lie depth first, children after
their parent, so boxes of moved faces are refit in one backward pass, O(n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.geometry.mesh import Floats, Ints
from pliant.kernels import kernel

LEAF = 4


@dataclass
class Tree:
    """Nodes i: faces order[first[i] : first[i] + count[i]] in a leaf, else children i + 1 and second[i]."""

    root: Ints  # (B + 1,) first node of each body's tree; equal to the next where a body has no faces
    first: Ints
    count: Ints  # 0 for inner nodes
    second: Ints
    order: Ints  # faces in tree order
    low: Floats  # (nodes, 3)
    high: Floats

    @staticmethod
    def build(points: Floats, faces: Ints, face_start: Ints) -> Tree:
        """A tree per body over its faces."""
        order = np.empty(len(faces), np.int64)
        centre = points[faces].mean(axis=1) if len(faces) else np.zeros((0, 3))
        for b in range(len(face_start) - 1):
            mine = slice(face_start[b], face_start[b + 1])
            order[mine] = face_start[b] + np.argsort(_morton(centre[mine]), kind="stable")
        size = max(1, 2 * len(faces) + 1)
        arrays = [np.zeros(size, np.int64) for _ in range(3)]
        root = np.zeros(len(face_start), np.int64)
        used = _split(face_start, root, *arrays)
        first, count, second = (a[:used].copy() for a in arrays)
        tree = Tree(root, first, count, second, order, np.zeros((used, 3)), np.zeros((used, 3)))
        tree.refit(points, faces)
        return tree

    def refit(self, points: Floats, faces: Ints) -> None:
        """Boxes for where the points are now."""
        _refit(self.first, self.count, self.second, self.order, points, faces, self.low, self.high)


def _morton(centre: Floats) -> Ints:
    """Place of each centre along a Morton curve through their box, 20 bits an axis."""
    if len(centre) == 0:
        return np.zeros(0, np.int64)
    low, span = centre.min(axis=0), np.ptp(centre, axis=0)
    cell = ((centre - low) / np.where(span > 0, span, 1.0) * (2**20 - 1)).astype(np.int64)
    code = np.zeros(len(centre), np.int64)
    for bit in range(20):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code


@kernel
def _split(face_start, root, first, count, second):  # type: ignore[no-untyped-def]
    """Halve ranges of ordered faces; a stack holds (low, high, parent whose second child this is, or -1)."""
    stack = np.empty((128, 3), np.int64)
    used = 0
    for b in range(len(face_start) - 1):
        root[b] = used
        if face_start[b + 1] == face_start[b]:
            continue
        stack[0, 0], stack[0, 1], stack[0, 2] = face_start[b], face_start[b + 1], -1
        top = 1
        while top > 0:
            top -= 1
            lo, hi, parent = stack[top, 0], stack[top, 1], stack[top, 2]
            if parent >= 0:
                second[parent] = used
            node = used
            used += 1
            if hi - lo <= LEAF:
                first[node], count[node] = lo, hi - lo
                continue
            mid = (lo + hi) // 2
            stack[top, 0], stack[top, 1], stack[top, 2] = mid, hi, node
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = lo, mid, -1
            top += 2
    root[len(face_start) - 1] = used
    return used


@kernel
def _refit(first, count, second, order, points, faces, low, high):  # type: ignore[no-untyped-def]
    for i in range(len(first) - 1, -1, -1):
        for axis in range(3):
            lo, hi = np.inf, -np.inf
            if count[i] == 0:
                lo = min(low[i + 1, axis], low[second[i], axis])
                hi = max(high[i + 1, axis], high[second[i], axis])
            for k in range(first[i], first[i] + count[i]):
                for corner in range(3):
                    x = points[faces[order[k], corner], axis]
                    lo, hi = min(lo, x), max(hi, x)
            low[i, axis], high[i, axis] = lo, hi
