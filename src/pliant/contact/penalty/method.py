"""The methods `penalty` and `continuous-penalty`: springs between pairs of features that endure.

After the thesis on continuous penalty forces (sections 7, 9 and 11 of the methods page; Tang et al. 2012). A step:
    records of the last step and pairs that enter during the predicted motion -> impulses -> push -> look again, at most five rounds;
    every record is handled once a step; at its end those that have come apart are deleted.
`penalty` takes the depth at the end of the step (DPF), `continuous-penalty` the integral over the time of penetration (CPF).

Where we differ: stiffness from the give of the contact unless it is given; the true integral instead of a constant length of the
normal; Coulomb friction in impulse form; weights follow the foot of the contact.

Limitations: straight paths within a step; bodies that start inside each other are pushed out through the faces nearest to their points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import anchored, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.deep import ways_out
from pliant.contact.penalty.find import Finder
from pliant.contact.penalty.impulses import CONSTANT, DISCRETE, EXACT
from pliant.contact.penalty.inside import at_the_end, edges_crossing, points_inside
from pliant.contact.penalty.last import Last
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.plausible import lookup, plausible
from pliant.contact.penalty.records import EDGE_EDGE, NAMES, VERTEX_SHAPE, Records
from pliant.contact.penalty.round import Handled, handle
from pliant.contact.penalty.rules import Redefinition
from pliant.contact.penalty.shapes import shape_gaps
from pliant.contact.penalty.stages import admit, finish, ready
from pliant.contact.pressure import Pressure
from pliant.world.motion import Motion

OFTEN = 0.1  # of the records in a step: so many refused moves are worth a word


@dataclass(frozen=True)
class Penalty(Options):
    """Discrete penalty forces (DPF): the depth at the end of the step, for all of it."""

    detection: str = "continuous"  # how pairs are found; "discrete": from the end of the step alone

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def __post_init__(self) -> None:
        self.check(4.0 / 3.0)
        if self.detection not in ("continuous", "discrete"):
            raise PliantError(f'detection = "{self.detection}": there are "continuous" and "discrete".')

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        with self.through(motion):
            if self.detection == "discrete":
                return respond_at_the_end(self, motion, memory)
            return respond_along(self, DISCRETE, motion, memory)


@dataclass(frozen=True)
class ContinuousPenalty(Options):
    """Continuous penalty forces (CPF): the depth integrated over the time of penetration."""

    integral: str = "exact"  # of P N / L^2; "constant": with a constant L, as in the thesis

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def __post_init__(self) -> None:
        self.check(2.0)
        if self.integral not in ("exact", "constant"):
            raise PliantError(f'integral = "{self.integral}": there are "exact" and "constant".')

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        with self.through(motion):
            return respond_along(self, EXACT if self.integral == "exact" else CONSTANT, motion, memory)


def respond_along(options: Options, mode: int, motion: Motion, memory: Memory) -> Answer:
    """Pairs by continuous detection: rounds of impulses until nothing new presses."""
    finder, rules = motion.kept(Finder), options.rules()
    batch = seen = recall(memory)
    since = np.zeros(len(batch))
    done, last = list[Handled](), Last.recalled(memory)
    for k in range(options.rounds + 1):
        fresh, begun = newcomers(motion, finder, seen, rules, not memory and k == 0)
        if k == options.rounds or len(fresh) + len(batch) == 0:
            break
        whole, since = Records.joined([batch, fresh]), np.concatenate([since, begun])
        seen = Records.joined([seen, fresh])
        batch = whole
        if (whole.kind == EDGE_EDGE).any():
            batch = plausible(motion, motion.kept(Neighbours), whole, ready(motion.end, whole, rules)[0], Records.none())
            since = carried(batch, whole, since)
        done.append(handle(options, mode, motion, batch, since, shape_gaps(motion, batch), done, last))
        batch, since = Records.none(), np.zeros(0)
    contacts = [report(motion, h) for h in done]
    records = Records.joined([Records.none(), *(h.records for h in done)])
    records, counts = end_of_step(motion, finder, records, rules)
    return answer(motion, contacts, Records.joined([records, fresh]), done, tell(options, done, len(fresh), counts.get("refused", 0)))


def newcomers(motion: Motion, finder: Finder, seen: Records, rules: Redefinition, first: bool) -> tuple[Records, Floats]:
    """Pairs that begin to press, put right where they are hooked (11.5), and when; in the first step also those that start inside."""
    found, since = finder.new(motion, seen)
    if first:
        inside = points_inside(motion)[0]
        taken = finder.vertex_keys(motion, Records.joined([seen, found]))
        apart = ~np.isin(finder.vertex_key(motion, inside.feature_a, inside.b), taken) & ~finder.open[inside.b]
        edges = edges_crossing(motion, finder, Records.joined([inside, found]))
        edges = edges.select(carried(edges, found, np.ones(len(found))) == 0.0)
        found = Records.joined([found, inside.select(apart & (inside.feature_a < motion.bodies.point_start[-1])), edges])
        since = np.concatenate([since, np.zeros(len(found) - len(since))])
    if (found.kind == VERTEX_SHAPE).all():
        return found, since
    neighbours = motion.kept(Neighbours)
    new, _ = admit(motion.end, found, seen, neighbours, rules, ways_out(motion, found) if rules.deep else None)
    if rules.hooked == "skip":
        found.hooked = categories(motion.end, found, neighbours, rules.categories)
        found.active &= ~found.hooked
    new = plausible(motion, neighbours, found, new, seen)
    return new, carried(new, found, since)


def end_of_step(motion: Motion, finder: Finder, records: Records, rules: Redefinition) -> tuple[Records, dict[str, int]]:
    """The records that go on: vertices on the face they are under now, without pairs that have come apart (11.1, 11.3)."""
    if len(records) == 0:
        return records, {}
    known = shape_gaps(motion, records)
    records = records.select(~known.rows | (known.after < 0.0))
    if (records.kind == VERTEX_SHAPE).all():
        return records, {}
    neighbours = motion.kept(Neighbours)
    ways = ways_out(motion, records) if rules.deep else None
    new, counts = finish(motion.start, motion.end, records, neighbours, finder.tree.tree, finder.vertex_face, rules, ways)
    return plausible(motion, neighbours, records, new, Records.none()), counts


def respond_at_the_end(options: Options, motion: Motion, memory: Memory) -> Answer:
    """Pairs by their places at the end of the step: found anew every step, in one round."""
    records, known = at_the_end(motion, motion.kept(Finder))
    before = recall(memory)
    records.stiffness, records.stretch = carried(records, before, before.stiffness), carried(records, before, before.stretch)
    records.age = carried(records, before, before.age)
    done = [handle(options, DISCRETE, motion, records, np.zeros(len(records)), known, [], Last.recalled(memory))] if len(records) else []
    return answer(motion, [report(motion, h) for h in done], records, done, tell(options, done, 0, 0))


def answer(motion: Motion, contacts: list[Contacts], records: Records, done: list[Handled], warnings: list[str]) -> Answer:
    records.age += 1
    memory = {name: getattr(records, name) for name in NAMES} | forces(motion, done).remembered()
    return Answer(Contacts.joined(contacts) if contacts else Contacts.none(motion.dt), memory, warnings=warnings)


def report(motion: Motion, done: Handled) -> Contacts:
    """One row per impulse; anchors are left where the step ends."""
    rows, records = done.rows, done.records.select(done.pushed)
    slide = motion.slide(rows)
    slip = tangential(slide, rows.normal)
    held = anchored(records.stretch, slip, done.sticks, done.dragged, rows.normal)
    done.records.stretch[:] = 0.0
    done.records.stretch[done.pushed] = held
    gap = done.gap + np.einsum("ri,ri->r", slide - done.slide, rows.normal)
    return Contacts(
        a=records.a, b=records.b, feature_a=records.feature_a, feature_b=records.feature_b, point=rows.at, normal=rows.normal,
        gap=gap, impulse=done.impulse, friction_impulse=done.friction, sticking=done.sticks.astype(np.float64), slip=slip,
        area=motion.kept(Pressure).row_areas(motion.end, rows, done.impulse), dt=motion.dt, support=Support.of(rows),
    )  # fmt: skip


def forces(motion: Motion, done: list[Handled]) -> Last:
    """What pushed in the step."""
    if not done:
        return Last.none()
    key, impulse, friction = zip(*((h.records.select(h.pushed).key, h.impulse, h.friction) for h in done), strict=True)
    return Last(np.concatenate(key), np.concatenate(impulse) / motion.dt, np.concatenate(friction) / motion.dt)


def tell(options: Options, done: list[Handled], left: int, refused: int) -> list[str]:
    """What went on in the step that a user should know of."""
    warnings = []
    if left:
        warnings.append(
            f"Pairs still began to touch after {options.rounds} rounds of contact: they push from the next step on. "
            "A smaller dt, or more `rounds`, resolves them in time."
        )
    if any(h.guarded for h in done):
        warnings.append("Contacts on faces or edges that turn over within a step took the depth at its end; a smaller dt avoids that.")
    if refused > OFTEN * sum(len(h.records) for h in done):
        warnings.append(
            "Many vertices are nearly under two faces, and were kept from going back and forth between them: contacts are deep "
            "for the size of the triangles there. A smaller dt, or a larger `s`, makes them shallower."
        )
    return warnings


def recall(memory: Memory) -> Records:
    """Records of the last step."""
    if "kind" not in memory:
        return Records.none()
    return Records(**{name: memory[name].copy() for name in NAMES})


def carried(records: Records, source: Records, values: np.ndarray) -> np.ndarray:
    """For each record the value that the source has under the same key, else zero."""
    out = np.zeros((len(records), *values.shape[1:]), values.dtype)
    place = lookup(records, source)
    out[place >= 0] = values[place[place >= 0]]
    return out
