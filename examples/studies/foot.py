"""A foot stands on the floor: pressure under it, for a pad of some stiffness and thickness under the bones."""

import pliant
from pliant import shapes


def stands(young: float, thickness: float) -> dict[str, float]:
    """Young's modulus [Pa] and thickness [m] of the pad; the load is 400 N."""
    foot = shapes.make("foot", edge=0.012)
    found = pliant.press(foot, "plane", force="400N", tilt="free", young=young, response="volume-preserving", layer=thickness)
    return {"peak": found.peak, "mean": found.mean, "area": found.area}
