"""A closed surface from one that is not: cracks are closed, holes get lids, sheets that face each other sides, and what cannot be closed so
is wrapped.

A crack is where open edges lie close together. A lid is a fan from the middle of the rim. Where lids (or sides) would be larger than the
surface itself they are none, and it (or a cloud of samples) is wrapped: the places about which it winds more than half [Jacobson 2013;
Barill 2018] are the inside, and their border, put onto the input where that is near and drawn to its corners, is the surface.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError, unbroken
from pliant.geometry.check_surface import repair_surface
from pliant.geometry.components import labels
from pliant.geometry.lattice.rims import rims, with_bands, with_lids, with_rims_split
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.report import Report
from pliant.geometry.topology import Edges, diagonal, inside_volume, oriented, volume_of
from pliant.geometry.triangle import nearest_faces, nearest_on
from pliant.geometry.winding import WindingTree

LARGE = 1.0  # of the area of a surface: a flat lid is never larger than what it closes, which winds more than half around the inside then
EMPTY = 1e-5  # of the cube of the diagonal: less than this between a surface and its lids is no inside
THIN = 1e-5  # of the diagonal: the least mean thickness, twice volume over area, of what is closed without lids
LOST = 0.1  # of the area of a surface: if more lies farther than FAR steps from the wrap, that is not its skin
FAR = 4.0  # steps of a wrap, a cell
REACH = 2.0  # spacings of samples: how far the border of what they wind around is drawn to one
OFF = 0.5  # spacings: samples farther from the surface than this are not on it
CRACK = 0.2  # of the step of a wrap, a twentieth of a cell: how wide a crack may be
SHORT = 0.3  # of the open edges at a vertex: and how wide at most, so that vertices along a rim stay apart
BESIDE = 0.1 * THIN  # of the size of a face: where its two sides are asked for, nearer than the far side of the thinnest body
COARSE = 4  # grid steps between places that are looked at first
MOST = 20_000_000  # places of the grid of a wrap
OPEN = 0.5  # |sum of area vectors| over area: 1 of a flat sheet, 1/2 of half a ball, 0 of what is closed
SHEET = "a sheet is for model = \"springs\" with network = \"surface\"."
ROUNDS, NEAR = 4, 8  # in which a wrap is drawn to samples, by so many near each of its points


def closed_surface(surface: Surface, step: float) -> tuple[Surface, str]:
    """A closed surface, and what was done to have it; `step` [m]: how fine a wrap is."""
    if not len(surface.faces) or not np.isfinite(surface.points).all():
        raise PliantError("the surface cannot be filled: it has no faces, or coordinates that are not finite.")
    if _is_body(surface):
        return _without_walls(surface, len(surface.faces))
    surface, backs = _one_sided(surface)
    whole = repair_surface(surface, Report("surface", ""))
    better = _without_cracks(whole, CRACK * step)
    cracks = _holes(whole) - _holes(better)
    if cracks > 0:
        backs = "; ".join(filter(None, [backs, f"{cracks} hole{'s' if cracks > 1 else ''} closed by joining both sides of a crack"]))
    if _is_body(better):
        return _said(_without_walls(better, len(better.faces)), backs)
    whole, flakes = _without_flakes(better)
    lidded, lids, holes = with_lids(whole)
    if is_closed_solid(lidded) and lids <= LARGE * _area(whole):
        crowded = "; edges of three faces and more count as rims" if (Edges(whole.faces).count > 2).any() else ""
        what = f"{holes} hole{'s' if holes > 1 else ''} closed with lids ({100.0 * lids / _area(whole):.3g} % of the surface{crowded})"
        loose = f"{flakes} loose triangle{'s' if flakes > 1 else ''} left out"
        solid, walls = _without_walls(lidded, len(whole.faces))
        return _said((solid, walls), backs, what if holes else "", loose if flakes else "")
    banded, bands = with_bands(better)
    if is_closed_solid(banded) and _area(banded) <= (1.0 + LARGE) * _area(better):
        return _said((banded, ""), backs, f"rims that face each other joined, by {bands} band{'s' if bands > 1 else ''}")
    if len(oriented(better.points, better.faces).moebius) > 0.5 * len(better.faces):
        raise PliantError("the surface has no inside: it has only one side, like a Moebius strip. Make it again as the border of a solid.")
    out = wrapped(WindingTree.of_triangles(better.points, better.faces), better.points, step, lambda x: nearest_on(better, x))
    if not is_closed_solid(out):
        raise PliantError(
            "the surface has no inside: what it winds around is flat, or too thin for cells of this edge. "
            f"It is a sheet, or lies in pieces; {SHEET}"
        )
    x = better.points[better.faces]
    samples = np.unique(np.concatenate([better.points, x.mean(axis=1)]), axis=0)
    out = drawn_to(out, samples, step, step)
    out = without_crumbs(out, x.mean(axis=1), 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), FAR * step)
    far = f"{nearest_on(out, samples)[1].max():.2g} m"
    return _said((out, ""), backs, f"wrapped: what the open surface winds around is its inside, from whose skin it is {far} off at most")


def _said(made: tuple[Surface, str], *before: str) -> tuple[Surface, str]:
    """A surface with what was done to it, and before."""
    return made[0], "; ".join(filter(None, [*before, made[1]]))


def _one_sided(surface: Surface) -> tuple[Surface, str]:
    """One of each face and its back, where all have one, as written by programs that want surfaces seen from both sides; and a note."""
    if not _is_closed(surface) or not _back_to_back(surface.faces).all():
        return surface, ""
    first = np.unique(np.sort(surface.faces, axis=1), axis=0, return_index=True)[1]
    faces = oriented(surface.points, surface.faces[np.sort(first)]).faces
    return Surface(surface.points, faces), "every face had a back, which is left out"


def _without_cracks(surface: Surface, width: float) -> Surface:
    """A surface whose open edges are joined where they are nearer than `width` [m]: their vertices, then edges that others lie on."""
    for close in (_with_rims_joined, with_rims_split):
        if not _open_edges(surface):
            return surface
        found = repair_surface(close(surface, width), Report("surface", ""))
        surface = found if _open_edges(found) < _open_edges(surface) else surface
    return surface


def _holes(surface: Surface) -> int:
    return int(rims(surface).loop.max(initial=-1)) + 1


def _open_edges(surface: Surface) -> int:
    return int((Edges(surface.faces).count == 1).sum())


def _with_rims_joined(surface: Surface, width: float) -> Surface:
    """Vertices on open edges put together where they are nearer than `width` [m], and than SHORT of the edges there."""
    edges = Edges(surface.faces)
    rim = edges.ends[edges.count == 1]
    length = np.linalg.norm(surface.points[rim[:, 0]] - surface.points[rim[:, 1]], axis=1)
    reach = np.full(len(surface.points), np.inf)
    np.minimum.at(reach, rim, SHORT * length[:, None])
    names = np.unique(rim)
    reach = np.minimum(reach[names], width)
    pairs = kd_tree(surface.points[names]).query_pairs(float(reach.max()), output_type="ndarray")
    apart = np.linalg.norm(surface.points[names[pairs[:, 0]]] - surface.points[names[pairs[:, 1]]], axis=1)
    group = labels(len(names), pairs[apart <= reach[pairs].min(axis=1)])
    count = np.bincount(group)
    if count.max() == 1:
        return surface
    middle = np.stack([np.bincount(group, surface.points[names, k]) for k in range(3)], axis=1) / count[:, None]
    points, to = surface.points.copy(), np.arange(len(surface.points))
    to[names] = names[np.unique(group, return_index=True)[1]][group]
    points[names] = middle[group]
    return Surface(points, to[surface.faces])


def _without_flakes(surface: Surface) -> tuple[Surface, int]:
    """A surface without the parts that are open and, with lids, enclose nothing, and how many triangles these had."""
    lidded = with_lids(surface)[0]
    part = labels(len(lidded.points), np.concatenate([lidded.faces[:, :2], lidded.faces[:, 1:]]))[lidded.faces[:, 0]]
    volume = volume_of(lidded.points, lidded.faces, part)
    count = len(volume)
    x = lidded.points[lidded.faces]
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, part, x.min(axis=1))
    np.maximum.at(high, part, x.max(axis=1))
    given = np.arange(len(lidded.faces)) < len(surface.faces)  # lids come behind
    lids = np.bincount(part[~given], minlength=count)
    flat = (lids > 0) & (np.abs(volume) <= EMPTY * np.linalg.norm(high - low, axis=1) ** 3)
    if not flat.any() or flat.all():
        return surface, 0
    kept = ~flat[part[given]]
    used, local = np.unique(surface.faces[kept], return_inverse=True)
    return Surface(surface.points[used], local.reshape(-1, 3)), int((~kept).sum())


def _without_walls(surface: Surface, given: int) -> tuple[Surface, str]:
    """A closed surface without faces that bound nothing, and a note if some of the first `given`, not only lids, are among them.

    Faces back to back, walls inside, and fins with their lids have the inside, or the outside, on both sides: a place near them would be
    taken for one in or out of the body by the side that it happens to see.
    """
    if not (Edges(surface.faces).count > 2).any():
        return surface, ""
    kept = np.flatnonzero(~_back_to_back(surface.faces))
    kept = kept[~_walls(Surface(surface.points, surface.faces[kept]))]
    solid = Surface(surface.points, surface.faces[kept])
    if len(kept) == len(surface.faces) or not is_closed_solid(solid):
        return surface, ""
    used, local = np.unique(solid.faces, return_inverse=True)
    many = given - int((kept < given).sum())
    note = f"{many} triangle{'s' if many > 1 else ''} that bound{'' if many > 1 else 's'} nothing left out" if many else ""
    return Surface(surface.points[used], local.reshape(-1, 3)), note


def _back_to_back(faces: Ints) -> Bools:
    """Faces with the same corners that look opposite ways, in pairs."""
    corners = np.sort(faces, axis=1)
    follows = np.argmin(faces, axis=1)
    turn = np.where(faces[np.arange(len(faces)), (follows + 1) % 3] == corners[:, 1], 1, -1)
    _, group = np.unique(corners, axis=0, return_inverse=True)
    group = group.reshape(-1)
    left = np.bincount(group, turn)  # of each, after pairs are gone
    order = np.lexsort((turn, group))
    rank = np.empty(len(faces), np.int64)
    start = np.append(True, (np.diff(group[order]) != 0) | (np.diff(turn[order]) != 0))
    rank[order] = np.arange(len(faces)) - np.flatnonzero(start)[np.cumsum(start) - 1]
    return np.asarray(rank >= np.maximum(turn * left[group], 0))


def _walls(surface: Surface) -> Bools:
    """Faces of parts with the same on both sides; parts end where more than two faces meet."""
    edges = Edges(surface.faces)
    crowded = edges.count > 2
    a, b = edges.shared
    two = ~crowded[edges.of_corner[a]]
    part = labels(len(surface.faces), np.stack([a[two] // 3, b[two] // 3], axis=1))
    asked = np.flatnonzero(crowded[edges.of_corner].reshape(-1, 3).any(axis=1))
    x = surface.points[surface.faces[asked]]
    vector = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    size = np.linalg.norm(vector, axis=1)
    off = BESIDE * vector / np.sqrt(np.maximum(size, 1e-300))[:, None]
    middle, tree = x.mean(axis=1), WindingTree.of_triangles(surface.points, surface.faces)
    bounds = (tree.about(middle + off) > 0.5) != (tree.about(middle - off) > 0.5)
    vote = np.bincount(part[asked], size * np.where(bounds, 1.0, -1.0), minlength=int(part.max(initial=0)) + 1)
    return np.asarray(vote[part] < 0.0)


def is_closed_solid(surface: Surface) -> bool:
    """Whether its faces agree, leave no hole and enclose a volume."""
    return _is_closed(surface) and inside_volume(surface) > EMPTY * diagonal(surface.points) ** 3


def _is_body(surface: Surface) -> bool:
    """The same of what is closed without lids, and may be as thin as a film or a hair."""
    return _is_closed(surface) and 2.0 * inside_volume(surface) > THIN * diagonal(surface.points) * _area(surface)


def _is_closed(surface: Surface) -> bool:
    return len(surface.faces) > 0 and not Edges(surface.faces).balance.any()


def _area(surface: Surface) -> float:
    x = surface.points[surface.faces]
    return float(0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum())


# ---- wrapping


def wrapped(tree: WindingTree, points: Floats, step: float, onto: Callable[[Floats], tuple[Floats, Floats]]) -> Surface:
    """The border of the places that are wound around, on a grid of this step [m]; onto(x): places on the input and how far they are."""
    low, high = points.min(axis=0) - 2.0 * step, points.max(axis=0) + 2.0 * step
    blocks = np.ceil((high - low) / (COARSE * step)).astype(np.int64)
    counts = COARSE * blocks + 1
    if counts.prod() > MOST:
        size = float(np.ptp(points, axis=0).max())
        raise PliantError(f"cells of {2.0 * step:.3g} m are too small for a body of {size:.3g} m; take a larger edge.")
    winding = _winding(tree, points, low, step, blocks)
    surface = _border(winding, low, step)
    if not len(surface.faces):
        raise PliantError(
            f"the surface has no inside: nowhere does it wind around a place more than half. It is a sheet, or lies in pieces; {SHEET}"
        )
    moved, away = onto(surface.points)
    near = away <= step
    surface = Surface(np.where(near[:, None], moved, surface.points), surface.faces)
    return repair_surface(surface, Report("surface", "")) if is_closed_solid(surface) else surface  # flat ones have thousands of bad faces


def drawn_to(surface: Surface, samples: Floats, width: float, reach: float) -> Surface:
    """The surface moved so that it goes through samples within `reach` of it [m]; points up to `width` [m] from one move with it."""
    for _ in range(ROUNDS):
        place, away = nearest_on(surface, samples)
        near = away <= reach
        if not near.any():
            return surface
        off = (samples - place)[near]
        distance, which = kd_tree(place[near]).query(surface.points, k=min(NEAR, int(near.sum())))
        distance, which = (each.reshape(len(surface.points), -1) for each in (distance, which))
        weight = np.maximum(0.0, 1.0 - distance / width) ** 2
        total = np.maximum(weight.sum(axis=1), 0.25)[:, None]  # what is far from all of them stays
        surface = Surface(surface.points + np.einsum("pk,pki->pi", weight, off[which]) / total, surface.faces)
    return surface


def without_crumbs(surface: Surface, samples: Floats, vectors: Floats, far: float) -> Surface:
    """A wrap without the parts that the samples nearest to them, with their area vectors [m^2], leave open, but for the largest.

    Close to a single sample, or a loose triangle, the winding number exceeds one half on one side of it: a crumb about nothing. If many
    samples are `far` [m] from all that is left, the input has no inside, and is refused.
    """
    part = labels(len(surface.points), np.concatenate([surface.faces[:, :2], surface.faces[:, 1:]]))[surface.faces[:, 0]]
    count = int(part.max()) + 1
    each = np.linalg.norm(vectors, axis=1)
    if count > 1:
        own = part[nearest_faces(surface, samples)[0]]
        total = np.stack([np.bincount(own, vectors[:, k], minlength=count) for k in range(3)], axis=1)
        area = np.bincount(own, each, minlength=count)
        kept = (np.linalg.norm(total, axis=1) <= OPEN * area) & (area > 0.0)
        kept[np.bincount(part).argmax()] = True
        used, local = np.unique(surface.faces[kept[part]], return_inverse=True)
        surface = Surface(surface.points[used], local.reshape(-1, 3))
    lost = float(each @ (nearest_on(surface, samples)[1] > far) / each.sum())
    if lost > LOST:
        raise PliantError(
            f"the surface has no inside: {100.0 * lost:.0f} % of it is not the border of what it winds around. It is a sheet, has only one "
            f"side, or lies in pieces; {SHEET}"
        )
    return surface


def _winding(tree: WindingTree, points: Floats, low: Floats, step: float, blocks: Ints) -> Floats:
    """Winding numbers on the grid: in blocks that are far from the surface and all on one side those of the corners stand for all."""
    corner = np.stack(np.meshgrid(*[np.arange(n + 1) for n in blocks], indexing="ij"), axis=-1)
    coarse = tree.about(low + COARSE * step * corner.reshape(-1, 3)).reshape(blocks + 1)
    side = coarse > 0.5
    eight = [side[i : i + blocks[0], j : j + blocks[1], k : k + blocks[2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    open_ = np.any([each != eight[0] for each in eight], axis=0) | _near(points, low, COARSE * step, blocks)
    out = np.where(eight[0], 1.0, 0.0)
    for axis in range(3):
        out = np.repeat(out, COARSE, axis=axis)
    fine = np.zeros(COARSE * blocks + 1)
    fine[:-1, :-1, :-1] = out
    inner = np.indices((COARSE + 1,) * 3).reshape(3, -1).T
    at = np.unique((COARSE * np.argwhere(open_)[:, None] + inner).reshape(-1, 3), axis=0)
    fine[tuple(at.T)] = np.clip(tree.about(low + step * at), 0.0, 1.0)
    return fine


def _near(points: Floats, low: Floats, size: float, blocks: Ints) -> Bools:
    """Blocks with points of the input in them or beside."""
    out = np.zeros(blocks, bool)
    at = (points - low) / size
    for shift in np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T:
        out[tuple(np.clip(np.floor(at + shift).astype(np.int64), 0, blocks - 1).T)] = True
    return out


def _border(winding: Floats, low: Floats, step: float) -> Surface:
    """Where a field on a grid is one half, by flying edges."""
    with unbroken():
        from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy  # VTK: start-up time
        from vtkmodules.vtkCommonDataModel import vtkImageData
        from vtkmodules.vtkFiltersCore import vtkFlyingEdges3D

    image = vtkImageData()
    image.SetDimensions(*winding.shape)
    image.SetSpacing(step, step, step)
    image.SetOrigin(*low)
    values = numpy_to_vtk(np.ascontiguousarray(winding.ravel(order="F")))
    image.GetPointData().SetScalars(values)
    contour = vtkFlyingEdges3D()
    contour.SetInputData(image)
    contour.SetValue(0, 0.5)
    contour.ComputeNormalsOff()
    contour.ComputeGradientsOff()
    contour.Update()
    out = contour.GetOutput()
    if out.GetNumberOfPolys() == 0:
        return Surface(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    points = vtk_to_numpy(out.GetPoints().GetData()).astype(np.float64)
    faces = vtk_to_numpy(out.GetPolys().GetConnectivityArray()).astype(np.int64).reshape(-1, 3)
    surface = Surface(points, faces)
    return surface if inside_volume(surface) > 0.0 else Surface(points, faces[:, [0, 2, 1]])
