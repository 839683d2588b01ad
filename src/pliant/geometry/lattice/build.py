"""A body of cubic cells inside a closed surface, which rides in them as the skin.

Each cell has five tetrahedra, as `geometry/blocks.brick` cuts them. Strain is constant in a tetrahedron, so its elastic energy is that of
the whole one times the part of its volume that is inside. Mass goes to the corners of a tetrahedron as the centre of what is inside
asks for, but to no corner less than LEAST of it: stiffness and mass of a sliver shrink alike, so that it does not shorten the stable step.
Then the masses of all nodes are corrected, as little as can be, to the volume, the centre and the second moments of the surface.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.asking import refuse_many
from pliant.base import Bools, Floats, Ints, PliantError
from pliant.geometry.blocks import oriented
from pliant.geometry.lattice.lines import OVERLAP
from pliant.geometry.lattice.pieces import FINE, SLIVER, Pieces, pieces
from pliant.geometry.lattice.touching import Touching
from pliant.geometry.mass import Mass, mass_of_surface
from pliant.geometry.mesh import Surface, TetMesh

FLOOR = 0.01  # least part of a tetrahedron that counts: keeps equations of slivers from becoming singular
HELD = 0.05  # the same where points of the skin ride, so that contact does not turn it inside out
LEAST = 0.125  # least share of its mass that a corner gets: with a quarter each the step is longest, so at most 1.41 times shorter
MOST = 4_000_000  # cells of the box; more than this is taken for a mistake in `edge`
MOST_CHANGED, ROUNDS = 2.0, 20  # factor of a node's mass, and rounds in which it is found
TURNED = 0.25  # part of the volume that may be wound around the other way: no material, if it is only a fold
CELLS = 1200  # in a body, unless the edge is given
COARSEST, FINEST = 1 / 15, 1 / 150  # of the diagonal: bounds of that edge
CORNERS = np.array([[0, 3, 5, 6]] + [[c, c ^ 4, c ^ 2, c ^ 1] for c in (1, 2, 4, 7)])  # corner number = 4 x + 2 y + z, as in `brick`


class Weights(NamedTuple):
    """How much of each tetrahedron is there, and where the skin rides."""

    filled: Floats  # (t,) part of its volume that is inside: of its stiffness
    share: Floats  # (t, 4) of density times volume: mass of its corners
    ride: Ints  # (p,) tetrahedron of each skin point
    ride_weights: Floats  # (p, 4)


def default_edge(surface: Surface) -> float:
    """Edge of a cell [m] for about CELLS of them."""
    diagonal = float(np.linalg.norm(np.ptp(surface.points, axis=0)))
    volume = mass_of_surface(surface).volume
    return float(np.clip((volume / CELLS) ** (1.0 / 3.0), FINEST * diagonal, COARSEST * diagonal))


def lattice(surface: Surface, edge: float | None = None) -> tuple[TetMesh, Weights]:
    """Cells of a closed surface with this edge [m]."""
    whole = mass_of_surface(surface)  # refuses an open surface
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    edge = default_edge(surface) if edge is None else float(edge)
    if not edge > 0.0:
        raise PliantError(f"edge = {edge:g} m must be positive.")
    cells = np.maximum(1.0, np.round((high - low) / edge))
    if not cells.prod() <= MOST:
        raise PliantError(f"edge = {edge:g} m cuts the body's box into {cells.prod():.3g} cells (at most {MOST}): take a larger one.")
    refuse_many(f"edge = {edge:g} m", 6.0 * cells.prod(), "Use a larger edge (all lengths are in metres)")
    counts = cells.astype(np.int64)
    size = (high - low) / counts  # cells fit the box of the body, so that flat ends are faces of cells
    scaled = (surface.points - low) / size
    found, touch = pieces(scaled, surface.faces, counts)
    if found.backwards > TURNED * found.total[0]:
        wrong = 100.0 * found.backwards / max(found.total[0], 1e-300)
        raise PliantError(
            f"the surface has no inside: it winds around {wrong:.0f} % as much the wrong way round. It has only one side (a Klein bottle), "
            "or its faces do not agree where parts were put together."
        )
    tets = _tets(found)
    part, middle = _parts(found)
    kept = (part >= FLOOR) | (part.mean(axis=1, keepdims=True) < SLIVER)  # of a thin part all, of others what has material
    ride, weights = _rides(scaled, surface.faces, found, touch, tets, kept)
    filled = np.maximum(part, FLOOR)[kept]
    filled[ride] = np.maximum(filled[ride], HELD)
    share = filled[:, None] * _shares(found.node_at[tets[kept]], middle[kept] + found.cell[np.nonzero(kept)[0]], part[kept] > 0.0)
    used, local = np.unique(tets[kept], return_inverse=True)
    mesh = TetMesh(low + size * found.node_at[used], local.reshape(-1, 4))
    share = share * _corrected(mesh, share, _moments(whole, found, low, size))[mesh.tets]
    return mesh, Weights(filled, share, ride, weights)


def _tets(found: Pieces) -> Ints:
    """(c, 5, 4) nodes, positive; every other cell is mirrored."""
    odd = found.cell.sum(axis=1) % 2
    corner = CORNERS[None] ^ (4 * odd)[:, None, None]
    tets = np.take_along_axis(found.nodes[:, None, :], corner.reshape(len(odd), 1, 20), axis=2).reshape(-1, 4)
    return oriented(tets, found.node_at.astype(np.float64)).reshape(-1, 5, 4)


def _parts(found: Pieces) -> tuple[Floats, Floats]:
    """(c, 5) part of each tetrahedron that is inside and (c, 5, 3) its centre, in cells from the corner of the cell."""
    sample = (np.indices((FINE,) * 3).reshape(3, -1).T + 0.5) / FINE
    full = np.bincount([_tet_of(x) for x in sample], minlength=5).astype(np.float64)
    amount = found.amount
    middle = np.divide(found.moment, amount[..., None], out=np.full_like(found.moment, 0.5), where=amount[..., None] > 0.0)
    part = np.minimum(amount / full, 1.0)
    volume = np.array([2.0, 1.0, 1.0, 1.0, 1.0]) / 6.0  # of the tetrahedra of a cell
    cut = (part < 1.0 - 1e-9) @ np.diag(volume) * part
    missing = amount.sum(axis=1) / FINE**3 - part @ volume  # samples are few for a tetrahedron, not for its cell
    scale = 1.0 + np.divide(missing, cut.sum(axis=1), out=np.zeros(len(part)), where=cut.any(axis=1))
    part = np.where(part < 1.0 - 1e-9, part * np.maximum(scale, 0.0)[:, None], 1.0)
    return np.minimum(part, 1.0), middle


def _tet_of(x: Floats) -> int:
    near = [np.abs(x - np.array([(c >> 2) & 1, (c >> 1) & 1, c & 1])).sum() for c in (1, 2, 4, 7)]
    return 1 + int(np.argmin(near)) if min(near) < 1.0 else 0


def _shares(corners: Ints, place: Floats, some: Bools) -> Floats:
    """(t, 4) shares of the corners that put the mass at the centre of what is inside, LEAST at least."""
    weights = barycentric(corners.astype(np.float64), place)
    weights[~some] = 0.25
    weights = np.maximum(weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    least = weights.min(axis=1)
    blend = np.where(least < LEAST, (LEAST - least) / np.maximum(0.25 - least, 1e-12), 0.0)[:, None]
    return (1.0 - blend) * weights + 0.25 * blend


def barycentric(corners: Floats, place: Floats) -> Floats:
    """(t, 4) weights of the corners (t, 4, 3) of each tetrahedron at a place (t, 3)."""
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inner = np.linalg.solve(edges, (place - corners[:, 0])[..., None])[..., 0]
    return np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)


# ---- masses of nodes with the right sum, centre and inertia


def _moments(whole: Mass, found: Pieces, low: Floats, size: Floats) -> tuple[float, Floats, Floats]:
    """Volume, centre and second moments about the centre: by the surface, or by samples where it overlaps itself."""
    if found.total[10] + found.backwards <= OVERLAP * found.total[0]:
        return whole.volume, whole.centre, 0.5 * np.trace(whole.inertia) * np.eye(3) - whole.inertia
    volume, first = found.total[0] * size.prod(), found.total[1:4] / found.total[0]
    xx, yy, zz, xy, yz, zx = found.total[4:10]
    second = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) / found.total[0] - np.outer(first, first)
    return volume, low + size * first, volume * second * np.outer(size, size)


def _monomials(x: Floats) -> Floats:
    """(n, 10): 1, x, y, z, xx, yy, zz, xy, yz, zx."""
    a, b, c = x.T
    return np.stack([np.ones(len(x)), a, b, c, a * a, b * b, c * c, a * b, b * c, c * a], axis=1)


def _corrected(mesh: TetMesh, share: Floats, whole: tuple[float, Floats, Floats]) -> Floats:
    """(n,) factors of node masses: 1 + a quadratic function of the place, as small as the ten moments of the surface allow.

    A factor stays between half and twice: bodies of one layer of cells keep an error across it.
    """
    mass = np.bincount(mesh.tets.ravel(), (share * mesh.volumes[:, None]).ravel(), minlength=len(mesh.points))
    volume, centre, second = whole
    middle, size = mesh.points.mean(axis=0), float(np.ptp(mesh.points, axis=0).max())
    x, c = (mesh.points - middle) / size, (centre - middle) / size
    s = second / size**2 + volume * np.outer(c, c)
    wanted = np.array([volume, *(volume * c), s[0, 0], s[1, 1], s[2, 2], s[0, 1], s[1, 2], s[2, 0]])
    factor, base = np.full(len(mass), volume / mass.sum()), _monomials(x)
    allowed = factor[0] / MOST_CHANGED, factor[0] * MOST_CHANGED
    for _ in range(ROUNDS):
        now = factor * mass
        change = base @ np.linalg.lstsq(base.T @ (now[:, None] * base), wanted - base.T @ now, rcond=1e-12)[0]
        factor = np.clip(factor * (1.0 + change), *allowed)
        if np.abs(change).max() < 1e-9:
            break
    return factor * (volume / float(factor @ mass))


# ---- where the points of the skin ride


def _rides(points: Floats, faces: Ints, found: Pieces, touch: Touching, tets: Ints, kept: Bools) -> tuple[Ints, Floats]:
    """The tetrahedron of every point, in the piece that its triangles belong to, and its weights; points are in cells."""
    piece = _piece_of_points(points, faces, found, touch)
    used = np.unique(faces)
    ride, weights = np.zeros(len(points), np.int64), np.zeros((len(points), 4))
    weights[:, 0] = 1.0
    corners = found.node_at.astype(np.float64)[tets[piece[used]]]  # (u, 5, 4, 3)
    each = np.stack([barycentric(corners[:, k], points[used]) for k in range(5)], axis=1)
    best = np.where(kept[piece[used]], each.min(axis=2), -np.inf).argmax(axis=1)
    number = np.cumsum(kept.ravel()) - 1
    ride[used] = number[5 * piece[used] + best]
    weights[used] = each[np.arange(len(used)), best]
    return ride, weights


def _piece_of_points(points: Floats, faces: Ints, found: Pieces, touch: Touching) -> Ints:
    """Of the pieces that the triangles of a point are in, the one whose cell is nearest to the point."""
    pair = np.flatnonzero(found.of_pair >= 0)
    piece = found.of_pair[pair]
    best, away = np.full(len(points), -1, np.int64), np.full(len(points), np.inf)
    for k in range(3):
        point = faces[touch.face[pair], k]
        off = points[point] - found.cell[piece] - 0.5
        distance = np.maximum(np.abs(off) - 0.5, 0.0).max(axis=1) + 1e-9 * np.abs(off).max(axis=1)
        order = np.lexsort((piece, distance, point))
        first = order[np.diff(point[order], prepend=-1) > 0]
        better = distance[first] < away[point[first]]
        best[point[first[better]]], away[point[first[better]]] = piece[first[better]], distance[first[better]]
    lost = np.setdiff1d(np.unique(faces), np.flatnonzero(best >= 0))
    if len(lost):
        raise PliantError(f"{len(lost)} points of the surface are in no cell (first: {lost[0]}); take a smaller edge.")
    return best
