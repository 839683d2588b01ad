"""A case: everything that a worker needs to run it, wherever it is, and the hash by which it is known again.

Scenes travel as plain data; meshes and other files travel as their content, named by its hash, and are written once on each worker.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pliant import __version__
from pliant.asking import refuse_code
from pliant.base import PliantError
from pliant.geometry.files import PointCloud
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.record.snapshot import PARTS, is_named, mesh_arrays, said_of, shape_of
from pliant.scene import Scene, plain

WITHOUT_RESULTS = ("cli", "look", "live")  # folders whose files change no number
PAIRS = {".node": (".ele",), ".ele": (".node",)}  # of files that belong together
File = tuple[str, bytes]  # name and content


@dataclass(frozen=True)
class Case:
    """One run of a study."""

    number: int  # in the order of the design
    parameters: dict[str, Any]
    seed: int
    scene: str  # as JSON
    content: tuple[str, ...]  # hashes of the files that it needs
    measures: dict[str, dict[str, Any]]
    functions: dict[str, Callable[..., Any]]  # measures that are functions; "": what is called instead of a scene
    curves: tuple[tuple[str, str, tuple[float, ...]], ...] = ()  # x, y, and at which x: what a calibration compares
    keep: tuple[str, ...] = ()
    every: float | None = None  # [s] between frames
    timeout: float | None = None  # [s]; no part of what it is
    key: str = field(default="", compare=False)


def make_case(scene: Scene | None, files: dict[str, list[File]], **values: Any) -> Case:
    """A case of a scene, or of a function that is called instead; the files that it needs are added to `files` by their hash."""
    data, content = packed(scene, files) if scene is not None else ({}, [])
    for name in own_code(scene) if scene is not None else ():
        refuse_code(name, "The contact method")  # here, for workers do as they are told
    functions = values["functions"]
    values |= {"scene": json.dumps(data, sort_keys=True, allow_nan=False), "content": tuple(content)}
    said = {name: values[name] for name in ("scene", "content", "measures", "curves", "keep", "every")}
    said |= {"seed": values["seed"], "parameters": values["parameters"]} if functions else {}  # else the scene shows what became of them
    said |= {"functions": {name: source_hash(each) for name, each in functions.items()}, "version": version()}
    key = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:20]
    return Case(**values, key=key)


def own_code(scene: Scene) -> list[str]:
    """Contact methods of a scene that are code outside pliant."""
    rule = scene.contact.get("method", "auto") if isinstance(scene.contact, dict) else scene.contact
    return [name for name in (rule, *(pair.method for pair in scene.pairs)) if name and ":" in str(name)]


# ---- scenes as plain data


def packed(scene: Scene, files: dict[str, list[File]]) -> tuple[dict[str, Any], list[str]]:
    """A scene as JSON can hold it, and the hashes of the files that it names."""
    needed: list[str] = []

    def hold(found: list[File]) -> str:
        name = hashlib.sha256(b"".join(each.encode() + b"\0" + content for each, content in found)).hexdigest()[:20]
        files.setdefault(name, found)
        needed.append(name)
        return name

    def travels(spec: Any) -> Any:
        """A shape by name as it is, others by their content."""
        if spec is None or is_named(spec):
            return spec
        if not isinstance(spec, dict):
            return _mesh(spec, hold)
        if "mesh" in spec:
            return {**spec, "mesh": _mesh(spec["mesh"], hold)}
        path = Path(spec["file"])
        return {**spec, "file": f"{hold(with_companions(path))}/{path.name}"}

    bodies, scene = [], scene.sampled()
    for body in scene.bodies:
        update: dict[str, Any] = {part: travels(getattr(body, part)) for part in PARTS if getattr(body, part, None) is not None}
        if getattr(body, "regions", []):
            update["regions"] = [region.model_copy(update={"shape": travels(region.shape)}) for region in body.regions]
        response = getattr(body.material, "response", None)
        if isinstance(response, str) and response.endswith(".csv"):
            named = f"{hold(with_companions(Path(response)))}/{Path(response).name}"
            update["material"] = body.material.model_copy(update={"response": named})
        bodies.append(body.model_copy(update=update))
    return plain(scene.model_copy(update={"bodies": bodies}), "scene"), needed


def _mesh(spec: Shape | TetMesh | Surface | PointCloud, hold: Callable[[list[File]], str]) -> dict[str, Any]:
    """A mesh that was made in Python, as the name of its content."""
    shape = resolve(spec, solid=False)
    buffer = io.BytesIO()
    np.savez(buffer, **mesh_arrays(shape))  # type: ignore[arg-type]
    return said_of(shape) | {"content": hold([("mesh.npz", buffer.getvalue())])}


def unpacked(text: str, folder: Path) -> Scene:
    """The scene that `packed` wrote down; `folder` has the files by their hash."""
    data = json.loads(text)
    for body in data.get("bodies", []):
        for holder, part in [(body, part) for part in PARTS] + [(region, "shape") for region in body.get("regions", [])]:
            if isinstance(holder.get(part), dict):
                holder[part] = _arrived(holder[part], folder)
        response = body.get("material", {}).get("response")
        if isinstance(response, str) and response.endswith(".csv"):
            body["material"]["response"] = str(folder / response)
    return Scene(**data)


def _arrived(spec: dict[str, Any], folder: Path) -> Any:
    """A shape whose files are here now."""
    if "file" in spec:
        return {**spec, "file": str(folder / spec["file"])}
    if "mesh" in spec:
        return {**spec, "mesh": _arrived(spec["mesh"], folder)}
    if spec.get("kind") != "recorded":
        return spec
    with np.load(folder / spec["content"] / "mesh.npz") as arrays:
        return shape_of(spec, dict(arrays))


def unpack_files(files: Mapping[str, list[File]], folder: Path) -> None:
    """Write files into a folder for each hash; those that are there already are left alone."""
    for name, found in files.items():
        if (folder / name).is_dir():
            continue
        draft = folder / f"{name}.part"
        draft.mkdir(parents=True, exist_ok=True)
        for each, content in found:
            (draft / each).write_bytes(content)
        draft.rename(folder / name)


def with_companions(path: Path) -> list[File]:
    """A file and those that belong to it."""
    if not path.is_file():
        raise PliantError(f"There is no file {path}, which the scene names.")
    others = [path.with_suffix(suffix) for suffix in PAIRS.get(path.suffix.lower(), ())]
    return [(each.name, _content(each, each.stat().st_mtime_ns)) for each in (path, *others) if each.is_file()]


@cache
def _content(path: Path, changed: int) -> bytes:
    return path.read_bytes()


# ---- what a result depends on besides the scene


@cache
def version() -> str:
    """Of pliant: its number, and a hash of all of its files that a result may depend on."""
    folder = Path(__file__).parents[1]
    files = [f for f in sorted(folder.rglob("*.py")) if f.relative_to(folder).parts[0] not in WITHOUT_RESULTS]
    return f"{__version__}+{hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()[:8]}"


@cache
def cpu() -> str:
    """The type of this machine's processor: results are the same bits on the same one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def source_hash(function: Callable[..., Any]) -> str:
    """Of the file that a function is in, or of its code."""
    code = getattr(function, "__code__", None)
    file = Path(code.co_filename) if code is not None else None
    content = file.read_bytes() if file is not None and file.is_file() else repr(getattr(code, "co_code", function)).encode()
    return hashlib.sha256(content + getattr(function, "__qualname__", "").encode()).hexdigest()[:16]
