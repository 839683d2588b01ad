"""The pairs of bodies of a running world that may touch, as two sides of an elastic contact, and what is found between them.

Bodies near each other are found by balls around them. Each pair is resolved by `resolve`, in compiled code; only the loop over pairs that
are near each other runs in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.resolve import resolve
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Tabulated, VolumePreserving
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.carried import Carried, Surfels
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.model import RESPONSES
from pliant.world.motion import Motion

NO_IDS = np.zeros(0, np.int64)
SHIFT = 2**32  # of a pair against the samples in the key of a node


@dataclass(frozen=True)
class How:
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
    def touches(self) -> bool:
        return bool(np.any(self.result.contact))

    def pair(self, motion: Motion) -> int:
        """Stable id of the pair."""
        return self.a * len(motion.bodies) + self.b

    def soft(self, motion: Motion) -> bool:
        """Whether one of the two has no frame."""
        return bool(min(motion.bodies.frame[self.a], motion.bodies.frame[self.b]) < 0)


class Candidates:
    """Pairs that this method serves, and balls around bodies with a frame; made once. Refuses pairs of which neither gives way."""

    def __init__(self, motion: Motion) -> None:
        carried, count = motion.kept(Carried), len(motion.bodies)
        i, j = np.triu_indices(count, 1)
        i, j = i.astype(np.int64), j.astype(np.int64)
        meet = motion.pairs.meet(i, j)
        self.i, self.j = i[meet], j[meet]
        self._refuse(motion, carried)
        self.local, self.radius = np.zeros((count, 3)), np.zeros(count)
        for b, riding in enumerate(carried.riding):
            if riding is None:
                self.radius[b] = np.inf
            elif motion.bodies.frame[b] >= 0:
                self.local[b] = 0.5 * (riding.points.min(axis=0) + riding.points.max(axis=0))
                self.radius[b] = np.linalg.norm(riding.points - self.local[b], axis=1).max()
        self.soft = np.flatnonzero((motion.bodies.frame < 0) & np.isin(np.arange(count), np.concatenate([self.i, self.j])))
        for soft in self.soft.tolist():  # neighbours and spheres of rest, which moved surfaces refit
            _ = carried.rest(soft).graph, carried.rest(soft).spheres

    def _refuse(self, motion: Motion, carried: Carried) -> None:
        names, gives = motion.bodies.names, motion.bodies.gives[:, 0] > 0.0
        hard = np.flatnonzero(~gives[self.i] & ~gives[self.j])
        if len(hard):
            one, two = names[self.i[hard[0]]], names[self.j[hard[0]]]
            raise PliantError(
                f"Contact of '{one}' and '{two}': the method `quasi-rigid` needs at least one of them to be quasi-rigid, since only then "
                "a surface gives way. Make one of them model = \"quasi-rigid\", name another method for this pair "
                f"(scene.pair(\"{one}\", \"{two}\", method=...)), or let them pass (contact=False)."
            )
        bare = [b for b in np.unique(np.concatenate([self.i, self.j])).tolist() if carried.riding[b] is None]
        both = np.flatnonzero(np.isin(self.i, bare) & np.isin(self.j, bare))
        shapeless = [b for b in bare if carried.exact[b] is None]
        if len(both) or shapeless:
            b = int(shapeless[0]) if shapeless else int(self.i[both[0]])
            raise PliantError(f"Body '{names[b]}' has neither a surface nor points with areas, so nothing can be pressed on it.")
        motion.refuse_self_contact("quasi-rigid")

    def near(self, motion: Motion, when: str, surfels: Surfels | None) -> tuple[Ints, Ints]:
        """Pairs whose balls overlap."""
        bodies, carried = motion.bodies, motion.kept(Carried)
        position, rotation = (
            (motion.position_start, motion.rotation_start) if when == "start" else (motion.position, motion.rotation)
        )
        centre, radius = np.zeros((len(bodies), 3)), self.radius.copy()
        framed = np.flatnonzero(bodies.frame >= 0)
        f = bodies.frame[framed]
        centre[framed] = position[f] + np.einsum("fij,fj->fi", quaternion_to_matrix(rotation[f]), self.local[framed])
        if surfels is not None:
            bounds = carried.bounds(surfels)
            centre[self.soft], radius[self.soft] = bounds.centre[self.soft], bounds.radius[self.soft]
        close = np.linalg.norm(centre[self.i] - centre[self.j], axis=1) <= radius[self.i] + radius[self.j]
        return self.i[close], self.j[close]


class Found:
    """The contacts last resolved and where the bodies were: the end of a step is the start of the next one. Kept for speed alone."""

    def __init__(self, motion: Motion) -> None:
        self.known: dict[tuple[int, int], tuple[bytes, Touch]] = {}


def look(motion: Motion, when: str, how: How, last: dict[str, np.ndarray]) -> list[Touch]:
    """Contacts of all pairs that are near each other at one end of the step; `last` are forces to begin with."""
    carried, candidates, found = motion.kept(Carried), motion.kept(Candidates), motion.kept(Found)
    surfels = carried.at(motion, when) if len(candidates.soft) else None
    first, second = candidates.near(motion, when, surfels)
    sides: dict[int, Side] = {}
    out, known = [], {}
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        for body in (a, b):
            if body not in sides:
                sides[body] = side_of(motion, body, when, surfels)
        pair, place = (sides[a], sides[b]), _place(sides[a], sides[b])
        if found.known.get((a, b), (b"", None))[0] == place:
            touch = found.known[a, b][1]
        else:
            start = remembered(last, a * len(motion.bodies) + b)
            result = resolve(*pair, how.mode, level=how.level, accuracy=how.accuracy, start=start)
            touch = Touch(a, b, pair, result)
        known[a, b] = (place, touch)
        out.append(touch)
    found.known |= known
    return [touch for touch in out if touch.touches]


def side_of(motion: Motion, body: int, when: str, surfels: Surfels | None) -> Side:
    """A body as one side of a contact."""
    carried = motion.kept(Carried)
    samples = carried.rest(body) if carried.exact[body] is not None and carried.riding[body] is not None else None
    return Side(carried.posed(motion, body, when, surfels), motion.kept(Responses).of(motion, body), samples=samples)


class Responses:
    """The responses of bodies: made when they are first asked for, and anew when a material changes."""

    def __init__(self, motion: Motion) -> None:
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


def _place(a: Side, b: Side) -> bytes:
    """Where two sides are, to the last bit."""
    parts = []
    for side in (a, b):
        parts += [side.rotation.tobytes(), side.translation.tobytes(), np.float64(side.compliance).tobytes()]
        if side.nodes is not None and side.nodes.moving:
            parts.append(side.nodes.points.tobytes())
    return b"".join(parts)


# -- what outlives a step


def node_keys(bodies: int, touch: Touch, nodes: Ints) -> Ints:
    """Stable ids of nodes of a contact."""
    pair = (touch.a * bodies + touch.b) * 2 + touch.result.owner[nodes]
    return pair * SHIFT + touch.result.sample[nodes]


def remembered(memory: dict[str, np.ndarray], pair: int) -> ContactResult | None:
    """Forces of the last step between two bodies, as a start for the next solution."""
    first, last = np.searchsorted(memory.get("key", NO_IDS), [2 * pair * SHIFT, 2 * (pair + 1) * SHIFT])
    if first == last:
        return None
    key, at, area, force = (memory[name][first:last] for name in ("key", "at", "area", "P"))
    none, level = np.zeros(len(key)), int(memory["level"][np.searchsorted(memory["pair"], pair)])
    return ContactResult(
        key // SHIFT % 2, key % SHIFT, at, at, np.zeros((len(key), 3)), area, none, force, none, none, none, "solved", "master",
        0, 0, 0, 0.0, (0.0, 0.0), NO_IDS, 0, 0, level=level,
    )  # fmt: skip
