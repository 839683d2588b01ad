"""State and scene as plain arrays and text, so that a run can go on from a file alone."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.geometry.files import PointCloud
from pliant.geometry.lattice.build import Weights
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape
from pliant.model import State
from pliant.scene import Scene

PARTS = ("shape", "skin", "core")  # of a body that may be meshes
_PLAIN = ("time", "step", "last_dt")  # scalars, kept exactly as 8-byte arrays


def freeze(state: State) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A state as arrays and JSON; floats go into arrays, where no digit is lost."""
    arrays = {f.name: getattr(state, f.name) for f in fields(State) if isinstance(getattr(state, f.name), np.ndarray)}
    arrays |= {name: np.array([getattr(state, name)]) for name in _PLAIN}
    arrays["books"] = np.array(list(state.books.values()), np.float64)
    for method, memory in state.memory.items():
        arrays |= {f"memory/{method}/{name}": array for name, array in memory.items()}
    arrays |= {f"starts/{name}": array for name, array in state.starts.items()}
    arrays |= {f"asleep/{name}": array for name, array in state.asleep.items()}
    for group, kept in state.elements.items():
        arrays |= {f"elements/{group}/{name}": array for name, array in kept.items()}
    arrays |= {f"pairs/{name}": array for name, array in state.pairs.items()}
    return arrays, {"books": list(state.books), "methods": list(state.memory), "values": state.values}


def thaw(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> State:
    """The state that `freeze` took apart."""
    values: dict[str, Any] = {name: np.array(arrays[name]) for name in ("x", "v", "position", "rotation", "velocity", "spin")}
    values |= {"time": float(arrays["time"][0]), "step": int(arrays["step"][0]), "last_dt": float(arrays["last_dt"][0])}
    starts, asleep, pairs = (_below(arrays, name) for name in ("starts/", "asleep/", "pairs/"))
    memory: dict[str, dict[str, np.ndarray]] = {method: {} for method in meta["methods"]}
    elements: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        if name.startswith("memory/"):
            _, method, key = name.split("/", 2)
            memory[method][key] = np.array(array)
        elif name.startswith("elements/"):
            _, group, key = name.split("/", 2)
            elements.setdefault(group, {})[key] = np.array(array)
    books = dict(zip(meta["books"], arrays["books"].tolist(), strict=True))
    changed = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["values"].items()}
    return State(**values, memory=memory, elements=elements, starts=starts, asleep=asleep, books=books, pairs=pairs, values=changed)


def _below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays under a prefix, without it."""
    return {name.removeprefix(prefix): np.array(array) for name, array in arrays.items() if name.startswith(prefix)}


def is_named(spec: Any) -> bool:
    """Whether a scene file can say what a shape is."""
    return isinstance(spec, dict) and "kind" in spec


def pack_scene(scene: Scene) -> tuple[str, dict[str, np.ndarray]]:
    """A scene as TOML, and the meshes that TOML cannot hold: those of bodies must be there (`simulate.build.read_meshes`)."""
    arrays: dict[str, np.ndarray] = {}
    bodies = []
    for i, body in enumerate(scene.bodies):
        update: dict[str, Any] = {}
        for part in PARTS:
            spec = getattr(body, part, None)
            if spec is not None and not is_named(spec):
                update[part] = _packed(spec, part, i, arrays)
        regions = getattr(body, "regions", [])
        for k, region in enumerate(regions):
            if region.shape is not None and not is_named(region.shape):
                region = region.model_copy(update={"shape": _packed(region.shape, f"region{k}", i, arrays)})
            update.setdefault("regions", []).append(region)
        bodies.append(body.model_copy(update=update))
    return scene.sampled().model_copy(update={"bodies": bodies}).to_toml(), arrays


def _packed(shape: Shape, part: str, number: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What a scene file says of a shape whose arrays are put aside."""
    arrays |= {f"{part}/{number}/{name}": array for name, array in mesh_arrays(shape).items()}
    return said_of(shape) | {"number": number}


def said_of(shape: Shape) -> dict[str, Any]:
    """What a scene file says of a shape besides its arrays."""
    said: dict[str, Any] = {"kind": "recorded", "name": Path(shape.name).name}
    if shape.tets is not None and shape.tets.names:
        said["groups"] = dict(shape.tets.names)
    if shape.analytic is not None:
        said["analytic"] = shape.analytic
    return said


def shape_of(spec: dict[str, Any], found: dict[str, np.ndarray]) -> Shape:
    """The shape that `mesh_arrays` and `said_of` took apart."""
    groups = tuple(spec.get("groups", {}).items())
    tets = TetMesh(found["points"], found["tets"], found.get("groups"), groups) if "tets" in found else None
    skin = Surface(found["skin_points"], found["skin_faces"]) if "skin_faces" in found else None
    exact = (spec["analytic"][0], tuple(spec["analytic"][1])) if spec.get("analytic") else None
    cloud = PointCloud(found["cloud_points"], found.get("cloud_normals")) if "cloud_points" in found else None
    weights = Weights(*(found[f"weights_{name}"] for name in Weights._fields)) if "weights_filled" in found else None
    return Shape(spec.get("name", "recorded"), tets, skin, exact, cloud, weights)


def mesh_arrays(shape: Shape) -> dict[str, np.ndarray]:
    """The meshes of a shape."""
    arrays: dict[str, np.ndarray] = {}
    if shape.tets is not None:
        arrays |= {"points": shape.tets.points, "tets": shape.tets.tets}
    if shape.skin is not None:
        arrays |= {"skin_points": shape.skin.points, "skin_faces": shape.skin.faces}
    if shape.weights is not None:
        arrays |= {f"weights_{name}": array for name, array in shape.weights._asdict().items()}
    if shape.tets is not None and shape.tets.groups is not None:
        arrays["groups"] = shape.tets.groups
    if shape.cloud is not None:
        arrays["cloud_points"] = shape.cloud.points
        arrays |= {} if shape.cloud.normals is None else {"cloud_normals": shape.cloud.normals}
    return arrays


def unpack_scene(text: str, arrays: dict[str, np.ndarray]) -> Scene:
    """The scene that `pack_scene` wrote down."""
    scene = Scene.recorded(text)
    for body in scene.bodies:
        holders = [(body, part, part) for part in PARTS]
        holders += [(region, "shape", f"region{k}") for k, region in enumerate(getattr(body, "regions", []))]
        for holder, field, part in holders:
            spec = getattr(holder, field, None)
            if isinstance(spec, dict) and spec.get("kind") == "recorded":
                setattr(holder, field, _unpacked(spec, f"{part}/{spec['number']}/", arrays, body.name))
    return scene


def _unpacked(spec: dict[str, Any], own: str, arrays: dict[str, np.ndarray], name: str) -> Shape:
    found = _below(arrays, own)
    if not found and "analytic" not in spec:
        raise PliantError(f"The run file lacks the mesh of body '{name}', so the run cannot go on.")
    return shape_of(spec, found)
