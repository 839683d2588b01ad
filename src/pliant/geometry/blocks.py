"""Structured pieces that all code-made solids are assembled from: bricks, discs, prisms and subdivided tetrahedra.

Each piece is combinatorial: integer nodes and conforming tets, oriented positively in its reference position. A shape
then maps the nodes, and as long as the map does not fold, the tets stay positive.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.geometry.mesh import TET_EDGES


def oriented(tets: Ints, reference: Floats) -> Ints:
    """The same tets, all positive at the reference points."""
    x = reference[tets]
    negative = np.linalg.det(x[:, 1:] - x[:, :1]) < 0
    return np.where(negative[:, None], tets[:, [0, 1, 3, 2]], tets)


def brick(nx: int, ny: int, nz: int) -> tuple[Floats, Ints]:
    """Grid points in [0, 1]^3 and tets, five per cell, mirrored in every other cell.

    One regular tet over alternate corners and four corner tets. Measured on a clamped beam (section h x h cells, tip
    deflection over beam theory, h = 4): 0.902 in every direction and no sideways drift; Kuhn's six tets per cell give
    0.75 to 0.86 depending on the direction and drift 7 % sideways, mirrored Kuhn 0.871. Dihedral angles of cubic cells
    are 54.7 to 90 degrees.
    """
    axes = [np.linspace(0.0, 1.0, n + 1) for n in (nx, ny, nz)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    i, j, k = np.indices((nx, ny, nz)).reshape(3, -1, 1)
    corner = np.array(list(product((0, 1), repeat=3)))
    x = i + (corner[:, 0] ^ ((i + j + k) % 2))
    nodes = (x * (ny + 1) + j + corner[:, 1]) * (nz + 1) + k + corner[:, 2]
    split = [[0, 3, 5, 6]] + [[c, c ^ 4, c ^ 2, c ^ 1] for c in (1, 2, 4, 7)]  # corner number = 4 x + 2 y + z
    return points, oriented(nodes[:, split].reshape(-1, 4), points)


def ring_node(ring: Ints, place: Ints) -> Ints:
    """Number of a disc node: the centre is 0, ring k has 6 k nodes."""
    return np.where(ring == 0, 0, 1 + 3 * ring * (ring - 1) + place % np.maximum(6 * ring, 1))


def disc(rings: int) -> tuple[Ints, Ints, Ints, Ints]:
    """A hexagon of triangles: ring and place of each node, triangles (anticlockwise), and a colour 0-2 of each node.

    Ring k is a hexagon of 6 k nodes; mapped to circles it is a disc without bad triangles. The colours are those of the
    triangular lattice: no two neighbours share one.
    """
    ring = np.repeat(np.arange(rings + 1), np.maximum(6 * np.arange(rings + 1), 1))
    place = np.concatenate([np.arange(max(6 * k, 1)) for k in range(rings + 1)])
    triangles = []
    for k in range(rings):  # band between ring k and k + 1: in each sector k + 1 triangles outwards and k inwards
        sector, i = (a.ravel() for a in np.indices((6, k + 1)))
        inner, outer = sector * k + i, sector * (k + 1) + i
        k0, k1 = np.full_like(i, k), np.full_like(i, k + 1)
        triangles.append([ring_node(k0, inner), ring_node(k1, outer), ring_node(k1, outer + 1)])
        keep = i < k
        down = [ring_node(k0, inner), ring_node(k1, outer + 1), ring_node(k0, inner + 1)]
        triangles.append([a[keep] for a in down])
    return ring, place, np.concatenate([np.stack(t, axis=1) for t in triangles]), _lattice_colour(ring, place)


def _lattice_colour(ring: Ints, place: Ints) -> Ints:
    """Axial coordinates of the triangular lattice, then (q - r) mod 3."""
    corner = np.array([[1, 0], [0, 1], [-1, 1], [-1, 0], [0, -1], [1, -1], [1, 0]])
    sector, i = np.divmod(place, np.maximum(ring, 1))
    axial = (ring - i)[:, None] * corner[sector] + i[:, None] * corner[sector + 1]
    return (axial[:, 0] - axial[:, 1]) % 3


def disc_xy(ring: Ints, place: Ints) -> Floats:
    """Disc nodes on circles of radius ``ring``."""
    angle = 2.0 * np.pi * place / np.maximum(6 * ring, 1)
    return ring[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def triangle_lattice(n: int) -> tuple[Floats, Ints, Ints]:
    """The triangle (0,0), (1,0), (0,1) cut into n^2 triangles: points, triangles, colours."""
    i, j = np.array([(i, j) for j in range(n + 1) for i in range(n + 1 - j)]).T
    number = np.full((n + 2, n + 2), -1)
    number[i, j] = np.arange(len(i))
    up, down = i + j < n, i + j < n - 1
    a, b = (i[up], j[up]), (i[down], j[down])
    faces = [
        np.stack([number[a[0], a[1]], number[a[0] + 1, a[1]], number[a[0], a[1] + 1]], axis=1),
        np.stack([number[b[0] + 1, b[1]], number[b[0] + 1, b[1] + 1], number[b[0], b[1] + 1]], axis=1),
    ]
    return np.stack([i, j], axis=1) / n, np.concatenate(faces), (i - j) % 3


def prisms(
    xy: Floats, triangles: Ints, colour: Ints, layers: int, periodic: bool = False, keep: Bools | None = None
) -> Ints:
    """Triangles swept through layers, three tets per prism; node = layer * len(xy) + triangle node.

    Each prism is cut along its corners in order of colour, so neighbours agree on the diagonal of the side they share,
    and no direction of the lattice is preferred; the order turns round in every other layer, which removes the screw
    sense. ``keep`` (layers, triangles) leaves prisms out. Periodic sweeps close after the last layer (an even number).
    """
    n = len(xy)
    order = np.take_along_axis(triangles, np.argsort(colour[triangles], axis=1), axis=1)
    reference = np.column_stack([np.tile(xy, (2, 1)), np.repeat([0.0, 1.0], n)])
    parts = [np.empty((0, 4), dtype=np.int64)]
    for layer in range(layers):
        a, b, c = (order if layer % 2 == 0 else order[:, ::-1]).T
        cut = [[a, b, c, c + n], [a, b, b + n, c + n], [a, a + n, b + n, c + n]]
        tets = oriented(np.concatenate([np.stack(t, axis=1) for t in cut]), reference)
        if keep is not None:
            tets = tets[np.tile(keep[layer], 3)]
        parts.append(tets + layer * n)
    return np.concatenate(parts) % (n * layers if periodic else n * (layers + 1))


# An octahedron inside a tetrahedron has one node per edge, in the order of TET_EDGES. It is cut into four tets around
# one of its three diagonals; the other four nodes form a cycle around it.
_DIAGONALS = np.array([[0, 5], [1, 4], [2, 3]])
_CYCLES = np.array([[1, 3, 4, 2], [0, 2, 5, 3], [0, 1, 5, 4]])
_MIDPOINTS = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])[TET_EDGES].mean(axis=1)
_OCTAHEDRON = np.stack(
    [
        oriented(np.column_stack([np.tile(d, (4, 1)), c, np.roll(c, -1)]), _MIDPOINTS)
        for d, c in zip(_DIAGONALS, _CYCLES, strict=True)
    ]
)  # (3 diagonals, 4 tets, 4 corners)


def split_octahedra(octahedra: Ints, points: Floats) -> Ints:
    """Four tets per octahedron (m, 6), around its shortest diagonal; at a draw the first one."""
    ends = points[octahedra[:, _DIAGONALS]]
    length = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2)
    near = length <= length.min(axis=1, keepdims=True) * (1.0 + 1e-9)  # rounding must not decide
    return octahedra[np.arange(len(octahedra))[:, None, None], _OCTAHEDRON[near.argmax(axis=1)]].reshape(-1, 4)


def tet_lattice(n: int) -> tuple[Ints, Ints, Ints]:
    """A tetrahedron cut into n layers: barycentric integers (p, 4) that sum to n, small tets (m, 4), octahedra (k, 6).

    Faces are cut into n^2 equal triangles without any choice, so neighbours that are cut alike conform.
    """
    b = np.indices((n + 1,) * 3).reshape(3, -1).T
    b = b[b.sum(axis=1) <= n]
    weights = np.column_stack([n - b.sum(axis=1), b])
    number = np.full((n + 1,) * 3, -1)
    number[tuple(b.T)] = np.arange(len(b))

    def cells(steps: Ints) -> Ints:
        """Every cell whose corners are a lattice point of a smaller simplex plus these steps."""
        size = int(steps[0].sum())
        corner = b[weights[:, 0] >= size][:, None] + steps[:, 1:]
        return number[corner[..., 0], corner[..., 1], corner[..., 2]]

    unit = np.eye(4, dtype=np.int64)
    tets = np.concatenate([cells(unit), cells(1 - unit)])  # upright and, between four octahedra, upside down
    return weights, oriented(tets, b.astype(np.float64)), cells(unit[TET_EDGES].sum(axis=1))
