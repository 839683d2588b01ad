"""Depths and forces that are too much for small dents, and are refused."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import PliantError
from pliant.contact.quasi_rigid.side import Side
from pliant.pressing import quantities

HARD = 100.0  # moduli of mean pressure that no small dent has; thin layers on wide faces, which cannot give way sideways, have some
DEEP = 0.2  # of the largest extent: dents beyond are no local deformation


def check_depth(depth: float, sides: tuple[Side, Side], cause: str = "depth =") -> None:
    """A dent must be small against the objects; most who ask for more have the wrong unit."""
    for which, side in zip(("first", "second"), sides, strict=True):
        if side.nodes is not None and depth > DEEP * (extent := np.ptp(side.nodes.points, axis=0)).max():
            size = " x ".join(f"{1e3 * e:.3g}" for e in extent)
            raise PliantError(
                f"{cause} {1e3 * depth:.3g} mm, too much for the {which} object, which is {size} mm large: dents must be small. "
                "Is the unit of the file right? `unit` and `size` set it."
            )


def check_force(force: float, sides: tuple[Side, Side], materials: list[float | None]) -> None:
    """A pressure far above the modulus is no small dent, whatever the response; said before the search for where it would come to rest."""
    softest = 1.0 / (math.pi * max(c for c in materials if c is not None))  # [Pa] E / (1 - nu^2)
    for which, side in zip(("first", "second"), sides, strict=True):
        if side.nodes is None:
            continue
        extent = np.ptp(side.nodes.points, axis=0)
        least = force / float(np.prod(np.sort(extent)[1:]))
        if least > HARD * softest:
            size = " x ".join(f"{1e3 * e:.3g}" for e in extent)
            raise PliantError(
                f"force = {force:.4g} N is too much for the {which} object, which is {size} mm large: even over its whole side it is "
                f"{quantities.pascals(least)}, and the modulus is {quantities.pascals(softest)}. Is the unit of the file right? "
                "`unit` and `size` set it."
            )
