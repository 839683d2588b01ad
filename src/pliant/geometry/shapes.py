"""Every shape pliant can make, by name; and the shape of what a scene says: a name, a mesh file, or a mesh made in Python."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.geometry import lathe, solids
from pliant.geometry.check import mended
from pliant.geometry.files import PointCloud
from pliant.geometry.inside import Filling, filled, placed
from pliant.geometry.lattice.closing import closed_surface
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape, number
from pliant.geometry.topology import diagonal
from pliant.geometry.units import units_asked

# Shapes of the shop are named, not imported: the library does not need it, and loads of it only what is asked for.
SHAPES: dict[str, Callable[..., Shape] | str] = {
    "box": solids.box,
    "ball": solids.ball,
    "ellipsoid": solids.ellipsoid,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
    "torus": solids.torus,
    "plate": solids.plate,
    "membrane": solids.membrane,
    "wedge": solids.wedge,
    "arch_stone": solids.arch_stone,
    "lathe": lathe.lathe,
    **{name: f"pliant.shop.sculpt.vessels:{name}" for name in ("bowl", "socket", "chain")},
    **{name: f"pliant.shop.sculpt.chess:{name}" for name in ("pawn", "rook", "bishop", "queen")},
    **{name: f"pliant.shop.sculpt.organic:{name}" for name in ("teapot", "bunny", "bust", "foot", "mouth", "room")},
}


OTHER_NAMES = {  # what people call them elsewhere
    "sphere": "ball", "globe": "ball", "cube": "box", "cuboid": "box", "block": "box", "brick": "box", "slab": "plate", "disc": "plate",
    "disk": "plate", "sheet": "membrane", "cloth": "membrane", "shell": "membrane", "rod": "cylinder", "tube": "cylinder",
    "bar": "box", "pill": "capsule", "ring": "torus", "donut": "torus", "ramp": "wedge", "cup": "bowl", "rabbit": "bunny",
    "ground": "plane", "floor": "plane", "halfspace": "plane", "half-space": "plane",
}  # fmt: skip


def maker(kind: str) -> Callable[..., Shape]:
    """The function that makes a shape."""
    if not isinstance(kind, str) or kind not in SHAPES:
        other = OTHER_NAMES.get(str(kind).lower())
        near = [other] if other else difflib.get_close_matches(str(kind), SHAPES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise PliantError(f"unknown shape '{kind}': {hint}known shapes: {', '.join(sorted(SHAPES))}")
    found = SHAPES[kind]
    if isinstance(found, str):
        module, name = found.split(":")
        return getattr(importlib.import_module(module), name)
    return found


def make(kind: str, **parameters: Any) -> Shape:
    """A shape by name; parameters as in its function."""
    function = maker(kind)
    allowed = inspect.signature(function).parameters
    listing = ", ".join(n if p.default is p.empty else f"{n} = {p.default!r}" for n, p in allowed.items())
    for name in parameters:
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            raise PliantError(f"shape '{kind}' has no parameter '{name}'{hint} It takes: {listing}")
    missing = [n for n, p in allowed.items() if p.default is p.empty and n not in parameters]
    if missing:
        raise PliantError(f"shape '{kind}' needs {' and '.join(missing)}. It takes: {listing}")
    return function(**parameters)


PLANE = Shape("plane", None, None, ("plane", ()))
FILE_KEYS = ("file", "unit", "up", "size", "rotation", "edge", "fill", "holes", "place", "fit")  # of shape = {file = ...}
Wrap = Callable[[PointCloud, float | None], tuple[Surface, str]]  # and a note


def resolve(spec: Any, solid: bool, cells: bool = False, wrap: Wrap | None = None) -> Shape:
    """A Shape from a name with parameters, a mesh file, a mesh or a Shape; with an inside if `solid`.

    `cells`: whether that may be cells that the surface cuts. `wrap` makes a surface of a point cloud that is to have an inside.
    """
    how, where = Filling(cells=cells), {}
    if isinstance(spec, dict):
        spec = dict(spec)
        where = {key: spec.pop(key, None) for key in ("place", "fit")}
        how = Filling.taken_from(spec, cells)
    shape = placed(_raw(spec), where.get("place"), where.get("fit"))
    if isinstance(spec, dict) and "file" in spec and "size" not in spec and where["fit"] is None:
        points = shape.cloud.points if shape.cloud is not None else shape.surface().points
        shape = replace(shape, notes=tuple(units_asked(float(np.ptp(points, axis=0).max()))))
    if solid and shape.cloud is not None and wrap is not None and cells and how.fill != "conforming":
        skin, note = wrap(shape.cloud, how.edge)
        shape, how = replace(shape, skin=skin, cloud=None, notes=(*shape.notes, note)), replace(how, fill="lattice")
    if how.holes and not solid and shape.skin is not None and shape.tets is None:
        closed, done = closed_surface(shape.skin, diagonal(shape.skin.points) / 100.0)
        shape = replace(shape, skin=closed, notes=(*shape.notes, *([done] if done else [])))
    if solid and (shape.tets is None or (how.fill == "lattice" and shape.weights is None)) and shape.name != "plane":
        return filled(shape, how)
    return shape


def _raw(spec: Any) -> Shape:
    """As it is said, not yet filled."""
    if isinstance(spec, Shape):
        shape = spec
    elif isinstance(spec, TetMesh):
        shape = Shape("mesh", spec)
    elif isinstance(spec, Surface):
        shape = Shape("surface", None, spec)
    elif isinstance(spec, PointCloud):
        shape = Shape("the point cloud", None, cloud=spec)
    elif "mesh" in spec:
        return _raw(spec["mesh"])
    elif "file" in spec:
        shape = _from_file(spec)
    else:
        shape = _named(spec)
    return shape


def _named(spec: dict[str, Any]) -> Shape:
    kind = spec.pop("kind")
    if kind == "plane":
        if spec:
            raise PliantError(f"a plane has no parameters (it is z = 0 of the body's frame), not {', '.join(spec)}.")
        return PLANE
    return make(kind, **spec)


def _from_file(spec: dict[str, Any]) -> Shape:
    """The mesh in a file, checked and repaired as `pliant check` says."""
    for key in spec:
        if key not in FILE_KEYS:
            raise PliantError(f"a shape from a file has no '{key}': {nearest(key, FILE_KEYS)}")
    file = spec["file"]
    if not isinstance(file, str | Path):
        raise PliantError(f"file of a shape is the name of a file, not {file!r}.")
    if spec.get("edge") is not None:
        number("the file", "edge", spec["edge"])
    mesh = mended(file, **{k: v for k, v in spec.items() if k not in ("file", "edge")})
    if isinstance(mesh, TetMesh):
        return Shape(str(file), mesh)
    if isinstance(mesh, Surface):
        return Shape(str(file), None, mesh)
    return Shape(str(file), None, cloud=mesh)
