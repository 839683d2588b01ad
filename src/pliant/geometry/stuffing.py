"""Tetrahedra from an implicit function: isosurface stuffing.

Labelle, Shewchuk: Isosurface Stuffing: Fast Tetrahedral Meshes with Good Dihedral Angles, SIGGRAPH 2007. A
body-centred cubic lattice is laid over space; edges whose ends have different signs are cut where f = 0; a lattice
point with a cut too near is moved onto that cut; what is inside of each lattice tetrahedron is filled by a stencil.

Where we differ: the stencils are generated from one rule instead of listed (stencils.py), points are warped
all at once and not one after another, and cuts are roots of f and not of its linear interpolant.

Limitations: creases and corners of f are cut off by up to one edge; walls and gaps need about three edges across.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.implicit import Field
from pliant.geometry.mesh import TET_EDGES, TET_FACES, TetMesh
from pliant.geometry.stencils import LONG_EDGE, STENCIL_SIZE, STENCILS

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
    largest_only: bool = False,
) -> TetMesh:
    """Fill {f < 0} with tetrahedra whose boundary points lie on f = 0.

    f            -- negative inside, positive outside [m]
    lower, upper -- corners of a box that holds all of the inside [m]
    edge         -- length of the long lattice edges [m]; the short ones are 0.87 of it
    origin       -- a lattice point [m]: flat faces of f on planes through it at multiples of edge stay exactly flat
    largest_only -- keep only the largest connected piece
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
    if largest_only:
        mesh = _largest(mesh)
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


def _face_pairs(tets: Ints) -> tuple[Ints, Ints]:
    """For every inner face the two places in tets[:, TET_FACES].reshape(-1, 3); for every boundary face its place."""
    faces = np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1)
    order = np.lexsort((faces[:, 2], faces[:, 1], faces[:, 0]))
    same = np.all(faces[order[1:]] == faces[order[:-1]], axis=1)
    first = np.flatnonzero(same)
    inner = np.stack([order[first], order[first + 1]], axis=1)
    outer = np.ones(len(faces), dtype=bool)
    outer[inner] = False
    return inner, np.flatnonzero(outer)


def _components(pairs: Ints, count: int) -> Ints:
    """Number of the connected component of each of `count` things, numbered by their first thing."""
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _separated(points: Floats, tets: Ints) -> TetMesh:
    """A mesh of the used points, where pieces that meet only in a point or an edge get points of their own."""
    inner, _ = _face_pairs(tets)
    corner = (4 * np.arange(len(tets))[:, None, None] + TET_FACES).reshape(-1, 3)
    node = tets.reshape(-1)
    a, b = corner[inner[:, 0]], corner[inner[:, 1]]
    a, b = np.take_along_axis(a, np.argsort(node[a]), axis=1), np.take_along_axis(b, np.argsort(node[b]), axis=1)
    piece = _components(np.stack([a.ravel(), b.ravel()], axis=1), len(node))
    _, first = np.unique(piece, return_index=True)
    order = np.lexsort((first, node[first]))  # keep the order of the lattice
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return TetMesh(points[node[first[order]]], number[piece].reshape(-1, 4))


def _largest(mesh: TetMesh) -> TetMesh:
    """The connected piece with the largest volume."""
    spokes = np.stack([np.repeat(mesh.tets[:, 0], 3), mesh.tets[:, 1:].ravel()], axis=1)
    piece = _components(spokes, len(mesh.points))[mesh.tets[:, 0]]
    kept = mesh.tets[piece == np.argmax(np.bincount(piece, weights=mesh.volumes))]
    used, tets = np.unique(kept, return_inverse=True)
    return TetMesh(mesh.points[used], tets.reshape(-1, 4))


def _require_manifold(mesh: TetMesh, edge: float) -> None:
    """Every boundary edge in two boundary faces, every boundary point in one fan of them; else the edge is too long."""
    _, outer = _face_pairs(mesh.tets)
    faces = mesh.tets[:, TET_FACES].reshape(-1, 3)[outer]
    corner = np.arange(faces.size).reshape(-1, 3)
    half = np.concatenate([np.stack([corner[:, i], corner[:, i - 2]], axis=1) for i in range(3)])
    node = faces.reshape(-1)
    ends = np.sort(node[half], axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    _, start, count = np.unique(ends[order], axis=0, return_index=True, return_counts=True)
    bad = ends[order[start[count != 2]], 0]
    if not len(bad):
        # Two faces at an edge run through it in opposite directions, so the ends of one meet the other's crosswise.
        left, right = half[order[start]], half[order[start + 1]]
        piece = _components(
            np.concatenate([np.stack([left[:, 0], right[:, 1]], axis=1), np.stack([left[:, 1], right[:, 0]], axis=1)]),
            len(node),
        )
        fans = np.unique(piece, return_index=True)[1]
        used, seen = np.unique(node[fans], return_counts=True)
        bad = used[seen > 1]
    if len(bad):
        raise Pinched(
            f"With edge {edge:g} m the implicit body touches itself at {mesh.points[bad[0]].tolist()} and at "
            f"{len(bad) - 1} other places, so its skin would not be a manifold there: a gap or wall is about as thin "
            "as the edge. Use a smaller edge, a wider gap, or move the lattice (origin)."
        )
