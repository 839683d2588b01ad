"""Impulses of contacts: at once from the depth at the start of the step, or all together where they know what they will do to the gaps.

With u = W j the change of speed by the impulses j of all contacts, and g the gap that the free motion ends with, an implicit contact has
    j = max(0, a - b u),     a = dt A (-k g - c speed),   b = dt A (k dt + c),
which no stiffness makes unstable. Sweeps with Nesterov's momentum solve it (contact/sweeps.py), and Coulomb friction after it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.friction import Friction, coulomb, stribeck, tangential
from pliant.contact.point_surface.forces import normal_impulses, published_friction
from pliant.contact.point_surface.levelled import Line
from pliant.contact.point_surface.look import Look
from pliant.contact.point_surface.rows import chosen_rows
from pliant.contact.sweeps import rubbed, solved
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.options import Options

FADES = 0.2  # [m/s] implicit: slip speed over which static friction fades into sliding friction


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


def press(options: Options, motion: Motion, seen: Look, rows: Rows, pressing: Pressing) -> tuple[Floats, Friction]:
    """Normal impulses [N s] and friction of all rows, pushed; first of those that are not implicit."""
    line = Line(motion, seen, rows) if options.distribution == "conjugate" else None
    impulse = np.zeros(len(rows))
    friction = Friction(np.zeros((len(rows), 3)), np.zeros(len(rows), bool), np.zeros((len(rows), 3)))
    for which, pushed in ((np.flatnonzero(~pressing.implicit), at_once), (np.flatnonzero(pressing.implicit), together)):
        if len(which):
            impulse[which], found = pushed(options, motion, chosen_rows(rows, which), pressing.select(which), line, which)
            friction.impulse[which], friction.sticks[which], friction.dragged[which] = found.impulse, found.sticks, found.dragged
    return impulse, friction


def at_once(options: Options, motion: Motion, rows: Rows, by: Pressing, line: Line | None, which: Ints) -> tuple[Floats, Friction]:
    """From the depth at the start of the step."""
    impulse = normal_impulses(motion, rows, by.gap, by.area, by.k, by.c)
    friction = rub(options, motion, rows, impulse, by)
    level = None if line is None else line.moved(which, impulse, friction.impulse)
    motion.push(rows if level is None else level, impulse[:, None] * rows.normal + friction.impulse, start=True)
    return impulse, friction


def together(options: Options, motion: Motion, rows: Rows, by: Pressing, line: Line | None, which: Ints) -> tuple[Floats, Friction]:
    """Implicit impulses: each knows what all of them do to its gap."""
    dt, slide = motion.dt, motion.slide(rows)
    moved = np.einsum("ri,ri->r", slide, rows.normal)
    speed = np.linalg.norm(tangential(slide, rows.normal), axis=1) / dt
    a = np.maximum(dt * by.area * (-by.k * (by.gap + moved) - by.c * moved / dt), 0.0)
    give = motion.give(rows)
    impulse = solved(motion, rows, rows, a, dt * by.area * (by.k * dt + by.c), give, options.sweeps, dt * by.force)
    if options.friction == "anchored" and by.mu_s.any():
        friction = rubbed(motion, rows, stribeck(by.mu_s, by.mu_d, speed, FADES) * impulse, by.stretch, give, options.sweeps)
    else:
        friction = rub(options, motion, rows, impulse, by)
        motion.push(rows, friction.impulse)
    level = None if line is None else line.moved(which, impulse, friction.impulse)
    if level is not None:  # no force, only the moment that friction left
        along = impulse[:, None] * rows.normal
        motion.push(Rows.joined([level, rows]), np.concatenate([along, -along]))
    return impulse, friction


def rub(options: Options, motion: Motion, rows: Rows, impulse: Floats, by: Pressing) -> Friction:
    """Coulomb friction with anchors, or sliding friction as published; not pushed yet."""
    if not by.mu_s.any():
        none = np.zeros_like(rows.normal)
        return Friction(none, np.zeros(len(rows), bool), none)
    if options.friction == "published":
        return published_friction(motion, rows, impulse, by.mu_d)
    return coulomb(motion, rows, impulse, by.mu_s, by.mu_d, by.stretch)
