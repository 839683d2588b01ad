"""Penalty springs whose stiffness comes from how readily their contact yields, and changes slowly while the contact endures
(theory/penalty 5.5).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats

CHANGE = 0.1  # of the stiffness in a step, at most: less than a contact feels when its neighbours come and go


def enduring_stiffness(share: float, unit: Floats, before: Floats, growth: float = CHANGE) -> Floats:
    """Stiffness k [N/m] of each contact: share x unit if it is new (before = 0), then it follows that slowly.

    unit = 1 / (dt^2 D), D the give of the contact. k dt^2 D stays below the larger of 1 and `share`, whatever k was before. growth: of k
    in a step, at most.
    """
    k = share * unit
    slow = np.clip(k, (1.0 - CHANGE) * before, (1.0 + growth) * before)
    return np.minimum(np.where(before > 0.0, slow, k), max(1.0, share) * unit)


def stiffness_unit(dt: float, give: Floats) -> Floats:
    """1 / (dt^2 D) [N/m] of each contact; 0 where nothing yields."""
    return np.divide(1.0, dt**2 * give, out=np.zeros_like(give), where=give > 0.0)
