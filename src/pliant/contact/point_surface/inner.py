"""Phyxels that meet phyxels of their own body: near now, but not neighbours at rest (4.7 of the methods page).

Surfels see a fold as long as it is no deeper than 1.5 of their spacings. Below that the volume itself resists: two phyxels that were
farther apart at rest than their support, and are nearer now than most neighbours were, push each other apart along the line between them
with a pressure of their distance less that, on the area of a phyxel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.rows import Volume
from pliant.world.motion import Motion

NEAR = 0.8  # phyxel spacings: touching surfaces have a whole one between their outermost phyxels


@dataclass
class Inner:
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
    def none() -> Inner:
        ids, none = np.zeros(0, np.int64), np.zeros(0)
        return Inner(ids, ids, ids, none, np.zeros((0, 3)), none)


class Phyxels:
    """The volume points of point bodies, their spacing and support at rest; made once (`motion.kept(Phyxels)`)."""

    def __init__(self, motion: Motion) -> None:
        from scipy.spatial import cKDTree

        volume, skin = motion.kept(Volume), motion.skin
        ours = np.array(motion.bodies.kind) == "points"
        self.point: Ints = volume.point[ours[skin.body[volume.point]]]
        node = skin.node[skin.start[self.point]]
        self.body: Ints = skin.body[self.point]
        self.rest: Floats = motion.nodes.rest[node]
        self.support = volume.support  # (B,) [m]
        count = np.maximum(np.bincount(self.body, minlength=len(motion.bodies)), 1)
        self.spacing = np.zeros(len(motion.bodies))  # (B,) [m]
        if len(self.point):
            far = cKDTree(self.rest).query(self.rest, 2)[0][:, 1]
            self.spacing = np.bincount(self.body, np.where(np.isfinite(far), far, 0.0), minlength=len(motion.bodies)) / count


def inner_contacts(motion: Motion, bodies: Ints) -> Inner:
    """Pairs of phyxels of these bodies that have come too near at the start of the step, sorted."""
    from scipy.spatial import cKDTree

    phyxels = motion.kept(Phyxels)
    mine = np.flatnonzero(np.isin(phyxels.body, bodies))
    if len(mine) < 2:
        return Inner.none()
    x, body, rest = motion.start[phyxels.point[mine]], phyxels.body[mine], phyxels.rest[mine]
    reach = NEAR * phyxels.spacing[body]
    pairs = cKDTree(x).query_pairs(float(reach.max()), output_type="ndarray").astype(np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    i, j = pairs.T
    way = x[i] - x[j]
    far = np.linalg.norm(way, axis=1)
    apart = np.linalg.norm(rest[i] - rest[j], axis=1) > phyxels.support[body[i]]
    keep = (body[i] == body[j]) & (far < reach[i]) & (far > 0.0) & apart
    i, j, way, far = i[keep], j[keep], way[keep], far[keep]
    point = phyxels.point[mine]
    return Inner(body[i], point[i], point[j], far - reach[i], way / far[:, None], phyxels.spacing[body[i]] ** 2)
