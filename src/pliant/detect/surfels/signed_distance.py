"""Inside and outside of a surface of samples (theory/point-surfaces 6): distances with a sign, negative inside.

    (x - s).n               by the plane of the nearest sample s (6.1): quick, wrong near sharp edges
    (x - x_foot).n(x_foot)  by the foot of the projection (6.2): near the surface
    the winding number      (6.3, winding.py): decides the side of far points, and over holes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.detect.hash_grid import as_queries
from pliant.detect.surfels.answers import FAR, OFF
from pliant.detect.surfels.projection import SURE

if TYPE_CHECKING:
    from pliant.detect.surfels.surface import PointSurface


def in_front(points: Floats, feet: Floats, normals: Floats) -> Floats:
    """(m,) [m] how far points are in front of planes through feet (theory/point-surfaces 6.1, 6.2)."""
    return np.asarray(np.einsum("ij,ij->i", points - feet, normals))


def signed_distance(surface: PointSurface, points: Floats) -> Floats:
    """(m,) [m] by projection; beyond two spacings, and where the foot is not on the surface, the winding number decides the side
    (theory/point-surfaces 6.4). A query whose foot lies in a hole is as far as its nearest sample."""
    points = as_queries(points)
    found = surface.project(points)
    distance, near = found.distance.copy(), surface.spacing[found.sample]
    off = found.has(OFF)
    length = np.linalg.norm(points - np.where(off[:, None], surface.points[found.sample], found.points), axis=1)
    ask = np.flatnonzero((np.abs(distance) > SURE * near) | (off & (length > SURE * near)) | (found.has(FAR) & (length > SURE * near)))
    distance[ask] = np.where(surface.winding(points[ask]) > 0.5, -length[ask], length[ask])
    return distance
