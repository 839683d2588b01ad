"""What a frame holds of soft elements, computed in a pass or two: det F and von Mises stress."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.bodies.elasticity import von_mises
from pliant.kernels import cross, dot, kernel, load, sub

FLAT = 1e-9  # det F of an element that is all but flat: its stress is large, but a number that can be drawn


def element_stretch(group: Any, x: Floats) -> Floats:
    """Smallest det F of each element, (E,); for springs what they call stretch."""
    if not group.name.startswith("tet4"):
        return group.stretch(x)
    out = np.empty(len(group.nodes))
    _stretch(group.nodes, group.whole, x, out)
    return out


@dataclass(frozen=True)
class Strained:
    """What a frame holds of a group of elements."""

    stretch: Floats  # (E,) see `element_stretch`
    energy: Floats  # [J] (E,)
    stress: Floats | None  # [Pa] (E,) von Mises; None of what is not drawn as cells

    @staticmethod
    def of(group: Any, x: Floats) -> Strained:
        """Of a group with its nodes at x [m], (n, 3): energy and stress of the compiled laws in one pass over the elements."""
        stretch = element_stretch(group, x)
        if not group.name.startswith("tet4") or group.name == "tet4 linear":  # `linear` shows the small-strain stress
            return Strained(stretch, group.energy(x), von_mises(group.stress(x)) if group.name.startswith("tet") else None)
        force, energy, stress = np.empty((group.nodes.size, 3)), np.empty(len(group.nodes)), np.empty(len(group.nodes))
        group.forces(x, None, force, energy)
        _stress(group.nodes, group.volume, x, force, stretch, stress)
        return Strained(stretch, energy, stress)


@kernel
def _stretch(nodes, volume, x, out):  # type: ignore[no-untyped-def]
    """Volume now over volume at rest."""
    for e in range(len(nodes)):
        origin = load(x, nodes[e, 0])
        a, b, c = sub(load(x, nodes[e, 1]), origin), sub(load(x, nodes[e, 2]), origin), sub(load(x, nodes[e, 3]), origin)
        out[e] = dot(a, cross(b, c)) / (6.0 * volume[e])


@kernel
def _stress(nodes, volume, x, force, stretch, out):  # type: ignore[no-untyped-def]
    """Cauchy stress of 4-node elements from the virial, sum_a x_a f_a^T = -V det(F) sigma (Clausius 1870), whatever the law.

    Forces are compiled and sum to zero, so that the first corner may be the origin.
    """
    for e in range(len(nodes)):
        origin = load(x, nodes[e, 0])
        a, b, c = sub(load(x, nodes[e, 1]), origin), sub(load(x, nodes[e, 2]), origin), sub(load(x, nodes[e, 3]), origin)
        f, g, h = load(force, 4 * e + 1), load(force, 4 * e + 2), load(force, 4 * e + 3)
        now = -volume[e] * (FLAT if abs(stretch[e]) < FLAT else stretch[e])
        xx = (a[0] * f[0] + b[0] * g[0] + c[0] * h[0]) / now
        yy = (a[1] * f[1] + b[1] * g[1] + c[1] * h[1]) / now
        zz = (a[2] * f[2] + b[2] * g[2] + c[2] * h[2]) / now
        xy = (a[0] * f[1] + b[0] * g[1] + c[0] * h[1]) / now
        yz = (a[1] * f[2] + b[1] * g[2] + c[1] * h[2]) / now
        zx = (a[2] * f[0] + b[2] * g[0] + c[2] * h[0]) / now
        normal = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
        out[e] = math.sqrt(0.5 * normal + 3.0 * (xy * xy + yz * yz + zx * zx))
