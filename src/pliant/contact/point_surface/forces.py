"""Pressure and damping of contacts, and the friction law as it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.friction import Friction, tangential
from pliant.contact.point_surface.yielding import Yielding
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.look import Look
    from pliant.contact.point_surface.options import Options


SOFT = 0.5  # of the stiffness that the bodies could bear: below this dt is what makes contacts deep


def implicit_of(options: Options, motion: Motion, a: Ints, b: Ints) -> np.ndarray:
    """Which contacts know what their impulses will do to the gap, (r,) bool.

    Auto: those of bodies that are stepped implicitly, and, if there is damping, of rigid bodies with rigid ones. All others keep energy.
    """
    if not isinstance(options.implicit, str):
        return np.full(len(a), options.implicit)
    yielding = motion.kept(Yielding)
    stepped = yielding.implicit[a] | yielding.implicit[b]
    return stepped | (yielding.framed[a] & yielding.framed[b]) if options.damping > 0.0 else stepped


def stiffness_of(
    options: Options, motion: Motion, seen: Look, a: Ints, b: Ints, implicit: np.ndarray | None = None, part: float | Floats = 1.0
) -> tuple[Floats, Floats]:
    """Pressure per depth [Pa/m] and per speed [Pa s/m] of each contact, (r,), (r,).

    A given k is that of either body's spring, two in series make k / 2. Auto: s / (dt^2 D) with the longest dt so far, so that a step that
    was divided does not stiffen what is at rest, but not stiffer than a layer of the softer body one surfel spacing thick (of meshes a
    tenth of it): then bodies overlap by strain times spacing, and a stiffer contact would only crush phyxels. D is the give of the point
    that yields most, but of the bodies as one where contacts are implicit, which no stiffness makes unstable; `part`: of their surface that
    presses. Damping c = 2 zeta sqrt(k / D).
    """
    yielding = motion.kept(Yielding)
    give, s = yielding.pair_give(a, b), np.full(len(a), options.share(False))
    if implicit is not None:
        give, s = np.where(implicit, part * yielding.pair_whole(motion, a, b), give), np.where(implicit, options.share(True), s)
    safe = np.where(give > 0.0, give, np.inf)
    if isinstance(options.stiffness, str):
        k = np.minimum(s / (max(motion.dt, seen.longest) ** 2 * safe), np.minimum(yielding.layer[a], yielding.layer[b]))
    else:
        k = np.full(len(a), 0.5 * float(options.stiffness))
    return k, 2.0 * options.damping * np.sqrt(k / safe)


def too_soft(options: Options, motion: Motion, seen: Look, a: Ints, b: Ints, gap: Floats, k: Floats) -> list[str]:
    """One sentence, the same in every step, for every two bodies that go deep because contact can be no stiffer with this dt."""
    yielding, spacing = motion.kept(Yielding), seen.surfaces.wide
    layer = np.minimum(yielding.layer[a], yielding.layer[b])
    rows = (gap < -np.where(spacing[a] > 0.0, spacing[a], np.inf)) & (k < SOFT * layer) & (a != b)
    if not isinstance(options.stiffness, str) or not rows.any():
        return []
    names, first, dt = motion.bodies.names, motion.bodies.origin(), max(motion.dt, seen.longest)
    pairs = np.unique(np.sort(np.stack([first[a[rows]], first[b[rows]]], axis=1), axis=1), axis=0)
    return [
        f"point-surface: {names[i]} and {names[j]} went deeper than a surfel spacing into each other: with dt = {dt:.3g} s contact can be "
        "no stiffer and be stable. Half of it makes a fourth of the depth; so does `implicit = true` of this method, which takes energy "
        "from impacts."
        for i, j in pairs.tolist()
        if i != j
    ]


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
