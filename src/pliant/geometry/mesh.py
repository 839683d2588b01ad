"""The two meshes that everything in pliant is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints

# Faces of a positive tetrahedron (det[x1-x0, x2-x0, x3-x0] > 0), seen anticlockwise from outside.
TET_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
TET_EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


def lone(faces: Ints) -> Ints:
    """Places of the faces (m, 3) whose corners no other face has, ascending."""
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.sort(first[count == 1])


@dataclass(frozen=True)
class Surface:
    """A triangle mesh, oriented outwards."""

    points: Floats  # [m], (n, 3)
    faces: Ints  # (m, 3), anticlockwise seen from outside

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", np.ascontiguousarray(self.points, dtype=np.float64).reshape(-1, 3))
        object.__setattr__(self, "faces", np.ascontiguousarray(self.faces, dtype=np.int64).reshape(-1, 3))

    def moved(self, offset: Floats | tuple[float, float, float] = (0, 0, 0), rotation: Floats | None = None) -> Surface:
        """Rotated about the origin by a 3x3 matrix, then shifted."""
        points = self.points if rotation is None else self.points @ np.asarray(rotation).T
        return Surface(points + np.asarray(offset), self.faces)


@dataclass(frozen=True)
class TetMesh:
    """A tetrahedral mesh with positive tetrahedra."""

    points: Floats  # [m], (n, 3)
    tets: Ints  # (m, 4), det[x1-x0, x2-x0, x3-x0] > 0
    groups: Ints | None = None  # (m,) number of the group of each, as its file has it
    names: tuple[tuple[str, int], ...] = ()  # of groups

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", np.ascontiguousarray(self.points, dtype=np.float64).reshape(-1, 3))
        object.__setattr__(self, "tets", np.ascontiguousarray(self.tets, dtype=np.int64).reshape(-1, 4))

    def moved(self, offset: Floats | tuple[float, float, float] = (0, 0, 0), rotation: Floats | None = None) -> TetMesh:
        """Rotated about the origin by a 3x3 matrix, then shifted."""
        points = self.points if rotation is None else self.points @ np.asarray(rotation).T
        return replace(self, points=points + np.asarray(offset))

    @cached_property
    def volumes(self) -> Floats:
        """Signed volume of each tetrahedron [m^3]."""
        x = self.points[self.tets]
        return np.linalg.det(x[:, 1:] - x[:, :1]) / 6.0

    @cached_property
    def boundary(self) -> Ints:
        """Faces that belong to one tetrahedron only, (m, 3), outward, in node numbers of this mesh."""
        faces = self.tets[:, TET_FACES].reshape(-1, 3)
        return faces[lone(faces)]

    def surface(self) -> Surface:
        """The boundary as a surface of its own, with only the points it uses."""
        used, faces = np.unique(self.boundary, return_inverse=True)
        return Surface(self.points[used], faces.reshape(-1, 3))
