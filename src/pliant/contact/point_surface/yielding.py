"""How readily bodies yield to pressure, and how stiff they are: what stiffness of contact is stable, and who keeps its shape.

Pressure p = k_eff depth on a body accelerates it by k_eff D depth, D [m^2/kg] the give per area of its surface: of nodes, the largest
sum_n |w_n| A_n / m_n over surfels, A_n the area that hangs on node n; of a rigid body 4 A / M, A the largest area that
it shows along an axis (4 covers turning). Symplectic steps are stable for k_eff dt^2 (D_a + D_b) < 4. D does not depend on how much of
a body touches, so stiffness is constant while bodies touch, and energy is kept.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.carried import Carried
from pliant.kernels import kernel
from pliant.model import IMPLICIT
from pliant.world.motion import Motion

THIN = 0.1  # spacings: the layer that a contact of a mesh is no stiffer than; phyxels have no shape inside, theirs is one spacing
TURNING = 4.0  # give of a rigid body at its rim over that at its centre, as of a rod


class Yielding:
    """Give per area and Young's modulus of each body; made once (`motion.kept(Yielding)`)."""

    def __init__(self, motion: Motion) -> None:
        carried, skin, frames = motion.kept(Carried), motion.skin, motion.frames
        self.give = np.zeros(len(motion.bodies))  # (B,) [m^2/kg]
        hung = np.zeros(len(motion.nodes.mass))
        _hang(carried.point, carried.weight, carried.area, skin.start, skin.node, skin.weight, hung)
        _largest(carried.body, carried.point, carried.weight, skin.start, skin.node, skin.weight, hung * motion.nodes.inverse, self.give)
        now = carried.at(motion, "start")
        self.facing = np.zeros(len(self.give))  # (B,) [m^2] the largest area that a body shows along an axis
        for axis in range(3):
            facing = np.bincount(carried.body, now.areas * np.maximum(now.normals[:, axis], 0.0), minlength=len(self.give))
            self.give[frames.body] = np.maximum(self.give[frames.body], TURNING * facing[frames.body] * frames.inverse)
            self.facing = np.maximum(self.facing, facing)
        self.framed = motion.bodies.frame >= 0  # (B,) bool
        self.implicit = np.zeros(len(self.give), bool)  # (B,): stepped implicitly
        self.implicit[motion.nodes.body[motion.nodes.scheme == IMPLICIT]] = True
        self.modulus = motion.bodies.modulus  # (B,) [Pa]
        spacing = np.sqrt(np.bincount(carried.body, carried.area, minlength=len(self.give)) / np.maximum(np.diff(carried.start), 1))
        thin = np.where(np.array(motion.bodies.kind) == "points", 1.0, THIN)
        self.layer = self.modulus / np.maximum(thin * spacing, 1e-300)  # (B,) [Pa/m] of a layer of so many mean surfel spacings

    def pair_give(self, a: Ints, b: Ints) -> Floats:
        """D of both bodies together [m^2/kg]; a body in itself gives twice."""
        return self.give[a] + self.give[b]

    def pair_whole(self, motion: Motion, a: Ints, b: Ints) -> Floats:
        """The same of bodies that move as one, against their dampers, under pressure on all that faces one way [m^2/kg]."""
        frames = motion.frames
        inertia = np.bincount(motion.nodes.body, motion.inertia, minlength=len(self.give)).astype(np.float64)  # of ints if there are none
        inertia[frames.body] = np.where(frames.inverse > 0.0, frames.mass * (1.0 + motion.dt * frames.damping), np.inf)
        whole = self.facing / np.where(inertia > 0.0, inertia, np.inf)
        return whole[a] + whole[b]

    def share(self, a: Ints, b: Ints, weight: str) -> Floats:
        """Part of the overlap that body a gives way, (r,): E_b / (E_a + E_b), 4.3 of the methods page."""
        one, two = self.modulus[a], self.modulus[b]
        if weight == "equal":
            return np.full(len(one), 0.5)
        both = np.isinf(one) & np.isinf(two)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(both, 0.5, 1.0 / (1.0 + one / two))
        return share if weight == "E" else 1.0 - share


@kernel
def _hang(point, share, area, start, node, weight, hung):  # type: ignore[no-untyped-def]
    """Area of the surfels that each node carries."""
    for i in range(len(point)):
        for c in range(3):
            for k in range(start[point[i, c]], start[point[i, c] + 1]):
                hung[node[k]] += abs(share[i, c] * weight[k]) * area[i]


@kernel
def _largest(body, point, share, start, node, weight, give, out):  # type: ignore[no-untyped-def]
    for i in range(len(point)):
        total = 0.0
        for c in range(3):
            for k in range(start[point[i, c]], start[point[i, c] + 1]):
                total += abs(share[i, c] * weight[k]) * give[node[k]]
        out[body[i]] = max(out[body[i]], total)
