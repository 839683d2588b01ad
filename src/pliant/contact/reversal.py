"""The method `reversal`: where surfaces cross, velocities are turned back and positions set back.

[Motheram, Tribble] (12.3-12.5 of the methods page): all corners of intersecting triangles collide. In `invert`, as published,
    v <- -e v
for each of them, and positions go back to where they were before. That pushes against the world: momentum is not kept, a partner that
moves along is not seen, and points that part already are turned back. The two others work in the frame of the mean velocity
V = sum m v / sum m of the colliding points of both bodies, so the impulses of a pair sum to zero:
    relative   v <- V - e (v - V)              if the bodies approach; kinetic energy in the frame of V times e^2
    normal     v <- v - (1 + e) ((v - V).n) n  for the points that approach, n the mean normal of the pair; no friction

Where we differ: points inside exact shapes collide too; a rigid body collides as one point, at the middle of its colliding points with
the inertia that it has there; a fixed partner is what V moves with; what still crosses after `tries` rounds of setting points
back is set back as whole bodies; bodies that lie one inside the other, which no crossing tells, are found and pushed apart.

Limitations: knows no friction coefficient; bodies at rest jitter (the mean force over time is right); looks at the end of the step only;
angular momentum is kept only as far as the points of both bodies are at one place; no self-contact. Implicit bodies take the
impulse through their matrix, so their points turn back with less than e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant import bindings
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, Memory
from pliant.detect.colliding import Colliding, Collisions
from pliant.detect.penetration import Hits, Penetration
from pliant.geometry.mesh import Floats, Ints, PliantError
from pliant.motion import Motion, Rows

RESPONSES = ("normal", "relative", "invert")
SPLITS = ("median", "centre")
TRIES = 3  # rounds in which points are set back one by one
ROUNDS = 20  # and then whole bodies
EXIT = 20  # steps in which bodies that overlapped before the step are to part


@dataclass(frozen=True)
class Reversal:
    """Set back and reverse."""

    response: str = "normal"  # normal, relative, invert
    restitution: float = 0.9  # e, 0 to 1: speed after over speed before
    split: str = "median"  # tree: median (of the triangles) or centre (of their box, as published)
    depth: int = 12  # of the tree with split = "centre"
    backtracking: bool = True  # set colliding points back

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def __post_init__(self) -> None:
        for name, value, known in (("response", self.response, RESPONSES), ("split", self.split, SPLITS)):
            if value not in known:
                raise PliantError(f"reversal has no {name} '{value}': it takes {', '.join(known)}.")
        if not 0.0 <= self.restitution <= 1.0:
            raise PliantError(f"restitution = {self.restitution}: it is a ratio of speeds, from 0 (none left) to 1 (all of it).")

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        found = self.look(motion)
        if len(found) == 0:
            return Answer(Contacts.none(motion.dt))
        count, names = len(motion.bodies), motion.bodies.names
        key = found.pairs @ np.array([count, 1])
        stuck = np.isin(key, memory.get("stuck", np.zeros(0, np.int64)))  # they overlapped as the step began
        points = Points.of(motion, found)
        gap = motion.kept(Penetration).measure(motion, found.point, found.body, found.other, found.radius).gap
        gap[found.stands_in] = np.nan
        out = stuck | (found.contained & (not self.backtracking))
        impulse = reversed_velocities(self, points, found)
        impulse = np.where(out[points.pair][:, None], pushed_apart(motion, points, found, gap), impulse)
        contacts = _contacts(motion, found, points, gap, impulse)
        motion.push(points.rows, impulse, move=False)
        left = self.set_back(motion, found, key[stuck]) if self.backtracking else key[out]
        inside = [f"{names[a]} and {names[b]}: one was wholly inside the other; they are pushed apart." for a, b in found.pairs[found.contained]]
        return Answer(contacts, {"stuck": left}, warnings=inside)

    def look(self, motion: Motion) -> Colliding:
        """What collides at the end of the motion as it is now."""
        return motion.kept(Collisions).find(motion, self.split, self.depth)

    def set_back(self, motion: Motion, found: Colliding, stuck: Ints) -> Ints:
        """Set colliding points back until nothing collides that did not before the step; keys of the pairs that still do."""
        weights, whole = np.array([len(motion.bodies), 1]), np.zeros(len(motion.bodies), bool)
        for round_ in range(TRIES + ROUNDS):
            key = found.pairs @ weights
            free = ~np.isin(key, stuck)
            if round_ >= TRIES:
                before = whole.copy()
                whole[found.pairs[free].ravel()] = True
                if (before == whole).all():
                    break
            else:
                whole[found.pairs[free & found.contained].ravel()] = True
            mine = whole[np.maximum(motion.skin.body, 0)] & (motion.skin.body >= 0)
            mine[found.point[free[found.pair]]] = True
            motion.rewind(np.flatnonzero(mine))
            found = self.look(motion)
            if len(found) == 0:
                break
        return found.pairs @ weights


@dataclass
class Points:
    """Colliding points as they respond: soft bodies point by point, of a rigid body all points of a pair together."""

    pair: Ints  # (r,)
    side: Ints  # (r,) 0 for body a of the pair, 1 for b
    rows: Rows  # one point each
    member: Ints  # (k,) row that each point of `Colliding` went to
    velocity: Floats  # [m/s] (r, 3) at the end of the free step
    give: Floats  # [1/kg] (r,) 0: fixed

    @staticmethod
    def of(motion: Motion, found: Colliding) -> Points:
        skin, count = motion.skin, len(found.point)
        group = np.where(skin.frame[found.point] >= 0, 2 * found.pair + found.side, 2 * len(found) + np.arange(count))
        _, first, member = np.unique(group, return_index=True, return_inverse=True)
        size = np.bincount(member)
        at = np.stack([np.bincount(member, found.at[:, axis]) for axis in range(3)], axis=1) / size[:, None]
        pair, side, point = found.pair[first], found.side[first], found.point[first]
        towards = np.where(side[:, None] == 0, found.normal[pair], -found.normal[pair])
        rows = Rows(np.arange(len(point) + 1), point, np.ones(len(point)), towards, at)
        return Points(pair, side, rows, member, _velocities(motion, rows), motion.give(rows))

    def sums(self, values: Floats, pairs: int) -> Floats:
        """Sum of a field (r, 3) over each pair, (P, 3)."""
        return np.stack([np.bincount(self.pair, values[:, axis], pairs) for axis in range(3)], axis=1)


def _velocities(motion: Motion, rows: Rows) -> Floats:
    """Velocities at the end of the free step, of nodes, and of rigid bodies where they are touched; prescribed ones by how far they go."""
    skin, frame = motion.skin, motion.skin.frame[rows.point]
    carried = np.empty((len(skin), 3))
    bindings.row_vectors(skin.start, skin.node, skin.weight, motion.v, carried)
    if len(motion.frames.inverse) == 0:
        return carried[rows.point]
    turning = np.cross(motion.angular_velocity()[frame], rows.at - motion.position[frame])
    rigid = motion.velocity_frames[frame] + turning
    driven = motion.slide(rows) / motion.dt
    framed = np.where((motion.frames.inverse[frame] > 0.0)[:, None], rigid, driven)
    return np.where((frame >= 0)[:, None], framed, carried[rows.point])


def reversed_velocities(method: Reversal, points: Points, found: Colliding) -> Floats:
    """Impulse on each point [N s], (r, 3); fixed points take what the others of their pair give."""
    fixed, count, v = points.give == 0.0, len(found), points.velocity
    mass = np.divide(1.0, points.give, out=np.zeros_like(points.give), where=~fixed)
    held = np.bincount(points.pair, fixed, count)[points.pair] > 0
    weight = np.where(held, fixed, mass)  # a fixed partner is what the mean velocity moves with
    n = found.normal[points.pair]
    if method.response == "invert":
        change = v
    elif method.response == "relative":
        change = (v - mean_velocity(points, weight, count)) * approaching(points, np.where(fixed, 1.0, mass), found)[points.pair][:, None]
    else:
        change = _normal_change(points, weight, n, count)[:, None] * n
    impulse = -(1.0 + method.restitution) * mass[:, None] * change
    share = np.divide(fixed, np.bincount(points.pair, fixed, count)[points.pair], out=np.zeros(len(fixed)), where=held)
    return impulse - share[:, None] * points.sums(impulse, count)[points.pair]


def mean_velocity(points: Points, weight: Floats, count: int) -> Floats:
    """V of the pair of each point [m/s], (r, 3)."""
    total = np.bincount(points.pair, weight, count)
    sums = points.sums(weight[:, None] * points.velocity, count)
    return np.divide(sums, total[:, None], out=np.zeros_like(sums), where=total[:, None] > 0.0)[points.pair]


def approaching(points: Points, mass: Floats, found: Colliding) -> np.ndarray:
    """Whether the colliding points of the two bodies, as a whole, move towards each other, (P,) bool."""
    first, second = side_means(points, mass, found)[0]
    return first < second


def side_means(points: Points, mass: Floats, found: Colliding) -> tuple[Floats, Floats]:
    """Mean velocity along the normal of the points of each side [m/s], and their mass [kg], both (2, P)."""
    along = np.einsum("ri,ri->r", points.velocity, found.normal[points.pair])
    slot, count = points.side * len(found) + points.pair, 2 * len(found)
    total, sums = np.bincount(slot, mass, count), np.bincount(slot, mass * along, count)
    return np.divide(sums, total, out=np.zeros(count), where=total > 0.0).reshape(2, -1), total.reshape(2, -1)


def _normal_change(points: Points, weight: Floats, n: Floats, count: int) -> Floats:
    """(v - V).n of the points that approach V, zero for the others; V is the mean of those that do [m/s], (r,)."""
    along = np.einsum("ri,ri->r", points.velocity, n)
    sense = np.where(points.side == 0, 1.0, -1.0)
    active = np.ones(len(along), bool)
    while True:
        total = np.bincount(points.pair, weight * active, count)
        sums = np.bincount(points.pair, weight * active * along, count)
        change = along - np.divide(sums, total, out=np.zeros(count), where=total > 0.0)[points.pair]
        nearer = active & ((sense * change < 0.0) | (points.give == 0.0))
        if (nearer == active).all():
            return np.where(active, change, 0.0)
        active = nearer


def pushed_apart(motion: Motion, points: Points, found: Colliding, gap: Floats) -> Floats:
    """Impulses that let bodies which overlapped before the step part within EXIT steps, momentum kept [N s], (r, 3)."""
    fixed = points.give == 0.0
    mass = np.divide(1.0, points.give, out=np.zeros_like(points.give), where=~fixed)
    depth = np.zeros(len(found))
    np.maximum.at(depth, found.pair, np.fmax(-gap, 0.0))
    speed, total = side_means(points, np.where(fixed, 1.0, mass), found)
    still = np.stack([np.bincount(points.pair[points.side == s], fixed[points.side == s], len(found)) > 0 for s in range(2)])
    give = np.where(still, 0.0, 1.0 / np.maximum(total, 1e-300))
    missing = np.maximum(depth / (EXIT * motion.dt) - (speed[0] - speed[1]), 0.0)
    size = np.divide(missing, give.sum(axis=0), out=np.zeros(len(found)), where=give.sum(axis=0) > 0.0)
    share = np.where(fixed, 1.0, mass) / total[points.side, points.pair]
    return (share * size[points.pair])[:, None] * points.rows.normal


def _contacts(motion: Motion, found: Colliding, points: Points, gap: Floats, impulse: Floats) -> Contacts:
    """One row per responding point. Where both bodies have some, each tells half of what passed between them."""
    rows, count, known = points.rows, len(found), ~found.stands_in
    as_hits = Hits(
        found.point, found.radius, found.body, found.other, found.face, np.zeros_like(found.at), rows.normal[points.member], gap
    )
    area = motion.kept(Penetration).areas(motion, as_hits)
    real = np.bincount(points.member, known, len(rows)) > 0
    told = np.stack([np.bincount(points.pair[real & (points.side == s)], minlength=count) > 0 for s in range(2)])
    share = np.where(told.all(axis=0), 0.5, 1.0)[points.pair]
    deepest = np.full(len(rows), np.nan)
    np.fmin.at(deepest, points.member, gap)
    along = np.einsum("ri,ri->r", impulse, rows.normal)
    first = np.unique(points.member, return_index=True)[1]
    contacts = Contacts.unknown(len(rows), motion.dt)
    contacts.a[:], contacts.b[:] = found.body[first], found.other[first]
    contacts.feature_a[:], contacts.feature_b[:] = rows.point, found.face[first]
    contacts.point[:], contacts.normal[:], contacts.gap[:] = rows.at, rows.normal, deepest
    contacts.impulse[:] = share * along
    contacts.friction[:] = share[:, None] * (impulse - along[:, None] * rows.normal)
    contacts.area[:] = np.bincount(points.member, np.where(known, area, 0.0), len(rows))
    return contacts.select(real)
