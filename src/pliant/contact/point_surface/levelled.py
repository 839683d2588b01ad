"""Force and reaction on one line, friction included.

Friction j_t acts on the surfel, its opposite on the other surface a depth away: together they would turn the bodies. So the foot, at which
the pressure j_n goes to the other body, moves by that depth times j_t / j_n to where the line of the whole force meets that surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.look import Look
from pliant.contact.point_surface.rows import chosen_rows, gap_rows
from pliant.detect.surfels.carried import Carried
from pliant.world.motion import Motion, Rows

FARTHEST = 2.0  # depths that a foot moves at most


@dataclass
class Line:
    """The rows of a step, and where their force meets the other body."""

    motion: Motion
    seen: Look
    rows: Rows  # those of the hits come first

    def moved(self, which: Ints, impulse: Floats, friction: Floats) -> Rows | None:
        """Some of the rows, their feet moved to where forces of these sizes [N s] meet the other side; None: none has to move."""
        hits, own = self.seen.hits, which < len(self.seen.hits)
        mine = hits.select(which[own])
        n, f, rows = impulse[own], friction[own], chosen_rows(self.rows, which[own])
        soft = (self.motion.bodies.frame[mine.other] < 0) & ~mine.deep & (mine.sample >= 0) & (n > 0.0) & f.any(axis=1)
        if not soft.any():
            return None
        over = np.where(soft[:, None], f / np.maximum(n, 1e-300)[:, None], 0.0)
        over *= np.minimum(1.0, FARTHEST / np.maximum(np.linalg.norm(over, axis=1), 1e-300))[:, None]
        # from the surfel to the middle of the shares, which lies below the foot where the surface is curved
        low = -np.einsum("ri,ri->r", rows.sums(self.motion.start), rows.normal)
        made = gap_rows(self.motion, self.motion.kept(Carried), self.seen.surfaces, mine, rows.at, low[:, None] * over)
        return made if own.all() else Rows.joined([made, chosen_rows(self.rows, which[~own])])
