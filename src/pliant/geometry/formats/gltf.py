"""glTF 2.0, text (.gltf) and binary (.glb): the triangles of all meshes that its scene places, as one surface, in metres with y up."""

from __future__ import annotations

import base64
import json
import struct
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.formats.raw import Raw, damaged, triangulated

TYPES = {5120: "i1", 5121: "u1", 5122: "i2", 5123: "u2", 5125: "u4", 5126: "f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
MOST_NODES = 20_000  # that a scene places
POINTS, TRIANGLES, STRIP, FAN = 0, 4, 5, 6  # modes of a primitive


def read_gltf(path: Path) -> Raw:
    data = path.read_bytes()
    document, own = _split(path, data) if data[:4] == b"glTF" else (_parsed(path, data), None)
    if not str(document.get("asset", {}).get("version", "")).startswith("2"):
        raise damaged(path, "this is not glTF 2.0", fix="Export it as glTF 2.0.")
    required = [e for e in document.get("extensionsRequired", []) if e.startswith(("KHR_draco", "EXT_meshopt"))]
    if required:
        raise damaged(path, f"its meshes are compressed ({required[0]})", fix="Export it without compression.")
    read = _Accessors(path, document, own)
    points: list[Floats] = []
    faces: list[Ints] = []
    for mesh, matrix in _placed(path, document):
        for primitive in document["meshes"][mesh]["primitives"]:
            if "POSITION" not in primitive.get("attributes", {}):
                continue
            x = read.array(primitive["attributes"]["POSITION"]).astype(np.float64)
            index = read.array(primitive["indices"]).astype(np.int64).reshape(-1) if "indices" in primitive else np.arange(len(x))
            found = _triangles(index, primitive.get("mode", TRIANGLES))
            if np.linalg.det(matrix[:3, :3]) < 0.0:
                found = found[:, [0, 2, 1]]
            faces.append(found + sum(len(p) for p in points))
            points.append(x @ matrix[:3, :3].T + matrix[:3, 3])
    if not points:
        raise damaged(path, "no mesh is placed in its scene")
    whole, corners = np.concatenate(points), np.concatenate(faces)
    cut, said = triangulated(whole, corners.reshape(-1), np.full(len(corners), 3), path)
    said.append("glTF is in metres with y up; say up = \"y\" to have it stand.")
    return Raw(whole, cut, notices=said)


def _split(path: Path, data: bytes) -> tuple[Any, bytes | None]:
    """The JSON and the bytes of a binary file: a header of 12 bytes, then chunks of length, kind and content."""
    document, own, at = None, None, 12
    while at + 8 <= len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        chunk = data[at + 8 : at + 8 + length]
        if len(chunk) < length:
            raise damaged(path, "the file is cut off")
        if kind == b"JSON":
            document = _parsed(path, chunk)
        elif kind == b"BIN\0" and own is None:
            own = chunk
        at += 8 + length
    if document is None:
        raise damaged(path, "there is no JSON in this GLB file")
    return document, own


def _parsed(path: Path, text: bytes) -> Any:
    try:
        return json.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise damaged(path, f"its JSON is broken: {error}") from None


class _Accessors:
    """Reads arrays by the number of their accessor."""

    def __init__(self, path: Path, document: Any, own: bytes | None) -> None:
        self.path, self.document = path, document
        self.buffers = [self._buffer(buffer, own) for buffer in document.get("buffers", [])]

    def _buffer(self, buffer: Any, own: bytes | None) -> bytes:
        uri = buffer.get("uri")
        if uri is None:
            return own or b""
        if uri.startswith("data:"):
            return base64.b64decode(uri.partition(",")[2])
        beside = self.path.parent / unquote(uri)
        if ":" in uri or not beside.resolve().is_relative_to(self.path.parent.resolve()):
            raise damaged(self.path, f"its data is at {uri[:80]}, outside its own folder", fix="Put both files into one folder.")
        if not beside.is_file():
            raise damaged(self.path, f"its data {uri} is missing", fix="Put both files into one folder, or export as .glb.")
        return beside.read_bytes()

    def array(self, number: int) -> np.ndarray:
        accessor = self.document["accessors"][number]
        if "sparse" in accessor or "bufferView" not in accessor:
            raise damaged(self.path, "sparse arrays are not read", fix="Export it again without morph targets.")
        view = self.document["bufferViews"][accessor["bufferView"]]
        kind, width, count = np.dtype("<" + TYPES[accessor["componentType"]]), WIDTHS[accessor["type"]], accessor["count"]
        start, stride = view.get("byteOffset", 0) + accessor.get("byteOffset", 0), view.get("byteStride", kind.itemsize * width)
        data = self.buffers[view["buffer"]]
        if count and start + stride * (count - 1) + kind.itemsize * width > len(data):
            raise damaged(self.path, "the file is cut off: an array ends beyond its data")
        found = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize)).copy()
        if accessor.get("normalized") and kind.kind != "f":  # whole numbers that stand for -1 .. 1 or 0 .. 1
            return np.maximum(found / np.iinfo(kind).max, -1.0)
        return found


def _triangles(index: Ints, mode: int) -> Ints:
    if mode == TRIANGLES:
        return index[: 3 * (len(index) // 3)].reshape(-1, 3)
    if mode == STRIP:
        faces = np.stack([index[:-2], index[1:-1], index[2:]], axis=1)
        faces[1::2] = faces[1::2][:, [1, 0, 2]]
        return faces
    if mode == FAN:
        return np.stack([np.full(len(index) - 2, index[0]), index[1:-1], index[2:]], axis=1)
    return np.zeros((0, 3), np.int64)  # points and lines


def _placed(path: Path, document: Any) -> list[tuple[int, Floats]]:
    """Every mesh with its place in the world; all of them as they are if there is no scene."""
    nodes, scenes = document.get("nodes", []), document.get("scenes", [])
    if not scenes:
        return [(m, np.eye(4)) for m in range(len(document.get("meshes", [])))]
    waiting = deque((n, np.eye(4), 0) for n in scenes[document.get("scene", 0)].get("nodes", []))
    found: list[tuple[int, Floats]] = []
    while waiting:
        number, above, depth = waiting.popleft()
        if depth > 100 or len(waiting) + len(found) > MOST_NODES:
            raise damaged(path, "its nodes contain each other without end")
        node = nodes[number]
        matrix = above @ _matrix(node)
        if "mesh" in node:
            found.append((node["mesh"], matrix))
        waiting.extend((child, matrix, depth + 1) for child in node.get("children", []))
    return found


def _matrix(node: Any) -> Floats:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    from pliant.geometry.quaternions import quaternion_to_matrix  # kernels: start-up time

    out = np.eye(4)
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    out[:3, :3] = quaternion_to_matrix(np.array([w, x, y, z], dtype=np.float64)) * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    out[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return out
