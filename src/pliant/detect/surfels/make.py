"""Point surfaces from what people have: scans, meshes, files.

    from_file("foot.ply", unit="mm")          # a scan or a mesh
    from_mesh(surface)                        # its vertices, with the areas and normals of its faces
    from_mesh(surface, spacing=0.002)         # samples on its faces, evenly spread
    from_cloud(points, view=scanner_position)  # normals, areas, outliers and repeats are dealt with

What had to be decided on the way stands in `notes` of the result.

`wrapped_cloud` is a closed surface around a scan, so that a body with an inside can be made of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError
from pliant.detect.hash_grid import thinned
from pliant.detect.surfels.areas import estimated_areas, own_side, rims
from pliant.detect.surfels.clean import THIN, check, check_finite, consolidated, flat_size, merged, outliers, skin
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.scan_normals import FLAT, oriented, principal_normals, suspects, unit
from pliant.detect.surfels.surface import NEIGHBOURS, PointSurface
from pliant.geometry.files import PointCloud, read
from pliant.geometry.lattice.closing import FAR, OFF, REACH, drawn_to, without_crumbs, wrapped
from pliant.geometry.mass import nearest_areas
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.normals import vertex_area_vectors
from pliant.geometry.topology import diagonal
from pliant.geometry.triangle import nearest_on
from pliant.geometry.units import Rotation
from pliant.geometry.winding import WindingTree
from pliant.kernels import kernel

FINE = 3  # pieces per spacing that samples are chosen from
APART = 0.75  # of the spacing: samples of one side are not nearer than this
MOST = 20_000_000  # pieces of triangles at most
FEW = 200  # vertices below which a mesh is too coarse to stand for its surface


def from_file(
    path: str | Path,
    *,
    unit: str = "m",
    up: str = "z",
    size: float | None = None,
    rotation: Rotation | None = None,
    spacing: float | None = None,
    smooth: bool = False,
) -> PointSurface:
    """The point surface of a mesh or point cloud in a file; see `geometry.files.read`, `from_mesh` and `from_cloud`."""
    mesh = read(path, unit=unit, up=up, size=size, rotation=rotation)
    if isinstance(mesh, PointCloud):
        return from_cloud(mesh, smooth=smooth, name=str(path))
    return from_mesh(mesh, spacing=spacing, name=str(path))


def from_mesh(mesh: Surface | TetMesh, *, spacing: float | None = None, name: str = "the surface") -> PointSurface:
    """Vertices with the area nearest to them and the area-weighted normal of their faces; or, with `spacing` [m], samples on the faces."""
    surface, notes = outward(mesh)
    check_finite(surface.points, name)
    if spacing is not None:
        points, normals, areas = spread_samples(surface, spacing)
        check(points, f"{name} sampled every {spacing:g} m")
        return PointSurface(points, normals, areas, notes=(*notes, f"sampled from {len(surface.faces)} triangles"))
    place = merged(surface.points) if len(surface.points) else np.zeros(0, np.int64)
    faces, count = place[surface.faces], int(place.max()) + 1 if len(place) else 0
    first = np.unique(place, return_index=True)[1]
    points = surface.points[first]
    area, normal = nearest_areas(points, faces), vertex_area_vectors(points, faces)
    length = np.linalg.norm(normal, axis=1)
    keep = (area > 0.0) & (length > 1e-9 * area)
    if count < len(place):
        notes.append(f"{len(place) - count} vertices lie on others and were merged")
    if (area == 0.0).any():
        notes.append(f"{int((area == 0.0).sum())} vertices belong to no face with an area and were left out")
    if (lost := int((~keep & (area > 0.0)).sum())) > 0:
        notes.append(f"{lost} vertices have faces that face opposite ways, so no normal, and were left out")
    check(points[keep], f"{name} ({'; '.join(notes)})" if notes else name)
    if keep.sum() < FEW:
        notes.append(f"only {int(keep.sum())} vertices stand for the surface: give a spacing to sample its faces")
    return PointSurface(points[keep], normal[keep] / length[keep, None], area[keep], source=first[keep], notes=tuple(notes))


def from_cloud(
    cloud: PointCloud | Floats,
    *,
    view: Floats | None = None,
    drop_outliers: bool = True,
    smooth: bool = False,
    neighbours: int | None = None,
    estimator: str = "auto",
    area: float | None = None,
    name: str = "the point cloud",
) -> PointSurface:
    """The surface of a scan.

    view           [m] where the scanner stood, one point or one per point: decides the side of the normals
    drop_outliers  leave out points far from all others
    smooth         one projection onto the moving least-squares surface with twice the width: against noise
    neighbours     used for normals; None: 16, or 32 where the scan is noisy
    estimator      of areas: auto, gaussian (regular samples), neighbours (8 nearest)
    area           [m^2] of the whole surface if it is known
    """
    given = cloud if isinstance(cloud, PointCloud) else PointCloud(np.asarray(cloud))
    check_finite(given.points, name)
    source, notes = _chosen(given.points, drop_outliers, name)
    given, source = _thin_layer(given, source, notes, name)
    made = _made(given, source, view, neighbours, estimator, area, name)
    if smooth:
        foot = made.project(made.points, width=2.0 * float(np.median(made.spacing)))
        moved = np.where(foot.valid[:, None], foot.points, made.points)
        notes.append(f"smoothed by {float(np.sqrt(np.mean((moved - made.points) ** 2) * 3)):.3g} m (rms)")
        smoothed = np.array(given.points)
        smoothed[source] = moved
        made = _made(PointCloud(smoothed, given.normals), source, view, neighbours, estimator, area, name)
    return PointSurface(
        made.points, made.normals, made.areas, source=source, variation=made.variation, notes=(*notes, *made.notes), given=made.given
    )


def _chosen(points: Floats, drop: bool, name: str) -> tuple[Ints, list[str]]:
    """Rows to keep, and why others were not."""
    notes = []
    chosen = np.unique(merged(points), return_index=True)[1] if len(points) else np.zeros(0, np.int64)
    chosen = np.sort(chosen)
    if len(chosen) < len(points):
        notes.append(f"{len(points) - len(chosen)} points lie on others and were merged")
    check(points[chosen], name)
    if drop and len(chosen) > 8:
        alone = outliers(points[chosen], KDTree(points[chosen]).nearest(points[chosen], min(17, len(chosen)))[1])
        if alone.any():
            notes.append(f"{int(alone.sum())} points lie far from all others and were left out")
            chosen = chosen[~alone]
            check(points[chosen], name)
    return chosen, notes


def _thin_layer(cloud: PointCloud, source: Ints, notes: list[str], name: str) -> tuple[PointCloud, Ints]:
    """The cloud, or what a thick one stands for: fewer points that average its noise, or the skin of what it fills."""
    if cloud.normals is not None or (size := flat_size(cloud.points[source])) == THIN:
        return cloud, source
    points, normals = cloud.points.copy(), None
    if size is None:
        found = skin(points[source])
        if found is None:
            notes.append("the points are neither a thin layer nor a filled body: normals are doubtful")
            return cloud, source
        rows, out = found
        notes.append(f"the points fill a body: only its skin of {len(rows)} points is used")
        normals = np.zeros_like(points)
        normals[source[rows]] = out
    else:
        feet, rows = consolidated(points[source], size)
        notes.append(f"noise is larger than the spacing: {len(rows)} points that average {size} each are used")
        points[source[rows]] = feet
    check(points[source[rows]], name)
    return PointCloud(points, normals), source[rows]


def _made(
    cloud: PointCloud, source: Ints, view: Floats | None, k: int | None, estimator: str, area: float | None, name: str
) -> PointSurface:
    """Neighbours, normals and areas of chosen points."""
    points = np.ascontiguousarray(cloud.points[source])
    notes: list[str] = []
    graph = KDTree(points).nearest(points, min(NEIGHBOURS, len(points)))[1]
    normals, variation = principal_normals(points, graph, k)
    if cloud.normals is not None:
        normals = unit(cloud.normals[source], name)
    else:
        rough = estimated_areas(own_side(points, np.ones_like(points), graph), graph)
        eyes = None if view is None else np.broadcast_to(view, cloud.points.shape)[source]
        normals, notes = oriented(points, normals, graph, rough, eyes)
    if (doubt := int(suspects(normals, graph).sum())) > 0:
        notes.append(f"{doubt} normals are opposed to most of their neighbours': thin parts or sharp creases")
    areas = estimated_areas(own_side(points, normals, graph), graph, estimator, area, rims(points, normals, graph)[0])
    return PointSurface(points, normals, areas, variation=variation, notes=tuple(notes), given=graph)


def outward(mesh: Surface | TetMesh) -> tuple[Surface, list[str]]:
    """The surface, turned round if it is inside out as a whole; a cup or a sheet, which is open, faces the way of its triangles."""
    if isinstance(mesh, TetMesh):
        tets = np.where((mesh.volumes < 0.0)[:, None], mesh.tets[:, [0, 2, 1, 3]], mesh.tets)
        return TetMesh(mesh.points, tets).surface(), []
    x = mesh.points[mesh.faces] - mesh.points.mean(axis=0) if len(mesh.faces) else np.zeros((0, 3, 3))
    vector = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    volume, area = float(np.einsum("ij,ij->", x.mean(axis=1), vector)) / 6.0, 0.5 * float(np.linalg.norm(vector, axis=1).sum())
    opening = 0.5 * float(np.linalg.norm(vector.sum(axis=0)))  # [m^2] of what would close it, by the divergence theorem
    if volume < -FLAT * area**1.5 and opening < 0.25 * area:  # of a ball, if less than a quarter is cut off
        return Surface(mesh.points, mesh.faces[:, ::-1]), ["the surface was inside out and was turned round"]
    return mesh, []


# Samples spread evenly over triangles ---------------------------------------------------------------------------------


def spread_samples(surface: Surface, spacing: float) -> tuple[Floats, Floats, Floats]:
    """(points, normals, areas): about one sample per spacing^2, no two on one side nearer than 0.75 spacing; areas sum up exactly.

    Triangles are cut into pieces a third of the spacing large; pieces are visited in a fixed shuffled order, and one is kept if no kept
    one is near. Each piece gives its area to the nearest kept one that faces its way.
    """
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise PliantError(f"samples must be more than zero metres apart, not {spacing}.")
    points, normals, areas = _pieces(surface, spacing / FINE)
    order = np.random.default_rng(0).permutation(len(points))
    points, normals, areas = points[order], normals[order], areas[order]
    owner = thinned(points, APART * spacing, normals)
    kept, place = np.unique(owner, return_inverse=True)
    total = np.bincount(place, areas, minlength=len(kept)).astype(np.float64)
    vector = np.stack([np.bincount(place, areas * normals[:, i], minlength=len(kept)) for i in range(3)], axis=1)
    return points[kept], vector / np.linalg.norm(vector, axis=1, keepdims=True), total


def _pieces(surface: Surface, size: float) -> tuple[Floats, Floats, Floats]:
    """(centres, normals, areas) of m^2 equal pieces of each triangle, m = longest edge / size."""
    x = surface.points[surface.faces]
    vector = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = np.linalg.norm(vector, axis=1)
    x, vector, area = x[area > 0.0], vector[area > 0.0], area[area > 0.0]
    edge = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    m = np.maximum(np.ceil(edge / size), 1).astype(np.int64)
    if not len(x):
        raise PliantError("the surface has no triangle with an area: nothing to sample.")
    if int((m * m).sum()) > MOST:
        raise PliantError(f"sampling every {size * FINE:g} m would take {int((m * m).sum())} pieces of triangles; choose a larger spacing.")
    weights, face = _centres(m), np.repeat(np.arange(len(x)), m * m)
    points = np.einsum("ij,ijk->ik", weights, x[face])
    return points, (vector / area[:, None])[face], (area / (m * m))[face]


@kernel
def _centres(m):  # type: ignore[no-untyped-def]
    """Barycentric coordinates of the centres of m^2 pieces, triangle after triangle."""
    out, place = np.empty(((m * m).sum(), 3)), 0
    for t in range(len(m)):
        for i in range(m[t]):
            for j in range(2 * (m[t] - i) - 1):
                u, v = (i + 1.0 / 3.0) / m[t], (j // 2 + 1.0 / 3.0) / m[t]
                if j % 2 == 1:
                    u, v = (i + 2.0 / 3.0) / m[t], (j // 2 + 2.0 / 3.0) / m[t]
                out[place, 0], out[place, 1], out[place, 2] = 1.0 - u - v, u, v
                place += 1
    return out


STEPS = 100  # along the diagonal, unless the edge of cells is given


def wrapped_cloud(cloud: PointCloud, edge: float | None = None) -> tuple[Surface, str]:
    """The border of what the samples wind around, drawn to them, and a note; four times as fine as cells of this edge [m].

    Samples that stay off it enclose nothing, such as single ones beside the rim of a scan: they are left out, which the note tells.
    """
    made = from_cloud(cloud)
    spacing = float(np.median(made.spacing))
    step = max(0.25 * edge if edge else diagonal(made.points) / STEPS, 0.5 * spacing)  # finer, it would follow single samples

    def onto(x: Floats) -> tuple[Floats, Floats]:
        foot = made.project(x).points  # over holes too, where it is near
        away = np.linalg.norm(foot - x, axis=1)
        return foot, np.where(np.isfinite(away), away, np.inf)

    found = wrapped(WindingTree.of_samples(made.points, made.normals, made.areas), made.points, step, onto)
    found = without_crumbs(found, made.points, made.areas[:, None] * made.normals, FAR * step)
    found = drawn_to(found, made.points, spacing, REACH * spacing)
    out, away = left_out(found, made)
    note = "; ".join(["its points were wrapped with a surface", *made.notes])
    if out.any():
        low, high = (_place(end) for end in (made.points[out].min(axis=0), made.points[out].max(axis=0)))
        far = float(away[out].max())
        note += f"; {out.sum()} of {len(out)} samples left out that enclose nothing, up to {far:.3g} m off, in {low} to {high} m"
    return found, note


def left_out(surface: Surface, samples: PointSurface) -> tuple[Bools, Floats]:
    """Which samples are not on the surface that was drawn to them, (n,), and how far all are from it [m]."""
    away = nearest_on(surface, samples.points)[1]
    return np.asarray(away > OFF * float(np.median(samples.spacing))), away


def _place(x: Floats) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in x) + ")"
