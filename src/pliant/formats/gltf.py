"""A run as one animated .glb file, in core glTF 2.0 without extensions, so that every viewer plays it.

Bodies are nodes under one that turns z up into glTF's y up; their numbers are those of the run, in metres. What only moves is a node
with keyframes. What changes its shape is one mesh with a morph target for each frame, if bodies have plain colours. Core glTF cannot
animate colours, so with a field every frame has a mesh of its own, with the colours as COLOR_0; all but one are scaled to nothing at any
time, which the specification names as the way to hide a node.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.disk import make_folder, write_bytes
from pliant.formats.tracks import Reel, Track, facts_of, reel_of
from pliant.look.draw import GLASS
from pliant.look.source import Film
from pliant.look.stage import STATIC, extremes, shown_part
from pliant.look.surface import Shading
from pliant.record import Run, human
from pliant.record.runfile import version_here

LARGEST = 100_000_000  # bytes: more than viewers open without complaint; then frames are left out, and it is said
VERTEX_BYTES = 32  # of a point in a frame: place, normal, colour
Z_UP = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # a quarter turn about x (x, y, z, w): z of the run becomes y of glTF
ROUGH = 0.75
FLOOR = 0.45  # of the floor that pictures show
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def write_glb(
    run: Run,
    path: str | Path,
    frames: Sequence[int] | None = None,
    field: str = "auto",
    speed: float = 1.0,
    body: str | None = None,
    largest: int = LARGEST,
) -> tuple[Path, list[str]]:
    """Write a run as .glb; the file, and sentences about what was left out. `field`: body for plain colours, or one of the run."""
    path = Path(path)
    if path.suffix.lower() != ".glb":
        raise PliantError(f"cannot write glTF to {path.name}: name it .glb (one file with everything in it)")
    chosen = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
    chosen, notes = _thinned(run, chosen, largest)
    reel = reel_of(run, chosen, field, speed, body)
    glb = Glb(f"pliant {version_here()}", facts_of(run, reel, speed))
    scene = Assembly(glb, reel)
    for track in reel.tracks:
        scene.add(track)
    if body is None:
        scene.add_floors()
    make_folder(path.parent)
    return scene.finish(path), notes


def _thinned(run: Run, frames: list[int], largest: int) -> tuple[list[int], list[str]]:
    """Frames that fit into a file, and what to say of it."""
    points = sum(len(np.unique(block)) for block in run.cells(frames[0]).blocks.values()) if frames else 0
    expected = VERTEX_BYTES * points * len(frames)
    step = max(1, -(-expected // largest))
    if step == 1:
        return frames, []
    kept = frames[::step]
    return kept, [
        f"{len(frames)} frames would take about {human(expected)}, and {human(largest)} is the limit: every {step}th is written, "
        f"{len(kept)} frames. Choose one body (--body) or other frames (--frames) to have them closer together."
    ]


class Assembly:
    """Puts tracks into a file."""

    def __init__(self, glb: Glb, reel: Reel) -> None:
        self.glb, self.reel = glb, reel
        self.top: list[int] = []  # nodes under the one that turns
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self._times: dict[bytes, int] = {}
        self._materials: dict[tuple[Any, ...], int] = {}
        self.coloured = any(track.colours for track in reel.tracks)  # then everything goes by steps, so that bodies stay together

    def add(self, track: Track) -> None:
        """One body over a stretch of frames."""
        shading = Shading.of(track.points[0], track.triangles)
        indices = self.glb.array(shading.triangles.astype(np.uint32).reshape(-1, 1), INDICES)
        if track.poses is not None:
            node = self._stiff(track, shading, indices)
        elif track.colours:
            node = self._flipped(track, [self._mesh(track, shading, indices, k) for k in range(len(track.frames))])
        else:
            node = self._morphed(track, shading, indices)
        self._only_while(node, track.frames)
        self.top.append(node)

    def _stiff(self, track: Track, shading: Shading, indices: int) -> int:
        """A node that moves; with a field, one that holds a mesh for each colouring."""
        assert track.poses is not None
        turns, shifts = track.poses
        if track.colours:
            first = self._mesh(track, shading, indices, 0)
            shared = {name: self.glb.root["meshes"][first]["primitives"][0]["attributes"][name] for name in ("POSITION", "NORMAL")}
            meshes = [first]
            for k in range(1, len(track.frames)):
                same = np.array_equal(track.colours[k], track.colours[k - 1])
                meshes.append(meshes[-1] if same else self._mesh(track, shading, indices, k, shared))
            node = self._flipped(track, meshes)
        else:
            node = self.glb.add("nodes", {"name": track.name, "mesh": self._mesh(track, shading, indices, 0)})
        way = "STEP" if self.coloured else "LINEAR"
        if np.ptp(turns, axis=0).any():
            self._animate(node, "rotation", track.frames, turns[:, [1, 2, 3, 0]], way)
        if np.ptp(shifts, axis=0).any():
            self._animate(node, "translation", track.frames, shifts, way)
        return node

    def _flipped(self, track: Track, meshes: list[int]) -> int:
        """A node with one child for each mesh, of which one is seen at a time."""
        children = []
        for mesh in dict.fromkeys(meshes):
            seen = [track.frames[k] for k, other in enumerate(meshes) if other == mesh]
            child = self.glb.add("nodes", {"name": f"{track.name} frame {seen[0]}", "mesh": mesh})
            self._only_while(child, seen)
            children.append(child)
        return self.glb.add("nodes", {"name": track.name, "children": children})

    def _morphed(self, track: Track, shading: Shading, indices: int) -> int:
        """A mesh with the other frames as targets, and weights that go from one to the next."""
        mesh = self._mesh(track, shading, indices, 0)
        first, normals = track.points[0][shading.point], shading.normals(track.points[0])
        targets = []
        for points in track.points[1:]:
            places = self.glb.array((points[shading.point] - first).astype(np.float32), VERTICES, bounds=True)
            turned = self.glb.array((shading.normals(points) - normals).astype(np.float32), VERTICES)
            targets.append({"POSITION": places, "NORMAL": turned})
        count = len(targets)
        if count:
            self.glb.root["meshes"][mesh]["primitives"][0]["targets"] = targets
            self.glb.root["meshes"][mesh] |= {"weights": [0.0] * count, "extras": {"targetNames": [f"frame {i}" for i in track.frames[1:]]}}
        node = self.glb.add("nodes", {"name": track.name, "mesh": mesh})
        if count:
            weights = np.concatenate([np.zeros((1, count)), np.eye(count)])
            self._animate(node, "weights", track.frames, weights.reshape(-1, 1), "STEP" if self.coloured else "LINEAR")
        return node

    def _mesh(self, track: Track, shading: Shading, indices: int, k: int, shared: dict[str, int] | None = None) -> int:
        """The k-th frame of a track as a mesh."""
        glb, points = self.glb, track.points[k][shading.point]
        attributes = dict(shared) if shared is not None else {
            "POSITION": glb.array(points.astype(np.float32), VERTICES, bounds=True),
            "NORMAL": glb.array(shading.normals(track.points[k]).astype(np.float32), VERTICES),
        }  # fmt: skip
        if track.colours:
            attributes["COLOR_0"] = glb.array(_linear(track.colours[k][shading.point]), VERTICES, normalized=True)
        primitive = {"attributes": attributes, "indices": indices, "material": self._material(track)}
        return glb.add("meshes", {"name": track.name, "primitives": [primitive]})

    def _material(self, track: Track) -> int:
        colour = (255, 255, 255) if track.colours else track.colour
        key = (colour, track.glass)
        if key not in self._materials:
            factor = [*linear(np.array(colour) / 255.0).tolist(), GLASS if track.glass else 1.0]
            rough = {"baseColorFactor": factor, "metallicFactor": 0.0, "roughnessFactor": ROUGH}
            name = "field" if track.colours else f"{track.name}"
            material: dict[str, Any] = {"name": name, "pbrMetallicRoughness": rough, "doubleSided": True}
            self._materials[key] = self.glb.add("materials", material | ({"alphaMode": "BLEND"} if track.glass else {}))
        return self._materials[key]

    # ---- time

    def _only_while(self, node: int, frames: list[int]) -> None:
        """Scale a node to nothing in all other frames."""
        seen = np.isin(self.reel.frames, frames)
        if seen.all():
            return
        changes = np.flatnonzero(np.concatenate([[True], seen[1:] != seen[:-1]]))
        scales = np.repeat(seen[changes].astype(np.float64)[:, None], 3, axis=1)
        if not seen[0]:
            self.glb.root["nodes"][node]["scale"] = [0.0, 0.0, 0.0]  # for who does not play it
        self._animate(node, "scale", [self.reel.frames[k] for k in changes], scales, "STEP")

    def _animate(self, node: int, what: str, frames: Sequence[int], values: Floats, way: str) -> None:
        at = np.isin(self.reel.frames, frames)
        times = self.reel.shown[at].astype(np.float32).reshape(-1, 1)
        key = times.tobytes()
        if key not in self._times:
            self._times[key] = self.glb.array(times, bounds=True)
        output = self.glb.array(values.astype(np.float32))
        self.samplers.append({"input": self._times[key], "output": output, "interpolation": way})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": what}})

    # ---- the rest

    def add_floors(self) -> None:
        """Planes, as small squares: viewers choose their camera so that all of them is seen."""
        film: Film = self.reel.film
        around = np.concatenate([extremes(points) for track in self.reel.tracks for points in (track.points[0], track.points[-1])])
        for plane in film.planes:
            _, half, centre = shown_part(plane, around)
            corners = plane.point + (centre + FLOOR * half * SQUARE) @ plane.axes[:2]
            name = film.run.cells(self.reel.frames[0]).bodies.get(plane.body, "plane")
            faces: Ints = np.array([[0, 1, 2], [0, 2, 3]])
            frames = self.reel.frames
            self.add(Track(plane.body, name, "static", faces, np.arange(4), STATIC, False, frames, [corners] * len(frames)))

    def finish(self, path: Path) -> Path:
        """Close the file."""
        root = self.glb.add("nodes", {"name": self.reel.title, "rotation": Z_UP, "children": self.top})
        self.glb.root["scenes"][0] |= {"name": self.reel.title, "nodes": [root]}
        if self.channels:
            last = np.array([[self.reel.shown[-1]], [self.reel.shown[-1] + 1.0 / self.reel.fps]], np.float32)  # so that the last is seen
            hold = {"input": self.glb.array(last, bounds=True), "output": self.glb.array(np.array([Z_UP, Z_UP], np.float32))}
            self.samplers.append({**hold, "interpolation": "STEP"})
            self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": root, "path": "rotation"}})
            self.glb.root["animations"] = [{"name": self.reel.title, "channels": self.channels, "samplers": self.samplers}]
        return self.glb.write(path)


def linear(srgb: np.ndarray) -> np.ndarray:
    """Light behind the numbers of a screen, 0 to 1: what glTF and USD hold as colours (IEC 61966-2-1)."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _linear(colours: np.ndarray) -> np.ndarray:
    """Bytes of a screen as 16 bits of light with opacity, (n, 4)."""
    light = np.rint(65535.0 * linear(colours / 255.0)).astype(np.uint16)
    return np.column_stack([light, np.full(len(light), 65535, np.uint16)])


# ---- the container of glTF 2.0: numbers in one binary block, and the JSON that says what they are

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
