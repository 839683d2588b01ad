"""All contacts of a step in one form, and their impulses: at once from the depth, or all together where they know what they will do.

Contacts are surfels inside other bodies, balls in closed form, phyxels that meet their own body. With u = W j the change of speed by the
impulses j of all contacts, and g the gap that the free motion ends with, an implicit contact has
    j = max(0, a - b u),     a = dt A (-k g - c speed),   b = dt A (k dt + c),
which no stiffness makes unstable. Sweeps with Nesterov's momentum solve it (contact/enduring_springs.py), and Coulomb friction after it
(theory/point-surface-contact 7.5).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.enduring_springs import rubbed, solved
from pliant.contact.friction import Friction, coulomb, stribeck, tangential
from pliant.contact.point_surface.detection import Detection
from pliant.contact.point_surface.energy_account import Accounts, Pushed
from pliant.contact.point_surface.published import keiser_rows, published_friction
from pliant.contact.point_surface.smooth_gap import normal_impulses
from pliant.contact.point_surface.surfel_rows import ForceLine, chosen_rows, gap_rows, volume_rows
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.method import Options
    from pliant.contact.point_surface.self_and_volume_contact import PhyxelContacts

PATCH = 1.0 / 64.0  # of its cross-section that a ball presses with: up to an eighth of its radius
FADES = 0.2  # [m/s] implicit: slip speed over which static friction fades into sliding friction


@dataclass
class ContactSet:
    """Contacts that press."""

    a: Ints  # (r,)
    b: Ints
    feature_a: Ints
    feature_b: Ints
    point: Floats  # [m] (r, 3) on the contact surface
    gap: Floats  # [m] (r,) negative
    mean: Floats  # [m] (r,) the gap that pressure is made of
    area: Floats  # [m^2] (r,)
    stretch: Floats  # [m] (r, 3) of the anchors
    force: Floats  # [N] (r,) in the last step
    part: Floats  # (r,) of the surface of bodies as one that presses
    stored: Floats  # (r,) energy of the spring over force times mean depth: 1 / 2; of balls, whose area grows with the depth, 2 / 3
    ahead: Floats  # [m] (r, 3) how far the place of contact moves in the step
    rows: Rows


def contact_set(options: Options, motion: Motion, seen: Detection) -> ContactSet:
    """All contacts of the step: those of surfels in the order of the hits, of balls, of phyxels in their own body, in others."""
    first = _of_surfels(options, motion, seen)
    more = [_of_balls(options, motion, seen)] if len(seen.balls) else []
    more += [_of_phyxels(motion, seen.phyxels)] if len(seen.phyxels) else []
    more += [_of_volume(motion, seen)] if len(seen.inside) else []
    if not more:
        return first
    parts, names = [first, *more], [n for n in ContactSet.__dataclass_fields__ if n != "rows"]
    whole = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    return ContactSet(**whole, rows=Rows.joined([p.rows for p in parts]))


def _of_surfels(options: Options, motion: Motion, seen: Detection) -> ContactSet:
    """Surfels inside other bodies.

    Where one side is a frame, force acts on it where the other side takes it: then both are on one line, friction too.
    """
    hits, surfaces, carried, framed = seen.hits, seen.surfaces, seen.prepared.carried, motion.bodies.frame >= 0
    a, b, x = surfaces.fixed.body[hits.surfel], hits.other, surfaces.points[hits.surfel]
    share = seen.prepared.compliance.share(a, b, options.weight)
    point = x - (share * hits.gap)[:, None] * hits.normal
    inward = np.where(framed[a] == framed[b], share, np.where(framed[b], 0.0, 1.0))
    at = x - (inward * hits.gap)[:, None] * hits.normal
    rows = gap_rows(motion, carried, surfaces, hits, at)
    if options.distribution == "keiser":
        rows = keiser_rows(motion, seen.prepared.volume, a, b, hits.normal, at)
    feature_b = np.where(hits.sample >= 0, carried.point[np.maximum(hits.sample, 0), 0], -1)  # -1 for an exact shape
    carrier, weight = carried.point[hits.surfel], carried.weight[hits.surfel]
    ahead = np.einsum("rc,rci->ri", weight, motion.end[carrier] - motion.start[carrier])
    return ContactSet(
        a, b, carrier[:, 0], feature_b, point, hits.gap, hits.gap, seen.areas(), seen.stretch, seen.force, np.ones(len(a)),
        np.full(len(a), 0.5), ahead, rows,
    )


def _of_balls(options: Options, motion: Motion, seen: Detection) -> ContactSet:
    """Balls in balls and planes; over the area of contact the mean depth is half the largest."""
    found, anchor = seen.balls, motion.bodies.anchor
    share = seen.prepared.compliance.share(found.a, found.b, options.weight)
    at = found.place - (share * found.gap)[:, None] * found.normal
    points = np.stack([anchor[found.a], anchor[found.b]], axis=1)
    rows = Rows.dense(points, np.tile([1.0, -1.0], (len(found), 1)), found.normal, at)
    moved, frame = motion.position - motion.position_start, motion.bodies.frame
    near = found.nearness[:, None]
    ahead = near * moved[frame[found.a]] + (1.0 - near) * moved[frame[found.b]]
    return ContactSet(
        found.a, found.b, anchor[found.a], np.full(len(found), -1), at, found.gap, 0.5 * found.gap, found.area, seen.ball_stretch,
        np.zeros(len(found)), np.full(len(found), PATCH), np.full(len(found), 2.0 / 3.0), ahead, rows,
    )  # fmt: skip


def _of_phyxels(motion: Motion, found: PhyxelContacts) -> ContactSet:
    """Phyxels of one body, pushed along the line between them."""
    count, middle = len(found), 0.5 * (motion.start[found.one] + motion.start[found.two])
    rows = Rows.dense(np.stack([found.one, found.two], axis=1), np.tile([1.0, -1.0], (count, 1)), found.normal, middle)
    none, still = np.zeros(count), np.zeros((count, 3))
    return ContactSet(
        found.body, found.body, found.one, found.two, middle, found.gap, found.gap, found.area, still, none, np.ones(count),
        np.full(count, 0.5), still, rows,
    )  # fmt: skip


def _of_volume(motion: Motion, seen: Detection) -> ContactSet:
    """Phyxels in other bodies or too near to them."""
    found, carried = seen.inside, seen.prepared.carried
    rows, count, x = volume_rows(motion, carried, seen.surfaces, found), len(found), motion.start[found.point]
    feature_b = np.where(found.sample >= 0, carried.point[np.maximum(found.sample, 0), 0], -1)
    return ContactSet(
        found.a, found.b, found.point, feature_b, x, np.minimum(found.gap, 0.0), found.missing, found.area, np.zeros((count, 3)),
        np.zeros(count), np.ones(count), np.full(count, 0.5), motion.end[found.point] - x, rows,
    )  # fmt: skip


@dataclass
class Pressing:
    """What contacts press with."""

    gap: Floats  # [m] (r,) at the start of the step
    area: Floats  # [m^2] (r,)
    k: Floats  # [Pa/m] (r,)
    c: Floats  # [Pa s/m] (r,)
    implicit: np.ndarray  # (r,) bool
    mu_s: Floats  # (r,)
    mu_d: Floats
    stretch: Floats  # [m] (r, 3) of the anchors
    force: Floats  # [N] (r,) along the normal in the last step, where sweeps begin

    def select(self, rows: Ints) -> Pressing:
        return Pressing(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def push_contacts(
    options: Options, motion: Motion, seen: Detection, rows: Rows, pressing: Pressing, stored: Floats, accounts: Accounts
) -> tuple[Floats, Friction]:
    """Normal impulses [N s] and friction of all rows, pushed; first of those that are not implicit. `stored`: see ContactSet."""
    line = ForceLine(motion, seen, rows) if options.distribution == "conjugate" else None
    impulse, pushes = np.zeros(len(rows)), []
    friction = Friction(np.zeros((len(rows), 3)), np.zeros(len(rows), bool), np.zeros((len(rows), 3)))
    for implicit, pushed in ((False, push_explicit), (True, solve_implicit)):
        which = np.flatnonzero(pressing.implicit == implicit)
        if len(which) == 0:
            continue
        push, found = pushed(options, motion, chosen_rows(rows, which), pressing.select(which), line, which, accounts)
        impulse[which] = push.impulse
        friction.impulse[which], friction.sticks[which], friction.dragged[which] = found.impulse, found.sticks, found.dragged
        pushes.append(push)
    for push in pushes:
        accounts.book(motion, push)
        if not push.start:
            by = pressing.select(push.contact)
            ended = np.minimum(by.gap + np.einsum("ri,ri->r", motion.slide(push.rows), push.rows.normal), 0.0)
            accounts.hold(push, stored[push.contact] * by.area * by.k * ended**2)
    return impulse, friction


def push_explicit(
    options: Options, motion: Motion, rows: Rows, by: Pressing, line: ForceLine | None, which: Ints, accounts: Accounts
) -> tuple[Pushed, Friction]:
    """From the depth at the start of the step."""
    impulse = normal_impulses(motion, rows, by.gap, by.area, by.k, by.c)
    friction = _friction(options, motion, rows, impulse, by)
    level = None if line is None else line.moved(which, impulse, friction.impulse)
    push = Pushed(motion, rows if level is None else level, which, start=True, damped=by.c > 0.0)
    push.impulse, push.elastic = impulse, motion.dt * by.area * by.k * -by.gap
    motion.push(push.rows, impulse[:, None] * rows.normal + friction.impulse, start=True)
    accounts.shorten(motion, push, friction, options.sweeps)
    return push, friction


def solve_implicit(
    options: Options, motion: Motion, rows: Rows, by: Pressing, line: ForceLine | None, which: Ints, accounts: Accounts
) -> tuple[Pushed, Friction]:
    """Implicit impulses: each knows what all of them do to its gap."""
    dt, slide = motion.dt, motion.slide(rows)
    moved = np.einsum("ri,ri->r", slide, rows.normal)
    speed = np.linalg.norm(tangential(slide, rows.normal), axis=1) / dt
    a = np.maximum(dt * by.area * (-by.k * (by.gap + moved) - by.c * moved / dt), 0.0)
    give = motion.give(rows)
    push = Pushed(motion, rows, which, start=False)
    push.impulse = solved(motion, rows, rows, a, dt * by.area * (by.k * dt + by.c), give, options.sweeps, dt * by.force)
    push.elastic = push.impulse  # springs and dampers are one here
    accounts.shorten(motion, push)
    impulse = push.impulse
    if options.friction == "anchored" and by.mu_s.any():
        friction = rubbed(motion, rows, stribeck(by.mu_s, by.mu_d, speed, FADES) * impulse, by.stretch, give, options.sweeps)
    else:
        friction = _friction(options, motion, rows, impulse, by)
        motion.push(rows, friction.impulse)
    level = None if line is None else line.moved(which, impulse, friction.impulse)
    if level is not None:  # no force, only the moment that friction left
        along = impulse[:, None] * rows.normal
        motion.push(Rows.joined([level, rows]), np.concatenate([along, -along]))
    return push, friction


def _friction(options: Options, motion: Motion, rows: Rows, impulse: Floats, by: Pressing) -> Friction:
    """Coulomb friction with anchors, or sliding friction as published; not pushed yet."""
    if not by.mu_s.any():
        none = np.zeros_like(rows.normal)
        return Friction(none, np.zeros(len(rows), bool), none)
    if options.friction == "published":
        return published_friction(motion, rows, impulse, by.mu_d)
    return coulomb(motion, rows, impulse, by.mu_s, by.mu_d, by.stretch)
