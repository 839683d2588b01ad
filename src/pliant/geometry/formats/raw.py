"""What a reader returns, and what readers share: words of errors, polygons cut into triangles, cells of volume files.

Hexahedra, wedges and pyramids are cut into tetrahedra: a cell is a cone from its smallest node number over the faces that do not hold it,
a quad of these being cut from its own smallest number [Dompierre 1999]. So the diagonal of every quad starts at its smallest number,
whichever cell it is seen from, and neighbours agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints, PliantError

Row = tuple[int, list[str]]  # number and words of a line


@dataclass
class Raw:
    """A file's content before units, axes and any check."""

    points: Floats  # (n, 3), in the file's unit
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    tets: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    normals: Floats | None = None  # (n, 3)
    groups: Ints | None = None  # (t,) number of the group (physical, material, set) that each tet is in, 0: none
    names: dict[str, int] = field(default_factory=dict)  # of groups
    notices: list[str] = field(default_factory=list)  # what was left out or changed, in sentences


def damaged(path: Path, what: str, line: int | None = None, fix: str = "Export the file again.") -> PliantError:
    """The error for a file that cannot be read."""
    where = f"{path}, line {line}" if line is not None else str(path)
    plain = "".join(letter if letter.isprintable() else " " for letter in what)  # it may quote the file
    return PliantError(f"{where}: {plain}. {fix}")


def text_lines(path: Path) -> list[str]:
    """The lines of a text file; refuses a binary one."""
    data = path.read_bytes()
    if b"\0" in data[:4096]:
        raise damaged(path, "this should be a text file but holds binary data")
    return data.decode("utf-8-sig", errors="replace").splitlines()  # some editors put a mark in front


def floats(words: list[str], path: Path, line: int, what: str) -> list[float]:
    """The words as numbers, or an error that shows them."""
    try:
        return [float(word) for word in words]
    except ValueError:
        raise damaged(path, f"{what} should be numbers, but '{shown(words)}' stands there", line) from None


def integers(words: list[str], path: Path, line: int, what: str) -> list[int]:
    """The words as whole numbers, or an error that shows them."""
    try:
        return [int(word) for word in words]
    except ValueError:
        raise damaged(path, f"{what} should be whole numbers, but '{shown(words)}' stands there", line) from None


def numbered(path: Path, rows: Iterable[Row], what: str = "node") -> tuple[list[int], Floats]:
    """Numbers and places (n, 3) of nodes, from rows of a number and three coordinates."""
    ids, points = [], []
    for line, words in rows:
        if len(words) < 4:
            raise damaged(path, f"a {what} needs a number and three coordinates, but '{shown(words)}' stands there", line)
        ids += integers(words[:1], path, line, f"the {what}'s number")
        points.append(floats(words[1:4], path, line, "coordinates"))
    return ids, np.array(points, dtype=np.float64).reshape(-1, 3)


def shown(words: list[str] | str) -> str:
    text = words if isinstance(words, str) else " ".join(words)
    return text if len(text) <= 60 else text[:57] + "..."


def renumbered(ids: list[int], wanted: Ints, path: Path, what: str) -> Ints:
    """Positions of node numbers in the list of nodes; refuses numbers that no node has."""
    names = np.asarray(ids, dtype=np.int64)
    order = np.argsort(names, kind="stable")
    place = np.searchsorted(names, wanted, sorter=order)
    found = order[np.minimum(place, len(names) - 1)] if len(names) else np.zeros_like(wanted)
    missing = np.ones(wanted.shape, dtype=bool) if not len(names) else names[found] != wanted
    if missing.any():
        row = int(np.nonzero(missing.any(axis=1))[0][0])
        node = int(wanted[row][missing[row]][0])
        raise damaged(path, f"{what} {row} (counted from 0) uses node {node}, which the file does not define")
    return found


# ---- polygons


def triangulated(points: Floats, corners: Ints, counts: Ints, path: Path, lines: Ints | None = None) -> tuple[Ints, list[str]]:
    """Triangles in the order of the polygons, and notices; `corners` holds all polygons one after the other."""
    start = np.cumsum(counts) - counts
    outside = (corners < 0) | (corners >= len(points))
    if outside.any():
        bad = int(np.nonzero(outside)[0][0])
        face = int(np.searchsorted(start, bad, side="right")) - 1
        raise damaged(
            path,
            f"face {face} (counted from 0) uses vertex {corners[bad]} (counted from 0), but the file has {len(points)} vertices",
            int(lines[face]) if lines is not None else None,
        )
    notices = []
    if (counts < 3).any():
        few = np.nonzero(counts < 3)[0]
        notices.append(f"{len(few)} faces with fewer than three corners were left out (first: face {few[0]}).")
    if (counts > 3).any():
        notices.append(f"{int((counts > 3).sum())} faces with more than three corners were cut into triangles.")
    cut = np.maximum(counts - 2, 0)
    to = np.cumsum(cut) - cut
    out = np.zeros((int(cut.sum()), 3), dtype=np.int64)
    three = counts == 3
    out[to[three]] = corners[start[three, None] + np.arange(3)]
    four = counts == 4
    out[to[four, None] + np.arange(2)] = _quads(points, corners[start[four, None] + np.arange(4)])
    for polygon in np.nonzero(counts > 4)[0]:
        ring = corners[start[polygon] : start[polygon] + counts[polygon]]
        out[to[polygon] : to[polygon] + cut[polygon]] = _ears(points, ring)
    return out, notices


def _quads(points: Floats, quads: Ints) -> Ints:
    """Two triangles each, along the diagonal whose two triangles agree best about the normal."""
    first = quads[:, [[0, 1, 2], [0, 2, 3]]]
    second = quads[:, [[0, 1, 3], [1, 2, 3]]]

    def agreement(pair: Ints) -> Floats:
        x = points[pair]
        n = np.cross(x[:, :, 1] - x[:, :, 0], x[:, :, 2] - x[:, :, 0])
        n /= np.maximum(np.linalg.norm(n, axis=2, keepdims=True), 1e-300)
        return np.einsum("ij,ij->i", n[:, 0], n[:, 1])

    better = agreement(second) > agreement(first) + 1e-6
    return np.where(better[:, None, None], second, first)


def _ears(points: Floats, ring: Ints) -> Ints:
    """Ear clipping in the plane of the polygon's mean (Newell) normal; a fan where no ear is left."""
    x = points[ring]
    after = np.roll(x, -1, axis=0)
    normal = np.cross(x, after).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    plane = np.delete(x, drop, axis=1)
    if (normal[drop] < 0) != (drop == 1):  # leaving out y mirrors the plane
        plane[:, 0] *= -1.0
    left = list(range(len(ring)))
    out = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = plane[[i for i in left if i not in (a, b, c)]]
            if _turn(plane[a], plane[b], plane[c]) > 0 and not _holds(plane[a], plane[b], plane[c], others):
                break
        else:
            k, (a, b, c) = 1, left[:3]
        out.append((a, b, c))
        del left[k]
    return ring[np.array([*out, tuple(left)])]


def _turn(a: Floats, b: Floats, c: Floats) -> Floats:
    """Twice the signed area of abc."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def _holds(a: Floats, b: Floats, c: Floats, others: Floats) -> bool:
    return bool(((_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)).any())


# ---- cells: which become tetrahedra or triangles, which are reduced to corners, which are left out

# name of the cell type as meshio spells it, node numbers (m, k) counted from 0, and the groups of cells (m,) if there are any
Block = tuple[str, Ints] | tuple[str, Ints, Ints | None]


def assembled(path: Path, points: Floats, blocks: Iterable[Block], names: dict[str, int] | None = None) -> Raw:
    """Tetrahedra if there are solids, else triangles; refuses a file that has neither. `names` of groups."""
    said: list[str] = []
    kinds: dict[str, list[Ints]] = {}
    groups: dict[str, list[Ints]] = {}
    for name, nodes, *more in blocks:
        if len(nodes):
            groups.setdefault(name, []).append(more[0] if more and more[0] is not None else np.zeros(len(nodes), np.int64))
            kinds.setdefault(name, []).append(np.asarray(nodes, dtype=np.int64).reshape(len(nodes), -1))
            if nodes.size % len(nodes) or kinds[name][0].shape[1] != kinds[name][-1].shape[1]:
                raise damaged(path, f"cells of type {name} have different numbers of nodes")
    whole = {name: np.concatenate(parts) for name, parts in kinds.items()}
    for name, nodes in whole.items():
        _inside(path, name, nodes, len(points))
    solids = [name for name in whole if kind_of(name)]
    quads = [nodes[:, :4] for name, nodes in whole.items() if name.startswith("quad")]
    rest = {n: len(c) for n, c in whole.items() if n not in solids and not n.startswith(("triangle", "quad"))}
    others = ", ".join(f"{k} of type {n}" for n, k in rest.items() if not n.startswith(("vertex", "line")))
    if others:
        fix = "Mesh the whole body with tetrahedra, or give its closed surface."
        raise damaged(path, f"the file holds {others}, which pliant cannot cut into tetrahedra", fix=fix)
    if solids:
        beside = [f"{len(c)} of type {n}" for n, c in whole.items() if n not in solids]
        if beside:
            said.append(f"Beside the solids the file holds {', '.join(beside)}; they are not needed and were left out.")
        return _solids(points, {name: (whole[name], np.concatenate(groups[name])) for name in solids}, names or {}, said)
    faces = [_corners(name, nodes, 3, said) for name, nodes in whole.items() if name.startswith("triangle")]
    if quads:
        flat = np.concatenate(quads)
        cut, told = triangulated(points, flat.reshape(-1), np.full(len(flat), 4), path)
        faces.append(cut)
        said += told
    if not faces:
        found = ", ".join(f"{k} of type {n}" for n, k in rest.items()) or "no cells at all"
        raise damaged(path, f"the file holds no tetrahedra and no triangles ({found})", fix="Export the volume mesh.")
    return Raw(points, np.concatenate(faces), notices=said)


def _inside(path: Path, name: str, nodes: Ints, count: int) -> None:
    kind = kind_of(name)
    least = FACES[kind][0] if kind else 4 if name.startswith("quad") else 3 if name.startswith("triangle") else 1
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
        kind = {3: "triangles", 4: "tetrahedra"}.get(corners, f"cells of type {name}")
        said.append(
            f"{len(nodes)} higher-order {kind} ({nodes.shape[1]} nodes each) were reduced to their {corners} corners: "
            "nodes between corners were left out, curved edges became straight."
        )
    return nodes[:, :corners]


def _solids(points: Floats, cells: dict[str, tuple[Ints, Ints]], names: dict[str, int], said: list[str]) -> Raw:
    """Tetrahedra of all solids with their groups. Nodes that only higher-order cells use, between corners, are left out; other unused
    ones stay for the check."""
    tets, own, middle = [], [], np.zeros(len(points), dtype=bool)
    for name, (nodes, groups) in cells.items():
        kind = kind_of(name)
        corners = _corners(name, nodes, FACES[kind][0], said)
        middle[nodes[:, corners.shape[1] :]] = True
        if kind == "tetra":
            tets.append(corners)
            own.append(groups)
            continue
        parts, owner = cut(points, corners, kind)
        said.append(f"{len(nodes)} cells of type {kind} were cut into {len(parts)} tetrahedra.")
        tets.append(parts)
        own.append(groups[owner])
    whole, group = np.concatenate(tets), np.concatenate(own).astype(np.int64)
    middle[whole] = False
    place = np.cumsum(~middle) - 1
    return Raw(points[~middle], tets=place[whole], groups=group if group.any() else None, names=names, notices=said)


# Corners of the faces of each kind, all seen from one side; every format here lists corners first, in the order of VTK.
FACES: dict[str, tuple[int, list[list[int]]]] = {
    "tetra": (4, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
    "pyramid": (5, [[0, 3, 2, 1], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]),
    "wedge": (6, [[0, 2, 1], [3, 4, 5], [0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]]),
    "hexahedron": (8, [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]),
}


def kind_of(name: str) -> str:
    """The kind of solid that a name as meshio spells it (hexahedron20) means; empty if it is none of these."""
    return next((kind for kind in FACES if name.startswith(kind)), "")


def cut(points: Floats, nodes: Ints, kind: str) -> tuple[Ints, Ints]:
    """Tetrahedra of solids, positive as far as their cell is, and the cell of each; collapsed parts of cells are left out."""
    least = nodes.min(axis=1)
    parts, owners = [], []
    for face in FACES[kind][1]:
        away = np.flatnonzero((nodes[:, face] != least[:, None]).all(axis=1))
        ring = nodes[away][:, face]
        turn = (ring.argmin(axis=1)[:, None] + np.arange(len(face))) % len(face)
        ring = np.take_along_axis(ring, turn, axis=1)
        for k in range(1, len(face) - 1):
            parts.append(np.stack([least[away], ring[:, 0], ring[:, k], ring[:, k + 1]], axis=1))
            owners.append(away)
    tets, owner = np.concatenate(parts), np.concatenate(owners)
    whole = (np.diff(np.sort(tets, axis=1), axis=1) > 0).all(axis=1)
    order = np.argsort(owner[whole], kind="stable")
    tets, owner = tets[whole][order], owner[whole][order]
    x = points[tets]
    volume = np.einsum("ti,ti->t", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
    turned = np.bincount(owner, volume, minlength=len(nodes))[owner] < 0.0
    tets[turned] = tets[turned][:, [0, 2, 1, 3]]
    return tets, owner
