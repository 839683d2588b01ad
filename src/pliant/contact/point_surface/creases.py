"""Sharp edges of sampled surfaces: surfels on them have no normal of their own, and an area that faces several ways.

The area vector of a surfel is the sum of a third of those of the triangles around it. Where it is much shorter than their areas the surfel
lies on a crease: no plane of the body passes there along its normal, so fields leave it out, and what it shows along a direction
is the part of its area vector, not of its area.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.carried import Carried
from pliant.geometry.rotations import load4, rotate
from pliant.kernels import dot, kernel, load, norm, scale

SHARP = 0.85  # length of the area vector over the area: below it faces lean more than 32 degrees away from the normal
STEEP = 0.5  # cosine up to which all of the area of a surfel counts: two round surfaces lean away from each other twice


class Creases:
    """Area vectors of all surfels at rest, in their frame if they have one."""

    def __init__(self, carried: Carried, rest: Floats) -> None:
        faces = carried.faces
        x = rest[faces]
        vector = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) / 6.0
        size = np.repeat(np.linalg.norm(vector, axis=1), 3)
        self.vector = np.stack(
            [np.bincount(faces.ravel(), np.repeat(vector[:, k], 3), minlength=len(rest)) for k in range(3)], axis=1
        )  # (n, 3) [m^2]
        whole = np.bincount(faces.ravel(), size, minlength=len(rest))
        bare = whole == 0.0  # no triangles: points with normals
        self.flat = np.where(bare, 1.0, np.linalg.norm(self.vector, axis=1) / np.where(bare, 1.0, whole))  # (n,) 1: not on a crease
        self.turned = (carried.frame >= 0) & ~bare  # (n,) bool: shows what its area vector shows, turned with its frame

    @property
    def sharp(self) -> np.ndarray:
        """(n,) bool"""
        return self.flat < SHARP

    def facing(self, surfel: Ints, normals: Floats, areas: Floats, body: Ints, rotation: Floats, along: Floats) -> Floats:
        """Area of each surfel that faces against the unit vectors `along` (r, 3) [m^2], (r,): all of it up to 60 degrees, none at 90.

        If it were seen in perspective, pressure between two balls would grow with less than the square of their overlap.
        """
        out = np.empty(len(surfel))
        _facing(surfel, self.turned, self.vector, self.flat, normals, areas, body, rotation, along, out)
        return out


def smooth_graph(graph: Ints, sharp: np.ndarray) -> Ints:
    """The neighbours without those on creases, in the same order, -1 behind them; a row that would be empty stays as it is."""
    keep = (graph >= 0) & ~sharp[np.maximum(graph, 0)]
    keep[~keep.any(axis=1)] = True
    order = np.argsort(~keep, axis=1, kind="stable")
    return np.where(np.take_along_axis(keep, order, 1), np.take_along_axis(graph, order, 1), -1)


@kernel
def _facing(surfel, turned, vector, flat, normals, areas, body, rotation, along, out):  # type: ignore[no-untyped-def]
    for r in range(len(surfel)):
        i = surfel[r]
        v = rotate(load4(rotation, body[i]), load(vector, i)) if turned[i] else scale(areas[i] * flat[i], load(normals, i))
        shown = max(-dot(v, load(along, r)), 0.0)
        out[r] = shown if flat[i] < SHARP else min(shown / STEEP, norm(v))
