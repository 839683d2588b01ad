"""Two balls, or a ball and a plane, in closed form (theory/point-surface-contact 7.3).

Their surfels are not looked for: pressure k times depth over the overlap of two balls, R = R_a R_b / (R_a + R_b), or of a ball with a
plane, R = R_a, adds up to
    F = pi R k d^2   on the area   2 pi R d
to first order in d / R (exponent 2), in one line with their centres. A few surfels would carry it only in steps, and rolling over them
would shake the ball.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.implicit_surfaces import Surfaces
from pliant.detect.shapes import BALL, PLANE
from pliant.world.motion import Motion


@dataclass
class BallContacts:
    """Balls inside balls or planes."""

    a: Ints  # (r,) body, a ball
    b: Ints  # (r,) body
    gap: Floats  # [m] (r,) negative
    normal: Floats  # (r, 3) out of b
    place: Floats  # [m] (r, 3) the deepest point of a
    area: Floats  # [m^2] (r,)
    nearness: Floats  # (r,) share with which the place follows the centre of a; the rest follows that of b

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def none() -> BallContacts:
        none, vectors, ids = np.zeros(0), np.zeros((0, 3)), np.zeros(0, np.int64)
        return BallContacts(ids, ids, none, vectors, vectors, none, none)

    def select(self, rows: np.ndarray) -> BallContacts:
        return BallContacts(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def critical_damping(motion: Motion, found: BallContacts, k: Floats) -> Floats:
    """Damping [Pa s/m] at which balls on their springs, k [Pa/m] on the area of contact, just do not swing, (r,)."""
    inverse = np.zeros(len(motion.bodies))
    inverse[motion.frames.body] = motion.frames.inverse
    give = (inverse[found.a] + inverse[found.b]) * found.area
    return 2.0 * np.sqrt(np.divide(k, give, out=np.zeros_like(k), where=give > 0.0))


def are_balls(kind: Ints, pairs: Ints) -> np.ndarray:
    """Which pairs of bodies are two balls, or a ball and a plane, (k,) bool."""
    both = kind[pairs]
    return (both == BALL).any(axis=1) & np.isin(both, (PLANE, BALL)).all(axis=1)


def ball_contacts(surfaces: Surfaces, pairs: Ints) -> BallContacts:
    """Contacts of such pairs (k, 2), a < b, that overlap."""
    if len(pairs) == 0:
        return BallContacts.none()
    kind, radius, shapes = surfaces.shapes.kind, surfaces.shapes.parameters[:, 0], surfaces.shapes
    swap = kind[pairs[:, 0]] != BALL
    a, b = np.where(swap, pairs[:, 1], pairs[:, 0]), np.where(swap, pairs[:, 0], pairs[:, 1])
    centre = shapes.position[shapes.frame[a]]
    far, normal, _, _ = surfaces.distances(centre, b, np.full(len(a), -1, np.int64))
    gap, plane = far - radius[a], kind[b] == PLANE
    size = np.where(plane, radius[a], radius[a] * radius[b] / np.where(plane, 1.0, radius[a] + radius[b]))
    found = BallContacts(a, b, gap, normal, centre - radius[a][:, None] * normal, 2.0 * np.pi * size * -gap, size / radius[a])
    return found.select(gap < 0.0)
