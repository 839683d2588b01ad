"""Phyxels that have come into another body, through their own skin (theory/point-surface-contact 9.5).

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
from pliant.contact.point_surface.colliding_surfels import nearest_surfels
from pliant.contact.point_surface.implicit_surfaces import FOUND, Surfaces
from pliant.contact.point_surface.self_contact import VolumePoints
from pliant.detect.body_pairs import both_ways, points_in_boxes
from pliant.detect.surfels.neighbours import KDTree


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
