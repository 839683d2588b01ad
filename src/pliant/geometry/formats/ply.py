"""PLY, text and binary of either byte order, with lists of mixed length; a file without faces is a point cloud.

An own reader: trimesh reorders faces, takes a text file that lacks rows, and refuses binary lists of mixed length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.raw import Raw, damaged, floats, shown, triangulated

NAMES = "char uchar short ushort int uint float double int8 uint8 int16 uint16 int32 uint32 float32 float64"
TYPES = dict(zip(NAMES.split(), 2 * "i1 u1 i2 u2 i4 u4 f4 f8".split(), strict=True))
RING = ("vertex_indices", "vertex_index")


@dataclass
class Element:
    """One `element` of the header: its properties are (name, type) or (name, type, type of the list's length)."""

    name: str
    rows: int
    properties: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def has_list(self) -> bool:
        return any(len(p) == 3 for p in self.properties)


Columns = dict[str, np.ndarray]  # a list property is stored as "name" (flat) and "name#" (lengths)


def read_ply(path: Path) -> Raw:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    form, elements, offset = _header(path, data)
    content: dict[str, Columns] = {}
    lines = _Rows(data, offset) if form == "ascii" else None
    order = "<" if form == "binary_little_endian" else ">"
    for element in elements:
        if lines is not None:
            content[element.name] = _text(path, element, lines)
        else:
            content[element.name], offset = _binary(path, element, data, offset, order)
    return _assemble(path, content)


def _header(path: Path, data: bytes) -> tuple[str, list[Element], int]:
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise damaged(path, "a PLY file starts with 'ply' and has an 'end_header'; this one does not")
    form, elements = "", list[Element]()
    for number, line in enumerate(data[:end].decode("latin-1").splitlines(), start=1):
        words = line.split()
        try:
            if words[:1] == ["format"]:
                form = words[1]
            elif words[:1] == ["element"]:
                elements.append(Element(words[1], int(words[2])))
            elif words[:2] == ["property", "list"]:
                elements[-1].properties.append((words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1].properties.append((words[2], TYPES[words[1]]))
        except (IndexError, ValueError, KeyError):
            raise damaged(path, f"this header line makes no sense: '{shown(line)}'", number) from None
    if form not in ("ascii", "binary_little_endian", "binary_big_endian"):
        raise damaged(path, f"format '{form}' is not one of ascii, binary_little_endian, binary_big_endian")
    line_end = re.compile(rb"[^\r\n]*(\r\n|\n|\r|$)").match(data, end)
    return form, elements, line_end.end() if line_end else len(data)


class _Rows:
    """The rows after the header of a text file, with their line numbers."""

    def __init__(self, data: bytes, offset: int) -> None:
        first = len(data[:offset].splitlines()) + 1
        text = data[offset:].decode("latin-1").splitlines()
        self.rows = [(number, words) for number, line in enumerate(text, start=first) if (words := line.split())]
        self.next = 0

    def take(self, count: int) -> list[tuple[int, list[str]]]:
        self.next += count
        return self.rows[self.next - count : self.next]


def _text(path: Path, element: Element, lines: _Rows) -> Columns:
    rows = lines.take(element.rows)
    if len(rows) < element.rows:
        raise damaged(path, f"the header announces {element.rows} of '{element.name}', but {len(rows)} follow")
    table = [floats(words, path, number, f"values of '{element.name}'") for number, words in rows]
    if not element.has_list:
        width = len(element.properties)
        for (number, _), row in zip(rows, table, strict=True):
            if len(row) < width:
                raise damaged(path, f"a row of '{element.name}' has {len(row)} values instead of {width}", number)
        columns = np.array([row[:width] for row in table], dtype=np.float64).reshape(len(rows), width)
        return {p[0]: columns[:, i] for i, p in enumerate(element.properties)}
    out: dict[str, list[float]] = {p[0]: [] for p in element.properties}
    out |= {p[0] + "#": [] for p in element.properties if len(p) == 3}
    for (number, _), row in zip(rows, table, strict=True):
        at = 0
        for p in element.properties:
            length = 1 if len(p) == 2 else int(row[at]) if at < len(row) else 0
            if len(p) == 3:
                out[p[0] + "#"].append(length)
                at += 1
            if at + length > len(row):
                raise damaged(path, f"a row of '{element.name}' ends too early", number)
            out[p[0]] += row[at : at + length]
            at += length
    return {name: np.array(values, dtype=np.float64) for name, values in out.items()}


def _binary(path: Path, element: Element, data: bytes, offset: int, order: str) -> tuple[Columns, int]:
    """All lists usually have one length: then rows are records; otherwise they are walked through one by one."""
    lengths = _first_lengths(element, data, offset, order)
    record = np.dtype(
        [
            f
            for p in element.properties
            for f in ([(p[0], order + p[1])] if len(p) == 2 else [(p[0] + "#", order + p[2]), (p[0], order + p[1], (lengths[p[0]],))])
        ]
    )
    if offset + element.rows * record.itemsize <= len(data):
        table = np.frombuffer(data, record, element.rows, offset)
        if all((table[name + "#"] == length).all() for name, length in lengths.items()):
            return {name: table[name].reshape(-1) for name in record.names or ()}, offset + element.rows * record.itemsize
    return _walk(path, element, data, offset, order)


def _first_lengths(element: Element, data: bytes, offset: int, order: str) -> dict[str, int]:
    """Lengths of the lists of the first row."""
    lengths: dict[str, int] = {}
    for p in element.properties:
        kind = np.dtype(order + p[1])
        if len(p) == 3:
            counter = np.dtype(order + p[2])
            fits = element.rows > 0 and offset + counter.itemsize <= len(data)
            lengths[p[0]] = max(int(np.frombuffer(data, counter, 1, offset)[0]), 0) if fits else 0
            if lengths[p[0]] * kind.itemsize > len(data):  # nonsense: the walk will say where
                lengths[p[0]] = 0
            offset += counter.itemsize + lengths[p[0]] * kind.itemsize
        else:
            offset += kind.itemsize
    return lengths


def _walk(path: Path, element: Element, data: bytes, offset: int, order: str) -> tuple[Columns, int]:
    out: dict[str, list[np.ndarray]] = {p[0]: [] for p in element.properties}
    out |= {p[0] + "#": [] for p in element.properties if len(p) == 3}
    kinds = [(p[0], np.dtype(order + p[1]), np.dtype(order + p[2]) if len(p) == 3 else None) for p in element.properties]
    for row in range(element.rows):
        for name, kind, counter in kinds:
            try:
                length = 1
                if counter is not None:
                    out[name + "#"].append(np.frombuffer(data, counter, 1, offset))
                    length = int(out[name + "#"][-1][0])
                    offset += counter.itemsize
                out[name].append(np.frombuffer(data, kind, max(length, 0), offset))
            except ValueError:
                raise damaged(path, f"the file ends in row {row} of {element.rows} of '{element.name}'") from None
            offset += length * kind.itemsize
    return {name: np.concatenate(v) if v else np.zeros(0) for name, v in out.items()}, offset


def _assemble(path: Path, content: dict[str, Columns]) -> Raw:
    vertex = content.get("vertex", {})
    if not all(axis in vertex for axis in "xyz"):
        raise damaged(path, "there are no vertices with x, y and z")

    def stacked(*names: str) -> Floats:
        return np.stack([vertex[name].astype(np.float64) for name in names], axis=1)

    points = stacked("x", "y", "z")
    normals = stacked("nx", "ny", "nz") if all(n in vertex for n in ("nx", "ny", "nz")) else None
    face = content.get("face", {})
    ring = next((name for name in RING if name in face), None)
    if ring is None:
        strips = content.get("tristrips", {})
        ring = next((name for name in RING if name in strips), None)
        if ring is not None:
            return Raw(points, _unrolled(path, strips[ring].astype(np.int64), strips[ring + "#"].astype(np.int64), len(points)))
        return Raw(points, normals=normals)
    corners: Ints = face[ring].astype(np.int64)
    counts: Ints = face[ring + "#"].astype(np.int64) if ring + "#" in face else np.zeros(0, dtype=np.int64)
    faces, notices = triangulated(points, corners, counts, path)
    return Raw(points, faces, normals=normals, notices=notices)


def _unrolled(path: Path, corners: Ints, lengths: Ints, count: int) -> Ints:
    """Triangles of strips, each of which ends at a -1 or with its row; every other triangle is turned round."""
    ends = np.zeros(len(corners) + 1, dtype=bool)
    ends[np.cumsum(lengths)] = True  # a strip ends before these
    bad = (corners < -1) | (corners >= count)
    if bad.any():
        raise damaged(path, f"a triangle strip uses vertex {corners[bad][0]} (counted from 0), but the file has {count} vertices")
    first = np.concatenate([[0], np.flatnonzero((corners == -1) | ends[1:]) + 1])
    place = np.arange(len(corners)) - first[np.searchsorted(first, np.arange(len(corners)), side="right") - 1]
    third = np.flatnonzero((place >= 2) & (corners >= 0))
    faces = np.stack([corners[third - 2], corners[third - 1], corners[third]], axis=1)
    odd = place[third] % 2 == 1
    faces[odd] = faces[odd][:, [1, 0, 2]]
    return faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
