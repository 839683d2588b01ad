"""Springs, strings and welds between points of bodies, as impulses through the same seam that contact uses.

A spring is taken at the end of the step, I = -dt (k (d - L + dt v) + c v) / (1 + dt (dt k + c) D), which no stiffness makes unstable;
d and v are distance and its rate, D the give of the row. A string is a spring that never pushes. A weld is the limit
of infinite stiffness in all three directions: conjugate gradients on the gaps, separately for each set of bodies that welds connect.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.components import labels
from pliant.model import Attachments, Rest
from pliant.world.motion import Motion, Rows

SWEEPS = 30  # at most, for welds
CLOSED = 1e-9  # [1] gap at which welds count as closed, relative to what it was


def pull_together(motion: Motion, attachments: Attachments) -> None:
    """Push everything that attachments push in this step."""
    if len(attachments.a) == 0:
        return
    motion.account = "attachments"
    weld = np.isinf(attachments.stiffness)
    _springs(motion, attachments, np.flatnonzero(~weld))
    _welds(motion, attachments, np.flatnonzero(weld))
    motion.account = "contact"


def _rows(motion: Motion, a: Ints, b: Ints, direction: Floats) -> Rows:
    points = np.stack([a, b], axis=1)
    weights = np.tile([1.0, -1.0], (len(a), 1))
    return Rows.dense(points, weights, direction, 0.5 * (motion.end[a] + motion.end[b]))


def _unit(u: Floats) -> tuple[Floats, Floats]:
    length = np.linalg.norm(u, axis=1)
    return length, np.divide(u, length[:, None], out=np.zeros_like(u), where=length[:, None] > 0)


def _springs(motion: Motion, attachments: Attachments, which: Ints) -> None:
    if len(which) == 0:
        return
    a, b, dt = attachments.a[which], attachments.b[which], motion.dt
    k, c, rest = attachments.stiffness[which], attachments.damping[which], attachments.length[which]
    length, along = _unit(motion.end[a] - motion.end[b])
    rows = _rows(motion, a, b, along)
    rate = np.einsum("ri,ri->r", rows.sums(motion.velocity), along)
    give = motion.give(rows)
    # `end` already holds dt * rate, so the force is that of the spring where the free step would leave it
    pull = dt * (k * (length - rest) + c * rate) / (1.0 + dt * (dt * k + c) * give)
    one_sided = attachments.one_sided[which] == 1
    pull = np.where(one_sided, np.where(length > rest, np.maximum(pull, 0.0), 0.0), pull)
    motion.push(rows, -pull[:, None] * along)


def islands(motion: Motion, rows: Rows) -> tuple[int, Ints]:
    """How many sets of bodies rows between two bodies connect, and the set of each row; the immovable world connects nothing."""
    owner = motion.kept(Owners).of
    count = int(owner.max(initial=0)) + 1
    ends = owner[rows.point[rows.start[:-1]]], owner[rows.point[rows.start[1:] - 1]]
    both = (ends[0] >= 0) & (ends[1] >= 0)
    label = labels(count, np.stack(ends, axis=1)[both])
    return int(label.max()) + 1, label[np.maximum(ends[0], ends[1])]


class Owners:
    """The movable body that each skin point belongs to, -1 for the world and static bodies."""

    def __init__(self, rest: Rest) -> None:
        skin, frames = rest.skin, rest.frames
        own = np.full(len(skin), -1, np.int64)
        framed = skin.frame >= 0
        own[framed] = np.where(frames.inverse[skin.frame[framed]] > 0, frames.body[skin.frame[framed]], -1)
        self.of = np.where(framed, own, skin.body)


def _welds(motion: Motion, attachments: Attachments, which: Ints) -> None:
    """Close the gaps W impulse = -gap / dt by conjugate gradients; W is known by what a push does."""
    if len(which) == 0:
        return
    a, b, dt = attachments.a[which], attachments.b[which], motion.dt
    gap = motion.end[a] - motion.end[b]
    length, along = _unit(gap)
    number, island = islands(motion, _rows(motion, a, b, along))

    def totals(u: Floats, v: Floats) -> Floats:
        """Inner product over each island, repeated for its welds, (r, 1)."""
        sums: Floats = np.bincount(island, np.einsum("ri,ri->r", u, v), minlength=number).astype(np.float64)
        return sums[island][:, None]

    give = motion.give(_rows(motion, a, b, along))[:, None]
    step = np.where(give > 0, 1.0 / np.where(give > 0, give, 1.0), 0.0)
    residual = -gap / dt
    begun = np.maximum(totals(residual, residual), 1e-300)
    z = step * residual
    p, old = z.copy(), totals(residual, z)
    for _ in range(SWEEPS):
        rows = _rows(motion, a, b, along)
        before = motion.end[a] - motion.end[b]
        motion.push(rows, p)
        response = ((motion.end[a] - motion.end[b]) - before) / dt
        curvature = totals(p, response)
        alpha = np.divide(old, curvature, out=np.zeros_like(old), where=curvature > 0)
        motion.push(rows, (alpha - 1.0) * p)
        residual = -(motion.end[a] - motion.end[b]) / dt  # measured, not updated: rigid turns are not linear
        if (totals(residual, residual) <= CLOSED**2 * begun).all():
            break
        z = step * residual
        new = totals(residual, z)
        p = z + np.divide(new, old, out=np.zeros_like(new), where=old > 0) * p
        old = new
