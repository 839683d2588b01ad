"""Pressure and damping of contacts, and the friction law as it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.contact.friction import Friction, tangential
from pliant.contact.point_surface.yielding import Yielding
from pliant.geometry.mesh import Floats, Ints
from pliant.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.look import Look
    from pliant.contact.point_surface.options import Options


def stiffness_of(options: Options, motion: Motion, seen: Look, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    """Pressure per depth [Pa/m] and per speed [Pa s/m] of each contact, (r,), (r,).

    A given k is that of either body's spring, two in series make k / 2. Auto: s / (dt^2 D) with the longest dt so far, so that a step that
    was divided does not stiffen what is at rest, but not stiffer than a layer of the softer body one surfel spacing thick: then bodies
    overlap by strain times spacing, and a stiffer contact would only crush phyxels. Damping c = 2 zeta sqrt(k / D).
    """
    yielding = motion.kept(Yielding)
    give = yielding.pair_give(a, b)
    safe = np.where(give > 0.0, give, np.inf)
    if isinstance(options.stiffness, str):
        k = np.minimum(options.s / (max(motion.dt, seen.longest) ** 2 * safe), np.minimum(yielding.layer[a], yielding.layer[b]))
    else:
        k = np.full(len(a), 0.5 * float(options.stiffness))
    return k, 2.0 * options.damping * np.sqrt(k / safe)


def normal_impulses(motion: Motion, rows: Rows, gap: Floats, area: Floats, k: Floats, c: Floats) -> Floats:
    """dt A (k depth - c speed) [N s], (r,), never pulling."""
    if c.any():
        speed = np.einsum("ri,ri->r", motion.slide(rows), rows.normal) / motion.dt
        return motion.dt * area * np.maximum(-k * gap - c * speed, 0.0)
    return motion.dt * area * k * -gap


def published_friction(motion: Motion, rows: Rows, impulse: Floats, mu: Floats) -> Friction:
    """(5) of Keiser et al.: mu |f| against the tangential velocity, whatever its size; none where it is exactly zero."""
    slip = tangential(motion.slide(rows), rows.normal)
    size = np.linalg.norm(slip, axis=1)
    against = np.divide(slip, size[:, None], out=np.zeros_like(slip), where=size[:, None] > 0.0)
    return Friction(-(mu * impulse)[:, None] * against, np.zeros(len(rows), bool), np.zeros_like(slip))
