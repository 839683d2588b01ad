"""Forces as published: springs between the surfels of both bodies that are closest to each contact surfel, (4) to (7) of Keiser et al.

With a spring k on either side the force on A is -(k / 2)(s_1 - s_2): the contact surface itself drops out of it (4.5 of the methods page).
It jumps when another surfel becomes the closest one, so energy drifts by some percent a collision. For comparison; the method's own
force is that of the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import Friction, coulomb, tangential
from pliant.contact.method import Answer
from pliant.contact.point_surface.candidates import BodyGrid, Candidates
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.forces import normal_impulses, published_friction, stiffness_of
from pliant.contact.point_surface.hits import Hits, inside
from pliant.contact.point_surface.look import Look, remembered
from pliant.contact.point_surface.resample import Between, resampled
from pliant.contact.point_surface.rows import closest_rows, keiser_rows
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.contact.point_surface.yielding import Yielding
from pliant.detect.surfels.areas import neighbour_areas
from pliant.detect.surfels.carried import Carried
from pliant.detect.surfels.neighbours import KDTree
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.options import Options

DENSITY = 8  # neighbours that say how dense the contact surface is, (7)


@dataclass
class Springs:
    """Contact surfels with the closest surfel of either body; body a has surfels, b may be an exact shape."""

    a: Ints
    b: Ints
    at: Floats  # (r, 3) [m] the contact surfel
    one: Ints  # (r,) closest surfel of a
    two: Ints  # (r,) of b, -1 for an exact shape
    vector: Floats  # (r, 3) [m] from one to two
    area: Floats  # (r,) [m^2]
    scale: Floats  # (r,) what forces per area are multiplied with

    @staticmethod
    def joined(parts: list[Springs]) -> Springs:
        return Springs(*(np.concatenate([getattr(p, n) for p in parts]) for n in Springs.__dataclass_fields__))


def respond_closest(options: Options, motion: Motion, seen: Look) -> Answer:
    """Springs of all pairs, pushed at once."""
    parts = springs_of_pairs(options, motion, seen)
    if not parts:
        return Answer(Contacts.none(motion.dt), remembered(motion, seen))
    springs, carried = Springs.joined(parts), motion.kept(Carried)
    length = np.linalg.norm(springs.vector, axis=1)
    normal = springs.vector / np.maximum(length, 1e-300)[:, None]
    rows = closest_rows(motion, carried, springs.one, springs.two, springs.b, normal, springs.at)
    if options.distribution == "keiser":
        rows = keiser_rows(motion, springs.a, springs.b, normal, springs.at)
    k, c = stiffness_of(options, motion, seen, springs.a, springs.b)
    impulse = normal_impulses(motion, rows, -length, springs.scale, k, options.damping_counts * c)
    mu_s, mu_d = motion.pairs.friction(springs.a, springs.b)
    none = np.zeros_like(normal)  # contact surfels are new in every step: nothing to anchor friction to
    if options.friction == "published":
        friction = published_friction(motion, rows, impulse, mu_d)
    elif mu_s.any():
        friction = coulomb(motion, rows, impulse, mu_s, mu_d, none)
    else:
        friction = Friction(none, np.zeros(len(rows), bool), none)
    motion.push(rows, impulse[:, None] * normal + friction.impulse, start=True)
    slip = tangential(motion.slide(rows), normal)
    contacts = Contacts(
        a=springs.a, b=springs.b, feature_a=carried.point[springs.one, 0],
        feature_b=np.where(springs.two >= 0, carried.point[np.maximum(springs.two, 0), 0], -1), point=springs.at, normal=normal,
        gap=-length, impulse=impulse, friction_impulse=friction.impulse,
        sticking=friction.sticks.astype(np.float64), slip=slip, area=springs.area,
        dt=motion.dt, support=Support.of(rows),
    )  # fmt: skip
    return Answer(contacts, remembered(motion, seen), warnings=seen.warnings(motion))


def springs_of_pairs(options: Options, motion: Motion, seen: Look) -> list[Springs]:
    """Pair after pair, in the order of their bodies; as published, later pairs see what earlier ones moved."""
    surfaces, found, body = seen.surfaces, seen.found, seen.surfaces.fixed.body
    points = surfaces.points.copy()
    low, high = np.minimum(body[seen.hits.surfel], seen.hits.other), np.maximum(body[seen.hits.surfel], seen.hits.other)
    out = []
    for a, b in sorted(set(zip(low.tolist(), high.tolist(), strict=True))):
        hits = seen.hits.select((low == a) & (high == b))
        current = surfaces
        if options.order == "published":
            current = Surfaces(surfaces.fixed, points.copy(), surfaces.normals, surfaces.areas, surfaces.position, surfaces.rotation)
            mine = np.minimum(body[found.surfel], found.other) == a
            mine &= np.maximum(body[found.surfel], found.other) == b
            some = Candidates(found.surfel[mine], found.other[mine], found.sample[mine])
            hits, _ = inside(current, some, np.zeros((len(some), 3)))
        springs, moved = springs_of_pair(options, motion, current, seen, a, b, hits)
        points[hits.surfel[moved[1]]] = moved[0][moved[1]]
        if len(springs.a):
            out.append(springs)
    return out


def springs_of_pair(
    options: Options, motion: Motion, surfaces: Surfaces, seen: Look, a: int, b: int, hits: Hits
) -> tuple[Springs, tuple[Floats, np.ndarray]]:
    """Contact surfels of one pair and the surfels closest to them; and where the hits went, and which of them."""
    body, sampled = surfaces.fixed.body, seen.fixed.sampled
    if not sampled[a]:
        a, b = b, a
    share = motion.kept(Yielding).share(body[hits.surfel], hits.other, options.weight)
    moved = moved_to_contact(surfaces, hits, share)
    at = moved.points[moved.kept]
    area = surfaces.areas[hits.surfel[moved.kept]] * (0.5 if sampled[b] else 1.0)
    if options.resample and len(at):
        mine = body[hits.surfel] == a
        sample = np.stack([np.where(mine, hits.surfel, hits.sample), np.where(mine, hits.sample, hits.surfel)], axis=1)
        spacing = min(surfaces.wide[k] for k in (a, b) if sampled[k])
        share_a = float(motion.kept(Yielding).share(np.array([a]), np.array([b]), options.weight)[0])
        at = resampled(Between(surfaces, a, b, share_a, float(spacing)), at, sample[moved.kept]).points
        area = _density_areas(at, float(spacing) ** 2)
    grid, one, two = BodyGrid(surfaces), np.full(len(at), -1, np.int64), np.full(len(at), -1, np.int64)
    grid.nearest(at, np.full(len(at), a), one)
    grid.nearest(at, np.full(len(at), b), two)
    there = surfaces.points[np.maximum(two, 0)]
    if not sampled[b]:
        gap, normal, _, _ = surfaces.distances(at, np.full(len(at), b), two)
        there = at - gap[:, None] * normal
    good = (one >= 0) & ((two >= 0) | (not sampled[b]))
    rho = 1.0 / _density_areas(at, float(area.mean()) if len(area) else 1.0)
    scale = {"area": area, "rho": rho, "none": np.ones(len(at))}[options.scale]
    vector = there - surfaces.points[np.maximum(one, 0)]
    made = Springs(np.full(len(at), a), np.full(len(at), b), at, one, two, vector, area, scale)
    return Springs(*(getattr(made, n)[good] for n in Springs.__dataclass_fields__)), (moved.points, moved.kept)


def _density_areas(points: Floats, mean: float) -> Floats:
    """pi r_k^2 / k of each point, k = 8; too few points have the mean area."""
    if len(points) < 3:
        return np.full(len(points), mean)
    return neighbour_areas(KDTree(points).nearest(points, min(DENSITY + 1, len(points)))[0], DENSITY)
