"""The spring and the damper of each contact: their stiffness (theory/penalty 5.5), and what they push with (theory/penalty 5.1, 5.7).

    I = k dt (push) - c (speed), never a pull,   c = 2 zeta sqrt(k / D) dt (time),   D the give of the contact.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.enduring_stiffness import enduring_stiffness, stiffness_unit
from pliant.contact.penalty.depth_integral import DISCRETE, Pressed
from pliant.contact.penalty.options import STIFFEST, Options
from pliant.world.motion import Rows

GROWTH = 0.01  # of the stiffness in a step: a loaded spring that grows stiffer holds energy nobody put in; with 0.1 an arch gains energy


def spring(options: Options, mode: int, dt: float, give: Floats, before: Floats) -> Floats:
    """Stiffness [N/m] of each contact: as given, or from its give when it is new, then it changes slowly."""
    unit = stiffness_unit(dt, give)
    if isinstance(options.stiffness, str):
        return enduring_stiffness(options.share, unit, before, GROWTH)
    k = np.where(give > 0.0, options.stiffness, 0.0)
    return np.minimum(k, STIFFEST * unit) if options.implicit and mode != DISCRETE else k


def spring_and_damper(
    options: Options, dt: float, rows: Rows, slide: Floats, k: Floats, give: Floats, look: Pressed, pushed: np.ndarray
) -> tuple[Floats, Floats]:  # fmt: skip
    """(a, b) of the normal impulse a - b u, u being the change of speed that all impulses make: springs and dampers that never pull."""
    time = look.time[pushed]
    damper = 2.0 * options.zeta * np.sqrt(np.divide(k, give, out=np.zeros_like(k), where=give > 0.0)) * dt * time
    speed = np.einsum("ri,ri->r", slide, rows.normal) / dt
    a = np.maximum(k * dt * look.size[pushed] - damper * speed, 0.0)
    return a, k * dt**2 * look.lever[pushed] + damper
