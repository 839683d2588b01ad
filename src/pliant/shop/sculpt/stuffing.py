"""Tetrahedra from an implicit function: isosurface stuffing.

Labelle, Shewchuk: Isosurface Stuffing: Fast Tetrahedral Meshes with Good Dihedral Angles, SIGGRAPH 2007. A
body-centred cubic lattice is laid over space; edges whose ends have different signs are cut where f = 0; a lattice
point with a cut too near is moved onto that cut; what is inside of each lattice tetrahedron is filled by a stencil.

Where we differ: the stencils are generated from one rule instead of listed, points are warped
all at once and not one after another, and cuts are roots of f and not of its linear interpolant.

Limitations: creases and corners of f are cut off by up to one edge; walls and gaps need about three edges across.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.components import labels
from pliant.geometry.mesh import TET_EDGES, TET_FACES, TetMesh
from pliant.geometry.topology import Edges, split_vertices
from pliant.shop.sculpt.implicit import Field

# A cut nearer than this fraction of its edge moves the lattice point: the pair for which the paper proves dihedral
# angles of 10.7 to 164.8 degrees. With our stencils 9.5 to 161 is what hundreds of meshes gave, mostly 15 to 150.
ALPHA_LONG, ALPHA_SHORT = 0.24999, 0.41189
Bools = NDArray[np.bool_]
CHUNK = 1 << 15  # points per call of f, so that its temporaries stay in the cache


class Pinched(PliantError):
    """The skin of a body would touch itself in a point or along an edge."""


def stuff(
    f: Field,
    lower: Sequence[float],
    upper: Sequence[float],
    edge: float,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
) -> TetMesh:
    """Fill {f < 0} with tetrahedra whose boundary points lie on f = 0.

    f            -- negative inside, positive outside [m]
    lower, upper -- corners of a box that holds all of the inside [m]
    edge         -- length of the long lattice edges [m]; the short ones are 0.87 of it
    origin       -- a lattice point [m]: flat faces of f on planes through it at multiples of edge stay exactly flat
    """
    points, values, shape = _lattice(f, lower, upper, edge, np.asarray(origin, dtype=np.float64))
    sign = -np.sign(values).astype(np.int64)  # +1 inside
    lattice_tets, mirrored = _lattice_tets(sign, shape)
    points, sign, ends = _cut_and_warp(f, points, values, sign, lattice_tets)
    tets = _fill(sign, lattice_tets, mirrored, ends)
    if not len(tets):
        raise PliantError(
            f"No tetrahedron of edge {edge:g} m fits into the implicit body: it is thinner than the edge or outside "
            f"of the box {list(lower)} to {list(upper)}. Use a smaller edge, or correct the box."
        )
    mesh = _separated(points, tets)
    _require_manifold(mesh, edge)
    return mesh


def _lattice(
    f: Field, lower: Sequence[float], upper: Sequence[float], edge: float, origin: Floats
) -> tuple[Floats, Floats, tuple[int, int, int]]:
    """Lattice points (cell corners, then cell centres), f there, and the number of cells along x, y, z."""
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.shape != (3,) or high.shape != (3,) or not np.all(np.isfinite([low, high])) or not np.all(low < high):
        raise PliantError(
            f"The box to fill is empty: lower {low.tolist()}, upper {high.tolist()}; lower must be below."
        )
    if not (np.isfinite(edge) and edge > 0):
        raise PliantError(f"The edge length must be a positive length in metres, not {edge!r}.")
    first = np.floor((low - origin) / edge).astype(np.int64) - 1
    cells = np.ceil((high - origin) / edge).astype(np.int64) + 1 - first
    if np.prod(cells.astype(float)) > 5e7:
        raise PliantError(
            f"An edge of {edge:g} m needs {np.prod(cells.astype(float)):.1e} cells in the box {low.tolist()} to "
            f"{high.tolist()}; at most 5e7 are allowed. Use a larger edge or a smaller box."
        )
    corners = np.stack(np.meshgrid(*[first[d] + np.arange(cells[d] + 1) for d in range(3)], indexing="ij"), axis=-1)
    centres = corners[:-1, :-1, :-1] + 0.5
    points = origin + edge * np.concatenate([corners.reshape(-1, 3), centres.reshape(-1, 3)])
    values = _evaluate(f, points)
    if not np.all(np.isfinite(values)):
        raise PliantError(f"The implicit function is not finite at {points[~np.isfinite(values)][0].tolist()}.")
    grid = np.concatenate([corners.reshape(-1, 3) - first, centres.reshape(-1, 3) - first])
    leaking = np.any((grid < 1) | (grid > cells - 1), axis=1) & (values < 0)
    if np.any(leaking):
        raise PliantError(
            f"The implicit body reaches out of the box at {points[leaking][0].tolist()}, so its skin would be open. "
            "Enlarge lower and upper."
        )
    return points, values, (int(cells[0]), int(cells[1]), int(cells[2]))


def _evaluate(f: Field, points: Floats) -> Floats:
    return np.concatenate([f(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)])


def _lattice_tets(sign: Ints, shape: tuple[int, int, int]) -> tuple[Ints, Bools]:
    """Lattice tetrahedra with a point inside, four around each pair of neighbouring centres; which are negative."""
    corner_shape = tuple(n + 1 for n in shape)
    count = int(np.prod(corner_shape))
    corner_in, centre_in = (sign[:count] > 0).reshape(corner_shape), (sign[count:] > 0).reshape(shape)
    corner_step = np.array([corner_shape[1] * corner_shape[2], corner_shape[2], 1])
    centre_step = np.array([shape[1] * shape[2], shape[2], 1])
    found, negative = [], []
    for d in range(3):
        u, v = (d + 1) % 3, (d + 2) % 3
        lower, upper, face = [slice(None)] * 3, [slice(None)] * 3, [slice(None)] * 3
        lower[d], upper[d], face[d] = slice(None, -1), slice(1, None), slice(1, -1)
        active = centre_in[tuple(lower)] | centre_in[tuple(upper)]
        for i, j in product((0, 1), repeat=2):
            face[u], face[v] = slice(i, i + shape[u]), slice(j, j + shape[v])
            active |= corner_in[tuple(face)]
        cell = np.argwhere(active)
        centre = count + cell @ centre_step
        corner = cell @ corner_step + corner_step[d]  # lowest corner of the face between the two cells
        for shift, along, mirrored in (
            (0, u, False),
            (corner_step[v], u, True),
            (0, v, True),
            (corner_step[u], v, False),
        ):
            a = corner + shift
            found.append(np.stack([centre, centre + centre_step[d], a, a + corner_step[along]], axis=1))
            negative.append(np.full(len(a), mirrored))
    tets = np.concatenate(found)
    inside = np.any(sign[tets] > 0, axis=1)
    return tets[inside], np.concatenate(negative)[inside]


def _cut_and_warp(f: Field, points: Floats, values: Floats, sign: Ints, tets: Ints) -> tuple[Floats, Ints, Ints]:
    """Points after warping with the cuts appended, signs after warping, and the two lattice points of each cut."""
    mixed = tets[np.any(sign[tets] < 0, axis=1)]
    ends = mixed[:, TET_EDGES].reshape(-1, 2)
    is_long = np.tile(LONG_EDGE, len(mixed))
    crossing = sign[ends[:, 0]] * sign[ends[:, 1]] < 0
    ends, is_long = np.sort(ends[crossing], axis=1), is_long[crossing]
    _, unique = np.unique(ends[:, 0] * len(points) + ends[:, 1], return_index=True)
    ends, is_long = ends[unique], is_long[unique]
    t = _roots(f, points[ends[:, 0]], points[ends[:, 1]], values[ends[:, 0]], values[ends[:, 1]])
    cuts = points[ends[:, 0]] + t[:, None] * (points[ends[:, 1]] - points[ends[:, 0]])

    # Every point goes to the nearest of the cuts that violate it.
    near = np.where(t < 0.5, ends[:, 0], ends[:, 1])
    violating = np.flatnonzero(np.minimum(t, 1 - t) < np.where(is_long, ALPHA_LONG, ALPHA_SHORT))
    distance = np.linalg.norm(cuts[violating] - points[near[violating]], axis=1)
    order = violating[np.lexsort((violating, distance, near[violating]))]
    warped, first = np.unique(near[order], return_index=True)
    points, sign = points.copy(), sign.copy()
    points[warped], sign[warped] = cuts[order[first]], 0

    left = sign[ends[:, 0]] * sign[ends[:, 1]] < 0
    return np.concatenate([points, cuts[left]]), sign, ends[left]


def _roots(f: Field, a: Floats, b: Floats, fa: Floats, fb: Floats) -> Floats:
    """Fraction t of each segment a-b with f = 0: false position (Illinois), every third step a bisection."""
    t, lo, hi = np.zeros(len(a)), np.zeros(len(a)), np.ones(len(a))
    f_lo, f_hi = fa.copy(), fb.copy()
    tolerance = 1e-12 * np.linalg.norm(b - a, axis=1)
    todo = np.arange(len(a))
    for step in range(100):
        if not len(todo):
            break
        l, h, fl, fh = lo[todo], hi[todo], f_lo[todo], f_hi[todo]
        t[todo] = 0.5 * (l + h) if step % 3 == 2 else l - fl * (h - l) / (fh - fl)
        s = t[todo]
        value = _evaluate(f, a[todo] + s[:, None] * (b[todo] - a[todo]))
        same = np.sign(value) == np.sign(fl)  # the root lies between s and h
        lo[todo], f_lo[todo] = np.where(same, s, l), np.where(same, value, 0.5 * fl)
        hi[todo], f_hi[todo] = np.where(same, h, s), np.where(same, 0.5 * fh, value)
        todo = todo[(np.abs(value) > tolerance[todo]) & (hi[todo] - lo[todo] > 1e-14)]
    return t


def _fill(sign: Ints, tets: Ints, mirrored: Bools, ends: Ints) -> Ints:
    """Tetrahedra of the stencils, in numbers of lattice points and, after those, cuts."""
    code = (sign[tets] + 1) @ np.array([27, 9, 3, 1])
    key = ends[:, 0] * len(sign) + ends[:, 1]  # ascending
    pairs = np.sort(tets[:, TET_EDGES], axis=2)
    cut = len(sign) + np.searchsorted(key, pairs[..., 0] * len(sign) + pairs[..., 1])
    places = np.concatenate([tets, cut], axis=1)
    used = np.arange(STENCILS.shape[1]) < STENCIL_SIZE[code][:, None]
    row, which = np.nonzero(used)
    stencil = STENCILS[code[row], which]
    stencil[mirrored[row]] = stencil[mirrored[row]][:, [1, 0, 2, 3]]
    return np.take_along_axis(places[row], stencil, axis=1)


def _separated(points: Floats, tets: Ints) -> TetMesh:
    """A mesh of the used points, where pieces that meet only in a point or an edge get points of their own."""
    faces = np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1)
    order = np.lexsort((faces[:, 2], faces[:, 1], faces[:, 0]))
    first = np.flatnonzero(np.all(faces[order[1:]] == faces[order[:-1]], axis=1))
    inner = np.stack([order[first], order[first + 1]], axis=1)  # the two places in `faces` of every inner face
    corner = (4 * np.arange(len(tets))[:, None, None] + TET_FACES).reshape(-1, 3)
    node = tets.reshape(-1)
    a, b = corner[inner[:, 0]], corner[inner[:, 1]]
    a, b = np.take_along_axis(a, np.argsort(node[a]), axis=1), np.take_along_axis(b, np.argsort(node[b]), axis=1)
    piece = labels(len(node), np.stack([a.ravel(), b.ravel()], axis=1))
    _, first = np.unique(piece, return_index=True)
    order = np.lexsort((first, node[first]))  # keep the order of the lattice
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return TetMesh(points[node[first[order]]], number[piece].reshape(-1, 4))


def _require_manifold(mesh: TetMesh, edge: float) -> None:
    """Every boundary edge in two boundary faces, every boundary point in one fan of them; else the edge is too long."""
    edges = Edges(mesh.boundary)
    bad = edges.ends[edges.count != 2, 0]
    bad = bad if len(bad) else split_vertices(edges)
    if len(bad):
        raise Pinched(
            f"With edge {edge:g} m the implicit body touches itself at {mesh.points[bad[0]].tolist()} and at "
            f"{len(bad) - 1} other places, so its skin would not be a manifold there: a gap or wall is about as thin "
            "as the edge. Use a smaller edge, a wider gap, or move the lattice (origin)."
        )


# How the inner part of a lattice tetrahedron is cut into tetrahedra, for each pattern of signs at its points.
#
# Lattice tetrahedra are (0, 1, 2, 3) with long edges 0-1 and 2-3, four short edges, and the lower point of each long edge
# first. Signs: +1 inside, 0 on the surface, -1 outside. Places 4..9 of a stencil are the cuts of the edges TET_EDGES.

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
