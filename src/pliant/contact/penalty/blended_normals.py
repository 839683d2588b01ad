"""Normals of faces turned towards those of the vertices on them, `blend` (theory/penalty 5.9): n = unit((1 - blend) n_F - blend n_v).

Right for smooth bodies, wrong at the corners of boxes. The integral of the depth takes the blended normal at each of its points.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.geometry.normals import angle_normals
from pliant.kernels import inline
from pliant.world.motion import Motion


@inline
def blended(share, n, towards):  # type: ignore[no-untyped-def]
    """(1 - share) n + share towards, of two unit vectors; not made one again."""
    rest = 1.0 - share
    return rest * n[0] + share * towards[0], rest * n[1] + share * towards[1], rest * n[2] + share * towards[2]


def inward_vertex_normals(motion: Motion, batch: Records) -> Floats:
    """Inward normals of the vertices of vertex-face records, towards which blended normals are turned; zero for others, (r, 3)."""
    faces, skin = motion.skin.faces, motion.skin
    face_normal, vertex_normal = np.zeros((len(faces), 3)), np.zeros((len(skin), 3))
    angle_normals(motion.end, faces, face_normal, vertex_normal)
    own = -vertex_normal[np.where(batch.kind == VERTEX_FACE, batch.feature_a, 0)]
    length = np.linalg.norm(own, axis=1, keepdims=True)
    unit = np.divide(own, length, out=np.zeros_like(own), where=length > 0.0)
    return np.where((batch.kind == VERTEX_FACE)[:, None], unit, 0.0)
