"""Which samples of one body are inside another: down the trees of spheres, to the samples (theory/point-surfaces 7.4; Pauly, Pai, Guibas
2004, section 4.1).

A sample x is active if (x - r).n < margin for the nearest sample r of the other body (with normal n) and |x - r| <= reach. `reach` bounds
how deep bodies may overlap: within it the answer is that of asking every sample. Without a bound the test would be wrong anyway: far from
a sharp edge the plane of the nearest sample does not tell the side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.shapes import signed_distance
from pliant.detect.surfels.exact import Exact
from pliant.kernels import add, contiguous, kernel, load, norm, sub

if TYPE_CHECKING:
    from pliant.detect.surfels.surface import PointSurface


@dataclass(frozen=True)
class Active:
    """Samples of A that are inside B, ascending."""

    sample: Ints  # (k,) of A
    nearest: Ints  # (k,) of B, -1 for an exact shape
    distance: Floats  # (k,) [m] signed, in front of the nearest sample's plane
    looked: int  # how many samples were looked at one by one


def active_samples(
    a: PointSurface,
    b: PointSurface,
    reach: float,
    *,
    rotation: Floats | None = None,
    translation: Floats | None = None,
    margin: float | Floats = 0.0,
) -> Active:
    """Samples of A inside B, A turned by the 3x3 `rotation` and then shifted into B's coordinates. `reach`, `margin` [m], one for each
    sample of B or one for all."""
    turn, shift = pose(rotation, translation)
    marked = np.zeros(len(a.spheres.left), bool)
    one, two = a.spheres, b.spheres
    _descend(one, two, turn, shift, float(reach), marked)
    chosen = np.sort(one.members(np.flatnonzero(marked))[1])
    x = a.points[chosen] @ turn.T + shift
    far, nearest = b.search.nearest(x, 1) if len(chosen) else (np.empty((0, 1)), np.empty((0, 1), np.int64))
    far, nearest = far[:, 0], nearest[:, 0]
    d = np.einsum("ij,ij->i", x - b.points[nearest], b.normals[nearest])
    keep = (d < np.broadcast_to(margin, len(b))[nearest]) & (far <= reach)
    return Active(chosen[keep], nearest[keep], d[keep], len(chosen))


def active_against_exact(
    a: PointSurface, b: Exact, *, rotation: Floats | None = None, translation: Floats | None = None, margin: float = 0.0
) -> Active:
    """Samples of A nearer than `margin` [m] to the inside of an exact shape; no reach is needed, its distance is true everywhere."""
    turn, shift = pose(rotation, translation)
    points = a.points
    sample, distance = np.empty(len(points), np.int64), np.empty(len(points))
    count, looked = _inside_exact(a.spheres, points, turn, shift, *b.numbers, float(margin), sample, distance)
    order = np.argsort(sample[:count])
    return Active(sample[:count][order], np.full(count, -1), distance[:count][order], int(looked))


def pose(rotation: Floats | None, translation: Floats | None) -> tuple[Floats, Floats]:
    """A rotation matrix and a shift [m], as kernels take them."""
    turn = np.eye(3) if rotation is None else contiguous(rotation).reshape(3, 3)
    return turn, np.zeros(3) if translation is None else contiguous(translation).reshape(3)


@kernel
def _placed(turn, shift, p):  # type: ignore[no-untyped-def]
    x = turn[0, 0] * p[0] + turn[0, 1] * p[1] + turn[0, 2] * p[2]
    y = turn[1, 0] * p[0] + turn[1, 1] * p[1] + turn[1, 2] * p[2]
    z = turn[2, 0] * p[0] + turn[2, 1] * p[1] + turn[2, 2] * p[2]
    return add((x, y, z), (shift[0], shift[1], shift[2]))


@kernel
def _descend(one, two, turn, shift, reach, marked):  # type: ignore[no-untyped-def]
    """Mark leaves of A with a leaf of B not farther than `reach`: the larger sphere of a pair is opened."""
    left_a, right_a, radius_a, left_b, right_b, radius_b = one.left, one.right, one.radius, two.left, two.right, two.radius
    stack = np.empty((2 * (one.depth + two.depth) + 2, 2), np.int64)
    stack[0, 0], stack[0, 1], top = 0, 0, 1
    while top > 0:
        top -= 1
        a, b = stack[top, 0], stack[top, 1]
        gap = norm(sub(_placed(turn, shift, load(one.centre, a)), load(two.centre, b))) - radius_a[a] - radius_b[b]
        if marked[a] or gap > reach * (1.0 + 1e-12) + 1e-12 * (radius_a[0] + radius_b[0]):
            continue
        if left_a[a] < 0 and left_b[b] < 0:
            marked[a] = True
        elif left_b[b] < 0 or (left_a[a] >= 0 and radius_a[a] >= radius_b[b]):
            stack[top, 0], stack[top, 1] = right_a[a], b
            stack[top + 1, 0], stack[top + 1, 1] = left_a[a], b
            top += 2
        else:
            stack[top, 0], stack[top, 1] = a, right_b[b]
            stack[top + 1, 0], stack[top + 1, 1] = a, left_b[b]
            top += 2


@kernel
def _inside_exact(spheres, points, turn, shift, kind, a, b, c, margin, sample, distance):  # type: ignore[no-untyped-def]
    """Samples nearer than margin: (how many, how many were looked at). Signed distance changes by at most the distance moved."""
    begin, end, left, right, order = spheres.begin, spheres.end, spheres.left, spheres.right, spheres.order
    centre, radius = spheres.centre, spheres.radius
    stack, top, count, looked = np.zeros(spheres.depth + 2, np.int64), 1, 0, 0
    while top > 0:
        top -= 1
        node = stack[top]
        d, _ = signed_distance(kind, a, b, c, _placed(turn, shift, load(centre, node)))
        if d - radius[node] > margin + 1e-12 * radius[0]:
            continue
        if left[node] >= 0:
            stack[top], stack[top + 1] = right[node], left[node]
            top += 2
            continue
        for place in range(begin[node], end[node]):
            d, _ = signed_distance(kind, a, b, c, _placed(turn, shift, load(points, order[place])))
            looked += 1
            if d < margin:
                sample[count], distance[count] = order[place], d
                count += 1
    return count, looked
