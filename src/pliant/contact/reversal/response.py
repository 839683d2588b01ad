"""Velocities of colliding points turned back: what the method `reversal` computes for a set of points, pair by pair (theory/springs 7).

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
from pliant.detect.colliding import Colliding
from pliant.kernels import add, axpy, cross, dot, kernel, load, scale, store, sub
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


@kernel
def respond_together(pair, side, point, at, frame, pairs, member, first, mean):  # type: ignore[no-untyped-def]
    """Rows of the points that respond: first one per pair and side of rigid bodies, then soft points one by one; how many there are.

    member: row of each point; first: the first point of a row; mean: of where its points are. `first` comes in as -1.
    """
    slot, size, used = np.full(2 * pairs, -1), np.zeros(len(first)), 0
    for k in range(len(pair)):
        if frame[point[k]] >= 0:
            slot[2 * pair[k] + side[k]] = 0
    for s in range(len(slot)):
        if slot[s] == 0:
            slot[s] = used
            used += 1
    for k in range(len(pair)):
        row = used
        if frame[point[k]] >= 0:
            row = slot[2 * pair[k] + side[k]]
        else:
            used += 1
        member[k] = row
        first[row] = k if first[row] < 0 else first[row]
        size[row] += 1.0
        store(mean, row, add(load(mean, row), load(at, k)))
    for row in range(used):
        mean[row] /= size[row]
    return used


@kernel
def point_velocities(  # type: ignore[no-untyped-def]
    point, at, skin_start, skin_node, skin_weight, skin_frame, v, inverse, velocity, omega, position, slid, out
):
    """Velocity of each row [m/s]: of nodes, of rigid bodies where they are touched, of prescribed ones as they slid."""
    for r in range(len(point)):
        p = point[r]
        f = skin_frame[p]
        u = (0.0, 0.0, 0.0)
        if f < 0:
            for k in range(skin_start[p], skin_start[p + 1]):
                u = axpy(skin_weight[k], load(v, skin_node[k]), u)
        elif inverse[f] > 0.0:
            u = add(load(velocity, f), cross(load(omega, f), sub(load(at, r), load(position, f))))
        else:
            u = load(slid, r)
        store(out, r, u)


@kernel
def pair_means(pair, pairs, mass, fixed, values, out):  # type: ignore[no-untyped-def]
    """Mean of a field (r, 3) over the points of a pair, by mass, or over its fixed points if it has some."""
    still, weight, total = np.zeros(pairs), np.zeros(pairs), np.zeros((pairs, 3))
    for r in range(len(pair)):
        still[pair[r]] += fixed[r]
    for r in range(len(pair)):
        p = pair[r]
        w = 1.0 * fixed[r] if still[p] > 0.0 else mass[r]
        weight[p] += w
        store(total, p, axpy(w, load(values, r), load(total, p)))
    for r in range(len(pair)):
        p = pair[r]
        store(out, r, scale(1.0 / weight[p] if weight[p] > 0.0 else 0.0, load(total, p)))


@kernel
def balance(pair, pairs, fixed, impulse):  # type: ignore[no-untyped-def]
    """Fixed points take what the others of their pair leave, in equal shares; in place."""
    number, total = np.zeros(pairs), np.zeros((pairs, 3))
    for r in range(len(pair)):
        number[pair[r]] += fixed[r]
        store(total, pair[r], add(load(impulse, r), load(total, pair[r])))
    for r in range(len(pair)):
        if fixed[r]:
            store(impulse, r, axpy(-1.0 / number[pair[r]], load(total, pair[r]), load(impulse, r)))


@kernel
def turn_along_normals(pair, side, pairs, mass, fixed, v, normal, out):  # type: ignore[no-untyped-def]
    """((v - V).n) n of the points that approach V, which is the mean of just these; zero for the others."""
    size = len(pair)
    along, active, change = np.empty(size), np.ones(size, np.bool_), np.empty(size)
    for r in range(size):
        along[r] = dot(load(v, r), load(normal, r)) * (1.0 if side[r] == 0 else -1.0)
    left = True
    while left:
        left = False
        still, weight, total = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
        for r in range(size):
            still[pair[r]] += fixed[r] & active[r]
        for r in range(size):
            w = 1.0 * fixed[r] if still[pair[r]] > 0.0 else mass[r]
            weight[pair[r]] += w if active[r] else 0.0
            total[pair[r]] += w * along[r] if active[r] else 0.0
        for r in range(size):
            p = pair[r]
            away = along[r] - (total[p] / weight[p] if weight[p] > 0.0 else 0.0)
            change[r] = away if side[r] == 0 else -away
            if active[r] and not (change[r] < 0.0 or fixed[r]):
                active[r] = False
                left = True
    for r in range(size):
        store(out, r, scale(change[r] if active[r] else 0.0, load(normal, r)))


@kernel
def told(member, gap, stands_in, pair, side, pairs, deepest, share):  # type: ignore[no-untyped-def]
    """Deepest gap of the points of each row (comes in as NaN), and the share of what passes that a row tells (comes in as 0).

    Where both bodies of a pair have points of their own, each tells half; what stands for an exact shape tells nothing.
    """
    tells = np.zeros((pairs, 2), np.bool_)
    for k in range(len(member)):
        row = member[k]
        if not stands_in[k]:
            share[row] = 1.0
            tells[pair[row], side[row]] = True
        if not gap[k] >= deepest[row] and not np.isnan(gap[k]):
            deepest[row] = gap[k]
    for row in range(len(pair)):
        if tells[pair[row], 0] and tells[pair[row], 1]:
            share[row] *= 0.5
