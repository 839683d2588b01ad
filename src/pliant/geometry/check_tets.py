"""What can be wrong with a tetrahedral mesh, and the repairs that change no tetrahedron."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mesh import TET_EDGES, TET_FACES, TetMesh
from pliant.geometry.report import REFUSED, Report
from pliant.geometry.surface_topology import Edges, labels

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
    _volumes(mesh, report)
    _faces(mesh, np.delete(mesh.tets, repeated, axis=0), report)


def repair_tets(mesh: TetMesh, report: Report) -> TetMesh:
    """The mesh after the repairs that its report announces."""
    tets = np.delete(mesh.tets, _repeated(mesh.tets), axis=0) if report.will("duplicate-tets") else mesh.tets
    if report.will("inverted"):
        tets = tets[:, [0, 2, 1, 3]]
    if not report.will("unused-nodes"):
        return TetMesh(mesh.points, tets)
    used, local = np.unique(tets, return_inverse=True)
    return TetMesh(mesh.points[used], local.reshape(-1, 4))


def _repeated(tets: Ints) -> Ints:
    _, first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(tets)), first)


def _volumes(mesh: TetMesh, report: Report) -> None:
    x = mesh.points[mesh.tets]
    longest = np.linalg.norm(x[:, TET_EDGES[:, 1]] - x[:, TET_EDGES[:, 0]], axis=2).max(axis=1)
    shape = mesh.volumes / np.maximum(longest, 1e-300) ** 3
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


def _faces(mesh: TetMesh, tets: Ints, report: Report) -> None:
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
