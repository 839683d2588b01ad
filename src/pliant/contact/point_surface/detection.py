"""What a step begins with: surfaces at its start, who is inside whom, what is remembered, and whether bodies move too far to be seen.

Exact balls that meet exact balls and planes have no surfels looked for: the pressure of all of them is known in closed form. Pressure
k times depth over the overlap of two balls, R = R_a R_b / (R_a + R_b), or of a ball with a plane, R = R_a, adds up to
    F = pi R k d^2   on the area   2 pi R d
to first order in d / R (theory/point-surface-contact 7.3: exponent 2), in one line with their centres. A few surfels would carry it only
in steps, and rolling over them would shake the ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.contact.point_surface.colliding_surfels import (
    Candidates,
    Hits,
    boxes,
    candidates,
    colliding,
    start_samples,
)
from pliant.contact.point_surface.implicit_surfaces import Creases, Neighbourhoods, Surfaces
from pliant.contact.point_surface.self_contact import PhyxelContacts, VolumePoints, folded, phyxel_contacts
from pliant.contact.point_surface.stiffness import Compliance
from pliant.detect import keys
from pliant.detect.body_pairs import overlapping
from pliant.detect.shapes import BALL, PLANE
from pliant.detect.surfels.carried import Carried
from pliant.detect.surfels.projection import BLUR
from pliant.kernels import dot, kernel, load, sub
from pliant.model import Rest
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.method import Options
    from pliant.world.pairs import PairTable

CLEARER = 1.3  # slope of the part of the finer side; 1: what the errors say, but then a cube on a pad has 21 % too much area, not 11


class Prepared:
    """All that the method makes of bodies at rest, once (`motion.kept(Prepared)`)."""

    def __init__(self, rest: Rest) -> None:
        self._rest, bodies = rest, rest.bodies
        self.carried = carried = Carried(rest)
        self.creases = Creases(carried.faces, carried.local, carried.frame >= 0)
        self.near = Neighbourhoods.of(carried.local, carried.normal, carried.area, carried.start, sharp=self.creases.sharp)
        self.published = replace(self.near, lift=np.zeros_like(self.near.lift))
        self.sampled = np.diff(carried.start) > 0  # (B,) bool: does the body have surfels?
        self.mean = np.bincount(carried.body, carried.area, minlength=len(bodies)) / np.maximum(np.diff(carried.start), 1)  # (B,) [m^2]

    @cached_property
    def compliance(self) -> Compliance:
        return Compliance(self._rest, self.carried)

    @cached_property
    def volume(self) -> VolumePoints:
        return VolumePoints(self._rest)

    def facing(self, surfaces: Surfaces, hits: Hits) -> Floats:
        """Area of the surfel of each hit that faces the surface it is in [m^2], (r,)."""
        return self.creases.facing(surfaces, hits.surfel, hits.normal)

    def part(self, hits: Hits) -> Floats:
        """Share of the pressure that the surfel of each hit stands for, (r,); the rest comes from surfels of the other body.

        A half where both are sampled alike. A coarse side is a poor sum over a fine contact: its error grows with the area of a surfel, and
        two sums are best joined with the inverse squares of their errors; a little more than that, so that the finer one counts alone if
        its spacing is below 0.6 of the other's, whose surfels would reach beyond the patch.
        """
        own, other = self.mean[self.near.body[hits.surfel]] ** 2, self.mean[hits.other] ** 2
        part = np.clip(CLEARER * (other / np.maximum(own + other, 1e-300) - 0.5) + 0.5, 0.0, 1.0)
        return np.where(self.sampled[hits.other], part, 1.0)


@dataclass
class Detection:
    """What a step begins with."""

    surfaces: Surfaces
    low: Floats  # (B, 3) [m] boxes
    high: Floats
    found: Candidates
    hits: Hits
    key: Ints  # (r,) of the hits, the same in every step
    stretch: Floats  # (r, 3) [m] of the anchors
    force: Floats  # (r,) [N] in the last step
    longest: float  # [s] the longest step so far
    prepared: Prepared
    balls: BallContacts  # in closed form: their surfels are not looked for
    ball_key: Ints  # (k,)
    ball_stretch: Floats  # (k, 3) [m]
    phyxels: PhyxelContacts  # of a body that meet each other

    def __len__(self) -> int:
        """How many contacts there are."""
        return len(self.hits) + len(self.balls) + len(self.phyxels)

    def areas(self) -> Floats:
        """Area that each hit stands for [m^2]: of its surfel as seen along the normal, so that the sides of a box do not count.

        Where both bodies have surfels each has its part, so that the two sides make one patch.
        """
        return self.prepared.part(self.hits) * self.prepared.facing(self.surfaces, self.hits)

    def warnings(self, motion: Motion) -> list[str]:
        """One sentence for every two bodies and power of ten of surfels, so that it is noted a few times and not in every step."""
        deep = self.hits.deep
        if not deep.any():
            return []
        first = motion.bodies.origin()
        a, b = first[self.surfaces.fixed.body[self.hits.surfel[deep]]], first[self.hits.other[deep]]
        names = motion.bodies.names
        pairs, count = np.unique(np.sort(np.stack([a, b], axis=1), axis=1), axis=0, return_counts=True)
        return [
            f"point-surface: {10 ** int(np.log10(n))} or more surfels of {_two(names[i], names[j])} were deeper than three widths and went "
            "on along their last good direction. A larger `stiffness` or a shorter dt makes contacts shallower."
            for (i, j), n in zip(pairs.tolist(), count.tolist(), strict=True)
        ]


def _two(a: str, b: str) -> str:
    return f"{a} and {b}" if a != b else f"{a} in itself or in parts of it"


def surfaces_at(motion: Motion, when: str, published: bool = False) -> Surfaces:
    """All bodies at the "start" or "end" of the step."""
    made, bodies = motion.kept(Prepared), motion.bodies
    now = made.carried.at(motion, when)
    shapes = bodies.shapes(*((motion.position_start, motion.rotation_start) if when == "start" else (motion.position, motion.rotation)))
    return Surfaces(made.published if published else made.near, now.points, now.normals, now.areas, shapes)


def detect(options: Options, motion: Motion, memory: Memory, pairs: PairTable, when: str = "start") -> Detection:
    """Who is inside whom at one end of the step, of the pairs that meet."""
    surfaces, count = surfaces_at(motion, when, options.surface == "published"), len(motion.bodies)
    low, high = boxes(surfaces)
    near = overlapping(low, high)
    near = near[pairs.meet(near[:, 0], near[:, 1])]
    exact = are_balls(surfaces.shapes.kind, near) & (when == "start") & (options.force == "gap")  # but surfels are drawn
    balls = ball_contacts(surfaces, near[exact])
    found = candidates(surfaces, near[~exact], low, high)
    everyone = np.arange(count)
    itself = everyone[pairs.meet(everyone, everyone) & (motion.bodies.frame < 0)]
    own = folded(surfaces, itself)
    key = found.surfel * count + found.other
    found.sample = keys.recalled(memory.get("near", key[:0]), memory.get("sample", key[:0]), key, -1)
    start_samples(surfaces, found)
    found = Candidates(*(np.concatenate([getattr(found, n), getattr(own, n)]) for n in ("surfel", "other", "sample")))
    key = found.surfel * count + found.other
    before = keys.recall(memory, "direction", key, (3,))  # last good ones
    hits, found.sample = colliding(surfaces, found, before, first="longest" not in memory)
    made = motion.kept(Prepared)
    hits = hits.select((made.facing(surfaces, hits) > 0.0) & (made.part(hits) > 0.0))  # else it passes by, as the side of a box
    key = hits.surfel * count + hits.other
    return Detection(
        surfaces, low, high, found, hits, key, keys.recall(memory, "stretch", key, (3,)), keys.recall(memory, "force", key),
        float(memory["longest"][0]) if "longest" in memory else 0.0, made,
        balls, balls.a * count + balls.b,
        keys.recalled(memory.get("round", key[:0]), memory.get("held", before[:0]), balls.a * count + balls.b),
        phyxel_contacts(made.volume, motion.start, itself) if when == "start" and options.force == "gap" else PhyxelContacts.none(),
    )  # fmt: skip


def remembered(motion: Motion, seen: Detection, stretch: Floats | None = None, force: Floats | None = None) -> Memory:
    """What the next step starts from: samples of all candidates that are near; directions, forces [N] and anchors of hits."""
    count, found, hits = len(motion.bodies), seen.found, seen.hits
    near = np.flatnonzero((found.sample >= 0) & (seen.surfaces.fixed.body[found.surfel] != found.other))
    samples = keys.remember(found.surfel[near] * count + found.other[near], sample=found.sample[near])
    stretch = np.zeros((len(seen), 3)) if stretch is None else stretch
    force = np.zeros(len(seen)) if force is None else force
    surfels = keys.remember(seen.key, direction=hits.normal, stretch=stretch[: len(hits)], force=force[: len(hits)])
    balls = keys.remember(seen.ball_key, held=stretch[len(hits) : len(hits) + len(seen.balls)])
    before = {"near": samples["key"], "sample": samples["sample"], "round": balls["key"], "held": balls["held"]}
    return {**before, **surfels, "longest": np.array([max(seen.longest, motion.dt)])}


# -- exact balls


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


# -- how far bodies move in a step


def shorter_step(motion: Motion, seen: Detection, most: int) -> float | None:
    """The part of dt [s] in which no two bodies that may meet move more than half a spacing against each other; None: all of it."""
    if most == 1:
        return None
    mean, off = _strides(motion)
    far = np.linalg.norm(mean, axis=1) + off
    pairs = overlapping(seen.low - far[:, None], seen.high + far[:, None])
    pairs = pairs[motion.pairs.meet(pairs[:, 0], pairs[:, 1])]
    if len(pairs) == 0:
        return None
    a, b = pairs.T
    moved = np.linalg.norm(mean[a] - mean[b], axis=1) + off[a] + off[b]
    spacing = np.where(seen.surfaces.wide > 0.0, seen.surfaces.wide, np.inf)
    allowed = BLUR * np.minimum(spacing[a], spacing[b])
    longest = max(seen.longest, motion.dt)
    parts = math.ceil(float((moved / allowed).max()))
    parts = min(parts, math.floor(most * motion.dt / longest + 1e-9))
    return motion.dt / parts if parts > 1 else None


def _strides(motion: Motion) -> tuple[Floats, Floats]:
    """Mean displacement of each body in the step [m], (B, 3), and twice the root mean square of what points move besides it, (B,).

    The most that any point moves would let one light vertex that flaps divide every step.
    """
    count = len(motion.bodies)
    mean, off, number = np.zeros((count, 3)), np.zeros(count), np.zeros(count)
    _gather_strides(motion.skin.body, motion.start, motion.end, number, mean, off)
    return mean, off


@kernel
def _gather_strides(body, start, end, number, mean, off):  # type: ignore[no-untyped-def]
    for p in range(len(body)):
        b = body[p]
        if b >= 0:
            number[b] += 1.0
            for k in range(3):
                mean[b, k] += end[p, k] - start[p, k]
    for b in range(len(mean)):
        for k in range(3):
            mean[b, k] /= max(number[b], 1.0)
    for p in range(len(body)):
        b = body[p]
        if b >= 0:
            d = sub(sub(load(end, p), load(start, p)), load(mean, b))
            off[b] += dot(d, d)
    for b in range(len(mean)):
        off[b] = 2.0 * math.sqrt(off[b] / max(number[b], 1.0))
