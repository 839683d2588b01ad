r"""Linear tetrahedra: four corners, constant strain.

With the edge matrix D = [x1 - x0, x2 - x0, x3 - x0] the deformation gradient is F = D D_rest^-1; the corners 1 to 3 get
the forces -V P D_rest^-T, the corner 0 minus their sum. Stiffness of `linear` and, turned by R, of `corotated`
(methods page, section 5):

    K_ab = V (lam g_a g_b^T + mu g_b g_a^T + mu (g_a.g_b) 1),   g_1..3 the rows of D_rest^-1, g_0 minus their sum

Lumped mass density V / 4 per corner.

Limitations: too stiff in bending and when nearly incompressible (locking); use `Tet10` or a finer mesh.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.tets import Tets


class Tet4(Tets):
    """Linear tetrahedra; see `Tets` for the arguments."""

    kind: ClassVar[str] = "tet4"
    corners: ClassVar[int] = 4
    weights: ClassVar[Floats] = np.array([[1.0, 0.0, 0.0, 0.0]])
    controls: ClassVar[Ints] = np.repeat(np.arange(4, dtype=np.int64)[:, None], 4, axis=1)
    watched: ClassVar[Floats] = weights
