"""What the surfaces of quasi-rigid bodies look like while they touch: displacements of skin points, drawn and recorded, never simulated."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.quasi_rigid.surface import deformed
from pliant.contact.quasi_rigid.touching import Touch
from pliant.detect.surfels.carried import Carried
from pliant.world.motion import Motion


def shown(motion: Motion, touches: list[Touch]) -> Floats:
    """Displacement of all skin points at the end of the step [m], (p, 3); zero where nothing presses."""
    carried, out = motion.kept(Carried), np.zeros_like(motion.end)
    for touch in touches:
        for which, body in enumerate((touch.a, touch.b)):
            side = touch.sides[which]
            if side.response is None or side.nodes is None:
                continue
            moved = deformed(side, touch.result, which)[0] - side.world(side.nodes.points)
            surfel = np.arange(carried.start[body], carried.start[body + 1])
            whole = np.flatnonzero(carried.weight[surfel, 0] == 1.0)
            out[carried.point[surfel[whole], 0]] += moved[whole]
    return out
