"""Where a rigid object comes to rest on a plane under a load: it rolls over corners and edges until the load is above what it stands on.

The height of the load's point over the plane is H = max_i (x_i - at).e, with e the direction of the load. While the object rolls, H falls.
Its steepest descent turns the object away from the point of its support (the polygon of the samples that touch) that is nearest to the line
of the load, until another sample touches. It ends where that line passes through the support: a minimum of H, a stable stance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pliant.base import Floats
from pliant.geometry.units import rotation_matrix

TOUCH = 1e-9  # of the object: nearer samples touch
TURNS = 10000


def rolled(points: Floats, at: Floats, e: Floats) -> Floats:
    """(3, 3) the turn about `at` after which an object rests on a plane across e; none if `at` is outside it: then nothing may stop it.

    points (n, 3), at (3,) [m]; e (3,) a unit vector
    """
    size, total = float(np.linalg.norm(np.ptp(points, axis=0))), np.eye(3)
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in a plane
        return total
    if np.any(hull.equations[:, :3] @ at + hull.equations[:, 3] > TOUCH * size):
        return total
    x = np.asarray(points[np.sort(hull.vertices)] - at, dtype=np.float64)
    for _ in range(TURNS):
        low = x @ e
        touch = x[low >= low.max() - TOUCH * size]
        q = nearest_support(touch - (touch @ e)[:, None] * e)
        far = float(np.linalg.norm(q))
        if far <= TOUCH * size:
            return total
        d = -q / far
        pivot = touch[int(np.argmax(touch @ d))]
        below, ahead = np.minimum((x - pivot) @ e, 0.0), (x - pivot) @ d
        reach = ahead > TOUCH * size
        angle = float(np.min(np.arctan2(-below[reach], ahead[reach])))
        turn = rotation_matrix(math.degrees(angle) * np.cross(d, e))  # brings cos(angle) e + sin(angle) d to e
        x, total = x @ turn.T, turn @ total
    return np.eye(3)


def nearest_support(offsets: Floats) -> Floats:
    """(3,) the point nearest to the origin of the polygon around points (n, 3) that lie in a plane with it; zero if it is inside.

    It is inside if no half-plane holds all points; outside, the nearest point is on a segment between two of them.
    """
    far = np.linalg.norm(offsets, axis=1)
    first = offsets[int(np.argmin(far))]
    if len(offsets) == 1 or not far.min() > 0.0:
        return first
    u = first / np.linalg.norm(first)
    side = offsets - (offsets @ u)[:, None] * u
    v = side[int(np.argmax(np.linalg.norm(side, axis=1)))]
    angle = np.sort(np.arctan2(offsets @ v / max(float(np.linalg.norm(v)), 1e-300), offsets @ u))
    if np.max(np.diff(angle, append=angle[0] + 2.0 * math.pi)) <= math.pi:
        return np.zeros(3)
    i, j = np.triu_indices(len(offsets), 1)
    way = offsets[j] - offsets[i]
    part = np.clip(-np.sum(offsets[i] * way, axis=1) / np.maximum(np.sum(way**2, axis=1), 1e-300), 0.0, 1.0)
    on = offsets[i] + part[:, None] * way
    return on[int(np.argmin(np.linalg.norm(on, axis=1)))]
