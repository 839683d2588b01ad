"""Cells of volume files: which become tetrahedra or triangles, which are reduced to corners, which are left out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.polygons import triangulated
from pliant.geometry.formats.raw import Raw, damaged

Block = tuple[str, Ints]  # name of the cell type as meshio spells it, node numbers (m, k) counted from 0


def assembled(path: Path, points: Floats, blocks: Iterable[Block], notices: list[str] | None = None) -> Raw:
    """Tetrahedra if there are any, else triangles; refuses a file that has neither."""
    said = list(notices or [])
    kinds: dict[str, list[Ints]] = {}
    for name, nodes in blocks:
        if len(nodes):
            kinds.setdefault(name, []).append(np.asarray(nodes, dtype=np.int64).reshape(len(nodes), -1))
            if nodes.size % len(nodes) or kinds[name][0].shape[1] != kinds[name][-1].shape[1]:
                raise damaged(path, f"cells of type {name} have different numbers of nodes")
    whole = {name: np.concatenate(parts) for name, parts in kinds.items()}
    for name, nodes in whole.items():
        _inside(path, name, nodes, len(points))
    tets = [_corners(name, nodes, 4, said) for name, nodes in whole.items() if name.startswith("tetra")]
    quads = [nodes[:, :4] for name, nodes in whole.items() if name.startswith("quad")]
    rest = {n: len(c) for n, c in whole.items() if not n.startswith(("tetra", "triangle", "quad"))}
    solids = {n: k for n, k in rest.items() if not n.startswith(("vertex", "line"))}
    counted = ", ".join(f"{k} of type {n}" for n, k in solids.items())
    if not tets and solids:
        raise damaged(
            path,
            f"the file holds no tetrahedra but {counted}",
            fix="pliant simulates tetrahedra: mesh the body with tetrahedra, or give its closed surface.",
        )
    if solids:
        raise damaged(
            path,
            f"besides tetrahedra the file holds {counted}; without them the body would have holes",
            fix="Mesh the whole body with tetrahedra.",
        )
    if tets:
        beside = [f"{len(c)} of type {n}" for n, c in whole.items() if not n.startswith("tetra")]
        if beside:
            said.append(f"Beside the tetrahedra the file holds {', '.join(beside)}; they are not needed and were left out.")
        return _without_middle_nodes(points, np.concatenate(tets), whole, said)
    faces = [_corners(name, nodes, 3, said) for name, nodes in whole.items() if name.startswith("triangle")]
    if quads:
        flat = np.concatenate(quads)
        cut, more = triangulated(points, flat.reshape(-1), np.full(len(flat), 4), path)
        faces.append(cut)
        said += more
    if not faces:
        found = ", ".join(f"{k} of type {n}" for n, k in rest.items()) or "no cells at all"
        raise damaged(path, f"the file holds no tetrahedra and no triangles ({found})", fix="Export the volume mesh.")
    return Raw(points, np.concatenate(faces), notices=said)


def _inside(path: Path, name: str, nodes: Ints, count: int) -> None:
    least = 4 if name.startswith(("tetra", "quad")) else 3 if name.startswith("triangle") else 1
    if nodes.shape[1] < least:
        raise damaged(path, f"cells of type {name} have only {nodes.shape[1]} nodes")
    bad = (nodes < 0) | (nodes >= count)
    if bad.any():
        row = int(np.nonzero(bad.any(axis=1))[0][0])
        node = int(nodes[row][bad[row]][0])
        raise damaged(path, f"{name} {row} uses node {node} (both counted from 0), but the file has {count} nodes")


def _corners(name: str, nodes: Ints, corners: int, said: list[str]) -> Ints:
    """The corners of cells of any order (all formats here list them first)."""
    if nodes.shape[1] > corners:
        kind = "tetrahedra" if corners == 4 else "triangles"
        said.append(
            f"{len(nodes)} higher-order {kind} ({nodes.shape[1]} nodes each) were reduced to their {corners} corners: "
            "nodes between corners were left out, curved edges became straight."
        )
    return nodes[:, :corners]


def _without_middle_nodes(points: Floats, tets: Ints, cells: dict[str, Ints], said: list[str]) -> Raw:
    """Leave out nodes that only higher-order cells use, between corners; other unused nodes stay for the check."""
    middle = np.zeros(len(points), dtype=bool)
    for name, nodes in cells.items():
        if name.startswith("tetra"):
            middle[nodes[:, 4:]] = True
    middle[tets] = False
    place = np.cumsum(~middle) - 1
    return Raw(points[~middle], tets=place[tets], notices=said)
