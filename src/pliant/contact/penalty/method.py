"""The methods `penalty` and `continuous-penalty`: springs between pairs of features that endure.

After the thesis on continuous penalty forces (theory/penalty 3, 5, 7; Tang et al. 2012). A step:
    records of the last step and pairs that enter during the predicted motion -> impulses -> push -> look again, at most five rounds;
    every record is handled once a step; at its end those that have come apart are deleted.
`penalty` takes the depth at the end of the step (DPF), `continuous-penalty` the integral over the time of penetration (CPF).

Where we differ: stiffness from the give of the contact unless it is given; the true integral instead of a constant length of the
normal; Coulomb friction in impulse form; weights follow the foot of the contact.

Limitations: straight paths within a step; bodies that start inside each other are pushed out through the faces nearest to their points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.enduring_springs import rubbed, solved
from pliant.contact.friction import Friction, anchored, coulomb, stribeck, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.penalty.blended_normals import inward_vertex_normals
from pliant.contact.penalty.bounds import plausible
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.depth_integral import CONSTANT, DISCRETE, EXACT, Known, pressed
from pliant.contact.penalty.distribution import contact_rows, follow, over_rings
from pliant.contact.penalty.find import Features, Found, at_the_end, new_pairs, shape_gaps, starting_inside
from pliant.contact.penalty.hooked_and_deep_pairs import admit, directions_out
from pliant.contact.penalty.life_of_records import finish, ready
from pliant.contact.penalty.options import Options, Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_SHAPE, Forces, Records
from pliant.contact.penalty.springs_and_friction import anchor_friction, spring, spring_and_damper
from pliant.contact.pressure import Pressure
from pliant.world.motion import Motion, Rows

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

    @property
    def follows(self) -> str:
        return "features" if self.detection == "continuous" else "nothing"

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
    follows: ClassVar[str] = "features"

    def __post_init__(self) -> None:
        self.check(2.0)
        if self.integral not in ("exact", "constant"):
            raise PliantError(f'integral = "{self.integral}": there are "exact" and "constant".')

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        with self.through(motion):
            return respond_along(self, EXACT if self.integral == "exact" else CONSTANT, motion, memory)


def respond_along(options: Options, mode: int, motion: Motion, memory: Memory) -> Answer:
    """Pairs by continuous detection: rounds of impulses until nothing new presses (theory/penalty 3.1)."""
    features, rules = motion.kept(Features), options.rules()
    batch = seen = Records.recalled(memory)
    since = np.zeros(len(batch))
    done, last = list[Handled](), Forces.recalled(memory)
    for k in range(options.rounds + 1):
        fresh = newcomers(motion, features, seen, rules, not memory and k == 0)
        if k == options.rounds or len(fresh.records) + len(batch) == 0:
            break
        whole, since = Records.joined([batch, fresh.records]), np.concatenate([since, fresh.since])
        seen = Records.joined([seen, fresh.records])
        batch = whole
        if (whole.kind == EDGE_EDGE).any():
            batch = plausible(motion, features.mesh, whole, ready(motion.end, whole, rules)[0], Records.none())
            since = batch.values_of(whole, since)
        done.append(handle(options, mode, motion, batch, since, shape_gaps(motion, batch), done, last))
        batch, since = Records.none(), np.zeros(0)
    contacts = [report(motion, h) for h in done]
    records, counts = end_of_step(motion, features, Records.joined([Records.none(), *(h.records for h in done)]), fresh, rules)
    warnings = warnings_of(options, done, len(fresh.records), counts.get("refused", 0))
    return answer(motion, contacts, Records.joined([records, fresh.records]), done, warnings)


def newcomers(motion: Motion, features: Features, seen: Records, rules: Redefinition, first: bool) -> Found:
    """Pairs that begin to press, put right where they are hooked (theory/penalty 7.5), and when; at first, when none is seen, also those
    inside."""
    look = new_pairs(motion, features, seen)
    found, since = look.records, look.since
    if first:
        found = Records.joined([found, starting_inside(motion, features, found)])
        since = np.concatenate([since, np.zeros(len(found) - len(since))])
    if (found.kind == VERTEX_SHAPE).all():
        return replace(look, records=found, since=since)
    mesh = features.mesh
    new, _ = admit(motion.end, found, seen, mesh, rules, directions_out(motion, found) if rules.deep else None)
    if rules.hooked == "skip":
        found.hooked = categories(motion.end, found, mesh, rules.categories)
        found.active &= ~found.hooked
    new = plausible(motion, mesh, found, new, seen)
    return replace(look, records=new, since=new.values_of(found, since))


def end_of_step(
    motion: Motion, features: Features, records: Records, look: Found, rules: Redefinition
) -> tuple[Records, dict[str, int]]:  # fmt: skip
    """The records that go on: vertices on the face they are under now, without pairs that have come apart (theory/penalty 7.1, 7.3).

    look: the last one, along the motion as it is now.
    """
    if len(records) == 0:
        return records, {}
    known = shape_gaps(motion, records)
    records = records.select(~known.rows | (known.after < 0.0))
    if (records.kind == VERTEX_SHAPE).all():
        return records, {}
    outwards = directions_out(motion, records) if rules.deep else None
    new, counts = finish(motion.start, motion.end, records, features.mesh, look.tree, look.vertex_face, rules, outwards)
    return plausible(motion, features.mesh, records, new, Records.none()), counts


def respond_at_the_end(options: Options, motion: Motion, memory: Memory) -> Answer:
    """Pairs by their places at the end of the step: found anew every step, in one round."""
    records, known = at_the_end(motion, motion.kept(Features))
    before = Records.recalled(memory)
    for name in ("stiffness", "stretch", "age"):
        setattr(records, name, records.values_of(before, getattr(before, name)))
    done = [handle(options, DISCRETE, motion, records, np.zeros(len(records)), known, [], Forces.recalled(memory))] if len(records) else []
    return answer(motion, [report(motion, h) for h in done], records, done, warnings_of(options, done, 0, 0))


def answer(motion: Motion, contacts: list[Contacts], records: Records, done: list[Handled], warnings: list[str]) -> Answer:
    records.age += 1
    memory = records.remembered() | forces(motion, done).remembered()
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


def forces(motion: Motion, done: list[Handled]) -> Forces:
    """What pushed in the step."""
    if not done:
        return Forces.none()
    key, impulse, friction = zip(*((h.records.select(h.pushed).key, h.impulse, h.friction) for h in done), strict=True)
    return Forces(np.concatenate(key), np.concatenate(impulse) / motion.dt, np.concatenate(friction) / motion.dt)


def warnings_of(options: Options, done: list[Handled], left: int, refused: int) -> list[str]:
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


# -- one round of a step: impulses of records that have not been handled yet, pushed all at once


@dataclass
class Handled:
    """Records that have had their impulse in this step."""

    records: Records
    pushed: np.ndarray  # (r,) bool: those that got one
    rows: Rows  # of those that were pushed, one row each, as are the fields that follow
    wide: Rows  # the same over the rings of their vertices, if impulses are spread
    impulse: Floats  # [N s] along the normal
    friction: Floats  # [N s] (p, 3)
    sticks: np.ndarray
    dragged: Floats  # [m] (p, 3) stretch that a sliding anchor is left with
    gap: Floats  # [m] at the end as predicted
    slide: Floats  # [m] (p, 3) as predicted
    guarded: int


def handle(
    options: Options, mode: int, motion: Motion, batch: Records, since: Floats, known: Known, before: list[Handled], last: Forces
) -> Handled:
    """Push a batch; `before` are the batches of earlier rounds, which share the give of the bodies, `last` the forces of the last step."""
    towards = inward_vertex_normals(motion, batch) if options.blend > 0.0 else None
    look = pressed(mode, batch, since, motion.start, motion.end, known, options.blend, towards)
    pushed = batch.active & (look.size > 0.0)
    follow(options, motion, batch)
    rows = contact_rows(motion, batch, look, pushed)
    wide = over_rings(motion, motion.kept(Features).mesh, rows) if options.spread else rows
    give = yields(motion, before, rows, wide)
    k = spring(options, mode, motion.dt, give, batch.stiffness[pushed])
    batch.stiffness[pushed] = k
    mu_s, mu_d = motion.pairs.friction(batch.a[pushed], batch.b[pushed])
    slide = motion.slide(rows)
    a, b = spring_and_damper(options, motion.dt, rows, slide, k, give, look, pushed)
    if options.implicit and options.sweeps > 1 and len(rows) > 0:
        first = last.of(batch.select(pushed))
        impulse, friction = push_together(options, motion, rows, wide, a, b, give, mu_s, mu_d, batch.stretch[pushed], first)
    else:
        impulse = a / (1.0 + b * give) if options.implicit else a
        friction = friction_of(options, motion, rows, impulse, mu_s, mu_d, batch.stretch[pushed])
        if options.spread:
            motion.push(wide, impulse[:, None] * rows.normal)
        motion.push(rows, friction.impulse if options.spread else impulse[:, None] * rows.normal + friction.impulse)
    guarded = int(np.count_nonzero(look.guarded & pushed))
    given = (impulse, friction.impulse, friction.sticks, friction.dragged, look.gap[pushed], slide, guarded)
    return Handled(batch, pushed, rows, wide, *given)


def push_together(
    options: Options, motion: Motion, rows: Rows, wide: Rows, a: Floats, b: Floats, give: Floats, mu_s: Floats, mu_d: Floats,
    stretch: Floats, first: tuple[Floats, Floats],
) -> tuple[Floats, Friction]:  # fmt: skip
    """Normal impulses and friction of contacts that hear of each other, pushed; `first` [N]: the forces to start from."""
    slip = tangential(motion.slide(rows), rows.normal)
    impulse = solved(motion, rows, wide, a, b, give, options.sweeps, motion.dt * first[0])
    if options.friction == "coulomb":
        mu = stribeck(mu_s, mu_d, np.linalg.norm(slip, axis=1) / motion.dt, options.stribeck)
        return impulse, rubbed(motion, rows, mu * impulse, stretch, give, options.sweeps, motion.dt * first[1])
    friction = friction_of(options, motion, rows, impulse, mu_s, mu_d, stretch)
    motion.push(rows, friction.impulse)
    return impulse, friction


def friction_of(options: Options, motion: Motion, rows: Rows, impulse: Floats, mu_s: Floats, mu_d: Floats, stretch: Floats) -> Friction:
    """Tangential impulses for the predicted motion, by the model that the options name (theory/penalty 6.1, 6.3); not pushed yet.

    Coulomb with a Stribeck curve, mu = mu_d + (mu_s - mu_d) exp(-(v / v_st)^2), v the slip speed of the step: a contact that slips a
    little does not at once drop to mu_d and shed its load on the others.
    """
    if options.friction != "coulomb":
        return anchor_friction(options, motion, rows, impulse, mu_s, mu_d, stretch)
    speed = np.linalg.norm(tangential(motion.slide(rows), rows.normal), axis=1) / motion.dt
    mu = stribeck(mu_s, mu_d, speed, options.stribeck)
    return coulomb(motion, rows, impulse, mu, mu, stretch)


def yields(motion: Motion, before: list[Handled], rows: Rows, wide: Rows) -> Floats:
    """D of each row, with all that has been pushed in the step; where impulses are spread, the larger of that of vertices and rings."""
    if len(rows) == 0:
        return np.zeros(0)
    give = motion.give(Rows.joined([*(h.rows for h in before), rows]))[-len(rows) :]
    return give if wide is rows else np.maximum(give, motion.give(Rows.joined([*(h.wide for h in before), wide]))[-len(rows) :])
