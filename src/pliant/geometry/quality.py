"""How well shaped tetrahedra are."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.geometry.mesh import TET_FACES, TetMesh


def dihedral_angles(mesh: TetMesh) -> Floats:
    """The angles between the faces of each tet [rad], (m, 6); face pairs in the order of TET_EDGES."""
    x = mesh.points[mesh.tets]
    a, b, c = (x[:, TET_FACES[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    i, j = np.triu_indices(4, 1)
    return np.pi - np.arccos(np.clip((normal[:, i] * normal[:, j]).sum(axis=2), -1.0, 1.0))
