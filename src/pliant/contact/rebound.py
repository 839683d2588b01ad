"""Velocities of colliding points turned back: what the method `reversal` computes for a set of points, pair by pair.

With V = sum m v / sum m over the colliding points of both bodies of a pair, n its normal and e the restitution,
    invert     v <- -e v
    relative   v <- V - e (v - V)                if the bodies approach
    normal     v <- v - (1 + e) ((v - V).n) n    for the points that approach
The impulses of the last two sum to zero, and kinetic energy in the frame of V (of `normal`: along n) becomes e^2 times what it was.
A fixed point has all the weight in V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.rebound_sums import balance, pair_means, point_velocities, respond_together, turn_along_normals
from pliant.detect.colliding import Colliding
from pliant.world.motion import Motion, Rows

EXIT = 20  # steps in which bodies that overlapped before the step are to part


@dataclass
class Points:
    """Colliding points as they respond: soft bodies point by point, of a rigid body all points of a pair together."""

    pairs: int
    pair: Ints  # (r,)
    side: Ints  # (r,) 0 for body a of the pair, 1 for b
    rows: Rows  # one point each
    member: Ints  # (k,) row that each point of `Colliding` went to
    first: Ints  # (r,) the first of these points
    velocity: Floats  # [m/s] (r, 3) at the end of the free step
    mass: Floats  # [kg] (r,) that the point stands for; 0 if fixed
    fixed: np.ndarray  # (r,) bool

    @staticmethod
    def of(motion: Motion, found: Colliding, response: str) -> Points:
        count = len(found.point)
        member, first, at = np.empty(count, np.int64), np.full(count, -1), np.zeros((count, 3))
        used = respond_together(found.pair, found.side, found.point, found.at, motion.skin.frame, len(found), member, first, at)
        first = first[:used]
        pair, side, point = found.pair[first], found.side[first], found.point[first]
        outward = np.where(side[:, None] == 0, found.normal[pair], -found.normal[pair])
        rows = Rows(np.arange(used + 1), point, np.ones(used), outward, at[:used])
        give = motion.give(rows)
        mass = np.divide(1.0, give, out=np.zeros_like(give), where=give > 0.0)
        points = Points(len(found), pair, side, rows, member, first, velocities(motion, rows), mass, give == 0.0)
        if response == "normal":
            return points
        return points.aimed(motion, points.velocity if response == "invert" else points.velocity - points.mean(points.velocity))

    def aimed(self, motion: Motion, away: Floats) -> Points:
        """The same with the mass that each point has along what is turned round, (r, 3); nodes have the same along all lines."""
        size = np.linalg.norm(away, axis=1)
        line = np.divide(away, size[:, None], out=self.rows.normal.copy(), where=size[:, None] > 0.0)
        give = motion.give(self.rows, line)
        return replace(self, mass=np.divide(1.0, give, out=np.zeros_like(give), where=give > 0.0))

    def mean(self, values: Floats) -> Floats:
        """Mean of a field (r, 3) over the points of a pair, by mass, or over its fixed points if it has some."""
        out = np.empty_like(values)
        pair_means(self.pair, self.pairs, self.mass, self.fixed, values, out)
        return out

    def balanced(self, impulse: Floats) -> Floats:
        """Impulses of which fixed points take what the others of their pair leave."""
        out = impulse.copy()
        balance(self.pair, self.pairs, self.fixed, out)
        return out

    def sides(self) -> tuple[Floats, Floats, np.ndarray]:
        """Mean velocity along the normal [m/s] and mass [kg] of the points of each side, and whether some are fixed, (2, P)."""
        slot, count = self.side * self.pairs + self.pair, 2 * self.pairs
        along = np.einsum("ri,ri->r", self.velocity, self.rows.normal) * np.where(self.side == 0, 1.0, -1.0)
        weight = np.where(self.fixed, 1.0, self.mass)
        mass, sums = (np.bincount(slot, w, count).astype(np.float64) for w in (weight, weight * along))
        mean = np.divide(sums, mass, out=np.zeros(count), where=mass > 0.0)
        return mean.reshape(2, -1), mass.reshape(2, -1), (np.bincount(slot, self.fixed, count) > 0).reshape(2, -1)


def velocities(motion: Motion, rows: Rows) -> Floats:
    """Of nodes at the end of the step, and of rigid bodies where they are touched; of prescribed ones by how far they go, (r, 3)."""
    skin, inverse, out = motion.skin, motion.frames.inverse, np.empty((len(rows), 3))
    slid = motion.slide(rows) / motion.dt if (inverse == 0.0).any() else out
    omega = motion.angular_velocity() if len(inverse) else motion.position
    point_velocities(
        rows.point, rows.at, skin.start, skin.node, skin.weight, skin.frame, motion.v, inverse, motion.velocity_frames, omega,
        motion.position, slid, out,
    )  # fmt: skip
    return out


def to_turn(response: str, points: Points) -> Floats:
    """The part of each velocity that is turned round, (r, 3): all of it, v - V, or its part along the normal.

    "altogether" is v - V whether bodies approach or not.
    """
    v, n = points.velocity, points.rows.normal
    if response == "altogether":
        return v - points.mean(v)
    if response == "invert":
        return np.where(points.fixed[:, None], 0.0, v)
    if response == "relative":
        first, second = points.sides()[0]
        return (v - points.mean(v)) * (first < second)[points.pair][:, None]
    turned = np.empty_like(v)
    turn_along_normals(points.pair, points.side, points.pairs, points.mass, points.fixed, v, n, turned)
    return turned


def restitution(most: float, turned: Floats, points: Points, found: Colliding, gained: Floats) -> Floats:
    """e for each point, (r,): the potential energy that bodies gained by being stopped is taken from what comes back.

    e^2 K = most^2 K - gained, K the kinetic energy that is turned round. What is pressed together then rests, and gains no speed.
    """
    kinetic = 0.5 * np.bincount(points.pair, points.mass * np.sum(turned**2, axis=1), points.pairs)
    degree = np.bincount(found.pairs.ravel(), minlength=len(gained))
    cost = (np.maximum(gained, 0.0) / np.maximum(degree, 1))[found.pairs].sum(axis=1)
    left = most**2 - np.divide(cost, kinetic, out=np.zeros(points.pairs), where=kinetic > 0.0)
    return np.sqrt(np.maximum(left, 0.0))[points.pair]


def apart(motion: Motion, points: Points, found: Colliding, gap: Floats) -> Floats:
    """Impulses that let bodies which overlapped before the step part within EXIT steps, momentum kept [N s], (r, 3)."""
    depth = np.zeros(points.pairs)
    np.maximum.at(depth, found.pair, np.fmax(-gap, 0.0))
    speed, mass, still = points.sides()
    give = np.divide(1.0, mass, out=np.zeros_like(mass), where=~still & (mass > 0.0)).sum(axis=0)
    missing = np.maximum(depth / (EXIT * motion.dt) - (speed[0] - speed[1]), 0.0)
    size = np.divide(missing, give, out=np.zeros(points.pairs), where=give > 0.0)
    weight = np.where(still[points.side, points.pair], points.fixed, points.mass)
    share = weight / np.bincount(points.side * points.pairs + points.pair, weight)[points.side * points.pairs + points.pair]
    return (share * size[points.pair])[:, None] * points.rows.normal
