"""Axis-aligned boxes: of points, edges, faces and tetrahedra at rest or swept along straight paths, and of tree nodes.

The box of a swept primitive is the smallest one around its corners at the start and at the end of the step, moved outwards by a
margin on all sides; linear paths stay inside it.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.kernels import contiguous, inline, kernel, parallel, prange, use_threads

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


@parallel
def _boxes(corners, points, end, margin, low, high):  # type: ignore[no-untyped-def]
    for i in prange(len(corners)):
        a, b = swept(corners, i, points, end, margin)
        low[i, 0], low[i, 1], low[i, 2] = a
        high[i, 0], high[i, 1], high[i, 2] = b


@parallel
def leaf_boxes(first, count, corners, points, end, margin, box_low, box_high, low, high, bad):  # type: ignore[no-untyped-def]
    """Boxes of moved primitives and of the leaves around them; `bad` marks leaves with coordinates that are not finite."""
    for i in prange(len(bad)):
        lx, ly, lz, hx, hy, hz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
        zero = 0.0
        for k in range(first[i], first[i] + count[i]):
            a, b = swept(corners, k, points, end, margin)
            for c in range(corners.shape[1]):  # NaN would get lost in min and max; 0 x is NaN for NaN and infinity
                p = corners[k, c]
                zero += 0.0 * (points[p, 0] + points[p, 1] + points[p, 2] + end[p, 0] + end[p, 1] + end[p, 2])
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
def surface_sum(low, high):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(low)):
        x, y, z = high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2]
        total += x * y + y * z + z * x
    return 2.0 * total
