"""All contacts of a step in one form: surfels inside other bodies, balls in closed form, phyxels that meet their own body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.inner import Inner
from pliant.contact.point_surface.look import Look
from pliant.contact.point_surface.rows import gap_rows, keiser_rows
from pliant.contact.point_surface.yielding import Yielding
from pliant.detect.surfels.carried import Carried
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.options import Options

PATCH = 1.0 / 64.0  # of its cross-section that a ball presses with: up to an eighth of its radius


@dataclass
class Touching:
    """Contacts that press."""

    a: Ints  # (r,)
    b: Ints
    feature_a: Ints
    feature_b: Ints
    point: Floats  # [m] (r, 3) on the contact surface
    gap: Floats  # [m] (r,) negative
    mean: Floats  # [m] (r,) the gap that pressure is made of
    area: Floats  # [m^2] (r,)
    stretch: Floats  # [m] (r, 3) of the anchors
    force: Floats  # [N] (r,) in the last step
    part: Floats  # (r,) of the surface of bodies as one that presses
    ahead: Floats  # [m] (r, 3) how far the place of contact moves in the step
    rows: Rows


def touching(options: Options, motion: Motion, seen: Look) -> Touching:
    """All contacts of the step: those of surfels in the order of the hits, of balls, of phyxels."""
    first = of_surfels(options, motion, seen)
    more = [of_balls(options, motion, seen)] if len(seen.round) else []
    more += [of_phyxels(motion, seen.inner)] if len(seen.inner) else []
    if not more:
        return first
    parts, names = [first, *more], [n for n in Touching.__dataclass_fields__ if n != "rows"]
    whole = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    return Touching(**whole, rows=Rows.joined([p.rows for p in parts]))


def of_surfels(options: Options, motion: Motion, seen: Look) -> Touching:
    """Surfels inside other bodies.

    Where one side is a frame, force acts on it where the other side takes it: then both are on one line, friction too.
    """
    hits, surfaces, carried, framed = seen.hits, seen.surfaces, motion.kept(Carried), motion.bodies.frame >= 0
    a, b, x = surfaces.fixed.body[hits.surfel], hits.other, surfaces.points[hits.surfel]
    share = motion.kept(Yielding).share(a, b, options.weight)
    point = x - (share * hits.gap)[:, None] * hits.normal
    inward = np.where(framed[a] == framed[b], share, np.where(framed[b], 0.0, 1.0))
    at = x - (inward * hits.gap)[:, None] * hits.normal
    rows = gap_rows(motion, carried, surfaces, hits, at)
    if options.distribution == "keiser":
        rows = keiser_rows(motion, a, b, hits.normal, at)
    feature_b = np.where(hits.sample >= 0, carried.point[np.maximum(hits.sample, 0), 0], -1)  # -1 for an exact shape
    carrier, weight = carried.point[hits.surfel], carried.weight[hits.surfel]
    ahead = np.einsum("rc,rci->ri", weight, motion.end[carrier] - motion.start[carrier])
    return Touching(
        a, b, carrier[:, 0], feature_b, point, hits.gap, hits.gap, seen.areas(), seen.stretch, seen.force, np.ones(len(a)), ahead, rows
    )


def of_balls(options: Options, motion: Motion, seen: Look) -> Touching:
    """Balls in balls and planes; over the area of contact the mean depth is half the largest."""
    found, anchor = seen.round, motion.bodies.anchor
    share = motion.kept(Yielding).share(found.a, found.b, options.weight)
    at = found.place - (share * found.gap)[:, None] * found.normal
    points = np.stack([anchor[found.a], anchor[found.b]], axis=1)
    rows = Rows.dense(points, np.tile([1.0, -1.0], (len(found), 1)), found.normal, at)
    moved, frame = motion.position - motion.position_start, motion.bodies.frame
    near = found.nearness[:, None]
    ahead = near * moved[frame[found.a]] + (1.0 - near) * moved[frame[found.b]]
    return Touching(
        found.a, found.b, anchor[found.a], np.full(len(found), -1), at, found.gap, 0.5 * found.gap, found.area, seen.round_stretch,
        np.zeros(len(found)), np.full(len(found), PATCH), ahead, rows,
    )  # fmt: skip


def of_phyxels(motion: Motion, found: Inner) -> Touching:
    """Phyxels of one body, pushed along the line between them."""
    count, middle = len(found), 0.5 * (motion.start[found.one] + motion.start[found.two])
    rows = Rows.dense(np.stack([found.one, found.two], axis=1), np.tile([1.0, -1.0], (count, 1)), found.normal, middle)
    none, still = np.zeros(count), np.zeros((count, 3))
    return Touching(
        found.body, found.body, found.one, found.two, middle, found.gap, found.gap, found.area, still, none, np.ones(count), still, rows
    )
