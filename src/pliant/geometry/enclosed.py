"""The volume inside closed surfaces, compiled: for every step of a run. `topology.volume_of` is for files, which are read without Numba."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import cross, dot, kernel, load, sub


def volumes(points: Floats, faces: Ints, owner: Ints, count: int) -> Floats:
    """Signed volume inside the faces (m, 3) of each of `count` owners [m^3], (count,): no digit is lost far from the origin."""
    corner, out = np.full(count, -1), np.zeros(count)
    _add_volumes(points, faces, owner, corner, out)
    return out


@kernel
def _add_volumes(points, faces, owner, corner, out):  # type: ignore[no-untyped-def]
    """Add the tetrahedra over the faces of each owner, from the first corner of its first face (`corner`, -1: not met yet)."""
    for f in range(len(faces)):
        k = owner[f]
        if corner[k] < 0:
            corner[k] = faces[f, 0]
        origin = load(points, corner[k])
        a, b, c = sub(load(points, faces[f, 0]), origin), sub(load(points, faces[f, 1]), origin), sub(load(points, faces[f, 2]), origin)
        out[k] += dot(a, cross(b, c)) / 6.0
