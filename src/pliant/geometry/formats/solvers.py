"""Meshes in the input files of other solvers: VegaFEM's .veg, FEBio's .feb (only their geometry and which part is which)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.base import Ints
from pliant.geometry.formats.raw import Block, Raw, assembled, damaged, floats, integers, renumbered, shown, text_lines

Row = tuple[int, list[str]]
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
    ids, points = [], []
    for line, words in found["VERTICES"][1:]:
        if len(words) < 4:
            raise damaged(path, f"a vertex needs a number and three coordinates, but '{shown(words)}' stands there", line)
        ids += integers(words[:1], path, line, "the vertex's number")
        points.append(floats(words[1:4], path, line, "coordinates"))
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
    return assembled(path, np.array(points, dtype=np.float64).reshape(-1, 3), blocks, names)


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
