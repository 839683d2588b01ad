"""Force and reaction on one line, friction included.

Friction j_t acts on the surfel, its opposite on the other surface a depth away: together they would turn the bodies. So the foot, at which
the pressure j_n goes to the other body, moves by that depth times j_t / j_n to where the line of the whole force meets that surface.
"""

from __future__ import annotations

import numpy as np

from pliant.contact.point_surface.look import Look
from pliant.contact.point_surface.shares import shares
from pliant.detect.surfels.carried import Carried
from pliant.geometry.mesh import Floats
from pliant.kernels import kernel
from pliant.motion import Motion, Rows

FARTHEST = 2.0  # depths that a foot moves at most: friction above that would be off its line


def level(motion: Motion, seen: Look, impulse: Floats, friction: Floats) -> None:
    """Push the difference that moved feet make to the bodies they are on: no force, only the moment that friction left."""
    hits, framed = seen.hits, motion.bodies.frame[seen.hits.other] >= 0
    rows = np.flatnonzero(~framed & ~hits.deep & (hits.sample >= 0) & (impulse > 0.0) & friction.any(axis=1))
    if len(rows) == 0:
        return
    some, carried = hits.select(rows), motion.kept(Carried)
    over = friction[rows] / impulse[rows, None]
    over *= np.minimum(1.0, FARTHEST / np.maximum(np.linalg.norm(over, axis=1), 1e-300))[:, None]
    before, x = shares(seen.surfaces, some), seen.surfaces.points
    row = np.repeat(np.arange(len(rows)), np.diff(before[0]))
    low = np.einsum("ki,ki->k", x[before[1]] - x[some.surfel[row]], some.normal[row])  # of a curved surface the shares lie below the foot
    after = shares(seen.surfaces, some, np.bincount(row, before[2] * low, minlength=len(rows))[:, None] * over)
    most = 3 * (len(before[1]) + len(after[1]))
    first, point, weight = np.zeros(len(rows) + 1, np.int64), np.empty(most, np.int64), np.empty(most)
    count = _difference(carried.point, carried.weight, *before, *after, first, point, weight)
    made = Rows(first, point[:count].copy(), weight[:count].copy(), some.normal, x[some.surfel])
    motion.push(made, impulse[rows, None] * some.normal)


@kernel
def _difference(carrier, carried, start_1, surfel_1, weight_1, start_2, surfel_2, weight_2, first, point, weight):  # type: ignore[no-untyped-def]
    """Rows of the old shares less the new ones."""
    count = 0
    for r in range(len(start_1) - 1):
        for k in range(start_1[r], start_1[r + 1]):
            for c in range(3):
                if carried[surfel_1[k], c] != 0.0:
                    point[count], weight[count] = carrier[surfel_1[k], c], weight_1[k] * carried[surfel_1[k], c]
                    count += 1
        for k in range(start_2[r], start_2[r + 1]):
            for c in range(3):
                if carried[surfel_2[k], c] != 0.0:
                    point[count], weight[count] = carrier[surfel_2[k], c], -weight_2[k] * carried[surfel_2[k], c]
                    count += 1
        first[r + 1] = count
    return count
