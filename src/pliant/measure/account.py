"""The account of every two bodies: work of contact between them, along the normals and by friction, from touch to touch.

Work is impulse times the mean of the relative velocities before and after the step, as in the books: summed over all pairs it is their
contact account, up to how far frames move while they are pushed. It does not depend on who watches, and two bodies that part have it
at most at zero: contact keeps what restitution does not give back. A pair whose touches end above zero has made energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts
from pliant.detect.keys import find
from pliant.kernels import add, dot, kernel, load
from pliant.measure.scales import summed
from pliant.model import Bodies, Rest
from pliant.world import bindings
from pliant.world.motion import Motion, Rows
from pliant.world.world import World

HALF = 31  # bits of a body's number in the key of a pair


@dataclass(frozen=True)
class PairWork:
    """Of one step."""

    pair: Ints  # (k,) keys, sorted: the numbers of the two bodies in one, the lower first
    normal: Floats  # [J] (k,)
    friction: Floats  # [J] (k,)
    before: Floats  # [J] (k,) kinetic energy of both bodies at the start of the step
    after: Floats  # [J] (k,) and at its end

    def of(self, pair: Ints) -> Floats:
        """The four columns for other pairs, 0 where nothing was pushed, (4, n)."""
        out = np.zeros((4, len(pair)))
        if len(self.pair):
            place = np.minimum(np.searchsorted(self.pair, pair), len(self.pair) - 1)
            known = self.pair[place] == pair
            out[:, known] = np.stack([self.normal, self.friction, self.before, self.after])[:, place[known]]
        return out


def key_of(a: Ints, b: Ints) -> Ints:
    """Of pairs of bodies; -1: the world."""
    return (np.minimum(a, b) + 1) << HALF | (np.maximum(a, b) + 1)


def ends_of(key: Ints) -> tuple[Ints, Ints]:
    """The two bodies of each key."""
    return (key >> HALF) - 1, (key & ((1 << HALF) - 1)) - 1


class Owner:
    """The body of every skin point, also of those that none shows; made once (`motion.kept(Owner)`)."""

    def __init__(self, rest: Rest) -> None:
        skin = rest.skin
        self.body = skin.body.copy()
        hidden, framed = skin.body < 0, skin.frame >= 0
        self.body[hidden & framed] = rest.frames.body[skin.frame[hidden & framed]]
        bound = hidden & ~framed & (np.diff(skin.start) > 0)
        self.body[bound] = rest.nodes.body[skin.node[skin.start[:-1][bound]]]


def pair_work(world: World, motion: Motion) -> PairWork:
    """Work of what contact pushed in this step, before it is committed."""
    if not motion.contact_rows:
        return PairWork(np.zeros(0, np.int64), *np.zeros((4, 0)))
    rows = Rows.joined([rows for rows, _ in motion.contact_rows])
    impulses = [impulse for rows, impulse in motion.contact_rows if len(rows)]
    impulse = impulses[0] if len(impulses) == 1 else np.concatenate(impulses)
    state, skin, velocity, driven = world.state, motion.skin, motion.velocity_frames, world.model.drives.frame
    if len(driven):
        velocity = velocity.copy()
        velocity[driven] = (motion.position - state.position)[driven] / motion.dt
    turning, owner = (motion.turning_start, motion.angular_velocity()), motion.kept(Owner).body
    pair, work = np.empty(len(rows), np.int64), np.empty((len(rows), 2))
    runs, sorted_ = _work(
        rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame, owner, rows.normal, impulse,
        motion.position, state.v, state.velocity, turning[0], motion.v, velocity, turning[1], pair, work,
    )  # fmt: skip
    pair, work = pair[:runs], work[:runs]
    if not sorted_:
        pair, which = np.unique(pair, return_inverse=True)
        work = np.stack([summed(which, each, len(pair)) for each in work.T], axis=1)
    (a, b), both, nodes, frames = ends_of(pair), np.empty((2, len(pair))), world.model.nodes, world.model.frames
    _of_both(
        len(motion.bodies), nodes.body, nodes.mass, frames.body, frames.mass, frames.inverse, state.v, state.velocity, state.spin,
        turning[0], motion.v, velocity, motion.spin, turning[1], a, b, both,
    )  # fmt: skip
    return PairWork(pair, *np.ascontiguousarray(work.T), *both)


def kinetic_energies(world: World, v: Floats, velocity: Floats, spin: Floats, turning: Floats) -> Floats:
    """Kinetic energy of each body that can move [J], (B,)."""
    nodes, frames, out = world.model.nodes, world.model.frames, np.zeros(len(world.model.bodies))
    _kinetic(nodes.body, nodes.mass, v, frames.body, frames.mass, frames.inverse, velocity, spin, turning, out)
    return out


@kernel
def _kinetic(body, mass, v, frame_body, frame_mass, inverse, velocity, spin, turning, out):  # type: ignore[no-untyped-def]
    for i in range(len(body)):
        if body[i] >= 0:
            u = load(v, i)
            out[body[i]] += 0.5 * mass[i] * dot(u, u)
    for f in range(len(frame_body)):
        if inverse[f] > 0.0:
            u = load(velocity, f)
            out[frame_body[f]] += 0.5 * (frame_mass[f] * dot(u, u) + dot(load(spin, f), load(turning, f)))


@kernel
def _of_both(  # type: ignore[no-untyped-def]
    count, body, mass, frame_body, frame_mass, inverse, v0, velocity0, spin0, turning0, v1, velocity1, spin1, turning1, a, b, out
):  # fmt: skip
    """Kinetic energy before and after of two bodies, or of one that touches itself or the world, (2, k)."""
    energy = np.zeros((2, count))
    _kinetic(body, mass, v0, frame_body, frame_mass, inverse, velocity0, spin0, turning0, energy[0])
    _kinetic(body, mass, v1, frame_body, frame_mass, inverse, velocity1, spin1, turning1, energy[1])
    for when in range(2):
        for k in range(len(a)):
            out[when, k] = (energy[when, a[k]] if a[k] >= 0 else 0.0) + (energy[when, b[k]] if b[k] != a[k] else 0.0)


@kernel
def _work(  # type: ignore[no-untyped-def]
    start, point, weight, at, skin_start, node, node_weight, frame, owner, normal, impulse, position, v0, velocity0, turning0, v1,
    velocity1, turning1, pair, work,
):  # fmt: skip
    """`_row_work`, with the velocities of rows before and after."""
    before, after = np.empty((len(impulse), 3)), np.empty((len(impulse), 3))
    bindings.row_velocities(start, point, weight, at, skin_start, node, node_weight, frame, v0, position, velocity0, turning0, before)
    bindings.row_velocities(start, point, weight, at, skin_start, node, node_weight, frame, v1, position, velocity1, turning1, after)
    return _row_work(start, point, weight, owner, normal, impulse, before, after, pair, work)


@kernel
def _row_work(start, point, weight, owner, normal, impulse, before, after, pair, work):  # type: ignore[no-untyped-def]
    """Work along the normals and across them, summed over rows of the same pair that follow each other; how many such runs there are, and
    whether their keys rise."""
    runs, rise = 0, True
    for r in range(len(impulse)):
        a, b = -1, -1
        most, least = 0.0, 0.0  # beyond the end of an edge a point of A has a small weight of B's sign
        for k in range(start[r], start[r + 1]):
            if weight[k] > most:
                most, a = weight[k], owner[point[k]]
            elif weight[k] < least:
                least, b = weight[k], owner[point[k]]
        key = ((min(a, b) + 1) << HALF) | (max(a, b) + 1)
        if runs == 0 or pair[runs - 1] != key:
            rise = rise and (runs == 0 or pair[runs - 1] < key)
            pair[runs], work[runs, 0], work[runs, 1] = key, 0.0, 0.0
            runs += 1
        n, j, v = load(normal, r), load(impulse, r), add(load(before, r), load(after, r))
        along = 0.5 * dot(j, n) * dot(v, n)
        work[runs - 1, 0] += along
        work[runs - 1, 1] += 0.5 * dot(j, v) - along
    return runs, rise


# -- from touch to touch

LONG = 10  # windows: what a touch gives back later than this after it began is no rebound, and is held against a new beginning
KEPT = {
    "normal": 0.0,  # [J] work along the normals so far
    "friction": 0.0,  # [J] work across them so far
    "rubbed": 0.0,  # [J] the same, without what the normals took in the same step: see `_book`
    "base": 0.0,  # [J] `normal` when this touch began, and what the contact may have stored then
    "past": 0.0,  # [J] by which earlier touches ended above their base, summed
    "most": 0.0,  # [J] the largest of these
    "when": np.nan,  # [s] the end of that touch
    "touches": 0.0,
    "begun": -np.inf,  # [s] when this touch began to be held against its base
    "last": -np.inf,  # [s] when they touched last
    "before": 0.0,  # [J] kinetic energy of both when they began to touch
    "after": 0.0,  # [J] and when they touched last
}
Pairs = dict[str, np.ndarray]


def booked(pairs: Pairs, work: PairWork, contacts: Contacts, time: float, window: Callable[[Ints, Ints], Floats]) -> Pairs:
    """The accounts of all pairs that ever touched, with one step more; `time` [s] at its end.

    A touch is over when they have been apart for longer than their window [s].
    """
    if len(work.pair) == 0:
        return pairs
    pairs, at = _with(pairs, work.pair)
    start, wide = time - contacts.dt, window(*ends_of(work.pair))
    going_on = (pairs["last"][at] >= start - wide) & (pairs["begun"][at] < start - LONG * wide)
    stored = _stored(work.pair, contacts) if going_on.any() else np.zeros(len(at))
    _book(at, wide, stored, work.normal, work.friction, work.before, work.after, time, start, *(pairs[name] for name in KEPT))
    return pairs


@kernel
def _book(  # type: ignore[no-untyped-def]
    at, wide, stored, by_normal, by_friction, at_start, at_end, time, start, normal, friction, rubbed, base, past, most, when, touches,
    begun, last, before, after,
):  # fmt: skip
    """Put a step into the accounts, columns as in KEPT; stored [J]: what the contacts of touches that go on for long may hold.

    Friction opposes the slip with which a step ends. A blow may have turned that round within the step, and against the mean of both the
    work of friction is above zero where bodies hit each other askew; what both impulses did together is not. So friction has added only
    what it gave beyond what the normals took in the same step.
    """
    for n in range(len(at)):
        k = at[n]
        new = last[k] < start - wide[n]
        if new or begun[k] < start - LONG * wide[n]:
            gain = max(normal[k] - base[k], 0.0)
            past[k] += gain
            if gain > most[k]:
                most[k], when[k] = gain, last[k]
            base[k], begun[k] = normal[k] + (0.0 if new else stored[n]), start
        if new:
            before[k] = at_start[n]
            touches[k] += 1.0
        normal[k] += by_normal[n]
        friction[k] += by_friction[n]
        rubbed[k] += by_friction[n] if by_friction[n] < 0.0 else max(0.0, by_friction[n] + min(by_normal[n], 0.0))
        last[k], after[k] = time, at_end[n]


def gains(pairs: Pairs) -> tuple[Floats, Floats, Floats]:
    """Energy that each pair made so far [J], the largest of a touch [J], and the end of that [s]."""
    here = np.maximum(pairs["normal"] - pairs["base"], 0.0)
    return pairs["past"] + here, np.maximum(pairs["most"], here), np.where(here > pairs["most"], pairs["last"], pairs["when"])


def _with(pairs: Pairs, wanted: Ints) -> tuple[Pairs, Ints]:
    """A copy of the accounts that has these pairs too, and where they are in it."""
    known = pairs.get("pair", np.zeros(0, np.int64))
    at = find(known, wanted)
    if at.min(initial=0) >= 0 and KEPT.keys() <= pairs.keys():
        return {name: values.copy() for name, values in pairs.items()}, at
    every = np.union1d(known, wanted)
    out: Pairs = {"pair": every}
    at = np.searchsorted(every, known)
    for name, start in KEPT.items():
        out[name] = np.full(len(every), start)
        out[name][at] = pairs.get(name, start)  # of a checkpoint that is older than a column
    return out, np.searchsorted(every, wanted)


def _stored(pair: Ints, contacts: Contacts) -> Floats:
    """The most that contacts may hold as springs [J], (k,): force times depth, twice what linear ones hold."""
    out = np.zeros(len(pair))
    if len(contacts) and len(pair):
        key = key_of(contacts.a, contacts.b)
        place = np.minimum(np.searchsorted(pair, key), len(pair) - 1)
        held = np.nan_to_num(np.maximum(contacts.normal_force, 0.0) * np.maximum(contacts.depth, 0.0))
        np.add.at(out, place, np.where(pair[place] == key, held, 0.0))
    return out


@dataclass(frozen=True)
class PairBooks:
    """What contact did between two bodies so far."""

    a: str
    b: str
    normal: float  # [J] work along the normals, on both together
    friction: float  # [J] work of friction; above zero only where blows turned the slip round within a step, see `_book`
    gain: float  # [J] that came back along the normals beyond what was taken, summed over touches
    when: float  # [s] when most of it came back; NaN: nothing did
    touches: int
    last: float  # [s] when they touched last
    before: float  # [J] kinetic energy of both bodies when the last touch began
    after: float  # [J] and at its end, or now


def pair_books(pairs: Pairs, names: list[str]) -> list[PairBooks]:
    """One for every two bodies that have touched, most work first."""
    if not pairs:
        return []
    a, b = ends_of(pairs["pair"])
    name = lambda k: names[k] if k >= 0 else "the world"
    (gain, _, when), work = gains(pairs), np.abs(pairs["normal"]) + np.abs(pairs["friction"])
    return [
        PairBooks(
            name(a[k]), name(b[k]), float(pairs["normal"][k]), float(pairs["friction"][k]), float(gain[k]), float(when[k]),
            int(pairs["touches"][k]), *(float(pairs[each][k]) for each in ("last", "before", "after")),
        )
        for k in np.argsort(-work, kind="stable")
    ]  # fmt: skip


NAMED = 3  # pairs in a sentence


def gain_warnings(pairs: Pairs, bodies: Bodies, moved: float, share: float) -> list[str]:
    """Sentences about pairs that made energy, if it is more than a share of what moved in the run [J]; fragments are what they were."""
    if not pairs:
        return []
    names, origin = bodies.names, np.append(bodies.origin(), -1)
    a, b = (origin[end] for end in ends_of(pairs["pair"]))
    family, which = np.unique(key_of(a, b), return_inverse=True)
    each, most, when = gains(pairs)
    gain = summed(which, each, len(family))
    rubbed = summed(which, pairs.get("rubbed", pairs["friction"]), len(family))
    said = []
    if gain.sum() > share * moved:
        found = []
        for k in [k for k in np.argsort(-gain, kind="stable")[:NAMED] if gain[k] > 0.1 * gain.sum()]:
            worst = np.flatnonzero(which == k)[np.argmax(most[which == k])]
            found.append(f"{_called(family[k], names)} {gain[k]:.3g} J (most of it up to t = {when[worst]:.4g} s)")
        said.append(
            f"Contact gave back more than it took: {', '.join(found)}; with all others {gain.sum() / moved:.1%} of what moved in this run "
            "came from nowhere. Forces and rebounds of these are too large: a quarter of dt, half the edge where round bodies roll from "
            "face to face, or another contact method shows by how much."
        )
    if rubbed.max(initial=0.0) > share * moved:
        k = int(rubbed.argmax())
        said.append(
            f"Friction between {_called(family[k], names)} added {rubbed[k]:.3g} J, {rubbed[k] / moved:.1%} of what moved in this run, "
            "and it can only take energy: they slide in ways that they should not. Use a smaller dt, or more `sweeps` where the "
            "method has them."
        )
    return said


def _called(key: Any, names: list[str]) -> str:
    a, b = (int(end) for end in ends_of(key))
    return f"'{names[a] if a >= 0 else 'the world'}' and '{names[b]}'"
