"""Diagnosis and careful repair of meshes and point clouds.

    report = diagnose(mesh)       # what is wrong, and what pliant will do about it
    print(report.text())
    mesh = repair(mesh, report)   # exactly that; PliantError if the mesh is refused

Repairs change neither the shape nor the parts: vertices at one place on open edges are welded, faces that collapsed or
repeat are left out, flat faces are removed by splitting a neighbour, orientation is made coherent and outward, a tet
mesh that is inside out as a whole is turned round. Holes are not filled, parts are neither joined nor dropped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.check_surface import diagnose_surface, mended_surface, repair_surface
from pliant.geometry.components import labels
from pliant.geometry.files import Mesh, PointCloud, open_file
from pliant.geometry.mesh import TET_EDGES, TET_FACES, Surface, TetMesh
from pliant.geometry.near import kd_tree
from pliant.geometry.report import REFUSED, Finding, Report
from pliant.geometry.topology import Edges
from pliant.geometry.units import Rotation

__all__ = ["Finding", "Report", "diagnose", "repair", "check_file", "load", "mended"]

LARGE = 20.0  # [m]; a body larger than this was probably drawn in millimetres
SMALL = 1e-3  # [m]


def diagnose(mesh: Mesh, name: str = "", notices: list[str] | None = None) -> Report:
    """Look for everything that is wrong with a mesh."""
    if isinstance(mesh, TetMesh):
        report = Report("tet mesh", f"{len(mesh.points)} nodes, {len(mesh.tets)} tetrahedra")
    elif isinstance(mesh, Surface):
        report = Report("surface", f"{len(mesh.points)} vertices, {len(mesh.faces)} triangles")
    else:
        with_normals = "" if mesh.normals is None else " with normals"
        report = Report("point cloud", f"{len(mesh.points)} points{with_normals}")
    report.name = name
    report.notices = list(notices or [])
    report.summary += f", {_extent(mesh.points)}."
    if isinstance(mesh, TetMesh):
        diagnose_tets(mesh, report)
    elif isinstance(mesh, Surface):
        diagnose_surface(mesh, report)
    else:
        diagnose_points(mesh, report)
    _scale(mesh.points, report)
    return report


def repair(mesh: Mesh, report: Report) -> Mesh:
    """The mesh after what its report announces; raises PliantError if the report refuses it."""
    report.require_usable()
    if not any(f.repaired for f in report.findings):
        return mesh
    if isinstance(mesh, TetMesh):
        return repair_tets(mesh, report)
    if isinstance(mesh, Surface):
        return repair_surface(mesh, report)
    return repair_points(mesh, report)


def check_file(
    path: str | Path, *, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None
) -> tuple[Mesh, Report]:
    """Read a file and diagnose it; raises PliantError only if it cannot be read."""
    file = open_file(path, unit=unit, up=up, size=size, rotation=rotation)
    return file.mesh, diagnose(file.mesh, name=str(file.path), notices=file.notices)


def load(
    path: str | Path, *, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None
) -> tuple[Mesh, Report]:
    """Read a file, diagnose and repair it; raises PliantError if it is refused."""
    mesh, report = check_file(path, unit=unit, up=up, size=size, rotation=rotation)
    return repair(mesh, report), report


def mended(
    path: str | Path, *, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None
) -> Mesh:
    """The mesh that `load` gives, in a third of its time: what is left as it is (holes, self-intersections) is not looked for."""
    file = open_file(path, unit=unit, up=up, size=size, rotation=rotation)
    if isinstance(file.mesh, Surface):
        return mended_surface(file.mesh, Report("surface", "", name=str(file.path)))
    return repair(file.mesh, diagnose(file.mesh, name=str(file.path)))


def _span(points: Floats) -> Floats:
    finite = points[np.isfinite(points).all(axis=1)]
    return np.ptp(finite, axis=0) if len(finite) else np.zeros(3)


def _extent(points: Floats) -> str:
    return "{:.4g} x {:.4g} x {:.4g} m".format(*_span(points))


def _scale(points: Floats, report: Report) -> None:
    size = float(_span(points).max()) if len(points) else 0.0
    if size > LARGE:
        report.add(
            "scale", (), f"The body is {size:.4g} m large. If the file is in millimetres, read it with unit='mm', "
            f"--unit mm on the command line ({size / 1000:.4g} m), or give its size.", count=1,
        )  # fmt: skip
    elif 0 < size < SMALL:
        report.add(
            "scale",
            (),
            f"The body is only {size:.3g} m large. Is the unit right? Its size can be set on reading.",
            count=1,
        )


# ---- what can be wrong with a point cloud

OUTLIER = 10.0  # a point this many typical spacings away from its neighbours is an outlier
NEIGHBOURS = 4
TOGETHER = 16  # nearest points, eight to each side along a line: lines of a scanner up to eight spacings apart are one group


def diagnose_points(cloud: PointCloud, report: Report) -> None:
    """Fill the report."""
    bad = np.nonzero(~np.isfinite(cloud.points).all(axis=1))[0]
    report.add("non-finite", bad, "{n} {point has|points have} coordinates that are not numbers (NaN or infinite).", REFUSED)
    report.add("empty", (), "The cloud has no points.", REFUSED, count=int(not len(cloud.points)))
    if report.refused:
        return
    twins = _twins(cloud)
    report.add("duplicate-points", twins, "{n} {point lies|points lie} exactly on another point.", "repaired: left out")
    _spacing(cloud, twins, report)
    if cloud.normals is None:
        report.add("no-normals", (), "The points have no normals: their outer side is not known.", count=1)
        return
    length = np.linalg.norm(cloud.normals, axis=1)
    lost = np.nonzero(~(length > 1e-6) | ~np.isfinite(length))[0]
    report.add("bad-normals", lost, "{n} {normal has|normals have} no direction.", REFUSED)
    off = np.nonzero(np.abs(length - 1.0) > 1e-3)[0]
    if not len(lost):
        worst = f"length {length[np.argmax(np.abs(length - 1.0))]:.4g}"
        report.add(
            "long-normals",
            off,
            "{n} {normal does|normals do} not have length 1.",
            "repaired: set to length 1",
            worst=worst,
        )


def repair_points(cloud: PointCloud, report: Report) -> PointCloud:
    """The cloud after the repairs that its report announces."""
    keep = np.ones(len(cloud.points), dtype=bool)
    if report.will("duplicate-points"):
        keep[_twins(cloud)] = False
    normals = cloud.normals
    if normals is not None:
        normals = normals[keep]
        if report.will("long-normals"):
            normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return PointCloud(cloud.points[keep], normals)


def _twins(cloud: PointCloud) -> Ints:
    """Points that repeat an earlier one."""
    _, first = np.unique(cloud.points, axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(cloud.points)), first)


def _spacing(cloud: PointCloud, twins: Ints, report: Report) -> None:
    ids = np.delete(np.arange(len(cloud.points)), twins)
    if len(ids) <= NEIGHBOURS:
        return
    points = cloud.points[ids]
    distance = kd_tree(points).query(points, k=NEIGHBOURS + 1)[0][:, 1:]
    typical = float(np.median(distance[:, 0]))
    report.summary += f" Typical spacing {typical:.4g} m, largest {distance[:, 0].max():.4g} m."
    lonely = distance.mean(axis=1) > OUTLIER * float(np.median(distance.mean(axis=1)))
    far = float(distance.mean(axis=1).max()) / max(float(np.median(distance.mean(axis=1))), 1e-300)
    report.add(
        "outliers", ids[lonely],
        f"{{n}} {{point is|points are}} more than {OUTLIER:g} spacings away from the neighbours.",
        worst=f"{far:.3g} spacings",
    )  # fmt: skip
    _groups(points, ids, report)


def _groups(points: Floats, ids: Ints, report: Report) -> None:
    """Parts of a cloud between which no two points are among the nearest of each other: of what is between them it knows nothing."""
    near = kd_tree(points).query(points, k=min(TOGETHER + 1, len(points)))[1]
    pairs = np.sort(np.stack([np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()], axis=1), axis=1)
    both, times = np.unique(pairs[:, 0] * len(points) + pairs[:, 1], return_counts=True)
    both = both[times > 1]
    group = labels(len(points), np.stack([both // len(points), both % len(points)], axis=1))
    size = np.bincount(group)
    large = np.flatnonzero(size > NEIGHBOURS)  # fewer are outliers
    apart = np.isin(group, np.setdiff1d(large, np.argmax(size)))
    far = kd_tree(points[group == np.argmax(size)]).query(points[apart])[0].min() if apart.any() else 0.0
    report.add(
        "groups", ids[apart], "The cloud consists of {n} groups of points; what is between them is not known.",
        count=len(large) if apart.any() else 0,
        worst=f"{apart.sum()} points are {far:.3g} m or more from the largest group",
    )  # fmt: skip


# ---- what can be wrong with a tetrahedral mesh, and the repairs that change no tetrahedron

ZERO = 1e-12  # |volume| over the cube of the longest edge: 0.118 for a regular tetrahedron; below this there is no volume
SLIVER = 1e-4  # the same; below this a tetrahedron is a sliver


def diagnose_tets(mesh: TetMesh, report: Report) -> None:
    """Fill the report."""
    bad = np.nonzero(~np.isfinite(mesh.points).all(axis=1))[0]
    report.add("non-finite", bad, "{n} {node has|nodes have} coordinates that are not numbers (NaN or infinite).", REFUSED)
    report.add("empty", (), "The mesh has no tetrahedra.", REFUSED, count=int(not len(mesh.tets)))
    if report.refused:
        return
    unused = np.setdiff1d(np.arange(len(mesh.points)), mesh.tets)
    report.add("unused-nodes", unused, "{n} {node belongs|nodes belong} to no tetrahedron.", "repaired: left out")
    repeated = _repeated(mesh.tets)
    report.add(
        "duplicate-tets",
        repeated,
        "{n} {tetrahedron is a copy of another|tetrahedra are copies of others}.",
        "repaired: left out",
    )
    _tet_volumes(mesh, report)
    _tet_faces(mesh, np.delete(mesh.tets, repeated, axis=0), report)


def repair_tets(mesh: TetMesh, report: Report) -> TetMesh:
    """The mesh after the repairs that its report announces."""
    twice = _repeated(mesh.tets) if report.will("duplicate-tets") else np.zeros(0, np.int64)
    tets = np.delete(mesh.tets, twice, axis=0)
    groups = None if mesh.groups is None else np.delete(mesh.groups, twice)
    if report.will("inverted"):
        tets = tets[:, [0, 2, 1, 3]]
    if not report.will("unused-nodes"):
        return TetMesh(mesh.points, tets, groups, mesh.names)
    used, local = np.unique(tets, return_inverse=True)
    return TetMesh(mesh.points[used], local.reshape(-1, 4), groups, mesh.names)


def _repeated(tets: Ints) -> Ints:
    _, first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(tets)), first)


def _tet_volumes(mesh: TetMesh, report: Report) -> None:
    x = mesh.points[mesh.tets]
    longest = np.linalg.norm(x[:, TET_EDGES[:, 1]] - x[:, TET_EDGES[:, 0]], axis=2).max(axis=1)
    cube = longest**3
    shape = np.divide(mesh.volumes, cube, out=np.zeros(len(cube)), where=cube > 0)  # what lies at one place has no volume
    flat = np.abs(shape) < ZERO
    report.add(
        "flat-tets",
        np.nonzero(flat)[0],
        "{n} {tetrahedron has|tetrahedra have} no volume: the stiffness is not defined there.",
        REFUSED,
    )
    inverted = np.nonzero((shape < 0) & ~flat)[0]
    worst = f"tetrahedron {np.argmin(mesh.volumes)} with {mesh.volumes.min():.4g} m^3"
    if len(inverted) == (~flat).sum():
        report.add(
            "inverted", inverted,
            "{The only tetrahedron is|All {n} tetrahedra are} inside out (the nodes are ordered the other way).",
            "repaired: all are turned round", worst=worst,
        )  # fmt: skip
    else:
        report.add(
            "inverted", inverted,
            f"{{n}} of {len(shape)} tetrahedra {{is|are}} inside out while the others are not: "
            "the mesh overlaps itself there. Repair it where it was made, or mesh its surface again.",
            REFUSED, worst=worst,
        )  # fmt: skip
    thin = np.nonzero((np.abs(shape) < SLIVER) & ~flat)[0]
    if len(thin):
        angles = dihedral_angles(x[thin])
        k = int(np.argmin(angles.min(axis=1)))
        report.add(
            "slivers", thin,
            "{n} {tetrahedron is a sliver|tetrahedra are slivers} (volume below 1e-4 of the longest edge cubed): "
            "stiff, and a limit to an explicit time step.",
            worst=f"tetrahedron {thin[k]} with a dihedral angle of {angles[k].min():.3g} degrees",
        )  # fmt: skip


def dihedral_angles(x: Floats) -> Floats:
    """The six angles between faces of each tetrahedron [degrees], (m, 6), for corners (m, 4, 3)."""
    corners = x[:, TET_FACES]
    n = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    n /= np.maximum(np.linalg.norm(n, axis=2, keepdims=True), 1e-300)
    cosine = -np.einsum("mij,mij->mi", n[:, TET_EDGES[:, 0]], n[:, TET_EDGES[:, 1]])
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _tet_faces(mesh: TetMesh, tets: Ints, report: Report) -> None:
    faces = tets[:, TET_FACES].reshape(-1, 3)
    _, first, group, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    crowded = np.nonzero(count > 2)[0]
    report.add(
        "crowded-faces",
        np.nonzero(np.isin(group, crowded).reshape(-1, 4).any(axis=1))[0],
        "{n} {face belongs|faces belong} to more than two tetrahedra: the mesh overlaps itself (ids are tetrahedra).",
        REFUSED,
        count=len(crowded),
        worst=f"a face of {count.max()} tetrahedra",
    )
    order = np.argsort(group, kind="stable")
    same = group[order[1:]] == group[order[:-1]]
    part = labels(len(tets), np.stack([order[:-1][same] // 4, order[1:][same] // 4], axis=1))
    sizes = np.bincount(part)
    report.add(
        "components", (), "The mesh consists of {n} parts that share no face; they are kept as one body.",
        count=len(sizes) if len(sizes) > 1 else 0, worst=f"the smallest has {sizes.min()} tetrahedra",
    )  # fmt: skip
    skin = Edges(faces[first[count == 1]])
    pinched = skin.count > 2
    report.add(
        "non-manifold-edges", np.unique(skin.ends[pinched, 0]),
        "{n} {edge of the surface belongs|edges of the surface belong} to more than two surface faces "
        "(ids are nodes): parts hang together by an edge only.", count=int(pinched.sum()),
    )  # fmt: skip
    _coincident(mesh, tets, report)


def _coincident(mesh: TetMesh, tets: Ints, report: Report) -> None:
    """Nodes at one place: a crack made on purpose, or a mesh that was never joined."""
    used = np.unique(tets)
    _, group, count = np.unique(mesh.points[used], axis=0, return_inverse=True, return_counts=True)
    twins = used[count[group.reshape(-1)] > 1]
    report.add(
        "coincident-nodes", twins,
        "{n} {node shares its|nodes share their} place with another node: the body is cut there and can open.",
    )  # fmt: skip
