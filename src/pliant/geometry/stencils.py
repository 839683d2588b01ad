"""How the inner part of a lattice tetrahedron is cut into tetrahedra, for each pattern of signs at its points.

Lattice tetrahedra are (0, 1, 2, 3) with long edges 0-1 and 2-3, four short edges, and the lower point of each long edge
first. Signs: +1 inside, 0 on the surface, -1 outside. Places 4..9 of a stencil are the cuts of the edges TET_EDGES.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

from pliant.base import Ints
from pliant.geometry.mesh import TET_EDGES

LONG_EDGE = np.array([True, False, False, False, False, True])  # of TET_EDGES
_REFERENCE = np.array([[-1.0, 0, 0], [1, 0, 0], [0, 1, 1], [0, -1, 1]])  # a positive lattice tetrahedron


def _edge(p: int, q: int) -> int:
    return [tuple(e) for e in TET_EDGES.tolist()].index((min(p, q), max(p, q)))


def _cut(p: int, q: int) -> int:
    return 4 + _edge(p, q)


def _starts(p: int, q: int, m: int) -> bool:
    """Whether the diagonal of the quadrilateral p, q, cut(q, m), cut(p, m) runs from p to cut(q, m).

    The quadrilateral is shared by two lattice tetrahedra, so the rule looks only at the triangle p, q, m, which has one
    long edge: the diagonal ends at the cut of the long edge; if that is p-q it starts at the lower one.
    """
    return p < q if LONG_EDGE[_edge(p, q)] else bool(LONG_EDGE[_edge(q, m)])


def _prism(a: Sequence[int], b: Sequence[int], diagonals: set[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The prism with triangles a, b and sides a_i-b_i; (i, j) in diagonals asks for a_i-b_j and not a_j-b_i."""
    for i, j, k in permutations(range(3)):
        if not {(j, i), (k, i), (k, j)} & diagonals:
            return [(a[i], a[j], a[k], b[k]), (a[i], a[j], b[j], b[k]), (a[i], b[i], b[j], b[k])]
    raise AssertionError("cyclic diagonals: no tetrahedra without an extra point")


def _stencil(sign: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Tetrahedra that fill the inner part, of either orientation."""
    inner = [i for i in range(4) if sign[i] > 0]
    outer = [i for i in range(4) if sign[i] < 0]
    if not inner:
        return []
    if not outer:
        return [(0, 1, 2, 3)]
    if len(inner) == 1:
        return [tuple(i if sign[i] >= 0 else _cut(inner[0], i) for i in range(4))]
    m = outer[0]
    if len(inner) == 3:
        asked = {(i, j) for i, j in permutations(range(3), 2) if _starts(inner[i], inner[j], m)}
        return _prism(inner, [_cut(p, m) for p in inner], asked)
    p, q = inner
    if len(outer) == 2:  # the diagonal between the cuts lies on the boundary of the mesh and is free
        asked = {(0, i) if _starts(p, q, n) else (i, 0) for i, n in enumerate(outer, start=1)}
        return _prism([p, *(_cut(p, n) for n in outer)], [q, *(_cut(q, n) for n in outer)], asked)
    on = sign.index(0)
    if not _starts(p, q, m):
        p, q = q, p
    return [(on, p, q, _cut(q, m)), (on, p, _cut(q, m), _cut(p, m))]


def _table() -> tuple[Ints, Ints]:
    stencils, size = np.zeros((81, 3, 4), dtype=np.int64), np.zeros(81, dtype=np.int64)
    places = np.concatenate([_REFERENCE, _REFERENCE[TET_EDGES].mean(axis=1)])
    for code, sign in enumerate(product((-1, 0, 1), repeat=4)):
        for i, tet in enumerate(_stencil(sign)):
            x = places[list(tet)]
            positive = np.linalg.det(x[1:] - x[0]) > 0
            stencils[code, i] = tet if positive else (tet[1], tet[0], tet[2], tet[3])
            size[code] = i + 1
    return stencils, size


# By code = sum of (sign_i + 1) 3^(3-i): tetrahedra (81, 3, 4) for a positive lattice tetrahedron, and how many.
STENCILS, STENCIL_SIZE = _table()
