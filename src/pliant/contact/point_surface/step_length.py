"""How long a step may be: bodies that may meet move at most half a spacing against each other (theory/point-surface-contact 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.detect.body_pairs import overlapping
from pliant.detect.surfels.projection import BLUR
from pliant.kernels import dot, kernel, load, sub
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.detection import Detection


def shorter_step(motion: Motion, seen: Detection, most: int) -> float | None:
    """The part of dt [s] in which no two bodies that may meet move more than half a spacing against each other; None: all of it."""
    if most == 1:
        return None
    mean, off = _strides(motion)
    far = np.linalg.norm(mean, axis=1) + off
    pairs = overlapping(seen.low - far[:, None], seen.high + far[:, None])
    pairs = pairs[motion.pairs.meet(pairs[:, 0], pairs[:, 1])]
    if len(pairs) == 0:
        return None
    a, b = pairs.T
    moved = np.linalg.norm(mean[a] - mean[b], axis=1) + off[a] + off[b]
    spacing = np.where(seen.surfaces.wide > 0.0, seen.surfaces.wide, np.inf)
    allowed = BLUR * np.minimum(spacing[a], spacing[b])
    longest = max(seen.longest, motion.dt)
    parts = math.ceil(float((moved / allowed).max()))
    parts = min(parts, math.floor(most * motion.dt / longest + 1e-9))
    return motion.dt / parts if parts > 1 else None


def _strides(motion: Motion) -> tuple[Floats, Floats]:
    """Mean displacement of each body in the step [m], (B, 3), and twice the root mean square of what points move besides it, (B,).

    The most that any point moves would let one light vertex that flaps divide every step.
    """
    count = len(motion.bodies)
    mean, off, number = np.zeros((count, 3)), np.zeros(count), np.zeros(count)
    _gather_strides(motion.skin.body, motion.start, motion.end, number, mean, off)
    return mean, off


@kernel
def _gather_strides(body, start, end, number, mean, off):  # type: ignore[no-untyped-def]
    for p in range(len(body)):
        b = body[p]
        if b >= 0:
            number[b] += 1.0
            for k in range(3):
                mean[b, k] += end[p, k] - start[p, k]
    for b in range(len(mean)):
        for k in range(3):
            mean[b, k] /= max(number[b], 1.0)
    for p in range(len(body)):
        b = body[p]
        if b >= 0:
            d = sub(sub(load(end, p), load(start, p)), load(mean, b))
            off[b] += dot(d, d)
    for b in range(len(mean)):
        off[b] = 2.0 * math.sqrt(off[b] / max(number[b], 1.0))
