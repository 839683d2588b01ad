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

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from pliant.contact.contacts import Contacts
from pliant.contact.friction import tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.penalty.find import Finder
from pliant.contact.penalty.impulses import CONSTANT, DISCRETE, EXACT, pressed
from pliant.contact.penalty.inside import at_the_end, points_inside
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.records import EDGE_EDGE, Records
from pliant.contact.penalty.round import Handled, handle
from pliant.contact.penalty.shapes import shape_gaps
from pliant.detect.closest import facing_areas
from pliant.detect.penetration import Penetration
from pliant.geometry.mesh import Floats, PliantError
from pliant.motion import Motion


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
        if self.detection == "discrete":
            return respond_at_the_end(self, motion, recall(memory))
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
        return respond_along(self, EXACT if self.integral == "exact" else CONSTANT, motion, memory)


def respond_along(options: Options, mode: int, motion: Motion, memory: Memory) -> Answer:
    """Pairs by continuous detection: rounds of impulses until nothing new presses."""
    finder = motion.kept(Finder)
    records = recall(memory)
    fresh, since = finder.new(motion, records)
    if not memory:  # bodies that start inside each other
        overlapping = apart_from(motion, finder, points_inside(motion)[0], Records.joined([records, fresh]))
        fresh, since = Records.joined([fresh, overlapping]), np.concatenate([since, np.zeros(len(overlapping))])
    batch, since = Records.joined([records, fresh]), np.concatenate([np.zeros(len(records)), since])
    done: list[Handled] = []
    for _ in range(options.rounds):
        if len(batch) == 0:
            break
        done.append(handle(options, mode, motion, batch, since, shape_gaps(motion, batch), done))
        batch, since = finder.new(motion, Records.joined([h.records for h in done]))
    warnings = tell(options, done, len(batch))
    return finish(motion, done, batch, warnings, endures)


def respond_at_the_end(options: Options, motion: Motion, before: Records) -> Answer:
    """Pairs by their places at the end of the step: found anew every step, in one round."""
    records, known = at_the_end(motion, motion.kept(Finder))
    inherit(records, before)
    done = [handle(options, DISCRETE, motion, records, np.zeros(len(records)), known, [])] if len(records) else []
    return finish(motion, done, Records.none(), tell(options, done, 0), lambda _, records: np.ones(len(records), bool))


def finish(
    motion: Motion, done: list[Handled], left: Records, warnings: list[str], keep: Callable[[Motion, Records], np.ndarray]
) -> Answer:
    """Contacts of the step, and the records that go on into the next: those that `keep` says, and pairs that were found too late."""
    contacts = Contacts.joined([report(motion, h) for h in done]) if done else Contacts.none(motion.dt)
    records = Records.joined([h.records for h in done]) if done else Records.none()
    records = Records.joined([records.select(keep(motion, records)), left])
    records.age += 1
    return Answer(contacts, remember(records), warnings=warnings)


def report(motion: Motion, done: Handled) -> Contacts:
    """One row per impulse; anchors are left where the step ends."""
    rows, records = done.rows, done.records.select(done.pushed)
    slide = motion.slide(rows)
    slip = tangential(slide, rows.normal)
    held = np.where(done.sticks[:, None], tangential(records.stretch, rows.normal) + slip, done.dragged)
    done.records.stretch[:] = 0.0
    done.records.stretch[done.pushed] = held
    gap = done.gap + np.einsum("ri,ri->r", slide - done.slide, rows.normal)
    return Contacts(
        a=records.a, b=records.b, feature_a=records.feature_a, feature_b=records.feature_b, point=rows.at, normal=rows.normal,
        gap=gap, impulse=done.impulse, friction=done.friction, sticking=done.sticks.astype(np.float64), slip=slip,
        area=areas(motion, records, rows.normal), dt=motion.dt,
    )  # fmt: skip


def areas(motion: Motion, records: Records, normal: Floats) -> Floats:
    """Area that each vertex stands for [m^2], half where both bodies have vertices in each other; none for edges, NaN for balls."""
    around, out = motion.kept(Penetration).around, np.zeros(len(records))
    vertex = np.flatnonzero(records.kind != EDGE_EDGE)
    part = np.empty(len(vertex))
    point = np.ascontiguousarray(records.feature_a[vertex])
    facing_areas(motion.end, motion.skin.faces, around.offsets, around.indices, point, np.ascontiguousarray(normal[vertex]), part)
    count = len(motion.bodies)
    shown = point < motion.bodies.point_start[-1]
    a, b = records.a[vertex], records.b[vertex]
    mutual = np.isin(a * count + b, (b * count + a)[shown])
    out[vertex] = np.where(shown, np.where(mutual, 0.5 * part, part), np.nan)
    return out


def endures(motion: Motion, records: Records) -> np.ndarray:
    """Whether each record still penetrates at the end of the step."""
    look = pressed(DISCRETE, records, np.zeros(len(records)), motion.start, motion.end, shape_gaps(motion, records))
    return look.gap < 0.0


def apart_from(motion: Motion, finder: Finder, records: Records, known: Records) -> Records:
    """Records of vertices that have none with that body yet."""
    key = finder.vertex_key(motion, records.feature_a, records.b)
    return records.select(~np.isin(key, finder.vertex_keys(motion, known)))


def tell(options: Options, done: list[Handled], left: int) -> list[str]:
    warnings = []
    if left:
        warnings.append(
            f"{left} pairs still began to touch after {options.rounds} rounds of contact: they push from the next step on. "
            "A smaller dt, or more `rounds`, resolves them in time."
        )
    guarded = sum(h.guarded for h in done)
    if guarded:
        warnings.append(f"{guarded} contacts on faces or edges that turn over within the step took the depth at its end.")
    return warnings


def recall(memory: Memory) -> Records:
    """Records of the last step."""
    if "kind" not in memory:
        return Records.none()
    return Records(**{f.name: memory[f.name].copy() for f in fields(Records)})


def remember(records: Records) -> Memory:
    return {f.name: getattr(records, f.name) for f in fields(Records)}


def inherit(records: Records, before: Records) -> None:
    """Stiffness and anchors of pairs that were there in the last step."""
    if len(before) == 0 or len(records) == 0:
        return
    both = np.concatenate([before.key, records.key])
    _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    source = first[which.reshape(-1)][len(before):]
    same = source < len(before)
    records.stiffness[same], records.stretch[same] = before.stiffness[source[same]], before.stretch[source[same]]
    records.age[same] = before.age[source[same]]
