"""Volumes in files: Abaqus and CalculiX .inp, TetGen's .node and .ele, and what meshio reads well: legacy VTK, VTU, Medit.

Own readers where meshio keeps only the last of several *NODE blocks (.inp), waits for ever on an empty file or does not take ten-node
tetrahedra (.node).

Meshes in the input files of other solvers: VegaFEM's .veg, FEBio's .feb (only their geometry and which part is which).
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Ints
from pliant.geometry.formats.packed import read_polydata
from pliant.geometry.formats.raw import Block, Raw, Row, assembled, damaged, floats, integers, numbered, renumbered, shown, text_lines

# Names of element types start with these; the number that follows is the number of nodes.
FAMILIES = [
    (r"(C3D|DC3D|AC3D)(4|10)", "tetra"),
    (r"(C3D|DC3D|AC3D)(6|15)", "wedge"),
    (r"(C3D|DC3D|AC3D)(5|13)", "pyramid"),
    (r"(C3D|DC3D|AC3D|SC)(8|20|27)", "hexahedron"),
    (r"(S|STRI|SFM3D|M3D|CPS|CPE|R3D|DS)(3|6)", "triangle"),
    (r"(S|SFM3D|M3D|CPS|CPE|CAX|R3D|DS)(4|8|9)", "quad"),
    (r"(B3|T3D|B2|T2D)(1|2|3)", "line"),
]


def read_inp(path: Path) -> Raw:
    nodes: dict[int, list[float]] = {}
    cells: dict[str, list[list[int]]] = {}
    names: dict[str, int] = {}
    mode, family, need, held, group = "", "", 0, list[str](), 0
    for number, line in enumerate(text_lines(path), start=1):
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            mode, family, need = _keyword(path, line, number)
            held = []
            part = re.search(r"ELSET\s*=\s*([^,\s]+)", line, re.IGNORECASE) if mode == "element" else None
            group = names.setdefault(part[1], len(names) + 1) if part else 0
            continue
        words = held + [w.strip() for w in line.split(",") if w.strip()]
        held = []
        if mode == "node":
            _node(path, words, number, nodes)
        elif mode == "element":
            if len(words) < 1 + need:  # an element may continue on the next line
                held = words
                continue
            cells.setdefault(family, []).append([group, *integers(words[1 : 1 + need], path, number, "an element")])
    if not nodes:
        raise damaged(path, "there is no *NODE block with nodes in this file")
    blocks: list[Block] = []
    for kind, rows in cells.items():
        whole = np.array(rows)
        blocks.append((kind, renumbered(list(nodes), whole[:, 1:], path, kind), whole[:, 0]))
    return assembled(path, np.array(list(nodes.values()), dtype=np.float64), blocks, names)


def _keyword(path: Path, line: str, number: int) -> tuple[str, str, int]:
    """What the following lines are: '' (not needed), 'node', or 'element' with family and number of nodes."""
    parts = [p.strip().upper() for p in line[1:].split(",")]
    options = {key.strip(): value.strip() for key, _, value in (p.partition("=") for p in parts[1:])}
    if parts[0] in ("NODE", "ELEMENT") and "INPUT" in options:
        raise damaged(path, f"nodes or elements are in another file ({options['INPUT']})", number, "Write them into one file.")
    if parts[0] == "INCLUDE":
        raise damaged(path, "*INCLUDE is not followed", number, "Write nodes and elements into one file.")
    if parts[0] == "NODE":
        return "node", "", 0
    if parts[0] == "ELEMENT":
        for pattern, family in FAMILIES:
            match = re.match(pattern, options.get("TYPE", ""))
            if match:
                count = int(match[2]) + 1 if family == "line" and match[2] != "3" else int(match[2])
                return "element", family + ("" if count in (3, 4, 8) else str(count)), count
        if options.get("TYPE", "").startswith("C3D"):
            raise damaged(path, f"element type {options['TYPE']} is not known", number, "Use C3D4 or C3D10 tetrahedra.")
    return "", "", 0


def _node(path: Path, words: list[str], line: int, nodes: dict[int, list[float]]) -> None:
    if len(words) < 3:
        raise damaged(path, f"a node needs a number and coordinates, but '{shown(words)}' stands there", line)
    name = integers(words[:1], path, line, "the node's number")[0]
    x = (floats(words[1:4], path, line, "coordinates") + [0.0])[:3]
    if name in nodes and nodes[name] != x:
        raise damaged(
            path,
            f"node {name} is defined twice at different places (several parts with their own numbering?)",
            line,
            "Export one part per file.",
        )
    nodes[name] = x


# ---- TetGen's pair of .node and .ele (only the files: TetGen itself is not used)

def read_tetgen(path: Path) -> Raw:
    node, ele = path.with_suffix(".node"), path.with_suffix(".ele")
    for needed in (node, ele):
        if not needed.exists():
            raise damaged(path, f"its other half {needed.name} is missing", fix="Put both files into one folder.")
    header, rows = _table(node, "nodes")
    if len(header) > 1 and header[1] != 3:
        raise damaged(node, f"the points have {header[1]} dimensions instead of 3")
    ids, points = numbered(node, rows)
    header, rows = _table(ele, "tetrahedra")
    corners = header[1] if len(header) > 1 else 4
    if corners not in (4, 10):
        raise damaged(ele, f"cells have {corners} nodes; tetrahedra have 4 or 10")
    cells, groups = [], list[int]()
    for line, words in rows:
        if len(words) < 1 + corners:
            raise damaged(ele, f"a tetrahedron needs a number and {corners} nodes, but '{shown(words)}' stands there", line)
        cells.append(integers(words[1 : 1 + corners], ele, line, "nodes"))
        groups += [int(float(w)) for w in words[1 + corners : 2 + corners]] or [0]  # a region attribute, if there is one
    tets = renumbered(ids, np.array(cells, dtype=np.int64).reshape(-1, corners), ele, "tetrahedron")
    return assembled(path, points, [("tetra", tets, np.array(groups, np.int64))])


def _table(path: Path, what: str) -> tuple[list[int], list[Row]]:
    """The numbers of the first row and the rows it announces."""
    rows = [(n, w) for n, line in enumerate(text_lines(path), 1) if (w := line.split("#", 1)[0].split())]
    if not rows:
        raise damaged(path, "the file is empty")
    header = integers(rows[0][1], path, rows[0][0], "the first row")
    if len(rows) - 1 < header[0]:
        raise damaged(path, f"the first row announces {header[0]} {what} but {len(rows) - 1} follow", rows[0][0])
    return header, rows[1 : 1 + max(header[0], 0)]


# ---- through meshio, with our words when it fails

NAMES = {"gmsh": "Gmsh", "vtk": "legacy VTK", "vtu": "VTU", "medit": "Medit"}


def read_with_meshio(path: Path, form: str) -> Raw:
    """Read through one of meshio's readers; its prints are swallowed, its failures become sentences."""
    import meshio

    reader = {"gmsh": meshio.gmsh, "vtk": meshio.vtk, "vtu": meshio.vtu, "medit": meshio.medit}[form].read
    silence = io.StringIO()
    try:
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), np.errstate(all="ignore"):
            mesh = reader(path)
            stored = np.asarray(mesh.points, dtype=np.float64)
            groups = _cell_groups(mesh)
            blocks: list[Block] = [
                (block.type, np.asarray(block.data, dtype=np.int64), groups[k] if groups else None) for k, block in enumerate(mesh.cells)
            ]
            names = {str(name): int(tag[0]) for name, tag in mesh.field_data.items() if len(tag) > 1 and tag[1] == 3}
            if stored.ndim != 2 or not 2 <= stored.shape[1] <= 3:
                raise ValueError("there are no points in it")
    except MemoryError:
        raise damaged(path, "the file announces more data than fits into memory: it is damaged") from None
    except Exception as error:  # meshio raises whatever its parsing ran into
        why = str(error).strip() or f"{type(error).__name__} while reading"
        raise damaged(path, f"this is not a readable {NAMES[form]} file ({shown(why)})") from None
    points = np.zeros((len(stored), 3))
    points[:, : stored.shape[1]] = stored
    return assembled(path, points, blocks, names)


# How programs call the array that says which group a cell is in, in the order in which they are looked for.
GROUPS = ("gmsh:physical", "medit:ref", "material", "MaterialID", "MaterialIds", "region", "Region", "group", "CellEntityIds", "tetgen:ref")


def _cell_groups(mesh: Any) -> list[Ints] | None:
    """Whole numbers per cell, block by block, if a file has some that look like groups."""
    for name in GROUPS:
        if name in mesh.cell_data:
            found = [np.asarray(part).reshape(-1) for part in mesh.cell_data[name]]
            if all(np.array_equal(part, np.round(part)) for part in found):
                return [part.astype(np.int64) for part in found]
    return None


def read_vtk(path: Path) -> Raw:
    data = path.read_bytes()
    text = data.decode("latin-1")
    faults = []
    first = text.split("\n", 1)[0].strip()
    if not first.startswith("# vtk DataFile"):
        faults.append(f"the first line should read '# vtk DataFile Version ...', not '{shown(first)}'")
    kind = re.search(r"^DATASET\s+(\S+)", text, re.MULTILINE)
    if kind and kind[1] == "POLYDATA" and not faults:
        return read_polydata(path)
    if kind and kind[1] != "UNSTRUCTURED_GRID":
        faults.append(f"it holds a {kind[1]}, not an UNSTRUCTURED_GRID or POLYDATA")
    cells = re.search(r"^CELLS\s+(\d+)", text, re.MULTILINE)
    types = re.search(r"^CELL_TYPES\s+(\d+)(.*)", text, re.MULTILINE | re.DOTALL)
    if cells and types is None:
        faults.append("CELL_TYPES is missing")
    elif cells and types and "OFFSETS" not in text and int(cells[1]) != int(types[1]):
        faults.append(f"CELLS announces {cells[1]} cells but CELL_TYPES {types[1]}")
    if faults:
        raise damaged(path, " and ".join(faults), fix="Write it again with VTK, ParaView or meshio.")
    return read_with_meshio(path, "vtk")


def read_vtu(path: Path) -> Raw:
    import xml.etree.ElementTree as tree

    try:
        return read_with_meshio(path, "vtu")
    except Exception as error:
        try:
            root = tree.parse(path).getroot()
        except tree.ParseError as parse:
            raise damaged(path, f"the XML is broken: {parse}", parse.position[0]) from None
        except (OSError, LookupError, ValueError):
            raise error from None
        for piece in root.iter("Piece"):
            array = piece.find("Points/DataArray")
            announced = int(piece.get("NumberOfPoints", "0")) if piece.get("NumberOfPoints", "0").isdigit() else 0
            if array is not None and array.get("format") == "ascii" and array.text:
                found = len(array.text.split())
                if found != 3 * announced:
                    what = f"the file announces {announced} points but its coordinates make {found / 3:g}"
                    raise damaged(path, what) from None
        raise


def read_medit(path: Path) -> Raw:
    return read_with_meshio(path, "medit")


VEGA = {"TET": ("tetra", 4), "TETS": ("tetra", 4), "CUBIC": ("hexahedron", 8), "CUBES": ("hexahedron", 8)}


def read_veg(path: Path) -> Raw:
    """Sections *VERTICES, *ELEMENTS and *SET; a set that a *REGION names is a group, called after its material."""
    sections: list[tuple[list[str], list[Row]]] = []
    for number, text in enumerate(text_lines(path), start=1):
        words = text.split("#", 1)[0].replace(",", " ").split()
        if not words:
            continue
        if words[0].upper() == "*INCLUDE":
            raise damaged(path, "*INCLUDE is not followed", number, "Write vertices and elements into one file.")
        if words[0].startswith("*"):
            sections.append(([w.lstrip("*") for w in words], []))
        elif sections:
            sections[-1][1].append((number, words))
    found = {title[0].upper(): rows for title, rows in sections}
    for name in ("VERTICES", "ELEMENTS"):
        if len(found.get(name, [])) < (1 if name == "VERTICES" else 2):
            raise damaged(path, f"there is no *{name} section with rows")
    ids, points = numbered(path, found["VERTICES"][1:], "vertex")
    kind = found["ELEMENTS"][0][1][0].upper()
    if kind not in VEGA:
        raise damaged(path, f"elements of type {kind} are not known; it is TET or CUBIC", found["ELEMENTS"][0][0])
    cell, corners = VEGA[kind]
    rows = [integers(words[: 1 + corners], path, line, "an element") for line, words in found["ELEMENTS"][2:]]
    if any(len(row) != 1 + corners for row in rows):
        raise damaged(path, f"an element does not have {corners} vertices")
    whole = np.array(rows, dtype=np.int64).reshape(-1, 1 + corners)
    groups, names = _vega_groups(sections, whole[:, 0])
    blocks: list[Block] = [(cell, renumbered(ids, whole[:, 1:], path, "element"), groups)]
    return assembled(path, points, blocks, names)


def _vega_groups(sections: list[tuple[list[str], list[Row]]], ids: Ints) -> tuple[Ints, dict[str, int]]:
    sets = {title[1]: rows for title, rows in sections if title[0].upper() == "SET" and len(title) > 1}
    groups, names = np.zeros(len(ids), np.int64), dict[str, int]()
    for title, rows in sections:
        for _, words in rows if title[0].upper() == "REGION" else ():
            if len(words) >= 2 and words[0] in sets:
                number = names.setdefault(words[1], len(names) + 1)
                members = [int(w) for _, row in sets[words[0]] for w in row if w.isdigit()]
                groups[np.isin(ids, members)] = number
    return groups, names


FEBIO = {"tet4": "tetra", "tet10": "tetra10", "tet15": "tetra15", "hex8": "hexahedron", "hex20": "hexahedron20", "penta6": "wedge",
         "tri3": "triangle", "tri6": "triangle6", "quad4": "quad", "quad8": "quad8"}  # fmt: skip


def read_feb(path: Path) -> Raw:
    """<Nodes> and <Elements> of <Mesh> (version 3 and 4) or <Geometry> (2); every <Elements> is a group with its name."""
    import xml.etree.ElementTree as tree

    try:
        root = tree.parse(path).getroot()
    except tree.ParseError as error:
        raise damaged(path, f"the XML is broken: {error}", error.position[0]) from None
    mesh = root.find("Mesh") if root.find("Mesh") is not None else root.find("Geometry")
    if root.tag != "febio_spec" or mesh is None:
        raise damaged(path, "a FEBio file has <febio_spec> with <Mesh> or <Geometry>; this one has not")
    ids, points = [], []
    for node in mesh.iterfind("Nodes/node"):
        ids.append(int(node.get("id", "0")))
        points.append([float(w) for w in re.split(r"[,\s]+", (node.text or "").strip())[:3]])
    names: dict[str, int] = {}
    blocks: list[Block] = []
    for part in mesh.iterfind("Elements"):
        kind = part.get("type", "")
        if kind not in FEBIO:
            raise damaged(path, f"elements of type '{kind}' are not known", fix="Use tet4 or tet10.")
        number = names.setdefault(part.get("name") or part.get("mat") or f"part {len(names) + 1}", len(names) + 1)
        rows = [[int(w) for w in re.split(r"[,\s]+", (e.text or "").strip())] for e in part.iterfind("elem")]
        if rows:
            blocks.append((FEBIO[kind], renumbered(ids, np.array(rows), path, "element"), np.full(len(rows), number)))
    if not points:
        raise damaged(path, "there are no <Nodes> in it")
    return assembled(path, np.array(points, dtype=np.float64), blocks, names)
