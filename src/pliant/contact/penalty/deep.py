"""Which way deep vertices come out of bodies with tetrahedra (11.6-1 of the methods page, the stronger form).

The penetration direction r of Heidelberger et al. 2004 (detect/solid_penetration.py) is known for every vertex of a group that has sunk in
together, layer by layer from the ones that are still near the surface. It does not depend on which face a vertex came through,
so it tells a deep contact from a hooked one better than the neighbours' pushes do. Bodies without tetrahedra have only those.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.detect.depth import RESOLVED
from pliant.detect.solid_penetration import SolidPenetration
from pliant.world.motion import Motion


def ways_out(motion: Motion, records: Records) -> Floats:
    """Unit directions out of B at the end of the motion, (r, 3); zero for pairs that have none."""
    out = np.zeros((len(records), 3))
    rows = np.flatnonzero((records.kind == VERTEX_FACE) & np.isin(records.b, motion.skin.tet_body))
    if len(rows) == 0:
        return out
    found, _ = motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)
    found = found.select((found.status == RESOLVED) & (found.face >= 0))
    count = len(motion.bodies)
    key = found.point * count + found.b
    order = np.argsort(key, kind="stable")
    wanted = records.feature_a[rows] * count + records.b[rows]
    at = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    known = key[order][at] == wanted if len(key) else np.zeros(len(rows), bool)
    out[rows[known]] = found.normal[order[at[known]]]
    return out
