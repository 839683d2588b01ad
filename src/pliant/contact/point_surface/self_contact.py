"""A body that meets itself: surfels and phyxels that are near now, but were far from each other at rest (theory/point-surface-contact 9.2).

A surfel meets the sheet of the nearest surfel of its body that faces it, that is nearer than 1.5 spacings now and was farther
than 4 spacings at rest. A fold that is thinner than that at rest is left alone.

Surfels see a fold as long as it is no deeper than 1.5 of their spacings. Below that the volume itself resists: two phyxels that were
farther apart at rest than their support, and are nearer now than most neighbours were, push each other apart along the line between them
with a pressure of their distance less that, on the area of a phyxel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.colliding_surfels import Candidates, grid_of
from pliant.contact.point_surface.implicit_surfaces import Surfaces
from pliant.detect.hash_grid import cell_key, cell_range, entry, squared
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.projection import CUT, OPPOSITE
from pliant.geometry.near import kd_tree
from pliant.kernels import dot, kernel, load
from pliant.model import Rest

FOLD = 1.5  # surfel spacings: how deep a body may be in itself
CRAMPED = 0.8  # phyxel spacings: touching surfaces have a whole one between their outermost phyxels


def folded(surfaces: Surfaces, bodies: Ints) -> Candidates:
    """Surfels of these bodies that are near a part of their own body which was not near at rest."""
    surfels, fixed = np.flatnonzero(np.isin(surfaces.fixed.body, bodies)), surfaces.fixed
    sample = np.full(len(surfels), -1, np.int64)
    if len(surfels):
        _meet_self(grid_of(surfaces).table, surfaces.normals, surfaces.spacing, fixed.rest, surfels, sample)
    met = np.flatnonzero(sample >= 0)
    return Candidates(surfels[met], fixed.body[surfels[met]], sample[met])


@kernel
def _meet_self(table, normals, spacing, rest, surfels, sample):  # type: ignore[no-untyped-def]
    size, points = len(table.start) - 1, table.points
    for i in range(len(surfels)):
        s = surfels[i]
        q, n, b, r = load(points, s), load(normals, s), table.group[s], FOLD * spacing[s]
        best, apart = r * r, (CUT * spacing[s]) ** 2  # farther apart at rest they are in no field of each other
        x0, x1, y0, y1, z0, z1 = cell_range(table, b, q, r)
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                for z in range(z0, z1 + 1):
                    e = entry(b, x, y, z, size)
                    for place in range(table.start[e], table.start[e + 1]):
                        j = table.held[place]
                        d = squared(points, j, q)
                        if table.group[j] != b or d >= best or dot(load(normals, j), n) > OPPOSITE:
                            continue
                        if table.key[j] == cell_key(x, y, z) and squared(rest, j, load(rest, s)) > apart:
                            best, sample[i] = d, j


@dataclass
class PhyxelContacts:
    """Pairs of phyxels of one body."""

    body: Ints  # (r,)
    one: Ints  # (r,) skin point
    two: Ints
    gap: Floats  # [m] (r,) negative
    normal: Floats  # (r, 3) from two to one
    area: Floats  # [m^2] (r,)

    def __len__(self) -> int:
        return len(self.body)

    @staticmethod
    def none() -> PhyxelContacts:
        ids, none = np.zeros(0, np.int64), np.zeros(0)
        return PhyxelContacts(ids, ids, ids, none, np.zeros((0, 3)), none)


class VolumePoints:
    """Skin points that are one node each, body by body, with the spacing and support they have at rest."""

    def __init__(self, rest: Rest) -> None:
        skin, count = rest.skin, len(rest.bodies)
        single = np.flatnonzero((np.diff(skin.start) == 1) & (skin.body >= 0))
        _, first = np.unique(skin.node[skin.start[single]], return_index=True)
        self.point: Ints = single[np.sort(first)]
        self.body: Ints = skin.body[self.point]
        self.rest: Floats = rest.nodes.rest[skin.node[skin.start[self.point]]]
        self.phyxel = rest.bodies.phyxels[self.body]  # (v,) bool: of a point body
        self.leaves = rest.bodies.flows | rest.bodies.tears  # (B,) bool: can its phyxels leave their skin for good?
        self.start: Ints = np.searchsorted(self.body, np.arange(count + 1))  # those of body b: start[b] to start[b + 1]
        self.support = np.zeros(count)  # (B,) [m] three times the mean distance of the ten nearest, as phyxels have it
        nearest = np.zeros(len(self.point))
        for b in np.unique(self.body).tolist():
            mine = self.rest[self.body == b]
            far = KDTree(mine).nearest(mine, min(11, len(mine)))[0][:, 1:]
            self.support[b] = 3.0 * float(far.mean()) if len(mine) > 1 else 1.0
            nearest[self.body == b] = far[:, 0] if len(mine) > 1 else 0.0
        self.spacing = np.bincount(self.body, nearest, minlength=count) / np.maximum(np.bincount(self.body, minlength=count), 1)  # (B,) [m]


def phyxel_contacts(volume: VolumePoints, points: Floats, bodies: Ints) -> PhyxelContacts:
    """Pairs of phyxels of these bodies that have come too near where skin points are `points` (p, 3) [m], sorted."""
    mine = np.flatnonzero(volume.phyxel & np.isin(volume.body, bodies))
    if len(mine) < 2:
        return PhyxelContacts.none()
    point, body, rest = volume.point[mine], volume.body[mine], volume.rest[mine]
    x, reach = points[point], CRAMPED * volume.spacing[body]
    pairs = kd_tree(x).query_pairs(float(reach.max()), output_type="ndarray").astype(np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    i, j = pairs.T
    way = x[i] - x[j]
    far = np.linalg.norm(way, axis=1)
    apart = np.linalg.norm(rest[i] - rest[j], axis=1) > volume.support[body[i]]
    keep = (body[i] == body[j]) & (far < reach[i]) & (far > 0.0) & apart
    i, j, way, far = i[keep], j[keep], way[keep], far[keep]
    return PhyxelContacts(body[i], point[i], point[j], far - reach[i], way / far[:, None], volume.spacing[body[i]] ** 2)
