"""The method `reversal`: where surfaces cross, velocities are turned back and positions set back.

[Motheram, Tribble] (theory/springs 5-7): all corners of intersecting triangles collide. As published (`invert`) their
velocities become -e v and their positions those of before the step. That pushes against the world: momentum is not kept, a
partner that moves along is not seen, points that part already are turned back. `relative` and `normal` turn back what is left of the
velocity in the frame of the mean velocity of both bodies' colliding points, all of it or along the normal; formulas in
`response.py`. Momentum is kept, and the step is taken anew with the new velocities; what crosses even then moves on together with
its partner, at their mean velocity, and only what crosses after that is set back.

Where we differ: points inside exact shapes collide too; a rigid body collides as one point, at the middle of its colliding points with
the inertia that it has there; what still crosses after TRIES rounds is set back as whole bodies; bodies that lie one inside the
other, which no crossing tells, are found, and pushed apart if they were so before the step; the energy that stopping costs is taken from
the rebound, so that what is pressed together comes to rest (not in `invert`).

Limitations: knows no friction coefficient; with `invert` bodies at rest jitter; looks at the end of the step only, so thin bodies can be
crossed within one; angular momentum is kept only as far as the colliding points of both bodies are at one place; no self-contact.
Implicit bodies take the impulse through their matrix, so their points turn back with less than e.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.method import Answer, Memory
from pliant.contact.pressure import Pressure, point_pressure
from pliant.contact.reversal.response import Points, apart, restitution, to_turn, told
from pliant.detect.colliding import Colliding, Collisions
from pliant.detect.penetration import signed_distances
from pliant.world.motion import Motion

RESPONSES = ("normal", "relative", "invert")
SPLITS = ("median", "centre")
TRIES = 3  # rounds in which points are set back one by one
ROUNDS = 20  # and then whole bodies


@dataclass(frozen=True)
class Reversal:
    """Turn back, and set back."""

    response: str = "normal"  # normal, relative, or invert as published
    restitution: float = 0.9  # e, 0 to 1: speed after over speed before
    split: str = "median"  # tree: halves the list of triangles, or (centre, as published) their box
    depth: int = 12  # of the tree with split = "centre"
    backtracking: bool = True  # set back what crosses

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def __post_init__(self) -> None:
        for name, value, known in (("response", self.response, RESPONSES), ("split", self.split, SPLITS)):
            if value not in known:
                raise PliantError(f"reversal has no {name} '{value}': it takes {', '.join(known)}.")
        if not 0.0 <= self.restitution <= 1.0:
            raise PliantError(f"restitution = {self.restitution}: it is a ratio of speeds, from 0 (none left) to 1 (all of it).")

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        motion.refuse_self_contact("reversal")  # a crossing of one surface tells no inside
        stuck = memory.get("stuck")  # pairs that overlapped as the step began
        if stuck is None:
            stuck = motion.kept(Collisions).overlapping(motion.start, motion.pairs.meet)
        found = self.look(motion)
        if len(found) == 0:
            return Answer(Contacts.none(motion.dt), {"stuck": stuck[:0]})
        record = Record()
        self.turn_back(motion, found, stuck, record)
        left = stuck[:0]
        if self.backtracking:
            now = found if self.response == "invert" else self.move_together(motion, stuck, record)
            left = self.set_back(motion, now, stuck, record)
        names = [" and ".join(motion.bodies.names[b] for b in pair) for pair in found.pairs[found.contained]]
        warnings = [f"Of {pair} one was wholly inside the other; they are pushed apart." for pair in names]
        return Answer(record.contacts(motion), {"stuck": left}, warnings=warnings)

    def look(self, motion: Motion) -> Colliding:
        """What collides at the end of the motion as it is now."""
        return motion.kept(Collisions).find(
            motion.start, motion.end, motion.shapes, motion.pairs.meet, self.split, self.depth
        )  # fmt: skip

    def turn_back(self, motion: Motion, found: Colliding, stuck: Ints, record: Record) -> None:
        """Stop what collides, then give it back the share of its speed that restitution and energy leave it."""
        points, gap = Points.of(motion, found, self.response), _gaps(motion, found)
        before = _among(motion, found, stuck)  # `invert` knows only bodies that are wholly inside
        out = ((found.contained & (before | (not self.backtracking))) | (before & (self.response != "invert")))[points.pair][:, None]
        turned = np.where(out, 0.0, to_turn(self.response, points))
        impulse = points.balanced(-points.mass[:, None] * turned)
        if out.any():
            impulse += np.where(out, apart(motion, points, found, gap), 0.0)
        record.add(found, points, gap)
        potential = motion.potential()
        moves = self.response != "invert"
        motion.push(points.rows, impulse, moves)
        e = np.full(len(points.pair), self.restitution)
        if moves:
            e = restitution(self.restitution, turned, points, found, motion.potential() - potential)
        back = points.balanced(-(e * points.mass)[:, None] * turned)
        motion.push(points.rows, back, moves)
        record.impulses[-1] = impulse + back

    def move_together(self, motion: Motion, stuck: Ints, record: Record) -> Colliding:
        """Let what still collides move on with its partner, first across the surface, then altogether."""
        for how in (self.response, self.response, "altogether", "altogether"):
            found = self.look(motion)
            free = ~_among(motion, found, stuck)
            if not free.any():
                return found
            self.stop(motion, found, free, record, how, move=True)
        return self.look(motion)

    def set_back(self, motion: Motion, found: Colliding, stuck: Ints, record: Record) -> Ints:
        """Set back what collides until nothing does that did not before the step; keys of the pairs that still do."""
        whole = np.zeros(len(motion.bodies), bool)
        for round_ in range(TRIES + ROUNDS):
            free = ~_among(motion, found, stuck)
            if not free.any():
                break
            before = whole.copy()
            whole[found.pairs[free & (found.contained | (round_ >= TRIES))].ravel()] = True
            if round_ > TRIES and (before == whole).all():
                break
            if self.response != "invert":
                self.stop(motion, found, free, record, "altogether", move=False)
            mine = (motion.skin.body >= 0) & whole[motion.skin.body]
            mine[found.point[free[found.pair]]] = True
            motion.rewind(np.flatnonzero(mine))
            found = self.look(motion)
        return _keys(motion, found)

    def stop(self, motion: Motion, found: Colliding, free: np.ndarray, record: Record, how: str, move: bool) -> None:
        """Points take the mean velocity of their pair."""
        points = Points.of(motion, found, how)
        impulse = points.balanced(-points.mass[:, None] * to_turn(how, points) * free[points.pair][:, None])
        record.add(found, points, _gaps(motion, found), impulse)
        motion.push(points.rows, impulse, move)


def _keys(motion: Motion, found: Colliding) -> Ints:
    """A number for each pair of bodies."""
    return found.pairs @ np.array([len(motion.bodies), 1])


def _among(motion: Motion, found: Colliding, stuck: Ints) -> np.ndarray:
    """Which pairs are among these keys, (P,) bool."""
    return np.isin(_keys(motion, found), stuck) if len(stuck) else np.zeros(len(found), bool)


def _gaps(motion: Motion, found: Colliding) -> Floats:
    """Signed distance of each colliding point to the other body [m], NaN for what stands for an exact shape."""
    surfaces = motion.kept(Collisions).penetration.fit(motion.end, motion.shapes)
    gap = signed_distances(surfaces, motion.end[found.point], found.other).gap - found.radius
    gap[found.stands_in] = np.nan
    return gap


@dataclass
class Record:
    """The contacts of a step as they are found, in one round or several, and the impulses that they got."""

    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)  # a, b, point, face, where, normal, gap, share of what passed
    impulses: list[Floats] = field(default_factory=list)  # [N s] (r, 3) each

    def add(self, found: Colliding, points: Points, gap: Floats, impulse: Floats | None = None) -> None:
        """What is known of each responding point before anything moves."""
        rows, first, size = points.rows, points.first, len(points.pair)
        deepest, share = np.full(size, np.nan), np.zeros(size)
        told(points.member, gap, found.stands_in, points.pair, points.side, points.pairs, deepest, share)
        a, b = found.pairs[points.pair, points.side], found.pairs[points.pair, 1 - points.side]
        self.parts.append((a, b, rows.point, found.face[first], rows.at, rows.normal, deepest, share))
        self.impulses.append(np.zeros((size, 3)) if impulse is None else impulse)

    def contacts(self, motion: Motion) -> Contacts:
        """Each point once per pair, with all that it got."""
        *columns, share = (np.concatenate(c) for c in zip(*self.parts, strict=True))
        _, first, place = np.unique(columns[2] * len(motion.bodies) + columns[1], return_index=True, return_inverse=True)
        passed = share[:, None] * np.concatenate(self.impulses)
        total = np.stack([np.bincount(place, passed[:, axis]) for axis in range(3)], axis=1)
        real = share[first] > 0.0
        first, total = first[real], total[real]
        out = Contacts.unknown(len(first), motion.dt)
        out.a, out.b, out.feature_a, out.feature_b, out.point, out.normal, out.gap = (c[first] for c in columns)
        out.impulse = np.einsum("ri,ri->r", total, out.normal)
        out.friction_impulse = total - out.impulse[:, None] * out.normal
        out.support = Support(np.ones(len(out), np.int64), out.feature_a, 1.0 / share[first])
        pressure = point_pressure(motion.end, motion.kept(Pressure), out.support, out.impulse[:, None] * out.normal)[out.feature_a]
        out.area = np.divide(np.abs(out.impulse), pressure, out=np.full(len(out), np.nan), where=pressure > 0.0)
        return out
