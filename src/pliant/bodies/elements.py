"""What the world asks of any kind of element: tetrahedra, springs, phyxels, one of your own.

A world holds a handful of element groups, each for all bodies at once. A group never sees bodies or integrators, only
nodes: it turns positions and velocities into one force per *corner* (element, local node). The world gathers corners to
nodes over a fixed incidence list, so results do not depend on threads.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pliant.base import Floats, Ints


class Elements(Protocol):
    """E elements with c corners each; every array is (E, ...) in the order of `nodes`."""

    name: str  # "tet4 corotated", "springs", ...: shown in timings and messages
    nodes: Ints  # (E, c) world node numbers
    rayleigh: Floats  # [s] (E,) stiffness-proportional damping b of C = a M + b K

    @property
    def work(self) -> int:
        """How much a force evaluation is to do, in springs or tetrahedra."""
        ...

    @property
    def mass(self) -> Floats:
        """Lumped mass per corner [kg], (E, c)."""
        ...

    def forces(self, x: Floats, v: Floats, out: Floats) -> None:
        """Write elastic forces plus damping -b K v into out, (E * c, 3) [N]."""
        ...

    def energy(self, x: Floats) -> Floats:
        """Elastic energy per element [J], (E,)."""
        ...

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Write the tangent -df/dx, projected to be positive semi-definite, into out: blocks of the upper triangle.

        An implicit step of dt scales it with dt b + dt^2; elements with dashpots c add the stiffness c / (b + dt) that these
        amount to in such a step. Others have no use for dt.
        out is (E, c (c + 1) / 2, 3, 3), block (a, b) with a <= b at index a c - a (a - 1) / 2 + (b - a).
        """
        ...

    def stable_dt(self, node_mass: Floats) -> Floats:
        """Largest stable step of an explicit scheme, 2 / omega_max per element at rest, with damping [s], (E,)."""
        ...

    def stretch(self, x: Floats) -> Floats:
        """Smallest det F of each element (1 at rest, <= 0 inverted); springs: length / rest length. (E,)"""
        ...


def couples(group: Any) -> Ints:
    """The nodes that `stiffness` writes blocks for, (S, c): those of the elements, unless a group couples others."""
    return getattr(group, "couples", group.nodes)


def couple_rayleigh(group: Any) -> Floats:
    """Stiffness damping of what `couples` lists [s], (S,)."""
    return getattr(group, "couple_rayleigh", group.rayleigh)
