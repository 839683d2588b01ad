"""Rows of contacts: the surfel on one side, the surfels that share it on the other, down to skin points.

Conjugate: impulses go to skin points by the weights that carry the surfels, so the work on the body is that on its surface.
"keiser": they go to the volume points around the contact by Shepard weights, (8) of Keiser et al.: forces add up, moments do not.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.hits import Hits
from pliant.contact.point_surface.shares import shares
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.detect.surfels.carried import Carried
from pliant.detect.surfels.neighbours import KDTree
from pliant.kernels import kernel
from pliant.world.motion import Motion, Rows

LEAST = 6  # volume points that take part at least
WIDER = 1.001  # of the distance of the farthest of them: else its weight would be nothing


def gap_rows(motion: Motion, carried: Carried, surfaces: Surfaces, hits: Hits, at: Floats, moved: Floats | None = None) -> Rows:
    """Surfel against the surfels around its foot, or against the anchor of an exact shape; `moved` [m] (r, 3): from the foot."""
    framed = motion.bodies.frame[hits.other] >= 0
    lone = hits.select(np.arange(len(hits)))
    lone.deep = lone.deep | framed  # one surfel carries a contact with a frame: where it acts is `at`
    start, surfel, weight = shares(surfaces, lone, moved)
    return _rows(motion, carried, hits.surfel, hits.other, start, surfel, weight, hits.normal, at)


def chosen_rows(rows: Rows, which: Ints) -> Rows:
    """Some of the rows."""
    if len(which) == len(rows):
        return rows
    size = np.diff(rows.start)[which]
    start = np.concatenate([[0], np.cumsum(size)])
    entry = np.arange(start[-1]) + np.repeat(rows.start[which] - start[:-1], size)
    return Rows(start, rows.point[entry], rows.weight[entry], rows.normal[which], rows.at[which])


def closest_rows(motion: Motion, carried: Carried, one: Ints, two: Ints, other: Ints, normal: Floats, at: Floats) -> Rows:
    """One surfel against one; -1: the anchor of an exact shape."""
    start = np.concatenate([[0], np.cumsum(two >= 0)]).astype(np.int64)
    return _rows(motion, carried, one, other, start, two[two >= 0], np.ones(int(start[-1])), normal, at)


def _rows(
    motion: Motion, carried: Carried, one: Ints, other: Ints, start: Ints, surfel: Ints, weight: Floats, normal: Floats, at: Floats
) -> Rows:
    most = 3 * (len(one) + max(len(surfel), 0)) + len(one)
    first, point, share = np.zeros(len(one) + 1, np.int64), np.empty(most, np.int64), np.empty(most)
    count = _expand(
        carried.point, carried.weight, motion.bodies.anchor, one, other, start, surfel, weight, first, point, share
    )
    return Rows(first, point[:count].copy(), share[:count].copy(), normal, at)


@kernel
def _expand(carrier, carried, anchor, one, other, start, surfel, weight, first, point, share):  # type: ignore[no-untyped-def]
    count = 0
    for r in range(len(one)):
        for c in range(3):
            if carried[one[r], c] != 0.0:
                point[count], share[count] = carrier[one[r], c], carried[one[r], c]
                count += 1
        if start[r] == start[r + 1]:
            point[count], share[count] = anchor[other[r]], -1.0
            count += 1
        for k in range(start[r], start[r + 1]):
            for c in range(3):
                if carried[surfel[k], c] != 0.0:
                    point[count], share[count] = carrier[surfel[k], c], -weight[k] * carried[surfel[k], c]
                    count += 1
        first[r + 1] = count
    return count


class Volume:
    """Skin points that are one node each, body by body; made once (`motion.kept(Volume)`)."""

    def __init__(self, motion: Motion) -> None:
        skin = motion.skin
        single = np.flatnonzero((np.diff(skin.start) == 1) & (skin.body >= 0))
        _, first = np.unique(skin.node[skin.start[single]], return_index=True)
        self.point: Ints = single[np.sort(first)]
        rest = motion.nodes.rest[skin.node[skin.start[self.point]]]
        self.support = np.zeros(len(motion.bodies))  # (B,) [m] three times the mean distance of the ten nearest, as phyxels have it
        for b in np.unique(skin.body[self.point]).tolist():
            mine = rest[skin.body[self.point] == b]
            far = KDTree(mine).nearest(mine, min(11, len(mine)))[0]
            self.support[b] = 3.0 * float(far[:, 1:].mean()) if len(mine) > 1 else 1.0


def keiser_rows(motion: Motion, a: Ints, b: Ints, normal: Floats, at: Floats) -> Rows:
    """Volume points of both bodies around `at`, weights (h^2 - d^2)^3, h twice their support or wide enough for six."""
    volume, parts = motion.kept(Volume), []
    for body, sign in ((a, 1.0), (b, -1.0)):
        for which in np.unique(body).tolist():
            rows = np.flatnonzero(body == which)
            points = volume.point[motion.skin.body[volume.point] == which]
            if motion.bodies.frame[which] >= 0 or len(points) == 0:
                parts.append((rows, np.full(len(rows), motion.bodies.anchor[which]), np.full(len(rows), sign)))
                continue
            row, point, weight = shepard(at[rows], motion.start[points], 2.0 * float(volume.support[which]))
            parts.append((rows[row], points[point], sign * weight))
    row = np.concatenate([p[0] for p in parts])
    order = np.argsort(row, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(at)))]).astype(np.int64)
    point, weight = (np.concatenate([p[k] for p in parts])[order] for k in (1, 2))
    return Rows(start, point.astype(np.int64), weight.astype(np.float64), normal, at)


def shepard(at: Floats, points: Floats, h: float) -> tuple[Ints, Ints, Floats]:
    """(row, point, weight): weights of the points around each place, (8) of Keiser et al."""
    k = min(LEAST, len(points))
    far, _ = KDTree(points).nearest(at, k)
    radius = np.maximum(h, WIDER * far[:, -1])
    square = ((at[:, None] - points[None]) ** 2).sum(axis=2)
    weight = np.maximum(radius[:, None] ** 2 - square, 0.0) ** 3
    weight /= weight.sum(axis=1, keepdims=True)
    row, point = np.nonzero(weight)
    return row, point, weight[row, point]
