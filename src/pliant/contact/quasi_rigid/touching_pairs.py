"""The pairs of bodies of a running world that may touch, as two sides of an elastic contact, and what is found between them.

Bodies near each other are found by balls around them. Each pair is resolved by `resolve`, in compiled code; only the loop over pairs that
are near each other runs in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.quasi_rigid.response import RESPONSES
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Tabulated, VolumePreserving
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.body_pairs import overlapping_balls
from pliant.detect.keys import find
from pliant.detect.surfels.carried import Carried, Surfels
from pliant.model import Rest
from pliant.world.motion import Motion

NO_IDS = np.zeros(0, np.int64)
BODIES, SAMPLES = 2**19, 2**24  # most bodies, and samples of a body, that stable ids have room for


class How(NamedTuple):
    """How pairs are resolved: options of the method."""

    mode: str
    level: int
    accuracy: float | None


@dataclass(frozen=True)
class Touch:
    """Two bodies that are near each other, where they are, and their contact."""

    a: int
    b: int
    sides: tuple[Side, Side]
    result: ContactResult

    @property
    def pair(self) -> int:
        """Stable id of the two bodies."""
        return self.a * BODIES + self.b

    def soft(self, motion: Motion) -> bool:
        """Whether one of the two has no frame."""
        return bool(min(motion.bodies.frame[self.a], motion.bodies.frame[self.b]) < 0)

    def keys(self, nodes: Ints) -> Ints:
        """Stable ids of nodes of the contact."""
        return (2 * self.pair + self.result.owner[nodes]) * SAMPLES + self.result.sample[nodes]


class Resolved:
    """Contacts that were resolved last, and from what: whoever asks for the very same gets them at once, and else to the same bits.

    So it changes no result. The end of a step is the start of the next one, and of a step that is taken again the start is the same.
    """

    def __init__(self, rest: Rest) -> None:
        self.known: dict[str, dict[tuple[int, int], tuple[tuple[How, bytes], Touch]]] = {"start": {}, "end": {}}

    def find(self, a: int, b: int, asked: tuple[How, bytes]) -> Touch | None:
        for known in self.known.values():
            if (a, b) in known and known[a, b][0] == asked:
                return known[a, b][1]
        return None


def look(motion: Motion, when: str, how: How, last: dict[str, np.ndarray]) -> list[Touch]:
    """Contacts of all pairs that touch at one end of the step; `last` are forces to begin with."""
    carried, resolved = motion.kept(Carried), motion.kept(Resolved)
    surfels = carried.at(motion, when)
    bounds = carried.bounds(surfels)
    near = overlapping_balls(bounds.centre, bounds.radius)
    near = near[motion.pairs.meet(near[:, 0], near[:, 1])]
    sides = {int(body): side_of(motion, int(body), when, surfels) for body in np.unique(near)}
    known = {}
    for a, b in near.tolist():
        pair, start = (sides[a], sides[b]), last_forces(last, a * BODIES + b)
        asked = how, _bytes(pair, start)
        touch = resolved.find(a, b, asked)
        if touch is None:
            touch = Touch(a, b, pair, resolve(*pair, how.mode, level=how.level, accuracy=how.accuracy, start=start))
        known[a, b] = asked, touch
    resolved.known[when] = known
    return [touch for _, touch in known.values() if np.any(touch.result.contact)]


def _bytes(sides: tuple[Side, Side], start: ContactResult | None) -> bytes:
    """All that a contact follows from, to the last bit: where the sides are, how they give way, and forces to begin with."""
    parts: list[Floats | Ints] = []
    for side in sides:
        parts += [side.rotation, side.translation, *(() if side.response is None else side.response.code)]
        if side.nodes is not None and side.nodes.moving:
            parts += [side.nodes.points, side.nodes.normals]
    if start is not None:
        parts += [start.owner, start.sample, start.points, start.areas, start.P, np.array(start.level)]
    return b"".join(part.tobytes() for part in parts)


def side_of(motion: Motion, body: int, when: str, surfels: Surfels) -> Side:
    """A body as one side of a contact."""
    carried = motion.kept(Carried)
    samples = carried.rest(body) if carried.exact[body] is not None and carried.riding[body] is not None else None
    if motion.bodies.frame[body] < 0:
        _ = carried.rest(body).spheres  # those of rest, which moved surfaces refit
    return Side(carried.posed(motion, body, when, surfels), motion.kept(Responses).of(motion, body), samples=samples)


class Responses:
    """The responses of bodies: made when they are first asked for, and anew when a material changes."""

    def __init__(self, rest: Rest) -> None:
        self.known: dict[int, tuple[bytes, Response | None]] = {}

    def of(self, motion: Motion, body: int) -> Response | None:
        """None: rigid."""
        gives, table = motion.bodies.gives[body], motion.bodies.tables[body]
        if self.known.get(body, (b"", None))[0] != gives.tobytes():
            self.known[body] = gives.tobytes(), response_of(gives, table)
        return self.known[body][1]


def response_of(gives: Floats, table: Floats) -> Response | None:
    """From C, kind and length, or a table; None: rigid."""
    c, kind, length = float(gives[0]), int(gives[1]), float(gives[2])
    if c == 0.0:
        return None
    if kind == RESPONSES["table"]:
        return Tabulated(table[:, 0], table[:, 1], c)
    if kind == RESPONSES["volume-preserving"]:
        return VolumePreserving(c, length)
    return LayerCut(c, length) if kind == RESPONSES["layer"] else Boussinesq(c)


def last_forces(memory: dict[str, np.ndarray], pair: int) -> ContactResult | None:
    """Forces of the last step between two bodies, as a start for the next solution."""
    first, last = np.searchsorted(memory.get("key", NO_IDS), [2 * pair * SAMPLES, 2 * (pair + 1) * SAMPLES])
    if first == last:
        return None
    key, at, area, force = (memory[name][first:last] for name in ("key", "at", "area", "P"))
    none, level = np.zeros(len(key)), int(memory["level"][find(memory["pair"], np.array([pair]))[0]])
    return ContactResult(
        key // SAMPLES % 2, key % SAMPLES, at, at, np.zeros((len(key), 3)), area, none, force, none, none, none, "solved", "master",
        0, 0, 0, 0.0, (0.0, 0.0), NO_IDS, 0, 0, level=level,
    )  # fmt: skip


def refuse(motion: Motion) -> None:
    """Say which bodies this method cannot serve: pairs of which neither gives way, bodies without a surface, and self-contact."""
    carried, names, gives = motion.kept(Carried), motion.bodies.names, motion.bodies.gives[:, 0] > 0.0
    i, j = np.triu_indices(len(names), 1)
    meet = motion.pairs.meet(i, j)
    i, j = i[meet], j[meet]
    hard = np.flatnonzero(~gives[i] & ~gives[j])
    if len(hard):
        one, two = names[i[hard[0]]], names[j[hard[0]]]
        raise PliantError(
            f"Contact of '{one}' and '{two}': the method `quasi-rigid` needs at least one of them to be quasi-rigid, since only then "
            "a surface gives way. Make one of them model = \"quasi-rigid\", name another method for this pair "
            f"(scene.pair(\"{one}\", \"{two}\", method=...)), or let them pass (contact=False)."
        )
    bare = [b for b in np.unique(np.concatenate([i, j])).tolist() if carried.riding[b] is None]
    both = np.flatnonzero(np.isin(i, bare) & np.isin(j, bare))
    shapeless = [b for b in bare if carried.exact[b] is None]
    if len(both) or shapeless:
        b = int(shapeless[0]) if shapeless else int(i[both[0]])
        raise PliantError(f"Body '{names[b]}' has neither a surface nor points with areas, so nothing can be pressed on it.")
    motion.refuse_self_contact("quasi-rigid")
