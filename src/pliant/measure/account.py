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
from pliant.kernels import dot, kernel, load
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
    impulse = np.concatenate([impulse for rows, impulse in motion.contact_rows if len(rows)])
    state, skin, driven = world.state, motion.skin, world.model.drives.frame
    velocity = motion.velocity_frames.copy()
    velocity[driven] = (motion.position - state.position)[driven] / motion.dt
    before, after = np.empty((2, len(rows), 3))
    turning = world.angular_velocities(state.rotation, state.spin), motion.angular_velocity()
    given = rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame
    bindings.row_velocities(*given, state.v, motion.position, state.velocity, turning[0], before)
    bindings.row_velocities(*given, motion.v, motion.position, velocity, turning[1], after)
    ends, work = np.empty((2, len(rows)), np.int64), np.empty((2, len(rows)))
    _row_work(rows.start, rows.point, rows.weight, motion.kept(Owner).body, rows.normal, impulse, before + after, ends, work)
    pair, which = np.unique(key_of(ends[0], ends[1]), return_inverse=True)
    sums = (summed(which, each, len(pair)) for each in work)
    kinetic = (
        kinetic_energies(world, state.v, state.velocity, state.spin, turning[0]),
        kinetic_energies(world, motion.v, velocity, motion.spin, turning[1]),
    )
    return PairWork(pair, *sums, *(_of_both(each, *ends_of(pair)) for each in kinetic))


def kinetic_energies(world: World, v: Floats, velocity: Floats, spin: Floats, turning: Floats) -> Floats:
    """Kinetic energy of each body that can move [J], (B,)."""
    nodes, frames, count = world.model.nodes, world.model.frames, len(world.model.bodies)
    out = summed(nodes.body, 0.5 * nodes.mass * np.einsum("ni,ni->n", v, v), count)
    twice = frames.mass * np.einsum("fi,fi->f", velocity, velocity) + np.einsum("fi,fi->f", spin, turning)
    return out + summed(frames.body, np.where(frames.inverse > 0.0, 0.5 * twice, 0.0), count)


def _of_both(energy: Floats, a: Ints, b: Ints) -> Floats:
    """Of two bodies, or of one that touches itself or the world."""
    return np.where(a >= 0, energy[a], 0.0) + np.where(b != a, energy[b], 0.0)


@kernel
def _row_work(start, point, weight, owner, normal, impulse, twice, ends, work):  # type: ignore[no-untyped-def]
    """Bodies of both sides of each row, and its work along the normal and across it; `twice` the mean velocity."""
    for r in range(len(impulse)):
        ends[0, r], ends[1, r] = -1, -1
        most, least = 0.0, 0.0  # beyond the end of an edge a point of A has a small weight of B's sign
        for k in range(start[r], start[r + 1]):
            if weight[k] > most:
                most, ends[0, r] = weight[k], owner[point[k]]
            elif weight[k] < least:
                least, ends[1, r] = weight[k], owner[point[k]]
        n, j, v = load(normal, r), load(impulse, r), load(twice, r)
        work[0, r] = 0.5 * dot(j, n) * dot(v, n)
        work[1, r] = 0.5 * dot(j, v) - work[0, r]


# -- from touch to touch

LONG = 10  # windows: what a touch gives back later than this after it began is no rebound, and is held against a new beginning
KEPT = {
    "normal": 0.0,  # [J] work along the normals so far
    "friction": 0.0,  # [J] work across them so far
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
    pairs = _with(pairs, work.pair)
    at, start, wide = np.searchsorted(pairs["pair"], work.pair), time - contacts.dt, window(*ends_of(work.pair))
    now = {name: pairs[name][at] for name in KEPT}
    new = now["last"] < start - wide
    over = new | (now["begun"] < start - LONG * wide)
    gain = np.where(over, np.maximum(now["normal"] - now["base"], 0.0), 0.0)
    now["past"] += gain
    now["when"] = np.where(gain > now["most"], now["last"], now["when"])
    now["most"] = np.maximum(now["most"], gain)
    now["base"] = np.where(over, now["normal"] + np.where(new, 0.0, _stored(work.pair, contacts)), now["base"])
    now["begun"] = np.where(over, start, now["begun"])
    now["before"] = np.where(new, work.before, now["before"])
    now["touches"] += new
    now["normal"], now["friction"] = now["normal"] + work.normal, now["friction"] + work.friction
    now["last"], now["after"] = np.full(len(at), time), work.after
    for name, values in now.items():
        pairs[name][at] = values
    return pairs


def gains(pairs: Pairs) -> tuple[Floats, Floats, Floats]:
    """Energy that each pair made so far [J], the largest of a touch [J], and the end of that [s]."""
    here = np.maximum(pairs["normal"] - pairs["base"], 0.0)
    return pairs["past"] + here, np.maximum(pairs["most"], here), np.where(here > pairs["most"], pairs["last"], pairs["when"])


def _with(pairs: Pairs, wanted: Ints) -> Pairs:
    """A copy of the accounts that has these pairs too."""
    known = pairs.get("pair", np.zeros(0, np.int64))
    every = np.union1d(known, wanted)
    out: Pairs = {"pair": every}
    at = np.searchsorted(every, known)
    for name, start in KEPT.items():
        out[name] = np.full(len(every), start)
        out[name][at] = pairs.get(name, np.zeros(0))
    return out


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
    friction: float  # [J] work of friction; below zero
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
    rubbed = summed(which, pairs["friction"], len(family))
    said = []
    if gain.sum() > share * moved:
        found = []
        for k in [k for k in np.argsort(-gain, kind="stable")[:NAMED] if gain[k] > 0.1 * gain.sum()]:
            worst = np.flatnonzero(which == k)[np.argmax(most[which == k])]
            found.append(f"{_called(family[k], names)} {gain[k]:.3g} J (most of it up to t = {when[worst]:.4g} s)")
        said.append(
            f"Contact gave back more than it took: {', '.join(found)}; with all others {gain.sum() / moved:.1%} of what moved in this run "
            "came from nowhere. Forces and rebounds of these are too large: a quarter of dt, or another contact method, shows by how much."
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
