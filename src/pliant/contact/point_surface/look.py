"""Looking at a step: surfaces at its start, who is inside whom, and what is remembered from the step before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.contact.point_surface.candidates import Candidates, boxes, candidates, overlapping, recalled
from pliant.contact.point_surface.creases import Creases
from pliant.contact.point_surface.hits import Hits, inside, search
from pliant.contact.point_surface.inner import Inner, inner_contacts
from pliant.contact.point_surface.round import Round, is_round, round_contacts
from pliant.contact.point_surface.self_contact import folded
from pliant.contact.point_surface.surfaces import Neighbourhoods, Surfaces
from pliant.detect.keys import recall
from pliant.detect.surfels.carried import Carried
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.options import Options
    from pliant.world.pairs import PairTable


GRAZING = 0.05  # of its area that a surfel must show to the surface it is in: else it passes by, as the side of a box does
FINER = 2.0  # power of areas, so the fourth of spacings
CLEARER = 1.3  # how much more than in proportion to that power


class Fixed:
    """The neighbourhoods of a world's surfels; made once (`motion.kept(Fixed)`)."""

    def __init__(self, motion: Motion) -> None:
        carried, bodies = motion.kept(Carried), motion.bodies
        known = [r for r in carried.riding if r is not None]
        points, normals = (np.concatenate([np.zeros((0, 3)), *(getattr(r, n) for r in known)]) for n in ("points", "normals"))
        kind = np.where(bodies.frame >= 0, bodies.analytic, -1)
        self.creases = Creases(carried, points)
        self.near = Neighbourhoods.of(
            points, normals, carried.area, carried.start, kind, bodies.parameters, sharp=self.creases.sharp
        )
        self.published = replace(self.near, lift=np.zeros_like(self.near.lift))
        self.sampled = np.diff(carried.start) > 0  # (B,) bool: does the body have surfels?
        self.mean = np.bincount(carried.body, carried.area, minlength=len(bodies)) / np.maximum(np.diff(carried.start), 1)  # (B,) [m^2]

    def part(self, hits: Hits) -> Floats:
        """Share of the pressure that the surfel of each hit stands for, (r,); the rest comes from surfels of the other body.

        A half where both are sampled alike. A coarse side would be a poor sum over a fine contact, so the finer one counts for more, and
        alone if its spacing is below 0.6 of the other's.
        """
        own, other = self.mean[self.near.body[hits.surfel]] ** FINER, self.mean[hits.other] ** FINER
        part = np.clip(CLEARER * (other / np.maximum(own + other, 1e-300) - 0.5) + 0.5, 0.0, 1.0)
        return np.where(self.sampled[hits.other], part, 1.0)


@dataclass
class Look:
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
    fixed: Fixed
    round: Round  # balls in closed form, whose surfels are not looked for
    round_key: Ints  # (k,)
    round_stretch: Floats  # (k, 3) [m]
    inner: Inner  # phyxels of a body that meet each other

    def __len__(self) -> int:
        """How many contacts there are."""
        return len(self.hits) + len(self.round) + len(self.inner)

    def areas(self) -> Floats:
        """Area that each hit stands for [m^2]: of its surfel as seen along the normal, so that the sides of a box do not count.

        Where both bodies have surfels each has its part, so that the two sides make one patch.
        """
        return self.fixed.part(self.hits) * facing(self.fixed, self.surfaces, self.hits)

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


def facing(fixed: Fixed, surfaces: Surfaces, hits: Hits) -> Floats:
    """Area of the surfel of each hit that faces the surface it is in [m^2], (r,)."""
    return fixed.creases.facing(hits.surfel, surfaces.normals, surfaces.areas, surfaces.fixed.body, surfaces.rotation, hits.normal)


def surfaces_at(motion: Motion, when: str, published: bool = False) -> Surfaces:
    """All bodies at the "start" or "end" of the step."""
    carried, fixed, bodies = motion.kept(Carried), motion.kept(Fixed), motion.bodies
    now = carried.at(motion, when)
    position, rotation = (motion.position_start, motion.rotation_start) if when == "start" else (motion.position, motion.rotation)
    where, turn = np.zeros((len(bodies), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(bodies), 1))
    framed = bodies.frame >= 0
    where[framed], turn[framed] = position[bodies.frame[framed]], rotation[bodies.frame[framed]]
    return Surfaces(fixed.published if published else fixed.near, now.points, now.normals, now.areas, where, turn)


def look(options: Options, motion: Motion, memory: Memory, pairs: PairTable, when: str = "start") -> Look:
    """Who is inside whom at one end of the step, of the pairs that meet."""
    surfaces, count = surfaces_at(motion, when, options.surface == "published"), len(motion.bodies)
    low, high = boxes(surfaces)
    near = overlapping(low, high)
    near = near[pairs.meet(near[:, 0], near[:, 1])]
    exact = is_round(surfaces.fixed.kind, near) & (when == "start") & (options.force == "gap")  # but surfels are drawn
    balls = round_contacts(surfaces, near[exact])
    found = candidates(surfaces, near[~exact], low, high)
    everyone = np.arange(count)
    itself = everyone[pairs.meet(everyone, everyone) & (motion.bodies.frame < 0)]
    own = folded(surfaces, itself)
    key = found.surfel * count + found.other
    found.sample = recalled(key, memory.get("near", np.zeros(0, np.int64)), memory.get("sample", np.zeros(0, np.int64)))
    search(surfaces, found)
    found = Candidates(*(np.concatenate([getattr(found, n), getattr(own, n)]) for n in ("surfel", "other", "sample")))
    key = found.surfel * count + found.other
    before = _directions(memory, key)
    hits, found.sample = inside(surfaces, found, before, first="longest" not in memory)
    fixed = motion.kept(Fixed)
    hits = hits.select((facing(fixed, surfaces, hits) > GRAZING * surfaces.areas[hits.surfel]) & (fixed.part(hits) > 0.0))
    key = hits.surfel * count + hits.other
    held = {"key": memory.get("round", key[:0]), "held": memory.get("held", before[:0])}
    return Look(
        surfaces, low, high, found, hits, key, recall(memory, "stretch", key, (3,)), recall(memory, "force", key),
        float(memory["longest"][0]) if "longest" in memory else 0.0, fixed,
        balls, balls.a * count + balls.b,
        recall(held, "held", balls.a * count + balls.b, (3,)),
        inner_contacts(motion, itself) if when == "start" and options.force == "gap" else Inner.none(),
    )  # fmt: skip


def _directions(memory: Memory, key: Ints) -> Floats:
    """Last good direction of each candidate, (c, 3), zero for none."""
    out = np.zeros((len(key), 3))
    if len(memory.get("key", ())):
        at = recalled(key, memory["key"], np.arange(len(memory["key"])))
        out[at >= 0] = memory["direction"][at[at >= 0]]
    return out


def remembered(motion: Motion, seen: Look, stretch: Floats | None = None, force: Floats | None = None) -> Memory:
    """What the next step starts from: samples of all candidates that are near; directions, forces [N] and anchors of hits."""
    count, found, hits = len(motion.bodies), seen.found, seen.hits
    near = np.flatnonzero((found.sample >= 0) & (seen.surfaces.fixed.body[found.surfel] != found.other))
    near = near[np.argsort(found.surfel[near] * count + found.other[near], kind="stable")]
    order, rolling = np.argsort(seen.key, kind="stable"), np.argsort(seen.round_key, kind="stable")
    stretch = np.zeros((len(seen), 3)) if stretch is None else stretch
    return {
        "near": found.surfel[near] * count + found.other[near],
        "sample": found.sample[near],
        "key": seen.key[order],
        "direction": hits.normal[order],
        "stretch": stretch[: len(hits)][order],
        "force": (np.zeros(len(hits)) if force is None else force[: len(hits)])[order],
        "round": seen.round_key[rolling],
        "held": stretch[len(hits) : len(hits) + len(rolling)][rolling],
        "longest": np.array([max(seen.longest, motion.dt)]),
    }
