"""Gmsh .msh: text of versions 1 and 2, with the line of an error; 4.1, text and binary; binary 2 and 4.0 by meshio.

Version 1 ($NOD/$ELM) is what meshio cannot read: `number type physical elementary count nodes...`;
version 2 has `number type tag-count tags... nodes...`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.raw import Block, Raw, Row, assembled, damaged, integers, numbered, renumbered, shown, text_lines
from pliant.geometry.formats.volumes import read_with_meshio

# Gmsh's number of a cell type: name as meshio spells it, number of nodes.
CELLS = {
    1: ("line", 2),
    2: ("triangle", 3),
    3: ("quad", 4),
    4: ("tetra", 4),
    5: ("hexahedron", 8),
    6: ("wedge", 6),
    7: ("pyramid", 5),
    8: ("line3", 3),
    9: ("triangle6", 6),
    10: ("quad9", 9),
    11: ("tetra10", 10),
    12: ("hexahedron27", 27),
    13: ("wedge18", 18),
    14: ("pyramid14", 14),
    15: ("vertex", 1),
    16: ("quad8", 8),
    17: ("hexahedron20", 20),
    18: ("wedge15", 15),
    19: ("pyramid13", 13),
    21: ("triangle10", 10),
    23: ("triangle15", 15),
    26: ("line4", 4),
    27: ("line5", 5),
    29: ("tetra20", 20),
    30: ("tetra35", 35),
    31: ("tetra56", 56),
}


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
    ids, points = numbered(path, _announced(path, names[0], sections[names[0]]))
    kinds = _elements(path, names[1], sections[names[1]], version)
    blocks: list[Block] = []
    for name, rows in kinds.items():
        whole = np.array(rows)
        blocks.append((name, renumbered(ids, whole[:, 1:], path, name), whole[:, 0]))
    return assembled(path, points, blocks, _group_names([words for _, words in sections.get("PhysicalNames", [])]))


def _group_names(rows: list[list[str]]) -> dict[str, int]:
    """Of solids, from rows of dimension, number and "name"."""
    return {" ".join(words[2:]).strip('"'): int(words[1]) for words in rows if len(words) > 2 and words[0] == "3"}


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
        group = values[2] if version == 1 else values[3] if values[2] > 0 else 0
        kinds.setdefault(cell, []).append([group, *nodes])
    return kinds


# ---- Gmsh 4.1, text and binary, by one reader: the two differ only in how numbers are stored.
# An own reader, because meshio loops for minutes over the counts of a damaged binary file.


class Cursor(Protocol):
    """Reads numbers one after the other from a section; raises ValueError at its end."""

    def ints(self, n: int) -> Ints: ...
    def sizes(self, n: int) -> Ints: ...
    def doubles(self, n: int) -> Floats: ...


class Words:
    """Numbers as text."""

    def __init__(self, data: bytes) -> None:
        self.words, self.at = data.split(), 0

    def doubles(self, n: int) -> Floats:
        if n < 0 or self.at + n > len(self.words):
            raise ValueError("it ends too early")
        self.at += n
        return np.array([float(w) for w in self.words[self.at - n : self.at]])

    def ints(self, n: int) -> Ints:
        values = self.doubles(n)
        if not (np.abs(values) < 2.0**63).all():
            raise ValueError("a count or number in it is none")
        return values.astype(np.int64)

    sizes = ints


class Bytes:
    """Numbers as bytes: int32, unsigned int64, float64."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.order, self.at = data, order, 0

    def _take(self, kind: str, n: int) -> np.ndarray:
        size = np.dtype(kind).itemsize * n
        if n < 0 or self.at + size > len(self.data):
            raise ValueError("it ends too early")
        self.at += size
        return np.frombuffer(self.data, self.order + kind, n, self.at - size)

    def ints(self, n: int) -> Ints:
        return self._take("i4", n).astype(np.int64)

    def sizes(self, n: int) -> Ints:
        return self._take("i8", n).astype(np.int64)

    def doubles(self, n: int) -> Floats:
        return self._take("f8", n).astype(np.float64)


def read_gmsh4(path: Path, binary: bool) -> Raw:
    data = path.read_bytes()
    order = "<"
    if binary:
        after = data.find(b"\n", data.find(b"$MeshFormat") + 12) + 1
        order = "<" if data[after : after + 4] == b"\1\0\0\0" else ">"
    ids, points = _section(path, data, "Nodes", binary, order, _nodes4)
    kinds = _section(path, data, "Elements", binary, order, _elements4)
    solids = _section(path, data, "Entities", binary, order, _solids4) if b"$Entities" in data else {}
    named = data.partition(b"$PhysicalNames")[2].partition(b"$EndPhysicalNames")[0].decode("utf-8", errors="replace")
    blocks: list[Block] = []
    for name, parts in kinds.items():
        whole = np.concatenate([np.hstack([np.full((len(rows), 1), solids.get(entity, 0)), rows]) for entity, rows in parts])
        blocks.append((name, renumbered(ids, whole[:, 1:], path, name), whole[:, 0]))
    return assembled(path, points, blocks, _group_names([line.split() for line in named.splitlines()]))


def _section(path: Path, data: bytes, name: str, binary: bool, order: str, parse):  # type: ignore[no-untyped-def]
    start, end = data.find(f"${name}".encode()), data.rfind(f"$End{name}".encode())
    if start < 0 or end < start:
        raise damaged(path, f"there is no complete ${name} section: the file is cut off or empty")
    body = data[data.find(b"\n", start) + 1 : end]
    try:
        return parse(Bytes(body, order) if binary else Words(body))
    except (ValueError, OverflowError) as error:
        line = data[:start].count(b"\n") + 1 if not binary else None
        raise damaged(path, f"the ${name} section makes no sense ({error})", line) from None


def _nodes4(read: Cursor) -> tuple[list[int], Floats]:
    """Blocks, nodes, lowest, highest number; per block dimension, entity, parametric, count, numbers, coordinates."""
    blocks, announced = read.sizes(4)[:2]
    ids, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dimension, _entity, parametric = read.ints(3).tolist()
        count = int(read.sizes(1)[0])
        width = 3 + (dimension if parametric else 0)
        ids.append(read.sizes(count))
        points.append(read.doubles(count * width).reshape(count, width)[:, :3])
    made = np.concatenate(points)
    if len(made) != announced:
        raise ValueError(f"it announces {announced} nodes but holds {len(made)}")
    return np.concatenate(ids).tolist(), made


def _solids4(read: Cursor) -> dict[int, int]:
    """First physical group of each solid; per entity a number, a place or a box, physical groups and, but for points, a boundary."""
    counts = read.sizes(4).tolist()
    found: dict[int, int] = {}
    for dimension, count in enumerate(counts):
        for _ in range(count):
            tag = int(read.ints(1)[0])
            read.doubles(3 if dimension == 0 else 6)
            groups = read.ints(int(read.sizes(1)[0]))
            if dimension > 0:
                read.ints(int(read.sizes(1)[0]))
            if dimension == 3 and len(groups):
                found[tag] = int(groups[0])
    return found


def _elements4(read: Cursor) -> dict[str, list[tuple[int, Ints]]]:
    """Blocks, elements, lowest, highest number; per block dimension, entity, type, count, rows of number and nodes."""
    blocks, announced = read.sizes(4)[:2]
    kinds: dict[str, list[tuple[int, Ints]]] = {}
    made = 0
    for _ in range(blocks):
        dimension, entity, kind = read.ints(3).tolist()
        count = int(read.sizes(1)[0])
        if kind not in CELLS:
            raise ValueError(f"element type {kind} is not known")
        name, nodes = CELLS[kind]
        rows = read.sizes(count * (1 + nodes)).reshape(count, 1 + nodes)[:, 1:]
        kinds.setdefault(name, []).append((entity if dimension == 3 else -1, rows))
        made += count
    if made != announced:
        raise ValueError(f"it announces {announced} elements but holds {made}")
    return kinds
