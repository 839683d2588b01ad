"""Parts of scans: what lies on one side of planes across the axes, such as "z<50mm" or "z<50mm,x>-2cm"."""

from __future__ import annotations

import re

import numpy as np

from pliant.base import PliantError
from pliant.geometry.files import PointCloud
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.units import UNITS

CUT = re.compile(r"\s*([xyz])\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*")


def cuts(text: str) -> list[tuple[int, bool, float]]:
    """(axis, whether below, place [m]) of each condition."""
    found = []
    for part in text.split(","):
        match = CUT.fullmatch(part)
        if match is None or match[4] and match[4] not in UNITS:
            raise PliantError(f"crop = '{text}': '{part}' is no condition; write for instance z<50mm, or z<50mm,x>-2cm.")
        found.append(("xyz".index(match[1]), match[2] == "<", float(match[3]) * (UNITS[match[4]] if match[4] else 1.0)))
    return found


def cropped(mesh: Surface | TetMesh | PointCloud, text: str) -> Surface | PointCloud:
    """What fulfils all conditions: points, or the triangles with all corners there. In metres with z up, as read."""
    if isinstance(mesh, TetMesh):
        mesh = mesh.surface()
    keep = np.ones(len(mesh.points), bool)
    for axis, below, place in cuts(text):
        keep &= (mesh.points[:, axis] < place) == below
    if isinstance(mesh, PointCloud):
        left: Surface | PointCloud = PointCloud(mesh.points[keep], None if mesh.normals is None else mesh.normals[keep])
    else:
        faces = mesh.faces[keep[mesh.faces].all(axis=1)]
        used, corner = np.unique(faces, return_inverse=True)
        left = Surface(mesh.points[used], corner.reshape(-1, 3))
    if len(left.points) == 0:
        low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
        box = ", ".join(f"{name} from {1e3 * a:.4g} to {1e3 * b:.4g} mm" for name, a, b in zip("xyz", low, high, strict=True))
        raise PliantError(f"crop = '{text}' leaves nothing of the object, which has {box}.")
    return left
