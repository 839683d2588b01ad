"""The skin of what is drawn: triangles seen from outside."""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.geometry.mesh import TetMesh, lone
from pliant.record.run import Cells

# Faces of a quadratic tetrahedron seen from outside, as corners and then the middles between corners 1-2, 2-3, 3-1;
# nodes in VTK's order (corners, then edges 01 12 02 03 13 23).
QUADRATIC_FACES = np.array([[1, 2, 3, 5, 9, 8], [0, 3, 2, 7, 9, 6], [0, 1, 3, 4, 8, 7], [0, 2, 1, 6, 5, 4]])
FACE_SPLIT = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])


def skin(cells: Cells, body: int | None = None) -> Ints:
    """Triangles (m, 3) seen from outside: those drawn, and for bodies without any the boundary of their tetrahedra."""
    ends = np.cumsum([len(block) for block in cells.blocks.values()])
    owner = dict(zip(cells.blocks, np.split(cells.body, ends[:-1]), strict=True))
    shell = np.unique(owner["triangles"])
    own = {name: np.ones(len(ids), bool) if body is None else ids == body for name, ids in owner.items()}
    bare = {name: own[name] & ~np.isin(ids, shell) for name, ids in owner.items()}
    return np.concatenate(
        [
            cells.triangles[own["triangles"]],
            TetMesh(np.zeros((0, 3)), cells.tets[bare["tets"]]).boundary,
            _quadratic_boundary(cells.tets10[bare["tets10"]]),
        ]
    )


def _quadratic_boundary(tets: Ints) -> Ints:
    """Outer faces of quadratic tetrahedra, each as four triangles."""
    faces = tets[:, QUADRATIC_FACES].reshape(-1, 6)
    return faces[lone(faces[:, :3])][:, FACE_SPLIT].reshape(-1, 3)
