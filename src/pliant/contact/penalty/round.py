"""One round of a step: impulses of a batch of records that have not been handled yet, pushed all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats
from pliant.contact.friction import Friction, stribeck, tangential
from pliant.contact.penalty.friction import rub
from pliant.contact.penalty.impulses import DISCRETE, Known, Pressed, foot_weights, pressed
from pliant.contact.penalty.last import Last
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.spreading import over_rings
from pliant.contact.sweeps import rubbed, solved
from pliant.detect.shapes import BALL
from pliant.geometry.normals import angle_normals
from pliant.world.motion import Motion, Rows

FAR = 0.5  # weights below -FAR are not followed: the foot has left the face for good
CHANGE = 0.1  # of the stiffness of an enduring record in a step, at most: softer
GROWTH = 0.01  # and stiffer: a loaded spring that grows stiffer holds energy that nobody put in
MOST = 16.0  # of k dt^2 D in the implicit continuous form, beyond which its damping fades (9.4)


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
    options: Options, mode: int, motion: Motion, batch: Records, since: Floats, known: Known, before: list[Handled], last: Last
) -> Handled:
    """Push a batch; `before` are the batches of earlier rounds, which share the give of the bodies, `last` the forces of the last step."""
    look = pressed(mode, batch, since, motion.start, motion.end, known, options.blend, _vertex_normals(options, motion, batch))
    pushed = batch.active & (look.size > 0.0)
    follow(options, motion, batch)
    rows = contact_rows(motion, batch, look, pushed)
    wide = over_rings(motion, rows) if options.spread else rows
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
        friction = rub(options, motion, rows, impulse, mu_s, mu_d, batch.stretch[pushed])
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
    friction = rub(options, motion, rows, impulse, mu_s, mu_d, stretch)
    motion.push(rows, friction.impulse)
    return impulse, friction


def follow(options: Options, motion: Motion, batch: Records) -> None:
    """Move the weights to the foot of each contact at the end of the step, so that impulses act in one line and make no moment.

    A foot that has gone far beyond its face is not followed: its weights would grow without bound.
    """
    if options.reproject:
        foot, ok = foot_weights(batch, motion.end)
        inside = np.where(batch.kind == VERTEX_FACE, (foot[:, 1:] <= FAR).all(axis=1), (np.abs(foot) <= 1.0 + 1e-9).all(axis=1))
        batch.weights = np.where((ok & inside)[:, None], foot, batch.weights)


def contact_rows(motion: Motion, batch: Records, look: Pressed, pushed: np.ndarray) -> Rows:
    """Rows of the pushed records; both sides take the impulse half way between the point and its foot."""
    corners, weights = batch.corners[pushed], batch.weights[pushed]
    first = np.where((batch.kind[pushed] == EDGE_EDGE)[:, None], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]) * weights
    point = np.einsum("rk,rki->ri", first, motion.end[corners])
    bodies = motion.bodies
    ball = (bodies.analytic[batch.a] == BALL) & (batch.feature_a == bodies.anchor[batch.a]) & (batch.kind != EDGE_EDGE)
    radius = np.where(ball, bodies.parameters[batch.a, 0], 0.0)[pushed]
    at = point - (radius + 0.5 * look.gap[pushed])[:, None] * look.normal[pushed]
    return Rows.dense(corners, weights, look.direction()[pushed], at)


def yields(motion: Motion, before: list[Handled], rows: Rows, wide: Rows) -> Floats:
    """D of each row, with all that has been pushed in the step; where impulses are spread, the larger of that of vertices and rings."""
    if len(rows) == 0:
        return np.zeros(0)
    give = motion.give(Rows.joined([*(h.rows for h in before), rows]))[-len(rows) :]
    return give if wide is rows else np.maximum(give, motion.give(Rows.joined([*(h.wide for h in before), wide]))[-len(rows) :])


def spring(options: Options, mode: int, dt: float, give: Floats, before: Floats) -> Floats:
    """Stiffness [N/m] of each contact: as given, or from its give when it is new, then it changes slowly."""
    unit = np.divide(1.0, dt**2 * give, out=np.zeros_like(give), where=give > 0.0)
    if not isinstance(options.stiffness, str):
        k = np.where(give > 0.0, options.stiffness, 0.0)
        return np.minimum(k, MOST * unit) if options.implicit and mode != DISCRETE else k
    k = options.share * unit
    slow = np.clip(k, (1.0 - CHANGE) * before, (1.0 + GROWTH) * before)
    return np.minimum(np.where(before > 0.0, slow, k), max(1.0, options.share) * unit)


def spring_and_damper(
    options: Options, dt: float, rows: Rows, slide: Floats, k: Floats, give: Floats, look: Pressed, pushed: np.ndarray
) -> tuple[Floats, Floats]:  # fmt: skip
    """(a, b) of the normal impulse a - b u, u being the change of speed that all impulses make: springs and dampers that never pull."""
    time = look.time[pushed]
    damper = 2.0 * options.zeta * np.sqrt(np.divide(k, give, out=np.zeros_like(k), where=give > 0.0)) * dt * time
    speed = np.einsum("ri,ri->r", slide, rows.normal) / dt
    a = np.maximum(k * dt * look.size[pushed] - damper * speed, 0.0)
    return a, k * dt**2 * look.lever[pushed] + damper


def _vertex_normals(options: Options, motion: Motion, batch: Records) -> Floats | None:
    """Inward normals of the vertices of vertex-face records, towards which blended normals are turned (11.6-5)."""
    if options.blend == 0.0:
        return None
    faces, skin = motion.skin.faces, motion.skin
    face_normal, vertex_normal = np.zeros((len(faces), 3)), np.zeros((len(skin), 3))
    angle_normals(motion.end, faces, face_normal, vertex_normal)
    own = -vertex_normal[np.where(batch.kind == VERTEX_FACE, batch.feature_a, 0)]
    length = np.linalg.norm(own, axis=1, keepdims=True)
    unit = np.divide(own, length, out=np.zeros_like(own), where=length > 0.0)
    return np.where((batch.kind == VERTEX_FACE)[:, None], unit, 0.0)
