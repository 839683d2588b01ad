"""A body that meets itself: surfels and phyxels that are near now, but were far from each other at rest (theory/point-surface-contact 9.2).

A surfel meets the sheet of the nearest surfel of its body that faces it, that is nearer than 1.5 spacings now and was farther
than 4 spacings at rest. A fold that is thinner than that at rest is left alone.

Surfels see a fold as long as it is no deeper than 1.5 of their spacings. Below that the volume itself resists: two phyxels that were
farther apart at rest than their support, and are nearer now than most neighbours were, push each other apart along the line between them
with a pressure of their distance less that, on the area of a phyxel.

Phyxels that have come into another body, through their own skin (theory/point-surface-contact 9.5).

The skin of a body of points rides on its phyxels and meets others for them. What flows can leave it behind: phyxels go on where their skin
is stopped, and a new reference keeps them there. So can what is torn: its skin rides on phyxels that it has parted from too. So a phyxel
that has lost half of the distance that it has to its own skin at rest (and no more than a quarter of a spacing), or is in another body
itself, keeps that distance to other bodies: what is missing makes a pressure on the area of a phyxel, beside what the skin does. Phyxels
of elastic bodies that cannot tear are left to their skin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.colliding_surfels import Candidates, grid_of, nearest_surfels
from pliant.contact.point_surface.implicit_surfaces import FOUND, Surfaces
from pliant.detect.body_pairs import both_ways, points_in_boxes
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


@dataclass
class VolumeContacts:
    """Phyxels inside other bodies."""

    a: Ints  # (r,) body of the phyxel
    b: Ints  # (r,) the other body
    point: Ints  # (r,) skin point that is the phyxel
    sample: Ints  # (r,) nearest surfel of the other body, -1 for exact shapes
    gap: Floats  # [m] (r,) signed distance to the other body
    missing: Floats  # [m] (r,) of the distance that it should have, negative
    normal: Floats  # (r, 3) out of the other body
    area: Floats  # [m^2] (r,)

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def none() -> VolumeContacts:
        ids, none = np.zeros(0, np.int64), np.zeros(0)
        return VolumeContacts(ids, ids, ids, ids, none, none, np.zeros((0, 3)), none)


def clearance(volume: VolumePoints, rest: Floats, surfels: Floats, start: Ints) -> Floats:
    """Distance that every volume point keeps to other bodies [m], (v,): half of that to the surfels of its body at rest, of all bodies.

    `rest` (v, 3), `surfels` (n, 3) [m]: places of both at rest.
    """
    out = np.zeros(len(volume.point))
    for b in np.flatnonzero(volume.leaves & (np.diff(start) > 0)).tolist():
        mine = slice(volume.start[b], volume.start[b + 1])
        far = KDTree(surfels[start[b] : start[b + 1]]).nearest(rest[mine], 1)[0][:, 0]
        out[mine] = 0.5 * np.minimum(far, 0.5 * volume.spacing[b])
    return out


def volume_contacts(
    volume: VolumePoints, clear: Floats, surfaces: Surfaces, points: Floats, pairs: Ints, low: Floats, high: Floats
) -> VolumeContacts:
    """Of pairs of bodies (k, 2) that may meet, where skin points are `points` (p, 3) [m]; `clear`: see `clearance`."""
    one, two = both_ways(pairs)
    leaves = volume.leaves[one]
    one, two = one[leaves], two[leaves]
    x = points[volume.point]
    row, place = points_in_boxes(volume.start[one], volume.start[one + 1], two, np.zeros(len(two)), x, low, high)
    if len(place) == 0:
        return VolumeContacts.none()
    other = two[row]
    gap, normal, state, sample = surfaces.distances(x[place], other, nearest_surfels(surfaces, x[place], other))
    missing = gap - clear[place]
    rows = np.flatnonzero((state == FOUND) & (missing < 0.0))
    if len(rows):
        body, at = volume.body[place[rows]], x[place[rows]]
        within = surfaces.distances(at, body, nearest_surfels(surfaces, at, body))[0]  # infinite where its skin is nowhere near
        rows = rows[(gap[rows] < 0.0) | (within > -clear[place[rows]])]  # what is in the other body was not kept out by its skin
    body = volume.body[place[rows]]
    return VolumeContacts(
        body, other[rows], volume.point[place[rows]], sample[rows], gap[rows], missing[rows], normal[rows], volume.spacing[body] ** 2
    )
