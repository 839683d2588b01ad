"""Hexahedra, wedges and pyramids cut into tetrahedra.

A cell is a cone from its smallest node number over the faces that do not hold it, a quad of these being cut from its own smallest number
[Dompierre 1999]. So the diagonal of every quad starts at its smallest number, whichever cell it is seen from, and neighbours agree.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints

# Corners of the faces of each kind, all seen from one side; every format here lists corners first, in the order of VTK.
FACES: dict[str, tuple[int, list[list[int]]]] = {
    "tetra": (4, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
    "pyramid": (5, [[0, 3, 2, 1], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]),
    "wedge": (6, [[0, 2, 1], [3, 4, 5], [0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]]),
    "hexahedron": (8, [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]),
}


def kind_of(name: str) -> str:
    """The kind of solid that a name as meshio spells it (hexahedron20) means; empty if it is none of these."""
    return next((kind for kind in FACES if name.startswith(kind)), "")


def cut(points: Floats, nodes: Ints, kind: str) -> tuple[Ints, Ints]:
    """Tetrahedra of solids, positive as far as their cell is, and the cell of each; collapsed parts of cells are left out."""
    least = nodes.min(axis=1)
    parts, owners = [], []
    for face in FACES[kind][1]:
        away = np.flatnonzero((nodes[:, face] != least[:, None]).all(axis=1))
        ring = nodes[away][:, face]
        turn = (ring.argmin(axis=1)[:, None] + np.arange(len(face))) % len(face)
        ring = np.take_along_axis(ring, turn, axis=1)
        for k in range(1, len(face) - 1):
            parts.append(np.stack([least[away], ring[:, 0], ring[:, k], ring[:, k + 1]], axis=1))
            owners.append(away)
    tets, owner = np.concatenate(parts), np.concatenate(owners)
    whole = (np.diff(np.sort(tets, axis=1), axis=1) > 0).all(axis=1)
    order = np.argsort(owner[whole], kind="stable")
    tets, owner = tets[whole][order], owner[whole][order]
    x = points[tets]
    volume = np.einsum("ti,ti->t", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
    turned = np.bincount(owner, volume, minlength=len(nodes))[owner] < 0.0
    tets[turned] = tets[turned][:, [0, 2, 1, 3]]
    return tets, owner
