"""A foot stands on the floor: where does it carry the load? Then a ball on a plane, compared with Hertz."""

import math

import numpy as np

import pliant
from pliant import shapes

foot = shapes.make("foot", edge=0.012)
stance = pliant.press(foot, "plane", force="400N", tilt="free", young="200kPa", response="volume-preserving", layer="20mm")
print(
    f"foot: {stance.force:.1f} N on {1e4 * stance.area:.0f} cm2, mean {1e-3 * stance.mean:.0f} kPa, peak {1e-3 * stance.peak:.0f} kPa, "
    f"tilted by {stance.tilt:.1f} degrees"
)
stance.save("foot", sensor=(37, 13))  # foot/press.png, map.png, map.csv, a.ply, b.ply, facts.json

# A ball as a cloud of points. Not a ball of triangles: the first thing of it to touch would be a corner.
radius, depth, young, poisson = 0.1, 1e-3, 1e6, 0.3
i = np.arange(60000) + 0.5
polar, around = np.arccos(1 - 2 * i / len(i)), math.pi * (1 + math.sqrt(5)) * i
points = radius * np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)
found = pliant.press(points, "plane", depth=depth, young=young, poisson=poisson)
theory = 4 / 3 * young / (1 - poisson**2) * math.sqrt(radius) * depth**1.5
print(f"ball: {found.force:.2f} N, by Hertz {theory:.2f} N, {100 * (found.force / theory - 1):+.1f} %")
