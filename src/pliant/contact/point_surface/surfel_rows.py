"""Rows of contacts: the surfel on one side, the surfels that share its foot on the other, down to skin points.

Impulses go to skin points by the weights that carry the surfels, so the work on the body is that on its surface. How the surfels of the
penetrated body share a contact is the transpose of how they make its surface: weights (1 - d^2 / r^2)^3 about the foot x - f n,
r = 2.2 h, made linear-exact in the tangent plane. Their centre is the foot itself, so that a force along n at x and its reaction are on one
line and no moment is made (theory/point-surface-contact 8.2).

Friction j_t acts on the surfel, its opposite on the other surface a depth away: together they would turn the bodies. So the foot, at which
the pressure j_n goes to the other body, moves by that depth times j_t / j_n to where the line of the whole force meets that surface
(theory/point-surface-contact 7.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.colliding_surfels import Hits
from pliant.contact.point_surface.implicit_surfaces import Surfaces
from pliant.detect.hash_grid import squared
from pliant.detect.surfels.carried import Carried
from pliant.detect.surfels.projection import OPPOSITE, across
from pliant.kernels import axpy, cross, dot, kernel, load, sub
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.detection import Detection
    from pliant.contact.point_surface.self_and_volume_contact import VolumeContacts

WIDE = 2.2  # spacings that a contact is spread over: with 2 feet have too few surfels around them, and a moment is left
LEAST = 0.2  # of a share that is left to a surfel to move their centre: two surfels beside a foot would keep none
LINE = 1e-9  # rounding: determinant over the square of the trace of their spread below which samples lie on one line


def gap_rows(motion: Motion, carried: Carried, surfaces: Surfaces, hits: Hits, at: Floats, moved: Floats | None = None) -> Rows:
    """Surfel against the surfels around its foot, or against the anchor of an exact shape; `moved` [m] (r, 3): from the foot."""
    framed = motion.bodies.frame[hits.other] >= 0
    lone = hits.select(np.arange(len(hits)))
    lone.deep = lone.deep | framed  # one surfel carries a contact with a frame: where it acts is `at`
    start, surfel, weight = foot_shares(surfaces, lone, moved)
    return _rows(motion, carried.point, carried.weight, hits.surfel, hits.other, start, surfel, weight, hits.normal, at)


def volume_rows(motion: Motion, carried: Carried, surfaces: Surfaces, found: VolumeContacts) -> Rows:
    """Phyxel against the surfels around its foot, or against the anchor of an exact shape."""
    x, framed = motion.start[found.point], motion.bodies.frame[found.b] >= 0
    start, surfel, weight = _shared(surfaces, x, found.sample, found.gap, found.normal, framed)
    point = np.concatenate([carried.point, np.repeat(found.point[:, None], 3, axis=1)])
    carrying = np.concatenate([carried.weight, np.tile([1.0, 0.0, 0.0], (len(found), 1))])
    return _rows(motion, point, carrying, len(carried) + np.arange(len(found)), found.b, start, surfel, weight, found.normal, x)


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
    return _rows(motion, carried.point, carried.weight, one, other, start, two[two >= 0], np.ones(int(start[-1])), normal, at)


def _rows(
    motion: Motion, carrier: Ints, carrying: Floats, one: Ints, other: Ints, start: Ints, surfel: Ints, weight: Floats, normal: Floats,
    at: Floats,
) -> Rows:  # fmt: skip
    most = 3 * (len(one) + max(len(surfel), 0)) + len(one)
    first, point, share = np.zeros(len(one) + 1, np.int64), np.empty(most, np.int64), np.empty(most)
    count = _expand(carrier, carrying, motion.bodies.anchor, one, other, start, surfel, weight, first, point, share)
    return Rows(first, point[:count].copy(), share[:count].copy(), normal, at)


@dataclass
class ForceLine:
    """The rows of a step, and where their force meets the other body."""

    motion: Motion
    seen: Detection
    rows: Rows  # those of the hits come first

    def moved(self, which: Ints, impulse: Floats, friction: Floats) -> Rows | None:
        """Some of the rows, their feet moved to where forces of these sizes [N s] meet the other side; None: none has to move."""
        hits, own = self.seen.hits, which < len(self.seen.hits)
        mine = hits.select(which[own])
        n, f, rows = impulse[own], friction[own], chosen_rows(self.rows, which[own])
        soft = (self.motion.bodies.frame[mine.other] < 0) & ~mine.deep & (mine.sample >= 0) & (n > 0.0) & f.any(axis=1)
        if not soft.any():
            return None
        over = np.where(soft[:, None], f / np.maximum(n, 1e-300)[:, None], 0.0)
        # from the surfel to the middle of the shares, which lies below the foot where the surface is curved
        low = -np.einsum("ri,ri->r", rows.sums(self.motion.start), rows.normal)
        made = gap_rows(self.motion, self.seen.prepared.carried, self.seen.surfaces, mine, rows.at, low[:, None] * over)
        return made if own.all() else Rows.joined([made, chosen_rows(self.rows, which[~own])])


def foot_shares(surfaces: Surfaces, hits: Hits, moved: Floats | None = None) -> tuple[Ints, Ints, Floats]:
    """CSR (start (r + 1,), surfels, weights that sum to one) of the other side of each hit; nothing where its sample is -1.

    `moved` [m] (r, 3): how far from the foot it is shared.
    """
    queries = surfaces.points[hits.surfel] + (0.0 if moved is None else moved)
    return _shared(surfaces, queries, hits.sample, hits.gap, hits.normal, hits.deep)


def _shared(surfaces: Surfaces, queries: Floats, sample: Ints, gap: Floats, normal: Floats, alone: np.ndarray) -> tuple[Ints, Ints, Floats]:
    """The same of any places (r, 3) [m]; `alone` (r,) bool: the sample carries all."""
    fixed, room = surfaces.fixed, surfaces.fixed.around.shape[1]
    start = np.zeros(len(queries) + 1, np.int64)
    surfel, weight = np.empty(len(queries) * room, np.int64), np.empty(len(queries) * room)
    count = _shares(
        surfaces.points, surfaces.normals, surfaces.spacing, fixed.around, queries, sample, gap, normal, alone, start, surfel, weight
    )
    return start, surfel[:count].copy(), weight[:count].copy()


@kernel
def _shares(points, normals, spacing, graph, queries, sample, gap, normal, deep, start, surfel, weight):  # type: ignore[no-untyped-def]
    count = 0
    for r in range(len(queries)):
        s = sample[r]
        if s >= 0 and deep[r]:
            surfel[count], weight[count] = s, 1.0
            count += 1
        elif s >= 0:
            n = load(normal, r)
            count = _share(points, normals, spacing, graph, s, axpy(-gap[r], n, load(queries, r)), n, surfel, weight, count)
        start[r + 1] = count
    return count


@kernel
def _share(points, normals, spacing, graph, s, foot, n, surfel, weight, count):  # type: ignore[no-untyped-def]
    """Weights of the neighbours of sample s about the foot, from place `count` on."""
    first, own, far, u = count, load(normals, s), (WIDE * spacing[s]) ** 2, across(n)
    v = cross(n, u)
    total, mu, mv, uu, uv, vv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(graph.shape[1]):
        j = graph[s, c]
        if j < 0 or dot(load(normals, j), own) <= OPPOSITE:
            continue
        w = 1.0 - squared(points, j, foot) / far
        if w > 0.0:
            w, d = w * w * w, sub(load(points, j), foot)
            y, z = dot(d, u), dot(d, v)
            total, mu, mv = total + w, mu + w * y, mv + w * z
            uu, uv, vv = uu + w * y * y, uv + w * y * z, vv + w * z * z
            surfel[count], weight[count] = j, w
            count += 1
    if count == first:
        surfel[count], weight[count] = s, 1.0
        return count + 1
    determinant = uu * vv - uv * uv
    a = b = 0.0
    if determinant > LINE * (uu + vv) ** 2:
        a, b = -(vv * mu - uv * mv) / determinant, -(uu * mv - uv * mu) / determinant
    least = 1.0
    for k in range(first, count):
        d = sub(load(points, surfel[k]), foot)
        least = min(least, 1.0 + a * dot(d, u) + b * dot(d, v))
    if least < LEAST:  # the foot is beyond a rim: no share may pull
        a, b = a * (1.0 - LEAST) / (1.0 - least), b * (1.0 - LEAST) / (1.0 - least)
    total = 0.0
    for k in range(first, count):
        d = sub(load(points, surfel[k]), foot)
        weight[k] *= 1.0 + a * dot(d, u) + b * dot(d, v)
        total += weight[k]
    for k in range(first, count):
        weight[k] /= total
    return count


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
