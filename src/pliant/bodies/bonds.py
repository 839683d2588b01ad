r"""What an implicit step knows of the stiffness of phyxels: bonds between neighbours.

The exact tangent (`point_tangent`) couples every two phyxels that share a neighbour, several hundred each. Here each pair of neighbours
is a bond along its present direction u, K = k_ij u u^T, with

    k_ij = w_ij (k_i + k_j),   k_i = 5 G v_i |A_i^-1|,   3 G = lam + 2 mu + k_v,

which for an even neighbourhood is an isotropic solid with lam = mu = G, as fast as the body for waves of compression; where a neighbourhood
is lopsided the largest eigenvalue of A^-1 makes it stiffer than it is. Implicit steps of any length are stable if the exact stiffness
is at most twice this one; lattices of 24 to 125 phyxels have at most 1.55 (and 0.05 at least, 0.2 in the mean: motions that a step does not
resolve are slower than they should be). Forces stay exact, so what is at rest is at rest in the right place, and the error is of the order
of the step, as that of implicit Euler is. Rigid motions feel nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.springs import tangent_blocks

if TYPE_CHECKING:
    from pliant.bodies.points import Points


class Bonds:
    """The pairs of neighbours of some bodies of a group of phyxels, each once."""

    def __init__(self, points: Points, chosen: np.ndarray) -> None:
        around = points.around
        own = np.repeat(np.arange(len(points.nodes)), np.diff(around.start))
        self.slot: Ints = np.flatnonzero((own < around.other) & chosen[own])
        self.a, self.b = own[self.slot], around.other[self.slot]
        self.nodes: Ints = np.ascontiguousarray(np.stack([points.nodes[self.a, 0], points.nodes[self.b, 0]], axis=1))
        self.weight = around.weight[self.slot]
        self.size = np.linalg.eigvalsh(around.inverse.reshape(-1, 3, 3))[:, 2]

    def stiffness(self, points: Points, x: Floats, out: Floats) -> None:
        """Blocks (i, i), (i, j), (j, j) of every bond, (P, 3, 3, 3) [N/m]."""
        modulus = (points.lam + 2.0 * points.mu + points.bulk) / 3.0
        own = 5.0 * modulus * points.volume * self.size
        along = self.weight * (own[self.a] + own[self.b])
        tangent_blocks(self.nodes, np.full(len(along), np.inf), along, np.zeros(len(along)), x, out)
