"""A load across the contact, carried by friction: which part sticks, and how far it gives way [Cattaneo 1938; Mindlin 1949].

Where normal and tangential displacements do not act on each other, the shear traction of any contact under a growing tangential load is
that of full sliding less that of a smaller contact, q = mu (p - p*), where p* is the pressure under the load N - Q/mu: its contact is what
sticks [Ciavarella 1998; Jaeger 1998]. So it costs one more normal contact. The displacement is mu times the difference of the depths,
times how much more a half-space gives way sideways than downwards, (2 - nu)/(2 (1 - nu)). Exact for rollers and, but for the small traction
across the load, for ellipses of contact; and for bodies of equal material, or one of which is rigid and the other incompressible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, PliantError
from pliant.pressing.asked import Pull, Softness
from pliant.pressing.cells import Load, Solved, solved

NEAR = 1e-9  # of the pressing force: what is left for sticking counts as nothing


@dataclass(frozen=True)
class Sheared:
    """What the tangential load does."""

    force: float  # [N] carried by friction
    along: Floats  # (3,) unit vector across the contact normal
    slides: bool  # the whole contact slides: more was asked for than friction carries
    stick: float  # [m^2]
    slip: float  # [m^2]
    displacement: float  # [m] of A along the load; infinite if it slides
    traction: Floats  # (nx, ny) [Pa] on the cells

    def facts(self) -> dict[str, object]:
        """For programs."""
        return {
            "force": self.force, "along": self.along.tolist(), "slides": self.slides, "stick_area": self.stick, "slip_area": self.slip,
            "displacement": None if self.slides else self.displacement, "peak_traction": float(self.traction.max()),
        }  # fmt: skip


def sheared(found: Solved, pull: Pull, softness: Softness) -> Sheared:
    """The contact under a tangential load that grows while the pressing force stays."""
    if softness.response != "boussinesq":
        raise PliantError(f"A tangential load is solved for solid bodies (response boussinesq), not for '{softness.response}'.")
    normal, area = found.pair.normal, found.grid.cell**2
    along = pull.along - (pull.along @ normal) * normal
    if not float(np.linalg.norm(along)) > 0.1:
        raise PliantError("along: the tangential load points along the contact normal; give a direction across it, such as 1,0,0.")
    along /= np.linalg.norm(along)
    pressed, p = float(found.P.sum()), found.P / area
    left = pressed - pull.force / pull.friction
    if left <= NEAR * pressed:
        return Sheared(pull.friction * pressed, along, True, 0.0, found.area, np.inf, pull.friction * p)
    start = found.pair.moved(-found.way)
    less = solved(start, found.grid, Load(None, left * float(normal @ found.pair.direction)), found, found.touch)
    ratio = sum(c * (2.0 - nu) / (2.0 * (1.0 - nu)) for c, nu in zip(softness.compliances, softness.poissons, strict=True) if c is not None)
    way = (found.depth - less.depth) * float(normal @ found.pair.direction)
    traction = np.maximum(pull.friction * (p - less.P / area), 0.0)
    return Sheared(
        pull.force, along, False, less.area, found.area - less.area, pull.friction * ratio / softness.total * way, traction
    )
