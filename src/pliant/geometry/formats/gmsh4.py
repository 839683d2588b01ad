"""Gmsh 4.1, text and binary, by one reader: the two differ only in how numbers are stored.

An own reader, because meshio loops for minutes over the counts of a damaged binary file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.cells import Block, assembled
from pliant.geometry.formats.gmsh_cells import CELLS
from pliant.geometry.formats.raw import Raw, damaged, renumbered


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
        return self.doubles(n).astype(np.int64)

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
    ids, points = _section(path, data, "Nodes", binary, order, _nodes)
    kinds = _section(path, data, "Elements", binary, order, _elements)
    blocks: list[Block] = [(name, renumbered(ids, np.concatenate(rows), path, name)) for name, rows in kinds.items()]
    return assembled(path, points, blocks)


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


def _nodes(read: Cursor) -> tuple[list[int], Floats]:
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


def _elements(read: Cursor) -> dict[str, list[Ints]]:
    """Blocks, elements, lowest, highest number; per block dimension, entity, type, count, rows of number and nodes."""
    blocks, announced = read.sizes(4)[:2]
    kinds: dict[str, list[Ints]] = {}
    made = 0
    for _ in range(blocks):
        kind = int(read.ints(3)[2])
        count = int(read.sizes(1)[0])
        if kind not in CELLS:
            raise ValueError(f"element type {kind} is not known")
        name, nodes = CELLS[kind]
        kinds.setdefault(name, []).append(read.sizes(count * (1 + nodes)).reshape(count, 1 + nodes)[:, 1:])
        made += count
    if made != announced:
        raise ValueError(f"it announces {announced} elements but holds {made}")
    return kinds
