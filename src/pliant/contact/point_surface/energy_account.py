"""What contacts took from two bodies and may give back: they never return more energy than they took (theory/point-surface-contact 7.6).

Pressure of the smooth gap is no gradient of an energy: areas turn away and change, another sample becomes the nearest, feet leave thin
parts on their other side, bodies tear. So every two bodies of the scene have an account of the work along their normals. The impulses j of
a step do the work

    w = j . (u_0 + u_1) / 2,     u_1 = u_f + W j

with u_0 the speeds at which contacts part before the step, u_f those that it would end with without them. If w exceeds the account all
impulses of the pair are shortened by the one factor for which it does not: x (j . (u_0 + u_f) / 2) + x^2 (j . W j / 2) = account. What
is pressed together is not touched by this, for there work is below zero. This is passivity control [Hannaford, Ryu 2002], by the force and
not by added damping.

With damping what the first half of a step takes is neither for its second half nor for the next step: where impulses are shortened u_0
counts only where bodies part already. Else a body that rests on springs that hold more than it paid for (its skin was bound anew) is
thrown back as it came in every step, u_1 = -u_0 for ever, or up in the next. Pairs that share a body are shortened in turn.

Implicit contacts also take what other forces did within the step, w = j . (u_f + u_1) / 2: at rest that is what a body would fall
in it. It is gone, so their account is never more than their springs hold at the end of the step.

The account is that of bodies of the scene: parts that broke off share the one of the body that they were, so that breaking sets free
nothing. Of explicit contacts the elastic impulse counts, so that what damping took is not given back. Apart, bodies have nothing in store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.enduring_springs import ENOUGH
from pliant.contact.friction import Friction
from pliant.contact.method import Memory
from pliant.contact.point_surface.surfel_rows import chosen_rows
from pliant.detect import keys
from pliant.world.motion import Motion, Rows

HALF = 31  # bits of a body's number in the key of a pair


@dataclass
class Accounts:
    """Of all pairs that touch in this step."""

    pair: Ints  # (p,) keys, sorted
    which: Ints  # (r,) pair of each contact
    took: Floats  # [J] (p,) from the bodies, less what was given back

    @staticmethod
    def of(motion: Motion, memory: Memory, a: Ints, b: Ints, stored: Floats) -> Accounts:
        """Of contacts between bodies a and b (r,), which hold `stored` [J] (r,) as springs: where a run begins this is their own."""
        first = motion.bodies.origin()
        one, two = first[a], first[b]
        pair, which = np.unique(np.minimum(one, two) << HALF | np.maximum(one, two), return_inverse=True)
        if "longest" not in memory:
            took = np.bincount(which, stored, minlength=len(pair)).astype(np.float64)
        else:
            took = keys.recalled(memory.get("pair", pair[:0]), memory.get("took", np.zeros(0)), pair)
        return Accounts(pair, which, took)

    def afford(self, which: Ints, first: Floats, second: Floats) -> Floats:
        """Which part x of their impulses pairs afford, (r,), if rows of the pairs `which` do the work x first + x^2 second [J], (r,)."""
        count = len(self.pair)
        line = np.bincount(which, first, minlength=count)
        square = np.maximum(np.bincount(which, second, minlength=count), 0.0)
        budget, part = np.maximum(self.took, 0.0), np.ones(count)
        over = line + square > budget
        root = np.sqrt(line**2 + 4.0 * square * budget)
        with np.errstate(invalid="ignore", divide="ignore"):  # two forms of one root: neither is a difference of what is nearly equal
            found = np.where(line > 0.0, 2.0 * budget / (line + root), (root - line) / (2.0 * square))
        part[over] = np.clip(found[over], 0.0, 1.0)
        return part[which]

    def shorten(self, motion: Motion, push: Pushed, friction: Friction | None = None, sweeps: int = 1) -> None:
        """Take back what pairs cannot afford of impulses, and of friction with them, that are pushed already.

        `sweeps`: how often pairs that share a body hear at most what others took back.
        """
        which, half = self.which[push.contact], 0.5 * push.impulse
        part = self.afford(which, half * (push.counted + push.free), half * (push.parting(motion) - push.free))
        if (part == 1.0).all():
            return
        whole = push.impulse[:, None] * push.rows.normal + (0.0 if friction is None else friction.impulse)
        turn = self._turns(motion)[which]
        if sweeps > 1 and turn.any():
            part = self._in_turn(motion, push, whole, turn, sweeps)
        else:
            motion.push(push.rows, (part - 1.0)[:, None] * whole, start=push.start)
        if friction is not None:
            friction.impulse = part[:, None] * friction.impulse
        push.impulse, push.elastic = part * push.impulse, part * push.elastic
        push.begun = np.where(part < 1.0, push.counted, push.begun)  # what was not for the second half is not for the next step either

    def _in_turn(self, motion: Motion, push: Pushed, whole: Floats, turn: Ints, sweeps: int) -> Floats:
        """Which part of impulses pairs that share bodies afford, (r,): each with what the others do; then that part is pushed."""
        motion.push(push.rows, -whole, start=push.start)
        part, own = np.zeros(len(whole)), np.zeros(len(whole))  # own (r,) [m/s]: what all of its impulses do to a pair
        groups = [(mine, chosen_rows(push.rows, mine)) for mine in (np.flatnonzero(turn == k) for k in range(int(turn.max()) + 1))]
        for sweep in range(sweeps):
            before = part.copy()
            for mine, rows in groups:
                speed, half, which = push.parting(motion)[mine], 0.5 * push.impulse[mine], self.which[push.contact[mine]]
                if sweep == 0:
                    motion.push(rows, whole[mine], start=push.start)
                    own[mine], part[mine] = push.parting(motion)[mine] - speed, 1.0
                    speed = speed + own[mine]
                alone = speed - part[mine] * own[mine]
                found = self.afford(which, half * (push.counted[mine] + alone), half * own[mine])
                motion.push(rows, (found - part[mine])[:, None] * whole[mine], start=push.start)
                part[mine] = found
            if sweep and (np.abs(part - before) * push.impulse).max() < ENOUGH * (part * push.impulse).max():
                break
        return part

    def _turns(self, motion: Motion) -> Ints:
        """When it is the turn of each pair, (p,): no two that share a body that can move have the same."""
        turns, held = np.zeros(len(self.pair), np.int64), set(motion.frames.body[motion.frames.inverse == 0.0].tolist())
        taken: dict[int, set[int]] = {}
        for k, pair in enumerate(self.pair.tolist()):
            ends = {pair >> HALF, pair & (1 << HALF) - 1} - held
            known = set().union(*(taken.get(body, set()) for body in ends))
            turns[k] = next(turn for turn in range(len(known) + 1) if turn not in known)
            for body in ends:
                taken.setdefault(body, set()).add(int(turns[k]))
        return turns

    def book(self, motion: Motion, push: Pushed) -> None:
        """Count the work of the elastic impulses, when everything is pushed."""
        work = push.elastic * 0.5 * (push.begun + push.parting(motion))
        self.took = self.took - np.bincount(self.which[push.contact], work, minlength=len(self.pair))

    def hold(self, push: Pushed, stored: Floats) -> None:
        """Leave no more to the pairs of these contacts than their springs hold at the end of the step [J], (r,)."""
        most = np.full(len(self.pair), np.inf)
        which = self.which[push.contact]
        most[which] = np.bincount(which, stored, minlength=len(self.pair))[which]
        self.took = np.minimum(self.took, most)

    def memory(self) -> Memory:
        """As the next step, and the next epoch, recall it."""
        return {"pair": self.pair, "took": self.took}


class Pushed:
    """Normal impulses that are pushed."""

    def __init__(self, motion: Motion, rows: Rows, contact: Ints, start: bool, damped: np.ndarray | None = None) -> None:
        """`contact` (r,): which contact of the step each row is; `start`: explicit, at places of the start of the step; `damped` (r,)."""
        self.rows, self.contact, self.start = rows, contact, start
        self.free = self.parting(motion)  # [m/s] (r,) speeds apart without these impulses
        self.begun = self._along(motion.row_velocity_before(rows, start)) if start else self.free  # [m/s] (r,) what work is counted from
        self.counted = self.begun if damped is None else np.where(damped, np.maximum(self.begun, 0.0), self.begun)  # what they afford from
        self.impulse: Floats = np.zeros(len(rows))  # [N s] (r,)
        self.elastic: Floats = self.impulse  # [N s] (r,) the part of springs

    def parting(self, motion: Motion) -> Floats:
        """Speeds at which the two sides of rows part now [m/s], (r,)."""
        return self._along(motion.row_velocity(self.rows, self.start))

    def _along(self, velocity: Floats) -> Floats:
        return np.asarray(np.einsum("ri,ri->r", velocity, self.rows.normal))
