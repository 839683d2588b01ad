"""What a step begins with: surfaces at its start, who is inside whom, and what is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.contact.point_surface.balls import BallContacts, are_balls, ball_contacts
from pliant.contact.point_surface.colliding_surfels import (
    Candidates,
    Hits,
    boxes,
    candidates,
    colliding,
    start_samples,
)
from pliant.contact.point_surface.implicit_surfaces import Creases, Neighbourhoods, Surfaces
from pliant.contact.point_surface.self_and_volume_contact import (
    PhyxelContacts,
    VolumeContacts,
    VolumePoints,
    clearance,
    folded,
    phyxel_contacts,
    volume_contacts,
)
from pliant.contact.point_surface.smooth_gap import part_of
from pliant.contact.point_surface.stiffness import Compliance
from pliant.detect import keys
from pliant.detect.body_pairs import overlapping
from pliant.detect.surfels.carried import Carried
from pliant.model import Rest
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.method import Options
    from pliant.world.pairs import PairTable


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

    def bind(self, rest: Rest) -> None:
        """Bodies at rest as before, but their skins ride on nodes in another way."""
        self._rest = rest
        self.__dict__.pop("compliance", None)

    @cached_property
    def compliance(self) -> Compliance:
        return Compliance(self._rest, self.carried)

    @cached_property
    def volume(self) -> VolumePoints:
        return VolumePoints(self._rest)

    @cached_property
    def clearance(self) -> Floats:
        return clearance(self.volume, self._rest.points[self.volume.point], self.carried.local, self.carried.start)

    def facing(self, surfaces: Surfaces, hits: Hits) -> Floats:
        """Area of the surfel of each hit that faces the surface it is in [m^2], (r,)."""
        return self.creases.facing(surfaces, hits.surfel, hits.normal)

    def part(self, hits: Hits) -> Floats:
        """Share of the pressure that the surfel of each hit stands for, (r,); the rest comes from surfels of the other body."""
        part = part_of(self.mean[self.near.body[hits.surfel]], self.mean[hits.other])
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
    inside: VolumeContacts  # phyxels in other bodies

    def __len__(self) -> int:
        """How many contacts there are."""
        return len(self.hits) + len(self.balls) + len(self.phyxels) + len(self.inside)

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
            "on along their last good direction. What makes these contacts shallower is said with their depth."
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
    made, volume = motion.kept(Prepared), when == "start" and options.force == "gap"
    hits = hits.select((made.facing(surfaces, hits) > 0.0) & (made.part(hits) > 0.0))  # else it passes by, as the side of a box
    key = hits.surfel * count + hits.other
    return Detection(
        surfaces, low, high, found, hits, key, keys.recall(memory, "stretch", key, (3,)), keys.recall(memory, "force", key),
        float(memory["longest"][0]) if "longest" in memory else 0.0, made,
        balls, balls.a * count + balls.b,
        keys.recalled(memory.get("round", key[:0]), memory.get("held", before[:0]), balls.a * count + balls.b),
        phyxel_contacts(made.volume, motion.start, itself) if volume else PhyxelContacts.none(),
        volume_contacts(made.volume, made.clearance, surfaces, motion.start, near[~exact], low, high) if volume else VolumeContacts.none(),
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
