"""The container of glTF 2.0: numbers in one binary block, and the JSON that says what they are."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from pliant.disk import write_bytes

COMPONENTS = {np.dtype(np.float32): 5126, np.dtype(np.uint32): 5125, np.dtype(np.uint16): 5123}
SHAPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
VERTICES, INDICES = 34962, 34963  # what a buffer view is for
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942


class Glb:
    """A file that is being put together; `root` is its JSON."""

    def __init__(self, generator: str, extras: dict[str, Any]) -> None:
        self.root: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": generator, "extras": extras}, "scene": 0, "scenes": [{"nodes": []}],
            "nodes": [], "meshes": [], "materials": [], "accessors": [], "bufferViews": [], "buffers": [],
        }  # fmt: skip
        self._chunks: list[bytes] = []
        self.size = 0

    def add(self, what: str, value: dict[str, Any]) -> int:
        """A node, mesh, material ...; its number."""
        self.root[what].append(value)
        return len(self.root[what]) - 1

    def array(self, values: np.ndarray, target: int | None = None, bounds: bool = False, normalized: bool = False) -> int:
        """Numbers, one row each; the number of their accessor."""
        rows = np.ascontiguousarray(values)
        data = rows.tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.size, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self._chunks.append(data + b"\0" * (-len(data) % 4))
        self.size += len(self._chunks[-1])
        flat = rows.reshape(len(rows), -1)
        accessor: dict[str, Any] = {
            "bufferView": self.add("bufferViews", view), "componentType": COMPONENTS[rows.dtype], "count": len(rows),
            "type": SHAPES[flat.shape[1]],
        }  # fmt: skip
        if bounds:
            accessor |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        if normalized:
            accessor["normalized"] = True
        return self.add("accessors", accessor)

    def write(self, path: Path) -> Path:
        """The file."""
        binary = b"".join(self._chunks)
        self.root["buffers"] = [{"byteLength": len(binary)}] if binary else []
        text = json.dumps({key: value for key, value in self.root.items() if value or key == "scene"}, allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), JSON_CHUNK) + text + struct.pack("<II", len(binary), BINARY_CHUNK) + binary
        return write_bytes(path, b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
