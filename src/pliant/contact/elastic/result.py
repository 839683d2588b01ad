"""What a contact of two objects is like: forces at nodes, how far both gave way, and the load that passes between them, a wrench
(theory/quasi-rigid 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic import lcp
from pliant.contact.elastic.contact_stiffness import contact_stiffness
from pliant.contact.elastic.operators import Operator
from pliant.contact.elastic.pressure import pressure, touching

FEW = 40  # nodes in contact, about 3.6 a radius: below, forces are 5 to 20 % off


@dataclass(frozen=True)
class Rung:
    """A level of a solution from coarse to fine."""

    nodes: int  # of the whole level
    active: int  # of the problem
    touching: int
    force: float  # [N]
    change: float  # of the wrench since the last level, relative
    iterations: int
    seconds: float  # CPU time


@dataclass(frozen=True)
class ContactResult:
    """Forces and displacements at the nodes of a contact, in world coordinates. Normals point from A to B."""

    owner: Ints  # (n,) 0: a sample of A, 1: of B
    sample: Ints  # (n,) of that surface (of its level)
    points: Floats  # (n, 3) [m] undeformed
    deformed: Floats  # (n, 3) [m] where the surfaces meet and forces act
    normals: Floats  # (n, 3) contact normals
    areas: Floats  # (n,) [m^2]
    gap: Floats  # (n,) [m] before deformation, negative where they overlap
    P: Floats  # (n,) [N] >= 0
    s: Floats  # (n,) [m] separation that is left
    u_a: Floats  # (n,) [m] how far A gave way
    u_b: Floats  # (n,) [m]
    status: str  # solved, apart, or not solved: why
    mode: str
    iterations: int  # of the solver, all rounds
    rounds: int  # with the surfaces where they came to be
    enlarged: int  # times that nodes were added around the overlap
    penetration: float  # what is left of the overlap, as a part of the depth
    sides: tuple[float, float]  # [N] sum of forces found on nodes of A and of B; they differ only in mode split
    spikes: Ints  # nodes where displacement times curvature exceeds 0.5: thin parts, not to be trusted
    steep: int  # overlapping samples left out because the surfaces do not face each other there
    off: int  # overlapping samples left out because the other surface has a hole there
    operators: tuple[tuple[Ints, Operator], ...] = ()  # nodes and their elastic matrix
    levels: tuple[Rung, ...] = ()
    level: int = 0  # 0: all samples

    @property
    def solved(self) -> bool:
        return self.status in (lcp.SOLVED, lcp.APART)

    @property
    def contact(self) -> np.ndarray:
        """(n,) where force is carried."""
        return self.P > 0.0

    @property
    def pressure(self) -> Floats:
        """(n,) [Pa] at the nodes; scatters on uneven samples."""
        return self.P / self.areas

    @cached_property
    def smooth_pressure(self) -> Floats:
        """(n,) [Pa] blurred by a spacing; for maps and peaks of uneven samples."""
        return pressure(self.deformed, self.areas, self.P) if len(self.P) else self.P

    @property
    def area(self) -> float:
        """[m^2] of the nodes in contact; of merged nodes of those that touch, because others around may carry their force."""
        if self.mode == "merged" and self.contact.any():
            diagonal = self.operators[0][1].diagonal
            return float(np.sum(self.areas[touching(self.deformed, self.areas, self.P, self.s, diagonal)]))
        return float(np.sum(self.areas[self.contact]))

    @property
    def depth(self) -> float:
        """[m] of the deepest overlap before deformation."""
        return max(float(-np.min(self.gap, initial=0.0)), 0.0)

    @property
    def force(self) -> float:
        """[N] sum of the nodal forces."""
        return float(np.sum(self.P))

    @property
    def centre(self) -> Floats:
        """(3,) [m] centre of pressure."""
        total = np.sum(self.P)
        return np.sum(self.P[:, None] * self.deformed, axis=0) / total if total > 0.0 else np.full(3, np.nan)

    def wrench_a(self, about: Floats | None = None) -> Floats:
        """(6,) force [N] and torque [N m] on A about a point of the world."""
        push = -self.P[:, None] * self.normals
        arm = self.deformed - (np.zeros(3) if about is None else about)
        return np.concatenate([np.sum(push, axis=0), np.sum(np.cross(arm, push), axis=0)])

    def wrench_b(self, about: Floats | None = None) -> Floats:
        """(6,) on B: exactly opposite."""
        return -self.wrench_a(about)

    def rows(self, about: Floats) -> Floats:
        """(n, 6) how much motions of A (shift, turn about a point) close the gap of each node; also what its force does to A, negated."""
        return np.hstack([self.normals, np.cross(self.deformed - about, self.normals)])

    def stiffness(self, about: Floats | None = None) -> Floats:
        """(6, 6) dw = -K dx for small motions of A about a point, while the same nodes touch; without turning normals."""
        rows = self.rows(np.zeros(3) if about is None else about)
        out = np.zeros((6, 6))
        for nodes, K in self.operators:
            out += contact_stiffness(K, self.contact[nodes], rows[nodes]) / len(self.operators)
        return out
