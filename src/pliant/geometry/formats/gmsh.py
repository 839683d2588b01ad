"""Gmsh .msh: text of versions 1 and 2 here, with the line of an error; 4.1 in gmsh4.py; binary 2 and 4.0 by meshio.

Version 1 ($NOD/$ELM) is what meshio cannot read: `number type physical elementary count nodes...`;
version 2 has `number type tag-count tags... nodes...`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry.formats.cells import Block, assembled
from pliant.geometry.formats.gmsh4 import read_gmsh4
from pliant.geometry.formats.gmsh_cells import CELLS
from pliant.geometry.formats.raw import Raw, damaged, floats, integers, renumbered, shown, text_lines
from pliant.geometry.formats.through_meshio import read_with_meshio

Row = tuple[int, list[str]]  # line number, words


def read_msh(path: Path) -> Raw:
    head = path.read_bytes()[:2048].lstrip()
    if not head:
        raise damaged(path, "the file is empty")
    if head.startswith(b"$NOD"):
        return _text(path, 1)
    if not head.startswith(b"$"):
        raise damaged(path, f"a Gmsh file starts with $MeshFormat, but '{shown(head[:40].decode('latin-1'))}' stands there")
    words = head.split(b"$MeshFormat", 1)[-1].split()[:3]
    if len(words) < 3 or b"$MeshFormat" not in head:
        raise damaged(path, "the version line after $MeshFormat is missing")
    if words[0].startswith(b"2") and words[1] == b"0":
        return _text(path, 2)
    if words[0] in (b"4", b"4.1"):
        return read_gmsh4(path, binary=words[1] != b"0")
    return read_with_meshio(path, "gmsh")


def _text(path: Path, version: int) -> Raw:
    sections = _sections(path)
    names = ("NOD", "ELM") if version == 1 else ("Nodes", "Elements")
    for name in names:
        if name not in sections:
            raise damaged(path, f"there is no ${name} section")
    ids, points = _nodes(path, names[0], sections[names[0]])
    kinds = _elements(path, names[1], sections[names[1]], version)
    blocks: list[Block] = [(name, renumbered(ids, np.array(rows), path, name)) for name, rows in kinds.items()]
    return assembled(path, points, blocks)


def _sections(path: Path) -> dict[str, list[Row]]:
    """Rows of each $Name ... $EndName (version 1: $NOD ... $ENDNOD); the first row carries the opening line."""
    out: dict[str, list[Row]] = {}
    open_name = ""
    for number, line in enumerate(text_lines(path), start=1):
        words = line.split()
        if words and words[0].startswith("$"):
            name = words[0][1:]
            if name.lower() == f"end{open_name.lower()}":
                open_name = ""
            elif open_name:
                raise damaged(path, f"${open_name} is not closed before '{words[0]}' begins", number)
            else:
                open_name = name
                out[name] = [(number, [])]
        elif words and open_name:
            out[open_name].append((number, words))
    if open_name in ("Nodes", "Elements", "NOD", "ELM"):
        raise damaged(path, f"the file ends inside ${open_name}: it is cut off")
    return out


def _announced(path: Path, name: str, rows: list[Row]) -> list[Row]:
    """The rows after the count, checked against it."""
    opening = rows[0][0]
    if len(rows) < 2:
        raise damaged(path, f"the ${name} section is empty", opening)
    line, words = rows[1]
    if len(words) != 1 or not words[0].isdigit():
        raise damaged(path, f"${name} should begin with the number of its rows, but '{shown(words)}' stands there", line)
    if len(rows) - 2 != int(words[0]):
        raise damaged(path, f"${name} announces {words[0]} rows but holds {len(rows) - 2}", line)
    return rows[2:]


def _nodes(path: Path, name: str, rows: list[Row]) -> tuple[list[int], np.ndarray]:
    ids, points = [], []
    for line, words in _announced(path, name, rows):
        if len(words) < 4:
            raise damaged(path, f"a node needs a number and three coordinates, but '{shown(words)}' stands there", line)
        ids += integers(words[:1], path, line, "the node's number")
        points.append(floats(words[1:4], path, line, "coordinates"))
    return ids, np.array(points, dtype=np.float64).reshape(-1, 3)


def _elements(path: Path, name: str, rows: list[Row], version: int) -> dict[str, list[list[int]]]:
    kinds: dict[str, list[list[int]]] = {}
    for line, words in _announced(path, name, rows):
        values = integers(words, path, line, "an element")
        if len(values) < 4:
            raise damaged(path, f"an element has too few numbers: '{shown(words)}'", line)
        if values[1] not in CELLS:
            raise damaged(path, f"element type {values[1]} is not known", line)
        cell, count = CELLS[values[1]]
        nodes = values[5:] if version == 1 else values[3 + values[2] :]
        if len(nodes) != count:
            raise damaged(path, f"a {cell} has {count} nodes, but this row lists {len(nodes)}", line)
        kinds.setdefault(cell, []).append(nodes)
    return kinds
