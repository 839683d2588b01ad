"""Forces of the smooth gap (theory/point-surface-contact 7.2): pressure k times depth on the areas of surfels, shared between both sides.

    force on a surfel  -(k / 2) g n A phi,      phi = clip(1/2 + CLEARER (A_b^2 / (A_a^2 + A_b^2) - 1/2), 0, 1)
phi is a half where both bodies are sampled alike; the other half comes from the surfels of the other body.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.world.motion import Motion, Rows

CLEARER = 1.3  # slope of the part of the finer side; 1: what the errors say, but then a cube on a pad has 21 % too much area, not 11


def normal_impulses(motion: Motion, rows: Rows, gap: Floats, area: Floats, k: Floats, c: Floats) -> Floats:
    """dt A (k depth - c speed) [N s], (r,), never pulling."""
    if c.any():
        speed = np.einsum("ri,ri->r", motion.slide(rows), rows.normal) / motion.dt
        return motion.dt * area * np.maximum(-k * gap - c * speed, 0.0)
    return motion.dt * area * k * -gap


def part_of(own: Floats, other: Floats) -> Floats:
    """phi, from the mean areas of the surfels of a body and of the one that they are in [m^2], (r,).

    A coarse side is a poor sum over a fine contact: its error grows with the area of a surfel, and two sums are best joined with the
    inverse squares of their errors; a little more than that, so that the finer one counts alone if its spacing is below 0.6 of the
    other's, whose surfels would reach beyond the patch.
    """
    return np.clip(CLEARER * (other**2 / np.maximum(own**2 + other**2, 1e-300) - 0.5) + 0.5, 0.0, 1.0)
