"""How long a step may be: first contact is traced back in time, and an impact takes many steps (theory/quasi-rigid 13.2).

The force of a contact found at depth d is taken to grow as d^1.5 (Hertz). With the mass m that it accelerates and the speed v of approach,
    m v^2 / 2 = 2/5 F(D) D                      gives the depth D that will be reached,
    T = pi sqrt(m D / (1.5 F(D)))                 the time scale of the contact (0.78 of Hertz's duration).
A contact that is first seen deeper than 2 % of D is traced back; one that lasts takes steps of T / 50. Bodies are at rest on each other if
for T no node moved faster than what would carry it a thousandth of the depth: a swing that large passes its turning points quicker.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.elastic.lcp import ROUGH
from pliant.contact.quasi_rigid.contact_rows import ContactRows, rows_of
from pliant.contact.quasi_rigid.touching_pairs import Touch
from pliant.world.motion import Motion

SEEN = 0.02  # of the depth to come: where a new contact may first be seen; it is looked for at half of it
MOST_STEPS = 10_000  # in a step of the scene: more are refused


def time_scale(patch: ContactRows, part: slice, depth: float, give: Floats) -> float:
    """pi sqrt(m d / (1.5 F)) [s] of one contact as it is."""
    force = patch.force[part]
    total = float(force.sum())
    inverse = _inverse_mass(force, give[part])
    return math.pi * math.sqrt(depth / (1.5 * total * inverse)) if total * inverse > 0.0 else math.inf


def quiet(motion: Motion, patch: ContactRows, still: list[float]) -> list[float]:
    """For how many T (theory/quasi-rigid 13.5) the nodes of each pair have been still, at the end of the step; `still` was at its start."""
    give = motion.give(patch.rows)
    speed, out = np.linalg.norm(motion.row_velocity(patch.rows, start=True), axis=1), []
    for touch, part, before in zip(patch.touches, patch.parts(), still, strict=True):
        scale = time_scale(patch, part, touch.result.depth, give) if patch.force[part].any() else math.inf
        moves = float(speed[part].max()) * scale / math.pi > ROUGH * touch.result.depth
        out.append(0.0 if moves or not math.isfinite(scale) else before + motion.dt / scale)
    return out


def at_rest(still: float) -> bool:
    """Whether the nodes of a pair have been still for a whole T: then `auto` takes implicit steps (theory/quasi-rigid 13.5)."""
    return still >= 1.0


def _inverse_mass(force: Floats, give: Floats) -> float:
    """1/m [1/kg] that forces spread like these meet: the mean of the gives of rows that push together, each a sum over all of them."""
    return float(np.sum(force * give)) / (float(force.sum()) * len(force))


def longest(motion: Motion, patch: ContactRows, period: list[float], implicit: list[bool], steps: int) -> float:
    """Longest step [s] for the contacts that there are and are not implicit."""
    limit, give = math.inf, motion.give(patch.rows)
    for touch, part, known, free in zip(patch.touches, patch.parts(), period, implicit, strict=True):
        if not free:
            limit = min(limit, known / steps, time_scale(patch, part, touch.result.depth, give) / steps)
    if MOST_STEPS * limit < motion.dt:
        names = [motion.bodies.names[b] for b in (patch.touches[0].a, patch.touches[0].b)]
        raise PliantError(
            f"The contact of '{names[0]}' and '{names[1]}' is so stiff that it takes steps of {limit:.2g} s, {motion.dt / limit:.0f} in a "
            "step of the scene: use contact = {method = \"quasi-rigid\", integration = \"implicit\"}, a smaller dt, or softer bodies."
        )
    return limit


def traced_back(motion: Motion, touch: Touch, steps: int) -> tuple[float | None, float]:
    """(a shorter step [s] that ends just after first contact, or None if this one does; time scale [s] of the impact to come)."""
    patch = rows_of(motion, [touch])
    rows, force = patch.rows, patch.force
    inverse = _inverse_mass(force, motion.give(rows))
    total, depth = float(force.sum()), touch.result.depth
    closing = -float(np.sum(force * np.sum(motion.row_velocity(rows) * rows.normal, axis=1))) / total
    if inverse <= 0.0:
        return None, math.inf
    if closing <= 0.0:  # it came and went within the step: its beginning is in the first half, or nearer than a step of the contact
        period = math.pi * math.sqrt(depth / (1.5 * total * inverse))
        return (0.5 * motion.dt if motion.dt > period / steps else None), period
    weight = float(np.linalg.norm(motion.gravity)) / inverse
    impact = depth * (5.0 / 4.0 * closing**2 / (inverse * total * depth)) ** (2.0 / 5.0)
    scale = max(impact, depth * (weight / total) ** (2.0 / 3.0))  # no finer than what bodies at rest sink in
    period = math.pi * math.sqrt(scale / (1.5 * total * (scale / depth) ** 1.5 * inverse))
    if depth <= SEEN * scale:
        return None, period
    sooner = max(motion.dt - (depth - 0.5 * SEEN * scale) / closing, period / (4.0 * steps))
    return (sooner if sooner < motion.dt else None), period
